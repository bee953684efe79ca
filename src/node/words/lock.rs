//! The window lock of one target: one exclusive holder or any number of shared ones, taken by the ranks of the target's node
//! directly and by the agent on behalf of remote origins.
//!
//! # The protocol
//!
//! `state` says all about who holds the lock: a count of shared holders, or `EXCLUSIVE`. Every way in is one compare-and-swap
//! that succeeds only from a value that admits the caller, so exclusion needs no argument beyond the atomicity of one word, and
//! no fence.
//!
//! **Exact release.** While `EXCLUSIVE` stands, nobody but its holder writes `state`: readers look before they add, they do
//! not add and then look. Hence the unlock is a plain releasing store that cannot overwrite anything. (With readers that
//! announce themselves first it loses them. Reader: `state` += 1. Holder: `state` := 0. Reader, having seen the holder: `state`
//! −= 1, and the count is −1 for good. The model `loom_an_announced_reader_is_lost` keeps this true.)
//!
//! **Readers come first.** A waiting writer must not keep readers out until those inside have left, or legal programs hang: p
//! and q hold shared locks and exchange messages, w waits for an exclusive lock, r wants in as well; p waits for r's message, r
//! behind w, w for p. So a writer waits for `state` to become 0 of itself. Yet where readers overlap for ever it never would;
//! therefore the writer now and then sets `DRAIN`, which asks readers to hold back, and *withdraws* it after `DRAIN_POLLS`
//! polls (some 20 µs) if they have not left by then. It never sleeps, makes progress or calls anything with `DRAIN` set. The
//! polls between two attempts double, so that a writer that waits for a long time costs readers little. Under permanent readers
//! writers may still starve, as in every host MPI.
//!
//! **Writers do not starve readers.** A reader that is still refused after its spinning and `PATIENCE` pauses counts itself in
//! `starving`. From then on it no longer honours `DRAIN`, and no writer takes the lock while anybody starves: at most those get
//! in before it that had already looked, one attempt each. It never waits for a writer that waits, only for one that holds.
//!
//! **FIFO among writers.** A writer that finds the lock taken draws a ticket from `next`; ticket t is at the head of the queue
//! when `turns[t mod 8]` holds t. Only the head goes for `state`, and a newcomer goes straight for it only when `queued` is 0.
//! The head keeps its place while it waits, whatever it does about `DRAIN`. The eight turn words let a writer wake its successor
//! and, at most, every eighth of those behind instead of all.
//!
//! # Cost, uncontended
//!
//! | call | locked instructions | fences | else |
//! |---|---|---|---|
//! | exclusive lock, unlock | 1, 0 | 0, 0 | one load (`queued`); one releasing store, one load (`sleepers`) |
//! | shared lock, unlock | 1, 1 | 0, 0 | one load (`state`); one load (`sleepers`) |
//!
//! A flag and a count of readers in words of their own (each side writes one and looks at the other) need a full fence in the
//! exclusive lock besides the atomic of its ticket, twice the price of the bare sequence; one word needs none.
//!
//! # The words
//!
//! All on one line; the processors of one node write them, no network adapter does.
//!
//! | word | written by | read by | ordering |
//! |---|---|---|---|
//! | `state` | readers ±1; a writer 0 or `DRAIN` → `EXCLUSIVE`; its holder → 0; the head of the queue ±`DRAIN` | all | in: `Acquire`; out: `Release`. Every change between an unlock and a later lock is a read-modify-write, so the lock meets the unlock's release sequence |
//! | `queued` | a queued writer or starving reader +1, later −1 | writers before the short way in | `Relaxed`: fairness only |
//! | `starving` | a starving reader +1, later −1 | the head of the queue before it takes the lock | `Relaxed`: fairness only |
//! | `next` | a writer that queues +1 | the same | `Relaxed`: the value alone matters |
//! | `turns` | the head of the queue, for its successor | the writer with that ticket | `Release` / `Acquire`: heads follow each other |
//! | `sleepers` | those that pause on `state` ±1 | whoever unlocks or withdraws `DRAIN` | `Relaxed`, no fence in unlock: see [`super`] |
//! | `queue_sleepers` | those that pause on a turn ±1 | the head that goes | `Relaxed`, fences on both sides |
//!
//! Reset rule for all: [`LockWords::reset`] by one process before any other is told of the lock; never while in use.
//!
//! # Giving up
//!
//! A caller whose [`Wait`] fails takes back what it has announced (`DRAIN`, `starving`, its place at the head, which goes to its
//! successor), with one exception: a writer that is queued but not at the head cannot take its ticket out. Those behind it and
//! later writers then wait until their own waits fail. They do, for a wait fails because a rank of the window has died, which
//! ends every long wait on that window. What a dead holder held stays held.
//!
//! # Room for adapters
//!
//! Should remote origins one day lock by network atomics, that half gets words of its own on lines of its own (owner, count,
//! turn): an adapter and a processor must not both modify a word. `state` already plays the local flag and count in that
//! protocol: a local writer holds `EXCLUSIVE`, then settles with the remote owner, and withdraws by the same store that unlocks.

