//! Post, start, complete and wait: this rank's counts (MPI-4.1, section 12.5.2). What ranks tell each other of it are the words in
//! [`crate::node::words::pscw`].

use super::Window;
use super::epoch::{Epochs, Held};
use crate::base::error::{Class, Error};
use crate::base::threads::lock;
use core::ffi::c_int;
use std::sync::{Mutex, MutexGuard};

/// All counts wrap around.
#[derive(Default)]
pub struct State {
    /// Epochs with each rank as target that are used up.
    used: Vec<u32>,
    /// Targets of the open access epoch.
    targets: Vec<u32>,
    /// Completions due since the window was made, those of the open exposure epoch included.
    due: u32,
    /// Is an exposure epoch open?
    exposed: bool,
}

/// The state of a window; empty until it is first used.
#[derive(Default)]
pub struct Active(Mutex<State>);

impl Active {
    /// For a look or a change; never held while something is waited for.
    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

impl State {
    /// Opens an exposure epoch to so many origins.
    pub fn expose(&mut self, origins: usize) -> Result<(), Error> {
        if self.exposed {
            return Err(Error::text(Class::RmaSync, "post inside an epoch that post has opened"));
        }
        self.exposed = true;
        self.due = self.due.wrapping_add(origins as u32);
        Ok(())
    }

    /// The total of completions that ends the open exposure epoch.
    pub fn due(&self) -> Result<u32, Error> {
        if self.exposed { Ok(self.due) } else { Err(Error::text(Class::RmaSync, "wait or test without post")) }
    }

    /// The exposure epoch has ended.
    pub fn covered(&mut self) {
        self.exposed = false;
    }

    /// Is an exposure epoch open?
    pub fn is_exposed(&self) -> bool {
        self.exposed
    }

    /// Opens an access epoch.
    pub fn access(&mut self, targets: Vec<u32>) {
        self.targets = targets;
    }

    /// The targets of the open access epoch.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// How many epochs with this target are used up.
    fn used(&mut self, target: u32) -> &mut u32 {
        let index = target as usize;
        if self.used.len() <= index {
            self.used.resize(index + 1, 0);
        }
        &mut self.used[index]
    }
}

impl Window {
    /// May an operation name this target (a rank of the window) now? Waits for its post where the open epoch needs that.
    #[inline]
    pub fn covers(&self, target: c_int) -> Result<(), Error> {
        if self.epochs.covers(target) {
            return Ok(());
        }
        match self.epochs.held(target) {
            Held::Started => self.await_post(target as u32),
            _ => Err(Epochs::uncovered(target)),
        }
    }

    /// Waits for the post of a target of the open access epoch.
    #[cold]
    pub fn await_post(&self, target: u32) -> Result<(), Error> {
        let used = *self.active.state().used(target);
        let own = self.team().rank();
        self.post_slot(own, target).wait(used, self.post_sleepers(own), &mut self.waiter()?)?;
        let mut state = self.active.state();
        // Another thread may have come first.
        if self.epochs.held(target as c_int) == Held::Started {
            let used = state.used(target);
            *used = used.wrapping_add(1);
            self.epochs.posted(target as c_int);
        }
        Ok(())
    }
}
