/* Post, start, complete, wait and test. */
#include "check.h"

static int rounds(int usual) {
    return getenv("TRANSOM_TEST_FULL") ? 10 * usual : usual;
}

static MPI_Group group_of(const int *members, int count) {
    MPI_Group world, group;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, count, members, &group));
    OK(MPI_Group_free(&world));
    return group;
}

static MPI_Group group_of_one(int member) {
    return group_of(&member, 1);
}

static int right(void) {
    return (rank + 1) % ranks;
}

static int left(void) {
    return (rank + ranks - 1) % ranks;
}

/* Rank 0 puts, rank 1 is the target; then the other way round. */
static void pairs(void) {
    long *own;
    MPI_Win window = allocate_cells(64, &own);
    MPI_Group other = group_of_one(1 - rank);
    for (int round = 1; round <= rounds(1000); round++) {
        if (round % 2 == rank) {
            long values[3] = {round, -round, 7}, back = -1;
            OK(MPI_Win_start(other, 0, window));
            OK(MPI_Put(values, 2, MPI_LONG, 1 - rank, 0, 2, MPI_LONG, window));
            OK(MPI_Accumulate(&values[2], 1, MPI_LONG, 1 - rank, 2, 1, MPI_LONG, MPI_SUM, window));
            OK(MPI_Get(&back, 1, MPI_LONG, 1 - rank, 3, 1, MPI_LONG, window));
            OK(MPI_Win_complete(window));
            CHECK(back == 100 * round, "round %d: %ld", round, back);
        } else {
            own[2] = round;
            own[3] = 100 * round;
            OK(MPI_Win_post(other, 0, window));
            OK(MPI_Win_wait(window));
            CHECK(own[0] == round && own[1] == -round && own[2] == round + 7, "round %d: %ld %ld %ld", round, own[0], own[1], own[2]);
        }
    }
    OK(MPI_Group_free(&other));
    OK(MPI_Win_free(&window));
}

/* Every rank is target of its left neighbour and origin at its right one. */
static void ring_on(MPI_Win window, long *own, int round, int late) {
    long value = 1000L * round + rank;
    MPI_Group from = group_of_one(left()), to = group_of_one(right());
    if (late)
        sleep_ms(2);
    OK(MPI_Win_post(from, 0, window));
    OK(MPI_Win_start(to, 0, window));
    OK(MPI_Put(&value, 1, MPI_LONG, right(), 0, 1, MPI_LONG, window));
    OK(MPI_Win_complete(window));
    OK(MPI_Win_wait(window));
    CHECK(own[0] == 1000L * round + left(), "round %d: %ld", round, own[0]);
    OK(MPI_Group_free(&from));
    OK(MPI_Group_free(&to));
}

static void ring(void) {
    long *own;
    MPI_Win window = allocate_cells(64, &own);
    for (int round = 0; round < rounds(1000); round++)
        ring_on(window, own, round, round % 100 == rank);
    OK(MPI_Win_free(&window));
}

/* Rank 0 exposes to the first n others, for every n from none on; then is origin at as many. */
static void groups_of_every_size(void) {
    long *own;
    MPI_Win window = allocate_cells(64, &own);
    int members[64];
    MPI_Group zero = group_of_one(0);
    for (int round = 0; round < rounds(60); round++)
        for (int size = 0; size < ranks; size++) {
            long value = 100 * round + rank;
            for (int i = 0; i < size; i++)
                members[i] = i + 1;
            MPI_Group others = group_of(members, size);
            if (rank == 0) {
                OK(MPI_Win_post(others, 0, window));
                OK(MPI_Win_wait(window));
                for (int i = 1; i <= size; i++)
                    CHECK(own[i] == 100 * round + i, "round %d, size %d, from %d: %ld", round, size, i, own[i]);
                value = 5000 + round;
                OK(MPI_Win_start(others, 0, window));
                for (int i = 1; i <= size; i++)
                    OK(MPI_Put(&value, 1, MPI_LONG, i, 40, 1, MPI_LONG, window));
                OK(MPI_Win_complete(window));
            } else if (rank <= size) {
                OK(MPI_Win_start(zero, 0, window));
                OK(MPI_Put(&value, 1, MPI_LONG, 0, rank, 1, MPI_LONG, window));
                OK(MPI_Win_complete(window));
                OK(MPI_Win_post(zero, 0, window));
                OK(MPI_Win_wait(window));
                CHECK(own[40] == 5000 + round, "round %d, size %d: %ld", round, size, own[40]);
            }
            OK(MPI_Group_free(&others));
        }
    OK(MPI_Group_free(&zero));
    OK(MPI_Win_free(&window));
}

