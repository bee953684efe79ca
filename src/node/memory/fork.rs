//! What a forked child gets: private memory at the same addresses. Its stores never reach the parent or a peer.
//!
//! | memory | in the child |
//! |---|---|
//! | of `MPI_Alloc_mem` | a snapshot, as with ordinary memory, while the parent holds at most 64 MiB of it in blocks of up to 64 MiB |
//! | of `MPI_Alloc_mem` beyond that, windows | a private mapping: the child's stores are its own, but pages that it has not written yet show what the parent and peers store later |
//! | of peers | read only: loads see what the peer stores, a store is a fault |
//!
//! Peers' memory is not made writable since that takes a descriptor of each peer's segment, which a mapping does without (a job of
//! 128 ranks on a node would hold hundreds open for the sake of forks); and a store there can only be meant for the peer, so that a fault
//! is more honest than a store which nobody sees. MADV_DONTFORK would make loads fault too.
//!
//! The snapshot is copied by the parent before the fork (under 1 ms a MiB) and moved into place by the child, so neither waits for the
//! other and a child that dies at once leaves nothing undone. Stores of the parent's other threads and of peers during the copy may
//! be in it or not.
//!
//! Children made by `vfork`, `posix_spawn`, `system` or `popen` run no handler, share the parent's memory until they `exec`, and cost
//! nothing here. A child made by a raw `clone` or `fork` system call, or by a signal handler that interrupted a call of this room, is not
//! seen to: it shares the memory and must not store there.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::arena::Arena;
use super::error::MemoryError;
use super::generation;
use super::heap::{LARGEST_IN_ARENA, RAW, State, WINDOWS};
use super::lock::{Guard, this_thread};
use super::mapped::{Role, TABLE, Table};
use super::raw::{BLOCKS, Blocks};
use super::segment::Identity;

/// How much of `MPI_Alloc_mem`'s memory is copied at a fork.
const SNAPSHOT_LIMIT: usize = LARGEST_IN_ARENA;
/// Doubling from 4 MiB, arenas with more than 64 MiB in use altogether are far fewer.
const MOST_SNAPSHOTS: usize = 32;

/// No OnceLock: a child forked by another thread in the middle of its initialisation would wait for ever. Two threads that come at
/// once may register the handlers twice, which does no harm: the second run finds the room locked, or nothing stashed.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Sees to forks from now on. Comes before the first lock is taken and the first segment is mapped.
pub(super) fn watch() -> Result<(), MemoryError> {
    if REGISTERED.load(Ordering::Acquire) {
        return Ok(());
    }
    // SAFETY: the handlers are functions of this object, which is never unloaded.
    match unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) } {
        0 => {
            REGISTERED.store(true, Ordering::Release);
            Ok(())
        }
        errno => Err(MemoryError::of_errno("pthread_atfork", 0, errno)),
    }
}

/// The room, locked over a fork.
struct Held {
    snapshots: [Snapshot; MOST_SNAPSHOTS],
    table: Guard<'static, Table>,
    raw: Guard<'static, State>,
    _windows: Guard<'static, State>,
    _blocks: Guard<'static, Blocks>,
}

/// A copy of the used part of an arena, at another address.
#[derive(Clone, Copy)]
struct Snapshot {
    /// The arena's segment; 0 for no snapshot.
    base: usize,
    /// Where the copied part belongs.
    target: usize,
    copy: usize,
    size: usize,
}

/// Where `prepare` leaves the room for the handler that ends the fork.
struct Stash {
    held: UnsafeCell<Option<Held>>,
    /// The thread whose fork it is, 0 for none.
    forker: AtomicUsize,
}

// SAFETY: `held` is only touched by the forking thread between `prepare` and the end of the fork: it has all locks of the room, so there
// is one such thread at a time, and `forker` tells the others that it is not they.
unsafe impl Sync for Stash {}

static STASH: Stash = Stash { held: UnsafeCell::new(None), forker: AtomicUsize::new(0) };

impl Stash {
    fn put(&self, held: Held) {
        // SAFETY: this thread holds all locks of the room.
        unsafe { *self.held.get() = Some(held) };
        self.forker.store(this_thread(), Ordering::Relaxed);
    }

    /// `None` if this thread's `prepare` was refused, or the handlers run a second time.
    fn take(&self) -> Option<Held> {
        if self.forker.load(Ordering::Relaxed) != this_thread() {
            return None;
        }
        self.forker.store(0, Ordering::Relaxed);
        // SAFETY: put there by this thread, which still holds all locks of the room.
        unsafe { (*self.held.get()).take() }
    }
}

