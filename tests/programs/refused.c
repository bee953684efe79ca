/* Operations that must be refused: with the right class, before anything is written. */
#include "check.h"

enum { CELLS = 16, BYTES = CELLS * 4 };

static MPI_Win window;
static int *own;

/* 64 bytes in units of 4 at every rank, all cells known, errors returned. */
static void make_window(void) {
    OK(MPI_Win_allocate(BYTES, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    window_returns_errors(window);
    for (int i = 0; i < CELLS; i++)
        own[i] = 1000 * rank + i;
    barrier();
}

/* Nothing has been written, and the window still works. */
static void end_window(void) {
    barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window));
    for (int i = 0; i < CELLS; i++)
        CHECK(own[i] == 1000 * rank + i, "cell %d is %d", i, own[i]);
    OK(MPI_Win_unlock(rank, window));
    barrier();
    int right = (rank + 1) % ranks, value = 4711 + rank, back = 0;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window));
    OK(MPI_Put(&value, 1, MPI_INT, right, CELLS - 1, 1, MPI_INT, window));
    OK(MPI_Win_flush(right, window));
    OK(MPI_Get(&back, 1, MPI_INT, right, CELLS - 1, 1, MPI_INT, window));
    OK(MPI_Win_unlock(right, window));
    CHECK(back == value, "%d of %d", back, value);
    OK(MPI_Win_free(&window));
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static int buffer[64], untouched[64];

static void fill(void) {
    for (int i = 0; i < 64; i++)
        buffer[i] = untouched[i] = -7 - i;
}

/* Both directions are refused, and the origin's buffer stays as it was. */
#define BOTH_FAIL(class, count, type, target, at)                                                                           \
    do {                                                                                                                    \
        FAILS(class, MPI_Put(buffer, count, type, target, at, count, type, window));                                        \
        FAILS(class, MPI_Get(buffer, count, type, target, at, count, type, window));                                        \
        CHECK(memcmp(buffer, untouched, sizeof buffer) == 0, "a refused operation changed the origin's buffer");           \
    } while (0)

static void out_of_range(void) {
    make_window();
    fill();
    for (int target = 0; target < ranks; target++) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
        BOTH_FAIL(MPI_ERR_RMA_RANGE, 1, MPI_INT, target, CELLS);
        BOTH_FAIL(MPI_ERR_RMA_RANGE, 2, MPI_INT, target, CELLS - 1);
        BOTH_FAIL(MPI_ERR_RMA_RANGE, CELLS + 1, MPI_INT, target, 0);
        BOTH_FAIL(MPI_ERR_RMA_RANGE, 1, MPI_DOUBLE, target, CELLS - 1);
        BOTH_FAIL(MPI_ERR_RMA_RANGE, 1, MPI_CHAR, target, 1000000);
        BOTH_FAIL(MPI_ERR_RMA_RANGE, 5, MPI_CHAR, target, CELLS - 1);
        /* What fits to the last byte is fine. */
        int last;
        OK(MPI_Get(&last, 4, MPI_CHAR, target, CELLS - 1, 4, MPI_CHAR, window));
        OK(MPI_Win_flush(target, window));
        CHECK(last == 1000 * target + CELLS - 1, "%d", last);
        OK(MPI_Win_unlock(target, window));
    }
    end_window();
}

/* Displacements and counts whose product with the unit or the type does not fit in 64 bits. */
static void out_of_range_beyond_arithmetic(void) {
    make_window();
    fill();
    int target = (rank + 1) % ranks;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
    const MPI_Aint far[] = {INT64_MAX, INT64_MAX - 3, INT64_MAX / 4, INT64_MAX / 4 + 1, INT64_MAX / 2 + 1, (MPI_Aint)1 << 61,
                            ((MPI_Aint)1 << 62) + 1, (MPI_Aint)1 << 62, (MPI_Aint)1 << 30};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        BOTH_FAIL(MPI_ERR_RMA_RANGE, 1, MPI_INT, target, far[i]);
        BOTH_FAIL(MPI_ERR_RMA_RANGE, 1, MPI_CHAR, target, far[i]);
    }
    BOTH_FAIL(MPI_ERR_RMA_RANGE, INT32_MAX, MPI_LONG_DOUBLE, target, 0);
    MPI_Datatype huge;
    OK(MPI_Type_contiguous(INT32_MAX, MPI_DOUBLE, &huge));
    OK(MPI_Type_commit(&huge));
    int code = MPI_Put(buffer, INT32_MAX, huge, target, 0, INT32_MAX, huge, window), class = class_of(code);
    CHECK(class == MPI_ERR_RMA_RANGE || class == MPI_ERR_COUNT, "class %d", class);
    BOTH_FAIL(MPI_ERR_RMA_RANGE, 1, huge, target, 1);
    OK(MPI_Type_free(&huge));
    OK(MPI_Win_unlock(target, window));
    end_window();
}

