//! Reductions on raw memory: which operation is allowed on which element, and the loop that does it.
//!
//! Each allowed pair has up to two forms. *Bulk* is the fast one, for whoever holds the target's memory under exclusion; the compiler
//! turns it into vector instructions. *Atomic* is for everybody else: one atomic access per element. Both touch whole elements and
//! nothing beside them, padding included.
//!
//! Target memory is shared with other processes, so only raw pointers lead there, never a reference.

mod atomic;
mod bulk;
mod complex;
mod exchange;
#[cfg(target_arch = "x86_64")]
mod extended;
mod operation;
mod pair;
mod quad;
#[cfg(test)]
mod tests;
mod value;

pub use exchange::{CompareAndSwap, Exchange, compare_and_swap};

use super::pairs::Pairs;
use crate::base::element::Element;
use crate::base::op::Op;
use atomic::{ByExchange, Native};
use complex::Complex;
use core::ffi::{c_int, c_long, c_short};
use operation::{Band, Bor, Bxor, Land, Lor, Lxor, Max, Maxloc, Min, Minloc, Operation, Prod, Replace, Sum};
use pair::Pair;
use quad::Quad;
use value::{Cell, Value, Word};

#[cfg(target_arch = "x86_64")]
type LongDouble = extended::Extended;
#[cfg(target_arch = "aarch64")]
type LongDouble = Quad;

/// `target := target op origin` for `count` elements, [`Element::extent`] bytes apart on both sides. With `MPI_REPLACE` it copies elements
/// between any two buffers, leaving padding alone.
///
/// # Safety
/// Both are valid for `count` elements, do not overlap, and need no alignment. Nobody else accesses the target meanwhile. `MPI_NO_OP` reads
/// no origin, which may be null then.
pub type Bulk = unsafe fn(target: *mut u8, origin: *const u8, count: usize);

/// As [`Bulk`] for `count` rows of `each` elements, whose beginnings are so many bytes apart.
///
/// # Safety
/// As for [`Bulk`], row by row; rows of the target do not overlap each other.
pub(super) type Rows =
    unsafe fn(target: *mut u8, target_stride: isize, origin: *const u8, origin_stride: isize, each: usize, count: usize);

/// As [`Bulk`] for the runs of elements of a list, the origin being their source and the target their sink.
///
/// # Safety
/// As for [`Bulk`], pair by pair.
pub(super) type OverPairs = unsafe fn(target: *mut u8, origin: *const u8, pairs: &Pairs<'_>);

/// What is irregular, or regular with gaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loops {
    pub(super) rows: Rows,
    pub(super) pairs: OverPairs,
}

impl Loops {
    const fn of<T: Value, O: Operation<T>>() -> Option<Loops> {
        Some(Loops { rows: bulk::rows::<T, O>, pairs: bulk::pairs::<T, O> })
    }
}

/// As [`Bulk`], each element by one atomic read-modify-write of its own size (`MPI_NO_OP`: an atomic load; `MPI_REPLACE` of which nobody wants
/// the old value: an atomic store). What was there before goes to `result` unless that is null.
///
/// # Safety
/// As for [`Bulk`], but the target is aligned to the element's size, and whoever else writes it does so by atomics of that size. `result` is
/// null or valid for `count` elements, overlaps neither of the others, and needs no alignment.
pub type Atomic = unsafe fn(target: *mut u8, origin: *const u8, count: usize, result: *mut u8);

/// How one operation is done on one element.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Under exclusion.
    pub bulk: Bulk,
    /// Likewise, with gaps; `None` for `MPI_REPLACE` and `MPI_NO_OP`, which are no reductions.
    pub(super) loops: Option<Loops>,
    /// Without it; for exactly those elements that have an [`Element::atomic_size`].
    pub atomic: Option<Atomic>,
}

/// The kernel of an operation on an element; `None` where MPI does not define it.
///
/// Allowed is what MPI-4.1, section 6.9.2 allows, and what the hosts allow beyond: everything that integers have on `MPI_CHAR` and
/// `MPI_CHARACTER`, and logical operations on Fortran's integers. `MPI_REPLACE` and `MPI_NO_OP` are allowed on every element (section 12.3.4).
///
/// Cost: two loads and a test of the processor's features.
#[inline]
pub fn kernel(op: Op, element: Element) -> Option<Kernel> {
    let forms = TABLE[op as usize][element as usize].as_ref()?;
    #[cfg(target_arch = "x86_64")]
    let bulk = if std::arch::is_x86_feature_detected!("avx2") { forms.avx2 } else { forms.baseline };
    #[cfg(not(target_arch = "x86_64"))]
    let bulk = forms.baseline;
    Some(Kernel { bulk, loops: forms.loops, atomic: forms.atomic })
}

