/* Many windows: alive at once, made and freed in rounds, and left over at MPI_Finalize. */
#include "check.h"
#include <dirent.h>

enum flavour { ALLOCATED, SHARED, CREATED, FLAVOURS };

struct window {
    MPI_Win handle;
    int *memory;
};

static struct window make(enum flavour flavour, MPI_Aint bytes) {
    struct window made = {MPI_WIN_NULL, NULL};
    if (flavour == ALLOCATED)
        OK(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &made.memory, &made.handle));
    else if (flavour == SHARED)
        OK(MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &made.memory, &made.handle));
    else {
        OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &made.memory));
        OK(MPI_Win_create(made.memory, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &made.handle));
    }
    return made;
}

static void end(struct window *window, enum flavour flavour) {
    OK(MPI_Win_free(&window->handle));
    if (flavour == CREATED)
        OK(MPI_Free_mem(window->memory));
}

/* The right neighbour's cell gets a value, which the neighbour finds in its memory. */
static void use(struct window window, int value) {
    int sent = value + rank, right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks, back = 0;
    OK(MPI_Win_fence(0, window.handle));
    OK(MPI_Put(&sent, 1, MPI_INT, right, 3, 1, MPI_INT, window.handle));
    OK(MPI_Win_fence(0, window.handle));
    CHECK(window.memory[3] == value + left, "%d of %d", window.memory[3], value + left);
    OK(MPI_Get(&back, 1, MPI_INT, right, 3, 1, MPI_INT, window.handle));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.handle));
    CHECK(back == sent, "%d came back of %d", back, sent);
}

static void alive_at_once(int count) {
    struct window *windows = malloc((size_t)count * sizeof *windows);
    CHECK(windows != NULL, "no memory for %d records", count);
    for (int i = 0; i < count; i++)
        windows[i] = make(i % FLAVOURS, 64);
    const int used[] = {0, 1, 2, count / 2, count / 2 + 1, count / 2 + 2, count - 3, count - 2, count - 1};
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++)
        use(windows[used[i]], 1000 * used[i]);
    /* Every window has memory of its own: what was put into one is not in another. */
    for (int i = 0; i < count; i++)
        windows[i].memory[5] = i;
    for (int i = 0; i < count; i++)
        CHECK(windows[i].memory[5] == i, "window %d holds %d", i, windows[i].memory[5]);
    for (int i = 0; i < count; i++)
        end(&windows[i], i % FLAVOURS);
    free(windows);
}

static void ten_thousand(void) {
    alive_at_once(10000);
}

static void a_thousand(void) {
    alive_at_once(1000);
}

struct usage {
    long resident_kib, descriptors, mappings;
};

static struct usage usage(void) {
    struct usage now = {0, 0, 0};
    long pages;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%*d %ld", &pages) == 1, "/proc/self/statm");
    fclose(file);
    now.resident_kib = pages * (sysconf(_SC_PAGESIZE) / 1024);
    DIR *directory = opendir("/proc/self/fd");
    CHECK(directory != NULL, "/proc/self/fd");
    while (readdir(directory) != NULL)
        now.descriptors++;
    closedir(directory);
    file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL, "/proc/self/maps");
    for (int byte; (byte = getc(file)) != EOF;)
        now.mappings += byte == '\n';
    fclose(file);
    return now;
}

static void rounds(enum flavour flavour, int warm, int count) {
    struct usage before = {0, 0, 0}, after;
    for (int round = 0; round < warm + count; round++) {
        if (round == warm)
            before = usage();
        struct window window = make(flavour, 64 + 8 * (round % 50));
        if (flavour == SHARED) {
            MPI_Aint size;
            int unit, *base;
            OK(MPI_Win_shared_query(window.handle, (rank + 1) % ranks, &size, &unit, &base));
            CHECK(size == 64 + 8 * (round % 50), "%ld", (long)size);
        }
        if (round % 1000 == 0)
            use(window, round);
        end(&window, flavour);
    }
    after = usage();
    printf("rank %d: resident %ld to %ld KiB, descriptors %ld to %ld, mappings %ld to %ld\n", rank, before.resident_kib, after.resident_kib,
           before.descriptors, after.descriptors, before.mappings, after.mappings);
    fflush(stdout);
    /* 700 bytes a round, as one host loses, would be 6 MiB. A few pages are the noise of the host's own calls. */
    CHECK(after.resident_kib - before.resident_kib < 512, "%ld KiB more are resident", after.resident_kib - before.resident_kib);
    CHECK(after.descriptors == before.descriptors, "%ld descriptors of %ld", after.descriptors, before.descriptors);
    CHECK(after.mappings - before.mappings <= 4, "%ld mappings of %ld", after.mappings, before.mappings);
}

