/* Windows on memory of the program's own, which no other process has mapped. */
#include "memories.h"

static int right(void) {
    return (rank + 1) % ranks;
}

static int left(void) {
    return (rank + ranks - 1) % ranks;
}

static MPI_Win create(void *base, MPI_Aint size, int unit) {
    MPI_Win window;
    OK(MPI_Win_create(base, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    window_returns_errors(window);
    return window;
}

/* Put, get and accumulates of several sizes on each kind of memory, seen by the owner as plain loads. */
static void every_memory(void) {
    for (int memory = 0; memory < MEMORIES; memory++) {
        enum { MOST = 20000 };
        struct made made = make((enum memory)memory, MOST * 8, 8);
        static long sent[MOST], found[MOST];
        long *own = (long *)made.base;
        OK(MPI_Win_fence(0, made.window));
        for (int count = 1; count <= MOST; count = count * 5 + 3) {
            for (int i = 0; i < count; i++)
                sent[i] = 1000L * count + rank + i;
            OK(MPI_Put(sent, count, MPI_LONG, right(), MOST - count, count, MPI_LONG, made.window));
            OK(MPI_Win_fence(0, made.window));
            for (int i = 0; i < count; i++)
                CHECK(own[MOST - count + i] == 1000L * count + left() + i, "%s, %d of %d: %ld", memory_names[memory], i, count,
                      own[MOST - count + i]);
            OK(MPI_Win_fence(0, made.window));
            OK(MPI_Accumulate(sent, count, MPI_LONG, right(), MOST - count, count, MPI_LONG, MPI_SUM, made.window));
            OK(MPI_Win_fence(0, made.window));
            OK(MPI_Get(found, count, MPI_LONG, right(), MOST - count, count, MPI_LONG, made.window));
            OK(MPI_Win_fence(0, made.window));
            for (int i = 0; i < count; i++)
                CHECK(found[i] == 2 * sent[i] && own[MOST - count + i] == 2 * (1000L * count + left() + i), "%s, %d of %d: %ld",
                      memory_names[memory], i, count, found[i]);
            OK(MPI_Win_fence(0, made.window));
        }
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, made.window));
        unmake(&made);
    }
}

/* A file that a rank has mapped shared gets what is put; one that it has mapped privately does not. */
static void files(void) {
    for (int shared = 0; shared < 2; shared++) {
        char name[512];
        long value = 4711 + rank, in_file = -1;
        snprintf(name, sizeof name, "%s/private-%d-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp", rank);
        int file = mkstemp(name);
        CHECK(file >= 0 && unlink(name) == 0 && ftruncate(file, 8192) == 0, "%s", name);
        char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, file, 0);
        CHECK(at != MAP_FAILED, "mmap");
        MPI_Win window = create(at, 8192, 1);
        OK(MPI_Win_fence(0, window));
        OK(MPI_Put(&value, 1, MPI_LONG, right(), 4093, 1, MPI_LONG, window));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
        CHECK(pread(file, &in_file, 8, 4093) == 8 && in_file == (shared ? 4711 + left() : 0), "%ld", in_file);
        CHECK(memcmp(at + 4093, &(long){4711 + left()}, 8) == 0, "what was put is not there");
        OK(MPI_Win_free(&window));
        munmap(at, 8192);
        close(file);
    }
}

