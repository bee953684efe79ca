//! Keyvals of windows (MPI-4.1, section 7.7.3). Their numbers are the host's, so that host windows know them too; the callbacks are
//! kept here, each with the language that it was given in.
//!
//! There is no copy callback to keep: nothing duplicates a window.

#[cfg(transom_ompi)]
use super::handle;
use crate::base::error::{Class, Error};
use crate::base::threads::lock;
use crate::host::abi::{MPI_Win, SUCCESS};
use crate::host::table::host;
use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The language that an attribute is set or asked for in. An attribute is a pointer in C and an integer of its size in Fortran: set in C, Fortran
/// gets the address; set in Fortran, C gets a pointer to the integer (MPI-4.1, section 19.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// Fortran.
    Fortran,
}

/// An attribute's value, in a place that does not move while the attribute lives.
#[derive(Clone, Debug)]
pub(super) struct Value {
    bits: Arc<AtomicIsize>,
    writer: Language,
}

impl Value {
    pub(super) fn new(bits: isize, writer: Language) -> Value {
        Value { bits: Arc::new(AtomicIsize::new(bits)), writer }
    }

    /// Is it this one, not just one of the same bits?
    pub(super) fn is(&self, other: &Value) -> bool {
        Arc::ptr_eq(&self.bits, &other.bits)
    }

    /// As a program in this language gets it.
    pub(super) fn read(&self, reader: Language) -> isize {
        match (self.writer, reader) {
            (Language::Fortran, Language::C) => self.bits.as_ptr() as isize,
            _ => self.bits.load(Relaxed),
        }
    }
}

/// A delete callback of C.
type InC = unsafe extern "C-unwind" fn(MPI_Win, c_int, *mut c_void, *mut c_void) -> c_int;

/// MPICH: what a library of another language puts around its delete callbacks. Arguments: the callback, window, keyval, the attribute's
/// kind (see [`kind`]), its value, and the extra state.
#[cfg(transom_mpich)]
pub type DeleteProxy = unsafe extern "C-unwind" fn(*const c_void, MPI_Win, c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// Open MPI: a delete callback of Fortran. Arguments: window, keyval, value, extra state, error code.
#[cfg(transom_ompi)]
type InFortran = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int, *mut isize, *mut isize, *mut c_int);

#[derive(Clone, Copy)]
enum Convention {
    C,
    #[cfg(transom_mpich)]
    Proxy(DeleteProxy, State),
    #[cfg(transom_ompi)]
    Fortran,
}

/// How a library of another language passes the extra state on.
#[cfg(transom_mpich)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As the pointer that it was given.
    Pointer,
    /// As a reference to an integer: Fortran's. The host gives callbacks the very variable that was an argument once.
    Integer,
}

/// MPICH's number for who wrote an attribute.
#[cfg(transom_mpich)]
mod kind {
    use core::ffi::c_int;
    pub(super) const POINTER: c_int = 0;
    pub(super) const ADDRESS_INTEGER: c_int = 1;
}

/// What is called when an attribute goes. Null: nothing is.
#[derive(Clone)]
struct Delete {
    function: *const c_void,
    /// C: a pointer. Fortran: the state itself, which the callback gets by reference.
    extra_state: Arc<AtomicIsize>,
    convention: Convention,
}

// SAFETY: a function of the application, which must itself see to it that it may be called from the threads that use the window.
unsafe impl Send for Delete {}

impl Delete {
    /// The callback's error code.
    fn call(&self, win: MPI_Win, keyval: c_int, value: &Value) -> c_int {
        if self.function.is_null() {
            return SUCCESS;
        }
        match self.convention {
            Convention::C => {
                let extra_state = self.extra_state.load(Relaxed) as *mut c_void;
                // SAFETY: the application gave it as such a function, for this purpose.
                unsafe {
                    transmute::<*const c_void, InC>(self.function)(
                        win,
                        keyval,
                        value.read(Language::C) as *mut c_void,
                        extra_state,
                    )
                }
            }
            #[cfg(transom_mpich)]
            Convention::Proxy(proxy, state) => {
                let extra_state = match state {
                    State::Pointer => self.extra_state.load(Relaxed) as *mut c_void,
                    State::Integer => self.extra_state.as_ptr().cast(),
                };
                let kind = if value.writer == Language::C { kind::POINTER } else { kind::ADDRESS_INTEGER };
                // SAFETY: the language's library gave the proxy for callbacks of this keyval.
                unsafe { proxy(self.function, win, keyval, kind, value.read(Language::Fortran) as *mut c_void, extra_state) }
            }
            #[cfg(transom_ompi)]
            Convention::Fortran => {
                let (mut win, mut keyval, mut value, mut code) =
                    (handle::to_fortran(win), keyval, value.read(Language::Fortran), SUCCESS);
                let function = self.function;
                // SAFETY: the application gave it as such a function, for this purpose; every argument outlives the call.
                unsafe {
                    transmute::<*const c_void, InFortran>(function)(
                        &mut win,
                        &mut keyval,
                        &mut value,
                        self.extra_state.as_ptr(),
                        &mut code,
                    );
                }
                code
            }
        }
    }
}

