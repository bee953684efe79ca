//! Programs in Fortran, through `mpif.h`, `use mpi` and `use mpi_f08`. Their handles, logical values, strings, addresses and callbacks are
//! not C's, and some of their calls pass by every function of C (case 88).

mod common;
use common::{Host, Interface, Side};

fn interfaces(host: Host) -> &'static [Interface] {
    match host {
        // It has no module `mpi_f08` for this compiler.
        Host::Impi => &[Interface::Mpif, Interface::UseMpi],
        _ => &[Interface::Mpif, Interface::UseMpi, Interface::MpiF08],
    }
}

/// Scenarios of a program, one after the other in one job, for each interface.
#[track_caller]
fn pass(on: Side, program: &str, ranks: u32, scenarios: &[&str]) {
    for &interface in interfaces(on.host) {
        scenarios.iter().fold(on.fortran(interface, program).ranks(ranks), |job, &scenario| job.arg(scenario)).passes();
    }
}

fn windows_of_every_flavour(on: Side) {
    pass(on, "windows", 3, &["allocated", "allocated_shared", "created", "created_on_nothing"]);
}

fn bases_may_be_integers(on: Side) {
    // In `mpi_f08` they are of TYPE(C_PTR) only.
    for &interface in interfaces(on.host).iter().filter(|&&interface| interface != Interface::MpiF08) {
        on.fortran(interface, "windows").ranks(3).arg("integer_bases").passes();
    }
}

fn handles_tell_windows_apart(on: Side) {
    pass(on, "windows", 2, &["handles"]);
}

fn groups_names_and_hints(on: Side) {
    pass(on, "windows", 3, &["groups", "names", "hints"]);
}

fn operations_take_fortrans_types(on: Side) {
    pass(on, "operations", 2, &["types", "types_of_a_precision"]);
}

fn epochs(on: Side) {
    pass(on, "operations", 3, &["locks", "flushes"]);
}

fn bottom_is_an_address(on: Side) {
    pass(on, "operations", 2, &["nothing_at_bottom", "absolute_addresses"]);
}

fn sections_of_arrays(on: Side) {
    pass(on, "operations", 2, &["sections"]);
}

fn accumulates_of_fortrans_types(on: Side) {
    pass(on, "accumulates", 2, &["elements"]);
}

fn counters(on: Side) {
    pass(on, "accumulates", 3, &["counters"]);
}

/// Case 57.
fn requests_fill_their_buffers(on: Side) {
    pass(on, "accumulates", 2, &["requests"]);
}

fn posts_and_tests(on: Side) {
    pass(on, "accumulates", 3, &["posts"]);
}

/// Case 22.
fn windows_of_many_gigabytes(on: Side) {
    pass(on, "operations", 2, &["far_away"]);
}

fn predefined_attributes_are_numbers(on: Side) {
    pass(on, "attributes", 3, &["predefined"]);
}

fn attributes_call_fortran_back(on: Side) {
    pass(on, "attributes", 2, &["own_values", "freed_windows_delete", "many", "null_functions", "mistakes"]);
}

fn keyvals_are_used_in_any_order(on: Side) {
    pass(on, "attributes", 2, &["in_any_order"]);
}

fn callbacks_use_their_window(on: Side) {
    pass(on, "attributes", 2, &["callbacks_use_their_window"]);
}

fn callbacks_use_a_window_that_is_freed(on: Side) {
    pass(on, "attributes", 2, &["callbacks_use_a_window_that_is_freed"]);
}

fn callbacks_refuse_to_delete(on: Side) {
    pass(on, "attributes", 2, &["refused_deletions"]);
}

fn extra_state_is_a_value(on: Side) {
    pass(on, "attributes", 2, &["extra_state_is_a_value"]);
}

fn attributes_cross_languages(on: Side) {
    pass(on, "attributes", 2, &["values_of_c_in_fortran", "values_of_fortran_in_c"]);
}

fn errors_call_fortran_back(on: Side) {
    let scenarios = ["called_by_the_program", "called_by_an_error", "freed_while_set", "got_back", "handlers_use_their_window"];
    pass(on, "error_handlers", 2, &scenarios);
}

fn handlers_cross_languages(on: Side) {
    pass(on, "error_handlers", 2, &["across_languages"]);
}

fn errors_of_range(on: Side) {
    pass(on, "error_handlers", 2, &["called_out_of_range", "returned"]);
}

fn errors_of_creation(on: Side) {
    pass(on, "error_handlers", 2, &["called_by_creation"]);
}

/// PyPI's MPICH 5 and Open MPI 5 are built without Fortran.
macro_rules! on_hosts_with_fortran {
    ($($name:ident $(, bare except: [$($except:ident)*] $reason:literal)?;)*) => {
        on_hosts! { $($name, not under: [mpich5 openmpi5] "they have no Fortran" $(, bare except: [$($except)*] $reason)?;)* }
    };
}

on_hosts_with_fortran! {
    windows_of_every_flavour;
    bases_may_be_integers;
    handles_tell_windows_apart;
    groups_names_and_hints;
    operations_take_fortrans_types;
    epochs;
    bottom_is_an_address;
    sections_of_arrays;
    accumulates_of_fortrans_types;
    counters, bare except: [openmpi] "Open MPI 4.1.4 dies of MPI_Compare_and_swap";
    requests_fill_their_buffers;
    posts_and_tests;
    windows_of_many_gigabytes, bare except: [mpich openmpi] "MPICH 4.0.2 finds wrong values, and Open MPI 4.1.4 needs minutes";
    predefined_attributes_are_numbers;
    attributes_call_fortran_back;
    keyvals_are_used_in_any_order, bare except: [mpich impi] "MPICH 4.0.2 and Intel MPI keep a value twice";
    callbacks_use_their_window;
    callbacks_use_a_window_that_is_freed, bare except: [openmpi] "Open MPI 4.1.4 frees the memory first";
    callbacks_refuse_to_delete;
    extra_state_is_a_value, bare except: [mpich impi] "MPICH 4.0.2 and Intel MPI give callbacks the variable as it is by then";
    attributes_cross_languages;
    errors_call_fortran_back;
    handlers_cross_languages;
    errors_of_range, bare except: [mpich impi] "MPICH 4.0.2 and Intel MPI check no range";
    errors_of_creation, bare except: [openmpi] "Open MPI 4.1.4 converts a handle that it has not set";
}
