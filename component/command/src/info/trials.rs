//! The trials. Those of what Transom uses go through its own code where that needs no MPI.

use core::ffi::{c_int, c_long, c_ulong, c_void};
use core::ptr;
use core::sync::atomic::AtomicU32;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use transom::node::memory::{self, SegmentName};

use super::child::refusal;
use super::probe::{Answer, alone, between_ranks, check, idle};

const PAGE: usize = 4096;
/// How long one process of a trial waits for another.
const PATIENCE: Duration = Duration::from_secs(5);
const WRITTEN: [u8; 8] = *b"over it!";

/// A block of window memory.
pub(crate) fn memfd() -> Answer {
    alone(|| {
        let block = memory::allocate(PAGE, PAGE).map_err(|error| error.to_string())?;
        // SAFETY: the block's own bytes, which nobody else has been told of.
        let read = unsafe {
            block.address().cast::<[u8; 8]>().as_ptr().write_volatile(WRITTEN);
            block.address().cast::<[u8; 8]>().as_ptr().read_volatile()
        };
        same(read, "a sealed segment was made and mapped")
    })
}

/// A rank's memory, mapped by another.
pub(crate) fn descriptors_of_peers() -> Answer {
    let target = || {
        let block = memory::allocate(PAGE, PAGE).map_err(|error| error.to_string())?;
        // SAFETY: as above.
        unsafe { block.address().cast::<[u8; 8]>().as_ptr().write_volatile(WRITTEN) };
        let location = block.location();
        // It stays for as long as this process does.
        core::mem::forget(block);
        let SegmentName { pid, fd, size, token } = location.segment;
        Ok(format!("{pid} {fd} {size} {} {}", u128::from_ne_bytes(token), location.offset))
    };
    let origin = |_, place: &str| {
        let mut numbers = place.split(' ').map(|number| number.parse::<u128>().unwrap_or_default());
        let mut next = || numbers.next().unwrap_or_default();
        let (pid, fd, size, token) = (next() as u32, next() as i32, next() as u64, next().to_ne_bytes());
        let mapping = memory::map(&SegmentName { pid, fd, size, token }).map_err(|error| error.to_string())?;
        let there = mapping.at(next() as u64, PAGE as u64).ok_or("the segment is smaller than its name says")?;
        // SAFETY: inside the mapping; the target wrote before it named the place.
        same(unsafe { there.cast::<[u8; 8]>().as_ptr().read_volatile() }, "a peer's segment was opened and mapped")
    };
    between_ranks(target, idle, origin)
}

fn same(read: [u8; 8], seen: &str) -> Answer {
    if read == WRITTEN { Ok(seen.into()) } else { Err("other bytes were read than were written".into()) }
}

/// One process sleeps on a word, another wakes it.
pub(crate) fn futex() -> Answer {
    let page = Pages::new(1, libc::MAP_SHARED, -1)?;
    // SAFETY: a page of zeros that stays mapped, in the two processes too.
    let word = unsafe { AtomicU32::from_ptr(page.address.cast()) };
    let futex = |operation: c_int, value: c_int| {
        let limit = libc::timespec { tv_sec: PATIENCE.as_secs() as libc::time_t, tv_nsec: 0 };
        // SAFETY: the word is mapped. Not the private form: the other is another process.
        check("futex", unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, &raw const limit) })
    };
    let sleep = || {
        let _ = futex(libc::FUTEX_WAIT, 0);
    };
    let wake = |_, _: &str| {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            // The other may not sleep yet.
            if futex(libc::FUTEX_WAKE, 1)? == 1 {
                return Ok("a sleeping process was woken by another".into());
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        Err("nobody was found asleep".into())
    };
    between_ranks(|| Ok(String::new()), sleep, wake)
}

/// The death of a rank, seen by another.
pub(crate) fn pidfd() -> Answer {
    let watch = |pid: libc::pid_t, _: &str| {
        // SAFETY: no pointers.
        let descriptor = check("pidfd_open", unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
        let descriptor = owned(descriptor);
        if readable(&descriptor, Duration::ZERO) {
            return Err("a process that lives was found dead".into());
        }
        // SAFETY: the target, which is reaped only after this.
        check("kill", unsafe { libc::kill(pid, libc::SIGKILL) }.into())?;
        if !readable(&descriptor, PATIENCE) {
            return Err("a process that died was not found dead".into());
        }
        Ok("the death of a process was seen by another".into())
    };
    between_ranks(|| Ok(String::new()), idle, watch)
}

/// A rank's private memory, read and written by another.
pub(crate) fn process_vm() -> Answer {
    let target = || Ok((Box::leak(Box::new(WRITTEN)) as *mut [u8; 8] as usize).to_string());
    let origin = |pid, place: &str| {
        let mut bytes = [0_u8; 8];
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let remote = libc::iovec { iov_base: place.parse::<usize>().unwrap_or_default() as *mut c_void, iov_len: bytes.len() };
        // SAFETY: `local` is memory of this process; what the other is, the kernel checks.
        let read = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
        check("process_vm_readv", read as c_long).map_err(with_yama)?;
        // SAFETY: as above.
        let written = unsafe { libc::process_vm_writev(pid, &local, 1, &remote, 1, 0) };
        check("process_vm_writev", written as c_long).map_err(with_yama)?;
        if (read, written) != (8, 8) {
            return Err("less was read or written than asked for".into());
        }
        same(bytes, "memory of a process was read and written by another")
    };
    between_ranks(target, idle, origin)
}

/// Names the setting that lets processes look into their own descendants only.
fn with_yama(reason: String) -> String {
    match std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope") {
        Ok(scope) if scope.trim() != "0" => format!("{reason} (kernel.yama.ptrace_scope is {})", scope.trim()),
        _ => reason,
    }
}

