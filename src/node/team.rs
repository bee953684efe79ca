//! A team: the ranks of one communicator, all on this node, that have proved to share memory. Formed once per communicator, kept as an
//! attribute of it; windows are then created by exchanges in shared memory, without the host.

use super::cross::{self, Direction};
use super::memory::{self, Block, Location, Mapping};
use super::processes::{Identity, Processes};
use super::words::exclusion::ExclusionWords;
use super::words::{BarrierMember, BarrierWords, Wait};
use crate::base::error::{Class, Error, agree, failure};
use crate::base::functions::FINGERPRINT;
use crate::base::log::verbose;
use crate::base::stats::Decline;
use crate::base::threads::lock;
use crate::base::{config, table};
use crate::host::abi::MPI_Comm;
use crate::host::attribute::Attribute;
use crate::host::comm::{self, Group, Plain};
use crate::host::job;
use crate::host::table::host;
use crate::host::wait::{Waiter, check_alive};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::io;
use std::sync::{Arc, Mutex, OnceLock};

impl Wait for Waiter<'_> {
    type Error = Error;

    fn spins(&self) -> u32 {
        Waiter::spins(self)
    }

    fn pause(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Error> {
        Waiter::pause(self, word, seen)
    }

    fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Error> {
        Waiter::pause_holding(self, word, seen)
    }
}

/// What became of a communicator.
pub enum Membership {
    /// All ranks share memory.
    Team(Team),
    /// Windows on it are the host's.
    Declined(Decline),
}

/// The ranks of a communicator that share this node's memory.
pub struct Team {
    rank: u32,
    group: Group,
    processes: Processes,
    board: *const Board,
    /// What the next exchange starts from. Collective calls on one communicator come one at a time (MPI-4.1, section 6.14), so the
    /// lock is never waited for.
    turn: Mutex<Turn>,
    /// At rank 0: the memory of the board itself.
    board_block: Option<Block>,
    /// Every rank's words for accumulates, in its process's memory.
    exclusion: Box<[*const ExclusionWords]>,
    /// Keep the board and those words mapped.
    _mappings: Vec<Arc<Mapping>>,
    /// Whether every rank reaches every other's private memory, once that was tried.
    reaches_private: OnceLock<bool>,
}

/// A word of each process that its peers read, and one that they write, to find out whether they may.
static TOKEN: AtomicU64 = AtomicU64::new(0);
static ECHO: AtomicU64 = AtomicU64::new(0);

// SAFETY: the board is shared memory that only atomics and turn-taking raw copies touch, mapped as long as the team lives.
unsafe impl Send for Team {}
// SAFETY: as for `Send`.
unsafe impl Sync for Team {}

/// Rank 0's block: a barrier and two banks of slots, one slot a rank.
#[repr(C, align(128))]
struct Board {
    barrier: BarrierWords,
    /// How often a rank other than 0 has left the barrier, wrapping around. Written by those (+1, `Release`), read by rank 0 (`Acquire`) when
    /// it wants the memory back; never reset in use.
    left: AtomicU32,
}

/// Boards whose communicators are gone at rank 0 while another rank may still be looking at the barrier for the last time. To free one
/// then, and to use its memory for the next board, would leave that rank waiting for ever:
///
/// ```text
/// rank 0: exchange, comm_free: frees the board   next communicator: gets the block again, arrived = 0
/// rank 1: exchange                                          ... polls: 0
/// ```
static RETIRED: Mutex<Vec<RetiredBoard>> = Mutex::new(Vec::new());

struct RetiredBoard {
    block: Block,
    /// Value of [`Board::left`] when all have left.
    all_left: u32,
}

