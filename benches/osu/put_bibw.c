/* Bandwidth of MPI_Put in both directions at once: 32 transfers of each rank to one synchronisation. */
#include "onesided.h"

static void rounds(const struct test *test, long count);

static const struct benchmark put_bibw = {
    .program = "put_bibw",
    .function = "MPI_Put",
    .measure = BANDWIDTH,
    .pattern = BOTH_WAYS,
    .effect = COPIED_THERE,
    .batch = 32,
    .rounds = rounds,
};

static void rounds(const struct test *test, long count)
{
    synchronised_rounds(test, count, put, put_bibw.pattern, put_bibw.batch);
}

int main(int argc, char **argv)
{
    return benchmark_main(argc, argv, &put_bibw);
}
