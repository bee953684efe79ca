//! What can go wrong with shared memory.

use crate::base::error::{Class, Error, What};
use std::fmt;
use std::io;

/// Why memory could not be had or a peer's memory not be mapped. Nothing is left behind by an attempt that ended in one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// The machine, the control group or a limit of the process (address space, descriptors, file size) has no room for `bytes` more.
    NoMemory {
        /// How much was asked for.
        bytes: u64,
        /// What refused it: a system call, or the limit that was read.
        what: &'static str,
        /// The `errno` of the refusal.
        errno: i32,
    },
    /// The alignment asked for is no power of two, or larger than [`MAX_ALIGN`](super::MAX_ALIGN).
    Alignment {
        /// The alignment asked for.
        align: usize,
    },
    /// A system call failed in a way that says nothing about memory.
    System {
        /// Its name.
        call: &'static str,
        /// Its `errno`.
        errno: i32,
    },
    /// A peer's segment cannot be opened: another user or container, a process that has ended, or one that forbids it.
    Unreachable {
        /// The peer's process, as the peer itself numbers it.
        pid: u32,
        /// Why the descriptor did not open.
        errno: i32,
    },
    /// What lies behind a segment's name is not that segment: the two processes number processes differently (containers), or the
    /// segment has gone.
    NotShared {
        /// The process that the name speaks of.
        pid: u32,
    },
    /// Called from within itself: by a signal handler that interrupted a call, or by a `pthread_atfork` handler.
    Reentered,
}

impl MemoryError {
    /// Whether trying again with less, or after something was freed, may succeed (for MPI: class `MPI_ERR_NO_MEM`).
    pub fn is_exhaustion(&self) -> bool {
        matches!(self, Self::NoMemory { .. })
    }

    /// A failed call that would have given `bytes`: sorts exhaustion of any kind from the rest.
    pub(super) fn of_call(call: &'static str, bytes: u64) -> Self {
        Self::of_errno(call, bytes, errno())
    }

    pub(super) fn of_errno(call: &'static str, bytes: u64, errno: i32) -> Self {
        match errno {
            libc::ENOMEM | libc::ENOSPC | libc::EMFILE | libc::ENFILE | libc::EFBIG | libc::EDQUOT | libc::EOVERFLOW => {
                Self::NoMemory { bytes, what: call, errno }
            }
            _ => Self::System { call, errno },
        }
    }
}

impl From<MemoryError> for Error {
    fn from(error: MemoryError) -> Error {
        match error {
            MemoryError::NoMemory { bytes, errno, .. } => Error { class: Class::NoMem, what: What::Memory { bytes, errno } },
            MemoryError::Alignment { .. } => Error::text(Class::Arg, "the alignment is no power of two or too large"),
            MemoryError::System { .. } => Error::text(Class::Other, "a system call for shared memory failed"),
            MemoryError::Unreachable { .. } => Error::text(Class::Other, "a peer's memory cannot be mapped"),
            MemoryError::NotShared { .. } => Error::text(Class::Other, "a peer's memory is not what the peer named"),
            MemoryError::Reentered => Error::text(Class::Other, "shared memory was asked for inside such a request"),
        }
    }
}

/// The calling thread's `errno`.
pub(super) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = io::Error::from_raw_os_error;
        match *self {
            Self::NoMemory { bytes, what, errno } => write!(f, "no shared memory for {bytes} bytes: {what}: {}", text(errno)),
            Self::Alignment { align } => write!(f, "an alignment of {align} bytes cannot be given"),
            Self::System { call, errno } => write!(f, "shared memory: {call}: {}", text(errno)),
            Self::Unreachable { pid, errno } => write!(f, "the memory of process {pid} cannot be mapped: {}", text(errno)),
            Self::NotShared { pid } => {
                write!(f, "what process {pid} shares is not what it named (processes in different containers?)")
            }
            Self::Reentered => {
                write!(f, "shared memory was asked for from a signal or fork handler that interrupted such a request")
            }
        }
    }
}

impl std::error::Error for MemoryError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhaustion_of_any_kind_is_told_from_the_rest() {
        for errno in [libc::ENOMEM, libc::ENOSPC, libc::EMFILE, libc::ENFILE] {
            assert!(MemoryError::of_errno("mmap", 64, errno).is_exhaustion());
        }
        assert!(!MemoryError::of_errno("mmap", 64, libc::EPERM).is_exhaustion());
    }

    #[test]
    fn the_text_names_size_and_reason() {
        let text = MemoryError::of_errno("memfd_create", 4096, libc::EMFILE).to_string();
        assert!(text.contains("4096 bytes") && text.contains("memfd_create") && text.contains("open files"), "{text}");
    }
}