/* The large-count forms check as the others do, also where a count does not fit in an int. */
static void large_counts(void) {
    typedef int put_c(const void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win);
    typedef int get_c(void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win);
    put_c *put = (put_c *)function("MPI_Put_c");
    get_c *get = (get_c *)function("MPI_Get_c");
    CHECK(put != NULL && get != NULL, "the large-count forms are missing");
    make_window();
    fill();
    int target = (rank + 1) % ranks;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
    const MPI_Count counts[] = {CELLS + 1, INT32_MAX, (MPI_Count)INT32_MAX + 1, (MPI_Count)1 << 32, ((MPI_Count)1 << 32) + 1,
                                (MPI_Count)1 << 60};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        FAILS(MPI_ERR_RMA_RANGE, put(buffer, counts[i], MPI_INT, target, 0, counts[i], MPI_INT, window));
        FAILS(MPI_ERR_RMA_RANGE, get(buffer, counts[i], MPI_INT, target, 0, counts[i], MPI_INT, window));
    }
    FAILS(MPI_ERR_COUNT, put(buffer, -1, MPI_INT, target, 0, -1, MPI_INT, window));
    FAILS(MPI_ERR_COUNT, get(buffer, INT64_MIN, MPI_INT, target, 0, 1, MPI_INT, window));
    CHECK(memcmp(buffer, untouched, sizeof buffer) == 0, "a refused operation changed the origin's buffer");
    OK(MPI_Win_unlock(target, window));
    end_window();
}

/* A negative displacement is as wrong as one too large; hosts differ in the class. */
static void negative_displacement(void) {
    make_window();
    fill();
    int target = (rank + 1) % ranks;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
    const MPI_Aint below[] = {-1, -2, -CELLS, -1000000, INT64_MIN, INT64_MIN / 4};
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        int put = MPI_Put(buffer, 1, MPI_INT, target, below[i], 1, MPI_INT, window), get_buffer = -7;
        int get = MPI_Get(&get_buffer, 1, MPI_INT, target, below[i], 1, MPI_INT, window);
        CHECK(class_of(put) == MPI_ERR_DISP || class_of(put) == MPI_ERR_RMA_RANGE, "class %d", class_of(put));
        CHECK(class_of(put) == class_of(get) && get_buffer == -7, "class %d, %d", class_of(get), get_buffer);
    }
    OK(MPI_Win_unlock(target, window));
    end_window();
}

/* The target's size and unit count, not those of the origin or of another rank. */
static void range_of_the_target(void) {
    int *memory;
    MPI_Win differing;
    OK(MPI_Alloc_mem(256, MPI_INFO_NULL, &memory));
    memset(memory, 0, 256);
    OK(MPI_Win_create(memory, 4 * rank, 1 + rank, MPI_INFO_NULL, MPI_COMM_WORLD, &differing));
    window_returns_errors(differing);
    OK(MPI_Win_lock_all(0, differing));
    for (int target = 0; target < ranks; target++)
        for (int at = 0; at <= 4 * ranks; at++) {
            int value = 0, inside = at * (1 + target) + 4 <= 4 * target;
            int code = MPI_Put(&value, 1, MPI_INT, target, at, 1, MPI_INT, differing);
            CHECK(class_of(code) == (inside ? MPI_SUCCESS : MPI_ERR_RMA_RANGE), "target %d, displacement %d: class %d", target, at,
                  class_of(code));
        }
    OK(MPI_Win_unlock_all(differing));
    OK(MPI_Win_free(&differing));
    OK(MPI_Free_mem(memory));
}

