//! Attributes, names and info of windows. The predefined attributes are answered; the rest is the next issue's.

use super::{forward, serve};
use core::ffi::{c_char, c_int, c_void};
use transom::base::error::{Class, Error};
use transom::host::abi::{MPI_Info, MPI_Win};

pub(crate) unsafe extern "C-unwind" fn MPI_Win_get_attr(
    win: MPI_Win,
    win_keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let deliver = |window: &transom::window::Window| {
        let value =
            window.predefined_attribute(win_keyval).ok_or(Error::not_supported("attributes with keyvals of the program"))?;
        // SAFETY: the places for a pointer and a flag that MPI demands of the application.
        unsafe {
            *attribute_val.cast::<*mut c_void>() = value;
            *flag = 1;
        }
        Ok(())
    };
    serve!(MPI_Win_get_attr, win, |window| deliver(window), forward!(MPI_Win_get_attr(win, win_keyval, attribute_val, flag)))
}

/// What setting or deleting an attribute comes to: a predefined one is fixed.
fn refuse(window: &transom::window::Window, keyval: c_int) -> Result<(), Error> {
    Err(match window.predefined_attribute(keyval) {
        Some(_) => Error::text(Class::Keyval, "a predefined attribute of a window cannot be changed"),
        None => Error::not_supported("attributes with keyvals of the program"),
    })
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_set_attr(win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void) -> c_int {
    serve!(MPI_Win_set_attr, win, |window| refuse(window, win_keyval), forward!(MPI_Win_set_attr(win, win_keyval, attribute_val)))
}

pub(crate) unsafe extern "C-unwind" fn MPI_Win_delete_attr(win: MPI_Win, win_keyval: c_int) -> c_int {
    serve!(MPI_Win_delete_attr, win, |window| refuse(window, win_keyval), forward!(MPI_Win_delete_attr(win, win_keyval)))
}

macro_rules! not_supported {
    ($($name:ident ($win:ident $(, $argument:ident : $type:ty)*);)*) => {
        $(pub(crate) unsafe extern "C-unwind" fn $name($win: MPI_Win $(, $argument: $type)*) -> c_int {
            serve!($name, $win, |_window| Err(Error::not_supported(stringify!($name))), forward!($name($win $(, $argument)*)))
        })*
    };
}

not_supported! {
    MPI_Win_get_name(win, win_name: *mut c_char, resultlen: *mut c_int);
    MPI_Win_set_name(win, win_name: *const c_char);
    MPI_Win_get_info(win, info_used: *mut MPI_Info);
    MPI_Win_set_info(win, info: MPI_Info);
}