/// In this order everywhere. `None` if this thread is inside one of them: a signal handler that forks.
fn lock_all() -> Option<Held> {
    let blocks = BLOCKS.enter()?;
    let windows = WINDOWS.state.enter()?;
    let raw = RAW.state.enter()?;
    let table = TABLE.enter()?;
    let snapshots = [Snapshot { base: 0, target: 0, copy: 0, size: 0 }; MOST_SNAPSHOTS];
    Some(Held { snapshots, table, raw, _windows: windows, _blocks: blocks })
}

/// Allocates nothing: an allocator's own `prepare` may have run already.
extern "C" fn prepare() {
    let Some(mut held) = lock_all() else {
        return;
    };
    let Held { snapshots, raw, .. } = &mut held;
    let mut left = SNAPSHOT_LIMIT;
    // What is inherited is ordinary memory already.
    let shared = raw.arenas().filter(|arena| !arena.segment().is_inherited());
    for (snapshot, arena) in snapshots.iter_mut().zip(shared) {
        if arena.used() <= left
            && let Some(copied) = Snapshot::of(arena)
        {
            left -= arena.used();
            *snapshot = copied;
        }
    }
    STASH.put(held);
}

extern "C" fn in_parent() {
    let Some(held) = STASH.take() else {
        return;
    };
    for snapshot in held.snapshots.iter().filter(|snapshot| snapshot.base != 0) {
        // SAFETY: mapped in `prepare`, used by nobody here.
        unsafe { libc::munmap(snapshot.copy as *mut _, snapshot.size) };
    }
}

/// Async-signal-safe: system calls, and reading what the parent had locked.
extern "C" fn in_child() {
    let Some(mut held) = STASH.take() else {
        return;
    };
    generation::begin();
    let Held { snapshots, table, .. } = &mut held;
    for (&base, region) in table.regions.iter_mut().filter(|(_, region)| !region.inherited) {
        let size = region.end - base;
        match region.role {
            Role::Own { fd, identity } => {
                let is_ours = Identity::of(fd) == Some(identity);
                let private = snapshots.iter().any(|snapshot| snapshot.base == base && snapshot.put_in_place(size))
                    || (is_ours && map_private(base, size, fd));
                if !private {
                    make_read_only(base, size);
                }
                if is_ours {
                    // SAFETY: this process's copy of the descriptor; `inherited` keeps everybody else from using it.
                    unsafe { libc::close(fd) };
                }
            }
            Role::Peer => make_read_only(base, size),
        }
        region.inherited = true;
    }
}

impl Snapshot {
    /// `None` for an arena with nothing in it, or where there is no room: the child will do with a private mapping.
    fn of(arena: &Arena) -> Option<Self> {
        let base = arena.segment().base();
        let (target, end) = (arena.used_ranges().next()?.start, arena.used_ranges().last()?.end);
        let copy = anonymous(ptr::null_mut(), end - target, 0)?;
        for range in arena.used_ranges() {
            let place = (copy + (range.start - target)) as *mut libc::c_void;
            // SAFETY: both ranges are mapped and apart. The advice makes all page faults one call, on kernels that know it. Others may
            // store meanwhile; memcpy makes no assumption about the bytes.
            unsafe {
                libc::madvise(place, range.len(), libc::MADV_POPULATE_WRITE);
                libc::memcpy(place, range.start as *const libc::c_void, range.len());
            }
        }
        Some(Self { base, target, copy, size: end - target })
    }

    /// Replaces the segment at `self.base` by the copy and, around it, empty memory.
    fn put_in_place(&self, whole: usize) -> bool {
        if anonymous(self.base as *mut _, whole, libc::MAP_FIXED).is_none() {
            return false;
        }
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // The system call itself: where UCX is loaded (Debian's MPICH) it has put a function of four arguments in place of mremap(3), which loses
        // the fifth, the target.
        // SAFETY: moves a mapping that is this snapshot's own over memory that was mapped for it just now.
        let moved = unsafe { libc::syscall(libc::SYS_mremap, self.copy, self.size, self.size, flags, self.target) };
        if moved as usize != self.target {
            // Too many mappings, say. mremap may have removed the target before it failed.
            if anonymous(self.target as *mut _, self.size, libc::MAP_FIXED).is_none() {
                return false;
            }
            // SAFETY: both mapped, apart, and private to this process.
            unsafe { libc::memcpy(self.target as *mut _, self.copy as *const _, self.size) };
        }
        true
    }
}

