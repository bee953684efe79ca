//! Moving the data of one type map into another.

use super::cursor::{Cursor, Leaf};
use super::layout::Items;
use super::shape::Block;
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
    let mut left = from_items.size();
    while left > 0 {
        // SAFETY: both cursors stand inside what the caller vouches for, with as many bytes before them.
        left -= unsafe { step(from, &mut source, to, &mut sink) };
    }
}

/// Where equally long runs begin.
trait Places: Copy {
    fn at(self, index: usize) -> isize;
}

#[derive(Clone, Copy)]
struct Even {
    first: isize,
    stride: isize,
}

impl Places for Even {
    #[inline(always)]
    fn at(self, index: usize) -> isize {
        // At most one past the last run, which is in bounds; before it, the sums are offsets of runs.
        self.first.wrapping_add(self.stride.wrapping_mul(index as isize))
    }
}

#[derive(Clone, Copy)]
struct Listed<'a> {
    base: isize,
    offsets: &'a [i64],
}

impl Places for Listed<'_> {
    #[inline(always)]
    fn at(self, index: usize) -> isize {
        // SAFETY: callers stay below the number of runs, which is the list's length.
        self.base.wrapping_add(unsafe { *self.offsets.get_unchecked(index) } as isize)
    }
}

/// Moves what the two places have in common, as much as one loop can; how many bytes.
///
/// # Safety
/// As for [`transfer`]; neither cursor is at its end.
#[inline]
unsafe fn step(from: *const u8, source: &mut Cursor<'_>, to: *mut u8, sink: &mut Cursor<'_>) -> u64 {
    let (read, written) = (source.run(), sink.run());
    // SAFETY: passed on.
    unsafe {
        match (source.leaf(), sink.leaf()) {
            ((Leaf::Blocks { base, blocks }, 0), _) if written.bytes > read.bytes => {
                let (count, bytes) = fitting(blocks, written.bytes);
                gather(from.wrapping_offset(base as isize), &blocks[..count], to.wrapping_offset(written.offset as isize));
                source.pass_runs(count as u64);
                sink.pass(bytes);
                return bytes;
            }
            (_, (Leaf::Blocks { base, blocks }, 0)) if read.bytes > written.bytes => {
                let (count, bytes) = fitting(blocks, read.bytes);
                scatter(from.wrapping_offset(read.offset as isize), to.wrapping_offset(base as isize), &blocks[..count]);
                source.pass(bytes);
                sink.pass_runs(count as u64);
                return bytes;
            }
            _ => {}
        }
        let unit = read.bytes.min(written.bytes);
        let (reads, writes) = (Steps::of(source, unit), Steps::of(sink, unit));
        let count = reads.count.min(writes.count);
        match (reads.listed, writes.listed) {
            (None, None) => rows(from, reads.even, to, writes.even, count, unit),
            (Some(reads), None) => rows(from, reads, to, writes.even, count, unit),
            (None, Some(writes)) => rows(from, reads.even, to, writes, count, unit),
            (Some(reads), Some(writes)) => rows(from, reads, to, writes, count, unit),
        }
        reads.pass(source, count, unit);
        writes.pass(sink, count, unit);
        count * unit
    }
}

/// The next runs of a cursor, as runs of so many bytes.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    even: Even,
    listed: Option<Listed<'a>>,
    count: u64,
    /// Are they the leaf's own runs, or parts of one of them?
    whole: bool,
}

