/* For tests that look at what a job leaves in /dev/shm. */
#include "check.h"
#include <errno.h>
#include <signal.h>

static const MPI_Aint MIB = 1 << 20;

struct windows {
    MPI_Win allocated, shared, created;
    char *of_allocated, *of_shared, *of_created;
};

static struct windows make(MPI_Aint bytes) {
    struct windows w;
    OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.of_allocated, &w.allocated));
    OK(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.of_shared, &w.shared));
    OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &w.of_created));
    OK(MPI_Win_create(w.of_created, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.created));
    return w;
}

/* All ranks die in the middle of epochs on every flavour. */
static void killed_in_epochs(void) {
    struct windows w = make(MIB);
    char byte = 1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % ranks, 0, w.allocated));
    OK(MPI_Win_lock_all(0, w.shared));
    OK(MPI_Win_fence(0, w.created));
    OK(MPI_Put(&byte, 1, MPI_CHAR, (rank + 1) % ranks, rank, 1, MPI_CHAR, w.allocated));
    OK(MPI_Put(&byte, 1, MPI_CHAR, (rank + 1) % ranks, rank, 1, MPI_CHAR, w.shared));
    OK(MPI_Put(&byte, 1, MPI_CHAR, (rank + 1) % ranks, rank, 1, MPI_CHAR, w.created));
    barrier();
    kill(getpid(), SIGKILL);
}

static void freed(void) {
    struct windows w = make(MIB);
    barrier();
    OK(MPI_Win_free(&w.allocated));
    OK(MPI_Win_free(&w.shared));
    OK(MPI_Win_free(&w.created));
    OK(MPI_Free_mem(w.of_created));
}

/* 80 MiB where /dev/shm has less: every page can be touched, or the creation fails on all ranks alike. */
static void larger_than_dev_shm(void) {
    MPI_Win window;
    char *own;
    const MPI_Aint bytes = 80 * MIB;
    world_returns_errors();
    for (int shared = 0; shared < 2; shared++) {
        int code = shared ? MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window)
                          : MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
        int class = class_of(code), highest;
        OK(MPI_Allreduce(&class, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        CHECK(class == highest, "classes %d and %d", class, highest);
        CHECK(class == MPI_SUCCESS || !behind_transom(), "class %d: %s", class, string_of(code));
        if (class != MPI_SUCCESS)
            continue;
        memset(own, rank + 1, (size_t)bytes);
        char back = 0;
        OK(MPI_Win_fence(0, window));
        OK(MPI_Get(&back, 1, MPI_CHAR, (rank + 1) % ranks, bytes - 1, 1, MPI_CHAR, window));
        OK(MPI_Win_fence(0, window));
        CHECK(back == (rank + 1) % ranks + 1, "%d", back);
        OK(MPI_Win_free(&window));
    }
}

MAIN(SCENARIO(killed_in_epochs), SCENARIO(freed), SCENARIO(larger_than_dev_shm))
