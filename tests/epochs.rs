//! What epochs order and exclude, and that nobody waits in vain.

mod common;
use common::Side;

fn fence_with_every_assertion(on: Side) {
    on.program("fence").ranks(2).arg("every_assertion").passes();
}

/// Case 29.
fn opening_fence_is_a_barrier(on: Side) {
    on.program("fence").ranks(2).arg("opening_fence_is_a_barrier").passes();
}

fn stores_before_a_fence_are_seen_after_it(on: Side) {
    on.program("fence").ranks(2).arg("stores_before_a_fence_are_seen").passes();
}

fn fences_of_all_to_all(on: Side) {
    on.program("fence").ranks(4).arg("all_to_all").passes();
}

fn fences_of_more_ranks_than_cores(on: Side) {
    on.program("fence").ranks(8).arg("all_to_all").limit(120).passes();
}

fn fences_of_several_windows(on: Side) {
    on.program("fence").ranks(3).arg("several_windows").passes();
}

/// Case 30.
fn fence_beside_a_barrier_of_another_thread(on: Side) {
    on.program("fence").ranks(2).arg("beside_barriers_of_another_thread").passes();
    on.program("fence").ranks(2).arg("in_two_threads").passes();
}

/// Case 25, with get and put.
fn exclusive_locks_lose_nothing(on: Side) {
    on.program("locks").ranks(3).arg("exclusive_locks_lose_nothing").limit(120).passes();
    on.program("locks").ranks(2).arg("the_owner_is_excluded_too").passes();
}

fn shared_locks_see_whole_updates(on: Side) {
    on.program("locks").ranks(4).arg("shared_locks_see_whole_updates").limit(120).passes();
}

fn shared_locks_are_held_together(on: Side) {
    on.program("locks").ranks(3).arg("shared_locks_are_held_together").passes();
}

/// Case 24.
fn lock_all_against_an_exclusive_lock(on: Side) {
    on.program("locks").ranks(2).arg("lock_all_against_exclusive").limit(120).passes();
}

/// Case 26.
fn nocheck_leaves_the_lock_alone(on: Side) {
    on.program("locks").ranks(3).arg("nocheck_leaves_the_lock_alone").passes();
}

/// Case 27.
fn many_exclusive_locks_in_the_same_order(on: Side) {
    on.program("locks").ranks(4).arg("many_locks_in_the_same_order").limit(120).passes();
}

fn locks_of_two_windows(on: Side) {
    on.program("locks").ranks(3).arg("locks_of_two_windows").passes();
}

/// Case 33.
fn flushes_on_two_windows(on: Side) {
    on.program("locks").ranks(2).arg("flushes_on_two_windows").passes();
}

/// Case 32.
fn lock_all_while_the_target_is_in_a_barrier(on: Side) {
    on.program("locks").ranks(3).arg("while_the_target_is_in_a_barrier").passes();
}

/// Passive target is passive: nothing waits for the target to call MPI.
fn progress_while_the_target_computes(on: Side) {
    on.program("locks").ranks(2).arg("while_the_target_computes").passes();
}

/// Case 36.
fn flushed_data_is_there_when_a_message_says_so(on: Side) {
    on.program("locks").ranks(2).arg("flushed_data_is_there_when_a_message_says_so").passes();
}

fn flush_orders_puts_before_gets(on: Side) {
    on.program("locks").ranks(2).arg("flush_orders_puts_before_gets").passes();
}

/// Case 31, with windows that are served.
fn the_target_polls_its_own_window(on: Side) {
    on.program("locks").ranks(2).arg("the_target_polls_its_own_window").passes();
}

fn readers_pass_a_waiting_writer(on: Side) {
    on.program("locks").ranks(3).arg("readers_pass_a_waiting_writer").passes();
}

fn a_waiter_moves_the_message_it_owes(on: Side) {
    on.program("locks").ranks(2).arg("the_waiter_owes_the_holder_a_rendezvous").passes();
    on.program("locks").ranks(2).arg("a_fence_owes_a_rendezvous").passes();
}

