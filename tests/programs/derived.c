/* Derived datatypes in one-sided calls: what the conformance matrix does not reach, since it is about life, addresses, errors and others. */
#include "memories.h"
#include <malloc.h>
#include <pthread.h>

static enum memory memory;
static struct made window;
static int right, left;

/* All ranks' windows under lock_all, with zeros in them. */
static void open_windows(MPI_Aint size, int unit) {
    right = (rank + 1) % ranks;
    left = (rank + ranks - 1) % ranks;
    window = make(memory, size, unit);
    OK(MPI_Win_set_errhandler(window.window, MPI_ERRORS_RETURN));
    barrier();
    OK(MPI_Win_lock_all(0, window.window));
}

/* What was done to this rank's window can be looked at behind it, and what is written there reaches the others. */
static void meet(void) {
    OK(MPI_Win_flush_all(window.window));
    barrier();
    OK(MPI_Win_sync(window.window));
}

static void close_windows(void) {
    OK(MPI_Win_unlock_all(window.window));
    barrier();
    unmake(&window);
}

static MPI_Datatype committed(MPI_Datatype type) {
    OK(MPI_Type_commit(&type));
    return type;
}

/* MPI_BOTTOM and the addresses of these elements. */
static MPI_Datatype absolute(int count, int *const *elements) {
    MPI_Aint at[16];
    MPI_Datatype type;
    for (int i = 0; i < count; i++)
        OK(MPI_Get_address(elements[i], &at[i]));
    OK(MPI_Type_create_hindexed_block(count, 1, at, MPI_INT, &type));
    return committed(type);
}

/* Case 41: all operations from and into MPI_BOTTOM, the addresses in no order, some of them below others. */
static void bottom(void) {
    int near[4], *far = malloc(sizeof(int)), result[3], *far_result = malloc(sizeof(int));
    int *origins[3] = {&near[2], far, &near[0]}, *results[3] = {&result[1], &result[0], far_result};
    MPI_Request request;
    open_windows(64, sizeof(int));
    MPI_Datatype from = absolute(3, origins), to = absolute(3, results);
    near[2] = 10 + rank, *far = 20 + rank, near[0] = 30 + rank;
    OK(MPI_Put(MPI_BOTTOM, 1, from, right, 1, 3, MPI_INT, window.window));
    meet();
    int *own = (int *)window.base;
    for (int i = 0; i < 3; i++)
        CHECK(own[1 + i] == 10 * (i + 1) + left, "element %d is %d", i, own[1 + i]);
    OK(MPI_Get(MPI_BOTTOM, 1, to, right, 1, 3, MPI_INT, window.window));
    OK(MPI_Win_flush(right, window.window));
    CHECK(result[1] == 10 + rank && result[0] == 20 + rank && *far_result == 30 + rank, "%d %d %d", result[1], result[0], *far_result);
    meet();
    OK(MPI_Accumulate(MPI_BOTTOM, 1, from, right, 1, 3, MPI_INT, MPI_SUM, window.window));
    OK(MPI_Raccumulate(MPI_BOTTOM, 1, from, right, 1, 3, MPI_INT, MPI_SUM, window.window, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Get_accumulate(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, right, 1, 3, MPI_INT, MPI_SUM, window.window));
    OK(MPI_Win_flush(right, window.window));
    CHECK(result[1] == 3 * (10 + rank) && result[0] == 3 * (20 + rank) && *far_result == 3 * (30 + rank), "%d %d %d", result[1],
          result[0], *far_result);
    OK(MPI_Rget_accumulate(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, right, 1, 3, MPI_INT, MPI_SUM, window.window, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(result[1] == 4 * (10 + rank) && *far_result == 4 * (30 + rank), "%d %d", result[1], *far_result);
    meet();
    for (int i = 0; i < 3; i++)
        CHECK(own[1 + i] == 5 * (10 * (i + 1) + left), "element %d is %d", i, own[1 + i]);
    CHECK(own[0] == 0 && own[4] == 0, "%d and %d around", own[0], own[4]);
    OK(MPI_Type_free(&from));
    OK(MPI_Type_free(&to));
    free(far);
    free(far_result);
    close_windows();
}

/* Case 42, in four parts. */
static void get_accumulate_layouts(void) {
    int one[8] = {1, 2, 3, 4, 5, 6, 7, 8}, result[8];
    MPI_Datatype vector, displaced, single;
    MPI_Aint at = 2 * sizeof(int);
    int length = 3;
    open_windows(64, sizeof(int));
    int *own = (int *)window.base;
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &vector));
    OK(MPI_Type_create_hindexed(1, &length, &at, MPI_INT, &displaced));
    OK(MPI_Type_contiguous(1, MPI_INT, &single));
    vector = committed(vector), displaced = committed(displaced), single = committed(single);
    memset(result, 0xff, sizeof result);
    OK(MPI_Get_accumulate(one, 3, MPI_INT, result, 1, vector, right, 0, 3, MPI_INT, MPI_SUM, window.window));
    OK(MPI_Win_flush(right, window.window));
    CHECK(result[0] == 0 && result[1] == -1 && result[2] == 0 && result[3] == -1 && result[4] == 0 && result[5] == -1, "gaps");
    meet();
    CHECK(own[0] == 1 && own[1] == 2 && own[2] == 3 && own[3] == 0, "%d %d %d %d", own[0], own[1], own[2], own[3]);
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT, result, 1, vector, right, 0, 1, displaced, MPI_NO_OP, window.window));
    OK(MPI_Win_flush(right, window.window));
    CHECK(result[0] == 3 && result[1] == -1 && result[2] == 0 && result[4] == 0, "%d %d %d", result[0], result[2], result[4]);
    meet();
    OK(MPI_Get_accumulate(one, 1, displaced, result, 1, displaced, right, 0, 1, displaced, MPI_REPLACE, window.window));
    OK(MPI_Win_flush(right, window.window));
    CHECK(result[1] == -1 && result[2] == 3 && result[3] == 0 && result[4] == 0 && result[5] == -1, "displaced result");
    meet();
    CHECK(own[0] == 1 && own[1] == 2 && own[2] == 3 && own[3] == 4 && own[4] == 5 && own[5] == 0, "displaced target");
    meet();
    OK(MPI_Get_accumulate(&one[7], 1, single, result, 1, single, right, 5, 1, single, MPI_SUM, window.window));
    OK(MPI_Fetch_and_op(&one[7], result, MPI_INT, right, 5, MPI_SUM, window.window));
    meet();
    CHECK(result[0] == 8 && own[5] == 16, "%d, %d", result[0], own[5]);
    OK(MPI_Type_free(&vector));
    OK(MPI_Type_free(&displaced));
    OK(MPI_Type_free(&single));
    close_windows();
}

