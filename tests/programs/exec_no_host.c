/* A program without MPI that asks whether there is one, as libraries do that serve both kinds of programs. With a path as argument it
 * loads an MPI after the first question and asks again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

static int initialized(void) {
    int (*function)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    int flag = 7;
    if (function == NULL)
        return -1;
    int code = function(&flag);
    return code == 0 ? flag : 100 + code;
}

int main(int argc, char **argv) {
    printf("initialized=%d\n", initialized());
    int (*sync)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "MPI_Win_sync");
    int (*c2f)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "MPI_Win_c2f");
    if (sync != NULL && c2f != NULL) {
        printf("sync=%d\n", sync(NULL));
        printf("sync=%d\n", sync(NULL));
        printf("c2f=%d\n", c2f(NULL));
    }
    if (argc > 1) {
        void *host = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (host == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        int (*start)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_DEFAULT, "MPI_Init");
        printf("before=%d\n", initialized());
        printf("start=%d\n", start == NULL ? -1 : start(&argc, &argv));
        printf("after=%d\n", initialized());
        int (*end)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "MPI_Finalize");
        printf("end=%d\n", end == NULL ? -1 : end());
    }
    return 0;
}
