//! The words under real threads and processes, more of them than this machine has cores.

mod exclusion;
mod pscw;

use super::atomic::{AtomicU32, Ordering};
use super::{BarrierMember, BarrierWords, LockWords, Wait};
use core::cell::{Cell, UnsafeCell};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Far more than anything here takes, far less than a hang.
const LIMIT: Duration = Duration::from_secs(60);

/// Sleeps in the kernel as `host` does: at most for `limit` at a time, and gives up after [`LIMIT`].
struct Sleep {
    limit: Duration,
    begun: Instant,
    pauses: u32,
}

impl Sleep {
    fn at_most(limit: Duration) -> Self {
        Sleep { limit, begun: Instant::now(), pauses: 0 }
    }

    fn new() -> Self {
        Sleep::at_most(Duration::from_millis(1))
    }
}

impl Wait for Sleep {
    type Error = &'static str;

    fn spins(&self) -> u32 {
        // There are more threads than cores.
        20
    }

    fn pause(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Self::Error> {
        let limit = libc::timespec { tv_sec: self.limit.as_secs() as _, tv_nsec: self.limit.subsec_nanos() as _ };
        // SAFETY: the kernel reads one word through the address, which is live, and the limit.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const limit) };
        self.pauses += 1;
        if self.begun.elapsed() < LIMIT { Ok(()) } else { Err("hung") }
    }

    fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Self::Error> {
        self.pause(word, seen)
    }
}

/// Calls a function at each pause: other callers' doings, at a chosen moment.
struct AtPause<F>(F);

impl<F: FnMut(u32) -> Result<(), E>, E> Wait for AtPause<F> {
    type Error = E;

    fn spins(&self) -> u32 {
        0
    }

    fn pause(&mut self, _word: &AtomicU32, seen: u32) -> Result<(), E> {
        (self.0)(seen)
    }

    fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), E> {
        self.pause(word, seen)
    }
}

/// What a lock guards in these tests: several words that only make sense together, written without atomics.
struct Guarded {
    lock: LockWords,
    data: UnsafeCell<[u64; 4]>,
}

// SAFETY: `data` is reached under `lock` only.
unsafe impl Sync for Guarded {}

impl Guarded {
    const fn new() -> Self {
        Guarded { lock: LockWords::new(), data: UnsafeCell::new([0; 4]) }
    }

    fn write(&self) {
        self.lock.lock_exclusive(&mut Sleep::new()).unwrap();
        // SAFETY: the lock is held exclusively.
        unsafe { (*self.data.get()).iter_mut().for_each(|word| *word += 1) };
        self.lock.unlock_exclusive();
    }

    fn read(&self) -> u64 {
        self.lock.lock_shared(&mut Sleep::new()).unwrap();
        // SAFETY: a share of the lock is held.
        let data = unsafe { *self.data.get() };
        self.lock.unlock_shared();
        assert!(data.iter().all(|word| *word == data[0]), "a writer was inside: {data:?}");
        data[0]
    }
}

fn assert_untouched(lock: &LockWords) {
    let LockWords { state, sleepers, queued, starving, queue_sleepers, .. } = lock;
    for word in [state, sleepers, queued, starving, queue_sleepers] {
        assert_eq!(word.load(Ordering::Relaxed), 0, "left behind in {lock:?}");
    }
}

#[test]
fn readers_and_writers_of_eight_threads() {
    const ROUNDS: u64 = 10_000;
    static GUARDED: Guarded = Guarded::new();
    thread::scope(|scope| {
        for me in 0..8 {
            scope.spawn(move || {
                let mut before = 0;
                for round in 0..ROUNDS {
                    if (round + me) % 4 == 0 {
                        GUARDED.write();
                    } else {
                        let now = GUARDED.read();
                        assert!(now >= before, "a write was undone");
                        before = now;
                    }
                }
            });
        }
    });
    assert_eq!(GUARDED.read(), 8 * ROUNDS / 4);
    assert_untouched(&GUARDED.lock);
}

