/* A window of each flavour that all ranks can make together. */
#ifndef FLAVOURS_H
#define FLAVOURS_H
#include "check.h"

struct window {
    MPI_Win handle;
    void *base;
    MPI_Aint size;
    int unit, flavour;
};

static struct window allocated(MPI_Aint size, int unit, MPI_Comm comm) {
    struct window made = {MPI_WIN_NULL, NULL, size, unit, MPI_WIN_FLAVOR_ALLOCATE};
    OK(MPI_Win_allocate(size, unit, MPI_INFO_NULL, comm, &made.base, &made.handle));
    return made;
}

static struct window shared(MPI_Aint size, int unit, MPI_Comm comm) {
    struct window made = {MPI_WIN_NULL, NULL, size, unit, MPI_WIN_FLAVOR_SHARED};
    OK(MPI_Win_allocate_shared(size, unit, MPI_INFO_NULL, comm, &made.base, &made.handle));
    return made;
}

static struct window created(MPI_Aint size, int unit, MPI_Comm comm) {
    struct window made = {MPI_WIN_NULL, NULL, size, unit, MPI_WIN_FLAVOR_CREATE};
    OK(MPI_Alloc_mem(size, MPI_INFO_NULL, &made.base));
    OK(MPI_Win_create(made.base, size, unit, MPI_INFO_NULL, comm, &made.handle));
    return made;
}

typedef struct window maker(MPI_Aint size, int unit, MPI_Comm comm);
__attribute__((unused)) static maker *const flavours[] = {allocated, shared, created};
enum { FLAVOURS = 3 };

static void end(struct window *window) {
    OK(MPI_Win_free(&window->handle));
    if (window->flavour == MPI_WIN_FLAVOR_CREATE)
        OK(MPI_Free_mem(window->base));
}

#endif