/* Case 43: the origin's type reaches far beyond the window, the target's does not. */
static void large_extent_at_the_origin(void) {
    enum { FAR = 100000 };
    MPI_Datatype wide;
    int *buffer = calloc(2 * FAR, sizeof(int));
    open_windows(4 * sizeof(int), 1);
    int *own = (int *)window.base;
    OK(MPI_Type_create_resized(MPI_INT, 0, FAR * sizeof(int), &wide));
    wide = committed(wide);
    buffer[0] = rank + 1, buffer[FAR] = rank + 2;
    OK(MPI_Put(buffer, 2, wide, right, 0, 2, MPI_INT, window.window));
    meet();
    CHECK(own[0] == left + 1 && own[1] == left + 2, "%d %d", own[0], own[1]);
    meet();
    OK(MPI_Accumulate(buffer, 2, wide, right, 0, 2, MPI_INT, MPI_SUM, window.window));
    meet();
    CHECK(own[0] == 2 * (left + 1) && own[1] == 2 * (left + 2), "%d %d", own[0], own[1]);
    buffer[0] = buffer[FAR] = -1;
    OK(MPI_Get(buffer, 2, wide, right, 0, 2, MPI_INT, window.window));
    OK(MPI_Win_flush(right, window.window));
    CHECK(buffer[0] == 2 * (rank + 1) && buffer[FAR] == 2 * (rank + 2) && buffer[1] == 0, "%d %d", buffer[0], buffer[FAR]);
    OK(MPI_Type_free(&wide));
    free(buffer);
    close_windows();
}

/* Case 61: freed right after the call, ten thousand times; new types get the old ones' handles, with other layouts. */
static void freed_at_once(void) {
    enum { ROUNDS = 10000, CELLS = 64 };
    int from[CELLS], expected[CELLS] = {0};
    MPI_Datatype last = MPI_DATATYPE_NULL;
    int again = 0;
    open_windows(CELLS * sizeof(int), sizeof(int));
    for (int round = 0; round < ROUNDS; round++) {
        int count = 1 + round % 5, stride = 1 + round % 7;
        MPI_Datatype type;
        OK(MPI_Type_vector(count, 1, stride, MPI_INT, &type));
        OK(MPI_Type_commit(&type));
        again += type == last;
        last = type;
        for (int i = 0; i < CELLS; i++)
            from[i] = round * CELLS + i;
        OK(MPI_Put(from, 1, type, right, round % 3, 1, type, window.window));
        OK(MPI_Type_free(&type));
        for (int i = 0; i < count; i++)
            expected[round % 3 + i * stride] = from[i * stride];
        if (round % 10 == 9)
            OK(MPI_Win_flush(right, window.window));
    }
    meet();
    for (int i = 0; i < CELLS; i++)
        CHECK(((int *)window.base)[i] == expected[i], "cell %d is %d, not %d", i, ((int *)window.base)[i], expected[i]);
    CHECK(again > 0, "no handle came twice in a row: this shows nothing");
    close_windows();
}

