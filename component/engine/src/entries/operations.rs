//! Operations. A `_c` form is served like the plain one; for a window of a host that lacks the form its counts are narrowed.

use super::{at_once, forward, serve};
use crate::report;
use core::ffi::{c_int, c_void};
use transom::base::error::{Class, Error};
use transom::host::abi::{MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op, MPI_Request, MPI_Win};
use transom::host::table::host;
use transom::rma::{self, Transfer};

/// Both forms of an operation that moves bytes between an origin's buffer and a target.
macro_rules! transfer {
    ($name:ident, $large:ident, $pointer:ty, $operation:path, $at_once:path) => {
        transfer!(@form $name, $pointer, c_int, $operation, $at_once,
            |origin, count, datatype, target, displacement, target_count, target_datatype, win| {
                forward!($name(origin, count, datatype, target, displacement, target_count, target_datatype, win))
            });
        transfer!(@form $large, $pointer, MPI_Count, $operation, $at_once,
            |origin, count, datatype, target, displacement, target_count, target_datatype, win| {
                if host().entry.$large.is_some() {
                    forward!($large(origin, count, datatype, target, displacement, target_count, target_datatype, win))
                } else {
                    narrow(stringify!($large), win, [count, target_count], |[count, target_count]| {
                        forward!($name(origin, count, datatype, target, displacement, target_count, target_datatype, win))
                    })
                }
            });
    };
    (@form $name:ident, $pointer:ty, $count:ty, $operation:path, $at_once:path,
     |$origin:ident, $origin_count:ident, $origin_datatype:ident, $target:ident, $displacement:ident, $target_count:ident, $target_datatype:ident, $win:ident|
     $forward:expr) => {
        at_once! {
            $name(
                $origin: $pointer,
                $origin_count: $count,
                $origin_datatype: MPI_Datatype,
                $target: c_int,
                $displacement: MPI_Aint,
                $target_count: $count,
                $target_datatype: MPI_Datatype,
                $win: MPI_Win
            ), $win,
            // SAFETY: the buffer is what the arguments say, as MPI demands of the application.
            |window| unsafe { $at_once(window, &transfer!(@of $origin, $origin_count, $origin_datatype, $target, $displacement, $target_count, $target_datatype)) },
            // SAFETY: as above.
            |window| unsafe { $operation(window, &transfer!(@of $origin, $origin_count, $origin_datatype, $target, $displacement, $target_count, $target_datatype)) },
            $forward
        }
    };
    (@of $origin:ident, $origin_count:ident, $origin_datatype:ident, $target:ident, $displacement:ident, $target_count:ident, $target_datatype:ident) => {
        Transfer {
            origin: $origin as *mut u8,
            origin_count: $origin_count as i64,
            origin_datatype: $origin_datatype,
            target: $target,
            displacement: $displacement as i64,
            target_count: $target_count as i64,
            target_datatype: $target_datatype,
        }
    };
}
transfer!(MPI_Put, MPI_Put_c, *const c_void, rma::put, rma::put_at_once);
transfer!(MPI_Get, MPI_Get_c, *mut c_void, rma::get, rma::get_at_once);

/// Counts for a host that has no `_c` form.
fn narrow<const N: usize>(
    call: &'static str,
    win: MPI_Win,
    counts: [MPI_Count; N],
    host_call: impl FnOnce([c_int; N]) -> c_int,
) -> c_int {
    let mut narrowed = [0; N];
    for (narrow, count) in narrowed.iter_mut().zip(counts) {
        match c_int::try_from(count) {
            Ok(count) => *narrow = count,
            Err(_) => {
                let error = Error::value(Class::Count, "count", count as i64);
                return report::on_host_window(win, call, &error);
            }
        }
    }
    host_call(narrowed)
}

/// Operations that are not served yet on a window of ours (named first).
macro_rules! not_supported {
    ($($name:ident ($win:ident; $($argument:ident : $type:ty),*);)*) => {
        $(pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            serve!($name, $win, |_window| Err(Error::not_supported(stringify!($name))), forward!($name($($argument),*)))
        })*
    };
}

not_supported! {
    MPI_Accumulate(win; origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win);
    MPI_Get_accumulate(win; origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: c_int, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win);
    MPI_Fetch_and_op(win; origin_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, op: MPI_Op, win: MPI_Win);
    MPI_Compare_and_swap(win; origin_addr: *const c_void, compare_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, win: MPI_Win);
    MPI_Rput(win; origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request);
    MPI_Rget(win; origin_addr: *mut c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request);
    MPI_Raccumulate(win; origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request);
    MPI_Rget_accumulate(win; origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: c_int, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request);
}

/// Their large forms; `[...]` names the counts to be narrowed for a host that has the plain form only.
macro_rules! not_supported_large {
    ($($name:ident, $plain:ident ($win:ident [$($count:ident),*]; $($argument:ident : $type:ty),*);)*) => {
        $(pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            serve!($name, $win, |_window| Err(Error::not_supported(stringify!($name))), {
                if host().entry.$name.is_some() {
                    forward!($name($($argument),*))
                } else {
                    narrow(stringify!($name), $win, [$($count),*], |[$($count),*]| forward!($plain($($argument),*)))
                }
            })
        })*
    };
}

not_supported_large! {
    MPI_Accumulate_c, MPI_Accumulate(win [origin_count, target_count]; origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win);
    MPI_Get_accumulate_c, MPI_Get_accumulate(win [origin_count, result_count, target_count]; origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: MPI_Count, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win);
    MPI_Rput_c, MPI_Rput(win [origin_count, target_count]; origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request);
    MPI_Rget_c, MPI_Rget(win [origin_count, target_count]; origin_addr: *mut c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request);
    MPI_Raccumulate_c, MPI_Raccumulate(win [origin_count, target_count]; origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request);
    MPI_Rget_accumulate_c, MPI_Rget_accumulate(win [origin_count, result_count, target_count]; origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: MPI_Count, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request);
}
