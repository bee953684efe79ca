//! From the arguments of an accumulate to its elements, and how they are combined: one atomic instruction each, or all under exclusion.
//!
//! Which of the two touches an element depends on window, element type and address alone (protocols.md, 4.2): an element of 1, 2, 4 or 8
//! bytes on mapped memory at its natural alignment is *never* changed by plain stores unless whoever does it holds its stripe, and an atomic on
//! it is announced, so that the two exclude each other. Everything else is only ever touched under its stripe.

use super::target::unreached;
use crate::base::error::{Class, Error, What};
use crate::base::stats::{Kind, Path};
use crate::base::threads;
use crate::datatype::{self, Bulk, Element, Kernel, Layout, Op};
use crate::host::abi::{self, MPI_Datatype, MPI_Op};
use crate::node::cross::{self, Direction};
use crate::window::epoch::Held;
use crate::window::{Place, Window};
use core::ffi::c_int;

/// A buffer of the origin as passed.
#[derive(Clone, Copy)]
pub struct Buffer {
    /// Its address.
    pub address: *mut u8,
    /// Items.
    pub count: i64,
    /// Their type.
    pub datatype: MPI_Datatype,
}

/// A place at a target as passed.
#[derive(Clone, Copy)]
pub struct Destination {
    /// Target rank.
    pub rank: c_int,
    /// Displacement in the target's units.
    pub displacement: i64,
    /// Items.
    pub count: i64,
    /// Their type.
    pub datatype: MPI_Datatype,
}

/// From here on one exclusion for all is cheaper than an atomic for each.
const BULK: u64 = 1024;

/// Bytes of private memory that are worked on at once.
const CHUNK: usize = 16 * 1024;

/// Is nobody else at this target, and no other thread of this rank inside MPI? Then there is nothing to exclude.
#[inline(always)]
pub(super) fn is_alone(window: &Window, rank: c_int) -> bool {
    window.epochs.held(rank) == Held::Exclusive && !threads::are_concurrent()
}

/// The common case, without any way to fail or to wait: whether it is done. Elements of an atomic's size, side by side, on mapped memory, fewer than
/// would be done in bulk, while nobody has them in bulk. What is refused here has changed nothing.
///
/// # Safety
/// As for [`Reduction::run`].
#[inline(always)]
pub(super) unsafe fn at_once(
    window: &Window,
    op: MPI_Op,
    origin: *const u8,
    result: Option<*mut u8>,
    target: &Destination,
    kind: Kind,
) -> bool {
    let (Some(op), Some(element)) = (datatype::op(op), datatype::element(target.datatype)) else { return false };
    let Some(atomic) = datatype::atomic(op, element) else { return false };
    let Some(peer) = window.peer(target.rank) else { return false };
    let size = element.size() as u64;
    // A negative count or displacement is a huge one here.
    let count = target.count as u64;
    let bytes = count.min(BULK) * size;
    if bytes == 0 || bytes >= BULK {
        return false;
    }
    let Some(offset) = (target.displacement as u64).checked_mul(peer.unit) else { return false };
    if offset > peer.size || bytes > peer.size - offset {
        return false;
    }
    if (origin.is_null() && op != Op::NoOp) || result.is_some_and(<*mut u8>::is_null) {
        return false;
    }
    // SAFETY: inside the target's memory, as checked.
    let place = unsafe { peer.base.add(offset as usize) };
    // What an atomic holds has a power of two for its size; a division takes as long as the atomic.
    if place as u64 & (size - 1) != 0 || window.is_private(target.rank) || !window.epochs.covers(target.rank) {
        return false;
    }
    let announced = if is_alone(window, target.rank) {
        None
    } else {
        match window.try_announce(target.rank, offset, bytes) {
            Some(announced) => Some(announced),
            None => return false,
        }
    };
    // SAFETY: aligned, inside the target's memory; the buffers are vouched for.
    unsafe { atomic(place, origin, count as usize, result.unwrap_or(core::ptr::null_mut())) };
    drop(announced);
    window.tallies.of(kind).count(bytes);
    true
}

