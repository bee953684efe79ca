/* A window on each kind of memory that a program may have: mapped by all ranks, or private to its process. */
#ifndef MEMORIES_H
#define MEMORIES_H
#include "check.h"
#include <sys/mman.h>

enum { MEMORY_LIMIT = 1 << 20 };
enum memory { ALLOCATED, SHARED, ALLOC_MEM, MALLOC, STACK, BSS, FILE_SHARED, FILE_PRIVATE, MEMORIES };
static const char *const memory_names[] = {"allocate", "shared", "alloc_mem", "malloc", "stack", "bss", "file_shared", "file_private"};

static char bss_memory[MEMORY_LIMIT] __attribute__((aligned(64)));
/* Of main(): see WITH_STACK. */
static char *stack_memory;

#define WITH_STACK                                                                                                          \
    char on_stack[MEMORY_LIMIT] __attribute__((aligned(64)));                                                               \
    stack_memory = on_stack

__attribute__((unused)) static enum memory memory_by_name(const char *name) {
    for (int i = 0; i < MEMORIES; i++)
        if (name != NULL && strcmp(name, memory_names[i]) == 0)
            return (enum memory)i;
    fail(__FILE__, __LINE__, "no memory is called %s", name == NULL ? "(nothing)" : name);
}

struct made {
    MPI_Win window;
    char *base;
    MPI_Aint size;
    enum memory memory;
};

__attribute__((unused)) static int is_private(enum memory memory) {
    return memory >= MALLOC;
}

static char *mapped_file(MPI_Aint size, int flags) {
    char name[512];
    snprintf(name, sizeof name, "%s/mapped-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    int file = mkstemp(name);
    CHECK(file >= 0 && unlink(name) == 0 && ftruncate(file, size) == 0, "%s", name);
    char *at = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, flags, file, 0);
    CHECK(at != MAP_FAILED, "mmap");
    close(file);
    return at;
}

/* All bytes are zero, for which nobody has waited yet. */
static struct made make(enum memory memory, MPI_Aint size, int unit) {
    struct made made = {MPI_WIN_NULL, NULL, size, memory};
    CHECK(size <= MEMORY_LIMIT || (memory != STACK && memory != BSS), "too large");
    switch (memory) {
    case ALLOCATED:
        OK(MPI_Win_allocate(size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &made.base, &made.window));
        break;
    case SHARED:
        OK(MPI_Win_allocate_shared(size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &made.base, &made.window));
        break;
    case ALLOC_MEM:
        OK(MPI_Alloc_mem(size, MPI_INFO_NULL, &made.base));
        break;
    case MALLOC:
        made.base = malloc((size_t)size);
        break;
    case STACK:
        made.base = stack_memory;
        break;
    case BSS:
        made.base = bss_memory;
        break;
    case FILE_SHARED:
    case FILE_PRIVATE:
        made.base = mapped_file(size, memory == FILE_SHARED ? MAP_SHARED : MAP_PRIVATE);
        break;
    case MEMORIES:
        break;
    }
    memset(made.base, 0, (size_t)size);
    if (memory >= ALLOC_MEM)
        OK(MPI_Win_create(made.base, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &made.window));
    return made;
}

static void unmake(struct made *made) {
    OK(MPI_Win_free(&made->window));
    if (made->memory == ALLOC_MEM)
        OK(MPI_Free_mem(made->base));
    else if (made->memory == MALLOC)
        free(made->base);
    else if (made->memory == FILE_SHARED || made->memory == FILE_PRIVATE)
        munmap(made->base, (size_t)made->size);
}

#endif
