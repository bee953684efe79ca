#include "window.h"

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
    }
    return window;
}

void window_free(struct window *window)
{
    MPI_Win_free(&window->win);
    if (window->flavour == CREATE_MEM)
        MPI_Free_mem(window->memory);
}
