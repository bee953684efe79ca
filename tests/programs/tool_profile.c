/* A profiling tool: counts calls and hands them on, adds up the counts of all ranks in a window of its own, and tells them when MPI ends. Its
 * own calls go to the profiling interface and are not counted.
 *
 * NAME is what it calls itself. With CHAINED it hands a call on to the next object that has it, as tools do that stand beside others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#define NAME "profile"
#endif

enum { INIT, CREATE, ALLOCATE, FREE, FENCE, PUT, GET, SET_ATTR, KINDS };
static const char *const kinds[KINDS] = {"init", "create", "allocate", "free", "fence", "put", "get", "set_attr"};
static long counts[KINDS];

#ifdef CHAINED
#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))
#else
#define NEXT(function) P##function
#endif

static MPI_Win window;
static long *sums;
static int keyval;

static int on_delete(MPI_Win of, int of_keyval, void *value, void *extra) {
    (void)of, (void)of_keyval, (void)extra;
    *(int *)value += 1;
    return MPI_SUCCESS;
}

static void check(int code, const char *call) {
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "tool " NAME ": %s failed\n", call);
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define OK(call) check(call, #call)

int MPI_Init(int *argc, char ***argv) {
    counts[INIT]++;
    int code = NEXT(MPI_Init)(argc, argv);
    int ranks;
    OK(PMPI_Comm_size(MPI_COMM_WORLD, &ranks));
    OK(PMPI_Win_allocate((MPI_Aint)sizeof *sums * KINDS * ranks, sizeof *sums, MPI_INFO_NULL, MPI_COMM_WORLD, &sums, &window));
    OK(PMPI_Win_set_name(window, "tool " NAME));
    OK(PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL));
    return code;
}

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *made) {
    counts[CREATE]++;
    return NEXT(MPI_Win_create)(base, size, unit, info, comm, made);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *made) {
    counts[ALLOCATE]++;
    return NEXT(MPI_Win_allocate)(size, unit, info, comm, base, made);
}

int MPI_Win_free(MPI_Win *freed) {
    counts[FREE]++;
    return NEXT(MPI_Win_free)(freed);
}

int MPI_Win_fence(int assertions, MPI_Win fenced) {
    counts[FENCE]++;
    return NEXT(MPI_Win_fence)(assertions, fenced);
}

int MPI_Put(const void *origin, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count, MPI_Datatype target_type, MPI_Win of) {
    counts[PUT]++;
    return NEXT(MPI_Put)(origin, count, type, target, at, target_count, target_type, of);
}

int MPI_Get(void *origin, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count, MPI_Datatype target_type, MPI_Win of) {
    counts[GET]++;
    return NEXT(MPI_Get)(origin, count, type, target, at, target_count, target_type, of);
}

int MPI_Win_set_attr(MPI_Win of, int of_keyval, void *value) {
    counts[SET_ATTR]++;
    return NEXT(MPI_Win_set_attr)(of, of_keyval, value);
}

/* Windows, and everything else, are whole until PMPI_Finalize. */
int MPI_Finalize(void) {
    int rank, ranks, length, deleted = 0;
    char name[MPI_MAX_OBJECT_NAME];
    OK(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(PMPI_Comm_size(MPI_COMM_WORLD, &ranks));
    OK(PMPI_Win_set_attr(window, keyval, &deleted));
    OK(PMPI_Win_fence(0, window));
    OK(PMPI_Put(counts, KINDS, MPI_LONG, 0, rank * KINDS, KINDS, MPI_LONG, window));
    OK(PMPI_Win_fence(0, window));
    OK(PMPI_Win_get_name(window, name, &length));
    if (rank == 0) {
        printf("%s:", name);
        for (int kind = 0; kind < KINDS; kind++) {
            long sum = 0;
            for (int of = 0; of < ranks; of++)
                sum += sums[of * KINDS + kind];
            printf(" %s=%ld", kinds[kind], sum);
        }
        printf("\n");
        fflush(stdout);
    }
    OK(PMPI_Win_free(&window));
    if (deleted != 1 || window != MPI_WIN_NULL) {
        fprintf(stderr, "tool " NAME ": %d attributes were deleted\n", deleted);
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    OK(PMPI_Win_free_keyval(&keyval));
    return NEXT(MPI_Finalize)();
}