/* MPI_GROUP_EMPTY on either side, and on both. */
static void empty_groups(void) {
    long *own;
    int flag = 0;
    MPI_Win window = allocate_cells(64, &own);
    for (int round = 0; round < 10; round++) {
        OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, window));
        OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, window));
        OK(MPI_Win_complete(window));
        OK(MPI_Win_wait(window));
        OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, window));
        OK(MPI_Win_test(window, &flag));
        CHECK(flag, "an epoch that waits for nobody has not ended");
    }
    OK(MPI_Win_free(&window));
}

/* Groups of several that overlap, another pair of them each round, all ranks on both sides, themselves included now and then. */
static void overlapping_groups(void) {
    long *own;
    MPI_Win window = allocate_cells(64, &own);
    for (int round = 0; round < rounds(300); round++) {
        int targets[64], origins[64], target_count = 0, origin_count = 0;
        /* Rank r is origin at r + d for each distance d of this round. */
        for (int distance = round % 5 == 0 ? 0 : 1; distance < ranks; distance++)
            if (round % (distance + 2) != 1) {
                targets[target_count++] = (rank + distance) % ranks;
                origins[origin_count++] = (rank + ranks - distance) % ranks;
            }
        MPI_Group to = group_of(targets, target_count), from = group_of(origins, origin_count);
        OK(MPI_Win_post(from, 0, window));
        OK(MPI_Win_start(to, 0, window));
        long value = 100L * round + rank;
        /* Some targets are not touched. */
        for (int i = 0; i < target_count; i++)
            if ((round + targets[i]) % 3)
                OK(MPI_Put(&value, 1, MPI_LONG, targets[i], rank, 1, MPI_LONG, window));
        OK(MPI_Win_complete(window));
        OK(MPI_Win_wait(window));
        for (int i = 0; i < origin_count; i++)
            CHECK((round + rank) % 3 == 0 || own[origins[i]] == 100L * round + origins[i], "round %d, from %d: %ld", round, origins[i],
                  own[origins[i]]);
        OK(MPI_Group_free(&to));
        OK(MPI_Group_free(&from));
    }
    OK(MPI_Win_free(&window));
}

/* An origin that starts long before its target posts, a target that posts long before, and an origin that runs ahead by several epochs would
 * overwrite what the target has not yet looked at. */
static void start_before_post(void) {
    long *own;
    MPI_Win window = allocate_cells(64, &own);
    MPI_Group other = group_of_one(1 - rank);
    for (int round = 1; round <= 20; round++) {
        if (rank == 0) {
            long value = round;
            if (round % 2)
                sleep_ms(10);
            OK(MPI_Win_start(other, 0, window));
            if (round % 3)
                OK(MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window));
            OK(MPI_Win_complete(window));
        } else {
            own[0] = -round;
            if (round % 2 == 0)
                sleep_ms(10);
            CHECK(own[0] == -round, "round %d: put into an epoch that is not open: %ld", round, own[0]);
            OK(MPI_Win_post(other, 0, window));
            OK(MPI_Win_wait(window));
            CHECK(own[0] == (round % 3 ? round : -round), "round %d: %ld", round, own[0]);
        }
    }
    OK(MPI_Group_free(&other));
    OK(MPI_Win_free(&window));
}

/* MPI_MODE_NOCHECK on both sides, with the order that it promises made by a message; NOSTORE and NOPUT where they are true. */
static void assertions(void) {
    long *own;
    MPI_Win window = allocate_cells(64, &own);
    MPI_Group other = group_of_one(1 - rank);
    for (int round = 1; round <= rounds(200); round++) {
        if (rank == 0) {
            long value = round, back = -1;
            OK(MPI_Recv(NULL, 0, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Win_start(other, MPI_MODE_NOCHECK, window));
            if (round % 4 == 3)
                OK(MPI_Get(&back, 1, MPI_LONG, 1, 1, 1, MPI_LONG, window));
            else
                OK(MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window));
            OK(MPI_Win_complete(window));
            CHECK(round % 4 != 3 || back == 0, "%ld", back);
        } else {
            OK(MPI_Win_post(other, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | (round % 4 == 3 ? MPI_MODE_NOPUT : 0), window));
            OK(MPI_Send(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD));
            OK(MPI_Win_wait(window));
            CHECK(own[0] == (round % 4 == 3 ? round - 1 : round), "round %d: %ld", round, own[0]);
        }
    }
    OK(MPI_Group_free(&other));
    OK(MPI_Win_free(&window));
}

