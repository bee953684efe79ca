/* Time of one MPI_Get_accumulate (MPI_SUM of MPI_CHAR) with its synchronisation. */
#include "onesided.h"

static void rounds(const struct test *test, long count);

static const struct benchmark get_acc_latency = {
    .program = "get_acc_latency",
    .function = "MPI_Get_accumulate",
    .measure = LATENCY,
    .pattern = PING_PONG,
    .effect = FETCHED_AND_ADDED,
    .element = 1,
    .batch = 1,
    .rounds = rounds,
};

static void rounds(const struct test *test, long count)
{
    synchronised_rounds(test, count, get_accumulate, get_acc_latency.pattern, get_acc_latency.batch);
}

int main(int argc, char **argv)
{
    return benchmark_main(argc, argv, &get_acc_latency);
}
