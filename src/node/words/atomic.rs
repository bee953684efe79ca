//! The atomics that the words are made of: the processor's, or under `--cfg loom` those of the model checker, so that the models
//! run the very code that ships.
//!
//! Under loom each access passes through a switch that can weaken the orderings of the code under test without touching it
//! (`weaken`): a model that still passes then has no teeth, so every model comes with such a negative twin.

pub use core::sync::atomic::Ordering;

#[cfg(not(loom))]
pub use core::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, compiler_fence, fence},
};

#[cfg(loom)]
pub use self::checked::{AtomicU32, Weakened, compiler_fence, fence, plays, spin_loop, weaken, weaken_part};

/// The full fence of a Dekker step whose store is a read-modify-write: what the caller has just changed is visible to all before
/// anything that it loads from here on. Free on x86-64, where a locked instruction already is such a fence and only the compiler
/// has to be held back; `dmb ish` on Arm. (A plain store before it would need [`fence`].)
#[inline(always)]
pub fn fence_after_rmw() {
    if cfg!(all(target_arch = "x86_64", not(any(loom, miri)))) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

#[cfg(loom)]
mod checked {
    use super::Ordering;
    use std::cell::Cell;

    pub use loom::hint::spin_loop;

    /// What the code under test is robbed of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Weakened {
        /// Every `Acquire` half becomes `Relaxed`.
        Acquire,
        /// Every `Release` half becomes `Relaxed`.
        Release,
        /// Fences do nothing.
        Fences,
    }

    thread_local! {
        // loom runs all threads of a model on the thread that started it.
        static WEAKENED: Cell<Option<(Weakened, Option<&'static str>)>> = const { Cell::new(None) };
    }

    loom::thread_local! {
        static PART: Cell<&'static str> = Cell::new("");
    }

    /// Runs `model` with the orderings of every word weakened.
    pub fn weaken(what: Weakened, model: impl FnOnce()) {
        run_with((what, None), model);
    }

    /// As [`weaken`], in those threads of the model alone that play `part`.
    pub fn weaken_part(part: &'static str, what: Weakened, model: impl FnOnce()) {
        run_with((what, Some(part)), model);
    }

    /// Says which part the calling thread of a model plays.
    pub fn plays(part: &'static str) {
        PART.with(|mine| mine.set(part));
    }

    fn run_with(weakened: (Weakened, Option<&'static str>), model: impl FnOnce()) {
        struct Restore;
        impl Drop for Restore {
            fn drop(&mut self) {
                WEAKENED.set(None);
            }
        }
        let _restore = Restore;
        WEAKENED.set(Some(weakened));
        model();
    }

    /// What the calling thread of the model is robbed of.
    fn weakened() -> Option<Weakened> {
        let (what, part) = WEAKENED.get()?;
        part.is_none_or(|part| PART.with(|mine| mine.get() == part)).then_some(what)
    }

    fn seen(order: Ordering) -> Ordering {
        match (weakened(), order) {
            (Some(Weakened::Acquire), Ordering::Acquire) | (Some(Weakened::Release), Ordering::Release) => Ordering::Relaxed,
            (Some(Weakened::Acquire), Ordering::AcqRel) => Ordering::Release,
            (Some(Weakened::Release), Ordering::AcqRel) => Ordering::Acquire,
            (_, order) => order,
        }
    }

    /// loom's fence, unless fences are what the model goes without.
    pub fn fence(order: Ordering) {
        if weakened() != Some(Weakened::Fences) {
            loom::sync::atomic::fence(order);
        }
    }

    /// Nothing: loom reorders no code.
    pub fn compiler_fence(_order: Ordering) {}

    /// loom's `AtomicU32` behind the switch.
    #[derive(Debug)]
    pub struct AtomicU32(loom::sync::atomic::AtomicU32);

    #[allow(missing_docs, reason = "as core::sync::atomic::AtomicU32")]
    impl AtomicU32 {
        #[track_caller]
        pub fn new(value: u32) -> Self {
            AtomicU32(loom::sync::atomic::AtomicU32::new(value))
        }

        #[track_caller]
        pub fn load(&self, order: Ordering) -> u32 {
            self.0.load(seen(order))
        }

        #[track_caller]
        pub fn store(&self, value: u32, order: Ordering) {
            self.0.store(value, seen(order));
        }

        #[track_caller]
        pub fn swap(&self, value: u32, order: Ordering) -> u32 {
            self.0.swap(value, seen(order))
        }

        #[track_caller]
        pub fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
            self.0.fetch_add(value, seen(order))
        }

        #[track_caller]
        pub fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
            self.0.fetch_sub(value, seen(order))
        }

        #[track_caller]
        pub fn fetch_and(&self, value: u32, order: Ordering) -> u32 {
            self.0.fetch_and(value, seen(order))
        }

        #[track_caller]
        pub fn compare_exchange(&self, old: u32, new: u32, success: Ordering, failure: Ordering) -> Result<u32, u32> {
            self.0.compare_exchange(old, new, seen(success), seen(failure))
        }
    }
}