impl<'a> Steps<'a> {
    /// `unit` is no more than what is left of the current run.
    #[inline(always)]
    pub(super) fn of(cursor: &Cursor<'a>, unit: u64) -> Steps<'a> {
        let run = cursor.run();
        let even = |stride: i64| Even { first: run.offset as isize, stride: stride as isize };
        match cursor.leaf() {
            (Leaf::Rows { bytes, count, stride, .. }, 0) if bytes == unit => {
                Steps { even: even(stride), listed: None, count, whole: true }
            }
            (Leaf::List { base, bytes, offsets }, 0) if bytes == unit => {
                let listed = Some(Listed { base: base as isize, offsets });
                Steps { even: even(0), listed, count: offsets.len() as u64, whole: true }
            }
            _ => Steps { even: even(unit as i64), listed: None, count: run.bytes / unit, whole: false },
        }
    }

    /// How many.
    #[inline(always)]
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Where the first one begins and the distance to the next, if it is the same between all.
    #[inline(always)]
    pub(super) fn even(&self) -> Option<(isize, isize)> {
        self.listed.is_none().then_some((self.even.first, self.even.stride))
    }

    /// Where one begins, below their number.
    #[inline(always)]
    pub(super) fn at(&self, index: usize) -> isize {
        match self.listed {
            Some(listed) => listed.base.wrapping_add(listed.offsets[index] as isize),
            None => self.even.at(index),
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
unsafe fn rows<F: Places, T: Places>(from: *const u8, reads: F, to: *mut u8, writes: T, count: u64, unit: u64) {
    let count = count as usize;
    // SAFETY: passed on.
    unsafe {
        match unit {
            1 => words::<u8, F, T>(from, reads, to, writes, count),
            2 => words::<u16, F, T>(from, reads, to, writes, count),
            4 => words::<u32, F, T>(from, reads, to, writes, count),
            8 => words::<u64, F, T>(from, reads, to, writes, count),
            16 => words::<u128, F, T>(from, reads, to, writes, count),
            _ => {
                for index in 0..count {
                    ptr::copy(from.wrapping_offset(reads.at(index)), to.wrapping_offset(writes.at(index)), unit as usize);
                }
            }
        }
    }
}

/// # Safety
/// Both sides are valid at every place for a `W`.
#[inline(always)]
unsafe fn words<W: Copy, F: Places, T: Places>(from: *const u8, reads: F, to: *mut u8, writes: T, count: usize) {
    for index in 0..count {
        let (source, sink) =
            (from.wrapping_offset(reads.at(index)).cast::<W>(), to.wrapping_offset(writes.at(index)).cast::<W>());
        // SAFETY: valid, as vouched for; no alignment is asked for.
        unsafe { sink.write_unaligned(source.read_unaligned()) };
    }
}

/// How many of the blocks fit into so many bytes, and how many bytes they have; at least one does.
#[inline(always)]
pub(super) fn fitting(blocks: &[Block], room: u64) -> (usize, u64) {
    let mut bytes = 0;
    let count = blocks.iter().take_while(|block| {
        let fits = block.bytes <= room - bytes;
        bytes += if fits { block.bytes } else { 0 };
        fits
    });
    (count.count(), bytes)
}

/// # Safety
/// Every block is valid behind `from`, and `to` for all their bytes.
#[inline(always)]
unsafe fn gather(from: *const u8, blocks: &[Block], mut to: *mut u8) {
    for block in blocks {
        // SAFETY: vouched for.
        unsafe { short(from.wrapping_offset(block.offset as isize), to, block.bytes as usize) };
        to = to.wrapping_add(block.bytes as usize);
    }
}

/// # Safety
/// Every block is valid behind `to`, and `from` for all their bytes.
#[inline(always)]
unsafe fn scatter(mut from: *const u8, to: *mut u8, blocks: &[Block]) {
    for block in blocks {
        // SAFETY: vouched for.
        unsafe { short(from, to.wrapping_offset(block.offset as isize), block.bytes as usize) };
        from = from.wrapping_add(block.bytes as usize);
    }
}

/// Copies a run that is usually short: words of eight bytes first, as a call of `memmove` takes longer than a few of them.
///
/// # Safety
/// Both are valid for `bytes` bytes.
#[inline(always)]
unsafe fn short(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: vouched for.
    unsafe {
        match bytes {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            16 => to.cast::<u128>().write_unaligned(from.cast::<u128>().read_unaligned()),
            24 => {
                let words = from.cast::<[u64; 3]>().read_unaligned();
                to.cast::<[u64; 3]>().write_unaligned(words);
            }
            2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
            _ => ptr::copy(from, to, bytes),
        }
    }
}
