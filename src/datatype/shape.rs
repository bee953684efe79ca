//! Where the bytes of a datatype lie, compressed: repetition stays a loop, however often, and only what is irregular is listed.
//!
//! A shape keeps the order of its type map. Offsets are bytes from the buffer's address. Sums in here wrap: what leaves 64 bits is refused by
//! [`Shape::bounds`] and [`Shape::size`], which must be asked before a shape is used.

use core::ops::Deref;
use std::sync::Arc;

/// One run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Of its first byte.
    pub offset: i64,
    /// Its length; not 0.
    pub bytes: u64,
}

/// A list of runs, shared by all shapes it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    list: List,
    bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum List {
    Static(&'static [Block]),
    Shared(Arc<[Block]>),
}

impl Blocks {
    /// `None` where their sum passes 64 bits.
    fn new(blocks: Vec<Block>) -> Option<Blocks> {
        let bytes = blocks.iter().try_fold(0_u64, |sum, block| sum.checked_add(block.bytes))?;
        Some(Blocks { list: List::Shared(blocks.into()), bytes })
    }

    pub(super) fn of_static(blocks: &'static [Block]) -> Blocks {
        Blocks { list: List::Static(blocks), bytes: blocks.iter().map(|block| block.bytes).sum() }
    }

    /// Of all of them.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Deref for Blocks {
    type Target = [Block];

    #[inline]
    fn deref(&self) -> &[Block] {
        match &self.list {
            List::Static(blocks) => blocks,
            List::Shared(blocks) => blocks,
        }
    }
}

/// Repetitions side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) offset: i64,
    pub(super) count: u64,
}

/// What a type map is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `count` runs of `bytes` bytes, `stride` bytes from each to the next. One of them is a run, none of them is nothing.
    Rows { offset: i64, bytes: u64, count: u64, stride: i64 },
    /// Runs at irregular places, or of several lengths; their offsets are counted from `base`.
    Blocks { base: i64, blocks: Blocks },
    /// `count` times the same, `stride` bytes from each to the next.
    Loop { count: u64, stride: i64, inner: Box<Shape> },
    /// The same in groups, in each of them `stride` bytes from one to the next.
    Groups { groups: Box<[Group]>, stride: i64, inner: Box<Shape> },
    /// One behind the other.
    Sequence(Box<[Shape]>),
}

/// The distance between neighbours where it is the same between all of them; two or more offsets.
fn even(mut offsets: impl Iterator<Item = i64>) -> Option<i64> {
    let (first, second) = (offsets.next()?, offsets.next()?);
    let distance = second.wrapping_sub(first);
    let mut last = second;
    for offset in offsets {
        if offset.wrapping_sub(last) != distance {
            return None;
        }
        last = offset;
    }
    Some(distance)
}

impl Shape {
    pub(super) const EMPTY: Shape = Shape::Rows { offset: 0, bytes: 0, count: 0, stride: 0 };

    /// So many bytes from the buffer's address on.
    pub(super) const fn run(bytes: u64) -> Shape {
        match bytes {
            0 => Shape::EMPTY,
            _ => Shape::Rows { offset: 0, bytes, count: 1, stride: bytes as i64 },
        }
    }

    /// These runs; neighbours that touch become one.
    pub(super) fn blocks(blocks: impl IntoIterator<Item = Block>) -> Option<Shape> {
        let mut merged: Vec<Block> = Vec::new();
        for block in blocks {
            match merged.last_mut() {
                _ if block.bytes == 0 => {}
                Some(last) if last.offset.wrapping_add_unsigned(last.bytes) == block.offset => {
                    last.bytes = last.bytes.checked_add(block.bytes)?;
                }
                _ => merged.push(block),
            }
        }
        let Some(Block { offset, bytes }) = merged.first().copied() else { return Some(Shape::EMPTY) };
        if merged.len() == 1 {
            return Some(Shape::run(bytes).at(offset));
        }
        if merged.iter().all(|block| block.bytes == bytes)
            && let Some(stride) = even(merged.iter().map(|block| block.offset))
        {
            return Some(Shape::Rows { offset, bytes, count: merged.len() as u64, stride });
        }
        Some(Shape::Blocks { base: 0, blocks: Blocks::new(merged)? })
    }

    pub(super) const fn is_empty(&self) -> bool {
        matches!(self, Shape::Rows { count: 0, .. })
    }

    /// The whole, where it is one run.
    pub(super) const fn as_run(&self) -> Option<Block> {
        match *self {
            Shape::Rows { offset, bytes, count: 1, .. } => Some(Block { offset, bytes }),
            _ => None,
        }
    }

    /// The same, moved.
    pub(super) fn at(mut self, by: i64) -> Shape {
        self.shift(by);
        self
    }

    fn shift(&mut self, by: i64) {
        match self {
            Shape::Rows { offset: base, .. } | Shape::Blocks { base, .. } => *base = base.wrapping_add(by),
            Shape::Loop { inner, .. } | Shape::Groups { inner, .. } => inner.shift(by),
            Shape::Sequence(parts) => parts.iter_mut().for_each(|part| part.shift(by)),
        }
    }