/* The user who lost days: a window of two bytes, of which two ints were fetched. The message names what is needed to see it. */
static void the_message_says_what_is_wrong(void) {
    char *memory;
    int into[2] = {-1, -1}, target = ranks - 1;
    MPI_Win two_bytes;
    OK(MPI_Win_allocate(2, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &two_bytes));
    window_returns_errors(two_bytes);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, two_bytes));
    int code = MPI_Get(into, 2, MPI_INT, target, 31, 2, MPI_INT, two_bytes);
    CHECK(class_of(code) == MPI_ERR_RMA_RANGE, "class %d", class_of(code));
    CHECK(into[0] == -1 && into[1] == -1, "%d, %d", into[0], into[1]);
    if (behind_transom()) {
        char expected[3][40];
        snprintf(expected[0], sizeof expected[0], "rank %d", target);
        snprintf(expected[1], sizeof expected[1], "displacement 31");
        snprintf(expected[2], sizeof expected[2], "2 bytes");
        for (int i = 0; i < 3; i++)
            CHECK(strstr(string_of(code), expected[i]) != NULL, "'%s' is missing in: %s", expected[i], string_of(code));
    }
    OK(MPI_Win_unlock(target, two_bytes));
    OK(MPI_Win_free(&two_bytes));
}

/* Messages of earlier errors stay right when later ones come, by the hundred. */
static void messages_do_not_mix(void) {
    make_window();
    int codes[200], target = (rank + 1) % ranks;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
    for (int i = 0; i < 200; i++) {
        codes[i] = MPI_Put(buffer, 1, MPI_INT, target, 5000 + i, 1, MPI_INT, window);
        CHECK(class_of(codes[i]) == MPI_ERR_RMA_RANGE, "class %d", class_of(codes[i]));
        char expected[40];
        snprintf(expected, sizeof expected, "displacement %d", 5000 + i);
        CHECK(!behind_transom() || strstr(string_of(codes[i]), expected) != NULL, "'%s' is missing in: %s", expected, string_of(codes[i]));
    }
    /* An old code still has its class, whatever text it has kept. */
    for (int i = 0; i < 200; i++)
        CHECK(class_of(codes[i]) == MPI_ERR_RMA_RANGE && string_of(codes[i])[0] != 0, "class %d", class_of(codes[i]));
    OK(MPI_Win_unlock(target, window));
    end_window();
}

static void wrong_rank(void) {
    make_window();
    fill();
    OK(MPI_Win_lock_all(0, window));
    BOTH_FAIL(MPI_ERR_RANK, 1, MPI_INT, ranks, 0);
    BOTH_FAIL(MPI_ERR_RANK, 1, MPI_INT, INT32_MAX, 0);
    BOTH_FAIL(MPI_ERR_RANK, 1, MPI_INT, INT32_MIN, 0);
    BOTH_FAIL(MPI_ERR_RANK, 1, MPI_INT, -77, 0);
    FAILS(MPI_ERR_RANK, MPI_Win_flush(ranks, window));
    FAILS(MPI_ERR_RANK, MPI_Win_flush_local(-77, window));
    OK(MPI_Win_unlock_all(window));
    FAILS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, window));
    FAILS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, -77, 0, window));
    end_window();
}

static void wrong_count(void) {
    make_window();
    fill();
    OK(MPI_Win_lock_all(0, window));
    FAILS(MPI_ERR_COUNT, MPI_Put(buffer, -1, MPI_INT, 0, 0, 1, MPI_INT, window));
    FAILS(MPI_ERR_COUNT, MPI_Put(buffer, 1, MPI_INT, 0, 0, -1, MPI_INT, window));
    FAILS(MPI_ERR_COUNT, MPI_Get(buffer, -1, MPI_INT, 0, 0, 1, MPI_INT, window));
    FAILS(MPI_ERR_COUNT, MPI_Get(buffer, 1, MPI_INT, 0, 0, INT32_MIN, MPI_INT, window));
    CHECK(memcmp(buffer, untouched, sizeof buffer) == 0, "a refused operation changed the origin's buffer");
    OK(MPI_Win_unlock_all(window));
    end_window();
}

static void wrong_type(void) {
    make_window();
    fill();
    OK(MPI_Win_lock_all(0, window));
    FAILS(MPI_ERR_TYPE, MPI_Put(buffer, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, window));
    FAILS(MPI_ERR_TYPE, MPI_Put(buffer, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, window));
    FAILS(MPI_ERR_TYPE, MPI_Get(buffer, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, window));
    FAILS(MPI_ERR_TYPE, MPI_Get(buffer, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, window));
    CHECK(memcmp(buffer, untouched, sizeof buffer) == 0, "a refused operation changed the origin's buffer");
    OK(MPI_Win_unlock_all(window));
    end_window();
}

