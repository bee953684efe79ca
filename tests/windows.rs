//! A window's life: creation of every served flavour, queries, attributes, error handlers, and what is left when it ends.

mod common;
use common::{Host, Outcome, Side};

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

/// Case 6, on one node.
fn shared_memory_is_shared_both_ways(on: Side) {
    on.program("shared_parts").ranks(2).arg("stores_both_ways").passes();
}

/// Case 3, for memory that is served.
fn shared_query_of_proc_null(on: Side) {
    on.program("shared_parts").ranks(3).arg("of_nobody").passes();
}

fn created_on_memory_of_alloc_mem(on: Side) {
    on.program("created").ranks(3).arg("on_alloc_mem").passes();
}

fn created_on_memory_that_was_given_out_again(on: Side) {
    on.program("created").ranks(2).arg("on_memory_given_out_again").passes();
}

fn created_on_a_window_of_the_same_rank(on: Side) {
    on.program("created").ranks(3).arg("on_own_window").passes();
}

fn created_on_a_part_of_another_rank(on: Side) {
    on.program("created").ranks(3).arg("on_peers_part").passes();
}

/// Case 7, with put and get.
fn created_on_nothing_by_all_but_one(on: Side) {
    on.program("created").ranks(3).arg("empty_on_all_but_one").passes();
}

/// Case 8, with put and get.
fn created_with_sizes_that_differ(on: Side) {
    on.program("created").ranks(2).arg("sizes_differ").passes();
}

/// Case 9.
fn ten_thousand_are_alive_at_once(on: Side) {
    on.program("many_windows").ranks(2).arg("ten_thousand").limit(120).passes();
}

/// Case 10.
fn ten_thousand_rounds_cost_nothing(on: Side) {
    for scenario in ["rounds_allocated", "rounds_shared", "rounds_created"] {
        on.program("many_windows").ranks(2).arg(scenario).limit(120).passes();
    }
}

fn large_ones_give_their_memory_back(on: Side) {
    on.program("many_windows").ranks(2).arg("rounds_large").limit(120).passes();
}

/// Case 21.
fn the_second_one_works_as_the_first(on: Side) {
    on.program("many_windows").ranks(2).arg("one_after_another").passes();
}

fn they_are_freed_in_any_order(on: Side) {
    on.program("many_windows").ranks(2).arg("freed_in_any_order").passes();
}

fn a_free_waits_for_those_who_still_use_it(on: Side) {
    on.program("many_windows").ranks(3).arg("freed_early_by_one_rank").passes();
}

/// Case 12, for the flavours that are served.
fn predefined_attributes_last(on: Side) {
    on.program("attributes").ranks(3).arg("predefined").passes();
}

/// Case 51.
fn all_views_of_the_base_agree(on: Side) {
    on.program("attributes").ranks(3).arg("base_agrees").passes();
}

fn the_group_is_the_communicators(on: Side) {
    on.program("attributes").ranks(3).arg("group").passes();
}

/// Case 23.
fn fortran_handles_come_back(on: Side) {
    on.program("attributes").ranks(2).arg("fortran_handles").passes();
}

/// Case 15; the alignment key is in `hints`.
fn odd_sizes_are_aligned(on: Side) {
    on.program("attributes").ranks(3).arg("aligned").passes();
}

/// What is left in a `/dev/shm` of the job's own, but for what the host cannot clear away when its ranks are killed.
fn leftovers(on: Side, outcome: &Outcome) -> Vec<&str> {
    let files = outcome.stdout.lines().filter_map(|line| line.strip_prefix("left: "));
    files.filter(|file| !(on.host == Host::Mpich5 && file.starts_with("mpich_shm_"))).collect()
}

/// Ends the launcher with its own status, after naming each file that is left.
const LOOK_AFTER: &str = r#"mount -t tmpfs none /dev/shm
status=0; "$@" || status=$?
for file in $(ls -A /dev/shm); do echo "left: $file"; done
exit $status"#;

/// Case 14: three flavours are alive when MPI ends.
fn those_alive_at_finalize_are_cleared_away(on: Side) {
    let job = on.program("many_windows").ranks(2).arg("left_at_finalize").in_own_mounts(LOOK_AFTER);
    let outcome = job.passes();
    outcome.expect(leftovers(on, &outcome).is_empty(), "files are left in /dev/shm");
}

