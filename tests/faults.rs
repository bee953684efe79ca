//! A rank dies while others wait for it: their waits end with an error, soon. Both launchers let the survivors live on when asked to.

mod common;
use common::Side;

const RANKS: u32 = 3;
/// Death comes 0.3 s after the wait has begun, and a long wait looks for it every now and then.
const SOON: i64 = 5;

/// Runs a scenario of `faults.c`, in which one rank is killed; every other rank has to report an error, in time.
fn survivors_see_an_error(on: Side, scenario: &str) {
    let outcome = survive(on, scenario);
    outcome.expect(outcome.reports.iter().all(|report| report.contains("class=other")), "a rank did not see MPI_ERR_OTHER");
    outcome
        .expect(outcome.reports.iter().all(|report| report.contains("has died")), "a message does not say that a rank has died");
}

fn survive(on: Side, scenario: &str) -> common::Outcome {
    // Launchers differ in the status of a job that lost a rank, so only what the survivors say counts.
    let flag = on.host.survivors_live_on();
    let outcome = on.program("faults").ranks(RANKS).arg(scenario).arg((RANKS - 1).to_string()).launcher_flag(flag).run();
    outcome.expect(outcome.reports.len() == RANKS as usize - 1, "not every survivor has reported");
    let slowest = outcome.reports.iter().filter_map(|report| number_after(report, "seconds=")).max();
    outcome.expect(slowest.is_some_and(|seconds| seconds <= SOON), "a survivor waited too long");
    outcome
}

fn number_after(text: &str, key: &str) -> Option<i64> {
    text.split_whitespace().find_map(|word| word.strip_prefix(key)?.parse().ok())
}

fn in_a_lock(on: Side) {
    survivors_see_an_error(on, "holder_of_a_lock");
    survivors_see_an_error(on, "holder_of_anothers_lock");
}

fn in_a_shared_epoch(on: Side) {
    survivors_see_an_error(on, "reader");
}

fn before_a_fence(on: Side) {
    survivors_see_an_error(on, "before_a_fence");
}

fn before_a_creation(on: Side) {
    survivors_see_an_error(on, "before_a_creation");
}

fn before_a_free(on: Side) {
    survivors_see_an_error(on, "before_a_free");
}

fn later_waits_end_and_other_windows_live_on(on: Side) {
    survivors_see_an_error(on, "after_the_first_error");
}

fn as_a_target_of_operations(on: Side) {
    survive(on, "target_of_operations");
}

fn in_an_exposure_epoch(on: Side) {
    survivors_see_an_error(on, "origin_of_an_exposure");
    survivors_see_an_error(on, "origin_of_a_tested_exposure");
}

fn before_a_post(on: Side) {
    survivors_see_an_error(on, "target_that_never_posts");
    survivors_see_an_error(on, "target_of_the_first_operation");
}

fn as_a_target_with_private_memory(on: Side) {
    let outcome = survive(on, "target_with_private_memory");
    outcome.expect(outcome.reports.iter().all(|report| report.contains("class=other")), "a rank did not see MPI_ERR_OTHER");
}

on_hosts! {
    in_a_lock, bare: [] "hosts wait for ever";
    in_a_shared_epoch, bare: [] "hosts wait for ever";
    before_a_fence, bare: [] "hosts wait for ever";
    before_a_creation, bare: [] "hosts wait for ever";
    before_a_free, bare: [] "hosts wait for ever";
    later_waits_end_and_other_windows_live_on, bare: [] "hosts wait for ever";
    as_a_target_of_operations, bare: [] "a host may fail in many ways";
    in_an_exposure_epoch, bare: [] "hosts wait for ever";
    before_a_post, bare: [] "hosts wait for ever";
    as_a_target_with_private_memory, bare: [] "a host may fail in many ways";
}
