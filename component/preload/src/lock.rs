//! The lock of the first MPI call. It differs from a mutex in what happens where a mutex would hang: the thread that holds it may come
//! again (told so), a forked child takes it from a parent's thread that the child does not have, and a wait has an end.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Process and thread of the holder; 0 where the lock is free.
static HOLDER: AtomicU64 = AtomicU64::new(0);

/// Longest wait. Another thread's first call opens a few files; it takes longer only where its way is barred: the holder needs the
/// loader's lock, and a thread that is inside `dlopen` has that while the constructors of what it loads run. If such a constructor makes
/// an MPI call, each would wait for the other for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Frees the lock when dropped.
pub(crate) struct Guard(());

/// How an attempt to enter ended.
pub(crate) enum Entry {
    /// The lock is ours until the guard is dropped.
    Held(Guard),
    /// This thread has it already, further up its stack.
    Again,
    /// Another thread kept it for all of [`PATIENCE`].
    Barred,
}

/// Waits for the lock.
pub(crate) fn enter() -> Entry {
    // SAFETY: these calls cannot fail.
    let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
    let me = (process as u64) << 32 | thread as u64;
    let begin = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        match HOLDER.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Entry::Held(Guard(())),
            Err(holder) if holder == me => return Entry::Again,
            Err(holder) if holder >> 32 != process as u64 => {
                // The parent was forked by one thread while another had the lock; that other is not in this process.
                if HOLDER.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return Entry::Held(Guard(()));
                }
            }
            Err(_) if begin.elapsed() > PATIENCE => return Entry::Barred,
            Err(_) => {
                std::thread::sleep(pause);
                pause = (2 * pause).min(Duration::from_millis(5));
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        HOLDER.store(0, Ordering::Release);
    }
}
