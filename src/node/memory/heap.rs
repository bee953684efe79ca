//! Blocks: memory of this process that peers may map.
//!
//! | block | where it lies | reserved | given back |
//! |---|---|---|---|
//! | up to 2 KiB | a slot of a slab | with its slab | with its slab |
//! | up to 64 MiB | pages of an arena | when made | beyond 16 MiB of idle pages |
//! | up to 1 GiB | a segment of its own | when made | when freed |
//! | larger | a segment of its own | page by page at first touch, as on the hosts | when freed |
//!
//! Arenas begin with 4 MiB of addresses and double up to 1 GiB, so few descriptors serve any number of blocks.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use super::arena::{Arena, Run};
use super::error::MemoryError;
use super::generation;
use super::lock::Lock;
use super::mapped::{Listed, Location};
use super::segment::{Kind, page};
use super::slab::{Class, SPAN, Slabs, Slot};
use super::{LINE, MAX_ALIGN};

const FIRST_ARENA: usize = 4 << 20;
const LARGEST_ARENA: usize = 1 << 30;
/// Larger blocks get a segment of their own.
pub(super) const LARGEST_IN_ARENA: usize = 64 << 20;
/// Larger blocks are not reserved.
const LARGEST_RESERVED: usize = 1 << 30;
/// Idle pages beyond this are given back, down to half of it.
const IDLE_LIMIT: usize = 16 << 20;

/// Blocks of one purpose. Windows and `MPI_Alloc_mem` have a heap each, since a forked child is to have a snapshot of the latter.
pub(super) struct Heap {
    pub(super) state: Lock<State>,
}

