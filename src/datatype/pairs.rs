//! Listed runs of one side or of both, each beside as many bytes in one piece of the other.

use super::cursor::{Cursor, Leaf};
use super::shape::Block;
use core::ptr;

/// What stands before two cursors.
pub(super) struct Pairs<'a> {
    lists: Lists<'a>,
    /// Of all of them.
    bytes: u64,
}

enum Lists<'a> {
    /// The same lengths at both sides, as where both are of one datatype.
    Both { source_base: i64, source: &'a [Block], sink_base: i64, sink: &'a [Block] },
    /// Listed at the source, and one run at the sink.
    Source { base: i64, blocks: &'a [Block], sink: i64 },
    /// The other way round.
    Sink { source: i64, base: i64, blocks: &'a [Block] },
}

impl<'a> Pairs<'a> {
    /// `None` where at least one side has to be walked through in other steps.
    #[inline(always)]
    pub(super) fn of(source: &Cursor<'a>, sink: &Cursor<'a>) -> Option<Pairs<'a>> {
        match (source.leaf(), sink.leaf()) {
            ((Leaf::Rows { .. }, _), (Leaf::Rows { .. }, _)) => None,
            ((Leaf::Blocks { base, blocks, bytes }, 0), (Leaf::Blocks { base: sink_base, blocks: sink, .. }, 0)) => {
                let (count, bytes) = if ptr::eq(blocks, sink) { (blocks.len(), bytes) } else { alike(blocks, sink) };
                let lists = Lists::Both { source_base: base, source: &blocks[..count], sink_base, sink: &sink[..count] };
                (count > 0).then_some(Pairs { lists, bytes })
            }
            ((Leaf::Blocks { base, blocks, bytes }, 0), _) => {
                let run = sink.run();
                let (count, bytes) = if bytes <= run.bytes { (blocks.len(), bytes) } else { fitting(blocks, run.bytes) };
                let lists = Lists::Source { base, blocks: &blocks[..count], sink: run.offset };
                (count > 0).then_some(Pairs { lists, bytes })
            }
            (_, (Leaf::Blocks { base, blocks, bytes }, 0)) => {
                let run = source.run();
                let (count, bytes) = if bytes <= run.bytes { (blocks.len(), bytes) } else { fitting(blocks, run.bytes) };
                let lists = Lists::Sink { source: run.offset, base, blocks: &blocks[..count] };
                (count > 0).then_some(Pairs { lists, bytes })
            }
            _ => None,
        }
    }

    /// Calls `each` with the offset at the source, the one at the sink, and the length of every pair.
    #[inline(always)]
    pub(super) fn each(&self, mut each: impl FnMut(isize, isize, usize)) {
        match self.lists {
            Lists::Both { source_base, source, sink_base, sink } => {
                for (one, other) in source.iter().zip(sink) {
                    let (from, to) = (source_base.wrapping_add(one.offset), sink_base.wrapping_add(other.offset));
                    each(from as isize, to as isize, one.bytes as usize);
                }
            }
            Lists::Source { base, blocks, mut sink } => {
                for block in blocks {
                    each(base.wrapping_add(block.offset) as isize, sink as isize, block.bytes as usize);
                    sink = sink.wrapping_add_unsigned(block.bytes);
                }
            }
            Lists::Sink { mut source, base, blocks } => {
                for block in blocks {
                    each(source as isize, base.wrapping_add(block.offset) as isize, block.bytes as usize);
                    source = source.wrapping_add_unsigned(block.bytes);
                }
            }
        }
    }

    /// Passes them.
    #[inline(always)]
    pub(super) fn pass(&self, source: &mut Cursor<'_>, sink: &mut Cursor<'_>) {
        match self.lists {
            Lists::Both { source: blocks, .. } => {
                source.pass_blocks(blocks.len(), self.bytes);
                sink.pass_blocks(blocks.len(), self.bytes);
            }
            Lists::Source { blocks, .. } => {
                source.pass_blocks(blocks.len(), self.bytes);
                sink.pass(self.bytes);
            }
            Lists::Sink { blocks, .. } => {
                source.pass(self.bytes);
                sink.pass_blocks(blocks.len(), self.bytes);
            }
        }
    }
}

/// How many blocks of two lists have the same lengths, and how many bytes these have.
fn alike(one: &[Block], other: &[Block]) -> (usize, u64) {
    let mut bytes = 0;
    let same = |(one, other): &(&Block, &Block)| {
        let alike = one.bytes == other.bytes;
        bytes += if alike { one.bytes } else { 0 };
        alike
    };
    (one.iter().zip(other).take_while(same).count(), bytes)
}

/// How many of the blocks fit into so many bytes, and how many bytes they have.
fn fitting(blocks: &[Block], room: u64) -> (usize, u64) {
    let mut bytes = 0;
    let fits = |block: &&Block| {
        let fits = block.bytes <= room - bytes;
        bytes += if fits { block.bytes } else { 0 };
        fits
    };
    (blocks.iter().take_while(fits).count(), bytes)
}