/// A checked reduction: `count` elements side by side at the origin, in the result and at the target.
pub(super) struct Reduction {
    kernel: Kernel,
    /// Copies elements as they are, padding left alone.
    copy: Bulk,
    element: Element,
    op: Op,
    count: u64,
    rank: c_int,
    place: Place,
    /// Position of the first byte in the target's window, by which stripes are found.
    position: u64,
}

/// Elements behind a count of items, for the argument that is named.
fn elements(argument: &'static str, count: i64, datatype: MPI_Datatype) -> Result<(Element, u64), Error> {
    let count = u64::try_from(count).map_err(|_| Error::value(Class::Count, argument, count))?;
    let (element, each) = datatype::elements(datatype)?;
    let total = each.checked_mul(count).filter(|total| *total <= i64::MAX as u64 / element.extent() as u64);
    total.map(|total| (element, total)).ok_or(Error::text(Class::Count, "count and datatype describe more than memory"))
}

impl Reduction {
    /// Checks everything before anything is touched; `None` where there is nothing to do. With `MPI_NO_OP` the origin is not looked at.
    pub(super) fn check(
        window: &Window,
        op: MPI_Op,
        origin: Option<&Buffer>,
        result: Option<&Buffer>,
        target: &Destination,
    ) -> Result<Option<Reduction>, Error> {
        let op = datatype::op(op).ok_or(Error::text(Class::Op, "the operation is not a predefined one"))?;
        let origin = origin.filter(|_| op != Op::NoOp);
        if let Some(origin) = origin.filter(|origin| origin.count < 0) {
            return Err(Error::value(Class::Count, "origin_count", origin.count));
        }
        if target.rank == abi::PROC_NULL {
            return Ok(None);
        }
        window.target(target.rank)?;
        let (element, count) = elements("target_count", target.count, target.datatype)?;
        for (argument, buffer) in [("origin_count", origin), ("result_count", result)] {
            let Some(buffer) = buffer else { continue };
            let (own, own_count) = elements(argument, buffer.count, buffer.datatype)?;
            if own_count != 0 && count != 0 && own != element {
                return Err(Error::text(Class::Type, "origin, result and target are not of the same predefined datatype"));
            }
            if own_count != count {
                let (origin, target) = (own_count * own.size() as u64, count * element.size() as u64);
                return Err(Error { class: Class::Type, what: What::Signature { origin, target } });
            }
        }
        // Whether the operation is defined on a type matters to no empty buffer, and programs rely on that.
        if count == 0 {
            return Ok(None);
        }
        let undefined = Error::text(Class::Op, "the operation is not defined on the datatype");
        let kernel = datatype::kernel(op, element).ok_or(undefined)?;
        let copy = datatype::kernel(Op::Replace, element).ok_or(undefined)?.bulk;
        for buffer in [origin, result].into_iter().flatten() {
            if buffer.address.is_null() {
                return Err(Error::text(Class::Buffer, "the address of a buffer is null and there are bytes to move"));
            }
        }
        let span = (count - 1) * element.extent() as u64 + Layout::of(element).span();
        let place = window.reach(target.rank, target.displacement, span)?;
        window.covers(target.rank)?;
        let position = target.displacement as u64 * window.target(target.rank)?.unit;
        Ok(Some(Reduction { kernel, copy, element, op, count, rank: target.rank, place, position }))
    }

    /// May the target's elements be touched by an atomic each?
    fn is_atomic(&self, window: &Window) -> bool {
        match self.place {
            Place::Direct(target) => {
                self.kernel.atomic.is_some()
                    && (target as usize).is_multiple_of(self.element.size())
                    && !window.is_private(self.rank)
            }
            Place::Cross { .. } => false,
        }
    }

    fn bytes(&self) -> u64 {
        self.count * self.element.extent() as u64
    }

