//! `MPI_Win_fence` (MPI-4.1, section 12.5.1).

use super::check_assertions;
use crate::base::error::Error;
use crate::host::abi;
use crate::window::Window;
use core::ffi::c_int;

/// Completes all operations of the window and meets all its ranks. Collective. Cost: one barrier.
///
/// The barrier stays even under `MPI_MODE_NOPRECEDE`, which only says that no operation *of this rank* is to be completed: without it,
/// rank 0's put behind its fence could overtake rank 1's local store before its own, and then be overwritten by it:
///
/// ```text
/// rank 0: fence(NOPRECEDE)  put(x of 1) = 2            fence
/// rank 1:                                  x = 1  fence(NOPRECEDE)  fence   -> 1, not 2
/// ```
///
/// Only a fence with nothing before and nothing after it has nothing to order.
pub fn fence(window: &Window, assertions: c_int) -> Result<(), Error> {
    check_assertions(assertions)?;
    window.epochs.may_fence()?;
    let nothing_before = assertions & abi::MODE_NOPRECEDE != 0;
    let nothing_after = assertions & abi::MODE_NOSUCCEED != 0;
    if !(nothing_before && nothing_after) {
        // Its arrival is an atomic addition that releases this rank's copies, and that acquires the others'.
        window.barrier()?;
    }
    window.epochs.fenced(!nothing_after);
    Ok(())
}
