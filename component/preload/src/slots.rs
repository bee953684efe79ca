//! The slots that the exported names jump through, in the order of the list.
//!
//! `MPI_X` and `PMPI_X` have slots of their own: a profiling tool that was linked into the program comes after a preloaded object in
//! the loader's search order, and must still see `MPI_X` first and reach us by `PMPI_X` (see [`crate::host::Host::tool`]).

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use transom::base::functions::COUNT;

/// Read by every call and written once: kept off the cache lines of anything that is written. Nothing comes before the first slot: the
/// trampolines count from there.
#[repr(C, align(64))]
pub(crate) struct Slots([AtomicPtr<c_void>; 2 * COUNT]);

impl Slots {
    /// First those of `PMPI_X`, then those of `MPI_X`.
    pub(crate) const fn new(targets: [AtomicPtr<c_void>; 2 * COUNT]) -> Self {
        Self(targets)
    }

    /// The slots of `PMPI_X`, which an engine fills.
    pub(crate) fn profiling(&self) -> &[AtomicPtr<c_void>] {
        &self.0[..COUNT]
    }

    /// The slots of `MPI_X`.
    pub(crate) fn application(&self) -> &[AtomicPtr<c_void>] {
        &self.0[COUNT..]
    }

    /// Where the slot of this number leads now.
    pub(crate) fn target(&self, slot: usize) -> *mut c_void {
        self.0[slot].load(Ordering::Acquire)
    }
}

/// The function of the list that a slot belongs to.
pub(crate) const fn index(slot: usize) -> usize {
    slot % COUNT
}
