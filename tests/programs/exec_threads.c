/* The first MPI calls of a process come from many threads at once. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 8 };
static pthread_barrier_t gate;
static int wrong;

static void *first_call(void *unused) {
    int flag = 7;
    pthread_barrier_wait(&gate);
    if (MPI_Initialized(&flag) != MPI_SUCCESS || flag != 0)
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, first_call, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    start(&argc, &argv);
    CHECK(wrong == 0, "%d threads got a wrong answer", wrong);
    int flag = 0;
    OK(MPI_Initialized(&flag));
    CHECK(flag == 1, "not initialized after MPI_Init");
    OK(MPI_Finalize());
    printf("threads: rank %d\n", rank);
    return 0;
}
