//! The first MPI call: who answers it and all that follow. Decided once in a process, as soon as a host MPI is loaded.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};

use transom::base::config;
use transom::base::functions::{COUNT, Index, NAMES};
use transom::base::log::line;

use crate::engine;
use crate::host::Host;
use crate::lock::{self, Entry};
use crate::slots::{self, Slots};

/// All slots are filled.
static DECIDED: AtomicBool = AtomicBool::new(false);

/// Where a call goes that came through a slot not yet filled. Called by the stubs.
pub(crate) fn resolve(slots: &'static Slots, slot: usize) -> *mut c_void {
    // The program's frames are below: a panic must not reach them.
    catch_unwind(AssertUnwindSafe(|| lead(slots, slot))).unwrap_or_else(|_| no_answer(slots::index(slot)))
}

fn lead(slots: &'static Slots, slot: usize) -> *mut c_void {
    if DECIDED.load(Ordering::Acquire) {
        return slots.target(slot);
    }
    let index = slots::index(slot);
    match lock::enter() {
        Entry::Held(_guard) => {
            if !DECIDED.load(Ordering::Acquire) {
                // Not remembered: a program may ask before it loads an MPI.
                let Some(host) = Host::find() else { return without_host(index) };
                decide(&host, slots);
                DECIDED.store(true, Ordering::Release);
            }
            slots.target(slot)
        }
        // A call made while the engine starts, by itself or by a signal handler: the engine cannot answer yet, the host can.
        Entry::Again => past_us(index),
        Entry::Barred => {
            line(format_args!(
                "another thread's first MPI call does not end: this call of {} goes to the host MPI",
                NAMES[index].0
            ));
            past_us(index)
        }
    }
}

/// Fills every slot: by the engine, or with the host's own functions where there is none.
fn decide(host: &Host, slots: &'static Slots) {
    if let Err(reason) = engine::start(host, slots) {
        if config::get().require {
            line(format_args!("{reason}; TRANSOM_REQUIRE is set, so the program ends here"));
            // SAFETY: ends the process; a program that is not to run on must not run its handlers and destructors either.
            unsafe { libc::_exit(1) };
        }
        line(format_args!("{reason}; all calls go to the host MPI"));
        for (index, slot) in slots.profiling().iter().enumerate() {
            slot.store(host.function(index).unwrap_or(LACKING[index] as *mut c_void), Ordering::Release);
        }
    }
    for (index, slot) in slots.application().iter().enumerate() {
        slot.store(host.tool(index).unwrap_or_else(|| slots.target(index)), Ordering::Release);
    }
}

fn past_us(index: usize) -> *mut c_void {
    Host::find().and_then(|host| host.function(index)).unwrap_or_else(|| no_answer(index))
}

/// The answer in a process that has loaded no MPI.
fn without_host(index: usize) -> *mut c_void {
    if index == Index::MPI_Initialized as usize {
        return not_initialized as *mut c_void;
    }
    say_once(index, "called, but no MPI is loaded");
    no_answer(index)
}

/// MPI_Initialized may be called at any time, by libraries that serve programs with and without MPI.
unsafe extern "C" fn not_initialized(flag: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer, as MPI asks for it.
    unsafe { flag.write(0) };
    0
}

/// A function to jump to where nobody can answer, by what its callers expect to get.
fn no_answer(index: usize) -> *mut c_void {
    if RETURNS_CODE[index] { error as *mut c_void } else { nothing as *mut c_void }
}

/// `MPI_ERR_OTHER` of Open MPI, `MPI_ERR_INTERN` of MPICH: an error to whoever compares with `MPI_SUCCESS`.
extern "C" fn error() -> c_int {
    16
}

/// A handle that no host gives out.
extern "C" fn nothing() -> *mut c_void {
    core::ptr::null_mut()
}

/// Stands in for a function that the host lacks: the large-count forms are younger than some hosts.
extern "C" fn lacking<const INDEX: usize>() -> c_int {
    say_once(INDEX, "called, which the host MPI does not have");
    error()
}

fn say_once(index: usize, what: &str) {
    static SAID: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    if !SAID[index].swap(true, Ordering::Relaxed) {
        line(format_args!("{} is {what}", NAMES[index].0));
    }
}

macro_rules! answers {
    ($($name:ident $profiling:ident ($($argument:ident : $type:ty),*) $(-> $result:ty)?;)*) => {
        const RETURNS_CODE: [bool; COUNT] = [$(answers!(@code $($result)?)),*];
        const LACKING: [extern "C" fn() -> c_int; COUNT] = [$(lacking::<{ Index::$name as usize }>),*];
    };
    (@code) => { true };
    (@code $result:ty) => { false };
}
transom::mpi_functions!(answers);
