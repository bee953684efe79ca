//! The control block of a (window, rank): the words by which ranks agree about it, in that rank's shared memory, of one layout for all flavours.

use crate::node::words::{BarrierWords, LockWords};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Each member sits on cache lines of its own. What each word means, who writes and who reads it, stands with its type.
#[repr(C)]
pub(super) struct Control {
    /// Passive target: who has locked this rank's memory.
    pub(super) lock: LockWords,
    /// Rank 0's is the one that all ranks meet at in `MPI_Win_fence` and `MPI_Win_free`.
    pub(super) fence: BarrierWords,
    /// Rank 0's counts those who have left that barrier for the last time. Written by every other rank once (+1, `Release`), read by rank 0
    /// (`Acquire`); reset with the rest.
    pub(super) left: AtomicU32,
}

impl Control {
    /// Start state, for memory that may have been another window's (cases.md, 21).
    pub(super) fn reset(&self) {
        self.lock.reset();
        self.fence.reset();
        self.left.store(0, Relaxed);
    }
}
