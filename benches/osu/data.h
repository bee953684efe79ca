/* The data of a run: laid out before it, compared after it. A benchmark that does not look would praise an engine that moves none. */
#ifndef TRANSOM_BENCHES_DATA_H
#define TRANSOM_BENCHES_DATA_H

#include "onesided.h"

/* Does the operation bring what was there before? */
bool fetches(const struct benchmark *benchmark);

/* Both ranks, before the first round: `bytes` in each buffer. */
void prepare_data(const struct test *test, const struct benchmark *benchmark, size_t bytes);

/* After how many rounds the data can still be told. Beyond, sums of MPI_CHAR overflow, and hosts differ: Open MPI 4.1.4 adds with
 * saturation from some size on. */
long most_rounds(const struct benchmark *benchmark);

/* Both ranks, after `rounds` rounds of each origin. What differs from what they leave ends the job. */
void check_data(const struct test *test, const struct benchmark *benchmark, size_t bytes, long rounds);

#endif
