//! Windows that are left to the host: decided by all ranks alike, said at the end, and right all the same.

mod common;
use common::{Job, Outcome, Side};

/// Runs a job, bare or not, and expects the one line at its end that says how many windows the host got, and why.
fn declines(on: Side, job: &Job, said: &str) {
    let outcome = job.clone().may_decline().passes();
    let said = format!("transom: {said}");
    outcome.expect(!on.transom || lines_at_the_end(&outcome) == [&said], &format!("'{said}' is not what was said, once"));
}

fn lines_at_the_end(outcome: &Outcome) -> Vec<&str> {
    outcome.lines_with("left to the host").collect()
}

const UNREACHED: &str =
    "MPI_Win_create on private memory that the ranks may not reach (process_vm_readv is refused: see transom info)";

/// A job whose host does without the system calls that Transom is to miss.
fn hosts_do_without(on: Side, job: Job) -> Job {
    on.host.without_process_vm().iter().fold(job, |job, (name, value)| job.env(name, value))
}

/// As [`declines`], for ranks that the kernel does not let into each other's memory; where it does, they are served.
fn declines_unless_reached(on: Side, ranks: u32, scenario: &str) {
    on.program("declined").ranks(ranks).arg(scenario).passes();
    let filter = on.executable("without_process_vm");
    let job = on.program("declined").ranks(ranks).arg(scenario).through(&[filter.to_str().expect("UTF-8")]);
    declines(on, &hosts_do_without(on, job), &format!("1 of 1 windows were left to the host: {UNREACHED}"));
}

fn on_memory_of_malloc(on: Side) {
    declines_unless_reached(on, 2, "on_malloc");
}

fn on_the_stack(on: Side) {
    declines_unless_reached(on, 2, "on_the_stack");
}

fn on_memory_of_malloc_at_one_rank(on: Side) {
    declines_unless_reached(on, 3, "on_malloc_at_one_rank");
}

/// One rank that is kept out is enough, on either side.
fn one_rank_reaches_no_other(on: Side) {
    let filter = on.executable("without_process_vm");
    let through = [filter.to_str().expect("UTF-8")];
    let job = hosts_do_without(on, on.program("declined").arg("on_malloc"));
    for job in [job.clone().through(&through).and().ranks(2), job.ranks(2).and().through(&through)] {
        declines(on, &job, &format!("1 of 1 windows were left to the host: {UNREACHED}"));
    }
}

fn dynamic_windows(on: Side) {
    let job = on.program("declined").ranks(2).arg("dynamic");
    declines(on, &job, "1 of 1 windows were left to the host: dynamic windows are not served yet");
}

fn asked_for_by_one_rank(on: Side) {
    let job = on.program("declined").ranks(2).arg("asked_for_by_one_rank");
    declines(on, &job, "4 of 4 windows were left to the host: info transom=host");
}

fn some_are_served_and_some_not(on: Side) {
    let job = on.program("declined").ranks(2).arg("two_of_five");
    declines(on, &job, "2 of 5 windows were left to the host: info transom=host");
}

fn nothing_is_said_when_all_are_served(on: Side) {
    let outcome = on.program("put_get").ranks(2).arg("to_self").passes();
    outcome.expect(outcome.lines_with("transom").count() == 0, "something was said");
}

/// `TRANSOM_REQUIRE=1`.
fn declining_is_an_error_when_transom_is_required(on: Side) {
    on.program("declined").ranks(2).arg("required").passes();
    let filter = on.executable("without_process_vm");
    let job = on.program("declined").ranks(2).arg("required_to_reach").through(&[filter.to_str().expect("UTF-8")]);
    hosts_do_without(on, job).passes();
}

fn windows_of_an_intercommunicator_are_refused(on: Side) {
    on.program("declined").ranks(2).arg("on_an_intercommunicator").may_decline().passes();
}

