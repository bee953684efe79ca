//! What the host says of a datatype: its size and extent, how it was made, and whether it may be used.

use super::abi::{self, MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Request, PROC_NULL, SUCCESS, combiner};
use super::comm::Group;
use super::table::{Host, host};
use crate::base::combined::{Combined, Dimension, Distribution, Order, Part, Unit};
use crate::base::error::{Class, Error};
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr;
use std::sync::OnceLock;

const UNKNOWN: Error = Error::text(Class::Type, "the host does not know the datatype");
const ODD: Error = Error::text(Class::Type, "the host describes the datatype in a way that is not understood");

/// Is it null? That is never asked of the host, which would call the handler of `MPI_COMM_WORLD`.
pub fn is_null(datatype: MPI_Datatype) -> bool {
    // A C null pointer in place of a handle (Open MPI), or zero (MPICH), is what an uninitialised static holds.
    datatype == host().handles.datatype_null || datatype.0 as usize == 0
}

/// Bytes of data; `None` where the host's `int` is too small for them.
pub fn size(datatype: MPI_Datatype) -> Result<Option<u64>, Error> {
    let mut size = 0;
    // SAFETY: `size` is a valid place for the result.
    if unsafe { (host().call.MPI_Type_size)(datatype, &mut size) } != SUCCESS {
        return Err(Error::text(Class::Type, "the host gives the datatype no size"));
    }
    Ok(u64::try_from(size).ok())
}

/// Bytes from one item to the next.
pub fn extent(datatype: MPI_Datatype) -> Result<i64, Error> {
    let (mut lower_bound, mut extent): (MPI_Aint, MPI_Aint) = (0, 0);
    // SAFETY: both are valid places for results.
    let code = unsafe { (host().call.MPI_Type_get_extent)(datatype, &mut lower_bound, &mut extent) };
    if code == SUCCESS { Ok(aint(extent)) } else { Err(UNKNOWN) }
}

/// `MPI_Aint` is `long` in one family and `ptrdiff_t` in the other, of 64 bits in both.
#[allow(clippy::unnecessary_cast)]
fn aint(number: MPI_Aint) -> i64 {
    number as i64
}

/// A datatype that [`made`] has found in another one.
#[derive(Debug)]
pub struct Reference {
    datatype: MPI_Datatype,
    is_ours: bool,
}

impl Reference {
    /// The handle.
    pub fn datatype(&self) -> MPI_Datatype {
        self.datatype
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        if self.is_ours {
            // SAFETY: `MPI_Type_get_contents` gives references of derived types, to be freed; predefined ones must not be.
            unsafe { (host().call.MPI_Type_free)(&mut self.datatype) };
        }
    }
}

/// How a datatype came to be.
#[derive(Debug)]
pub enum Made {
    /// By the host, with this combiner.
    Predefined(c_int),
    /// From others.
    Derived(Combined<Reference>),
}

/// How many numbers and types describe a datatype.
#[derive(Clone, Copy, Default)]
struct Envelope {
    integers: MPI_Count,
    addresses: MPI_Count,
    /// Numbers of types that were made with large counts, in place of most of the others.
    large: MPI_Count,
    datatypes: MPI_Count,
    combiner: c_int,
}

impl Envelope {
    fn of(datatype: MPI_Datatype) -> Result<Envelope, Error> {
        let mut envelope = Envelope::default();
        let Envelope { integers, addresses, large, datatypes, combiner } = &mut envelope;
        let code = match host().large_counts {
            // SAFETY: a live handle and valid places for results.
            Some(call) => unsafe { (call.MPI_Type_get_envelope_c)(datatype, integers, addresses, large, datatypes, combiner) },
            None => {
                let mut counts = [0; 3];
                let [first, second, third] = &mut counts;
                // SAFETY: as above.
                let code = unsafe { (host().call.MPI_Type_get_envelope)(datatype, first, second, third, combiner) };
                (*integers, *addresses, *datatypes) = (counts[0].into(), counts[1].into(), counts[2].into());
                code
            }
        };
        if code == SUCCESS { Ok(envelope) } else { Err(UNKNOWN) }
    }

    fn is_predefined(&self) -> bool {
        combiner::PREDEFINED.contains(&self.combiner)
    }
}

/// What describes a datatype.
struct Contents {
    integers: Vec<c_int>,
    addresses: Vec<MPI_Aint>,
    large: Vec<MPI_Count>,
    datatypes: Vec<Reference>,
}

