/*
 * budget [-r ROUNDS] [NAME...]: figures of one-sided communication between two ranks beside what a plain shared mapping gives.
 *
 * Rank 0 prints lines of NAME, SIDE ("ours", "reference"), UNIT and VALUE. "Ours" is whatever serves MPI here: a bare host, or
 * Transom when it is preloaded.
 */
#include "budget.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_ROUNDS = 7 };

static const struct measurement {
    const char *name;
    void (*run)(const struct session *session, const char *name);
    int threads; /* what MPI is asked for */
} measurements[] = {
    {"put/8/allocate/flush", put8_allocate, MPI_THREAD_SINGLE},
    {"put/8/allocate_shared/flush", put8_allocate_shared, MPI_THREAD_SINGLE},
    {"put/8/create_mem/flush", put8_create_mem, MPI_THREAD_SINGLE},
    {"put/8/create/flush", put8_create, MPI_THREAD_SINGLE},
    {"put/bandwidth/64KiB", put_bandwidth_64kib, MPI_THREAD_SINGLE},
    {"put/bandwidth/1MiB", put_bandwidth_1mib, MPI_THREAD_SINGLE},
    {"get/8/allocate/flush", get8_allocate, MPI_THREAD_SINGLE},
    {"get/8/allocate_shared/flush", get8_allocate_shared, MPI_THREAD_SINGLE},
    {"get/8/create_mem/flush", get8_create_mem, MPI_THREAD_SINGLE},
    {"get/bandwidth/64KiB", get_bandwidth_64kib, MPI_THREAD_SINGLE},
    {"get/bandwidth/1MiB", get_bandwidth_1mib, MPI_THREAD_SINGLE},
    {"fetch_and_op/8/flush", fetch_and_op8, MPI_THREAD_SINGLE},
    {"fetch_and_op/8/flush/multiple", fetch_and_op8, MPI_THREAD_MULTIPLE},
    {"compare_and_swap/8/flush", compare_and_swap8, MPI_THREAD_SINGLE},
    {"compare_and_swap/8/flush/multiple", compare_and_swap8, MPI_THREAD_MULTIPLE},
    {"rput/8/wait", rput8, MPI_THREAD_SINGLE},
    {"rget/8/wait", rget8, MPI_THREAD_SINGLE},
    {"accumulate/64KiB/char", accumulate_chars, MPI_THREAD_SINGLE},
    {"accumulate/64KiB/double", accumulate_doubles, MPI_THREAD_SINGLE},
    {"get_accumulate/64KiB/char", get_accumulate_chars, MPI_THREAD_SINGLE},
    {"get_accumulate/64KiB/double", get_accumulate_doubles, MPI_THREAD_SINGLE},
    {"accumulate/disjoint", accumulate_disjoint, MPI_THREAD_SINGLE},
    {"accumulate/disjoint/raw", accumulate_disjoint_raw, MPI_THREAD_SINGLE},
    {"put/strided/64KiB", put_strided, MPI_THREAD_SINGLE},
    {"get/strided/64KiB", get_strided, MPI_THREAD_SINGLE},
    {"accumulate/strided/64KiB", accumulate_strided, MPI_THREAD_SINGLE},
    {"put/indexed/4096", put_indexed, MPI_THREAD_SINGLE},
    {"get/indexed/4096", get_indexed, MPI_THREAD_SINGLE},
    {"accumulate/indexed/4096", accumulate_indexed, MPI_THREAD_SINGLE},
    {"datatype/first_use/strided", first_use_strided, MPI_THREAD_SINGLE},
    {"datatype/first_use/indexed", first_use_indexed, MPI_THREAD_SINGLE},
    {"datatype/known", known_type, MPI_THREAD_SINGLE},
    {"lock/exclusive/put8", lock_exclusive_put8, MPI_THREAD_SINGLE},
    {"fence/2", fence_two_ranks, MPI_THREAD_SINGLE},
    {"create/allocate/64B", create_allocate_64b, MPI_THREAD_SINGLE},
    {"create/live/10000", create_live_10000, MPI_THREAD_SINGLE},
    {"passive/put", passive_put, MPI_THREAD_SINGLE},
    {"passive/fetch_and_op", passive_fetch_and_op, MPI_THREAD_SINGLE},
    {"passive/accumulate", passive_accumulate, MPI_THREAD_SINGLE},
};

enum { MEASUREMENTS = sizeof measurements / sizeof *measurements };

static bool known(const char *name)
{
    for (int i = 0; i < MEASUREMENTS; i++)
        if (strcmp(measurements[i].name, name) == 0)
            return true;
    return false;
}

static bool wanted(const char *name, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return count == 0;
}

/* MPI is started once, so that measurements with threads and without cannot be of one start. Without names it is those without. */
static int threads_wanted(char **names, int count)
{
    for (int i = 0; i < MEASUREMENTS; i++)
        if (count > 0 && wanted(measurements[i].name, names, count))
            return measurements[i].threads;
    return MPI_THREAD_SINGLE;
}

/* What is wrong with the command line, if anything is. */
static const char *misuse(int argc, char **argv, struct session *session)
{
    static char text[200];
    int option;
    opterr = 0;
    while ((option = getopt(argc, argv, "r:")) != -1) {
        session->rounds = option == 'r' ? atoi(optarg) : 0;
        if (session->rounds < 1)
            return "usage: mpirun -n 2 budget [-r ROUNDS] [NAME...]";
    }
    for (int i = optind; i < argc; i++) {
        if (!known(argv[i])) {
            snprintf(text, sizeof text, "no measurement is called %s", argv[i]);
            return text;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct session session = {.rounds = USUAL_ROUNDS};
    int status = EXIT_SUCCESS, provided, ranks;
    const char *error = misuse(argc, argv, &session);
    char **names = argv + optind;
    int count = argc - optind, threads = threads_wanted(names, count);
    MPI_Init_thread(NULL, NULL, threads, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &session.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!error && ranks != 2)
        error = "runs on exactly 2 ranks";
    if (!error && provided < threads)
        error = "this MPI does not support so many threads";
    if (error) {
        if (session.rank == 0)
            fprintf(stderr, "budget: %s\n", error);
        status = EXIT_FAILURE;
    } else {
        session.empty = empty_pass();
        for (int i = 0; i < MEASUREMENTS; i++) {
            if (!wanted(measurements[i].name, names, count) || measurements[i].threads != threads)
                continue;
            measurements[i].run(&session, measurements[i].name);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return status;
}
