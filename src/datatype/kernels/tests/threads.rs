//! Several threads on the same elements: nothing is lost, and old values are those that were there.

use super::super::{compare_and_swap, kernel};
use crate::base::element::Element;
use crate::base::op::Op;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const THREADS: usize = 4;
const ROUNDS: usize = 20_000;
const CELLS: usize = 3;

/// Cells of any element, aligned for the largest.
#[repr(align(16))]
struct Cells([AtomicU8; 8 * CELLS]);

impl Cells {
    fn new() -> Cells {
        Cells([const { AtomicU8::new(0) }; 8 * CELLS])
    }

    fn pointer(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut().cast()
    }

    /// What stands in a cell; nobody writes any more.
    fn value(&self, element: Element, cell: usize) -> u64 {
        let bytes = (0..8).map(|byte| match byte < element.size() {
            true => self.0[cell * element.size() + byte].load(Relaxed),
            false => 0,
        });
        bytes.rev().fold(0, |value, byte| value << 8 | u64::from(byte))
    }
}

fn together(work: impl Fn(usize) + Sync) {
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (work, barrier) = (&work, &barrier);
            scope.spawn(move || {
                barrier.wait();
                work(thread);
            });
        }
    });
}

/// A number in an element of its kind, as bytes.
fn number(element: Element, value: u32) -> Vec<u8> {
    match element {
        Element::F32 => (value as f32).to_ne_bytes().to_vec(),
        Element::F64 => f64::from(value).to_ne_bytes().to_vec(),
        Element::ComplexF32 => [(value as f32).to_ne_bytes(), (value as f32).to_ne_bytes()].concat(),
        integer => u64::from(value).to_le_bytes()[..integer.size()].to_vec(),
    }
}

fn as_word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[test]
fn sums_are_exact() {
    use Element::*;
    for element in [I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, ComplexF32] {
        let add = kernel(Op::Sum, element).unwrap().atomic.unwrap();
        let cells = Cells::new();
        let ones = number(element, 1).repeat(CELLS);
        together(|thread| {
            let mut result = vec![0; ones.len()];
            for round in 0..ROUNDS {
                let wanted = if (round + thread) % 2 == 0 { result.as_mut_ptr() } else { core::ptr::null_mut() };
                // SAFETY: all hold the elements, and the cells are aligned.
                unsafe { add(cells.pointer(), ones.as_ptr(), CELLS, wanted) };
            }
        });
        for cell in 0..CELLS {
            let sum = number(element, (THREADS * ROUNDS) as u32);
            assert_eq!(cells.value(element, cell), as_word(&sum), "{element:?}");
        }
    }
}

#[test]
fn each_old_value_is_seen_once() {
    use Element::*;
    for element in [I32, U64, F32, F64] {
        let add = kernel(Op::Sum, element).unwrap().atomic.unwrap();
        let cells = Cells::new();
        let one = number(element, 1);
        let seen = std::sync::Mutex::new(Vec::new());
        together(|_| {
            let mut olds = vec![0; ROUNDS * element.size()];
            for old in olds.chunks_exact_mut(element.size()) {
                // SAFETY: all hold an element, and the cell is aligned.
                unsafe { add(cells.pointer(), one.as_ptr(), 1, old.as_mut_ptr()) };
            }
            seen.lock().unwrap().extend(olds.chunks_exact(element.size()).map(as_word));
        });
        let mut seen = seen.into_inner().unwrap();
        let mut expected: Vec<u64> = (0..(THREADS * ROUNDS) as u32).map(|value| as_word(&number(element, value))).collect();
        seen.sort_unstable();
        expected.sort_unstable();
        assert!(seen == expected, "{element:?}");
    }
}

