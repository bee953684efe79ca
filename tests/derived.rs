//! Derived datatypes: their life, addresses, errors, and what others do at the same time. Which bytes go where, `tests/matrix.rs` shows.

mod common;
use common::Side;

/// Memory that all ranks map, and memory that is private to its process.
const ONE_OF_EACH: [&str; 2] = ["allocate", "malloc"];

fn runs(on: Side, ranks: u32, scenario: &str) {
    for memory in ONE_OF_EACH {
        on.program("derived").ranks(ranks).arg(scenario).arg(memory).limit(120).passes();
    }
}

/// Case 41.
fn from_and_into_bottom(on: Side) {
    runs(on, 3, "bottom");
}

/// Case 42.
fn get_accumulate_in_unusual_layouts(on: Side) {
    runs(on, 2, "get_accumulate_layouts");
}

/// Case 43.
fn a_large_extent_at_the_origin(on: Side) {
    runs(on, 2, "large_extent_at_the_origin");
}

/// Case 61; also that handles which are used again are taken for what they are now.
fn types_freed_at_once(on: Side) {
    runs(on, 2, "freed_at_once");
}

/// Case 62.
fn five_thousand_operations_before_one_flush(on: Side) {
    runs(on, 2, "many_before_one_flush");
}

fn a_hundred_thousand_blocks(on: Side) {
    on.program("derived").ranks(2).arg("many_blocks").limit(120).passes();
}

fn regular_types_stay_small(on: Side) {
    on.program("derived").ranks(2).arg("regular_types_stay_small").passes();
}

fn bounds_are_those_of_the_data(on: Side) {
    runs(on, 2, "bounds_are_those_of_the_data");
}

fn refused_calls_change_nothing(on: Side) {
    runs(on, 2, "errors");
}

fn parts_of_distributed_arrays(on: Side) {
    runs(on, 4, "distributed_arrays");
}

fn nested_types(on: Side) {
    runs(on, 2, "nested_types");
}

fn types_by_precision(on: Side) {
    runs(on, 2, "types_by_precision");
}

fn large_count_constructors(on: Side) {
    runs(on, 2, "large_count_constructors");
}

fn storms_of_layouts(on: Side) {
    for ranks in [2, 4, 8] {
        runs(on, ranks, "storms");
    }
}

fn threads_with_types_of_their_own(on: Side) {
    runs(on, 2, "threads");
}

on_hosts! {
    from_and_into_bottom, bare: [mpich] "Open MPI 4.1.4 does not write the result (case 41)";
    get_accumulate_in_unusual_layouts, bare: [mpich] "Open MPI 4.1.4 takes no notice of the result's layout (case 42)";
    a_large_extent_at_the_origin;
    types_freed_at_once;
    five_thousand_operations_before_one_flush;
    a_hundred_thousand_blocks;
    regular_types_stay_small;
    bounds_are_those_of_the_data;
    refused_calls_change_nothing, bare: [mpich] "Open MPI 4.1.4 dies of a datatype that is null";
    parts_of_distributed_arrays;
    nested_types;
    types_by_precision;
    large_count_constructors;
    storms_of_layouts;
    threads_with_types_of_their_own;
}
