/* Windows of many gigabytes of which little is touched, and counts beyond 2^31. */
#include "check.h"
#include <sys/mman.h>

typedef int allocate_c(MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *, MPI_Win *);
typedef int put_c(const void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win);
typedef int get_c(void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win);
typedef int query_c(MPI_Win, int, MPI_Aint *, MPI_Aint *, void *);

static const MPI_Aint BYTES = 8488608000;

static void *needed(const char *name) {
    void *found = function(name);
    CHECK(found != NULL, "%s is missing", name);
    return found;
}

/* Put and get in the first, a middle and the last cell of the neighbour's window, which the owner also sees. */
static void check_far_end(MPI_Win window, int unit, char *own) {
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    const MPI_Aint cells = BYTES / 8, at[] = {0, cells / 2 + 3, cells - 1};
    OK(MPI_Win_fence(0, window));
    for (int i = 0; i < 3; i++) {
        long long value = at[i] * 10 + rank;
        OK(MPI_Put(&value, 1, MPI_LONG_LONG, right, at[i] * 8 / unit, 1, MPI_LONG_LONG, window));
    }
    OK(MPI_Win_fence(0, window));
    for (int i = 0; i < 3; i++) {
        long long back = -1, own_value;
        OK(MPI_Get(&back, 1, MPI_LONG_LONG, right, at[i] * 8 / unit, 1, MPI_LONG_LONG, window));
        OK(MPI_Win_fence(0, window));
        CHECK(back == at[i] * 10 + rank, "cell %ld: %lld came back", (long)at[i], back);
        memcpy(&own_value, own + at[i] * 8, 8);
        CHECK(own_value == at[i] * 10 + left, "cell %ld: %lld is in the owner's memory", (long)at[i], own_value);
    }
}

static void sparse(void) {
    for (int unit = 1; unit <= 8; unit += 7) {
        char *own;
        MPI_Win window;
        OK(MPI_Win_allocate(BYTES, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
        check_far_end(window, unit, own);
        OK(MPI_Win_free(&window));
    }
}

static void sparse_shared(void) {
    char *own;
    MPI_Win window;
    OK(MPI_Win_allocate_shared(BYTES, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    check_far_end(window, 8, own);
    for (int r = 0; r < ranks; r++) {
        MPI_Aint size;
        int unit;
        char *base;
        OK(MPI_Win_shared_query(window, r, &size, &unit, &base));
        CHECK(size == BYTES && unit == 8, "rank %d: %ld bytes in units of %d", r, (long)size, unit);
        long long last;
        memcpy(&last, base + BYTES - 8, 8);
        CHECK(last == (BYTES / 8 - 1) * 10 + (r + ranks - 1) % ranks, "rank %d: %lld at the end", r, last);
    }
    OK(MPI_Win_fence(0, window));
    OK(MPI_Win_free(&window));
}

/* The large-count forms, and a displacement unit that does not fit in an int. */
static void large_count_forms(void) {
    char *own;
    MPI_Win window;
    const MPI_Aint unit = (MPI_Aint)1 << 32;
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    OK(((allocate_c *)needed("MPI_Win_allocate_c"))(BYTES, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    long long sent[2] = {rank, -rank}, back[2] = {0, 0};
    OK(MPI_Win_fence(0, window));
    OK(((put_c *)needed("MPI_Put_c"))(sent, 2, MPI_LONG_LONG, right, 1, 2, MPI_LONG_LONG, window));
    OK(MPI_Win_fence(0, window));
    OK(((get_c *)needed("MPI_Get_c"))(back, 2, MPI_LONG_LONG, right, 1, 2, MPI_LONG_LONG, window));
    OK(MPI_Win_fence(0, window));
    CHECK(back[0] == rank && back[1] == -rank, "%lld, %lld", back[0], back[1]);
    CHECK(*(long long *)(own + unit) == left, "%lld", *(long long *)(own + unit));
    MPI_Aint size, unit_back;
    void *base;
    OK(((query_c *)needed("MPI_Win_shared_query_c"))(window, right, &size, &unit_back, &base));
    CHECK(size == BYTES && unit_back == unit, "%ld bytes in units of %ld", (long)size, (long)unit_back);
    OK(MPI_Win_free(&window));
    OK(((allocate_c *)needed("MPI_Win_allocate_shared_c"))(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    check_preload();
    OK(MPI_Win_fence(0, window));
    OK(((put_c *)needed("MPI_Put_c"))(sent, 1, MPI_LONG_LONG, right, 511, 1, MPI_LONG_LONG, window));
    OK(MPI_Win_fence(0, window));
    CHECK(*(long long *)(own + 4088) == left, "%lld", *(long long *)(own + 4088));
    OK(MPI_Win_free(&window));
}

/* One put of 2^31 + 5 bytes, the origin of which is one page mapped over and over. */
static void more_than_two_gigabytes_at_once(void) {
    char *own;
    MPI_Win window;
    const MPI_Count count = ((MPI_Count)1 << 31) + 5;
    OK(MPI_Win_allocate(rank == 0 ? BYTES : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    OK(MPI_Win_fence(0, window));
    if (rank == 1) {
        char *origin = mmap(NULL, (size_t)count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(origin != MAP_FAILED, "no address space");
        origin[0] = 1, origin[count / 2] = 2, origin[count - 1] = 3;
        OK(((put_c *)needed("MPI_Put_c"))(origin, count, MPI_BYTE, 0, 7, count, MPI_BYTE, window));
        OK(MPI_Win_fence(0, window));
        munmap(origin, (size_t)count);
    } else
        OK(MPI_Win_fence(0, window));
    if (rank == 0)
        CHECK(own[7] == 1 && own[7 + count / 2] == 2 && own[7 + count - 1] == 3 && own[7 + count] == 0, "%d, %d, %d, %d", own[7],
              own[7 + count / 2], own[7 + count - 1], own[7 + count]);
    OK(MPI_Win_free(&window));
}

MAIN(SCENARIO(sparse), SCENARIO(sparse_shared), SCENARIO(large_count_forms), SCENARIO(more_than_two_gigabytes_at_once))
