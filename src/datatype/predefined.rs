//! From a predefined handle to what it means, without a call of the host. In the MPICH family a handle is a number that is known beforehand;
//! in Open MPI it is the address of an object, looked up in a table that is filled at start.

use crate::base::element::{Category, Element};
use crate::base::op::Op;
use crate::host::abi::{MPI_Datatype, MPI_Op};

/// Size of one item if the datatype is predefined and one run of bytes.
#[inline(always)]
pub fn contiguous_size(datatype: MPI_Datatype) -> Option<u64> {
    family::contiguous_size(datatype)
}

/// What a predefined datatype is made of; `None` for derived types, for those whose parts no reduction knows, and before [`prepare`].
#[inline(always)]
pub fn element(datatype: MPI_Datatype) -> Option<Element> {
    family::element(datatype)
}

/// The predefined operation; `None` for operations of the application's own, which one-sided calls do not take.
#[inline(always)]
pub fn op(handle: MPI_Op) -> Option<Op> {
    family::op(handle)
}

/// To be called once MPI is initialised; before, nothing is found.
pub fn prepare() {
    super::layout::prepare();
    family::prepare();
}

#[cfg(transom_mpich)]
mod family {
    use super::*;
    use crate::host::predefined::{DATATYPES, OPS};

    // A handle's top bits: kind (01: builtin) and object type (0011: datatype); bits 8 to 15 hold a builtin type's size.
    const KIND: u32 = 0xfc00_0000;
    const BUILTIN: u32 = 0x4c00_0000;

    const fn size(handle: u32) -> u32 {
        (handle >> 8) & 0xff
    }

    #[inline(always)]
    pub(super) fn contiguous_size(datatype: MPI_Datatype) -> Option<u64> {
        let handle = datatype.0 as u32;
        let size = size(handle);
        (handle & KIND == BUILTIN && size != 0 && size <= 32).then_some(u64::from(size))
    }

    /// The last byte tells builtin types from each other, and from each other the pairs, which are not builtin: the top bit is theirs.
    const fn slot(handle: u32) -> usize {
        ((handle & 0x7f) | (handle >> 24 & 0x80)) as usize
    }

    static ELEMENTS: [(u32, Option<Element>); 256] = {
        let mut elements = [(0, None); 256];
        let mut next = 0;
        while next < DATATYPES.len() {
            let (handle, _, category) = DATATYPES[next];
            if handle != 0 {
                assert!(elements[slot(handle)].0 == 0, "each datatype has a slot of its own");
                let element = match category {
                    Category::Only(element) => Some(element),
                    _ => category.element(size(handle) as usize),
                };
                elements[slot(handle)] = (handle, element);
            }
            next += 1;
        }
        elements
    };

    #[inline(always)]
    pub(super) fn element(datatype: MPI_Datatype) -> Option<Element> {
        let handle = datatype.0 as u32;
        let (known, element) = ELEMENTS[slot(handle)];
        if known == handle { element } else { of_unusual_size(handle) }
    }

    /// A Fortran type whose size another compiler, or an option of it, has changed: another number, but for its last byte.
    #[cold]
    fn of_unusual_size(handle: u32) -> Option<Element> {
        const SIZE: u32 = 0xff00;
        let (.., category) = DATATYPES.iter().find(|(number, ..)| number & !SIZE == handle & !SIZE)?;
        if handle & KIND == BUILTIN { category.element(size(handle) as usize) } else { None }
    }

    #[inline(always)]
    pub(super) fn op(handle: MPI_Op) -> Option<Op> {
        // The standard's order of operations, from 1 on.
        const FIRST: u32 = OPS[0].0;
        OPS.get((handle.0 as u32).wrapping_sub(FIRST) as usize).map(|(.., op)| *op)
    }

    pub(super) fn prepare() {}
}

#[cfg(transom_ompi)]
mod family {
    use super::*;
    use crate::datatype::addresses::Addresses;
    use crate::datatype::lookup;
    use crate::host::table::host;

    static DATATYPES: Addresses<4096> = Addresses::new();
    static OPS: Addresses<256> = Addresses::new();

    /// The number of an element behind its size in the table's word; the size is 0 where there is padding.
    const NUMBER: u32 = 32;

    #[inline(always)]
    pub(super) fn contiguous_size(datatype: MPI_Datatype) -> Option<u64> {
        DATATYPES.find(datatype.0 as usize).map(|word| word & ((1 << NUMBER) - 1)).filter(|size| *size != 0)
    }

    #[inline(always)]
    pub(super) fn element(datatype: MPI_Datatype) -> Option<Element> {
        Element::from_number((DATATYPES.find(datatype.0 as usize)? >> NUMBER) as usize)
    }

    #[inline(always)]
    pub(super) fn op(handle: MPI_Op) -> Option<Op> {
        Op::from_number(OPS.find(handle.0 as usize)? as usize)
    }

    pub(super) fn prepare() {
        let handles = &host().handles;
        let word = |(datatype, category): &(MPI_Datatype, Category)| {
            // A type that this build of Open MPI lacks has an object too, of size 0.
            let size = lookup::size(*datatype).ok().filter(|size| *size != 0)?;
            let word = match category.element(size as usize) {
                Some(element) if !element.is_whole() => (element as u64) << NUMBER,
                Some(element) => (element as u64) << NUMBER | size,
                None => (Element::ALL.len() as u64) << NUMBER | size,
            };
            Some((datatype.0 as usize, word))
        };
        DATATYPES.fill(&handles.datatypes.iter().filter_map(word).collect::<Vec<_>>());
        OPS.fill(&handles.ops.iter().map(|(handle, op)| (handle.0 as usize, *op as u64)).collect::<Vec<_>>());
    }
}

// That usual handles are known, `tests/constants.rs` shows under every host.
#[cfg(all(test, transom_mpich))]
mod tests {
    use super::*;

    fn element_of(number: u32) -> Option<Element> {
        element(MPI_Datatype(number as i32))
    }

    #[test]
    fn unusual_handles_of_the_mpich_family() {
        // Fortran compiled with INTEGER and REAL of eight bytes.
        assert_eq!(element_of(0x4c00_081b), Some(Element::I64));
        assert_eq!(element_of(0x4c00_081c), Some(Element::F64));
        assert_eq!(element_of(0x4c00_081d), Some(Element::Logical8));
        // Derived types, null, nothing at all.
        for handle in [0x8c00_0005, 0xcc00_0000, 0xac00_0003, 0x0c00_0000, 0, 0x4c00_0010, u32::MAX] {
            assert_eq!(element_of(handle), None, "{handle:x}");
        }
        for handle in [0x1800_0000, 0x5800_0000, 0x5800_000f, 0x9800_0000, 0, u32::MAX] {
            assert_eq!(op(MPI_Op(handle as i32)), None, "{handle:x}");
        }
    }
}
