//! Programs in C++: error handlers that throw, as they may under the hosts themselves, and the C++ bindings of MPI-2 where a host has them.

mod common;
use common::Side;

fn exceptions_pass_through_the_call(on: Side) {
    for scenario in ["from_the_programs_call", "from_operations", "from_locks", "from_attributes", "from_creation"] {
        on.program("exceptions").ranks(2).arg(scenario).passes();
    }
}

fn exceptions_say_what_is_out_of_range(on: Side) {
    on.program("exceptions").ranks(2).arg("out_of_range").passes();
}

fn exceptions_leave_epochs_as_they_are(on: Side) {
    on.program("exceptions").ranks(2).arg("from_epochs_that_do_not_fit").passes();
}

fn exceptions_pass_locks_that_end(on: Side) {
    on.program("exceptions").ranks(3).arg("through_a_lock").passes();
}

fn exceptions_of_a_thread_stop_no_other(on: Side) {
    on.program("exceptions").ranks(2).arg("in_a_thread").passes();
}

fn bindings_call_back_with_their_own_windows(on: Side) {
    on.program("bindings").ranks(2).passes();
}

on_hosts! {
    bindings_call_back_with_their_own_windows, not under: [openmpi mpich5 openmpi5] "they are built without C++ bindings";
    exceptions_pass_through_the_call;
    exceptions_say_what_is_out_of_range, bare: [openmpi] "others check no range";
    exceptions_leave_epochs_as_they_are, bare: [] "hosts notice only some of these mistakes";
    exceptions_pass_locks_that_end;
    exceptions_of_a_thread_stop_no_other, bare except: [mpich mpich5 impi] "MPICH and Intel MPI keep their own lock, and abort or wait for ever";
}
