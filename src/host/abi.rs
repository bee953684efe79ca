//! Facts of the ABI family that this object is built for: types and numbers from `mpi-sys`, and the predefined handles, which
//! are numbers in the MPICH family and addresses of the library's data in the Open MPI family.
//!
//! Types and numbers only: a function or a constant such as `RSMPI_COMM_WORLD` would make libmpi a dependency of what is preloaded.

use crate::base::error::Class;
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

/// Combiners of datatypes that are served.
#[allow(missing_docs)]
pub mod combiner {
    use core::ffi::c_int;
    #[cfg(transom_mpich)]
    pub const NAMED: c_int = mpi_sys::MPIR_Combiner_enum_MPI_COMBINER_NAMED as c_int;
    #[cfg(transom_mpich)]
    pub const DUP: c_int = mpi_sys::MPIR_Combiner_enum_MPI_COMBINER_DUP as c_int;
    #[cfg(transom_mpich)]
    pub const CONTIGUOUS: c_int = mpi_sys::MPIR_Combiner_enum_MPI_COMBINER_CONTIGUOUS as c_int;
    #[cfg(transom_ompi)]
    pub const NAMED: c_int = mpi_sys::MPI_COMBINER_NAMED as c_int;
    #[cfg(transom_ompi)]
    pub const DUP: c_int = mpi_sys::MPI_COMBINER_DUP as c_int;
    #[cfg(transom_ompi)]
    pub const CONTIGUOUS: c_int = mpi_sys::MPI_COMBINER_CONTIGUOUS as c_int;
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
        Class::Intern => mpi_sys::MPI_ERR_INTERN,
        Class::Locktype => mpi_sys::MPI_ERR_LOCKTYPE,
        Class::NoMem => mpi_sys::MPI_ERR_NO_MEM,
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

/// Layout of a predefined pair type in C: a value at 0 and an `int` behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Bytes of the value.
    pub value: u32,
    /// Offset of the index.
    pub index: u32,
    /// Extent of the whole.
    pub extent: u32,
}

impl Pair {
    const fn of<T>() -> Pair {
        #[repr(C)]
        struct Layout<T>(T, c_int);
        Pair {
            value: size_of::<T>() as u32,
            index: core::mem::offset_of!(Layout<T>, 1) as u32,
            extent: size_of::<Layout<T>>() as u32,
        }
    }

    /// `long double`, for which Rust has no type, is 16 bytes, aligned likewise, on both architectures served.
    const LONG_DOUBLE: Pair = Pair { value: 16, index: 16, extent: 32 };
    const FLOAT: Pair = Pair::of::<f32>();
    const DOUBLE: Pair = Pair::of::<f64>();
    const LONG: Pair = Pair::of::<core::ffi::c_long>();
    const SHORT: Pair = Pair::of::<core::ffi::c_short>();
}

/// Predefined handles that Transom needs.
#[allow(missing_docs)]
pub struct Handles {
    pub comm_world: MPI_Comm,
    pub comm_self: MPI_Comm,
    pub comm_null: MPI_Comm,
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
    /// Pair types with padding or with two components of unlike size.
    pub pairs: Vec<(MPI_Datatype, Pair)>,
    /// Open MPI: every other predefined datatype that the host has. MPICH's carry their size in the handle.
    pub datatypes: Vec<MPI_Datatype>,
}

