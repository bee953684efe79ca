//! From the arguments of an accumulate to its elements, and how they are combined: one atomic instruction each, or all under exclusion.
//!
//! Which of the two touches an element depends on window, element type and address alone (protocols.md, 4.2): an element of 1, 2, 4 or 8
//! bytes on mapped memory at its natural alignment is *never* changed by plain stores unless whoever does it holds its stripe, and an atomic on
//! it is announced, so that the two exclude each other. Everything else is only ever touched under its stripe.

use super::target::{check_address, unreached};
use crate::base::error::{Class, Error, What};
use crate::base::stats::{Kind, Path};
use crate::base::threads;
use crate::datatype::{self, Bulk, Cursor, Element, Items, Kernel, NotAlike, Op};
use crate::host::abi::{self, MPI_Datatype, MPI_Op};
use crate::node::cross::{Direction, Mover};
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

/// A checked reduction: as many elements at the origin and in the result as at the target.
pub(super) struct Reduction {
    kernel: Kernel,
    /// Copies elements as they are, padding left alone.
    copy: Bulk,
    element: Element,
    op: Op,
    target: Items,
    /// `None` for `MPI_NO_OP`.
    origin: Option<Items>,
    result: Option<Items>,
    rank: c_int,
    place: Place,
    /// Position of the first byte in the target's window, by which stripes are found.
    position: u64,
}

