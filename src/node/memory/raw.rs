//! Blocks known by their address alone, for `MPI_Alloc_mem` and `MPI_Free_mem`.

use std::collections::BTreeMap;
use std::ptr::NonNull;

use super::error::MemoryError;
use super::heap::{Block, RAW};
use super::lock::Lock;

pub(super) type Blocks = BTreeMap<usize, Block>;

pub(super) static BLOCKS: Lock<Blocks> = Lock::new(BTreeMap::new());

/// See [`allocate_raw`](super::allocate_raw).
pub(super) fn allocate(size: usize, align: usize) -> Result<NonNull<u8>, MemoryError> {
    let block = RAW.allocate(size, align)?;
    let address = block.address();
    // Dropped outside should the table refuse it.
    let mut blocks = BLOCKS.enter().ok_or(MemoryError::Reentered)?;
    blocks.insert(address.as_ptr() as usize, block);
    Ok(address)
}

/// See [`free_raw`](super::free_raw).
pub(super) fn free(address: *const u8) -> bool {
    let block = BLOCKS.enter().and_then(|mut blocks| blocks.remove(&(address as usize)));
    block.is_some()
}

#[cfg(test)]
mod tests {
    use super::super::{allocate, allocate_raw, free_raw, locate};

    #[test]
    fn raw_memory_is_freed_by_its_first_address_only() {
        // Of several, most do not begin with a page.
        let blocks = [1000, 1000, 1000, 5000, 70 << 20].map(|size| allocate_raw(size, 64).unwrap().as_ptr().cast_const());
        let window = allocate(64, 64).unwrap();
        for address in blocks {
            assert!(locate(address, 1000).is_some());
            for other in [address.wrapping_add(64), address.wrapping_sub(64), address.wrapping_add(4096), std::ptr::null()] {
                assert!(blocks.contains(&other) || !free_raw(other), "{other:?} is not the first byte of a block");
            }
            assert!(!free_raw(window.address().as_ptr()), "a window's memory is not raw memory");
        }
        for address in blocks {
            assert!(free_raw(address));
            assert!(!free_raw(address), "freed already");
        }
    }
}
