/* A rank is killed while others need it. Survivors say what they saw and when, and leave without MPI_Finalize, which would wait for the
 * dead. */
#include "check.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static MPI_Win window;
static long *own;
static double began;

static void make_window(void) {
    OK(MPI_Win_allocate(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    window_returns_errors(window);
    world_returns_errors();
    barrier();
}

__attribute__((noreturn)) static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Waits until every survivor's report is there. */
static void wait_for_reports(int expected) {
    char path[512];
    double end = seconds() + 30;
    for (int found = 0; found < expected && seconds() < end; sleep_ms(20)) {
        found = 0;
        for (int r = 0; r <= expected; r++) {
            snprintf(path, sizeof path, "%s/report-%d", getenv("TMPDIR"), r);
            found += access(path, F_OK) == 0;
        }
    }
}

/* Says in a file what this rank saw, since a launcher loses the output of jobs that break. */
__attribute__((noreturn)) static void report(const char *call, int code) {
    char path[512], final[512];
    snprintf(path, sizeof path, "%s/unfinished-%d", getenv("TMPDIR"), rank);
    snprintf(final, sizeof final, "%s/report-%d", getenv("TMPDIR"), rank);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL, "%s: %s", path, strerror(errno));
    fprintf(file, "seconds=%d class=%s from %s: %s\n", (int)(seconds() - began + 0.999),
            code == MPI_SUCCESS ? "none" : class_of(code) == MPI_ERR_OTHER ? "other" : "unexpected", call, string_of(code));
    CHECK(fclose(file) == 0 && rename(path, final) == 0, "%s: %s", final, strerror(errno));
    _exit(0);
}

/* Rank 0 dies holding its own lock; others wait for it, exclusively and shared. */
static void holder_of_a_lock(void) {
    make_window();
    if (rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        sleep_ms(300);
        die();
    }
    barrier();
    began = seconds();
    int code = MPI_Win_lock(rank % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, window);
    report("MPI_Win_lock", code);
}

/* Rank 1 dies holding the lock of rank 0, and rank 0 waits for its own memory. */
static void holder_of_anothers_lock(void) {
    make_window();
    if (rank == 1) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
        barrier();
        sleep_ms(300);
        die();
    }
    barrier();
    began = seconds();
    int code = rank == 0 ? MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) : MPI_Win_lock_all(0, window);
    report(rank == 0 ? "MPI_Win_lock" : "MPI_Win_lock_all", code);
}

/* A rank dies in a shared epoch, which a writer waits for. */
static void reader(void) {
    make_window();
    if (rank == 0) {
        OK(MPI_Win_lock_all(0, window));
        barrier();
        sleep_ms(300);
        die();
    }
    barrier();
    began = seconds();
    report("MPI_Win_lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
}

/* A rank dies before a fence that all others have entered. */
static void before_a_fence(void) {
    make_window();
    OK(MPI_Win_fence(0, window));
    if (rank == 0) {
        sleep_ms(300);
        die();
    }
    began = seconds();
    report("MPI_Win_fence", MPI_Win_fence(0, window));
}

/* A rank dies instead of taking part in a creation or in MPI_Win_free. */
static void before_a_creation(void) {
    make_window();
    if (rank == 0) {
        sleep_ms(300);
        die();
    }
    MPI_Win second;
    void *base;
    began = seconds();
    report("MPI_Win_allocate", MPI_Win_allocate(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &second));
}

static void before_a_free(void) {
    make_window();
    if (rank == 0) {
        sleep_ms(300);
        die();
    }
    began = seconds();
    report("MPI_Win_free", MPI_Win_free(&window));
}

/* Once a rank of the window is known to be dead, later waits on it end soon as well, and a window without the dead one still works. */
static void after_the_first_error(void) {
    MPI_Comm living;
    MPI_Win other;
    long *memory, value = 7, back = 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &living));
    OK(MPI_Win_allocate(4096, 8, MPI_INFO_NULL, living, &memory, &other));
    make_window();
    OK(MPI_Win_fence(0, window));
    if (rank == 0) {
        sleep_ms(300);
        die();
    }
    /* Not all at once: one notices the death before another does, and its next fence must not stand in for the dead one's. */
    sleep_ms(30 * rank);
    int code = MPI_Win_fence(0, window);
    CHECK(code != MPI_SUCCESS, "the first fence succeeded");
    began = seconds();
    code = MPI_Win_fence(0, window);
    double second = seconds() - began;
    CHECK(code != MPI_SUCCESS && second < 5, "the second fence: class %d after %.1f s", class_of(code), second);
    int size, own_rank;
    OK(MPI_Comm_size(living, &size));
    OK(MPI_Comm_rank(living, &own_rank));
    int right = (own_rank + 1) % size;
    for (int round = 0; round < 100; round++) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, other));
        OK(MPI_Put(&value, 1, MPI_LONG, right, 1, 1, MPI_LONG, other));
        OK(MPI_Win_flush(right, other));
        OK(MPI_Get(&back, 1, MPI_LONG, right, 1, 1, MPI_LONG, other));
        OK(MPI_Win_unlock(right, other));
        CHECK(back == 7, "%ld", back);
        OK(MPI_Win_fence(0, other));
    }
    report("MPI_Win_fence", code);
}