use super::atomic::{AtomicU32, Ordering, compiler_fence, fence_after_rmw, spin_loop};
use super::{Wait, wait_until, wake};

/// `state` while an exclusive holder is in; never together with anything else.
const EXCLUSIVE: u32 = 1 << 31;
/// The head of the queue asks readers to stay out for a moment.
const DRAIN: u32 = 1 << 30;

/// How long a writer holds off readers, in polls: 15 to 45 µs. Longer than most shared epochs of a few operations, far shorter
/// than anything that a program would notice as a hang.
const DRAIN_POLLS: u32 = if cfg!(loom) { 1 } else { 1024 };
/// Polls between two such attempts, at first and at most. A poll may be a pause of up to a millisecond, but hardly where
/// attempts are of use: where readers come and go `state` changes all the time, and pauses end at once.
const DRAIN_GAP: u32 = if cfg!(loom) { 1 } else { 16 };
const DRAIN_GAP_MAX: u32 = if cfg!(loom) { 2 } else { 256 };
/// Pauses after which a reader starves.
const PATIENCE: u32 = if cfg!(loom) { 0 } else { 4 };

const TURNS: usize = 8;

/// The lock. Zeroed memory is a free one.
#[derive(Debug)]
#[repr(C)]
#[cfg_attr(target_arch = "x86_64", repr(align(64)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(align(128)))]
pub struct LockWords {
    pub(super) state: AtomicU32,
    pub(super) sleepers: AtomicU32,
    pub(super) queued: AtomicU32,
    pub(super) starving: AtomicU32,
    pub(super) next: AtomicU32,
    pub(super) queue_sleepers: AtomicU32,
    turns: [AtomicU32; TURNS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<LockWords>() == align_of::<LockWords>(), "one line");

impl LockWords {
    /// A free lock in private memory.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        LockWords {
            state: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            queued: AtomicU32::new(0),
            starving: AtomicU32::new(0),
            next: AtomicU32::new(0),
            queue_sleepers: AtomicU32::new(0),
            turns: [const { AtomicU32::new(0) }; TURNS],
        }
    }

    /// As above; loom's words are made at run time.
    #[cfg(loom)]
    pub fn new() -> Self {
        let [state, sleepers, queued, starving, next, queue_sleepers] = core::array::from_fn(|_| AtomicU32::new(0));
        let turns = core::array::from_fn(|_| AtomicU32::new(0));
        LockWords { state, sleepers, queued, starving, next, queue_sleepers, turns }
    }

    /// Back to a free lock, for memory that is used again. One process does it, before any other is told of the lock.
    pub fn reset(&self) {
        let LockWords { state, sleepers, queued, starving, next, queue_sleepers, turns } = self;
        for word in [state, sleepers, queued, starving, next, queue_sleepers].into_iter().chain(turns) {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Takes the lock exclusively if it is free and nobody waits that has to be let in before. Never waits.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        self.queued.load(Ordering::Relaxed) == 0 && self.take_from(0)
    }

    /// Takes a share of the lock unless it is held exclusively, or a writer has just asked readers to hold back (a matter of
    /// microseconds: try again). Never waits.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.enter_unless(EXCLUSIVE | DRAIN)
    }

    /// Takes the lock exclusively, in turn.
    #[inline]
    pub fn lock_exclusive<W: Wait>(&self, wait: &mut W) -> Result<(), W::Error> {
        if self.try_lock_exclusive() { Ok(()) } else { self.queue_for_exclusive(wait) }
    }

    /// Takes a share of the lock.
    #[inline]
    pub fn lock_shared<W: Wait>(&self, wait: &mut W) -> Result<(), W::Error> {
        if self.try_lock_shared() { Ok(()) } else { self.wait_for_share(wait) }
    }

    /// Ends the exclusive hold that the caller has.
    #[inline]
    pub fn unlock_exclusive(&self) {
        debug_assert_eq!(self.state.load(Ordering::Relaxed), EXCLUSIVE, "unlocked without a lock");
        self.state.store(0, Ordering::Release);
        self.wake_if_slept_on();
    }

    /// Ends one share that the caller has.
    #[inline]
    pub fn unlock_shared(&self) {
        let before = self.state.fetch_sub(1, Ordering::Release);
        debug_assert!(before & EXCLUSIVE == 0 && before & !DRAIN != 0, "unlocked without a lock");
        if before & !DRAIN == 1 {
            self.wake_if_slept_on();
        }
    }

    /// `from` → exclusive.
    #[inline]
    fn take_from(&self, from: u32) -> bool {
        self.state.compare_exchange(from, EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// One reader more, unless `barred` is set. Repeats only when another caller got ahead.
    #[inline]
    fn enter_unless(&self, barred: u32) -> bool {
        let mut seen = self.state.load(Ordering::Relaxed);
        while seen & barred == 0 {
            match self.state.compare_exchange(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    #[inline]
    fn wake_if_slept_on(&self) {
        // The look must not move up to before the change of `state`, over a whole epoch; that the processor may do the two in
        // either order is the rare case that the module's page speaks of.
        compiler_fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            wake(&self.state);
        }
    }

    #[cold]
    #[inline(never)]
    fn queue_for_exclusive<W: Wait>(&self, wait: &mut W) -> Result<(), W::Error> {
        self.queued.fetch_add(1, Ordering::Relaxed);
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        // On an error here the ticket stays behind, and `queued` with it: see "Giving up".
        wait_until(self.turn(ticket), &self.queue_sleepers, wait, |turn| turn == ticket)?;
        let outcome = self.take_as_head(wait);
        self.hand_on(ticket.wrapping_add(1));
        outcome
    }

    fn turn(&self, ticket: u32) -> &AtomicU32 {
        &self.turns[ticket as usize % TURNS]
    }

    /// Puts `ticket` at the head of the queue, whether or not it is drawn yet, and leaves the queue.
    fn hand_on(&self, ticket: u32) {
        let turn = self.turn(ticket);
        turn.store(ticket, Ordering::Release);
        // A read-modify-write between the store and the fence: one fence serves for both.
        self.queued.fetch_sub(1, Ordering::Relaxed);
        // Pairs with the fence in `sleep_until`.
        fence_after_rmw();
        if self.queue_sleepers.load(Ordering::Relaxed) != 0 {
            wake(turn);
        }
    }

    /// Waits at the head of the queue for the lock.
    fn take_as_head<W: Wait>(&self, wait: &mut W) -> Result<(), W::Error> {
        let (mut until_drain, mut gap) = (DRAIN_GAP, DRAIN_GAP);
        wait_until(&self.state, &self.sleepers, wait, |state| {
            if self.starving.load(Ordering::Relaxed) != 0 {
                return false;
            }
            if state == 0 {
                return self.take_from(0);
            }
            if until_drain > 0 {
                until_drain -= 1;
                return false;
            }
            gap = (2 * gap).min(DRAIN_GAP_MAX);
            until_drain = gap;
            self.drain()
        })
    }

    /// Holds new readers off for a moment; takes the lock if those inside leave meanwhile, else lets readers in again. Only the
    /// head of the queue comes here, so `DRAIN` has one owner.
    fn drain(&self) -> bool {
        let mut seen = self.state.load(Ordering::Relaxed);
        loop {
            if seen & EXCLUSIVE != 0 {
                return false;
            }
            match self.state.compare_exchange(seen, seen | DRAIN, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        for _ in 0..DRAIN_POLLS {
            if self.state.load(Ordering::Relaxed) == DRAIN && self.take_from(DRAIN) {
                return true;
            }
            spin_loop();
        }
        self.state.fetch_and(!DRAIN, Ordering::Relaxed);
        // Readers that went to sleep over `DRAIN`. Pairs with the fence in `sleep_until`.
        fence_after_rmw();
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            wake(&self.state);
        }
        false
    }

    #[cold]
    #[inline(never)]
    fn wait_for_share<W: Wait>(&self, wait: &mut W) -> Result<(), W::Error> {
        let (mut patience, mut starving) = (wait.spins().saturating_add(PATIENCE), false);
        let outcome = wait_until(&self.state, &self.sleepers, wait, |_| {
            if self.enter_unless(if starving { EXCLUSIVE } else { EXCLUSIVE | DRAIN }) {
                return true;
            }
            if patience > 0 {
                patience -= 1;
            } else if !starving {
                starving = true;
                self.queued.fetch_add(1, Ordering::Relaxed);
                self.starving.fetch_add(1, Ordering::Relaxed);
                return self.enter_unless(EXCLUSIVE);
            }
            false
        });
        if starving {
            self.starving.fetch_sub(1, Ordering::Relaxed);
            self.queued.fetch_sub(1, Ordering::Relaxed);
        }
        outcome
    }
}

impl Default for LockWords {
    fn default() -> Self {
        Self::new()
    }
}
