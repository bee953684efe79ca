//! The engine object of the host's family: found beside `libtransom.so`, loaded and started.

use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use std::ffi::CString;
use std::panic::catch_unwind;
use std::sync::OnceLock;

use transom::base::functions::{COUNT, FINGERPRINT};
use transom::base::table::{ENGINE_SYMBOL, Shared, Start, VERSION, refusal};

use crate::host::{self, Host, own_directory};
use crate::slots::Slots;

/// Starts the engine, which fills the slots of `PMPI_X`; or says why the program cannot be served, the slots as they were.
pub(crate) fn start(host: &Host, slots: &'static Slots) -> Result<(), String> {
    let file = host.family()?.engine();
    let directory = own_directory().ok_or("the directory of libtransom.so cannot be told")?;
    let path = [directory.to_bytes(), b"/", file.as_bytes()].concat();
    let path = CString::new(path).map_err(|_| "a path with a zero byte")?;
    // SAFETY: a C string; the object is ours.
    let engine = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if engine.is_null() {
        return Err(loader_error());
    }
    // SAFETY: a live handle and a C string.
    let symbol = unsafe { libc::dlsym(engine, ENGINE_SYMBOL.as_ptr()) };
    if symbol.is_null() {
        return Err(loader_error());
    }
    // SAFETY: the symbol's type is part of its name's promise.
    let start = unsafe { core::mem::transmute::<*mut c_void, Start>(symbol) };

    static SHARED: OnceLock<Shared> = OnceLock::new();
    let shared = SHARED.get_or_init(|| Shared {
        version: VERSION,
        slot_count: COUNT as u32,
        functions: FINGERPRINT,
        slots: slots.profiling().as_ptr(),
        fortran_slots: slots.fortran().as_ptr(),
        past_us,
        host: host.handle,
        host_path: host.path.clone().into_raw(),
    });
    // SAFETY: the table lives as long as the process, and the resolver's lock makes this the only call.
    let code = unsafe { start(shared) };
    let object = path.to_string_lossy();
    match code {
        0 if (0..COUNT).any(|slot| slots.target(slot).is_none()) => Err(format!("{object} left functions unserved")),
        0 => Ok(()),
        refusal::MISMATCH => Err(format!("{object} is of another build than libtransom.so")),
        refusal::HOST => Err(format!("the MPI at {} lacks a function that is needed", host.path.to_string_lossy())),
        refusal::FAILED => Err(format!("{object} failed at its start")),
        code => Err(format!("{object} refused with code {code}")),
    }
}

/// [`host::past_us`], as the engine calls it.
unsafe extern "C" fn past_us(symbol: *const c_char) -> *mut c_void {
    // SAFETY: a C string, as the table demands.
    let symbol = unsafe { CStr::from_ptr(symbol) };
    catch_unwind(|| host::past_us(symbol)).ok().flatten().unwrap_or(ptr::null_mut())
}

fn loader_error() -> String {
    // SAFETY: the text is the loader's until this thread's next call of it.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader gives no reason".into();
    }
    // SAFETY: not null, so a C string.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
