//! Error handlers of windows (MPI-4.1, section 9.3.2). Handles stay the host's; which function stands behind one, how many hold it, and
//! its call are ours.

use crate::base::error::{Class, Error};
use crate::base::threads::lock;
use crate::host::abi::{MPI_Errhandler, MPI_Win, MPI_Win_errhandler_function};
use crate::host::table::host;
use core::ffi::c_int;
use std::sync::{Mutex, MutexGuard};

/// What happens to an error on a window.
pub enum Handler {
    /// `MPI_ERRORS_ARE_FATAL`, the start state, and MPI-4's `MPI_ERRORS_ABORT`.
    Fatal(MPI_Errhandler),
    /// `MPI_ERRORS_RETURN`, and what C++'s bindings throw by.
    Return(MPI_Errhandler),
    /// A function of the application.
    Function(Reference),
}

/// The C type of a window's error handler.
type InC = unsafe extern "C-unwind" fn(*mut MPI_Win, *mut c_int, ...);

/// Open MPI: an error handler written in Fortran gets the window's Fortran handle. (MPICH's handles are the same integers in both.)
#[cfg(transom_ompi)]
pub type InFortran = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int);

/// MPICH's C++ bindings: what calls a function that takes an `MPI::Win &`, with the kind of object, its handle, the error and the function.
#[cfg(transom_mpich)]
pub type CxxProxy = unsafe extern "C-unwind" fn(c_int, *mut c_int, *mut c_int, InC);

/// The kind of object that a window is to that proxy.
#[cfg(transom_mpich)]
const WINDOW_OF_CXX: c_int = 2;

/// A function of the application, by the language that it is written in.
#[derive(Clone, Copy)]
enum Function {
    C(InC),
    #[cfg(transom_ompi)]
    Fortran(InFortran),
    #[cfg(transom_mpich)]
    Cxx(InC, CxxProxy),
}

struct Entry {
    handle: MPI_Errhandler,
    function: Function,
    references: usize,
}

// SAFETY: a handle and a function of the application, which must itself see to it that it may be called from the threads that use the window.
unsafe impl Send for Entry {}

/// Handlers that the application has created and that somebody holds. A handful at most, looked at on errors and when handlers change.
static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

fn entries() -> MutexGuard<'static, Vec<Entry>> {
    lock(&ENTRIES)
}

/// One window's hold on a handler: it stays callable after `MPI_Errhandler_free`, until the last window lets go.
pub struct Reference {
    handle: MPI_Errhandler,
    function: Function,
}

// SAFETY: as for `Entry`.
unsafe impl Send for Reference {}

impl Reference {
    /// Calls the function with a window and an error code, while nothing is held. It may throw or not return. Returns the code for the call that
    /// failed.
    pub fn call(&self, mut win: MPI_Win, code: c_int) -> c_int {
        let mut given = code;
        match self.function {
            // SAFETY: a function that the application gave for this purpose, with the arguments that the standard prescribes.
            Function::C(function) => unsafe { function(&mut win, &mut given) },
            #[cfg(transom_ompi)]
            Function::Fortran(function) => {
                let mut win = super::handle::to_fortran(win);
                // SAFETY: as above.
                unsafe { function(&mut win, &mut given) }
            }
            // The bindings take any other code as not handled yet, and would call the handler once more. So returns MPICH.
            #[cfg(transom_mpich)]
            Function::Cxx(function, proxy) => {
                // SAFETY: as above; the proxy came with the function, and hands it on.
                unsafe { proxy(WINDOW_OF_CXX, (&raw mut win).cast(), &mut given, function) };
                return crate::host::abi::SUCCESS;
            }
        }
        code
    }
}

impl Clone for Reference {
    fn clone(&self) -> Reference {
        add_reference(self.handle);
        Reference { handle: self.handle, function: self.function }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        drop_reference(self.handle);
    }
}

fn add_reference(handle: MPI_Errhandler) -> Option<Function> {
    let mut entries = entries();
    let entry = entries.iter_mut().find(|entry| entry.handle == handle)?;
    entry.references += 1;
    Some(entry.function)
}

/// Whether the handle was one of the application's; the last reference takes the host's handle with it.
fn drop_reference(mut handle: MPI_Errhandler) -> bool {
    {
        let mut entries = entries();
        let Some(position) = entries.iter().position(|entry| entry.handle == handle) else { return false };
        entries[position].references -= 1;
        if entries[position].references > 0 {
            return true;
        }
        entries.swap_remove(position);
    }
    if let Some(free) = host().entry.MPI_Errhandler_free
        && !crate::host::comm::is_finalized()
    {
        // SAFETY: the reference that `created` took over.
        unsafe { free(&mut handle) };
    }
    true
}

