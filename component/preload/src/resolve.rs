//! The first MPI call: who answers it and all that follow. Decided once in a process, as soon as a host MPI is loaded.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};

use transom::base::config;
use transom::base::functions::{COUNT, Index, NAMES};
use transom::base::log::line;

use crate::engine;
use crate::host::{self, Host};
use crate::lock::{self, Entry};
use crate::slots::{self, SLOT_COUNT, Slots};

/// All slots are filled.
static DECIDED: AtomicBool = AtomicBool::new(false);

/// Where a call goes that came through a slot not yet filled. Called by the stubs.
pub(crate) fn resolve(slots: &'static Slots, slot: usize) -> *mut c_void {
    // The program's frames are below: a panic must not reach them.
    catch_unwind(AssertUnwindSafe(|| lead(slots, slot))).unwrap_or_else(|_| no_answer(slot))
}

fn lead(slots: &'static Slots, slot: usize) -> *mut c_void {
    if DECIDED.load(Ordering::Acquire) {
        return decided(slots, slot);
    }
    match lock::enter() {
        Entry::Held(_guard) => {
            if !DECIDED.load(Ordering::Acquire) {
                // Not remembered: a program may ask before it loads an MPI.
                let Some(host) = Host::find() else { return without_host(slot) };
                decide(&host, slots);
                DECIDED.store(true, Ordering::Release);
            }
            decided(slots, slot)
        }
        // A call made while the engine starts, by itself or by a signal handler: the engine cannot answer yet, the host can.
        Entry::Again => past_host(slot),
        Entry::Barred => {
            let symbol = slots::symbol(slot).to_string_lossy();
            line(format_args!("another thread's first MPI call does not end: this call of {symbol} goes to the host MPI"));
            past_host(slot)
        }
    }
}

/// Once the slots are filled. Symbols of Fortran that the engine's family does not have lead to the host's own, whose library may be loaded
/// later than the host itself.
fn decided(slots: &'static Slots, slot: usize) -> *mut c_void {
    slots.target(slot).unwrap_or_else(|| match host::past_us(slots::symbol(slot)) {
        Some(target) => {
            slots.fill(slot, target);
            target
        }
        None => {
            say_once(slot, "called, but no MPI is loaded that has it");
            no_answer(slot)
        }
    })
}

/// Fills every slot of a function of the list: by the engine, or with the host's own functions where there is none.
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
        let target = host.tool(index).unwrap_or_else(|| slots.profiling()[index].load(Ordering::Acquire));
        slot.store(target, Ordering::Release);
    }
}

fn past_host(slot: usize) -> *mut c_void {
    let found = match slots::index(slot) {
        Some(index) => Host::find().and_then(|host| host.function(index)),
        None => host::past_us(slots::symbol(slot)),
    };
    found.unwrap_or_else(|| no_answer(slot))
}

/// The answer in a process that has loaded no MPI.
fn without_host(slot: usize) -> *mut c_void {
    if slots::index(slot) == Some(Index::MPI_Initialized as usize) {
        return not_initialized as *mut c_void;
    }
    say_once(slot, "called, but no MPI is loaded");
    no_answer(slot)
}

/// MPI_Initialized may be called at any time, by libraries that serve programs with and without MPI.
unsafe extern "C" fn not_initialized(flag: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer, as MPI asks for it.
    unsafe { flag.write(0) };
    0
}

/// A function to jump to where nobody can answer, by what its callers expect to get.
fn no_answer(slot: usize) -> *mut c_void {
    // A Fortran entry returns nothing, so its caller does not mind what is returned.
    let returns_code = slots::index(slot).is_none_or(|index| RETURNS_CODE[index]);
    if returns_code { error as *mut c_void } else { nothing as *mut c_void }
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

fn say_once(slot: usize, what: &str) {
    static SAID: [AtomicBool; SLOT_COUNT] = [const { AtomicBool::new(false) }; SLOT_COUNT];
    let said = slots::index(slot).unwrap_or(slot);
    if !SAID[said].swap(true, Ordering::Relaxed) {
        match slots::index(slot) {
            Some(index) => line(format_args!("{} is {what}", NAMES[index].0)),
            None => line(format_args!("{} is {what}", slots::symbol(slot).to_string_lossy())),
        }
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
