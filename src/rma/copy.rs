//! Copies between a private buffer and shared memory.

use core::ptr;

/// Copies `bytes` bytes. The sizes of single elements are one load and one store (aligned ones are never seen torn); `memmove` does the
/// rest, since a put to oneself may overlap where the program is wrong.
///
/// # Safety
/// Both ranges are valid. Other processes may read and write the shared one at the same time: MPI makes that the program's error, and
/// what is read then is arbitrary, but these are raw copies, so nothing else goes wrong.
#[inline]
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: valid for `bytes`, as the caller vouches; unaligned accesses are asked for as such.
    unsafe {
        match bytes {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
            1 => to.write(from.read()),
            _ => ptr::copy(from, to, bytes),
        }
    }
}