/* Memory that its owner may only read: others may get it, and what they put is refused and harms nobody. */
static void read_only(void) {
    enum { BYTES = 3 * 4096 };
    long found[512], value = 1, old = -7;
    long *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < BYTES / 8; i++)
        at[i] = 1000 * rank + i;
    CHECK(mprotect(at, BYTES, PROT_READ) == 0, "mprotect");
    MPI_Win window = create(at, BYTES, 8);
    OK(MPI_Win_lock_all(0, window));
    OK(MPI_Get(found, 512, MPI_LONG, right(), 300, 512, MPI_LONG, window));
    OK(MPI_Win_flush(right(), window));
    for (int i = 0; i < 512; i++)
        CHECK(found[i] == 1000 * right() + 300 + i, "%d: %ld", i, found[i]);
    OK(MPI_Fetch_and_op(NULL, found, MPI_LONG, right(), 9, MPI_NO_OP, window));
    OK(MPI_Win_flush(right(), window));
    CHECK(found[0] == 1000 * right() + 9, "%ld", found[0]);
    for (int round = 0; round < 3; round++) {
        FAILS(MPI_ERR_OTHER, MPI_Put(&value, 1, MPI_LONG, right(), 0, 1, MPI_LONG, window));
        FAILS(MPI_ERR_OTHER, MPI_Accumulate(&value, 1, MPI_LONG, right(), 0, 1, MPI_LONG, MPI_SUM, window));
        FAILS(MPI_ERR_OTHER, MPI_Accumulate(found, 512, MPI_LONG, right(), 0, 512, MPI_LONG, MPI_SUM, window));
        FAILS(MPI_ERR_OTHER, MPI_Fetch_and_op(&value, &old, MPI_LONG, right(), 0, MPI_SUM, window));
        /* What fails is the writing: where nothing is to be written there is no error, and no lock may be left behind by those above. */
        OK(MPI_Compare_and_swap(&value, &(long){-1}, &old, MPI_LONG, right(), 5, window));
        OK(MPI_Win_flush(right(), window));
        CHECK(old == 1000 * right() + 5, "%ld", old);
    }
    OK(MPI_Win_unlock_all(window));
    barrier();
    for (int i = 0; i < BYTES / 8; i++)
        CHECK(at[i] == 1000 * rank + i, "%d: %ld", i, at[i]);
    OK(MPI_Win_free(&window));
    munmap(at, BYTES);
}

/* The program has unmapped what it gave: its own fault, which others learn by an error and survive. */
static void unmapped(void) {
    long found = 5, value = 1;
    long *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Win window = create(at, 8192, 8);
    munmap(at, 8192);
    barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window));
    FAILS(MPI_ERR_OTHER, MPI_Get(&found, 1, MPI_LONG, right(), 0, 1, MPI_LONG, window));
    FAILS(MPI_ERR_OTHER, MPI_Put(&value, 1, MPI_LONG, right(), 0, 1, MPI_LONG, window));
    FAILS(MPI_ERR_OTHER, MPI_Accumulate(&value, 1, MPI_LONG, right(), 0, 1, MPI_LONG, MPI_SUM, window));
    OK(MPI_Win_unlock(right(), window));
    CHECK(found == 5, "%ld", found);
    OK(MPI_Win_free(&window));
}

/* 64 MiB at once, got and put, and 8 MiB accumulated. */
static void large(void) {
    const size_t bytes = (size_t)64 << 20;
    const int cells = (int)(bytes / 8);
    long *own = malloc(bytes), *other = malloc(bytes);
    for (int i = 0; i < cells; i++)
        own[i] = 3L * i + rank;
    MPI_Win window = create(own, (MPI_Aint)bytes, 8);
    OK(MPI_Win_fence(0, window));
    OK(MPI_Get(other, cells, MPI_LONG, right(), 0, cells, MPI_LONG, window));
    OK(MPI_Win_fence(0, window));
    for (int i = 0; i < cells; i++) {
        CHECK(other[i] == 3L * i + right(), "%d: %ld", i, other[i]);
        other[i] = -i;
    }
    OK(MPI_Put(other, cells - 1, MPI_LONG, right(), 1, cells - 1, MPI_LONG, window));
    OK(MPI_Win_fence(0, window));
    OK(MPI_Accumulate(other, 1 << 20, MPI_LONG, right(), 1, 1 << 20, MPI_LONG, MPI_SUM, window));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    for (int i = 1; i < cells; i++)
        CHECK(own[i] == (i <= 1 << 20 ? -2L : -1L) * (i - 1), "%d: %ld", i, own[i]);
    CHECK(own[0] == rank, "%ld", own[0]);
    OK(MPI_Win_free(&window));
    free(own);
    free(other);
}

