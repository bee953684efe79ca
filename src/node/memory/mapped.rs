//! What is mapped in this process: its own segments and those of peers. Finds a segment by address and by name, and maps a peer's.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::error::{MemoryError, errno};
use super::generation;
use super::lock::Lock;
use super::segment::{Header, Identity, Kind, Mapped, SEALS, Segment, SegmentName, page};

/// Where memory lies, told to peers: they [`map`](super::map) the segment and look at the offset.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The segment.
    pub segment: SegmentName,
    /// Distance from the segment's first byte.
    pub offset: u64,
}

impl Location {
    /// A location that nobody looks at.
    pub const NOWHERE: Location = Location { segment: SegmentName { pid: 0, fd: -1, size: 0, token: [0; 16] }, offset: 0 };
}

const _: () = assert!(size_of::<Location>() == size_of::<SegmentName>() + 8);

/// A segment of this process that is on the table: found by address and by name, and seen to at a fork. Given up when the last `Arc`
/// goes.
pub(super) struct Listed(ManuallyDrop<Segment>);

/// A segment, mapped in this process. Stays mapped as long as somebody holds it.
pub struct Mapping {
    base: usize,
    name: SegmentName,
    backing: Backing,
}

enum Backing {
    /// Keeps the segment alive.
    Own(#[expect(dead_code, reason = "held, never read")] Arc<Listed>),
    Peer(ManuallyDrop<Mapped>),
}

/// What lies at a range of addresses.
pub(super) struct Region {
    pub(super) end: usize,
    pub(super) name: SegmentName,
    pub(super) role: Role,
    /// Taken over by `fork` from a parent: private memory, of no meaning to peers.
    pub(super) inherited: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Role {
    Own { fd: RawFd, identity: Identity },
    Peer,
}

/// Never drop the last `Arc` of a segment or mapping while inside: their ends enter here too.
pub(super) struct Table {
    /// By first address.
    pub(super) regions: BTreeMap<usize, Region>,
    own: BTreeMap<[u8; 16], Weak<Listed>>,
    peers: BTreeMap<[u8; 16], Weak<Mapping>>,
    /// Arenas of peers, kept mapped between windows: the next one made there maps nothing and faults nothing in. Given up once the
    /// owner has (looked at when something else is mapped); the arena of a peer that was killed stays until this process ends.
    kept: Vec<Arc<Mapping>>,
    /// That of the process which filled `own`, `peers` and `kept`.
    generation: u32,
}

pub(super) static TABLE: Lock<Table> =
    Lock::new(Table { regions: BTreeMap::new(), own: BTreeMap::new(), peers: BTreeMap::new(), kept: Vec::new(), generation: 0 });

/// See [`locate`](super::locate).
pub(super) fn locate(address: *const u8, size: usize) -> Option<Location> {
    let (start, end) = (address as usize, (address as usize).checked_add(size)?);
    let table = TABLE.enter()?;
    let (&base, region) = table.regions.range(..=start).next_back()?;
    let inside = start >= base + page() && end <= region.end && start < region.end;
    (inside && !region.inherited).then(|| Location { segment: region.name, offset: (start - base) as u64 })
}

/// See [`map`](super::map).
pub(super) fn map(name: &SegmentName) -> Result<Arc<Mapping>, MemoryError> {
    let mut table = TABLE.enter().ok_or(MemoryError::Reentered)?;
    table.disown_inherited();
    if let Some(segment) = table.own.get(&name.token).and_then(Weak::upgrade) {
        drop(table);
        let mapping = Mapping { base: segment.base(), name: *segment.name(), backing: Backing::Own(segment) };
        return if mapping.name == *name { Ok(Arc::new(mapping)) } else { Err(MemoryError::NotShared { pid: name.pid }) };
    }
    if let Some(mapping) = table.peers.get(&name.token).and_then(Weak::upgrade) {
        drop(table);
        return if mapping.name == *name { Ok(mapping) } else { Err(MemoryError::NotShared { pid: name.pid }) };
    }
    let retired = table.take_retired();
    let mapping = open(name).map(|(memory, kind)| {
        let (base, end) = (memory.base, memory.base + memory.size);
        let mapping = Arc::new(Mapping { base, name: *name, backing: Backing::Peer(ManuallyDrop::new(memory)) });
        table.regions.insert(base, Region { end, name: *name, role: Role::Peer, inherited: false });
        table.peers.insert(name.token, Arc::downgrade(&mapping));
        if kind == Kind::Arena {
            table.kept.push(Arc::clone(&mapping));
        }
        mapping
    });
    drop(table);
    drop(retired);
    mapping
}

impl Mapping {
    /// The address of `[offset, offset + size)` of the segment in this process; `None` if it does not lie in the segment's data.
    pub fn at(&self, offset: u64, size: u64) -> Option<NonNull<u8>> {
        let inside = offset >= page() as u64 && offset.checked_add(size)? <= self.name.size;
        if inside { NonNull::new((self.base + offset as usize) as *mut u8) } else { None }
    }