/// The elements of a buffer, and how many there are.
fn elements(items: &Items) -> Result<Option<(Element, u64)>, Error> {
    match items.element() {
        Ok(element) => Ok(element.map(|element| (element, items.size() / element.size() as u64))),
        Err(NotAlike) => {
            Err(Error::text(Class::Type, "the datatype's elements are not all of the same predefined type that reductions know"))
        }
    }
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
        let items = datatype::items("target_count", target.count, target.datatype)?;
        let own = elements(&items)?;
        let check = |argument, buffer: Option<&Buffer>| {
            let Some(buffer) = buffer else { return Ok(None) };
            let checked = datatype::items(argument, buffer.count, buffer.datatype)?;
            let theirs = elements(&checked)?;
            if let (Some((theirs, _)), Some((own, _))) = (theirs, own)
                && theirs != own
            {
                return Err(Error::text(Class::Type, "origin, result and target are not of the same predefined datatype"));
            }
            if checked.size() != items.size() {
                return Err(Error { class: Class::Type, what: What::Signature { origin: checked.size(), target: items.size() } });
            }
            Ok(Some(checked))
        };
        let (from, to) = (check("origin_count", origin)?, check("result_count", result)?);
        // Whether the operation is defined on a type matters to no empty buffer, and programs rely on that.
        let Some((element, _)) = own else { return Ok(None) };
        let undefined = Error::text(Class::Op, "the operation is not defined on the datatype");
        let kernel = datatype::kernel(op, element).ok_or(undefined)?;
        let copy = datatype::kernel(Op::Replace, element).ok_or(undefined)?.bulk;
        for (buffer, items) in origin.into_iter().zip(&from).chain(result.into_iter().zip(&to)) {
            check_address(buffer.address, items)?;
        }
        let place = window.reach(target.rank, target.displacement, items.low(), items.high())?;
        window.covers(target.rank)?;
        // Inside the window, as checked, so that it is not negative.
        let position = (target.displacement * window.target(target.rank)?.unit as i64 + items.low()) as u64;
        Ok(Some(Reduction {
            kernel,
            copy,
            element,
            op,
            target: items,
            origin: from,
            result: to,
            rank: target.rank,
            place,
            position,
        }))
    }

    /// May any of the target's elements be touched by an atomic? What is not aligned never is.
    fn may_be_atomic(&self, window: &Window) -> bool {
        matches!(self.place, Place::Direct(_)) && self.kernel.atomic.is_some() && !window.is_private(self.rank)
    }

    /// May each of them be?
    fn are_all_aligned(&self, target: *mut u8) -> bool {
        let size = self.element.size();
        (target as usize).is_multiple_of(size) && self.target.is_aligned(size)
    }

    /// Bytes from the first to the last one touched.
    fn span(&self) -> u64 {
        (self.target.high() - self.target.low()) as u64
    }

    /// Combines the origin's elements with the target's; what was there before goes to `result` if there is one.
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
                let _exclusive = window.exclude(self.rank, self.position, self.span(), false)?;
                // SAFETY: as above.
                unsafe { self.run_across(pid, address, origin, result) }?;
                Path::Cross
            }
        };
        window.tallies.by(path, kind).count(self.target.size());
        Ok(())
    }

    unsafe fn run_mapped(&self, window: &Window, target: *mut u8, origin: *const u8, result: *mut u8) -> Result<(), Error> {
        if is_alone(window, self.rank) {
            // SAFETY: as for `run`.
            unsafe { self.in_bulk(target, origin, result) };
            return Ok(());
        }
        let may_be_atomic = self.may_be_atomic(window);
        match self.kernel.atomic {
            Some(atomic) if self.target.size() < BULK && may_be_atomic && self.are_all_aligned(target) => {
                let announced = window.announce(self.rank, self.position, self.span())?;
                let mut walk = Walk::new(self);
                while let Some(step) = walk.step(self.element) {
                    // Its own address may be null, where the type has absolute ones.
                    let result = if self.result.is_some() { result.wrapping_offset(step.result) } else { core::ptr::null_mut() };
                    // SAFETY: as for `run`; aligned, as looked at.
                    unsafe {
                        atomic(target.wrapping_offset(step.target), origin.wrapping_offset(step.origin), step.count, result)
                    };
                }
                drop(announced);
            }
            _ => {
                // Also where only some elements are aligned: atomics on those must stay away as well.
                let _exclusive = window.exclude(self.rank, self.position, self.span(), may_be_atomic)?;
                // SAFETY: as for `run`.
                unsafe { self.in_bulk(target, origin, result) };
            }
        }
        Ok(())
    }

    /// Under exclusion.
    unsafe fn in_bulk(&self, target: *mut u8, origin: *const u8, result: *mut u8) {
        let extent = self.element.extent();
        let step = CHUNK / extent * extent;
        let mut walk = Walk::new(self);
        // Large runs piece by piece, so that what was copied is still in the cache when it is combined.
        if walk.is_one_run() && self.result.is_some() {
            while let Some(step) = walk.step_of(self.element, step as u64) {
                // SAFETY: as for `run`.
                unsafe {
                    let target = target.wrapping_offset(step.target);
                    (self.copy)(result.wrapping_offset(step.result), target, step.count);
                    if self.op != Op::NoOp {
                        (self.kernel.bulk)(target, origin.wrapping_offset(step.origin), step.count);
                    }
                }
            }
            return;
        }
        if let Some(items) = &self.result {
            // SAFETY: as for `run`.
            unsafe { datatype::transfer(target, &self.target, result, items) };
        }
        if let Some(items) = &self.origin {
            // SAFETY: as for `run`.
            unsafe { datatype::combine(self.op, &self.kernel, self.element, (target, &self.target), (origin, items)) };
        }
    }

    /// Under exclusion, on private memory of another process: a copy is fetched, combined and put back.
    unsafe fn run_across(&self, pid: u32, address: u64, origin: *const u8, result: *mut u8) -> Result<(), Error> {
        #[repr(C, align(64))]
        struct Copy([u8; CHUNK]);
        let mut copy = core::mem::MaybeUninit::<Copy>::uninit();
        let copy = copy.as_mut_ptr().cast::<u8>();
        let extent = self.element.extent() as u64;
        let refused = |error| unreached(self.rank, &error);
        let mut there = self.target.elements();
        let mut from = self.origin.as_ref().map(Items::elements);
        let mut to = self.result.as_ref().map(Items::elements);
        let mut left = self.target.size() / self.element.size() as u64 * extent;
        while left > 0 {
            let begin = there.clone();
            let bytes = left.min(CHUNK as u64);
            // SAFETY: as for `run`; `copy` has room for as many elements.
            unsafe { self.move_elements(pid, Direction::Read, copy, address, &mut there, bytes) }.map_err(refused)?;
            let mut done = 0;
            while done < bytes {
                let next = [&from, &to].into_iter().flatten().map(|cursor| cursor.run().bytes).fold(bytes - done, u64::min);
                let (place, count) = (copy.wrapping_add(done as usize), (next / extent) as usize);
                if let Some(to) = &mut to {
                    // SAFETY: as above.
                    unsafe { (self.copy)(result.wrapping_offset(to.run().offset as isize), place, count) };
                    to.pass(next);
                }
                if let Some(from) = &mut from {
                    // SAFETY: as above.
                    unsafe { (self.kernel.bulk)(place, origin.wrapping_offset(from.run().offset as isize), count) };
                    from.pass(next);
                }
                done += next;
            }
            if from.is_some() {
                // SAFETY: as above.
                unsafe { self.move_elements(pid, Direction::Write, copy, address, &mut begin.clone(), bytes) }
                    .map_err(refused)?;
            }
            left -= bytes;
        }
        Ok(())
    }

    /// Moves the next elements of private memory, `bytes` bytes with their padding, between there and a copy. The padding itself is nobody's to
    /// move: its owner may change it meanwhile.
    unsafe fn move_elements(
        &self,
        pid: u32,
        direction: Direction,
        copy: *mut u8,
        address: u64,
        there: &mut Cursor<'_>,
        bytes: u64,
    ) -> std::io::Result<()> {
        let extent = self.element.extent() as u64;
        let parts = datatype::parts(self.element);
        let mut mover = Mover::new(pid, direction);
        let mut done = 0;
        while done < bytes {
            let run = there.run();
            let length = run.bytes.min(bytes - done);
            let (place, run_address) = (copy.wrapping_add(done as usize), address.wrapping_add_signed(run.offset));
            match parts {
                // SAFETY: as for `run_across`.
                None => unsafe { mover.add(place, run_address, length as usize) }?,
                Some(parts) => {
                    for element in (0..length).step_by(extent as usize) {
                        for part in parts {
                            let offset = element + part.offset as u64;
                            // SAFETY: as above.
                            unsafe { mover.add(place.wrapping_add(offset as usize), run_address + offset, part.bytes as usize) }?;
                        }
                    }
                }
            }
            there.pass(length);
            done += length;
        }
        // SAFETY: as above.
        unsafe { mover.finish() }
    }
}

