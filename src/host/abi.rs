//! Facts of the ABI family that this object is built for: types and numbers from `mpi-sys`, and the predefined handles, which
//! are numbers in the MPICH family and addresses of the library's data in the Open MPI family.
//!
//! Types and numbers only: a function or a constant such as `RSMPI_COMM_WORLD` would make libmpi a dependency of what is preloaded.

#[cfg(transom_ompi)]
use super::predefined;
#[cfg(transom_ompi)]
use crate::base::element::Category;
use crate::base::error::Class;
#[cfg(transom_ompi)]
use crate::base::op::Op;
use core::ffi::{CStr, c_int, c_void};

pub use mpi_sys::{
    MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Errhandler, MPI_Group, MPI_Info, MPI_Op, MPI_Request, MPI_Status, MPI_Win,
    MPI_Win_errhandler_function,
};

/// `MPI_Fint`: Fortran's default INTEGER, an `int` in every build that is served.
#[allow(non_camel_case_types)]
pub type MPI_Fint = c_int;

/// `MPI_SUCCESS`.
pub const SUCCESS: c_int = mpi_sys::MPI_SUCCESS as c_int;
/// `MPI_PROC_NULL`.
pub const PROC_NULL: c_int = mpi_sys::MPI_PROC_NULL;
/// `MPI_UNDEFINED`.
pub const UNDEFINED: c_int = mpi_sys::MPI_UNDEFINED;
/// `MPI_LOCK_SHARED`.
pub const LOCK_SHARED: c_int = mpi_sys::MPI_LOCK_SHARED as c_int;
/// `MPI_LOCK_EXCLUSIVE`.
pub const LOCK_EXCLUSIVE: c_int = mpi_sys::MPI_LOCK_EXCLUSIVE as c_int;
/// `MPI_MODE_NOCHECK`.
pub const MODE_NOCHECK: c_int = mpi_sys::MPI_MODE_NOCHECK as c_int;
/// `MPI_MODE_NOPRECEDE`.
pub const MODE_NOPRECEDE: c_int = mpi_sys::MPI_MODE_NOPRECEDE as c_int;
/// `MPI_MODE_NOSUCCEED`.
pub const MODE_NOSUCCEED: c_int = mpi_sys::MPI_MODE_NOSUCCEED as c_int;
/// All assertions that a window's synchronisation may carry.
pub const MODES: c_int =
    MODE_NOCHECK | MODE_NOPRECEDE | MODE_NOSUCCEED | mpi_sys::MPI_MODE_NOPUT as c_int | mpi_sys::MPI_MODE_NOSTORE as c_int;
/// `MPI_THREAD_MULTIPLE`.
pub const THREAD_MULTIPLE: c_int = mpi_sys::MPI_THREAD_MULTIPLE as c_int;
/// Bytes that `MPI_Error_string` may write.
pub const MAX_ERROR_STRING: usize = mpi_sys::MPI_MAX_ERROR_STRING as usize;

/// Characters of an info value, without the terminator.
pub const MAX_INFO_VALUE: usize = mpi_sys::MPI_MAX_INFO_VAL as usize;

/// Predefined keyvals, flavours and models of windows.
#[allow(missing_docs)]
pub mod window {
    use core::ffi::c_int;
    pub const BASE: c_int = mpi_sys::MPI_WIN_BASE as c_int;
    pub const SIZE: c_int = mpi_sys::MPI_WIN_SIZE as c_int;
    pub const DISP_UNIT: c_int = mpi_sys::MPI_WIN_DISP_UNIT as c_int;
    pub const CREATE_FLAVOR: c_int = mpi_sys::MPI_WIN_CREATE_FLAVOR as c_int;
    pub const MODEL: c_int = mpi_sys::MPI_WIN_MODEL as c_int;
    // Both families number flavours alike: create, allocate, dynamic, shared.
    pub const FLAVOR_CREATE: c_int = 1;
    pub const FLAVOR_ALLOCATE: c_int = 2;
    pub const FLAVOR_SHARED: c_int = 4;
    #[cfg(transom_mpich)]
    pub const UNIFIED: c_int = 2;
    #[cfg(transom_ompi)]
    pub const UNIFIED: c_int = mpi_sys::MPI_WIN_UNIFIED as c_int;
}

