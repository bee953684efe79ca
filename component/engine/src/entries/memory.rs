//! `MPI_Alloc_mem` and `MPI_Free_mem`: memory that is mapped by peers from birth, so that a window on it is served directly.

use super::forward;
use crate::guard::guard;
use core::ffi::c_void;
use transom::base::config;
use transom::base::error::{Class, Error};
use transom::host::abi::{MPI_Aint, MPI_Info, SUCCESS};
use transom::node::memory;
use transom::window::hints;

pub(crate) unsafe extern "C-unwind" fn MPI_Alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void) -> core::ffi::c_int {
    let own = guard(|| match usize::try_from(size) {
        Ok(size) if !config::get().disable => Ok(memory::allocate_raw(size, hints::alignment(info))?),
        _ => Err(Error::text(Class::Arg, "the host's")),
    });
    match own {
        Ok(address) => {
            // SAFETY: the place for a pointer that MPI demands of the application.
            unsafe { *baseptr.cast::<*mut u8>() = address.as_ptr() };
            SUCCESS
        }
        // Where no shared memory is left, the host's private memory is as good as without us; a bad size is the host's to report.
        Err(_) => forward!(MPI_Alloc_mem(size, info, baseptr)),
    }
}

pub(crate) unsafe extern "C-unwind" fn MPI_Free_mem(base: *mut c_void) -> core::ffi::c_int {
    match guard(|| Ok(memory::free_raw(base.cast()))) {
        Ok(true) => SUCCESS,
        _ => forward!(MPI_Free_mem(base)),
    }
}
