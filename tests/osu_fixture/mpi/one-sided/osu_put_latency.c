/* A stand-in with the name, the place and the output of its namesake, to test what runs such programs. -i N sets the iterations. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long iterations = 100;
    int option, rank, misused = 0;
    char local[16] = "sixteen bytes..", *memory;
    MPI_Win win;

    opterr = 0;
    while ((option = getopt(argc, argv, "i:")) != -1) {
        if (option == 'i')
            iterations = atol(optarg);
        else
            misused = 1;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (misused) {
        if (rank == 0)
            printf("Usage: osu_put_latency [-i ITERATIONS]\n"); /* to stdout, as the real ones do */
        MPI_Finalize();
        return EXIT_FAILURE;
    }
    if (rank == 0)
        printf("# Fixture MPI_Put Latency Test v0\n# Window creation: MPI_Win_allocate\n# Synchronization: MPI_Win_flush\n"
               "# Datatype: MPI_CHAR.\n# Size          Latency (us)\n");
    MPI_Win_allocate(sizeof local, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int size = 4; size <= (int)sizeof local; size *= 2) {
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
            double start = MPI_Wtime();
            for (long i = 0; i < iterations; i++) {
                MPI_Put(local, size, MPI_CHAR, 1, 0, size, MPI_CHAR, win);
                MPI_Win_flush(1, win);
            }
            printf("%-10d%20.2f\n", size, (MPI_Wtime() - start) * 1e6 / (double)iterations);
            fflush(stdout);
            MPI_Win_unlock(1, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
