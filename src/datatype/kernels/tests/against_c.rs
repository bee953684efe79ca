//! Kernels against loops that a C compiler has compiled, on bytes around which nothing may change.

use super::super::{Atomic, Bulk, Forms, TABLE, compare_and_swap};
use crate::base::element::Element;
use crate::base::op::Op;
use core::ffi::c_char;
use core::mem::transmute;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::ffi::CString;
use std::process::Command;
use std::sync::LazyLock;

type Reference = unsafe extern "C" fn(*const c_char, *const c_char, *mut u8, *const u8, usize) -> bool;

/// `reference.c`, compiled once per process and never unloaded.
static REFERENCE: LazyLock<Reference> = LazyLock::new(|| {
    let stem = std::env::temp_dir().join(format!("transom-reference-{}", std::process::id()));
    let (source, library) = (stem.with_extension("c"), stem.with_extension("so"));
    std::fs::write(&source, include_str!("reference.c")).unwrap();
    // Integers wrap around, and products and sums are rounded one by one.
    let flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fwrapv", "-ffp-contract=off", "-shared", "-fPIC"];
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let status = Command::new(compiler).args(flags).arg("-o").arg(&library).arg(&source).status().unwrap();
    assert!(status.success(), "the C compiler: {status}");
    let path = CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: C strings; the function has the type that the source gives it.
    let function = unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null());
        let function = libc::dlsym(handle, c"reference".as_ptr());
        assert!(!function.is_null());
        transmute::<*mut libc::c_void, Reference>(function)
    };
    std::fs::remove_file(source).unwrap();
    std::fs::remove_file(library).unwrap();
    function
});

/// What C makes of it; false where C has no such operation.
fn reference(op: Op, element: Element, target: &mut [u8], origin: &[u8]) -> bool {
    let (op, name) = (CString::new(format!("{op:?}")).unwrap(), CString::new(format!("{element:?}")).unwrap());
    let count = target.len() / element.extent();
    // SAFETY: both hold `count` elements.
    unsafe { REFERENCE(op.as_ptr(), name.as_ptr(), target.as_mut_ptr(), origin.as_ptr(), count) }
}

/// Numbers of an element, by offset and format.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Integer(usize),
    Float(usize),
    Extended,
}

fn parts(element: Element) -> Vec<(usize, Part)> {
    use Element::*;
    use Part::*;
    let long_double = if cfg!(target_arch = "x86_64") { Extended } else { Float(16) };
    let int = Integer(4);
    match element {
        F32 => vec![(0, Float(4))],
        F64 => vec![(0, Float(8))],
        F128 => vec![(0, Float(16))],
        LongDouble => vec![(0, long_double)],
        ComplexF32 | FloatFloat => vec![(0, Float(4)), (4, Float(4))],
        ComplexF64 | DoubleDouble => vec![(0, Float(8)), (8, Float(8))],
        ComplexF128 => vec![(0, Float(16)), (16, Float(16))],
        ComplexLongDouble => vec![(0, long_double), (16, long_double)],
        FloatInt => vec![(0, Float(4)), (4, int)],
        DoubleInt => vec![(0, Float(8)), (8, int)],
        LongInt => vec![(0, Integer(8)), (8, int)],
        IntInt => vec![(0, int), (4, int)],
        ShortInt => vec![(0, Integer(2)), (4, int)],
        LongDoubleInt => vec![(0, long_double), (16, int)],
        Opaque1 | Opaque2 | Opaque4 | Opaque16 | Opaque32 => vec![],
        integer => vec![(0, Integer(integer.size()))],
    }
}

/// A number near to trouble: ends of the range, zeros of both signs, infinities, what is not a number, or simply small; else as it comes.
fn shaped(part: Part, choice: u8, random: u128) -> u128 {
    let pick = |values: &[u128]| values[random as usize % values.len()];
    let float = |exponent_bits: u32, fraction_bits: u32| {
        let (bias, infinite) = ((1u128 << (exponent_bits - 1)) - 1, ((1u128 << exponent_bits) - 1) << fraction_bits);
        let sign = (random >> 127) << (exponent_bits + fraction_bits);
        match choice % 4 {
            0 => sign | pick(&[0, 1, infinite, infinite | 1 << (fraction_bits - 1), infinite - 1]),
            1 => sign | pick(&[bias, bias + 1, bias + 2]) << fraction_bits,
            2 => sign | (bias + random % 16 - 8) << fraction_bits | (random >> 8) & ((1 << fraction_bits) - 1),
            _ => random,
        }
    };
    match part {
        Part::Integer(size) => {
            let ones = u128::MAX >> (128 - 8 * size as u32);
            match choice % 4 {
                0 => pick(&[0, 1, ones, ones >> 1, (ones >> 1) + 1, 2, ones - 1]),
                1 => random % 8,
                _ => random,
            }
        }
        Part::Float(4) => float(8, 23),
        Part::Float(8) => float(11, 52),
        Part::Float(_) => float(15, 112),
        // As if the leading one were part of the exponent's last place: then it is there in all but the smallest numbers.
        Part::Extended => match float(15, 63) {
            bits if (bits >> 63) & 0x7fff == 0 => bits & ((1 << 63) - 1),
            bits => (bits >> 63) << 64 | 1 << 63 | bits & ((1 << 63) - 1),
        },
    }
}

