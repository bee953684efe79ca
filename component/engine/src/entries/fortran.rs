//! Entries of [`transom::base::fortran`]: where Fortran reaches a window past every C name.

use super::attributes::get;
use super::{serve, serve_callbacks};
use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use transom::base::fortran::Entry;
use transom::host::abi;
use transom::host::table::host;
use transom::window::keyval::{self, Language};

pub(crate) use family::entry;

/// Calls the host's own function of this name.
macro_rules! original {
    ($name:ident ($($argument:expr => $type:ty),* $(,)?) $(-> $result:ty)?, otherwise $missing:expr) => {{
        const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => unreachable!(),
        };
        match host().past_us(NAME) {
            // SAFETY: the host's prototype of the function, and the caller's own arguments.
            Some(function) => unsafe {
                transmute::<*mut c_void, unsafe extern "C-unwind" fn($($type),*) $(-> $result)?>(function)($($argument),*)
            },
            None => $missing,
        }
    }};
}

/// C functions that MPICH's Fortran library calls, where C says nothing of the language.
#[cfg(transom_mpich)]
mod family {
    use super::*;
    use transom::host::abi::{MPI_Errhandler, MPI_Win};
    use transom::window::errhandler;
    use transom::window::keyval::{DeleteProxy, State};

    /// `MPIR_ATTR_PTR`: C sets or asks. Anything else is an integer of Fortran's.
    const POINTER: c_int = 0;

    pub(crate) fn entry(entry: Entry) -> Option<*mut c_void> {
        Some(match entry {
            Entry::MPII_Win_get_attr => MPII_Win_get_attr as *const () as *mut c_void,
            Entry::MPII_Win_set_attr => MPII_Win_set_attr as *const () as *mut c_void,
            Entry::MPII_Keyval_set_proxy => MPII_Keyval_set_proxy as *const () as *mut c_void,
            Entry::MPII_Errhandler_set_cxx => MPII_Errhandler_set_cxx as *const () as *mut c_void,
            _ => return None,
        })
    }

    fn language(kind: c_int) -> Language {
        if kind == POINTER { Language::C } else { Language::Fortran }
    }

    unsafe extern "C-unwind" fn MPII_Win_get_attr(
        win: MPI_Win,
        keyval: c_int,
        value: *mut c_void,
        flag: *mut c_int,
        kind: c_int,
    ) -> c_int {
        let (reader, number) = match language(kind) {
            Language::C => (Language::C, keyval),
            Language::Fortran => (Language::Fortran, abi::keyval_from_fortran(keyval)),
        };
        let deliver = |found: Option<isize>| {
            // SAFETY: the places for an address or an integer of its size, and for a flag.
            unsafe {
                *flag = c_int::from(found.is_some());
                if let Some(found) = found {
                    *value.cast::<isize>() = found;
                }
            }
        };
        serve!(MPI_Win_get_attr, win, |window| get(window, number, reader, deliver), {
            original!(MPII_Win_get_attr(
                win => MPI_Win, keyval => c_int, value => *mut c_void, flag => *mut c_int, kind => c_int
            ) -> c_int, otherwise super::super::missing("MPII_Win_get_attr"))
        })
    }

    unsafe extern "C-unwind" fn MPII_Win_set_attr(win: MPI_Win, keyval: c_int, value: *mut c_void, kind: c_int) -> c_int {
        let writer = language(kind);
        let number = if writer == Language::Fortran { abi::keyval_from_fortran(keyval) } else { keyval };
        serve_callbacks!(MPI_Win_set_attr, win, |window| window.set_attribute(win, number, value as isize, writer), {
            original!(MPII_Win_set_attr(
                win => MPI_Win, keyval => c_int, value => *mut c_void, kind => c_int
            ) -> c_int, otherwise super::super::missing("MPII_Win_set_attr"))
        })
    }

    /// What the extra state is to a proxy: C++'s library has one too.
    fn state(proxy: DeleteProxy) -> State {
        let base = |address: *const c_void| {
            // SAFETY: zero is a value of all fields, and `dladdr` takes any address.
            let mut found: libc::Dl_info = unsafe { core::mem::zeroed() };
            // SAFETY: the same.
            (unsafe { libc::dladdr(address, &mut found) } != 0).then_some(found)
        };
        let Some(library) = base(proxy as *const c_void) else { return State::Pointer };
        // SAFETY: the name of a loaded object; it stays loaded, as its proxy does.
        let entry = unsafe {
            let handle = libc::dlopen(library.dli_fname, libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            if handle.is_null() { core::ptr::null_mut() } else { libc::dlsym(handle, c"mpi_win_create_keyval_".as_ptr()) }
        };
        match base(entry) {
            Some(found) if !entry.is_null() && found.dli_fbase == library.dli_fbase => State::Integer,
            _ => State::Pointer,
        }
    }

    /// Comes right after `MPI_Win_create_keyval` was given callbacks as if they were C's. The same call is made for keyvals of communicators
    /// and datatypes, of which nothing is known here.
    unsafe extern "C-unwind" fn MPII_Keyval_set_proxy(keyval: c_int, copy: *const c_void, delete: Option<DeleteProxy>) {
        if let Some(delete) = delete {
            // SAFETY: the Fortran library has passed on an argument of the application, an integer by reference.
            unsafe { keyval::set_proxy(keyval, delete, state(delete)) };
        }
        original!(MPII_Keyval_set_proxy(
            keyval => c_int, copy => *const c_void, delete => Option<DeleteProxy>
        ), otherwise ());
    }

    /// Comes right after `MPI_Win_create_errhandler` was given a function of C++'s as if it were one of C's. The same call is made for error
    /// handlers of communicators and files, of which nothing is known here.
    unsafe extern "C-unwind" fn MPII_Errhandler_set_cxx(errhandler: MPI_Errhandler, proxy: Option<errhandler::CxxProxy>) {
        if let Some(proxy) = proxy {
            errhandler::set_proxy(errhandler, proxy);
        }
        original!(MPII_Errhandler_set_cxx(
            errhandler => MPI_Errhandler, proxy => Option<errhandler::CxxProxy>
        ), otherwise ());
    }
}

/// Fortran entries of Open MPI, which do their work without calling C. Every argument is a reference; the error code may be left out.
#[cfg(transom_ompi)]
mod family {
    use super::*;
    use transom::host::abi::{MPI_Aint, MPI_Fint, SUCCESS};
    use transom::host::fortran;
    use transom::window::{errhandler, handle};