    /// The segment's name.
    pub fn name(&self) -> &SegmentName {
        &self.name
    }

    /// Whether the segment is this process's own.
    pub fn is_own(&self) -> bool {
        matches!(self.backing, Backing::Own(_))
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping({} bytes of process {} at {:#x})", self.name.size, self.name.pid, self.base)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let Backing::Peer(memory) = &mut self.backing else {
            return;
        };
        // Refused: better mapped for ever than unmapped behind the table's back, which the next fork goes by.
        let Some(mut table) = TABLE.enter() else {
            return;
        };
        table.regions.remove(&self.base);
        // Another thread may have mapped the segment anew since the last Arc went.
        if table.peers.get(&self.name.token).is_some_and(|mapping| mapping.strong_count() == 0) {
            table.peers.remove(&self.name.token);
        }
        // SAFETY: the last user has gone, and `memory` is not touched again.
        unsafe { ManuallyDrop::drop(memory) };
    }
}

impl Table {
    /// In a forked child, forgets what it cannot share any more. What is dropped here runs no end of a segment or mapping.
    fn disown_inherited(&mut self) {
        if self.generation != generation::current() {
            self.generation = generation::current();
            self.own.clear();
            self.peers.clear();
            std::mem::forget(std::mem::take(&mut self.kept));
        }
    }

    /// Takes out the kept arenas that nobody uses and whose owners have given them up. To be dropped outside.
    fn take_retired(&mut self) -> Vec<Arc<Mapping>> {
        let idle = |mapping: &mut Arc<Mapping>| {
            // SAFETY: a segment is mapped at a mapping's base as long as the mapping lives.
            Arc::strong_count(mapping) == 1 && unsafe { Header::retired(mapping.base) }.load(Ordering::Acquire) != 0
        };
        self.kept.extract_if(.., idle).collect()
    }
}

impl Listed {
    /// Makes a segment with room for `size` bytes of data, none of them reserved yet.
    pub(super) fn create(size: usize, kind: Kind) -> Result<Arc<Self>, MemoryError> {
        let segment = Segment::create(size, kind)?;
        let mut table = TABLE.enter().ok_or(MemoryError::Reentered)?;
        table.disown_inherited();
        let (fd, identity) = segment.descriptor();
        let region = Region {
            end: segment.base() + segment.size(),
            name: *segment.name(),
            role: Role::Own { fd, identity },
            inherited: false,
        };
        let listed = Arc::new(Self(ManuallyDrop::new(segment)));
        table.regions.insert(listed.base(), region);
        table.own.insert(listed.name().token, Arc::downgrade(&listed));
        Ok(listed)
    }
}

impl Deref for Listed {
    type Target = Segment;
    fn deref(&self) -> &Segment {
        &self.0
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // Refused: better leaked than unmapped behind the table's back, which the next fork goes by.
        let Some(mut table) = TABLE.enter() else {
            return;
        };
        table.regions.remove(&self.base());
        table.own.remove(&self.name().token);
        drop(table);
        // SAFETY: off the table, and not touched again.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

fn open(name: &SegmentName) -> Result<(Mapped, Kind), MemoryError> {
    let not_shared = MemoryError::NotShared { pid: name.pid };
    let size = usize::try_from(name.size).map_err(|_| not_shared)?;
    let path = CString::new(format!("/proc/{}/fd/{}", name.pid, name.fd)).map_err(|_| not_shared)?;
    // The descriptor may be anything if the peer numbers its processes differently; NONBLOCK: opening a pipe must not wait.
    // SAFETY: a terminated path.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY) };
    if fd < 0 {
        return Err(match errno() {
            error @ (libc::EMFILE | libc::ENFILE | libc::ENOMEM) => MemoryError::of_errno("open", name.size, error),
            error => MemoryError::Unreachable { pid: name.pid, errno: error },
        });
    }
    // SAFETY: a new descriptor that nobody else owns.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // Only a file that cannot become shorter may be mapped: anything else could end in SIGBUS.
    // SAFETY: plain calls on a descriptor; the size is asked by seeking, which a mapping does not mind.
    let (seals, length) =
        unsafe { (libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS), libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_END)) };
    if seals & SEALS != SEALS || seals < 0 || u64::try_from(length) != Ok(name.size) || size < 2 * page() {
        return Err(not_shared);
    }
    let memory = Mapped::shared(fd.as_raw_fd(), size)?;
    // SAFETY: mapped, and at least a page long.
    let kind = unsafe { Header::check(memory.base, name) }.ok_or(not_shared)?;
    Ok((memory, kind))
}

#[cfg(test)]
mod tests {
    use super::super::segment::memfd;
    use super::super::testing::{
        await_signal, fork as fork_child, in_child, is_mapped, load, mappings, receive, send, signal, store, watch_forks,
    };
    use super::super::{allocate, locate, map};
    use super::*;

