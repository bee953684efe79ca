#include "budget.h"
#include "raw.h"
#include "window.h"

#include <stdio.h>
#include <stdlib.h>

enum { ORIGIN = 0, TARGET = 1, PAGE = 4096, CHECKED = 100 };

/* `next` goes into the target where it holds `compared`; both live on, from one stretch of passes to the next. */
struct counter {
    int64_t next, compared, result;
};

struct atomics {
    MPI_Win win;
    struct raw *raw;
    struct counter ours, raws;
};

static void fetch_and_op_and_flush(void *context, long count)
{
    struct atomics *at = context;
    at->ours.next = 1;
    for (long i = 0; i < count; i++) {
        MPI_Fetch_and_op(&at->ours.next, &at->ours.result, MPI_INT64_T, TARGET, 0, MPI_SUM, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void compare_and_swap_and_flush(void *context, long count)
{
    struct atomics *at = context;
    for (long i = 0; i < count; i++) {
        at->ours.compared = at->ours.next++;
        MPI_Compare_and_swap(&at->ours.next, &at->ours.compared, &at->ours.result, MPI_INT64_T, TARGET, 0, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

/* Each is a full fence too, so that there is nothing left to flush. */
static void raw_fetch_and_add(void *context, long count)
{
    struct atomics *at = context;
    _Atomic int64_t *remote = (_Atomic int64_t *)at->raw->data;
    at->raws.next = 1;
    for (long i = 0; i < count; i++) {
        at->raws.result = atomic_fetch_add(remote, at->raws.next);
        KEEP_PASS();
    }
}

static void raw_compare_and_swap(void *context, long count)
{
    struct atomics *at = context;
    _Atomic int64_t *remote = (_Atomic int64_t *)at->raw->data;
    for (long i = 0; i < count; i++) {
        at->raws.compared = at->raws.next++;
        int64_t expected = at->raws.compared;
        atomic_compare_exchange_strong(remote, &expected, at->raws.next);
        at->raws.result = expected;
        KEEP_PASS();
    }
}

/* Counted up from 0 so often. The last operation found what the one before had left, and left its own. */
static void expect(const struct atomics *at, const char *name, int64_t last)
{
    int64_t found;
    MPI_Get(&found, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, at->win);
    MPI_Win_flush(TARGET, at->win);
    if (found != last || at->ours.result != last - 1) {
        fprintf(stderr, "budget: %s: wrong count\n", name);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

static void measure(const struct session *session, const char *name, loop *ours, loop *reference)
{
    struct window window = window_create(ALLOCATE, PAGE);
    struct atomics at = {.win = window.win, .raw = raw_map(session->rank, PAGE)};
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, session->rank, 0, window.win);
    *(int64_t *)window.memory = 0;
    MPI_Win_unlock(session->rank, window.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (session->rank == ORIGIN) {
        struct side sides[] = {{"ours", ours, &at}, {"reference", reference, &at}};
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
        alternate(session, ORIGIN_ALONE, name, sides, 2, 0);
        at.ours.next = 0;
        MPI_Put(&at.ours.next, 8, MPI_CHAR, TARGET, 0, 8, MPI_CHAR, window.win);
        MPI_Win_flush(TARGET, window.win);
        ours(&at, CHECKED);
        expect(&at, name, CHECKED);
        MPI_Win_unlock(TARGET, window.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    raw_unmap(at.raw, PAGE);
    window_free(&window);
}

void fetch_and_op8(const struct session *session, const char *name)
{
    measure(session, name, fetch_and_op_and_flush, raw_fetch_and_add);
}

void compare_and_swap8(const struct session *session, const char *name)
{
    measure(session, name, compare_and_swap_and_flush, raw_compare_and_swap);
}
