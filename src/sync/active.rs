//! Post, start, complete, wait and test (MPI-4.1, section 12.5.2). Each pair of ranks counts its posts, each rank the completions at it, so
//! that nothing is ever set back and no rank answers another.
//!
//! The assertions promise what would only be found to be so: with `MPI_MODE_NOCHECK` the posts are there already.

use super::check_assertions;
use crate::base::error::{Class, Error};
use crate::host::abi::MPI_Group;
use crate::node::words::pscw::post as post_to;
use crate::window::Window;
use crate::window::epoch::Held;
use core::ffi::c_int;

/// Opens an exposure epoch to the ranks of a group. Cost: one store an origin.
pub fn post(window: &Window, group: MPI_Group, assertions: c_int) -> Result<(), Error> {
    check_assertions(assertions)?;
    let origins = window.team().group().ranks_of(group)?;
    window.active.state().expose(origins.len())?;
    let own = window.team().rank();
    post_to(origins.iter().map(|origin| (window.post_slot(*origin, own), window.post_sleepers(*origin))));
    Ok(())
}

/// Opens an access epoch to the ranks of a group. Returns at once: the first operation on a target waits for its post.
pub fn start(window: &Window, group: MPI_Group, assertions: c_int) -> Result<(), Error> {
    check_assertions(assertions)?;
    window.epochs.may_start()?;
    let targets = window.team().group().ranks_of(group)?;
    window.epochs.started(&targets);
    window.active.state().access(targets);
    Ok(())
}

/// Ends the access epoch: all its operations are complete at their targets, which are told.
pub fn complete(window: &Window) -> Result<(), Error> {
    if !window.epochs.is_started() {
        return Err(Error::text(Class::RmaSync, "complete without start"));
    }
    let targets = window.active.state().targets().to_vec();
    // Where nothing was done the post is waited for all the same: a completion that comes before its post would be taken for one of the
    // exposure epoch before.
    for target in &targets {
        if window.epochs.held(*target as c_int) == Held::Started {
            window.await_post(*target)?;
        }
    }
    window.complete_operations();
    window.epochs.completed(&targets);
    targets.iter().for_each(|target| window.completions(*target).complete());
    Ok(())
}

/// Ends the exposure epoch, when all its origins have completed.
pub fn wait(window: &Window) -> Result<(), Error> {
    let due = window.active.state().due()?;
    window.completions(window.team().rank()).wait(due, &mut window.waiter()?)?;
    window.active.state().covered();
    Ok(())
}

/// Ends the exposure epoch if all its origins have completed: whether they have. Turns the host's progress where they have not, since a program
/// may do nothing else.
pub fn test(window: &Window) -> Result<bool, Error> {
    let due = window.active.state().due()?;
    if window.completions(window.team().rank()).have_completed(due) {
        window.active.state().covered();
        return Ok(true);
    }
    window.waiter()?.turn()?;
    Ok(false)
}