/// Case 24: the exclusive holder's release comes while shared attempts are under way, and must not lose them.
#[test]
fn exclusive_release_loses_no_shared_attempt() {
    const ROUNDS: u32 = 100_000;
    static LOCK: LockWords = LockWords::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                LOCK.lock_exclusive(&mut Sleep::new()).unwrap();
                LOCK.unlock_exclusive();
            }
        });
        for _ in 0..ROUNDS {
            LOCK.lock_shared(&mut Sleep::new()).unwrap();
            LOCK.unlock_shared();
        }
    });
    assert_untouched(&LOCK);
}

/// The reason why waiting writers give way: p and q hold shares and p waits for what r sends from inside a share of its own,
/// while w waits for exclusive access.
#[test]
fn reader_gets_in_past_a_waiting_writer() {
    static LOCK: LockWords = LockWords::new();
    thread::scope(|scope| {
        let (from_r, to_p) = mpsc::channel();
        LOCK.lock_shared(&mut Sleep::new()).unwrap();
        let w = scope.spawn(|| {
            LOCK.lock_exclusive(&mut Sleep::new()).unwrap();
            LOCK.unlock_exclusive();
        });
        while LOCK.sleepers.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        scope.spawn(move || {
            LOCK.lock_shared(&mut Sleep::new()).unwrap();
            from_r.send(()).unwrap();
            LOCK.unlock_shared();
        });
        to_p.recv_timeout(LIMIT / 2).expect("r waits behind w, which waits for p, which waits for r");
        assert!(!w.is_finished(), "w got in beside p");
        LOCK.unlock_shared();
    });
    assert_untouched(&LOCK);
}

/// A writer that finds readers of short epochs overlapping without end asks them to hold back for a moment.
#[test]
fn writer_gets_in_between_overlapping_readers() {
    static LOCK: LockWords = LockWords::new();
    let in_time = thread::scope(|scope| {
        let (written, done) = mpsc::channel();
        scope.spawn(move || {
            LOCK.lock_exclusive(&mut Sleep::new()).unwrap();
            LOCK.unlock_exclusive();
            written.send(()).unwrap();
        });
        // Shares handed from one reader to the next, so that the lock is never free unless a reader is refused.
        LOCK.lock_shared(&mut Sleep::new()).unwrap();
        let begun = Instant::now();
        let mut in_time = false;
        while !in_time && begun.elapsed() < LIMIT / 2 {
            let next = LOCK.try_lock_shared();
            LOCK.unlock_shared();
            if !next {
                LOCK.lock_shared(&mut Sleep::new()).unwrap();
            }
            in_time = done.try_recv().is_ok();
        }
        LOCK.unlock_shared();
        in_time
    });
    assert!(in_time, "readers kept the writer out for ever");
    assert_untouched(&LOCK);
}

/// A stream of writers without a gap: each takes over as the one before unlocks. After its patience is at an end the reader is
/// let in first.
#[test]
fn stream_of_writers_does_not_starve_a_reader() {
    let lock = LockWords::new();
    assert!(lock.try_lock_exclusive());
    let (held, handovers) = (Cell::new(true), Cell::new(0));
    let mut next_writer = AtPause(|_| {
        handovers.set(handovers.get() + 1);
        if held.get() {
            lock.unlock_exclusive();
        }
        held.set(lock.try_lock_exclusive());
        if handovers.get() < 100 { Ok(()) } else { Err("starved") }
    });
    lock.lock_shared(&mut next_writer).unwrap();
    assert!(handovers.get() > 1, "the reader had to wait");
    assert!(!held.get());
    lock.unlock_shared();
    assert_untouched(&lock);
}