fn bytes_of(part: Part) -> usize {
    match part {
        Part::Integer(size) | Part::Float(size) => size,
        Part::Extended => 10,
    }
}

/// Everything that is not a number becomes the same: which of two comes out of an operation, and with what sign, C leaves open.
fn one_nan(element: Element, elements: &mut [u8]) {
    for element_bytes in elements.chunks_exact_mut(element.extent()) {
        for (offset, part) in parts(element) {
            let bytes = &mut element_bytes[offset..offset + bytes_of(part)];
            let is_nan = match part {
                Part::Integer(_) => false,
                Part::Float(4) => f32::from_ne_bytes((&*bytes).try_into().unwrap()).is_nan(),
                Part::Float(8) => f64::from_ne_bytes((&*bytes).try_into().unwrap()).is_nan(),
                Part::Float(_) => u128::from_ne_bytes((&*bytes).try_into().unwrap()) << 1 > 0x7fff << 113,
                Part::Extended => {
                    let fraction = u64::from_ne_bytes(bytes[..8].try_into().unwrap()) << 1;
                    bytes[8] == 0xff && bytes[9] & 0x7f == 0x7f && fraction != 0
                }
            };
            if is_nan {
                bytes.fill(0xff);
            }
        }
    }
}

/// A reduction to be tried.
#[derive(Clone, Debug)]
struct Trial {
    seed: u64,
    count: usize,
    /// Displacements of target, origin and result from an aligned address.
    misaligned: [usize; 3],
}

impl Trial {
    fn any() -> impl Strategy<Value = Trial> {
        let fields = (any::<u64>(), [0..16usize, 0..16, 0..16]);
        fields.prop_map(|(seed, misaligned)| Trial { seed, count: 0, misaligned })
    }

    /// Target and origin.
    fn buffers(&self, element: Element) -> [Vec<u8>; 2] {
        let (mut numbers, parts) = (Numbers(self.seed), parts(element));
        let (mut target, mut origin) = (Vec::new(), Vec::new());
        for _ in 0..self.count {
            let [left, right] = numbers.elements(element, &parts);
            target.extend(left);
            origin.extend(right);
        }
        [target, origin]
    }
}

/// The largest count: whole vectors, unrolled, and a rest of any length.
const COUNTS: usize = 67;
const GUARD: usize = 64;

/// Numbers without a pattern from one that has been picked (SplitMix64): cheaper than having each byte picked.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn long(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    /// Two elements, now and then with equal parts.
    fn elements(&mut self, element: Element, parts: &[(usize, Part)]) -> [Vec<u8>; 2] {
        let mut elements = [(); 2].map(|()| {
            let bytes = [self.long().to_ne_bytes(), self.long().to_ne_bytes()].concat();
            bytes[..element.extent()].to_vec()
        });
        for &(offset, part) in parts {
            let numbers = [(); 2].map(|()| shaped(part, self.next() as u8, self.long()));
            let equal = self.next().is_multiple_of(4);
            for (bytes, number) in elements.iter_mut().zip([numbers[0], numbers[usize::from(!equal)]]) {
                let size = bytes_of(part);
                bytes[offset..offset + size].copy_from_slice(&number.to_le_bytes()[..size]);
            }
        }
        elements
    }
}

/// Bytes at a displacement from an aligned address, with room around them that nobody may write.
struct Placed {
    room: Vec<u128>,
    at: usize,
    length: usize,
}

