//! The state of a rank's access epochs on a window: which targets an operation may name now.
//!
//! One word says which kind of epoch is open, so that an operation checks it with one load. Private to the process; several threads
//! may be inside (`MPI_THREAD_MULTIPLE`), each on targets of its own, hence atomics. Nothing is published by these words: an operation follows
//! the synchronisation call that opened its epoch in program order, or by the program's own ordering of its threads.

use crate::base::error::{Class, Error, What};
use crate::base::threads;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};

/// No epoch.
const NONE: u32 = 0;
/// Between fences, nothing done yet: a lock may still follow.
const FENCE: u32 = 1;
/// Between fences, with operations.
const FENCE_USED: u32 = 2;
/// `MPI_Win_start`.
const START: u32 = 3;
/// `MPI_Win_lock_all`.
const LOCK_ALL: u32 = 4;
/// This and above: one or more `MPI_Win_lock`, as many as the distance from here and one.
const LOCK: u32 = 5;

/// What this rank has of one target: its lock, or its part in an epoch of `MPI_Win_start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Held {
    /// Not locked by this rank.
    No = 0,
    /// `MPI_LOCK_SHARED`.
    Shared = 1,
    /// `MPI_LOCK_EXCLUSIVE`.
    Exclusive = 2,
    /// Locked with `MPI_MODE_NOCHECK`: no word was changed, none will be.
    Unchecked = 3,
    /// Started; whether the target has posted was not yet looked at.
    Started = 4,
    /// Started, and the target has posted.
    Posted = 5,
}

impl Held {
    #[inline]
    fn from_byte(byte: u8) -> Held {
        match byte {
            1 => Held::Shared,
            2 => Held::Exclusive,
            3 => Held::Unchecked,
            4 => Held::Started,
            5 => Held::Posted,
            _ => Held::No,
        }
    }
}

/// Access epochs of the calling rank.
pub struct Epochs {
    open: AtomicU32,
    held: Box<[AtomicU8]>,
    /// `lock_all` was called with `MPI_MODE_NOCHECK`.
    all_unchecked: AtomicBool,
}

impl Epochs {
    /// No epoch, on a window of so many ranks.
    pub fn new(ranks: u32) -> Epochs {
        Epochs {
            open: AtomicU32::new(NONE),
            held: (0..ranks).map(|_| AtomicU8::new(Held::No as u8)).collect(),
            all_unchecked: AtomicBool::new(false),
        }
    }

    /// May an operation name this target (a rank of the window) now?
    #[inline]
    pub fn covers(&self, target: c_int) -> bool {
        match self.open.load(Relaxed) {
            LOCK_ALL | FENCE_USED => true,
            NONE => false,
            FENCE => {
                self.open.store(FENCE_USED, Relaxed);
                true
            }
            START => self.held(target) == Held::Posted,
            _ => self.is_held(target),
        }
    }

    #[inline]
    fn is_held(&self, target: c_int) -> bool {
        self.held(target) != Held::No
    }

    /// The error of an operation outside of any epoch that covers its target.
    #[cold]
    pub fn uncovered(target: c_int) -> Error {
        Error { class: Class::RmaSync, what: What::NoEpoch { rank: target } }
    }

    /// Is a lock or `lock_all` held?
    #[inline]
    pub fn is_passive(&self) -> bool {
        self.open.load(Relaxed) >= LOCK_ALL
    }

    /// Is this target (a rank of the window) locked, by itself or with all?
    #[inline]
    pub fn is_passive_at(&self, target: c_int) -> bool {
        match self.open.load(Relaxed) {
            LOCK_ALL => true,
            LOCK.. => self.is_held(target),
            _ => false,
        }
    }

    /// A fence: legal unless another kind of access epoch is open.
    pub fn may_fence(&self) -> Result<(), Error> {
        match self.open.load(Relaxed) {
            START => Err(Error::text(Class::RmaSync, "a fence between start and complete")),
            LOCK_ALL.. => Err(Error::text(Class::RmaSync, "a fence inside a lock epoch")),
            _ => Ok(()),
        }
    }

