//! Creation of windows. All ranks of the communicator decide alike, from what they have exchanged: serve the window, leave it to the
//! host, or fail with one class. Until the last exchange everything made here is dropped on the way out of an error.
//!
//! Two exchanges (three for contiguous shared windows, whose rank 0 must know all sizes before it allocates), each one barrier.

use super::active::Active;
use super::control::Control;
use super::errhandler::Handler;
use super::{Flavor, Peer, Private, Window, attributes, epoch::Epochs, handle, hints};
use crate::base::error::{Class, Error, What, agree, failure};
use crate::base::log::verbose;
use crate::base::stats::{Decline, TOTALS, Tallies};
use crate::host::abi::{MPI_Aint, MPI_Comm, MPI_Info, MPI_Win};
use crate::host::comm::Plain;
use crate::node::memory::{self, Block, Location, Mapping};
use crate::node::team::{self, Membership, Team};
use crate::node::words::BarrierMember;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// What the application asks for.
pub struct Request {
    /// How the window is made.
    pub flavor: Flavor,
    /// The application's memory (`Flavor::Create` only).
    pub base: *mut c_void,
    /// Its size in bytes, as passed.
    pub size: i64,
    /// The displacement unit, as passed.
    pub unit: i64,
    /// Hints.
    pub info: MPI_Info,
    /// The ranks.
    pub comm: MPI_Comm,
}

/// What became of it.
pub enum Outcome {
    /// The window is ours.
    Served {
        /// Its handle.
        handle: MPI_Win,
        /// Where its memory begins, for the application.
        base: *mut c_void,
    },
    /// The window is the host's to make, on all ranks.
    Declined(Decline),
}

/// A rank's part, told to all.
#[repr(C)]
#[derive(Clone, Copy)]
struct Part {
    /// 0, or an error's class + 1.
    failure: u64,
    /// 0, or a reason to leave the window to the host.
    decline: u64,
    /// 1 where a shared window's parts need not touch.
    scattered: u64,
    size: u64,
    unit: u64,
    /// The rank's memory, if `kind` is [`SHARED`].
    memory: Location,
    /// One of [`NOTHING`], [`SHARED`], [`PRIVATE`].
    kind: u64,
    /// Where it is private: its address in the rank's process.
    address: u64,
    control: Location,
}

/// A rank without memory of its own making.
const NOTHING: u64 = 0;
/// In a segment that peers map.
const SHARED: u64 = 1;
/// Private to the rank's process.
const PRIVATE: u64 = 2;

// SAFETY: `u64`s and locations, which are plain and multiples of eight bytes themselves.
unsafe impl Plain for Part {}

/// The second exchange of a contiguous shared window: where rank 0 has put all parts.
#[repr(C)]
#[derive(Clone, Copy)]
struct Whole {
    failure: u64,
    memory: Location,
}

// SAFETY: as for `Part`.
unsafe impl Plain for Whole {}

/// Makes a window. Collective over the communicator.
pub fn create(request: &Request) -> Result<Outcome, Error> {
    let membership = team::join(request.comm)?;
    match &*membership {
        Membership::Declined(reason) => Ok(Outcome::Declined(*reason)),
        Membership::Team(team) => create_on(&membership, team, request),
    }
}

/// What a rank has made for its part.
struct Own {
    size: u64,
    unit: u64,
    control: Block,
    memory: Memory,
}

enum Memory {
    /// None yet: no bytes, or rank 0 will allocate for all.
    None,
    /// Its own.
    Block(Block),
    /// The application's, in a segment that is shared already.
    At(Location),
    /// The application's, which is private to this process.
    Private(u64),
}

fn prepare(request: &Request, contiguous: bool, ranks: u32) -> Result<Own, Error> {
    let size = u64::try_from(request.size).map_err(|_| Error::value(Class::Size, "size", request.size))?;
    let unit = match u64::try_from(request.unit) {
        Ok(unit) if unit > 0 => unit,
        _ => return Err(Error::value(Class::Disp, "disp_unit", request.unit)),
    };
    let memory = match request.flavor {
        Flavor::Create if size == 0 => Memory::None,
        Flavor::Create if request.base.is_null() => {
            return Err(Error::text(Class::Base, "the base is null and the size is not 0"));
        }
        Flavor::Create => {
            memory::locate(request.base.cast(), size as usize).map_or(Memory::Private(request.base as u64), Memory::At)
        }
        Flavor::Shared if contiguous => Memory::None,
        Flavor::Allocate | Flavor::Shared => Memory::Block(memory::allocate(size as usize, hints::alignment(request.info))?),
    };
    let control = memory::allocate(Control::bytes(ranks), align_of::<Control>())?;
    // SAFETY: new, aligned and large enough; any bytes are atomics, and nobody else knows the block yet.
    unsafe { Control::reset(control.address().cast::<Control>().as_ptr(), ranks) };
    Ok(Own { size, unit, control, memory })
}

