//! The host's functions, looked up once with `dlsym` under their profiling names. Nothing of Transom ever calls an exported MPI name.

use super::abi::*;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute_copy;
use std::sync::OnceLock;

/// What a function of the list returns: `c_int` unless the list says otherwise.
macro_rules! result {
    () => {
        c_int
    };
    ($result:ty) => {
        $result
    };
}

macro_rules! intercepted {
    ($($name:ident $profiling:ident ($($argument:ident : $type:ty),*) $(-> $result:ty)?;)*) => {
        /// The host's own versions of what is intercepted; `None` where this host lacks one.
        #[allow(non_snake_case, missing_docs)]
        pub struct Intercepted { $(pub $name: Option<unsafe extern "C-unwind" fn($($type),*) -> result!($($result)?)>,)* }

        impl Intercepted {
            fn find(library: *mut c_void) -> Intercepted {
                Intercepted { $($name: {
                    const NAME: &CStr = crate::base::functions::NAMES[crate::base::functions::Index::$name as usize].1;
                    // SAFETY: the type is the one that mpi.h gives the function of this name.
                    unsafe { find(library, NAME) }
                },)* }
            }
        }
    };
}
crate::mpi_functions!(intercepted);

macro_rules! used {
    ($($name:ident ($($type:ty),*);)*) => {
        /// What Transom itself asks of the host. A host without one of these cannot be served.
        #[allow(non_snake_case, missing_docs)]
        pub struct Used { $(pub $name: unsafe extern "C-unwind" fn($($type),*) -> c_int,)* }

        impl Used {
            pub(super) fn find(library: *mut c_void) -> Result<Used, &'static CStr> {
                $(
                    const $name: &CStr = {
                        match CStr::from_bytes_with_nul(concat!("P", stringify!($name), "\0").as_bytes()) {
                            Ok(name) => name,
                            Err(_) => unreachable!(),
                        }
                    };
                )*
                Ok(Used { $($name: {
                    // SAFETY: the type is the one that mpi.h gives the function of this name.
                    unsafe { find(library, $name) }.ok_or($name)?
                },)* })
            }
        }
    };
}

/// What Transom asks of hosts of MPI-4: types made with large counts are only described by these.
#[allow(non_snake_case, missing_docs)]
#[derive(Clone, Copy)]
pub struct LargeCounts {
    pub MPI_Type_get_envelope_c: unsafe extern "C-unwind" fn(
        MPI_Datatype,
        *mut MPI_Count,
        *mut MPI_Count,
        *mut MPI_Count,
        *mut MPI_Count,
        *mut c_int,
    ) -> c_int,
    pub MPI_Type_get_contents_c: unsafe extern "C-unwind" fn(
        MPI_Datatype,
        MPI_Count,
        MPI_Count,
        MPI_Count,
        MPI_Count,
        *mut c_int,
        *mut MPI_Aint,
        *mut MPI_Count,
        *mut MPI_Datatype,
    ) -> c_int,
}

impl LargeCounts {
    fn find(library: *mut c_void) -> Option<LargeCounts> {
        // SAFETY: the types are those that mpi.h gives the functions of these names.
        unsafe {
            Some(LargeCounts {
                MPI_Type_get_envelope_c: find(library, c"PMPI_Type_get_envelope_c")?,
                MPI_Type_get_contents_c: find(library, c"PMPI_Type_get_contents_c")?,
            })
        }
    }
}

