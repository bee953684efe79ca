/* Several threads in one-sided calls at once: on windows of their own and on the same. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4 };

static MPI_Win windows[THREADS];
static long *memory[THREADS];

/* What each thread does; `number` is its own. */
static void (*work)(int number);

static void *begin(void *argument) {
    work((int)(intptr_t)argument);
    return NULL;
}

static void in_threads(int count, void (*what)(int)) {
    pthread_t threads[THREADS];
    work = what;
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, begin, (void *)(intptr_t)i) == 0, "no thread");
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void make_windows(int count) {
    for (int i = 0; i < count; i++) {
        OK(MPI_Win_allocate(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &windows[i]));
        memset(memory[i], 0, 4096);
    }
    barrier();
}

static void free_windows(int count) {
    barrier();
    for (int i = 0; i < count; i++)
        OK(MPI_Win_free(&windows[i]));
}

static int right(void) {
    return (rank + 1) % ranks;
}

static void lock_all_rounds(int number) {
    for (long round = 1; round <= 300; round++) {
        long back = -1;
        OK(MPI_Win_lock_all(round % 2 ? 0 : MPI_MODE_NOCHECK, windows[number]));
        OK(MPI_Put(&round, 1, MPI_LONG, right(), 10 + rank, 1, MPI_LONG, windows[number]));
        OK(MPI_Win_flush(right(), windows[number]));
        OK(MPI_Get(&back, 1, MPI_LONG, right(), 10 + rank, 1, MPI_LONG, windows[number]));
        OK(MPI_Win_unlock_all(windows[number]));
        CHECK(back == round, "thread %d: %ld of %ld", number, back, round);
    }
}

/* Every thread has a window of its own and opens and ends epochs on it. */
static void a_window_each(void) {
    make_windows(THREADS);
    in_threads(THREADS, lock_all_rounds);
    free_windows(THREADS);
}

static void increments(int number) {
    for (int round = 0; round < 200; round++)
        for (int target = 0; target < ranks; target++) {
            long value;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, windows[number]));
            OK(MPI_Get(&value, 1, MPI_LONG, target, 5, 1, MPI_LONG, windows[number]));
            OK(MPI_Win_flush(target, windows[number]));
            value++;
            OK(MPI_Put(&value, 1, MPI_LONG, target, 5, 1, MPI_LONG, windows[number]));
            OK(MPI_Win_unlock(target, windows[number]));
        }
}

/* Exclusive locks of different windows, from several threads of several ranks: exact sums on each. */
static void exclusive_locks_of_several_windows(void) {
    make_windows(THREADS);
    in_threads(THREADS, increments);
    barrier();
    for (int i = 0; i < THREADS; i++) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, windows[i]));
        CHECK(memory[i][5] == 200L * ranks, "window %d: %ld", i, memory[i][5]);
        OK(MPI_Win_unlock(rank, windows[i]));
    }
    free_windows(THREADS);
}

static int shared_windows;

static void gets_and_flushes(int number) {
    MPI_Win window = windows[number % shared_windows];
    for (int round = 0; round < 1000; round++) {
        long back = -1, at = 20 + number;
        OK(MPI_Get(&back, 1, MPI_LONG, right(), at, 1, MPI_LONG, window));
        if (round % 2)
            OK(MPI_Win_flush_all(window));
        else
            OK(MPI_Win_flush(right(), window));
        CHECK(back == 1000 * right() + at, "thread %d, round %d: %ld", number, round, back);
    }
}

/* Threads in the same epoch of one window, then of two. */
static void gets_and_flushes_in_one_epoch(void) {
    for (shared_windows = 1; shared_windows <= 2; shared_windows++) {
        make_windows(shared_windows);
        for (int i = 0; i < shared_windows; i++)
            for (int at = 0; at < 64; at++)
                memory[i][at] = 1000 * rank + at;
        barrier();
        for (int i = 0; i < shared_windows; i++)
            OK(MPI_Win_lock_all(0, windows[i]));
        in_threads(THREADS, gets_and_flushes);
        for (int i = 0; i < shared_windows; i++)
            OK(MPI_Win_unlock_all(windows[i]));
        free_windows(shared_windows);
    }
}

static volatile int second_thread_done;

/* Thread 0 of rank 1 waits for a lock that rank 0 holds until thread 1 of rank 1 has done its work: a wait that kept other threads out of
 * MPI would never end. */
static void one_waits_one_works(int number) {
    if (rank == 1 && number == 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, windows[0]));
        CHECK(second_thread_done, "the lock was given while it was held");
        OK(MPI_Win_unlock(0, windows[0]));
    } else if (rank == 1) {
        sleep_ms(50);
        lock_all_rounds(1);
        second_thread_done = 1;
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD));
    } else if (rank == 0 && number == 0) {
        OK(MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Win_unlock(0, windows[0]));
    }
}

static void a_waiting_thread_keeps_nobody_out(void) {
    make_windows(2);
    if (rank == 0)
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, windows[0]));
    barrier();
    in_threads(2, one_waits_one_works);
    free_windows(2);
}

static MPI_Comm own_comm[THREADS];

static void create_and_free(int number) {
    for (int round = 0; round < 100; round++) {
        MPI_Win window;
        long *own, value = 10 * round + number;
        if (round % 2)
            OK(MPI_Win_allocate(512, 8, MPI_INFO_NULL, own_comm[number], &own, &window));
        else
            OK(MPI_Win_allocate_shared(512, 8, MPI_INFO_NULL, own_comm[number], &own, &window));
        OK(MPI_Win_fence(0, window));
        OK(MPI_Put(&value, 1, MPI_LONG, right(), 3, 1, MPI_LONG, window));
        OK(MPI_Win_fence(0, window));
        CHECK(own[3] == value, "thread %d, round %d: %ld", number, round, own[3]);
        OK(MPI_Win_free(&window));
    }
}

/* Threads make and free windows at the same time, each on a communicator of its own. */
static void created_in_threads(void) {
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &own_comm[i]));
    in_threads(THREADS, create_and_free);
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_free(&own_comm[i]));
}

static void counted_puts_and_gets(int number) {
    for (int round = 0; round < 1000; round++) {
        long value = round;
        OK(MPI_Put(&value, 1, MPI_LONG, right(), number, 1, MPI_LONG, windows[0]));
        OK(MPI_Get(&value, 1, MPI_LONG, right(), 100 + number, 1, MPI_LONG, windows[0]));
    }
}

/* For the statistics: 1,000 puts and as many gets of 8 bytes by each of the threads. */
static void counted(void) {
    make_windows(1);
    OK(MPI_Win_lock_all(0, windows[0]));
    in_threads(THREADS, counted_puts_and_gets);
    OK(MPI_Win_unlock_all(windows[0]));
    free_windows(1);
}

MAIN_THREADED(MPI_THREAD_MULTIPLE, SCENARIO(a_window_each), SCENARIO(exclusive_locks_of_several_windows),
              SCENARIO(gets_and_flushes_in_one_epoch), SCENARIO(a_waiting_thread_keeps_nobody_out), SCENARIO(created_in_threads),
              SCENARIO(counted))
