//! From an error to what the application sees of it: a code whose class and text MPI can tell, and a call of the right error handler.

use core::ffi::c_int;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use transom::base::error::{Error, What};
use transom::base::log;
use transom::base::threads::lock;
use transom::host::abi::{self, MPI_Comm, MPI_Win, SUCCESS};
use transom::host::comm;
use transom::host::table::host;
use transom::window::errhandler::Handler;
use transom::window::{Window, handle};

/// Codes that we return: this mark, a running number, and the class in the low seven bits, where MPICH's own codes have it too. No host
/// returns codes with both bits of the mark.
const MARK: c_int = 0x6000_0000;
const CLASS_BITS: u32 = 7;
const NUMBERS: c_int = 1 << 20;
/// Messages that are remembered; the text of an older code is its class's.
const REMEMBERED: usize = 256;

struct Messages {
    next: c_int,
    recent: VecDeque<(c_int, String)>,
}

static MESSAGES: Mutex<Messages> = Mutex::new(Messages { next: 0, recent: VecDeque::new() });

fn messages() -> MutexGuard<'static, Messages> {
    lock(&MESSAGES)
}

/// Makes a code for an error in a call. The same message keeps its code, so that a program which polls an erroneous call does not push
/// other messages out.
fn code_for(call: &str, error: &Error) -> c_int {
    if let What::Callback(code) = error.what {
        return code;
    }
    let class = abi::class_number(error.class);
    let text = format!("{call}: {error}");
    let mut messages = messages();
    if let Some((code, _)) = messages.recent.iter().find(|(_, known)| *known == text) {
        return *code;
    }
    let code = MARK | (messages.next << CLASS_BITS) | class;
    messages.next = (messages.next + 1) % NUMBERS;
    if messages.recent.len() == REMEMBERED {
        messages.recent.pop_front();
    }
    messages.recent.push_back((code, text));
    code
}

/// The class of a code of ours.
pub(crate) fn class_of(code: c_int) -> Option<c_int> {
    (code & MARK == MARK && code > 0).then_some(code & ((1 << CLASS_BITS) - 1))
}

/// The text of a code of ours, while it is remembered.
pub(crate) fn text_of(code: c_int) -> Option<String> {
    messages().recent.iter().find(|(known, _)| *known == code).map(|(_, text)| text.clone())
}

fn own_rank() -> u32 {
    comm::rank(host().handles.comm_world).unwrap_or(0)
}

/// Ends the job with a line that says why.
fn fatal(text: &str, code: c_int) -> ! {
    log::line(format_args!("rank {}: fatal error in {text}", own_rank()));
    comm::abort(class_of(code).unwrap_or(code))
}

/// The code for the result of a call on a window of ours, after its error handler has had its say.
#[inline]
pub(crate) fn on_window(win: MPI_Win, window: &Window, call: &'static str, result: Result<(), Error>) -> c_int {
    match result {
        Ok(()) => SUCCESS,
        Err(error) => raise(win, || window.handler(), call, &error),
    }
}

/// As [`on_window`], for an error whose window may be gone by now.
#[cold]
#[inline(never)]
pub(crate) fn raise(win: MPI_Win, handler: impl FnOnce() -> Handler, call: &'static str, error: &Error) -> c_int {
    let code = code_for(call, error);
    call_handler(win, handler(), call, code)
}

/// Calls a window's error handler, and says what the call that failed is to return. Nothing is held but the handler's own reference, which
/// unwinding drops.
pub(crate) fn call_handler(win: MPI_Win, handler: Handler, call: &str, code: c_int) -> c_int {
    match handler {
        Handler::Fatal(_) => {
            let text = text_of(code).unwrap_or_else(|| format!("{call}: {}", comm::error_string(code)));
            fatal(&text, code)
        }
        Handler::Return(_) => code,
        Handler::Function(reference) => reference.call(win, code),
    }
}

/// Reports an error in a call that has a communicator and no window yet.
#[cold]
#[inline(never)]
pub(crate) fn on_comm(comm: MPI_Comm, call: &'static str, error: &Error) -> c_int {
    let code = code_for(call, error);
    if comm::errors_are_fatal(comm) {
        let text = text_of(code).unwrap_or_default();
        fatal(&text, code);
    }
    comm::call_errhandler(comm, code);
    code
}

/// Reports an error in a call without any object: it goes to `MPI_COMM_WORLD`'s handler, as the hosts have it.
pub(crate) fn on_nothing(call: &'static str, error: &Error) -> c_int {
    on_comm(host().handles.comm_world, call, error)
}

/// A handle that is ours and no window's: freed, or made up.
#[cold]
pub(crate) fn stale(win: MPI_Win, call: &'static str) -> c_int {
    debug_assert!(handle::is_ours(win));
    on_nothing(call, &Error::text(transom::base::error::Class::Win, "the window is freed already"))
}

/// Reports an error in a call on a window of the host.
pub(crate) fn on_host_window(win: MPI_Win, call: &'static str, error: &Error) -> c_int {
    let code = code_for(call, error);
    match host().entry.MPI_Win_call_errhandler {
        // SAFETY: the application's own window; its handler is told a code whose class and text we answer for.
        Some(function) => unsafe { function(win, code) },
        None => SUCCESS,
    };
    code
}
