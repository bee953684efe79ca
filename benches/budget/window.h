/* The windows that are measured, one part of `bytes` in each rank. */
#ifndef TRANSOM_BENCHES_WINDOW_H
#define TRANSOM_BENCHES_WINDOW_H

#include <mpi.h>
#include <stddef.h>

enum flavour { ALLOCATE, ALLOCATE_SHARED, CREATE_MEM };

struct window {
    enum flavour flavour;
    char *memory; /* this rank's part */
    MPI_Win win;
};

struct window window_create(enum flavour flavour, size_t bytes);

void window_free(struct window *window);

#endif
