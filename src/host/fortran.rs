//! Open MPI's Fortran: what its entries know that C does not.

use super::abi::{MPI_Errhandler, MPI_Fint};
use super::table::host;
use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use std::sync::OnceLock;

/// The host's own Fortran entry of this name, once its library is loaded.
pub fn entry(name: &CStr) -> Option<*mut c_void> {
    host().past_us(name)
}

/// What `.TRUE.` is, as the host's Fortran library writes it: compilers differ, and the library was built for one.
pub fn true_value() -> MPI_Fint {
    static TRUE: OnceLock<MPI_Fint> = OnceLock::new();
    *TRUE.get_or_init(|| {
        let (mut flag, mut code) = (1, 0);
        if let Some(initialized) = entry(c"ompi_initialized_f") {
            type Initialized = unsafe extern "C" fn(*mut MPI_Fint, *mut MPI_Fint);
            // SAFETY: MPI_INITIALIZED in Fortran: a LOGICAL, which is true by now, and an error code.
            unsafe { transmute::<*mut c_void, Initialized>(initialized)(&mut flag, &mut code) };
        }
        // One that is false: a window exists, so that cannot be.
        if flag == 0 { 1 } else { flag }
    })
}

/// The handle behind a Fortran handle of an error handler.
pub fn errhandler_from(number: c_int) -> Option<MPI_Errhandler> {
    let function = host().past_us(c"PMPI_Errhandler_f2c")?;
    type FromFortran = unsafe extern "C" fn(MPI_Fint) -> MPI_Errhandler;
    // SAFETY: the type is the one that mpi.h gives the function; any number may be asked about.
    Some(unsafe { transmute::<*mut c_void, FromFortran>(function)(number) })
}
