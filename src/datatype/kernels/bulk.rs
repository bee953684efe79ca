//! Loops for whoever has the target to himself.

use super::super::pairs::Pairs;
use super::operation::Operation;
use super::value::Value;

/// # Safety
/// As [`super::Bulk`] says.
#[inline(always)]
unsafe fn every<T: Value, O: Operation<T>>(target: *mut u8, origin: *const u8, count: usize) {
    for index in 0..count {
        // SAFETY: both sides are valid for `count` values.
        unsafe {
            let target = target.add(index * T::EXTENT);
            let origin = origin.add(index * T::EXTENT);
            O::combine(T::read(target), T::read(origin)).write(target);
        }
    }
}

/// # Safety
/// As [`super::Bulk`] says.
pub(super) unsafe fn baseline<T: Value, O: Operation<T>>(target: *mut u8, origin: *const u8, count: usize) {
    // SAFETY: vouched for by the caller.
    unsafe { every::<T, O>(target, origin, count) }
}

/// The same loop, compiled once more.
///
/// # Safety
/// As [`super::Bulk`] says, and the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn avx2<T: Value, O: Operation<T>>(target: *mut u8, origin: *const u8, count: usize) {
    // SAFETY: vouched for by the caller.
    unsafe { every::<T, O>(target, origin, count) }
}

/// # Safety
/// As [`super::Rows`] says.
pub(super) unsafe fn rows<T: Value, O: Operation<T>>(
    target: *mut u8,
    target_stride: isize,
    origin: *const u8,
    origin_stride: isize,
    each: usize,
    count: usize,
) {
    let place = |row: usize| {
        let row = row as isize;
        (target.wrapping_offset(row.wrapping_mul(target_stride)), origin.wrapping_offset(row.wrapping_mul(origin_stride)))
    };
    for row in 0..count {
        let (target, origin) = place(row);
        // SAFETY: vouched for by the caller, row by row.
        unsafe {
            // The usual row has one element: no loop then.
            if each == 1 {
                O::combine(T::read(target), T::read(origin)).write(target);
            } else {
                every::<T, O>(target, origin, each);
            }
        }
    }
}

/// # Safety
/// As [`super::OverPairs`] says.
pub(super) unsafe fn pairs<T: Value, O: Operation<T>>(target: *mut u8, origin: *const u8, pairs: &Pairs<'_>) {
    pairs.each(|from, to, bytes| {
        // SAFETY: vouched for by the caller, pair by pair.
        unsafe { every::<T, O>(target.wrapping_offset(to), origin.wrapping_offset(from), bytes / T::EXTENT) };
    });
}

/// # Safety
/// As [`super::Bulk`] says, for elements of `SIZE` bytes.
pub(super) unsafe fn copy<const SIZE: usize>(target: *mut u8, origin: *const u8, count: usize) {
    // SAFETY: vouched for by the caller.
    unsafe { origin.copy_to_nonoverlapping(target, count * SIZE) }
}

/// # Safety
/// None: nothing is accessed.
pub(super) unsafe fn nothing(_: *mut u8, _: *const u8, _: usize) {}