/// Private memory that reads as zero. With MAP_FIXED in `flags`, in place of whatever was at `address`.
fn anonymous(address: *mut libc::c_void, size: usize, flags: libc::c_int) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | flags;
    // SAFETY: a new mapping; callers name only addresses that are theirs to replace.
    let base = unsafe { libc::mmap(address, size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    (base != libc::MAP_FAILED).then_some(base as usize)
}

fn map_private(base: usize, size: usize, fd: libc::c_int) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: replaces a segment by a private mapping of the same file, at the same size.
    unsafe { libc::mmap(base as *mut _, size, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0) != libc::MAP_FAILED }
}

fn make_read_only(base: usize, size: usize) {
    // SAFETY: a whole segment of which this process is no longer a user.
    unsafe {
        if libc::mprotect(base as *mut _, size, libc::PROT_READ) != 0 {
            libc::munmap(base as *mut _, size);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::super::segment::page;
    use super::super::testing::{await_signal, fork, in_child, load, receive, send, signal, store};
    use super::super::{Block, allocate, allocate_raw, free_raw, locate, map};
    use super::*;

    fn first(block: &Block) -> *mut u8 {
        block.address().as_ptr()
    }

    /// Whichever is a process's first.
    #[test]
    fn every_door_sees_to_forks() {
        in_child(|| {
            let name = allocate(64, 64).unwrap().location().segment;
            let doors: [(&str, &dyn Fn()); 5] = [
                ("allocate", &|| drop(allocate(64, 64))),
                ("allocate_raw", &|| assert!(allocate_raw(64, 64).is_ok())),
                ("free_raw", &|| assert!(!free_raw(ptr::null()))),
                ("locate", &|| assert_eq!(locate(ptr::null(), 0), None)),
                ("map", &|| assert!(map(&name).is_ok())),
            ];
            for (door, enter) in doors {
                REGISTERED.store(false, Ordering::Relaxed);
                enter();
                assert!(REGISTERED.load(Ordering::Relaxed), "{door}");
            }
        });
    }

    #[test]
    fn a_childs_stores_stay_its_own() {
        let raw = allocate_raw(10_000, 64).unwrap().as_ptr();
        let (small, large) = (allocate(100, 64).unwrap(), allocate(65 << 20, 64).unwrap());
        let places = [raw, first(&small), first(&large)];
        places.iter().for_each(|&place| store(place, 1));
        in_child(|| {
            for place in places {
                assert_eq!(load(place), 1);
                store(place, 2);
                assert_eq!(load(place), 2);
                assert_eq!(locate(place, 1), None, "private memory is nothing to tell peers of");
            }
        });
        places.iter().for_each(|&place| assert_eq!(load(place), 1));
        assert!(free_raw(raw));
    }

    #[test]
    fn a_child_has_a_snapshot_of_raw_memory() {
        let sizes = [64, 3000, 100_000, 3 << 20];
        let blocks = sizes.map(|size| (allocate_raw(size, 64).unwrap().as_ptr(), size));
        // SAFETY: the blocks are this test's own.
        let fill = |value| blocks.iter().for_each(|&(block, size)| unsafe { block.write_bytes(value, size) });
        fill(1);
        let mut child = fork(|stream| {
            await_signal(stream);
            for (block, size) in blocks {
                assert!((0..size).all(|at| load(block.wrapping_add(at)) == 1), "of {size} bytes");
            }
        });
        fill(2);
        signal(&mut child.stream);
        child.join();
        // A block that peers know by name is a snapshot all the same.
        assert!(blocks.iter().all(|&(block, _)| locate(block, 1).is_some() && free_raw(block)));
    }

    #[test]
    fn beyond_the_limit_the_childs_stores_are_still_its_own() {
        in_child(|| {
            // Two that fit and one that does not any more.
            let blocks = [0; 3].map(|_| allocate_raw(30 << 20, 64).unwrap().as_ptr());
            blocks.iter().for_each(|&block| store(block, 1));
            in_child(|| {
                for block in blocks {
                    assert_eq!(load(block), 1);
                    store(block, 2);
                }
            });
            blocks.iter().for_each(|&block| assert_eq!(load(block), 1));
        });
    }

    #[test]
    fn a_child_reads_a_peers_memory_but_cannot_store_there() {
        let mut peer = fork(|stream| {
            let block = allocate(100, 64).unwrap();
            store(first(&block), 1);
            send(stream, block.location());
            await_signal(stream);
            assert_eq!(load(first(&block)), 1);
        });
        let location = receive(&mut peer.stream);
        let mapping = map(&location.segment).unwrap();
        let there = mapping.at(location.offset, 100).unwrap().as_ptr();
        let mut child = fork(|_| {
            assert_eq!(load(there), 1);
            store(there, 2);
        });
        let status = child.wait();
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:x}");
        // Not spoilt for this process, nor for a child that maps it for itself.
        in_child(|| store(map(&location.segment).unwrap().at(location.offset, 100).unwrap().as_ptr(), 3));
        assert_eq!(load(there), 3);
        store(there, 1);
        signal(&mut peer.stream);
        peer.join();
    }

    #[test]
    fn a_child_has_shared_memory_of_its_own() {
        let before = allocate(5000, 64).unwrap();
        let raw = allocate_raw(5000, 64).unwrap().as_ptr();
        store(first(&before), 1);
        let mut child = fork(|stream| {
            let own = allocate(5000, 64).unwrap();
            assert_ne!(own.location().segment, before.location().segment);
            assert_eq!(own.location().segment.pid, std::process::id());
            send(stream, own.location());
            await_signal(stream);
            assert_eq!(load(first(&own)), 9);
            // Freeing what was inherited is allowed and is nothing to the parent.
            assert!(free_raw(raw) && !free_raw(raw));
            let again = allocate_raw(5000, 64).unwrap();
            assert_ne!(again.as_ptr(), raw);
            drop(before);
        });
        let location = receive(&mut child.stream);
        store(map(&location.segment).unwrap().at(location.offset, 5000).unwrap().as_ptr(), 9);
        signal(&mut child.stream);
        child.join();
    }

    #[test]
    fn a_child_frees_nothing_of_its_parents() {
        in_child(|| {
            let block = allocate(48 << 20, 64).unwrap();
            let large = allocate(65 << 20, 64).unwrap();
            store(first(&block), 1);
            store(first(&large), 1);
            let fds = [block.location(), large.location()].map(|location| location.segment.fd);
            let mut blocks = Some((block, large));
            in_child(|| {
                for fd in fds {
                    assert!(Identity::of(fd).is_none(), "a child holds no descriptor of its parent's segments");
                }
                drop(blocks.take());
            });
            let (block, large) = blocks.expect("the child had a copy");
            assert_eq!((load(first(&block)), load(first(&large))), (1, 1));
        });
    }

    #[test]
    fn grandchildren_have_ordinary_memory() {
        let raw = allocate_raw(5000, 64).unwrap().as_ptr();
        store(raw, 1);
        in_child(|| {
            store(raw, 2);
            in_child(|| {
                assert_eq!(load(raw), 2);
                store(raw, 3);
            });
            assert_eq!(load(raw), 2);
        });
        assert_eq!(load(raw), 1);
        assert!(free_raw(raw));
    }

    #[test]
    fn forks_and_allocations_of_other_threads_go_together() {
        in_child(|| {
            let stop = AtomicBool::new(false);
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let raw = allocate_raw(10_000, 64).unwrap();
                        drop(allocate(100, 64).unwrap());
                        assert!(free_raw(raw.as_ptr()));
                    }
                });
                for _ in 0..50 {
                    in_child(|| {
                        let raw = allocate_raw(10_000, 64).unwrap();
                        store(raw.as_ptr(), 1);
                        assert!(free_raw(raw.as_ptr()));
                    });
                }
                stop.store(true, Ordering::Relaxed);
            });
        });
    }

    /// A child that runs another program is made without handlers: here they would wait for the lock that this thread holds.
    #[test]
    fn starting_a_program_costs_nothing() {
        allocate(64, 64).unwrap();
        let table = TABLE.enter().unwrap();
        let (done, finished) = mpsc::channel();
        std::thread::spawn(move || done.send(std::process::Command::new("true").status().is_ok_and(|status| status.success())));
        let result = finished.recv_timeout(Duration::from_secs(20));
        drop(table);
        assert_eq!(result, Ok(true));
    }

    /// As in a signal handler that interrupted one of our calls: no deadlock, and the room goes on.
    #[test]
    fn a_fork_from_within_does_not_wait_for_itself() {
        allocate(64, 64).unwrap();
        let table = TABLE.enter().unwrap();
        in_child(|| ());
        drop(table);
        assert_eq!(allocate(64, 64).map(|block| block.size()), Ok(64));
    }

    #[test]
    fn a_snapshot_takes_the_arenas_place() {
        in_child(|| {
            let whole = anonymous(ptr::null_mut(), 4 * page(), 0).unwrap();
            let copy = anonymous(ptr::null_mut(), 2 * page(), 0).unwrap();
            store(copy as *mut u8, 7);
            let snapshot = Snapshot { base: whole, target: whole + page(), copy, size: 2 * page() };
            assert!(snapshot.put_in_place(4 * page()));
            assert_eq!([0, page(), 2 * page()].map(|at| load((whole + at) as *const u8)), [0, 7, 0]);
        });
    }
}
