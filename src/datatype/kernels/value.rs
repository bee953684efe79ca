//! How values lie in memory, and which of them an atomic access can hold.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// What operations compute with. Every pattern of bits is a value, since what a window holds is the application's affair.
pub(super) trait Value: Copy {
    /// Bytes from one to the next in memory.
    const EXTENT: usize;

    /// # Safety
    /// `at` is valid for reads of a value, at any alignment.
    unsafe fn read(at: *const u8) -> Self;

    /// # Safety
    /// `at` is valid for writes of a value, at any alignment.
    unsafe fn write(self, at: *mut u8);
}

macro_rules! values {
    ($($value:ty)*) => {
        $(impl Value for $value {
            const EXTENT: usize = size_of::<$value>();

            #[inline(always)]
            unsafe fn read(at: *const u8) -> $value {
                // SAFETY: vouched for by the caller.
                unsafe { at.cast::<$value>().read_unaligned() }
            }

            #[inline(always)]
            unsafe fn write(self, at: *mut u8) {
                // SAFETY: vouched for by the caller.
                unsafe { at.cast::<$value>().write_unaligned(self) }
            }
        })*
    };
}
values! { u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 }

/// A value that one atomic access holds.
pub(super) trait Cell: Value {
    /// The unsigned integer of its size.
    type Word: Word;

    #[inline(always)]
    fn from_word(word: Self::Word) -> Self {
        const { assert!(Self::EXTENT == Self::Word::EXTENT) };
        // SAFETY: the word has the value's size.
        unsafe { Self::read((&raw const word).cast()) }
    }

    #[inline(always)]
    fn into_word(self) -> Self::Word {
        const { assert!(Self::EXTENT == Self::Word::EXTENT) };
        let mut word = Self::Word::ZERO;
        // SAFETY: the word has the value's size.
        unsafe { self.write((&raw mut word).cast()) };
        word
    }
}

macro_rules! cells {
    ($($value:ty = $word:ty;)*) => {
        $(impl Cell for $value {
            type Word = $word;
        })*
    };
}
cells! {
    u8 = u8; u16 = u16; u32 = u32; u64 = u64;
    i8 = u8; i16 = u16; i32 = u32; i64 = u64;
    f32 = u32; f64 = u64;
}

/// An integer of a size that the processor accesses atomically.
///
/// Which value of an element is older is all that MPI asks of an accumulate by itself; that atomics of any ordering give, and what else is to be
/// seen before or after is ordered by the synchronisation around them. Acquire and release are there for the programs that wait for a flag
/// by `MPI_Fetch_and_op` and then read what was put before it: they rely on it where they forget a flush, and it costs nothing on x86,
/// where a locked instruction is a full fence and a plain store a release.
///
/// # Safety
/// Of all methods: `at` is aligned to the word's size and valid, and nobody writes there but by atomics of that size.
pub(super) trait Word: Cell<Word = Self> + PartialEq {
    const ZERO: Self;
    unsafe fn load(at: *mut Self) -> Self;
    unsafe fn store(at: *mut Self, value: Self);
    unsafe fn swap(at: *mut Self, value: Self) -> Self;
    unsafe fn fetch_add(at: *mut Self, value: Self) -> Self;
    unsafe fn fetch_and(at: *mut Self, value: Self) -> Self;
    unsafe fn fetch_or(at: *mut Self, value: Self) -> Self;
    unsafe fn fetch_xor(at: *mut Self, value: Self) -> Self;
    /// The old value in either case; `Err` where it was not (or only seemingly) `current`.
    unsafe fn compare_exchange_weak(at: *mut Self, current: Self, new: Self) -> Result<Self, Self>;
    /// The old value in either case; `Err` where it was not `current`.
    unsafe fn compare_exchange(at: *mut Self, current: Self, new: Self) -> Result<Self, Self>;
}

macro_rules! words {
    (@modify $word:ty, $atomic:ty: $($method:ident)*) => {
        $(#[inline(always)]
        unsafe fn $method(at: *mut $word, value: $word) -> $word {
            // SAFETY: vouched for by the caller.
            unsafe { <$atomic>::from_ptr(at) }.$method(value, Ordering::AcqRel)
        })*
    };
    (@exchange $word:ty, $atomic:ty: $($method:ident)*) => {
        $(#[inline(always)]
        unsafe fn $method(at: *mut $word, current: $word, new: $word) -> Result<$word, $word> {
            // SAFETY: vouched for by the caller.
            unsafe { <$atomic>::from_ptr(at) }.$method(current, new, Ordering::AcqRel, Ordering::Acquire)
        })*
    };
    ($($word:ty = $atomic:ty;)*) => {
        $(impl Word for $word {
            const ZERO: $word = 0;

            #[inline(always)]
            unsafe fn load(at: *mut $word) -> $word {
                // SAFETY: vouched for by the caller.
                unsafe { <$atomic>::from_ptr(at) }.load(Ordering::Acquire)
            }

            #[inline(always)]
            unsafe fn store(at: *mut $word, value: $word) {
                // SAFETY: vouched for by the caller.
                unsafe { <$atomic>::from_ptr(at) }.store(value, Ordering::Release)
            }

            words! { @modify $word, $atomic: swap fetch_add fetch_and fetch_or fetch_xor }
            words! { @exchange $word, $atomic: compare_exchange_weak compare_exchange }
        })*
    };
}
words! { u8 = AtomicU8; u16 = AtomicU16; u32 = AtomicU32; u64 = AtomicU64; }
