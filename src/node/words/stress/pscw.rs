//! Post, start, complete, wait.

use super::{AtPause, LIMIT, Sleep, between_processes};
use crate::node::words::atomic::{AtomicU32, Ordering};
use crate::node::words::pscw::{CompletionWords, PostSleepers, PostSlot, post};
use core::cell::UnsafeCell;
use std::thread;
use std::time::{Duration, Instant};

const MOST: usize = 8;

/// What ranks share, each a target and an origin.
struct Node {
    ranks: [Rank; MOST],
    next: AtomicU32,
}

struct Rank {
    /// By target.
    slots: [PostSlot; MOST],
    post_sleepers: PostSleepers,
    completions: CompletionWords,
    /// By origin: what it wrote last, without atomics.
    memory: [UnsafeCell<u64>; MOST],
}

// SAFETY: `memory` is reached by its rank between epochs and by the origin in them.
unsafe impl Sync for Node {}

impl Node {
    fn new() -> Self {
        let rank = || Rank {
            slots: [const { PostSlot::new() }; MOST],
            post_sleepers: PostSleepers::new(),
            completions: CompletionWords::new(),
            memory: [const { UnsafeCell::new(0) }; MOST],
        };
        Node { ranks: [(); MOST].map(|()| rank()), next: AtomicU32::new(0) }
    }
}

/// Whether `target` exposes an epoch to `origin` in a round: any pattern on which all agree; in every fourth round nobody does.
fn is_exposed(target: usize, origin: usize, round: u64) -> bool {
    round % 4 != 3 && (((target as u64 + 1) * 31) ^ ((origin as u64 + 1) * 17) ^ (round * 7)).count_ones().is_multiple_of(2)
}

/// Rank `me` of `ranks`, which meet nowhere but in their epochs.
fn take_part(node: &Node, me: usize, ranks: usize, rounds: u64) -> Result<(), &'static str> {
    let mine = &node.ranks[me];
    let (mut used, mut total) = ([0_u32; MOST], 0_u32);
    for round in 0..rounds {
        let origins = || (0..ranks).filter(|origin| is_exposed(me, *origin, round));
        let targets = || (0..ranks).filter(|target| is_exposed(*target, me, round));
        for origin in origins() {
            // SAFETY: no epoch is open to this origin.
            unsafe { *mine.memory[origin].get() = 10 * round };
        }
        post(origins().map(|origin| (&node.ranks[origin].slots[me], &node.ranks[origin].post_sleepers)));
        total = total.wrapping_add(origins().count() as u32);

        for target in targets() {
            let slot = &mine.slots[target];
            if round % 3 == 0 {
                while !slot.is_posted(used[target]) {
                    thread::yield_now();
                }
            }
            slot.wait(used[target], &mine.post_sleepers, &mut Sleep::new())?;
            used[target] = used[target].wrapping_add(1);
            // SAFETY: the target has posted.
            unsafe { *node.ranks[target].memory[me].get() += 1 };
        }
        targets().for_each(|target| node.ranks[target].completions.complete());

        if round % 3 == 1 {
            while !mine.completions.have_completed(total) {
                thread::yield_now();
            }
        }
        mine.completions.wait(total, &mut Sleep::new())?;
        for origin in origins() {
            // SAFETY: all origins have completed.
            if unsafe { *mine.memory[origin].get() } != 10 * round + 1 {
                return Err("the epoch ended before an origin was through, or began before the target was");
            }
        }
    }
    Ok(())
}

fn rounds_of(ranks: usize, rounds: u64) {
    let node = Node::new();
    thread::scope(|scope| {
        for me in 0..ranks {
            let node = &node;
            scope.spawn(move || take_part(node, me, ranks, rounds).unwrap());
        }
    });
    for Rank { post_sleepers: PostSleepers(posts), completions: CompletionWords { sleepers, .. }, .. } in &node.ranks {
        assert_eq!((posts.load(Ordering::Relaxed), sleepers.load(Ordering::Relaxed)), (0, 0), "sleepers left behind");
    }
}

#[test]
fn epochs_of_two_ranks() {
    rounds_of(2, 20_000);
}

#[test]
fn epochs_of_three_ranks() {
    rounds_of(3, 10_000);
}