/* A null address with bytes to move; the same address with nothing to move is fine. */
static void null_buffer(void) {
    make_window();
    OK(MPI_Win_lock_all(0, window));
    FAILS(MPI_ERR_BUFFER, MPI_Put(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, window));
    FAILS(MPI_ERR_BUFFER, MPI_Get(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, window));
    OK(MPI_Win_unlock_all(window));
    end_window();
}

/* Origin and target describe different amounts: nothing may be written beyond the smaller of the two buffers. */
static void different_amounts(void) {
    make_window();
    fill();
    OK(MPI_Win_lock_all(0, window));
    for (int origin = 1; origin < 4; origin++)
        for (int target = 1; target < 4; target++) {
            if (origin == target)
                continue;
            int put = MPI_Put(buffer, origin, MPI_INT, 0, 0, target, MPI_INT, window);
            int get = MPI_Get(buffer, origin, MPI_INT, 0, 0, target, MPI_INT, window);
            CHECK(put != MPI_SUCCESS && get != MPI_SUCCESS, "%d elements to %d were accepted", origin, target);
            CHECK(class_of(put) == class_of(get), "classes %d and %d", class_of(put), class_of(get));
        }
    CHECK(memcmp(buffer, untouched, sizeof buffer) == 0, "a refused operation changed the origin's buffer");
    OK(MPI_Win_unlock_all(window));
    end_window();
}

/* MPI_WIN_NULL in every call that takes a window; the error goes to MPI_COMM_WORLD's or MPI_COMM_SELF's handler, by version. */
static void null_window(void) {
    int value = 0, flag;
    void *base;
    MPI_Aint size;
    MPI_Win none = MPI_WIN_NULL;
    MPI_Group group;
    world_returns_errors();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_WIN, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, none));
    FAILS(MPI_ERR_WIN, MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, none));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, none));
    FAILS(MPI_ERR_WIN, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, none));
    FAILS(MPI_ERR_WIN, MPI_Win_unlock(0, none));
    FAILS(MPI_ERR_WIN, MPI_Win_lock_all(0, none));
    FAILS(MPI_ERR_WIN, MPI_Win_unlock_all(none));
    FAILS(MPI_ERR_WIN, MPI_Win_flush(0, none));
    FAILS(MPI_ERR_WIN, MPI_Win_flush_all(none));
    FAILS(MPI_ERR_WIN, MPI_Win_sync(none));
    FAILS(MPI_ERR_WIN, MPI_Win_get_attr(none, MPI_WIN_BASE, &base, &flag));
    FAILS(MPI_ERR_WIN, MPI_Win_get_group(none, &group));
    FAILS(MPI_ERR_WIN, MPI_Win_shared_query(none, 0, &size, &flag, &base));
    FAILS(MPI_ERR_WIN, MPI_Win_free(&none));
}

/* A handle that outlived its window, also when new windows have been made since. */
static void freed_window(void) {
    int value = 0, *base;
    MPI_Win old, again[20];
    world_returns_errors();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &old));
    MPI_Win kept = old;
    OK(MPI_Win_free(&old));
    FAILS(MPI_ERR_WIN, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, kept));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, kept));
    FAILS(MPI_ERR_WIN, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, kept));
    FAILS(MPI_ERR_WIN, MPI_Win_flush_all(kept));
    MPI_Win copy = kept;
    FAILS(MPI_ERR_WIN, MPI_Win_free(&copy));
    for (int i = 0; i < 20; i++)
        OK(MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &again[i]));
    for (int i = 0; i < 20; i++)
        OK(MPI_Win_free(&again[i]));
}

/* Operations outside any epoch, and on a target that the epoch does not cover. */
static void without_an_epoch(void) {
    make_window();
    fill();
    int target = (rank + 1) % ranks;
    BOTH_FAIL(MPI_ERR_RMA_SYNC, 1, MPI_INT, target, 0);
    BOTH_FAIL(MPI_ERR_RMA_SYNC, 1, MPI_INT, rank, 0);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
    BOTH_FAIL(MPI_ERR_RMA_SYNC, 1, MPI_INT, (target + 1) % ranks, 0);
    OK(MPI_Win_unlock(target, window));
    BOTH_FAIL(MPI_ERR_RMA_SYNC, 1, MPI_INT, target, 0);
    OK(MPI_Win_fence(0, window));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    BOTH_FAIL(MPI_ERR_RMA_SYNC, 1, MPI_INT, target, 0);
    end_window();
}