    #[test]
    fn an_own_segment_answers_with_its_own_mapping() {
        let block = allocate(1000, 64).unwrap();
        let location = block.location();
        let mapping = map(&location.segment).unwrap();
        assert!(mapping.is_own());
        assert_eq!(mapping.at(location.offset, 1000), Some(block.address()));
    }

    #[test]
    fn what_a_process_stores_in_a_peers_block_the_peer_sees() {
        let block = allocate(100_000, 64).unwrap();
        let location = block.location();
        let last = block.address().as_ptr().wrapping_add(99_999);
        store(last, 1);
        let mut child = fork_child(|stream| {
            // Here a stranger: the block that was inherited is a private copy.
            let mapping = map(&location.segment).unwrap();
            assert!(!mapping.is_own());
            let there = mapping.at(location.offset, 100_000).unwrap().as_ptr();
            assert_ne!(there, block.address().as_ptr());
            assert_eq!(load(there.wrapping_add(99_999)), 1);
            store(there.wrapping_add(99_999), 2);
            signal(stream);
            await_signal(stream);
            assert_eq!(load(there), 3);
            // Other windows may be made on it: it lies in the peer's segment.
            assert_eq!(locate(there, 100_000), Some(location));
        });
        await_signal(&mut child.stream);
        assert_eq!(load(last), 2);
        store(block.address().as_ptr(), 3);
        signal(&mut child.stream);
        child.join();
    }

    #[test]
    fn a_peers_block_is_unmapped_with_its_last_user() {
        let mut child = fork_child(|stream| {
            let block = allocate(65 << 20, 64).unwrap();
            send(stream, block.location());
            await_signal(stream);
        });
        let location = receive(&mut child.stream);
        let mapping = map(&location.segment).unwrap();
        let base = mapping.at(location.offset, 1).unwrap().as_ptr() as usize - location.offset as usize;
        assert!(Arc::ptr_eq(&mapping, &map(&location.segment).unwrap()), "mapped once");
        assert!(is_mapped(base));
        let address = mapping.at(location.offset, 1).unwrap().as_ptr();
        drop(mapping);
        assert!(!is_mapped(base));
        assert_eq!(locate(address, 1), None);
        let again = map(&location.segment).unwrap();
        signal(&mut child.stream);
        child.join();
        // The memory outlives its owner for as long as somebody uses it.
        store(again.at(location.offset, 1).unwrap().as_ptr(), 1);
    }

