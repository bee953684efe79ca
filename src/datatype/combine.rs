//! Combining the elements of one buffer with those of another, for whoever has the target to himself.

use super::cursor::Cursor;
use super::kernels::{Kernel, Loops};
use super::layout::Items;
use super::pairs::Pairs;
use super::transfer::{Steps, transfer};
use crate::base::element::Element;
use crate::base::op::Op;

/// `target := target op origin`, element by element.
///
/// # Safety
/// Both are valid for what their items touch, do not overlap, and have the same number of `element`s, which the kernel is for. Nobody else
/// accesses the target's elements meanwhile. `MPI_NO_OP` reads no origin.
pub unsafe fn combine(
    op: Op,
    kernel: &Kernel,
    element: Element,
    (target, target_items): (*mut u8, &Items),
    (origin, origin_items): (*const u8, &Items),
) {
    let loops = match (op, kernel.loops) {
        (Op::NoOp, _) => return,
        // SAFETY: passed on; of equal size, since elements and their number are the same.
        (_, None) => return unsafe { transfer(origin, origin_items, target, target_items) },
        (_, Some(loops)) => loops,
    };
    let extent = element.extent() as u64;
    let (mut source, mut sink) = (origin_items.elements(), target_items.elements());
    while !source.is_at_end() {
        // SAFETY: both cursors stand inside what the caller vouches for, with as many elements before them.
        unsafe { step(kernel, &loops, extent, origin, &mut source, target, &mut sink) };
    }
}

/// Combines what the two places have in common, as much as one loop can.
///
/// # Safety
/// As for [`combine`]; neither cursor is at its end.
unsafe fn step<'a>(
    kernel: &Kernel,
    loops: &Loops,
    extent: u64,
    origin: *const u8,
    source: &mut Cursor<'a>,
    target: *mut u8,
    sink: &mut Cursor<'a>,
) {
    let (read, written) = (source.run(), sink.run());
    // SAFETY: passed on.
    unsafe {
        if let Some(pairs) = Pairs::of(source, sink) {
            (loops.pairs)(target, origin, &pairs);
            pairs.pass(source, sink);
            return;
        }
        let unit = read.bytes.min(written.bytes);
        let (reads, writes) = (Steps::of(source, unit), Steps::of(sink, unit));
        let count = reads.count.min(writes.count);
        let each = (unit / extent) as usize;
        let (from, to) = (origin.wrapping_offset(reads.first), target.wrapping_offset(writes.first));
        match count {
            1 => (kernel.bulk)(to, from, each),
            _ => (loops.rows)(to, writes.stride, from, reads.stride, each, count as usize),
        }
        reads.pass(source, count, unit);
        writes.pass(sink, count, unit);
    }
}
