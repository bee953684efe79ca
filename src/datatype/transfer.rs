//! Moving the data of one type map into another.

use super::cursor::{Cursor, Leaf};
use super::layout::Items;
use super::pairs::Pairs;
use core::ptr;

/// Calls `each` with every piece of two equally large buffers that is one run in both: its offset in the first, in the second, and its length.
pub fn pieces<E>(first: &Items, second: &Items, mut each: impl FnMut(i64, i64, u64) -> Result<(), E>) -> Result<(), E> {
    let (mut one, mut other) = (first.cursor(), second.cursor());
    let mut left = first.size();
    while left > 0 {
        let (from, to) = (one.run(), other.run());
        let bytes = from.bytes.min(to.bytes);
        each(from.offset, to.offset, bytes)?;
        one.pass(bytes);
        other.pass(bytes);
        left -= bytes;
    }
    Ok(())
}

/// Moves the data of one buffer into another, run by run. Runs of 1, 2, 4 and 8 bytes are one load and one store each.
///
/// # Safety
/// `from` and `to` are valid for what their items touch, and both are of the same size. Another process may write there too: only raw
/// copies are made.
pub unsafe fn transfer(from: *const u8, from_items: &Items, to: *mut u8, to_items: &Items) {
    let (mut source, mut sink) = (from_items.cursor(), to_items.cursor());
    while !source.is_at_end() {
        // SAFETY: both cursors stand inside what the caller vouches for, with as many bytes before them.
        unsafe { step(from, &mut source, to, &mut sink) };
    }
}

/// Moves what the two places have in common, as much as one loop can.
///
/// # Safety
/// As for [`transfer`]; neither cursor is at its end.
#[inline]
unsafe fn step<'a>(from: *const u8, source: &mut Cursor<'a>, to: *mut u8, sink: &mut Cursor<'a>) {
    let (read, written) = (source.run(), sink.run());
    // SAFETY: passed on.
    unsafe {
        if let Some(pairs) = Pairs::of(source, sink) {
            pairs.each(|source, sink, bytes| short(from.wrapping_offset(source), to.wrapping_offset(sink), bytes));
            pairs.pass(source, sink);
            return;
        }
        let unit = read.bytes.min(written.bytes);
        let (reads, writes) = (Steps::of(source, unit), Steps::of(sink, unit));
        let count = reads.count.min(writes.count);
        rows(from.wrapping_offset(reads.first), reads.stride, to.wrapping_offset(writes.first), writes.stride, count, unit);
        reads.pass(source, count, unit);
        writes.pass(sink, count, unit);
    }
}

/// The next runs of a cursor, as runs of so many bytes.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    pub(super) first: isize,
    pub(super) stride: isize,
    pub(super) count: u64,
    /// Are they the leaf's own runs, or parts of one of them?
    whole: bool,
}

impl Steps {
    /// `unit` is no more than what is left of the current run.
    #[inline(always)]
    pub(super) fn of(cursor: &Cursor<'_>, unit: u64) -> Steps {
        let run = cursor.run();
        let first = run.offset as isize;
        match cursor.leaf() {
            (Leaf::Rows { bytes, count, stride, .. }, 0) if bytes == unit => {
                Steps { first, stride: stride as isize, count, whole: true }
            }
            // Most often the run is passed at once: no division then.
            _ if run.bytes == unit => Steps { first, stride: 0, count: 1, whole: false },
            _ => Steps { first, stride: unit as isize, count: run.bytes / unit, whole: false },
        }
    }

    /// Passes so many of them.
    #[inline(always)]
    pub(super) fn pass(&self, cursor: &mut Cursor<'_>, count: u64, unit: u64) {
        match self.whole {
            true => cursor.pass_runs(count),
            false => cursor.pass(count * unit),
        }
    }
}

/// # Safety
/// Both sides are valid at every place for `unit` bytes.
#[inline(always)]
unsafe fn rows(from: *const u8, from_stride: isize, to: *mut u8, to_stride: isize, count: u64, unit: u64) {
    let count = count as usize;
    // SAFETY: passed on.
    unsafe {
        match unit {
            1 => words::<u8>(from, from_stride, to, to_stride, count),
            2 => words::<u16>(from, from_stride, to, to_stride, count),
            4 => words::<u32>(from, from_stride, to, to_stride, count),
            8 => words::<u64>(from, from_stride, to, to_stride, count),
            16 => words::<u128>(from, from_stride, to, to_stride, count),
            _ => {
                for index in 0..count as isize {
                    let (source, sink) = (index.wrapping_mul(from_stride), index.wrapping_mul(to_stride));
                    short(from.wrapping_offset(source), to.wrapping_offset(sink), unit as usize);
                }
            }
        }
    }
}

/// # Safety
/// Both sides are valid at every place for a `W`.
#[inline(always)]
unsafe fn words<W: Copy>(from: *const u8, from_stride: isize, to: *mut u8, to_stride: isize, count: usize) {
    for index in 0..count as isize {
        let source = from.wrapping_offset(index.wrapping_mul(from_stride)).cast::<W>();
        let sink = to.wrapping_offset(index.wrapping_mul(to_stride)).cast::<W>();
        // SAFETY: valid, as vouched for; no alignment is asked for.
        unsafe { sink.write_unaligned(source.read_unaligned()) };
    }
}

/// Copies a run that may be short: a call of `memmove` takes longer than a few words. Runs of 1, 2, 4 and 8 bytes are one load and one store.
///
/// # Safety
/// Both are valid for `bytes` bytes.
#[inline(always)]
unsafe fn short(from: *const u8, to: *mut u8, bytes: usize) {
    /// Words that are copied in a loop.
    const WORDS: usize = 8;
    // SAFETY: vouched for; no alignment is asked for.
    unsafe {
        if bytes.is_multiple_of(8) && bytes <= WORDS * 8 {
            for word in 0..bytes / 8 {
                to.cast::<u64>().add(word).write_unaligned(from.cast::<u64>().add(word).read_unaligned());
            }
        } else if bytes == 4 {
            to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned());
        } else if bytes == 2 {
            to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned());
        } else {
            ptr::copy(from, to, bytes);
        }
    }
}