/// `MPI_KEYVAL_INVALID`.
pub const KEYVAL_INVALID: c_int = mpi_sys::MPI_KEYVAL_INVALID as c_int;
/// `MPI_MAX_OBJECT_NAME`: bytes of a name with its terminator.
pub const MAX_OBJECT_NAME: usize = mpi_sys::MPI_MAX_OBJECT_NAME as usize;

/// The keyval that C uses for what a predefined keyval of Fortran means. MPICH numbers those of Fortran behind those of C, since the
/// value is asked for there, not its address.
pub fn keyval_from_fortran(keyval: c_int) -> c_int {
    let of_c = [window::BASE, window::SIZE, window::DISP_UNIT, window::CREATE_FLAVOR, window::MODEL];
    if cfg!(transom_mpich) && of_c.contains(&(keyval - 1)) { keyval - 1 } else { keyval }
}

/// The Fortran handle of a window of the host, where the host has this as a macro only: MPICH's handles are the same integers.
#[cfg(transom_mpich)]
pub fn win_to_fortran(win: MPI_Win) -> MPI_Fint {
    win.0
}

/// The window behind a Fortran handle, likewise.
#[cfg(transom_mpich)]
pub fn win_from_fortran(win: MPI_Fint) -> MPI_Win {
    MPI_Win(win)
}

/// Every Open MPI has the function; no handle is this number.
#[cfg(transom_ompi)]
pub fn win_to_fortran(_: MPI_Win) -> MPI_Fint {
    -1
}

/// Every Open MPI has the function.
#[cfg(transom_ompi)]
pub fn win_from_fortran(_: MPI_Fint) -> MPI_Win {
    MPI_Win(core::ptr::null_mut())
}

/// Combiners of datatypes, and the numbers that describe arrays.
#[allow(missing_docs)]
pub mod combiner {
    use crate::base::element::{Category, Element};
    use core::ffi::c_int;
    macro_rules! numbers {
        ($($name:ident $mpich:ident $ompi:ident;)*) => {
            $(
                #[cfg(transom_mpich)]
                pub const $name: c_int = mpi_sys::$mpich as c_int;
                #[cfg(transom_ompi)]
                pub const $name: c_int = mpi_sys::$ompi as c_int;
            )*
        };
    }
    numbers! {
        NAMED MPIR_Combiner_enum_MPI_COMBINER_NAMED MPI_COMBINER_NAMED;
        DUP MPIR_Combiner_enum_MPI_COMBINER_DUP MPI_COMBINER_DUP;
        CONTIGUOUS MPIR_Combiner_enum_MPI_COMBINER_CONTIGUOUS MPI_COMBINER_CONTIGUOUS;
        VECTOR MPIR_Combiner_enum_MPI_COMBINER_VECTOR MPI_COMBINER_VECTOR;
        HVECTOR MPIR_Combiner_enum_MPI_COMBINER_HVECTOR MPI_COMBINER_HVECTOR;
        INDEXED MPIR_Combiner_enum_MPI_COMBINER_INDEXED MPI_COMBINER_INDEXED;
        HINDEXED MPIR_Combiner_enum_MPI_COMBINER_HINDEXED MPI_COMBINER_HINDEXED;
        INDEXED_BLOCK MPIR_Combiner_enum_MPI_COMBINER_INDEXED_BLOCK MPI_COMBINER_INDEXED_BLOCK;
        HINDEXED_BLOCK MPIR_Combiner_enum_MPI_COMBINER_HINDEXED_BLOCK MPI_COMBINER_HINDEXED_BLOCK;
        STRUCT MPIR_Combiner_enum_MPI_COMBINER_STRUCT MPI_COMBINER_STRUCT;
        SUBARRAY MPIR_Combiner_enum_MPI_COMBINER_SUBARRAY MPI_COMBINER_SUBARRAY;
        DARRAY MPIR_Combiner_enum_MPI_COMBINER_DARRAY MPI_COMBINER_DARRAY;
        RESIZED MPIR_Combiner_enum_MPI_COMBINER_RESIZED MPI_COMBINER_RESIZED;
        F90_REAL MPIR_Combiner_enum_MPI_COMBINER_F90_REAL MPI_COMBINER_F90_REAL;
        F90_COMPLEX MPIR_Combiner_enum_MPI_COMBINER_F90_COMPLEX MPI_COMBINER_F90_COMPLEX;
        F90_INTEGER MPIR_Combiner_enum_MPI_COMBINER_F90_INTEGER MPI_COMBINER_F90_INTEGER;
    }
    pub const ORDER_C: c_int = mpi_sys::MPI_ORDER_C as c_int;
    pub const DISTRIBUTE_BLOCK: c_int = mpi_sys::MPI_DISTRIBUTE_BLOCK as c_int;
    pub const DISTRIBUTE_CYCLIC: c_int = mpi_sys::MPI_DISTRIBUTE_CYCLIC as c_int;
    pub const DISTRIBUTE_DFLT_DARG: c_int = mpi_sys::MPI_DISTRIBUTE_DFLT_DARG;
    /// Of types that are the host's own. Those that Fortran asks for by precision or range have no names.
    pub const PREDEFINED: [c_int; 4] = [NAMED, F90_REAL, F90_COMPLEX, F90_INTEGER];

