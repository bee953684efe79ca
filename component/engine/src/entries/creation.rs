//! Creation, release and queries of windows.

use super::{forward, life, serve};
use crate::guard::guard;
use crate::report;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use transom::base::config;
use transom::base::error::{Class, Error, What};
use transom::base::stats::{Decline, TOTALS};
use transom::host::abi::{self, MPI_Aint, MPI_Comm, MPI_Fint, MPI_Group, MPI_Info, MPI_Win, PROC_NULL, SUCCESS};
use transom::host::comm;
use transom::host::table::host;
use transom::window::create::{Outcome, Request, create};
use transom::window::{Flavor, Window, free, handle};

/// Makes a window, or lets `host` make it where all ranks decline. `deliver` hands the base to the application.
fn make(
    call: &'static str,
    request: &Request,
    win: *mut MPI_Win,
    deliver: impl FnOnce(*mut c_void),
    host: impl FnOnce() -> c_int,
) -> c_int {
    // Open MPI's Fortran library converts what it finds there even where the call has failed.
    // SAFETY: a valid place, as MPI demands of the application.
    unsafe { *win = transom::host::table::host().handles.win_null };
    if request.comm == transom::host::table::host().handles.comm_null {
        // The host reports what it makes of it.
        return host();
    }
    if config::get().disable {
        return decline(call, request.comm, Decline::Disabled, host);
    }
    if !life::is_initialized() {
        return decline(call, request.comm, Decline::Session, host);
    }
    match guard(|| create(request)) {
        Ok(Outcome::Served { handle, base }) => {
            deliver(base);
            // SAFETY: a valid place, as MPI demands of the application.
            unsafe { *win = handle };
            SUCCESS
        }
        Ok(Outcome::Declined(reason)) => decline(call, request.comm, reason, host),
        Err(error) => report::on_comm(request.comm, call, &error),
    }
}

/// Leaves a window to the host, or fails where that is forbidden.
fn decline(call: &'static str, comm: MPI_Comm, reason: Decline, host: impl FnOnce() -> c_int) -> c_int {
    if config::get().require {
        let error = Error { class: Class::Other, what: What::Required(reason.text()) };
        return report::on_comm(comm, call, &error);
    }
    let code = host();
    if code == SUCCESS {
        TOTALS.reasons.fetch_or(1 << reason as u32, Relaxed);
        if comm::rank(comm) == Ok(0) {
            TOTALS.declined.fetch_add(1, Relaxed);
        }
    }
    code
}

/// For a host without the `_c` form: a displacement unit that an `int` holds.
fn narrow(call: &'static str, comm: MPI_Comm, unit: MPI_Aint, host: impl FnOnce(c_int) -> c_int) -> c_int {
    match c_int::try_from(unit) {
        Ok(unit) => host(unit),
        Err(_) => report::on_comm(comm, call, &Error::value(Class::Disp, "disp_unit", unit as i64)),
    }
}

/// Hands the base to where `MPI_Win_allocate` wants it.
fn to_baseptr(baseptr: *mut c_void) -> impl FnOnce(*mut c_void) {
    move |base| {
        // SAFETY: the place for a pointer that MPI demands of the application.
        unsafe { *baseptr.cast::<*mut c_void>() = base }
    }
}

macro_rules! allocate {
    ($flavor:expr, $name:ident, $large:ident) => {
        pub(crate) unsafe extern "C-unwind" fn $name(
            size: MPI_Aint,
            disp_unit: c_int,
            info: MPI_Info,
            comm: MPI_Comm,
            baseptr: *mut c_void,
            win: *mut MPI_Win,
        ) -> c_int {
            let (flavor, base, unit) = ($flavor, core::ptr::null_mut(), i64::from(disp_unit));
            let request = Request { flavor, base, size: size as i64, unit, info, comm };
            make(stringify!($name), &request, win, to_baseptr(baseptr), || {
                forward!($name(size, disp_unit, info, comm, baseptr, win))
            })
        }

        pub(crate) unsafe extern "C-unwind" fn $large(
            size: MPI_Aint,
            disp_unit: MPI_Aint,
            info: MPI_Info,
            comm: MPI_Comm,
            baseptr: *mut c_void,
            win: *mut MPI_Win,
        ) -> c_int {
            let (flavor, base, unit) = ($flavor, core::ptr::null_mut(), disp_unit as i64);
            let request = Request { flavor, base, size: size as i64, unit, info, comm };
            make(stringify!($large), &request, win, to_baseptr(baseptr), || {
                if host().entry.$large.is_some() {
                    return forward!($large(size, disp_unit, info, comm, baseptr, win));
                }
                narrow(stringify!($large), comm, disp_unit, |disp_unit| {
                    forward!($name(size, disp_unit, info, comm, baseptr, win))
                })
            })
        }
    };
}
allocate!(Flavor::Allocate, MPI_Win_allocate, MPI_Win_allocate_c);
allocate!(Flavor::Shared, MPI_Win_allocate_shared, MPI_Win_allocate_shared_c);

