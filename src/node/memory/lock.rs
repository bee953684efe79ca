//! A mutex that notices when the thread that holds it comes again.
//!
//! The room's tables are locked across `fork` (see [`fork`](super::fork)). A signal handler that forks while it interrupts one of our
//! calls, or another library's `pthread_atfork` handler that asks us for memory, would wait for its own thread for ever; here it is
//! refused instead.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) struct Lock<T> {
    mutex: Mutex<T>,
    /// The thread inside, 0 for none. Only ever compared with the reading thread's own identity, which no other thread stores, so
    /// relaxed order suffices.
    holder: AtomicUsize,
}

pub(super) struct Guard<'a, T> {
    guard: MutexGuard<'a, T>,
    holder: &'a AtomicUsize,
}

/// Not 0, and another for each thread. Async-signal-safe; a forked child's thread keeps its parent's.
pub(super) fn this_thread() -> usize {
    // SAFETY: no precondition.
    unsafe { libc::pthread_self() as usize }
}

impl<T> Lock<T> {
    pub(super) const fn new(value: T) -> Self {
        Self { mutex: Mutex::new(value), holder: AtomicUsize::new(0) }
    }

    /// `None` if this thread is inside already. Comes after [`fork::watch`](super::fork::watch), which every door of the room calls: held
    /// at a fork that nobody sees to, the lock would stay locked in the child.
    pub(super) fn enter(&self) -> Option<Guard<'_, T>> {
        let me = this_thread();
        if self.holder.load(Ordering::Relaxed) == me {
            return None;
        }
        // A panic under the lock is a bug of ours that its test shows; the tables are still the best there is.
        let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.holder.store(me, Ordering::Relaxed);
        Some(Guard { guard, holder: &self.holder })
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // Before the mutex is released (fields are dropped after this body): afterwards it would wipe out the next holder's mark.
        self.holder.store(0, Ordering::Relaxed);
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_refused_and_others_wait_their_turn() {
        let lock = Lock::new(0u64);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..10_000 {
                        let mut inside = lock.enter().expect("not inside");
                        assert!(lock.enter().is_none());
                        *inside += 1;
                    }
                });
            }
        });
        assert_eq!(*lock.enter().expect("free again"), 40_000);
    }
}
