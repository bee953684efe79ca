//! Window handles of our own, without a window of the host: that would cost a communicator each, of which MPICH 4.0.2 has 2,046.
//!
//! MPICH family: integers of the kind "builtin window", of which the host has none. Open MPI family: addresses inside a reserved region
//! that is readable and all zeros, so that host code which follows one by mistake finds nothing rather than a fault. From handle to window
//! is a range check and a load.

use super::Window;
use crate::base::threads::lock;
use crate::host::abi::MPI_Win;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::Acquire, Ordering::Release};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Live windows of a process.
const CAPACITY: usize = 1 << 20;

/// Window of each handle, null where there is none. Untouched pages of it cost nothing.
static WINDOWS: [AtomicPtr<Window>; CAPACITY] = [const { AtomicPtr::new(ptr::null_mut()) }; CAPACITY];

/// Indices that are free. The lowest one is handed out: ranks that create and free alike get equal handles (cases.md, 23).
struct Indices {
    freed: BTreeSet<u32>,
    /// From here on none has ever been used.
    unused: u32,
}

static INDICES: Mutex<Indices> = Mutex::new(Indices { freed: BTreeSet::new(), unused: 0 });

#[cfg(transom_mpich)]
mod family {
    use super::*;

    /// Kind 01 (builtin), object type 1000 (window).
    const FIRST: u32 = 0x6000_0000;

    pub(super) fn prepare() -> std::io::Result<()> {
        Ok(())
    }

    #[inline]
    pub(super) fn index(handle: MPI_Win) -> usize {
        (handle.0 as u32).wrapping_sub(FIRST) as usize
    }

    pub(super) fn handle(index: u32) -> MPI_Win {
        MPI_Win((FIRST + index) as i32)
    }

    /// Fortran handles are the same integers.
    pub(super) fn to_fortran(index: u32) -> i32 {
        (FIRST + index) as i32
    }

    pub(super) fn from_fortran(number: i32) -> Option<u32> {
        let index = (number as u32).wrapping_sub(FIRST);
        ((index as usize) < CAPACITY).then_some(index)
    }
}

#[cfg(transom_ompi)]
mod family {
    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Bytes between handles.
    const STRIDE: usize = 64;
    /// Readable behind the last handle: more than any object of the host.
    const TAIL: usize = 64 * 1024;
    /// The region's address. Before [`prepare`] no address is close to it.
    static REGION: AtomicUsize = AtomicUsize::new(usize::MAX / 2);

