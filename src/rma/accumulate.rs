//! `MPI_Accumulate`, `MPI_Get_accumulate` and `MPI_Fetch_and_op` (MPI-4.1, sections 12.3.4 and 12.3.5).

use super::reduce::{Buffer, Destination, Reduction, at_once};
use crate::base::error::{Class, Error};
use crate::base::stats::Kind;
use crate::datatype;
use crate::host::abi::{self, MPI_Datatype, MPI_Op};
use crate::window::Window;
use core::ffi::c_int;
use core::ptr;

/// Combines the origin's elements with the target's, each atomically towards every other accumulate. Done when it returns.
///
/// Cost: an announcement (one locked instruction) and an atomic instruction an element; from a kilobyte on, the target's stripes and a loop of
/// vectors.
///
/// # Safety
/// The origin's buffer is what it is said to be, as MPI demands of the application.
pub unsafe fn accumulate(window: &Window, op: MPI_Op, origin: &Buffer, target: &Destination) -> Result<(), Error> {
    let alike = origin.datatype == target.datatype && origin.count == target.count;
    // SAFETY: vouched for.
    if alike && unsafe { at_once(window, op, origin.address, None, target, Kind::Accumulate) } {
        return Ok(());
    }
    let Some(reduction) = Reduction::check(window, op, Some(origin), None, target)? else { return Ok(()) };
    // SAFETY: vouched for.
    unsafe { reduction.run(window, origin.address, ptr::null_mut(), Kind::Accumulate) }
}

/// As [`accumulate`], and hands out what was there before.
///
/// # Safety
/// Both buffers are what they are said to be, as MPI demands of the application; the origin's matters to no `MPI_NO_OP`.
pub unsafe fn get_accumulate(
    window: &Window,
    op: MPI_Op,
    origin: &Buffer,
    result: &Buffer,
    target: &Destination,
) -> Result<(), Error> {
    let alike = |buffer: &Buffer| buffer.datatype == target.datatype && buffer.count == target.count;
    // What `MPI_NO_OP` is given for an origin need not be alike: the rarer case, which is as right below.
    let kind = Kind::GetAccumulate;
    // SAFETY: vouched for.
    if alike(origin) && alike(result) && unsafe { at_once(window, op, origin.address, Some(result.address), target, kind) } {
        return Ok(());
    }
    let Some(reduction) = Reduction::check(window, op, Some(origin), Some(result), target)? else { return Ok(()) };
    // SAFETY: vouched for.
    unsafe { reduction.run(window, origin.address, result.address, Kind::GetAccumulate) }
}

/// Arguments of `MPI_Fetch_and_op` as passed.
#[derive(Clone, Copy)]
pub struct Fetch {
    /// The operand; of no matter to `MPI_NO_OP`.
    pub origin: *mut u8,
    /// Where the old value goes.
    pub result: *mut u8,
    /// The type of all three.
    pub datatype: MPI_Datatype,
    /// Target rank.
    pub rank: c_int,
    /// Displacement in the target's units.
    pub displacement: i64,
}

impl Fetch {
    fn target(&self) -> Destination {
        Destination { rank: self.rank, displacement: self.displacement, count: 1, datatype: self.datatype }
    }
}

/// [`get_accumulate`] of one element.
///
/// # Safety
/// As for [`get_accumulate`].
pub unsafe fn fetch_and_op(window: &Window, op: MPI_Op, fetch: &Fetch) -> Result<(), Error> {
    let Fetch { origin, result, datatype, .. } = *fetch;
    if fetch.rank != abi::PROC_NULL && datatype::single(datatype)?.is_none() {
        return Err(Error::text(Class::Type, "the datatype is none of the predefined ones that have one element"));
    }
    let buffer = |address| Buffer { address, count: 1, datatype };
    let checked = Reduction::check(window, op, Some(&buffer(origin)), Some(&buffer(result)), &fetch.target())?;
    let Some(reduction) = checked else { return Ok(()) };
    // SAFETY: vouched for.
    unsafe { reduction.run(window, origin, result, Kind::FetchAndOp) }
}

/// The common case of [`fetch_and_op`], without any way to fail or to wait: whether it is done. What is refused here has changed nothing.
///
/// # Safety
/// As for [`get_accumulate`].
#[inline(always)]
pub unsafe fn fetch_and_op_at_once(window: &Window, op: MPI_Op, fetch: &Fetch) -> bool {
    // SAFETY: vouched for.
    unsafe { at_once(window, op, fetch.origin, Some(fetch.result), &fetch.target(), Kind::FetchAndOp) }
}