/* As a control, a host that takes milliseconds for a window shows with fewer rounds that the program asks for nothing odd. */
static void ten_thousand_rounds(enum flavour flavour) {
    if (behind_transom())
        rounds(flavour, 1000, 9000);
    else
        rounds(flavour, 500, 500);
}

static void rounds_allocated(void) {
    ten_thousand_rounds(ALLOCATED);
}

static void rounds_shared(void) {
    ten_thousand_rounds(SHARED);
}

static void rounds_created(void) {
    ten_thousand_rounds(CREATED);
}

/* Windows larger than any arena's small blocks give their memory back as well. */
static void rounds_large(void) {
    struct usage before = {0, 0, 0}, after;
    for (int round = 0; round < 220; round++) {
        if (round == 20)
            before = usage();
        struct window window = make(round % FLAVOURS, (8 << 20) + 4096 * (round % 5));
        memset(window.memory, round, 8 << 20);
        if (round % 20 == 0)
            use(window, round);
        end(&window, round % FLAVOURS);
    }
    after = usage();
    /* Without this rank's memory given back, 200 rounds would hold 1.6 GiB. */
    CHECK(after.resident_kib - before.resident_kib < 40 << 10, "%ld KiB more are resident", after.resident_kib - before.resident_kib);
    CHECK(after.descriptors - before.descriptors <= 2, "%ld descriptors of %ld", after.descriptors, before.descriptors);
    CHECK(after.mappings - before.mappings <= 8, "%ld mappings of %ld", after.mappings, before.mappings);
}

/* The locks of a window made after another was freed work from the start: exact sums each time. */
static void one_after_another(void) {
    for (int round = 0; round < 100; round++) {
        struct window window = make(round % FLAVOURS, 256);
        window.memory[7] = 0;
        barrier();
        for (int i = 0; i < 20; i++) {
            int value;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.handle));
            OK(MPI_Get(&value, 1, MPI_INT, 0, 7, 1, MPI_INT, window.handle));
            OK(MPI_Win_flush(0, window.handle));
            value++;
            OK(MPI_Put(&value, 1, MPI_INT, 0, 7, 1, MPI_INT, window.handle));
            OK(MPI_Win_unlock(0, window.handle));
        }
        barrier();
        if (rank == 0) {
            int value;
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.handle));
            value = window.memory[7];
            OK(MPI_Win_unlock(0, window.handle));
            CHECK(value == 20 * ranks, "round %d: %d of %d", round, value, 20 * ranks);
        }
        end(&window, round % FLAVOURS);
    }
}

/* Freed in an order other than that of creation, and with others alive between. */
static void freed_in_any_order(void) {
    struct window windows[30];
    for (int i = 0; i < 30; i++)
        windows[i] = make(i % FLAVOURS, 64 + 100 * i);
    for (int i = 0; i < 30; i++) {
        int at = i * 7 % 30;
        use(windows[at], at);
        end(&windows[at], at % FLAVOURS);
        CHECK(windows[at].handle == MPI_WIN_NULL, "the handle of window %d survives", at);
    }
}

/* A rank that is done frees the window while others still use its memory: the free waits for them. */
static void freed_early_by_one_rank(void) {
    for (int flavour = 0; flavour < FLAVOURS; flavour++)
        for (int first = 0; first < ranks; first++) {
            struct window window = make(flavour, 4096);
            window.memory[0] = 1000 + rank;
            barrier();
            if (rank != first) {
                int value = 5 + rank, back = 0, kept = 0;
                sleep_ms(100);
                for (int i = 0; i < 100; i++) {
                    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, window.handle));
                    OK(MPI_Put(&value, 1, MPI_INT, first, 10 + rank, 1, MPI_INT, window.handle));
                    OK(MPI_Win_flush(first, window.handle));
                    OK(MPI_Get(&back, 1, MPI_INT, first, 10 + rank, 1, MPI_INT, window.handle));
                    OK(MPI_Get(&kept, 1, MPI_INT, first, 0, 1, MPI_INT, window.handle));
                    OK(MPI_Win_unlock(first, window.handle));
                    CHECK(back == value && kept == 1000 + first, "%d and %d", back, kept);
                }
            }
            double began = seconds();
            end(&window, flavour);
            CHECK(rank != first || seconds() - began > 0.05, "the free did not wait for the others");
        }
}

/* Three flavours are alive when MPI ends. */
static void left_at_finalize(void) {
    struct window windows[FLAVOURS];
    for (int i = 0; i < FLAVOURS; i++) {
        windows[i] = make(i, 1000 + 100000 * i);
        use(windows[i], i);
    }
}

MAIN(SCENARIO(ten_thousand), SCENARIO(a_thousand), SCENARIO(rounds_allocated), SCENARIO(rounds_shared), SCENARIO(rounds_created),
     SCENARIO(rounds_large), SCENARIO(one_after_another), SCENARIO(freed_in_any_order), SCENARIO(freed_early_by_one_rank),
     SCENARIO(left_at_finalize))
