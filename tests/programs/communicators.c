/* Windows on communicators other than the world: the window's ranks are the communicator's. */
#include "check.h"

/* Every rank of the communicator puts its world rank into its own cell at every rank; flavours in turn. */
static void check_window_on(MPI_Comm comm, int flavour) {
    int own, size, *memory, world = rank;
    MPI_Win window;
    OK(MPI_Comm_rank(comm, &own));
    OK(MPI_Comm_size(comm, &size));
    MPI_Aint bytes = (MPI_Aint)sizeof(int) * size;
    if (flavour == 0)
        OK(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, comm, &memory, &window));
    else if (flavour == 1)
        OK(MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, comm, &memory, &window));
    else {
        OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory));
        OK(MPI_Win_create(memory, bytes, sizeof(int), MPI_INFO_NULL, comm, &window));
    }
    MPI_Group of_comm, of_world;
    OK(MPI_Comm_group(comm, &of_comm));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &of_world));
    OK(MPI_Win_fence(0, window));
    for (int target = 0; target < size; target++)
        OK(MPI_Put(&world, 1, MPI_INT, target, own, 1, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    for (int origin = 0; origin < size; origin++) {
        int as_world;
        OK(MPI_Group_translate_ranks(of_comm, 1, &origin, of_world, &as_world));
        CHECK(memory[origin] == as_world, "flavour %d: cell %d holds %d, but that is rank %d of the world", flavour, origin, memory[origin],
              as_world);
    }
    OK(MPI_Win_fence(0, window));
    OK(MPI_Group_free(&of_comm));
    OK(MPI_Group_free(&of_world));
    OK(MPI_Win_free(&window));
    if (flavour == 2)
        OK(MPI_Free_mem(memory));
}

static void check_all_flavours_on(MPI_Comm comm) {
    for (int flavour = 0; flavour < 3; flavour++)
        check_window_on(comm, flavour);
}

static void halves(void) {
    MPI_Comm half;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    check_all_flavours_on(half);
    check_all_flavours_on(MPI_COMM_WORLD);
    OK(MPI_Comm_free(&half));
}

static void reversed(void) {
    MPI_Comm backwards;
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards));
    check_all_flavours_on(backwards);
    OK(MPI_Comm_free(&backwards));
}

/* A duplicate's window outlives the duplicate. */
static void duplicate(void) {
    MPI_Comm copy;
    int *memory, sent = 40 + rank;
    MPI_Win window;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    check_all_flavours_on(copy);
    OK(MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, copy, &memory, &window));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Win_fence(0, window));
    OK(MPI_Put(&sent, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    CHECK(memory[0] == 40 + (rank + ranks - 1) % ranks, "%d", memory[0]);
    OK(MPI_Win_free(&window));
}

/* Communicators come and go, and their handles are used again for other ranks: nothing may be remembered of them. */
static void handles_used_again(void) {
    for (int round = 0; round < 60; round++) {
        MPI_Comm comm;
        int colour = round % 3 == 0 ? rank % 2 : round % 3 == 1 ? rank / 2 : 0;
        OK(MPI_Comm_split(MPI_COMM_WORLD, colour, round % 2 ? rank : -rank, &comm));
        check_window_on(comm, round % 3);
        check_window_on(comm, (round + 1) % 3);
        OK(MPI_Comm_free(&comm));
    }
}

/* Some ranks make windows that others know nothing of, before all make one together. */
static void unequal_histories(void) {
    MPI_Comm low;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &low));
    int kept_memory_size = 0;
    MPI_Win kept[10];
    if (low != MPI_COMM_NULL)
        for (; kept_memory_size < 10; kept_memory_size++) {
            void *memory;
            OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, low, &memory, &kept[kept_memory_size]));
        }
    check_all_flavours_on(MPI_COMM_SELF);
    check_all_flavours_on(MPI_COMM_WORLD);
    for (int i = 0; i < kept_memory_size; i++)
        OK(MPI_Win_free(&kept[i]));
    if (low != MPI_COMM_NULL)
        OK(MPI_Comm_free(&low));
    check_all_flavours_on(MPI_COMM_WORLD);
}

/* Ranks of one half are busy creating while the other half is elsewhere. */
static void by_groups(void) {
    MPI_Group world, some;
    MPI_Comm comm;
    int chosen[] = {ranks - 1, 0, 1};
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 3, chosen, &some));
    OK(MPI_Comm_create(MPI_COMM_WORLD, some, &comm));
    if (comm != MPI_COMM_NULL) {
        check_all_flavours_on(comm);
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Group_free(&some));
    OK(MPI_Group_free(&world));
}

MAIN(SCENARIO(halves), SCENARIO(reversed), SCENARIO(duplicate), SCENARIO(handles_used_again), SCENARIO(unequal_histories), SCENARIO(by_groups))
