/* An engine object of another build. It also does what none may do, and calls an exported name at its start: that must be answered. */
#define _GNU_SOURCE
#include <dlfcn.h>

int transom_engine_start(const void *shared) {
    enum { MISMATCH = 1, FAILED = 3 };
    int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    int flag = 7;
    (void)shared;
    return initialized(&flag) == 0 && flag == 0 ? MISMATCH : FAILED;
}
