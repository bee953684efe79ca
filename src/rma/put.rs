//! `MPI_Put` (MPI-4.1, section 12.3.1).

use super::copy::copy;
use super::target::Transfer;
use crate::base::error::Error;
use crate::base::stats::Kind;
use crate::node::cross::Direction;
use crate::window::Window;

/// Copies from the origin's buffer to the target's window. When it returns the buffer may be used again; the target sees the bytes after
/// the next synchronisation that the standard asks for.
///
/// Cost: two checks of types, one of bounds, one of the epoch, and the copy. No system call, no allocation, no lock.
///
/// # Safety
/// The origin's buffer is valid for what the arguments describe, as MPI demands of the application.
pub unsafe fn put(window: &Window, transfer: &Transfer) -> Result<(), Error> {
    // SAFETY: the caller vouches for the origin's buffer.
    if unsafe { put_at_once(window, transfer) } {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { put_shaped(window, transfer) }
}

/// The common case of [`put`], without any way to fail: whether it is done. What is refused here has changed nothing.
///
/// # Safety
/// As for [`put`].
#[inline(always)]
pub unsafe fn put_at_once(window: &Window, transfer: &Transfer) -> bool {
    let Some(piece) = transfer.piece(window) else { return false };
    // SAFETY: the target's range is checked, the origin's vouched for.
    unsafe { copy(transfer.origin, piece.target, piece.bytes) };
    window.tallies.of(Kind::Put).count(piece.bytes as u64);
    true
}

#[inline(never)]
unsafe fn put_shaped(window: &Window, transfer: &Transfer) -> Result<(), Error> {
    let Some(shaped) = transfer.check(window)? else { return Ok(()) };
    // SAFETY: the origin's buffer is vouched for.
    let path = unsafe { shaped.transfer(transfer.origin, transfer.target, Direction::Write) }?;
    window.tallies.by(path, Kind::Put).count(shaped.origin.size());
    Ok(())
}
