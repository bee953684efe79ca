//! Accumulates: what each operation does, alone and among others.

mod common;
use common::{Job, Side};

/// Memory that all ranks map, and memory that is private to its process.
const MAPPED: [&str; 3] = ["allocate", "shared", "alloc_mem"];
const PRIVATE: [&str; 5] = ["malloc", "stack", "bss", "file_shared", "file_private"];
/// One of each.
const ONE_OF_EACH: [&str; 2] = ["allocate", "malloc"];

/// A job of a scenario for each kind of memory.
fn on_each<'a>(
    on: Side,
    program: &'a str,
    ranks: u32,
    scenario: &'a str,
    memories: &'a [&str],
) -> impl Iterator<Item = Job> + 'a {
    memories.iter().map(move |memory| on.program(program).ranks(ranks).arg(scenario).arg(memory).limit(120))
}

/// Cases 48 and 49: also that padding is left alone.
fn every_operation_on_every_type(on: Side) {
    for job in on_each(on, "accumulates", 2, "every_operation_on_every_type", &MAPPED) {
        job.passes();
    }
}

fn every_operation_on_private_memory(on: Side) {
    for job in on_each(on, "accumulates", 2, "every_operation_on_every_type", &PRIVATE) {
        job.passes();
    }
}

fn elements_at_any_address(on: Side) {
    for job in on_each(on, "accumulates", 2, "misaligned", &ONE_OF_EACH) {
        job.passes();
    }
}

/// Case 50.
fn get_accumulate_of_every_count(on: Side) {
    for job in on_each(on, "accumulates", 2, "every_count", &ONE_OF_EACH) {
        job.passes();
    }
}

/// Cases 46 and 53.
fn no_op_without_an_origin(on: Side) {
    for job in on_each(on, "accumulates", 2, "no_op_without_origin", &ONE_OF_EACH) {
        job.passes();
    }
}

/// Case 48.
fn compare_and_swap_of_every_type(on: Side) {
    for job in on_each(on, "accumulates", 2, "compare_and_swap", &ONE_OF_EACH) {
        job.passes();
    }
}

fn storm(on: Side, ranks: u32, modes: &[&str]) {
    for mode in modes {
        for job in on_each(on, "atomics", ranks, "storms", &ONE_OF_EACH) {
            job.arg(mode).passes();
        }
    }
}

/// Case 45, and 25 with accumulates.
fn storms_of_two_ranks(on: Side) {
    storm(on, 2, &["lock_all", "exclusive", "shared", "fence"]);
}

fn storms_of_four_ranks(on: Side) {
    storm(on, 4, &["lock_all", "exclusive", "shared", "fence"]);
}

fn storms_of_eight_ranks(on: Side) {
    storm(on, 8, &["lock_all", "exclusive"]);
}

/// Case 46.
fn no_op_reads_whole_patterns(on: Side) {
    for job in on_each(on, "atomics", 4, "no_op_reads_whole_patterns", &ONE_OF_EACH) {
        job.passes();
    }
}

/// Case 47.
fn spinlocks_of_each_form(on: Side) {
    for job in on_each(on, "atomics", 3, "spinlock", &ONE_OF_EACH) {
        job.passes();
    }
}

fn one_origins_calls_keep_their_order(on: Side) {
    for job in on_each(on, "atomics", 2, "order_of_one_origin", &ONE_OF_EACH) {
        job.passes();
    }
}

/// Case 66.
fn windows_freed_at_once(on: Side) {
    for job in on_each(on, "atomics", 2, "freed_at_once", &["allocate", "alloc_mem", "malloc"]) {
        job.passes();
    }
}

fn threads_on_one_window(on: Side) {
    for job in on_each(on, "atomics", 2, "threads_on_one_window", &ONE_OF_EACH) {
        job.passes();
    }
}

/// Thirty-two origins on the cores that there are.
fn threads_of_eight_ranks(on: Side) {
    for job in on_each(on, "atomics", 8, "threads_on_one_window", &ONE_OF_EACH) {
        job.limit(300).passes();
    }
}

fn threads_on_several_windows(on: Side) {
    for job in on_each(on, "atomics", 2, "threads_on_several_windows", &ONE_OF_EACH) {
        job.passes();
    }
}

fn threads_in_one_exclusive_epoch(on: Side) {
    for job in on_each(on, "atomics", 2, "threads_in_one_exclusive_epoch", &ONE_OF_EACH) {
        job.passes();
    }
}

fn wrong_accumulates_are_refused(on: Side) {
    on.program("refused").ranks(3).arg("wrong_accumulates").passes();
}

/// Case 53.
fn accumulates_of_nothing(on: Side) {
    on.program("refused").ranks(3).arg("accumulates_of_nothing").passes();
}

on_hosts! {
    every_operation_on_every_type, bare: [mpich] "Open MPI 4.1.4 has logical operations of its own";
    every_operation_on_private_memory, bare: [mpich] "Open MPI 4.1.4 has logical operations of its own";
    elements_at_any_address, bare: [] "MPICH 4.0.2 takes minutes, and Open MPI 4.1.4 has logical operations of its own";
    get_accumulate_of_every_count, bare: [mpich] "Open MPI 4.1.4 has wrong results (case 50)";
    no_op_without_an_origin;
    compare_and_swap_of_every_type, bare: [mpich] "Open MPI 4.1.4 dies";
    storms_of_two_ranks, bare: [] "MPICH 4.0.2 may take minutes for a lock, and Open MPI 4.1.4 dies";
    storms_of_four_ranks, bare: [] "hosts spin, and four ranks on fewer cores take minutes";
    storms_of_eight_ranks, bare: [] "hosts spin, and eight ranks on fewer cores take minutes";
    no_op_reads_whole_patterns;
    spinlocks_of_each_form;
    one_origins_calls_keep_their_order;
    windows_freed_at_once;
    threads_on_one_window, bare: [mpich] "Open MPI 4.1.4 dies";
    threads_of_eight_ranks, bare: [] "hosts spin, and thirty-two threads on fewer cores take minutes";
    threads_on_several_windows;
    threads_in_one_exclusive_epoch, bare: [mpich] "Open MPI 4.1.4 loses updates";
    wrong_accumulates_are_refused, bare: [] "hosts check little of it";
    accumulates_of_nothing;
}