    #[test]
    fn threads_that_come_and_go_share_one_mapping() {
        let mut owner = fork_child(|stream| {
            let segment = Listed::create(page(), Kind::Block).unwrap();
            send(stream, Location { segment: *segment.name(), offset: page() as u64 });
            await_signal(stream);
        });
        let name = receive(&mut owner.stream).segment;
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    for _ in 0..300 {
                        let first = map(&name).unwrap();
                        // Time for another thread to end the mapping before.
                        std::thread::yield_now();
                        assert!(Arc::ptr_eq(&first, &map(&name).unwrap()));
                    }
                });
            }
        });
        signal(&mut owner.stream);
        owner.join();
    }

    #[test]
    fn a_peers_arena_stays_mapped_until_it_is_given_up() {
        let mut owner = fork_child(|stream| {
            let arena = Listed::create(1 << 20, Kind::Arena).unwrap();
            send(stream, Location { segment: *arena.name(), offset: page() as u64 });
            await_signal(stream);
            drop(arena);
            let other = Listed::create(1 << 20, Kind::Block).unwrap();
            send(stream, Location { segment: *other.name(), offset: page() as u64 });
            await_signal(stream);
        });
        let arena = receive(&mut owner.stream);
        // The user of both is a process of its own: other tests map things too.
        let (stream, pid) = (&mut owner.stream, arena.segment.pid);
        let mut user = fork_child(|_| {
            let address = map(&arena.segment).unwrap().at(arena.offset, 1).unwrap();
            assert_eq!(locate(address.as_ptr(), 1), Some(arena), "kept");
            assert_eq!(map(&arena.segment).unwrap().at(arena.offset, 1), Some(address));
            let before = mappings();
            signal(stream);
            let other = receive(stream);
            assert_eq!(other.segment.pid, pid);
            let _other = map(&other.segment).unwrap();
            assert_eq!(locate(address.as_ptr(), 1), None, "given up by its owner");
            assert_eq!(mappings(), before);
            signal(stream);
        });
        let status = user.wait();
        owner.join();
        assert_eq!(status, 0);
    }

    #[test]
    fn only_the_segment_that_was_named_is_mapped() {
        watch_forks();
        let segment = Listed::create(1 << 20, Kind::Block).unwrap();
        let name = *segment.name();
        in_child(|| {
            let before = mappings();
            let mut token = name.token;
            token[15] ^= 1;
            let mut pipe = [0; 2];
            // SAFETY: `pipe` has room for two descriptors.
            assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
            let pid = std::process::id();
            let wrong = [
                SegmentName { token, ..name },
                SegmentName { size: name.size - page() as u64, ..name },
                SegmentName { size: u64::MAX, ..name },
                SegmentName { pid, fd: 0, ..name },
                SegmentName { pid, fd: pipe[0], ..name },
            ];
            // Right in all but the seals: whoever holds it could make it shorter.
            let file = memfd(name.size as usize).unwrap();
            // SAFETY: the segment is mapped, here as a private copy.
            let written = unsafe {
                libc::ftruncate(file.as_raw_fd(), name.size as libc::off_t);
                libc::pwrite(file.as_raw_fd(), segment.base() as *const libc::c_void, page(), 0)
            };
            assert_eq!(written as usize, page());
            let unsealed = SegmentName { pid, fd: file.as_raw_fd(), ..name };
            for wrong in wrong.into_iter().chain([unsealed]) {
                assert_eq!(map(&wrong).err(), Some(MemoryError::NotShared { pid: wrong.pid }), "{wrong:?}");
            }
            for gone in [SegmentName { pid: 0x7fff_ffff, ..name }, SegmentName { fd: 19_999, ..name }] {
                assert!(matches!(map(&gone), Err(MemoryError::Unreachable { errno: libc::ENOENT, .. })));
            }
            assert_eq!(mappings(), before);
            assert!(map(&name).is_ok());
        });
    }

    #[test]
    fn a_place_outside_the_data_has_no_address() {
        watch_forks();
        let segment = Listed::create(2 * page(), Kind::Block).unwrap();
        let mapping = map(segment.name()).unwrap();
        let (first, end) = (page() as u64, segment.size() as u64);
        assert!(mapping.at(first, end - first).is_some());
        assert!(mapping.at(end, 0).is_some());
        for (offset, size) in [(0, 1), (first - 1, 2), (first, end - first + 1), (end, 1), (u64::MAX, 1), (first, u64::MAX)] {
            assert_eq!(mapping.at(offset, size), None, "{offset} {size}");
        }
    }

    #[test]
    fn an_address_is_located_if_one_segment_holds_all_of_it() {
        watch_forks();
        let segment = Listed::create(4 * page(), Kind::Block).unwrap();
        let at = |offset: usize| segment.base().wrapping_add(offset) as *const u8;
        let end = segment.size();
        let found = |offset: usize| Some(Location { segment: *segment.name(), offset: offset as u64 });
        assert_eq!(locate(at(page()), end - page()), found(page()));
        assert_eq!(locate(at(end - 1), 1), found(end - 1));
        assert_eq!(locate(at(end - 1), 0), found(end - 1));
        assert_eq!(locate(at(0), 8), None, "the header is no data");
        assert_eq!(locate(at(end - 1), 2), None);
        assert_eq!(locate(at(page()), usize::MAX), None);
        let mine = Box::new(0u64);
        assert_eq!(locate((&raw const *mine).cast(), 8), None);
        assert_eq!(locate(std::ptr::null(), 0), None);
    }
}