    /// What those of Fortran's are made of, by their size. Sixteen bytes are `long double`: no host has more than its eighteen digits there.
    pub fn category(combiner: c_int, size: u64) -> Option<Category> {
        match (combiner, size) {
            (F90_REAL, 16) => Some(Category::Only(Element::LongDouble)),
            (F90_REAL, _) => Some(Category::Float),
            (F90_COMPLEX, 32) => Some(Category::Only(Element::ComplexLongDouble)),
            (F90_COMPLEX, _) => Some(Category::Complex),
            (F90_INTEGER, _) => Some(Category::Signed),
            _ => None,
        }
    }
}

/// The family's number of an error class.
pub fn class_number(class: Class) -> c_int {
    let number = match class {
        Class::Arg => mpi_sys::MPI_ERR_ARG,
        Class::Assert => mpi_sys::MPI_ERR_ASSERT,
        Class::Base => mpi_sys::MPI_ERR_BASE,
        Class::Buffer => mpi_sys::MPI_ERR_BUFFER,
        Class::Comm => mpi_sys::MPI_ERR_COMM,
        Class::Count => mpi_sys::MPI_ERR_COUNT,
        Class::Disp => mpi_sys::MPI_ERR_DISP,
        Class::Group => mpi_sys::MPI_ERR_GROUP,
        Class::Intern => mpi_sys::MPI_ERR_INTERN,
        Class::Locktype => mpi_sys::MPI_ERR_LOCKTYPE,
        Class::NoMem => mpi_sys::MPI_ERR_NO_MEM,
        Class::Op => mpi_sys::MPI_ERR_OP,
        Class::Other => mpi_sys::MPI_ERR_OTHER,
        Class::Rank => mpi_sys::MPI_ERR_RANK,
        Class::RmaFlavor => mpi_sys::MPI_ERR_RMA_FLAVOR,
        Class::RmaRange => mpi_sys::MPI_ERR_RMA_RANGE,
        Class::RmaShared => mpi_sys::MPI_ERR_RMA_SHARED,
        Class::RmaSync => mpi_sys::MPI_ERR_RMA_SYNC,
        Class::Size => mpi_sys::MPI_ERR_SIZE,
        Class::Type => mpi_sys::MPI_ERR_TYPE,
        Class::UnsupportedOperation => mpi_sys::MPI_ERR_UNSUPPORTED_OPERATION,
        Class::Win => mpi_sys::MPI_ERR_WIN,
        Class::Keyval => mpi_sys::MPI_ERR_KEYVAL,
    };
    number as c_int
}

/// Predefined handles that Transom needs.
#[allow(missing_docs)]
pub struct Handles {
    pub comm_world: MPI_Comm,
    pub comm_self: MPI_Comm,
    pub comm_null: MPI_Comm,
    pub group_null: MPI_Group,
    pub win_null: MPI_Win,
    pub info_null: MPI_Info,
    pub datatype_null: MPI_Datatype,
    pub byte: MPI_Datatype,
    pub uint64: MPI_Datatype,
    pub sum: MPI_Op,
    pub bor: MPI_Op,
    pub errhandler_null: MPI_Errhandler,
    pub errors_are_fatal: MPI_Errhandler,
    pub errors_return: MPI_Errhandler,
    /// MPI-4; equal to `errors_are_fatal` where the host has none.
    pub errors_abort: MPI_Errhandler,
    /// The C++ bindings throw where this is set; to C it is another `errors_return`, and equal to that where the host has none.
    pub errors_throw_exceptions: MPI_Errhandler,
    /// Every predefined datatype of Open MPI that the host has. MPICH's are known by their numbers.
    #[cfg(transom_ompi)]
    pub datatypes: Vec<(MPI_Datatype, Category)>,
    /// Every predefined operation, likewise.
    #[cfg(transom_ompi)]
    pub ops: Vec<(MPI_Op, Op)>,
}

