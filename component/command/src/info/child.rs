//! A process of its own for whatever may crash, hang or leave something behind: loading somebody's library, trying a system call that a
//! filter may answer with a signal.

use core::ffi::{CStr, c_int, c_ulong};
use std::ffi::CString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::reason;

/// How long one may take. Generous: a cluster's file system may need seconds for a library that nobody has used today.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);
/// How long the kernel may take over a process that was killed; one that hangs in a dead file system is left to it.
const BURIAL: Duration = Duration::from_secs(1);
/// How often somebody who says nothing is looked at.
const GLANCE: Duration = Duration::from_millis(50);
/// More than anybody has to say.
const MOST: usize = 1 << 20;
/// What one reading counts for at least.
const LEAST: usize = 1 << 11;

/// A process that says lines. It, and all that it has started, ends when this is dropped.
pub(crate) struct Child {
    pid: libc::pid_t,
    pipe: PipeReader,
    received: Vec<u8>,
    taken: usize,
    deadline: Instant,
}

/// How a process ended.
pub(crate) enum End {
    Exited(c_int),
    Killed(c_int),
    /// Its time was up.
    Late,
}

impl Child {
    /// Runs `work` in a process of its own, which ends with it.
    pub(crate) fn start(work: impl FnOnce(&mut Speaker)) -> Result<Child, String> {
        let (pipe, writer) = io::pipe().map_err(|error| format!("pipe: {}", reason(&error)))?;
        // SAFETY: no arguments.
        let parent = unsafe { libc::getpid() };
        // SAFETY: this process has one thread, so the child may do whatever the parent may.
        match unsafe { libc::fork() } {
            -1 => Err(refusal("fork")),
            0 => {
                drop(pipe);
                settle(parent);
                // Nothing of the parent may be unwound here: its other children would be ended.
                let _ = catch_unwind(AssertUnwindSafe(|| work(&mut Speaker(writer))));
                // SAFETY: ends the process without the exit handlers of libraries that were loaded only to be looked at.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Child { pid, pipe, received: Vec::new(), taken: 0, deadline: Instant::now() + LIMIT }),
        }
    }

    /// Runs a command and says what it prints, complaints included.
    pub(crate) fn start_command(words: &[&CStr]) -> Result<Child, String> {
        let mut words: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
        words.push(core::ptr::null());
        Child::start(move |speaker| {
            speaker.pass_on_errors();
            // SAFETY: two descriptors of this process, and an array of C strings that a null pointer ends.
            unsafe {
                libc::dup2(speaker.0.as_raw_fd(), libc::STDOUT_FILENO);
                libc::execvp(words[0], words.as_ptr());
            }
        })
    }

    pub(crate) fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// The next line; none if it has ended, or its time is up, without another.
    pub(crate) fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if !self.receive() {
                return None;
            }
        }
    }

    fn receive(&mut self) -> bool {
        // What it has started may hold the pipe open for longer than it lives. What it said before it ended is there to be read.
        while !self.has_spoken(GLANCE) {
            if self.ended().is_some() && !self.has_spoken(Duration::ZERO) {
                return false;
            }
        }
        let mut bytes = [0; 4096];
        let count = if self.taken < MOST { self.pipe.read(&mut bytes).unwrap_or(0) } else { 0 };
        self.received.extend_from_slice(&bytes[..count]);
        // Somebody who says little at a time must come to an end too.
        self.taken += count.max(LEAST);
        count > 0
    }

    fn has_spoken(&self, limit: Duration) -> bool {
        let mut poll = libc::pollfd { fd: self.pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one element.
        unsafe { libc::poll(&mut poll, 1, limit.as_millis() as c_int) > 0 }
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> End {
        loop {
            match self.ended() {
                Some(end) => return end,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// How it has ended, if it has. It is left to be reaped, so that its id stays taken until the whole group is killed.
    fn ended(&self) -> Option<End> {
        // SAFETY: all zero is a value of this type, and the call's place for its answer.
        let (info, pid, status) = unsafe {
            let mut info: libc::siginfo_t = core::mem::zeroed();
            libc::waitid(libc::P_PID, self.pid as libc::id_t, &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT);
            (info, info.si_pid(), info.si_status())
        };
        match info.si_code {
            _ if pid == 0 => (Instant::now() >= self.deadline).then_some(End::Late),
            libc::CLD_EXITED => Some(End::Exited(status)),
            _ => Some(End::Killed(status)),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: a child that is not reaped yet, so both numbers are its own. It may not have become a group's leader yet.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::kill(-self.pid, libc::SIGKILL);
        }
        bury(self.pid);
    }
}

/// How a process that had something to say has ended without saying it.
impl core::fmt::Display for End {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            End::Exited(status) => write!(f, "ended with status {status}"),
            End::Killed(signal) => {
                // SAFETY: the text is valid until the next call, and there is no other thread.
                let text = unsafe { CStr::from_ptr(libc::strsignal(*signal)) };
                write!(f, "was killed by signal {signal} ({})", text.to_string_lossy())
            }
            End::Late => write!(f, "did not answer within {} s", LIMIT.as_secs()),
        }
    }
}

/// The child's end of the pipe.
pub(crate) struct Speaker(PipeWriter);

impl Speaker {
    /// Says one line.
    pub(crate) fn say(&mut self, text: &str) {
        let _ = self.0.write_all(format!("{}\n", text.replace('\n', " ")).as_bytes());
    }

    /// From now on the lines of standard error are said too.
    pub(crate) fn pass_on_errors(&self) {
        // SAFETY: two descriptors of this process.
        unsafe { libc::dup2(self.0.as_raw_fd(), libc::STDERR_FILENO) };
    }
}

/// What a child is before it does anything.
fn settle(parent: libc::pid_t) {
    // SAFETY: plain system calls on this process, with valid pointers.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong, 0, 0, 0);
        if libc::getppid() != parent {
            libc::_exit(0);
        }
        // Away from the terminal, and a group that can be killed as a whole.
        libc::setsid();
        // No core file. 1 and not 0, which a handler behind a pipe would not be bound by.
        let core = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        if libc::setrlimit(libc::RLIMIT_CORE, &core) != 0 {
            libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        }
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for descriptor in libc::STDIN_FILENO..=libc::STDERR_FILENO {
            // Where there is no /dev/null: what a library prints must not get into the report.
            if nothing < 0 {
                libc::close(descriptor)
            } else {
                libc::dup2(nothing, descriptor)
            };
        }
    }
}

/// Reaps a process that was killed.
fn bury(pid: libc::pid_t) {
    let deadline = Instant::now() + BURIAL;
    // SAFETY: no place for the status is asked for.
    while unsafe { libc::waitpid(pid, core::ptr::null_mut(), libc::WNOHANG) } == 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Processes that left their group become ours when their parents end, and are ended here.
pub(crate) struct Strays {
    /// Children that this process had before: those of a shell that became us.
    before: Vec<libc::pid_t>,
}

impl Strays {
    pub(crate) fn adopt() -> Strays {
        // SAFETY: sets a property of this process. The default action makes its children wait to be reaped, whatever was inherited.
        unsafe {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as c_ulong, 0, 0, 0);
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        }
        Strays { before: children() }
    }
}

impl Drop for Strays {
    fn drop(&mut self) {
        // Killing one may orphan others.
        for _ in 0..100 {
            let strays: Vec<_> = children().into_iter().filter(|pid| !self.before.contains(pid)).collect();
            if strays.is_empty() {
                return;
            }
            for pid in strays {
                // SAFETY: a child that is not reaped yet.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                bury(pid);
            }
        }
    }
}

fn children() -> Vec<libc::pid_t> {
    // A /proc of another namespace numbers processes differently.
    if std::fs::read_link("/proc/self").ok() != Some(std::process::id().to_string().into()) {
        return Vec::new();
    }
    let list = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// `CALL: reason`, for a system call that has just failed.
pub(crate) fn refusal(call: &str) -> String {
    format!("{call}: {}", reason(&io::Error::last_os_error()))
}

/// A path or text as a C string; what no system call could take becomes empty.
pub(crate) fn c_string(bytes: impl Into<Vec<u8>>) -> CString {
    CString::new(bytes).unwrap_or_default()
}
