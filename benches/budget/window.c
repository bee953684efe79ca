#include "window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

void *private_pages(size_t bytes)
{
    void *memory;
    if (posix_memalign(&memory, PAGE, bytes) != 0) {
        fprintf(stderr, "budget: not enough memory\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    memset(memory, 0, bytes);
    return memory;
}

struct window window_create(enum flavour flavour, size_t bytes)
{
    struct window window = {.flavour = flavour};
    MPI_Aint size = (MPI_Aint)bytes;
    switch (flavour) {
    case ALLOCATE:
        MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.memory, &window.win);
        break;
    case ALLOCATE_SHARED:
        MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.memory, &window.win);
        break;
    case CREATE_MEM:
        MPI_Alloc_mem(size, MPI_INFO_NULL, &window.memory);
        MPI_Win_create(window.memory, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.win);
        break;
    case CREATE:
        window.memory = private_pages(bytes);
        MPI_Win_create(window.memory, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.win);
        break;
    }
    return window;
}

void window_free(struct window *window)
{
    MPI_Win_free(&window->win);
    if (window->flavour == CREATE_MEM)
        MPI_Free_mem(window->memory);
    if (window->flavour == CREATE)
        free(window->memory);
}
