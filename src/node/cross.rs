//! Private memory of another process on this node, reached by `process_vm_readv` and `process_vm_writev`: about 1.5 µs a call, no help of
//! the other process, no mapping.

use std::io;

/// Pieces handed to the kernel at once.
const PIECES: usize = 64;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the other process to here.
    Read,
    /// From here to the other process.
    Write,
}

/// Moves bytes to or from one process, piece by piece.
pub struct Mover {
    pid: libc::pid_t,
    direction: Direction,
    local: [libc::iovec; PIECES],
    remote: [libc::iovec; PIECES],
    count: usize,
}

impl Mover {
    /// Nothing to move yet.
    pub fn new(pid: u32, direction: Direction) -> Mover {
        const EMPTY: libc::iovec = libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 0 };
        Mover { pid: pid as libc::pid_t, direction, local: [EMPTY; PIECES], remote: [EMPTY; PIECES], count: 0 }
    }

    /// Adds a piece; may move what was added before. An error is `errno` of the refused call: `EFAULT` where either side's memory is not
    /// there, or must not be written, `ESRCH` where the process has ended.
    ///
    /// # Safety
    /// `local` is valid for `bytes` until [`Mover::finish`], and what is written elsewhere is the caller's to write.
    pub unsafe fn add(&mut self, local: *mut u8, remote: u64, bytes: usize) -> io::Result<()> {
        if let Some(last) = self.count.checked_sub(1) {
            let (before, there) = (&mut self.local[last], &mut self.remote[last]);
            if before.iov_base as usize + before.iov_len == local as usize
                && there.iov_base as usize + there.iov_len == remote as usize
            {
                before.iov_len += bytes;
                there.iov_len += bytes;
                return Ok(());
            }
        }
        if self.count == PIECES {
            // SAFETY: as for this call.
            unsafe { self.finish() }?;
        }
        self.local[self.count] = libc::iovec { iov_base: local.cast(), iov_len: bytes };
        self.remote[self.count] = libc::iovec { iov_base: remote as *mut _, iov_len: bytes };
        self.count += 1;
        Ok(())
    }

    /// Moves what is left.
    ///
    /// # Safety
    /// As for [`Mover::add`].
    pub unsafe fn finish(&mut self) -> io::Result<()> {
        let mut done = 0;
        while done < self.count {
            let pieces = (self.count - done) as libc::c_ulong;
            let (local, remote) = (self.local[done..].as_ptr(), self.remote[done..].as_ptr());
            // SAFETY: arrays of as many pieces, whose local side is valid by `add`'s promise.
            let moved = unsafe {
                match self.direction {
                    Direction::Read => libc::process_vm_readv(self.pid, local, pieces, remote, pieces, 0),
                    Direction::Write => libc::process_vm_writev(self.pid, local, pieces, remote, pieces, 0),
                }
            };
            if moved < 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(error);
            }
            if moved == 0 {
                return Err(io::Error::from_raw_os_error(libc::EFAULT));
            }
            // The kernel moves at most 2 GiB at once, and stops early where a page is missing: the next round tells.
            done = self.skip(done, moved as usize);
        }
        self.count = 0;
        Ok(())
    }

    /// Takes `bytes` off the pieces from `first` on; the first piece that is left.
    fn skip(&mut self, mut first: usize, mut bytes: usize) -> usize {
        while first < self.count && bytes >= self.local[first].iov_len {
            bytes -= self.local[first].iov_len;
            first += 1;
        }
        if bytes > 0 {
            for piece in [&mut self.local[first], &mut self.remote[first]] {
                piece.iov_base = piece.iov_base.wrapping_byte_add(bytes);
                piece.iov_len -= bytes;
            }
        }
        first
    }
}

/// Moves one piece.
///
/// # Safety
/// As for [`Mover::add`].
pub unsafe fn move_one(pid: u32, direction: Direction, local: *mut u8, remote: u64, bytes: usize) -> io::Result<()> {
    let mut mover = Mover::new(pid, direction);
    // SAFETY: the caller vouches for it.
    unsafe {
        mover.add(local, remote, bytes)?;
        mover.finish()
    }
}

/// Lets every process of this user reach this one's private memory, where the kernel asks for that (Yama's `ptrace_scope` 1 lets only parents
/// in). Nothing is opened to other users.
pub fn admit_peers() {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    if scope.trim() == "1" {
        // SAFETY: takes numbers only; refused where Yama is not built in, which changes nothing.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> u32 {
        std::process::id()
    }

    #[test]
    fn many_pieces_arrive_where_they_belong() {
        let from: Vec<u8> = (0..1000_u32).map(|byte| byte as u8).collect();
        let mut to = vec![0_u8; 3000];
        let mut mover = Mover::new(own(), Direction::Write);
        for index in 0..1000 {
            // SAFETY: inside both vectors.
            unsafe { mover.add(from.as_ptr().add(index).cast_mut(), to.as_mut_ptr().add(3 * index) as u64, 1) }.unwrap();
        }
        // SAFETY: as above.
        unsafe { mover.finish() }.unwrap();
        for index in 0..3000 {
            assert_eq!(to[index], if index % 3 == 0 { from[index / 3] } else { 0 }, "{index}");
        }
        let mut back = vec![0_u8; 3000];
        // SAFETY: both vectors are that long.
        unsafe { move_one(own(), Direction::Read, back.as_mut_ptr(), to.as_ptr() as u64, 3000) }.unwrap();
        assert_eq!(back, to);
    }

    #[test]
    fn missing_memory_and_processes_are_told() {
        let mut byte = 0_u8;
        // SAFETY: one valid byte here; there is nothing there.
        let error = unsafe { move_one(own(), Direction::Read, &mut byte, 8, 1) }.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
        // SAFETY: as above.
        let error = unsafe { move_one(0x3fff_ffff, Direction::Read, &mut byte, 8, 1) }.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
    }
}
