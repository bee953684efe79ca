//! The conformance matrix: every operation in every synchronisation on every predefined type in every layout, byte by byte against plain
//! memory.

mod common;
use common::{Side, full};

/// A part of the cells is chosen by this seed, unless `TRANSOM_TEST_SEED` is set; `ci/test full` runs all.
const SEED: &str = "1";
/// How many of a thousand.
const SHARE: &str = "40";

fn cells(on: Side, flavour: &str) {
    let seed = std::env::var("TRANSOM_TEST_SEED").unwrap_or(SEED.to_owned());
    let share = if full() { "all" } else { SHARE };
    let outcome = on.program("matrix").ranks(2).arg(&seed).arg(share).arg(flavour).limit(600).passes();
    println!("{}", outcome.stdout);
}

fn created_on_malloc(on: Side) {
    cells(on, "create");
}

fn created_on_alloc_mem(on: Side) {
    cells(on, "alloc_mem");
}

fn allocated(on: Side) {
    cells(on, "allocate");
}

fn shared(on: Side) {
    cells(on, "shared");
}

on_hosts! {
    created_on_malloc, bare: [] "MPICH 4.0.2 takes unsigned numbers for signed ones, and Open MPI 4.1.4 dies";
    created_on_alloc_mem, bare: [] "MPICH 4.0.2 takes unsigned numbers for signed ones, and Open MPI 4.1.4 dies";
    allocated, bare: [] "MPICH 4.0.2 takes unsigned numbers for signed ones, and Open MPI 4.1.4 dies";
    shared, bare: [] "MPICH 4.0.2 takes unsigned numbers for signed ones, and Open MPI 4.1.4 dies";
}