/* Case 62: five thousand puts, each with a type of its own that is freed while they are under way, before one flush. */
static void many_before_one_flush(void) {
    enum { PUTS = 5000, BYTES = 40 };
    MPI_Datatype types[PUTS];
    char *from = malloc(PUTS * BYTES);
    open_windows(PUTS * BYTES, 1);
    memset(from, rank + 1, PUTS * BYTES);
    for (int i = 0; i < PUTS; i++) {
        int lengths[2] = {1 + i % 7, 2}, displacements[2] = {i % 3, 20 + i % 11};
        OK(MPI_Type_indexed(2, lengths, displacements, MPI_CHAR, &types[i]));
        OK(MPI_Type_commit(&types[i]));
        OK(MPI_Put(from, 1, types[i], right, i * BYTES, 1, types[i], window.window));
        if (i % 2)
            OK(MPI_Type_free(&types[i]));
    }
    meet();
    for (int i = 0; i < PUTS; i++) {
        for (int byte = 0; byte < BYTES; byte++) {
            int written = (byte >= i % 3 && byte < i % 3 + 1 + i % 7) || (byte >= 20 + i % 11 && byte < 22 + i % 11);
            CHECK(window.base[i * BYTES + byte] == (written ? left + 1 : 0), "put %d, byte %d", i, byte);
        }
        if (i % 2 == 0)
            OK(MPI_Type_free(&types[i]));
    }
    free(from);
    close_windows();
}

/* 131,072 blocks, irregular, by each constructor that lists them. */
static void many_blocks(void) {
    enum { BLOCKS = 131072, INTS = 3 * BLOCKS };
    MPI_Aint size = (MPI_Aint)INTS * sizeof(int);
    int *lengths = malloc(BLOCKS * sizeof(int)), *displacements = malloc(BLOCKS * sizeof(int));
    MPI_Aint *addresses = malloc(BLOCKS * sizeof(MPI_Aint));
    MPI_Datatype *types = malloc(BLOCKS * sizeof(MPI_Datatype)), made[5];
    int *from = malloc((size_t)size), *back = malloc((size_t)size);
    char *covered = malloc(INTS);
    long elements = 0;
    right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    OK(MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.base, &window.window));
    window.memory = ALLOCATED;
    OK(MPI_Win_lock_all(0, window.window));
    int *own = (int *)window.base;
    for (int kind = 0; kind < 5; kind++) {
        int fixed = kind >= 3;
        memset(covered, 0, INTS);
        elements = 0;
        for (int i = 0; i < BLOCKS; i++) {
            lengths[i] = fixed ? 1 : 1 + (i * 7 + i / 11) % 2;
            displacements[i] = 3 * i + (i * 5 + i / 13) % 2;
            addresses[i] = (MPI_Aint)displacements[i] * sizeof(int);
            types[i] = MPI_INT;
            for (int j = 0; j < lengths[i]; j++)
                covered[displacements[i] + j] = 1;
            elements += lengths[i];
        }
        if (kind == 0)
            OK(MPI_Type_indexed(BLOCKS, lengths, displacements, MPI_INT, &made[kind]));
        else if (kind == 1)
            OK(MPI_Type_create_hindexed(BLOCKS, lengths, addresses, MPI_INT, &made[kind]));
        else if (kind == 2)
            OK(MPI_Type_create_struct(BLOCKS, lengths, addresses, types, &made[kind]));
        else if (kind == 3)
            OK(MPI_Type_create_indexed_block(BLOCKS, 1, displacements, MPI_INT, &made[kind]));
        else
            OK(MPI_Type_create_hindexed_block(BLOCKS, 1, addresses, MPI_INT, &made[kind]));
        MPI_Datatype type = made[kind] = committed(made[kind]);
        for (int i = 0; i < INTS; i++)
            from[i] = i + rank, own[i] = -1, back[i] = -2;
        meet();
        OK(MPI_Put(from, 1, type, right, 0, 1, type, window.window));
        OK(MPI_Win_flush(right, window.window));
        /* Into one piece, and from there. */
        OK(MPI_Get(back, (int)elements, MPI_INT, right, 0, 1, type, window.window));
        OK(MPI_Win_flush(right, window.window));
        long next = 0;
        for (int i = 0; i < INTS; i++)
            if (covered[i]) {
                CHECK(back[next] == i + rank, "element %ld is %d, not %d", next, back[next], i + rank);
                next++;
            }
        OK(MPI_Accumulate(back, (int)elements, MPI_INT, right, 0, 1, type, MPI_SUM, window.window));
        meet();
        for (int i = 0; i < INTS; i++)
            CHECK(own[i] == (covered[i] ? 2 * (i + left) : -1), "kind %d: element %d is %d", kind, i, own[i]);
        meet();
        OK(MPI_Type_free(&made[kind]));
    }
    OK(MPI_Win_unlock_all(window.window));
    OK(MPI_Win_free(&window.window));
    free(lengths), free(displacements), free(addresses), free(types), free(from), free(back), free(covered);
}