fn create_on(membership: &Arc<Membership>, team: &Team, request: &Request) -> Result<Outcome, Error> {
    let scattered = request.flavor != Flavor::Shared || hints::allows_gaps(request.info);
    let own = prepare(request, !scattered, team.size());
    let decline = hints::asks_for_host(request.info).then_some(Decline::Asked);

    let parts = team.exchange(&part(&own, decline, scattered))?;
    agree(parts.iter().map(|part| part.failure), team.rank(), own.as_ref().err().copied())?;
    if let Some(reason) = parts.iter().find_map(|part| Decline::from_byte(part.decline as u8)) {
        return Ok(declined(reason));
    }
    if parts.iter().any(|part| part.kind == PRIVATE) && !team.reaches_private()? {
        return Ok(declined(Decline::PrivateMemory));
    }
    // `agree` has returned where any rank's part, this one's included, had failed.
    let mut own = own?;
    // Parts touch unless every rank has asked for the opposite: a rank that did not would rely on it.
    let touching = request.flavor == Flavor::Shared && !parts.iter().all(|part| part.scattered != 0);
    let places = if touching { place_together(team, &parts, &mut own, request.info)? } else { place_apart(&parts) };

    let made = build(membership, team, request, &parts, &places, own, !touching);
    let agreed = team.exchange(&failure(&made)).and_then(|failures| agree(failures, team.rank(), made.as_ref().err().copied()));
    if let Err(error) = agreed {
        if let Ok((handle, _)) = made {
            // SAFETY: the handle was made above and nobody has been told of it.
            let window = unsafe { handle::remove(handle) };
            if matches!(error.what, What::Died { .. }) {
                // Not agreed upon: another rank may have heard of no death, and use its window, of which this is a part.
                core::mem::forget(window);
            }
        }
        return Err(error);
    }
    let (handle, base) = made?;
    if team.rank() == 0 {
        TOTALS.served.fetch_add(1, Relaxed);
    }
    Ok(Outcome::Served { handle, base })
}

fn declined(reason: Decline) -> Outcome {
    verbose(format_args!("a window is left to the host: {}", reason.text()));
    Outcome::Declined(reason)
}

fn part(own: &Result<Own, Error>, decline: Option<Decline>, scattered: bool) -> Part {
    let blank = Part {
        failure: failure(own),
        decline: decline.map_or(0, |reason| reason as u64),
        scattered: u64::from(scattered),
        size: 0,
        unit: 1,
        memory: Location::NOWHERE,
        kind: NOTHING,
        address: 0,
        control: Location::NOWHERE,
    };
    let Ok(own) = own else { return blank };
    let (kind, memory, address) = match &own.memory {
        Memory::Block(block) => (SHARED, block.location(), 0),
        Memory::At(location) => (SHARED, *location, 0),
        Memory::Private(address) => (PRIVATE, Location::NOWHERE, *address),
        Memory::None => (NOTHING, Location::NOWHERE, 0),
    };
    Part { size: own.size, unit: own.unit, memory, kind, address, control: own.control.location(), ..blank }
}

/// Where each rank's memory lies, `None` for a rank without any.
type Places = Vec<Option<Location>>;

fn place_apart(parts: &[Part]) -> Places {
    parts.iter().map(|part| (part.kind == SHARED).then_some(part.memory)).collect()
}

