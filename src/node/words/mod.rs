//! The words: what the processes of a node agree by. Each type here is `#[repr(C)]`, lies in memory that processes map in
//! common, and is changed by atomic instructions only; zeroed memory is its start state.
//!
//! No word knows how to wait. A caller that is blocked polls as often as its [`Wait`] thinks worth while, and then pauses by it,
//! again and again: `host` turns MPI's progress there and sleeps for a bounded time, tests yield.
//!
//! # Sleeping and waking
//!
//! Before its first [`Wait::pause`] a caller adds itself to a count of sleepers beside the word that it waits for, and whoever
//! changes that word calls [`wake`] only if the count is not zero: where nobody sleeps, nothing is paid but a load. That is
//! Dekker's pattern (waiter: announce, fence, look at the word; waker: change the word, fence, look at the announcements), and
//! the barrier, the lock's queue, stripes and post/complete pay for it in full. Unlocking does not: in an exclusive unlock the
//! fence would cost as much as all the rest of the epoch. What can go wrong there is that the unlock's store is still on its way
//! out of the processor while a waiter has had time to announce itself, enter the kernel and compare the word; then it sleeps on
//! to the end of its bound, at most a millisecond.
//!
//! # The models
//!
//! `models.rs` and `models/` run this code through its interleavings:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --release --no-default-features --lib loom
//! ```
//!
//! Under `cfg(loom)` the polling bounds of the words shrink to two at most, which changes how often a path is taken, never which
//! paths there are.

pub mod atomic;
pub mod barrier;
pub mod exclusion;
pub mod lock;
#[cfg(all(test, loom))]
mod models;
pub mod pscw;
#[cfg(all(test, not(loom)))]
mod stress;

use atomic::{AtomicU32, Ordering, fence_after_rmw, spin_loop};
pub use barrier::{BarrierMember, BarrierWords};
pub use exclusion::{Announcement, Bulk, ElementAccess, ExclusionWords, Origin, StripeSet};
pub use lock::LockWords;
pub use pscw::{CompletionWords, PostSleepers, PostSlot};

/// How a blocked caller passes the time.
pub trait Wait {
    /// Why the caller gives up.
    type Error;

    /// Polls before the first pause. Spinning waiters are not announced, so nobody pays for waking them: spin here, not in
    /// [`Wait::pause`]. With a core for each caller, spin for about as long as a sleep and its wake-up take. (Two that meet again and
    /// again and spin for less stay in step once one has slept: each finds the other still waking up, and sleeps as well. Seen here
    /// with 64 polls: 100 ns a barrier became 20 µs, for seconds.) Where callers share cores a few polls are enough, since spinning
    /// only keeps off the one that is waited for.
    fn spins(&self) -> u32 {
        SPINS
    }

    /// Called between polls while `word` still holds `seen`, with the caller announced as a sleeper. Must return within a
    /// bounded time whatever happens, and should return soon after `word` has changed or [`wake`] was called on it; it may
    /// return early, for no reason. `Err` ends the wait, and the blocked call returns it.
    fn pause(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Self::Error>;

    /// As [`Wait::pause`], for a caller that holds stripes (see [`exclusion`]): it only sleeps. Whatever else it ran might want the
    /// same stripes.
    fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Self::Error>;
}

/// 15 to 45 µs: the processor's `pause` takes 15 to 45 ns.
const SPINS: u32 = if cfg!(loom) { 1 } else { 1_000 };

/// Polls `word` until `done` says so of its value, spinning first and then pausing as one of `sleepers`. `done` may act on what
/// it sees.
#[inline]
fn wait_until<W: Wait>(
    word: &AtomicU32,
    sleepers: &AtomicU32,
    wait: &mut W,
    mut done: impl FnMut(u32) -> bool,
) -> Result<(), W::Error> {
    for _ in 0..wait.spins() {
        if done(word.load(Ordering::Acquire)) {
            return Ok(());
        }
        spin_loop();
    }
    sleep_until(word, sleepers, wait, done)
}

/// As [`wait_until`], for a word whose changes wake nobody: the pauses, which are bounded, find them.
pub fn wait_unannounced<W: Wait>(word: &AtomicU32, wait: &mut W, done: impl FnMut(u32) -> bool) -> Result<(), W::Error> {
    wait_until(word, &AtomicU32::new(0), wait, done)
}

#[cold]
#[inline(never)]
fn sleep_until<W: Wait>(
    word: &AtomicU32,
    sleepers: &AtomicU32,
    wait: &mut W,
    mut done: impl FnMut(u32) -> bool,
) -> Result<(), W::Error> {
    sleepers.fetch_add(1, Ordering::Relaxed);
    // Pairs with the fence between a waker's change of `word` and its look at `sleepers`: either it sees the
    // announcement, or the loads below (and the kernel's own, in a futex wait) see the change.
    fence_after_rmw();
    let outcome = loop {
        let seen = word.load(Ordering::Acquire);
        if done(seen) {
            break Ok(());
        }
        if let Err(error) = wait.pause(word, seen) {
            break Err(error);
        }
    };
    sleepers.fetch_sub(1, Ordering::Relaxed);
    outcome
}

/// Wakes every process that sleeps on `word` in a futex wait. A system call: ask first whether somebody sleeps.
#[cold]
#[inline(never)]
pub fn wake(word: &AtomicU32) {
    #[cfg(not(loom))]
    // SAFETY: FUTEX_WAKE reads nothing through the address; it only names the queue of sleepers. Without FUTEX_PRIVATE_FLAG the
    // queue belongs to the page of the shared mapping, whatever address each process has it at.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
    }
    #[cfg(all(loom, test))]
    models::wake(word);
    #[cfg(all(loom, not(test)))]
    let _ = word;
}
