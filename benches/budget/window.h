/* The windows that are measured, one part of `bytes` in each rank. */
#ifndef TRANSOM_BENCHES_WINDOW_H
#define TRANSOM_BENCHES_WINDOW_H

#include <mpi.h>
#include <stddef.h>

enum flavour {
    ALLOCATE,
    ALLOCATE_SHARED,
    CREATE_MEM, /* on memory of MPI_Alloc_mem */
    CREATE,     /* of malloc */
};

struct window {
    enum flavour flavour;
    char *memory; /* this rank's part */
    MPI_Win win;
};

struct window window_create(enum flavour flavour, size_t bytes);

/* Zeroed memory of malloc's, page by page; ends the job when there is none. */
void *private_pages(size_t bytes);

void window_free(struct window *window);

#endif
