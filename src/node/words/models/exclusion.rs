//! Element operations and bulks: two stripes, a few origins.

use super::{Sleep, Yield, check};
use crate::node::words::Wait;
use crate::node::words::atomic::{AtomicU32, Ordering, Weakened, plays, weaken, weaken_part};
use crate::node::words::exclusion::{ExclusionWords, Origin, StripeSet};
use core::convert::Infallible;
use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;

const STRIPE: u64 = 1 << 16;

/// Processes, the first of which is the target, and one element of it.
struct Node {
    processes: Vec<ExclusionWords>,
    several_threads: bool,
    /// Polls before the first pause.
    spins: u32,
    element: AtomicU32,
    /// Read by element operations, written by bulks: loom reports it if one of either is inside together.
    exclusion: UnsafeCell<()>,
}

/// Sleeps over what wakes its sleepers. The end of an announcement does not (the limit of a sleep ends it), so over that a bulk
/// yields.
struct Limited<'a>(&'a Node);

impl Wait for Limited<'_> {
    type Error = Infallible;

    fn spins(&self) -> u32 {
        self.0.spins
    }

    fn pause(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Infallible> {
        let announcements = self.0.processes.iter().any(|process| core::ptr::eq(word, process.announced()));
        if announcements { Yield.pause(word, seen) } else { Sleep.pause(word, seen) }
    }

    fn pause_holding(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Infallible> {
        self.pause(word, seen)
    }
}

impl Node {
    fn new(processes: usize, several_threads: bool) -> Arc<Node> {
        Node::that_spins(1, processes, several_threads)
    }

    fn that_spins(spins: u32, processes: usize, several_threads: bool) -> Arc<Node> {
        let processes = (0..processes).map(|_| ExclusionWords::new()).collect();
        let (element, exclusion) = (AtomicU32::new(0), UnsafeCell::new(()));
        Arc::new(Node { processes, several_threads, spins, element, exclusion })
    }

    /// One addition to the element as an operation of `process` that touches `stripes`.
    fn add(&self, process: usize, stripes: StripeSet) {
        plays("element");
        let Ok(access) =
            Origin::new(&self.processes[process], self.several_threads).enter(&self.processes[0], stripes, &mut Limited(self));
        self.exclusion.with(|_| self.element.fetch_add(1, Ordering::Relaxed));
        drop(access);
    }

    /// An operation that does nothing.
    fn enter_in_vain(&self, process: usize, stripes: StripeSet) {
        plays("element");
        let origin = Origin::new(&self.processes[process], self.several_threads);
        let Ok(_access) = origin.enter(&self.processes[0], stripes, &mut Limited(self));
        // Time for a bulk to lose its patience.
        thread::yield_now();
    }

    /// The same by a bulk, in two steps.
    fn add_in_bulk(&self, stripes: StripeSet) {
        plays("bulk");
        let origins = self.processes.iter().map(ExclusionWords::announcement);
        let Ok(bulk) = self.processes[0].lock(stripes, origins, &mut Limited(self));
        // Time for others to be refused, and to go to sleep.
        thread::yield_now();
        self.exclusion.with_mut(|_| {
            let before = self.element.load(Ordering::Relaxed);
            self.element.store(before + 1, Ordering::Relaxed);
        });
        plays("unlock");
        drop(bulk);
    }

    fn assert_sum(&self, expected: u32) {
        assert_eq!(self.element.load(Ordering::Relaxed), expected);
        for words in &self.processes {
            assert_eq!(words.left_behind(), 0, "left behind in {words:?}");
        }
    }
}

/// Runs `parts` on threads of their own, and the last of them on this one.
fn run<const N: usize>(node: &Arc<Node>, parts: [fn(&Node); N]) {
    let (last, others) = parts.split_last().expect("a part");
    let others: Vec<_> = others
        .iter()
        .map(|part| {
            let (node, part) = (node.clone(), *part);
            thread::spawn(move || part(&node))
        })
        .collect();
    last(node);
    others.into_iter().for_each(|other| other.join().unwrap());
}

fn low() -> StripeSet {
    StripeSet::of(0, 8)
}

fn high() -> StripeSet {
    StripeSet::of(STRIPE, 8)
}

fn both() -> StripeSet {
    StripeSet::of(STRIPE - 4, 8)
}

fn element_and_bulk(several_threads: bool) {
    check(None, move || {
        let node = Node::new(2, several_threads);
        run(&node, [|node| node.add(1, low()), |node| node.add_in_bulk(low())]);
        node.assert_sum(2);
    });
}

fn flagged_element_and_bulk() {
    element_and_bulk(false);
}

fn counted_element_and_bulk() {
    element_and_bulk(true);
}

fn two_bulks() {
    check(None, || {
        let node = Node::new(1, false);
        run(&node, [|node| node.add_in_bulk(low()); 2]);
        node.assert_sum(2);
    });
}

/// An origin that is busy on a stripe that the bulk does not touch: the bulk may ask it to drain, and has to let it in again.
fn busy_elsewhere_and_bulk() {
    check(None, || {
        let node = Node::that_spins(0, 2, true);
        let busy = |node: &Node| {
            node.enter_in_vain(1, high());
            node.enter_in_vain(1, high());
        };
        run(&node, [busy, |node| node.add_in_bulk(low())]);
        node.assert_sum(1);
    });
}

#[test]
fn loom_element_operation_and_bulk() {
    flagged_element_and_bulk();
}

#[test]
fn loom_counted_element_operation_and_bulk() {
    counted_element_and_bulk();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_element_operation_without_fence_is_caught() {
    weaken_part("element", Weakened::Fences, flagged_element_and_bulk);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_counted_element_operation_without_fence_is_caught() {
    weaken_part("element", Weakened::Fences, counted_element_and_bulk);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_bulk_without_fence_is_caught() {
    weaken_part("bulk", Weakened::Fences, flagged_element_and_bulk);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_end_of_element_operation_without_release_is_caught() {
    weaken_part("element", Weakened::Release, flagged_element_and_bulk);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_end_of_counted_element_operation_without_release_is_caught() {
    weaken_part("element", Weakened::Release, counted_element_and_bulk);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_look_at_a_stripe_without_acquire_is_caught() {
    weaken_part("element", Weakened::Acquire, flagged_element_and_bulk);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_look_at_an_announcement_without_acquire_is_caught() {
    weaken_part("bulk", Weakened::Acquire, flagged_element_and_bulk);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn loom_unlock_of_a_stripe_without_release_is_caught() {
    weaken_part("unlock", Weakened::Release, flagged_element_and_bulk);
}

/// The bulk may see the withdrawal where it would have seen the end of the operation before.
#[test]
#[should_panic(expected = "Causality violation")]
fn loom_withdrawal_without_release_is_caught() {
    check(None, || {
        let node = Node::new(2, false);
        let then_withdraws = |node: &Node| {
            node.add(1, low());
            node.processes[1].announced().swap(1, Ordering::Relaxed);
            node.processes[1].announced().store(0, Ordering::Relaxed);
        };
        run(&node, [then_withdraws, |node| node.add_in_bulk(low())]);
    });
}

#[test]
fn loom_element_operations_in_a_row_and_bulk() {
    check(Some(6), || {
        let node = Node::new(2, false);
        let in_a_row = |node: &Node| {
            node.add(1, low());
            node.add(1, low());
        };
        run(&node, [in_a_row, |node| node.add_in_bulk(low())]);
        node.assert_sum(3);
    });
}

#[test]
fn loom_two_bulks_on_a_stripe() {
    two_bulks();
}

/// The fence is what makes the second see the work of the first.
#[test]
#[should_panic(expected = "Causality violation")]
fn loom_lock_of_a_stripe_without_fence_is_caught() {
    weaken_part("bulk", Weakened::Fences, two_bulks);
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_unlock_of_a_stripe_without_fence_loses_a_wake_up() {
    weaken_part("unlock", Weakened::Fences, two_bulks);
}

#[test]
fn loom_two_bulks_on_two_stripes() {
    check(None, || {
        let node = Node::new(1, false);
        run(&node, [|node| node.add_in_bulk(both()); 2]);
        node.assert_sum(2);
    });
}

#[test]
fn loom_two_threads_of_an_origin_and_bulk() {
    check(Some(3), || {
        let node = Node::new(2, true);
        run(&node, [|node| node.add(1, low()), |node| node.add(1, low()), |node| node.add_in_bulk(low())]);
        node.assert_sum(3);
    });
}

#[test]
fn loom_bulk_drains_an_origin_that_is_busy_elsewhere() {
    busy_elsewhere_and_bulk();
}

#[test]
#[should_panic(expected = "deadlock")]
fn loom_drain_without_fences_loses_a_wake_up() {
    weaken(Weakened::Fences, busy_elsewhere_and_bulk);
}

/// Everybody at once. Ends in every interleaving, which says that nobody waits in a circle, and within loom's bound on steps, that
/// nobody runs in one.
#[test]
fn loom_origin_and_two_bulks() {
    check(Some(2), || {
        let node = Node::new(2, false);
        run(&node, [|node| node.add(1, both()), |node| node.add_in_bulk(low()), |node| node.add_in_bulk(both())]);
        node.assert_sum(3);
    });
}

#[test]
fn loom_two_origins_and_two_bulks() {
    check(Some(1), || {
        let node = Node::new(3, false);
        let bulk = |node: &Node| node.add_in_bulk(low());
        run(&node, [|node| node.add(1, low()), |node| node.add(2, low()), bulk, bulk]);
        node.assert_sum(4);
    });
}