#[cfg(transom_mpich)]
impl Handles {
    /// The family's numbers, fixed by the MPICH ABI initiative; nothing is looked up.
    pub(super) fn find(_: impl Fn(&'static CStr) -> Option<*mut c_void>) -> Result<Handles, &'static CStr> {
        let pair = |number: u32, pair| (MPI_Datatype(number as c_int), pair);
        Ok(Handles {
            comm_world: MPI_Comm(0x4400_0000),
            comm_self: MPI_Comm(0x4400_0001),
            comm_null: MPI_Comm(0x0400_0000),
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
            pairs: vec![
                pair(0x8c00_0000, Pair::FLOAT),
                pair(0x8c00_0001, Pair::DOUBLE),
                pair(0x8c00_0002, Pair::LONG),
                pair(0x8c00_0003, Pair::SHORT),
                pair(0x8c00_0004, Pair::LONG_DOUBLE),
            ],
            datatypes: Vec::new(),
        })
    }
}

#[cfg(transom_ompi)]
impl Handles {
    /// The addresses of the library's own objects.
    pub(super) fn find(symbol: impl Fn(&'static CStr) -> Option<*mut c_void>) -> Result<Handles, &'static CStr> {
        let need = |name: &'static CStr| symbol(name).ok_or(name);
        let pair = |name, pair| symbol(name).map(|at| (MPI_Datatype(at.cast()), pair));
        let errors_are_fatal = MPI_Errhandler(need(c"ompi_mpi_errors_are_fatal")?.cast());
        Ok(Handles {
            comm_world: MPI_Comm(need(c"ompi_mpi_comm_world")?.cast()),
            comm_self: MPI_Comm(need(c"ompi_mpi_comm_self")?.cast()),
            comm_null: MPI_Comm(need(c"ompi_mpi_comm_null")?.cast()),
            win_null: MPI_Win(need(c"ompi_mpi_win_null")?.cast()),
            info_null: MPI_Info(need(c"ompi_mpi_info_null")?.cast()),
            datatype_null: MPI_Datatype(need(c"ompi_mpi_datatype_null")?.cast()),
            byte: MPI_Datatype(need(c"ompi_mpi_byte")?.cast()),
            uint64: MPI_Datatype(need(c"ompi_mpi_uint64_t")?.cast()),
            sum: MPI_Op(need(c"ompi_mpi_op_sum")?.cast()),
            bor: MPI_Op(need(c"ompi_mpi_op_bor")?.cast()),
            errhandler_null: MPI_Errhandler(need(c"ompi_mpi_errhandler_null")?.cast()),
            errors_are_fatal,
            errors_return: MPI_Errhandler(need(c"ompi_mpi_errors_return")?.cast()),
            errors_abort: symbol(c"ompi_mpi_errors_abort").map_or(errors_are_fatal, |at| MPI_Errhandler(at.cast())),
            pairs: [
                pair(c"ompi_mpi_float_int", Pair::FLOAT),
                pair(c"ompi_mpi_double_int", Pair::DOUBLE),
                pair(c"ompi_mpi_long_int", Pair::LONG),
                pair(c"ompi_mpi_short_int", Pair::SHORT),
                pair(c"ompi_mpi_longdbl_int", Pair::LONG_DOUBLE),
            ]
            .into_iter()
            .flatten()
            .collect(),
            datatypes: OMPI_DATATYPES.iter().filter_map(|name| symbol(name)).map(|at| MPI_Datatype(at.cast())).collect(),
        })
    }
}

/// Data symbols of Open MPI's predefined datatypes that are one run of bytes. A name that a version lacks is passed over.
#[cfg(transom_ompi)]
const OMPI_DATATYPES: &[&CStr] = &[
    c"ompi_mpi_char",
    c"ompi_mpi_signed_char",
    c"ompi_mpi_unsigned_char",
    c"ompi_mpi_byte",
    c"ompi_mpi_short",
    c"ompi_mpi_unsigned_short",
    c"ompi_mpi_int",
    c"ompi_mpi_unsigned",
    c"ompi_mpi_long",
    c"ompi_mpi_unsigned_long",
    c"ompi_mpi_long_long_int",
    c"ompi_mpi_unsigned_long_long",
    c"ompi_mpi_float",
    c"ompi_mpi_double",
    c"ompi_mpi_long_double",
    c"ompi_mpi_wchar",
    c"ompi_mpi_packed",
    c"ompi_mpi_cxx_bool",
    c"ompi_mpi_c_bool",
    c"ompi_mpi_cxx_cplex",
    c"ompi_mpi_cxx_dblcplex",
    c"ompi_mpi_cxx_ldblcplex",
    c"ompi_mpi_c_float_complex",
    c"ompi_mpi_c_double_complex",
    c"ompi_mpi_c_long_double_complex",
    c"ompi_mpi_c_complex",
    c"ompi_mpi_int8_t",
    c"ompi_mpi_int16_t",
    c"ompi_mpi_int32_t",
    c"ompi_mpi_int64_t",
    c"ompi_mpi_uint8_t",
    c"ompi_mpi_uint16_t",
    c"ompi_mpi_uint32_t",
    c"ompi_mpi_uint64_t",
    c"ompi_mpi_aint",
    c"ompi_mpi_offset",
    c"ompi_mpi_count",
    c"ompi_mpi_2int",
    c"ompi_mpi_character",
    c"ompi_mpi_logical",
    c"ompi_mpi_logical1",
    c"ompi_mpi_logical2",
    c"ompi_mpi_logical4",
    c"ompi_mpi_logical8",
    c"ompi_mpi_integer",
    c"ompi_mpi_integer1",
    c"ompi_mpi_integer2",
    c"ompi_mpi_integer4",
    c"ompi_mpi_integer8",
    c"ompi_mpi_integer16",
    c"ompi_mpi_real",
    c"ompi_mpi_real2",
    c"ompi_mpi_real4",
    c"ompi_mpi_real8",
    c"ompi_mpi_real16",
    c"ompi_mpi_dblprec",
    c"ompi_mpi_cplex",
    c"ompi_mpi_complex4",
    c"ompi_mpi_complex8",
    c"ompi_mpi_complex16",
    c"ompi_mpi_complex32",
    c"ompi_mpi_dblcplex",
    c"ompi_mpi_ldblcplex",
    c"ompi_mpi_2integer",
    c"ompi_mpi_2real",
    c"ompi_mpi_2dblprec",
    c"ompi_mpi_2cplex",
    c"ompi_mpi_2dblcplex",
];
