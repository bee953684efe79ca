//! Accumulates on the memory of one process: element by element with atomics, which many origins do at once, or in bulk with plain
//! loads and stores, for which an origin needs the elements for itself.
//!
//! Every process shares one [`ExclusionWords`]: as a target its stripes, as an origin its announcement. A *stripe* is 64 KiB of the
//! target's memory and the lock of whoever works on it in bulk; all stripes share 64 locks.
//!
//! * **Element operation** ([`Origin::try_enter`], [`Origin::enter`]): announces itself, *full fence*, looks at the stripes that
//!   it touches. Is one of them held, it withdraws and waits, with nothing announced, until it is free, and tries anew. Else it
//!   does its atomics, each of the element's own size, and takes the announcement back.
//! * **Bulk operation** ([`ExclusionWords::lock`]): locks its stripes, *full fence*, waits until each origin has been seen with
//!   nothing announced, once. Then the elements are its own until it unlocks.
//!
//! So element operations share nothing but their data, and bulks on different stripes run in parallel. A type that is never touched
//! element by element (16 bytes, misaligned, memory that is not mapped) needs the stripes only: its bulks name no origins.
//!
//! # Why it is linearisable on each element
//!
//! Two element operations: each is one atomic instruction on the element, always of the same size. Two bulks: the stripe's lock.
//! An element operation E and a bulk B that share a stripe: E announces, fences, looks at the stripe; B locks the stripe, fences,
//! looks at the announcement. One of the two fences comes first. If it is B's, E finds the stripe held and withdraws, or finds it
//! free again and sees B's work (`Release`/`Acquire`). If it is E's, B sees the announcement or what came after it; what it waits
//! for, nothing announced, comes after E's own end, and B sees E's work (`Release`/`Acquire`). So B waits for every E that did
//! not see it, and no E that B has not waited for gets past its look. Announcements that come and go later are none of B's
//! concern: it looks until it has seen quiet *once*.
//!
//! What goes wrong without the fence of E, whose announcement is still in its store buffer when it looks (or without that of B,
//! with the roles exchanged: a lock is taken by an atomic instruction, which is no fence everywhere):
//!
//! ```text
//! E: announces (to the store buffer)
//! E: stripe: free
//!                                       B: locks the stripe, fence
//!                                       B: E's announcement: none
//!                                       B: reads 5
//! E: adds 1, the element is 6
//!                                       B: writes 5 + 1: E's is lost
//! ```
//!
//! Withdrawing is a `Release` like the end of an operation, although nothing was done: B may see this store where it would else
//! have seen the end of the operation before, and has to see that operation's work all the same.
//!
//! # Why nobody waits for ever
//!
//! * E waits with nothing announced and nothing locked. Were it announced, B, which holds the stripe, would wait for E.
//! * Bulks take their stripes in ascending order, so whoever holds a stripe waits for a holder of higher ones, or for
//!   announcements, and these are followed by a few atomics and no wait. Such a wait must not do anything else meanwhile, so it
//!   is [`Wait::pause_holding`]:
//!
//!   ```text
//!   A: bulk, holds stripe 3, waits for stripe 7, turns the host's progress
//!      → a callback of the application, or a message from elsewhere that is executed here, accumulates on stripe 3
//!        → waits for A, which is the frame below, for ever
//!   ```
//!
//!   Nor does anybody need A's progress to let go of stripe 7: B, which holds it, waits for stripes and announcements, never for
//!   a message. (A's first stripe may be waited for as usual: nothing is held.)
//! * Nothing is announced by an origin of one thread between any two operations, and a bulk need not be lucky to see it (below).
//!   Several threads count themselves instead, and the count need never be 0, although those that touch B's stripe withdraw and
//!   wait. The others, on other stripes or other targets, do not care about B:
//!
//!   ```text
//!   thread 1: +1       −1    +1       −1    +1
//!   thread 2:       +1          −1 +1          −1
//!   count:     1    2  1     2  1  2  1     2  1      B looks for 0
//!   ```
//!
//!   So a bulk that is not served in its first polls asks that origin to *drain*: while `drains` is not 0, whoever announces
//!   itself there withdraws and waits until it is, wherever it wants to go. Each of the threads announces itself at most once
//!   more, so the count goes to 0 and stays there until the bulk has seen it and takes its request back. Bulks that come
//!   meanwhile find the 0 at once and ask for nothing: a stream of bulks does not keep an origin out either. A request is a
//!   matter of liveness only; it needs no fence.
//! * Stripes are handed over to whoever comes first. An element operation against a stream of bulks, or a bulk among many, gets
//!   in by chance, and the chance is good: an unlock that wakes somebody leaves the stripe free for the time of a system call.
//!
//! Whoever dies inside leaves the word as it is; nothing is repaired. The waits of the others end by their [`Wait`], and must
//! watch every process that may have been inside, which may not belong to the window of the one who waits: stripes are the
//! process's.
//!
//! # Cost, uncontended
//!
//! | | locked instructions | else |
//! |---|---|---|
//! | element operation, origin of one thread | 1 (announcing: it is the fence too) | a load per stripe, mostly one, shared by all who read it; a load of `drains` and a store, on the announcement's own line |
//! | with several threads | 2 | the loads |
//! | bulk | 2 per stripe (lock; unlock, which is the fence before the look at the sleepers) | a load per origin, a load per stripe |
//!
//! # The words
//!
//! | word | written by | read by | ordering |
//! |---|---|---|---|
//! | stripe `state` | a bulk 0 → 1, its holder → 0 | origins of element operations; bulks | in: `Relaxed`, then a full fence; out: `Release`; looks of element operations `Acquire` behind a full fence |
//! | stripe `sleepers` | those that pause on it ±1 | its holder, when it goes | `Relaxed`, fences on both sides |
//! | `announced` | its process: 1 and 0, or ±1 under several threads | bulks | in: `Relaxed`, then a full fence; out: `Release`; looks `Acquire` behind a full fence |
//! | `drains` | bulks that were not served ±1 | its process | `Relaxed`: liveness only |
//! | `drain_sleepers` | threads of its process that pause on `drains` ±1 | bulks that take their request back | `Relaxed`, fences on both sides |
//!
//! Nobody is woken when an announcement ends: that would cost each element operation a look, for a wait of nanoseconds. Where the
//! announcer was preempted in between, the bulk's bounded sleeps leave it the core.
//!
//! Reset rule for all: [`ExclusionWords::reset`] by the process before it tells any other of the words; never while in use.

