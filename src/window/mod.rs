//! A window's life: creation, flavours, handles, peers, the state of epochs, attributes, names, hints, error handlers.

pub mod active;
pub mod attributes;
mod control;
pub mod create;
pub mod epoch;
pub mod errhandler;
pub mod handle;
pub mod hints;
pub mod keyval;
mod name;

use crate::base::error::{Class, Error, What};
use crate::base::stats::Tallies;
use crate::base::threads::{self, lock};
use crate::host::abi::MPI_Info;
use crate::host::wait::Waiter;
use crate::node::memory::{Block, Mapping};
use crate::node::team::{Membership, Team};
use crate::node::words::exclusion::{Bulk, ElementAccess, Origin, StripeSet};
use crate::node::words::pscw::{CompletionWords, PostSleepers, PostSlot};
use crate::node::words::{BarrierMember, LockWords, wait_unannounced};
use control::Control;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{Ordering::Release, Ordering::SeqCst, fence};
use epoch::Epochs;
use errhandler::Handler;
use std::sync::{Arc, Mutex};

/// How a window was made (`MPI_WIN_CREATE_FLAVOR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// `MPI_Win_create`.
    Create,
    /// `MPI_Win_allocate`.
    Allocate,
    /// `MPI_Win_allocate_shared`.
    Shared,
}

/// A rank of the window as an origin sees it: 32 bytes, two to a cache line, all that a put or get reads of its target.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Where the target's memory is mapped here.
    pub base: *mut u8,
    /// Bytes that are mapped here: all, or none where the target's memory is private (see [`Window::reach`]).
    pub size: u64,
    /// Its displacement unit in bytes.
    pub unit: u64,
    control: *const Control,
}

impl Peer {
    /// The lock that guards this rank's memory.
    #[inline]
    pub fn lock(&self) -> &LockWords {
        // SAFETY: the control block is mapped as long as the window lives, and only atomics touch it.
        unsafe { &(*self.control).lock }
    }
}

/// The program's own memory behind a window, private to its process.
#[derive(Clone, Copy, Debug)]
struct Private {
    /// In the process that has it.
    address: u64,
    size: u64,
}

/// How bytes of a target are reached.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Mapped at this address.
    Direct(*mut u8),
    /// Private to another process, at this address there.
    Cross {
        /// The process.
        pid: u32,
        /// The address in it.
        address: u64,
    },
}

/// A window of Transom's own.
pub struct Window {
    peers: Box<[Peer]>,
    /// By rank, where any rank's memory is private; else empty.
    private: Box<[Option<Private>]>,
    /// State of this rank's access epochs.
    pub epochs: Epochs,
    /// State of post, start, complete and wait.
    pub active: active::Active,
    /// Operations of this rank.
    pub tallies: Tallies,
    membership: Arc<Membership>,
    fence: Mutex<BarrierMember>,
    predefined: attributes::Predefined,
    cached: Mutex<attributes::Cached>,
    name: Mutex<name::Name>,
    hints: Mutex<hints::Hints>,
    handler: Mutex<Handler>,
    /// Freed with the window, after the last mapping of them here is of no more use.
    _memory: Option<Block>,
    _control: Block,
    _mappings: Vec<Arc<Mapping>>,
}

// SAFETY: the raw pointers lead into shared memory that lives as long as the window; what threads change goes through atomics or mutexes.
unsafe impl Send for Window {}
// SAFETY: as for `Send`.
unsafe impl Sync for Window {}

impl Window {
    /// Number of ranks.
    #[inline]
    pub fn ranks(&self) -> u32 {
        self.peers.len() as u32
    }

    /// A rank of the window's group; `None` outside of it.
    #[inline]
    pub fn peer(&self, rank: c_int) -> Option<&Peer> {
        self.peers.get(rank as usize)
    }

    /// As [`Window::peer`], with the error that names the rank.
    pub fn target(&self, rank: c_int) -> Result<&Peer, Error> {
        self.peer(rank).ok_or(Error { class: Class::Rank, what: What::Rank { rank, ranks: self.ranks() } })
    }

    /// Size of a rank's memory in bytes.
    fn size(&self, rank: usize) -> u64 {
        match self.private.get(rank) {
            Some(Some(private)) => private.size,
            _ => self.peers[rank].size,
        }
    }

