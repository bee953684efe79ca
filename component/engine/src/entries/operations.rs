//! Operations. A `_c` form is served like the plain one; for a window of a host that lacks the form its counts are narrowed.

use super::{at_once, forward, serve};
use crate::report;
use core::ffi::{c_int, c_void};
use transom::base::error::{Class, Error};
use transom::host::abi::{MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op, MPI_Request, MPI_Win};
use transom::host::request;
use transom::host::table::host;
use transom::rma::{self, Buffer, Compare, Destination, Fetch, Transfer};

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

/// Passes a call on.
macro_rules! pass {
    ($name:ident, $plain:ident, $win:ident, [$($count:ident),*], ($($argument:ident),*)) => { forward!($name($($argument),*)) };
}

/// Passes a call of a large form on; to the plain form where the host has no other.
macro_rules! pass_large {
    ($name:ident, $plain:ident, $win:ident, [$($count:ident),*], ($($argument:ident),*)) => {
        if host().entry.$name.is_some() {
            forward!($name($($argument),*))
        } else {
            narrow(stringify!($name), $win, [$($count),*], |[$($count),*]| forward!($plain($($argument),*)))
        }
    };
}

/// Hands out a complete request for an operation that is done.
fn deliver(request: *mut MPI_Request) -> Result<(), Error> {
    let complete = request::complete()?;
    // SAFETY: a valid place, as MPI demands of the application.
    unsafe { *request = complete };
    Ok(())
}

/// Operations with counts, for one type of count: `$name` is served, `$pass` hands calls on other windows to the host, as `$plain` where need be.
macro_rules! with_counts {
    ($pass:ident, $count:ty; $accumulate:ident $get_accumulate:ident $rput:ident $rget:ident $raccumulate:ident $rget_accumulate:ident) => {
        pub(crate) unsafe extern "C-unwind" fn $accumulate(
            origin_addr: *const c_void,
            origin_count: $count,
            origin_datatype: MPI_Datatype,
            target_rank: c_int,
            target_disp: MPI_Aint,
            target_count: $count,
            target_datatype: MPI_Datatype,
            op: MPI_Op,
            win: MPI_Win,
        ) -> c_int {
            let origin = buffer(origin_addr, origin_count, origin_datatype);
            let target = destination(target_rank, target_disp, target_count, target_datatype);
            // SAFETY: the buffer is what the arguments say, as MPI demands of the application.
            serve!($accumulate, win, |window| unsafe { rma::accumulate(window, op, &origin, &target) }, {
                $pass!($accumulate, MPI_Accumulate, win, [origin_count, target_count], (
                    origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, op, win
                ))
            })
        }

        pub(crate) unsafe extern "C-unwind" fn $raccumulate(
            origin_addr: *const c_void,
            origin_count: $count,
            origin_datatype: MPI_Datatype,
            target_rank: c_int,
            target_disp: MPI_Aint,
            target_count: $count,
            target_datatype: MPI_Datatype,
            op: MPI_Op,
            win: MPI_Win,
            request: *mut MPI_Request,
        ) -> c_int {
            let origin = buffer(origin_addr, origin_count, origin_datatype);
            let target = destination(target_rank, target_disp, target_count, target_datatype);
            // SAFETY: the buffer is what the arguments say, as MPI demands of the application.
            let work = |window| unsafe { rma::accumulate(window, op, &origin, &target) }.and_then(|()| deliver(request));
            serve!($raccumulate, win, |window| work(window), {
                $pass!($raccumulate, MPI_Raccumulate, win, [origin_count, target_count], (
                    origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, op, win, request
                ))
            })
        }

        pub(crate) unsafe extern "C-unwind" fn $get_accumulate(
            origin_addr: *const c_void,
            origin_count: $count,
            origin_datatype: MPI_Datatype,
            result_addr: *mut c_void,
            result_count: $count,
            result_datatype: MPI_Datatype,
            target_rank: c_int,
            target_disp: MPI_Aint,
            target_count: $count,
            target_datatype: MPI_Datatype,
            op: MPI_Op,
            win: MPI_Win,
        ) -> c_int {
            let origin = buffer(origin_addr, origin_count, origin_datatype);
            let result = buffer(result_addr, result_count, result_datatype);
            let target = destination(target_rank, target_disp, target_count, target_datatype);
            // SAFETY: the buffers are what the arguments say, as MPI demands of the application.
            serve!($get_accumulate, win, |window| unsafe { rma::get_accumulate(window, op, &origin, &result, &target) }, {
                $pass!($get_accumulate, MPI_Get_accumulate, win, [origin_count, result_count, target_count], (
                    origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, target_rank, target_disp,
                    target_count, target_datatype, op, win
                ))
            })
        }

        pub(crate) unsafe extern "C-unwind" fn $rget_accumulate(
            origin_addr: *const c_void,
            origin_count: $count,
            origin_datatype: MPI_Datatype,
            result_addr: *mut c_void,
            result_count: $count,
            result_datatype: MPI_Datatype,
            target_rank: c_int,
            target_disp: MPI_Aint,
            target_count: $count,
            target_datatype: MPI_Datatype,
            op: MPI_Op,
            win: MPI_Win,
            request: *mut MPI_Request,
        ) -> c_int {
            let origin = buffer(origin_addr, origin_count, origin_datatype);
            let result = buffer(result_addr, result_count, result_datatype);
            let target = destination(target_rank, target_disp, target_count, target_datatype);
            let work = |window| {
                // SAFETY: the buffers are what the arguments say, as MPI demands of the application.
                unsafe { rma::get_accumulate(window, op, &origin, &result, &target) }.and_then(|()| deliver(request))
            };
            serve!($rget_accumulate, win, |window| work(window), {
                $pass!($rget_accumulate, MPI_Rget_accumulate, win, [origin_count, result_count, target_count], (
                    origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, target_rank, target_disp,
                    target_count, target_datatype, op, win, request
                ))
            })
        }

        with_counts!(@transfer $pass, $count, *const c_void, rma::put, $rput, MPI_Rput);
        with_counts!(@transfer $pass, $count, *mut c_void, rma::get, $rget, MPI_Rget);
    };
    (@transfer $pass:ident, $count:ty, $pointer:ty, $operation:path, $name:ident, $plain:ident) => {
        pub(crate) unsafe extern "C-unwind" fn $name(
            origin_addr: $pointer,
            origin_count: $count,
            origin_datatype: MPI_Datatype,
            target_rank: c_int,
            target_disp: MPI_Aint,
            target_count: $count,
            target_datatype: MPI_Datatype,
            win: MPI_Win,
            request: *mut MPI_Request,
        ) -> c_int {
            let transfer =
                transfer!(@of origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype);
            // SAFETY: the buffer is what the arguments say, as MPI demands of the application.
            let work = |window| unsafe { $operation(window, &transfer) }.and_then(|()| deliver(request));
            serve!($name, win, |window| work(window), {
                $pass!($name, $plain, win, [origin_count, target_count], (
                    origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win, request
                ))
            })
        }
    };
}
with_counts!(pass, c_int; MPI_Accumulate MPI_Get_accumulate MPI_Rput MPI_Rget MPI_Raccumulate MPI_Rget_accumulate);
with_counts!(pass_large, MPI_Count; MPI_Accumulate_c MPI_Get_accumulate_c MPI_Rput_c MPI_Rget_c MPI_Raccumulate_c MPI_Rget_accumulate_c);