/// Case 17: all ranks are killed in the middle of epochs, and another job follows.
fn nothing_is_left_when_all_ranks_are_killed(on: Side) {
    let job = on.program("left_behind").ranks(2).arg("killed_in_epochs").in_own_mounts(LOOK_AFTER);
    let outcome = job.fails();
    outcome.expect(leftovers(on, &outcome).is_empty(), "files are left in /dev/shm");
    on.program("left_behind").ranks(2).arg("freed").in_own_mounts(LOOK_AFTER).passes();
}

/// Case 16.
fn a_small_dev_shm_is_enough(on: Side) {
    let small = r#"mount -t tmpfs -o size=64m none /dev/shm; exec "$@""#;
    on.program("left_behind").ranks(2).arg("larger_than_dev_shm").in_own_mounts(small).passes();
}

/// Case 16 again, where the host itself can do without.
fn no_dev_shm_is_needed(on: Side) {
    let none = r#"mount -t tmpfs -o ro none /dev/shm; exec "$@""#;
    let job = on.program("left_behind").ranks(2).arg("larger_than_dev_shm").in_own_mounts(none);
    // What UCX would put there.
    job.env("UCX_TLS", "self,sysv").passes();
}

/// Case 22.
fn windows_of_many_gigabytes(on: Side) {
    on.program("big_window").ranks(2).arg("sparse").passes();
    on.program("big_window").ranks(2).arg("sparse_shared").passes();
}

/// Case 22: the `_c` forms, which Transom has also where the host has not.
fn large_count_forms(on: Side) {
    on.program("big_window").ranks(2).arg("large_count_forms").passes();
    if common::full() {
        on.program("big_window").ranks(2).arg("more_than_two_gigabytes_at_once").limit(180).passes();
    }
}

fn of_parts_of_the_world(on: Side) {
    on.program("communicators").ranks(4).arg("halves").passes();
    on.program("communicators").ranks(4).arg("by_groups").passes();
}

fn of_the_world_in_another_order(on: Side) {
    on.program("communicators").ranks(3).arg("reversed").passes();
    on.program("communicators").ranks(3).arg("duplicate").passes();
}

fn of_communicators_that_come_and_go(on: Side) {
    on.program("communicators").ranks(4).arg("handles_used_again").passes();
    on.program("communicators").ranks(4).arg("unequal_histories").passes();
}

fn errors_reach_the_windows_handler(on: Side) {
    on.program("error_handlers").ranks(2).arg("called_by_an_error").passes();
}

fn handlers_can_be_called(on: Side) {
    on.program("error_handlers").ranks(2).arg("called_by_the_program").passes();
}

fn freed_handlers_live_with_their_windows(on: Side) {
    on.program("error_handlers").ranks(2).arg("freed_while_set").passes();
}

fn handlers_are_got_back(on: Side) {
    on.program("error_handlers").ranks(2).arg("got_back").passes();
    on.program("error_handlers").ranks(2).arg("of_the_window_not_of_the_communicator").passes();
}

fn creation_fails_on_all_ranks_alike(on: Side) {
    for scenario in ["negative_size_on_one_rank", "bad_unit_on_one_rank", "two_mistakes", "many_failures"] {
        on.program("creation_errors").ranks(3).arg(scenario).passes();
    }
}

fn creation_refuses_bad_arguments(on: Side) {
    on.program("creation_errors").ranks(2).arg("bad_on_all_ranks").passes();
    on.program("creation_errors").ranks(2).arg("not_a_communicator").passes();
}

fn creation_without_memory_fails_on_all_ranks_alike(on: Side) {
    on.program("creation_errors").ranks(2).arg("no_memory").passes();
}

fn creation_errors_go_to_the_communicators_handler(on: Side) {
    on.program("creation_errors").ranks(2).arg("goes_to_the_communicators_handler").passes();
}

fn creation_errors_are_fatal_by_default(on: Side) {
    let outcome = on.program("creation_errors").ranks(2).arg("default_is_fatal").stderr_reported().fails();
    outcome.expect(!outcome.stdout.contains("lived on"), "a rank went on after a fatal error");
    let says_where = outcome.reports.iter().any(|report| report.contains("MPI_Win_allocate"));
    outcome.expect(says_where || !on.transom, "the message does not name the call");
}

fn memory_is_given_and_taken(on: Side) {
    for scenario in ["given_and_taken", "of_size_zero", "of_negative_size", "of_many_megabytes"] {
        on.program("memory").ranks(2).arg(scenario).passes();
    }
}

