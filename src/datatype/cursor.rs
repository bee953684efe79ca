//! Walking through the runs of a type map in its order.

use super::shape::{Block, Group, Shape};
use smallvec::SmallVec;

/// Runs that can be walked through without a look at the shape around them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaf<'a> {
    /// As [`Shape::Rows`].
    Rows { offset: i64, bytes: u64, count: u64, stride: i64 },
    /// As [`Shape::Blocks`].
    Blocks {
        base: i64,
        blocks: &'a [Block],
        /// Of all of them.
        bytes: u64,
    },
}

/// What is repeated around a leaf.
#[derive(Clone, Copy, Debug)]
enum Node<'a> {
    Loop { count: u64, stride: i64, inner: &'a Shape },
    Groups { groups: &'a [Group], stride: i64, inner: &'a Shape },
    Sequence(&'a [Shape]),
}

/// A place inside of a repetition.
#[derive(Clone, Copy, Debug)]
struct Frame<'a> {
    node: Node<'a>,
    /// Added to every offset inside.
    base: i64,
    /// Which repetition, group or part.
    index: u64,
    /// Which one of the group.
    in_group: u64,
}

/// Frames that a cursor holds without an allocation: more than nested vectors, arrays and structures have in practice.
const INLINE: usize = 6;

/// A place in a type map.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    frames: SmallVec<[Frame<'a>; INLINE]>,
    /// What is left of the current leaf; nothing only at the end.
    leaf: Leaf<'a>,
    /// Bytes of the leaf's first run that are passed.
    within: u64,
}