fn buffer(address: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype) -> Buffer {
    Buffer { address: address.cast_mut().cast(), count: count.into(), datatype }
}

fn destination(rank: c_int, displacement: MPI_Aint, count: impl Into<i64>, datatype: MPI_Datatype) -> Destination {
    Destination { rank, displacement: displacement as i64, count: count.into(), datatype }
}

/// The arguments of `MPI_Fetch_and_op` as the library takes them.
macro_rules! fetch {
    ($origin:ident, $result:ident, $datatype:ident, $target:ident, $displacement:ident) => {
        &Fetch {
            origin: $origin.cast_mut().cast(),
            result: $result.cast(),
            datatype: $datatype,
            rank: $target,
            displacement: $displacement as i64,
        }
    };
}

at_once! {
    MPI_Fetch_and_op(
        origin_addr: *const c_void,
        result_addr: *mut c_void,
        datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: MPI_Aint,
        op: MPI_Op,
        win: MPI_Win
    ), win,
    // SAFETY: the buffers are what the arguments say, as MPI demands of the application.
    |window| unsafe { rma::fetch_and_op_at_once(window, op, fetch!(origin_addr, result_addr, datatype, target_rank, target_disp)) },
    // SAFETY: as above.
    |window| unsafe { rma::fetch_and_op(window, op, fetch!(origin_addr, result_addr, datatype, target_rank, target_disp)) },
    forward!(MPI_Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op, win))
}

/// The arguments of `MPI_Compare_and_swap` as the library takes them.
macro_rules! compare {
    ($origin:ident, $compare:ident, $result:ident, $datatype:ident, $target:ident, $displacement:ident) => {
        &Compare {
            origin: $origin.cast(),
            compare: $compare.cast(),
            result: $result.cast(),
            datatype: $datatype,
            rank: $target,
            displacement: $displacement as i64,
        }
    };
}

at_once! {
    MPI_Compare_and_swap(
        origin_addr: *const c_void,
        compare_addr: *const c_void,
        result_addr: *mut c_void,
        datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: MPI_Aint,
        win: MPI_Win
    ), win,
    |window| {
        let arguments = compare!(origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp);
        // SAFETY: the buffers are what the arguments say, as MPI demands of the application.
        unsafe { rma::compare_and_swap_at_once(window, arguments) }
    },
    |window| {
        let arguments = compare!(origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp);
        // SAFETY: as above.
        unsafe { rma::compare_and_swap(window, arguments) }
    },
    forward!(MPI_Compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win))
}
