/* Time of one MPI_Accumulate (MPI_SUM of MPI_CHAR) with its synchronisation. */
#include "onesided.h"

static void rounds(const struct test *test, long count);

static const struct benchmark acc_latency = {
    .program = "acc_latency",
    .function = "MPI_Accumulate",
    .measure = LATENCY,
    .pattern = PING_PONG,
    .effect = ADDED,
    .element = 1,
    .batch = 1,
    .rounds = rounds,
};

static void rounds(const struct test *test, long count)
{
    synchronised_rounds(test, count, accumulate, acc_latency.pattern, acc_latency.batch);
}

int main(int argc, char **argv)
{
    return benchmark_main(argc, argv, &acc_latency);
}
