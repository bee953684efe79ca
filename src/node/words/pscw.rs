//! General active target synchronisation: post, start, complete, wait.
//!
//! Each pair of a target and an origin has a [`PostSlot`] in the origin's memory, where the target counts the epochs that it has
//! exposed to that origin; the origin remembers how many of them it has used up. Each target has a count of completes in its own
//! memory, to which every origin adds one per epoch; the target remembers the total that it waits for, which grows by the size of
//! the group with each post. Both counts go on for the life of the window and wrap around, so nothing is reset between epochs and
//! there is no reset to race with.
//!
//! * **post**: one more in the slot of each origin ([`post`]). Waits for nobody.
//! * **start**: waits until the slot is ahead of the epochs used up ([`PostSlot::wait`]), or leaves that to the first operation
//!   on that target. With `MPI_MODE_NOCHECK` nobody looks: the program vouches that the post has happened, and whatever told the
//!   origin so (a message, a barrier) has ordered the target's stores before the origin's accesses too. The epoch counts as used
//!   up all the same, and the post with that assertion counts in the slot like any: a later epoch without it must not take this
//!   one's post for its own.
//! * **complete**: one more in the count of each target ([`CompletionWords::complete`]), behind the origin's last access, and behind
//!   the target's post even if there was no access. One that came before would be taken for a complete that the epoch before lacks:
//!
//!   ```text
//!   target: post to o1, o2; waits for 2         2 are there: goes on, though o2 is still inside
//!   o1:       completes     starts, completes without a look
//!   o2:       accesses                                        accesses
//!   ```
//!
//! * **wait**, **test**: whether the count has reached the total ([`CompletionWords::wait`], [`CompletionWords::have_completed`]).
//!
//! A slot is ahead by one at most: the target posts again only when the origin has completed. Counts of different pairs are
//! independent, so groups may overlap in any way, without the cycles that one counter of posts per origin has: a rank that waits
//! for t1 and t2 must not take a second post of t1 for the first of t2. Empty groups post nothing, add nothing and wait for
//! nothing.
//!
//! # Why it is right
//!
//! An origin that has seen the post (`Acquire`) sees whatever the target has stored before it (`Release`), and a target that has
//! seen the last complete sees whatever any origin has done before its own: each adds by a read-modify-write (`Release`), which
//! carries on the release sequences of those before. What the origin has read stays as it was too: the target stores anew behind
//! its `Acquire` only, to which the reads before the `Release` belong.
//!
//! # The words
//!
//! | word | written by | read by | ordering |
//! |---|---|---|---|
//! | `PostSlot` | its target +1 | its origin | `Release` / `Acquire` |
//! | `PostSleepers` | threads of the origin that pause on one of its slots ±1 | targets that post to it | `Relaxed`, fences on both sides |
//! | `completed` | every origin +1 an epoch | the target | `Release` / `Acquire` |
//! | `sleepers` | threads of the target that pause on `completed` ±1 | origins that complete | `Relaxed`, fences on both sides |
//!
//! Slots are 4 bytes, side by side, so posts of 16 targets to one origin may meet on a cache line. Each slot has one writer,
//! which writes once an epoch, so a shared line costs a transfer more now and then; a line to each pair would cost a window of
//! 128 ranks a megabyte.
//!
//! Reset rule for all: by the process that owns the memory, before it tells any other of the words; never while in use.

use super::atomic::{AtomicU32, Ordering, fence, fence_after_rmw};
use super::{Wait, wait_until, wake};

/// The epochs that one target has exposed to one origin, in the origin's memory.
#[derive(Debug)]
#[repr(transparent)]
pub struct PostSlot(pub(super) AtomicU32);

#[cfg(not(loom))]
const _: () = assert!(size_of::<PostSlot>() == 4, "zeroed memory of 4 bytes a rank");

/// How many threads of an origin sleep over its slots. One for all of them: a post to a sleeper that waits for another target's
/// costs a system call for nothing.
#[derive(Debug)]
#[repr(C)]
#[cfg_attr(target_arch = "x86_64", repr(align(64)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(align(128)))]
pub struct PostSleepers(pub(super) AtomicU32);

