#include "budget.h"
#include "raw.h"
#include "window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORIGIN = 0, TARGET = 1, PAGE = 4096, BATCH = 32, KIB = 1024 };

static const uint64_t VALUE = 0x7472616e736f6d21;

/* What the loops work on: `size` bytes a transfer, in pages of their own everywhere. */
struct transfer {
    MPI_Win win;
    char *local;
    struct raw *raw;
    struct across across;
    int size;
};

static void put8_and_flush(void *context, long count)
{
    const struct transfer *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Put(at->local, 8, MPI_CHAR, TARGET, 0, 8, MPI_CHAR, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void get8_and_flush(void *context, long count)
{
    const struct transfer *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Get(at->local, 8, MPI_CHAR, TARGET, 0, 8, MPI_CHAR, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

/* A fence after the store is what lets the target rely on it after any message that follows: the least that a flush can be. */
static void store8_and_fence(void *context, long count)
{
    const struct transfer *at = context;
    _Atomic uint64_t *remote = (_Atomic uint64_t *)at->raw->data;
    for (long i = 0; i < count; i++) {
        atomic_store_explicit(remote, VALUE, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
        KEEP_PASS();
    }
}

/* What writing to memory that is mapped nowhere else costs at least: a system call. */
static void write8_across(void *context, long count)
{
    const struct transfer *at = context;
    for (long i = 0; i < count; i++) {
        write_across(&at->across, at->local, 8);
        KEEP_PASS();
    }
}

static void put_batch_and_flush(void *context, long count)
{
    const struct transfer *at = context;
    for (long i = 0; i < count; i++) {
        for (MPI_Aint offset = 0; offset < (MPI_Aint)BATCH * at->size; offset += at->size)
            MPI_Put(at->local + offset, at->size, MPI_CHAR, TARGET, offset, at->size, MPI_CHAR, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void get_batch_and_flush(void *context, long count)
{
    const struct transfer *at = context;
    for (long i = 0; i < count; i++) {
        for (MPI_Aint offset = 0; offset < (MPI_Aint)BATCH * at->size; offset += at->size)
            MPI_Get(at->local + offset, at->size, MPI_CHAR, TARGET, offset, at->size, MPI_CHAR, at->win);
        MPI_Win_flush(TARGET, at->win);
        KEEP_PASS();
    }
}

static void copy_batch_there(void *context, long count)
{
    const struct transfer *at = context;
    for (long i = 0; i < count; i++) {
        for (size_t offset = 0; offset < (size_t)BATCH * at->size; offset += at->size) {
            memcpy(at->raw->data + offset, at->local + offset, at->size);
            KEEP_PASS();
        }
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void copy_batch_here(void *context, long count)
{
    const struct transfer *at = context;
    for (long i = 0; i < count; i++) {
        for (size_t offset = 0; offset < (size_t)BATCH * at->size; offset += at->size) {
            memcpy(at->local + offset, at->raw->data + offset, at->size);
            KEEP_PASS();
        }
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void fill(char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof VALUE)
        memcpy(memory + i, &VALUE, sizeof VALUE);
}

/* A figure for transfers that did not happen would be a good one. */
static void expect(const char *name, const char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof VALUE) {
        if (memcmp(memory + i, &VALUE, sizeof VALUE) != 0) {
            fprintf(stderr, "budget: %s: wrong data at byte %zu\n", name, i);
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
    }
}

enum direction { TO_TARGET, TO_ORIGIN };

/* Both sides in one run, in one lock epoch, then a look at what arrived. */
static void measure(const struct session *session, const char *name, enum flavour flavour, enum direction direction, int size,
                    int batch, loop *ours, loop *reference)
{
    size_t bytes = (size_t)size * batch;
    size_t space = bytes < PAGE ? PAGE : bytes;
    struct window window = window_create(flavour, space);
    struct raw *raw = raw_map(session->rank, space);
    char *local = private_pages(space);
    struct across across = find_across(session->rank, window.memory);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, session->rank, 0, window.win);
    memset(window.memory, 0, space);
    if (direction == TO_TARGET) {
        fill(local, bytes);
    } else if (session->rank == TARGET) {
        fill(window.memory, bytes);
        fill(raw->data, bytes);
    }
    MPI_Win_unlock(session->rank, window.win);
    MPI_Barrier(MPI_COMM_WORLD);

    struct transfer at = {window.win, local, raw, across, size};
    if (session->rank == ORIGIN) {
        struct side sides[] = {{"ours", ours, &at}, {"reference", reference, &at}};
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
        alternate(session, ORIGIN_ALONE, name, sides, 2, batch > 1 ? (double)bytes : 0);
        MPI_Win_unlock(TARGET, window.win);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the target waits here, inside MPI, as in every benchmark of the kind */

    MPI_Win_lock(MPI_LOCK_SHARED, session->rank, 0, window.win);
    if (direction == TO_TARGET && session->rank == TARGET)
        expect(name, window.memory, bytes);
    if (direction == TO_ORIGIN && session->rank == ORIGIN)
        expect(name, local, bytes);
    MPI_Win_unlock(session->rank, window.win);
    free(local);
    raw_unmap(raw, space);
    window_free(&window);
}

void put8_allocate(const struct session *session, const char *name)
{
    measure(session, name, ALLOCATE, TO_TARGET, 8, 1, put8_and_flush, store8_and_fence);
}

void put8_allocate_shared(const struct session *session, const char *name)
{
    measure(session, name, ALLOCATE_SHARED, TO_TARGET, 8, 1, put8_and_flush, store8_and_fence);
}

void put8_create_mem(const struct session *session, const char *name)
{
    measure(session, name, CREATE_MEM, TO_TARGET, 8, 1, put8_and_flush, store8_and_fence);
}

void put8_create(const struct session *session, const char *name)
{
    measure(session, name, CREATE, TO_TARGET, 8, 1, put8_and_flush, write8_across);
}

void get8_allocate(const struct session *session, const char *name)
{
    measure(session, name, ALLOCATE, TO_ORIGIN, 8, 1, get8_and_flush, store8_and_fence);
}

void get8_allocate_shared(const struct session *session, const char *name)
{
    measure(session, name, ALLOCATE_SHARED, TO_ORIGIN, 8, 1, get8_and_flush, store8_and_fence);
}

void get8_create_mem(const struct session *session, const char *name)
{
    measure(session, name, CREATE_MEM, TO_ORIGIN, 8, 1, get8_and_flush, store8_and_fence);
}

void put_bandwidth_64kib(const struct session *session, const char *name)
{
    measure(session, name, ALLOCATE, TO_TARGET, 64 * KIB, BATCH, put_batch_and_flush, copy_batch_there);
}

void put_bandwidth_1mib(const struct session *session, const char *name)
{
    measure(session, name, ALLOCATE, TO_TARGET, KIB * KIB, BATCH, put_batch_and_flush, copy_batch_there);
}

void get_bandwidth_64kib(const struct session *session, const char *name)
{
    measure(session, name, ALLOCATE, TO_ORIGIN, 64 * KIB, BATCH, get_batch_and_flush, copy_batch_here);
}

void get_bandwidth_1mib(const struct session *session, const char *name)
{
    measure(session, name, ALLOCATE, TO_ORIGIN, KIB * KIB, BATCH, get_batch_and_flush, copy_batch_here);
}
