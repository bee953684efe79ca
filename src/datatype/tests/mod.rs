//! Layouts against type maps that are spelled out, byte by byte, by a naive reading of the standard.

mod model;

use super::layout::{Held, Items, Layout};
use super::{Cursor, combine, kernel, pieces, transfer};
use crate::base::element::Element;
use crate::base::op::Op;
use core::convert::Infallible;
use model::Model;
use proptest::prelude::*;
use std::sync::Arc;

/// Memory around offset 0, so that offsets may be negative.
struct Memory {
    bytes: Vec<u8>,
    zero: usize,
}

impl Memory {
    /// For offsets from `low` to `high`, with a margin that nothing may touch.
    fn new((low, high): (i64, i64), fill: impl Fn(usize) -> u8) -> Memory {
        const MARGIN: i64 = 64;
        let zero = (MARGIN - low.min(0)) as usize;
        Memory { bytes: (0..zero + (high.max(0) + MARGIN) as usize).map(fill).collect(), zero }
    }

    fn at(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_add(self.zero)
    }

    fn byte(&mut self, offset: i64) -> &mut u8 {
        &mut self.bytes[(self.zero as i64 + offset) as usize]
    }
}

fn items(model: &Model, count: u64) -> Items {
    Items::new(Held::Derived(Arc::new(model.layout())), count).expect("small numbers")
}

/// Offsets of the data bytes of `count` items, in order.
fn naive(model: &Model, count: u64) -> Vec<i64> {
    let map = model.map();
    (0..count as i64)
        .flat_map(|item| map.iter().map(move |byte| byte.offset + item * model.extent()).collect::<Vec<_>>())
        .collect()
}

/// Every byte that a cursor passes, in steps as they come.
fn walked(mut cursor: Cursor<'_>, step: u64) -> Vec<i64> {
    let mut offsets = Vec::new();
    loop {
        let run = cursor.run();
        if run.bytes == 0 {
            return offsets;
        }
        let bytes = run.bytes.min(step);
        offsets.extend(run.offset..run.offset + bytes as i64);
        cursor.pass(bytes);
    }
}

