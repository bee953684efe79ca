//! Where Fortran and MPICH's C++ bindings reach a window past every C name (checked with `nm` and a debugger): attributes, keyvals and error
//! handlers, whose values and callbacks differ between the languages. These symbols are exported beside the list of C functions.
//!
//! MPICH's Fortran wrappers call C functions that say which language asks; its C++ bindings make a keyval or an error handler as C does, and
//! then set a proxy that calls what was given. Open MPI's do their work in the Fortran entry itself, which is
//! called by any of four manglings, with and without the profiling prefix, or directly by the modules.

/// Calls `$callback!` with the entries, each with the symbols that lead to it.
#[macro_export]
macro_rules! fortran_functions {
    ($callback:ident) => {
        $callback! {
            MPII_Win_get_attr: MPII_Win_get_attr;
            MPII_Win_set_attr: MPII_Win_set_attr;
            MPII_Keyval_set_proxy: MPII_Keyval_set_proxy;
            MPII_Errhandler_set_cxx: MPII_Errhandler_set_cxx;
            ompi_win_get_attr_f: ompi_win_get_attr_f
                mpi_win_get_attr mpi_win_get_attr_ mpi_win_get_attr__ MPI_WIN_GET_ATTR
                pmpi_win_get_attr pmpi_win_get_attr_ pmpi_win_get_attr__ PMPI_WIN_GET_ATTR;
            ompi_win_set_attr_f: ompi_win_set_attr_f
                mpi_win_set_attr mpi_win_set_attr_ mpi_win_set_attr__ MPI_WIN_SET_ATTR
                pmpi_win_set_attr pmpi_win_set_attr_ pmpi_win_set_attr__ PMPI_WIN_SET_ATTR;
            ompi_win_create_keyval_f: ompi_win_create_keyval_f
                mpi_win_create_keyval mpi_win_create_keyval_ mpi_win_create_keyval__ MPI_WIN_CREATE_KEYVAL
                pmpi_win_create_keyval pmpi_win_create_keyval_ pmpi_win_create_keyval__ PMPI_WIN_CREATE_KEYVAL;
            ompi_win_create_errhandler_f: ompi_win_create_errhandler_f
                mpi_win_create_errhandler mpi_win_create_errhandler_ mpi_win_create_errhandler__ MPI_WIN_CREATE_ERRHANDLER
                pmpi_win_create_errhandler pmpi_win_create_errhandler_ pmpi_win_create_errhandler__ PMPI_WIN_CREATE_ERRHANDLER;
        }
    };
}

macro_rules! tables {
    ($($entry:ident: $($symbol:ident)*;)*) => {
        /// A function that does the work behind one or more symbols.
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Entry {
            $($entry,)*
        }

        /// Position of a symbol in every table made from the list.
        #[allow(non_camel_case_types, missing_docs, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Symbol {
            $($($symbol,)*)*
        }

        /// The symbols in order.
        pub const SYMBOLS: &[&core::ffi::CStr] = &[$($({
            const TEXT: &str = concat!(stringify!($symbol), "\0");
            match core::ffi::CStr::from_bytes_with_nul(TEXT.as_bytes()) {
                Ok(text) => text,
                Err(_) => unreachable!(),
            }
        },)*)*];
    };
}
fortran_functions!(tables);

/// Number of symbols.
pub const COUNT: usize = SYMBOLS.len();