/// The completes of a target's origins, in the target's memory.
#[derive(Debug)]
#[repr(C)]
#[cfg_attr(target_arch = "x86_64", repr(align(64)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(align(128)))]
pub struct CompletionWords {
    pub(super) completed: AtomicU32,
    pub(super) sleepers: AtomicU32,
}

/// Has the count `now` got as far as `goal`? Both wrap around, and are never further apart than epochs are open.
#[inline]
const fn has_reached(now: u32, goal: u32) -> bool {
    now.wrapping_sub(goal) as i32 >= 0
}

/// Exposes an epoch of the calling target to origins: for each the slot that it has for this target, and its sleepers. One thread
/// of a target posts at a time.
///
/// All slots are stored to before the fence, so that their lines, which are with the origins, are fetched at the same time.
#[inline]
pub fn post<'a>(origins: impl Iterator<Item = (&'a PostSlot, &'a PostSleepers)> + Clone) {
    for (PostSlot(posts), _) in origins.clone() {
        // The target is its only writer.
        posts.store(posts.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }
    // Pairs with the fence in `sleep_until`.
    fence(Ordering::SeqCst);
    for (PostSlot(posts), PostSleepers(sleepers)) in origins {
        if sleepers.load(Ordering::Relaxed) != 0 {
            wake(posts);
        }
    }
}

impl PostSlot {
    /// A slot without posts, in private memory. In shared memory zeroed bytes are one.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        PostSlot(AtomicU32::new(0))
    }

    /// As above; loom's words are made at run time.
    #[cfg(loom)]
    pub fn new() -> Self {
        PostSlot(AtomicU32::new(0))
    }

    /// Back to no posts.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Has the target posted, since the `used` epochs that this origin has had with it?
    #[inline]
    pub fn is_posted(&self, used: u32) -> bool {
        has_reached(self.0.load(Ordering::Acquire), used.wrapping_add(1))
    }

    /// Returns when it has.
    #[inline]
    pub fn wait<W: Wait>(&self, used: u32, PostSleepers(sleepers): &PostSleepers, wait: &mut W) -> Result<(), W::Error> {
        wait_until(&self.0, sleepers, wait, |posts| has_reached(posts, used.wrapping_add(1)))
    }
}

impl PostSleepers {
    /// Nobody sleeps, in private memory. In shared memory zeroed bytes mean that.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        PostSleepers(AtomicU32::new(0))
    }

    /// As above; loom's words are made at run time.
    #[cfg(loom)]
    pub fn new() -> Self {
        PostSleepers(AtomicU32::new(0))
    }

    /// Back to nobody.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl CompletionWords {
    /// No completes, in private memory. In shared memory zeroed bytes mean that.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        CompletionWords { completed: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
    }

    /// As above; loom's words are made at run time.
    #[cfg(loom)]
    pub fn new() -> Self {
        CompletionWords { completed: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
    }

    /// Back to no completes.
    pub fn reset(&self) {
        self.completed.store(0, Ordering::Relaxed);
        self.sleepers.store(0, Ordering::Relaxed);
    }

    /// An origin's epoch with this target is over.
    #[inline]
    pub fn complete(&self) {
        self.completed.fetch_add(1, Ordering::Release);
        // Pairs with the fence in `sleep_until`.
        fence_after_rmw();
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            wake(&self.completed);
        }
    }

    /// Have there been `total` completes since the window was made?
    #[inline]
    pub fn have_completed(&self, total: u32) -> bool {
        has_reached(self.completed.load(Ordering::Acquire), total)
    }

    /// Returns when there have.
    #[inline]
    pub fn wait<W: Wait>(&self, total: u32, wait: &mut W) -> Result<(), W::Error> {
        wait_until(&self.completed, &self.sleepers, wait, |completed| has_reached(completed, total))
    }
}

impl Default for PostSlot {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for PostSleepers {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for CompletionWords {
    fn default() -> Self {
        Self::new()
    }
}
