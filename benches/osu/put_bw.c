/* Bandwidth of MPI_Put: 32 transfers to one synchronisation. */
#include "onesided.h"

static void rounds(const struct test *test, long count);

static const struct benchmark put_bw = {
    .program = "put_bw",
    .function = "MPI_Put",
    .measure = BANDWIDTH,
    .pattern = ONE_WAY,
    .effect = COPIED_THERE,
    .batch = 32,
    .rounds = rounds,
};

static void rounds(const struct test *test, long count)
{
    synchronised_rounds(test, count, put, put_bw.pattern, put_bw.batch);
}

int main(int argc, char **argv)
{
    return benchmark_main(argc, argv, &put_bw);
}
