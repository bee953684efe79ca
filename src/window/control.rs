//! The control block of a (window, rank): the words by which ranks agree about it, in that rank's shared memory, of one layout for all flavours.
//! Behind it a [`PostSlot`] for each rank as target.

use crate::node::words::pscw::{CompletionWords, PostSleepers, PostSlot};
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
    /// Completions of those who had started an epoch with this rank.
    pub(super) completions: CompletionWords,
    /// Threads of this rank that sleep over its slots.
    pub(super) post_sleepers: PostSleepers,
}

impl Control {
    /// Bytes of a control block with its slots.
    pub(super) const fn bytes(ranks: u32) -> usize {
        size_of::<Control>() + ranks as usize * size_of::<PostSlot>()
    }

    /// The slot of a target behind a block.
    ///
    /// # Safety
    /// `this` is a live block of a window with more than `target` ranks.
    pub(super) unsafe fn slot<'a>(this: *const Control, target: u32) -> &'a PostSlot {
        // SAFETY: inside the block, as the caller vouches; only atomics touch it.
        unsafe { &*this.add(1).cast::<PostSlot>().add(target as usize) }
    }

    /// Start state, for memory that may have been another window's (cases.md, 21).
    ///
    /// # Safety
    /// `this` is a block of a window of `ranks` ranks that nobody else knows yet.
    pub(super) unsafe fn reset(this: *const Control, ranks: u32) {
        for target in 0..ranks {
            // SAFETY: a slot of the block.
            unsafe { Control::slot(this, target) }.reset();
        }
        // SAFETY: the caller vouches for it.
        unsafe { &*this }.reset_words();
    }

    fn reset_words(&self) {
        self.lock.reset();
        self.fence.reset();
        self.left.store(0, Relaxed);
        self.completions.reset();
        self.post_sleepers.reset();
    }
}