    pub(super) fn prepare() -> std::io::Result<()> {
        // SAFETY: a new private mapping; nothing else is touched.
        let region = unsafe {
            libc::mmap(
                ptr::null_mut(),
                CAPACITY * STRIDE + TAIL,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if region == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        REGION.store(region as usize, Release);
        Ok(())
    }

    #[inline]
    pub(super) fn index(handle: MPI_Win) -> usize {
        let distance = (handle.0 as usize).wrapping_sub(REGION.load(Relaxed));
        // Not a multiple: no handle of ours, and rotating makes it a huge number.
        distance.rotate_right(STRIDE.trailing_zeros())
    }

    pub(super) fn handle(index: u32) -> MPI_Win {
        MPI_Win((REGION.load(Relaxed) + index as usize * STRIDE) as *mut _)
    }

    /// The host's own Fortran handles count up from 0; ours count down from far below.
    const FORTRAN_FIRST: i32 = -1_000_000;

    pub(super) fn to_fortran(index: u32) -> i32 {
        FORTRAN_FIRST - index as i32
    }

    pub(super) fn from_fortran(number: i32) -> Option<u32> {
        let index = FORTRAN_FIRST.checked_sub(number)?;
        (index >= 0 && (index as usize) < CAPACITY).then_some(index as u32)
    }
}

/// Once, before any other call here.
pub fn prepare() -> std::io::Result<()> {
    family::prepare()
}

/// The window behind a handle; `None` where the handle is not a live window of ours.
///
/// # Safety
/// As MPI demands of the application: no other thread frees the window while the reference is in use.
#[inline]
pub unsafe fn find(handle: MPI_Win) -> Option<&'static Window> {
    let slot = WINDOWS.get(family::index(handle))?;
    // Pairs with the release in `insert`: the window is whole when its handle is seen, however the handle came to this thread.
    let window = slot.load(Acquire);
    // SAFETY: a pointer in the table is a live window's until `remove`, which the caller keeps from running meanwhile.
    unsafe { window.as_ref() }
}

/// Is the handle one that we hand out, live or not?
pub fn is_ours(handle: MPI_Win) -> bool {
    family::index(handle) < CAPACITY
}

/// Gives a window its handle; `None` when all are in use.
pub fn insert(window: Box<Window>) -> Option<MPI_Win> {
    let mut indices = lock(&INDICES);
    let index = match indices.freed.pop_first() {
        Some(index) => index,
        None if (indices.unused as usize) < CAPACITY => {
            indices.unused += 1;
            indices.unused - 1
        }
        None => return None,
    };
    WINDOWS[index as usize].store(Box::into_raw(window), Release);
    Some(family::handle(index))
}

/// Takes a window back; its handle may be handed out again.
///
/// # Safety
/// As for [`find`]: no other thread uses the window.
pub unsafe fn remove(handle: MPI_Win) -> Option<Box<Window>> {
    let index = family::index(handle);
    let window = WINDOWS.get(index)?.swap(ptr::null_mut(), Acquire);
    if window.is_null() {
        return None;
    }
    lock(&INDICES).freed.insert(index as u32);
    // SAFETY: it came from `Box::into_raw` and was taken out of the table by this call alone.
    Some(unsafe { Box::from_raw(window) })
}

/// Calls `visit` with every live window. For `MPI_Finalize`, when no other thread is inside MPI.
pub fn for_each(mut visit: impl FnMut(&Window)) {
    let unused = lock(&INDICES).unused;
    for slot in &WINDOWS[..unused as usize] {
        // SAFETY: live until removed, and nobody removes at this time.
        if let Some(window) = unsafe { slot.load(Acquire).as_ref() } {
            visit(window);
        }
    }
}

/// The Fortran handle of a window of ours (`MPI_Win_c2f`).
pub fn to_fortran(handle: MPI_Win) -> i32 {
    family::to_fortran(family::index(handle) as u32)
}

/// The handle behind a Fortran handle of ours (`MPI_Win_f2c`), `None` for the host's.
pub fn from_fortran(number: i32) -> Option<MPI_Win> {
    family::from_fortran(number).map(family::handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_and_their_fortran_forms_are_told_from_the_hosts() {
        prepare().unwrap();
        for index in [0, 1, 77, CAPACITY as u32 - 1] {
            let handle = family::handle(index);
            assert!(is_ours(handle));
            assert_eq!(family::index(handle), index as usize);
            assert!(from_fortran(to_fortran(handle)) == Some(handle));
        }
        for number in [0, 1, -1, 5, 1000, 0x2000_0000, 0x5fff_ffff] {
            assert!(from_fortran(number).is_none(), "{number}");
        }
    }

    #[cfg(transom_mpich)]
    #[test]
    fn the_hosts_own_handles_are_not_ours() {
        // MPI_WIN_NULL, direct and indirect windows, zero, and one past the last of ours.
        for number in [0x2000_0000_u32, 0xa000_0000, 0xa000_0001, 0xe000_0003, 0, 0x6010_0000] {
            assert!(!is_ours(MPI_Win(number as i32)), "{number:#x}");
        }
    }

    #[cfg(transom_ompi)]
    #[test]
    fn other_addresses_are_not_ours_and_ours_read_as_zeros() {
        prepare().unwrap();
        let (first, last) = (family::handle(0).0 as usize, family::handle(CAPACITY as u32 - 1).0 as usize);
        for address in [0, first - 64, first + 8, last + 64, usize::MAX] {
            assert!(!is_ours(MPI_Win(address as *mut _)), "{address:#x}");
        }
        // SAFETY: readable by the module's promise.
        assert_eq!(unsafe { (last as *const [u64; 100]).read_volatile() }, [0; 100]);
    }
}
