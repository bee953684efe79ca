#include "budget.h"
#include "raw.h"
#include "window.h"

enum { ORIGIN = 0, TARGET = 1, PAGE = 4096 };
enum { COMPUTE_NANOSECONDS = 100 * 1000 * 1000, SETTLE_NANOSECONDS = 2 * 1000 * 1000 };

struct passive {
    MPI_Win win;
    int64_t local, result;
};

static void put8_and_flush(void *context, long count)
{
    const struct passive *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Put(&at->local, 8, MPI_CHAR, TARGET, 0, 8, MPI_CHAR, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void fetch_and_op8_and_flush(void *context, long count)
{
    struct passive *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Fetch_and_op(&at->local, &at->result, MPI_INT64_T, TARGET, 0, MPI_SUM, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void accumulate8_and_flush(void *context, long count)
{
    const struct passive *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Accumulate(&at->local, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, MPI_SUM, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void compute(int64_t nanoseconds)
{
    for (int64_t start = nanoseconds_now(); nanoseconds_now() - start < nanoseconds;)
        raw_pause();
}

/* Ours: the target computes, with no MPI call. Reference: it waits inside MPI, where it can help. A host that needs that help
 * lets the origin wait for the end of the computation. */
static void measure(const struct session *session, const char *name, loop *operation)
{
    struct window window = window_create(ALLOCATE, PAGE);
    struct passive at = {.win = window.win, .local = 1};
    struct side side = {"operation", operation, &at};
    long passes = 0;
    if (session->rank == ORIGIN) {
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
        passes = passes_for_a_round(ORIGIN_ALONE, &side);
    }
    for (int turn = 0; turn < 2 * session->rounds; turn++) {
        int computes = turn % 2;
        MPI_Barrier(MPI_COMM_WORLD);
        if (session->rank == TARGET && computes) {
            compute(COMPUTE_NANOSECONDS);
        } else if (session->rank == ORIGIN) {
            compute(SETTLE_NANOSECONDS); /* until the target has left the barrier */
            print_figure(name, computes ? "ours" : "reference", "ns", timed_pass(session, &side, passes));
        }
    }
    if (session->rank == ORIGIN)
        MPI_Win_unlock(TARGET, window.win);
    MPI_Barrier(MPI_COMM_WORLD);
    window_free(&window);
}

void passive_put(const struct session *session, const char *name)
{
    measure(session, name, put8_and_flush);
}

void passive_fetch_and_op(const struct session *session, const char *name)
{
    measure(session, name, fetch_and_op8_and_flush);
}

void passive_accumulate(const struct session *session, const char *name)
{
    measure(session, name, accumulate8_and_flush);
}
