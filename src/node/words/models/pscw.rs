//! Post, start, complete, wait.

use super::{Sleep, check};
use crate::node::words::atomic::{Weakened, plays, weaken, weaken_part};
use crate::node::words::pscw::{CompletionWords, PostSleepers, PostSlot, post};
use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;

/// What ranks share. In the models each has a part of its own, either target or origin.
struct Node {
    /// `slots[origin][target]`.
    slots: Vec<Vec<PostSlot>>,
    post_sleepers: Vec<PostSleepers>,
    completions: Vec<CompletionWords>,
    /// `memory[target][origin]`: written by the target outside its epochs, by the origin in them.
    memory: Vec<Vec<UnsafeCell<u32>>>,
}

impl Node {
    fn new(targets: usize, origins: usize) -> Node {
        Node {
            slots: (0..origins).map(|_| (0..targets).map(|_| PostSlot::new()).collect()).collect(),
            post_sleepers: (0..origins).map(|_| PostSleepers::new()).collect(),
            completions: (0..targets).map(|_| CompletionWords::new()).collect(),
            memory: (0..targets).map(|_| (0..origins).map(|_| UnsafeCell::new(0)).collect()).collect(),
        }
    }

    fn target(&self, me: usize, epochs: u32) {
        plays("target");
        let origins = self.slots.len();
        for epoch in 1..=epochs {
            for cell in &self.memory[me] {
                // SAFETY: no epoch is open; loom checks it.
                cell.with_mut(|cell| unsafe { *cell = 10 * epoch });
            }
            post(self.slots.iter().map(|slots| &slots[me]).zip(&self.post_sleepers));
            let Ok(()) = self.completions[me].wait(epoch * origins as u32, &mut Sleep);
            for cell in &self.memory[me] {
                // SAFETY: as above.
                cell.with(|cell| assert_eq!(unsafe { *cell }, 10 * epoch + 1));
            }
        }
    }

    fn origin(&self, me: usize, epochs: u32) {
        plays("origin");
        for used in 0..epochs {
            for (target, memory) in self.memory.iter().enumerate() {
                let Ok(()) = self.slots[me][target].wait(used, &self.post_sleepers[me], &mut Sleep);
                // SAFETY: the target's epoch is open, and each origin has its own cell; loom checks it.
                memory[me].with_mut(|cell| unsafe { *cell += 1 });
            }
            self.completions.iter().for_each(CompletionWords::complete);
        }
    }
}

fn epochs(targets: usize, origins: usize, epochs: u32, preemptions: Option<usize>) {
    check(preemptions, move || {
        let node = Arc::new(Node::new(targets, origins));
        let spawn = |part: fn(&Node, usize, u32), me| {
            let node = node.clone();
            thread::spawn(move || part(&node, me, epochs))
        };
        let mut others: Vec<_> = (1..targets).map(|me| spawn(Node::target, me)).collect();
        others.extend((0..origins).map(|me| spawn(Node::origin, me)));
        node.target(0, epochs);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

fn one_epoch() {
    epochs(1, 1, 1, None);
}

#[test]
fn loom_epoch_of_a_pair() {
    one_epoch();
}

#[test]
fn loom_epochs_of_a_pair() {
    epochs(1, 1, 3, Some(3));
}

#[test]
fn loom_epochs_of_two_origins() {
    epochs(1, 2, 2, Some(1));
}

#[test]
fn loom_epoch_of_two_origins() {
    epochs(1, 2, 1, Some(2));
}

#[test]
fn loom_epochs_of_two_targets() {
    epochs(2, 1, 2, Some(1));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_post_without_release_is_caught() {
    weaken_part("target", Weakened::Release, one_epoch);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_start_without_acquire_is_caught() {
    weaken_part("origin", Weakened::Acquire, one_epoch);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_complete_without_release_is_caught() {
    weaken_part("origin", Weakened::Release, one_epoch);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_wait_without_acquire_is_caught() {
    weaken_part("target", Weakened::Acquire, one_epoch);
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_post_or_wait_without_fences_loses_a_wake_up() {
    weaken_part("target", Weakened::Fences, one_epoch);
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_start_or_complete_without_fences_loses_a_wake_up() {
    weaken_part("origin", Weakened::Fences, one_epoch);
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_epochs_without_fences_are_caught() {
    weaken(Weakened::Fences, || epochs(1, 2, 1, Some(2)));
}