/// The head of the queue lets a starving reader pass, though the lock is free.
#[test]
fn queued_writer_lets_a_starving_reader_pass() {
    let lock = LockWords::new();
    assert!(lock.try_lock_exclusive());
    let mut pauses = 0;
    let mut reader_meanwhile = AtPause(|state| {
        pauses += 1;
        match pauses {
            1 => {
                lock.starving.fetch_add(1, Ordering::Relaxed);
                lock.unlock_exclusive();
            }
            // More than it takes for the writer to ask readers to hold back.
            2..100 => assert_eq!(state, 0, "the writer went ahead"),
            100 => {
                assert!(lock.try_lock_shared());
                lock.starving.fetch_sub(1, Ordering::Relaxed);
            }
            101 => lock.unlock_shared(),
            _ => return Err("kept out"),
        }
        Ok(())
    });
    lock.lock_exclusive(&mut reader_meanwhile).unwrap();
    lock.unlock_exclusive();
    assert_untouched(&lock);
}

/// Against writers that queue, by threads: the reader gets in after a bounded number of writers' turns.
#[test]
fn queue_of_writers_does_not_starve_a_reader() {
    const READS: u32 = 200;
    static LOCK: LockWords = LockWords::new();
    static STOP: AtomicU32 = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while STOP.load(Ordering::Relaxed) == 0 {
                    LOCK.lock_exclusive(&mut Sleep::new()).unwrap();
                    LOCK.unlock_exclusive();
                }
            });
        }
        for _ in 0..READS {
            let mut wait = Sleep::new();
            let outcome = LOCK.lock_shared(&mut wait);
            if outcome.is_err() || wait.pauses > 1_000 {
                STOP.store(1, Ordering::Relaxed);
                panic!("{outcome:?} after {} pauses", wait.pauses);
            }
            LOCK.unlock_shared();
        }
        STOP.store(1, Ordering::Relaxed);
    });
    assert_untouched(&LOCK);
}

/// A reader honours a writer's request to hold back, but for a bounded time: the writer may have died with it.
#[test]
fn reader_holds_back_only_for_a_while() {
    let lock = LockWords::new();
    lock.lock_shared(&mut Sleep::new()).unwrap();
    let reader_waited = Cell::new(0);
    let draining = 1 << 30;
    lock.state.fetch_or(draining, Ordering::Relaxed);
    assert!(!lock.try_lock_shared());
    let mut count = AtPause(|_| {
        reader_waited.set(reader_waited.get() + 1);
        if reader_waited.get() < 100 { Ok(()) } else { Err("kept out") }
    });
    lock.lock_shared(&mut count).unwrap();
    assert_eq!(lock.state.load(Ordering::Relaxed), draining + 2);
    assert!(reader_waited.get() > 1);
}

#[test]
fn writers_are_served_in_order() {
    const WRITERS: u32 = 20;
    static LOCK: LockWords = LockWords::new();
    assert!(LOCK.try_lock_exclusive());
    let (enter, order) = mpsc::channel();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let enter = enter.clone();
            scope.spawn(move || {
                LOCK.lock_exclusive(&mut Sleep::new()).unwrap();
                enter.send(writer).unwrap();
                LOCK.unlock_exclusive();
            });
            while LOCK.next.load(Ordering::Relaxed) != writer + 1 {
                thread::yield_now();
            }
        }
        assert!(!LOCK.try_lock_exclusive());
        LOCK.unlock_exclusive();
        // A newcomer may not pass those that queue, though the lock is free from time to time.
        LOCK.lock_exclusive(&mut Sleep::new()).unwrap();
        LOCK.unlock_exclusive();
        let served: Vec<u32> = order.try_iter().collect();
        assert_eq!(served, (0..WRITERS).collect::<Vec<_>>());
    });
    assert_untouched(&LOCK);
}

