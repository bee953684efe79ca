//! Passive-target epochs: `MPI_Win_lock`, `MPI_Win_lock_all` and their ends (MPI-4.1, section 12.5.3). Locks are taken when they are asked for,
//! in program order: a program that takes several exclusive locks in one order on all ranks must not be turned around (cases.md, 27).

use super::check_assertions;
use crate::base::error::{Class, Error};
use crate::host::abi;
use crate::window::Window;
use crate::window::epoch::{Held, not_locked};
use core::ffi::c_int;

/// The common case of [`lock`], an exclusive or shared lock that is free, without any way to fail or to wait: whether it has been taken.
#[inline(always)]
pub fn lock_at_once(window: &Window, lock_type: c_int, rank: c_int, assertions: c_int) -> bool {
    let Some(target) = window.peer(rank) else { return false };
    if assertions != 0 || !window.epochs.can_lock(rank) {
        return false;
    }
    let (taken, held) = match lock_type {
        abi::LOCK_EXCLUSIVE => (target.lock().try_lock_exclusive(), Held::Exclusive),
        abi::LOCK_SHARED => (target.lock().try_lock_shared(), Held::Shared),
        _ => return false,
    };
    if taken {
        window.epochs.locked(rank, held);
    }
    taken
}

/// Locks one target. Cost where nobody else holds it: one atomic instruction.
pub fn lock(window: &Window, lock_type: c_int, rank: c_int, assertions: c_int) -> Result<(), Error> {
    let exclusive = match lock_type {
        abi::LOCK_EXCLUSIVE => true,
        abi::LOCK_SHARED => false,
        other => return Err(Error::value(Class::Locktype, "lock_type", i64::from(other))),
    };
    check_assertions(assertions)?;
    if rank == abi::PROC_NULL {
        return Ok(());
    }
    let target = window.target(rank)?;
    window.epochs.may_lock(rank)?;
    let held = if assertions & abi::MODE_NOCHECK != 0 {
        Held::Unchecked
    } else if exclusive {
        target.lock().lock_exclusive(&mut window.waiter()?)?;
        Held::Exclusive
    } else {
        target.lock().lock_shared(&mut window.waiter()?)?;
        Held::Shared
    };
    window.epochs.locked(rank, held);
    Ok(())
}

/// Ends the epoch on one target; its operations are complete there when this returns. Cost: one releasing store or atomic instruction.
#[inline]
pub fn unlock(window: &Window, rank: c_int) -> Result<(), Error> {
    if unlock_at_once(window, rank) || rank == abi::PROC_NULL {
        return Ok(());
    }
    window.target(rank)?;
    Err(not_locked(rank))
}

/// [`unlock`] of a target that is locked, without any way to fail: whether it was.
#[inline(always)]
pub fn unlock_at_once(window: &Window, rank: c_int) -> bool {
    let Some(target) = window.peer(rank) else { return false };
    let held = window.epochs.held(rank);
    if matches!(held, Held::No | Held::Started | Held::Posted) {
        return false;
    }
    // First what is private, so that nothing is left to be done behind a release that may have to wake somebody.
    window.epochs.unlocked(rank);
    match held {
        Held::Exclusive => target.lock().unlock_exclusive(),
        Held::Shared => target.lock().unlock_shared(),
        _ => window.complete_operations(),
    }
    true
}

/// Locks all targets, shared. Every rank of the window may touch the others' memory by plain loads and stores, without a call in which a lock
/// could be taken on demand, so all are taken at once. Cost: one atomic instruction a rank.
pub fn lock_all(window: &Window, assertions: c_int) -> Result<(), Error> {
    check_assertions(assertions)?;
    window.epochs.may_lock_all()?;
    let unchecked = assertions & abi::MODE_NOCHECK != 0;
    if !unchecked {
        take_all(window)?;
    }
    window.epochs.locked_all(unchecked);
    Ok(())
}

/// Takes every lock without waiting for one while holding another, since `lock_all` names no order of targets:
///
/// ```text
/// rank 0: lock(X, 1)              lock(X, 0) waits for rank 1
/// rank 1:   lock_all: has 0 ...   ... waits for 1            -> nobody goes on
/// ```
fn take_all(window: &Window) -> Result<(), Error> {
    let peers = window.peers();
    // The one that is waited for while nothing else is held; the others are only tried.
    let mut first = 0;
    peers[first].lock().lock_shared(&mut window.waiter()?)?;
    loop {
        let busy = (0..peers.len()).filter(|rank| *rank != first).find(|rank| !peers[*rank].lock().try_lock_shared());
        let Some(busy) = busy else { return Ok(()) };
        (0..busy).filter(|rank| *rank != first).for_each(|rank| peers[rank].lock().unlock_shared());
        peers[first].lock().unlock_shared();
        first = busy;
        peers[first].lock().lock_shared(&mut window.waiter()?)?;
    }
}

/// Ends the epoch on all targets; all operations are complete when this returns.
pub fn unlock_all(window: &Window) -> Result<(), Error> {
    if window.epochs.held_all()? {
        window.complete_operations();
    } else {
        window.peers().iter().for_each(|peer| peer.lock().unlock_shared());
    }
    window.epochs.unlocked_all();
    Ok(())
}
