//! The memory that ranks of a node share: blocks of one process that its peers map.
//!
//! A block is [`allocate`]d by its owner, named by its [`Location`], and reached by peers through [`map`]:
//!
//! ```
//! use transom::node::memory;
//!
//! let block = memory::allocate(4096, 64)?;
//! let location = block.location(); // plain bytes: send it to the peers
//!
//! // In a peer, or here: the owner finds its own mapping.
//! let mapping = memory::map(&location.segment)?;
//! let there = mapping.at(location.offset, 4096).expect("inside the segment");
//! assert_eq!(there, block.address());
//!
//! // What lies where? For MPI_Win_create on memory that is shared already.
//! assert_eq!(memory::locate(there.as_ptr(), 4096), Some(location));
//!
//! // Memory known by its address alone, as MPI_Alloc_mem gives it.
//! let raw = memory::allocate_raw(100, 64)?;
//! assert!(memory::locate(raw.as_ptr(), 100).is_some());
//! assert!(memory::free_raw(raw.as_ptr()));
//! assert!(!memory::free_raw(raw.as_ptr()), "not a block any more");
//! # Ok::<(), memory::MemoryError>(())
//! ```
//!
//! Order of locks: blocks by address, heap of windows, heap of `MPI_Alloc_mem`, table of mappings.

mod arena;
mod error;
mod fork;
mod generation;
mod headroom;
mod heap;
mod lock;
mod mapped;
mod pages;
mod raw;
mod segment;
mod slab;
#[cfg(test)]
mod testing;

pub use error::MemoryError;
pub use heap::Block;
pub use mapped::{Location, Mapping};
pub use segment::SegmentName;

use std::ptr::NonNull;
use std::sync::Arc;

/// Every block begins at a multiple of this and has its cache lines to itself.
pub const LINE: usize = 64;

/// The largest alignment that can be asked for.
pub const MAX_ALIGN: usize = 1 << 30;

// The doors of the room. Each sees to forks before a lock is taken or anything mapped. Drops need not: what they end came through a door.
// Where the handlers cannot be registered nothing is shared, and there is nothing to find or free.

/// A block of at least `size` bytes at a multiple of `align` (a power of two; at least [`LINE`] is given, and a page from a page's size
/// on). Size 0 is allowed and gives an address of its own. Contents are undefined. The memory is reserved, unless it is more than
/// 1 GiB. Small blocks cost no system call once the heap is warm.
pub fn allocate(size: usize, align: usize) -> Result<Block, MemoryError> {
    fork::watch()?;
    heap::WINDOWS.allocate(size, align)
}

/// Memory of `size` bytes at a multiple of `align` (at least 64) that belongs to the caller until [`free_raw`]. Peers map it where
/// [`locate`] says it lies.
pub fn allocate_raw(size: usize, align: usize) -> Result<NonNull<u8>, MemoryError> {
    fork::watch()?;
    raw::allocate(size, align)
}

/// Frees what [`allocate_raw`] returned; false, and nothing done, if `address` is not exactly such a block's.
pub fn free_raw(address: *const u8) -> bool {
    fork::watch().is_ok() && raw::free(address)
}

/// Where `[address, address + size)` lies, if one segment that this process has mapped, its own or a peer's, contains all of it.
pub fn locate(address: *const u8, size: usize) -> Option<Location> {
    fork::watch().ok()?;
    mapped::locate(address, size)
}

/// Maps a peer's segment, or finds it mapped already; a segment of this process answers with the mapping that it has.
pub fn map(name: &SegmentName) -> Result<Arc<Mapping>, MemoryError> {
    fork::watch()?;
    mapped::map(name)
}
