/* A plug-in that brings MPI with it, as Python's extension modules do: built as a shared object (with -DPLUGIN) and as the program without
 * MPI that loads it where no search order leads to its MPI. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#ifdef PLUGIN
#define main plugin
#include "exec_ring.c"
#else
int main(int argc, char **argv) {
    void *object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if (dlsym(RTLD_DEFAULT, "PMPI_Comm_rank") != NULL) {
        fprintf(stderr, "MPI is in the search order: this shows nothing\n");
        return 1;
    }
    int (*plugin)(int, char **) = (int (*)(int, char **))dlsym(object, "plugin");
    return plugin(argc - 1, argv + 1);
}
#endif
