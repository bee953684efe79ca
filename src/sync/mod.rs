//! Synchronisation: what opens and closes epochs, and what completes operations inside them. On mapped peers an operation is done when its
//! call returns, so completing one means ordering stores; nothing here needs the target's help.

mod active;
mod fence;
mod flush;
mod lock;

pub use active::{complete, post, start, test, wait};
pub use fence::fence;
pub use flush::{flush, flush_all, flush_at_once, flush_local, flush_local_all, sync};
pub use lock::{lock, lock_all, lock_at_once, unlock, unlock_all, unlock_at_once};

use crate::base::error::{Class, Error};
use crate::host::abi;
use core::ffi::c_int;

/// Only the bits that MPI defines.
fn check_assertions(assertions: c_int) -> Result<(), Error> {
    if assertions & !abi::MODES == 0 { Ok(()) } else { Err(Error::value(Class::Assert, "assert", i64::from(assertions))) }
}
