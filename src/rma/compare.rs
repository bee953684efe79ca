//! `MPI_Compare_and_swap` (MPI-4.1, section 12.3.4).

use super::reduce::is_alone;
use super::target::unreached;
use crate::base::error::{Class, Error};
use crate::base::stats::{Kind, Path};
use crate::datatype::{self, Exchange};
use crate::host::abi::{self, MPI_Datatype};
use crate::node::cross::{self, Direction};
use crate::window::{Place, Window};
use core::ffi::c_int;

/// Arguments as passed.
#[derive(Clone, Copy)]
pub struct Compare {
    /// The new value.
    pub origin: *const u8,
    /// What the target must hold.
    pub compare: *const u8,
    /// Where the old value goes.
    pub result: *mut u8,
    /// The type of all four.
    pub datatype: MPI_Datatype,
    /// Target rank.
    pub rank: c_int,
    /// Displacement in the target's units.
    pub displacement: i64,
}

/// The common case of [`compare_and_swap`], without any way to fail or to wait: whether it is done. What is refused here has changed nothing.
///
/// # Safety
/// As for [`compare_and_swap`].
#[inline(always)]
pub unsafe fn compare_and_swap_at_once(window: &Window, arguments: &Compare) -> bool {
    let Compare { origin, compare, result, datatype, rank, displacement } = *arguments;
    let Some(element) = datatype::element(datatype) else { return false };
    let Some(Exchange { atomic: Some(atomic), .. }) = datatype::compare_and_swap(element) else { return false };
    let Some(peer) = window.peer(rank) else { return false };
    let size = element.size() as u64;
    // A negative displacement is a huge one here.
    let Some(offset) = (displacement as u64).checked_mul(peer.unit) else { return false };
    if offset > peer.size || size > peer.size - offset || origin.is_null() || compare.is_null() || result.is_null() {
        return false;
    }
    // SAFETY: inside the target's memory, as checked.
    let place = unsafe { peer.base.add(offset as usize) };
    // As in `at_once` of other accumulates: no division.
    if place as u64 & (size - 1) != 0 || window.is_private(rank) || !window.epochs.covers(rank) {
        return false;
    }
    let announced = if is_alone(window, rank) {
        None
    } else {
        match window.try_announce(rank, offset, size) {
            Some(announced) => Some(announced),
            None => return false,
        }
    };
    // SAFETY: aligned, inside the target's memory; the buffers are vouched for.
    unsafe { atomic(place, origin, compare, result) };
    drop(announced);
    window.tallies.of(Kind::CompareAndSwap).count(size);
    true
}

/// Longest element, in bytes.
const LONGEST: usize = 32;

/// Writes the new value if the target holds the one compared with, atomically towards every accumulate; hands out what it held. Done when it
/// returns. Cost: an announcement and one atomic instruction.
///
/// # Safety
/// The three buffers are what they are said to be, as MPI demands of the application.
pub unsafe fn compare_and_swap(window: &Window, arguments: &Compare) -> Result<(), Error> {
    let Compare { origin, compare, result, datatype, rank, displacement } = *arguments;
    if rank == abi::PROC_NULL {
        return Ok(());
    }
    window.target(rank)?;
    let refused = Error::text(Class::Type, "the datatype is none that may be compared and swapped");
    let element = datatype::single(datatype)?.ok_or(refused)?;
    let exchange = datatype::compare_and_swap(element).ok_or(refused)?;
    if origin.is_null() || compare.is_null() || result.is_null() {
        return Err(Error::text(Class::Buffer, "the address of a buffer is null"));
    }
    let size = element.size();
    let place = window.reach(rank, displacement, 0, size as i64)?;
    window.covers(rank)?;
    let position = displacement as u64 * window.target(rank)?.unit;
    let path = match (place, exchange.atomic) {
        (Place::Direct(target), Some(atomic)) if (target as usize).is_multiple_of(size) && !window.is_private(rank) => {
            let _announced = window.announce(rank, position, size as u64)?;
            // SAFETY: aligned, and inside the target's memory; the rest is vouched for.
            unsafe { atomic(target, origin, compare, result) };
            Path::Direct
        }
        (Place::Direct(target), _) => {
            let _exclusive = window.exclude(rank, position, size as u64, false)?;
            // SAFETY: as above, under exclusion.
            unsafe { (exchange.exclusive)(target, origin, compare, result) };
            Path::Direct
        }
        (Place::Cross { pid, address }, _) => {
            let _exclusive = window.exclude(rank, position, size as u64, false)?;
            let mut copy = [0_u8; LONGEST];
            let refused = |error| unreached(rank, &error);
            // SAFETY: `copy` has room for any element; the rest is vouched for.
            unsafe {
                cross::move_one(pid, Direction::Read, copy.as_mut_ptr(), address, size).map_err(refused)?;
                let before = copy;
                (exchange.exclusive)(copy.as_mut_ptr(), origin, compare, result);
                if copy != before {
                    cross::move_one(pid, Direction::Write, copy.as_mut_ptr(), address, size).map_err(refused)?;
                }
            }
            Path::Cross
        }
    };
    window.tallies.by(path, Kind::CompareAndSwap).count(size as u64);
    Ok(())
}
