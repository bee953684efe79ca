#include "budget.h"
#include "raw.h"
#include "sum.h"
#include "window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORIGIN = 0, TARGET = 1, BYTES = 64 * 1024, RANKS_AT_ONCE = 2 };

struct accumulate {
    MPI_Win win;
    MPI_Datatype datatype;
    int count;
    int rank;
    char *local, *result;
    struct raw *raw;
    sum *add;
};

static void accumulate_and_flush(void *context, long count)
{
    const struct accumulate *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Accumulate(at->local, at->count, at->datatype, TARGET, 0, at->count, at->datatype, MPI_SUM, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void get_accumulate_and_flush(void *context, long count)
{
    const struct accumulate *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Get_accumulate(at->local, at->count, at->datatype, at->result, at->count, at->datatype, TARGET, 0, at->count,
                           at->datatype, MPI_SUM, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void add_and_fence(void *context, long count)
{
    const struct accumulate *at = context;
    for (long i = 0; i < count; i++) {
        at->add(at->raw->data, at->local, at->result, BYTES);
        atomic_thread_fence(memory_order_seq_cst);
        KEEP_PASS();
    }
}

static void fill_with_ones(char *memory, MPI_Datatype datatype)
{
    const double one = 1;
    if (datatype == MPI_CHAR)
        memset(memory, 1, BYTES);
    else
        for (size_t i = 0; i < BYTES; i += sizeof one)
            memcpy(memory + i, &one, sizeof one);
}

/* One operation on zeros leaves ones, and brings zeros. */
static void expect(const struct accumulate *at, const char *name, loop *operation, int fetches)
{
    char *zeros = private_pages(BYTES), *found = private_pages(BYTES);
    MPI_Put(zeros, BYTES, MPI_CHAR, TARGET, 0, BYTES, MPI_CHAR, at->win);
    MPI_Win_flush(TARGET, at->win);
    operation((void *)at, 1);
    MPI_Get(found, BYTES, MPI_CHAR, TARGET, 0, BYTES, MPI_CHAR, at->win);
    MPI_Win_flush(TARGET, at->win);
    if (memcmp(found, at->local, BYTES) != 0 || (fetches && memcmp(at->result, zeros, BYTES) != 0)) {
        fprintf(stderr, "budget: %s: wrong data\n", name);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    free(found);
    free(zeros);
}

static struct accumulate prepare(const struct session *session, const struct window *window, MPI_Datatype datatype, sum *add)
{
    struct accumulate at = {.win = window->win, .datatype = datatype, .rank = session->rank, .add = add};
    int size;
    MPI_Type_size(datatype, &size);
    at.count = BYTES / size;
    at.local = private_pages(BYTES);
    at.result = private_pages(BYTES);
    at.raw = raw_map(session->rank, RANKS_AT_ONCE * BYTES);
    fill_with_ones(at.local, datatype);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, session->rank, 0, window->win);
    memset(window->memory, 0, RANKS_AT_ONCE * BYTES);
    MPI_Win_unlock(session->rank, window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    return at;
}

static void finish(struct accumulate *at, struct window *window)
{
    MPI_Barrier(MPI_COMM_WORLD);
    raw_unmap(at->raw, RANKS_AT_ONCE * BYTES);
    free(at->result);
    free(at->local);
    window_free(window);
}

static void measure(const struct session *session, const char *name, MPI_Datatype datatype, loop *operation, int fetches, sum *add)
{
    struct window window = window_create(ALLOCATE, RANKS_AT_ONCE * BYTES);
    struct accumulate at = prepare(session, &window, datatype, add);
    if (session->rank == ORIGIN) {
        struct side sides[] = {{"ours", operation, &at}, {"reference", add_and_fence, &at}};
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
        alternate(session, ORIGIN_ALONE, name, sides, 2, 0);
        expect(&at, name, operation, fetches);
        MPI_Win_unlock(TARGET, window.win);
    }
    finish(&at, &window);
}

void accumulate_chars(const struct session *session, const char *name)
{
    measure(session, name, MPI_CHAR, accumulate_and_flush, 0, add_chars);
}

void accumulate_doubles(const struct session *session, const char *name)
{
    measure(session, name, MPI_DOUBLE, accumulate_and_flush, 0, add_doubles);
}

void get_accumulate_chars(const struct session *session, const char *name)
{
    measure(session, name, MPI_CHAR, get_accumulate_and_flush, 1, fetch_and_add_chars);
}

void get_accumulate_doubles(const struct session *session, const char *name)
{
    measure(session, name, MPI_DOUBLE, get_accumulate_and_flush, 1, fetch_and_add_doubles);
}

/* Both ranks at once, or rank 0 alone with as much as both: the same bytes a pass. Who has nothing to do waits inside MPI. */
static void accumulate_own_range(const struct accumulate *at, long count)
{
    for (long i = 0; i < count; i++) {
        MPI_Accumulate(at->local, at->count, at->datatype, TARGET, (MPI_Aint)at->rank * BYTES, at->count, at->datatype, MPI_SUM,
                       at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void add_own_range(const struct accumulate *at, long count)
{
    for (long i = 0; i < count; i++) {
        at->add(at->raw->data + (size_t)at->rank * BYTES, at->local, at->result, BYTES);
        atomic_thread_fence(memory_order_seq_cst);
        KEEP_PASS();
    }
}

static void together(const struct accumulate *at, long count, void (*work)(const struct accumulate *at, long count))
{
    MPI_Barrier(MPI_COMM_WORLD);
    work(at, count);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void alone(const struct accumulate *at, long count, void (*work)(const struct accumulate *at, long count))
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (at->rank == ORIGIN)
        work(at, RANKS_AT_ONCE * count);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void accumulate_together(void *context, long count)
{
    together(context, count, accumulate_own_range);
}

static void accumulate_alone(void *context, long count)
{
    alone(context, count, accumulate_own_range);
}

static void add_together(void *context, long count)
{
    together(context, count, add_own_range);
}

static void add_alone(void *context, long count)
{
    alone(context, count, add_own_range);
}

static void measure_disjoint(const struct session *session, const char *name, loop *both, loop *one)
{
    struct window window = window_create(ALLOCATE, RANKS_AT_ONCE * BYTES);
    struct accumulate at = prepare(session, &window, MPI_DOUBLE, add_doubles);
    struct side sides[] = {{"ours", both, &at}, {"reference", one, &at}};
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
    alternate(session, BOTH_RANKS, name, sides, 2, RANKS_AT_ONCE * BYTES);
    MPI_Win_unlock(TARGET, window.win);
    finish(&at, &window);
}

void accumulate_disjoint(const struct session *session, const char *name)
{
    measure_disjoint(session, name, accumulate_together, accumulate_alone);
}

/* What two cores of this machine can do at best, and what they do beside other work. */
void accumulate_disjoint_raw(const struct session *session, const char *name)
{
    measure_disjoint(session, name, add_together, add_alone);
}
