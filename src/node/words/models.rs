//! The words under loom: every interleaving of a few threads, up to a bound on preemptions where it says so, each with the
//! reorderings that the memory model allows. How to run them: see [`super`]. What is named `..._is_caught` is the negative twin
//! of a model: the same code, robbed of an ordering, must fail.

#![allow(clippy::arc_with_non_send_sync, reason = "loom runs the threads of a model on one, in turns")]

mod exclusion;
mod pscw;

use super::atomic::{AtomicU32, Ordering, Weakened, weaken};
use super::{BarrierMember, BarrierWords, LockWords, Wait};
use core::convert::Infallible;
use loom::cell::UnsafeCell;
use loom::sync::{Condvar, Mutex};
use loom::thread;
// Not loom's own: that one fails in the clean-up after a deadlock.
use std::sync::Arc;

/// Checks `model` in all interleavings with at most `preemptions` unforced switches of thread.
fn check(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(preemptions);
    builder.check(model);
}

/// Lets another thread run: a pause that needs no wake-up.
struct Yield;

impl Wait for Yield {
    type Error = Infallible;

    fn pause(&mut self, _word: &AtomicU32, _seen: u32) -> Result<(), Infallible> {
        thread::yield_now();
        Ok(())
    }

    fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Infallible> {
        self.pause(word, seen)
    }
}

/// The same, without spinning first: a reader starves at its first refusal.
struct YieldAtOnce;

impl Wait for YieldAtOnce {
    type Error = Infallible;

    fn spins(&self) -> u32 {
        0
    }

    fn pause(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Infallible> {
        Yield.pause(word, seen)
    }

    fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Infallible> {
        self.pause(word, seen)
    }
}

loom::lazy_static! {
    static ref KERNEL: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
}

/// What [`super::wake`] does in a model: `FUTEX_WAKE`, except that it wakes the sleepers of all words.
pub(super) fn wake(_word: &AtomicU32) {
    let _queue = KERNEL.0.lock().unwrap();
    KERNEL.1.notify_all();
}

/// `FUTEX_WAIT` without a limit: compares and sleeps under the kernel's lock. A lost wake-up is a deadlock here, which loom
/// reports.
struct Sleep;

impl Wait for Sleep {
    type Error = Infallible;

    fn pause(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Infallible> {
        let queue = KERNEL.0.lock().unwrap();
        if word.load(Ordering::Relaxed) == seen {
            drop(KERNEL.1.wait(queue).unwrap());
        }
        Ok(())
    }

    fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Infallible> {
        self.pause(word, seen)
    }
}

/// A lock and what it guards: loom reports any two accesses that no ordering separates, if one of them is a write.
struct Guarded {
    lock: LockWords,
    data: UnsafeCell<u32>,
}

impl Guarded {
    fn new() -> Arc<Guarded> {
        Arc::new(Guarded { lock: LockWords::new(), data: UnsafeCell::new(0) })
    }

    fn write(&self, wait: &mut impl Wait<Error = Infallible>) {
        let Ok(()) = self.lock.lock_exclusive(wait);
        // Time for others to be refused more than once.
        thread::yield_now();
        self.increment();
        self.lock.unlock_exclusive();
    }

    fn read(&self, wait: &mut impl Wait<Error = Infallible>) -> u32 {
        let Ok(()) = self.lock.lock_shared(wait);
        let value = self.value();
        self.lock.unlock_shared();
        value
    }

    fn increment(&self) {
        // SAFETY: the lock is held exclusively; where a model breaks that, loom stops it before the access.
        self.data.with_mut(|data| unsafe { *data += 1 });
    }

    fn value(&self) -> u32 {
        // SAFETY: the lock is held or all other threads are joined; as above.
        self.data.with(|data| unsafe { *data })
    }

    fn assert_free(&self) {
        let LockWords { state, sleepers, queued, starving, .. } = &self.lock;
        for word in [state, sleepers, queued, starving] {
            assert_eq!(word.load(Ordering::Relaxed), 0, "left behind in {:?}", self.lock);
        }
    }
}

fn spawn(guarded: &Arc<Guarded>, work: impl FnOnce(&Guarded) + 'static) -> thread::JoinHandle<()> {
    let guarded = guarded.clone();
    thread::spawn(move || work(&guarded))
}

fn two_writers() {
    check(None, || {
        let guarded = Guarded::new();
        let other = spawn(&guarded, |guarded| guarded.write(&mut Yield));
        guarded.write(&mut Yield);
        other.join().unwrap();
        assert_eq!(guarded.value(), 2);
        guarded.assert_free();
    });
}

fn writer_and_reader() {
    check(None, || {
        let guarded = Guarded::new();
        let writer = spawn(&guarded, |guarded| guarded.write(&mut Yield));
        assert!(guarded.read(&mut Yield) <= 1);
        writer.join().unwrap();
        assert_eq!(guarded.value(), 1);
        guarded.assert_free();
    });
}

/// Three writers: one inside, one at the head of the queue, one that sleeps behind it until the head has handed on.
fn queue_of_writers() {
    struct SleepInQueue<'a>(&'a LockWords);

    impl Wait for SleepInQueue<'_> {
        type Error = Infallible;

        fn pause(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Infallible> {
            // An unlock may miss a sleeper (see `super`), so at the head of the queue nobody sleeps without a limit.
            if core::ptr::eq(word, &self.0.state) { Yield.pause(word, seen) } else { Sleep.pause(word, seen) }
        }

        fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Infallible> {
            self.pause(word, seen)
        }
    }

