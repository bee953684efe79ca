//! Turning the host's progress from inside a wait: what this rank owes to others (the rest of a rendezvous) moves on.
//!
//! MPI has no call for that alone. Used here is `MPI_Request_get_status` of a generalized request that never completes before `MPI_Finalize`:
//! both families answer such a question by one round of their progress engine, and it takes nothing from anybody. What does not do: a probe,
//! which ends without progress when it finds an unexpected message of the application, and which MPICH answers for `MPI_COMM_SELF` without progress
//! at all.

use super::abi::{MPI_Request, MPI_Status, SUCCESS};
use super::table::host;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

struct Endless(MPI_Request);

// SAFETY: a handle. Any number of threads may ask for its status at once; it is completed once, in `MPI_Finalize`.
unsafe impl Send for Endless {}
// SAFETY: as for `Send`.
unsafe impl Sync for Endless {}

static REQUEST: OnceLock<Option<Endless>> = OnceLock::new();
/// The request is given back. A wait may still come: the host's `MPI_Finalize` runs the program's delete callbacks, and one of
/// `MPI_COMM_SELF` is where libraries free their windows.
static FINISHED: AtomicBool = AtomicBool::new(false);

/// A call that takes less has found nothing to do (0.1 to 0.5 µs here).
const IDLE: Duration = Duration::from_micros(1);
/// A call that takes more has not moved a piece of a message all the time.
const PREEMPTED: Duration = Duration::from_micros(200);
/// Calls in a row, at most.
const CALLS: u32 = 64;

/// Turns progress until `done` says that it need not go on, or there is nothing to move; says whether something was moved. A large message
/// goes in hundreds of pieces, a few of them a call, and with a sleep between any two calls it would take seconds. Whether a piece was moved
/// shows in the time that the call took. A much longer time says only that another process had the core: Open MPI yields it in every idle
/// call where ranks outnumber cores.
pub fn turn(mut done: impl FnMut() -> bool) -> bool {
    let mut moved = false;
    let mut before = Instant::now();
    for _ in 0..CALLS {
        turn_once();
        let after = Instant::now();
        if !(IDLE..PREEMPTED).contains(&(after - before)) {
            break;
        }
        moved = true;
        if done() {
            break;
        }
        before = after;
    }
    moved
}

fn turn_once() {
    if FINISHED.load(Relaxed) {
        return;
    }
    let Some(Endless(request)) = REQUEST.get_or_init(start) else { return };
    let (mut flag, mut status) = (0, MaybeUninit::<MPI_Status>::uninit());
    // SAFETY: a live request, and valid places for results.
    unsafe { (host().call.MPI_Request_get_status)(*request, &mut flag, status.as_mut_ptr()) };
}

fn start() -> Option<Endless> {
    let mut request = MaybeUninit::uninit();
    // SAFETY: the callbacks match their types and need no state.
    let code =
        unsafe { (host().call.MPI_Grequest_start)(Some(query), Some(free), Some(cancel), ptr::null_mut(), request.as_mut_ptr()) };
    // SAFETY: written by the successful call.
    (code == SUCCESS).then(|| Endless(unsafe { request.assume_init() }))
}

/// Gives the request back. In `MPI_Finalize`, before the host's own.
pub fn finish() {
    FINISHED.store(true, Relaxed);
    let Some(Some(Endless(request))) = REQUEST.get() else { return };
    let (mut request, mut flag, mut status) = (*request, 0, MaybeUninit::<MPI_Status>::uninit());
    // SAFETY: a live request; no thread is inside MPI but this one, so nobody asks for its status any more.
    unsafe {
        (host().call.MPI_Grequest_complete)(request);
        (host().call.MPI_Test)(&mut request, &mut flag, status.as_mut_ptr());
    }
}

unsafe extern "C-unwind" fn query(_: *mut c_void, status: *mut MPI_Status) -> c_int {
    // SAFETY: the host passes a status to be filled in; all zeros is no error, no source, no bytes.
    unsafe { status.write_bytes(0, 1) };
    SUCCESS
}

unsafe extern "C-unwind" fn free(_: *mut c_void) -> c_int {
    SUCCESS
}

unsafe extern "C-unwind" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    SUCCESS
}