    /// Combines the origin's elements with the target's; what was there before goes to `result` unless that is null.
    ///
    /// # Safety
    /// Origin (unless the operation is `MPI_NO_OP`) and result are valid for the elements; they do not overlap.
    pub(super) unsafe fn run(&self, window: &Window, origin: *const u8, result: *mut u8, kind: Kind) -> Result<(), Error> {
        let path = match self.place {
            Place::Direct(target) => {
                // SAFETY: the target's elements are inside its window, the others vouched for.
                unsafe { self.run_mapped(window, target, origin, result) }?;
                Path::Direct
            }
            Place::Cross { pid, address } => {
                let _exclusive = window.exclude(self.rank, self.position, self.bytes(), self.is_atomic(window))?;
                // SAFETY: as above.
                unsafe { self.run_across(pid, address, origin, result) }?;
                Path::Cross
            }
        };
        window.tallies.by(path, kind).count(self.count * self.element.size() as u64);
        Ok(())
    }

    unsafe fn run_mapped(&self, window: &Window, target: *mut u8, origin: *const u8, result: *mut u8) -> Result<(), Error> {
        if is_alone(window, self.rank) {
            // SAFETY: as for `run`.
            unsafe { self.in_bulk(target, origin, result) };
            return Ok(());
        }
        let count = self.count as usize;
        match self.kernel.atomic {
            Some(atomic) if self.bytes() < BULK && self.is_atomic(window) => {
                let announced = window.announce(self.rank, self.position, self.bytes())?;
                // SAFETY: as for `run`; aligned, as looked at.
                unsafe { atomic(target, origin, count, result) };
                drop(announced);
            }
            _ => {
                let _exclusive = window.exclude(self.rank, self.position, self.bytes(), self.is_atomic(window))?;
                // SAFETY: as for `run`.
                unsafe { self.in_bulk(target, origin, result) };
            }
        }
        Ok(())
    }

    /// Under exclusion.
    unsafe fn in_bulk(&self, target: *mut u8, origin: *const u8, result: *mut u8) {
        if result.is_null() {
            // SAFETY: as for `run`.
            unsafe { (self.kernel.bulk)(target, origin, self.count as usize) };
            return;
        }
        let extent = self.element.extent();
        let step = (CHUNK / extent) as u64;
        let mut done = 0;
        while done < self.count {
            let count = step.min(self.count - done) as usize;
            let offset = done as usize * extent;
            // SAFETY: as for `run`; piece by piece, so that what was copied is still in the cache when it is combined.
            unsafe {
                (self.copy)(result.add(offset), target.add(offset), count);
                if self.op != Op::NoOp {
                    (self.kernel.bulk)(target.add(offset), origin.add(offset), count);
                }
            }
            done += count as u64;
        }
    }

    /// Under exclusion, on private memory of another process: a copy is fetched, combined and put back.
    unsafe fn run_across(&self, pid: u32, address: u64, origin: *const u8, result: *mut u8) -> Result<(), Error> {
        #[repr(C, align(64))]
        struct Copy([u8; CHUNK]);
        let mut copy = core::mem::MaybeUninit::<Copy>::uninit();
        let copy = copy.as_mut_ptr().cast::<u8>();
        let extent = self.element.extent();
        let step = (CHUNK / extent) as u64;
        let refused = |error| unreached(self.rank, &error);
        let mut done = 0;
        while done < self.count {
            let count = step.min(self.count - done) as usize;
            let offset = done as usize * extent;
            let bytes = (count - 1) * extent + Layout::of(self.element).span() as usize;
            // SAFETY: as for `run`; `copy` has room for as many elements.
            unsafe {
                cross::move_one(pid, Direction::Read, copy, address + offset as u64, bytes).map_err(refused)?;
                if !result.is_null() {
                    (self.copy)(result.add(offset), copy, count);
                }
                if self.op != Op::NoOp {
                    (self.kernel.bulk)(copy, origin.add(offset), count);
                    cross::move_one(pid, Direction::Write, copy, address + offset as u64, bytes).map_err(refused)?;
                }
            }
            done += count as u64;
        }
        Ok(())
    }
}