    check(Some(2), || {
        let guarded = Guarded::new();
        let work = |guarded: &Guarded| guarded.write(&mut SleepInQueue(&guarded.lock));
        let others = [spawn(&guarded, work), spawn(&guarded, work)];
        work(&guarded);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(guarded.value(), 3);
        guarded.assert_free();
    });
}

fn rounds_of_barrier(ranks: u32, rounds: u32, preemptions: Option<usize>) {
    check(preemptions, move || {
        let shared = Arc::new((BarrierWords::new(), (0..ranks).map(|_| UnsafeCell::new(0)).collect::<Vec<_>>()));
        let rank = move |shared: &(BarrierWords, Vec<UnsafeCell<u32>>), me: usize| {
            let member = BarrierMember::new(ranks);
            let (barrier, cells) = shared;
            for round in 1..=rounds {
                // SAFETY: between an even and an odd barrier each rank touches its own cell only; loom checks it.
                cells[me].with_mut(|cell| unsafe { *cell = round });
                let Ok(()) = barrier.wait(&member, &mut Sleep);
                for cell in cells {
                    // SAFETY: between an odd and an even barrier nobody writes; loom checks it.
                    cell.with(|cell| assert_eq!(unsafe { *cell }, round));
                }
                if round < rounds {
                    let Ok(()) = barrier.wait(&member, &mut Sleep);
                }
            }
        };
        let others = (1..ranks as usize).map(|me| {
            let shared = shared.clone();
            thread::spawn(move || rank(&shared, me))
        });
        let others: Vec<_> = others.collect();
        rank(&shared, 0);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn loom_two_writers_exclude_each_other() {
    two_writers();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_unlock_without_release_is_caught() {
    weaken(Weakened::Release, two_writers);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_lock_without_acquire_is_caught() {
    weaken(Weakened::Acquire, two_writers);
}

#[test]
fn loom_writer_and_reader_exclude_each_other() {
    writer_and_reader();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_shared_unlock_without_release_is_caught() {
    weaken(Weakened::Release, writer_and_reader);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_shared_lock_without_acquire_is_caught() {
    weaken(Weakened::Acquire, writer_and_reader);
}

#[test]
fn loom_writer_and_starving_reader_exclude_each_other() {
    check(None, || {
        let guarded = Guarded::new();
        let writer = spawn(&guarded, |guarded| guarded.write(&mut YieldAtOnce));
        assert!(guarded.read(&mut YieldAtOnce) <= 1);
        writer.join().unwrap();
        guarded.assert_free();
    });
}

#[test]
fn loom_two_readers_and_a_writer() {
    // Two threads that only yield keep loom's scheduler from ever running the third, so these sleep. An unlock may miss a
    // sleeper, whose limit then ends the sleep: the wake-up that follows each unlock here.
    fn limit_ends(guarded: &Guarded) {
        wake(&guarded.lock.state);
    }

    check(Some(2), || {
        let guarded = Guarded::new();
        let readers = [(), ()].map(|()| {
            spawn(&guarded, |guarded| {
                assert!(guarded.read(&mut Sleep) <= 1);
                limit_ends(guarded);
            })
        });
        guarded.write(&mut Sleep);
        limit_ends(&guarded);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        guarded.assert_free();
    });
}

#[test]
fn loom_tries_exclude_whoever_waits() {
    check(Some(3), || {
        let guarded = Guarded::new();
        let waiting = spawn(&guarded, |guarded| guarded.write(&mut Yield));
        let agent = spawn(&guarded, |guarded| {
            if guarded.lock.try_lock_exclusive() {
                guarded.increment();
                guarded.lock.unlock_exclusive();
            }
            if guarded.lock.try_lock_shared() {
                guarded.value();
                guarded.lock.unlock_shared();
            }
        });
        waiting.join().unwrap();
        agent.join().unwrap();
        guarded.assert_free();
    });
}

#[test]
fn loom_queue_hands_on_and_wakes() {
    queue_of_writers();
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_queue_without_fences_is_caught() {
    weaken(Weakened::Fences, queue_of_writers);
}

/// Why readers look before they add: the rejected order (add, look, take back) against the same unlock. The unlock's store
/// overwrites the addition, and what the reader takes back was never there.
#[test]
#[should_panic(expected = "left behind")]
fn loom_an_announced_reader_is_lost() {
    check(None, || {
        let guarded = Guarded::new();
        let reader = spawn(&guarded, |guarded| {
            let before = guarded.lock.state.fetch_add(1, Ordering::Acquire);
            assert!(before <= 1 << 31, "the reader was alone");
            guarded.lock.state.fetch_sub(1, Ordering::Release);
        });
        if guarded.lock.try_lock_exclusive() {
            guarded.lock.unlock_exclusive();
        }
        reader.join().unwrap();
        guarded.assert_free();
    });
}

#[test]
fn loom_barrier_of_two() {
    rounds_of_barrier(2, 1, None);
}

#[test]
fn loom_barrier_round_after_round() {
    rounds_of_barrier(2, 2, Some(3));
}

#[test]
fn loom_barrier_of_three() {
    rounds_of_barrier(3, 1, Some(2));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_barrier_without_release_is_caught() {
    weaken(Weakened::Release, || rounds_of_barrier(2, 1, None));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_barrier_without_acquire_is_caught() {
    weaken(Weakened::Acquire, || rounds_of_barrier(2, 1, None));
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_barrier_without_fences_is_caught() {
    weaken(Weakened::Fences, || rounds_of_barrier(2, 1, None));
}
