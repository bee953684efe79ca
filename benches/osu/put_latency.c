/* Time of one MPI_Put with its synchronisation. */
#include "onesided.h"

static void rounds(const struct test *test, long count);

static const struct benchmark put_latency = {
    .program = "put_latency",
    .function = "MPI_Put",
    .measure = LATENCY,
    .pattern = PING_PONG,
    .effect = COPIED_THERE,
    .batch = 1,
    .rounds = rounds,
};

static void rounds(const struct test *test, long count)
{
    synchronised_rounds(test, count, put, put_latency.pattern, put_latency.batch);
}

int main(int argc, char **argv)
{
    return benchmark_main(argc, argv, &put_latency);
}
