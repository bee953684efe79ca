//! Post, start, complete, wait and test.

mod common;
use common::Side;

fn run(on: Side, ranks: u32, scenario: &str) {
    on.program("active").ranks(ranks).arg(scenario).passes();
}

fn pairs(on: Side) {
    run(on, 2, "pairs");
}

fn ring(on: Side) {
    run(on, 2, "ring");
}

fn ring_of_more_ranks_than_cores(on: Side) {
    run(on, 8, "ring");
}

fn groups_of_every_size(on: Side) {
    run(on, 4, "groups_of_every_size");
}

/// Case 34.
fn empty_groups(on: Side) {
    run(on, 2, "empty_groups");
}

fn overlapping_groups(on: Side) {
    run(on, 4, "overlapping_groups");
}

fn overlapping_groups_of_more_ranks_than_cores(on: Side) {
    run(on, 8, "overlapping_groups");
}

fn start_before_post(on: Side) {
    run(on, 2, "start_before_post");
}

fn every_assertion(on: Side) {
    run(on, 2, "assertions");
}

/// Case 34.
fn test_is_false_then_true(on: Side) {
    run(on, 2, "test_false_then_true");
}

/// Case 34.
fn waits_and_tests_progress_messages(on: Side) {
    run(on, 2, "test_progresses_messages");
    run(on, 2, "waits_progress_messages");
}

fn two_windows_at_once(on: Side) {
    run(on, 2, "two_windows");
}

fn between_fences_and_locks(on: Side) {
    run(on, 2, "beside_other_epochs");
}

fn groups_of_another_communicator(on: Side) {
    run(on, 3, "groups_of_another_communicator");
}

fn calls_out_of_place(on: Side) {
    run(on, 3, "out_of_place");
}

fn null_groups(on: Side) {
    run(on, 2, "null_groups");
}

fn groups_beyond_the_window(on: Side) {
    run(on, 4, "group_beyond_the_window");
}

on_hosts! {
    pairs;
    ring;
    ring_of_more_ranks_than_cores, bare: [openmpi] "MPICH spins, and takes minutes";
    groups_of_every_size;
    empty_groups;
    overlapping_groups, bare: [openmpi] "MPICH spins, and takes minutes";
    overlapping_groups_of_more_ranks_than_cores, bare: [openmpi] "MPICH spins, and takes minutes";
    start_before_post;
    every_assertion, bare except: [openmpi5] "Open MPI 5.0.11 shows an old value";
    test_is_false_then_true;
    waits_and_tests_progress_messages;
    two_windows_at_once;
    between_fences_and_locks;
    groups_of_another_communicator;
    calls_out_of_place, bare: [] "MPICH 4.0.2 has other classes for them, and Open MPI 4.1.4 lets some pass";
    null_groups, bare: [] "MPICH 4.0.2 ends the job, and Open MPI 4.1.4 takes them for empty ones";
    groups_beyond_the_window, bare: [] "MPICH 4.0.2 waits for ever, and Open MPI 4.1.4 dies";
}
