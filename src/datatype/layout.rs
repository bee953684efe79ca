//! Layouts of predefined types, and moving bytes between two of them.

use crate::base::element::Element;
use core::ffi::c_int;
use core::ptr;

/// A run of bytes at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// From the element's beginning.
    offset: u64,
    /// Length in bytes.
    length: u64,
}

/// One item of a datatype: `elements` elements, each of one or two runs, `extent` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    runs: [Run; 2],
    run_count: usize,
    extent: u64,
    elements: u64,
}

impl Layout {
    /// `bytes` in one piece.
    pub const fn contiguous(bytes: u64) -> Layout {
        let run = Run { offset: 0, length: bytes };
        Layout { runs: [run, run], run_count: 1, extent: bytes, elements: 1 }
    }

    /// An element of a predefined type. Padding in it belongs to nobody and is never touched.
    pub const fn of(element: Element) -> Layout {
        let index_length = size_of::<c_int>() as u64;
        let index_at = match element {
            Element::ShortInt => 4,
            Element::DoubleInt | Element::LongInt => 8,
            Element::LongDoubleInt => 16,
            whole => return Layout::contiguous(whole.size() as u64),
        };
        let value = Run { offset: 0, length: element.size() as u64 - index_length };
        let index = Run { offset: index_at, length: index_length };
        Layout { runs: [value, index], run_count: 2, extent: element.extent() as u64, elements: 1 }
    }

    /// `count` items one behind the other; `None` where the numbers pass 64 bits.
    pub const fn repeat(mut self, count: u64) -> Option<Layout> {
        match self.elements.checked_mul(count) {
            Some(elements) => {
                self.elements = elements;
                match self.extent.checked_mul(elements) {
                    Some(extent) if extent <= i64::MAX as u64 => Some(self),
                    _ => None,
                }
            }
            None => None,
        }
    }

    /// Bytes of data.
    pub fn size(&self) -> u64 {
        self.runs[..self.run_count].iter().map(|run| run.length).sum::<u64>() * self.elements
    }

    /// Bytes from the first to the last one touched.
    pub fn span(&self) -> u64 {
        let last = self.runs[self.run_count - 1];
        match self.elements {
            0 => 0,
            elements => (elements - 1) * self.extent + last.offset + last.length,
        }
    }

    /// In one piece?
    pub fn is_contiguous(&self) -> bool {
        self.run_count == 1 && self.runs[0].length == self.extent
    }

    /// The run that contains the data byte `position`, from there on: its offset in memory and its length.
    fn run_at(&self, position: u64) -> Run {
        if self.is_contiguous() {
            return Run { offset: position, length: self.extent * self.elements - position };
        }
        let element_size = self.size() / self.elements;
        let (element, mut within) = (position / element_size, position % element_size);
        for run in &self.runs[..self.run_count] {
            if within < run.length {
                return Run { offset: element * self.extent + run.offset + within, length: run.length - within };
            }
            within -= run.length;
        }
        unreachable!("a position inside the element lies in one of its runs")
    }
}

/// Calls `each` with every piece of two layouts of equal size that is one run in both: its offset in the first, in the second, and its length.
pub fn pieces<E>(first: &Layout, second: &Layout, mut each: impl FnMut(u64, u64, u64) -> Result<(), E>) -> Result<(), E> {
    let size = first.size();
    let mut position = 0;
    while position < size {
        let (one, other) = (first.run_at(position), second.run_at(position));
        let length = one.length.min(other.length);
        each(one.offset, other.offset, length)?;
        position += length;
    }
    Ok(())
}

/// Moves the data of one layout into another of equal size, run by run.
///
/// # Safety
/// `from` and `to` are valid for the spans of their layouts, and `from_layout.size() == to_layout.size()`. Another process may write there
/// too: only raw copies are made.
pub unsafe fn transfer(from: *const u8, from_layout: &Layout, to: *mut u8, to_layout: &Layout) {
    let Ok(()) = pieces(from_layout, to_layout, |source, sink, length| {
        // SAFETY: both runs lie inside the spans that the caller vouches for.
        unsafe { ptr::copy(from.add(source as usize), to.add(sink as usize), length as usize) };
        Ok::<(), core::convert::Infallible>(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn padding_is_neither_read_nor_written() {
        let layout = Layout::of(Element::ShortInt).repeat(2).unwrap();
        let from: Vec<u8> = (1..=16).collect();
        let mut to = vec![0; 16];
        // SAFETY: both hold the layout's span.
        unsafe { transfer(from.as_ptr(), &layout, to.as_mut_ptr(), &layout) };
        assert_eq!(to, [1, 2, 0, 0, 5, 6, 7, 8, 9, 10, 0, 0, 13, 14, 15, 16]);
        assert_eq!((layout.size(), layout.span()), (12, 16));
        let layout = Layout::of(Element::DoubleInt).repeat(2).unwrap();
        assert_eq!((layout.size(), layout.span(), layout.is_contiguous()), (24, 28, false));
    }

    #[test]
    fn nothing_of_nothing() {
        let none = Layout::of(Element::DoubleInt).repeat(0).unwrap();
        assert_eq!((none.size(), none.span()), (0, 0));
        assert!(Layout::contiguous(8).repeat(u64::MAX / 4).is_none());
        assert!(Layout::contiguous(8).repeat(1 << 60).is_none(), "an extent past what a displacement can name");
    }

    /// As C structures: bytes of the value, offset of the index, extent.
    const PAIRS: [(Element, u64, u64, u64); 5] = [
        (Element::ShortInt, 2, 4, 8),
        (Element::DoubleInt, 8, 8, 16),
        (Element::LongInt, 8, 8, 16),
        (Element::FloatInt, 4, 4, 8),
        (Element::LongDoubleInt, 16, 16, 32),
    ];

    /// Offsets of the data bytes in order, spelled out.
    fn naive((_, value, index, extent): (Element, u64, u64, u64), count: u64) -> Vec<u64> {
        (0..count).flat_map(|element| (0..value).chain(index..index + 4).map(move |byte| element * extent + byte)).collect()
    }

    proptest! {
        #[test]
        fn bytes_go_where_the_type_map_says(first in 0..5usize, second in 0..5usize, count in 0..20u64) {
            // Two layouts of equal size: as many bytes of the second as the first has, where that comes out even.
            let from = Layout::of(PAIRS[first].0).repeat(count).unwrap();
            let element = Layout::of(PAIRS[second].0);
            prop_assume!(from.size().is_multiple_of(element.size()));
            let to_count = from.size() / element.size();
            let to = element.repeat(to_count).unwrap();
            let source: Vec<u8> = (0..from.span()).map(|byte| byte as u8 ^ 0x5a).collect();
            let mut sink = vec![0xee; to.span() as usize];
            let mut expected = sink.clone();
            for (read, written) in naive(PAIRS[first], count).into_iter().zip(naive(PAIRS[second], to_count)) {
                expected[written as usize] = source[read as usize];
            }
            // SAFETY: both hold the spans of their layouts, whose sizes are equal.
            unsafe { transfer(source.as_ptr(), &from, sink.as_mut_ptr(), &to) };
            prop_assert_eq!(sink, expected);
        }
    }
}
