/* Time of one MPI_Fetch_and_op (MPI_SUM of MPI_LONG_LONG) with its synchronisation. */
#include "onesided.h"

static void rounds(const struct test *test, long count);

static const struct benchmark fop_latency = {
    .program = "fop_latency",
    .function = "MPI_Fetch_and_op",
    .measure = LATENCY,
    .pattern = PING_PONG,
    .effect = FETCHED_AND_ADDED,
    .element = 8,
    .batch = 1,
    .rounds = rounds,
};

static void rounds(const struct test *test, long count)
{
    synchronised_rounds(test, count, fetch_and_op, fop_latency.pattern, fop_latency.batch);
}

int main(int argc, char **argv)
{
    return benchmark_main(argc, argv, &fop_latency);
}