    pub(crate) fn entry(entry: Entry) -> Option<*mut c_void> {
        Some(match entry {
            Entry::ompi_win_get_attr_f => ompi_win_get_attr_f as *const () as *mut c_void,
            Entry::ompi_win_set_attr_f => ompi_win_set_attr_f as *const () as *mut c_void,
            Entry::ompi_win_create_keyval_f => ompi_win_create_keyval_f as *const () as *mut c_void,
            Entry::ompi_win_create_errhandler_f => ompi_win_create_errhandler_f as *const () as *mut c_void,
            _ => return None,
        })
    }

    /// Hands the error code over where it is wanted.
    fn answer(ierr: *mut MPI_Fint, code: c_int) {
        if !ierr.is_null() {
            // SAFETY: a valid place, as MPI demands of the application.
            unsafe { *ierr = code };
        }
    }

    unsafe extern "C-unwind" fn ompi_win_get_attr_f(
        win: *mut MPI_Fint,
        keyval: *mut c_int,
        value: *mut MPI_Aint,
        flag: *mut MPI_Fint,
        ierr: *mut MPI_Fint,
    ) {
        // SAFETY: valid references, as Fortran passes them.
        let (number, keyval_number) = unsafe { (*win, abi::keyval_from_fortran(*keyval)) };
        let Some(own) = handle::from_fortran(number) else {
            return original!(ompi_win_get_attr_f(
                win => *mut MPI_Fint, keyval => *mut c_int, value => *mut MPI_Aint, flag => *mut MPI_Fint, ierr => *mut MPI_Fint
            ), otherwise answer(ierr, super::super::missing("MPI_Win_get_attr")));
        };
        let deliver = |found: Option<isize>| {
            // SAFETY: as above.
            unsafe {
                *flag = if found.is_some() { fortran::true_value() } else { 0 };
                if let Some(found) = found {
                    *value = found;
                }
            }
        };
        let get = |window| get(window, keyval_number, Language::Fortran, deliver);
        answer(ierr, serve!(MPI_Win_get_attr, own, |window| get(window), unreachable!("a handle of ours is served or stale")));
    }

    unsafe extern "C-unwind" fn ompi_win_set_attr_f(
        win: *mut MPI_Fint,
        keyval: *mut c_int,
        value: *mut MPI_Aint,
        ierr: *mut MPI_Fint,
    ) {
        // SAFETY: valid references, as Fortran passes them.
        let (number, keyval_number, bits) = unsafe { (*win, *keyval, *value) };
        let Some(own) = handle::from_fortran(number) else {
            return original!(ompi_win_set_attr_f(
                win => *mut MPI_Fint, keyval => *mut c_int, value => *mut MPI_Aint, ierr => *mut MPI_Fint
            ), otherwise answer(ierr, super::super::missing("MPI_Win_set_attr")));
        };
        let code = serve_callbacks!(
            MPI_Win_set_attr,
            own,
            |window| window.set_attribute(own, keyval_number, bits, Language::Fortran),
            unreachable!("a handle of ours is served or stale")
        );
        answer(ierr, code);
    }

    unsafe extern "C-unwind" fn ompi_win_create_keyval_f(
        copy: *const c_void,
        delete: *const c_void,
        keyval: *mut c_int,
        extra_state: *mut MPI_Aint,
        ierr: *mut MPI_Fint,
    ) {
        let mut code = SUCCESS;
        original!(ompi_win_create_keyval_f(
            copy => *const c_void, delete => *const c_void, keyval => *mut c_int, extra_state => *mut MPI_Aint,
            &mut code => *mut MPI_Fint
        ), otherwise code = super::super::missing("MPI_Win_create_keyval"));
        if code == SUCCESS {
            // SAFETY: written by the successful call; valid references, as Fortran passes them.
            unsafe { keyval::created_in_fortran(*keyval, delete, *extra_state) };
        }
        answer(ierr, code);
    }

    unsafe extern "C-unwind" fn ompi_win_create_errhandler_f(
        function: Option<errhandler::InFortran>,
        errhandler: *mut MPI_Fint,
        ierr: *mut MPI_Fint,
    ) {
        let mut code = SUCCESS;
        original!(ompi_win_create_errhandler_f(
            function => Option<errhandler::InFortran>, errhandler => *mut MPI_Fint, &mut code => *mut MPI_Fint
        ), otherwise code = super::super::missing("MPI_Win_create_errhandler"));
        // SAFETY: written by the successful call.
        let made = (code == SUCCESS).then(|| fortran::errhandler_from(unsafe { *errhandler })).flatten();
        if let (Some(handle), Some(function)) = (made, function) {
            errhandler::created_in_fortran(handle, function);
        }
        answer(ierr, code);
    }
}