/// [`Kernel::atomic`] alone: two loads.
#[inline(always)]
pub fn atomic(op: Op, element: Element) -> Option<Atomic> {
    TABLE[op as usize][element as usize].as_ref()?.atomic
}

/// What the table holds: a kernel whose bulk form is still to be chosen.
#[derive(Clone, Copy)]
struct Forms {
    /// For every processor of the architecture (on AArch64 that includes vectors of 16 bytes).
    baseline: Bulk,
    /// With vectors of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    avx2: Bulk,
    loops: Option<Loops>,
    atomic: Option<Atomic>,
}

impl Forms {
    /// One bulk form for all processors, where wider vectors would not help.
    const fn only(bulk: Bulk, loops: Option<Loops>, atomic: Option<Atomic>) -> Option<Forms> {
        Some(Forms {
            baseline: bulk,
            #[cfg(target_arch = "x86_64")]
            avx2: bulk,
            loops,
            atomic,
        })
    }

    const fn of<T: Value, O: Operation<T>>(atomic: Option<Atomic>) -> Option<Forms> {
        Some(Forms {
            baseline: bulk::baseline::<T, O>,
            #[cfg(target_arch = "x86_64")]
            avx2: bulk::avx2::<T, O>,
            loops: Loops::of::<T, O>(),
            atomic,
        })
    }
}

/// An operation that the processor has as one atomic instruction.
const fn native<T: Word, O: Operation<T> + Native<T>>() -> Option<Forms> {
    Forms::of::<T, O>(Some(atomic::each::<T, O>))
}

/// An operation whose atomic form is a loop around compare-and-exchange.
const fn by_exchange<T: Cell, O: Operation<T>>() -> Option<Forms> {
    Forms::of::<T, O>(Some(atomic::each::<T::Word, ByExchange<T, O>>))
}

/// An operation on what no atomic access can hold.
const fn exclusive<T: Value, O: Operation<T>>() -> Option<Forms> {
    Forms::of::<T, O>(None)
}

/// Likewise, on what no vector holds either.
const fn scalar<T: Value, O: Operation<T>>() -> Option<Forms> {
    Forms::only(bulk::baseline::<T, O>, Loops::of::<T, O>(), None)
}

/// Sums and bits are the same for signed and unsigned numbers, so that one loop serves both.
macro_rules! integer {
    ($op:expr, $ordered:ty, $unsigned:ty: $native:ident, $otherwise:ident) => {
        match $op {
            Op::Max => $otherwise::<$ordered, Max>(),
            Op::Min => $otherwise::<$ordered, Min>(),
            Op::Sum => $native::<$unsigned, Sum>(),
            Op::Prod => $otherwise::<$unsigned, Prod>(),
            Op::Land | Op::Lor | Op::Lxor => logical!($op, $unsigned: $otherwise),
            Op::Band | Op::Bor | Op::Bxor => bits!($op, $unsigned: $native),
            _ => None,
        }
    };
}

macro_rules! logical {
    ($op:expr, $value:ty: $form:ident) => {
        match $op {
            Op::Land => $form::<$value, Land>(),
            Op::Lor => $form::<$value, Lor>(),
            Op::Lxor => $form::<$value, Lxor>(),
            _ => None,
        }
    };
}

macro_rules! bits {
    ($op:expr, $value:ty: $form:ident) => {
        match $op {
            Op::Band => $form::<$value, Band>(),
            Op::Bor => $form::<$value, Bor>(),
            Op::Bxor => $form::<$value, Bxor>(),
            _ => None,
        }
    };
}

macro_rules! float {
    ($op:expr, $value:ty: $form:ident) => {
        match $op {
            Op::Max => $form::<$value, Max>(),
            Op::Min => $form::<$value, Min>(),
            Op::Sum => $form::<$value, Sum>(),
            Op::Prod => $form::<$value, Prod>(),
            _ => None,
        }
    };
}

macro_rules! complex {
    ($op:expr, $part:ty: $form:ident) => {
        match $op {
            Op::Sum => $form::<Complex<$part>, Sum>(),
            Op::Prod => $form::<Complex<$part>, Prod>(),
            _ => None,
        }
    };
}