/// A walk through target, origin and result at once.
struct Walk<'a> {
    target: Cursor<'a>,
    origin: Option<Cursor<'a>>,
    result: Option<Cursor<'a>>,
    left: u64,
}

/// Elements that are side by side in all three.
struct Step {
    target: isize,
    origin: isize,
    result: isize,
    count: usize,
}

impl<'a> Walk<'a> {
    fn new(reduction: &'a Reduction) -> Walk<'a> {
        let Reduction { target, origin, result, element, .. } = reduction;
        let left = target.size() / element.size() as u64 * element.extent() as u64;
        Walk {
            target: target.elements(),
            origin: origin.as_ref().map(Items::elements),
            result: result.as_ref().map(Items::elements),
            left,
        }
    }

    fn is_one_run(&self) -> bool {
        [Some(&self.target), self.origin.as_ref(), self.result.as_ref()]
            .into_iter()
            .flatten()
            .all(|cursor| cursor.run().bytes == self.left)
    }

    fn step(&mut self, element: Element) -> Option<Step> {
        self.step_of(element, u64::MAX)
    }

    /// No more than so many bytes, which are whole elements.
    fn step_of(&mut self, element: Element, most: u64) -> Option<Step> {
        let mut bytes = self.left.min(most);
        if bytes == 0 {
            return None;
        }
        let cursors = || [Some(&self.target), self.origin.as_ref(), self.result.as_ref()];
        for cursor in cursors().into_iter().flatten() {
            bytes = bytes.min(cursor.run().bytes);
        }
        let [target, origin, result] = cursors().map(|cursor| cursor.map_or(0, |cursor| cursor.run().offset as isize));
        for cursor in [Some(&mut self.target), self.origin.as_mut(), self.result.as_mut()].into_iter().flatten() {
            cursor.pass(bytes);
        }
        self.left -= bytes;
        Some(Step { target, origin, result, count: (bytes / element.extent() as u64) as usize })
    }
}
