//! Epochs and their synchronisation.

use super::{at_once, forward, serve};
use core::ffi::c_int;
use transom::host::abi::{MPI_Group, MPI_Win};
use transom::sync;
use transom::window::Window;

pub(crate) unsafe extern "C-unwind" fn MPI_Win_fence(assert: c_int, win: MPI_Win) -> c_int {
    serve!(MPI_Win_fence, win, |window| sync::fence(window, assert), forward!(MPI_Win_fence(assert, win)))
}

at_once! {
    MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win), win,
    |window| sync::lock_at_once(window, lock_type, rank, assert),
    |window| sync::lock(window, lock_type, rank, assert),
    forward!(MPI_Win_lock(lock_type, rank, assert, win))
}

at_once! {
    MPI_Win_unlock(rank: c_int, win: MPI_Win), win,
    |window| sync::unlock_at_once(window, rank),
    |window| sync::unlock(window, rank),
    forward!(MPI_Win_unlock(rank, win))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_lock_all(assert: c_int, win: MPI_Win) -> c_int {
    serve!(MPI_Win_lock_all, win, |window| sync::lock_all(window, assert), forward!(MPI_Win_lock_all(assert, win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_unlock_all(win: MPI_Win) -> c_int {
    serve!(MPI_Win_unlock_all, win, |window| sync::unlock_all(window), forward!(MPI_Win_unlock_all(win)))
}

at_once! {
    MPI_Win_flush(rank: c_int, win: MPI_Win), win,
    |window| sync::flush_at_once(window, rank),
    |window| sync::flush(window, rank),
    forward!(MPI_Win_flush(rank, win))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_flush_all(win: MPI_Win) -> c_int {
    serve!(MPI_Win_flush_all, win, |window| sync::flush_all(window), forward!(MPI_Win_flush_all(win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_flush_local(rank: c_int, win: MPI_Win) -> c_int {
    serve!(MPI_Win_flush_local, win, |window| sync::flush_local(window, rank), forward!(MPI_Win_flush_local(rank, win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_flush_local_all(win: MPI_Win) -> c_int {
    serve!(MPI_Win_flush_local_all, win, |window| sync::flush_local_all(window), forward!(MPI_Win_flush_local_all(win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_sync(win: MPI_Win) -> c_int {
    serve!(MPI_Win_sync, win, |window| sync::sync(window), forward!(MPI_Win_sync(win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) -> c_int {
    serve!(MPI_Win_post, win, |window| sync::post(window, group, assert), forward!(MPI_Win_post(group, assert, win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) -> c_int {
    serve!(MPI_Win_start, win, |window| sync::start(window, group, assert), forward!(MPI_Win_start(group, assert, win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_complete(win: MPI_Win) -> c_int {
    serve!(MPI_Win_complete, win, |window| sync::complete(window), forward!(MPI_Win_complete(win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_wait(win: MPI_Win) -> c_int {
    serve!(MPI_Win_wait, win, |window| sync::wait(window), forward!(MPI_Win_wait(win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_test(win: MPI_Win, flag: *mut c_int) -> c_int {
    let deliver = |window: &Window| {
        let ended = sync::test(window)?;
        // SAFETY: a valid place, as MPI demands of the application.
        unsafe { *flag = c_int::from(ended) };
        Ok(())
    };
    serve!(MPI_Win_test, win, |window| deliver(window), forward!(MPI_Win_test(win, flag)))
}
