//! Info hints of windows: what is in use can be read, and no value does harm.

mod common;
use common::Side;

/// Case 13.
fn defaults_are_reported(on: Side) {
    on.program("hints").ranks(2).arg("defaults").passes();
}

fn given_values_come_back(on: Side) {
    on.program("hints").ranks(2).arg("given_at_creation").passes();
}

fn odd_values_count_as_none(on: Side) {
    on.program("hints").ranks(2).arg("odd_at_creation").passes();
    on.program("hints").ranks(2).arg("odd_later").passes();
}

fn blanks_and_capitals_are_one_or_the_other(on: Side) {
    on.program("hints").ranks(2).arg("blanks_and_capitals").passes();
}

fn unknown_keys_are_not_reported(on: Side) {
    on.program("hints").ranks(2).arg("unknown_keys").passes();
}

fn long_keys_and_values_do_no_harm(on: Side) {
    on.program("hints").ranks(2).arg("long_ones").passes();
}

fn they_change_later(on: Side) {
    on.program("hints").ranks(2).arg("set_later").passes();
}

fn what_is_settled_at_creation_stays(on: Side) {
    on.program("hints").ranks(2).arg("settled_at_creation").passes();
}

fn no_info_changes_nothing(on: Side) {
    on.program("hints").ranks(2).arg("no_info_later").passes();
}

fn ranks_may_differ(on: Side) {
    on.program("hints").ranks(3).arg("different_on_ranks").passes();
}

fn no_result_depends_on_them(on: Side) {
    on.program("hints").ranks(3).arg("promises_that_are_not_kept").passes();
}

fn what_is_got_is_the_programs_own(on: Side) {
    on.program("hints").ranks(2).arg("got_many_times").passes();
}

/// Case 15, the key.
fn alignment_is_honoured(on: Side) {
    on.program("alignment").ranks(2).arg("honoured").passes();
    on.program("alignment").ranks(3).arg("different_on_ranks").passes();
}

fn alignment_without_a_hint_is_reported(on: Side) {
    on.program("alignment").ranks(2).arg("without_a_hint").passes();
}

fn odd_alignments_count_as_none(on: Side) {
    on.program("alignment").ranks(2).arg("odd").passes();
}

on_hosts! {
    defaults_are_reported, bare: [] "MPICH 4.0.2 and Open MPI 4.1.4 have other hints";
    given_values_come_back, bare: [mpich] "Open MPI 4.1.4 has other hints";
    odd_values_count_as_none, bare: [] "MPICH 4.0.2 refuses some, and Open MPI 4.1.4 reports them";
    blanks_and_capitals_are_one_or_the_other, bare: [mpich] "Open MPI 4.1.4 reports them as they are";
    unknown_keys_are_not_reported, bare: [mpich] "Open MPI 4.1.4 reports them";
    long_keys_and_values_do_no_harm, bare: [] "MPICH 4.0.2 aborts, and Open MPI 4.1.4 makes no window";
    they_change_later, bare: [mpich] "Open MPI 4.1.4 has other hints";
    what_is_settled_at_creation_stays, bare: [] "MPICH 4.0.2 reports what is set later, and Open MPI 4.1.4 has other hints";
    no_info_changes_nothing, bare: [] "MPICH 4.0.2 ends the program, and Open MPI 4.1.4 has other hints";
    ranks_may_differ, bare: [] "MPICH 4.0.2 dies at times, and Open MPI 4.1.4 refuses locks";
    no_result_depends_on_them, bare: [mpich] "Open MPI 4.1.4 refuses locks";
    what_is_got_is_the_programs_own, bare: [mpich] "Open MPI 4.1.4 has other hints";
    alignment_is_honoured, bare: [] "hosts do not know the key";
    alignment_without_a_hint_is_reported, bare: [] "hosts do not know the key";
    odd_alignments_count_as_none, bare: [] "hosts do not know the key";
}
