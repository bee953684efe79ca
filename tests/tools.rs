//! Profiling tools: wherever one stands, it sees each call of the program once, and what it hands on is served.

mod common;

use common::{Job, Outcome, Side};
use std::path::Path;

const RANKS: u32 = 2;

/// What the calls of `programs/profiled.c` come to, over all ranks.
const COUNTS: &str = "init=2 create=2 allocate=4 free=6 fence=72 put=42 get=18 set_attr=12";

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn profiled(on: Side) -> Job {
    counted(on.program("profiled"))
}

fn counted(job: Job) -> Job {
    job.ranks(RANKS).env("TRANSOM_STATS", "1")
}

/// The program as it is started without `transom exec`, with these objects preloaded.
fn preloaded_by_hand(on: Side, objects: &[&Path]) -> Job {
    let objects: Vec<&str> = objects.iter().map(|object| path(object)).collect();
    profiled(on).without_transom().env_of_part("LD_PRELOAD", &objects.join(":"))
}

/// Every tool says the program's counts; and Transom, where it is there, has served the program's operations and those of the tools, each of
/// which puts its counts of each rank once.
#[track_caller]
fn all_is_seen(on: Side, outcome: &Outcome, tools: &[&str]) {
    for tool in tools {
        let line = format!("tool {tool}: {COUNTS}");
        outcome.expect(outcome.stdout.lines().filter(|said| *said == line).count() == 1, &format!("'{line}' is not said once"));
    }
    outcome.expect(outcome.lines_with("tool ").count() == tools.len(), "another tool has spoken");
    if on.transom {
        let (operations, bytes) = (42 + 2 * tools.len(), 42 * 4 + 2 * 8 * 8 * tools.len());
        for line in [format!("put {operations} operations {bytes} bytes direct"), "get 18 operations 72 bytes direct".into()] {
            outcome.expect(outcome.lines_with(&line).count() == 1, &format!("'{line}' is not said once"));
        }
    }
}

fn preloaded_before(on: Side) {
    let tool = on.object("tool_profile", &[]);
    let outcome = profiled(on).env_of_part("LD_PRELOAD", path(&tool)).passes();
    all_is_seen(on, &outcome, &["profile"]);
}

fn preloaded_after(on: Side) {
    let tool = on.object("tool_profile", &[]);
    let ours = common::dist("lib/transom/libtransom.so");
    let outcome = preloaded_by_hand(on, &[&ours, &tool]).passes();
    all_is_seen(on, &outcome, &["profile"]);
}

fn linked(on: Side) {
    let tool = on.object("tool_profile", &[]);
    let outcome = counted(on.program_linked_to("profiled", &tool)).passes();
    all_is_seen(on, &outcome, &["profile"]);
}

/// Tools that hand calls on to each other; the last one, which may come behind Transom, calls the profiling interface.
fn several_at_once(on: Side) {
    let [one, two] = ["one", "two"].map(|name| on.object("tool_profile", &["-DCHAINED", &format!("-DNAME=\"{name}\"")]));
    let last = on.object("tool_profile", &["-DNAME=\"last\""]);
    let before = format!("{}:{}", path(&one), path(&two));
    let outcome = profiled(on).env_of_part("LD_PRELOAD", &before).passes();
    all_is_seen(on, &outcome, &["one", "two"]);
    let linked = counted(on.program_linked_to("profiled", &last));
    let outcome = linked.env_of_part("LD_PRELOAD", &before).passes();
    all_is_seen(on, &outcome, &["one", "two", "last"]);
}

fn on_both_sides(on: Side) {
    let one = on.object("tool_profile", &["-DCHAINED", "-DNAME=\"one\""]);
    let last = on.object("tool_profile", &["-DNAME=\"last\""]);
    let ours = common::dist("lib/transom/libtransom.so");
    for order in [[&one, &ours, &last], [&ours, &one, &last]] {
        let outcome = preloaded_by_hand(on, &order.map(|object| &**object)).passes();
        all_is_seen(on, &outcome, &["one", "last"]);
    }
}

/// A tool behind Transom that asks for the next `MPI_X` instead of `PMPI_X` finds the host's: all goes there, and nothing by halves.
fn one_that_goes_past_us(on: Side) {
    let tool = on.object("tool_profile", &["-DCHAINED"]);
    let ours = common::dist("lib/transom/libtransom.so");
    let outcome = preloaded_by_hand(on, &[&ours, &tool]).may_decline().passes();
    let host = Side { transom: false, ..on };
    all_is_seen(host, &outcome, &["profile"]);
    outcome.expect(outcome.lines_with("direct").count() == 0, "some operations were served");
    preloaded_by_hand(on, &[&ours, &tool]).fails();
}

on_hosts! {
    preloaded_before;
    preloaded_after, bare: [] "there is nothing for the tool to come after";
    linked;
    several_at_once;
    on_both_sides, bare: [] "there is nothing in the middle";
    one_that_goes_past_us, bare: [] "there is nothing to go past";
}