/// Ranks of which some are without Transom, whatever their number and place. Three windows of the world go to the host, and each rank that
/// has Transom keeps the one of its own.
fn mixed(on: Side, first: u32, second: u32, transom_first: bool) {
    let job = on.program("declined").ranks(first).arg("whatever_the_others_have");
    let job = if transom_first { job } else { job.without_transom() };
    let job = job.and().ranks(second);
    let job = if transom_first { job.without_transom() } else { job };
    let outcome = job.may_decline().passes();
    // Windows are counted at their rank 0, and no sum can be made over ranks of which some do not take part.
    let said = lines_at_the_end(&outcome);
    let expected = "3 of 4 windows were left to the host: a rank of the communicator runs without Transom";
    let right = if transom_first { said.len() == 1 && said[0].contains(expected) } else { said.is_empty() };
    outcome.expect(right, &format!("'{expected}' is not what rank 0, if it has Transom, has said"));
}

fn ranks_without_transom(on: Side) {
    mixed(on, 1, 1, true);
    mixed(on, 1, 1, false);
    mixed(on, 2, 1, true);
    mixed(on, 1, 2, false);
}

/// `TRANSOM_DISABLE=1` everywhere.
fn disabled_on_all_ranks(on: Side) {
    let job = on.program("declined").ranks(2).arg("whatever_the_others_have").env("TRANSOM_DISABLE", "1");
    job.may_decline().passes();
    on.program("shared_parts").ranks(2).arg("contiguous").env("TRANSOM_DISABLE", "1").may_decline().passes();
}

/// `TRANSOM_DISABLE=1` on one rank: others see it as a rank without Transom.
fn disabled_on_one_rank(on: Side) {
    for disabled_first in [true, false] {
        let job = on.program("declined").arg("whatever_the_others_have");
        let job = if disabled_first { job.env_of_part("TRANSOM_DISABLE", "1") } else { job };
        let job = job.and();
        let job = if disabled_first { job } else { job.env_of_part("TRANSOM_DISABLE", "1") };
        job.may_decline().passes();
    }
}

/// Case 18: a rank in a user namespace of its own cannot open what another one offers under `/proc`.
fn ranks_in_different_user_namespaces(on: Side) {
    let job = on.program("declined").arg("whatever_the_others_have").and().through(&["unshare", "-Ur"]);
    // What UCX opens there itself.
    job.env("UCX_POSIX_USE_PROC_LINK", "n").may_decline().passes();
}

/// A rank that reaches `MPI_Init` three seconds after the others is waited for, and all are served.
fn a_late_rank_is_served(on: Side) {
    let outcome = on.program("declined").ranks(2).arg("whatever_the_others_have").arg("late").passes();
    outcome.expect(outcome.elapsed.as_secs() >= 3, "no rank was late");
}

/// A program that is started by itself, as MPI allows for a job of one rank.
fn without_a_launcher(on: Side) {
    on.program("declined").arg("whatever_the_others_have").without_launcher().may_decline().passes();
}

on_hosts! {
    on_memory_of_malloc;
    on_the_stack;
    on_memory_of_malloc_at_one_rank;
    one_rank_reaches_no_other;
    dynamic_windows;
    asked_for_by_one_rank;
    some_are_served_and_some_not;
    nothing_is_said_when_all_are_served, bare: [] "hosts say nothing";
    declining_is_an_error_when_transom_is_required, bare: [] "hosts decline nothing";
    windows_of_an_intercommunicator_are_refused, bare except: [mpich mpich5 impi] "MPICH dies, and Intel MPI 2021.18 makes one";
    ranks_without_transom, bare: [] "all ranks are";
    disabled_on_all_ranks;
    disabled_on_one_rank, bare: [] "nothing to disable";
    ranks_in_different_user_namespaces;
    a_late_rank_is_served;
    without_a_launcher, bare except: [openmpi] "Open MPI 4.1.4 cannot make one of these windows for one process";
}
