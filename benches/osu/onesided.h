/*
 * What the one-sided benchmark programs share: the window under test, its epochs, and the loop that is timed.
 *
 * Every program runs on two ranks. Rank 0 holds the clock and prints the table; options, columns and the meaning of each
 * figure are those that users of the OSU one-sided benchmarks know.
 */
#ifndef TRANSOM_BENCHES_ONESIDED_H
#define TRANSOM_BENCHES_ONESIDED_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flavour { ALLOCATE, CREATE, CREATE_MEM, DYNAMIC };

enum sync { LOCK, FLUSH, FLUSH_LOCAL, LOCK_ALL, PSCW, FENCE };

enum measure { LATENCY, BANDWIDTH };

/* Who is origin in active-target epochs. In passive-target epochs it is rank 0 alone. */
enum pattern {
    ONE_WAY,   /* rank 0 */
    BOTH_WAYS, /* both ranks, in the same epoch */
    PING_PONG, /* rank 0, then rank 1: half of the time of both is printed */
};

/* What one operation leaves behind, by which the data are checked. */
enum effect {
    COPIED_THERE,      /* the target has the origin's bytes */
    COPIED_HERE,       /* the origin has the target's */
    ADDED,             /* the origin's elements were added to the target's */
    FETCHED_AND_ADDED, /* and `result` has what the target had before */
    SWAPPED,           /* the target counts the swaps, and `result` has the count before the last */
};

/* One size of one run, as a rank sees it. */
struct test {
    int rank, peer;
    enum sync sync;
    int size;            /* bytes of one transfer */
    char *local;         /* origin buffer, `batch` transfers long */
    char *result;        /* what a fetching operation brings, likewise */
    char *memory;        /* this rank's part of the window, likewise */
    MPI_Win win;
    MPI_Aint peer_base;  /* displacement at which the peer's memory begins */
    MPI_Group peer_group;
};

/* What makes one program different from the others. */
struct benchmark {
    const char *program;
    const char *function;
    enum measure measure;
    enum pattern pattern;
    enum effect effect;
    int element;                                    /* bytes of what is added: 1, or 8, which is then the only size */
    int batch;                                      /* transfers between two synchronisations */
    void (*rounds)(const struct test *, long count); /* `count` epochs (or flushes) */
};

/* Is this rank one, in the epochs under test? */
bool is_origin(const struct test *test, const struct benchmark *benchmark, int rank);

/* The whole program: options, sizes, warm-up, clock, check of the data that arrived, table. Returns the exit status. */
int benchmark_main(int argc, char **argv, const struct benchmark *benchmark);

/* One operation of a batch. */
typedef void transfer(const struct test *test, int index);

#define INLINE static inline __attribute__((always_inline))

INLINE void put(const struct test *test, int index)
{
    MPI_Aint offset = (MPI_Aint)index * test->size;
    MPI_Put(test->local + offset, test->size, MPI_CHAR, test->peer, test->peer_base + offset, test->size, MPI_CHAR, test->win);
}

INLINE void get(const struct test *test, int index)
{
    MPI_Aint offset = (MPI_Aint)index * test->size;
    MPI_Get(test->local + offset, test->size, MPI_CHAR, test->peer, test->peer_base + offset, test->size, MPI_CHAR, test->win);
}

/* MPI_CHAR as in the OSU benchmarks, although the standard names it for no sum: every MPI adds chars. */
INLINE void accumulate(const struct test *test, int index)
{
    MPI_Aint offset = (MPI_Aint)index * test->size;
    MPI_Accumulate(test->local + offset, test->size, MPI_CHAR, test->peer, test->peer_base + offset, test->size, MPI_CHAR, MPI_SUM,
                   test->win);
}

INLINE void get_accumulate(const struct test *test, int index)
{
    MPI_Aint offset = (MPI_Aint)index * test->size;
    MPI_Get_accumulate(test->local + offset, test->size, MPI_CHAR, test->result + offset, test->size, MPI_CHAR, test->peer,
                       test->peer_base + offset, test->size, MPI_CHAR, MPI_SUM, test->win);
}