use super::atomic::{AtomicU32, Ordering, fence_after_rmw};
use super::{Wait, wait_unannounced, wait_until, wake};

/// Bits of a position inside one stripe.
const STRIPE_BITS: u32 = 16;
/// Stripes that a process has words for. Two are enough for every path in the models.
const STRIPES: usize = if cfg!(loom) { 2 } else { 64 };

/// Polls after which a bulk asks an origin to drain: by then an origin of one thread that runs has been seen between two
/// operations.
const DRAIN_AFTER: u32 = if cfg!(loom) { 1 } else { 128 };

const FREE: u32 = 0;
const HELD: u32 = 1;

/// Stripes of one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripeSet(u64);

impl StripeSet {
    /// None.
    pub const EMPTY: StripeSet = StripeSet(0);
    /// All.
    pub const ALL: StripeSet = StripeSet(u64::MAX >> (64 - STRIPES));

    /// The stripes of `size` bytes from `position` on: a place in the target's memory by which all origins call it.
    #[inline]
    pub const fn of(position: u64, size: u64) -> StripeSet {
        if size == 0 {
            return StripeSet::EMPTY;
        }
        let first = position >> STRIPE_BITS;
        let last = (position + (size - 1)) >> STRIPE_BITS;
        if first == last {
            return StripeSet(1 << index(first));
        }
        StripeSet::spanning(first, last)
    }

    #[cold]
    #[inline(never)]
    const fn spanning(first: u64, last: u64) -> StripeSet {
        if last - first >= STRIPES as u64 {
            return StripeSet::ALL;
        }
        let (mut set, mut stripe) = (0, first);
        while stripe <= last {
            set |= 1 << index(stripe);
            stripe += 1;
        }
        StripeSet(set)
    }

    /// The stripes of both.
    #[inline]
    pub const fn union(self, other: StripeSet) -> StripeSet {
        StripeSet(self.0 | other.0)
    }

    /// None at all?
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Indices in ascending order.
impl Iterator for StripeSet {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lowest = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(lowest)
    }
}

/// Which lock a stripe has. Those of 64 neighbours follow each other, and each next 64 begin a golden section further on, so that
/// parts of a window that ranks divide among themselves, mostly a power of two apart, begin far from each other.
#[inline]
const fn index(stripe: u64) -> usize {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let shift = (stripe >> 6).wrapping_mul(GOLDEN) >> (64 - 6);
    (stripe + shift) as usize % STRIPES
}

/// The lock of a stripe.
#[derive(Debug)]
#[repr(C)]
#[cfg_attr(target_arch = "x86_64", repr(align(64)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(align(128)))]
struct Stripe {
    state: AtomicU32,
    sleepers: AtomicU32,
}

