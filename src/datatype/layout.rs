//! The layout of one item of a datatype, and of a buffer of many.

use super::combiner::shape;
use super::cursor::Cursor;
use super::shape::{Block, Blocks, Shape};
use crate::base::combined::Combined;
use crate::base::element::Element;
use core::ffi::c_int;
use core::ops::Deref;
use std::sync::{Arc, LazyLock};

/// What the elements of a datatype have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basics {
    /// There are none.
    Nothing,
    /// All are this one.
    All(Element),
    /// Several, or some that no reduction knows.
    Mixed,
}

impl Basics {
    fn and(self, other: Basics) -> Basics {
        match (self, other) {
            (Basics::Nothing, one) | (one, Basics::Nothing) => one,
            (one, other) if one == other => one,
            _ => Basics::Mixed,
        }
    }
}

/// One item of a datatype.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Its data.
    data: Shape,
    /// Its elements, with the padding in them: what reductions walk through. `None` where no element has any.
    padded: Option<Shape>,
    basics: Basics,
    /// From one item to the next.
    extent: i64,
    size: u64,
    low: i64,
    high: i64,
    /// As [`Shape::offset_bits`].
    offset_bits: u64,
}

impl Layout {
    /// `None` where the numbers pass 64 bits.
    fn new(data: Shape, padded: Option<Shape>, basics: Basics, extent: i64) -> Option<Layout> {
        let (size, (low, high)) = (data.size()?, data.bounds()?);
        if let Some(padded) = &padded {
            padded.size()?;
            padded.bounds()?;
        }
        let offset_bits = padded.as_ref().unwrap_or(&data).offset_bits();
        let basics = if size == 0 { Basics::Nothing } else { basics };
        Some(Layout { data, padded, basics, extent, size, low, high, offset_bits })
    }

    fn whole(bytes: u64, basics: Basics) -> Layout {
        let (extent, high) = (bytes as i64, bytes as i64);
        Layout { data: Shape::run(bytes), padded: None, basics, extent, size: bytes, low: 0, high, offset_bits: 0 }
    }

    /// So many bytes in one piece, of which no reduction knows the elements.
    pub fn contiguous(bytes: u64) -> Layout {
        Layout::whole(bytes, Basics::Mixed)
    }

    /// An element of a predefined type. Padding in it belongs to nobody and is never touched.
    pub fn of(element: Element) -> Layout {
        let basics = Basics::All(element);
        let Some(parts) = parts(element) else { return Layout::whole(element.size() as u64, basics) };
        Layout {
            data: Shape::Blocks { base: 0, blocks: Blocks::of_static(parts) },
            padded: Some(Shape::run(element.extent() as u64)),
            basics,
            extent: element.extent() as i64,
            size: element.size() as u64,
            low: 0,
            high: parts[1].offset + parts[1].bytes as i64,
            offset_bits: 0,
        }
    }

    /// A derived datatype of this extent; `None` where the numbers pass 64 bits.
    pub(super) fn derived<T: Deref<Target = Layout>>(combined: &Combined<T>, extent: i64) -> Option<Layout> {
        let data = shape(combined, |part| (&part.data, part.extent))?;
        let mut basics = Basics::Nothing;
        let mut is_padded = false;
        combined.for_each_part(|part| {
            basics = basics.and(part.basics);
            is_padded |= part.padded.is_some();
        });
        let padded = match is_padded {
            true => Some(shape(combined, |part| (part.padded.as_ref().unwrap_or(&part.data), part.extent))?),
            false => None,
        };
        Layout::new(data, padded, basics, extent)
    }

    /// Bytes of data.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// Value and index of a pair with padding; `None` for every other element.
pub const fn parts(element: Element) -> Option<&'static [Block; 2]> {
    const INDEX: u64 = size_of::<c_int>() as u64;
    const fn pair(value: u64, index_at: i64) -> [Block; 2] {
        [Block { offset: 0, bytes: value }, Block { offset: index_at, bytes: INDEX }]
    }
    const SHORT_INT: [Block; 2] = pair(2, 4);
    const EIGHT_INT: [Block; 2] = pair(8, 8);
    const LONG_DOUBLE_INT: [Block; 2] = pair(16, 16);
    match element {
        Element::ShortInt => Some(&SHORT_INT),
        // Their padding is behind the index.
        Element::DoubleInt | Element::LongInt => Some(&EIGHT_INT),
        Element::LongDoubleInt => Some(&LONG_DOUBLE_INT),
        _ => None,
    }
}

