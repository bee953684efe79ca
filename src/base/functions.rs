//! The one list of intercepted MPI functions. Exports and slots of `libtransom.so`, the host's table of functions, the engine's
//! table of entries and the large-count (`_c`) forms are all generated from it, so they cannot drift apart.
//!
//! What is on it: everything that takes an `MPI_Win`, the calls around the life of the library, memory, error codes and error
//! handlers. A `_c` form is exported for exactly those operations that the engine answers under every host, whether or not the
//! host has the form itself (for a host's own window the engine narrows the counts after an overflow check): programs take an exported
//! `MPI_X_c` as a promise.

use super::fortran::SYMBOLS;
use super::hash::{self, fnv1a};

/// Calls `$callback!` with the list. Each line is `NAME PROFILING_NAME (argument: type, ...)`; all return `c_int` except where
/// `-> type` says otherwise. Types are those of `mpi.h`; a callback that does not need them (the trampolines) ignores them.
#[macro_export]
macro_rules! mpi_functions {
    ($callback:ident) => {
        $callback! {
            MPI_Init PMPI_Init (argc: *mut c_int, argv: *mut *mut *mut c_char);
            MPI_Init_thread PMPI_Init_thread (argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int);
            MPI_Initialized PMPI_Initialized (flag: *mut c_int);
            MPI_Query_thread PMPI_Query_thread (provided: *mut c_int);
            MPI_Finalize PMPI_Finalize ();

            MPI_Alloc_mem PMPI_Alloc_mem (size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void);
            MPI_Free_mem PMPI_Free_mem (base: *mut c_void);

            MPI_Error_class PMPI_Error_class (errorcode: c_int, errorclass: *mut c_int);
            MPI_Error_string PMPI_Error_string (errorcode: c_int, string: *mut c_char, resultlen: *mut c_int);
            MPI_Errhandler_free PMPI_Errhandler_free (errhandler: *mut MPI_Errhandler);

            MPI_Win_allocate PMPI_Win_allocate (size: MPI_Aint, disp_unit: c_int, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void, win: *mut MPI_Win);
            MPI_Win_allocate_c PMPI_Win_allocate_c (size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void, win: *mut MPI_Win);
            MPI_Win_allocate_shared PMPI_Win_allocate_shared (size: MPI_Aint, disp_unit: c_int, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void, win: *mut MPI_Win);
            MPI_Win_allocate_shared_c PMPI_Win_allocate_shared_c (size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void, win: *mut MPI_Win);
            MPI_Win_create PMPI_Win_create (base: *mut c_void, size: MPI_Aint, disp_unit: c_int, info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win);
            MPI_Win_create_c PMPI_Win_create_c (base: *mut c_void, size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win);
            MPI_Win_create_dynamic PMPI_Win_create_dynamic (info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win);
            MPI_Win_attach PMPI_Win_attach (win: MPI_Win, base: *mut c_void, size: MPI_Aint);
            MPI_Win_detach PMPI_Win_detach (win: MPI_Win, base: *const c_void);
            MPI_Win_free PMPI_Win_free (win: *mut MPI_Win);
            MPI_Win_shared_query PMPI_Win_shared_query (win: MPI_Win, rank: c_int, size: *mut MPI_Aint, disp_unit: *mut c_int, baseptr: *mut c_void);
            MPI_Win_shared_query_c PMPI_Win_shared_query_c (win: MPI_Win, rank: c_int, size: *mut MPI_Aint, disp_unit: *mut MPI_Aint, baseptr: *mut c_void);
            MPI_Win_get_group PMPI_Win_get_group (win: MPI_Win, group: *mut MPI_Group);
            MPI_Win_c2f PMPI_Win_c2f (win: MPI_Win) -> MPI_Fint;
            MPI_Win_f2c PMPI_Win_f2c (win: MPI_Fint) -> MPI_Win;

            MPI_Win_create_keyval PMPI_Win_create_keyval (win_copy_attr_fn: *const c_void, win_delete_attr_fn: *const c_void, win_keyval: *mut c_int, extra_state: *mut c_void);
            MPI_Win_free_keyval PMPI_Win_free_keyval (win_keyval: *mut c_int);
            MPI_Win_get_attr PMPI_Win_get_attr (win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int);
            MPI_Win_set_attr PMPI_Win_set_attr (win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void);
            MPI_Win_delete_attr PMPI_Win_delete_attr (win: MPI_Win, win_keyval: c_int);
            MPI_Win_get_name PMPI_Win_get_name (win: MPI_Win, win_name: *mut c_char, resultlen: *mut c_int);
            MPI_Win_set_name PMPI_Win_set_name (win: MPI_Win, win_name: *const c_char);
            MPI_Win_get_info PMPI_Win_get_info (win: MPI_Win, info_used: *mut MPI_Info);
            MPI_Win_set_info PMPI_Win_set_info (win: MPI_Win, info: MPI_Info);
            MPI_Win_create_errhandler PMPI_Win_create_errhandler (win_errhandler_fn: MPI_Win_errhandler_function, errhandler: *mut MPI_Errhandler);
            MPI_Win_get_errhandler PMPI_Win_get_errhandler (win: MPI_Win, errhandler: *mut MPI_Errhandler);
            MPI_Win_set_errhandler PMPI_Win_set_errhandler (win: MPI_Win, errhandler: MPI_Errhandler);
            MPI_Win_call_errhandler PMPI_Win_call_errhandler (win: MPI_Win, errorcode: c_int);

            MPI_Win_fence PMPI_Win_fence (assert: c_int, win: MPI_Win);
            MPI_Win_post PMPI_Win_post (group: MPI_Group, assert: c_int, win: MPI_Win);
            MPI_Win_start PMPI_Win_start (group: MPI_Group, assert: c_int, win: MPI_Win);
            MPI_Win_complete PMPI_Win_complete (win: MPI_Win);
            MPI_Win_wait PMPI_Win_wait (win: MPI_Win);
            MPI_Win_test PMPI_Win_test (win: MPI_Win, flag: *mut c_int);
            MPI_Win_lock PMPI_Win_lock (lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win);
            MPI_Win_unlock PMPI_Win_unlock (rank: c_int, win: MPI_Win);
            MPI_Win_lock_all PMPI_Win_lock_all (assert: c_int, win: MPI_Win);
            MPI_Win_unlock_all PMPI_Win_unlock_all (win: MPI_Win);
            MPI_Win_flush PMPI_Win_flush (rank: c_int, win: MPI_Win);
            MPI_Win_flush_all PMPI_Win_flush_all (win: MPI_Win);
            MPI_Win_flush_local PMPI_Win_flush_local (rank: c_int, win: MPI_Win);
            MPI_Win_flush_local_all PMPI_Win_flush_local_all (win: MPI_Win);
            MPI_Win_sync PMPI_Win_sync (win: MPI_Win);

            MPI_Put PMPI_Put (origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, win: MPI_Win);
            MPI_Put_c PMPI_Put_c (origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, win: MPI_Win);
            MPI_Get PMPI_Get (origin_addr: *mut c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, win: MPI_Win);
            MPI_Get_c PMPI_Get_c (origin_addr: *mut c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, win: MPI_Win);
            MPI_Accumulate PMPI_Accumulate (origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win);
            MPI_Accumulate_c PMPI_Accumulate_c (origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win);
            MPI_Get_accumulate PMPI_Get_accumulate (origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: c_int, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win);
            MPI_Get_accumulate_c PMPI_Get_accumulate_c (origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: MPI_Count, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win);
            MPI_Fetch_and_op PMPI_Fetch_and_op (origin_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, op: MPI_Op, win: MPI_Win);
            MPI_Compare_and_swap PMPI_Compare_and_swap (origin_addr: *const c_void, compare_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, win: MPI_Win);
            MPI_Rput PMPI_Rput (origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request);
            MPI_Rput_c PMPI_Rput_c (origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request);
            MPI_Rget PMPI_Rget (origin_addr: *mut c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request);
            MPI_Rget_c PMPI_Rget_c (origin_addr: *mut c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request);
            MPI_Raccumulate PMPI_Raccumulate (origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request);
            MPI_Raccumulate_c PMPI_Raccumulate_c (origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request);
            MPI_Rget_accumulate PMPI_Rget_accumulate (origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: c_int, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request);
            MPI_Rget_accumulate_c PMPI_Rget_accumulate_c (origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: MPI_Count, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request);
        }
    };
}