/* A vector of a million blocks, and vectors of vectors, take no memory to speak of. */
static void regular_types_stay_small(void) {
    enum { BLOCKS = 1 << 20 };
    MPI_Aint size = (MPI_Aint)BLOCKS * 8;
    MPI_Datatype vector, rows, planes;
    char *from = malloc((size_t)size);
    memory = ALLOC_MEM;
    right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    window = make(ALLOC_MEM, size, 1);
    OK(MPI_Win_lock_all(0, window.window));
    memset(from, rank + 1, (size_t)size);
    OK(MPI_Type_vector(BLOCKS, 4, 8, MPI_CHAR, &vector));
    OK(MPI_Type_vector(1024, 4, 8, MPI_CHAR, &rows));
    OK(MPI_Type_create_hvector(1000, 1, 8192, rows, &planes));
    vector = committed(vector), planes = committed(planes);
    meet();
    size_t before = mallinfo2().uordblks;
    OK(MPI_Put(from, 1, vector, right, 0, 1, vector, window.window));
    OK(MPI_Win_flush(right, window.window));
    OK(MPI_Put(from, 1, planes, right, 0, 1, planes, window.window));
    OK(MPI_Win_flush(right, window.window));
    size_t grown = mallinfo2().uordblks - before;
    CHECK(!behind_transom() || grown < 1 << 18, "%zu bytes are kept", grown);
    meet();
    for (MPI_Aint i = 0; i < size - 4; i++)
        CHECK(window.base[i] == (i % 8 < 4 ? left + 1 : 0), "byte %ld", (long)i);
    OK(MPI_Type_free(&vector));
    OK(MPI_Type_free(&rows));
    OK(MPI_Type_free(&planes));
    free(from);
    OK(MPI_Win_unlock_all(window.window));
    barrier();
    unmake(&window);
}

/* The bytes of a type go back from the displacement, or begin far behind it: only they have to be inside the window. */
static void bounds_are_those_of_the_data(void) {
    MPI_Datatype back, behind, wide;
    MPI_Aint at[2] = {-8, -24};
    int from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    open_windows(64, 1);
    int *own = (int *)window.base;
    OK(MPI_Type_create_hindexed_block(2, 1, at, MPI_INT, &back));
    at[0] = 200;
    OK(MPI_Type_create_hindexed_block(1, 1, at, MPI_INT, &behind));
    OK(MPI_Type_create_resized(MPI_INT, -40, 1000, &wide));
    back = committed(back), behind = committed(behind), wide = committed(wide);
    OK(MPI_Put(from, 2, MPI_INT, right, 64, 1, back, window.window));
    OK(MPI_Put(&from[2], 2, MPI_INT, right, 24, 1, back, window.window));
    OK(MPI_Put(&from[4], 1, MPI_INT, right, 60, 1, wide, window.window));
    meet();
    CHECK(own[14] == 1 && own[10] == 2 && own[4] == 3 && own[0] == 4 && own[15] == 5, "%d %d %d %d %d", own[14], own[10], own[4], own[0],
          own[15]);
    meet();
    if (behind_transom()) {
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put(from, 2, MPI_INT, right, 20, 1, back, window.window));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put(from, 2, MPI_INT, right, 72, 1, back, window.window));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Get(from, 2, MPI_INT, right, 0, 2, wide, window.window));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Accumulate(from, 1, MPI_INT, right, 0, 1, behind, MPI_SUM, window.window));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Get_accumulate(from, 1, MPI_INT, from, 1, MPI_INT, right, -201, 1, behind, MPI_SUM, window.window));
        meet();
        CHECK(own[14] == 1 && own[10] == 2 && own[4] == 3 && own[0] == 4 && own[1] == 0, "a refused call has written");
    }
    OK(MPI_Type_free(&back));
    OK(MPI_Type_free(&behind));
    OK(MPI_Type_free(&wide));
    close_windows();
}

