//! Request forms, whose requests are ended by the host's own calls.

mod common;
use common::Side;

fn run(on: Side, scenario: &str) {
    for memory in ["allocate", "malloc"] {
        on.program("requests").ranks(2).arg(scenario).arg(memory).passes();
    }
}

/// Case 89.
fn every_way_to_end_them(on: Side) {
    run(on, "every_way_to_end");
}

/// Case 56.
fn ten_thousand_outstanding(on: Side) {
    run(on, "many_outstanding");
}

/// Cases 55 and 57.
fn what_was_got_is_there_when_they_end(on: Side) {
    run(on, "got_when_ended");
}

/// Case 53.
fn of_nothing(on: Side) {
    run(on, "of_nothing");
}

fn freed_by_the_program(on: Side) {
    run(on, "freed_requests");
}

fn ended_after_their_window(on: Side) {
    run(on, "ended_late");
}

on_hosts! {
    every_way_to_end_them;
    ten_thousand_outstanding;
    what_was_got_is_there_when_they_end;
    of_nothing;
    freed_by_the_program, bare: [openmpi] "MPICH 4.0.2 dies, as MPI allows";
    ended_after_their_window;
}
