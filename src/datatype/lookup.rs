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
#[inline(always)]
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
#[inline(always)]
pub fn contiguous_size(datatype: MPI_Datatype) -> Option<u64> {
    sizes::find(datatype.0 as usize)
}

/// To be called once MPI is initialised; before, no datatype is found by its handle alone.
pub fn prepare() {
    #[cfg(transom_ompi)]
    sizes::fill();
}

/// Open MPI's predefined datatypes are objects in the library's data, or copies in the program's. A table indexed by some bits of the address
/// holds each in a slot of its own; which bits do that is found at start.
#[cfg(transom_ompi)]
mod sizes {
    use super::*;
    use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

    const SLOTS: usize = 4096;

    struct Slot {
        address: AtomicUsize,
        size: AtomicU64,
    }

    static SHIFT: AtomicU32 = AtomicU32::new(0);
    static TABLE: [Slot; SLOTS] = [const { Slot { address: AtomicUsize::new(0), size: AtomicU64::new(0) } }; SLOTS];

    fn index(address: usize, shift: u32) -> usize {
        (address >> shift) % SLOTS
    }

    #[inline(always)]
    pub(super) fn find(address: usize) -> Option<u64> {
        let slot = &TABLE[index(address, SHIFT.load(Relaxed))];
        // Pairs with the release in `fill`: the size is there when the address is seen.
        (slot.address.load(Acquire) == address).then(|| slot.size.load(Relaxed)).filter(|size| *size != 0)
    }

    pub(super) fn fill() {
        let datatypes = &host().handles.datatypes;
        let addresses: Vec<usize> = datatypes.iter().map(|datatype| datatype.0 as usize).collect();
        let shift = (3..=12).min_by_key(|shift| clashes(&addresses, *shift)).expect("there are shifts");
        SHIFT.store(shift, Relaxed);
        // The first ones of the list are the most used: theirs is the slot in a clash. Who has none goes through `layout`.
        for (datatype, address) in datatypes.iter().zip(addresses) {
            let slot = &TABLE[index(address, shift)];
            if slot.address.load(Relaxed) == 0
                && let Ok(size) = size(*datatype)
            {
                slot.size.store(size, Relaxed);
                slot.address.store(address, Release);
            }
        }
    }

    fn clashes(addresses: &[usize], shift: u32) -> usize {
        let mut indices: Vec<usize> = addresses.iter().map(|address| index(*address, shift)).collect();
        indices.sort_unstable();
        indices.windows(2).filter(|pair| pair[0] == pair[1]).count()
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
    if datatype == host.handles.datatype_null || is_nothing(datatype) {
        return Err(Error::text(Class::Type, "the datatype is null"));
    }
    if depth > DEEPEST {
        return Err(Error::not_supported("a datatype nested more than 64 deep"));
    }
    if let Some((_, pair)) = host.handles.pairs.iter().find(|(known, _)| *known == datatype) {
        return Ok(Layout::pair(*pair));
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
    let predefined = contiguous_size(datatype).is_some() || host.handles.pairs.iter().any(|(known, _)| *known == datatype);
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
