//! The C tables through which objects that are built separately meet. Each object has statics of its own, so whatever they share lies
//! in `libtransom.so` behind [`Shared`], and an engine object is entered through the one symbol [`ENGINE_SYMBOL`].
//!
//! Both sides check `version` and `functions` before anything else: objects of different builds refuse each other.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::AtomicPtr;

/// Raised whenever the layout or the meaning of a table here changes.
pub const VERSION: u32 = 2;

/// What an engine object exports: a function of type [`Start`].
pub const ENGINE_SYMBOL: &CStr = c"transom_engine_start";

/// Given by `libtransom.so` to the engine at the first MPI call.
#[repr(C)]
pub struct Shared {
    /// [`VERSION`] of the object that made this table.
    pub version: u32,
    /// Number of entries behind `slots`: `functions::COUNT`.
    pub slot_count: u32,
    /// `functions::FINGERPRINT` of the list that `slots` was made from.
    pub functions: u64,
    /// What the trampolines of `PMPI_X` jump to, in the order of the list, and those of `MPI_X` unless a profiling tool that is linked into the
    /// program stands between. The engine stores its own entries here (`Release`), inside [`Start`] only: what it stored later would not
    /// reach `MPI_X`.
    pub slots: *const AtomicPtr<c_void>,
    /// The slots of Fortran's symbols (`fortran::SYMBOLS`), of which an engine fills those that its family has.
    pub fortran_slots: *const AtomicPtr<c_void>,
    /// What a symbol would mean without `libtransom.so`; null where no loaded object has it (yet). Given a C string.
    pub past_us: unsafe extern "C" fn(symbol: *const c_char) -> *mut c_void,
    /// `dlopen` handle of the host MPI's library (or of the object that defines `PMPI_Init`), for `dlsym`.
    pub host: *mut c_void,
    /// Path of the host's object, for messages; never null.
    pub host_path: *const c_char,
}

// SAFETY: all fields are written once, before the table is handed out; `slots` points at atomics, `host` is an opaque handle that the
// loader serves from any thread.
unsafe impl Sync for Shared {}
// SAFETY: as for `Sync`.
unsafe impl Send for Shared {}

/// Type of the function behind [`ENGINE_SYMBOL`]: checks the table, fills all slots, returns 0; anything else (one of [`refusal`])
/// leaves the slots untouched. Called once per process, under the resolver's lock, before any intercepted call goes on.
pub type Start = unsafe extern "C" fn(shared: *const Shared) -> c_int;

/// Why an engine did not start.
pub mod refusal {
    use core::ffi::c_int;

    /// The table's version or the list's fingerprint is another one.
    pub const MISMATCH: c_int = 1;
    /// The host lacks a function that the engine cannot do without.
    pub const HOST: c_int = 2;
    /// The engine failed at start (a panic that was caught, no address space).
    pub const FAILED: c_int = 3;
}