/* Accumulates of each kind that must be refused. */
static void wrong_accumulates(void) {
    make_window();
    fill();
    int target = (rank + 1) % ranks, result[64];
    memcpy(result, buffer, sizeof result);
    double real = 1, old = 2;
    MPI_Op own_op;
    MPI_Request request = MPI_REQUEST_NULL;
    OK(MPI_Op_create(add, 1, &own_op));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
#define ALL_FAIL(class, count, type, rank, displacement, target_count, op)                                                  \
    do {                                                                                                                    \
        FAILS(class, MPI_Accumulate(buffer, count, type, rank, displacement, target_count, type, op, window));              \
        FAILS(class, MPI_Raccumulate(buffer, count, type, rank, displacement, target_count, type, op, window, &request));   \
        FAILS(class, MPI_Get_accumulate(buffer, count, type, result, count, type, rank, displacement, target_count, type,   \
                                        op, window));                                                                       \
        FAILS(class, MPI_Rget_accumulate(buffer, count, type, result, count, type, rank, displacement, target_count, type,  \
                                         op, window, &request));                                                            \
    } while (0)
    ALL_FAIL(MPI_ERR_OP, 1, MPI_INT, target, 0, 1, own_op);
    ALL_FAIL(MPI_ERR_OP, 1, MPI_INT, target, 0, 1, MPI_OP_NULL);
    ALL_FAIL(MPI_ERR_OP, 1, MPI_DOUBLE, target, 0, 1, MPI_BAND);
    ALL_FAIL(MPI_ERR_OP, 1, MPI_INT, target, 0, 1, MPI_MAXLOC);
    ALL_FAIL(MPI_ERR_OP, 1, MPI_2INT, target, 0, 1, MPI_SUM);
    ALL_FAIL(MPI_ERR_OP, 1, MPI_C_FLOAT_COMPLEX, target, 0, 1, MPI_MAX);
    ALL_FAIL(MPI_ERR_OP, 1, MPI_BYTE, target, 0, 1, MPI_SUM);
    ALL_FAIL(MPI_ERR_RMA_RANGE, 1, MPI_INT, target, CELLS, 1, MPI_SUM);
    ALL_FAIL(MPI_ERR_RMA_RANGE, 2, MPI_INT, target, CELLS - 1, 2, MPI_SUM);
    ALL_FAIL(MPI_ERR_RMA_RANGE, 1, MPI_LONG, target, CELLS - 1, 1, MPI_REPLACE);
    ALL_FAIL(MPI_ERR_RMA_RANGE, 1, MPI_INT, target, -1, 1, MPI_NO_OP);
    ALL_FAIL(MPI_ERR_RMA_RANGE, 100000, MPI_INT, target, 0, 100000, MPI_SUM);
    ALL_FAIL(MPI_ERR_RANK, 1, MPI_INT, ranks, 0, 1, MPI_SUM);
    ALL_FAIL(MPI_ERR_RANK, 1, MPI_INT, -77, 0, 1, MPI_SUM);
    ALL_FAIL(MPI_ERR_COUNT, -1, MPI_INT, target, 0, 1, MPI_SUM);
    ALL_FAIL(MPI_ERR_COUNT, 1, MPI_INT, target, 0, -1, MPI_SUM);
    ALL_FAIL(MPI_ERR_TYPE, 1, MPI_DATATYPE_NULL, target, 0, 1, MPI_SUM);
    ALL_FAIL(MPI_ERR_TYPE, 1, MPI_INT, target, 0, 2, MPI_SUM);
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(buffer, 1, MPI_INT, target, 0, 1, MPI_FLOAT, MPI_SUM, window));
    FAILS(MPI_ERR_TYPE, MPI_Get_accumulate(buffer, 2, MPI_INT, result, 1, MPI_LONG, target, 0, 2, MPI_INT, MPI_SUM, window));
    FAILS(MPI_ERR_BUFFER, MPI_Accumulate(NULL, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, window));
    FAILS(MPI_ERR_BUFFER, MPI_Get_accumulate(buffer, 1, MPI_INT, NULL, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, window));
    FAILS(MPI_ERR_OP, MPI_Fetch_and_op(buffer, result, MPI_INT, target, 0, own_op, window));
    FAILS(MPI_ERR_OP, MPI_Fetch_and_op(&real, &old, MPI_DOUBLE, target, 0, MPI_BXOR, window));
    FAILS(MPI_ERR_RANK, MPI_Fetch_and_op(buffer, result, MPI_INT, ranks, 0, MPI_SUM, window));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(buffer, result, MPI_INT, target, CELLS, MPI_SUM, window));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(buffer, result, MPI_LONG, target, CELLS - 1, MPI_SUM, window));
    FAILS(MPI_ERR_TYPE, MPI_Fetch_and_op(buffer, result, MPI_DATATYPE_NULL, target, 0, MPI_SUM, window));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(&real, &real, &old, MPI_DOUBLE, target, 0, window));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(&real, &real, &old, MPI_2INT, target, 0, window));
    FAILS(MPI_ERR_RANK, MPI_Compare_and_swap(buffer, buffer, result, MPI_INT, ranks, 0, window));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Compare_and_swap(buffer, buffer, result, MPI_INT, target, CELLS, window));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Compare_and_swap(buffer, buffer, result, MPI_INT, target, -1, window));
    int other = (rank + 2) % ranks;
    ALL_FAIL(MPI_ERR_RMA_SYNC, 1, MPI_INT, other, 0, 1, MPI_SUM);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Fetch_and_op(buffer, result, MPI_INT, other, 0, MPI_SUM, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Compare_and_swap(buffer, buffer, result, MPI_INT, other, 0, window));
    CHECK(request == MPI_REQUEST_NULL, "a refused operation made a request");
    CHECK(memcmp(buffer, untouched, sizeof buffer) == 0 && memcmp(result, untouched, sizeof result) == 0 && old == 2,
          "a refused operation changed a buffer of the origin");
    OK(MPI_Win_unlock(target, window));
    OK(MPI_Op_free(&own_op));
    end_window();
}