#[cfg(transom_mpich)]
impl Handles {
    /// The family's numbers, fixed by the MPICH ABI initiative; nothing is looked up.
    pub fn find(_: impl Fn(&'static CStr) -> Option<*mut c_void>) -> Result<Handles, &'static CStr> {
        Ok(Handles {
            comm_world: MPI_Comm(0x4400_0000),
            comm_self: MPI_Comm(0x4400_0001),
            comm_null: MPI_Comm(0x0400_0000),
            group_null: MPI_Group(0x0800_0000),
            win_null: MPI_Win(0x2000_0000),
            info_null: MPI_Info(0x1c00_0000),
            datatype_null: MPI_Datatype(0x0c00_0000),
            byte: MPI_Datatype(0x4c00_010d),
            uint64: MPI_Datatype(0x4c00_083e),
            sum: MPI_Op(0x5800_0003),
            bor: MPI_Op(0x5800_0008),
            errhandler_null: MPI_Errhandler(0x1400_0000),
            errors_are_fatal: MPI_Errhandler(0x5400_0000),
            errors_return: MPI_Errhandler(0x5400_0001),
            errors_abort: MPI_Errhandler(0x5400_0003),
            errors_throw_exceptions: MPI_Errhandler(0x5400_0002),
        })
    }
}

#[cfg(transom_ompi)]
impl Handles {
    /// The addresses of the library's own objects.
    pub fn find(symbol: impl Fn(&'static CStr) -> Option<*mut c_void>) -> Result<Handles, &'static CStr> {
        let need = |name: &'static CStr| symbol(name).ok_or(name);
        let datatype =
            |(_, name, category): &(u32, &'static CStr, Category)| symbol(name).map(|at| (MPI_Datatype(at.cast()), *category));
        let op = |(_, name, op): &(u32, &'static CStr, Op)| symbol(name).map(|at| (MPI_Op(at.cast()), *op));
        let errors_are_fatal = MPI_Errhandler(need(c"ompi_mpi_errors_are_fatal")?.cast());
        let errors_return = MPI_Errhandler(need(c"ompi_mpi_errors_return")?.cast());
        Ok(Handles {
            comm_world: MPI_Comm(need(c"ompi_mpi_comm_world")?.cast()),
            comm_self: MPI_Comm(need(c"ompi_mpi_comm_self")?.cast()),
            comm_null: MPI_Comm(need(c"ompi_mpi_comm_null")?.cast()),
            group_null: MPI_Group(need(c"ompi_mpi_group_null")?.cast()),
            win_null: MPI_Win(need(c"ompi_mpi_win_null")?.cast()),
            info_null: MPI_Info(need(c"ompi_mpi_info_null")?.cast()),
            datatype_null: MPI_Datatype(need(c"ompi_mpi_datatype_null")?.cast()),
            byte: MPI_Datatype(need(c"ompi_mpi_byte")?.cast()),
            uint64: MPI_Datatype(need(c"ompi_mpi_uint64_t")?.cast()),
            sum: MPI_Op(need(c"ompi_mpi_op_sum")?.cast()),
            bor: MPI_Op(need(c"ompi_mpi_op_bor")?.cast()),
            errhandler_null: MPI_Errhandler(need(c"ompi_mpi_errhandler_null")?.cast()),
            errors_are_fatal,
            errors_return,
            errors_abort: symbol(c"ompi_mpi_errors_abort").map_or(errors_are_fatal, |at| MPI_Errhandler(at.cast())),
            errors_throw_exceptions: symbol(c"ompi_mpi_errors_throw_exceptions")
                .map_or(errors_return, |at| MPI_Errhandler(at.cast())),
            datatypes: predefined::DATATYPES.iter().filter_map(datatype).collect(),
            ops: predefined::OPS.iter().filter_map(op).collect(),
        })
    }
}
