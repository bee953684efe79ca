//! How a blocked call passes the time (DESIGN.md, section 3): a brief spin, then host progress and a *timed* sleep in turn.
//!
//! Never an untimed sleep inside an MPI call: rank B waits for A's exclusive lock, while A, inside its epoch, receives a large message that
//! B has sent with `MPI_Isend`. The rest of that rendezvous moves only when B turns its progress.

use super::progress;
use crate::base::error::{Class, Error, What};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Those whose death ends a wait.
pub trait Watch {
    /// A rank that has died, if any. Called every tenth of a second of a long wait; may do system calls.
    fn dead(&self) -> Option<u32>;
    /// What [`Watch::dead`] has found before, without looking anew: once one of them is dead, every wait ends.
    fn known_dead(&self) -> Option<u32>;
    /// More ranks than cores: spinning only keeps the one that is waited for from running.
    fn crowded(&self) -> bool;
}

/// Polls before the first sleep where every rank has a core: some 40 µs, a little more than a sleep and a wake-up cost.
const SPINS: u32 = 1_000;
/// The same where cores are shared.
const SPINS_CROWDED: u32 = 20;
const SLEEP_FIRST: Duration = Duration::from_micros(50);
const SLEEP_LONGEST: Duration = Duration::from_millis(1);
const LOOK_FOR_DEATH: Duration = Duration::from_millis(100);

/// Whether a death was seen by any wait of this process.
static DEATH_SEEN: AtomicBool = AtomicBool::new(false);

/// Has any wait of this process found a rank dead? Then nothing collective can be hoped for.
pub fn death_seen() -> bool {
    DEATH_SEEN.load(Relaxed)
}

/// The state of one wait.
pub struct Waiter<'a> {
    watch: &'a dyn Watch,
    sleep: Duration,
    last_look: Option<Instant>,
}

impl<'a> Waiter<'a> {
    /// A wait that ends when one of `watch` dies.
    pub fn new(watch: &'a dyn Watch) -> Waiter<'a> {
        Waiter { watch, sleep: SLEEP_FIRST, last_look: None }
    }

    /// Polls that the caller makes before its first [`Waiter::pause`].
    pub fn spins(&self) -> u32 {
        if self.watch.crowded() { SPINS_CROWDED } else { SPINS }
    }

    /// For a call that does not wait, in a program that may do nothing but repeat it: turns the host's progress, and looks from time to time
    /// who has died.
    pub fn turn(&mut self) -> Result<(), Error> {
        /// Milliseconds on a clock that starts at the first call.
        static LAST_LOOK: AtomicU64 = AtomicU64::new(0);
        static CLOCK: OnceLock<Instant> = OnceLock::new();
        progress::turn(|| true);
        let now = CLOCK.get_or_init(Instant::now).elapsed().as_millis() as u64;
        if now - LAST_LOOK.load(Relaxed).min(now) < LOOK_FOR_DEATH.as_millis() as u64 {
            return Ok(());
        }
        LAST_LOOK.store(now, Relaxed);
        self.look()
    }

    fn look(&self) -> Result<(), Error> {
        let Some(rank) = self.watch.dead() else { return Ok(()) };
        DEATH_SEEN.store(true, Relaxed);
        Err(died(rank))
    }

    /// Passes some time while `word` holds `seen`; may return early.
    #[cold]
    #[inline(never)]
    pub fn pause(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Error> {
        if let Some(rank) = self.watch.known_dead() {
            return Err(died(rank));
        }
        if progress::turn(|| word.load(Relaxed) != seen) {
            self.sleep = SLEEP_FIRST;
        }
        self.sleep_while(word, seen)
    }

    /// As [`Waiter::pause`], for a caller that holds what others wait for, and whom nobody needs in order to let go of what it waits for: it runs
    /// nothing but its sleep. Progress runs callbacks and messages of others, and they may want what is held here.
    #[cold]
    #[inline(never)]
    pub fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Error> {
        if let Some(rank) = self.watch.known_dead() {
            return Err(died(rank));
        }
        self.sleep_while(word, seen)
    }

    /// Sleeps while `word` holds `seen`, a little longer each time, and looks from time to time who has died.
    fn sleep_while(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Error> {
        if word.load(Relaxed) == seen {
            futex_wait(word, seen, self.sleep);
            self.sleep = (self.sleep * 2).min(SLEEP_LONGEST);
        }
        let now = Instant::now();
        if now - *self.last_look.get_or_insert(now) >= LOOK_FOR_DEATH {
            self.last_look = Some(now);
            self.look()?;
        }
        Ok(())
    }
}

/// The error of a wait that would count on one who is known to be dead. Asked before a wait touches a shared word: the arrival of a rank
/// that has given up once must not be taken for the dead one's.
#[inline]
pub fn check_alive(watch: &dyn Watch) -> Result<(), Error> {
    match watch.known_dead() {
        None => Ok(()),
        Some(rank) => Err(died(rank)),
    }
}

#[cold]
fn died(rank: u32) -> Error {
    Error { class: Class::Other, what: What::Died { rank } }
}

/// Sleeps while `word` holds `seen`, at most `limit`. Early returns (a wake-up, a signal) are the caller's to sort out.
fn futex_wait(word: &AtomicU32, seen: u32, limit: Duration) {
    let limit = libc::timespec { tv_sec: limit.as_secs() as libc::time_t, tv_nsec: limit.subsec_nanos() as libc::c_long };
    // SAFETY: the word is live for the call. Not the private form: the one who wakes may be another process.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const limit) };
}