impl<'a> Cursor<'a> {
    /// At the beginning of `count` shapes, `stride` bytes apart.
    pub(super) fn new(shape: &'a Shape, count: u64, stride: i64) -> Cursor<'a> {
        let nothing = Leaf::Rows { offset: 0, bytes: 0, count: 0, stride: 0 };
        let mut cursor = Cursor { frames: SmallVec::new(), leaf: nothing, within: 0 };
        match *shape {
            _ if count == 0 => {}
            _ if count == 1 => cursor.descend(shape, 0),
            // What would be a loop of one row each is rows.
            Shape::Rows { offset, bytes, count: 1, .. } => {
                cursor.leaf = match bytes as i64 == stride {
                    true => Leaf::Rows { offset, bytes: bytes * count, count: 1, stride },
                    false => Leaf::Rows { offset, bytes, count, stride },
                };
            }
            Shape::Rows { count: 0, .. } => {}
            Shape::Rows { offset, bytes, count: inner, stride: step } if (inner as i64).checked_mul(step) == Some(stride) => {
                cursor.leaf = Leaf::Rows { offset, bytes, count: inner * count, stride: step };
            }
            _ => {
                cursor.frames.push(Frame { node: Node::Loop { count, stride, inner: shape }, base: 0, index: 0, in_group: 0 });
                cursor.descend(shape, 0);
            }
        }
        cursor
    }

    /// Goes to the first leaf of a shape.
    fn descend(&mut self, mut shape: &'a Shape, mut base: i64) {
        loop {
            let node = match shape {
                Shape::Rows { offset, bytes, count, stride } => {
                    self.leaf = Leaf::Rows { offset: base.wrapping_add(*offset), bytes: *bytes, count: *count, stride: *stride };
                    return;
                }
                Shape::Blocks { base: own, blocks } => {
                    self.leaf = Leaf::Blocks { base: base.wrapping_add(*own), blocks, bytes: blocks.bytes() };
                    return;
                }
                Shape::Loop { count, stride, inner } => Node::Loop { count: *count, stride: *stride, inner },
                Shape::Groups { groups, stride, inner } => Node::Groups { groups, stride: *stride, inner },
                Shape::Sequence(parts) => Node::Sequence(parts),
            };
            self.frames.push(Frame { node, base, index: 0, in_group: 0 });
            (shape, base) = match node {
                Node::Loop { inner, .. } => (inner, base),
                Node::Groups { groups, inner, .. } => (inner, base.wrapping_add(groups[0].offset)),
                Node::Sequence(parts) => (&parts[0], base),
            };
        }
    }

    /// Goes to the leaf behind the current one, if there is one.
    #[inline(never)]
    fn climb(&mut self) {
        while let Some(frame) = self.frames.last_mut() {
            let next = match frame.node {
                Node::Loop { count, stride, inner } => {
                    frame.index += 1;
                    let base = frame.base.wrapping_add(stride.wrapping_mul(frame.index as i64));
                    (frame.index < count).then_some((inner, base))
                }
                Node::Groups { groups, stride, inner } => {
                    frame.in_group += 1;
                    if frame.in_group == groups[frame.index as usize].count {
                        (frame.index, frame.in_group) = (frame.index + 1, 0);
                    }
                    groups.get(frame.index as usize).map(|group| {
                        let within = group.offset.wrapping_add(stride.wrapping_mul(frame.in_group as i64));
                        (inner, frame.base.wrapping_add(within))
                    })
                }
                Node::Sequence(parts) => {
                    frame.index += 1;
                    parts.get(frame.index as usize).map(|part| (part, frame.base))
                }
            };
            match next {
                Some((shape, base)) => return self.descend(shape, base),
                None => self.frames.pop(),
            };
        }
    }

    /// What is left of the leaf, and how much of its first run is passed.
    #[inline(always)]
    pub(super) fn leaf(&self) -> (Leaf<'a>, u64) {
        (self.leaf, self.within)
    }

    /// What is left of the current run; of no bytes only at the end.
    #[inline(always)]
    pub fn run(&self) -> Block {
        let (offset, bytes) = match self.leaf {
            Leaf::Rows { offset, bytes, .. } => (offset, bytes),
            Leaf::Blocks { base, blocks, .. } => (base.wrapping_add(blocks[0].offset), blocks[0].bytes),
        };
        Block { offset: offset.wrapping_add_unsigned(self.within), bytes: bytes - self.within }
    }

    /// Passes bytes of the current run, no more than are left of it.
    #[inline(always)]
    pub fn pass(&mut self, bytes: u64) {
        if bytes < self.run().bytes {
            self.within += bytes;
        } else {
            self.pass_runs(1);
        }
    }

    /// Passes the leaf's next runs, no more than are left of it, the first of them from where the cursor stands.
    #[inline(always)]
    pub(super) fn pass_runs(&mut self, runs: u64) {
        self.within = 0;
        match &mut self.leaf {
            Leaf::Rows { offset, count, stride, .. } => {
                *offset = offset.wrapping_add(stride.wrapping_mul(runs as i64));
                *count -= runs;
                if *count == 0 {
                    self.leave();
                }
            }
            Leaf::Blocks { blocks, .. } => {
                let bytes = blocks[..runs as usize].iter().map(|block| block.bytes).sum();
                self.pass_blocks(runs as usize, bytes);
            }
        }
    }

    /// Passes the next blocks of a list, which have so many bytes.
    #[inline(always)]
    pub(super) fn pass_blocks(&mut self, count: usize, passed: u64) {
        self.within = 0;
        if let Leaf::Blocks { blocks, bytes, .. } = &mut self.leaf {
            *blocks = &blocks[count..];
            *bytes -= passed;
            if blocks.is_empty() {
                self.leave();
            }
        }
    }

    #[inline(always)]
    fn leave(&mut self) {
        self.leaf = Leaf::Rows { offset: 0, bytes: 0, count: 0, stride: 0 };
        if !self.frames.is_empty() {
            self.climb();
        }
    }

    /// Is everything passed?
    #[inline(always)]
    pub(super) fn is_at_end(&self) -> bool {
        matches!(self.leaf, Leaf::Rows { count: 0, .. })
    }
}
