/* MPI_Alloc_mem and MPI_Free_mem, and what a forked child may do to memory of MPI. */
#include "check.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static void given_and_taken(void) {
    enum { BLOCKS = 500 };
    unsigned char *blocks[BLOCKS];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            MPI_Aint size = 1 + i * 131 % 5000;
            OK(MPI_Alloc_mem(size, MPI_INFO_NULL, &blocks[i]));
            CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % 16 == 0, "block %d is at %p", i, (void *)blocks[i]);
            memset(blocks[i], i, (size_t)size);
        }
        /* No block overlaps another: each still holds its own bytes. */
        for (int i = 0; i < BLOCKS; i++)
            for (MPI_Aint at = 0; at < 1 + i * 131 % 5000; at++)
                CHECK(blocks[i][at] == (unsigned char)i, "byte %ld of block %d is %d", (long)at, i, blocks[i][at]);
        for (int i = 0; i < BLOCKS; i++)
            OK(MPI_Free_mem(blocks[i * 7 % BLOCKS]));
    }
}

static void of_size_zero(void) {
    void *base = &base;
    OK(MPI_Alloc_mem(0, MPI_INFO_NULL, &base));
    OK(MPI_Free_mem(base));
}

static void of_negative_size(void) {
    void *base;
    world_returns_errors();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    int code = MPI_Alloc_mem(-1, MPI_INFO_NULL, &base), class = class_of(code);
    CHECK(class == MPI_ERR_ARG || class == MPI_ERR_SIZE || class == MPI_ERR_NO_MEM, "class %d", class);
}

static void of_many_megabytes(void) {
    unsigned char *base;
    const MPI_Aint size = (MPI_Aint)300 << 20;
    for (int round = 0; round < 20; round++) {
        OK(MPI_Alloc_mem(size, MPI_INFO_NULL, &base));
        for (MPI_Aint at = 0; at < size; at += size / 7)
            base[at] = (unsigned char)round;
        base[size - 1] = 1;
        OK(MPI_Free_mem(base));
    }
}

/* Runs a function in a child; parent and child take turns through two pipes. */
static int to_child[2], to_parent[2];

/* A byte for the other side, and one from it; 0 when it is gone. */
static int tell(int pipe_end) {
    return write(pipe_end, "", 1) == 1;
}

static int await(int pipe_end) {
    char byte;
    ssize_t got;
    while ((got = read(pipe_end, &byte, 1)) < 0 && errno == EINTR)
        ;
    return got == 1;
}

static pid_t fork_child(void (*work)(void *), void *argument) {
    CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0, "pipe: %s", strerror(errno));
    signal(SIGPIPE, SIG_IGN);
    pid_t child = fork();
    CHECK(child >= 0, "fork: %s", strerror(errno));
    /* Each side keeps its own ends only, so that it sees the other's death as the end of the pipe. */
    if (child == 0) {
        close(to_child[1]), close(to_parent[0]);
        work(argument);
        _exit(0);
    }
    close(to_child[0]), close(to_parent[1]);
    return child;
}

static int join_child(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    close(to_child[1]), close(to_parent[0]);
    CHECK(WIFEXITED(status), "the child ended with status 0x%x", status);
    return WEXITSTATUS(status);
}

struct block {
    int *memory;
    size_t cells;
    int sees_snapshot;
    /* The part of a shared window may lie in a peer's segment, where a child's store is a fault rather than a store. */
    int may_fault;
};

enum { FAULTED = 100 };

/* A fault ends the child at once, whatever handler the host has set. */
static void leave_on_fault(int number) {
    (void)number;
    _exit(FAULTED);
}

