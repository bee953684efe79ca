//! Complex numbers: the real part, then the imaginary one.

use super::operation::Arithmetic;
use super::value::{Cell, Value};

#[derive(Clone, Copy)]
pub(super) struct Complex<T> {
    re: T,
    im: T,
}

impl<T: Value> Value for Complex<T> {
    const EXTENT: usize = 2 * T::EXTENT;

    #[inline(always)]
    unsafe fn read(at: *const u8) -> Complex<T> {
        // SAFETY: vouched for by the caller.
        unsafe { Complex { re: T::read(at), im: T::read(at.add(T::EXTENT)) } }
    }

    #[inline(always)]
    unsafe fn write(self, at: *mut u8) {
        // SAFETY: vouched for by the caller.
        unsafe {
            self.re.write(at);
            self.im.write(at.add(T::EXTENT));
        }
    }
}

impl Cell for Complex<f32> {
    type Word = u64;
}

/// The product is the textbook's, as Fortran compilers have it, without C's repair of infinities (annex G), for which the hosts differ from
/// each other and from one of their own types to the next.
impl<T: Arithmetic> Arithmetic for Complex<T> {
    #[inline(always)]
    fn plus(self, other: Complex<T>) -> Complex<T> {
        Complex { re: self.re.plus(other.re), im: self.im.plus(other.im) }
    }

    #[inline(always)]
    fn minus(self, other: Complex<T>) -> Complex<T> {
        Complex { re: self.re.minus(other.re), im: self.im.minus(other.im) }
    }

    #[inline(always)]
    fn times(self, other: Complex<T>) -> Complex<T> {
        Complex {
            re: self.re.times(other.re).minus(self.im.times(other.im)),
            im: self.re.times(other.im).plus(self.im.times(other.re)),
        }
    }
}
