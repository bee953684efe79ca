#include "data.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_BYTE = 41, SUMS_OF_CHARS = 3 }; /* together no more than a signed char holds */

/* Never 0, so that memory which was cleared and not reached differs; and the rank's own, so that a transfer to oneself does. */
static unsigned char pattern(int rank, int size, size_t index)
{
    return (unsigned char)((index * 7 + (size_t)size + (size_t)rank * 11) % LARGEST_BYTE + 1);
}

static void fill(char *memory, size_t bytes, int rank, int size)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (char)pattern(rank, size, i);
}

bool fetches(const struct benchmark *benchmark)
{
    return benchmark->effect == FETCHED_AND_ADDED || benchmark->effect == SWAPPED;
}

long most_rounds(const struct benchmark *benchmark)
{
    return benchmark->element == 1 ? SUMS_OF_CHARS : LONG_MAX;
}

void prepare_data(const struct test *test, const struct benchmark *benchmark, size_t bytes)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test->rank, 0, test->win);
    memset(test->memory, 0, bytes);
    memset(test->local, 0, bytes);
    if (fetches(benchmark))
        memset(test->result, 0xff, bytes);
    if (benchmark->effect == COPIED_HERE)
        fill(test->memory, bytes, test->rank, test->size);
    else if (benchmark->effect != SWAPPED)
        fill(test->local, bytes, test->rank, test->size);
    MPI_Win_unlock(test->rank, test->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void wrong_data(const struct test *test, const struct benchmark *benchmark, const char *where, size_t index)
{
    fprintf(stderr, "%s: rank %d, transfers of %d bytes: wrong data at byte %zu of the %s\n", benchmark->program, test->rank,
            test->size, index, where);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* The element at byte `index` after it was added so many times to 0. Of the larger elements, which wrap, there is only one. */
static uint64_t sum(const struct test *test, const struct benchmark *benchmark, int origin, size_t index, long times)
{
    if (benchmark->element == 1)
        return (unsigned char)(pattern(origin, test->size, index) * (uint64_t)times);
    char bytes[sizeof(uint64_t)];
    uint64_t value;
    fill(bytes, sizeof bytes, origin, test->size);
    memcpy(&value, bytes, sizeof value);
    return value * (uint64_t)times;
}

static void expect_sums(const struct test *test, const struct benchmark *benchmark, const char *where, const char *memory,
                        size_t bytes, int origin, long times)
{
    size_t element = (size_t)benchmark->element;
    for (size_t i = 0; i < bytes; i += element) {
        uint64_t found = 0;
        if (element == 1)
            found = (unsigned char)memory[i];
        else
            memcpy(&found, memory + i, sizeof found);
        if (found != sum(test, benchmark, origin, i, times))
            wrong_data(test, benchmark, where, i);
    }
}

static void expect_copies(const struct test *test, const struct benchmark *benchmark, const char *where, const char *memory,
                          size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)memory[i] != pattern(test->peer, test->size, i))
            wrong_data(test, benchmark, where, i);
}

static void expect_count(const struct test *test, const struct benchmark *benchmark, const char *where, const char *memory,
                         int64_t count)
{
    if (memcmp(memory, &count, sizeof count) != 0)
        wrong_data(test, benchmark, where, 0);
}

void check_data(const struct test *test, const struct benchmark *benchmark, size_t bytes, long rounds)
{
    static const char window[] = "window", origin[] = "origin's buffer", result[] = "result";
    bool was_target = is_origin(test, benchmark, test->peer), was_origin = is_origin(test, benchmark, test->rank);
    MPI_Win_lock(MPI_LOCK_SHARED, test->rank, 0, test->win);
    switch (benchmark->effect) {
    case COPIED_THERE:
        if (was_target)
            expect_copies(test, benchmark, window, test->memory, bytes);
        break;
    case COPIED_HERE:
        if (was_origin)
            expect_copies(test, benchmark, origin, test->local, bytes);
        break;
    case FETCHED_AND_ADDED:
        if (was_origin)
            expect_sums(test, benchmark, result, test->result, bytes, test->rank, rounds - 1);
        /* fall through */
    case ADDED:
        if (was_target)
            expect_sums(test, benchmark, window, test->memory, bytes, test->peer, rounds);
        break;
    case SWAPPED:
        if (was_origin)
            expect_count(test, benchmark, result, test->result, rounds - 1);
        if (was_target)
            expect_count(test, benchmark, window, test->memory, rounds);
        break;
    }
    MPI_Win_unlock(test->rank, test->win);
}
