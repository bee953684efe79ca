/* The clock, and the rounds in which ours and the reference alternate within the same two processes. */
#ifndef TRANSOM_BENCHES_MEASURE_H
#define TRANSOM_BENCHES_MEASURE_H

#include <stdint.h>

struct session {
    int rank;         /* 0: origin, and the clock; 1: target */
    int rounds;
    double empty;     /* ns that a pass of a loop with nothing in it takes */
};

/* `count` passes of what is measured. */
typedef void loop(void *context, long count);

/* For the body of a loop: nothing of it may be moved to another pass, merged with it or dropped. */
#define KEEP_PASS() __asm__ volatile("" ::: "memory")

enum participants { ORIGIN_ALONE, BOTH_RANKS };

struct side {
    const char *label;
    loop *run;
    void *context;
};

int64_t nanoseconds_now(void);

double empty_pass(void);

/* At least 20 ms of work, as one stretch. */
long passes_for_a_round(enum participants participants, const struct side *side);

/* Half a millisecond. */
long passes_for_a_slice(enum participants participants, const struct side *side);

/* Sorts them. */
double median(double *values, int count);

/* ns of one pass over a stretch of them, the empty loop subtracted. */
double timed_pass(const struct session *session, const struct side *side, long passes);

/* Warms up, then runs the session's rounds, each with all sides, in turn from the front and from the back; rank 0 prints a
 * figure for each. `bytes_a_pass` > 0 asks for a bandwidth.
 *
 * A round is cut into slices of half a millisecond, and its figure is their median: when the core is taken away for other work,
 * the slice that this falls into is an outlier instead of a share of the mean. */
void alternate(const struct session *session, enum participants participants, const char *name, const struct side *sides,
               int count, double bytes_a_pass);

/* One figure, as the runner reads it: name, side, unit and value with tabs between. */
void print_figure(const char *name, const char *side, const char *unit, double value);

#endif