/* A refused call has the right class, and has changed nothing at either side. */
static void errors(void) {
    MPI_Datatype raw, three, mixed, none = MPI_DATATYPE_NULL, doubles;
    int from[16], result[16], kept[16];
    int lengths[2] = {1, 1};
    MPI_Aint at[2] = {0, 8};
    MPI_Datatype of[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Request request = MPI_REQUEST_NULL;
    open_windows(64, 1);
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &raw));
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &three));
    OK(MPI_Type_create_struct(2, lengths, at, of, &mixed));
    OK(MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &doubles));
    three = committed(three), mixed = committed(mixed), doubles = committed(doubles);
    for (int i = 0; i < 16; i++)
        from[i] = kept[i] = result[i] = i + 1;
    meet();
    /* Not committed. */
    FAILS(MPI_ERR_TYPE, MPI_Put(from, 1, raw, right, 0, 2, MPI_INT, window.window));
    FAILS(MPI_ERR_TYPE, MPI_Put(from, 2, MPI_INT, right, 0, 1, raw, window.window));
    FAILS(MPI_ERR_TYPE, MPI_Get(from, 1, raw, right, 0, 2, MPI_INT, window.window));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(from, 1, raw, right, 0, 2, MPI_INT, MPI_SUM, window.window));
    FAILS(MPI_ERR_TYPE, MPI_Get_accumulate(from, 2, MPI_INT, result, 1, raw, right, 0, 2, MPI_INT, MPI_SUM, window.window));
    FAILS(MPI_ERR_TYPE, MPI_Rput(from, 1, raw, right, 0, 2, MPI_INT, window.window, &request));
    /* Null. */
    FAILS(MPI_ERR_TYPE, MPI_Put(from, 1, none, right, 0, 2, MPI_INT, window.window));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(from, 2, MPI_INT, right, 0, 1, none, MPI_SUM, window.window));
    /* Counts. */
    FAILS(MPI_ERR_COUNT, MPI_Put(from, -1, three, right, 0, 3, MPI_INT, window.window));
    FAILS(MPI_ERR_COUNT, MPI_Get(from, 1, three, right, 0, -3, MPI_INT, window.window));
    FAILS(MPI_ERR_COUNT, MPI_Accumulate(from, -2, three, right, 0, 3, MPI_INT, MPI_SUM, window.window));
    FAILS(MPI_ERR_COUNT, MPI_Get_accumulate(from, 1, three, result, -1, three, right, 0, 3, MPI_INT, MPI_SUM, window.window));
    if (behind_transom()) {
        /* Different numbers of bytes; different elements, or several in one type, where they are combined. */
        FAILS(MPI_ERR_TYPE, MPI_Put(from, 1, three, right, 0, 2, MPI_INT, window.window));
        FAILS(MPI_ERR_TYPE, MPI_Rget(from, 4, MPI_INT, right, 0, 1, three, window.window, &request));
        FAILS(MPI_ERR_TYPE, MPI_Accumulate(from, 1, three, right, 0, 2, MPI_INT, MPI_SUM, window.window));
        FAILS(MPI_ERR_TYPE, MPI_Accumulate(from, 4, MPI_INT, right, 0, 1, doubles, MPI_SUM, window.window));
        FAILS(MPI_ERR_TYPE, MPI_Accumulate(from, 1, mixed, right, 0, 1, mixed, MPI_SUM, window.window));
        FAILS(MPI_ERR_TYPE, MPI_Accumulate(from, 1, mixed, right, 0, 1, mixed, MPI_REPLACE, window.window));
        FAILS(MPI_ERR_TYPE, MPI_Get_accumulate(from, 3, MPI_INT, result, 1, three, right, 0, 1, mixed, MPI_NO_OP, window.window));
        FAILS(MPI_ERR_TYPE, MPI_Fetch_and_op(from, result, three, right, 0, MPI_SUM, window.window));
        FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(from, from, result, three, right, 0, window.window));
        FAILS(MPI_ERR_OP, MPI_Accumulate(from, 1, doubles, right, 0, 1, doubles, MPI_BXOR, window.window));
        FAILS(MPI_ERR_RANK, MPI_Put(from, 1, three, ranks, 0, 1, three, window.window));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put(from, 1, three, right, 48, 1, three, window.window));
        FAILS(MPI_ERR_BUFFER, MPI_Put(NULL, 1, three, right, 0, 1, three, window.window));
        FAILS(MPI_ERR_BUFFER, MPI_Get_accumulate(from, 1, three, NULL, 1, three, right, 0, 1, three, MPI_SUM, window.window));
        CHECK(request == MPI_REQUEST_NULL, "a refused call made a request");
    }
    /* Nothing to do, which is no error. */
    OK(MPI_Put(from, 1, mixed, MPI_PROC_NULL, 0, 1, mixed, window.window));
    OK(MPI_Put(NULL, 0, three, right, 0, 0, three, window.window));
    OK(MPI_Accumulate(NULL, 0, three, right, 0, 0, MPI_INT, MPI_SUM, window.window));
    meet();
    for (int i = 0; i < 16; i++)
        CHECK(((int *)window.base)[i] == 0, "a refused call has written %d", i);
    CHECK(memcmp(from, kept, sizeof from) == 0 && memcmp(result, kept, sizeof result) == 0, "a refused call has changed a buffer");
    meet();
    /* What was refused for not being committed is served when it is: nothing wrong is remembered. */
    raw = committed(raw);
    OK(MPI_Put(from, 1, raw, right, 0, 1, raw, window.window));
    meet();
    CHECK(((int *)window.base)[0] == 1 && ((int *)window.base)[1] == 0 && ((int *)window.base)[2] == 3, "a committed type");
    OK(MPI_Type_free(&raw));
    OK(MPI_Type_free(&three));
    OK(MPI_Type_free(&mixed));
    OK(MPI_Type_free(&doubles));
    close_windows();
}

