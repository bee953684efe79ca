/* A signal every millisecond, with and without SA_RESTART: whatever waits is interrupted, and nothing is lost by it. */
#include "memories.h"
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

enum { CELLS = 4096, BULK = 2048 };

static enum memory chosen;
static volatile sig_atomic_t signals;

static void count_signal(int number) {
    (void)number;
    signals++;
}

static void start_storm(int flags) {
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = flags};
    struct itimerval every = {{0, 1000}, {0, 1000}};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0, "%s", strerror(errno));
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0, "%s", strerror(errno));
}

static void end_storm(void) {
    struct itimerval never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0, "%s", strerror(errno));
    CHECK(signals > 20, "only %d signals came", (int)signals);
}

static int rounds(int usual) {
    return getenv("TRANSOM_TEST_FULL") ? 20 * usual : usual;
}

/* The cell that all ranks count in. */
static long counter(const struct made *made) {
    long value = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, made->window));
    OK(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, made->window));
    OK(MPI_Win_unlock(0, made->window));
    return value;
}

/* Each waits for the lock while another holds it for longer than the time between two signals. */
static void locks(const struct made *made) {
    int count = rounds(60);
    for (int i = 0; i < count; i++) {
        long value = -1;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, made->window));
        OK(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, made->window));
        OK(MPI_Win_flush(0, made->window));
        usleep(1500);
        value++;
        OK(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, made->window));
        OK(MPI_Win_unlock(0, made->window));
    }
    barrier();
    CHECK(counter(made) == (long)count * ranks, "%ld", counter(made));
}

/* Around a ring; one rank in turn is late, so that the others wait. */
static void posts(const struct made *made) {
    MPI_Group world, left, right;
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &from, &left));
    OK(MPI_Group_incl(world, 1, &to, &right));
    for (int i = 0; i < rounds(200); i++) {
        long value = 1000L * rank + i;
        if (i % ranks == rank)
            usleep(2500);
        OK(MPI_Win_post(left, 0, made->window));
        OK(MPI_Win_start(right, 0, made->window));
        OK(MPI_Put(&value, 1, MPI_LONG, to, 5, 1, MPI_LONG, made->window));
        OK(MPI_Win_complete(made->window));
        OK(MPI_Win_wait(made->window));
        CHECK(((long *)made->base)[5] == 1000L * from + i, "round %d: %ld", i, ((long *)made->base)[5]);
    }
    OK(MPI_Group_free(&left));
    OK(MPI_Group_free(&right));
    OK(MPI_Group_free(&world));
}

static void fences(const struct made *made) {
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    OK(MPI_Win_fence(0, made->window));
    for (int i = 0; i < rounds(200); i++) {
        long value = 1000L * rank + i;
        if (i % ranks == rank)
            usleep(2500);
        OK(MPI_Put(&value, 1, MPI_LONG, to, i % 8, 1, MPI_LONG, made->window));
        OK(MPI_Win_fence(0, made->window));
        CHECK(((long *)made->base)[i % 8] == 1000L * from + i, "round %d: %ld", i, ((long *)made->base)[i % 8]);
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, made->window));
}

/* Bulk, elements, counters, swaps and requests, all at the same cells of rank 0. */
static void accumulates(const struct made *made) {
    static long ones[BULK], found[BULK];
    /* Enough for some hundred milliseconds. */
    int count = rounds(is_private(chosen) ? 2000 : 12000);
    long one = 1, old, expected = 0, is;
    MPI_Request request;
    for (int i = 0; i < BULK; i++)
        ones[i] = 1;
    OK(MPI_Win_lock_all(0, made->window));
    for (int i = 0; i < count; i++) {
        OK(MPI_Accumulate(ones, BULK, MPI_LONG, 0, 0, BULK, MPI_LONG, MPI_SUM, made->window));
        OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, made->window));
        OK(MPI_Rget_accumulate(ones, BULK, MPI_LONG, found, BULK, MPI_LONG, 0, 0, BULK, MPI_LONG, MPI_SUM, made->window, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(found[0] > old, "%ld after %ld", found[0], old);
        do {
            expected = found[0];
            is = expected + 1;
            OK(MPI_Compare_and_swap(&is, &expected, &found[0], MPI_LONG, 0, 0, made->window));
            OK(MPI_Win_flush(0, made->window));
        } while (found[0] != expected);
    }
    OK(MPI_Win_unlock_all(made->window));
    barrier();
    CHECK(counter(made) == 4L * count * ranks, "%ld", counter(made));
}

/* Large transfers, which private memory takes several system calls for. */
static void transfers(const struct made *made) {
    static char sent[CELLS * 8], back[CELLS * 8];
    int to = (rank + 1) % ranks;
    MPI_Request requests[2];
    OK(MPI_Win_lock_all(0, made->window));
    double until = seconds() + (getenv("TRANSOM_TEST_FULL") ? 5 : 0.5);
    for (int i = 0; seconds() < until; i++) {
        memset(sent, i + rank, sizeof sent);
        OK(MPI_Rput(sent, sizeof sent, MPI_CHAR, to, 0, sizeof sent, MPI_CHAR, made->window, &requests[0]));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        OK(MPI_Win_flush(to, made->window));
        OK(MPI_Rget(back, sizeof back, MPI_CHAR, to, 0, sizeof back, MPI_CHAR, made->window, &requests[1]));
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        CHECK(memcmp(sent, back, sizeof sent) == 0, "round %d", i);
    }
    OK(MPI_Win_unlock_all(made->window));
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(const struct made *);
    } list[] = {{"locks", locks}, {"posts", posts}, {"fences", fences}, {"accumulates", accumulates}, {"transfers", transfers}};
    start(&argc, &argv);
    chosen = memory_by_name(argc > 2 ? argv[2] : NULL);
    int flags = argc > 3 && strcmp(argv[3], "restart") == 0 ? SA_RESTART : 0, found = 0;
    struct made made = make(chosen, CELLS * 8, 8);
    barrier();
    start_storm(flags);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (strcmp(argv[1], list[i].name) == 0) {
            list[i].run(&made);
            found = 1;
        }
    end_storm();
    CHECK(found, "no scenario is called %s", argv[1]);
    barrier();
    unmake(&made);
    OK(MPI_Finalize());
    return 0;
}
