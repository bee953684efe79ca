//! Pairs of a value and an index, for `MPI_MINLOC` and `MPI_MAXLOC`.

use super::value::{Cell, Value};
use core::ffi::c_int;

/// A C structure of the two: each aligned to its own size, and the whole to the larger one. What lies between and behind them is neither
/// read nor written.
#[derive(Clone, Copy)]
pub(super) struct Pair<V, I> {
    pub(super) value: V,
    pub(super) index: I,
}

impl<V: Value, I: Value> Pair<V, I> {
    const INDEX: usize = V::EXTENT.next_multiple_of(I::EXTENT);
}

impl<V: Value, I: Value> Value for Pair<V, I> {
    const EXTENT: usize = (Self::INDEX + I::EXTENT).next_multiple_of(V::EXTENT);

    #[inline(always)]
    unsafe fn read(at: *const u8) -> Pair<V, I> {
        // SAFETY: vouched for by the caller.
        unsafe { Pair { value: V::read(at), index: I::read(at.add(Self::INDEX)) } }
    }

    #[inline(always)]
    unsafe fn write(self, at: *mut u8) {
        // SAFETY: vouched for by the caller.
        unsafe {
            self.value.write(at);
            self.index.write(at.add(Self::INDEX));
        }
    }
}

// Those without padding.
impl Cell for Pair<f32, c_int> {
    type Word = u64;
}
impl Cell for Pair<c_int, c_int> {
    type Word = u64;
}
impl Cell for Pair<f32, f32> {
    type Word = u64;
}