/// Case 39.
fn contention_of_more_ranks_than_cores(on: Side) {
    on.program("locks").ranks(8).arg("contention").limit(120).passes();
}

fn every_form_of_flush(on: Side) {
    on.program("locks").ranks(2).arg("every_flush").passes();
}

fn locks_after_a_fence(on: Side) {
    on.program("locks").ranks(2).arg("after_a_fence").passes();
}

fn calls_in_the_wrong_order_are_refused(on: Side) {
    on.program("locks").ranks(2).arg("wrong_order").passes();
}

fn a_window_in_an_epoch_is_not_freed(on: Side) {
    on.program("locks").ranks(2).arg("freed_inside_an_epoch").passes();
}

/// Case 28.
fn threads_with_a_window_each(on: Side) {
    on.program("threads").ranks(2).arg("a_window_each").passes();
    on.program("threads").ranks(2).arg("exclusive_locks_of_several_windows").passes();
}

/// Case 63.
fn threads_in_one_epoch(on: Side) {
    on.program("threads").ranks(2).arg("gets_and_flushes_in_one_epoch").passes();
}

fn a_waiting_thread_keeps_nobody_out(on: Side) {
    on.program("threads").ranks(2).arg("a_waiting_thread_keeps_nobody_out").passes();
}

fn threads_create_and_free(on: Side) {
    on.program("threads").ranks(2).arg("created_in_threads").passes();
}

on_hosts! {
    fence_with_every_assertion;
    opening_fence_is_a_barrier;
    stores_before_a_fence_are_seen_after_it;
    fences_of_all_to_all, bare except: [mpich] "MPICH 4.0.2 spins through its time slices when ranks outnumber cores";
    fences_of_more_ranks_than_cores, bare except: [mpich] "MPICH 4.0.2 spins through its time slices when ranks outnumber cores";
    fences_of_several_windows, bare except: [mpich] "MPICH 4.0.2 spins through its time slices when ranks outnumber cores";
    fence_beside_a_barrier_of_another_thread;
    exclusive_locks_lose_nothing, bare except: [mpich] "MPICH 4.0.2 spins through its time slices when ranks outnumber cores";
    shared_locks_see_whole_updates, bare except: [mpich] "MPICH 4.0.2 spins through its time slices when ranks outnumber cores";
    shared_locks_are_held_together, bare except: [mpich] "MPICH 4.0.2 spins through its time slices when ranks outnumber cores";
    lock_all_against_an_exclusive_lock, bare except: [openmpi] "Open MPI 4.1.4 locks up";
    nocheck_leaves_the_lock_alone, bare except: [mpich mpich5 impi] "the MPICH family hangs";
    many_exclusive_locks_in_the_same_order, bare except: [mpich mpich5] "MPICH hangs";
    locks_of_two_windows, bare except: [mpich] "MPICH 4.0.2 spins through its time slices when ranks outnumber cores";
    flushes_on_two_windows;
    lock_all_while_the_target_is_in_a_barrier, bare except: [mpich] "MPICH 4.0.2 spins through its time slices when ranks outnumber cores";
    progress_while_the_target_computes, bare except: [mpich mpich5 impi] "the MPICH family needs the target's help for a lock";
    flushed_data_is_there_when_a_message_says_so;
    flush_orders_puts_before_gets;
    the_target_polls_its_own_window;
    readers_pass_a_waiting_writer, bare: [openmpi] "all others deadlock";
    a_waiter_moves_the_message_it_owes;
    contention_of_more_ranks_than_cores, bare except: [mpich] "MPICH 4.0.2 spins through its time slices when ranks outnumber cores";
    every_form_of_flush;
    locks_after_a_fence;
    calls_in_the_wrong_order_are_refused, bare: [] "hosts let some pass";
    a_window_in_an_epoch_is_not_freed, bare except: [openmpi openmpi5] "Open MPI frees it";
    threads_with_a_window_each;
    threads_in_one_epoch;
    a_waiting_thread_keeps_nobody_out;
    threads_create_and_free, bare except: [openmpi5 impi] "Open MPI 5.0.11 aborts, and Intel MPI 2021.18 hangs";
}
