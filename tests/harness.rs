//! The harness itself: what goes wrong in a job is noticed, shown, and cleared away.

mod common;
use common::{Job, Outcome, Side};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a test that runs this job says when it fails.
fn complaint(job: &Job) -> String {
    let failure = catch_unwind(AssertUnwindSafe(|| job.passes())).err().expect("the job should not have passed");
    failure.downcast_ref::<String>().expect("a message with arguments").clone()
}

fn a_job_that_hangs_is_ended(on: Side) {
    for scenario in ["hangs", "hangs_at_one_rank"] {
        let said = complaint(&on.program("misbehave").ranks(2).arg(scenario).limit(2));
        for part in ["the time limit passed", "misbehave", scenario, "sleeping", "--- stdout", "--- stderr"] {
            assert!(said.contains(part), "'{part}' is not in: {said}");
        }
    }
}

fn a_process_that_outlives_its_job_is_found_and_ended(on: Side) {
    let job = on.program("misbehave").ranks(2).arg("leaves_a_child");
    let outcome: Outcome = job.run();
    assert!(outcome.status.success() && outcome.strays.len() == 1, "{outcome}");
    let pid = outcome.strays[0].split(':').next().expect("it begins with the number");
    // One that has ended may stay listed until its parent asks, but it has no environment any more.
    assert!(std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default().is_empty(), "process {pid} lives on");
    assert!(complaint(&job).contains("processes were left behind"));
}

fn a_failed_check_says_where(on: Side) {
    let said = complaint(&on.program("misbehave").ranks(2).arg("fails_a_check"));
    for part in ["misbehave.c:", "rank 1: rank != 1: seven is 7", &on.host.launcher(), "exit status"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

fn endless_output_is_bounded(on: Side) {
    let said = complaint(&on.program("misbehave").arg("writes_without_end").limit(4));
    assert!(said.contains("bytes left out") && said.len() < 1_000_000, "{} bytes", said.len());
}

fn a_scenario_that_does_not_exist_fails(on: Side) {
    assert!(complaint(&on.program("misbehave").arg("no_such_thing")).contains("no scenario is called no_such_thing"));
}

on_hosts! {
    a_job_that_hangs_is_ended;
    a_process_that_outlives_its_job_is_found_and_ended;
    a_failed_check_says_where;
    endless_output_is_bounded;
    a_scenario_that_does_not_exist_fails;
}