impl Stripe {
    #[inline]
    fn try_lock(&self) -> bool {
        // What follows is the full fence of `ExclusionWords::lock`, which is an `Acquire` too.
        self.state.compare_exchange(FREE, HELD, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn wait_for_lock<W: Wait>(&self, wait: &mut W) -> Result<(), W::Error> {
        wait_until(&self.state, &self.sleepers, wait, |state| state == FREE && self.try_lock())
    }

    #[inline]
    fn unlock(&self) {
        self.state.swap(FREE, Ordering::Release);
        // Pairs with the fence in `sleep_until`.
        fence_after_rmw();
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            wake(&self.state);
        }
    }
}

/// What a process is doing element by element, wherever.
#[derive(Debug)]
#[repr(C)]
#[cfg_attr(target_arch = "x86_64", repr(align(64)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(align(128)))]
pub struct Announcement {
    announced: AtomicU32,
    drains: AtomicU32,
    drain_sleepers: AtomicU32,
}

impl Announcement {
    #[inline]
    fn is_quiet(&self) -> bool {
        self.announced.load(Ordering::Acquire) == 0
    }

    /// Waits until this origin has been seen with nothing announced.
    #[cold]
    #[inline(never)]
    fn wait_until_quiet<W: Wait>(&self, wait: &mut W) -> Result<(), W::Error> {
        let (mut patience, mut draining) = (wait.spins().min(DRAIN_AFTER), false);
        let outcome = wait_unannounced(&self.announced, wait, |announced| {
            if announced == 0 {
                return true;
            }
            if patience > 0 {
                patience -= 1;
            } else if !draining {
                draining = true;
                self.drains.fetch_add(1, Ordering::Relaxed);
            }
            false
        });
        if draining {
            self.drains.fetch_sub(1, Ordering::Relaxed);
            // Pairs with the fence in `sleep_until`.
            fence_after_rmw();
            if self.drain_sleepers.load(Ordering::Relaxed) != 0 {
                wake(&self.drains);
            }
        }
        outcome
    }
}

/// What a process shares for accumulates: the locks of its stripes, and its announcement. Zeroed memory is the start state.
#[derive(Debug)]
#[repr(C)]
pub struct ExclusionWords {
    stripes: [Stripe; STRIPES],
    announcement: Announcement,
}

impl ExclusionWords {
    /// The words in private memory.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        ExclusionWords {
            stripes: [const { Stripe { state: AtomicU32::new(FREE), sleepers: AtomicU32::new(0) } }; STRIPES],
            announcement: Announcement {
                announced: AtomicU32::new(0),
                drains: AtomicU32::new(0),
                drain_sleepers: AtomicU32::new(0),
            },
        }
    }

    /// As above; loom's words are made at run time.
    #[cfg(loom)]
    pub fn new() -> Self {
        let [announced, drains, drain_sleepers] = core::array::from_fn(|_| AtomicU32::new(0));
        ExclusionWords {
            stripes: core::array::from_fn(|_| Stripe { state: AtomicU32::new(FREE), sleepers: AtomicU32::new(0) }),
            announcement: Announcement { announced, drains, drain_sleepers },
        }
    }

    /// Back to the start, for memory that is used again. One process does it, before any other is told of the words.
    pub fn reset(&self) {
        self.words().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Words that are not in their start state, for tests.
    #[cfg(test)]
    pub(super) fn left_behind(&self) -> usize {
        self.words().filter(|word| word.load(Ordering::Relaxed) != 0).count()
    }

    /// What bulks look at, for tests.
    #[cfg(test)]
    pub(super) fn announced(&self) -> &AtomicU32 {
        &self.announcement.announced
    }

    fn words(&self) -> impl Iterator<Item = &AtomicU32> {
        let ExclusionWords { stripes, announcement: Announcement { announced, drains, drain_sleepers } } = self;
        stripes.iter().flat_map(|Stripe { state, sleepers }| [state, sleepers]).chain([announced, drains, drain_sleepers])
    }

    /// This process as an origin, for the bulks of others.
    #[inline]
    pub fn announcement(&self) -> &Announcement {
        &self.announcement
    }

    /// Takes `stripes` of this target for the caller alone, against bulks and against the element operations of `origins`: all
    /// who may accumulate here, the caller's own process included (other threads of it may be at it).
    ///
    /// The calling thread may hold nothing of this kind yet, and calls nothing that could wait until it has dropped the result.
    #[inline]
    pub fn lock<'a, W: Wait>(
        &'a self,
        stripes: StripeSet,
        origins: impl IntoIterator<Item = &'a Announcement>,
        wait: &mut W,
    ) -> Result<Bulk<'a>, W::Error> {
        // Dropped on an error, it unlocks what was locked by then.
        let mut bulk = Bulk { target: self, stripes: StripeSet::EMPTY };
        for index in stripes {
            let stripe = &self.stripes[index];
            if !stripe.try_lock() {
                if bulk.stripes.is_empty() {
                    stripe.wait_for_lock(wait)?;
                } else {
                    stripe.wait_for_lock(&mut Holding(wait))?;
                }
            }
            bulk.stripes.0 |= 1 << index;
        }
        // Pairs with the fence in `Origin::try_enter`.
        fence_after_rmw();
        for origin in origins {
            if !origin.is_quiet() {
                origin.wait_until_quiet(&mut Holding(wait))?;
            }
        }
        Ok(bulk)
    }

    #[inline]
    fn are_free(&self, stripes: StripeSet) -> bool {
        stripes.fold(FREE, |state, index| state | self.stripes[index].state.load(Ordering::Acquire)) == FREE
    }
}

