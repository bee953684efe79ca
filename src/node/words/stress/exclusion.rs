//! Element operations and bulks.

use super::{AtPause, LIMIT, Sleep, between_processes};
use crate::node::words::atomic::{AtomicU32, Ordering};
use crate::node::words::exclusion::{Announcement, ExclusionWords, Origin, StripeSet};
use crate::node::words::{Wait, wake};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64};
use proptest::prelude::*;
use std::thread;
use std::time::{Duration, Instant};

const STRIPE: u64 = 1 << 16;

fn announcements(processes: &[ExclusionWords]) -> impl Iterator<Item = &Announcement> {
    processes.iter().map(ExclusionWords::announcement)
}

fn assert_untouched(words: &ExclusionWords) {
    assert_eq!(words.left_behind(), 0, "left behind in {words:?}");
}

/// Cells that both kinds add to. A bulk reads all and then writes all, so every addition that gets in between is lost.
struct Cells([AtomicU64; Cells::COUNT]);

impl Cells {
    const COUNT: usize = 64;
    const KINDS: usize = 16;

    const fn new() -> Self {
        Cells([const { AtomicU64::new(0) }; Cells::COUNT])
    }

    fn add_to_all(&self) {
        let before = self.0.each_ref().map(|cell| cell.load(Ordering::Relaxed));
        self.0.iter().zip(before).for_each(|(cell, before)| cell.store(before + 1, Ordering::Relaxed));
    }

