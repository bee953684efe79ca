#include "measure.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { EMPTY_PASSES = 20 * 1000 * 1000, EMPTY_ROUNDS = 5, MOST_SIDES = 4 };

int64_t nanoseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double raw_pass(const struct side *side, long passes)
{
    int64_t start = nanoseconds_now();
    side->run(side->context, passes);
    return (double)(nanoseconds_now() - start) / (double)passes;
}

static void nothing(void *context, long count)
{
    (void)context;
    for (long i = 0; i < count; i++)
        KEEP_PASS();
}

/* The least of some rounds: nothing makes an empty loop faster than it is, only other work on the machine slower. */
double empty_pass(void)
{
    struct side empty = {"empty", nothing, NULL};
    double least = raw_pass(&empty, EMPTY_PASSES);
    for (int i = 1; i < EMPTY_ROUNDS; i++) {
        double pass = raw_pass(&empty, EMPTY_PASSES);
        if (pass < least)
            least = pass;
    }
    return least;
}

double timed_pass(const struct session *session, const struct side *side, long passes)
{
    return raw_pass(side, passes) - session->empty;
}

long passes_for_a_round(enum participants participants, const struct side *side)
{
    for (long passes = 1;; passes *= 2) {
        double duration = raw_pass(side, passes) * (double)passes;
        if (participants == BOTH_RANKS)
            MPI_Bcast(&duration, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (duration >= NANOSECONDS_A_ROUND)
            return passes;
    }
}

void print_figure(const char *name, const char *side, const char *unit, double value)
{
    printf("%s\t%s\t%s\t%.6g\n", name, side, unit, value);
    fflush(stdout);
}

void alternate(const struct session *session, enum participants participants, const char *name, const struct side *sides,
               int count, double bytes_a_pass)
{
    long passes[MOST_SIDES];
    for (int i = 0; i < count; i++)
        passes[i] = passes_for_a_round(participants, &sides[i]);
    for (int round = 0; round < session->rounds; round++) {
        for (int turn = 0; turn < count; turn++) {
            int i = round % 2 ? count - 1 - turn : turn;
            double pass = timed_pass(session, &sides[i], passes[i]);
            if (session->rank != 0)
                continue;
            if (bytes_a_pass > 0)
                print_figure(name, sides[i].label, "GB/s", bytes_a_pass / pass);
            else
                print_figure(name, sides[i].label, "ns", pass);
        }
    }
}