static LAYOUTS: LazyLock<Vec<Layout>> = LazyLock::new(|| Element::ALL.iter().copied().map(Layout::of).collect());

/// Lays out the predefined types, so that no operation has to.
pub(super) fn prepare() {
    LazyLock::force(&LAYOUTS);
}

/// A layout for as long as it is needed.
#[derive(Clone, Debug)]
pub enum Held {
    /// Of a predefined type.
    Predefined(&'static Layout),
    /// Of a derived one; it outlives the datatype.
    Derived(Arc<Layout>),
}

impl Held {
    /// Of a predefined type that is this element.
    #[inline]
    pub fn of(element: Element) -> Held {
        Held::Predefined(&LAYOUTS[element as usize])
    }
}

impl Deref for Held {
    type Target = Layout;

    #[inline]
    fn deref(&self) -> &Layout {
        match self {
            Held::Predefined(layout) => layout,
            Held::Derived(layout) => layout,
        }
    }
}

/// A buffer: so many items of a datatype.
#[derive(Clone, Debug)]
pub struct Items {
    layout: Held,
    count: u64,
    size: u64,
    low: i64,
    high: i64,
}

impl Items {
    /// `None` where the numbers pass 64 bits.
    pub fn new(layout: Held, count: u64) -> Option<Items> {
        let size = layout.size.checked_mul(count)?;
        if size == 0 {
            return Some(Items { layout, count: 0, size: 0, low: 0, high: 0 });
        }
        let last = i64::try_from(count - 1).ok()?.checked_mul(layout.extent)?;
        if let Some(padded) = &layout.padded {
            // It is walked through, too.
            padded.size()?.checked_mul(count)?;
        }
        let (low, high) = (layout.low.checked_add(last.min(0))?, layout.high.checked_add(last.max(0))?);
        Some(Items { layout, count, size, low, high })
    }

    /// Bytes of data.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Offset of the first byte touched; may be negative.
    #[inline]
    pub fn low(&self) -> i64 {
        self.low
    }

    /// Offset of the first byte behind the last one touched.
    #[inline]
    pub fn high(&self) -> i64 {
        self.high
    }

    /// All of it, where that is one run without padding.
    pub fn as_run(&self) -> Option<Block> {
        let run = self.layout.data.as_run()?;
        let is_one = self.count == 1 || run.bytes as i64 == self.layout.extent;
        (is_one && self.layout.padded.is_none() && self.size > 0).then_some(Block { offset: run.offset, bytes: self.size })
    }

    /// Through the data.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor::new(&self.layout.data, self.count, self.layout.extent)
    }

    /// Through the elements: runs of whole ones, padding in them included.
    pub fn elements(&self) -> Cursor<'_> {
        Cursor::new(self.layout.padded.as_ref().unwrap_or(&self.layout.data), self.count, self.layout.extent)
    }

    /// What all elements are, if there are any and a reduction knows them; `Err` where they are not the same.
    pub fn element(&self) -> Result<Option<Element>, NotAlike> {
        match self.layout.basics {
            _ if self.size == 0 => Ok(None),
            Basics::Nothing => Ok(None),
            Basics::All(element) => Ok(Some(element)),
            Basics::Mixed => Err(NotAlike),
        }
    }

    /// Do all elements begin at multiples of their size (a power of two), if the buffer's address is one? May say no although they do.
    pub fn is_aligned(&self, size: usize) -> bool {
        let between = if self.count > 1 { self.layout.extent as u64 } else { 0 };
        (self.layout.offset_bits | between) & (size as u64 - 1) == 0
    }
}

/// A datatype has elements of several kinds.
#[derive(Clone, Copy, Debug)]
pub struct NotAlike;