    /// `MPI_Win_start`: legal where no access epoch is open that somebody has used.
    pub fn may_start(&self) -> Result<(), Error> {
        Err(Error::text(
            Class::RmaSync,
            match self.open.load(Relaxed) {
                NONE | FENCE => return Ok(()),
                FENCE_USED => "start inside a fence epoch",
                START => "start inside an epoch that start has opened",
                _ => "start inside a lock epoch",
            },
        ))
    }

    /// An epoch on these targets is open from now on.
    pub fn started(&self, targets: &[u32]) {
        targets.iter().for_each(|target| self.set_held(*target as c_int, Held::Started));
        self.open.store(START, Relaxed);
    }

    /// The target of an open `MPI_Win_start` has posted.
    pub fn posted(&self, target: c_int) {
        self.set_held(target, Held::Posted);
    }

    /// Is an epoch of `MPI_Win_start` open?
    pub fn is_started(&self) -> bool {
        self.open.load(Relaxed) == START
    }

    /// The epoch on these targets has ended.
    pub fn completed(&self, targets: &[u32]) {
        targets.iter().for_each(|target| self.set_held(*target as c_int, Held::No));
        self.open.store(NONE, Relaxed);
    }

    /// After a fence: open, unless it said that nothing will follow.
    pub fn fenced(&self, opens: bool) {
        self.open.store(if opens { FENCE } else { NONE }, Relaxed);
    }

    /// May this rank lock the target (a rank of the window)? A fence with nothing behind it has opened no epoch that anybody used.
    #[inline]
    pub fn can_lock(&self, target: c_int) -> bool {
        match self.open.load(Relaxed) {
            NONE | FENCE => true,
            LOCK.. => !self.is_held(target),
            _ => false,
        }
    }

    /// As [`Epochs::can_lock`], with the error that says why not.
    pub fn may_lock(&self, target: c_int) -> Result<(), Error> {
        if self.can_lock(target) {
            return Ok(());
        }
        Err(match self.open.load(Relaxed) {
            LOCK_ALL => lock_error("is locked with all others already", target),
            FENCE_USED => lock_error("is locked inside a fence epoch", target),
            START => lock_error("is locked between start and complete", target),
            _ => lock_error("is locked by this rank already", target),
        })
    }

    /// The target's lock is held from now on.
    #[inline]
    pub fn locked(&self, target: c_int, held: Held) {
        self.set_held(target, held);
        self.count(|open| if open < LOCK { LOCK } else { open + 1 });
    }

    /// Whether and how the target's lock is held.
    #[inline]
    pub fn held(&self, target: c_int) -> Held {
        self.slot(target).map_or(Held::No, |held| Held::from_byte(held.load(Relaxed)))
    }

    #[inline]
    fn set_held(&self, target: c_int, held: Held) {
        if let Some(slot) = self.slot(target) {
            slot.store(held as u8, Relaxed);
        }
    }

    #[inline]
    fn slot(&self, target: c_int) -> Option<&AtomicU8> {
        self.held.get(target as usize)
    }

    /// The target's lock is not held any more.
    #[inline]
    pub fn unlocked(&self, target: c_int) {
        self.set_held(target, Held::No);
        self.count(|open| if open == LOCK { NONE } else { open - 1 });
    }

    /// Changes the word for one lock more or less. Atomically only where another thread may do the same: a locked instruction costs as much
    /// as the lock itself.
    #[inline]
    fn count(&self, change: impl Fn(u32) -> u32) {
        if threads::are_concurrent() {
            let _ = self.open.fetch_update(Relaxed, Relaxed, |open| Some(change(open)));
        } else {
            self.open.store(change(self.open.load(Relaxed)), Relaxed);
        }
    }