impl Placed {
    fn new(bytes: &[u8], by: usize) -> Placed {
        let mut placed =
            Placed { room: vec![0x5a5a_5a5a << 77; (bytes.len() + 2 * GUARD) / 16 + 2], at: GUARD + by, length: bytes.len() };
        // SAFETY: the room is larger than what begins there.
        unsafe { placed.pointer().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        placed
    }

    fn pointer(&mut self) -> *mut u8 {
        // SAFETY: inside the room.
        unsafe { self.room.as_mut_ptr().cast::<u8>().add(self.at) }
    }

    fn room(&self) -> &[u8] {
        // SAFETY: the room's own bytes.
        unsafe { core::slice::from_raw_parts(self.room.as_ptr().cast(), size_of_val(&self.room[..])) }
    }

    /// What was given is there now, and around it what was there `before`.
    fn expect(&self, before: &[u8], element: Element, expected: &[u8], what: &str) -> Result<(), TestCaseError> {
        let range = self.at..self.at + self.length;
        let (mut room, mut whole) = (self.room().to_vec(), before.to_vec());
        whole[range.clone()].copy_from_slice(expected);
        if room != whole {
            one_nan(element, &mut room[range.clone()]);
            one_nan(element, &mut whole[range]);
        }
        if let Some(at) = (0..room.len()).find(|at| room[*at] != whole[*at]) {
            let (begin, item) = (at.saturating_sub(16), (at as isize - self.at as isize) / element.extent() as isize);
            let (got, right) = (&room[begin..at + 16], &whole[begin..at + 16]);
            prop_assert!(false, "{what}: byte {at} of the room, element {item}:\n{got:x?} is there instead of\n{right:x?}");
        }
        Ok(())
    }
}

fn try_bulk(bulk: Bulk, op: Op, element: Element, trial: &Trial, what: &str) -> Result<(), TestCaseError> {
    let [left, right] = trial.buffers(element);
    let mut expected = left.clone();
    prop_assert!(reference(op, element, &mut expected, &right), "C has no {op:?} of {element:?}");
    let (mut target, mut origin) = (Placed::new(&left, trial.misaligned[0]), Placed::new(&right, trial.misaligned[1]));
    let (target_before, origin_before) = (target.room().to_vec(), origin.room().to_vec());
    // SAFETY: both hold the elements.
    unsafe { bulk(target.pointer(), origin.pointer(), trial.count) };
    target.expect(&target_before, element, &expected, what)?;
    prop_assert!(origin.room() == origin_before, "{what}: the origin has changed");
    Ok(())
}

fn try_atomic(atomic: Atomic, op: Op, element: Element, trial: &Trial) -> Result<(), TestCaseError> {
    let [left, right] = trial.buffers(element);
    let mut expected = left.clone();
    prop_assert!(reference(op, element, &mut expected, &right), "C has no {op:?} of {element:?}");
    let nothing = vec![0; left.len()];
    for wanted in [true, false] {
        let aligned = trial.misaligned[0] / element.extent() * element.extent();
        let (mut target, mut origin) = (Placed::new(&left, aligned), Placed::new(&right, trial.misaligned[1]));
        let mut result = Placed::new(&nothing, trial.misaligned[2]);
        let (target_before, result_before) = (target.room().to_vec(), result.room().to_vec());
        let pointer = if wanted { result.pointer() } else { core::ptr::null_mut() };
        // SAFETY: all hold the elements, and the target is aligned.
        unsafe { atomic(target.pointer(), origin.pointer(), trial.count, pointer) };
        target.expect(&target_before, element, &expected, "atomic")?;
        result.expect(&result_before, element, if wanted { &left } else { &nothing }, "result")?;
    }
    Ok(())
}

/// Tries every allowed pair, some seeds with each count.
fn for_all_pairs(test: impl Fn(Op, Element, &Forms, &Trial) -> Result<(), TestCaseError>) {
    let config = Config { cases: 3, failure_persistence: None, ..Config::default() };
    for (op, element) in Op::ALL.iter().flat_map(|op| Element::ALL.iter().map(move |element| (*op, *element))) {
        let Some(forms) = &TABLE[op as usize][element as usize] else { continue };
        let result = TestRunner::new(config.clone()).run(&Trial::any(), |trial| {
            (0..=COUNTS).try_for_each(|count| test(op, element, forms, &Trial { count, ..trial.clone() }))
        });
        if let Err(error) = result {
            panic!("{op:?} of {element:?}: {error}");
        }
    }
}

#[test]
fn bulk_is_what_c_computes() {
    for_all_pairs(|op, element, forms, trial| {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            try_bulk(forms.avx2, op, element, trial, "AVX2")?;
        }
        try_bulk(forms.baseline, op, element, trial, "baseline")
    });
}

#[test]
fn atomic_is_what_c_computes() {
    for_all_pairs(|op, element, forms, trial| {
        prop_assert_eq!(forms.atomic.is_some(), element.atomic_size().is_some());
        forms.atomic.map_or(Ok(()), |atomic| try_atomic(atomic, op, element, trial))
    });
}

#[test]
fn compare_and_swap_writes_where_all_bits_agree() {
    for element in Element::ALL {
        let Some(exchange) = compare_and_swap(*element) else { continue };
        assert_eq!(exchange.atomic.is_some(), element.atomic_size().is_some());
        let size = element.size();
        let number = |first: u8| (0..size as u8).map(|byte| byte ^ first).collect::<Vec<u8>>();
        for (swap, aligned) in [(Some(exchange.exclusive), false), (exchange.atomic, true)] {
            let Some(swap) = swap else { continue };
            for bit in 0..=8 * size {
                let mut compare = number(0x11);
                // The last round changes nothing.
                if let Some(byte) = compare.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
                let by = if aligned { size } else { 3 };
                let (mut target, mut origin) = (Placed::new(&number(0x11), by), Placed::new(&number(0x99), 1));
                let (mut compare, mut result) = (Placed::new(&compare, 5), Placed::new(&number(0), 7));
                let (target_before, result_before) = (target.room().to_vec(), result.room().to_vec());
                // SAFETY: all hold an element, and the target is aligned where it must be.
                unsafe { swap(target.pointer(), origin.pointer(), compare.pointer(), result.pointer()) };
                let now = if bit == 8 * size { number(0x99) } else { number(0x11) };
                target.expect(&target_before, *element, &now, "target").unwrap();
                result.expect(&result_before, *element, &number(0x11), "result").unwrap();
            }
        }
    }
}