    fn add_to_kind(&self, kind: usize) {
        for cell in self.0.iter().skip(kind).step_by(Cells::KINDS) {
            cell.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn is_bulk(round: usize) -> bool {
    round.is_multiple_of(8)
}

/// One thread's share of the work on `cells`.
fn mix(cells: &Cells, processes: &[ExclusionWords], me: usize, several_threads: bool, rounds: usize) -> Result<(), &'static str> {
    let (target, origin) = (&processes[0], Origin::new(&processes[me], several_threads));
    let (low, both) = (StripeSet::of(0, 8), StripeSet::of(STRIPE - 64, 128));
    for round in 0..rounds {
        if is_bulk(round) {
            let _bulk = target.lock(both, announcements(processes), &mut Sleep::new())?;
            cells.add_to_all();
        } else {
            let stripes = if round % 2 == 0 { low } else { both };
            let _access = origin.enter(target, stripes, &mut Sleep::new())?;
            cells.add_to_kind(round % Cells::KINDS);
        }
    }
    Ok(())
}

fn assert_sums(cells: &Cells, processes: &[ExclusionWords], workers: usize, rounds: usize) {
    for (at, cell) in cells.0.iter().enumerate() {
        let additions = (0..rounds).filter(|round| is_bulk(*round) || round % Cells::KINDS == at % Cells::KINDS).count();
        assert_eq!(cell.load(Ordering::Relaxed), (workers * additions) as u64, "cell {at}");
    }
    processes.iter().for_each(assert_untouched);
}

fn mix_on_threads<const PROCESSES: usize>(threads: usize, rounds: usize) {
    let (cells, processes) = (Cells::new(), [const { ExclusionWords::new() }; PROCESSES]);
    thread::scope(|scope| {
        for me in 0..PROCESSES {
            for _ in 0..threads {
                let (cells, processes) = (&cells, &processes);
                scope.spawn(move || mix(cells, processes, me, threads > 1, rounds).unwrap());
            }
        }
    });
    assert_sums(&cells, &processes, PROCESSES * threads, rounds);
}

#[test]
fn two_origins_lose_no_update() {
    mix_on_threads::<2>(1, 40_000);
}

#[test]
fn eight_origins_lose_no_update() {
    mix_on_threads::<8>(1, 10_000);
}

#[test]
fn origins_of_several_threads_lose_no_update() {
    mix_on_threads::<2>(4, 10_000);
}

#[test]
fn processes_lose_no_update() {
    struct Shared {
        processes: [ExclusionWords; 4],
        next: AtomicU32,
        cells: Cells,
    }
    const ROUNDS: usize = 5_000;
    let work = |shared: &Shared| {
        let me = shared.next.fetch_add(1, Ordering::Relaxed) as usize;
        mix(&shared.cells, &shared.processes, me, false, ROUNDS)
    };
    // SAFETY: words, whose start state is zeros.
    unsafe { between_processes(3, work, |shared| assert_sums(&shared.cells, &shared.processes, 4, ROUNDS)) };
}

/// Bulks on any sets of stripes, in no agreed order of ranges: no two on a stripe, and no circle of waiting.
#[test]
fn bulks_on_overlapping_ranges_exclude_each_other() {
    const STRIPES: usize = 12;
    struct Data([UnsafeCell<u64>; STRIPES]);
    // SAFETY: reached under the stripes only.
    unsafe impl Sync for Data {}
    let (data, target) = (Data([const { UnsafeCell::new(0) }; STRIPES]), ExclusionWords::new());
    let added = AtomicU64::new(0);
    thread::scope(|scope| {
        for me in 0..8_u64 {
            let (data, target, added) = (&data, &target, &added);
            scope.spawn(move || {
                let mut random = me + 1;
                for _ in 0..5_000 {
                    // xorshift
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let (first, last) = (random % STRIPES as u64, (random >> 20) % STRIPES as u64);
                    let touched = first.min(last)..=first.max(last);
                    let stripes = StripeSet::of(touched.start() * STRIPE, (touched.end() - touched.start()) * STRIPE + 1);
                    let _bulk = target.lock(stripes, [], &mut Sleep::new()).unwrap();
                    for stripe in touched {
                        // SAFETY: the stripe is held.
                        unsafe { *data.0[stripe as usize].get() += 1 };
                        added.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    // SAFETY: the threads are gone.
    let sum: u64 = data.0.iter().map(|cell| unsafe { *cell.get() }).sum();
    assert_eq!(sum, added.into_inner());
    assert_untouched(&target);
}

/// Each meets the others while it holds its stripes.
#[test]
fn bulks_on_disjoint_ranges_go_in_parallel() {
    const ORIGINS: u64 = 8;
    let processes = [const { ExclusionWords::new() }; ORIGINS as usize];
    let inside = AtomicU64::new(0);
    thread::scope(|scope| {
        for me in 0..ORIGINS {
            let (processes, inside) = (&processes, &inside);
            scope.spawn(move || {
                // Parts of 4 MiB, as ranks divide a window among themselves.
                let stripes = StripeSet::of(me << 22, 4 * STRIPE);
                let _bulk = processes[0].lock(stripes, announcements(processes), &mut Sleep::new()).unwrap();
                inside.fetch_add(1, Ordering::Relaxed);
                let begun = Instant::now();
                while inside.load(Ordering::Relaxed) < ORIGINS {
                    assert!(begun.elapsed() < LIMIT / 4, "one waits for another's stripe");
                    thread::yield_now();
                }
            });
        }
    });
    processes.iter().for_each(assert_untouched);
}

#[test]
fn element_operations_go_in_parallel() {
    let processes = [const { ExclusionWords::new() }; 3];
    let stripes = StripeSet::of(0, 8);
    let accesses = processes.each_ref().map(|process| Origin::new(process, false).try_enter(&processes[0], stripes).unwrap());
    drop(accesses);
    processes.iter().for_each(assert_untouched);
}

#[test]
fn attempts_are_refused_while_a_bulk_is_inside() {
    for several_threads in [false, true] {
        let processes = [const { ExclusionWords::new() }; 2];
        let origin = Origin::new(&processes[1], several_threads);
        let bulk = processes[0].lock(StripeSet::of(0, 8), announcements(&processes), &mut Sleep::new()).unwrap();
        assert!(origin.try_enter(&processes[0], StripeSet::of(0, 8)).is_none());
        assert!(origin.try_enter(&processes[0], StripeSet::of(STRIPE - 1, 2)).is_none());
        assert!(origin.try_enter(&processes[0], StripeSet::of(STRIPE, 8)).is_some());
        assert!(origin.try_enter(&processes[1], StripeSet::of(0, 8)).is_some(), "another target's stripe");
        drop(bulk);
        assert!(origin.try_enter(&processes[0], StripeSet::of(0, 8)).is_some());
        processes.iter().for_each(assert_untouched);
    }
}

/// Nothing is announced while an element operation waits, else the bulk that it waits for would wait for it.
#[test]
fn waiting_element_operation_announces_nothing() {
    for several_threads in [false, true] {
        let processes = [const { ExclusionWords::new() }; 2];
        let stripes = StripeSet::of(0, 8);
        let mut bulk = Some(processes[0].lock(stripes, announcements(&processes), &mut Sleep::new()).unwrap());
        let mut pauses = 0;
        let mut bulk_goes = AtPause(|_| {
            assert_eq!(processes[1].announced().load(Ordering::Relaxed), 0);
            pauses += 1;
            if pauses == 10 {
                bulk = None;
            }
            if pauses < 20 { Ok(()) } else { Err("refused though the stripe is free") }
        });
        drop(Origin::new(&processes[1], several_threads).enter(&processes[0], stripes, &mut bulk_goes).unwrap());
        assert_eq!(pauses, 10);
        processes.iter().for_each(assert_untouched);
    }
}

/// Whether pauses hold something or not, in order, until the last of them ends the wait.
#[derive(Default)]
struct Pauses(Vec<&'static str>);

impl Wait for Pauses {
    type Error = &'static str;

    fn spins(&self) -> u32 {
        0
    }

    fn pause(&mut self, _word: &AtomicU32, _seen: u32) -> Result<(), Self::Error> {
        self.0.push("free");
        Err("died")
    }

    fn pause_holding(&mut self, _word: &AtomicU32, _seen: u32) -> Result<(), Self::Error> {
        self.0.push("holding");
        Err("died")
    }
}

/// A caller that holds a stripe runs nothing else while it waits; one that holds nothing may. Whoever gives up leaves nothing
/// behind.
#[test]
fn only_a_first_stripe_is_waited_for_with_progress() {
    let processes = [const { ExclusionWords::new() }; 2];
    let target = &processes[0];
    let all = || announcements(&processes);
    let [low, high] = [0, 1].map(|at| StripeSet::of(at * STRIPE, 8));
    let waits_for = |stripes| {
        let mut pauses = Pauses::default();
        assert_eq!(target.lock(stripes, all(), &mut pauses).err(), Some("died"));
        pauses.0
    };
    let bulk = target.lock(low, all(), &mut Sleep::new()).unwrap();
    assert_eq!(waits_for(low.union(high)), ["free"]);
    let mut pauses = Pauses::default();
    assert_eq!(Origin::new(&processes[1], false).enter(target, low, &mut pauses).err(), Some("died"));
    assert_eq!(pauses.0, ["free"]);
    drop(bulk);
    processes.iter().for_each(assert_untouched);

    let bulk = target.lock(high, all(), &mut Sleep::new()).unwrap();
    assert_eq!(waits_for(low.union(high)), ["holding"]);
    drop(bulk);
    processes.iter().for_each(assert_untouched);

    let access = Origin::new(&processes[1], false).try_enter(target, low).unwrap();
    assert_eq!(waits_for(low), ["holding"]);
    drop(access);
    processes.iter().for_each(assert_untouched);
}

/// Threads of an origin that overlap for ever, on another target: its count is never 0, until a bulk asks them to drain.
#[test]
fn bulk_gets_past_an_origin_whose_threads_overlap() {
    let processes = [const { ExclusionWords::new() }; 2];
    let origin = Origin::new(&processes[1], true);
    let elsewhere = || origin.try_enter(&processes[1], StripeSet::of(0, 8));
    let mut inside = elsewhere();
    let mut pauses = 0;
    let mut threads_go_on = AtPause(|announced| {
        assert_ne!(announced, 0);
        pauses += 1;
        // The next one comes before the last one goes.
        let next = elsewhere();
        inside = next;
        if pauses < 1_000 { Ok(()) } else { Err("never quiet") }
    });
    let bulk = processes[0].lock(StripeSet::of(0, 8), announcements(&processes), &mut threads_go_on).unwrap();
    assert!(pauses > 0);
    assert!(inside.is_none());
    assert!(elsewhere().is_some(), "the request to drain outlived the wait");
    drop(bulk);
    processes.iter().for_each(assert_untouched);
}

/// The same by threads, which storm until the bulks are through.
#[test]
fn bulks_get_past_a_storm_of_four_threads() {
    const BULKS: u32 = 300;
    let processes = [const { ExclusionWords::new() }; 2];
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let origin = Origin::new(&processes[1], true);
                while !stop.load(Ordering::Relaxed) {
                    let _access = origin.enter(&processes[1], StripeSet::of(0, 8), &mut Sleep::new()).unwrap();
                    core::hint::black_box(&processes);
                }
            });
        }
        let outcome = (0..BULKS)
            .try_for_each(|_| processes[0].lock(StripeSet::of(0, 8), announcements(&processes), &mut Sleep::new()).map(drop));
        stop.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
    processes.iter().for_each(assert_untouched);
}

/// Both kinds get in against a stream of bulks on the same stripe, though nobody keeps an order.
#[test]
fn stream_of_bulks_starves_nobody() {
    const ROUNDS: u32 = 100;
    let processes = [const { ExclusionWords::new() }; 4];
    let stripes = StripeSet::of(0, 8);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 1..processes.len() {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let _bulk = processes[0].lock(stripes, announcements(&processes), &mut Sleep::new()).unwrap();
                    for _ in 0..100 {
                        core::hint::spin_loop();
                    }
                }
            });
        }
        let origin = Origin::new(&processes[0], false);
        let outcome = (0..ROUNDS).try_for_each(|_| {
            drop(origin.enter(&processes[0], stripes, &mut Sleep::new())?);
            processes[0].lock(stripes, announcements(&processes), &mut Sleep::new()).map(drop)
        });
        stop.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
    processes.iter().for_each(assert_untouched);
}

#[test]
fn unlock_wakes_who_sleeps() {
    let processes = [const { ExclusionWords::new() }; 2];
    let stripes = StripeSet::of(0, 8);
    for bulk_sleeps in [true, false] {
        let bulk = processes[0].lock(stripes, announcements(&processes), &mut Sleep::new()).unwrap();
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let (mut wait, begun) = (Sleep::at_most(LIMIT / 2), Instant::now());
                if bulk_sleeps {
                    drop(processes[0].lock(stripes, announcements(&processes), &mut wait).unwrap());
                } else {
                    drop(Origin::new(&processes[1], false).enter(&processes[0], stripes, &mut wait).unwrap());
                }
                begun.elapsed()
            });
            thread::sleep(Duration::from_millis(100));
            drop(bulk);
            assert!(sleeper.join().unwrap() < LIMIT / 4, "slept on after the unlock");
        });
    }
    processes.iter().for_each(assert_untouched);
}

