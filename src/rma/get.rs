//! `MPI_Get` (MPI-4.1, section 12.3.2).

use super::copy::copy;
use super::target::Transfer;
use crate::base::error::Error;
use crate::base::stats::Kind;
use crate::node::cross::Direction;
use crate::window::Window;

/// Copies from the target's window to the origin's buffer. The bytes are there when it returns.
///
/// Cost: two checks of types, one of bounds, one of the epoch, and the copy. No system call, no allocation, no lock.
///
/// # Safety
/// The origin's buffer is valid for what the arguments describe, as MPI demands of the application.
pub unsafe fn get(window: &Window, transfer: &Transfer) -> Result<(), Error> {
    // SAFETY: the caller vouches for the origin's buffer.
    if unsafe { get_at_once(window, transfer) } {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { get_shaped(window, transfer) }
}

/// The common case of [`get`], without any way to fail: whether it is done. What is refused here has changed nothing.
///
/// # Safety
/// As for [`get`].
#[inline(always)]
pub unsafe fn get_at_once(window: &Window, transfer: &Transfer) -> bool {
    let Some(piece) = transfer.piece(window) else { return false };
    // SAFETY: the target's range is checked, the origin's vouched for.
    unsafe { copy(piece.target, transfer.origin, piece.bytes) };
    window.tallies.of(Kind::Get).count(piece.bytes as u64);
    true
}

#[inline(never)]
unsafe fn get_shaped(window: &Window, transfer: &Transfer) -> Result<(), Error> {
    let Some(shaped) = transfer.check(window)? else { return Ok(()) };
    // SAFETY: the origin's buffer is vouched for.
    let path = unsafe { shaped.transfer(transfer.origin, transfer.target, Direction::Read) }?;
    window.tallies.by(path, Kind::Get).count(shaped.origin.size());
    Ok(())
}
