/* MPI_Win_create on memory that MPI gave out: of MPI_Alloc_mem, of another window of the same rank, of another rank's part. */
#include "check.h"

enum { CELLS = 100 };

/* Every rank puts its mark into a cell of its own at every rank, and reads everybody's marks back from everybody. */
static void exchange(MPI_Win window, int round) {
    OK(MPI_Win_lock_all(0, window));
    for (int target = 0; target < ranks; target++) {
        long mark = 1000000L * round + 1000 * rank + target;
        OK(MPI_Put(&mark, 1, MPI_LONG, target, rank, 1, MPI_LONG, window));
        OK(MPI_Win_flush(target, window));
    }
    barrier();
    for (int target = 0; target < ranks; target++)
        for (int origin = 0; origin < ranks; origin++) {
            long mark = -1;
            OK(MPI_Get(&mark, 1, MPI_LONG, target, origin, 1, MPI_LONG, window));
            OK(MPI_Win_flush(target, window));
            CHECK(mark == 1000000L * round + 1000 * origin + target, "mark of %d at %d is %ld", origin, target, mark);
        }
    barrier();
    OK(MPI_Win_unlock_all(window));
}

static void check_marks(const long *cells, int owner, int round) {
    for (int origin = 0; origin < ranks; origin++)
        CHECK(cells[origin] == 1000000L * round + 1000 * origin + owner, "mark of %d at %d is %ld", origin, owner, cells[origin]);
}

static void on_alloc_mem(void) {
    CHECK(ranks <= 10, "the marks of %d ranks would run into each other", ranks);
    long *memory;
    MPI_Win whole, middle;
    OK(MPI_Alloc_mem(CELLS * sizeof *memory, MPI_INFO_NULL, &memory));
    OK(MPI_Win_create(memory, CELLS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &whole));
    /* A second window over a part of it, at another place of each rank. */
    long *part = memory + 10 + rank;
    OK(MPI_Win_create(part, 20 * sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD, &middle));
    exchange(whole, 1);
    check_marks(memory, rank, 1);
    exchange(middle, 2);
    check_marks(part, rank, 2);
    check_marks(memory, rank, 1);
    OK(MPI_Win_free(&whole));
    exchange(middle, 3);
    check_marks(part, rank, 3);
    OK(MPI_Win_free(&middle));
    OK(MPI_Free_mem(memory));
}

/* Freed memory may come back at the same address for other ranks' windows: nothing may be remembered of it. */
static void on_memory_given_out_again(void) {
    for (int round = 1; round <= 200; round++) {
        long *memory;
        MPI_Win window;
        size_t cells = CELLS + (size_t)(round % 7) * 600 * (size_t)(rank + 1);
        OK(MPI_Alloc_mem((MPI_Aint)(cells * sizeof *memory), MPI_INFO_NULL, &memory));
        OK(MPI_Win_create(memory, (MPI_Aint)(cells * sizeof *memory), sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
        exchange(window, round);
        check_marks(memory, rank, round);
        OK(MPI_Win_free(&window));
        OK(MPI_Free_mem(memory));
    }
}

static void on_own_window(void) {
    long *memory;
    MPI_Win under, over;
    OK(MPI_Win_allocate(CELLS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &under));
    OK(MPI_Win_create(memory + 50, 20 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &over));
    exchange(over, 1);
    check_marks(memory + 50, rank, 1);
    exchange(under, 2);
    check_marks(memory, rank, 2);
    check_marks(memory + 50, rank, 1);
    OK(MPI_Win_free(&over));
    OK(MPI_Win_free(&under));
}

/* Each rank exposes the part of its right neighbour, reached through the shared query. */
static void on_peers_part(void) {
    long *own, *of_right;
    MPI_Aint size;
    int unit, right = (rank + 1) % ranks;
    MPI_Win under, over;
    OK(MPI_Win_allocate_shared(CELLS * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &under));
    OK(MPI_Win_shared_query(under, right, &size, &unit, &of_right));
    OK(MPI_Win_create(of_right + 30, 20 * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &over));
    exchange(over, 1);
    /* What was put to this rank lies in the right neighbour's part, and what was put to the left neighbour in this one's. */
    check_marks(of_right + 30, rank, 1);
    check_marks(own + 30, (rank + ranks - 1) % ranks, 1);
    barrier();
    OK(MPI_Win_free(&over));
    OK(MPI_Win_free(&under));
}

/* Rank 0 exposes one int and the others nothing: empty epochs on all, then rounds of put and get on rank 0. */
static void empty_on_all_but_one(void) {
    int *memory = NULL, value, back;
    MPI_Win window;
    if (rank == 0) {
        OK(MPI_Alloc_mem(sizeof *memory, MPI_INFO_NULL, &memory));
        *memory = -1;
    }
    OK(MPI_Win_create(memory, rank == 0 ? sizeof *memory : 0, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    for (int target = 0; target < ranks; target++) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window));
        OK(MPI_Win_flush(target, window));
        OK(MPI_Win_unlock(target, window));
    }
    for (int round = 0; round < 100; round++) {
        value = round * 100 + rank;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
        OK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window));
        OK(MPI_Win_flush(0, window));
        OK(MPI_Get(&back, 1, MPI_INT, 0, 0, 1, MPI_INT, window));
        OK(MPI_Win_unlock(0, window));
        CHECK(back == value, "%d came back of %d", back, value);
    }
    OK(MPI_Win_free(&window));
    if (rank == 0)
        OK(MPI_Free_mem(memory));
}

/* Rank 0 has 4 bytes, rank 1 none: the target's own size counts, not the origin's. */
static void sizes_differ(void) {
    int *memory, value = 4711, back = 0;
    MPI_Win window;
    OK(MPI_Alloc_mem(64, MPI_INFO_NULL, &memory));
    OK(MPI_Win_create(memory, rank == 0 ? 4 : 0, rank == 0 ? 4 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    OK(MPI_Win_fence(0, window));
    if (rank == 1)
        OK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    CHECK(rank != 0 || *memory == value, "%d", *memory);
    OK(MPI_Get(&back, 1, MPI_INT, 0, 0, 1, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    CHECK(back == value, "%d", back);
    OK(MPI_Win_free(&window));
    OK(MPI_Free_mem(memory));
}

MAIN(SCENARIO(on_alloc_mem), SCENARIO(on_memory_given_out_again), SCENARIO(on_own_window), SCENARIO(on_peers_part),
     SCENARIO(empty_on_all_but_one), SCENARIO(sizes_differ))