pub(super) static WINDOWS: Heap = Heap::new();
pub(super) static RAW: Heap = Heap::new();

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
    segment: Arc<Listed>,
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
                // One byte at least: a block of no bytes has an address that is no other block's.
                None => state.pages(size.max(1), align)?,
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

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes at {:?})", self.size, self.address)
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
fn whole(size: usize, align: usize) -> Result<(usize, Arc<Listed>), MemoryError> {
    let too_large = MemoryError::NoMemory { bytes: size as u64, what: "size", errno: libc::EOVERFLOW };
    let segment = Listed::create(size.checked_add(align - page()).ok_or(too_large)?, Kind::Block)?;
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
        if self.generation != generation::current() {
            self.generation = generation::current();
            std::mem::forget(std::mem::take(&mut self.arenas));
            self.slabs = Slabs::new();
        }
    }

    fn small(&mut self, class: Class) -> Result<(Place, usize, Arc<Listed>), MemoryError> {
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

    fn pages(&mut self, size: usize, align: usize) -> Result<(Place, usize, Arc<Listed>), MemoryError> {
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
        // A quarter more, since the allocator rounds sizes to eighths of a power of two: gaps down and requests up.
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
        let idle = self.idle();
        if idle > IDLE_LIMIT {
            let mut excess = idle - IDLE_LIMIT / 2;
            for arena in self.arenas.iter_mut().rev().flatten() {
                excess -= arena.trim(excess).min(excess);
            }
        }
    }

    fn idle(&self) -> usize {
        self.arenas().map(Arena::idle).sum()
    }

    fn segment_of(&self, arena: u32) -> Arc<Listed> {
        let Some(arena) = &self.arenas[arena as usize] else { unreachable!("a block in an arena that is gone") };
        Arc::clone(arena.segment())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{descriptors, in_child, limit, load, mappings, memory_of, store, watch_forks};
    use super::super::{allocate, map};
    use super::*;

    fn address(block: &Block) -> usize {
        block.address().as_ptr() as usize
    }

    fn fill(block: &Block, value: u8) {
        // SAFETY: the block is this test's own.
        unsafe { block.address().as_ptr().write_bytes(value, block.size()) };
    }

    fn is_filled(block: &Block, value: u8) -> bool {
        let first = block.address().as_ptr();
        let size = block.size();
        // Each byte equals the next, and the first is right.
        // SAFETY: the block is this test's own.
        size == 0 || load(first) == value && unsafe { libc::memcmp(first.cast(), first.add(1).cast(), size - 1) } == 0
    }

    /// Sizes of all kinds, small ones more often.
    fn size() -> impl Strategy<Value = usize> {
        prop_oneof![4 => 0usize..300, 4 => 0usize..5000, 2 => 0usize..(1 << 18), 1 => 0usize..(6 << 20)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn blocks_are_aligned_and_apart_and_keep_their_contents(
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), size(), 0u32..22), 1..80)
        ) {
            // One heap for all cases: later ones begin with what earlier ones left.
            static HEAP: Heap = Heap::new();
            watch_forks();
            let mut live: Vec<(Block, u8)> = Vec::new();
            for (number, (free, which, size, shift)) in steps.into_iter().enumerate() {
                if free && !live.is_empty() {
                    let (block, value) = live.swap_remove(which.index(live.len()));
                    prop_assert!(is_filled(&block, value));
                } else {
                    let align = 1 << shift;
                    let block = HEAP.allocate(size, align).unwrap();
                    let start = address(&block);
                    prop_assert_eq!(block.size(), size);
                    prop_assert_eq!(start % align.max(LINE), 0);
                    prop_assert!(size < page() || start.is_multiple_of(page()));
                    // A line at least for each, so that even blocks of no bytes have addresses of their own.
                    let end = (start + size.max(1)).next_multiple_of(LINE);
                    for (other, _) in &live {
                        let (low, high) = (address(other), (address(other) + other.size().max(1)).next_multiple_of(LINE));
                        prop_assert!(end <= low || high <= start, "{start:x}..{end:x} and {low:x}..{high:x}");
                    }
                    let segment = map(&block.location().segment).unwrap();
                    prop_assert_eq!(segment.at(block.location().offset, size as u64), Some(block.address()));
                    fill(&block, number as u8);
                    live.push((block, number as u8));
                }
            }
            for (block, value) in &live {
                prop_assert!(is_filled(block, *value));
            }
        }
    }

    #[test]
    fn alignments_up_to_the_largest_are_given_and_others_refused() {
        for shift in [0, 6, 11, 12, 16, 21, 26, 30] {
            for size in [0, 1, 5000] {
                let block = allocate(size, 1 << shift).unwrap();
                assert_eq!(address(&block) % (1 << shift), 0);
                store(block.address().as_ptr(), 1);
            }
        }
        let large = allocate((64 << 20) + 1, 2 << 20).unwrap();
        assert_eq!(address(&large) % (2 << 20), 0);
        for align in [0, 3, 96, 2 * MAX_ALIGN] {
            assert_eq!(allocate(64, align).err(), Some(MemoryError::Alignment { align }));
        }
    }

    #[test]
    fn ten_thousand_small_blocks_live_in_few_segments() {
        in_child(|| {
            let before = (descriptors(), mappings());
            let blocks: Vec<_> = (0..10_000).map(|number| allocate(number % 2048, 64).unwrap()).collect();
            assert!(descriptors() - before.0 <= 3 && mappings() - before.1 <= 3, "{} {}", descriptors(), mappings());
            for (number, block) in blocks.iter().enumerate() {
                fill(block, number as u8);
            }
            assert!(blocks.iter().enumerate().all(|(number, block)| is_filled(block, number as u8)));
            let held = (descriptors(), mappings());
            drop(blocks);
            assert!(descriptors() <= held.0 && mappings() <= held.1);
        });
    }

    #[test]
    fn rounds_of_making_and_freeing_leave_everything_flat() {
        in_child(|| {
            let round = |number: usize| {
                let sizes = [1, 64, 3000, 5000, 64 << 10, (number * 97) % (1 << 20)];
                let blocks = sizes.map(|size| allocate(size, 64).unwrap());
                blocks.iter().for_each(|block| store(block.address().as_ptr(), 1));
                blocks[0].location().segment.fd
            };
            let fd = (0..100).map(round).fold(-1, |_, fd| fd);
            let before = (descriptors(), mappings());
            (0..10_000).for_each(|number| assert_eq!(round(number), fd));
            assert_eq!((descriptors(), mappings()), before);
            assert!(memory_of(fd) <= IDLE_LIMIT as u64 + (4 << 20), "{} bytes held", memory_of(fd));
        });
    }

    #[test]
    fn a_warm_heap_makes_no_system_call() {
        in_child(|| {
            let round = || {
                for size in [0, 64, 1000, 4096, 10_000, 64 << 10] {
                    let (first, second) = (allocate(size, 64).unwrap(), allocate(size, 64).unwrap());
                    store(first.address().as_ptr(), 1);
                    drop(first);
                    store(second.address().as_ptr(), 1);
                }
            };
            (0..10).for_each(|_| round());
            only_exit_from_now_on();
            (0..1000).for_each(|_| round());
            // SAFETY: ends the child; anything more would make calls that are refused now.
            unsafe { libc::_exit(0) };
        });
    }

    /// From here on every system call but `exit_group` kills this process.
    fn only_exit_from_now_on() {
        let code = |code, jump, k| libc::sock_filter { code, jt: 0, jf: jump, k };
        let mut filter = [
            code((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0),
            code((libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, 1, libc::SYS_exit_group as u32),
            code((libc::BPF_RET | libc::BPF_K) as u16, 0, libc::SECCOMP_RET_ALLOW),
            code((libc::BPF_RET | libc::BPF_K) as u16, 0, libc::SECCOMP_RET_KILL_PROCESS),
        ];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: a valid program; it binds this process only.
        unsafe {
            assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
            assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
        }
    }

    #[test]
    fn memory_is_there_when_a_block_is_and_goes_back_when_it_was_large() {
        in_child(|| {
            const SIZE: usize = 40 << 20;
            let arena = allocate(64, 64).unwrap();
            let fd = arena.location().segment.fd;
            let before = memory_of(fd);
            let blocks: Vec<_> = (0..6).map(|_| allocate(SIZE, 64).unwrap()).collect();
            let all: u64 = blocks
                .iter()
                .map(|block| block.location().segment.fd)
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .map(memory_of)
                .sum();
            assert!(all >= 6 * SIZE as u64);
            let fds: Vec<_> = blocks.iter().map(|block| block.location().segment.fd).collect();
            drop(blocks);
            // SAFETY: asks whether the descriptor is still open.
            let open = |fd: &i32| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0;
            let left: u64 =
                fds.into_iter().filter(open).collect::<std::collections::BTreeSet<_>>().into_iter().map(memory_of).sum();
            assert!(left <= before + IDLE_LIMIT as u64, "{left} bytes left");
        });
    }

    #[test]
    fn idle_memory_is_bounded_over_all_arenas_and_one_empty_arena_stays() {
        static HEAP: Heap = Heap::new();
        watch_forks();
        let (arenas, idle) = (|| HEAP.state.enter().unwrap().arenas().count(), || HEAP.state.enter().unwrap().idle());
        let mut blocks: Vec<_> = (0..40).map(|_| HEAP.allocate(5 << 20, 64).unwrap()).collect();
        assert!(arenas() >= 3);
        // Freed from the end on: each arena but the first is left with few blocks, and none, in turn.
        while let Some(block) = blocks.pop() {
            drop(block);
            assert!(idle() <= IDLE_LIMIT);
        }
        assert_eq!(arenas(), 1);
        // Nor is more given back than that takes: the next block is to find some.
        let (block, other) = (HEAP.allocate(40 << 20, 64).unwrap(), HEAP.allocate(64, 64).unwrap());
        drop(block);
        assert_eq!(idle(), IDLE_LIMIT / 2);
        drop(other);
    }

    #[test]
    fn a_large_block_is_reserved_and_a_huge_one_sparse() {
        let large = allocate(100 << 20, 64).unwrap();
        assert_eq!(memory_of(large.location().segment.fd), (100 << 20) + page() as u64);
        // Case 22: more than 32 bits can count, at the far end.
        let huge = allocate(8_488_608_000, 64).unwrap();
        let last = huge.address().as_ptr().wrapping_add(8_488_607_999);
        store(last, 7);
        assert!(memory_of(huge.location().segment.fd) < 1 << 20);
        let segment = map(&huge.location().segment).unwrap();
        assert_eq!(segment.at(huge.location().offset + 8_488_607_999, 1).map(NonNull::as_ptr), Some(last));
        assert_eq!(load(last), 7);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for size in [usize::MAX, isize::MAX as usize, 1 << 50] {
            let error = allocate(size, 64).expect_err("too large");
            assert!(error.is_exhaustion(), "{size}: {error}");
        }
    }

    #[test]
    fn where_addresses_are_few_a_smaller_arena_does() {
        in_child(|| {
            let used = std::fs::read_to_string("/proc/self/statm").unwrap();
            let used = used.split(' ').next().unwrap().parse::<u64>().unwrap() * page() as u64;
            limit(libc::RLIMIT_AS, used + (1 << 20));
            let block = allocate(1000, 64).unwrap();
            fill(&block, 1);
            assert!(allocate(2 << 20, 64).expect_err("beyond the limit").is_exhaustion());
        });
    }

    #[test]
    fn threads_share_a_heap() {
        std::thread::scope(|threads| {
            for value in 1..=4 {
                threads.spawn(move || {
                    let mut live = std::collections::VecDeque::new();
                    for number in 0..2000usize {
                        let block = allocate((number * 37) % 9000, 64).unwrap();
                        fill(&block, value);
                        live.push_back(block);
                        if live.len() > 50 {
                            assert!(live.pop_front().is_some_and(|block| is_filled(&block, value)));
                        }
                    }
                });
            }
        });
    }
}