#[test]
fn attempts_refuse_what_is_taken() {
    let lock = LockWords::new();
    assert!(lock.try_lock_shared() && lock.try_lock_shared());
    assert!(!lock.try_lock_exclusive());
    lock.unlock_shared();
    assert!(!lock.try_lock_exclusive());
    lock.unlock_shared();
    assert!(lock.try_lock_exclusive());
    assert!(!lock.try_lock_shared() && !lock.try_lock_exclusive());
    lock.unlock_exclusive();
    assert_untouched(&lock);
}

/// Whoever gives up leaves nothing behind that keeps others out.
#[test]
fn giving_up_leaves_the_lock_usable() {
    let lock = LockWords::new();
    let mut at_once = AtPause(|_| Err("died"));
    let patiently = || {
        let mut pauses = 0;
        AtPause(move |_| {
            pauses += 1;
            if pauses < 20 { Ok(()) } else { Err("died") }
        })
    };
    assert!(lock.try_lock_exclusive());
    assert_eq!(lock.lock_exclusive(&mut at_once), Err("died"));
    assert_eq!(lock.lock_shared(&mut at_once), Err("died"));
    assert_eq!(lock.lock_shared(&mut patiently()), Err("died"), "starving by then");
    lock.unlock_exclusive();
    assert_untouched(&lock);

    assert!(lock.try_lock_shared());
    assert_eq!(lock.lock_exclusive(&mut patiently()), Err("died"), "has asked readers to hold back by then");
    assert!(lock.try_lock_shared());
    lock.unlock_shared();
    lock.unlock_shared();
    assert!(lock.try_lock_exclusive());
    lock.unlock_exclusive();
    assert_untouched(&lock);
}

#[test]
fn unlock_wakes_who_sleeps() {
    static LOCK: LockWords = LockWords::new();
    for exclusive in [true, false] {
        LOCK.lock_exclusive(&mut Sleep::new()).unwrap();
        thread::scope(|scope| {
            let sleeper = scope.spawn(move || {
                let mut wait = Sleep::at_most(LIMIT / 2);
                let begun = Instant::now();
                if exclusive {
                    LOCK.lock_exclusive(&mut wait).unwrap();
                    LOCK.unlock_exclusive();
                } else {
                    LOCK.lock_shared(&mut wait).unwrap();
                    LOCK.unlock_shared();
                }
                begun.elapsed()
            });
            while LOCK.sleepers.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(50));
            LOCK.unlock_exclusive();
            assert!(sleeper.join().unwrap() < LIMIT / 4, "slept on after the unlock");
        });
    }
}

#[test]
fn reset_frees_whatever_was_left() {
    let lock = LockWords::new();
    assert!(lock.try_lock_exclusive());
    assert_eq!(lock.lock_exclusive(&mut AtPause(|_| Err("died"))), Err("died"));
    lock.reset();
    assert_untouched(&lock);
    assert!(lock.try_lock_exclusive());
    assert_eq!(lock.lock_exclusive(&mut AtPause(|_| Err("died"))), Err("died"), "the queue starts anew as well");
}

#[test]
fn barrier_separates_rounds_of_eight_threads() {
    const RANKS: usize = 8;
    const ROUNDS: u32 = 3_000;
    static BARRIER: BarrierWords = BarrierWords::new();
    static CELLS: [AtomicU32; RANKS] = [const { AtomicU32::new(0) }; RANKS];
    thread::scope(|scope| {
        for mine in &CELLS {
            scope.spawn(move || {
                let member = BarrierMember::new(RANKS as u32);
                for round in 1..=ROUNDS {
                    mine.store(round, Ordering::Relaxed);
                    BARRIER.wait(&member, &mut Sleep::new()).unwrap();
                    for cell in &CELLS {
                        assert_eq!(cell.load(Ordering::Relaxed), round);
                    }
                    BARRIER.wait(&member, &mut Sleep::new()).unwrap();
                }
            });
        }
    });
}

#[test]
fn barrier_of_one_does_not_wait() {
    let barrier = BarrierWords::new();
    let member = BarrierMember::new(1);
    for _ in 0..3 {
        barrier.wait(&member, &mut AtPause(|_| Err("waited"))).unwrap();
    }
}

