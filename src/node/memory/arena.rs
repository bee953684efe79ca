//! A segment that holds many blocks: which of its pages are in blocks, and which of them are reserved.
//!
//! Pages of freed blocks stay reserved for a while (*idle*), so that a program which makes and frees windows in a loop makes no system
//! call; the heap says when to give them back. All book-keeping is private memory, where no stray store of a program reaches it.

use std::ops::Range;
use std::sync::Arc;

use offset_allocator::{Allocation, Allocator};

use super::error::MemoryError;
use super::mapped::Listed;
use super::pages::Pages;
use super::segment::{Kind, page};

pub(super) struct Arena {
    segment: Arc<Listed>,
    pages: u32,
    free: Allocator,
    /// Pages of blocks. Always reserved.
    used: Pages,
    reserved: Pages,
}

/// Consecutive pages of an arena that belong to a block.
pub(super) struct Run {
    allocation: Allocation,
    pages: Range<u32>,
}

impl Arena {
    /// An arena of at least `size` bytes, nothing of it reserved.
    pub(super) fn create(size: usize) -> Result<Self, MemoryError> {
        /// The allocator's own table takes 36 bytes for each block or gap there can be.
        const MOST_PIECES: u32 = 64 << 10;
        let segment = Listed::create(size, Kind::Arena)?;
        let pages = ((segment.size() - page()) / page()) as u32;
        // A piece is at least a page; two more that the allocator never gives out.
        let free = Allocator::with_max_allocs(pages, pages.min(MOST_PIECES) + 2);
        Ok(Self { segment, pages, free, used: Pages::none_of(pages), reserved: Pages::none_of(pages) })
    }

    pub(super) fn segment(&self) -> &Arc<Listed> {
        &self.segment
    }

    /// Takes pages for `size` bytes at a multiple of `align` (at least a page) and reserves them; `Ok(None)` if the arena is too full.
    pub(super) fn take(&mut self, size: usize, align: usize) -> Result<Option<(Run, usize)>, MemoryError> {
        let count = size.div_ceil(page());
        let slack = align / page() - 1;
        let Some(allocation) = u32::try_from(count + slack).ok().and_then(|pages| self.free.allocate(pages)) else {
            return Ok(None);
        };
        // The address is what has to be aligned, and the segment lies at any page. The slack costs addresses but no memory.
        let address = self.address(allocation.offset).next_multiple_of(align);
        let first = ((address - self.segment.data()) / page()) as u32;
        let pages = first..first + count as u32;
        if let Err(error) = self.reserve(pages.clone()) {
            self.free.free(allocation);
            return Err(error);
        }
        self.used.insert(pages.clone());
        Ok(Some((Run { allocation, pages }, address)))
    }

    /// Takes a block's pages back. They stay reserved.
    pub(super) fn put(&mut self, run: &Run) {
        self.used.remove(run.pages.clone());
        self.free.free(run.allocation);
    }

    /// Whether no block is left.
    pub(super) fn is_empty(&self) -> bool {
        self.used.count() == 0
    }

    /// Bytes in pages of blocks.
    pub(super) fn used(&self) -> usize {
        self.used.count() * page()
    }

    /// Bytes that are reserved though no block uses them.
    pub(super) fn idle(&self) -> usize {
        (self.reserved.count() - self.used.count()) * page()
    }

    /// Gives back up to `bytes` of idle memory; returns how much is known to be given back.
    pub(super) fn trim(&mut self, bytes: usize) -> usize {
        let (mut at, mut given) = (0, 0);
        while given < bytes
            && let Some(run) = self.reserved.run_without(&self.used, at..self.pages)
        {
            let wanted = (bytes - given).div_ceil(page()).min(run.len());
            let run = run.start..run.start + wanted as u32;
            at = run.end;
            if self.segment.discard(self.address(run.start), run.len() * page()).is_err() {
                break;
            }
            given += run.len() * page();
            self.reserved.remove(run);
        }
        given
    }

    /// Runs of pages of blocks, in order, as addresses. Allocates nothing.
    pub(super) fn used_ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let run = self.used.run(at..self.pages)?;
            at = run.end;
            Some(self.address(run.start)..self.address(run.end))
        })
    }

    fn reserve(&mut self, pages: Range<u32>) -> Result<(), MemoryError> {
        let mut at = pages.start;
        while let Some(gap) = self.reserved.gap(at..pages.end) {
            self.segment.reserve(self.address(gap.start), gap.len() * page())?;
            at = gap.end;
            // What came before a failure stays reserved, as idle pages.
            self.reserved.insert(gap);
        }
        Ok(())
    }

    fn address(&self, page_number: u32) -> usize {
        self.segment.data() + page_number as usize * page()
    }
}
