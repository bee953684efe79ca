//! Small blocks: spans of pages, each cut into slots of one size.
//!
//! Slot sizes are multiples of a cache line, so blocks never share one. A slot is named by its slab and number: freeing searches
//! nothing.

use std::collections::BTreeSet;

use super::arena::Run;

/// Four sizes to a doubling: at most a fifth of a slot is wasted above 512 bytes.
const SIZES: [usize; 16] = [64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048];

/// Size of a slab (a page where pages are larger).
pub(super) const SPAN: usize = 16 << 10;

/// Index into [`SIZES`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Class(usize);

impl Class {
    /// The class for blocks of `size` bytes at multiples of `align`; `None` if they are too large for slabs.
    pub(super) fn of(size: usize, align: usize) -> Option<Self> {
        SIZES.iter().position(|&slot| slot >= size && slot.is_multiple_of(align)).map(Self)
    }
}

/// Where a small block lies.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    slab: u32,
    number: u32,
}

struct Slab {
    class: Class,
    arena: u32,
    run: Run,
    address: usize,
    slots: u32,
    taken: u32,
    /// A bit for each free slot.
    free: Box<[u64]>,
}

pub(super) struct Slabs {
    slabs: Vec<Option<Slab>>,
    vacant: Vec<u32>,
    /// Slabs of each class that have a free slot. The lowest is used first, so that others run empty.
    open: [BTreeSet<u32>; SIZES.len()],
}

impl Slabs {
    pub(super) const fn new() -> Self {
        Self { slabs: Vec::new(), vacant: Vec::new(), open: [const { BTreeSet::new() }; SIZES.len()] }
    }

    /// A slot of an open slab, the arena it lies in, and its address.
    pub(super) fn take(&mut self, class: Class) -> Option<(Slot, u32, usize)> {
        let id = *self.open[class.0].first()?;
        let slab = self.slabs[id as usize].as_mut()?;
        let word = slab.free.iter().position(|&word| word != 0)?;
        let number = word as u32 * 64 + slab.free[word].trailing_zeros();
        slab.free[word] &= slab.free[word] - 1;
        slab.taken += 1;
        if slab.taken == slab.slots {
            self.open[class.0].remove(&id);
        }
        Some((Slot { slab: id, number }, slab.arena, slab.address + number as usize * SIZES[class.0]))
    }

    /// Cuts a run of `size` bytes at `address` into slots.
    pub(super) fn open(&mut self, class: Class, arena: u32, run: Run, address: usize, size: usize) {
        let slots = (size / SIZES[class.0]) as u32;
        let mut free = vec![u64::MAX; slots.div_ceil(64) as usize].into_boxed_slice();
        if let (rest @ 1.., Some(last)) = (slots % 64, free.last_mut()) {
            *last = u64::MAX >> (64 - rest);
        }
        let slab = Slab { class, arena, run, address, slots, taken: 0, free };
        let id = self.vacant.pop().unwrap_or_else(|| {
            self.slabs.push(None);
            self.slabs.len() as u32 - 1
        });
        self.slabs[id as usize] = Some(slab);
        self.open[class.0].insert(id);
    }

    /// Takes a block back. If its slab ran empty and another of the class is open, the slab's pages are handed back with their arena.
    pub(super) fn put(&mut self, slot: Slot) -> Option<(u32, Run)> {
        let place = &mut self.slabs[slot.slab as usize];
        let slab = place.as_mut()?;
        slab.free[slot.number as usize / 64] |= 1 << (slot.number % 64);
        slab.taken -= 1;
        let open = &mut self.open[slab.class.0];
        open.insert(slot.slab);
        // The last slab of a class stays: a lone window made and freed in a loop would open and close it each time.
        if slab.taken > 0 || open.len() == 1 {
            return None;
        }
        open.remove(&slot.slab);
        self.vacant.push(slot.slab);
        place.take().map(|slab| (slab.arena, slab.run))
    }
}

#[cfg(test)]
mod tests {
    use super::super::arena::Arena;
    use super::super::testing::watch_forks;
    use super::*;

    #[test]
    fn a_class_fits_and_no_smaller_one_does() {
        for align in (0..13).map(|shift| 1 << shift) {
            for size in 0..2200 {
                let fits = |slot: usize| slot >= size && slot.is_multiple_of(align);
                assert_eq!(Class::of(size, align).map(|class| SIZES[class.0]), SIZES.into_iter().find(|&slot| fits(slot)));
            }
        }
    }

    #[test]
    fn a_slab_gives_each_of_its_slots_once_and_ends_when_all_are_back() {
        watch_forks();
        let mut arena = Arena::create(8 * SPAN).unwrap();
        for (number, size) in SIZES.into_iter().enumerate() {
            let (class, mut slabs) = (Class(number), Slabs::new());
            let mut open = |slabs: &mut Slabs| {
                let (run, address) = arena.take(SPAN, SPAN).unwrap().unwrap();
                slabs.open(class, 0, run, address, SPAN);
                address
            };
            let (first, second) = (open(&mut slabs), open(&mut slabs));
            let taken: Vec<_> = std::iter::from_fn(|| slabs.take(class)).collect();
            let places: BTreeSet<_> = taken.iter().map(|&(_, _, address)| address).collect();
            let expected = [first, second].into_iter().flat_map(|base| (0..SPAN / size).map(move |slot| base + slot * size));
            assert_eq!(places, expected.collect());
            let ended: Vec<_> = taken.into_iter().filter_map(|(slot, _, _)| slabs.put(slot)).collect();
            assert_eq!(ended.len(), 1, "one slab of a class stays");
            assert!(slabs.take(class).is_some());
            arena = Arena::create(8 * SPAN).unwrap();
        }
    }
}
