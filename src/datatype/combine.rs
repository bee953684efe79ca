//! Combining the elements of one buffer with those of another, for whoever has the target to himself.

use super::cursor::{Cursor, Leaf};
use super::kernels::{Kernel, Rows};
use super::layout::Items;
use super::transfer::{Steps, fitting, transfer};
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
    let rows = match (op, kernel.rows) {
        (Op::NoOp, _) => return,
        // SAFETY: passed on; of equal size, since elements and their number are the same.
        (_, None) => return unsafe { transfer(origin, origin_items, target, target_items) },
        (_, Some(rows)) => rows,
    };
    let extent = element.extent() as u64;
    let (mut source, mut sink) = (origin_items.elements(), target_items.elements());
    let mut left = target_items.size() / element.size() as u64 * extent;
    while left > 0 {
        // SAFETY: both cursors stand inside what the caller vouches for, with as many elements before them.
        left -= unsafe { step(kernel, rows, extent, origin, &mut source, target, &mut sink) };
    }
}

/// Combines what the two places have in common, as much as one loop can; how many bytes.
///
/// # Safety
/// As for [`combine`]; neither cursor is at its end.
unsafe fn step(
    kernel: &Kernel,
    rows: Rows,
    extent: u64,
    origin: *const u8,
    source: &mut Cursor<'_>,
    target: *mut u8,
    sink: &mut Cursor<'_>,
) -> u64 {
    let (read, written) = (source.run(), sink.run());
    // SAFETY: passed on.
    unsafe {
        if let (Leaf::Blocks { base, blocks }, 0) = sink.leaf()
            && read.bytes > written.bytes
        {
            let (count, bytes) = fitting(blocks, read.bytes);
            let mut from = origin.wrapping_offset(read.offset as isize);
            for block in &blocks[..count] {
                let to = target.wrapping_offset(base.wrapping_add(block.offset) as isize);
                (kernel.bulk)(to, from, (block.bytes / extent) as usize);
                from = from.wrapping_add(block.bytes as usize);
            }
            source.pass(bytes);
            sink.pass_runs(count as u64);
            return bytes;
        }
        let unit = read.bytes.min(written.bytes);
        let (reads, writes) = (Steps::of(source, unit), Steps::of(sink, unit));
        let count = reads.count().min(writes.count());
        let each = (unit / extent) as usize;
        match (reads.even(), writes.even()) {
            (Some((from, from_stride)), Some((to, to_stride))) => {
                let (from, to) = (origin.wrapping_offset(from), target.wrapping_offset(to));
                rows(to, to_stride, from, from_stride, each, count as usize);
            }
            _ => {
                for index in 0..count as usize {
                    let (from, to) = (reads.at(index), writes.at(index));
                    (kernel.bulk)(target.wrapping_offset(to), origin.wrapping_offset(from), each);
                }
            }
        }
        reads.pass(source, count, unit);
        writes.pass(sink, count, unit);
        count * unit
    }
}