/* Case 34: false as long as the origin has not completed, then true, once; and the epoch has ended by that. */
static void test_false_then_true(void) {
    long *own;
    MPI_Win window = allocate_cells(64, &own);
    MPI_Group other = group_of_one(1 - rank);
    for (int round = 1; round <= 10; round++) {
        if (rank == 0) {
            long value = round;
            OK(MPI_Win_start(other, 0, window));
            OK(MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window));
            OK(MPI_Recv(NULL, 0, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Win_complete(window));
        } else {
            int flag = -1;
            OK(MPI_Win_post(other, 0, window));
            for (int i = 0; i < 10; i++) {
                OK(MPI_Win_test(window, &flag));
                CHECK(flag == 0, "round %d: the epoch ended before its origin has completed", round);
            }
            OK(MPI_Send(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD));
            while (!flag)
                OK(MPI_Win_test(window, &flag));
            CHECK(own[0] == round, "round %d: %ld", round, own[0]);
        }
    }
    OK(MPI_Group_free(&other));
    OK(MPI_Win_free(&window));
}

/* Case 34: a loop of MPI_Win_test moves a large message along, on which the origin's MPI_Win_complete depends. */
static void test_progresses_messages(void) {
    enum { LARGE = 1 << 22 };
    long *own;
    MPI_Win window = allocate_cells(64, &own);
    MPI_Group other = group_of_one(1 - rank);
    char *message = malloc(LARGE);
    for (int round = 1; round <= 3; round++) {
        if (rank == 0) {
            long value = round;
            OK(MPI_Win_start(other, 0, window));
            OK(MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window));
            OK(MPI_Recv(message, LARGE, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(message[LARGE - 1] == round, "%d", message[LARGE - 1]);
            OK(MPI_Win_complete(window));
        } else {
            MPI_Request request;
            int flag = 0;
            memset(message, round, LARGE);
            OK(MPI_Win_post(other, 0, window));
            OK(MPI_Isend(message, LARGE, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &request));
            for (double end = seconds() + 20; !flag;) {
                OK(MPI_Win_test(window, &flag));
                CHECK(seconds() < end, "the message does not arrive");
            }
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK(own[0] == round, "round %d: %ld", round, own[0]);
        }
    }
    free(message);
    OK(MPI_Group_free(&other));
    OK(MPI_Win_free(&window));
}

/* The same for MPI_Win_wait, and for the first operation, which waits for the post. */
static void waits_progress_messages(void) {
    enum { LARGE = 1 << 22 };
    long *own, value = 3;
    MPI_Win window = allocate_cells(64, &own);
    MPI_Group other = group_of_one(1 - rank);
    char *message = malloc(LARGE);
    memset(message, 1, LARGE);
    for (int round = 0; round < 2; round++) {
        MPI_Request request;
        if (rank == 0) {
            OK(MPI_Isend(message, LARGE, MPI_CHAR, 1, 6, MPI_COMM_WORLD, &request));
            OK(MPI_Win_start(other, 0, window));
            OK(MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window));
            OK(MPI_Recv(message, LARGE, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Win_complete(window));
        } else {
            OK(MPI_Recv(message, LARGE, MPI_CHAR, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Win_post(other, 0, window));
            OK(MPI_Isend(message, LARGE, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &request));
            OK(MPI_Win_wait(window));
        }
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    free(message);
    OK(MPI_Group_free(&other));
    OK(MPI_Win_free(&window));
}

/* Epochs on two windows at once, begun and ended in different orders. */
static void two_windows(void) {
    long *own[2];
    MPI_Win windows[2] = {allocate_cells(64, &own[0]), allocate_cells(64, &own[1])};
    MPI_Group from = group_of_one(left()), to = group_of_one(right());
    for (int round = 0; round < rounds(300); round++) {
        int first = round % 2, second = 1 - first;
        long values[2] = {10L * round, 10L * round + 1};
        OK(MPI_Win_post(from, 0, windows[0]));
        OK(MPI_Win_post(from, 0, windows[1]));
        OK(MPI_Win_start(to, 0, windows[first]));
        OK(MPI_Win_start(to, 0, windows[second]));
        for (int i = 0; i < 2; i++)
            OK(MPI_Put(&values[i], 1, MPI_LONG, right(), 0, 1, MPI_LONG, windows[i]));
        OK(MPI_Win_complete(windows[second]));
        OK(MPI_Win_complete(windows[first]));
        OK(MPI_Win_wait(windows[first]));
        OK(MPI_Win_wait(windows[second]));
        for (int i = 0; i < 2; i++)
            CHECK(own[i][0] == values[i], "round %d, window %d: %ld", round, i, own[i][0]);
    }
    OK(MPI_Group_free(&from));
    OK(MPI_Group_free(&to));
    for (int i = 0; i < 2; i++)
        OK(MPI_Win_free(&windows[i]));
}

/* An exposure epoch beside accesses of another kind: fences before and after, locks between. */
static void beside_other_epochs(void) {
    long *own;
    MPI_Win window = allocate_cells(64, &own);
    for (int round = 0; round < 100; round++) {
        long value = round;
        OK(MPI_Win_fence(0, window));
        OK(MPI_Put(&value, 1, MPI_LONG, right(), 1, 1, MPI_LONG, window));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
        CHECK(own[1] == round, "round %d: %ld", round, own[1]);
        ring_on(window, own, round, 0);
        barrier();
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right(), 0, window));
        OK(MPI_Put(&value, 1, MPI_LONG, right(), 2, 1, MPI_LONG, window));
        OK(MPI_Win_unlock(right(), window));
        barrier();
    }
    OK(MPI_Win_free(&window));
}

/* A group that was made from another communicator, and freed between post and wait. */
static void groups_of_another_communicator(void) {
    long *own, value = 40 + rank;
    MPI_Comm reversed;
    MPI_Group all, from, to;
    MPI_Win window = allocate_cells(64, &own);
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed));
    OK(MPI_Comm_group(reversed, &all));
    int of_left = ranks - 1 - left(), of_right = ranks - 1 - right();
    OK(MPI_Group_incl(all, 1, &of_left, &from));
    OK(MPI_Group_incl(all, 1, &of_right, &to));
    OK(MPI_Win_post(from, 0, window));
    OK(MPI_Win_start(to, 0, window));
    OK(MPI_Group_free(&from));
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&all));
    OK(MPI_Comm_free(&reversed));
    OK(MPI_Put(&value, 1, MPI_LONG, right(), 0, 1, MPI_LONG, window));
    OK(MPI_Win_complete(window));
    OK(MPI_Win_wait(window));
    CHECK(own[0] == 40 + left(), "%ld", own[0]);
    OK(MPI_Win_free(&window));
}

