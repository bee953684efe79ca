//! How often this process's ancestors forked since the room was first used: tells what is inherited.

use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);

pub(super) fn current() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// In a forked child, whose only thread this is: all that was made before is inherited from here on. Async-signal-safe.
pub(super) fn begin() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}