INLINE void fetch_and_op(const struct test *test, int index)
{
    (void)index;
    MPI_Fetch_and_op(test->local, test->result, MPI_LONG_LONG, test->peer, test->peer_base, MPI_SUM, test->win);
}

/* Each swap counts the target up by one, so that each succeeds if all before it did. */
INLINE void compare_and_swap(const struct test *test, int index)
{
    (void)index;
    int64_t *next = (int64_t *)test->local, *compare = next + 1;
    *compare = (*next)++;
    MPI_Compare_and_swap(next, compare, test->result, MPI_LONG_LONG, test->peer, test->peer_base, test->win);
}

INLINE void transfers(const struct test *test, transfer *move, int batch)
{
    for (int i = 0; i < batch; i++)
        move(test, i);
}

INLINE void fence_round(const struct test *test, transfer *move, enum pattern pattern, int batch)
{
    MPI_Win_fence(0, test->win);
    if (test->rank == 0 || pattern == BOTH_WAYS)
        transfers(test, move, batch);
    MPI_Win_fence(0, test->win);
    if (pattern == PING_PONG) {
        if (test->rank == 1)
            transfers(test, move, batch);
        MPI_Win_fence(0, test->win);
    }
}

INLINE void access_epoch(const struct test *test, transfer *move, int batch)
{
    MPI_Win_start(test->peer_group, 0, test->win);
    transfers(test, move, batch);
    MPI_Win_complete(test->win);
}

INLINE void exposure_epoch(const struct test *test)
{
    MPI_Win_post(test->peer_group, 0, test->win);
    MPI_Win_wait(test->win);
}

INLINE void pscw_round(const struct test *test, transfer *move, enum pattern pattern, int batch)
{
    switch (pattern) {
    case BOTH_WAYS:
        MPI_Win_post(test->peer_group, 0, test->win);
        access_epoch(test, move, batch);
        MPI_Win_wait(test->win);
        break;
    case ONE_WAY:
        if (test->rank == 0)
            access_epoch(test, move, batch);
        else
            exposure_epoch(test);
        break;
    case PING_PONG:
        if (test->rank == 0) {
            access_epoch(test, move, batch);
            exposure_epoch(test);
        } else {
            exposure_epoch(test);
            access_epoch(test, move, batch);
        }
        break;
    }
}

/* Inlined into each program with its own operation, pattern and batch, so that nothing stands between the loop and the MPI
 * call. The epoch of the two flush forms is opened and closed outside, as their users do. */
INLINE void synchronised_rounds(const struct test *test, long count, transfer *move, enum pattern pattern, int batch)
{
    switch (test->sync) {
    case LOCK:
        for (long i = 0; i < count; i++) {
            MPI_Win_lock(MPI_LOCK_SHARED, test->peer, 0, test->win);
            transfers(test, move, batch);
            MPI_Win_unlock(test->peer, test->win);
        }
        break;
    case FLUSH:
        for (long i = 0; i < count; i++) {
            transfers(test, move, batch);
            MPI_Win_flush(test->peer, test->win);
        }
        break;
    case FLUSH_LOCAL:
        for (long i = 0; i < count; i++) {
            transfers(test, move, batch);
            MPI_Win_flush_local(test->peer, test->win);
        }
        break;
    case LOCK_ALL:
        for (long i = 0; i < count; i++) {
            MPI_Win_lock_all(0, test->win);
            transfers(test, move, batch);
            MPI_Win_unlock_all(test->win);
        }
        break;
    case PSCW:
        for (long i = 0; i < count; i++)
            pscw_round(test, move, pattern, batch);
        break;
    case FENCE:
        for (long i = 0; i < count; i++)
            fence_round(test, move, pattern, batch);
        break;
    }
}

#endif