/// The count of arrivals wraps around in the middle of a round.
#[test]
fn barrier_outlives_its_counter() {
    let barrier = BarrierWords::new();
    let members = [(); 3].map(|()| BarrierMember::new(3));
    let before = u32::MAX - 4;
    barrier.arrived.store(before, Ordering::Relaxed);
    members.iter().for_each(|member| member.target.set(before));
    for _ in 0..4 {
        let not_yet = |_: u32| Err("not yet");
        assert_eq!(barrier.wait(&members[0], &mut AtPause(not_yet)), Err("not yet"));
        assert_eq!(barrier.wait(&members[1], &mut AtPause(not_yet)), Err("not yet"));
        assert_eq!(barrier.wait(&members[2], &mut AtPause(not_yet)), Ok(()));
    }
}

/// Runs `work` in this process and `children` others, which see the words at addresses of their own, and then `check`. None of
/// them may have depended on the limit of a long sleep: a wake-up crosses processes, or is lost.
///
/// # Safety
/// `T` holds words, and data that they guard; zeroed bytes are a `T`. `work` touches nothing else and needs no lock of this
/// process's.
unsafe fn between_processes<T>(children: usize, work: impl Fn(&T) -> Result<(), &'static str>, check: impl FnOnce(&T)) {
    // SAFETY: a new mapping, shared with children, of zeroed bytes; large enough and page-aligned.
    let shared: &T = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::mmap(core::ptr::null_mut(), size_of::<T>(), protection, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        &*at.cast::<T>()
    };
    let fork = |_| {
        // SAFETY: the child touches only the shared words, calls futex and the clock, and leaves without running anything of
        // this process's.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: ends the child should it hang, in a failed assertion of the words for one.
                unsafe { libc::alarm(2 * LIMIT.as_secs() as libc::c_uint) };
                let status = work(shared).is_err() as libc::c_int;
                // SAFETY: as above.
                unsafe { libc::_exit(status) }
            }
            child => child,
        }
    };
    let children: Vec<_> = (0..children).map(fork).collect();
    // Children that wait for this process sleep by now, as they would all day.
    thread::sleep(Duration::from_millis(50));
    let begun = Instant::now();
    work(shared).unwrap();
    for child in children {
        let mut status = -1;
        // SAFETY: waits for a child of this function.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
    }
    assert!(begun.elapsed() < LIMIT / 4, "a wake-up was lost");
    check(shared);
    // SAFETY: the mapping made above; nothing refers to it any more.
    unsafe { libc::munmap((&raw const *shared).cast_mut().cast(), size_of::<T>()) };
}

#[test]
fn lock_and_barrier_work_between_processes() {
    #[repr(C)]
    struct Shared {
        barrier: BarrierWords,
        lock: LockWords,
        sum: UnsafeCell<u64>,
    }
    const CHILDREN: u32 = 3;
    const ROUNDS: u64 = 2_000;

    fn work(shared: &Shared) -> Result<(), &'static str> {
        let member = BarrierMember::new(CHILDREN + 1);
        shared.barrier.wait(&member, &mut Sleep::at_most(LIMIT))?;
        for _ in 0..ROUNDS {
            shared.lock.lock_exclusive(&mut Sleep::new())?;
            // SAFETY: the lock is held exclusively.
            unsafe { *shared.sum.get() += 1 };
            shared.lock.unlock_exclusive();
        }
        shared.barrier.wait(&member, &mut Sleep::at_most(LIMIT))
    }

    let check = |shared: &Shared| {
        // SAFETY: the children are gone.
        assert_eq!(unsafe { *shared.sum.get() }, (CHILDREN + 1) as u64 * ROUNDS);
        assert_untouched(&shared.lock);
    };
    // SAFETY: words and a cell, whose start state is zeros.
    unsafe { between_processes(CHILDREN as usize, work, check) };
}
