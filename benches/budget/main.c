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
} measurements[] = {
    {"put/8/allocate/flush", put8_allocate},
    {"put/8/allocate_shared/flush", put8_allocate_shared},
    {"put/8/create_mem/flush", put8_create_mem},
    {"put/bandwidth/64KiB", put_bandwidth_64kib},
    {"put/bandwidth/1MiB", put_bandwidth_1mib},
    {"get/8/allocate/flush", get8_allocate},
    {"get/8/allocate_shared/flush", get8_allocate_shared},
    {"get/8/create_mem/flush", get8_create_mem},
    {"get/bandwidth/64KiB", get_bandwidth_64kib},
    {"get/bandwidth/1MiB", get_bandwidth_1mib},
    {"lock/exclusive/put8", lock_exclusive_put8},
    {"fence/2", fence_two_ranks},
    {"create/allocate/64B", create_allocate_64b},
    {"create/live/10000", create_live_10000},
    {"passive/put", passive_put},
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

static const char *misuse(int argc, char **argv, struct session *session)
{
    static char text[200];
    int option, ranks;
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
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks == 2 ? NULL : "runs on exactly 2 ranks";
}

int main(int argc, char **argv)
{
    struct session session = {.rounds = USUAL_ROUNDS};
    int status = EXIT_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &session.rank);
    const char *error = misuse(argc, argv, &session);
    if (error) {
        if (session.rank == 0)
            fprintf(stderr, "budget: %s\n", error);
        status = EXIT_FAILURE;
    } else {
        session.empty = empty_pass();
        for (int i = 0; i < MEASUREMENTS; i++) {
            if (!wanted(measurements[i].name, argv + optind, argc - optind))
                continue;
            measurements[i].run(&session, measurements[i].name);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return status;
}
