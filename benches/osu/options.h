/* The command line of the one-sided benchmark programs. */
#ifndef TRANSOM_BENCHES_OPTIONS_H
#define TRANSOM_BENCHES_OPTIONS_H

#include "onesided.h"
#include <stdbool.h>

struct options {
    enum flavour flavour;
    enum sync sync;
    int smallest, largest; /* bytes of one transfer; doubled from one to the other */
    long warmup, iterations; /* negative: the program's own, which depend on the size */
    bool nanoseconds;
    bool help;
};

/* False when the command line is wrong: `error` then says how. */
bool parse_options(int argc, char **argv, const struct benchmark *benchmark, struct options *options, char *error, size_t space);

void print_usage(const struct benchmark *benchmark);

/* As the table's header names them. */
const char *flavour_title(enum flavour flavour);
const char *sync_title(enum sync sync);

#endif