/* Accumulates with nothing to do, with whatever else they are passed. */
static void accumulates_of_nothing(void) {
    make_window();
    fill();
    int target = (rank + 1) % ranks, result = 7;
    OK(MPI_Win_lock_all(0, window));
    const int targets[] = {target, MPI_PROC_NULL};
    for (int i = 0; i < 2; i++) {
        int count = i;
        OK(MPI_Accumulate(i ? buffer : NULL, count, MPI_INT, targets[i], 0, count, MPI_INT, MPI_SUM, window));
        OK(MPI_Get_accumulate(i ? buffer : NULL, count, MPI_INT, i ? &result : NULL, count, MPI_INT, targets[i], 0, count,
                              MPI_INT, MPI_SUM, window));
        OK(MPI_Get_accumulate(NULL, 0, MPI_INT, i ? &result : NULL, count, MPI_INT, targets[i], 0, count, MPI_INT, MPI_NO_OP,
                              window));
    }
    /* Bytes have no sum, and no bytes need none. */
    OK(MPI_Accumulate(NULL, 0, MPI_BYTE, target, 0, 0, MPI_BYTE, MPI_SUM, window));
    OK(MPI_Get_accumulate(NULL, 0, MPI_BYTE, NULL, 0, MPI_BYTE, target, 0, 0, MPI_BYTE, MPI_SUM, window));
    OK(MPI_Fetch_and_op(buffer, &result, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, window));
    OK(MPI_Compare_and_swap(buffer, buffer, &result, MPI_INT, MPI_PROC_NULL, 0, window));
    CHECK(result == 7 && memcmp(buffer, untouched, sizeof buffer) == 0, "an operation of nothing changed its buffers");
    OK(MPI_Win_unlock_all(window));
    end_window();
}

/* The default handler ends the job: the first wrong put is the last. */
static void default_is_fatal(void) {
    make_window();
    OK(MPI_Win_set_errhandler(window, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Win_lock_all(0, window));
    if (rank == 1) {
        MPI_Put(buffer, 1, MPI_INT, 0, 31, 1, MPI_INT, window);
        printf("lived on\n");
        fflush(stdout);
    }
    barrier();
}

MAIN(SCENARIO(out_of_range), SCENARIO(out_of_range_beyond_arithmetic), SCENARIO(large_counts), SCENARIO(negative_displacement),
     SCENARIO(range_of_the_target), SCENARIO(the_message_says_what_is_wrong), SCENARIO(messages_do_not_mix), SCENARIO(wrong_rank),
     SCENARIO(wrong_count), SCENARIO(wrong_type), SCENARIO(null_buffer), SCENARIO(different_amounts), SCENARIO(null_window),
     SCENARIO(freed_window), SCENARIO(without_an_epoch), SCENARIO(wrong_accumulates),
     SCENARIO(accumulates_of_nothing), SCENARIO(default_is_fatal))
