//! One function for each line of the list. Those that need no more than "ours or the host's" are made by the macros here.
#![allow(non_snake_case)] // Entries are called what MPI calls them.
#![allow(clippy::unnecessary_cast)] // MPI_Aint is i64 in one family and isize in the other.

mod attributes;
mod creation;
pub(crate) mod fortran;
mod handlers;
mod life;
mod memory;
mod operations;
mod synchronization;

pub(crate) use attributes::*;
pub(crate) use creation::*;
pub(crate) use handlers::*;
pub(crate) use life::*;
pub(crate) use memory::*;
pub(crate) use operations::*;
pub(crate) use synchronization::*;

/// Calls the host's own function.
macro_rules! forward {
    ($name:ident($($argument:expr),* $(,)?)) => {
        match transom::host::table::host().entry.$name {
            // SAFETY: the application's own arguments, for which it answers to the host.
            Some(function) => unsafe { function($($argument),*) },
            None => crate::entries::missing(stringify!($name)),
        }
    };
}
pub(crate) use forward;

/// The host has no such function (a `_c` form) and the call is not one that could be narrowed for it.
#[cold]
pub(crate) fn missing(call: &'static str) -> core::ffi::c_int {
    use transom::base::error::{Class, Error};
    crate::report::on_nothing(call, &Error::text(Class::UnsupportedOperation, "the host MPI has no such function"))
}

/// Serves a call on a window of ours, or passes it on.
macro_rules! serve {
    ($call:ident, $win:expr, |$window:ident| $work:expr, $otherwise:expr) => {
        crate::entries::serve_callbacks!($call, $win, |$window| crate::guard::guard(|| $work), $otherwise)
    };
}
pub(crate) use serve;

/// As [`serve`], for calls that run callbacks of the application, which may throw: no guard of ours may stand around those.
macro_rules! serve_callbacks {
    ($call:ident, $win:expr, |$window:ident| $work:expr, $otherwise:expr) => {
        // SAFETY: MPI demands of the application that no other thread frees the window meanwhile.
        match unsafe { transom::window::handle::find($win) } {
            Some($window) => crate::report::on_window($win, $window, stringify!($call), $work),
            None if transom::window::handle::is_ours($win) => crate::report::stale($win, stringify!($call)),
            None => $otherwise,
        }
    };
}
pub(crate) use serve_callbacks;

/// An entry whose common case can neither fail nor wait nor panic: that case alone is in line, and everything else stands in a function of the
/// same arguments, which the entry jumps to.
macro_rules! at_once {
    ($name:ident ($($argument:ident : $type:ty),*), $win:ident, |$window:ident| $at_once:expr, |$slow:ident| $work:expr, $otherwise:expr) => {
        pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            #[cold]
            #[inline(never)]
            unsafe extern "C-unwind" fn otherwise($($argument: $type),*) -> c_int {
                crate::entries::serve!($name, $win, |$slow| $work, $otherwise)
            }
            // SAFETY: MPI demands of the application that no other thread frees the window meanwhile.
            if let Some($window) = unsafe { transom::window::handle::find($win) }
                && $at_once
            {
                return transom::host::abi::SUCCESS;
            }
            // SAFETY: the arguments as they came.
            unsafe { otherwise($($argument),*) }
        }
    };
}
pub(crate) use at_once;
