//! From a datatype handle to its layout. Predefined types of one run are found without a call: their size stands in the handle (MPICH
//! family) or in a table indexed by the handle's address (Open MPI family).

use super::layout::Layout;
use crate::base::error::{Class, Error};
use crate::host::abi::{self, MPI_Datatype, combiner};
use crate::host::table::host;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr;

/// Size of one item if the datatype is predefined and one run of bytes, without any call of the host.
#[cfg(transom_mpich)]
#[inline]
pub fn contiguous_size(datatype: MPI_Datatype) -> Option<u64> {
    // A handle's top bits: kind (01: builtin) and object type (0011: datatype); bits 8 to 15 hold a builtin type's size.
    const KIND: u32 = 0xfc00_0000;
    const BUILTIN_DATATYPE: u32 = 0x4c00_0000;
    let handle = datatype.0 as u32;
    let size = (handle >> 8) & 0xff;
    (handle & KIND == BUILTIN_DATATYPE && size != 0 && size <= 32).then_some(u64::from(size))
}

/// Size of one item if the datatype is predefined and one run of bytes, without any call of the host.
#[cfg(transom_ompi)]
#[inline]
pub fn contiguous_size(datatype: MPI_Datatype) -> Option<u64> {
    let table = sizes::table();
    let (handle, size) = table.slots[table.index(datatype)];
    (handle == datatype.0 as usize).then_some(size)
}

/// Open MPI's predefined datatypes are objects in the library's data. A table indexed by some bits of the address holds each of
/// them in a slot of its own: which bits is found at start.
#[cfg(transom_ompi)]
mod sizes {
    use super::*;
    use std::sync::OnceLock;

    pub(super) struct Table {
        shift: u32,
        pub(super) slots: Box<[(usize, u64)]>,
    }

    impl Table {
        #[inline]
        pub(super) fn index(&self, datatype: MPI_Datatype) -> usize {
            (datatype.0 as usize >> self.shift) & (self.slots.len() - 1)
        }
    }

    pub(super) fn table() -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            let sized: Vec<(usize, u64)> = host()
                .handles
                .datatypes
                .iter()
                .filter_map(|datatype| Some((datatype.0 as usize, size(*datatype).ok().filter(|size| *size > 0)?)))
                .collect();
            build(&sized)
        })
    }

    /// The first choice of bits that keeps all addresses apart; with 4,096 slots some choice does, since the objects are hundreds
    /// of bytes long. A name that a clash would drop is only slower (it takes [`layout`]'s way).
    fn build(sized: &[(usize, u64)]) -> Table {
        let place = |shift: u32, slot_count: usize| {
            let mut table = Table { shift, slots: vec![(0, 0); slot_count].into() };
            let mut clashes = 0;
            for (address, size) in sized {
                let index = (address >> shift) & (slot_count - 1);
                clashes += usize::from(table.slots[index].0 != 0);
                table.slots[index] = (*address, *size);
            }
            (clashes, table)
        };
        let choices = [256, 512, 1024, 2048, 4096].into_iter().flat_map(|count| (3..=10).map(move |shift| (shift, count)));
        let mut best: Option<(usize, Table)> = None;
        for (shift, count) in choices {
            let (clashes, table) = place(shift, count);
            if clashes == 0 {
                return table;
            }
            if best.as_ref().is_none_or(|(fewest, _)| clashes < *fewest) {
                best = Some((clashes, table));
            }
        }
        best.expect("there are choices").1
    }
}

/// The layout of one item of any datatype that is served: predefined ones and contiguous repetitions of them.
#[cold]
pub fn layout(datatype: MPI_Datatype) -> Result<Layout, Error> {
    layout_nested(datatype, 0)
}

/// Types are built bottom up, so nesting is finite; this bounds it against a damaged handle.
const DEEPEST: u32 = 64;

fn layout_nested(datatype: MPI_Datatype, depth: u32) -> Result<Layout, Error> {
    if let Some(size) = contiguous_size(datatype) {
        return Ok(Layout::contiguous(size));
    }
    let host = host();
    if datatype == host.handles.datatype_null || is_nothing(datatype) || depth > DEEPEST {
        return Err(Error::text(Class::Type, "the datatype is null"));
    }
    if let Some(found) = host.handles.pairs.iter().find(|found| found.datatype == datatype) {
        return found.pair.map(Layout::pair).ok_or(Error::text(Class::Type, "the datatype has no layout"));
    }
    let (mut integers, mut addresses, mut datatypes, mut combiner) = (0, 0, 0, 0);
    // SAFETY: all are valid places for results.
    let code =
        unsafe { (host.call.MPI_Type_get_envelope)(datatype, &mut integers, &mut addresses, &mut datatypes, &mut combiner) };
    if code != abi::SUCCESS {
        return Err(Error::text(Class::Type, "the host does not know the datatype"));
    }
    match combiner {
        combiner::NAMED => size(datatype).map(Layout::contiguous),
        combiner::DUP | combiner::CONTIGUOUS => {
            let (count, inner) = contents(datatype, combiner == combiner::CONTIGUOUS)?;
            let found = layout_nested(inner, depth + 1);
            release(inner);
            found?.repeat(count).ok_or(Error::text(Class::Type, "the datatype is larger than memory"))
        }
        _ => Err(Error::not_supported("datatypes other than predefined and contiguous ones")),
    }
}

/// Count and inner type of a contiguous type or a duplicate.
fn contents(datatype: MPI_Datatype, counted: bool) -> Result<(u64, MPI_Datatype), Error> {
    let mut count: c_int = 1;
    let mut inner = MaybeUninit::<MPI_Datatype>::uninit();
    // SAFETY: a contiguous type has one integer and one datatype, a duplicate one datatype; there is room for both.
    let code = unsafe {
        (host().call.MPI_Type_get_contents)(datatype, c_int::from(counted), 0, 1, &mut count, ptr::null_mut(), inner.as_mut_ptr())
    };
    if code != abi::SUCCESS {
        return Err(Error::text(Class::Type, "the host does not give the datatype's contents"));
    }
    // SAFETY: written by the successful call.
    Ok((count as u64, unsafe { inner.assume_init() }))
}

/// `MPI_Type_get_contents` gives new references of derived types; predefined ones must not be freed.
fn release(mut datatype: MPI_Datatype) {
    let host = host();
    let predefined = contiguous_size(datatype).is_some() || host.handles.pairs.iter().any(|pair| pair.datatype == datatype);
    if predefined || is_named(datatype) {
        return;
    }
    // SAFETY: a reference of our own.
    unsafe { (host.call.MPI_Type_free)(&mut datatype) };
}

fn is_named(datatype: MPI_Datatype) -> bool {
    let (mut integers, mut addresses, mut datatypes, mut combiner) = (0, 0, 0, 0);
    // SAFETY: a live handle and valid places for results.
    let code =
        unsafe { (host().call.MPI_Type_get_envelope)(datatype, &mut integers, &mut addresses, &mut datatypes, &mut combiner) };
    code == abi::SUCCESS && combiner == combiner::NAMED
}

/// A C null pointer in place of a handle (Open MPI), or zero (MPICH): what an uninitialised static holds.
fn is_nothing(datatype: MPI_Datatype) -> bool {
    datatype.0 as usize == 0
}

fn size(datatype: MPI_Datatype) -> Result<u64, Error> {
    let mut size = 0;
    // SAFETY: `size` is a valid place for the result.
    if unsafe { (host().call.MPI_Type_size)(datatype, &mut size) } != abi::SUCCESS || size < 0 {
        return Err(Error::text(Class::Type, "the host gives the datatype no size"));
    }
    Ok(size as u64)
}