/* Two windows on the same memory, one of them shifted; each sees what the other has done, once both have synchronised. */
static void overlapping(void) {
    long *own = calloc(300, 8), value, found;
    MPI_Win windows[2] = {create(own, 300 * 8, 8), create(own + 100, 100 * 8, 8)};
    for (int round = 0; round < 50; round++)
        for (int i = 0; i < 2; i++) {
            value = 10 * round + i;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right(), 0, windows[i]));
            OK(MPI_Put(&value, 1, MPI_LONG, right(), i ? 50 : 150, 1, MPI_LONG, windows[i]));
            OK(MPI_Win_flush(right(), windows[i]));
            OK(MPI_Accumulate(&value, 1, MPI_LONG, right(), i ? 50 : 150, 1, MPI_LONG, MPI_SUM, windows[i]));
            OK(MPI_Win_unlock(right(), windows[i]));
            OK(MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, windows[1 - i]));
            OK(MPI_Get(&found, 1, MPI_LONG, right(), i ? 150 : 50, 1, MPI_LONG, windows[1 - i]));
            OK(MPI_Win_unlock(right(), windows[1 - i]));
            CHECK(found == 2 * value, "round %d, window %d: %ld", round, i, found);
        }
    barrier();
    for (int i = 0; i < 2; i++)
        OK(MPI_Win_free(&windows[i]));
    free(own);
}

/* Bases, displacements and origins at odd addresses; the origin inside its own window. */
static void odd_addresses(void) {
    char *memory = calloc(4096, 1), sent[64], found[64];
    for (int shift = 1; shift < 8; shift += 2)
        for (int unit = 1; unit < 8; unit += 2) {
            MPI_Win window = create(memory + shift, 2000, unit);
            OK(MPI_Win_fence(0, window));
            for (int i = 0; i < 40; i++)
                sent[1 + i] = (char)(rank + i + shift);
            OK(MPI_Put(sent + 1, 5, MPI_LONG, right(), 7, 5, MPI_LONG, window));
            OK(MPI_Win_fence(0, window));
            OK(MPI_Get(found + 3, 5, MPI_LONG, right(), 7, 5, MPI_LONG, window));
            OK(MPI_Win_fence(0, window));
            CHECK(memcmp(found + 3, sent + 1, 40) == 0 && memory[shift + 7 * unit] == (char)(left() + shift), "shift %d, unit %d", shift, unit);
            OK(MPI_Put(memory + shift + 7 * unit, 40, MPI_BYTE, right(), 1000 / unit, 40, MPI_BYTE, window));
            OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
            CHECK(memory[shift + 1000 / unit * unit] == (char)((rank + 2 * ranks - 2) % ranks + shift), "shift %d, unit %d", shift, unit);
            OK(MPI_Win_free(&window));
        }
    free(memory);
}