impl Contents {
    fn of(datatype: MPI_Datatype, envelope: &Envelope) -> Result<Contents, Error> {
        let room = |count: MPI_Count| usize::try_from(count).map_err(|_| ODD);
        let mut integers = vec![0; room(envelope.integers)?];
        let mut addresses = vec![0; room(envelope.addresses)?];
        let mut large = vec![0; room(envelope.large)?];
        let mut datatypes = vec![host().handles.datatype_null; room(envelope.datatypes)?];
        let code = match host().large_counts {
            // SAFETY: a live handle, and room for as much as the envelope has named.
            Some(call) => unsafe {
                (call.MPI_Type_get_contents_c)(
                    datatype,
                    envelope.integers,
                    envelope.addresses,
                    envelope.large,
                    envelope.datatypes,
                    integers.as_mut_ptr(),
                    addresses.as_mut_ptr(),
                    large.as_mut_ptr(),
                    datatypes.as_mut_ptr(),
                )
            },
            // SAFETY: as above.
            None => unsafe {
                (host().call.MPI_Type_get_contents)(
                    datatype,
                    integers.len() as c_int,
                    addresses.len() as c_int,
                    datatypes.len() as c_int,
                    integers.as_mut_ptr(),
                    addresses.as_mut_ptr(),
                    datatypes.as_mut_ptr(),
                )
            },
        };
        if code != SUCCESS {
            return Err(Error::text(Class::Type, "the host does not give the datatype's contents"));
        }
        let reference = |datatype| {
            let is_ours = !Envelope::of(datatype).is_ok_and(|envelope| envelope.is_predefined());
            Reference { datatype, is_ours }
        };
        let datatypes = datatypes.into_iter().map(reference).collect();
        Ok(Contents { integers, addresses, large, datatypes })
    }
}

/// The numbers of a constructor, in the order of its arguments.
struct Numbers(std::vec::IntoIter<i64>);

impl Numbers {
    fn any(&mut self) -> Result<i64, Error> {
        self.0.next().ok_or(ODD)
    }

    fn count(&mut self) -> Result<u64, Error> {
        u64::try_from(self.any()?).map_err(|_| ODD)
    }

    fn many<T>(&mut self, count: u64, one: impl Fn(&mut Numbers) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        (0..count).map(|_| one(self)).collect()
    }

    fn order(&mut self) -> Result<Order, Error> {
        Ok(if self.any()? == i64::from(combiner::ORDER_C) { Order::C } else { Order::Fortran })
    }
}

/// How the datatype was made.
pub fn made(datatype: MPI_Datatype) -> Result<Made, Error> {
    let envelope = Envelope::of(datatype)?;
    if envelope.is_predefined() {
        return Ok(Made::Predefined(envelope.combiner));
    }
    let Contents { integers, addresses, large, datatypes } = Contents::of(datatype, &envelope)?;
    let mut numbers: Vec<i64> = integers.into_iter().map(i64::from).collect();
    // Large counts stand where the arguments are that may be large; everything else is as ever (MPI-4.1, section 5.1.13).
    let before = match envelope.combiner {
        combiner::SUBARRAY => 1,
        combiner::DARRAY => 3,
        _ => numbers.len(),
    };
    if numbers.len() < before {
        return Err(ODD);
    }
    let behind = numbers.split_off(before);
    numbers.extend(large);
    numbers.extend(behind);
    numbers.extend(addresses.into_iter().map(aint));
    combined(envelope.combiner, Numbers(numbers.into_iter()), datatypes).map(Made::Derived)
}

