#include "data.h"
#include "onesided.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGE = 8192, SIZE_COLUMN = 10, VALUE_COLUMN = 20, PAGE = 4096 };

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static char *page_aligned(size_t bytes)
{
    void *memory;
    if (posix_memalign(&memory, PAGE, bytes) != 0)
        fail("not enough memory for this size: choose a smaller maximum with -m");
    return memory;
}

/* At least one page, and whole ones: MPICH 4.0.2 looks for a peer's part of an allocated window at the wrong place when the part
 * is no multiple of 16 bytes (rank 1's 8 bytes lie at 8, rank 0 writes at 0). */
static size_t whole_pages(size_t bytes)
{
    return (bytes / PAGE + (bytes % PAGE != 0 || bytes == 0)) * PAGE;
}

static bool is_active_target(enum sync sync)
{
    return sync == FENCE || sync == PSCW;
}

bool is_origin(const struct test *test, const struct benchmark *benchmark, int rank)
{
    return rank == 0 || (is_active_target(test->sync) && benchmark->pattern != ONE_WAY);
}

static void create_window(struct test *test, enum flavour flavour, size_t bytes)
{
    test->peer_base = 0;
    switch (flavour) {
    case ALLOCATE:
        MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &test->memory, &test->win);
        break;
    case CREATE:
        test->memory = page_aligned(bytes);
        MPI_Win_create(test->memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &test->win);
        break;
    case CREATE_MEM:
        MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &test->memory);
        MPI_Win_create(test->memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &test->win);
        break;
    case DYNAMIC: {
        MPI_Aint base;
        test->memory = page_aligned(bytes);
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &test->win);
        MPI_Win_attach(test->win, test->memory, (MPI_Aint)bytes);
        MPI_Get_address(test->memory, &base);
        MPI_Sendrecv(&base, 1, MPI_AINT, test->peer, 0, &test->peer_base, 1, MPI_AINT, test->peer, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        break;
    }
    }
}

static void free_window(struct test *test, enum flavour flavour)
{
    if (flavour == DYNAMIC) {
        MPI_Barrier(MPI_COMM_WORLD); /* the peer may still be reading */
        MPI_Win_detach(test->win, test->memory);
    }
    MPI_Win_free(&test->win);
    if (flavour == CREATE_MEM)
        MPI_Free_mem(test->memory);
    else if (flavour != ALLOCATE)
        free(test->memory);
}

static double timed(const struct test *test, const struct benchmark *benchmark, long warmup, long iterations)
{
    bool in_lock_epoch = test->rank == 0 && (test->sync == FLUSH || test->sync == FLUSH_LOCAL);
    double seconds = 0;
    if (in_lock_epoch)
        MPI_Win_lock(MPI_LOCK_SHARED, test->peer, 0, test->win);
    if (test->rank == 0 || is_active_target(test->sync)) {
        benchmark->rounds(test, warmup);
        double start = MPI_Wtime();
        benchmark->rounds(test, iterations);
        seconds = MPI_Wtime() - start;
    }
    if (in_lock_epoch)
        MPI_Win_unlock(test->peer, test->win);
    if (test->sync == FENCE)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, test->win); /* a lock epoch follows */
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds;
}

static double figure(const struct test *test, const struct benchmark *benchmark, const struct options *options, double seconds,
                     long iterations)
{
    if (benchmark->measure == LATENCY) {
        double transfers = (double)iterations * (benchmark->pattern == PING_PONG && is_active_target(test->sync) ? 2 : 1);
        return seconds / transfers * (options->nanoseconds ? 1e9 : 1e6);
    }
    double bytes = (double)iterations * benchmark->batch * test->size * (benchmark->pattern == BOTH_WAYS ? 2 : 1);
    return bytes / 1e6 / seconds;
}

static void print_header(const struct benchmark *benchmark, const struct options *options)
{
    const char *kind = benchmark->measure == LATENCY ? "Latency" : "Bandwidth";
    const char *prefix = benchmark->pattern == BOTH_WAYS ? "Bi-directional " : "";
    const char *unit = benchmark->measure == BANDWIDTH ? "MB/s" : options->nanoseconds ? "ns" : "us";
    char column[40];
    snprintf(column, sizeof column, "%s (%s)", kind, unit);
    printf("# Transom %s %s%s Test\n", benchmark->function, prefix, kind);
    printf("# Window creation: %s\n", flavour_title(options->flavour));
    printf("# Synchronization: %s\n", sync_title(options->sync));
    printf("%-*s%*s\n", SIZE_COLUMN, "# Size", VALUE_COLUMN, column);
    fflush(stdout);
}

static void run_size(struct test *test, const struct benchmark *benchmark, const struct options *options)
{
    bool large = test->size > LARGE;
    long warmup = options->warmup >= 0 ? options->warmup : large ? 10 : 100;
    long iterations = options->iterations > 0 ? options->iterations
                      : benchmark->measure == LATENCY ? (large ? 1000 : 10000)
                                                      : (large ? 30 : 1000);
    size_t bytes = (size_t)benchmark->batch * (size_t)test->size;
    size_t space = whole_pages(bytes);

    test->local = page_aligned(space);
    test->result = fetches(benchmark) ? page_aligned(space) : NULL;
    create_window(test, options->flavour, space);
    prepare_data(test, benchmark, bytes);
    double seconds = timed(test, benchmark, warmup, iterations);
    long rounds = warmup + iterations;
    if (rounds > most_rounds(benchmark)) {
        rounds = most_rounds(benchmark);
        prepare_data(test, benchmark, bytes);
        timed(test, benchmark, 0, rounds);
    }
    check_data(test, benchmark, bytes, rounds);
    if (test->rank == 0) {
        double value = figure(test, benchmark, options, seconds, iterations);
        printf("%-*d%*.2f\n", SIZE_COLUMN, test->size, VALUE_COLUMN, value);
        fflush(stdout);
    }
    free_window(test, options->flavour);
    free(test->result);
    free(test->local);
}

static void run(const struct benchmark *benchmark, const struct options *options, int rank)
{
    struct test test = {.rank = rank, .peer = 1 - rank, .sync = options->sync};
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &test.peer, &test.peer_group);
    if (rank == 0)
        print_header(benchmark, options);
    for (long size = options->smallest; size <= options->largest; size = size > 0 ? size * 2 : 1) {
        test.size = (int)size;
        run_size(&test, benchmark, options);
    }
    MPI_Group_free(&test.peer_group);
    MPI_Group_free(&world);
}

int benchmark_main(int argc, char **argv, const struct benchmark *benchmark)
{
    struct options options;
    char error[200] = "";
    int rank, ranks, status = EXIT_SUCCESS;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!parse_options(argc, argv, benchmark, &options, error, sizeof error)) {
        if (rank == 0)
            fprintf(stderr, "%s: %s (-h lists the options)\n", benchmark->program, error);
        status = EXIT_FAILURE;
    } else if (options.help) {
        if (rank == 0)
            print_usage(benchmark);
    } else if (ranks != 2) {
        if (rank == 0)
            fprintf(stderr, "%s: runs on exactly 2 ranks, not %d\n", benchmark->program, ranks);
        status = EXIT_FAILURE;
    } else {
        run(benchmark, &options, rank);
    }
    MPI_Finalize();
    return status;
}