/// Do no two bytes lie at the same place? A target must be so.
fn is_free_of_overlap(offsets: &[i64]) -> bool {
    let mut sorted = offsets.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

fn bounds(offsets: &[i64]) -> (i64, i64) {
    match (offsets.iter().min(), offsets.iter().max()) {
        (Some(low), Some(high)) => (*low, high + 1),
        _ => (0, 0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_global_rejects: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn a_layout_is_its_type_map(model in model::any_model(), count in 0..4_u64, step in prop_oneof![Just(u64::MAX), 1..9_u64]) {
        let (expected, items) = (naive(&model, count), items(&model, count));
        prop_assert_eq!(items.size(), expected.len() as u64);
        prop_assert_eq!((items.low(), items.high()), bounds(&expected));
        prop_assert_eq!(&walked(items.cursor(), step), &expected);
        if let Some(run) = items.as_run() {
            prop_assert_eq!((run.offset..run.offset + run.bytes as i64).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn elements_are_found(model in model::any_model(), count in 0..4_u64) {
        let items = items(&model, count);
        let map: Vec<model::Byte> = model.map();
        let mut leaves: Vec<Element> = map.iter().map(|byte| byte.element).collect();
        leaves.dedup();
        match leaves[..] {
            _ if items.size() == 0 => prop_assert_eq!(items.element().unwrap(), None),
            [element] => {
                prop_assert_eq!(items.element().unwrap(), Some(element));
                // Where each element begins, and that runs hold whole ones.
                let extent = model.extent();
                let starts = |item: i64| map.iter().filter(|byte| byte.index == 0).map(move |byte| byte.offset + item * extent);
                let expected: Vec<i64> = (0..count as i64).flat_map(starts).collect();
                let (mut cursor, mut found) = (items.elements(), Vec::new());
                loop {
                    let run = cursor.run();
                    if run.bytes == 0 {
                        break;
                    }
                    prop_assert_eq!(run.bytes % element.extent() as u64, 0);
                    found.extend((run.offset..run.offset + run.bytes as i64).step_by(element.extent()));
                    cursor.pass(run.bytes);
                }
                prop_assert_eq!(&found, &expected);
                if let Some(size) = element.atomic_size().filter(|size| items.is_aligned(*size)) {
                    prop_assert!(expected.iter().all(|offset| offset % size as i64 == 0));
                }
            }
            _ => prop_assert!(items.element().is_err()),
        }
    }

    #[test]
    fn bytes_go_where_the_type_maps_say(from in model::any_with_data(), to in model::any_with_data(), most in 1..4_u64) {
        // As many items of each as have equally many bytes, where that comes out even.
        let (from_size, to_size) = (from.map().len() as u64, to.map().len() as u64);
        let divisor = gcd(from_size, to_size);
        let (from_count, to_count) = (most * to_size / divisor, most * from_size / divisor);
        prop_assume!(from_count <= 64 && to_count <= 64);
        let (reads, writes) = (naive(&from, from_count), naive(&to, to_count));
        prop_assume!(is_free_of_overlap(&writes));
        let (from_items, to_items) = (items(&from, from_count), items(&to, to_count));
        let mut source = Memory::new(bounds(&reads), |byte| (byte * 7 + 1) as u8);
        let mut sink = Memory::new(bounds(&writes), |_| 0xee);
        let mut expected = Memory { bytes: sink.bytes.clone(), zero: sink.zero };
        for (read, written) in reads.iter().zip(&writes) {
            *expected.byte(*written) = *source.byte(*read);
        }
        // SAFETY: both hold what their items touch, and the sizes are equal.
        unsafe { transfer(source.at(), &from_items, sink.at(), &to_items) };
        prop_assert_eq!(&sink.bytes, &expected.bytes);
        // The same piece by piece.
        let mut pairs = Vec::new();
        let Ok(()) = pieces(&from_items, &to_items, |here, there, bytes| {
            pairs.extend((0..bytes as i64).map(|byte| (here + byte, there + byte)));
            Ok::<(), Infallible>(())
        });
        prop_assert_eq!(pairs, reads.into_iter().zip(writes).collect::<Vec<_>>());
    }

    #[test]
    fn elements_are_combined_where_the_type_maps_say(
        (from, to) in model::pair_of_one_element(),
        most in 1..4_u64,
        op in prop_oneof![Just(Op::Sum), Just(Op::Replace), Just(Op::Max), Just(Op::NoOp)],
    ) {
        let (from_size, to_size) = (from.map().len() as u64, to.map().len() as u64);
        let element = from.map()[0].element;
        let Some(kernel) = kernel(op, element) else { return Ok(()) };
        let divisor = gcd(from_size, to_size);
        let (from_count, to_count) = (most * to_size / divisor, most * from_size / divisor);
        prop_assume!(from_count <= 64 && to_count <= 64);
        let (reads, writes) = (naive(&from, from_count), naive(&to, to_count));
        prop_assume!(is_free_of_overlap(&writes));
        let (from_items, to_items) = (items(&from, from_count), items(&to, to_count));
        let mut source = Memory::new(bounds(&reads), |byte| (byte * 3 + 1) as u8);
        let mut sink = Memory::new(bounds(&writes), |byte| (byte * 5 + 2) as u8);
        let mut expected = Memory { bytes: sink.bytes.clone(), zero: sink.zero };
        let size = element.size();
        for (read, written) in reads.chunks(size).zip(writes.chunks(size)) {
            // One element each, as the type maps have its bytes.
            let (mut one, mut other) = ([0_u8; 32], [0_u8; 32]);
            let places = Model::Named(element).map();
            for (byte, place) in places.iter().enumerate() {
                one[place.offset as usize] = *source.byte(read[byte]);
                other[place.offset as usize] = *expected.byte(written[byte]);
            }
            // SAFETY: room for any element in both.
            unsafe { (kernel.bulk)(other.as_mut_ptr(), one.as_ptr(), 1) };
            for (byte, place) in places.iter().enumerate() {
                *expected.byte(written[byte]) = other[place.offset as usize];
            }
        }
        let (target, origin) = (sink.at(), source.at());
        // SAFETY: both hold what their items touch, with the same number of this element.
        unsafe { combine(op, &kernel, element, (target, &to_items), (origin, &from_items)) };
        prop_assert_eq!(&sink.bytes, &expected.bytes);
    }
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[test]
fn padding_is_neither_read_nor_written() {
    let items = Items::new(Held::of(Element::ShortInt), 2).unwrap();
    let from: Vec<u8> = (1..=16).collect();
    let mut to = vec![0; 16];
    // SAFETY: both hold what the items touch.
    unsafe { transfer(from.as_ptr(), &items, to.as_mut_ptr(), &items) };
    assert_eq!(to, [1, 2, 0, 0, 5, 6, 7, 8, 9, 10, 0, 0, 13, 14, 15, 16]);
    let items = Items::new(Held::of(Element::DoubleInt), 2).unwrap();
    assert_eq!((items.size(), items.low(), items.high(), items.as_run()), (24, 0, 28, None));
}

#[test]
fn nothing_of_nothing_and_more_than_memory() {
    let none = Items::new(Held::of(Element::DoubleInt), 0).unwrap();
    assert_eq!((none.size(), none.low(), none.high()), (0, 0, 0));
    let eight = || Held::Derived(Arc::new(Layout::contiguous(8)));
    assert!(Items::new(eight(), u64::MAX / 4).is_none());
    assert!(Items::new(eight(), 1 << 60).is_none(), "an extent past what a displacement can name");
}

#[test]
fn a_type_deeper_than_a_cursor_has_frames() {
    // Lists keep the levels from merging.
    let mut model = Model::Named(Element::U8);
    for _ in 0..8 {
        model = Model::Indexed { blocks: vec![(1, 1), (1, 3)], is_bytes: false, of: Box::new(model) };
    }
    let items = items(&model, 2);
    assert_eq!(walked(items.cursor(), u64::MAX), naive(&model, 2));
}
