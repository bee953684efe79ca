//! One `memfd` that the ranks of a node share: the owner's side.
//!
//! ```text
//! page 0   header: magic, version, kind, size, token, retired
//! page 1.. data
//! ```
//! No name in a file system, so nothing clashes and nothing stays behind after `kill -9`. The descriptor is sealed against shrinking
//! and growing (a peer's mapping can never end in SIGBUS because the file became shorter) and readable by its owner only.

use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::error::{MemoryError, errno};
use super::{generation, headroom};

const MAGIC: [u8; 8] = *b"transom\0";
const VERSION: u32 = 1;
pub(super) const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// Names a segment to other processes of the node. Plain bytes without padding or pointers, to be sent as they are.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentName {
    /// The owner, as the owner's own process namespace numbers it.
    pub pid: u32,
    /// The owner's descriptor.
    pub fd: i32,
    /// The whole segment's size, header included.
    pub size: u64,
    /// Random; read back through a mapping it proves that the mapping is of this segment.
    pub token: [u8; 16],
}

const _: () = assert!(size_of::<SegmentName>() == 4 + 4 + 8 + 16);

/// What a segment holds, for peers to decide how long to keep it mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    /// One large block: unmapped with the last user.
    Block = 1,
    /// Many blocks, now and later: worth keeping mapped until the owner retires it.
    Arena = 2,
}

/// First bytes of a segment. Written by the owner before anybody is told the name, but for `retired`.
#[repr(C)]
pub(super) struct Header {
    magic: [u8; 8],
    version: u32,
    kind: u32,
    size: u64,
    token: [u8; 16],
    retired: u32,
}

impl Header {
    /// Whether the mapping at `base` is of the segment called `name`; if so, what it holds.
    ///
    /// # Safety
    /// At least one page is mapped readable at `base`.
    pub(super) unsafe fn check(base: usize, name: &SegmentName) -> Option<Kind> {
        let header = base as *const Header;
        // SAFETY: readable by contract; if this is a segment, these fields were written before its name was told and never change, and
        // if it is something else, any bytes are valid for these types.
        let (magic, version, kind, size, token) = unsafe {
            (
                ptr::read_volatile(&raw const (*header).magic),
                ptr::read_volatile(&raw const (*header).version),
                ptr::read_volatile(&raw const (*header).kind),
                ptr::read_volatile(&raw const (*header).size),
                ptr::read_volatile(&raw const (*header).token),
            )
        };
        if magic != MAGIC || version != VERSION || size != name.size || token != name.token {
            return None;
        }
        match kind {
            kind if kind == Kind::Block as u32 => Some(Kind::Block),
            kind if kind == Kind::Arena as u32 => Some(Kind::Arena),
            _ => None,
        }
    }

    /// Not 0 once the owner has given the segment up.
    ///
    /// # Safety
    /// A segment is mapped at `base`, and stays so for as long as the answer is used.
    pub(super) unsafe fn retired<'a>(base: usize) -> &'a AtomicU32 {
        let header = base as *mut Header;
        // SAFETY: mapped and aligned by contract, and touched by atomics only once the segment's name is known.
        unsafe { AtomicU32::from_ptr(&raw mut (*header).retired) }
    }
}

/// Size of a page of this machine, and of a segment's header.
pub(super) fn page() -> usize {
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    match PAGE.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: no precondition.
            let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            PAGE.store(size, Ordering::Relaxed);
            size
        }
        size => size,
    }
}

/// Tells a file from every other one that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Async-signal-safe.
    pub(super) fn of(fd: RawFd) -> Option<Self> {
        let mut facts = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: `facts` has room for a stat.
        if unsafe { libc::fstat(fd, facts.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: filled, since fstat succeeded.
        let facts = unsafe { facts.assume_init() };
        Some(Self { device: facts.st_dev, inode: facts.st_ino })
    }
}

/// A mapped range that is unmapped when dropped.
pub(super) struct Mapped {
    pub(super) base: usize,
    pub(super) size: usize,
}

impl Mapped {
    pub(super) fn shared(fd: RawFd, size: usize) -> Result<Self, MemoryError> {
        // SAFETY: a new mapping where the kernel likes; no existing memory is touched.
        let base = unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(MemoryError::of_call("mmap", size as u64));
        }
        Ok(Self { base: base as usize, size })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `shared` and its users are gone with their owner.
        unsafe { libc::munmap(self.base as *mut libc::c_void, self.size) };
    }
}

