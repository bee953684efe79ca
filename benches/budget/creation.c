#include "budget.h"
#include "raw.h"
#include "window.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096, SMALL = 64, LIVE = 10000 };

static const int64_t LONGEST_NANOSECONDS = 30LL * 1000 * 1000 * 1000;

struct creation {
    struct raw *raw;
    int rank;
};

static void create_and_free(void *context, long count)
{
    (void)context;
    for (long i = 0; i < count; i++) {
        void *memory;
        MPI_Win win;
        MPI_Win_allocate(SMALL, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        MPI_Win_free(&win);
        KEEP_PASS();
    }
}

static void raw_barriers(void *context, long count)
{
    const struct creation *at = context;
    for (long i = 0; i < count; i++) {
        raw_barrier(at->raw, at->rank);
        KEEP_PASS();
    }
}

void create_allocate_64b(const struct session *session, const char *name)
{
    struct creation at = {.raw = raw_map(session->rank, PAGE), .rank = session->rank};
    struct side sides[] = {{"ours", create_and_free, &at}, {"reference", raw_barriers, &at}};
    create_and_free(&at, 1); /* the first on a communicator may set things up */
    alternate(session, BOTH_RANKS, name, sides, 2, 0);
    raw_unmap(at.raw, PAGE);
}

/* How many of 10,000 windows can be alive at once, and what each creation took. A host that cannot says so by an error, or takes
 * longer than anyone would wait; either ends the count on both ranks alike. */
void create_live_10000(const struct session *session, const char *name)
{
    MPI_Win *wins = malloc(LIVE * sizeof *wins);
    if (!wins)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int64_t began = nanoseconds_now(), creating = 0;
    int live = 0;
    while (live < LIVE) {
        void *memory;
        int64_t start = nanoseconds_now();
        int result = MPI_Win_allocate(SMALL, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &wins[live]);
        int64_t end = nanoseconds_now();
        int created = result == MPI_SUCCESS, goes_on = created && end - began < LONGEST_NANOSECONDS, all_go_on;
        MPI_Allreduce(&goes_on, &all_go_on, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (created) {
            creating += end - start;
            live++;
        }
        if (!all_go_on)
            break;
    }
    if (session->rank == 0) {
        char time_name[64];
        snprintf(time_name, sizeof time_name, "%s/time", name);
        print_figure(name, "ours", "windows", live);
        if (live > 0)
            print_figure(time_name, "ours", "ns", (double)creating / live);
    }
    for (int i = 0; i < live; i++)
        MPI_Win_free(&wins[i]);
    free(wins);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