#[test]
fn reset_frees_whatever_was_left() {
    let words = ExclusionWords::new();
    let stripes = StripeSet::ALL;
    core::mem::forget(words.lock(stripes, [], &mut Sleep::new()).unwrap());
    core::mem::forget(Origin::new(&words, true).try_enter(&ExclusionWords::new(), stripes).unwrap());
    words.reset();
    assert_untouched(&words);
    drop(words.lock(stripes, [words.announcement()], &mut Pauses::default()).unwrap());
    // A wake-up without a sleeper is no harm, whatever is at the word now.
    wake(words.announced());
}

#[test]
fn stripes_of_a_range() {
    assert!(StripeSet::of(0, 0).is_empty());
    assert_eq!(StripeSet::of(0, 1), StripeSet::of(STRIPE - 1, 1));
    assert_eq!(StripeSet::of(STRIPE - 1, 2), StripeSet::of(0, 1).union(StripeSet::of(STRIPE, 1)));
    assert_eq!(StripeSet::of(64 * STRIPE, 64 * STRIPE), StripeSet::ALL);
    assert_eq!(StripeSet::of(5 * STRIPE + 1, 64 * STRIPE), StripeSet::ALL);
    assert_eq!(StripeSet::of(u64::MAX, 1).count(), 1);
    assert_eq!(StripeSet::of(0, u64::MAX), StripeSet::ALL);
    assert_eq!(StripeSet::ALL.count(), 64);
}

/// Two ranks that have halves of a window, 2 to 2³³ stripes each: the first 128 KiB of one meet none of the other's, and mostly
/// more do not.
#[test]
fn stripes_at_regular_distances_do_not_meet() {
    for shift in 17..=49 {
        let halves = [0, 1 << shift].map(|start| StripeSet::of(start, 2 * STRIPE));
        assert_eq!(halves[0].union(halves[1]).count(), 4, "at a distance of 2^{shift} bytes");
    }
}

proptest! {
    #[test]
    fn stripe_sets_hold_the_stripe_of_every_byte(position in 0..1_u64 << 40, size in 1..1_u64 << 23, within in 0.0..1.0) {
        let stripes = StripeSet::of(position, size);
        let byte = StripeSet::of(position + (within * size as f64) as u64, 1);
        prop_assert_eq!(stripes.union(byte), stripes);
        prop_assert_eq!(byte.count(), 1);
        let touched = (position + size - 1) / STRIPE - position / STRIPE + 1;
        prop_assert!(stripes.count() as u64 <= touched);
        prop_assert!(stripes.is_sorted(), "locked in ascending order");
    }
}