/// One `memfd` of this process that peers may map. Given up when dropped.
pub(super) struct Segment {
    memory: Mapped,
    fd: RawFd,
    identity: Identity,
    name: SegmentName,
    generation: u32,
}

impl Segment {
    /// A segment with room for `size` bytes of data, none of them reserved yet.
    pub(super) fn create(size: usize, kind: Kind) -> Result<Self, MemoryError> {
        let too_large = MemoryError::NoMemory { bytes: size as u64, what: "size", errno: libc::EOVERFLOW };
        let whole = size.checked_next_multiple_of(page()).and_then(|data| data.checked_add(page())).ok_or(too_large)?;
        let length = libc::off_t::try_from(whole).map_err(|_| too_large)?;
        let fd = memfd(whole)?;
        // SAFETY: plain calls on a descriptor that is ours.
        unsafe {
            // A memfd begins with mode 0777 and would open for any user that may look into this process's /proc.
            if libc::fchmod(fd.as_raw_fd(), 0o600) != 0 {
                return Err(MemoryError::of_call("fchmod", whole as u64));
            }
            if libc::ftruncate(fd.as_raw_fd(), length) != 0 {
                return Err(MemoryError::of_call("ftruncate", whole as u64));
            }
            if libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SEALS) != 0 {
                return Err(MemoryError::of_call("fcntl(F_ADD_SEALS)", whole as u64));
            }
        }
        reserve(fd.as_raw_fd(), 0, page())?;
        let memory = Mapped::shared(fd.as_raw_fd(), whole)?;
        let name = SegmentName { pid: std::process::id(), fd: fd.as_raw_fd(), size: whole as u64, token: token()? };
        let header = Header { magic: MAGIC, version: VERSION, kind: kind as u32, size: name.size, token: name.token, retired: 0 };
        // SAFETY: the first page is mapped, writable, aligned, and known to nobody else yet.
        unsafe { (memory.base as *mut Header).write(header) };
        let identity = Identity::of(fd.as_raw_fd()).ok_or_else(|| MemoryError::of_call("fstat", whole as u64))?;
        Ok(Self { memory, fd: fd.into_raw_fd(), identity, name, generation: generation::current() })
    }

    pub(super) fn name(&self) -> &SegmentName {
        &self.name
    }

    pub(super) fn base(&self) -> usize {
        self.memory.base
    }

    pub(super) fn size(&self) -> usize {
        self.memory.size
    }

    /// Address of the first byte after the header.
    pub(super) fn data(&self) -> usize {
        self.memory.base + page()
    }

    pub(super) fn descriptor(&self) -> (RawFd, Identity) {
        (self.fd, self.identity)
    }

    /// Whether this is a parent's segment, of which this process has a private copy.
    pub(super) fn is_inherited(&self) -> bool {
        self.generation != generation::current()
    }

    /// Reserves the pages of `[address, address + size)`: later stores there cannot fail for want of memory.
    pub(super) fn reserve(&self, address: usize, size: usize) -> Result<(), MemoryError> {
        self.check_descriptor(size)?;
        reserve(self.fd, address - self.memory.base, size)
    }

    /// Gives the pages of `[address, address + size)` back; they read as zero afterwards.
    pub(super) fn discard(&self, address: usize, size: usize) -> Result<(), MemoryError> {
        self.check_descriptor(size)?;
        punch(self.fd, address - self.memory.base, size)
    }

    /// Programs that close every descriptor they find exist. The number may by now belong to a file of theirs, in which no hole
    /// must be punched.
    fn check_descriptor(&self, size: usize) -> Result<(), MemoryError> {
        if Identity::of(self.fd) == Some(self.identity) {
            return Ok(());
        }
        Err(MemoryError::of_errno("descriptor closed by the program", size as u64, libc::EBADF))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // An inherited segment's descriptor was closed at the fork, and its pages are the parent's to give back.
        if self.is_inherited() {
            return;
        }
        // SAFETY: the header page is mapped until `memory` is dropped, after this body.
        unsafe { Header::retired(self.memory.base) }.store(1, Ordering::Release);
        if self.check_descriptor(0).is_ok() {
            // Peers may keep an arena mapped a while: that must not keep its memory.
            let _ = punch(self.fd, page(), self.memory.size - page());
            // SAFETY: the descriptor is this segment's own and is not used again.
            drop(unsafe { OwnedFd::from_raw_fd(self.fd) });
        }
    }
}

