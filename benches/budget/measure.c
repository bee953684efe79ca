#include "measure.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EMPTY_PASSES = 1000 * 1000, EMPTY_ROUNDS = 50, MOST_SIDES = 4, MOST_SLICES = 64 };

static const double ROUND = 20e6, SLICE = 0.5e6; /* ns, at least */

struct pace {
    long passes; /* of a slice */
    int slices;  /* of a round */
};

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

/* Passes that take so long, and how long they took. Both ranks get rank 0's where both take part. */
static long passes_lasting(double wanted, enum participants participants, const struct side *side, double *took)
{
    for (long passes = 1;; passes *= 2) {
        *took = raw_pass(side, passes) * (double)passes;
        if (participants == BOTH_RANKS)
            MPI_Bcast(took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (*took >= wanted)
            return passes;
    }
}

long passes_for_a_round(enum participants participants, const struct side *side)
{
    double took;
    return passes_lasting(ROUND, participants, side, &took);
}

long passes_for_a_slice(enum participants participants, const struct side *side)
{
    double took;
    return passes_lasting(SLICE, participants, side, &took);
}

static struct pace pace_of(enum participants participants, const struct side *side)
{
    double took;
    struct pace pace = {.passes = passes_lasting(SLICE, participants, side, &took)};
    double slices = ROUND / took + 1;
    pace.slices = slices < MOST_SLICES ? (int)slices : MOST_SLICES;
    return pace;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    int middle = count / 2;
    return count % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

static double median_pass(const struct session *session, const struct side *side, struct pace pace)
{
    double slices[MOST_SLICES];
    for (int i = 0; i < pace.slices; i++)
        slices[i] = timed_pass(session, side, pace.passes);
    return median(slices, pace.slices);
}

void print_figure(const char *name, const char *side, const char *unit, double value)
{
    printf("%s\t%s\t%s\t%.6g\n", name, side, unit, value);
    fflush(stdout);
}

void alternate(const struct session *session, enum participants participants, const char *name, const struct side *sides,
               int count, double bytes_a_pass)
{
    struct pace paces[MOST_SIDES];
    for (int i = 0; i < count; i++)
        paces[i] = pace_of(participants, &sides[i]);
    for (int round = 0; round < session->rounds; round++) {
        for (int turn = 0; turn < count; turn++) {
            int i = round % 2 ? count - 1 - turn : turn;
            double pass = median_pass(session, &sides[i], paces[i]);
            if (session->rank != 0)
                continue;
            if (bytes_a_pass > 0)
                print_figure(name, sides[i].label, "GB/s", bytes_a_pass / pass);
            else
                print_figure(name, sides[i].label, "ns", pass);
        }
    }
}
