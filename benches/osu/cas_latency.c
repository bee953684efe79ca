/* Time of one MPI_Compare_and_swap (MPI_LONG_LONG) with its synchronisation. */
#include "onesided.h"

static void rounds(const struct test *test, long count);

static const struct benchmark cas_latency = {
    .program = "cas_latency",
    .function = "MPI_Compare_and_swap",
    .measure = LATENCY,
    .pattern = PING_PONG,
    .effect = SWAPPED,
    .element = 8,
    .batch = 1,
    .rounds = rounds,
};

static void rounds(const struct test *test, long count)
{
    synchronised_rounds(test, count, compare_and_swap, cas_latency.pattern, cas_latency.batch);
}

int main(int argc, char **argv)
{
    return benchmark_main(argc, argv, &cas_latency);
}
