/* The smallest one-sided program: each rank puts its number into the window of the next. */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int *memory;
    MPI_Win window;
    /* 64 bytes, since MPICH 4.0.2 itself puts to a wrong address in windows whose size is no multiple of 16. */
    OK(MPI_Win_allocate(64, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    *memory = -1;
    OK(MPI_Win_fence(0, window));
    OK(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    CHECK(*memory == (rank + ranks - 1) % ranks, "got %d", *memory);
    OK(MPI_Win_free(&window));
    OK(MPI_Finalize());
    printf("ring: rank %d of %d\n", rank, ranks);
    return 0;
}
