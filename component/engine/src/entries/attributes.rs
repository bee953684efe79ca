//! Attributes, keyvals, names and info of windows.

use super::{forward, serve, serve_callbacks};
use crate::guard::guard;
use crate::report;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use transom::base::config;
use transom::base::error::Error;
use transom::host::abi::{KEYVAL_INVALID, MPI_Info, MPI_Win, SUCCESS};
use transom::host::info;
use transom::window::Window;
use transom::window::keyval::{self, Freed, Language};

pub(crate) unsafe extern "C-unwind" fn MPI_Win_create_keyval(
    win_copy_attr_fn: *const c_void,
    win_delete_attr_fn: *const c_void,
    win_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    let code = forward!(MPI_Win_create_keyval(win_copy_attr_fn, win_delete_attr_fn, win_keyval, extra_state));
    if code == SUCCESS {
        // SAFETY: written by the successful call.
        keyval::created(unsafe { *win_keyval }, win_delete_attr_fn, extra_state);
    }
    code
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_free_keyval(win_keyval: *mut c_int) -> c_int {
    // SAFETY: a valid place, as MPI demands of the application.
    match keyval::free(unsafe { *win_keyval }) {
        Freed::ByHost => forward!(MPI_Win_free_keyval(win_keyval)),
        Freed::Unknown if config::get().disable => forward!(MPI_Win_free_keyval(win_keyval)),
        // Not passed on: Open MPI answers with MPI_ERR_OTHER.
        Freed::Unknown => report::on_nothing("MPI_Win_free_keyval", &keyval::unknown()),
        Freed::Later => {
            // SAFETY: as above.
            unsafe { *win_keyval = KEYVAL_INVALID };
            SUCCESS
        }
    }
}

/// Delivers an attribute; the languages differ in what they get of it.
pub(super) fn get(window: &Window, keyval: c_int, reader: Language, deliver: impl FnOnce(Option<isize>)) -> Result<(), Error> {
    deliver(window.attribute(keyval, reader)?);
    Ok(())
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_get_attr(
    win: MPI_Win,
    win_keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let deliver = |value: Option<isize>| {
        // SAFETY: the places for a pointer and a flag that MPI demands of the application.
        unsafe {
            *flag = c_int::from(value.is_some());
            if let Some(value) = value {
                *attribute_val.cast::<isize>() = value;
            }
        }
    };
    serve!(MPI_Win_get_attr, win, |window| get(window, win_keyval, Language::C, deliver), {
        forward!(MPI_Win_get_attr(win, win_keyval, attribute_val, flag))
    })
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_set_attr(win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void) -> c_int {
    serve_callbacks!(
        MPI_Win_set_attr,
        win,
        |window| window.set_attribute(win, win_keyval, attribute_val as isize, Language::C),
        forward!(MPI_Win_set_attr(win, win_keyval, attribute_val))
    )
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_delete_attr(win: MPI_Win, win_keyval: c_int) -> c_int {
    let delete = |window: &Window| match guard(|| window.delete_attribute(win_keyval))? {
        Some(deletion) => deletion.run(win),
        None => Ok(()),
    };
    serve_callbacks!(MPI_Win_delete_attr, win, |window| delete(window), forward!(MPI_Win_delete_attr(win, win_keyval)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_get_name(win: MPI_Win, win_name: *mut c_char, resultlen: *mut c_int) -> c_int {
    let deliver = |window: &Window| {
        let name = window.name();
        // SAFETY: room for MPI_MAX_OBJECT_NAME characters, as MPI demands of the application; a name is shorter.
        unsafe {
            ptr::copy_nonoverlapping(name.as_ptr().cast::<c_char>(), win_name, name.len());
            *win_name.add(name.len()) = 0;
            *resultlen = name.len() as c_int;
        }
        Ok(())
    };
    serve!(MPI_Win_get_name, win, |window| deliver(window), forward!(MPI_Win_get_name(win, win_name, resultlen)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_set_name(win: MPI_Win, win_name: *const c_char) -> c_int {
    let set = |window: &Window| {
        // SAFETY: a C string, as MPI demands of the application.
        window.set_name(unsafe { CStr::from_ptr(win_name) }.to_bytes());
        Ok(())
    };
    serve!(MPI_Win_set_name, win, |window| set(window), forward!(MPI_Win_set_name(win, win_name)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_get_info(win: MPI_Win, info_used: *mut MPI_Info) -> c_int {
    let deliver = |window: &Window| {
        let hints = window.hints().list();
        let info = info::create(hints.iter().map(|(key, value)| (*key, value.as_c_str())))?;
        // SAFETY: a valid place, as MPI demands of the application.
        unsafe { *info_used = info };
        Ok(())
    };
    serve!(MPI_Win_get_info, win, |window| deliver(window), forward!(MPI_Win_get_info(win, info_used)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_set_info(win: MPI_Win, info: MPI_Info) -> c_int {
    let set = |window: &Window| {
        window.update_hints(info);
        Ok(())
    };
    serve!(MPI_Win_set_info, win, |window| set(window), forward!(MPI_Win_set_info(win, info)))
}
