//! The x87's numbers of eighty bits, C's `long double` on x86-64. Rust has no type for them, so the x87 is spoken to directly.

use super::operation::Arithmetic;
use super::value::Value;
use core::arch::asm;
use core::cmp::Ordering;

/// Ten bytes, at every sixteenth in memory. The six behind them are left alone, as C compilers do.
#[derive(Clone, Copy)]
#[repr(C, packed(2))]
pub(super) struct Extended {
    significand: u64,
    sign_and_exponent: u16,
}

impl Value for Extended {
    const EXTENT: usize = 16;

    #[inline(always)]
    unsafe fn read(at: *const u8) -> Extended {
        // SAFETY: vouched for by the caller.
        unsafe { at.cast::<Extended>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn write(self, at: *mut u8) {
        // SAFETY: vouched for by the caller.
        unsafe { at.cast::<Extended>().write_unaligned(self) }
    }
}

/// Runs instructions with `left` in st(1) and `right` in st(0), which they must pop.
macro_rules! x87 {
    ($left:expr, $right:expr; $($instruction:literal),*; $($operands:tt)*) => {
        // SAFETY: two numbers are read from where they live, and written is only what the operands name. All registers of the x87 are given
        // up, so that its stack is empty before, and afterwards.
        unsafe {
            asm!(
                "fld tbyte ptr [{left}]",
                "fld tbyte ptr [{right}]",
                $($instruction,)*
                left = in(reg) &raw const $left,
                right = in(reg) &raw const $right,
                $($operands)*,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            )
        }
    };
}

macro_rules! arithmetic {
    ($($method:ident = $instruction:literal;)*) => {
        impl Arithmetic for Extended {
            $(#[inline(always)]
            fn $method(self, other: Extended) -> Extended {
                let mut result = self;
                x87!(self, other; $instruction, "fstp tbyte ptr [{result}]"; result = in(reg) &raw mut result);
                result
            })*
        }
    };
}
arithmetic! {
    plus = "faddp st(1), st";
    minus = "fsubp st(1), st";
    times = "fmulp st(1), st";
}

impl PartialEq for Extended {
    #[inline(always)]
    fn eq(&self, other: &Extended) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Extended {
    #[inline(always)]
    fn partial_cmp(&self, other: &Extended) -> Option<Ordering> {
        let (unordered, equal, less): (u8, u8, u8);
        // What is in st(0) is compared with what is in st(1): above means that the right one is larger.
        x87!(*self, *other; "fucomip st, st(1)", "fstp st(0)", "setp {unordered}", "sete {equal}", "seta {less}";
            unordered = out(reg_byte) unordered, equal = out(reg_byte) equal, less = out(reg_byte) less);
        match (unordered, equal, less) {
            (1, ..) => None,
            (_, 1, _) => Some(Ordering::Equal),
            (.., 1) => Some(Ordering::Less),
            _ => Some(Ordering::Greater),
        }
    }
}