/* Every rank puts its part of a distributed array where it belongs in rank 0's window; all parts together are the array. */
static void distributed_arrays(void) {
    enum { CELLS = 5 * 7 * 3 };
    const int sizes[3] = {5, 7, 3};
    const int kinds[3] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    double part[CELLS];
    open_windows(CELLS * sizeof(double), sizeof(double));
    double *own = (double *)window.base;
    CHECK(ranks == 4, "for four ranks");
    for (int trial = 0; trial < 27 * 2 * 3; trial++) {
        int order = trial % 2 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, which = trial / 2 % 27, grid = trial / 54;
        int distributions[3] = {kinds[which % 3], kinds[which / 3 % 3], kinds[which / 9]};
        int processes[3] = {1, 1, 1}, arguments[3], shared = 0;
        for (int d = 0; d < 3; d++) {
            arguments[d] = grid == 2 && distributions[d] == MPI_DISTRIBUTE_CYCLIC ? 2 : MPI_DISTRIBUTE_DFLT_DARG;
            shared += distributions[d] != MPI_DISTRIBUTE_NONE;
        }
        if (shared == 0)
            continue;
        /* All four along one dimension, or two along each of two. */
        int rest = 4;
        for (int d = 0; d < 3 && rest > 1; d++)
            if (distributions[d] != MPI_DISTRIBUTE_NONE) {
                processes[d] = grid == 0 || shared == 1 ? rest : 2;
                rest /= processes[d];
            }
        MPI_Datatype type;
        int bytes;
        OK(MPI_Type_create_darray(4, rank, 3, sizes, distributions, arguments, processes, order, MPI_DOUBLE, &type));
        type = committed(type);
        OK(MPI_Type_size(type, &bytes));
        int elements = bytes / (int)sizeof(double);
        for (int i = 0; i < elements; i++)
            part[i] = 1000 * trial + 100 * rank + i;
        for (int i = 0; i < CELLS; i++)
            own[i] = -1;
        meet();
        OK(MPI_Put(part, elements, MPI_DOUBLE, 0, 0, 1, type, window.window));
        meet();
        /* What the host makes of it is the control: it packs the array by the same type. */
        double array[CELLS], packed[CELLS];
        int position = 0;
        OK(MPI_Get(array, CELLS, MPI_DOUBLE, 0, 0, CELLS, MPI_DOUBLE, window.window));
        OK(MPI_Win_flush(0, window.window));
        OK(MPI_Pack(array, 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD));
        CHECK(position == bytes && memcmp(packed, part, (size_t)bytes) == 0, "trial %d: the part is elsewhere", trial);
        for (int i = 0; i < CELLS; i++)
            CHECK(array[i] >= 1000 * trial, "trial %d: cell %d is nobody's", trial, i);
        OK(MPI_Type_free(&type));
        meet();
    }
    close_windows();
}

/* A deep nest of all sorts, against what the host packs. */
static void nested_types(void) {
    enum { BYTES = 1 << 16 };
    static char from[BYTES], packed[BYTES], expected[BYTES];
    MPI_Datatype type = MPI_SHORT, next;
    open_windows(BYTES, 1);
    unsigned seed = 12345;
#define RANDOM(bound) ((int)((seed = seed * 1103515245u + 12345u) >> 16) % (bound))
    for (int i = 0; i < BYTES; i++)
        from[i] = (char)(i * 31 + rank);
    for (int trial = 0; trial < 300; trial++) {
        MPI_Aint low, extent;
        type = MPI_SHORT;
        for (int depth = 0; depth < 7; depth++) {
            int lengths[2] = {1 + RANDOM(2), 1}, at[2] = {0, 3};
            MPI_Aint bytes[2] = {0, 100};
            MPI_Datatype both[2] = {type, MPI_SHORT};
            OK(MPI_Type_get_extent(type, &low, &extent));
            if (low + 3 * extent > BYTES / 4)
                break;
            bytes[1] = 3 * extent + 16;
            switch (RANDOM(7)) {
            case 0: OK(MPI_Type_contiguous(2, type, &next)); break;
            case 1: OK(MPI_Type_vector(2, 1, 2, type, &next)); break;
            case 2: OK(MPI_Type_create_hvector(2, 1, extent + 6, type, &next)); break;
            case 3: OK(MPI_Type_indexed(2, lengths, at, type, &next)); break;
            case 4: OK(MPI_Type_create_struct(2, lengths, bytes, both, &next)); break;
            case 5: OK(MPI_Type_create_resized(type, 0, extent + 8, &next)); break;
            default: OK(MPI_Type_dup(type, &next)); break;
            }
            if (type != MPI_SHORT)
                OK(MPI_Type_free(&type));
            type = next;
        }
        if (type == MPI_SHORT)
            continue;
        type = committed(type);
        int size, position = 0;
        OK(MPI_Type_size(type, &size));
        memset(window.base, 0x55, BYTES);
        memset(expected, 0x55, BYTES);
        OK(MPI_Pack(from, 1, type, packed, BYTES, &position, MPI_COMM_WORLD));
        CHECK(position == size, "%d of %d", position, size);
        position = 0;
        OK(MPI_Unpack(packed, size, &position, expected, 1, type, MPI_COMM_WORLD));
        meet();
        OK(MPI_Put(packed, size / 2, MPI_SHORT, rank, 0, 1, type, window.window));
        OK(MPI_Win_flush(rank, window.window));
        OK(MPI_Win_sync(window.window));
        CHECK(memcmp(window.base, expected, BYTES) == 0, "trial %d: other bytes are there", trial);
        memset(packed, 0, sizeof packed);
        OK(MPI_Rget(packed, size, MPI_BYTE, rank, 0, 1, type, window.window, &(MPI_Request){MPI_REQUEST_NULL}));
        OK(MPI_Win_flush(rank, window.window));
        position = 0;
        char again[BYTES];
        OK(MPI_Pack(from, 1, type, again, BYTES, &position, MPI_COMM_WORLD));
        CHECK(memcmp(again, packed, (size_t)size) == 0, "trial %d: other bytes came back", trial);
        OK(MPI_Type_free(&type));
        barrier();
    }
    close_windows();
}