struct Entry {
    delete: Delete,
    /// Attributes on windows of ours.
    attributes: usize,
    /// The application has freed it; it is the host's to free when the last attribute goes.
    freed: bool,
}

static ENTRIES: Mutex<BTreeMap<c_int, Entry>> = Mutex::new(BTreeMap::new());

fn entries() -> MutexGuard<'static, BTreeMap<c_int, Entry>> {
    lock(&ENTRIES)
}

fn insert(keyval: c_int, delete: Delete) {
    entries().insert(keyval, Entry { delete, attributes: 0, freed: false });
}

/// `MPI_Win_create_keyval` has made this keyval, with a delete callback of C's kind and the extra state.
pub fn created(keyval: c_int, delete: *const c_void, extra_state: *mut c_void) {
    let extra_state = Arc::new(AtomicIsize::new(extra_state as isize));
    insert(keyval, Delete { function: delete, extra_state, convention: Convention::C });
}

/// MPICH: the callbacks that this keyval was just made with are of another language.
///
/// # Safety
/// With [`State::Integer`], the extra state that the keyval was made with is the address of an integer.
#[cfg(transom_mpich)]
pub unsafe fn set_proxy(keyval: c_int, proxy: DeleteProxy, state: State) {
    if let Some(entry) = entries().get_mut(&keyval) {
        entry.delete.convention = Convention::Proxy(proxy, state);
        if state == State::Integer {
            let variable = entry.delete.extra_state.load(Relaxed) as *const isize;
            // SAFETY: the caller vouches for it.
            entry.delete.extra_state.store(unsafe { *variable }, Relaxed);
        }
    }
}

/// Open MPI: Fortran has made this keyval.
#[cfg(transom_ompi)]
pub fn created_in_fortran(keyval: c_int, delete: *const c_void, extra_state: isize) {
    let extra_state = Arc::new(AtomicIsize::new(extra_state));
    insert(keyval, Delete { function: delete, extra_state, convention: Convention::Fortran });
}

/// What `MPI_Win_free_keyval` has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// It is no keyval of windows, or freed already.
    Unknown,
    /// The host is to free it.
    ByHost,
    /// Attributes have it still: it is freed with the last of them, so that its number means nothing else meanwhile.
    Later,
}

/// The application frees a keyval. It may do so more than once while attributes have it, as under MPICH: a callback that frees its own
/// keyval does.
pub fn free(keyval: c_int) -> Freed {
    let mut entries = entries();
    match entries.get_mut(&keyval) {
        Some(entry) if entry.attributes > 0 => {
            entry.freed = true;
            Freed::Later
        }
        Some(_) => {
            entries.remove(&keyval);
            Freed::ByHost
        }
        None => Freed::Unknown,
    }
}

/// The error of a number that is no keyval.
pub fn unknown() -> Error {
    Error::text(Class::Keyval, "the keyval was not made by MPI_Win_create_keyval, or is freed")
}

/// May attributes be looked for under this number?
pub(super) fn is_known(keyval: c_int) -> bool {
    entries().contains_key(&keyval)
}

/// One more attribute; `false` where the number is no keyval of windows.
pub(super) fn hold(keyval: c_int) -> bool {
    match entries().get_mut(&keyval) {
        Some(entry) => {
            entry.attributes += 1;
            true
        }
        None => false,
    }
}

/// One attribute less.
pub(super) fn release(keyval: c_int) {
    {
        let mut entries = entries();
        let Some(entry) = entries.get_mut(&keyval) else { return };
        entry.attributes -= 1;
        if entry.attributes > 0 || !entry.freed {
            return;
        }
        entries.remove(&keyval);
    }
    if let Some(free) = host().entry.MPI_Win_free_keyval {
        let mut number = keyval;
        // SAFETY: the application's own, whose free was put off until now.
        unsafe { free(&raw mut number) };
    }
}

/// Calls the delete callback of an attribute that is held; nothing is locked meanwhile.
pub(super) fn call_delete(win: MPI_Win, keyval: c_int, value: &Value) -> c_int {
    let delete = entries().get(&keyval).map(|entry| entry.delete.clone());
    delete.map_or(SUCCESS, |delete| delete.call(win, keyval, value))
}
