/* What MPI_Put and MPI_Get move: every predefined type, contiguous types, counts, displacement units, targets. */
#include "check.h"
#include <complex.h>

/* A predefined type with the bytes that belong to it: pair types may have a gap after the first and after the second member. */
struct type {
    MPI_Datatype handle;
    const char *name;
    size_t extent, first, second_at, second;
};

#define PLAIN(handle, c_type) {handle, #handle, sizeof(c_type), sizeof(c_type), 0, 0}
#define PAIR(handle, c_type)                                                                                                \
    {handle, #handle, sizeof(struct { c_type value; int index; }), sizeof(c_type),                                          \
     offsetof(struct { c_type value; int index; }, index), sizeof(int)}

static size_t all_types(struct type *types, size_t room) {
    const struct type list[] = {PLAIN(MPI_CHAR, char),
                                PLAIN(MPI_SIGNED_CHAR, signed char),
                                PLAIN(MPI_UNSIGNED_CHAR, unsigned char),
                                PLAIN(MPI_BYTE, char),
                                PLAIN(MPI_PACKED, char),
                                PLAIN(MPI_WCHAR, wchar_t),
                                PLAIN(MPI_SHORT, short),
                                PLAIN(MPI_UNSIGNED_SHORT, unsigned short),
                                PLAIN(MPI_INT, int),
                                PLAIN(MPI_UNSIGNED, unsigned),
                                PLAIN(MPI_LONG, long),
                                PLAIN(MPI_UNSIGNED_LONG, unsigned long),
                                PLAIN(MPI_LONG_LONG_INT, long long),
                                PLAIN(MPI_UNSIGNED_LONG_LONG, unsigned long long),
                                PLAIN(MPI_FLOAT, float),
                                PLAIN(MPI_DOUBLE, double),
                                PLAIN(MPI_LONG_DOUBLE, long double),
                                PLAIN(MPI_C_BOOL, _Bool),
                                PLAIN(MPI_INT8_T, int8_t),
                                PLAIN(MPI_INT16_T, int16_t),
                                PLAIN(MPI_INT32_T, int32_t),
                                PLAIN(MPI_INT64_T, int64_t),
                                PLAIN(MPI_UINT8_T, uint8_t),
                                PLAIN(MPI_UINT16_T, uint16_t),
                                PLAIN(MPI_UINT32_T, uint32_t),
                                PLAIN(MPI_UINT64_T, uint64_t),
                                PLAIN(MPI_C_FLOAT_COMPLEX, float complex),
                                PLAIN(MPI_C_DOUBLE_COMPLEX, double complex),
                                PLAIN(MPI_C_LONG_DOUBLE_COMPLEX, long double complex),
                                PLAIN(MPI_AINT, MPI_Aint),
                                PLAIN(MPI_OFFSET, MPI_Offset),
                                PLAIN(MPI_COUNT, MPI_Count),
                                PLAIN(MPI_CHARACTER, char),
                                PLAIN(MPI_LOGICAL, int),
                                PLAIN(MPI_INTEGER, int),
                                PLAIN(MPI_INTEGER1, int8_t),
                                PLAIN(MPI_INTEGER2, int16_t),
                                PLAIN(MPI_INTEGER4, int32_t),
                                PLAIN(MPI_INTEGER8, int64_t),
                                PLAIN(MPI_REAL, float),
                                PLAIN(MPI_REAL4, float),
                                PLAIN(MPI_REAL8, double),
                                PLAIN(MPI_DOUBLE_PRECISION, double),
                                PLAIN(MPI_COMPLEX, float complex),
                                PLAIN(MPI_DOUBLE_COMPLEX, double complex),
                                PLAIN(MPI_2INT, int[2]),
                                PAIR(MPI_FLOAT_INT, float),
                                PAIR(MPI_DOUBLE_INT, double),
                                PAIR(MPI_LONG_INT, long),
                                PAIR(MPI_SHORT_INT, short),
                                PAIR(MPI_LONG_DOUBLE_INT, long double)};
    CHECK(sizeof list / sizeof list[0] <= room, "%zu types", sizeof list / sizeof list[0]);
    memcpy(types, list, sizeof list);
    return sizeof list / sizeof list[0];
}

/* What a transfer of elements of this type does to `into`. */
static void model(const struct type *type, unsigned char *into, const unsigned char *from, int count) {
    for (int i = 0; i < count; i++, into += type->extent, from += type->extent) {
        memcpy(into, from, type->first);
        memcpy(into + type->second_at, from + type->second_at, type->second);
    }
}