    /// Is the target's memory (a rank of the window) private to its process? Its accumulates then exclude each other by stripes, those of
    /// its own process too: what others do there is not atomic by itself.
    #[inline]
    pub fn is_private(&self, target: c_int) -> bool {
        matches!(self.private.get(target as usize), Some(Some(_)))
    }

    /// Where a displacement of a target lies; the error that names the bytes where those from `low` to `high` behind it are not all inside
    /// its window.
    pub fn reach(&self, rank: c_int, displacement: i64, low: i64, high: i64) -> Result<Place, Error> {
        let peer = self.target(rank)?;
        let size = self.size(rank as usize);
        let offset = i64::try_from(peer.unit).ok().and_then(|unit| displacement.checked_mul(unit));
        let inside = |offset: i64| {
            let (first, end) = (offset.checked_add(low)?, offset.checked_add(high)?);
            (first >= 0 && end as u64 <= size).then_some(offset)
        };
        let Some(offset) = offset.and_then(inside) else {
            let what = What::Range { rank, displacement, bytes: high.wrapping_sub(low) as u64, size, unit: peer.unit };
            return Err(Error { class: Class::RmaRange, what });
        };
        // The displacement itself may lie outside, where the datatype goes back from it or begins far behind it.
        Ok(match self.private.get(rank as usize) {
            Some(Some(private)) if rank as u32 != self.team().rank() => {
                Place::Cross { pid: self.team().pid(rank as u32), address: private.address.wrapping_add_signed(offset) }
            }
            _ => Place::Direct(peer.base.wrapping_offset(offset as isize)),
        })
    }

    /// All ranks in order.
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// The slot in which `target` counts its posts to `origin` (ranks of the window).
    pub fn post_slot(&self, origin: u32, target: u32) -> &PostSlot {
        // SAFETY: a block of this window, mapped as long as it lives, with a slot for each rank.
        unsafe { Control::slot(self.peers[origin as usize].control, target) }
    }

    fn control(&self, rank: u32) -> &Control {
        // SAFETY: mapped as long as the window lives, and only atomics touch it.
        unsafe { &*self.peers[rank as usize].control }
    }

    /// Threads of a rank that sleep over its slots.
    pub fn post_sleepers(&self, rank: u32) -> &PostSleepers {
        &self.control(rank).post_sleepers
    }

    /// Completions at a rank.
    pub fn completions(&self, rank: u32) -> &CompletionWords {
        &self.control(rank).completions
    }