#[test]
fn epochs_of_eight_ranks() {
    rounds_of(8, 2_000);
}

#[test]
fn epochs_between_processes() {
    const RANKS: usize = 4;
    let work = |node: &Node| {
        let me = node.next.fetch_add(1, Ordering::Relaxed) as usize;
        take_part(node, me, RANKS, 2_000)
    };
    // SAFETY: words and cells, whose start state is zeros.
    unsafe { between_processes(RANKS - 1, work, |_| ()) };
}

/// Case 34: neither side waits for anybody.
#[test]
fn empty_groups_wait_for_nobody() {
    let completions = CompletionWords::new();
    post([].into_iter());
    assert!(completions.have_completed(0));
    completions.wait(0, &mut AtPause(|_| Err("waited"))).unwrap();
}

/// Case 34: false, then true, then for the next epoch false again.
#[test]
fn test_of_an_epoch_says_when_all_have_completed() {
    let completions = CompletionWords::new();
    for epoch in 1..=3 {
        assert!(!completions.have_completed(2 * epoch));
        completions.complete();
        assert!(!completions.have_completed(2 * epoch));
        assert_eq!(completions.wait(2 * epoch, &mut AtPause(|_| Err("one is missing"))), Err("one is missing"));
        completions.complete();
        assert!(completions.have_completed(2 * epoch));
    }
    assert_eq!(completions.sleepers.load(Ordering::Relaxed), 0);
}

/// An origin whose target has posted again already has one epoch more, not two at once; one that went in without looking has used
/// its up.
#[test]
fn each_post_opens_one_epoch() {
    let (slot, sleepers) = (PostSlot::new(), PostSleepers::new());
    assert!(!slot.is_posted(0));
    post([(&slot, &sleepers)].into_iter());
    assert!(slot.is_posted(0));
    assert!(!slot.is_posted(1));
    assert_eq!(slot.wait(1, &sleepers, &mut AtPause(|_| Err("not yet"))), Err("not yet"));
    post([(&slot, &sleepers)].into_iter());
    assert!(slot.is_posted(1));
    assert_eq!(sleepers.0.load(Ordering::Relaxed), 0);
}

#[test]
fn counts_wrap_around() {
    let (slot, sleepers, completions) = (PostSlot::new(), PostSleepers::new(), CompletionWords::new());
    let start = u32::MAX - 2;
    slot.0.store(start, Ordering::Relaxed);
    completions.completed.store(start, Ordering::Relaxed);
    for epoch in 0..6 {
        let used = start.wrapping_add(epoch);
        assert!(!slot.is_posted(used));
        post([(&slot, &sleepers)].into_iter());
        assert!(slot.is_posted(used));
        assert!(!completions.have_completed(used.wrapping_add(1)));
        completions.complete();
        assert!(completions.have_completed(used.wrapping_add(1)));
    }
}

#[test]
fn post_and_complete_wake_who_sleeps() {
    let (slots, post_sleepers, completions) = ([PostSlot::new(), PostSlot::new()], PostSleepers::new(), CompletionWords::new());
    let asleep = |sleepers: &AtomicU32| {
        while sleepers.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(50));
    };
    let slept = |wait: &mut dyn FnMut(&mut Sleep) -> Result<(), &'static str>| {
        let begun = Instant::now();
        wait(&mut Sleep::at_most(LIMIT / 2)).unwrap();
        begun.elapsed()
    };
    thread::scope(|scope| {
        let origin = scope.spawn(|| slept(&mut |wait| slots[1].wait(0, &post_sleepers, wait)));
        asleep(&post_sleepers.0);
        // Another target's post is none of the origin's concern.
        post([(&slots[0], &post_sleepers)].into_iter());
        thread::sleep(Duration::from_millis(20));
        assert!(!origin.is_finished());
        post([(&slots[1], &post_sleepers)].into_iter());
        assert!(origin.join().unwrap() < LIMIT / 4, "slept on after the post");

        let target = scope.spawn(|| slept(&mut |wait| completions.wait(1, wait)));
        asleep(&completions.sleepers);
        completions.complete();
        assert!(target.join().unwrap() < LIMIT / 4, "slept on after the complete");
    });
}
