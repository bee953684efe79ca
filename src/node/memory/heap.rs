//! Blocks: memory of this process that peers may map.
//!
//! | block | where it lies | reserved | given back |
//! |---|---|---|---|
//! | up to 2 KiB | a slot of a slab | with its slab | with its slab |
//! | up to 64 MiB | pages of an arena | when made | beyond 32 MiB of idle pages |
//! | up to 1 GiB | a segment of its own | when made | when freed |
//! | larger | a segment of its own | page by page at first touch, as on the hosts | when freed |
//!
//! Arenas begin with 4 MiB of addresses and double up to 1 GiB, so few descriptors serve any number of blocks.

use std::ptr::NonNull;
use std::sync::Arc;

use super::arena::{Arena, Run};
use super::error::MemoryError;
use super::lock::Lock;
use super::mapped::Location;
use super::segment::{Kind, Segment, page};
use super::slab::{Class, SPAN, Slabs, Slot};
use super::{LINE, MAX_ALIGN, fork};

const FIRST_ARENA: usize = 4 << 20;
const LARGEST_ARENA: usize = 1 << 30;
/// Larger blocks get a segment of their own.
pub(super) const LARGEST_IN_ARENA: usize = 64 << 20;
/// Larger blocks are not reserved.
const LARGEST_RESERVED: usize = 1 << 30;
/// Idle pages beyond this are given back, down to half of it.
const IDLE_LIMIT: usize = 32 << 20;

/// Blocks of one purpose. Windows and `MPI_Alloc_mem` have a heap each, since a forked child is to have a snapshot of the latter.
pub(super) struct Heap {
    pub(super) state: Lock<State>,
}

pub(super) struct State {
    arenas: Vec<Option<Arena>>,
    slabs: Slabs,
    /// That of the process which made the arenas.
    generation: u32,
}

/// A block of this process's shared memory. Freed when dropped.
pub struct Block {
    address: NonNull<u8>,
    size: usize,
    place: Place,
    segment: Arc<Segment>,
    heap: &'static Heap,
}

// SAFETY: a block is an address range with a lock-protected place in its heap; what is stored in it is its users' affair.
unsafe impl Send for Block {}
// SAFETY: as for `Send`; a shared block only tells address, size and location.
unsafe impl Sync for Block {}

enum Place {
    Slot(Slot),
    Pages { arena: u32, run: Run },
    Whole,
}

impl Heap {
    pub(super) const fn new() -> Self {
        Self { state: Lock::new(State { arenas: Vec::new(), slabs: Slabs::new(), generation: 0 }) }
    }

    pub(super) fn allocate(&'static self, size: usize, align: usize) -> Result<Block, MemoryError> {
        if !align.is_power_of_two() || align > MAX_ALIGN {
            return Err(MemoryError::Alignment { align });
        }
        let class = Class::of(size, align);
        let align = if class.is_some() { align.max(LINE) } else { align.max(page()) };
        let (place, address, segment) = if class.is_none() && size > LARGEST_IN_ARENA {
            let (address, segment) = whole(size, align)?;
            (Place::Whole, address, segment)
        } else {
            let mut state = self.state.enter().ok_or(MemoryError::Reentered)?;
            state.disown_inherited();
            match class {
                Some(class) => state.small(class)?,
                None => state.pages(size, align)?,
            }
        };
        let Some(address) = NonNull::new(address as *mut u8) else { unreachable!("a mapping at address 0") };
        Ok(Block { address, size, place, segment, heap: self })
    }
}

impl Block {
    /// The first byte. Its contents are undefined: a block may have been another's.
    pub fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// As asked for.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Where peers find it.
    pub fn location(&self) -> Location {
        Location { segment: *self.segment.name(), offset: (self.address.as_ptr() as usize - self.segment.base()) as u64 }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // A child's copy of its parent's block: the arena is not in use here any more.
        if self.segment.is_inherited() {
            return;
        }
        // A signal handler that interrupts the heap and frees a block leaks it.
        if let Some(mut state) = self.heap.state.enter() {
            match &self.place {
                Place::Slot(slot) => {
                    if let Some((arena, run)) = state.slabs.put(*slot) {
                        state.put_pages(arena, &run);
                    }
                }
                Place::Pages { arena, run } => state.put_pages(*arena, run),
                Place::Whole => {}
            }
        }
    }
}

