/* Time of one MPI_Get with its synchronisation. */
#include "onesided.h"

static void rounds(const struct test *test, long count);

static const struct benchmark get_latency = {
    .program = "get_latency",
    .function = "MPI_Get",
    .measure = LATENCY,
    .pattern = PING_PONG,
    .effect = COPIED_HERE,
    .batch = 1,
    .rounds = rounds,
};

static void rounds(const struct test *test, long count)
{
    synchronised_rounds(test, count, get, get_latency.pattern, get_latency.batch);
}

int main(int argc, char **argv)
{
    return benchmark_main(argc, argv, &get_latency);
}
