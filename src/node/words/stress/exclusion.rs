//! Element operations and bulks.

use super::Sleep;
use crate::node::words::Announcement;
use crate::node::words::atomic::Ordering;
use crate::node::words::exclusion::{ExclusionWords, Origin, StripeSet};
use core::sync::atomic::AtomicU64;
use std::thread;

const STRIPE: u64 = 1 << 16;

fn announcements<const N: usize>(processes: &[ExclusionWords; N]) -> impl Iterator<Item = &Announcement> {
    processes.iter().map(ExclusionWords::announcement)
}

fn assert_untouched(words: &ExclusionWords) {
    assert_eq!(words.left_behind(), 0, "left behind in {words:?}");
}

/// `processes` processes of `threads` threads mix both kinds on the same cells. A bulk reads and writes in two steps, so every addition
/// that gets in between is lost.
fn mixed_on_the_same_cells<const PROCESSES: usize>(threads: usize, rounds: u64) {
    const CELLS: usize = 64;
    let processes = [const { ExclusionWords::new() }; PROCESSES];
    let cells = [const { AtomicU64::new(0) }; CELLS];
    let target = &processes[0];
    let (low, both) = (StripeSet::of(0, 8), StripeSet::of(STRIPE - 64, 128));
    thread::scope(|scope| {
        for process in &processes {
            for thread in 0..threads as u64 {
                let (processes, cells) = (&processes, &cells);
                scope.spawn(move || {
                    let origin = Origin::new(process, threads > 1);
                    for round in 0..rounds {
                        if (round + thread) % 8 == 0 {
                            let _bulk = target.lock(both, announcements(processes), &mut Sleep::new()).unwrap();
                            for cell in cells {
                                let before = cell.load(Ordering::Relaxed);
                                cell.store(before + 1, Ordering::Relaxed);
                            }
                        } else {
                            let stripes = if round % 2 == 0 { low } else { both };
                            let _access = origin.enter(target, stripes, &mut Sleep::new()).unwrap();
                            for cell in cells.iter().skip(round as usize % 16).step_by(16) {
                                cell.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
        }
    });
    let (mut bulks, mut element_operations) = (0, [0; 16]);
    for thread in 0..threads as u64 {
        for round in 0..rounds {
            if (round + thread) % 8 == 0 { bulks += 1 } else { element_operations[round as usize % 16] += 1 }
        }
    }
    for (at, cell) in cells.iter().enumerate() {
        let expected = PROCESSES as u64 * (bulks + element_operations[at % 16]);
        assert_eq!(cell.load(Ordering::Relaxed), expected, "cell {at}");
    }
    processes.iter().for_each(assert_untouched);
}

#[test]
fn two_origins_lose_no_update() {
    mixed_on_the_same_cells::<2>(1, 40_000);
}

#[test]
fn eight_origins_lose_no_update() {
    mixed_on_the_same_cells::<8>(1, 10_000);
}

#[test]
fn origins_of_several_threads_lose_no_update() {
    mixed_on_the_same_cells::<2>(4, 10_000);
}