impl RetiredBoard {
    fn is_quiet(&self) -> bool {
        // SAFETY: the block holds a board, which only atomics touch.
        unsafe { self.block.address().cast::<Board>().as_ref() }.left.load(Acquire) == self.all_left
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let Some(block) = self.board_block.take() else { return };
        let exchanges = lock(&self.turn).exchanges;
        let mut retired = lock(&RETIRED);
        retired.push(RetiredBoard { block, all_left: exchanges.wrapping_mul(self.size() - 1) });
        retired.retain(|board| !board.is_quiet());
    }
}

/// Bytes that a rank can say in one exchange.
const SLOT: usize = 256;

struct Turn {
    exchanges: u32,
    member: BarrierMember,
}

/// A rank's introduction.
#[repr(C)]
#[derive(Clone, Copy)]
struct Hello {
    /// [`table::VERSION`] and [`FINGERPRINT`] of the build.
    build: [u64; 2],
    identity: Identity,
    /// Rank 0: where the board lies; meaningless after a failure.
    board: Location,
    /// The process's [`ExclusionWords`].
    exclusion: Location,
    /// Of the attempt to make either.
    failure: u64,
}

// SAFETY: integers, arrays of integers and a `Location`, which is plain itself; all fields are multiples of eight bytes.
unsafe impl Plain for Hello {}

static ATTRIBUTE: Attribute<Membership> = Attribute::new();

/// The membership of a communicator, found or formed. Collective where it is not yet formed.
pub fn join(comm: MPI_Comm) -> Result<Arc<Membership>, Error> {
    if let Some(membership) = ATTRIBUTE.get(comm)? {
        return Ok(membership);
    }
    let membership = Arc::new(form(comm)?);
    if let Membership::Declined(reason) = &*membership {
        verbose(format_args!("a communicator is left to the host: {}", reason.text()));
    }
    ATTRIBUTE.set(comm, Arc::clone(&membership))?;
    Ok(membership)
}

fn form(comm: MPI_Comm) -> Result<Membership, Error> {
    if comm::is_inter(comm)? {
        // No MPI has windows on those, and MPICH 4.0.2 crashes when it is asked for one.
        return Err(Error::text(Class::Comm, "an inter-communicator"));
    }
    let (rank, size, group) = (comm::rank(comm)?, comm::size(comm)?, Group::of(comm)?);
    if let Some(reason) = absence(&group, size)? {
        return Ok(Membership::Declined(reason));
    }

    lock(&RETIRED).retain(|board| !board.is_quiet());
    let made = own_exclusion().and_then(|own| Ok((own, if rank == 0 { Some(board_block(size)?) } else { None })));
    let (exclusion, board) = match &made {
        Ok((own, block)) => (own.location(), block.as_ref().map_or(Location::NOWHERE, Block::location)),
        Err(_) => (Location::NOWHERE, Location::NOWHERE),
    };
    let build = [u64::from(table::VERSION), FINGERPRINT];
    let hello = Hello { build, identity: Identity::own(), board, exclusion, failure: failure(&made) };
    let all = comm::allgather(comm, &hello)?;
    agree(all.iter().map(|hello| hello.failure), rank, made.as_ref().err().copied())?;
    let (_, board_block) = made?;
    if all.iter().any(|other| other.build != build) {
        return Ok(Membership::Declined(Decline::Version));
    }
    if all.iter().any(|other| other.identity.boot != all[0].identity.boot) {
        return Ok(Membership::Declined(Decline::Absent));
    }

    let mapped = map_all(&all, size);
    if let Err(error) = &mapped {
        verbose(format_args!("memory of a peer cannot be mapped: {error}"));
    }
    let verdicts = comm::allgather(comm, &u64::from(mapped.is_ok()))?;
    let (Ok(mapped), true) = (mapped, verdicts.iter().all(|mapped| *mapped != 0)) else {
        return Ok(Membership::Declined(Decline::Unmapped));
    };
    Ok(Membership::Team(Team {
        rank,
        group,
        processes: Processes::new(all.iter().map(|hello| hello.identity).collect(), rank),
        board: mapped.board,
        exclusion: mapped.exclusion,
        _mappings: mapped.mappings,
        turn: Mutex::new(Turn { exchanges: 0, member: BarrierMember::new(size) }),
        board_block,
        reaches_private: OnceLock::new(),
    }))
}