/* Put and get to a dead rank's memory: they end, with or without an error, and so does the epoch. */
static void target_of_operations(void) {
    make_window();
    OK(MPI_Win_lock_all(0, window));
    barrier();
    if (rank == 0)
        die();
    sleep_ms(500);
    began = seconds();
    long value = 9, back = 0;
    for (int i = 0; i < 1000; i++) {
        MPI_Put(&value, 1, MPI_LONG, 0, i % 512, 1, MPI_LONG, window);
        MPI_Get(&back, 1, MPI_LONG, 0, i % 512, 1, MPI_LONG, window);
        MPI_Win_flush(0, window);
    }
    int code = MPI_Win_unlock_all(window);
    report("MPI_Win_unlock_all", code);
}

/* Post, start, complete and wait between ranks of which rank 0 dies. */
static MPI_Group everybody_else(void) {
    MPI_Group world, others;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_excl(world, 1, &rank, &others));
    return others;
}

static void origin_of_an_exposure(void) {
    make_window();
    MPI_Group others = everybody_else();
    if (rank == 0) {
        sleep_ms(300);
        die();
    }
    OK(MPI_Win_post(others, 0, window));
    began = seconds();
    report("MPI_Win_wait", MPI_Win_wait(window));
}

/* The same by MPI_Win_test, which must end its loop by an error too. */
static void origin_of_a_tested_exposure(void) {
    make_window();
    MPI_Group others = everybody_else();
    if (rank == 0) {
        sleep_ms(300);
        die();
    }
    OK(MPI_Win_post(others, 0, window));
    began = seconds();
    int code = MPI_SUCCESS, flag = 0;
    while (code == MPI_SUCCESS && !flag && seconds() < began + 10)
        code = MPI_Win_test(window, &flag);
    report("MPI_Win_test", code);
}

static void target_that_never_posts(void) {
    make_window();
    MPI_Group others = everybody_else();
    if (rank == 0) {
        sleep_ms(300);
        die();
    }
    OK(MPI_Win_start(others, 0, window));
    began = seconds();
    report("MPI_Win_complete", MPI_Win_complete(window));
}

static void target_of_the_first_operation(void) {
    make_window();
    MPI_Group others = everybody_else();
    if (rank == 0) {
        sleep_ms(300);
        die();
    }
    long value = 1;
    OK(MPI_Win_start(others, 0, window));
    began = seconds();
    int code = rank % 2 ? MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window)
                        : MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window);
    report("the first operation", code);
}

/* Private memory of a rank that is gone: each operation is an error, and the epoch ends. */
static void target_with_private_memory(void) {
    long *memory = calloc(512, 8), value = 9, back = 0;
    OK(MPI_Win_create(memory, 4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    window_returns_errors(window);
    OK(MPI_Win_lock_all(0, window));
    barrier();
    if (rank == 0)
        die();
    sleep_ms(500);
    began = seconds();
    int code = MPI_SUCCESS;
    for (int i = 0; i < 100; i++) {
        FAILS(MPI_ERR_OTHER, MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window));
        FAILS(MPI_ERR_OTHER, MPI_Get(&back, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window));
        FAILS(MPI_ERR_OTHER, MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window));
        code = MPI_Fetch_and_op(&value, &back, MPI_LONG, 0, 0, MPI_SUM, window);
    }
    MPI_Win_unlock_all(window);
    report("MPI_Fetch_and_op", code);
}

int main(int argc, char **argv) {
    static const struct scenario list[] = {SCENARIO(holder_of_a_lock),  SCENARIO(holder_of_anothers_lock),
                                           SCENARIO(reader),            SCENARIO(before_a_fence),
                                           SCENARIO(before_a_creation), SCENARIO(before_a_free),
                                           SCENARIO(after_the_first_error), SCENARIO(target_of_operations),
                                           SCENARIO(origin_of_an_exposure), SCENARIO(origin_of_a_tested_exposure),
                                           SCENARIO(target_that_never_posts), SCENARIO(target_of_the_first_operation),
                                           SCENARIO(target_with_private_memory)};
    /* Hydra 4.0.2 kills all ranks when one dies, also under -disable-auto-cleanup, and when one leaves without MPI_Finalize. So the
     * launcher's child is not the rank but its parent, which keeps the connection to the launcher open until all have reported. */
    pid_t child = fork();
    if (child != 0) {
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        wait_for_reports(atoi(argv[2]));
        return 0;
    }
    start(&argc, &argv);
    choose(list, sizeof list / sizeof list[0], argv[1]);
    return 1;
}
