//! `MPI_Win_flush` and its kin, `MPI_Win_sync` (MPI-4.1, sections 12.5.4 and 12.5.5). Cost: one full fence, or nothing for the local forms.

use crate::base::error::{Class, Error};
use crate::host::abi;
use crate::window::Window;
use crate::window::epoch::Epochs;
use core::ffi::c_int;
use core::sync::atomic::{Ordering::SeqCst, compiler_fence};

fn check(window: &Window, rank: c_int) -> Result<(), Error> {
    if rank == abi::PROC_NULL {
        return Ok(());
    }
    window.target(rank)?;
    if window.epochs.is_passive_at(rank) { Ok(()) } else { Err(Epochs::uncovered(rank)) }
}

fn check_all(window: &Window) -> Result<(), Error> {
    if window.epochs.is_passive() { Ok(()) } else { Err(Error::text(Class::RmaSync, "a flush outside of a lock epoch")) }
}

/// Completes this rank's operations on one target, there and here.
pub fn flush(window: &Window, rank: c_int) -> Result<(), Error> {
    check(window, rank)?;
    window.complete_operations();
    Ok(())
}

/// [`flush`] of a target that is locked, without any way to fail: whether it was.
#[inline(always)]
pub fn flush_at_once(window: &Window, rank: c_int) -> bool {
    let legal = window.peer(rank).is_some() && window.epochs.is_passive_at(rank);
    if legal {
        window.complete_operations();
    }
    legal
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
