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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::predefined::{DATATYPES, OPS};
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// What each datatype of `mpi.h` is on this platform, by C's and Fortran's rules.
    const MEANINGS: &[(Element, &str)] = &[
        (Element::I8, "CHAR SIGNED_CHAR INT8_T INTEGER1"),
        (Element::I16, "SHORT INT16_T INTEGER2"),
        (Element::I32, "INT INT32_T INTEGER INTEGER4"),
        (Element::I64, "LONG LONG_LONG LONG_LONG_INT INT64_T INTEGER8 AINT OFFSET COUNT"),
        (Element::I128, "INTEGER16"),
        (Element::U8, "UNSIGNED_CHAR UINT8_T CHARACTER"),
        (Element::U16, "UNSIGNED_SHORT UINT16_T"),
        (Element::U32, "UNSIGNED UINT32_T"),
        (Element::U64, "UNSIGNED_LONG UNSIGNED_LONG_LONG UINT64_T"),
        (Element::F32, "FLOAT REAL REAL4"),
        (Element::F64, "DOUBLE DOUBLE_PRECISION REAL8"),
        (Element::LongDouble, "LONG_DOUBLE"),
        (Element::F128, "REAL16"),
        (Element::ComplexF32, "C_COMPLEX C_FLOAT_COMPLEX CXX_FLOAT_COMPLEX COMPLEX COMPLEX8"),
        (Element::ComplexF64, "C_DOUBLE_COMPLEX CXX_DOUBLE_COMPLEX DOUBLE_COMPLEX COMPLEX16"),
        (Element::ComplexLongDouble, "C_LONG_DOUBLE_COMPLEX CXX_LONG_DOUBLE_COMPLEX"),
        (Element::ComplexF128, "COMPLEX32"),
        (Element::Bool, "C_BOOL CXX_BOOL"),
        (Element::Logical1, "LOGICAL1"),
        (Element::Logical2, "LOGICAL2"),
        (Element::Logical4, "LOGICAL LOGICAL4"),
        (Element::Logical8, "LOGICAL8"),
        (Element::Byte, "BYTE"),
        (Element::Opaque1, "PACKED"),
        (Element::Opaque2, "REAL2"),
        (Element::Opaque4, "WCHAR COMPLEX4"),
        (Element::Opaque16, "LOGICAL16 2COMPLEX"),
        (Element::Opaque32, "2DOUBLE_COMPLEX"),
        (Element::FloatInt, "FLOAT_INT"),
        (Element::DoubleInt, "DOUBLE_INT"),
        (Element::LongInt, "LONG_INT"),
        (Element::IntInt, "2INT 2INTEGER"),
        (Element::ShortInt, "SHORT_INT"),
        (Element::LongDoubleInt, "LONG_DOUBLE_INT"),
        (Element::FloatFloat, "2REAL"),
        (Element::DoubleDouble, "2DOUBLE_PRECISION"),
    ];

    /// What the host's header makes of names: a number in the MPICH family, a symbol in Open MPI; nothing of those that it lacks.
    fn in_header(names: &[String]) -> Vec<(String, String)> {
        let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
        let mut child = Command::new(compiler)
            .args(["-E", "-P", "-x", "c", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the compiler that this was built with");
        let lines: String = names.iter().map(|name| format!("#ifdef {name}\ntransom {name:?} {name}\n#endif\n")).collect();
        child.stdin.take().unwrap().write_all(format!("#include <mpi.h>\n{lines}").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = |line: &str| line.split(|c| !is_name(c)).filter(|word| !word.is_empty()).map(String::from).collect();
        let lines = text.lines().filter_map(|line| line.strip_prefix("transom ")).map(words);
        lines.map(|words: Vec<String>| (words[0].clone(), words.last().unwrap().clone())).collect()
    }

    #[cfg(transom_mpich)]
    fn is_known_as(number: &u32, _: &core::ffi::CStr, in_header: &str) -> bool {
        format!("0x{number:08x}") == in_header
    }

    #[cfg(transom_ompi)]
    fn is_known_as(_: &u32, symbol: &core::ffi::CStr, in_header: &str) -> bool {
        symbol.to_str() == Ok(in_header)
    }

    #[test]
    fn datatypes_are_what_the_header_says() {
        let names: Vec<String> =
            MEANINGS.iter().flat_map(|(_, names)| names.split(' ')).map(|name| format!("MPI_{name}")).collect();
        let mut seen = 0;
        for (name, in_header) in in_header(&names) {
            let mut rows = DATATYPES.iter().filter(|(number, symbol, _)| is_known_as(number, symbol, &in_header));
            let Some(row) = rows.next() else {
                // The MPICH family has numbers for what it does not have.
                assert_eq!(in_header, "0x0c000000", "{name} is unknown");
                continue;
            };
            assert!(rows.next().is_none(), "{name} is there twice");
            let is = |names: &str| names.split(' ').any(|known| format!("MPI_{known}") == name);
            let (element, _) = MEANINGS.iter().find(|(_, names)| is(names)).unwrap();
            assert_eq!(row.2.element(element.size()), Some(*element), "{name}");
            #[cfg(transom_mpich)]
            assert_eq!(element_of(row.0), Some(*element), "{name}");
            seen += 1;
        }
        assert!(seen >= 60, "the header has only {seen} of the names");
    }

    #[cfg(transom_mpich)]
    fn element_of(number: u32) -> Option<Element> {
        element(MPI_Datatype(number as i32))
    }

    #[test]
    fn operations_are_what_the_header_says() {
        let names: Vec<String> = Op::ALL.iter().map(|op| format!("MPI_{}", format!("{op:?}").to_uppercase())).collect();
        let names: Vec<String> = names.iter().map(|name| name.replace("NOOP", "NO_OP")).collect();
        let found = in_header(&names);
        assert_eq!(found.len(), Op::ALL.len());
        for ((name, in_header), op) in found.iter().zip(Op::ALL) {
            let row = OPS.iter().find(|(number, symbol, _)| is_known_as(number, symbol, in_header));
            assert_eq!(row.map(|row| row.2), Some(*op), "{name} is {in_header}");
            #[cfg(transom_mpich)]
            assert_eq!(super::op(MPI_Op(row.unwrap().0 as i32)), Some(*op));
        }
    }

    #[cfg(transom_mpich)]
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