static unsigned seed;

static void scramble(unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)((seed = seed * 1664525 + 1013904223) >> 24);
}

static void same(const unsigned char *found, const unsigned char *expected, size_t count, const char *what, const char *name, int elements) {
    for (size_t i = 0; i < count; i++)
        CHECK(found[i] == expected[i], "%s of %d %s: byte %zu is %d, not %d", what, elements, name, i, found[i], expected[i]);
}

enum { ROOM = 4096 * 32 + 256 };

/* Every type with every count: what arrives, what comes back, and that nothing else changes on either side. */
static void every_type(void) {
    static unsigned char origin[ROOM], result[ROOM], expected[ROOM], theirs[ROOM];
    static const int counts[] = {0, 1, 2, 7, 4096};
    struct type types[64];
    size_t kinds = all_types(types, 64);
    unsigned char *own;
    MPI_Win window;
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    OK(MPI_Win_allocate(ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    seed = 17 + (unsigned)rank;
    memset(own, 0x11, ROOM);
    memset(theirs, 0x11, ROOM);
    barrier();
    OK(MPI_Win_lock_all(0, window));
    for (size_t k = 0; k < kinds; k++) {
        const struct type *type = &types[k];
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            int count = counts[c];
            size_t bytes = type->extent * (size_t)count, at = 16 * (1 + (k + c) % 8);
            scramble(origin, bytes);
            OK(MPI_Put(origin, count, type->handle, right, (MPI_Aint)at, count, type->handle, window));
            OK(MPI_Win_flush(right, window));
            model(type, theirs + at, origin, count);
            /* Read back once as bytes, which shows all of the target's memory around, and once by the type. */
            OK(MPI_Get(result, (int)(bytes + at + 64), MPI_BYTE, right, 0, (int)(bytes + at + 64), MPI_BYTE, window));
            OK(MPI_Win_flush(right, window));
            same(result, theirs, bytes + at + 64, "put", type->name, count);
            memset(result, 0x77, bytes + 64);
            memset(expected, 0x77, bytes + 64);
            model(type, expected, theirs + at, count);
            OK(MPI_Get(result, count, type->handle, right, (MPI_Aint)at, count, type->handle, window));
            OK(MPI_Win_flush(right, window));
            same(result, expected, bytes + 64, "get", type->name, count);
        }
    }
    OK(MPI_Win_unlock_all(window));
    barrier();
    /* The owner's own view, beside what its left neighbour holds to have put there. */
    OK(MPI_Sendrecv(theirs, ROOM, MPI_BYTE, right, 0, expected, ROOM, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window));
    same(own, expected, ROOM, "own view after put", "all", 0);
    OK(MPI_Win_unlock(rank, window));
    OK(MPI_Win_free(&window));
}

/* Lengths and alignments of both sides: a copy that is wrong for some of them writes too little or too much. */
static void every_alignment(void) {
    enum { SPAN = 700 };
    static unsigned char origin[SPAN + 64], result[SPAN + 64], theirs[SPAN + 64];
    unsigned char *own;
    MPI_Win window;
    int right = (rank + 1) % ranks;
    OK(MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    seed = 5 + (unsigned)rank;
    memset(own, 0, SPAN + 64);
    barrier();
    OK(MPI_Win_lock_all(0, window));
    for (int length = 0; length <= 600; length += length < 140 ? 1 : 37)
        for (int from = 0; from < 17; from++)
            for (int to = 0; to < 17; to += 1 + length / 100) {
                scramble(origin, sizeof origin);
                OK(MPI_Put(origin + from, length, MPI_BYTE, right, to, length, MPI_BYTE, window));
                memcpy(theirs + to, origin + from, (size_t)length);
                OK(MPI_Win_flush(right, window));
                OK(MPI_Get(result, SPAN + 64, MPI_BYTE, right, 0, SPAN + 64, MPI_BYTE, window));
                OK(MPI_Win_flush(right, window));
                CHECK(memcmp(result, theirs, sizeof theirs) == 0, "put of %d bytes from offset %d to %d", length, from, to);
                memset(result, 0x5e, sizeof result);
                OK(MPI_Get(result + from, length, MPI_BYTE, right, to, length, MPI_BYTE, window));
                OK(MPI_Win_flush(right, window));
                CHECK(memcmp(result + from, theirs + to, (size_t)length) == 0, "get of %d bytes from offset %d to %d", length, to, from);
                CHECK((from == 0 || result[from - 1] == 0x5e) && result[from + length] == 0x5e, "get of %d bytes wrote around", length);
            }
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_free(&window));
}

/* Types made by MPI_Type_contiguous and MPI_Type_dup, nested, of different shape on either side, freed before the flush. */
static void contiguous_types(void) {
    enum { CELLS = 5000 };
    static double origin[CELLS], result[CELLS];
    double *own;
    MPI_Win window;
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    OK(MPI_Win_allocate(sizeof origin, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    for (int round = 0; round < 50; round++) {
        MPI_Datatype three, copy, nested, deep, empty;
        OK(MPI_Type_contiguous(3, MPI_DOUBLE, &three));
        OK(MPI_Type_dup(three, &copy));
        OK(MPI_Type_contiguous(4, copy, &nested));
        OK(MPI_Type_contiguous(5, nested, &deep));
        OK(MPI_Type_contiguous(0, MPI_DOUBLE, &empty));
        OK(MPI_Type_commit(&three));
        OK(MPI_Type_commit(&copy));
        OK(MPI_Type_commit(&nested));
        OK(MPI_Type_commit(&deep));
        OK(MPI_Type_commit(&empty));
        for (int i = 0; i < CELLS; i++)
            origin[i] = 1e6 * round + 1e4 * rank + i, own[i] = -1, result[i] = -2;
        barrier();
        OK(MPI_Win_lock_all(0, window));
        OK(MPI_Put(origin, 7, deep, right, 10, 420, MPI_DOUBLE, window));
        OK(MPI_Put(origin + 420, 60, MPI_DOUBLE, right, 430, 1, deep, window));
        OK(MPI_Put(origin + 480, 4, three, right, 490, 1, nested, window));
        OK(MPI_Put(origin, 9, empty, right, 0, 0, MPI_DOUBLE, window));
        OK(MPI_Get(result, 2, nested, right, 10, 8, copy, window));
        OK(MPI_Type_free(&three));
        OK(MPI_Type_free(&copy));
        OK(MPI_Type_free(&nested));
        OK(MPI_Type_free(&deep));
        OK(MPI_Type_free(&empty));
        OK(MPI_Win_flush_all(window));
        OK(MPI_Get(result, 600, MPI_DOUBLE, right, 0, 600, MPI_DOUBLE, window));
        OK(MPI_Win_unlock_all(window));
        barrier();
        for (int i = 0; i < 600; i++) {
            int inside = i >= 10 && i < 502;
            double put = 1e6 * round + i - 10;
            CHECK(result[i] == (inside ? put + 1e4 * rank : -1), "round %d, cell %d: %g came back", round, i, result[i]);
            CHECK(own[i] == (inside ? put + 1e4 * left : -1), "round %d, cell %d: %g arrived", round, i, own[i]);
        }
    }
    OK(MPI_Win_free(&window));
}

/* The target's unit scales the displacement, whatever the origin's own is. */
static void displacement_units(void) {
    static const int units[] = {1, 4, 8, 3, 16, 1000};
    char *own;
    MPI_Win window;
    int unit = units[rank % 6];
    OK(MPI_Win_allocate(64000, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    memset(own, 0, 64000);
    OK(MPI_Win_fence(0, window));
    /* Four units from each other, so that an int fits between two origins' displacements whatever the unit is. */
    for (int target = 0; target < ranks; target++) {
        int value = 100 * rank + target, back = -1;
        OK(MPI_Put(&value, 1, MPI_INT, target, 4 * (5 + rank), 1, MPI_INT, window));
        OK(MPI_Win_fence(0, window));
        OK(MPI_Get(&back, 1, MPI_INT, target, 4 * (5 + rank), 1, MPI_INT, window));
        OK(MPI_Win_fence(0, window));
        CHECK(back == value, "target %d: %d came back", target, back);
    }
    for (int origin = 0; origin < ranks; origin++) {
        int value;
        memcpy(&value, own + 4 * (5 + origin) * unit, sizeof value);
        CHECK(value == 100 * origin + rank, "unit %d: %d at displacement %d", unit, value, 4 * (5 + origin));
    }
    OK(MPI_Win_free(&window));
}

static void to_self(void) {
    int *own, value[3] = {7, 8, 9}, back[3] = {0};
    MPI_Win window;
    OK(MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    OK(MPI_Win_fence(0, window));
    OK(MPI_Put(value, 3, MPI_INT, rank, 2, 3, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    OK(MPI_Get(back, 3, MPI_INT, rank, 2, 3, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    CHECK(own[2] == 7 && own[4] == 9 && back[0] == 7 && back[2] == 9, "%d, %d, %d, %d", own[2], own[4], back[0], back[2]);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window));
    OK(MPI_Put(value, 1, MPI_INT, rank, 5, 1, MPI_INT, window));
    OK(MPI_Win_flush(rank, window));
    CHECK(own[5] == 7, "%d", own[5]);
    OK(MPI_Win_unlock(rank, window));
    OK(MPI_Win_free(&window));
}

/* From this rank's part of a window to another rank's part of the same and of another window. */
static void from_window_to_window(void) {
    long *one, *two;
    MPI_Win first, second;
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    OK(MPI_Win_allocate(800, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &one, &first));
    OK(MPI_Win_allocate_shared(800, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &two, &second));
    for (int i = 0; i < 100; i++)
        one[i] = 1000 * rank + i, two[i] = -1;
    barrier();
    OK(MPI_Win_fence(0, first));
    OK(MPI_Win_fence(0, second));
    OK(MPI_Put(one, 50, MPI_LONG, right, 50, 50, MPI_LONG, second));
    OK(MPI_Get(two, 50, MPI_LONG, right, 0, 50, MPI_LONG, first));
    OK(MPI_Win_fence(0, first));
    OK(MPI_Win_fence(0, second));
    for (int i = 0; i < 50; i++)
        CHECK(two[i] == 1000 * right + i && two[50 + i] == 1000 * left + i, "cell %d: %ld and %ld", i, two[i], two[50 + i]);
    OK(MPI_Win_free(&first));
    OK(MPI_Win_free(&second));
}

/* No-ops: target MPI_PROC_NULL, count 0, null buffers. */
static void nothing_to_do(void) {
    int *own, value = 1;
    MPI_Win window;
    OK(MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    memset(own, 0, 64);
    for (int passive = 0; passive < 2; passive++) {
        if (passive)
            OK(MPI_Win_lock_all(0, window));
        else
            OK(MPI_Win_fence(0, window));
        int target = (rank + 1) % ranks;
        OK(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window));
        OK(MPI_Get(&value, 1, MPI_INT, MPI_PROC_NULL, 123456, 1, MPI_INT, window));
        OK(MPI_Put(NULL, 0, MPI_INT, target, 0, 0, MPI_INT, window));
        OK(MPI_Get(NULL, 0, MPI_DOUBLE, target, 0, 0, MPI_DOUBLE, window));
        OK(MPI_Put(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, 0, MPI_INT, window));
        /* Just behind the last cell nothing fits, and nothing is asked for. */
        OK(MPI_Put(NULL, 0, MPI_INT, target, 16, 0, MPI_INT, window));
        OK(MPI_Get(NULL, 0, MPI_INT, target, 16, 0, MPI_INT, window));
        if (passive)
            OK(MPI_Win_unlock_all(window));
        else
            OK(MPI_Win_fence(0, window));
    }
    for (int i = 0; i < 16; i++)
        CHECK(own[i] == 0, "cell %d is %d", i, own[i]);
    CHECK(value == 1, "%d", value);
    OK(MPI_Win_free(&window));
}

/* Megabytes at odd offsets. */
static void large(void) {
    const size_t sizes[] = {65536, (1 << 20) + 1, (17 << 20) + 13};
    const size_t room = (18 << 20);
    unsigned char *own, *origin = malloc(room), *back = malloc(room);
    CHECK(origin != NULL && back != NULL, "no memory");
    MPI_Win window;
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    OK(MPI_Win_allocate((MPI_Aint)room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int offset = 0; offset < 5; offset += 3) {
            int count = (int)sizes[s];
            for (int i = 0; i < count; i++)
                origin[i] = (unsigned char)(i * 7 + i / 251 + rank + offset);
            memset(own, 0, room);
            OK(MPI_Win_fence(0, window));
            OK(MPI_Put(origin, count, MPI_BYTE, right, offset, count, MPI_BYTE, window));
            OK(MPI_Win_fence(0, window));
            OK(MPI_Get(back + 1, count, MPI_BYTE, right, offset, count, MPI_BYTE, window));
            OK(MPI_Win_fence(0, window));
            CHECK(memcmp(origin, back + 1, (size_t)count) == 0, "%d bytes at %d came back differently", count, offset);
            for (int i = 0; i < count; i++)
                CHECK(own[offset + i] == (unsigned char)(i * 7 + i / 251 + left + offset), "byte %d of %d", i, count);
            CHECK(own[offset + count] == 0 && (offset == 0 || own[offset - 1] == 0), "bytes around %d", count);
        }
    OK(MPI_Win_free(&window));
    free(origin);
    free(back);
}

/* Many operations before one flush; the buffer of a put may change after flush_local. */
static void many_before_a_flush(void) {
    enum { CELLS = 20000 };
    int *own;
    MPI_Win window;
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    static int origin[CELLS], back[CELLS];
    OK(MPI_Win_allocate(CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    OK(MPI_Win_lock_all(0, window));
    for (int i = 0; i < CELLS; i++) {
        origin[i] = rank * CELLS + i;
        OK(MPI_Put(&origin[i], 1, MPI_INT, right, i, 1, MPI_INT, window));
    }
    OK(MPI_Win_flush_local(right, window));
    memset(origin, 0, sizeof origin);
    OK(MPI_Win_flush(right, window));
    for (int i = 0; i < CELLS; i++)
        OK(MPI_Get(&back[i], 1, MPI_INT, right, i, 1, MPI_INT, window));
    OK(MPI_Win_flush_local_all(window));
    for (int i = 0; i < CELLS; i++)
        CHECK(back[i] == rank * CELLS + i, "cell %d: %d", i, back[i]);
    OK(MPI_Win_unlock_all(window));
    barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window));
    for (int i = 0; i < CELLS; i++)
        CHECK(own[i] == left * CELLS + i, "cell %d: %d", i, own[i]);
    OK(MPI_Win_unlock(rank, window));
    OK(MPI_Win_free(&window));
}

/* Many gets of 128 KiB between two fences, as one program did 100,000 of; memory stays bounded. */
static void many_large_gets_in_one_epoch(void) {
    enum { BYTES = 128 << 10 };
    static char into[BYTES];
    char *own;
    MPI_Win window;
    int target = (rank + 1) % ranks, rounds = getenv("TRANSOM_TEST_FULL") ? 100000 : 10000;
    OK(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    memset(own, 10 + rank, BYTES);
    OK(MPI_Win_fence(0, window));
    for (int i = 0; i < rounds; i++)
        OK(MPI_Get(into, BYTES, MPI_CHAR, target, 0, BYTES, MPI_CHAR, window));
    OK(MPI_Win_fence(0, window));
    for (int i = 0; i < BYTES; i++)
        CHECK(into[i] == 10 + target, "byte %d is %d", i, into[i]);
    OK(MPI_Win_free(&window));
}

/* The origin of a put may be read-only: a literal, which lies in a mapping without write permission. */
static void from_read_only_memory(void) {
    static const char literal[] = "delivered without the receiver asking";
    char *own;
    MPI_Win window;
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    OK(MPI_Win_fence(0, window));
    OK(MPI_Put(literal, sizeof literal, MPI_CHAR, (rank + 1) % ranks, 0, sizeof literal, MPI_CHAR, window));
    OK(MPI_Win_fence(0, window));
    CHECK(strcmp(own, literal) == 0, "%.40s", own);
    OK(MPI_Win_free(&window));
}

/* A known number of operations and bytes, for the statistics: 1,000 puts of 8 bytes, 10 of 800, 500 gets of 4, on all ranks together
 * that many times. */
static void counted(void) {
    static long buffer[100];
    long *own;
    MPI_Win window;
    OK(MPI_Win_allocate(sizeof buffer, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    int target = (rank + 1) % ranks;
    OK(MPI_Win_lock_all(0, window));
    for (int i = 0; i < 1000; i++)
        OK(MPI_Put(buffer, 1, MPI_LONG, target, i % 100, 1, MPI_LONG, window));
    for (int i = 0; i < 10; i++)
        OK(MPI_Put(buffer, 100, MPI_LONG, target, 0, 100, MPI_LONG, window));
    for (int i = 0; i < 500; i++)
        OK(MPI_Get(buffer, 1, MPI_INT, target, 0, 1, MPI_INT, window));
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_free(&window));
}

MAIN(SCENARIO(every_type), SCENARIO(every_alignment), SCENARIO(contiguous_types), SCENARIO(displacement_units), SCENARIO(to_self),
     SCENARIO(from_window_to_window), SCENARIO(nothing_to_do), SCENARIO(large), SCENARIO(many_before_a_flush),
     SCENARIO(many_large_gets_in_one_epoch), SCENARIO(from_read_only_memory), SCENARIO(counted))