    /// Announces accumulates of single elements on `bytes` bytes of a target, at this position in its window. Nothing that may wait is to be
    /// called while the result lives.
    pub fn announce(&self, target: c_int, position: u64, bytes: u64) -> Result<ElementAccess<'_>, Error> {
        if let Some(access) = self.try_announce(target, position, bytes) {
            return Ok(access);
        }
        let words = self.team().exclusion(target as u32);
        self.as_origin().enter(words, StripeSet::of(position, bytes), &mut self.waiter()?)
    }

    /// [`Window::announce`] where nobody has the elements in bulk.
    #[inline(always)]
    pub fn try_announce(&self, target: c_int, position: u64, bytes: u64) -> Option<ElementAccess<'_>> {
        self.as_origin().try_enter(self.team().exclusion(target as u32), StripeSet::of(position, bytes))
    }

    #[inline]
    fn as_origin(&self) -> Origin<'_> {
        let team = self.team();
        Origin::new(team.exclusion(team.rank()), threads::are_concurrent())
    }

    /// Takes `bytes` bytes of a target for this thread alone: against others that do the same, and, where `elements` says that these may be,
    /// against accumulates of single elements. Nothing that may wait is to be called while the result lives.
    pub fn exclude(&self, target: c_int, position: u64, bytes: u64, elements: bool) -> Result<Bulk<'_>, Error> {
        let team = self.team();
        let origins = (0..if elements { team.size() } else { 0 }).map(|rank| team.exclusion(rank).announcement());
        team.exclusion(target as u32).lock(StripeSet::of(position, bytes), origins, &mut self.waiter()?)
    }

    /// The ranks that share the window.
    pub fn team(&self) -> &Team {
        match &*self.membership {
            Membership::Team(team) => team,
            Membership::Declined(_) => unreachable!("a window is only made on a team"),
        }
    }

    /// A wait that ends when a rank of the window dies; an error at once where one is known to be dead.
    pub fn waiter(&self) -> Result<Waiter<'_>, Error> {
        self.team().waiter()
    }

    /// Meets all ranks of the window; what each of them has written before is visible to all after.
    pub fn barrier(&self) -> Result<(), Error> {
        let mut waiter = self.waiter()?;
        let member = lock(&self.fence);
        // SAFETY: rank 0's control block is mapped as long as the window lives.
        let barrier = unsafe { &(*self.peers[0].control).fence };
        barrier.wait(&member, &mut waiter)
    }

    /// The last meeting. Rank 0 owns the words that all meet at, so it stays until everybody has looked at them for the last time:
    ///
    /// ```text
    /// rank 0: free: arrives, leaves, frees its block   create: gets the block again, arrived = 0
    /// rank 1: free: arrives                                  ... polls: 0, for ever
    /// ```
    fn last_barrier(&self) -> Result<(), Error> {
        self.barrier()?;
        // SAFETY: rank 0's control block is mapped as long as the window lives.
        let left = unsafe { &(*self.peers[0].control).left };
        if self.team().rank() != 0 {
            left.fetch_add(1, Release);
            return Ok(());
        }
        let others = self.ranks() - 1;
        wait_unannounced(left, &mut self.waiter()?, |seen| seen == others)
    }

    /// May the window be freed now?
    pub fn may_free(&self) -> Result<(), Error> {
        if self.epochs.is_passive() {
            return Err(Error::text(Class::RmaSync, "the window is freed inside a lock epoch"));
        }
        if self.epochs.is_started() || self.active.state().is_exposed() {
            return Err(Error::text(Class::RmaSync, "the window is freed inside an epoch of post or start"));
        }
        Ok(())
    }

    /// Completes this rank's operations at every target: they were stores and copies, so what is left is their way out of the store buffer.
    #[inline]
    pub fn complete_operations(&self) {
        // Put x, flush, get y on one rank; put y, flush, get x on another: not both may read old values.
        fence(SeqCst);
    }

    /// The error handler of the window.
    pub fn handler(&self) -> Handler {
        lock(&self.handler).clone()
    }

    /// Replaces the error handler.
    pub fn set_handler(&self, handler: Handler) {
        // The end of the one before may call the host: not under the lock.
        let _before = core::mem::replace(&mut *lock(&self.handler), handler);
    }

    /// Hints with the values in use (`MPI_Win_get_info`).
    pub fn hints(&self) -> hints::Hints {
        lock(&self.hints).clone()
    }

    /// Takes over what may be changed after creation (`MPI_Win_set_info`).
    pub fn update_hints(&self, info: MPI_Info) {
        // Read before the lock is taken: the host is asked.
        let mut hints = self.hints();
        hints.update(info);
        *lock(&self.hints) = hints;
    }

    /// Base address, size and displacement unit for `MPI_Win_shared_query`. `None` asks for the first rank with memory.
    pub fn shared_query(&self, rank: Option<c_int>) -> Result<(*mut c_void, u64, u64), Error> {
        let peer = match rank {
            Some(rank) => Some(self.target(rank)?),
            None => self.peers.iter().find(|peer| peer.size > 0),
        };
        Ok(peer.map_or((core::ptr::null_mut(), 0, 1), |peer| (peer.base.cast(), peer.size, peer.unit)))
    }
}

/// Ends a window (`MPI_Win_free`) that [may be freed](Window::may_free) and has no attributes left: collective; when it returns, no rank uses the memory any more. The window is gone even if a rank has
/// died, which the error then tells.
///
/// # Safety
/// `handle` is a live window's, and no other thread is in a call on it.
pub unsafe fn free(handle: crate::host::abi::MPI_Win) -> Result<(), Error> {
    // SAFETY: live, as the caller vouches.
    let Some(window) = (unsafe { handle::find(handle) }) else {
        return Err(Error::text(Class::Win, "the window is freed already, or null"));
    };
    window.complete_operations();
    let met = window.last_barrier();
    window.tallies.fold();
    // SAFETY: as above; nothing refers to the window behind this.
    let window = unsafe { handle::remove(handle) };
    if met.is_err() {
        // The ranks that live have not met, so any of them may yet write to the window or wait at its words: none of that may become another
        // window's.
        core::mem::forget(window);
    }
    met
}
