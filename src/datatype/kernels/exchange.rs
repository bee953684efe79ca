//! `MPI_Compare_and_swap` on one element.

use super::value::{Value, Word};
use crate::base::element::Element;

/// The old value goes to `result`, and `origin`'s to the target if the old one equals `compare`'s bit by bit.
///
/// # Safety
/// All are valid for an element. What is said of [`super::Bulk`] and [`super::Atomic`] holds for the target.
pub type CompareAndSwap = unsafe fn(target: *mut u8, origin: *const u8, compare: *const u8, result: *mut u8);

/// How a compare-and-swap is done on one element.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// Under exclusion.
    pub exclusive: CompareAndSwap,
    /// Without it; for exactly those elements that have an [`Element::atomic_size`].
    pub atomic: Option<CompareAndSwap>,
}

/// The compare-and-swap of an element; `None` where MPI does not define it. Allowed are integers, logicals and bytes (MPI-4.1, section
/// 12.3.4.4), and characters as on the hosts.
#[inline]
pub fn compare_and_swap(element: Element) -> Option<Exchange> {
    use Element::*;
    match element {
        I8 | U8 | Bool | Logical1 | Byte => of::<u8>(),
        I16 | U16 | Logical2 => of::<u16>(),
        I32 | U32 | Logical4 => of::<u32>(),
        I64 | U64 | Logical8 => of::<u64>(),
        I128 => Some(Exchange { exclusive: exclusive::<u128>, atomic: None }),
        _ => None,
    }
}

fn of<W: Word>() -> Option<Exchange> {
    Some(Exchange { exclusive: exclusive::<W>, atomic: Some(atomic::<W>) })
}

unsafe fn exclusive<T: Value + PartialEq>(target: *mut u8, origin: *const u8, compare: *const u8, result: *mut u8) {
    // SAFETY: all are valid for an element, as the caller vouches.
    unsafe {
        let old = T::read(target);
        if old == T::read(compare) {
            T::read(origin).write(target);
        }
        old.write(result);
    }
}

unsafe fn atomic<W: Word>(target: *mut u8, origin: *const u8, compare: *const u8, result: *mut u8) {
    // SAFETY: all are valid for an element and the target is aligned, as the caller vouches.
    unsafe {
        let (Ok(old) | Err(old)) = W::compare_exchange(target.cast(), W::read(compare), W::read(origin));
        old.write(result);
    }
}