fn a_child_has_alloc_mem_memory_of_its_own(on: Side) {
    on.program("memory").ranks(2).arg("child_of_alloc_mem").passes();
}

fn a_child_has_window_memory_of_its_own(on: Side) {
    on.program("memory").ranks(2).arg("child_of_windows").passes();
}

fn children_that_exec_change_nothing(on: Side) {
    on.program("memory").ranks(2).arg("children_that_exec").passes();
}

on_hosts! {
    shared_parts_touch;
    shared_parts_apart_are_aligned, bare except: [openmpi openmpi5] "Open MPI 4.1.4 aligns them to 8 bytes, and 5.0.11 gives wrong sizes";
    shared_parts_of_size_zero, bare except: [mpich mpich5 impi] "the MPICH family gives ranks of size 0 another base";
    shared_windows_of_one_process;
    shared_memory_is_shared_both_ways;
    shared_query_of_proc_null;
    created_on_memory_of_alloc_mem, bare except: [mpich] "MPICH 4.0.2 confuses overlapping windows";
    created_on_memory_that_was_given_out_again;
    created_on_a_window_of_the_same_rank, bare except: [mpich] "MPICH 4.0.2 confuses overlapping windows";
    created_on_a_part_of_another_rank;
    created_on_nothing_by_all_but_one;
    created_with_sizes_that_differ;
    ten_thousand_are_alive_at_once, bare: [] "MPICH ends at 2,046 windows, and the others need minutes";
    ten_thousand_rounds_cost_nothing;
    large_ones_give_their_memory_back, bare except: [mpich] "MPICH 4.0.2 needs too long";
    the_second_one_works_as_the_first;
    they_are_freed_in_any_order, bare except: [mpich] "MPICH 4.0.2 returns wrong bases from MPI_Win_allocate (case 51)";
    a_free_waits_for_those_who_still_use_it;
    predefined_attributes_last, bare except: [mpich] "MPICH 4.0.2 returns wrong bases from MPI_Win_allocate (case 51)";
    all_views_of_the_base_agree;
    the_group_is_the_communicators;
    fortran_handles_come_back;
    odd_sizes_are_aligned, bare: [] "the MPICH family aligns them to 1 byte, and Open MPI to 8";
    those_alive_at_finalize_are_cleared_away, bare except: [mpich] "MPICH 4.0.2 aborts inside UCX";
    nothing_is_left_when_all_ranks_are_killed;
    a_small_dev_shm_is_enough, bare: [] "the MPICH family dies of SIGBUS, and Open MPI hangs at times";
    no_dev_shm_is_needed, not under: [mpich5] "MPICH 5.0.2 does not start without it";
    windows_of_many_gigabytes, bare except: [mpich openmpi] "MPICH 4.0.2 finds wrong values, and Open MPI 4.1.4 needs minutes";
    large_count_forms, bare: [] "the MPICH family has wrong results or aborts, and Open MPI has no such forms";
    of_parts_of_the_world, bare except: [mpich openmpi] "wrong bases (MPICH 4.0.2), confused files (Open MPI 4.1.4)";
    of_the_world_in_another_order, bare except: [mpich] "MPICH 4.0.2 returns wrong bases from MPI_Win_allocate (case 51)";
    of_communicators_that_come_and_go, bare except: [mpich openmpi] "wrong bases (MPICH 4.0.2), confused files (Open MPI 4.1.4)";
    errors_reach_the_windows_handler, bare: [openmpi] "no other host checks the range";
    handlers_can_be_called;
    freed_handlers_live_with_their_windows, bare: [openmpi] "no other host checks the range";
    handlers_are_got_back, bare: [openmpi] "no other host checks the range";
    creation_fails_on_all_ranks_alike, bare: [] "hosts return on one rank and wait on the others";
    creation_refuses_bad_arguments, bare except: [openmpi openmpi5] "Open MPI takes any displacement unit";
    creation_without_memory_fails_on_all_ranks_alike, bare: [] "hosts return on one rank and wait on the others";
    creation_errors_go_to_the_communicators_handler, bare: [] "hosts return on one rank and wait on the others";
    creation_errors_are_fatal_by_default;
    memory_is_given_and_taken;
    a_child_has_alloc_mem_memory_of_its_own;
    a_child_has_window_memory_of_its_own, bare: [] "hosts let a child write to its parent's windows";
    children_that_exec_change_nothing;
}
