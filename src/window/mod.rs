//! A window's life: creation, flavours, handles, peers, the state of epochs, attributes, names, hints, error handlers.

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
use crate::base::threads::lock;
use crate::host::abi::MPI_Info;
use crate::host::wait::Waiter;
use crate::node::memory::{Block, Mapping};
use crate::node::team::{Membership, Team};
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
    /// Its size in bytes.
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

/// A window of Transom's own.
pub struct Window {
    peers: Box<[Peer]>,
    /// State of this rank's access epochs.
    pub epochs: Epochs,
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

    /// All ranks in order.
    pub fn peers(&self) -> &[Peer] {
        &self.peers
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
