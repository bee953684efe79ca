//! `MPI_Alloc_mem` and `MPI_Free_mem`: memory that is mapped by peers from birth, so that a window on it is served directly.

use super::forward;
use crate::guard::guard;
use crate::report;
use core::ffi::{c_int, c_void};
use transom::base::config;
use transom::base::error::{Class, Error, What};
use transom::host::abi::{MPI_Aint, MPI_Info, SUCCESS};
use transom::node::memory;
use transom::window::hints;

pub(crate) unsafe extern "C-unwind" fn MPI_Alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void) -> c_int {
    let Ok(bytes) = usize::try_from(size) else { return forward!(MPI_Alloc_mem(size, info, baseptr)) };
    if config::get().disable {
        return forward!(MPI_Alloc_mem(size, info, baseptr));
    }
    match guard(|| Ok(memory::allocate_raw(bytes, hints::alignment(info))?)) {
        Ok(address) => {
            // SAFETY: the place for a pointer that MPI demands of the application.
            unsafe { *baseptr.cast::<*mut u8>() = address.as_ptr() };
            SUCCESS
        }
        // Not passed on: where memory has ended, MPICH 4.0.2 answers with success and a pointer near null.
        Err(Error { class: Class::NoMem, what: What::Memory { errno, .. } }) if !matches!(errno, libc::EMFILE | libc::ENFILE) => {
            // What was asked for, not what it would have taken.
            let what = What::Memory { bytes: bytes as u64, errno };
            report::on_nothing("MPI_Alloc_mem", &Error { class: Class::NoMem, what })
        }
        // What is lacking is not memory but a way to share it: the host's private memory is as good as without us.
        Err(_) => forward!(MPI_Alloc_mem(size, info, baseptr)),
    }
}

pub(crate) unsafe extern "C-unwind" fn MPI_Free_mem(base: *mut c_void) -> c_int {
    match guard(|| Ok(memory::free_raw(base.cast()))) {
        Ok(true) => SUCCESS,
        _ => forward!(MPI_Free_mem(base)),
    }
}