/// The release of a range of memory, seen by its registration: user mode only and write-protect mode, which need no privilege.
pub(crate) fn userfaultfd() -> Answer {
    const USER_MODE_ONLY: c_int = 1;
    const API: c_ulong = 0xc018_aa3f;
    const REGISTER: c_ulong = 0xc020_aa00;
    const WRITE_PROTECT: u64 = 1 << 0;
    const EVENTS: u64 = 1 << 2 | 1 << 3 | 1 << 6;
    const MODE_WRITE_PROTECT: u64 = 1 << 1;
    const UNMAPPED: u8 = 0x16;
    alone(|| {
        let flags = USER_MODE_ONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: no pointers.
        let descriptor = owned(check("userfaultfd", unsafe { libc::syscall(libc::SYS_userfaultfd, flags) })?);
        // version, features, ioctls
        let mut api = [0xaa_u64, WRITE_PROTECT | EVENTS, 0];
        // SAFETY: the request's structure.
        check("UFFDIO_API", unsafe { libc::ioctl(descriptor.as_raw_fd(), API, api.as_mut_ptr()) }.into())?;
        let pages = Pages::new(2, libc::MAP_PRIVATE, -1)?;
        // start, length, mode, ioctls
        let mut register = [pages.address as u64, pages.length as u64, MODE_WRITE_PROTECT, 0];
        // SAFETY: as above.
        check("UFFDIO_REGISTER", unsafe { libc::ioctl(descriptor.as_raw_fd(), REGISTER, register.as_mut_ptr()) }.into())?;
        // Who unmaps waits until the event is read.
        let unmapping = std::thread::spawn(move || drop(pages));
        if !readable(&descriptor, PATIENCE) {
            return Err("the event of an unmapping did not come".into());
        }
        let mut event = [0_u8; 32];
        // SAFETY: room for one event.
        let read = unsafe { libc::read(descriptor.as_raw_fd(), event.as_mut_ptr().cast(), event.len()) };
        check("read", read as c_long)?;
        drop(descriptor);
        let _ = unmapping.join();
        if event[0] != UNMAPPED {
            Err("another event came than that of an unmapping".into())
        } else {
            Ok("a range was registered and its unmapping seen".into())
        }
    })
}

/// Pages that the kernel pins as a fixed buffer of a ring.
pub(crate) fn io_uring() -> Answer {
    const REGISTER_BUFFERS: c_int = 0;
    alone(|| {
        let mut parameters = [0_u8; 120];
        // SAFETY: the structure of the call, which is that long.
        let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 4, parameters.as_mut_ptr()) };
        let ring = owned(check("io_uring_setup", ring)?);
        let pages = Pages::new(1, libc::MAP_PRIVATE, -1)?;
        let buffer = libc::iovec { iov_base: pages.address, iov_len: pages.length };
        // SAFETY: one buffer, mapped for longer than the ring lives.
        let registered =
            unsafe { libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), REGISTER_BUFFERS, &raw const buffer, 1) };
        check("io_uring_register", registered)?;
        drop(ring);
        Ok("a page was registered as a fixed buffer".into())
    })
}

/// A segment of huge pages, whose mapping takes them from what was set aside.
pub(crate) fn huge_pages(size: usize) -> Answer {
    alone(|| {
        // SAFETY: a terminated name.
        let file = unsafe { libc::memfd_create(c"transom".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_HUGETLB) };
        let file = owned(check("memfd_create", file.into())?);
        // SAFETY: a descriptor of this process.
        check("ftruncate", unsafe { libc::ftruncate(file.as_raw_fd(), size as libc::off_t) }.into())?;
        Pages::new(size / PAGE, libc::MAP_SHARED, file.as_raw_fd())?;
        Ok("a segment of them was mapped".into())
    })
}

fn owned(descriptor: c_long) -> OwnedFd {
    // SAFETY: fresh from the kernel, and nobody else's.
    unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) }
}

fn readable(descriptor: &OwnedFd, limit: Duration) -> bool {
    let mut poll = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one element.
    unsafe { libc::poll(&mut poll, 1, limit.as_millis() as c_int) == 1 && poll.revents & libc::POLLIN != 0 }
}

/// A mapping of its own.
struct Pages {
    address: *mut c_void,
    length: usize,
}

// SAFETY: nothing else refers to the mapping.
unsafe impl Send for Pages {}

impl Pages {
    fn new(count: usize, kind: c_int, file: RawFd) -> Result<Pages, String> {
        let length = count * PAGE;
        let kind = if file < 0 { kind | libc::MAP_ANONYMOUS } else { kind };
        // SAFETY: a new mapping, wherever there is room.
        let address = unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, kind, file, 0) };
        if address == libc::MAP_FAILED { Err(refusal("mmap")) } else { Ok(Pages { address, length }) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and used by nobody any more.
        unsafe { libc::munmap(self.address, self.length) };
    }
}
