//! On the direct path no system call and no allocation: millions of operations under a filter that traps every system call, with the
//! allocator of the whole process interposed.

mod common;
use common::Side;

fn of_allocated_windows(on: Side) {
    on.program("hot_path").ranks(2).arg("allocated").passes();
}

fn of_shared_windows(on: Side) {
    on.program("hot_path").ranks(2).arg("shared").passes();
}

fn of_created_windows(on: Side) {
    on.program("hot_path").ranks(2).arg("created").passes();
}

fn with_thread_multiple(on: Side) {
    on.program("hot_path").ranks(2).arg("allocated").arg("multiple").passes();
}

fn with_statistics(on: Side) {
    on.program("hot_path").ranks(2).arg("allocated").env("TRANSOM_STATS", "1").env("TRANSOM_VERBOSE", "1").passes();
}

on_hosts! {
    of_allocated_windows, bare: [] "hosts make system calls";
    of_shared_windows, bare: [] "hosts make system calls";
    of_created_windows, bare: [] "hosts make system calls";
    with_thread_multiple, bare: [] "hosts make system calls";
    with_statistics, bare: [] "hosts make system calls";
}