/// A sum in the upper half, a compare-and-swap below it, and two bits at the bottom, all of one word.
#[test]
fn operations_of_all_kinds_meet_on_one_element() {
    let atomic = |op| kernel(op, Element::U64).unwrap().atomic.unwrap();
    let swap = compare_and_swap(Element::U64).unwrap().atomic.unwrap();
    let cells = Cells::new();
    let apply = |op, operand: u64| -> u64 {
        let mut old = [0; 8];
        // SAFETY: all hold an element, and the cell is aligned.
        unsafe { atomic(op)(cells.pointer(), operand.to_ne_bytes().as_ptr(), 1, old.as_mut_ptr()) };
        u64::from_ne_bytes(old)
    };
    let step = |thread| match thread {
        0 => {
            apply(Op::Sum, 1 << 32);
        }
        1 => {
            apply(Op::Bxor, 1);
        }
        2 => {
            assert_eq!(apply(Op::Bor, 2) & 2, 0);
            assert_eq!(apply(Op::Prod, 1) & 2, 2);
            assert_eq!(apply(Op::Band, !2) & 2, 2);
        }
        _ => {
            let mut known = apply(Op::NoOp, 0);
            loop {
                let mut old = [0; 8];
                let (new, compare) = ((known + 4).to_ne_bytes(), known.to_ne_bytes());
                // SAFETY: all hold an element, and the cell is aligned.
                unsafe { swap(cells.pointer(), new.as_ptr(), compare.as_ptr(), old.as_mut_ptr()) };
                match u64::from_ne_bytes(old) {
                    old if old == known => break,
                    old => known = old,
                }
            }
        }
    };
    together(|thread| (0..ROUNDS).for_each(|_| step(thread)));
    let rounds = ROUNDS as u64;
    assert_eq!(cells.value(Element::U64, 0), (rounds << 32) | (rounds << 2) | (rounds % 2));
}

#[test]
fn replaced_elements_are_read_whole() {
    use Element::*;
    for element in [Opaque2, F32, F64, ComplexF32] {
        let (replace, read) = (kernel(Op::Replace, element).unwrap(), kernel(Op::NoOp, element).unwrap());
        let cells = Cells::new();
        let mixed = core::sync::atomic::AtomicUsize::new(0);
        together(|thread| {
            let pattern = [[0x11; 8], [0x22; 8]][thread % 2];
            for round in 0..ROUNDS {
                let mut old = [0; 8];
                // SAFETY: all hold an element, and the cell is aligned. `MPI_NO_OP` reads no origin.
                unsafe {
                    match round % 3 {
                        0 => replace.atomic.unwrap()(cells.pointer(), pattern.as_ptr(), 1, core::ptr::null_mut()),
                        1 => replace.atomic.unwrap()(cells.pointer(), pattern.as_ptr(), 1, old.as_mut_ptr()),
                        _ => read.atomic.unwrap()(cells.pointer(), core::ptr::null(), 1, old.as_mut_ptr()),
                    }
                }
                if old[..element.size()].iter().any(|byte| *byte != old[0]) {
                    mixed.fetch_add(1, Relaxed);
                }
            }
        });
        assert_eq!(mixed.into_inner(), 0, "{element:?}");
    }
}

#[test]
fn the_least_of_all_is_found_with_its_lowest_index() {
    let least = kernel(Op::Minloc, Element::IntInt).unwrap().atomic.unwrap();
    let cells = Cells::new();
    let pair = |value: i32, index: i32| [value.to_ne_bytes(), index.to_ne_bytes()].concat();
    let offer = |value, index| {
        // SAFETY: both hold an element, and the cell is aligned.
        unsafe { least(cells.pointer(), pair(value, index).as_ptr(), 1, core::ptr::null_mut()) }
    };
    offer(-1, -1);
    together(|thread| {
        for round in 0..ROUNDS as i32 {
            offer(-round / 2, THREADS as i32 * round + thread as i32);
        }
    });
    let last_but_one = ROUNDS as i32 - 2;
    let expected = pair(-(last_but_one / 2), THREADS as i32 * last_but_one);
    assert_eq!(cells.value(Element::IntInt, 0), as_word(&expected));
}
