//! Threads of the process. May several be inside MPI at once? Only under `MPI_THREAD_MULTIPLE`; without it, words that are private to the process need no
//! locked instructions.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

static CONCURRENT: AtomicBool = AtomicBool::new(false);

/// The host grants `MPI_THREAD_MULTIPLE`. Called before any second thread can be inside MPI.
pub fn set_concurrent() {
    CONCURRENT.store(true, Relaxed);
}

/// May another thread be inside MPI now?
#[inline]
pub fn are_concurrent() -> bool {
    CONCURRENT.load(Relaxed)
}

/// Enters a mutex. A panic under it was a bug of ours that has been reported; the state behind it is still the best there is.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
