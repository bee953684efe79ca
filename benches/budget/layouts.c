#include "budget.h"
#include "raw.h"
#include "window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 64 KiB of data in each, both sides of an operation laid out alike. */
enum { TARGET = 1, DOUBLES = 8192, STRIDE = 2, BLOCKS = 4096, SPAN = DOUBLES * STRIDE * 8 };

struct block {
    int at, length;
};

struct layouts {
    MPI_Win win;
    MPI_Datatype datatype;
    double *local;
    struct raw *raw;
    struct block *blocks;
};

static MPI_Datatype committed(MPI_Datatype datatype)
{
    MPI_Type_commit(&datatype);
    return datatype;
}

static MPI_Datatype strided(void)
{
    MPI_Datatype datatype;
    MPI_Type_vector(DOUBLES, 1, STRIDE, MPI_DOUBLE, &datatype);
    return committed(datatype);
}

/* One to three doubles in a block, two on average, with gaps of one to three. */
static struct block *irregular(void)
{
    struct block *blocks = malloc(BLOCKS * sizeof *blocks);
    unsigned seed = 1;
    int at = 0;
    for (int i = 0; i < BLOCKS; i += 2) {
        seed = seed * 1103515245u + 12345u;
        blocks[i] = (struct block){at, 1 + (int)(seed >> 16) % 3};
        blocks[i + 1] = (struct block){at + 4, 4 - blocks[i].length};
        at += 8;
    }
    return blocks;
}

static MPI_Datatype indexed(const struct block *blocks)
{
    int *lengths = malloc(BLOCKS * sizeof(int)), *displacements = malloc(BLOCKS * sizeof(int));
    MPI_Datatype datatype;
    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = blocks[i].length;
        displacements[i] = blocks[i].at;
    }
    MPI_Type_indexed(BLOCKS, lengths, displacements, MPI_DOUBLE, &datatype);
    free(displacements);
    free(lengths);
    return committed(datatype);
}

