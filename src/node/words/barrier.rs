//! A barrier of the ranks of one node: the on-node part of a window's fence.
//!
//! One word counts arrivals and never goes back. In round k of a barrier of n ranks everybody waits until it has reached k·n, so
//! the arrival that completes a round is also what releases the others: no word is reset between rounds, hence there is no reset
//! to race with, and a rank that is late to look finds the count beyond its target rather than back at zero (it can be at most n
//! − 1 beyond, since the next round lacks that very rank).
//!
//! Cost: one atomic addition each, and for the last one a look at the sleepers. For two ranks on two cores that moves one cache
//! line to and fro and takes a third to a half of the time of the textbook's counter with a separate sense word (three line
//! transfers), and half that of an arrival word per rank (two). Eight threads on two cores take the same either way: there it is
//! sleeping that counts, and one system call of the last arrival wakes all. With many ranks on cores of their own the waiters'
//! polls disturb the arrivals, but only while they spin.
//!
//! | word | written by | read by | ordering | reset |
//! |---|---|---|---|---|
//! | `arrived` | every rank, +1 a round | every rank | addition `AcqRel`, polls `Acquire`: all that was written before the barrier is seen after it | never in use; [`BarrierWords::reset`] before the first use only |
//! | `sleepers` | waiters that pause, +1 and −1 | the last arrival of a round | `Relaxed`; fences on both sides, so no wake-up is lost | as `arrived` |
//! | `BarrierMember` | its rank | its rank | private memory | made anew with the words |

use super::atomic::{AtomicU32, Ordering, fence_after_rmw};
use super::{Wait, wait_until, wake};
use core::cell::Cell;

/// The shared words of one barrier.
#[derive(Debug)]
#[repr(C)]
#[cfg_attr(target_arch = "x86_64", repr(align(64)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(align(128)))]
pub struct BarrierWords {
    pub(super) arrived: AtomicU32,
    sleepers: AtomicU32,
}

/// One rank's place in a barrier, in its private memory.
#[derive(Debug)]
pub struct BarrierMember {
    ranks: u32,
    /// The count of arrivals that ended this rank's latest round. Wraps around, as the shared count does.
    pub(super) target: Cell<u32>,
}

impl BarrierMember {
    /// A place in a barrier of `ranks` ranks that nobody has used since it was made or reset.
    pub const fn new(ranks: u32) -> Self {
        BarrierMember { ranks, target: Cell::new(0) }
    }
}

impl BarrierWords {
    /// A barrier in private memory. In shared memory zeroed bytes are one.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        BarrierWords { arrived: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
    }

    /// As above; loom's words are made at run time.
    #[cfg(loom)]
    pub fn new() -> Self {
        BarrierWords { arrived: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
    }

    /// Back to the start, for memory that is used again. One process does it, before any other is told of the barrier.
    pub fn reset(&self) {
        self.arrived.store(0, Ordering::Relaxed);
        self.sleepers.store(0, Ordering::Relaxed);
    }

    /// Returns when all ranks have called it as often as this one. What any of them wrote before is visible to all after.
    ///
    /// If `wait` gives up, this rank's arrival stays counted and its place is lost: nobody may use the barrier again. The others'
    /// current round may still complete; a later one never does, and their own waits have to end it.
    #[inline]
    pub fn wait<W: Wait>(&self, member: &BarrierMember, wait: &mut W) -> Result<(), W::Error> {
        let target = member.target.get().wrapping_add(member.ranks);
        member.target.set(target);
        let arrived = self.arrived.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        if arrived == target {
            // Pairs with the fence in `sleep_until`.
            fence_after_rmw();
            if self.sleepers.load(Ordering::Relaxed) != 0 {
                wake(&self.arrived);
            }
            return Ok(());
        }
        wait_until(&self.arrived, &self.sleepers, wait, |arrived| target.wrapping_sub(arrived) as i32 <= 0)
    }
}

impl Default for BarrierWords {
    fn default() -> Self {
        Self::new()
    }
}
