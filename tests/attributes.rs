//! Attributes of the program's own on windows, with keyvals and callbacks; names; groups.

mod common;
use common::Side;

fn values_come_back(on: Side) {
    on.program("keyvals").ranks(2).arg("values_come_back").passes();
}

fn callbacks_come_when_a_value_goes(on: Side) {
    on.program("keyvals").ranks(2).arg("replaced_and_deleted").passes();
    on.program("keyvals").ranks(2).arg("deleted_at_free").passes();
}

fn the_last_one_set_goes_first(on: Side) {
    on.program("keyvals").ranks(2).arg("the_last_one_set_goes_first").passes();
}

fn freed_keyvals_live_with_their_attributes(on: Side) {
    on.program("keyvals").ranks(2).arg("freed_with_attributes").passes();
    on.program("keyvals").ranks(2).arg("numbers_in_use_are_not_given_out").passes();
}

fn keyvals_come_and_go(on: Side) {
    on.program("keyvals").ranks(2).arg("many_rounds").passes();
}

fn what_was_never_set_is_not_there(on: Side) {
    on.program("keyvals").ranks(2).arg("never_set").passes();
}

fn what_is_no_keyval_of_windows_is_refused(on: Side) {
    on.program("keyvals").ranks(2).arg("not_keyvals").passes();
    on.program("keyvals").ranks(2).arg("made_up_numbers").passes();
}

fn predefined_ones_are_fixed(on: Side) {
    on.program("keyvals").ranks(2).arg("predefined_ones_are_fixed").passes();
}

fn predefined_callbacks(on: Side) {
    on.program("keyvals").ranks(2).arg("predefined_functions").passes();
}

fn ten_thousand_on_a_thousand_windows(on: Side) {
    on.program("keyvals").ranks(2).arg("by_the_thousand").passes();
}

fn one_keyval_on_windows_of_host_and_transom(on: Side) {
    let outcome = on.program("keyvals").ranks(2).arg("on_windows_of_host_and_transom").may_decline().passes();
    let declined = outcome.lines_with("transom: 1 of 2 windows were left to the host").count();
    outcome.expect(declined == usize::from(on.transom), "one window is the host's, the other is ours");
}

fn callbacks_ask_their_window(on: Side) {
    on.program("callbacks").ranks(2).arg("ask_at_deletion").passes();
    on.program("callbacks").ranks(2).arg("ask_at_free").passes();
}

fn callbacks_find_the_memory_at_free(on: Side) {
    on.program("callbacks").ranks(3).arg("memory_at_free").passes();
}

fn callbacks_use_other_attributes(on: Side) {
    on.program("callbacks").ranks(2).arg("another_attribute").passes();
}

fn callbacks_change_what_is_deleted_at_free(on: Side) {
    on.program("callbacks").ranks(2).arg("set_at_free").passes();
    on.program("callbacks").ranks(2).arg("siblings_at_free").passes();
}

fn callbacks_transfer(on: Side) {
    on.program("callbacks").ranks(3).arg("transfer_at_deletion").passes();
}

fn callbacks_transfer_at_free(on: Side) {
    on.program("callbacks").ranks(3).arg("transfer_at_free").passes();
}

fn callbacks_free_other_windows(on: Side) {
    on.program("callbacks").ranks(2).arg("another_window_is_freed").passes();
    on.program("callbacks").ranks(2).arg("windows_freed_in_a_chain").passes();
}

fn callbacks_free_their_keyval(on: Side) {
    on.program("callbacks").ranks(2).arg("own_keyval_is_freed").passes();
}

fn callbacks_fail(on: Side) {
    on.program("callbacks").ranks(2).arg("failure_at_deletion").passes();
}

fn failures_of_callbacks_reach_the_handler(on: Side) {
    on.program("callbacks").ranks(2).arg("failure_reaches_the_handler").passes();
}

fn callbacks_fail_with_codes_of_the_program(on: Side) {
    on.program("callbacks").ranks(2).arg("failure_with_own_code").passes();
}