/* The child writes everywhere, once before and once after the parent has. It ends by its status, since it may not call MPI. */
static void write_everywhere(void *argument) {
    struct block *block = argument;
    signal(SIGSEGV, leave_on_fault);
    signal(SIGBUS, leave_on_fault);
    if (!await(to_child[0]))
        _exit(90);
    for (size_t i = 0; block->sees_snapshot && i < block->cells; i += block->cells / 16)
        if (block->memory[i] != (int)i)
            _exit(92);
    for (size_t i = 0; i < block->cells; i++)
        block->memory[i] = -1;
    if (!tell(to_parent[1]) || !await(to_child[0]))
        _exit(91);
    for (size_t i = 0; i < block->cells; i++)
        block->memory[i] = -2;
}

/* Child and parent write to the same addresses and do not meet; a child of Alloc_mem memory sees it as it was at the fork. */
static void check_child_of(struct block block) {
    for (size_t i = 0; i < block.cells; i++)
        block.memory[i] = (int)i;
    pid_t child = fork_child(write_everywhere, &block);
    /* The child has not looked yet: what the parent writes now it must not see. */
    for (size_t i = 0; i < block.cells; i++)
        block.memory[i] = (int)i + 1000;
    int both = tell(to_child[1]) && await(to_parent[0]);
    for (size_t i = 0; i < block.cells; i++)
        CHECK(block.memory[i] == (int)i + 1000, "cell %zu is %d after the child's first write", i, block.memory[i]);
    both = both && tell(to_child[1]);
    int status = join_child(child);
    CHECK(status == FAULTED ? block.may_fault : status == 0 && both, "the child of %zu cells ended with %d", block.cells, status);
    for (size_t i = 0; i < block.cells; i++)
        CHECK(block.memory[i] == (int)i + 1000, "cell %zu is %d after the child's end", i, block.memory[i]);
}

static void child_of_alloc_mem(void) {
    const size_t cells[] = {64, 3000, 4 << 20};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct block block = {NULL, cells[i], 1, 0};
        OK(MPI_Alloc_mem((MPI_Aint)(block.cells * sizeof(int)), MPI_INFO_NULL, &block.memory));
        check_child_of(block);
        OK(MPI_Free_mem(block.memory));
    }
}

static void child_of_windows(void) {
    const size_t cells[] = {64, 3000, 4 << 20};
    for (size_t i = 0; i < 2 * sizeof cells / sizeof cells[0]; i++) {
        struct block block = {NULL, cells[i / 2], 0, i % 2 == 0};
        MPI_Win window;
        MPI_Aint bytes = (MPI_Aint)(block.cells * sizeof(int));
        if (i % 2)
            OK(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &block.memory, &window));
        else
            OK(MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &block.memory, &window));
        check_child_of(block);
        /* The window still works, and peers see the parent's values. */
        barrier();
        int right = (rank + 1) % ranks, back = 0;
        OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window));
        OK(MPI_Get(&back, 1, MPI_INT, right, 7, 1, MPI_INT, window));
        OK(MPI_Win_unlock(right, window));
        CHECK(back == 1007, "the neighbour's cell is %d", back);
        barrier();
        OK(MPI_Win_free(&window));
    }
}

/* A child that calls exec, as system() and popen() do, in the middle of an epoch. */
static void children_that_exec(void) {
    int *memory;
    MPI_Win window;
    OK(MPI_Win_allocate(4096, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    memory[0] = rank;
    barrier();
    OK(MPI_Win_lock_all(0, window));
    for (int round = 0; round < 20; round++) {
        int back = -1, right = (rank + 1) % ranks;
        CHECK(system("true") == 0, "round %d", round);
        OK(MPI_Get(&back, 1, MPI_INT, right, 0, 1, MPI_INT, window));
        OK(MPI_Win_flush(right, window));
        CHECK(back == right, "%d", back);
    }
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_free(&window));
}

MAIN(SCENARIO(given_and_taken), SCENARIO(of_size_zero), SCENARIO(of_negative_size), SCENARIO(of_many_megabytes), SCENARIO(child_of_alloc_mem),
     SCENARIO(child_of_windows), SCENARIO(children_that_exec))
