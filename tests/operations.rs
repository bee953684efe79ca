//! What the operations move, and what they refuse.

mod common;
use common::Side;

fn every_type_and_count(on: Side) {
    on.program("put_get").ranks(2).arg("every_type").passes();
}

fn every_length_and_alignment(on: Side) {
    on.program("put_get").ranks(2).arg("every_alignment").passes();
}

/// Case 61, for contiguous types.
fn contiguous_types(on: Side) {
    on.program("put_get").ranks(2).arg("contiguous_types").passes();
}

fn displacement_units_of_the_target(on: Side) {
    on.program("put_get").ranks(4).arg("displacement_units").passes();
}

fn a_rank_is_its_own_target(on: Side) {
    on.program("put_get").ranks(2).arg("to_self").passes();
    on.program("put_get").ranks(1).arg("to_self").passes();
}

fn from_window_to_window(on: Side) {
    on.program("put_get").ranks(2).arg("from_window_to_window").passes();
}

/// Case 53, for put and get.
fn nothing_to_do_is_done(on: Side) {
    on.program("put_get").ranks(2).arg("nothing_to_do").passes();
}

fn megabytes_at_odd_offsets(on: Side) {
    on.program("put_get").ranks(2).arg("large").passes();
}

fn many_before_one_flush(on: Side) {
    on.program("put_get").ranks(2).arg("many_before_a_flush").passes();
}

/// Case 64, on one node.
fn many_large_gets_in_one_epoch(on: Side) {
    on.program("put_get").ranks(2).arg("many_large_gets_in_one_epoch").limit(120).passes();
}

/// Case 79, on one node.
fn from_read_only_memory(on: Side) {
    on.program("put_get").ranks(2).arg("from_read_only_memory").passes();
}

fn out_of_range(on: Side) {
    on.program("refused").ranks(2).arg("out_of_range").passes();
}

fn out_of_range_beyond_64_bits(on: Side) {
    on.program("refused").ranks(2).arg("out_of_range_beyond_arithmetic").passes();
}

fn large_counts_out_of_range(on: Side) {
    on.program("refused").ranks(2).arg("large_counts").passes();
}

fn negative_displacements(on: Side) {
    on.program("refused").ranks(2).arg("negative_displacement").passes();
}

/// Case 8, the bounds.
fn the_range_is_the_targets(on: Side) {
    on.program("refused").ranks(4).arg("range_of_the_target").passes();
}

/// Case 35.
fn range_errors_name_rank_displacement_and_size(on: Side) {
    on.program("refused").ranks(2).arg("the_message_says_what_is_wrong").passes();
    on.program("refused").ranks(2).arg("messages_do_not_mix").passes();
}

fn wrong_ranks(on: Side) {
    on.program("refused").ranks(2).arg("wrong_rank").passes();
}

fn wrong_counts_and_types(on: Side) {
    on.program("refused").ranks(2).arg("wrong_count").passes();
    on.program("refused").ranks(2).arg("wrong_type").passes();
}

fn null_buffers_with_bytes_to_move(on: Side) {
    on.program("refused").ranks(2).arg("null_buffer").passes();
}

fn different_amounts_on_both_sides(on: Side) {
    on.program("refused").ranks(2).arg("different_amounts").passes();
}

fn null_windows(on: Side) {
    on.program("refused").ranks(2).arg("null_window").passes();
}

fn windows_that_were_freed(on: Side) {
    on.program("refused").ranks(2).arg("freed_window").passes();
}

fn operations_without_an_epoch(on: Side) {
    on.program("refused").ranks(3).arg("without_an_epoch").passes();
}

fn errors_are_fatal_by_default(on: Side) {
    let outcome = on.program("refused").ranks(2).arg("default_is_fatal").stderr_reported().fails();
    outcome.expect(!outcome.stdout.contains("lived on"), "a rank went on after a fatal error");
    let says_why = |report: &String| report.contains("MPI_ERR_RMA_RANGE") && report.contains("MPI_Put");
    outcome.expect(outcome.reports.iter().any(says_why) || !on.transom, "the message does not say what is wrong");
}

/// `TRANSOM_STATS=1`: operations and bytes by kind and path, over all ranks, said once.
fn statistics_count_operations_and_bytes(on: Side) {
    let outcome = on.program("put_get").ranks(3).arg("counted").env("TRANSOM_STATS", "1").passes();
    // Of each rank: 1,000 puts of 8 bytes and 10 of 800, 500 gets of 4.
    for expected in ["put 3030 operations 48000 bytes direct", "get 1500 operations 6000 bytes direct"] {
        let line = format!("transom: stats: {expected}");
        outcome.expect(outcome.lines_with(&line).count() == 1, &format!("'{line}' is not said once"));
    }
    let silent = on.program("put_get").ranks(2).arg("counted").passes();
    silent.expect(silent.lines_with("transom:").count() == 0, "statistics that nobody asked for");
}

/// Counting is exact with several threads too.
fn statistics_of_threads(on: Side) {
    let outcome = on.program("threads").ranks(2).arg("counted").env("TRANSOM_STATS", "1").passes();
    // Two ranks of four threads, each with 1,000 puts and 1,000 gets of 8 bytes.
    for expected in ["put 8000 operations 64000 bytes direct", "get 8000 operations 64000 bytes direct"] {
        let line = format!("transom: stats: {expected}");
        outcome.expect(outcome.lines_with(&line).count() == 1, &format!("'{line}' is not said once"));
    }
}

on_hosts! {
    every_type_and_count;
    every_length_and_alignment, bare except: [mpich] "MPICH 4.0.2 needs a microsecond for each, and there are many";
    contiguous_types;
    displacement_units_of_the_target, bare except: [mpich] "MPICH 4.0.2 returns wrong bases from MPI_Win_allocate (case 51)";
    a_rank_is_its_own_target;
    from_window_to_window;
    nothing_to_do_is_done;
    megabytes_at_odd_offsets;
    many_before_one_flush, bare except: [mpich] "MPICH 4.0.2 loses puts";
    many_large_gets_in_one_epoch;
    from_read_only_memory;
    out_of_range, bare: [openmpi] "no other host checks the range";
    out_of_range_beyond_64_bits, bare: [] "hosts do not check them";
    large_counts_out_of_range, bare: [] "those hosts that have such forms check no range";
    negative_displacements;
    the_range_is_the_targets, bare: [] "only Open MPI 4.1.4 checks the range, and does not always survive the error";
    range_errors_name_rank_displacement_and_size, bare: [openmpi] "no other host checks the range";
    wrong_ranks, bare except: [openmpi openmpi5] "Open MPI 4.1.4 dies of a flush, and 5.0.11 lets it pass";
    wrong_counts_and_types;
    null_buffers_with_bytes_to_move, bare: [] "hosts die of them";
    different_amounts_on_both_sides, bare: [] "hosts do not check them";
    null_windows;
    windows_that_were_freed, bare: [] "hosts do not know them";
    operations_without_an_epoch, bare: [openmpi] "all others let some pass";
    errors_are_fatal_by_default, bare: [openmpi] "no other host checks the range";
    statistics_count_operations_and_bytes, bare: [] "hosts count nothing";
    statistics_of_threads, bare: [] "hosts count nothing";
}