/// The calling process's words for accumulates, made once: all teams share them.
fn own_exclusion() -> Result<&'static Block, Error> {
    static OWN: OnceLock<Block> = OnceLock::new();
    if let Some(own) = OWN.get() {
        return Ok(own);
    }
    let block = memory::allocate(size_of::<ExclusionWords>(), align_of::<ExclusionWords>())?;
    // SAFETY: new, aligned and large enough; any bytes are atomics, and nobody else knows the block yet.
    unsafe { block.address().cast::<ExclusionWords>().as_ref() }.reset();
    // Where two threads come at once, the second block is given back.
    Ok(OWN.get_or_init(|| block))
}

/// What a team has mapped of its ranks.
struct Mapped {
    board: *const Board,
    exclusion: Box<[*const ExclusionWords]>,
    mappings: Vec<Arc<Mapping>>,
}

fn map_all(all: &[Hello], size: u32) -> Result<Mapped, Error> {
    let mut mappings = Vec::<Arc<Mapping>>::new();
    let mut reach = |location: &Location, bytes: usize| -> Result<*const u8, Error> {
        let mapping = memory::map(&location.segment)?;
        let at = mapping.at(location.offset, bytes as u64);
        let at = at.ok_or(Error::text(Class::Other, "a peer named memory outside its segment"))?;
        if !mappings.iter().any(|kept| Arc::ptr_eq(kept, &mapping)) {
            mappings.push(mapping);
        }
        Ok(at.as_ptr().cast_const())
    };
    let board = reach(&all[0].board, board_bytes(size))?.cast::<Board>();
    let words = |hello: &Hello| Ok(reach(&hello.exclusion, size_of::<ExclusionWords>())?.cast::<ExclusionWords>());
    let exclusion = all.iter().map(words).collect::<Result<_, Error>>()?;
    Ok(Mapped { board, exclusion, mappings })
}

/// Reads a peer's token and writes it where the peer lets it.
fn try_private(pid: u32, [token, token_address, echo_address]: &[u64; 3]) -> io::Result<()> {
    let mut word = 0_u64;
    let here = (&raw mut word).cast::<u8>();
    // SAFETY: eight bytes here; there, two words that are for this.
    unsafe { cross::move_one(pid, Direction::Read, here, *token_address, size_of_val(&word)) }?;
    if word != *token {
        return Err(io::Error::other("another process has its number"));
    }
    // SAFETY: as above.
    unsafe { cross::move_one(pid, Direction::Write, here, *echo_address, size_of_val(&word)) }
}

/// A reason why not every rank of the group can take part in an exchange of ours, found without any.
fn absence(group: &Group, size: u32) -> Result<Option<Decline>, Error> {
    if config::get().disable {
        return Ok(Some(Decline::Disabled));
    }
    if size == 1 {
        return Ok(None);
    }
    if !job::is_known() || job::published_rank() != Some(comm::rank(host().handles.comm_world)?) {
        return Ok(Some(Decline::Launcher));
    }
    let ranks = group.world_ranks(size)?;
    let missing = ranks.iter().any(|rank| !rank.is_some_and(job::is_present));
    Ok(missing.then_some(Decline::Absent))
}

fn board_block(size: u32) -> Result<Block, Error> {
    let block = memory::allocate(board_bytes(size), align_of::<Board>())?;
    // SAFETY: the block is new, aligned and large enough, and any bytes are atomics.
    let board = unsafe { block.address().cast::<Board>().as_ref() };
    board.barrier.reset();
    board.left.store(0, Relaxed);
    Ok(block)
}

fn board_bytes(size: u32) -> usize {
    size_of::<Board>() + 2 * SLOT * size as usize
}