macro_rules! index {
    ($($name:ident $profiling:ident ($($argument:ident : $type:ty),*) $(-> $result:ty)?;)*) => {
        /// Position of a function in every table made from the list.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Index {
            $(#[doc = concat!("`", stringify!($name), "`")] $name,)*
        }

        /// Names of the list in order: what the application calls, and what the host offers under the profiling interface.
        pub const NAMES: &[(&str, &core::ffi::CStr)] = &[$((stringify!($name), {
            const TEXT: &str = concat!(stringify!($profiling), "\0");
            match core::ffi::CStr::from_bytes_with_nul(TEXT.as_bytes()) {
                Ok(text) => text,
                Err(_) => unreachable!(),
            }
        })),*];
    };
}
mpi_functions!(index);

/// Number of functions on the list.
pub const COUNT: usize = NAMES.len();

/// A hash over the names of this list and of Fortran's, each ended by a byte that no name has: objects built from different lists refuse each other instead
/// of calling a wrong slot.
pub const FINGERPRINT: u64 = {
    let mut hash = hash::EMPTY;
    let mut line = 0;
    while line < COUNT {
        hash = fnv1a(fnv1a(hash, NAMES[line].0.as_bytes()), &[0xff]);
        line += 1;
    }
    let mut line = 0;
    while line < SYMBOLS.len() {
        hash = fnv1a(fnv1a(hash, SYMBOLS[line].to_bytes()), &[0xff]);
        line += 1;
    }
    hash
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_listed_once_and_its_profiling_name_is_its_own() {
        for (line, (name, profiling)) in NAMES.iter().enumerate() {
            assert_eq!(profiling.to_str().unwrap(), format!("P{name}"));
            assert!(NAMES[line + 1..].iter().all(|(other, _)| other != name), "{name} is listed twice");
        }
        assert_eq!(Index::MPI_Init as usize, 0);
        assert_eq!(NAMES[Index::MPI_Put as usize].0, "MPI_Put");
    }
}
