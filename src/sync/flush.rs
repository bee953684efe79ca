//! `MPI_Win_flush` and its kin, `MPI_Win_sync` (MPI-4.1, sections 12.5.4 and 12.5.5). Cost: one full fence, or nothing for the local forms.

use crate::base::error::{Class, Error, What};
use crate::host::abi;
use crate::window::Window;
use crate::window::epoch::Epochs;
use core::ffi::c_int;
use core::sync::atomic::{Ordering::SeqCst, compiler_fence};

#[inline]
fn check(window: &Window, rank: c_int) -> Result<bool, Error> {
    if rank as u32 >= window.ranks() {
        return if rank == abi::PROC_NULL {
            Ok(false)
        } else {
            Err(Error { class: Class::Rank, what: What::Rank { rank, ranks: window.ranks() } })
        };
    }
    if window.epochs.is_passive_at(rank) { Ok(true) } else { Err(Epochs::uncovered(rank)) }
}

fn check_all(window: &Window) -> Result<(), Error> {
    if window.epochs.is_passive() { Ok(()) } else { Err(Error::text(Class::RmaSync, "a flush outside of a lock epoch")) }
}

/// Completes this rank's operations on one target, there and here.
#[inline]
pub fn flush(window: &Window, rank: c_int) -> Result<(), Error> {
    if check(window, rank)? {
        window.complete_operations();
    }
    Ok(())
}

/// Completes this rank's operations on all targets.
pub fn flush_all(window: &Window) -> Result<(), Error> {
    check_all(window)?;
    window.complete_operations();
    Ok(())
}

/// Completes this rank's operations on one target here: the copies are made, so the buffers may be used again.
#[inline]
pub fn flush_local(window: &Window, rank: c_int) -> Result<(), Error> {
    check(window, rank)?;
    compiler_fence(SeqCst);
    Ok(())
}

/// As [`flush_local`], on all targets.
pub fn flush_local_all(window: &Window) -> Result<(), Error> {
    check_all(window)?;
    compiler_fence(SeqCst);
    Ok(())
}

/// `MPI_Win_sync`: orders the program's own loads and stores of window memory before and after it. A full fence, not a mere compiler's:
/// a store before it must be out before a load behind it.
pub fn sync(window: &Window) -> Result<(), Error> {
    window.complete_operations();
    Ok(())
}
