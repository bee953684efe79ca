//! A window's life: creation of every served flavour, queries, attributes, and what is left when it ends.

mod common;
use common::Side;

fn shared_parts_touch(on: Side) {
    on.program("shared_parts").ranks(4).arg("contiguous").passes();
}

fn shared_parts_apart_are_aligned(on: Side) {
    on.program("shared_parts").ranks(4).arg("apart").passes();
}

/// Cases 1 and 2.
fn shared_parts_of_size_zero(on: Side) {
    on.program("shared_parts").ranks(4).arg("zero_sizes").passes();
    on.program("shared_parts").ranks(2).arg("zero_sizes").passes();
}

/// Cases 4 and 5.
fn shared_windows_of_one_process(on: Side) {
    on.program("shared_parts").ranks(1).arg("alone").passes();
    on.program("shared_parts").ranks(4).arg("alone").passes();
    on.program("shared_parts").ranks(1).arg("contiguous").passes();
}

/// Case 6.
fn shared_memory_is_shared_both_ways(on: Side) {
    on.program("shared_parts").ranks(2).arg("stores_both_ways").passes();
}

fn shared_query_of_proc_null(on: Side) {
    on.program("shared_parts").ranks(3).arg("of_nobody").passes();
}

on_hosts! {
    shared_parts_touch;
    shared_parts_apart_are_aligned;
    shared_parts_of_size_zero;
    shared_windows_of_one_process;
    shared_memory_is_shared_both_ways;
    shared_query_of_proc_null;
}