impl Team {
    /// The calling rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.processes.count()
    }

    /// The communicator's group.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The words for accumulates of a rank's process.
    #[inline]
    pub fn exclusion(&self, rank: u32) -> &ExclusionWords {
        // SAFETY: mapped as long as the team lives, and only atomics touch it.
        unsafe { &*self.exclusion[rank as usize] }
    }

    /// The process behind a rank of the team, by its number.
    pub fn pid(&self, rank: u32) -> u32 {
        self.processes.pid(rank)
    }

    /// Whether every rank may read and write every other's private memory (`process_vm_readv`). Tried once, by doing it; collective then, two
    /// exchanges.
    pub fn reaches_private(&self) -> Result<bool, Error> {
        if let Some(reaches) = self.reaches_private.get() {
            return Ok(*reaches);
        }
        // Any number that other processes do not have by chance.
        let token =
            u64::from(std::process::id()) << 32 ^ (&raw const TOKEN as u64) ^ job::start_time(std::process::id()).unwrap_or(0);
        TOKEN.store(token, Relaxed);
        let all = self.exchange(&[token, TOKEN.as_ptr() as u64, ECHO.as_ptr() as u64])?;
        let others = (0..self.size()).filter(|rank| *rank != self.rank);
        let refused =
            others.map(|rank| (rank, try_private(self.pid(rank), &all[rank as usize]))).find(|(_, tried)| tried.is_err());
        if let Some((rank, Err(error))) = &refused {
            verbose(format_args!("the private memory of rank {rank} cannot be reached: {error}"));
        }
        let verdicts = self.exchange(&u64::from(refused.is_none()))?;
        let reaches = verdicts.iter().all(|verdict| *verdict != 0);
        Ok(*self.reaches_private.get_or_init(|| reaches))
    }

    /// A wait that ends when a rank of the team dies; an error at once where one is known to be dead.
    pub fn waiter(&self) -> Result<Waiter<'_>, Error> {
        check_alive(&self.processes)?;
        Ok(Waiter::new(&self.processes))
    }

    /// Every rank's `mine`, in rank order. Collective; one barrier.
    ///
    /// Two banks of slots take turns, so that one barrier is enough: a rank that is fast writes into the other bank in the next exchange, and
    /// comes back to this one only behind that exchange's barrier, which every rank enters after it has read this bank.
    pub fn exchange<T: Plain>(&self, mine: &T) -> Result<Vec<T>, Error> {
        const { assert!(size_of::<T>() <= SLOT) };
        let mut waiter = self.waiter()?;
        let mut turn = lock(&self.turn);
        let bank = turn.exchanges as usize % 2;
        turn.exchanges = turn.exchanges.wrapping_add(1);
        // SAFETY: the own slot of this bank: no other rank writes it, and none reads it before the barrier.
        unsafe { ptr::copy_nonoverlapping(ptr::from_ref(mine), self.slot(bank, self.rank).cast::<T>(), 1) };
        // SAFETY: mapped as long as the team lives.
        let board = unsafe { &*self.board };
        board.barrier.wait(&turn.member, &mut waiter)?;
        if self.rank != 0 {
            board.left.fetch_add(1, Release);
        }
        Ok((0..self.size())
            .map(|rank| {
                let mut theirs = MaybeUninit::<T>::uninit();
                // SAFETY: written by its rank before the barrier and left alone until the one after the next; any bytes are a `T`.
                unsafe {
                    ptr::copy_nonoverlapping(self.slot(bank, rank).cast::<T>(), theirs.as_mut_ptr(), 1);
                    theirs.assume_init()
                }
            })
            .collect())
    }

    fn slot(&self, bank: usize, rank: u32) -> *mut u8 {
        let index = bank * self.size() as usize + rank as usize;
        // SAFETY: inside the board's block, which has two slots a rank behind the barrier.
        unsafe { self.board.cast::<u8>().cast_mut().add(size_of::<Board>() + index * SLOT) }
    }
}
