//! The slots that the exported names jump through, in the order of the lists.
//!
//! `MPI_X` and `PMPI_X` have slots of their own: a profiling tool that was linked into the program comes after a preloaded object in
//! the loader's search order, and must still see `MPI_X` first and reach us by `PMPI_X` (see [`crate::host::Host::tool`]).

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use transom::base::fortran::{self, SYMBOLS};
use transom::base::functions::{COUNT, NAMES};

/// Number of slots.
pub(crate) const SLOT_COUNT: usize = FIRST_OF_FORTRAN + fortran::COUNT;
/// Where those of Fortran's symbols begin.
pub(crate) const FIRST_OF_FORTRAN: usize = 2 * COUNT;

/// What a slot leads to until it is filled.
pub(crate) type Stub = unsafe extern "C" fn();

/// Read by every call and written once: kept off the cache lines of anything that is written. Nothing comes before the first slot: the
/// trampolines count from there.
#[repr(C, align(64))]
pub(crate) struct Slots {
    targets: [AtomicPtr<c_void>; SLOT_COUNT],
    stubs: [Stub; SLOT_COUNT],
}

impl Slots {
    /// First those of `PMPI_X`, then those of `MPI_X`, then Fortran's; each leads to its stub.
    pub(crate) const fn new(stubs: [Stub; SLOT_COUNT]) -> Self {
        let mut targets = [const { AtomicPtr::new(core::ptr::null_mut()) }; SLOT_COUNT];
        let mut slot = 0;
        while slot < SLOT_COUNT {
            targets[slot] = AtomicPtr::new(stubs[slot] as *mut c_void);
            slot += 1;
        }
        Self { targets, stubs }
    }

    /// The slots of `PMPI_X`, which an engine fills.
    pub(crate) fn profiling(&self) -> &[AtomicPtr<c_void>] {
        &self.targets[..COUNT]
    }

    /// The slots of `MPI_X`.
    pub(crate) fn application(&self) -> &[AtomicPtr<c_void>] {
        &self.targets[COUNT..FIRST_OF_FORTRAN]
    }

    /// The slots of Fortran's symbols, of which an engine fills those of its family.
    pub(crate) fn fortran(&self) -> &[AtomicPtr<c_void>] {
        &self.targets[FIRST_OF_FORTRAN..]
    }

    /// Where this slot leads now; `None` where that is still its stub.
    pub(crate) fn target(&self, slot: usize) -> Option<*mut c_void> {
        let target = self.targets[slot].load(Ordering::Acquire);
        (target != self.stubs[slot] as *mut c_void).then_some(target)
    }

    /// Where a call through this slot goes from now on.
    pub(crate) fn fill(&self, slot: usize, target: *mut c_void) {
        self.targets[slot].store(target, Ordering::Release);
    }
}

/// The function of the list that a slot belongs to; `None` for a symbol of Fortran's.
pub(crate) const fn index(slot: usize) -> Option<usize> {
    if slot < FIRST_OF_FORTRAN { Some(slot % COUNT) } else { None }
}

/// The host's own name for what a slot stands for.
pub(crate) fn symbol(slot: usize) -> &'static CStr {
    match index(slot) {
        Some(index) => NAMES[index].1,
        None => SYMBOLS[slot - FIRST_OF_FORTRAN],
    }
}