impl Clone for Handler {
    fn clone(&self) -> Handler {
        match self {
            Handler::Fatal(handle) => Handler::Fatal(*handle),
            Handler::Return(handle) => Handler::Return(*handle),
            Handler::Function(reference) => Handler::Function(reference.clone()),
        }
    }
}

impl Handler {
    /// What a new window has.
    pub fn initial() -> Handler {
        Handler::Fatal(host().handles.errors_are_fatal)
    }

    /// The handler behind a handle.
    pub fn of(handle: MPI_Errhandler) -> Result<Handler, Error> {
        let handles = &host().handles;
        if handle == handles.errors_return || handle == handles.errors_throw_exceptions {
            return Ok(Handler::Return(handle));
        }
        if handle == handles.errors_are_fatal || handle == handles.errors_abort {
            return Ok(Handler::Fatal(handle));
        }
        match add_reference(handle) {
            Some(function) => Ok(Handler::Function(Reference { handle, function })),
            None => Err(Error::text(Class::Arg, "the error handler is null or was not made by MPI_Win_create_errhandler")),
        }
    }

    /// A handle for the application, which will free it.
    pub fn handle(&self) -> MPI_Errhandler {
        match self {
            Handler::Fatal(handle) | Handler::Return(handle) => *handle,
            Handler::Function(reference) => {
                add_reference(reference.handle);
                reference.handle
            }
        }
    }
}

// SAFETY: handles of the host's predefined objects, and references that are themselves `Send`.
unsafe impl Send for Handler {}

/// `MPI_Win_create_errhandler` has made this handle for this function: the application's reference is counted here from now on.
pub fn created(handle: MPI_Errhandler, function: MPI_Win_errhandler_function) {
    let Some(function) = function else { return };
    // SAFETY: one C function pointer type with two spellings: mpi-sys declares it as "C", which may not be unwound through.
    let function = unsafe { core::mem::transmute::<unsafe extern "C" fn(*mut MPI_Win, *mut c_int, ...), InC>(function) };
    entries().push(Entry { handle, function: Function::C(function), references: 1 });
}

/// As [`created`], by Fortran.
#[cfg(transom_ompi)]
pub fn created_in_fortran(handle: MPI_Errhandler, function: InFortran) {
    entries().push(Entry { handle, function: Function::Fortran(function), references: 1 });
}

/// C++'s bindings have given the proxy through which the function of a handle is to be called. Of handles that [`created`] has not seen, those of
/// communicators and files, nothing is kept.
#[cfg(transom_mpich)]
pub fn set_proxy(handle: MPI_Errhandler, proxy: CxxProxy) {
    if let Some(entry) = entries().iter_mut().find(|entry| entry.handle == handle)
        && let Function::C(function) = entry.function
    {
        entry.function = Function::Cxx(function, proxy);
    }
}

/// The host has given the application one more reference of this handle, from a window of its own. Where the handle is one that [`created`]
/// has seen it is counted here instead, or the free of it would be taken for the free of the first.
pub fn given(mut handle: MPI_Errhandler) {
    if add_reference(handle).is_some()
        && let Some(free) = host().entry.MPI_Errhandler_free
    {
        // SAFETY: the host's reference, for which one of ours stands now.
        unsafe { free(&mut handle) };
    }
}

/// `MPI_Errhandler_free` of a handle that [`created`] has seen, or of a predefined one: drops the application's reference and nulls its
/// handle. `false` for any other.
///
/// A predefined one that [`Handler::handle`] gave carries no reference of the host's. Open MPI counts them even there, and ends the job
/// when too many are given back; one that stays counted too often does no harm.
///
/// # Safety
/// `handle` is a valid place.
pub unsafe fn free(handle: *mut MPI_Errhandler) -> bool {
    let handles = &host().handles;
    // SAFETY: valid, as the caller vouches.
    let freed = unsafe { *handle };
    let predefined =
        [handles.errors_are_fatal, handles.errors_return, handles.errors_abort, handles.errors_throw_exceptions].contains(&freed);
    if !predefined && !drop_reference(freed) {
        return false;
    }
    // SAFETY: as above.
    unsafe { *handle = handles.errhandler_null };
    true
}