    /// `count` times the same, `stride` bytes apart; `None` where the numbers pass 64 bits.
    pub(super) fn repeat(self, count: u64, stride: i64) -> Option<Shape> {
        if count == 0 || self.is_empty() {
            return Some(Shape::EMPTY);
        }
        if count == 1 {
            return Some(self);
        }
        // Does the next one begin where one more of the inner ones would?
        let goes_on = |inner: u64, step: i64| i64::try_from(inner).ok().and_then(|inner| inner.checked_mul(step)) == Some(stride);
        Some(match self {
            Shape::Rows { offset, bytes, count: 1, .. } if bytes as i64 == stride => {
                let bytes = bytes.checked_mul(count)?;
                Shape::Rows { offset, bytes, count: 1, stride: bytes as i64 }
            }
            Shape::Rows { offset, bytes, count: 1, .. } => Shape::Rows { offset, bytes, count, stride },
            Shape::Rows { offset, bytes, count: inner, stride: step } if goes_on(inner, step) => {
                Shape::Rows { offset, bytes, count: inner.checked_mul(count)?, stride: step }
            }
            Shape::Loop { count: inner_count, stride: step, inner } if goes_on(inner_count, step) => {
                Shape::Loop { count: inner_count.checked_mul(count)?, stride: step, inner }
            }
            inner => Shape::Loop { count, stride, inner: Box::new(inner) },
        })
    }

    /// The same in groups: so many of them, `stride` bytes apart, from each offset on.
    pub(super) fn groups(self, groups: impl IntoIterator<Item = Group>, stride: i64) -> Option<Shape> {
        if self.is_empty() {
            return Some(Shape::EMPTY);
        }
        if let Some(run) = self.as_run()
            && run.bytes as i64 == stride
        {
            let mut fits = true;
            let block = |group: Group| {
                let bytes = run.bytes.checked_mul(group.count);
                fits &= bytes.is_some();
                Block { offset: group.offset.wrapping_add(run.offset), bytes: bytes.unwrap_or(0) }
            };
            let shape = Shape::blocks(groups.into_iter().map(block));
            return shape.filter(|_| fits);
        }
        let mut merged: Vec<Group> = Vec::new();
        for group in groups {
            match merged.last_mut() {
                _ if group.count == 0 => {}
                Some(last) if last.offset.wrapping_add(stride.wrapping_mul(last.count as i64)) == group.offset => {
                    last.count = last.count.checked_add(group.count)?;
                }
                _ => merged.push(group),
            }
        }
        let Some(Group { offset, count }) = merged.first().copied() else { return Some(Shape::EMPTY) };
        if merged.len() == 1 {
            return Some(self.repeat(count, stride)?.at(offset));
        }
        if merged.iter().all(|group| group.count == count) {
            let offsets = || merged.iter().map(|group| group.offset);
            if let Some(step) = even(offsets()) {
                return Some(self.repeat(count, stride)?.repeat(merged.len() as u64, step)?.at(offset));
            }
            if let (Some(run), 1) = (self.as_run(), count) {
                let block = |offset: i64| Block { offset: offset.wrapping_add(run.offset), bytes: run.bytes };
                return Some(Shape::Blocks { base: 0, blocks: Blocks::new(offsets().map(block).collect())? });
            }
        }
        Some(Shape::Groups { groups: merged.into(), stride, inner: Box::new(self) })
    }

    /// One behind the other.
    pub(super) fn sequence(parts: impl IntoIterator<Item = Shape>) -> Option<Shape> {
        let mut flat: Vec<Shape> = Vec::new();
        for part in parts {
            match part {
                Shape::Sequence(inner) => flat.extend(inner),
                part if part.is_empty() => {}
                part => flat.push(part),
            }
        }
        if flat.len() == 1 {
            return flat.pop();
        }
        fn listed(part: &Shape) -> bool {
            part.as_run().is_some() || matches!(part, Shape::Blocks { .. })
        }
        if !flat.iter().all(listed) {
            return Some(Shape::Sequence(flat.into()));
        }
        let mut blocks = Vec::new();
        for part in &flat {
            match part {
                Shape::Blocks { base, blocks: inner } => {
                    blocks
                        .extend(inner.iter().map(|block| Block { offset: base.wrapping_add(block.offset), bytes: block.bytes }));
                }
                run => blocks.extend(run.as_run()),
            }
        }
        Shape::blocks(blocks)
    }