    /// May this rank lock all targets?
    pub fn may_lock_all(&self) -> Result<(), Error> {
        Err(Error::text(
            Class::RmaSync,
            match self.open.load(Relaxed) {
                NONE | FENCE => return Ok(()),
                LOCK_ALL => "lock_all inside a lock_all epoch",
                LOCK.. => "lock_all inside a lock epoch",
                START => "lock_all between start and complete",
                _ => "lock_all inside a fence epoch",
            },
        ))
    }

    /// All targets' locks are held from now on; `unchecked` where no word was changed.
    pub fn locked_all(&self, unchecked: bool) {
        self.all_unchecked.store(unchecked, Relaxed);
        self.open.store(LOCK_ALL, Relaxed);
    }

    /// Whether the open `lock_all` epoch is unchecked; an error where there is none.
    pub fn held_all(&self) -> Result<bool, Error> {
        match self.open.load(Relaxed) {
            LOCK_ALL => Ok(self.all_unchecked.load(Relaxed)),
            _ => Err(Error::text(Class::RmaSync, "unlock_all without lock_all")),
        }
    }

    /// The `lock_all` epoch has ended.
    pub fn unlocked_all(&self) {
        self.open.store(NONE, Relaxed);
    }
}

/// The error of an unlock without a lock.
#[cold]
pub fn not_locked(target: c_int) -> Error {
    lock_error("is not locked by this rank", target)
}

fn lock_error(text: &'static str, rank: c_int) -> Error {
    Error { class: Class::RmaSync, what: What::Lock { text, rank } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_covered_without_an_epoch() {
        let epochs = Epochs::new(2);
        assert!(!epochs.covers(0) && !epochs.is_passive_at(0));
        assert!(epochs.held(0) == Held::No && epochs.held_all().is_err());
    }

    #[test]
    fn a_lock_may_follow_a_fence_that_nothing_followed() {
        let epochs = Epochs::new(2);
        epochs.fenced(true);
        assert!(epochs.may_lock(1).is_ok());
        assert!(epochs.may_lock_all().is_ok());
        assert!(epochs.covers(1));
        assert!(epochs.may_lock(1).is_err(), "an operation has used the fence epoch");
        assert!(epochs.may_lock_all().is_err());
        epochs.fenced(false);
        assert!(!epochs.covers(1));
        assert!(epochs.may_lock(1).is_ok());
    }

    #[test]
    fn a_lock_covers_its_target_alone() {
        let epochs = Epochs::new(3);
        epochs.locked(1, Held::Exclusive);
        assert!(epochs.covers(1) && !epochs.covers(0));
        assert!(epochs.may_lock(1).is_err() && epochs.may_lock(0).is_ok());
        assert!(epochs.may_fence().is_err() && epochs.may_lock_all().is_err());
        epochs.locked(0, Held::Shared);
        assert_eq!((epochs.held(0), epochs.held(1)), (Held::Shared, Held::Exclusive));
        epochs.unlocked(1);
        assert!(epochs.covers(0) && !epochs.covers(1) && epochs.is_passive());
        epochs.unlocked(0);
        assert!(!epochs.is_passive());
    }

    #[test]
    fn lock_all_covers_all_and_remembers_whether_it_was_checked() {
        let epochs = Epochs::new(2);
        epochs.locked_all(true);
        assert!(epochs.covers(0) && epochs.covers(1) && epochs.may_lock(0).is_err());
        assert_eq!(epochs.held_all(), Ok(true));
        epochs.unlocked_all();
        epochs.locked_all(false);
        assert_eq!(epochs.held_all(), Ok(false));
    }

    #[test]
    fn threads_that_lock_targets_of_their_own_leave_the_right_state() {
        threads::set_concurrent();
        let epochs = Epochs::new(4);
        std::thread::scope(|scope| {
            for target in 0..4 {
                let epochs = &epochs;
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        epochs.locked(target, Held::Exclusive);
                        assert!(epochs.is_passive_at(target));
                        epochs.unlocked(target);
                    }
                });
            }
        });
        assert!(!epochs.is_passive());
    }
}