/// One block of rank 0 for all, each rank's part behind that of the rank before it (MPI-4.1, section 12.2.3).
fn place_together(team: &Team, parts: &[Part], own: &mut Own, info: MPI_Info) -> Result<Places, Error> {
    let total = parts.iter().try_fold(0_u64, |total, part| total.checked_add(part.size));
    let block = match total {
        Some(total) if total <= i64::MAX as u64 => {
            if team.rank() == 0 {
                memory::allocate(total as usize, hints::alignment(info)).map(Some).map_err(Error::from)
            } else {
                Ok(None)
            }
        }
        _ => Err(Error::text(Class::Size, "the sizes of all ranks add up to more than memory")),
    };
    let memory = match &block {
        Ok(Some(block)) => block.location(),
        _ => Location::NOWHERE,
    };
    let wholes = team.exchange(&Whole { failure: failure(&block), memory })?;
    agree(wholes.iter().map(|whole| whole.failure), team.rank(), block.as_ref().err().copied())?;
    // What a rank that would have done with gaps had allocated is not used.
    own.memory = block?.map_or(Memory::None, Memory::Block);
    let mut next = wholes[0].memory.offset;
    Ok(parts
        .iter()
        .map(|part| {
            let place = Location { segment: wholes[0].memory.segment, offset: next };
            next += part.size;
            Some(place)
        })
        .collect())
}

type Mapped = (Box<[Peer]>, Vec<Arc<Mapping>>);

fn map_all(parts: &[Part], places: &Places, rank: u32, request: &Request, gaps: bool) -> Result<Mapped, Error> {
    let mut mappings = Vec::<Arc<Mapping>>::new();
    let mut reach = |location: &Location, bytes: u64| -> Result<*mut u8, Error> {
        let mapping = memory::map(&location.segment)?;
        let at =
            mapping.at(location.offset, bytes).ok_or(Error::text(Class::Other, "a peer named memory outside its segment"))?;
        if !mappings.iter().any(|kept| Arc::ptr_eq(kept, &mapping)) {
            mappings.push(mapping);
        }
        Ok(at.as_ptr())
    };
    let mut peers = Vec::with_capacity(parts.len());
    for (other, (part, place)) in parts.iter().zip(places).enumerate() {
        let base = match place {
            // The application's own address, which may be another mapping of the same memory than ours.
            _ if request.flavor == Flavor::Create && other == rank as usize => request.base.cast::<u8>(),
            // A part of no bytes that touches no other lies nowhere.
            Some(_) if part.size == 0 && request.flavor == Flavor::Shared && gaps => ptr::null_mut(),
            Some(place) => reach(place, part.size)?,
            None => ptr::null_mut(),
        };
        let control = reach(&part.control, Control::bytes(parts.len() as u32) as u64)?.cast::<Control>().cast_const();
        let size = if base.is_null() { 0 } else { part.size };
        peers.push(Peer { base, size, unit: part.unit, control });
    }
    Ok((peers.into(), mappings))
}

/// Everything of the window that is local to this rank.
fn build(
    membership: &Arc<Membership>,
    team: &Team,
    request: &Request,
    parts: &[Part],
    places: &Places,
    own: Own,
    gaps: bool,
) -> Result<(MPI_Win, *mut c_void), Error> {
    let (peers, mappings) = map_all(parts, places, team.rank(), request, gaps)?;
    let base = peers[team.rank() as usize].base.cast::<c_void>();
    let private = |part: &Part| (part.kind == PRIVATE).then_some(Private { address: part.address, size: part.size });
    let any_private = parts.iter().any(|part| part.kind == PRIVATE);
    let window = Window {
        private: if any_private { parts.iter().map(private).collect() } else { Box::default() },
        epochs: Epochs::new(team.size()),
        active: Active::default(),
        tallies: Tallies::default(),
        membership: Arc::clone(membership),
        fence: Mutex::new(BarrierMember::new(team.size())),
        predefined: attributes::Predefined::new(base, own.size as MPI_Aint, own.unit, request.flavor),
        cached: Mutex::default(),
        name: Mutex::default(),
        hints: Mutex::new(hints::Hints::new(request.flavor, request.info, gaps)),
        handler: Mutex::new(Handler::initial()),
        peers,
        _mappings: mappings,
        _memory: match own.memory {
            Memory::Block(block) => Some(block),
            Memory::None | Memory::At(_) | Memory::Private(_) => None,
        },
        _control: own.control,
    };
    let handle = handle::insert(Box::new(window)).ok_or(Error::text(Class::NoMem, "all window handles are in use"))?;
    Ok((handle, base))
}
