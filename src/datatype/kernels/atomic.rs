//! Loops for whoever shares the target with others who do the same: one atomic access per element.

use super::operation::{Band, Bor, Bxor, Operation, Replace, Sum};
use super::value::{Cell, Word};
use core::marker::PhantomData;

/// An operation as one atomic access of a word.
pub(super) trait Native<W: Word> {
    /// Gives the old value.
    ///
    /// # Safety
    /// As [`Word`] says.
    unsafe fn fetch(at: *mut W, origin: W) -> W;

    /// Gives nothing, for which there may be a cheaper instruction.
    ///
    /// # Safety
    /// As [`Word`] says.
    #[inline(always)]
    unsafe fn apply(at: *mut W, origin: W) {
        // SAFETY: vouched for by the caller.
        unsafe { Self::fetch(at, origin) };
    }
}

macro_rules! native {
    ($($op:ident: $fetch:ident $(, apply: $apply:ident)?;)*) => {
        $(impl<W: Word> Native<W> for $op {
            #[inline(always)]
            unsafe fn fetch(at: *mut W, origin: W) -> W {
                // SAFETY: vouched for by the caller.
                unsafe { W::$fetch(at, origin) }
            }

            $(#[inline(always)]
            unsafe fn apply(at: *mut W, origin: W) {
                // SAFETY: vouched for by the caller.
                unsafe { W::$apply(at, origin) }
            })?
        })*
    };
}
native! {
    Sum: fetch_add;
    Band: fetch_and;
    Bor: fetch_or;
    Bxor: fetch_xor;
    Replace: swap, apply: store;
}

/// Any operation, by trying until nobody came between. It is lock-free: who fails was overtaken by one that succeeded.
pub(super) struct ByExchange<T, O>(PhantomData<(T, O)>);

impl<T: Cell, O: Operation<T>> Native<T::Word> for ByExchange<T, O> {
    #[inline(always)]
    unsafe fn fetch(at: *mut T::Word, origin: T::Word) -> T::Word {
        // SAFETY: vouched for by the caller.
        let mut old = unsafe { T::Word::load(at) };
        loop {
            let new = O::combine(T::from_word(old), T::from_word(origin)).into_word();
            // Also where nothing changes, as with a maximum that stays: a mere load would not release what came before it.
            //
            // SAFETY: vouched for by the caller.
            match unsafe { T::Word::compare_exchange_weak(at, old, new) } {
                Ok(old) => return old,
                Err(now) => old = now,
            }
        }
    }
}

/// # Safety
/// As [`super::Atomic`] says.
pub(super) unsafe fn each<W: Word, O: Native<W>>(target: *mut u8, origin: *const u8, count: usize, result: *mut u8) {
    let target = target.cast::<W>();
    for index in 0..count {
        // SAFETY: all sides are valid for `count` words, and the target is aligned.
        unsafe {
            let operand = W::read(origin.add(index * W::EXTENT));
            if result.is_null() {
                O::apply(target.add(index), operand);
            } else {
                O::fetch(target.add(index), operand).write(result.add(index * W::EXTENT));
            }
        }
    }
}

/// `MPI_NO_OP`: the origin is never read, and may be null.
///
/// # Safety
/// As [`super::Atomic`] says.
pub(super) unsafe fn load<W: Word>(target: *mut u8, _: *const u8, count: usize, result: *mut u8) {
    if result.is_null() {
        return;
    }
    for index in 0..count {
        // SAFETY: both sides are valid for `count` words, and the target is aligned.
        unsafe { W::load(target.cast::<W>().add(index)).write(result.add(index * W::EXTENT)) };
    }
}
