//! From the arguments of an operation to two checked places in memory. Nothing is touched before everything is checked.

use crate::base::error::{Class, Error, What};
use crate::base::stats::Path;
use crate::datatype::{self, Items};
use crate::host::abi::{self, MPI_Datatype};
use crate::node::cross::{Direction, Mover};
use crate::window::{Place, Window};
use core::ffi::c_int;

/// The arguments that put and get have in common, as passed.
#[derive(Clone, Copy)]
pub struct Transfer {
    /// Address of the origin's buffer.
    pub origin: *mut u8,
    /// Items at the origin.
    pub origin_count: i64,
    /// Their type.
    pub origin_datatype: MPI_Datatype,
    /// Target rank.
    pub target: c_int,
    /// Displacement in the target's units.
    pub displacement: i64,
    /// Items at the target.
    pub target_count: i64,
    /// Their type.
    pub target_datatype: MPI_Datatype,
}

/// A checked transfer of one run of bytes.
pub(super) struct Piece {
    /// Address in the target's memory as mapped here.
    pub(super) target: *mut u8,
    /// Length.
    pub(super) bytes: usize,
}

impl Transfer {
    /// The common case, by arithmetic alone: one predefined type of one run on both sides, a legal target, inside its window and an epoch.
    /// `None` sends the caller to [`Transfer::check`], which finds out what is wrong, or unusual.
    #[inline(always)]
    pub(super) fn piece(&self, window: &Window) -> Option<Piece> {
        if self.origin_datatype != self.target_datatype || self.origin_count != self.target_count {
            return None;
        }
        let peer = window.peer(self.target)?;
        let item = datatype::contiguous_size(self.target_datatype)?;
        // An item has at most 32 bytes, so that the product cannot wrap.
        if self.target_count as u64 >= 1 << 56 {
            return None;
        }
        let bytes = self.target_count as u64 * item;
        // A negative displacement is a huge one here, and ends outside of the window.
        let offset = (self.displacement as u64).checked_mul(peer.unit)?;
        if offset > peer.size || bytes > peer.size - offset || bytes == 0 || self.origin.is_null() {
            return None;
        }
        if !window.epochs.covers(self.target) {
            return None;
        }
        // SAFETY: inside the target's memory, as checked.
        Some(Piece { target: unsafe { peer.base.add(offset as usize) }, bytes: bytes as usize })
    }

    /// Every other case: what is wrong with the arguments, nothing to do (`Ok(None)`), or where to move what.
    #[inline(never)]
    pub(super) fn check(&self, window: &Window) -> Result<Option<Shaped>, Error> {
        let count = |argument, value: i64| match value {
            0.. => Ok(()),
            _ => Err(Error::value(Class::Count, argument, value)),
        };
        count("origin_count", self.origin_count)?;
        count("target_count", self.target_count)?;
        if self.target == abi::PROC_NULL {
            return Ok(None);
        }
        window.target(self.target)?;
        let origin = datatype::items("origin_count", self.origin_count, self.origin_datatype)?;
        let target = datatype::items("target_count", self.target_count, self.target_datatype)?;
        if origin.size() != target.size() {
            let what = What::Signature { origin: origin.size(), target: target.size() };
            return Err(Error { class: Class::Type, what });
        }
        if origin.size() == 0 {
            return Ok(None);
        }
        check_address(self.origin, &origin)?;
        let place = window.reach(self.target, self.displacement, target.low(), target.high())?;
        window.covers(self.target)?;
        Ok(Some(Shaped { origin, target, place }))
    }
}

/// Refuses a null buffer. With absolute addresses the buffer is `MPI_BOTTOM`, which is null in both families, and its bytes begin elsewhere.
pub(super) fn check_address(buffer: *const u8, items: &Items) -> Result<(), Error> {
    // Nobody has the first page.
    const PAGE: i64 = 4096;
    match (buffer as i64).wrapping_add(items.low()) {
        0..PAGE => Err(Error::text(Class::Buffer, "the address of a buffer is null and there are bytes to move")),
        _ => Ok(()),
    }
}

/// A checked transfer between two buffers of equal size.
pub(super) struct Shaped {
    pub(super) origin: Items,
    target: Items,
    /// Where the target's displacement lies.
    place: Place,
}

impl Shaped {
    /// Moves the bytes, to the target or from it.
    ///
    /// # Safety
    /// The origin's buffer is valid for its items.
    pub(super) unsafe fn transfer(&self, origin: *mut u8, rank: c_int, direction: Direction) -> Result<Path, Error> {
        let (pid, address) = match self.place {
            Place::Direct(target) => {
                // SAFETY: the target's bytes are inside its memory, as checked, the origin's vouched for, and the sizes are equal.
                unsafe {
                    match direction {
                        Direction::Write => datatype::transfer(origin, &self.origin, target, &self.target),
                        Direction::Read => datatype::transfer(target, &self.target, origin, &self.origin),
                    }
                }
                return Ok(Path::Direct);
            }
            Place::Cross { pid, address } => (pid, address),
        };
        let mut mover = Mover::new(pid, direction);
        datatype::pieces(&self.origin, &self.target, |here, there, bytes| {
            // SAFETY: as above; the other side is inside the target's memory.
            unsafe { mover.add(origin.wrapping_offset(here as isize), address.wrapping_add_signed(there), bytes as usize) }
        })
        // SAFETY: as above.
        .and_then(|()| unsafe { mover.finish() })
        .map_err(|error| unreached(rank, &error))?;
        Ok(Path::Cross)
    }
}

/// The error of a refused access to private memory.
#[cold]
pub(super) fn unreached(rank: c_int, error: &std::io::Error) -> Error {
    Error { class: Class::Other, what: What::Unreached { rank, errno: error.raw_os_error().unwrap_or(0) } }
}
