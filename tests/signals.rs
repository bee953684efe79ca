//! Signals that interrupt whatever waits: a timer of a millisecond in every rank, with handlers that restart system calls and such that do not.

mod common;
use common::Side;

/// More ranks than cores, on memory that all map and on memory that is private.
fn storm(on: Side, scenario: &str) {
    for memory in ["allocate", "malloc"] {
        for restart in ["restart", "no_restart"] {
            on.program("signals").ranks(4).arg(scenario).arg(memory).arg(restart).limit(300).passes();
        }
    }
}

fn while_locks_are_waited_for(on: Side) {
    storm(on, "locks");
}

fn while_posts_are_waited_for(on: Side) {
    storm(on, "posts");
}

fn while_fences_are_waited_for(on: Side) {
    storm(on, "fences");
}

fn amid_accumulates(on: Side) {
    storm(on, "accumulates");
}

fn amid_large_transfers(on: Side) {
    storm(on, "transfers");
}

on_hosts! {
    while_locks_are_waited_for, bare: [] "hosts spin, and four ranks on fewer cores take minutes";
    while_posts_are_waited_for, bare: [] "hosts spin, and four ranks on fewer cores take minutes";
    while_fences_are_waited_for, bare: [] "hosts spin, and four ranks on fewer cores take minutes";
    amid_accumulates, bare: [] "hosts spin, and four ranks on fewer cores take minutes";
    amid_large_transfers, bare: [] "hosts spin, and four ranks on fewer cores take minutes";
}