impl Default for ExclusionWords {
    fn default() -> Self {
        Self::new()
    }
}

/// Stripes that the caller has for itself; unlocked when dropped.
#[must_use = "the stripes are unlocked when this is dropped"]
#[derive(Debug)]
pub struct Bulk<'a> {
    target: &'a ExclusionWords,
    stripes: StripeSet,
}

impl Drop for Bulk<'_> {
    #[inline]
    fn drop(&mut self) {
        self.stripes.for_each(|index| self.target.stripes[index].unlock());
    }
}

/// The calling process as an origin of element operations.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    announcement: &'a Announcement,
    counts: bool,
}

impl<'a> Origin<'a> {
    /// The process whose words these are. `several_threads` may be false only where no two threads of it are ever inside at once;
    /// all its origins are made alike.
    pub const fn new(words: &'a ExclusionWords, several_threads: bool) -> Self {
        Origin { announcement: &words.announcement, counts: several_threads }
    }

    /// Enters for atomics on elements in `stripes` of `target`, unless somebody has one of them in bulk. Never waits.
    #[inline(always)]
    pub fn try_enter(self, target: &ExclusionWords, stripes: StripeSet) -> Option<ElementAccess<'a>> {
        let Announcement { announced, drains, .. } = self.announcement;
        if self.counts {
            announced.fetch_add(1, Ordering::Relaxed);
        } else {
            announced.swap(1, Ordering::Relaxed);
        }
        // Dropped on refusal, it takes the announcement back.
        let access = ElementAccess { origin: self };
        // Pairs with the fence in `ExclusionWords::lock`.
        fence_after_rmw();
        (target.are_free(stripes) && drains.load(Ordering::Relaxed) == 0).then_some(access)
    }

    /// As [`Origin::try_enter`], and waits for its turn. The calling thread is inside nothing of this kind yet, and calls nothing
    /// that could wait until it has dropped the result.
    #[inline]
    pub fn enter<W: Wait>(
        self,
        target: &ExclusionWords,
        stripes: StripeSet,
        wait: &mut W,
    ) -> Result<ElementAccess<'a>, W::Error> {
        match self.try_enter(target, stripes) {
            Some(access) => Ok(access),
            None => self.wait_to_enter(target, stripes, wait),
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_to_enter<W: Wait>(
        self,
        target: &ExclusionWords,
        stripes: StripeSet,
        wait: &mut W,
    ) -> Result<ElementAccess<'a>, W::Error> {
        let Announcement { drains, drain_sleepers, .. } = self.announcement;
        loop {
            wait_until(drains, drain_sleepers, wait, |drains| drains == 0)?;
            for index in stripes {
                let Stripe { state, sleepers } = &target.stripes[index];
                wait_until(state, sleepers, wait, |state| state == FREE)?;
            }
            if let Some(access) = self.try_enter(target, stripes) {
                return Ok(access);
            }
        }
    }
}

/// An origin inside an element operation; it has left when this is dropped.
#[must_use = "the operation ends when this is dropped"]
#[derive(Debug)]
pub struct ElementAccess<'a> {
    origin: Origin<'a>,
}

impl Drop for ElementAccess<'_> {
    #[inline]
    fn drop(&mut self) {
        let announced = &self.origin.announcement.announced;
        if self.origin.counts {
            announced.fetch_sub(1, Ordering::Release);
        } else {
            announced.store(0, Ordering::Release);
        }
    }
}

/// The pauses of a caller that holds stripes.
struct Holding<'a, W>(&'a mut W);

impl<W: Wait> Wait for Holding<'_, W> {
    type Error = W::Error;

    fn spins(&self) -> u32 {
        self.0.spins()
    }

    fn pause(&mut self, word: &AtomicU32, seen: u32) -> Result<(), W::Error> {
        self.0.pause_holding(word, seen)
    }

    fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), W::Error> {
        self.0.pause_holding(word, seen)
    }
}