pub(super) fn memfd(size: usize) -> Result<OwnedFd, MemoryError> {
    // Beyond RLIMIT_FSIZE ftruncate would end the process with SIGXFSZ.
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0 && limit.rlim_cur < size as libc::rlim_t {
        return Err(MemoryError::NoMemory { bytes: size as u64, what: "file size limit (ulimit -f)", errno: libc::EFBIG });
    }
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // Systems hardened by vm.memfd_noexec want the flag, kernels before 6.3 do not know it.
    for flags in [flags | libc::MFD_NOEXEC_SEAL, flags] {
        // SAFETY: a terminated name.
        let fd = unsafe { libc::memfd_create(c"transom".as_ptr(), flags) };
        if fd >= 0 {
            // SAFETY: a new descriptor that nobody else owns.
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        if errno() != libc::EINVAL {
            break;
        }
    }
    Err(MemoryError::of_call("memfd_create", size as u64))
}

fn token() -> Result<[u8; 16], MemoryError> {
    let mut token = [0u8; 16];
    loop {
        // SAFETY: writes at most 16 bytes into `token`.
        let got = unsafe { libc::getrandom(token.as_mut_ptr().cast(), token.len(), 0) };
        if got == token.len() as isize {
            return Ok(token);
        }
        if got < 0 && errno() != libc::EINTR {
            return Err(MemoryError::of_call("getrandom", 0));
        }
    }
}

/// In pieces: an interrupted `fallocate` undoes all it did, so with a profiler's timer running one large call might never end.
fn reserve(fd: RawFd, offset: usize, size: usize) -> Result<(), MemoryError> {
    const PIECE: usize = 16 << 20;
    let undo = |done| {
        if done > 0 {
            let _ = punch(fd, offset, done);
        }
    };
    let (mut done, mut piece) = (0, PIECE);
    while done < size {
        let length = piece.min(size - done);
        if let Err(error) = headroom::check(length, size - done) {
            undo(done);
            return Err(error);
        }
        // KEEP_SIZE: the segment has its size for good.
        // SAFETY: a plain call on a descriptor.
        let result =
            unsafe { libc::fallocate(fd, libc::FALLOC_FL_KEEP_SIZE, (offset + done) as libc::off_t, length as libc::off_t) };
        if result == 0 {
            done += length;
        } else if errno() == libc::EINTR {
            piece = (piece / 2).max(page());
        } else {
            let error = MemoryError::of_call("fallocate", size as u64);
            undo(done);
            return Err(error);
        }
    }
    Ok(())
}

fn punch(fd: RawFd, offset: usize, size: usize) -> Result<(), MemoryError> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    loop {
        // SAFETY: a plain call on a descriptor.
        if unsafe { libc::fallocate(fd, mode, offset as libc::off_t, size as libc::off_t) } == 0 {
            return Ok(());
        }
        if errno() != libc::EINTR {
            return Err(MemoryError::of_call("fallocate(PUNCH_HOLE)", size as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{descriptors, in_child, is_mapped, limit, load, mappings, memory_of, store};
    use super::*;

    #[test]
    fn a_segment_is_its_owners_alone_and_keeps_its_size() {
        let segment = Segment::create(100_000, Kind::Block).unwrap();
        let fd = segment.name().fd;
        let mut facts = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: plain calls on a descriptor; `facts` is read after it was filled.
        unsafe {
            assert_eq!(libc::fstat(fd, facts.as_mut_ptr()), 0);
            assert_eq!(facts.assume_init().st_mode & 0o777, 0o600);
            assert_eq!(facts.assume_init().st_size as usize, 100_000usize.next_multiple_of(page()) + page());
            assert_eq!(libc::fcntl(fd, libc::F_GETFD) & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
            for size in [0, page() as libc::off_t, 1 << 20] {
                assert_eq!(libc::ftruncate(fd, size), -1);
                assert_eq!(errno(), libc::EPERM);
            }
        }
    }

    #[test]
    fn memory_is_taken_when_reserved_and_given_back_when_discarded() {
        const SIZE: usize = 20 << 20;
        let segment = Segment::create(SIZE, Kind::Arena).unwrap();
        let fd = segment.name().fd;
        assert_eq!(memory_of(fd), page() as u64);
        segment.reserve(segment.data(), SIZE).unwrap();
        assert_eq!(memory_of(fd), (SIZE + page()) as u64);
        store((segment.data() + SIZE / 2) as *mut u8, 7);
        segment.discard(segment.data(), SIZE).unwrap();
        assert_eq!(memory_of(fd), page() as u64);
        assert_eq!(load((segment.data() + SIZE / 2) as *const u8), 0);
    }

    #[test]
    fn the_end_of_a_segment_leaves_nothing() {
        in_child(|| {
            let before = (descriptors(), mappings());
            let segment = Segment::create(1 << 20, Kind::Block).unwrap();
            let base = segment.base();
            assert!(is_mapped(base));
            assert_eq!((descriptors(), mappings()), (before.0 + 1, before.1 + 1));
            drop(segment);
            assert!(!is_mapped(base));
            assert_eq!((descriptors(), mappings()), before);
        });
    }

    #[test]
    fn a_segment_given_up_keeps_no_memory_though_a_peer_has_it_mapped() {
        let segment = Segment::create(8 << 20, Kind::Arena).unwrap();
        segment.reserve(segment.data(), 8 << 20).unwrap();
        // SAFETY: a plain call.
        let fd = unsafe { OwnedFd::from_raw_fd(libc::fcntl(segment.name().fd, libc::F_DUPFD_CLOEXEC, 0)) };
        let peer = Mapped::shared(fd.as_raw_fd(), segment.size()).unwrap();
        drop(segment);
        // SAFETY: mapped until the end of the test.
        assert_eq!(unsafe { Header::retired(peer.base) }.load(Ordering::Acquire), 1);
        assert_eq!(memory_of(fd.as_raw_fd()), page() as u64);
    }

    #[test]
    fn a_file_that_got_the_descriptors_number_is_not_touched() {
        in_child(|| {
            let segment = Segment::create(1 << 20, Kind::Arena).unwrap();
            // As a program does that closes all descriptors and goes on opening files of its own.
            let file = memfd(1 << 20).unwrap();
            // SAFETY: plain calls on descriptors; the segment's own number is closed behind its back on purpose.
            unsafe {
                assert_eq!(libc::dup2(file.as_raw_fd(), segment.name().fd), segment.name().fd);
                assert_eq!(libc::pwrite(file.as_raw_fd(), [7u8; 8192].as_ptr().cast(), 8192, 0), 8192);
            }
            let before = memory_of(file.as_raw_fd());
            assert!(segment.discard(segment.data(), 1 << 20).is_err());
            assert!(segment.reserve(segment.data(), 1 << 20).is_err());
            let fd = segment.name().fd;
            drop(segment);
            assert_eq!(memory_of(file.as_raw_fd()), before);
            assert!(Identity::of(fd).is_some(), "the program's descriptor was closed");
        });
    }

    #[test]
    fn at_each_limit_an_error_and_nothing_left_behind() {
        const LIMIT: u64 = 64 << 30;
        const SIZE: usize = 128 << 30;
        in_child(|| drop(Segment::create(SIZE, Kind::Block).expect("without a limit")));
        for (resource, word) in [(libc::RLIMIT_AS, "memory"), (libc::RLIMIT_FSIZE, "file size")] {
            in_child(|| {
                let before = (descriptors(), mappings());
                limit(resource, LIMIT);
                let error = Segment::create(SIZE, Kind::Block).err().expect("beyond the limit");
                assert!(error.is_exhaustion() && error.to_string().contains(word), "{error}");
                assert_eq!((descriptors(), mappings()), before);
            });
        }
        in_child(|| {
            let before = (descriptors(), mappings());
            limit(libc::RLIMIT_NOFILE, 64);
            let hogs: Vec<_> = std::iter::from_fn(|| std::net::UdpSocket::bind("127.0.0.1:0").ok()).collect();
            let error = Segment::create(SIZE, Kind::Block).err().expect("no descriptor left");
            drop(hogs);
            assert!(error.is_exhaustion() && error.to_string().contains("files"), "{error}");
            assert_eq!((descriptors(), mappings()), before);
        });
    }
}
