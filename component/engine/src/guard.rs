//! What stands around the work of every entry: no panic of ours crosses into the application.

use std::panic::{AssertUnwindSafe, catch_unwind};
use transom::base::error::Error;

/// Runs `work`; a panic becomes an error of class `MPI_ERR_INTERN` (its message is on stderr).
#[inline]
pub(crate) fn guard<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::internal()))
}