    /// Bytes of data; `None` past 64 bits.
    pub(super) fn size(&self) -> Option<u64> {
        fn sum(mut numbers: impl Iterator<Item = u64>) -> Option<u64> {
            numbers.try_fold(0, u64::checked_add)
        }
        match self {
            Shape::Rows { bytes, count, .. } => bytes.checked_mul(*count),
            Shape::Blocks { blocks, .. } => Some(blocks.bytes()),
            Shape::Loop { count, inner, .. } => inner.size()?.checked_mul(*count),
            Shape::Groups { groups, inner, .. } => inner.size()?.checked_mul(sum(groups.iter().map(|group| group.count))?),
            Shape::Sequence(parts) => parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.size()?)),
        }
    }

    /// Offset of the first byte touched and of the first behind the last one; `None` where one of them passes 64 bits. Of nothing: 0 and 0.
    pub(super) fn bounds(&self) -> Option<(i64, i64)> {
        if self.is_empty() {
            return Some((0, 0));
        }
        let narrow = |(low, high): (i128, i128)| Some((i64::try_from(low).ok()?, i64::try_from(high).ok()?));
        let wide = |(low, high): (i64, i64)| (i128::from(low), i128::from(high));
        let join = |(low, high): (i128, i128), (other_low, other_high)| (low.min(other_low), high.max(other_high));
        let moved = |(low, high): (i128, i128), by: i64| (low + i128::from(by), high + i128::from(by));
        // With strides and counts of 63 bits a product has at most 126.
        let looped = |inner: (i128, i128), count: u64, stride: i64| {
            let last = i128::from(i64::try_from(count - 1).ok()?) * i128::from(stride);
            Some((inner.0 + last.min(0), inner.1 + last.max(0)))
        };
        let run = |offset: i64, bytes: u64| (i128::from(offset), i128::from(offset) + i128::from(bytes));
        const NONE: (i128, i128) = (i128::MAX, i128::MIN);
        narrow(match self {
            Shape::Rows { offset, bytes, count, stride } => looped(run(*offset, *bytes), *count, *stride)?,
            Shape::Blocks { base, blocks } => {
                moved(blocks.iter().map(|block| run(block.offset, block.bytes)).fold(NONE, join), *base)
            }
            Shape::Loop { count, stride, inner } => looped(wide(inner.bounds()?), *count, *stride)?,
            Shape::Groups { groups, stride, inner } => {
                let inner = wide(inner.bounds()?);
                let each = |group: &Group| Some(moved(looped(inner, group.count, *stride)?, group.offset));
                groups.iter().try_fold(NONE, |all, group| Some(join(all, each(group)?)))?
            }
            Shape::Sequence(parts) => parts.iter().try_fold(NONE, |all, part| Some(join(all, wide(part.bounds()?))))?,
        })
    }

    /// Every offset at which a run begins is a multiple of each power of two below the lowest bit that is set here.
    pub(super) fn offset_bits(&self) -> u64 {
        match self {
            Shape::Rows { offset, count: 1, .. } => *offset as u64,
            Shape::Rows { offset, stride, .. } => (*offset | *stride) as u64,
            Shape::Blocks { base, blocks } => blocks.iter().fold(*base as u64, |bits, block| bits | block.offset as u64),
            Shape::Loop { stride, inner, .. } => *stride as u64 | inner.offset_bits(),
            Shape::Groups { groups, stride, inner } => {
                groups.iter().fold(*stride as u64 | inner.offset_bits(), |bits, group| bits | group.offset as u64)
            }
            Shape::Sequence(parts) => parts.iter().fold(0, |bits, part| bits | part.offset_bits()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetition_is_never_spelled_out() {
        let element = Shape::run(8);
        let vector = element.clone().repeat(1_000_000, 16).unwrap();
        assert_eq!(vector, Shape::Rows { offset: 0, bytes: 8, count: 1_000_000, stride: 16 });
        // The next vector goes on where this one's stride would.
        let vectors = vector.repeat(1000, 16_000_000).unwrap();
        assert_eq!(vectors, Shape::Rows { offset: 0, bytes: 8, count: 1_000_000_000, stride: 16 });
        let nested = vectors.repeat(7, 3).unwrap();
        assert!(matches!(&nested, Shape::Loop { count: 7, stride: 3, inner } if matches!(**inner, Shape::Rows { .. })));
        let regular = element.clone().groups((0..1_000_000).map(|index| Group { offset: index * 24, count: 2 }), 8).unwrap();
        assert_eq!(regular, Shape::Rows { offset: 0, bytes: 16, count: 1_000_000, stride: 24 });
        let contiguous = element.repeat(1 << 20, 8).unwrap();
        assert_eq!(contiguous.as_run(), Some(Block { offset: 0, bytes: 8 << 20 }));
    }

    #[test]
    fn what_passes_64_bits_is_refused() {
        assert_eq!(Shape::run(8).repeat(u64::MAX / 4, 8), None);
        let far = Shape::run(8).repeat(1 << 40, 1 << 40).unwrap();
        assert_eq!(far.bounds(), None);
        assert_eq!(Shape::run(8).repeat(1 << 62, 0).and_then(|many| many.size()), None);
        let group = Group { offset: 0, count: u64::MAX / 2 };
        assert_eq!(Shape::run(8).groups([group], 8), None);
    }

    #[test]
    fn bounds_of_strides_that_go_back() {
        let back = Shape::run(4).repeat(5, -12).unwrap();
        assert_eq!((back.bounds(), back.size()), (Some((-48, 4)), Some(20)));
        let both = Shape::sequence([back, Shape::run(2).at(100)]).unwrap();
        assert_eq!((both.bounds(), both.size()), (Some((-48, 102)), Some(22)));
    }
}
