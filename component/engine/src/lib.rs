//! The engine object of one ABI family: entries for every intercepted function. `libtransom.so` loads it at the first MPI call and calls
//! [`transom_engine_start`], which stores the entries in the slots that its trampolines jump through.
//!
//! An entry acts by its handle, at any depth of calls: a window of ours is served, anything else goes to the host through its table. The
//! entry is the outermost frame: it alone calls error handlers, outside of any guard and holding nothing, so that they may throw or not return.

mod entries;
mod guard;
mod report;

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Release;
use std::panic::{AssertUnwindSafe, catch_unwind};
use transom::base::fortran::{Entry, Symbol};
use transom::base::functions::{COUNT, FINGERPRINT, Index};
use transom::base::log;
use transom::base::table::{Shared, VERSION, refusal};
use transom::host::table;
use transom::window::handle;

/// See [`transom::base::table::Start`].
///
/// # Safety
/// `shared` is a table of `libtransom.so`, alive for the life of the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transom_engine_start(shared: *const Shared) -> c_int {
    // SAFETY: alive, as the caller vouches; `version` comes first in every version of the table.
    if unsafe { (*shared).version } != VERSION {
        return refusal::MISMATCH;
    }
    // SAFETY: of this version, hence of this layout.
    let shared = unsafe { &*shared };
    if shared.functions != FINGERPRINT || shared.slot_count as usize != COUNT {
        return refusal::MISMATCH;
    }
    catch_unwind(AssertUnwindSafe(|| start(shared))).unwrap_or(refusal::FAILED)
}

fn start(shared: &Shared) -> c_int {
    // SAFETY: what the table promises of both.
    if let Err(name) = unsafe { table::load(shared.host, shared.past_us) } {
        log::line(format_args!("the host MPI has no {}", name.to_string_lossy()));
        return refusal::HOST;
    }
    if let Err(error) = handle::prepare() {
        log::line(format_args!("no address space for window handles: {error}"));
        return refusal::FAILED;
    }
    fill(shared);
    fill_fortran(shared);
    0
}

macro_rules! fill {
    ($($name:ident $profiling:ident ($($argument:ident : $type:ty),*) $(-> $result:ty)?;)*) => {
        fn fill(shared: &Shared) {
            let store = |index: Index, entry: *mut c_void| {
                // SAFETY: `slot_count` slots, checked against the list that `Index` is made from.
                unsafe { (*shared.slots.add(index as usize)).store(entry, Release) };
            };
            $(store(Index::$name, entries::$name as *const () as *mut c_void);)*
        }
    };
}
transom::mpi_functions!(fill);

macro_rules! fill_fortran {
    ($($entry:ident: $($symbol:ident)*;)*) => {
        /// Those that this family has; what the others lead to is not ours to say.
        fn fill_fortran(shared: &Shared) {
            let store = |symbol: Symbol, entry: *mut c_void| {
                // SAFETY: `fortran::COUNT` slots, checked by the fingerprint.
                unsafe { (*shared.fortran_slots.add(symbol as usize)).store(entry, Release) };
            };
            $(if let Some(entry) = entries::fortran::entry(Entry::$entry) {
                $(store(Symbol::$symbol, entry);)*
            })*
        }
    };
}
transom::fortran_functions!(fill_fortran);