/// A segment for one large block.
fn whole(size: usize, align: usize) -> Result<(usize, Arc<Segment>), MemoryError> {
    let too_large = MemoryError::NoMemory { bytes: size as u64, what: "size", errno: libc::EOVERFLOW };
    let segment = Segment::create(size.checked_add(align - page()).ok_or(too_large)?, Kind::Block)?;
    let address = segment.data().next_multiple_of(align);
    if size <= LARGEST_RESERVED {
        segment.reserve(address, size.next_multiple_of(page()))?;
    }
    Ok((address, segment))
}

impl State {
    pub(super) fn arenas(&self) -> impl Iterator<Item = &Arena> {
        self.arenas.iter().flatten()
    }

    /// In a forked child, leaves the parent's arenas alone for good: blocks of them may be in use.
    fn disown_inherited(&mut self) {
        if self.generation != fork::generation() {
            self.generation = fork::generation();
            std::mem::forget(std::mem::take(&mut self.arenas));
            self.slabs = Slabs::new();
        }
    }

    fn small(&mut self, class: Class) -> Result<(Place, usize, Arc<Segment>), MemoryError> {
        let (slot, arena, address) = match self.slabs.take(class) {
            Some(found) => found,
            None => {
                let span = SPAN.max(page());
                let (arena, run, address) = self.take_pages(span, page())?;
                self.slabs.open(class, arena, run, address, span);
                let Some(found) = self.slabs.take(class) else { unreachable!("a new slab without a slot") };
                found
            }
        };
        Ok((Place::Slot(slot), address, self.segment_of(arena)))
    }

    fn pages(&mut self, size: usize, align: usize) -> Result<(Place, usize, Arc<Segment>), MemoryError> {
        let (arena, run, address) = self.take_pages(size, align)?;
        Ok((Place::Pages { arena, run }, address, self.segment_of(arena)))
    }

    fn take_pages(&mut self, size: usize, align: usize) -> Result<(u32, Run, usize), MemoryError> {
        for (id, arena) in self.arenas.iter_mut().enumerate() {
            if let Some(arena) = arena
                && let Some((run, address)) = arena.take(size, align)?
            {
                return Ok((id as u32, run, address));
            }
        }
        let mut arena = self.new_arena(size + align)?;
        let Some((run, address)) = arena.take(size, align)? else { unreachable!("a new arena without room") };
        let id = self.arenas.iter().position(Option::is_none).unwrap_or(self.arenas.len());
        if id == self.arenas.len() {
            self.arenas.push(Some(arena));
        } else {
            self.arenas[id] = Some(arena);
        }
        Ok((id as u32, run, address))
    }

    fn new_arena(&self, need: usize) -> Result<Arena, MemoryError> {
        let largest = self.arenas().map(|arena| arena.segment().size()).max().unwrap_or(0);
        // Of a new arena the allocator finds runs of up to 8/9 (it rounds sizes to eighths of a power of two).
        let least = (need + need / 4 + 2 * SPAN).next_multiple_of(page());
        let good =
            (2 * largest).next_power_of_two().max(4 * need.next_power_of_two()).clamp(FIRST_ARENA, LARGEST_ARENA).max(least);
        // Where addresses are limited (RLIMIT_AS), a small arena is better than none.
        Arena::create(good - page()).or_else(|error| if error.is_exhaustion() { Arena::create(least) } else { Err(error) })
    }

    fn put_pages(&mut self, id: u32, run: &Run) {
        let Some(arena) = self.arenas[id as usize].as_mut() else {
            return;
        };
        arena.put(run);
        // One empty arena stays for the next block.
        if arena.is_empty() && self.arenas().filter(|arena| arena.is_empty()).count() > 1 {
            self.arenas[id as usize] = None;
        }
        let idle: usize = self.arenas().map(Arena::idle).sum();
        if idle > IDLE_LIMIT {
            let mut excess = idle - IDLE_LIMIT / 2;
            for arena in self.arenas.iter_mut().rev().flatten() {
                excess -= arena.trim(excess).min(excess);
            }
        }
    }

    fn segment_of(&self, arena: u32) -> Arc<Segment> {
        let Some(arena) = &self.arenas[arena as usize] else { unreachable!("a block in an arena that is gone") };
        Arc::clone(arena.segment())
    }
}
