//! Error handlers of windows.

use super::{forward, serve};
use crate::report;
use core::ffi::c_int;
use transom::host::abi::{MPI_Errhandler, MPI_Win, MPI_Win_errhandler_function, SUCCESS};
use transom::window::errhandler::{self, Handler};
use transom::window::handle;

pub(crate) unsafe extern "C-unwind" fn MPI_Win_create_errhandler(
    win_errhandler_fn: MPI_Win_errhandler_function,
    errhandler: *mut MPI_Errhandler,
) -> c_int {
    let code = forward!(MPI_Win_create_errhandler(win_errhandler_fn, errhandler));
    if code == SUCCESS {
        // SAFETY: written by the successful call.
        errhandler::created(unsafe { *errhandler }, win_errhandler_fn);
    }
    code
}

pub(crate) unsafe extern "C-unwind" fn MPI_Errhandler_free(errhandler: *mut MPI_Errhandler) -> c_int {
    // SAFETY: a valid place, as MPI demands of the application.
    if unsafe { errhandler::free(errhandler) } { SUCCESS } else { forward!(MPI_Errhandler_free(errhandler)) }
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_get_errhandler(win: MPI_Win, errhandler: *mut MPI_Errhandler) -> c_int {
    let deliver = |window: &transom::window::Window| {
        // SAFETY: a valid place, as MPI demands of the application.
        unsafe { *errhandler = window.handler().handle() };
        Ok(())
    };
    serve!(MPI_Win_get_errhandler, win, |window| deliver(window), {
        let code = forward!(MPI_Win_get_errhandler(win, errhandler));
        if code == SUCCESS {
            // SAFETY: written by the successful call.
            errhandler::given(unsafe { *errhandler });
        }
        code
    })
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) -> c_int {
    let set = |window: &transom::window::Window| {
        window.set_handler(Handler::of(errhandler)?);
        Ok(())
    };
    serve!(MPI_Win_set_errhandler, win, |window| set(window), forward!(MPI_Win_set_errhandler(win, errhandler)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) -> c_int {
    // SAFETY: as MPI demands of the application, no other thread frees the window.
    match unsafe { handle::find(win) } {
        Some(window) => {
            report::call_handler(win, window.handler(), "MPI_Win_call_errhandler", errorcode);
            SUCCESS
        }
        None if handle::is_ours(win) => report::stale(win, "MPI_Win_call_errhandler"),
        None => forward!(MPI_Win_call_errhandler(win, errorcode)),
    }
}
