#include "budget.h"
#include "raw.h"
#include "window.h"

enum { ORIGIN = 0, TARGET = 1, PAGE = 4096 };

struct epochs {
    MPI_Win win;
    uint64_t local;
    struct raw *raw;
    int rank;
};

static void lock_put8_unlock(void *context, long count)
{
    const struct epochs *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, at->win);
        MPI_Put(&at->local, 8, MPI_CHAR, TARGET, 0, 8, MPI_CHAR, at->win);
        MPI_Win_unlock(TARGET, at->win);
        KEEP_PASS();
    }
}

static void raw_lock_store8_unlock(void *context, long count)
{
    const struct epochs *at = context;
    _Atomic uint64_t *remote = (_Atomic uint64_t *)at->raw->data;
    for (long i = 0; i < count; i++) {
        raw_lock(at->raw);
        atomic_store_explicit(remote, at->local, memory_order_relaxed);
        raw_unlock(at->raw);
        KEEP_PASS();
    }
}

static void fences(void *context, long count)
{
    const struct epochs *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Win_fence(0, at->win);
        KEEP_PASS();
    }
}

static void raw_barriers(void *context, long count)
{
    const struct epochs *at = context;
    for (long i = 0; i < count; i++) {
        raw_barrier(at->raw, at->rank);
        KEEP_PASS();
    }
}

void lock_exclusive_put8(const struct session *session, const char *name)
{
    struct window window = window_create(ALLOCATE, PAGE);
    struct epochs at = {.win = window.win, .local = 1, .raw = raw_map(session->rank, PAGE)};
    if (session->rank == ORIGIN) {
        struct side sides[] = {{"ours", lock_put8_unlock, &at}, {"reference", raw_lock_store8_unlock, &at}};
        alternate(session, ORIGIN_ALONE, name, sides, 2, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    raw_unmap(at.raw, PAGE);
    window_free(&window);
}

void fence_two_ranks(const struct session *session, const char *name)
{
    struct window window = window_create(ALLOCATE, PAGE);
    struct epochs at = {.win = window.win, .raw = raw_map(session->rank, PAGE), .rank = session->rank};
    struct side sides[] = {{"ours", fences, &at}, {"reference", raw_barriers, &at}};
    alternate(session, BOTH_RANKS, name, sides, 2, 0);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
    raw_unmap(at.raw, PAGE);
    window_free(&window);
}
