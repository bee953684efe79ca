/* MPI_Win_fence: what it orders, with every assertion, beside other traffic. */
#include "check.h"
#include <pthread.h>

static int right(void) {
    return (rank + 1) % ranks;
}

static int left(void) {
    return (rank + ranks - 1) % ranks;
}

/* Puts, then gets, then local stores, each between fences, under all assertions that are true of them. */
static void every_assertion(void) {
    long *own;
    MPI_Win window = allocate_cells(8, &own);
    for (int round = 0; round < 400; round++) {
        int before = round & 1 ? MPI_MODE_NOPRECEDE : 0, nostore = round & 2 ? MPI_MODE_NOSTORE : 0;
        int noput = round & 4 ? MPI_MODE_NOPUT : 0, after = round & 8 ? MPI_MODE_NOSUCCEED : 0;
        long value = 1000 * round + rank, back = -1;
        own[1] = 7000 * round + rank;
        OK(MPI_Win_fence(before, window));
        OK(MPI_Put(&value, 1, MPI_LONG, right(), 0, 1, MPI_LONG, window));
        /* Nothing was stored locally since the last fence, and the next epoch has no put to this rank. */
        OK(MPI_Win_fence(nostore | noput, window));
        CHECK(own[0] == 1000 * round + left(), "round %d: %ld", round, own[0]);
        OK(MPI_Get(&back, 1, MPI_LONG, right(), 1, 1, MPI_LONG, window));
        OK(MPI_Win_fence(after | nostore | noput, window));
        CHECK(back == 7000 * round + right(), "round %d: %ld", round, back);
        if (after)
            continue;
        /* An epoch without any operation. */
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | noput, window));
        OK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, window));
    }
    OK(MPI_Win_free(&window));
}

/* A fence without MPI_MODE_NOPRECEDE is a barrier: what a late rank stores before its first fence is overwritten by a put after it. */
static void opening_fence_is_a_barrier(void) {
    long *own, value = 42;
    for (int round = 0; round < 3; round++) {
        MPI_Win window = allocate_cells(1, &own);
        barrier();
        if (rank == 1) {
            sleep_ms(300);
            own[0] = 13;
        }
        OK(MPI_Win_fence(0, window));
        if (rank == 0)
            OK(MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window));
        OK(MPI_Win_fence(0, window));
        CHECK(rank != 1 || own[0] == value, "round %d: %ld", round, own[0]);
        OK(MPI_Win_free(&window));
    }
}

/* A rank's own store before a fence is what others get after it, also when nothing preceded that fence. */
static void stores_before_a_fence_are_seen(void) {
    long *own, back;
    MPI_Win window = allocate_cells(1, &own);
    for (int round = 0; round < 2000; round++) {
        own[0] = round * 100 + rank;
        OK(MPI_Win_fence(round % 2 ? MPI_MODE_NOPRECEDE | MPI_MODE_NOPUT : 0, window));
        OK(MPI_Get(&back, 1, MPI_LONG, right(), 0, 1, MPI_LONG, window));
        OK(MPI_Win_fence(0, window));
        CHECK(back == round * 100 + right(), "round %d: %ld", round, back);
    }
    OK(MPI_Win_free(&window));
}

/* All ranks to all ranks, many times: a fence that lets a rank through early shows as an old value. */
static void all_to_all(void) {
    long *own, sent[64];
    MPI_Win window = allocate_cells(64, &own);
    int rounds = getenv("TRANSOM_TEST_FULL") ? 3000 : 300;
    for (int round = 1; round <= rounds; round++) {
        OK(MPI_Win_fence(0, window));
        for (int target = 0; target < ranks; target++) {
            sent[target] = round * 10000L + rank * 100 + target;
            OK(MPI_Put(&sent[target], 1, MPI_LONG, target, rank, 1, MPI_LONG, window));
        }
        OK(MPI_Win_fence(0, window));
        for (int origin = 0; origin < ranks; origin++)
            CHECK(own[origin] == round * 10000L + origin * 100 + rank, "round %d, from %d: %ld", round, origin, own[origin]);
    }
    OK(MPI_Win_free(&window));
}

/* Fences of several windows on one communicator, in different numbers. */
static void several_windows(void) {
    long *own[4];
    MPI_Win windows[4];
    for (int i = 0; i < 4; i++)
        windows[i] = allocate_cells(4, &own[i]);
    for (int round = 0; round < 300; round++)
        for (int i = 0; i <= round % 4; i++) {
            long value = 10 * round + i;
            OK(MPI_Win_fence(0, windows[i]));
            OK(MPI_Put(&value, 1, MPI_LONG, right(), 2, 1, MPI_LONG, windows[i]));
            OK(MPI_Win_fence(0, windows[i]));
            CHECK(own[i][2] == 10 * round + i, "round %d, window %d: %ld", round, i, own[i][2]);
        }
    for (int i = 3; i >= 0; i--)
        OK(MPI_Win_free(&windows[i]));
}

static volatile int fences_done;

static void *fence_many_times(void *argument) {
    MPI_Win window = *(MPI_Win *)argument;
    long *own;
    int flag;
    OK(MPI_Win_get_attr(window, MPI_WIN_BASE, &own, &flag));
    for (int round = 1; round <= 500; round++) {
        long value = round * 100 + rank;
        OK(MPI_Win_fence(0, window));
        OK(MPI_Put(&value, 1, MPI_LONG, right(), 0, 1, MPI_LONG, window));
        OK(MPI_Win_fence(0, window));
        CHECK(own[0] == round * 100 + left(), "round %d: %ld", round, own[0]);
    }
    fences_done = 1;
    return NULL;
}

/* One thread fences while another uses the parent communicator for barriers and sums: the two do not mix. */
static void beside_barriers_of_another_thread(void) {
    long *own;
    MPI_Win window = allocate_cells(1, &own);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fence_many_times, &window) == 0, "no thread");
    for (int round = 0; round < 500; round++) {
        int sum, one = round + rank;
        barrier();
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == ranks * round + ranks * (ranks - 1) / 2, "round %d: %d", round, sum);
    }
    pthread_join(thread, NULL);
    CHECK(fences_done, "the fencing thread has not finished");
    OK(MPI_Win_free(&window));
}

/* Two threads, each with a window of its own on the same communicator. */
static void in_two_threads(void) {
    long *own[2];
    MPI_Win windows[2] = {allocate_cells(1, &own[0]), allocate_cells(1, &own[1])};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, fence_many_times, &windows[i]) == 0, "no thread");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++)
        OK(MPI_Win_free(&windows[i]));
}

int main(int argc, char **argv) {
    static const struct scenario list[] = {SCENARIO(every_assertion),
                                           SCENARIO(opening_fence_is_a_barrier),
                                           SCENARIO(stores_before_a_fence_are_seen),
                                           SCENARIO(all_to_all),
                                           SCENARIO(several_windows),
                                           SCENARIO(beside_barriers_of_another_thread),
                                           SCENARIO(in_two_threads)};
    int threaded = argc > 1 && strstr(argv[1], "thread") != NULL;
    start_threaded(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    choose(list, sizeof list / sizeof list[0], argv[1]);
    OK(MPI_Finalize());
    return 0;
}