fn failures_of_callbacks_are_fatal_by_default(on: Side) {
    let outcome = on.program("callbacks").ranks(2).arg("failure_is_fatal").stderr_reported().fails();
    outcome.expect(!outcome.stdout.contains("lived on"), "a rank went on after a fatal error");
    let says_why = |report: &String| report.contains("MPI_Win_delete_attr") && report.contains("the cache is busy");
    outcome.expect(outcome.reports.iter().any(says_why) || !on.transom, "the message does not say what is wrong");
}

fn callbacks_fail_at_free(on: Side) {
    on.program("callbacks").ranks(3).arg("failure_at_free").passes();
}

fn threads_share_a_window(on: Side) {
    on.program("attribute_threads").ranks(2).arg("attributes_of_one_window").passes();
}

fn threads_share_an_attribute(on: Side) {
    on.program("attribute_threads").ranks(2).arg("the_same_attribute").passes();
}

fn threads_make_keyvals(on: Side) {
    on.program("attribute_threads").ranks(2).arg("keyvals_come_and_go").passes();
}

fn names_are_empty_at_first(on: Side) {
    on.program("names").ranks(2).arg("none_at_first").passes();
}

fn names_are_kept(on: Side) {
    for scenario in ["set_and_got", "kept_as_a_copy", "in_utf_8", "of_many_windows"] {
        on.program("names").ranks(2).arg(scenario).passes();
    }
}

fn long_names_are_cut_off(on: Side) {
    on.program("names").ranks(2).arg("cut_off").passes();
}

fn groups_are_the_communicators(on: Side) {
    on.program("groups").ranks(3).arg("of_the_world").passes();
    on.program("groups").ranks(4).arg("of_other_communicators").passes();
}

fn groups_outlive_communicator_and_window(on: Side) {
    on.program("groups").ranks(3).arg("outlives_what_it_came_from").passes();
    on.program("groups").ranks(2).arg("got_many_times").passes();
}

on_hosts! {
    values_come_back;
    callbacks_come_when_a_value_goes;
    the_last_one_set_goes_first, bare: [openmpi] "MPICH 4.0.2 goes by the keyvals' numbers";
    freed_keyvals_live_with_their_attributes;
    keyvals_come_and_go;
    what_was_never_set_is_not_there;
    what_is_no_keyval_of_windows_is_refused, bare: [] "MPICH 4.0.2 reads a freed keyval, and Open MPI 4.1.4 has MPI_ERR_OTHER";
    predefined_ones_are_fixed, bare: [mpich] "Open MPI 4.1.4 has MPI_ERR_OTHER";
    predefined_callbacks;
    ten_thousand_on_a_thousand_windows;
    one_keyval_on_windows_of_host_and_transom;
    callbacks_ask_their_window;
    callbacks_find_the_memory_at_free, bare: [mpich] "Open MPI 4.1.4 has unmapped it by then";
    callbacks_use_other_attributes;
    callbacks_change_what_is_deleted_at_free, bare: [] "MPICH 4.0.2 aborts, and Open MPI 4.1.4 loses what is set";
    callbacks_transfer;
    callbacks_transfer_at_free, bare: [mpich] "Open MPI 4.1.4 has taken the window apart by then";
    callbacks_free_other_windows;
    callbacks_free_their_keyval;
    callbacks_fail;
    failures_of_callbacks_reach_the_handler, bare except: [mpich5] "MPICH 5.0.2 returns success once a handler was called";
    callbacks_fail_with_codes_of_the_program, bare: [mpich] "Open MPI 4.1.4 makes MPI_ERR_OTHER of them";
    failures_of_callbacks_are_fatal_by_default;
    callbacks_fail_at_free, bare: [] "MPICH 4.0.2 returns what the last callback returned, and Open MPI 4.1.4 nothing";
    threads_share_a_window, bare: [openmpi] "MPICH 4.0.2 loses deletions";
    threads_share_an_attribute, bare: [] "hosts delete a value twice";
    threads_make_keyvals, bare: [openmpi] "MPICH 4.0.2 fails now and then";
    names_are_empty_at_first, bare: [mpich] "Open MPI 4.1.4 names them MPI WINDOW and a number";
    names_are_kept;
    long_names_are_cut_off;
    groups_are_the_communicators, bare: [mpich] "Open MPI 4.1.4 makes no window on some communicators of one process";
    groups_outlive_communicator_and_window;
}
