//! A table from addresses of objects to what is known of them, for Open MPI's predefined handles. These are objects in the library's data,
//! or copies in the program's: far fewer than slots, but nobody knows beforehand where. Some bits of an address say where to begin to look;
//! which ones tell the objects apart best, mostly at the first look, is found when the table is filled.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

struct Slot {
    address: AtomicUsize,
    word: AtomicU64,
}

pub(super) struct Addresses<const SLOTS: usize> {
    shift: AtomicU32,
    slots: [Slot; SLOTS],
}

impl<const SLOTS: usize> Addresses<SLOTS> {
    pub(super) const fn new() -> Addresses<SLOTS> {
        const { assert!(SLOTS.is_power_of_two()) };
        let slots = [const { Slot { address: AtomicUsize::new(0), word: AtomicU64::new(0) } }; SLOTS];
        Addresses { shift: AtomicU32::new(0), slots }
    }

    fn index(address: usize, shift: u32) -> usize {
        (address >> shift) % SLOTS
    }

    /// What is known of the object at an address; never of 0.
    #[inline(always)]
    pub(super) fn find(&self, address: usize) -> Option<u64> {
        let mut index = Self::index(address, self.shift.load(Relaxed));
        loop {
            let slot = &self.slots[index];
            // Pairs with the release in `fill`: the word is there when the address is seen.
            match slot.address.load(Acquire) {
                0 => return None,
                known if known == address => return Some(slot.word.load(Relaxed)),
                _ => index = (index + 1) % SLOTS,
            }
        }
    }

    /// Called once, with fewer objects than slots. Where two have the same address, the first one's word stays.
    pub(super) fn fill(&self, objects: &[(usize, u64)]) {
        assert!(objects.len() < SLOTS, "an empty slot ends every search");
        let clashes = |shift: &u32| {
            let mut indices: Vec<usize> = objects.iter().map(|(address, _)| Self::index(*address, *shift)).collect();
            indices.sort_unstable();
            indices.windows(2).filter(|pair| pair[0] == pair[1]).count()
        };
        let shift = (3..=12).min_by_key(clashes).expect("there are shifts");
        self.shift.store(shift, Relaxed);
        for (address, word) in objects {
            let mut index = Self::index(*address, shift);
            loop {
                let slot = &self.slots[index];
                match slot.address.load(Relaxed) {
                    0 => {
                        slot.word.store(*word, Relaxed);
                        slot.address.store(*address, Release);
                        break;
                    }
                    known if known == *address => break,
                    _ => index = (index + 1) % SLOTS,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_object_is_found_and_nothing_else(addresses in prop::collection::vec(1..1usize << 20, 0..63), others in prop::collection::vec(0..1usize << 20, 100)) {
            let table = Addresses::<64>::new();
            let objects: Vec<(usize, u64)> = addresses.iter().zip(100..).map(|(address, word)| (address * 8, word)).collect();
            table.fill(&objects);
            for address in addresses.iter().chain(&others) {
                let known = objects.iter().find(|(known, _)| *known == address * 8).map(|(_, word)| *word);
                prop_assert_eq!(table.find(address * 8), known);
            }
        }
    }
}
