#include "budget.h"
#include "raw.h"
#include "sum.h"
#include "window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORIGIN = 0, TARGET = 1, BYTES = 64 * 1024, RANKS_AT_ONCE = 2, DISJOINT_SLICES = 40 };

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
        at->add(at->raw->data, at->local, BYTES);
        atomic_thread_fence(memory_order_seq_cst);
        KEEP_PASS();
    }
}

/* In two loops: one that does both is slower here, where target, origin and result begin at the same place of a page. */
static void copy_add_and_fence(void *context, long count)
{
    const struct accumulate *at = context;
    for (long i = 0; i < count; i++) {
        memcpy(at->result, at->raw->data, BYTES);
        at->add(at->raw->data, at->local, BYTES);
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

enum call { ACCUMULATE, GET_ACCUMULATE };

static void measure(const struct session *session, const char *name, MPI_Datatype datatype, enum call call, sum *add)
{
    int fetches = call == GET_ACCUMULATE;
    loop *ours = fetches ? get_accumulate_and_flush : accumulate_and_flush;
    loop *reference = fetches ? copy_add_and_fence : add_and_fence;
    struct window window = window_create(ALLOCATE, RANKS_AT_ONCE * BYTES);
    struct accumulate at = prepare(session, &window, datatype, add);
    if (session->rank == ORIGIN) {
        struct side sides[] = {{"ours", ours, &at}, {"reference", reference, &at}};
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
        alternate(session, ORIGIN_ALONE, name, sides, 2, 0);
        expect(&at, name, ours, fetches);
        MPI_Win_unlock(TARGET, window.win);
    }
    finish(&at, &window);
}

void accumulate_chars(const struct session *session, const char *name)
{
    measure(session, name, MPI_CHAR, ACCUMULATE, add_chars);
}

void accumulate_doubles(const struct session *session, const char *name)
{
    measure(session, name, MPI_DOUBLE, ACCUMULATE, add_doubles);
}

void get_accumulate_chars(const struct session *session, const char *name)
{
    measure(session, name, MPI_CHAR, GET_ACCUMULATE, add_chars);
}

void get_accumulate_doubles(const struct session *session, const char *name)
{
    measure(session, name, MPI_DOUBLE, GET_ACCUMULATE, add_doubles);
}

static void accumulate_own_range(void *context, long count)
{
    const struct accumulate *at = context;
    MPI_Aint own = (MPI_Aint)at->rank * BYTES;
    for (long i = 0; i < count; i++) {
        MPI_Accumulate(at->local, at->count, at->datatype, TARGET, own, at->count, at->datatype, MPI_SUM, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void add_own_range(void *context, long count)
{
    const struct accumulate *at = context;
    char *own = at->raw->data + (size_t)at->rank * BYTES;
    for (long i = 0; i < count; i++) {
        at->add(own, at->local, BYTES);
        atomic_thread_fence(memory_order_seq_cst);
        KEEP_PASS();
    }
}

/* Both ranks at once on ranges of their own, against rank 0 alone while rank 1 waits inside MPI. What both reach together is the sum
 * of what either measures between two barriers. */
static void measure_disjoint(const struct session *session, const char *name, loop *work)
{
    struct window window = window_create(ALLOCATE, RANKS_AT_ONCE * BYTES);
    struct accumulate at = prepare(session, &window, MPI_DOUBLE, add_doubles);
    struct side side = {"work", work, &at};
    double slices[DISJOINT_SLICES];
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
    long passes = passes_for_a_slice(BOTH_RANKS, &side);
    for (int turn = 0; turn < 2 * session->rounds; turn++) {
        int together = turn % 2;
        for (int i = 0; i < DISJOINT_SLICES; i++) {
            double mine = 0;
            MPI_Barrier(MPI_COMM_WORLD);
            if (together || session->rank == ORIGIN)
                mine = BYTES / timed_pass(session, &side, passes);
            MPI_Reduce(&mine, &slices[i], 1, MPI_DOUBLE, MPI_SUM, ORIGIN, MPI_COMM_WORLD);
        }
        if (session->rank == ORIGIN)
            print_figure(name, together ? "ours" : "reference", "GB/s", median(slices, DISJOINT_SLICES));
    }
    MPI_Win_unlock(TARGET, window.win);
    finish(&at, &window);
}

void accumulate_disjoint(const struct session *session, const char *name)
{
    measure_disjoint(session, name, accumulate_own_range);
}

/* What the cores of this machine give to both at best, and beside other work. */
void accumulate_disjoint_raw(const struct session *session, const char *name)
{
    measure_disjoint(session, name, add_own_range);
}