/* Each rank has memory of another kind, and one has none. */
static void mixed_memories(void) {
    enum { BYTES = 8000 };
    char *mapped;
    OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &mapped));
    memset(mapped, 0, BYTES);
    for (int shift = 0; shift < 3; shift++) {
        int kind = (rank + shift) % 3;
        char *base = kind == 0 ? mapped : kind == 1 ? calloc(BYTES, 1) : NULL;
        long value = 60 + rank + shift, found = -1, *own = (long *)base;
        MPI_Win window = create(base, base == NULL ? 0 : BYTES, 8);
        OK(MPI_Win_lock_all(0, window));
        for (int target = 0; target < ranks; target++) {
            int there = (target + shift) % 3;
            if (there == 2) {
                FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, target, rank, 1, MPI_LONG, window));
                continue;
            }
            OK(MPI_Put(&value, 1, MPI_LONG, target, rank, 1, MPI_LONG, window));
            OK(MPI_Win_flush(target, window));
            OK(MPI_Accumulate(&value, 1, MPI_LONG, target, rank, 1, MPI_LONG, MPI_SUM, window));
            OK(MPI_Win_flush(target, window));
            OK(MPI_Get(&found, 1, MPI_LONG, target, rank, 1, MPI_LONG, window));
            OK(MPI_Win_flush(target, window));
            CHECK(found == 2 * value, "%ld", found);
            FAILS(MPI_ERR_RMA_RANGE, MPI_Get(&found, 1, MPI_LONG, target, 1000, 1, MPI_LONG, window));
        }
        OK(MPI_Win_unlock_all(window));
        barrier();
        for (int origin = 0; origin < ranks && base != NULL; origin++)
            CHECK(own[origin] == 2 * (60 + origin + shift), "from %d: %ld", origin, own[origin]);
        OK(MPI_Win_free(&window));
        if (kind == 1)
            free(base);
    }
    OK(MPI_Free_mem(mapped));
}

/* A query answers with size 0 where the memory cannot be mapped, never with a pointer that is wrong; attributes tell the owner all. */
static void query(void) {
    long *own = calloc(100, 8), *base, **attribute;
    MPI_Aint size = -1, *size_attribute;
    int unit = -1, flag;
    MPI_Win window = create(own, 800, 8);
    OK(MPI_Win_shared_query(window, right(), &size, &unit, &base));
    CHECK(size == 0, "%ld bytes", (long)size);
    /* The first rank with memory that is shared with this one: itself. */
    OK(MPI_Win_shared_query(window, MPI_PROC_NULL, &size, &unit, &base));
    CHECK(size == 0 || base == own, "%ld bytes at %p", (long)size, (void *)base);
    OK(MPI_Win_get_attr(window, MPI_WIN_BASE, &attribute, &flag));
    CHECK(flag && (void *)attribute == own, "the base is %p, not %p", (void *)attribute, (void *)own);
    OK(MPI_Win_get_attr(window, MPI_WIN_SIZE, &size_attribute, &flag));
    CHECK(flag && *size_attribute == 800, "%ld", (long)*size_attribute);
    OK(MPI_Win_free(&window));
    free(own);
}

/* The target computes, and calls no MPI, while others work on its memory. */
static void without_the_targets_help(void) {
    long *own = calloc(300, 8), ones[300], old;
    for (int i = 0; i < 300; i++)
        ones[i] = 1;
    MPI_Win window = create(own, 300 * 8, 8);
    barrier();
    if (rank == 0) {
        sleep_ms(1500);
    } else {
        double began = seconds();
        for (int i = 0; i < 100; i++) {
            OK(MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, window));
            OK(MPI_Accumulate(ones, 300, MPI_LONG, 0, 0, 300, MPI_LONG, MPI_SUM, window));
            OK(MPI_Fetch_and_op(ones, &old, MPI_LONG, 0, 0, MPI_SUM, window));
            OK(MPI_Win_unlock(0, window));
        }
        CHECK(seconds() - began < 1.2, "%.1f s", seconds() - began);
    }
    barrier();
    CHECK(rank != 0 || (own[0] == 200L * (ranks - 1) && own[299] == 100L * (ranks - 1)), "%ld %ld", own[0], own[299]);
    OK(MPI_Win_free(&window));
    free(own);
}

int main(int argc, char **argv) {
    static const struct scenario list[] = {SCENARIO(every_memory),  SCENARIO(files),          SCENARIO(read_only),
                                           SCENARIO(unmapped),      SCENARIO(large),          SCENARIO(overlapping),
                                           SCENARIO(odd_addresses), SCENARIO(mixed_memories), SCENARIO(query),
                                           SCENARIO(without_the_targets_help)};
    WITH_STACK;
    start(&argc, &argv);
    choose(list, sizeof list / sizeof list[0], argv[1]);
    OK(MPI_Finalize());
    return 0;
}
