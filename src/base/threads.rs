//! May several threads be inside MPI at once? Only under `MPI_THREAD_MULTIPLE`; without it, words that are private to the process need no
//! locked instructions.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

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
