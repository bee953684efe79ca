//! What the operations compute.

use super::pair::Pair;
use super::value::Value;
use core::ops::{Add, BitAnd, BitOr, BitXor, Mul, Sub};

/// `target op origin`. Always inlined, so that the loops around it see through it.
pub(super) trait Operation<T: Value> {
    fn combine(target: T, origin: T) -> T;
}

/// Sum, difference and product as the type's own language has them; integers wrap around.
pub(super) trait Arithmetic: Value {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! arithmetic {
    ($($value:ty: $plus:ident $minus:ident $times:ident;)*) => {
        $(impl Arithmetic for $value {
            #[inline(always)]
            fn plus(self, other: $value) -> $value {
                self.$plus(other)
            }

            #[inline(always)]
            fn minus(self, other: $value) -> $value {
                self.$minus(other)
            }

            #[inline(always)]
            fn times(self, other: $value) -> $value {
                self.$times(other)
            }
        })*
    };
}
arithmetic! {
    u8: wrapping_add wrapping_sub wrapping_mul;
    u16: wrapping_add wrapping_sub wrapping_mul;
    u32: wrapping_add wrapping_sub wrapping_mul;
    u64: wrapping_add wrapping_sub wrapping_mul;
    u128: wrapping_add wrapping_sub wrapping_mul;
    f32: add sub mul;
    f64: add sub mul;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $op:ident<$value:ident: $bound:path>($target:ident, $origin:ident) $combine:expr;)*) => {
        $(
            $(#[$doc])*
            pub(super) struct $op;

            impl<$value: Value + $bound> Operation<$value> for $op {
                #[inline(always)]
                fn combine($target: $value, $origin: $value) -> $value {
                    $combine
                }
            }
        )*
    };
}

/// False is zero, true everything else; what comes out is zero or one.
pub(super) trait Truth: Value + PartialEq + From<bool> {
    #[inline(always)]
    fn truth(self) -> bool {
        self != Self::from(false)
    }
}
impl<T: Value + PartialEq + From<bool>> Truth for T {}

operations! {
    /// The comparison is C's, as in the hosts: where it says no because one side is not a number, the origin's value is taken.
    Max<T: PartialOrd>(target, origin) if target > origin { target } else { origin };
    /// As [`Max`].
    Min<T: PartialOrd>(target, origin) if target < origin { target } else { origin };
    Sum<T: Arithmetic>(target, origin) target.plus(origin);
    Prod<T: Arithmetic>(target, origin) target.times(origin);
    Land<T: Truth>(target, origin) T::from(target.truth() & origin.truth());
    Lor<T: Truth>(target, origin) T::from(target.truth() | origin.truth());
    Lxor<T: Truth>(target, origin) T::from(target.truth() ^ origin.truth());
}

macro_rules! bitwise {
    ($($op:ident: $bound:ident $method:ident;)*) => {
        $(
            pub(super) struct $op;

            impl<T: Value + $bound<Output = T>> Operation<T> for $op {
                #[inline(always)]
                fn combine(target: T, origin: T) -> T {
                    target.$method(origin)
                }
            }
        )*
    };
}
bitwise! { Band: BitAnd bitand; Bor: BitOr bitor; Bxor: BitXor bitxor; }

macro_rules! location {
    ($($op:ident $beats:tt;)*) => {
        $(
            pub(super) struct $op;

            impl<V: Value + PartialOrd, I: Value + PartialOrd> Operation<Pair<V, I>> for $op {
                #[inline(always)]
                fn combine(target: Pair<V, I>, origin: Pair<V, I>) -> Pair<V, I> {
                    let nearer = origin.value == target.value && origin.index < target.index;
                    if origin.value $beats target.value || nearer { origin } else { target }
                }
            }
        )*
    };
}
location! { Maxloc >; Minloc <; }

pub(super) struct Replace;

impl<T: Value> Operation<T> for Replace {
    #[inline(always)]
    fn combine(_: T, origin: T) -> T {
        origin
    }
}