/* Types that Fortran asks for by precision and range, which cannot be freed, alone and in others. */
static void types_by_precision(void) {
    MPI_Datatype real, complex_type, integer, vector;
    double from[4] = {1, 2, 3, 4};
    int counts[2] = {10, 20};
    open_windows(128, 1);
    double *own = (double *)window.base;
    OK(MPI_Type_create_f90_real(15, 307, &real));
    OK(MPI_Type_create_f90_complex(15, 307, &complex_type));
    OK(MPI_Type_create_f90_integer(9, &integer));
    OK(MPI_Type_vector(2, 1, 2, real, &vector));
    vector = committed(vector);
    for (int round = 0; round < 3; round++) {
        OK(MPI_Accumulate(from, 2, real, right, 0, 1, vector, MPI_SUM, window.window));
        OK(MPI_Accumulate(from, 1, complex_type, right, 32, 1, complex_type, MPI_SUM, window.window));
        OK(MPI_Accumulate(counts, 2, integer, right, 64, 2, integer, MPI_SUM, window.window));
    }
    meet();
    CHECK(own[0] == 3 && own[1] == 0 && own[2] == 6 && own[4] == 3 && own[5] == 6, "%g %g %g %g %g", own[0], own[1], own[2], own[4], own[5]);
    CHECK(((int *)window.base)[16] == 30 && ((int *)window.base)[17] == 60, "integers");
    OK(MPI_Type_free(&vector));
    close_windows();
}

/* Types made by constructors with large counts, where the host has those. */
static void large_count_constructors(void) {
#if MPI_VERSION >= 4
    int from[24], *own;
    MPI_Datatype made[8];
    MPI_Count lengths[2] = {1, 2}, at[2] = {0, 3}, bytes[2] = {0, 12}, sizes[2] = {4, 6}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
    MPI_Datatype of[2] = {MPI_INT, MPI_INT};
    int processes[2] = {2, 1}, distributions[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    if (function("MPI_Type_vector_c") == NULL)
        return;
    open_windows(24 * sizeof(int), sizeof(int));
    own = (int *)window.base;
    OK(MPI_Type_vector_c(3, 1, 2, MPI_INT, &made[0]));
    OK(MPI_Type_create_hvector_c(3, 1, 12, MPI_INT, &made[1]));
    OK(MPI_Type_indexed_c(2, lengths, at, MPI_INT, &made[2]));
    OK(MPI_Type_create_hindexed_c(2, lengths, bytes, MPI_INT, &made[3]));
    OK(MPI_Type_create_struct_c(2, lengths, bytes, of, &made[4]));
    OK(MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &made[5]));
    OK(MPI_Type_create_darray_c(2, rank % 2, 2, sizes, distributions, arguments, processes, MPI_ORDER_FORTRAN, MPI_INT, &made[6]));
    OK(MPI_Type_create_indexed_block_c(2, 1, at, MPI_INT, &made[7]));
    for (int i = 0; i < 8; i++) {
        int packed[24], size, position = 0, expected[24];
        MPI_Datatype type = made[i] = committed(made[i]);
        OK(MPI_Type_size(type, &size));
        for (int j = 0; j < 24; j++)
            from[j] = 100 * i + j, own[j] = expected[j] = -1;
        meet();
        OK(MPI_Put(from, size / (int)sizeof(int), MPI_INT, rank, 0, 1, type, window.window));
        OK(MPI_Win_flush(rank, window.window));
        OK(MPI_Win_sync(window.window));
        memcpy(packed, from, sizeof packed);
        OK(MPI_Unpack(packed, size, &position, expected, 1, type, MPI_COMM_WORLD));
        CHECK(memcmp(expected, own, sizeof expected) == 0, "type %d: other elements", i);
        OK(MPI_Type_free(&made[i]));
        barrier();
    }
    close_windows();
#endif
}