pub(crate) unsafe extern "C-unwind" fn MPI_Win_create(
    base: *mut c_void,
    size: MPI_Aint,
    disp_unit: c_int,
    info: MPI_Info,
    comm: MPI_Comm,
    win: *mut MPI_Win,
) -> c_int {
    let request = Request { flavor: Flavor::Create, base, size: size as i64, unit: i64::from(disp_unit), info, comm };
    make("MPI_Win_create", &request, win, |_| {}, || forward!(MPI_Win_create(base, size, disp_unit, info, comm, win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_create_c(
    base: *mut c_void,
    size: MPI_Aint,
    disp_unit: MPI_Aint,
    info: MPI_Info,
    comm: MPI_Comm,
    win: *mut MPI_Win,
) -> c_int {
    let request = Request { flavor: Flavor::Create, base, size: size as i64, unit: disp_unit as i64, info, comm };
    make(
        "MPI_Win_create_c",
        &request,
        win,
        |_| {},
        || {
            if host().entry.MPI_Win_create_c.is_some() {
                return forward!(MPI_Win_create_c(base, size, disp_unit, info, comm, win));
            }
            narrow("MPI_Win_create_c", comm, disp_unit, |disp_unit| {
                forward!(MPI_Win_create(base, size, disp_unit, info, comm, win))
            })
        },
    )
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_create_dynamic(info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win) -> c_int {
    decline("MPI_Win_create_dynamic", comm, Decline::Dynamic, || forward!(MPI_Win_create_dynamic(info, comm, win)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) -> c_int {
    serve!(MPI_Win_attach, win, |_window| Err(not_dynamic()), forward!(MPI_Win_attach(win, base, size)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_detach(win: MPI_Win, base: *const c_void) -> c_int {
    serve!(MPI_Win_detach, win, |_window| Err(not_dynamic()), forward!(MPI_Win_detach(win, base)))
}

fn not_dynamic() -> Error {
    Error::text(Class::RmaFlavor, "the window was not made by MPI_Win_create_dynamic")
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_free(win: *mut MPI_Win) -> c_int {
    // SAFETY: a valid place, as MPI demands of the application.
    let own = unsafe { *win };
    // SAFETY: as MPI demands of the application, no other thread uses the window.
    let Some(window) = (unsafe { handle::find(own) }) else {
        return if handle::is_ours(own) { report::stale(own, "MPI_Win_free") } else { forward!(MPI_Win_free(win)) };
    };
    if let Err(error) = guard(|| window.may_free()) {
        return report::on_window(own, window, "MPI_Win_free", Err(error));
    }
    // While the window is whole: callbacks may use it. One that fails does not keep the window, for which the other ranks wait.
    let mut deleted = Ok(());
    while let Some(deletion) = window.last_attribute() {
        deleted = deleted.and(deletion.run_at_end(own));
    }
    // The handler outlives the window, whose end may fail.
    let handler = window.handler();
    // SAFETY: live, as found above.
    let result = guard(|| unsafe { free(own) }).and(deleted);
    // SAFETY: as above.
    unsafe { *win = host().handles.win_null };
    match result {
        Ok(()) => SUCCESS,
        Err(error) => report::raise(own, || handler, "MPI_Win_free", &error),
    }
}

/// Answers a query; the two forms differ in the type of the displacement unit.
fn answer(
    window: &Window,
    rank: c_int,
    size: *mut MPI_Aint,
    deliver_unit: impl FnOnce(u64),
    baseptr: *mut c_void,
) -> Result<(), Error> {
    let (base, bytes, unit) = window.shared_query((rank != PROC_NULL).then_some(rank))?;
    // SAFETY: valid places, as MPI demands of the application.
    unsafe {
        *size = bytes as MPI_Aint;
        *baseptr.cast::<*mut c_void>() = base;
    }
    deliver_unit(unit);
    Ok(())
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_shared_query(
    win: MPI_Win,
    rank: c_int,
    size: *mut MPI_Aint,
    disp_unit: *mut c_int,
    baseptr: *mut c_void,
) -> c_int {
    // SAFETY: a valid place, as MPI demands of the application.
    let deliver_unit = |unit| unsafe { *disp_unit = c_int::try_from(unit).unwrap_or(c_int::MAX) };
    serve!(MPI_Win_shared_query, win, |window| answer(window, rank, size, deliver_unit, baseptr), {
        forward!(MPI_Win_shared_query(win, rank, size, disp_unit, baseptr))
    })
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_shared_query_c(
    win: MPI_Win,
    rank: c_int,
    size: *mut MPI_Aint,
    disp_unit: *mut MPI_Aint,
    baseptr: *mut c_void,
) -> c_int {
    // SAFETY: a valid place, as MPI demands of the application.
    let deliver_unit = |unit| unsafe { *disp_unit = unit as MPI_Aint };
    serve!(MPI_Win_shared_query_c, win, |window| answer(window, rank, size, deliver_unit, baseptr), {
        if host().entry.MPI_Win_shared_query_c.is_some() {
            return forward!(MPI_Win_shared_query_c(win, rank, size, disp_unit, baseptr));
        }
        let mut unit = 0;
        let code = forward!(MPI_Win_shared_query(win, rank, size, &mut unit, baseptr));
        if code == SUCCESS {
            deliver_unit(unit as u64);
        }
        code
    })
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_get_group(win: MPI_Win, group: *mut MPI_Group) -> c_int {
    let deliver = |window: &Window| {
        let copy = window.team().group().duplicate()?;
        // SAFETY: a valid place, as MPI demands of the application.
        unsafe { *group = copy };
        Ok(())
    };
    serve!(MPI_Win_get_group, win, |window| deliver(window), forward!(MPI_Win_get_group(win, group)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_c2f(win: MPI_Win) -> MPI_Fint {
    match host().entry.MPI_Win_c2f {
        _ if handle::is_ours(win) => handle::to_fortran(win),
        // SAFETY: the application's own handle.
        Some(function) => unsafe { function(win) },
        None => abi::win_to_fortran(win),
    }
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_f2c(win: MPI_Fint) -> MPI_Win {
    match (handle::from_fortran(win), host().entry.MPI_Win_f2c) {
        (Some(own), _) => own,
        // SAFETY: any integer may be asked about.
        (None, Some(function)) => unsafe { function(win) },
        (None, None) => abi::win_from_fortran(win),
    }
}
