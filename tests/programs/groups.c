/* Groups of windows: whose they are, in which order, and how long they live. */
#include "flavours.h"

enum { BYTES = 1024 };

static MPI_Group group_of(MPI_Win window) {
    MPI_Group group = MPI_GROUP_NULL;
    OK(MPI_Win_get_group(window, &group));
    CHECK(group != MPI_GROUP_NULL, "no group");
    return group;
}

/* The groups have the same ranks in the same order. */
static void check_same(MPI_Group one, MPI_Group other) {
    int result;
    OK(MPI_Group_compare(one, other, &result));
    CHECK(result == MPI_IDENT, "comparison gives %d", result);
}

/* Which rank of the world each rank of a group is. */
static void check_world_ranks(MPI_Group group, int first, int step) {
    MPI_Group world;
    int size, own;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(group, &size));
    OK(MPI_Group_rank(group, &own));
    for (int i = 0; i < size; i++) {
        int in_world;
        OK(MPI_Group_translate_ranks(group, 1, &i, world, &in_world));
        CHECK(in_world == first + i * step, "rank %d is %d of the world, not %d", i, in_world, first + i * step);
        CHECK((own == i) == (in_world == rank), "rank %d is %d in the group", rank, own);
    }
    OK(MPI_Group_free(&world));
}

static void of_the_world(void) {
    MPI_Group world;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int f = 0; f < FLAVOURS; f++) {
        struct window window = flavours[f](BYTES, 1, MPI_COMM_WORLD);
        MPI_Group group = group_of(window.handle);
        check_same(group, world);
        check_world_ranks(group, 0, 1);
        OK(MPI_Group_free(&group));
        CHECK(group == MPI_GROUP_NULL, "a freed group stays");
        end(&window);
    }
    OK(MPI_Group_free(&world));
}

/* Even and odd ranks apart, in reverse order, and ranks alone. */
static void of_other_communicators(void) {
    MPI_Comm comms[3];
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[0]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &comms[1]));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[2]));
    const int first[] = {rank % 2, ranks - 1, rank}, step[] = {2, -1, 1};
    for (int c = 0; c < 3; c++)
        for (int f = 0; f < FLAVOURS; f++) {
            MPI_Group of_comm;
            struct window window = flavours[f](BYTES, 1, comms[c]);
            OK(MPI_Comm_group(comms[c], &of_comm));
            MPI_Group group = group_of(window.handle);
            check_same(group, of_comm);
            check_world_ranks(group, first[c], step[c]);
            OK(MPI_Group_free(&group));
            OK(MPI_Group_free(&of_comm));
            end(&window);
        }
    for (int c = 0; c < 3; c++)
        OK(MPI_Comm_free(&comms[c]));
}

/* The window's group needs its communicator no more, and the program's copy not the window. */
static void outlives_what_it_came_from(void) {
    for (int f = 0; f < FLAVOURS; f++) {
        MPI_Comm reversed, from_group;
        MPI_Group before, after;
        OK(MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed));
        struct window window = flavours[f](BYTES, 1, reversed);
        before = group_of(window.handle);
        OK(MPI_Comm_free(&reversed));
        after = group_of(window.handle);
        check_same(before, after);
        OK(MPI_Group_free(&before));
        end(&window);
        check_world_ranks(after, ranks - 1, -1);
        /* It is as good as any for what comes next: a communicator, and a window on that. */
        OK(MPI_Comm_create(MPI_COMM_WORLD, after, &from_group));
        window = flavours[f](BYTES, 1, from_group);
        before = group_of(window.handle);
        check_same(before, after);
        OK(MPI_Group_free(&before));
        end(&window);
        OK(MPI_Comm_free(&from_group));
        OK(MPI_Group_free(&after));
    }
}

/* Each one that is got is the program's own: freeing it takes nothing from the window, and what is not freed harms nobody. */
static void got_many_times(void) {
    enum { ROUNDS = 20000, KEPT = 100 };
    static MPI_Group kept[KEPT];
    struct window window = allocated(BYTES, 1, MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Group group = group_of(window.handle);
        OK(MPI_Group_free(&group));
    }
    for (int i = 0; i < KEPT; i++)
        kept[i] = group_of(window.handle);
    for (int i = 0; i < KEPT / 2; i++)
        OK(MPI_Group_free(&kept[i]));
    end(&window);
    for (int i = KEPT / 2; i < KEPT; i++) {
        check_world_ranks(kept[i], 0, 1);
        OK(MPI_Group_free(&kept[i]));
    }
}

MAIN(SCENARIO(of_the_world), SCENARIO(of_other_communicators), SCENARIO(outlives_what_it_came_from), SCENARIO(got_many_times))
