//! For the tests of this room: other processes, and what a process holds.
//!
//! Tests run in parallel threads of one process, so whatever counts descriptors or mappings, or changes a limit, runs in a child of its
//! own, where no other thread lives.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::Location;

/// More than any step of a test takes, on a crowded machine too.
const PATIENCE: Duration = Duration::from_secs(30);

/// For tests that take the room's locks without going through one of its doors.
pub(super) fn watch_forks() {
    super::fork::watch().unwrap();
}

/// A forked process at the other end of a stream.
pub(super) struct Child {
    pid: libc::pid_t,
    pub(super) stream: UnixStream,
}

/// Runs `body` in a child and fails if it fails.
pub(super) fn in_child(body: impl FnOnce()) {
    fork(|_| body()).join();
}

pub(super) fn fork(body: impl FnOnce(&mut UnixStream)) -> Child {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    for stream in [&ours, &theirs] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    // SAFETY: the child runs test code only and ends in _exit.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        drop(ours);
        // A child that hangs, and its children in turn, end with the test.
        // SAFETY: a plain call.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let result = catch_unwind(AssertUnwindSafe(|| body(&mut theirs)));
        let text = match &result {
            Ok(()) => "",
            Err(panic) => panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without a text"),
        };
        let _ = theirs.write_all(text.as_bytes());
        // SAFETY: ends the child without running the test harness's own end.
        unsafe { libc::_exit(i32::from(result.is_err())) };
    }
    drop(theirs);
    Child { pid, stream: ours }
}

impl Child {
    /// Waits for the child's end, which must be a good one.
    pub(super) fn join(mut self) {
        let status = self.wait();
        let mut text = String::new();
        let _ = self.stream.read_to_string(&mut text);
        assert_eq!(status, 0, "the child failed: {text}");
    }

    /// Waits for the child's end and says how it was (as `waitpid` does). A child that does not end is killed.
    pub(super) fn wait(&mut self) -> i32 {
        let begun = Instant::now();
        let mut status = 0;
        loop {
            // SAFETY: a child of ours that nobody else waits for.
            match unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) } {
                0 if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(1)),
                0 => {
                    // SAFETY: still our child, since it was not waited for.
                    unsafe {
                        libc::kill(self.pid, libc::SIGKILL);
                        libc::waitpid(self.pid, &mut status, 0);
                    }
                    panic!("the child did not end");
                }
                pid => {
                    assert_eq!(pid, self.pid);
                    return status;
                }
            }
        }
    }
}

/// One step is done: lets the other side go on.
pub(super) fn signal(stream: &mut UnixStream) {
    stream.write_all(&[1]).unwrap();
}

/// Waits for the other side's [`signal`].
pub(super) fn await_signal(stream: &mut UnixStream) {
    stream.read_exact(&mut [0]).expect("the other process is there");
}

pub(super) fn send(stream: &mut UnixStream, location: Location) {
    // SAFETY: a location is plain bytes without padding.
    let bytes: [u8; size_of::<Location>()] = unsafe { std::mem::transmute(location) };
    stream.write_all(&bytes).unwrap();
}

pub(super) fn receive(stream: &mut UnixStream) -> Location {
    let mut bytes = [0; size_of::<Location>()];
    stream.read_exact(&mut bytes).expect("the other process is there");
    // SAFETY: any bytes make a location.
    unsafe { std::mem::transmute(bytes) }
}

/// How many descriptors this process has open.
pub(super) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// How many mappings of segments this process has.
pub(super) fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps").unwrap().lines().filter(|line| line.contains("memfd:transom")).count()
}

/// Whether a segment is mapped at `base`.
pub(super) fn is_mapped(base: usize) -> bool {
    let start = format!("{base:x}-");
    fs::read_to_string("/proc/self/maps").unwrap().lines().any(|line| line.starts_with(&start) && line.contains("memfd:transom"))
}

/// Bytes of memory that the file behind a descriptor takes.
pub(super) fn memory_of(fd: i32) -> u64 {
    let mut facts = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `facts` has room for a stat, and is read only if it was filled.
    let facts = unsafe {
        assert_eq!(libc::fstat(fd, facts.as_mut_ptr()), 0);
        facts.assume_init()
    };
    facts.st_blocks as u64 * 512
}

pub(super) fn load(address: *const u8) -> u8 {
    // SAFETY: tests pass addresses inside mapped blocks.
    unsafe { address.read_volatile() }
}

pub(super) fn store(address: *mut u8, value: u8) {
    // SAFETY: tests pass addresses inside mapped blocks.
    unsafe { address.write_volatile(value) }
}

/// Sets a limit of this process.
pub(super) fn limit(resource: libc::__rlimit_resource_t, value: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain calls with a valid place.
    unsafe {
        assert_eq!(libc::getrlimit(resource, &mut limit), 0);
        limit.rlim_cur = value.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(resource, &limit), 0);
    }
}