/* Calls out of place: each is an error that changes nothing. */
static void out_of_place(void) {
    long *own, value = 1;
    int flag = 5;
    MPI_Win window = allocate_cells(64, &own);
    MPI_Group from = group_of_one(left()), to = group_of_one(right());
    window_returns_errors(window);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_wait(window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_test(window, &flag));
    CHECK(flag == 5, "%d", flag);
    FAILS(MPI_ERR_ASSERT, MPI_Win_start(to, 1 << 30, window));
    FAILS(MPI_ERR_ASSERT, MPI_Win_post(from, 1 << 30, window));
    OK(MPI_Win_post(from, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_post(from, 0, window));
    OK(MPI_Win_start(to, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(to, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right(), window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(right(), window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_LONG, left(), 0, 1, MPI_LONG, window));
    MPI_Win copy = window;
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&copy));
    value = 70 + rank;
    OK(MPI_Put(&value, 1, MPI_LONG, right(), 0, 1, MPI_LONG, window));
    OK(MPI_Win_complete(window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_LONG, right(), 0, 1, MPI_LONG, window));
    copy = window;
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&copy));
    OK(MPI_Win_wait(window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_wait(window));
    CHECK(own[0] == 70 + left(), "%ld", own[0]);
    /* A lock epoch keeps start out. */
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(to, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(window));
    OK(MPI_Win_unlock(right(), window));
    barrier();
    ring_on(window, own, 9, 0);
    OK(MPI_Group_free(&from));
    OK(MPI_Group_free(&to));
    OK(MPI_Win_free(&window));
}

/* A group with a rank that the window does not have. */
static void group_beyond_the_window(void) {
    long *own;
    MPI_Win window;
    MPI_Comm half;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Win_allocate(64 * 8, 8, MPI_INFO_NULL, half, &own, &window));
    window_returns_errors(window);
    MPI_Group outside = group_of_one(right());
    FAILS(MPI_ERR_GROUP, MPI_Win_start(outside, 0, window));
    FAILS(MPI_ERR_GROUP, MPI_Win_post(outside, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_wait(window));
    OK(MPI_Group_free(&outside));
    OK(MPI_Win_free(&window));
    OK(MPI_Comm_free(&half));
}

/* The error is the window's, not one of MPI_COMM_WORLD, whose handler ends the job. */
static void null_groups(void) {
    long *own;
    MPI_Win window = allocate_cells(64, &own);
    window_returns_errors(window);
    FAILS(MPI_ERR_GROUP, MPI_Win_post(MPI_GROUP_NULL, 0, window));
    FAILS(MPI_ERR_GROUP, MPI_Win_start(MPI_GROUP_NULL, 0, window));
    barrier();
    ring_on(window, own, 1, 0);
    OK(MPI_Win_free(&window));
}

MAIN(SCENARIO(pairs), SCENARIO(ring), SCENARIO(groups_of_every_size), SCENARIO(empty_groups), SCENARIO(overlapping_groups),
     SCENARIO(start_before_post), SCENARIO(assertions), SCENARIO(test_false_then_true), SCENARIO(test_progresses_messages),
     SCENARIO(waits_progress_messages), SCENARIO(two_windows), SCENARIO(beside_other_epochs),
     SCENARIO(groups_of_another_communicator), SCENARIO(out_of_place), SCENARIO(null_groups), SCENARIO(group_beyond_the_window))
