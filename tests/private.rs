//! Windows on the program's own memory, private to its process.

mod common;
use common::Side;

fn run(on: Side, ranks: u32, scenario: &str) {
    on.program("private").ranks(ranks).arg(scenario).passes();
}

fn every_kind_of_memory(on: Side) {
    run(on, 2, "every_memory");
}

fn mappings_of_files(on: Side) {
    run(on, 2, "files");
}

fn read_only_memory(on: Side) {
    run(on, 3, "read_only");
}

fn memory_that_is_gone(on: Side) {
    run(on, 2, "unmapped");
}

fn megabytes(on: Side) {
    run(on, 2, "large");
}

fn overlapping_windows(on: Side) {
    run(on, 2, "overlapping");
}

fn odd_addresses(on: Side) {
    run(on, 3, "odd_addresses");
}

fn ranks_with_memory_of_different_kinds(on: Side) {
    run(on, 4, "mixed_memories");
}

fn queries_give_no_wrong_pointer(on: Side) {
    run(on, 2, "query");
}

fn nothing_needs_the_targets_help(on: Side) {
    run(on, 2, "without_the_targets_help");
}

on_hosts! {
    every_kind_of_memory;
    mappings_of_files;
    read_only_memory, bare: [] "hosts die of the put";
    memory_that_is_gone, bare: [] "hosts die";
    megabytes;
    overlapping_windows, bare: [openmpi] "MPICH 4.0.2 does not see what was done through the other window";
    odd_addresses, bare: [openmpi] "MPICH 4.0.2 does not deliver what is put";
    ranks_with_memory_of_different_kinds, bare: [] "MPICH 4.0.2 checks no range";
    queries_give_no_wrong_pointer, bare: [] "hosts answer for no such window before MPI-4.1";
    nothing_needs_the_targets_help, bare: [] "hosts wait for the target";
}