fn combined(kind: c_int, mut numbers: Numbers, mut datatypes: Vec<Reference>) -> Result<Combined<Reference>, Error> {
    let numbers = &mut numbers;
    if kind == combiner::STRUCT {
        let count = numbers.count()?;
        let lengths = numbers.many(count, Numbers::count)?;
        let displacements = numbers.many(count, Numbers::any)?;
        if datatypes.len() as u64 != count {
            return Err(ODD);
        }
        return Ok(Combined::Struct { lengths, displacements, of: datatypes });
    }
    let (Some(of), true) = (datatypes.pop(), datatypes.is_empty()) else { return Err(ODD) };
    Ok(match kind {
        combiner::DUP | combiner::RESIZED => Combined::Same(of),
        combiner::CONTIGUOUS => Combined::Contiguous { count: numbers.count()?, of },
        combiner::VECTOR | combiner::HVECTOR => {
            let unit = if kind == combiner::HVECTOR { Unit::Byte } else { Unit::Extent };
            Combined::Vector { count: numbers.count()?, length: numbers.count()?, stride: numbers.any()?, unit, of }
        }
        combiner::INDEXED | combiner::HINDEXED => {
            let unit = if kind == combiner::HINDEXED { Unit::Byte } else { Unit::Extent };
            let count = numbers.count()?;
            let lengths = numbers.many(count, Numbers::count)?;
            Combined::Indexed { lengths, displacements: numbers.many(count, Numbers::any)?, unit, of }
        }
        combiner::INDEXED_BLOCK | combiner::HINDEXED_BLOCK => {
            let unit = if kind == combiner::HINDEXED_BLOCK { Unit::Byte } else { Unit::Extent };
            let count = numbers.count()?;
            let length = numbers.count()?;
            Combined::IndexedBlock { length, displacements: numbers.many(count, Numbers::any)?, unit, of }
        }
        combiner::SUBARRAY => {
            let count = numbers.count()?;
            let sizes = numbers.many(count, Numbers::count)?;
            let subsizes = numbers.many(count, Numbers::count)?;
            let starts = numbers.many(count, Numbers::count)?;
            let part = |((size, subsize), start)| Part { size, subsize, start };
            let dimensions = sizes.into_iter().zip(subsizes).zip(starts).map(part).collect();
            Combined::Subarray { dimensions, order: numbers.order()?, of }
        }
        combiner::DARRAY => {
            let (_processes, rank, count) = (numbers.count()?, numbers.count()?, numbers.count()?);
            let sizes = numbers.many(count, Numbers::count)?;
            let kinds = numbers.many(count, Numbers::any)?;
            let arguments = numbers.many(count, Numbers::any)?;
            let processes = numbers.many(count, Numbers::count)?;
            let distribution = |(kind, argument): (i64, i64)| {
                let given =
                    if argument == i64::from(combiner::DISTRIBUTE_DFLT_DARG) { None } else { u64::try_from(argument).ok() };
                match c_int::try_from(kind) {
                    Ok(combiner::DISTRIBUTE_BLOCK) => Distribution::Block(given),
                    Ok(combiner::DISTRIBUTE_CYCLIC) => Distribution::Cyclic(given.unwrap_or(1)),
                    _ => Distribution::None,
                }
            };
            let distributions = kinds.into_iter().zip(arguments).map(distribution);
            let dimension = |((size, distribution), processes)| Dimension { size, distribution, processes };
            let dimensions = sizes.into_iter().zip(distributions).zip(processes).map(dimension).collect();
            Combined::Darray { rank, dimensions, order: numbers.order()?, of }
        }
        _ => return Err(Error::not_supported("a datatype of a combiner that MPI-4.0 does not have")),
    })
}

/// A communicator of this process alone, whose errors return: where the host can be asked things that it may refuse.
static QUIET: OnceLock<Quiet> = OnceLock::new();

#[derive(Clone, Copy)]
struct Quiet(MPI_Comm);

// SAFETY: a handle, which the host accepts in any thread that may call MPI at all.
unsafe impl Send for Quiet {}
// SAFETY: as for `Send`.
unsafe impl Sync for Quiet {}

/// To be called once MPI is initialised, while nobody else may use `MPI_COMM_SELF`.
pub fn prepare() -> Result<(), Error> {
    let Host { call, handles, .. } = host();
    let group = Group::of(handles.comm_self)?;
    let mut comm = handles.comm_null;
    // SAFETY: live handles of this process alone, and a valid place for the result.
    let code = unsafe {
        match (call.MPI_Comm_create)(handles.comm_self, group.handle(), &mut comm) {
            SUCCESS => (call.MPI_Comm_set_errhandler)(comm, handles.errors_return),
            code => code,
        }
    };
    if code != SUCCESS {
        return Err(Error::text(Class::Other, "the host makes no communicator"));
    }
    let _ = QUIET.set(Quiet(comm));
    Ok(())
}

/// To be called before the host's `MPI_Finalize`.
pub fn finish() {
    if let Some(Quiet(comm)) = QUIET.get() {
        let mut comm = *comm;
        // SAFETY: a communicator of our own, without anything under way in it.
        unsafe { (host().call.MPI_Comm_free)(&mut comm) };
    }
}

/// May the datatype be used in communication? The host says so only when it is used: here, for a message that nobody sends. Where MPI was not
/// initialised the usual way (sessions), it is believed.
pub fn is_committed(datatype: MPI_Datatype) -> bool {
    let Some(Quiet(comm)) = QUIET.get() else { return true };
    let mut request = MaybeUninit::<MPI_Request>::uninit();
    let mut place = 0_u64;
    let Host { call, .. } = host();
    // SAFETY: nothing is ever written to the buffer; the request is a valid place, and complete if the call succeeds.
    unsafe {
        let buffer = ptr::from_mut(&mut place).cast();
        if (call.MPI_Irecv)(buffer, 1, datatype, PROC_NULL, 0, *comm, request.as_mut_ptr()) != SUCCESS {
            return false;
        }
        let (mut flag, mut status) = (0, MaybeUninit::<abi::MPI_Status>::uninit());
        (call.MPI_Test)(request.as_mut_ptr(), &mut flag, status.as_mut_ptr());
    }
    true
}
