//! From a datatype handle to its layout. A derived datatype is taken apart at its first use; what comes out of that is kept as an attribute of
//! the datatype and ends with it, as the host gives handles to new datatypes. Each thread remembers the last few it has used.

use super::layout::{Held, Items, Layout};
use super::predefined::{contiguous_size, element};
use crate::base::element::Element;
use crate::base::error::{Class, Error};
use crate::host::abi::{MPI_Datatype, combiner};
use crate::host::attribute::{Attribute, datatypes_ended};
use crate::host::datatype::{self, Made};
use std::cell::RefCell;
use std::sync::Arc;

/// A buffer of `count` items; the argument's name is for the error where it is negative.
pub fn items(argument: &'static str, count: i64, datatype: MPI_Datatype) -> Result<Items, Error> {
    let count = u64::try_from(count).map_err(|_| Error::value(Class::Count, argument, count))?;
    Items::new(layout(datatype)?, count).ok_or(Error::text(Class::Count, "count and datatype describe more than memory"))
}

/// The layout of one item.
///
/// Cost: of a predefined type a look into a table; of a derived one that this thread has used lately the same; of another known one a call
/// of the host; of a new one as much as its constructor.
pub fn layout(datatype: MPI_Datatype) -> Result<Held, Error> {
    match element(datatype) {
        Some(element) => Ok(Held::of(element)),
        None => remembered(datatype),
    }
}

/// Datatypes that a thread remembers.
const REMEMBERED: usize = 8;

/// What a thread remembers: at a handle's index, the handle and its layout.
struct Memory {
    /// [`datatypes_ended`] when the first of them was looked up.
    ended: u64,
    known: [Option<(MPI_Datatype, Held)>; REMEMBERED],
}

thread_local! {
    static MEMORY: RefCell<Memory> = const { RefCell::new(Memory { ended: 0, known: [const { None }; REMEMBERED] }) };
}

fn index(datatype: MPI_Datatype) -> usize {
    // Numbers of handles in the MPICH family, addresses of objects in the Open MPI family.
    let bits = datatype.0 as usize;
    (if cfg!(transom_mpich) { bits } else { bits >> 4 ^ bits >> 9 }) % REMEMBERED
}

fn remembered(datatype: MPI_Datatype) -> Result<Held, Error> {
    let slot = index(datatype);
    let ended = datatypes_ended();
    let found = MEMORY.try_with(|memory| {
        let memory = memory.try_borrow().ok()?;
        match &memory.known[slot] {
            Some((handle, layout)) if *handle == datatype && memory.ended == ended => Some(layout.clone()),
            _ => None,
        }
    });
    if let Ok(Some(layout)) = found {
        return Ok(layout);
    }
    let (layout, is_known) = looked_up(datatype)?;
    if is_known {
        // A thread that is ending remembers nothing any more.
        let _ = MEMORY.try_with(|memory| {
            let Ok(mut memory) = memory.try_borrow_mut() else { return };
            if memory.ended != ended {
                *memory = Memory { ended, known: [const { None }; REMEMBERED] };
            }
            memory.known[slot] = Some((datatype, layout.clone()));
        });
    }
    Ok(layout)
}

static KNOWN: Attribute<Layout, MPI_Datatype> = Attribute::new();

/// The layout, and whether it may be remembered until the datatype ends.
#[cold]
fn looked_up(datatype: MPI_Datatype) -> Result<(Held, bool), Error> {
    if datatype::is_null(datatype) {
        return Err(Error::text(Class::Type, "the datatype is null"));
    }
    if let Some(layout) = KNOWN.get(datatype)? {
        return Ok((Held::Derived(layout), true));
    }
    let layout = match contiguous_size(datatype) {
        Some(size) => Arc::new(Layout::contiguous(size)),
        None => Arc::new(taken_apart(datatype, 0)?),
    };
    if !datatype::is_committed(datatype) {
        return Err(Error::text(Class::Type, "the datatype is not committed"));
    }
    let is_known = KNOWN.set(datatype, Arc::clone(&layout)).is_ok();
    Ok((Held::Derived(layout), is_known))
}

/// Types are built bottom up, so nesting is finite; this bounds the stack.
const DEEPEST: u32 = 200;

fn taken_apart(datatype: MPI_Datatype, depth: u32) -> Result<Layout, Error> {
    if let Some(element) = element(datatype) {
        return Ok(Layout::of(element));
    }
    if depth > DEEPEST {
        return Err(Error::not_supported("a datatype nested more than 200 deep"));
    }
    let combined = match datatype::made(datatype)? {
        Made::Predefined(combiner) => return unnamed(datatype, combiner),
        Made::Derived(combined) => combined,
    };
    let combined = combined.try_map(|inner| taken_apart(inner.datatype(), depth + 1).map(Arc::new))?;
    let layout = Layout::derived(&combined, datatype::extent(datatype)?);
    let layout = layout.ok_or(Error::text(Class::Type, "the datatype is larger than memory"))?;
    match datatype::size(datatype)? {
        // Whatever the host has told that is not understood: better no transfer than a wrong one.
        Some(size) if size != layout.size() => Err(Error::text(Class::Type, "the host gives the datatype another size")),
        _ => Ok(layout),
    }
}

/// The layout of a predefined type that no table has: Fortran's by precision or range have no names, and a host may have types of its own.
fn unnamed(datatype: MPI_Datatype, combiner: i32) -> Result<Layout, Error> {
    let size = size(datatype)?;
    Ok(match combiner::category(combiner, size).and_then(|category| category.element(size as usize)) {
        Some(element) => Layout::of(element),
        None => Layout::contiguous(size),
    })
}

pub(super) fn size(datatype: MPI_Datatype) -> Result<u64, Error> {
    datatype::size(datatype)?.ok_or(Error::text(Class::Type, "the host gives the datatype no size"))
}

/// The element that a single item is, where it is one: of a predefined type, or of what repeats one once.
pub fn single(datatype: MPI_Datatype) -> Result<Option<Element>, Error> {
    if let Some(element) = element(datatype) {
        return Ok(Some(element));
    }
    let items = items("count", 1, datatype)?;
    Ok(items.element().ok().flatten().filter(|element| items.size() == element.size() as u64))
}