#[allow(non_upper_case_globals)]
mod used {
    use super::*;
    used! {
        MPI_Abort(MPI_Comm, c_int);
        MPI_Allgather(*const c_void, c_int, MPI_Datatype, *mut c_void, c_int, MPI_Datatype, MPI_Comm);
        MPI_Comm_call_errhandler(MPI_Comm, c_int);
        MPI_Comm_create(MPI_Comm, MPI_Group, *mut MPI_Comm);
        MPI_Comm_create_keyval(Option<CopyAttribute<MPI_Comm>>, Option<DeleteAttribute<MPI_Comm>>, *mut c_int, *mut c_void);
        MPI_Comm_free(*mut MPI_Comm);
        MPI_Comm_get_attr(MPI_Comm, c_int, *mut c_void, *mut c_int);
        MPI_Comm_get_errhandler(MPI_Comm, *mut MPI_Errhandler);
        MPI_Comm_group(MPI_Comm, *mut MPI_Group);
        MPI_Comm_rank(MPI_Comm, *mut c_int);
        MPI_Comm_set_attr(MPI_Comm, c_int, *mut c_void);
        MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler);
        MPI_Comm_size(MPI_Comm, *mut c_int);
        MPI_Comm_test_inter(MPI_Comm, *mut c_int);
        MPI_Finalized(*mut c_int);
        MPI_Grequest_complete(MPI_Request);
        MPI_Grequest_start(Option<QueryRequest>, Option<FreeRequest>, Option<CancelRequest>, *mut c_void, *mut MPI_Request);
        MPI_Group_excl(MPI_Group, c_int, *const c_int, *mut MPI_Group);
        MPI_Group_free(*mut MPI_Group);
        MPI_Group_size(MPI_Group, *mut c_int);
        MPI_Group_translate_ranks(MPI_Group, c_int, *const c_int, MPI_Group, *mut c_int);
        MPI_Info_create(*mut MPI_Info);
        MPI_Info_free(*mut MPI_Info);
        MPI_Info_get(MPI_Info, *const c_char, c_int, *mut c_char, *mut c_int);
        MPI_Info_set(MPI_Info, *const c_char, *const c_char);
        MPI_Irecv(*mut c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm, *mut MPI_Request);
        MPI_Ireduce(*const c_void, *mut c_void, c_int, MPI_Datatype, MPI_Op, c_int, MPI_Comm, *mut MPI_Request);
        MPI_Query_thread(*mut c_int);
        MPI_Request_get_status(MPI_Request, *mut c_int, *mut MPI_Status);
        MPI_Test(*mut MPI_Request, *mut c_int, *mut MPI_Status);
        MPI_Type_create_keyval(Option<CopyAttribute<MPI_Datatype>>, Option<DeleteAttribute<MPI_Datatype>>, *mut c_int, *mut c_void);
        MPI_Type_free(*mut MPI_Datatype);
        MPI_Type_get_attr(MPI_Datatype, c_int, *mut c_void, *mut c_int);
        MPI_Type_get_contents(MPI_Datatype, c_int, c_int, c_int, *mut c_int, *mut MPI_Aint, *mut MPI_Datatype);
        MPI_Type_get_envelope(MPI_Datatype, *mut c_int, *mut c_int, *mut c_int, *mut c_int);
        MPI_Type_get_extent(MPI_Datatype, *mut MPI_Aint, *mut MPI_Aint);
        MPI_Type_set_attr(MPI_Datatype, c_int, *mut c_void);
        MPI_Type_size(MPI_Datatype, *mut c_int);
    }
}
pub use used::Used;

/// Copy callback of an object's attribute.
pub type CopyAttribute<O> = unsafe extern "C-unwind" fn(O, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// Delete callback of an object's attribute.
pub type DeleteAttribute<O> = unsafe extern "C-unwind" fn(O, c_int, *mut c_void, *mut c_void) -> c_int;

/// What a generalized request is asked for when it completes.
pub type QueryRequest = unsafe extern "C-unwind" fn(*mut c_void, *mut MPI_Status) -> c_int;
/// End of a generalized request.
pub type FreeRequest = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
/// Cancellation of a generalized request.
pub type CancelRequest = unsafe extern "C-unwind" fn(*mut c_void, c_int) -> c_int;

/// The host MPI of this process.
pub struct Host {
    /// What is intercepted.
    pub entry: Intercepted,
    /// What Transom uses.
    pub call: Used,
    /// `None` where the host has no large counts.
    pub large_counts: Option<LargeCounts>,
    /// Predefined handles.
    pub handles: Handles,
    past_us: PastUs,
}

/// Looks a symbol up past what is preloaded ([`crate::base::table::Shared::past_us`]).
pub type PastUs = unsafe extern "C" fn(*const c_char) -> *mut c_void;

impl Host {
    /// What a symbol means without Transom. For entries of the host's Fortran libraries, which may be loaded later than the host.
    pub fn past_us(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: a C string; `load`'s caller vouches for the function.
        let found = unsafe { (self.past_us)(name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

// SAFETY: function addresses and handles of predefined objects, constant for the life of the process.
unsafe impl Sync for Host {}
// SAFETY: as for `Sync`.
unsafe impl Send for Host {}

static HOST: OnceLock<Host> = OnceLock::new();

/// Looks up everything in the host's library; the missing name where the host cannot be served.
///
/// # Safety
/// `library` is a live handle of the loader's, and `past_us` may be called with any C string.
pub unsafe fn load(library: *mut c_void, past_us: PastUs) -> Result<(), &'static CStr> {
    let host = Host {
        entry: Intercepted::find(library),
        call: Used::find(library)?,
        large_counts: LargeCounts::find(library),
        handles: Handles::find(|name| datum(library, name))?,
        past_us,
    };
    let _ = HOST.set(host);
    Ok(())
}

/// The host. Only called behind an entry, hence after [`load`].
#[inline]
pub fn host() -> &'static Host {
    HOST.get().expect("the engine starts by loading the host's table")
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle is one of the loader's, the name a C string.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// A datum of the host. An executable that names one has a copy relocation for it: the copy in the executable is then the datum, for the
/// library too, and what the library's own handle finds is never used. So the global scope comes first, as it does for the loader; only a
/// host that was loaded `RTLD_LOCAL` (Python) is not in it.
fn datum(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    symbol(libc::RTLD_DEFAULT, name).or_else(|| symbol(library, name))
}

/// # Safety
/// `F` is the function type of what the host defines under `name`.
unsafe fn find<F: Copy>(library: *mut c_void, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the sizes agree, and the caller vouches for the type.
    symbol(library, name).map(|address| unsafe { transmute_copy(&address) })
}
