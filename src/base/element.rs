//! The elements of memory that reductions tell apart. `host` says which of them each predefined datatype is made of, and `datatype` how
//! two of them are reduced, so that both must see this list.

macro_rules! elements {
    ($($(#[$doc:meta])* $element:ident: $size:literal, $extent:literal;)*) => {
        /// What a predefined datatype is made of, as far as a reduction is concerned: `MPI_LONG` and `MPI_INT64_T` are the same.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Element {
            $($(#[$doc])* $element,)*
        }

        impl Element {
            /// All of them, each at its own number as an index.
            pub const ALL: &[Element] = &[$(Element::$element),*];

            /// Bytes of data.
            #[inline(always)]
            pub const fn size(self) -> usize {
                const SIZES: &[u8] = &[$($size),*];
                SIZES[self as usize] as usize
            }

            /// Bytes from one element to the next.
            #[inline(always)]
            pub const fn extent(self) -> usize {
                const EXTENTS: &[u8] = &[$($extent),*];
                EXTENTS[self as usize] as usize
            }
        }
    };
}

elements! {
    /// A signed integer of one byte; `MPI_CHAR` too, as the hosts have it.
    I8: 1, 1;
    /// A signed integer of two bytes.
    I16: 2, 2;
    /// A signed integer of four bytes.
    I32: 4, 4;
    /// A signed integer of eight bytes.
    I64: 8, 8;
    /// A signed integer of sixteen bytes (`MPI_INTEGER16`).
    I128: 16, 16;
    /// An unsigned integer of one byte; `MPI_CHARACTER` too, since that is how Fortran orders characters.
    U8: 1, 1;
    /// An unsigned integer of two bytes.
    U16: 2, 2;
    /// An unsigned integer of four bytes.
    U32: 4, 4;
    /// An unsigned integer of eight bytes.
    U64: 8, 8;
    /// `float`.
    F32: 4, 4;
    /// `double`.
    F64: 8, 8;
    /// C's `long double`: on x86-64 the ten bytes of the x87 and six that mean nothing, on AArch64 the same as [`Element::F128`].
    LongDouble: 16, 16;
    /// IEEE quadruple precision, which Fortran compilers mean by `REAL*16`.
    F128: 16, 16;
    /// Two `float`s.
    ComplexF32: 8, 8;
    /// Two `double`s.
    ComplexF64: 16, 16;
    /// Two `long double`s.
    ComplexLongDouble: 32, 32;
    /// Two numbers of quadruple precision.
    ComplexF128: 32, 32;
    /// C's `_Bool`, C++'s `bool`.
    Bool: 1, 1;
    /// Fortran's `LOGICAL` of one byte.
    Logical1: 1, 1;
    /// Fortran's `LOGICAL` of two bytes.
    Logical2: 2, 2;
    /// Fortran's `LOGICAL` of four bytes.
    Logical4: 4, 4;
    /// Fortran's `LOGICAL` of eight bytes.
    Logical8: 8, 8;
    /// `MPI_BYTE`: bits without a number.
    Byte: 1, 1;
    /// A byte that can only be replaced (`MPI_PACKED`).
    Opaque1: 1, 1;
    /// Two bytes that can only be replaced (half precision).
    Opaque2: 2, 2;
    /// Four bytes that can only be replaced (`MPI_WCHAR`).
    Opaque4: 4, 4;
    /// Sixteen bytes that can only be replaced (Open MPI's `MPI_2COMPLEX`).
    Opaque16: 16, 16;
    /// Thirty-two bytes that can only be replaced (Open MPI's `MPI_2DOUBLE_COMPLEX`).
    Opaque32: 32, 32;
    /// `MPI_FLOAT_INT`.
    FloatInt: 8, 8;
    /// `MPI_DOUBLE_INT`; four bytes of padding behind the index.
    DoubleInt: 12, 16;
    /// `MPI_LONG_INT`; four bytes of padding behind the index.
    LongInt: 12, 16;
    /// `MPI_2INT`, `MPI_2INTEGER`.
    IntInt: 8, 8;
    /// `MPI_SHORT_INT`; two bytes of padding before the index.
    ShortInt: 6, 8;
    /// `MPI_LONG_DOUBLE_INT`; twelve bytes of padding behind the index.
    LongDoubleInt: 20, 32;
    /// `MPI_2REAL`.
    FloatFloat: 8, 8;
    /// `MPI_2DOUBLE_PRECISION`.
    DoubleDouble: 16, 16;
}

impl Element {
    /// The element with this number.
    #[inline(always)]
    pub fn from_number(number: usize) -> Option<Element> {
        Element::ALL.get(number).copied()
    }

    /// In one piece, without padding?
    #[inline(always)]
    pub const fn is_whole(self) -> bool {
        self.size() == self.extent()
    }

    /// The size of the atomic access that can hold the whole element; `None` where it is always accessed under exclusion.
    ///
    /// Padding belongs to nobody: another process may keep something there and change it by its own means, so that an access of the
    /// whole word would write back an old copy of it.
    #[inline(always)]
    pub const fn atomic_size(self) -> Option<usize> {
        match self.size() {
            size @ (1 | 2 | 4 | 8) if self.is_whole() => Some(size),
            _ => None,
        }
    }
}

/// What a predefined datatype means where its size is the host's affair: Fortran's default types, and C's of no fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A binary floating-point number; of sixteen bytes it is IEEE quadruple precision, never `long double`.
    Float,
    /// Two such numbers.
    Complex,
    /// Fortran's `LOGICAL`.
    Logical,
    /// Two Fortran `INTEGER`s.
    TwoIntegers,
    /// Two Fortran `REAL`s or `DOUBLE PRECISION`s.
    TwoReals,
    /// Bytes that no reduction knows.
    Opaque,
    /// This element, whatever the size.
    Only(Element),
}

impl Category {
    /// The element of this category that has `size` bytes. A number of a size that no reduction knows can still be replaced.
    pub const fn element(self, size: usize) -> Option<Element> {
        use Element::*;
        Some(match (self, size) {
            (Category::Only(element), _) if element.size() == size => element,
            (Category::Only(_), _) => return None,
            (Category::Signed, 1) => I8,
            (Category::Signed, 2) => I16,
            (Category::Signed, 4) => I32,
            (Category::Signed, 8) => I64,
            (Category::Signed, 16) => I128,
            (Category::Unsigned, 1) => U8,
            (Category::Unsigned, 2) => U16,
            (Category::Unsigned, 4) => U32,
            (Category::Unsigned, 8) => U64,
            (Category::Float, 4) => F32,
            (Category::Float, 8) => F64,
            (Category::Float, 16) => F128,
            (Category::Complex, 8) => ComplexF32,
            (Category::Complex, 16) => ComplexF64,
            (Category::Complex, 32) => ComplexF128,
            (Category::Logical, 1) => Logical1,
            (Category::Logical, 2) => Logical2,
            (Category::Logical, 4) => Logical4,
            (Category::Logical, 8) => Logical8,
            (Category::TwoIntegers, 8) => IntInt,
            (Category::TwoReals, 8) => FloatFloat,
            (Category::TwoReals, 16) => DoubleDouble,
            (_, 1) => Opaque1,
            (_, 2) => Opaque2,
            (_, 4) => Opaque4,
            (_, 16) => Opaque16,
            (_, 32) => Opaque32,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_indices() {
        for (number, element) in Element::ALL.iter().enumerate() {
            assert_eq!(*element as usize, number);
            assert_eq!(Element::from_number(number), Some(*element));
        }
        assert_eq!(Element::from_number(Element::ALL.len()), None);
    }

    #[test]
    fn no_atomic_access_covers_padding_or_half_an_element() {
        for element in Element::ALL {
            if let Some(size) = element.atomic_size() {
                assert!(size.is_power_of_two() && size <= 8);
                assert_eq!((size, size), (element.size(), element.extent()));
            }
        }
        for element in [Element::ShortInt, Element::DoubleInt, Element::LongDouble, Element::ComplexF64, Element::I128] {
            assert_eq!(element.atomic_size(), None);
        }
        assert_eq!(Element::ComplexF32.atomic_size(), Some(8));
    }

    #[test]
    fn a_category_has_the_size_that_was_asked_for() {
        use Category::*;
        for category in [Signed, Unsigned, Float, Complex, Logical, TwoIntegers, TwoReals, Opaque, Only(Element::LongDouble)] {
            for size in 0..=64 {
                if let Some(element) = category.element(size) {
                    assert_eq!(element.size(), size, "{category:?}");
                }
            }
        }
        assert_eq!(Float.element(16), Some(Element::F128));
        assert_eq!(Only(Element::LongDouble).element(8), None);
    }
}
