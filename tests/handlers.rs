//! Error handlers of windows, those of communicators while a window is made, and what `MPI_Error_string` says.

mod common;
use common::Side;

fn freed_ones_live_with_their_windows(on: Side) {
    on.program("handlers").ranks(2).arg("on_many_windows").passes();
}

fn they_come_and_go(on: Side) {
    on.program("handlers").ranks(2).arg("many_on_one_window").passes();
}

fn they_are_handed_on(on: Side) {
    on.program("handlers").ranks(2).arg("handed_on").passes();
}

fn they_replace_themselves(on: Side) {
    on.program("handlers").ranks(2).arg("replaced_by_itself").passes();
}

fn they_use_their_window(on: Side) {
    on.program("handlers").ranks(2).arg("errors_inside").passes();
    on.program("handlers").ranks(3).arg("transfers_inside").passes();
}

fn they_throw(on: Side) {
    on.program("throws").ranks(2).passes();
}

fn what_is_no_handler_of_windows_is_refused(on: Side) {
    on.program("handlers").ranks(2).arg("wrong_handlers").passes();
}

fn one_handler_on_windows_of_host_and_transom(on: Side) {
    let outcome = on.program("handlers").ranks(2).arg("on_windows_of_host_and_transom").may_decline().passes();
    let declined = outcome.lines_with("transom: 2 of 4 windows were left to the host").count();
    outcome.expect(declined == usize::from(on.transom), "half of the windows are the host's, the others are ours");
}

fn codes_of_the_program_reach_them(on: Side) {
    on.program("handlers").ranks(2).arg("own_codes").passes();
}

fn a_code_of_the_program_can_be_fatal(on: Side) {
    let outcome = on.program("handlers").ranks(2).arg("own_code_is_fatal").stderr_reported().fails();
    outcome.expect(!outcome.stdout.contains("lived on"), "a rank went on after a fatal error");
    let says_why = outcome.reports.iter().any(|report| report.contains("the reactor is on fire"));
    outcome.expect(says_why || !on.transom, "the message is not the program's");
}

fn creation_is_the_communicators(on: Side) {
    on.program("handlers").ranks(2).arg("creation_on_another_communicator").passes();
}

fn creation_is_fatal_where_its_communicator_says_so(on: Side) {
    let outcome = on.program("handlers").ranks(2).arg("creation_is_fatal").stderr_reported().fails();
    outcome.expect(!outcome.stdout.contains("lived on"), "a rank went on after a fatal error");
    let says_why = |report: &String| report.contains("MPI_Win_allocate") && report.contains("-64");
    outcome.expect(outcome.reports.iter().any(says_why) || !on.transom, "the message does not say what is wrong");
}

fn texts_of_transfers(on: Side) {
    on.program("error_texts").ranks(2).arg("of_ranges").passes();
    on.program("error_texts").ranks(2).arg("of_ranks").passes();
}

fn texts_of_epochs(on: Side) {
    on.program("error_texts").ranks(2).arg("of_epochs").passes();
}

fn texts_of_arguments(on: Side) {
    on.program("error_texts").ranks(2).arg("of_arguments").passes();
    on.program("error_texts").ranks(2).arg("of_handles").passes();
}

fn texts_of_creations(on: Side) {
    on.program("error_texts").ranks(2).arg("of_creations").passes();
    on.program("error_texts").ranks(3).arg("of_other_ranks").passes();
}

fn texts_last(on: Side) {
    on.program("error_texts").ranks(2).arg("kept_for_later").passes();
}

fn texts_of_the_host_are_its_own(on: Side) {
    on.program("error_texts").ranks(2).arg("of_the_host").passes();
}

on_hosts! {
    freed_ones_live_with_their_windows, bare except: [mpich5] "MPICH 5.0.2 returns success once a handler was called";
    they_come_and_go, bare except: [mpich5] "MPICH 5.0.2 returns success once a handler was called";
    they_are_handed_on, bare except: [mpich5] "MPICH 5.0.2 returns success once a handler was called";
    they_replace_themselves, bare except: [mpich5] "MPICH 5.0.2 returns success once a handler was called";
    they_use_their_window, bare except: [mpich5] "MPICH 5.0.2 returns success once a handler was called";
    they_throw;
    what_is_no_handler_of_windows_is_refused, bare: [openmpi] "MPICH 4.0.2 calls another handler";
    one_handler_on_windows_of_host_and_transom;
    codes_of_the_program_reach_them, bare except: [mpich5] "MPICH 5.0.2 returns success once a handler was called";
    a_code_of_the_program_can_be_fatal;
    creation_is_the_communicators, bare except: [mpich5] "MPICH 5.0.2 returns success once a handler was called";
    creation_is_fatal_where_its_communicator_says_so;
    texts_of_transfers, bare: [] "MPICH 4.0.2 checks no range, and Open MPI 4.1.4 dies of a flush";
    texts_of_epochs, bare: [mpich] "Open MPI 4.1.4 lets some pass";
    texts_of_arguments, bare: [] "MPICH 4.0.2 has MPI_ERR_ARG for a wrong lock type, and Open MPI 4.1.4 other classes for counts";
    texts_of_creations, bare: [] "hosts return on one rank and wait on the others";
    texts_last, bare: [openmpi] "MPICH 4.0.2 checks no range";
    texts_of_the_host_are_its_own;
}