static void put_and_flush(void *context, long count)
{
    const struct layouts *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Put(at->local, 1, at->datatype, TARGET, 0, 1, at->datatype, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void get_and_flush(void *context, long count)
{
    const struct layouts *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Get(at->local, 1, at->datatype, TARGET, 0, 1, at->datatype, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void accumulate_and_flush(void *context, long count)
{
    const struct layouts *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Accumulate(at->local, 1, at->datatype, TARGET, 0, 1, at->datatype, MPI_SUM, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

/* As a program would write it by hand, layout and all. */
#define BY_HAND(name, to, from, assign)                                                                                     \
    static void name##_strided(void *context, long count)                                                                   \
    {                                                                                                                       \
        const struct layouts *at = context;                                                                                 \
        double *local = at->local, *remote = (double *)at->raw->data;                                                       \
        (void)local, (void)remote;                                                                                          \
        for (long pass = 0; pass < count; pass++) {                                                                         \
            for (int i = 0; i < DOUBLES; i++)                                                                               \
                to[STRIDE * i] assign from[STRIDE * i];                                                                     \
            atomic_thread_fence(memory_order_seq_cst);                                                                      \
            KEEP_PASS();                                                                                                    \
        }                                                                                                                   \
    }                                                                                                                       \
    static void name##_indexed(void *context, long count)                                                                   \
    {                                                                                                                       \
        const struct layouts *at = context;                                                                                 \
        double *local = at->local, *remote = (double *)at->raw->data;                                                       \
        for (long pass = 0; pass < count; pass++) {                                                                         \
            for (int i = 0; i < BLOCKS; i++)                                                                                \
                for (int j = at->blocks[i].at; j < at->blocks[i].at + at->blocks[i].length; j++)                            \
                    to[j] assign from[j];                                                                                   \
            atomic_thread_fence(memory_order_seq_cst);                                                                      \
            KEEP_PASS();                                                                                                    \
        }                                                                                                                   \
    }
BY_HAND(store, remote, local, =)
BY_HAND(load, local, remote, =)
BY_HAND(add, remote, local, +=)

static struct layouts prepare(const struct session *session, const struct window *window, int regular)
{
    struct layouts at = {.win = window->win, .local = private_pages(SPAN), .raw = raw_map(session->rank, SPAN), .blocks = irregular()};
    at.datatype = regular ? strided() : indexed(at.blocks);
    for (int i = 0; i < SPAN / 8; i++)
        at.local[i] = i;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, session->rank, 0, window->win);
    memset(window->memory, 0, SPAN);
    MPI_Win_unlock(session->rank, window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    return at;
}

static void finish(struct layouts *at, struct window *window)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&at->datatype);
    raw_unmap(at->raw, SPAN);
    free(at->local);
    free(at->blocks);
    window_free(window);
}

/* One operation on zeros, here and by hand, leaves the same. */
static void expect(struct layouts *at, const char *name, loop *ours, loop *by_hand)
{
    double *zeros = private_pages(SPAN), *found = private_pages(SPAN), *wanted = private_pages(SPAN);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < SPAN / 8; i++)
            at->local[i] = i;
        MPI_Put(zeros, SPAN, MPI_CHAR, TARGET, 0, SPAN, MPI_CHAR, at->win);
        MPI_Win_flush(TARGET, at->win);
        memset(at->raw->data, 0, SPAN);
        (turn ? by_hand : ours)(at, 1);
        if (turn) {
            memcpy(wanted, at->raw->data, SPAN);
        } else {
            MPI_Get(found, SPAN, MPI_CHAR, TARGET, 0, SPAN, MPI_CHAR, at->win);
            MPI_Win_flush(TARGET, at->win);
        }
        /* What was read, behind what was written. */
        for (int i = 0; i < SPAN / 8; i++)
            (turn ? wanted : found)[i] += at->local[i] * 1e6;
    }
    if (memcmp(found, wanted, SPAN) != 0) {
        fprintf(stderr, "budget: %s: wrong data\n", name);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    free(wanted);
    free(found);
    free(zeros);
}

static void measure(const struct session *session, const char *name, int regular, loop *ours, loop *by_hand)
{
    struct window window = window_create(ALLOCATE, SPAN);
    struct layouts at = prepare(session, &window, regular);
    if (session->rank == 0) {
        struct side sides[] = {{"ours", ours, &at}, {"reference", by_hand, &at}};
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
        alternate(session, ORIGIN_ALONE, name, sides, 2, 0);
        expect(&at, name, ours, by_hand);
        MPI_Win_unlock(TARGET, window.win);
    }
    finish(&at, &window);
}

void put_strided(const struct session *session, const char *name)
{
    measure(session, name, 1, put_and_flush, store_strided);
}

void get_strided(const struct session *session, const char *name)
{
    measure(session, name, 1, get_and_flush, load_strided);
}

void accumulate_strided(const struct session *session, const char *name)
{
    measure(session, name, 1, accumulate_and_flush, add_strided);
}

void put_indexed(const struct session *session, const char *name)
{
    measure(session, name, 0, put_and_flush, store_indexed);
}

void get_indexed(const struct session *session, const char *name)
{
    measure(session, name, 0, get_and_flush, load_indexed);
}

void accumulate_indexed(const struct session *session, const char *name)
{
    measure(session, name, 0, accumulate_and_flush, add_indexed);
}

/* A type's life with one use in it, against the same life without: what taking it apart costs, and its first put. */
static void life_with_a_use(void *context, long count)
{
    struct layouts *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Datatype datatype = at->blocks != NULL ? indexed(at->blocks) : strided();
        MPI_Put(at->local, 1, datatype, TARGET, 0, 1, datatype, at->win);
        MPI_Win_flush(TARGET, at->win);
        MPI_Type_free(&datatype);
        KEEP_PASS();
    }
}

static void life_without_a_use(void *context, long count)
{
    struct layouts *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Datatype datatype = at->blocks != NULL ? indexed(at->blocks) : strided();
        MPI_Type_free(&datatype);
        KEEP_PASS();
    }
}

static void measure_first_use(const struct session *session, const char *name, int regular)
{
    struct window window = window_create(ALLOCATE, SPAN);
    struct layouts at = prepare(session, &window, regular);
    struct block *blocks = at.blocks;
    if (regular)
        at.blocks = NULL;
    if (session->rank == 0) {
        struct side sides[] = {{"ours", life_with_a_use, &at}, {"reference", life_without_a_use, &at}};
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
        alternate(session, ORIGIN_ALONE, name, sides, 2, 0);
        MPI_Win_unlock(TARGET, window.win);
    }
    at.blocks = blocks;
    finish(&at, &window);
}

void first_use_strided(const struct session *session, const char *name)
{
    measure_first_use(session, name, 1);
}

void first_use_indexed(const struct session *session, const char *name)
{
    measure_first_use(session, name, 0);
}

/* A small type that is known already: two doubles. */
static void store_two(void *context, long count)
{
    const struct layouts *at = context;
    double *remote = (double *)at->raw->data;
    for (long i = 0; i < count; i++) {
        remote[0] = at->local[0];
        remote[STRIDE] = at->local[STRIDE];
        atomic_thread_fence(memory_order_seq_cst);
        KEEP_PASS();
    }
}

void known_type(const struct session *session, const char *name)
{
    struct window window = window_create(ALLOCATE, SPAN);
    struct layouts at = prepare(session, &window, 1);
    MPI_Type_free(&at.datatype);
    MPI_Type_vector(2, 1, STRIDE, MPI_DOUBLE, &at.datatype);
    MPI_Type_commit(&at.datatype);
    if (session->rank == 0) {
        struct side sides[] = {{"ours", put_and_flush, &at}, {"reference", store_two, &at}};
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
        alternate(session, ORIGIN_ALONE, name, sides, 2, 0);
        expect(&at, name, put_and_flush, store_two);
        MPI_Win_unlock(TARGET, window.win);
    }
    finish(&at, &window);
}