/* Sums over the same cells in many layouts, by all ranks at once, small ones and ones in bulk, against single atomics: all exact. */
static void storms(void) {
    enum { CELLS = 1024, ROUNDS = 300, SHAPES = 6 };
    MPI_Datatype made[SHAPES];
    int *ones = malloc(CELLS * sizeof(int)), *old = malloc(CELLS * sizeof(int)), one = 1, was;
    int at[128], expected[CELLS];
    open_windows(CELLS * sizeof(int), sizeof(int));
    for (int i = 0; i < CELLS; i++)
        ones[i] = 1;
    for (int i = 0; i < 128; i++)
        at[i] = (i * 7 + i / 9 % 3) % 1000;
    OK(MPI_Type_vector(CELLS / 2, 1, 2, MPI_INT, &made[0]));
    OK(MPI_Type_contiguous(CELLS, MPI_INT, &made[1]));
    OK(MPI_Type_vector(16, 2, 5, MPI_INT, &made[2]));
    OK(MPI_Type_create_indexed_block(128, 1, at, MPI_INT, &made[3]));
    OK(MPI_Type_create_indexed_block(3, 1, at, MPI_INT, &made[4]));
    OK(MPI_Type_create_subarray(2, (int[]){32, 32}, (int[]){7, 9}, (int[]){3, 4}, MPI_ORDER_C, MPI_INT, &made[5]));
    for (int i = 0; i < SHAPES; i++)
        made[i] = committed(made[i]);
    meet();
    for (int round = 0; round < ROUNDS; round++) {
        int shape = (round + rank) % SHAPES, size;
        OK(MPI_Type_size(made[shape], &size));
        if (round % 3 == 0)
            OK(MPI_Get_accumulate(ones, size / 4, MPI_INT, old, size / 4, MPI_INT, 0, 0, 1, made[shape], MPI_SUM, window.window));
        else if (round % 3 == 1)
            OK(MPI_Accumulate(ones, 1, made[shape], 0, 0, 1, made[shape], MPI_SUM, window.window));
        else
            OK(MPI_Get_accumulate(ones, 1, made[shape], old, 1, made[shape], 0, 0, 1, made[shape], MPI_SUM, window.window));
        OK(MPI_Fetch_and_op(&one, &was, MPI_INT, 0, round % CELLS, MPI_SUM, window.window));
    }
    meet();
    if (rank == 0) {
        memset(expected, 0, sizeof expected);
        for (int shape = 0; shape < SHAPES; shape++) {
            int packed[CELLS], position = 0, size;
            int touched[CELLS] = {0};
            OK(MPI_Type_size(made[shape], &size));
            for (int i = 0; i < CELLS; i++)
                packed[i] = 1;
            OK(MPI_Unpack(packed, size, &position, touched, 1, made[shape], MPI_COMM_WORLD));
            for (int r = 0; r < ranks; r++)
                for (int round = 0; round < ROUNDS; round++)
                    if ((round + r) % SHAPES == shape)
                        for (int i = 0; i < CELLS; i++)
                            expected[i] += touched[i];
        }
        for (int round = 0; round < ROUNDS; round++)
            expected[round % CELLS] += ranks;
        for (int i = 0; i < CELLS; i++)
            CHECK(((int *)window.base)[i] == expected[i], "cell %d is %d, not %d", i, ((int *)window.base)[i], expected[i]);
    }
    for (int i = 0; i < SHAPES; i++)
        OK(MPI_Type_free(&made[i]));
    free(ones), free(old);
    close_windows();
}

/* Threads with types of their own that come and go, on one window; each has a part of it to itself. */
enum { THREADS = 4, PART = 4096 };

static void *come_and_go(void *argument) {
    int me = (int)(intptr_t)argument;
    int from[PART / 4], expected[PART / 4] = {0};
    for (int round = 0; round < 2000; round++) {
        int count = 1 + (round + me) % 9, stride = 1 + (round * 3 + me) % 11;
        MPI_Datatype type;
        OK(MPI_Type_vector(count, 1, stride, MPI_INT, &type));
        OK(MPI_Type_commit(&type));
        for (int i = 0; i < PART / 4; i++)
            from[i] = round * 7 + i;
        OK(MPI_Put(from, 1, type, right, me * PART / 4, 1, type, window.window));
        OK(MPI_Accumulate(from, count, MPI_INT, right, me * PART / 4, 1, type, MPI_SUM, window.window));
        OK(MPI_Type_free(&type));
        for (int i = 0; i < count; i++)
            expected[i * stride] = from[i * stride] + from[i];
        OK(MPI_Win_flush(right, window.window));
    }
    int back[PART / 4];
    OK(MPI_Get(back, PART / 4, MPI_INT, right, me * PART / 4, PART / 4, MPI_INT, window.window));
    OK(MPI_Win_flush(right, window.window));
    CHECK(memcmp(back, expected, sizeof back) == 0, "thread %d finds other numbers", me);
    return NULL;
}

static void threads(void) {
    pthread_t started[THREADS];
    open_windows(THREADS * PART, sizeof(int));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&started[i], NULL, come_and_go, (void *)(intptr_t)i) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(started[i], NULL);
    meet();
    close_windows();
}

int main(int argc, char **argv) {
    static const struct scenario list[] = {
        SCENARIO(bottom), SCENARIO(get_accumulate_layouts), SCENARIO(large_extent_at_the_origin), SCENARIO(freed_at_once),
        SCENARIO(many_before_one_flush), SCENARIO(many_blocks), SCENARIO(regular_types_stay_small),
        SCENARIO(bounds_are_those_of_the_data), SCENARIO(errors), SCENARIO(distributed_arrays), SCENARIO(nested_types),
        SCENARIO(types_by_precision), SCENARIO(large_count_constructors), SCENARIO(storms), SCENARIO(threads)};
    WITH_STACK;
    if (argc > 1 && strcmp(argv[1], "threads") == 0)
        start_threaded(&argc, &argv, MPI_THREAD_MULTIPLE);
    else
        start(&argc, &argv);
    if (argc > 2)
        memory = memory_by_name(argv[2]);
    choose(list, sizeof list / sizeof list[0], argv[1]);
    OK(MPI_Finalize());
    return 0;
}