macro_rules! location {
    ($op:expr, $value:ty, $index:ty: $form:ident) => {
        match $op {
            Op::Maxloc => $form::<Pair<$value, $index>, Maxloc>(),
            Op::Minloc => $form::<Pair<$value, $index>, Minloc>(),
            Op::Replace => $form::<Pair<$value, $index>, Replace>(),
            _ => None,
        }
    };
}

const fn forms(op: Op, element: Element) -> Option<Forms> {
    use Element as E;
    match op {
        Op::NoOp => return Forms::only(bulk::nothing, None, load(element)),
        // Pairs with padding are copied part by part, below.
        Op::Replace if element.is_whole() => return Forms::only(copy(element), None, swap(element)),
        _ => {}
    }
    match element {
        E::I8 => integer!(op, i8, u8: native, by_exchange),
        E::I16 => integer!(op, i16, u16: native, by_exchange),
        E::I32 => integer!(op, i32, u32: native, by_exchange),
        E::I64 => integer!(op, i64, u64: native, by_exchange),
        E::I128 => integer!(op, i128, u128: exclusive, exclusive),
        E::U8 => integer!(op, u8, u8: native, by_exchange),
        E::U16 => integer!(op, u16, u16: native, by_exchange),
        E::U32 => integer!(op, u32, u32: native, by_exchange),
        E::U64 => integer!(op, u64, u64: native, by_exchange),
        E::F32 => float!(op, f32: by_exchange),
        E::F64 => float!(op, f64: by_exchange),
        E::LongDouble => float!(op, LongDouble: scalar),
        E::F128 => float!(op, Quad: scalar),
        E::ComplexF32 => complex!(op, f32: by_exchange),
        E::ComplexF64 => complex!(op, f64: exclusive),
        E::ComplexLongDouble => complex!(op, LongDouble: scalar),
        E::ComplexF128 => complex!(op, Quad: scalar),
        E::Bool | E::Logical1 => logical!(op, u8: by_exchange),
        E::Logical2 => logical!(op, u16: by_exchange),
        E::Logical4 => logical!(op, u32: by_exchange),
        E::Logical8 => logical!(op, u64: by_exchange),
        E::Byte => bits!(op, u8: native),
        E::Opaque1 | E::Opaque2 | E::Opaque4 | E::Opaque16 | E::Opaque32 => None,
        E::FloatInt => location!(op, f32, c_int: by_exchange),
        E::DoubleInt => location!(op, f64, c_int: scalar),
        E::LongInt => location!(op, c_long, c_int: scalar),
        E::IntInt => location!(op, c_int, c_int: by_exchange),
        E::ShortInt => location!(op, c_short, c_int: scalar),
        E::LongDoubleInt => location!(op, LongDouble, c_int: scalar),
        E::FloatFloat => location!(op, f32, f32: by_exchange),
        E::DoubleDouble => location!(op, f64, f64: scalar),
    }
}

const fn copy(element: Element) -> Bulk {
    match element.size() {
        1 => bulk::copy::<1>,
        2 => bulk::copy::<2>,
        4 => bulk::copy::<4>,
        8 => bulk::copy::<8>,
        16 => bulk::copy::<16>,
        32 => bulk::copy::<32>,
        _ => unreachable!(),
    }
}

const fn swap(element: Element) -> Option<Atomic> {
    match element.atomic_size() {
        Some(1) => Some(atomic::each::<u8, Replace>),
        Some(2) => Some(atomic::each::<u16, Replace>),
        Some(4) => Some(atomic::each::<u32, Replace>),
        Some(8) => Some(atomic::each::<u64, Replace>),
        _ => None,
    }
}

const fn load(element: Element) -> Option<Atomic> {
    match element.atomic_size() {
        Some(1) => Some(atomic::load::<u8>),
        Some(2) => Some(atomic::load::<u16>),
        Some(4) => Some(atomic::load::<u32>),
        Some(8) => Some(atomic::load::<u64>),
        _ => None,
    }
}

static TABLE: [[Option<Forms>; Element::ALL.len()]; Op::ALL.len()] = {
    let mut table = [[None; Element::ALL.len()]; Op::ALL.len()];
    let mut op = 0;
    while op < Op::ALL.len() {
        let mut element = 0;
        while element < Element::ALL.len() {
            table[op][element] = forms(Op::ALL[op], Element::ALL[element]);
            element += 1;
        }
        op += 1;
    }
    table
};
