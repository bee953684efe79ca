//! IEEE quadruple precision: `REAL*16` of Fortran compilers, and C's `long double` on AArch64. No processor served here has it; the compiler's
//! support library computes it in software, rounding correctly. Rust has no stable type for it, so the library is called by its registers.

use super::operation::Arithmetic;
use super::value::Value;
use core::arch::asm;
use core::cmp::Ordering;
use core::mem::transmute;

/// A number of quadruple precision, as its bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Quad(u128);

impl Value for Quad {
    const EXTENT: usize = 16;

    #[inline(always)]
    unsafe fn read(at: *const u8) -> Quad {
        // SAFETY: vouched for by the caller.
        Quad(unsafe { u128::read(at) })
    }

    #[inline(always)]
    unsafe fn write(self, at: *mut u8) {
        // SAFETY: vouched for by the caller.
        unsafe { self.0.write(at) }
    }
}

// Of libgcc or Rust's own support library, which agree. Declared without their arguments, for which there are no types.
unsafe extern "C" {
    fn __addtf3();
    fn __subtf3();
    fn __multf3();
    fn __eqtf2();
    fn __lttf2();
    fn __gttf2();
}

#[cfg(target_arch = "x86_64")]
type Register = core::arch::x86_64::__m128i;
#[cfg(target_arch = "aarch64")]
type Register = core::arch::aarch64::uint8x16_t;

impl Quad {
    #[inline(always)]
    fn register(self) -> Register {
        // SAFETY: both are sixteen bytes of which every pattern is legal.
        unsafe { transmute(self.0) }
    }
}

macro_rules! arithmetic {
    ($($method:ident = $function:ident;)*) => {
        impl Arithmetic for Quad {
            $(#[inline(always)]
            fn $method(self, other: Quad) -> Quad {
                let mut number = self.register();
                // SAFETY: two numbers in, one out, as the platform passes them; nothing else is done.
                unsafe {
                    #[cfg(target_arch = "x86_64")]
                    asm!("call {}", sym $function, inout("xmm0") number, in("xmm1") other.register(), clobber_abi("C"));
                    #[cfg(target_arch = "aarch64")]
                    asm!("bl {}", sym $function, inout("v0") number, in("v1") other.register(), clobber_abi("C"));
                }
                // SAFETY: as in `register`.
                Quad(unsafe { transmute::<Register, u128>(number) })
            })*
        }
    };
}
arithmetic! {
    plus = __addtf3;
    minus = __subtf3;
    times = __multf3;
}

macro_rules! compare {
    ($function:ident, $left:expr, $right:expr) => {{
        let answer: i32;
        // SAFETY: two numbers in, an integer out, as the platform passes them; nothing else is done.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            asm!("call {}", sym $function, in("xmm0") $left.register(), in("xmm1") $right.register(),
                lateout("eax") answer, clobber_abi("C"));
            #[cfg(target_arch = "aarch64")]
            asm!("bl {}", sym $function, in("v0") $left.register(), in("v1") $right.register(),
                lateout("w0") answer, clobber_abi("C"));
        }
        answer
    }};
}

impl PartialEq for Quad {
    #[inline(always)]
    fn eq(&self, other: &Quad) -> bool {
        compare!(__eqtf2, self, other) == 0
    }
}

impl PartialOrd for Quad {
    #[inline(always)]
    fn partial_cmp(&self, other: &Quad) -> Option<Ordering> {
        // With something that is not a number each of the three says no.
        if self == other {
            Some(Ordering::Equal)
        } else if compare!(__lttf2, self, other) < 0 {
            Some(Ordering::Less)
        } else if compare!(__gttf2, self, other) > 0 {
            Some(Ordering::Greater)
        } else {
            None
        }
    }
}
