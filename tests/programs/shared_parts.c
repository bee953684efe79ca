/* MPI_Win_allocate_shared: where the parts of the ranks lie, and that every rank sees the same memory. */
#include "check.h"

/* What MPI_Win_shared_query says of one rank. */
struct part {
    MPI_Aint size;
    int unit;
    unsigned char *base;
};

static struct part query(MPI_Win window, int of) {
    struct part part = {-1, -1, (unsigned char *)-1};
    OK(MPI_Win_shared_query(window, of, &part.size, &part.unit, &part.base));
    return part;
}

static unsigned char value_of(int owner, MPI_Aint at) {
    return (unsigned char)(owner * 37 + at * 11 + 5);
}

/* Every owner fills its part; every rank reads all parts through the queried bases. */
static void check_contents(MPI_Win window, unsigned char *own, MPI_Aint size) {
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, window));
    for (MPI_Aint at = 0; at < size; at++)
        own[at] = value_of(rank, at);
    OK(MPI_Win_sync(window));
    barrier();
    OK(MPI_Win_sync(window));
    for (int r = 0; r < ranks; r++) {
        struct part part = query(window, r);
        for (MPI_Aint at = 0; at < part.size; at++)
            CHECK(part.base[at] == value_of(r, at), "byte %ld of rank %d is %d", (long)at, r, part.base[at]);
    }
    barrier();
    OK(MPI_Win_unlock_all(window));
}

static void check_parts(MPI_Info info, const MPI_Aint *sizes, int contiguous) {
    unsigned char *own;
    MPI_Win window;
    OK(MPI_Win_allocate_shared(sizes[rank], 1, info, MPI_COMM_WORLD, &own, &window));
    CHECK(query(window, rank).base == own, "the query of the own rank gives another base");
    for (int r = 0; r < ranks; r++) {
        struct part part = query(window, r);
        CHECK(part.size == sizes[r], "rank %d: size %ld of %ld", r, (long)part.size, (long)sizes[r]);
        CHECK(part.unit == 1, "rank %d: unit %d", r, part.unit);
        if (!contiguous)
            continue;
        CHECK(r + 1 == ranks || query(window, r + 1).base == part.base + part.size, "rank %d does not begin where rank %d ends", r + 1, r);
    }
    for (int r = 0; r < ranks && !contiguous; r++) {
        struct part one = query(window, r);
        CHECK(one.size == 0 || (uintptr_t)one.base % 16 == 0, "rank %d begins at %p", r, (void *)one.base);
        for (int other = 0; other < r; other++) {
            struct part two = query(window, other);
            CHECK(one.base + one.size <= two.base || two.base + two.size <= one.base || one.size == 0 || two.size == 0,
                  "ranks %d and %d share bytes", r, other);
        }
    }
    check_contents(window, own, sizes[rank]);
    OK(MPI_Win_free(&window));
    CHECK(window == MPI_WIN_NULL, "the handle survives MPI_Win_free");
}

static MPI_Info noncontiguous(void) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    return info;
}

static void contiguous(void) {
    const MPI_Aint even[] = {4096, 4096, 4096, 4096}, odd[] = {1, 7, 3, 13}, large[] = {5000001, 3, 2000000, 17};
    check_parts(MPI_INFO_NULL, even, 1);
    check_parts(MPI_INFO_NULL, odd, 1);
    check_parts(MPI_INFO_NULL, large, 1);
}

static void apart(void) {
    MPI_Info info = noncontiguous();
    const MPI_Aint even[] = {4096, 4096, 4096, 4096}, odd[] = {1, 7, 3, 13}, large[] = {5000001, 3, 2000000, 17}, zero[] = {0, 9, 0, 5};
    check_parts(info, even, 0);
    check_parts(info, odd, 0);
    check_parts(info, large, 0);
    check_parts(info, zero, 0);
    OK(MPI_Info_free(&info));
}

/* Ranks without memory: {0, n, 0, n}, {n, 0, 0, 0}, and none at all. */
static void zero_sizes(void) {
    const MPI_Aint every_second[] = {0, 800, 0, 800}, first[] = {640, 0, 0, 0}, none[] = {0, 0, 0, 0};
    check_parts(MPI_INFO_NULL, every_second, 1);
    check_parts(MPI_INFO_NULL, first, 1);
    check_parts(MPI_INFO_NULL, none, 1);
}

/* MPI_COMM_SELF in a job of any size. */
static void alone(void) {
    int *own;
    MPI_Win window;
    OK(MPI_Win_allocate_shared(sizeof *own * 3, sizeof *own, MPI_INFO_NULL, MPI_COMM_SELF, &own, &window));
    struct part part = query(window, 0);
    CHECK((void *)part.base == (void *)own && part.size == sizeof *own * 3 && part.unit == sizeof *own, "size %ld, unit %d",
          (long)part.size, part.unit);
    int value = 100 + rank, back = 0;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    OK(MPI_Put(&value, 1, MPI_INT, 0, 2, 1, MPI_INT, window));
    OK(MPI_Win_flush(0, window));
    OK(MPI_Get(&back, 1, MPI_INT, 0, 2, 1, MPI_INT, window));
    OK(MPI_Win_unlock(0, window));
    CHECK(back == value && own[2] == value, "%d came back, %d is in memory", back, own[2]);
    barrier();
    OK(MPI_Win_free(&window));
}

/* Each of two ranks stores into the other's element through the queried pointer; the owner reads its own. */
static void stores_both_ways(void) {
    int *own;
    MPI_Win window;
    int peer = rank ^ 1;
    OK(MPI_Win_allocate_shared(sizeof *own * 2, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    volatile int *of_peer = (volatile int *)query(window, peer).base, *mine = own;
    OK(MPI_Win_lock_all(0, window));
    for (int round = 1; round <= 1000; round++) {
        of_peer[round % 2] = round * 10 + rank;
        OK(MPI_Win_sync(window));
        barrier();
        OK(MPI_Win_sync(window));
        CHECK(mine[round % 2] == round * 10 + peer, "round %d: %d", round, mine[round % 2]);
        barrier();
    }
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_free(&window));
}

/* MPI_PROC_NULL asks for the lowest rank that has memory. */
static void check_of_nobody(MPI_Win window) {
    struct part lowest = query(window, MPI_PROC_NULL), first = query(window, 1);
    CHECK(lowest.base == first.base && lowest.size == 24 && lowest.unit == 8, "size %ld, unit %d", (long)lowest.size, lowest.unit);
    OK(MPI_Win_free(&window));
}

static void of_nobody(void) {
    unsigned char *own;
    MPI_Win window;
    MPI_Aint size = rank == 0 ? 0 : 24;
    OK(MPI_Win_allocate_shared(size, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    check_of_nobody(window);
    /* A host may refuse the query of other flavours; Transom answers for all memory that is mapped. */
    if (!behind_transom())
        return;
    OK(MPI_Win_allocate(size, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    check_of_nobody(window);
    OK(MPI_Alloc_mem(24, MPI_INFO_NULL, &own));
    OK(MPI_Win_create(own, size, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    check_of_nobody(window);
    OK(MPI_Free_mem(own));
}

MAIN(SCENARIO(contiguous), SCENARIO(apart), SCENARIO(zero_sizes), SCENARIO(alone), SCENARIO(stores_both_ways), SCENARIO(of_nobody))
