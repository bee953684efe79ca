//! From a datatype handle to its layout.

use super::Element;
use super::layout::Layout;
use super::predefined::{contiguous_size, element};
use crate::base::error::{Class, Error};
use crate::host::abi::{self, MPI_Datatype, combiner};
use crate::host::table::host;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr;

/// The layout of one item of any datatype that is served: predefined ones and contiguous repetitions of them.
#[cold]
pub fn layout(datatype: MPI_Datatype) -> Result<Layout, Error> {
    let (leaf, count) = repeated(datatype, 0)?;
    let one = match (contiguous_size(leaf), element(leaf)) {
        (Some(size), _) => Layout::contiguous(size),
        (None, Some(element)) => Layout::of(element),
        (None, None) => Layout::contiguous(size(leaf)?),
    };
    one.repeat(count).ok_or(too_large())
}

/// The elements of one item of a datatype, side by side: which, and how many.
#[inline]
pub fn elements(datatype: MPI_Datatype) -> Result<(Element, u64), Error> {
    match element(datatype) {
        Some(element) => Ok((element, 1)),
        None => repeated_elements(datatype),
    }
}

#[cold]
fn repeated_elements(datatype: MPI_Datatype) -> Result<(Element, u64), Error> {
    let (leaf, count) = repeated(datatype, 0)?;
    match element(leaf).or_else(|| unnamed(leaf)) {
        Some(element) => Ok((element, count)),
        None => Err(Error::text(Class::Type, "no reduction knows the datatype")),
    }
}

/// The element of a type that Fortran has asked for by precision or range.
fn unnamed(datatype: MPI_Datatype) -> Option<Element> {
    let size = size(datatype).ok()?;
    combiner::category(combiner_of(datatype)?, size)?.element(size as usize)
}

fn too_large() -> Error {
    Error::text(Class::Type, "the datatype is larger than memory")
}

/// Types are built bottom up, so nesting is finite; this bounds it against a damaged handle.
const DEEPEST: u32 = 64;

/// The predefined datatype that a datatype repeats, and how often.
fn repeated(datatype: MPI_Datatype, depth: u32) -> Result<(MPI_Datatype, u64), Error> {
    if contiguous_size(datatype).is_some() || element(datatype).is_some() {
        return Ok((datatype, 1));
    }
    let host = host();
    if datatype == host.handles.datatype_null || is_nothing(datatype) {
        return Err(Error::text(Class::Type, "the datatype is null"));
    }
    if depth > DEEPEST {
        return Err(Error::not_supported("a datatype nested more than 64 deep"));
    }
    match combiner_of(datatype).ok_or(Error::text(Class::Type, "the host does not know the datatype"))? {
        kind if combiner::PREDEFINED.contains(&kind) => Ok((datatype, 1)),
        kind @ (combiner::DUP | combiner::CONTIGUOUS) => {
            let (count, inner) = contents(datatype, kind == combiner::CONTIGUOUS)?;
            let found = repeated(inner, depth + 1);
            release(inner);
            let (leaf, inner_count) = found?;
            inner_count.checked_mul(count).map(|count| (leaf, count)).ok_or(too_large())
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
    if element(datatype).is_some() || is_predefined(datatype) {
        return;
    }
    // SAFETY: a reference of our own.
    unsafe { (host().call.MPI_Type_free)(&mut datatype) };
}

fn is_predefined(datatype: MPI_Datatype) -> bool {
    combiner_of(datatype).is_some_and(|combiner| combiner::PREDEFINED.contains(&combiner))
}

fn combiner_of(datatype: MPI_Datatype) -> Option<c_int> {
    let (mut integers, mut addresses, mut datatypes, mut combiner) = (0, 0, 0, 0);
    // SAFETY: a live handle and valid places for results.
    let code =
        unsafe { (host().call.MPI_Type_get_envelope)(datatype, &mut integers, &mut addresses, &mut datatypes, &mut combiner) };
    (code == abi::SUCCESS).then_some(combiner)
}

/// A C null pointer in place of a handle (Open MPI), or zero (MPICH): what an uninitialised static holds.
fn is_nothing(datatype: MPI_Datatype) -> bool {
    datatype.0 as usize == 0
}

pub(super) fn size(datatype: MPI_Datatype) -> Result<u64, Error> {
    let mut size = 0;
    // SAFETY: `size` is a valid place for the result.
    if unsafe { (host().call.MPI_Type_size)(datatype, &mut size) } != abi::SUCCESS || size < 0 {
        return Err(Error::text(Class::Type, "the host gives the datatype no size"));
    }
    Ok(size as u64)
}
