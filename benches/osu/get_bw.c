/* Bandwidth of MPI_Get: 32 transfers to one synchronisation. */
#include "onesided.h"

static void rounds(const struct test *test, long count);

static const struct benchmark get_bw = {
    .program = "get_bw",
    .function = "MPI_Get",
    .measure = BANDWIDTH,
    .pattern = ONE_WAY,
    .effect = COPIED_HERE,
    .batch = 32,
    .rounds = rounds,
};

static void rounds(const struct test *test, long count)
{
    synchronised_rounds(test, count, get, get_bw.pattern, get_bw.batch);
}

int main(int argc, char **argv)
{
    return benchmark_main(argc, argv, &get_bw);
}
