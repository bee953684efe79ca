/* Many origins at the same cells: what accumulates of all kinds owe each other. */
#include "memories.h"
#include <complex.h>
#include <pthread.h>

/* Whole pages for every type: the parts of other windows overlap under MPICH 4.0.2, the control. */
enum { CELLS = 4096, BULK = 2000 };

static enum memory chosen;

static int rounds(int usual) {
    return getenv("TRANSOM_TEST_FULL") ? 10 * usual : usual;
}

/* The control does less: hosts need a millisecond where ranks outnumber cores. */
static int fewer_for_hosts(int count) {
    return behind_transom() ? count : count / 8;
}

/* --- Storms: each origin adds ones to the cells of all ranks by every call there is, and knows how many. --- */

enum mode { LOCK_ALL, EXCLUSIVE, SHARED_LOCK, FENCE, MODES };
static const char *const mode_names[] = {"lock_all", "exclusive", "shared", "fence"};

/* A type with ones: as many as `modulo` of them are none. */
struct numbers {
    const char *name;
    MPI_Datatype datatype;
    size_t size;
    uint64_t modulo;
    int is_ordered, may_swap;
};

static const struct numbers *numbers_by_name(const char *name) {
    static struct numbers list[7];
    const struct numbers all[] = {{"int64", MPI_INT64_T, 8, 0, 1, 1},
                                  {"int32", MPI_INT32_T, 4, 0, 1, 1},
                                  {"uint16", MPI_UINT16_T, 2, 1 << 16, 0, 1},
                                  {"uint8", MPI_UINT8_T, 1, 1 << 8, 0, 1},
                                  {"double", MPI_DOUBLE, 8, 0, 1, 0},
                                  {"complex", MPI_C_DOUBLE_COMPLEX, 16, 0, 1, 0},
                                  {"long_double", MPI_LONG_DOUBLE, 16, 0, 1, 0}};
    memcpy(list, all, sizeof list);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    fail(__FILE__, __LINE__, "no numbers are called %s", name);
}

static void write_number(const struct numbers *type, void *at, uint64_t value) {
    int64_t i64 = (int64_t)value;
    int32_t i32 = (int32_t)value;
    uint16_t u16 = (uint16_t)value;
    uint8_t u8 = (uint8_t)value;
    double f64 = (double)value;
    double complex c64 = f64 - f64 * I;
    long double f80 = f64;
    const void *from = type->datatype == MPI_DOUBLE            ? (void *)&f64
                       : type->datatype == MPI_C_DOUBLE_COMPLEX ? (void *)&c64
                       : type->datatype == MPI_LONG_DOUBLE      ? (void *)&f80
                       : type->size == 8                        ? (void *)&i64
                       : type->size == 4                        ? (void *)&i32
                       : type->size == 2                        ? (void *)&u16
                                                                : (void *)&u8;
    memcpy(at, from, type->size);
}

static uint64_t read_number(const struct numbers *type, const void *at) {
    if (type->datatype == MPI_DOUBLE)
        return (uint64_t) * (const double *)at;
    if (type->datatype == MPI_LONG_DOUBLE)
        return (uint64_t) * (const long double *)at;
    if (type->datatype == MPI_C_DOUBLE_COMPLEX) {
        double complex value = *(const double complex *)at;
        CHECK(creal(value) == -cimag(value), "half of an update: %f %f", creal(value), cimag(value));
        return (uint64_t)creal(value);
    }
    return type->size == 8   ? *(const uint64_t *)at
           : type->size == 4 ? *(const uint32_t *)at
           : type->size == 2 ? *(const uint16_t *)at
                             : *(const uint8_t *)at;
}

/* One origin (a thread, or a rank): what it adds, and to which cells of which targets. */
struct origin {
    MPI_Win window;
    const struct numbers *type;
    uint64_t seed;
    int64_t *added; /* by target and cell */
    char ones[CELLS * 16], found[CELLS * 16];
    uint64_t seen;
};

static uint64_t draw(struct origin *origin) {
    origin->seed ^= origin->seed << 13;
    origin->seed ^= origin->seed >> 7;
    origin->seed ^= origin->seed << 17;
    return origin->seed;
}

static struct origin *new_origin(MPI_Win window, const struct numbers *type, int number) {
    struct origin *origin = calloc(1, sizeof *origin);
    origin->window = window;
    origin->type = type;
    origin->seed = 88172645463325252u + 7919u * (uint64_t)number;
    origin->added = calloc((size_t)ranks * CELLS, sizeof *origin->added);
    for (int i = 0; i < CELLS; i++)
        write_number(type, origin->ones + type->size * (size_t)i, 1);
    return origin;
}

static void note(struct origin *origin, int target, int cell, int count) {
    for (int i = 0; i < count; i++)
        origin->added[target * CELLS + cell + i]++;
}

/* One call of the storm at a target. */
static void one_call(struct origin *origin, int target) {
    MPI_Datatype type = origin->type->datatype;
    MPI_Win window = origin->window;
    /* A cell that all calls meet at, now and then another. */
    int cell = draw(origin) % 4 ? 3 : (int)(draw(origin) % (CELLS - BULK));
    switch (draw(origin) % 8) {
    case 0:
        OK(MPI_Accumulate(origin->ones, 1, type, target, cell, 1, type, MPI_SUM, window));
        note(origin, target, cell, 1);
        break;
    case 1:
        OK(MPI_Accumulate(origin->ones, BULK, type, target, cell, BULK, type, MPI_SUM, window));
        note(origin, target, cell, BULK);
        break;
    case 2:
        OK(MPI_Get_accumulate(origin->ones, 3, type, origin->found, 3, type, target, cell, 3, type, MPI_SUM, window));
        note(origin, target, cell, 3);
        break;
    case 3:
        OK(MPI_Get_accumulate(origin->ones, BULK, type, origin->found, BULK, type, target, cell, BULK, type, MPI_SUM, window));
        note(origin, target, cell, BULK);
        break;
    case 4: {
        MPI_Request request;
        OK(MPI_Raccumulate(origin->ones, 40, type, target, cell, 40, type, MPI_SUM, window, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        note(origin, target, cell, 40);
        break;
    }
    default:
        OK(MPI_Fetch_and_op(origin->ones, origin->found, type, target, cell, MPI_SUM, window));
        note(origin, target, cell, 1);
    }
}

/* Only where MPI_Win_flush is allowed: one more by compare-and-swap, as a program without MPI_SUM would do it. */
static void swap_until_done(struct origin *origin, int target) {
    const struct numbers *type = origin->type;
    char old[16] = {0}, new[16] = {0}, found[16] = {0};
    OK(MPI_Fetch_and_op(NULL, old, type->datatype, target, 3, MPI_NO_OP, origin->window));
    OK(MPI_Win_flush(target, origin->window));
    for (;;) {
        write_number(type, new, read_number(type, old) + 1);
        OK(MPI_Compare_and_swap(new, old, found, type->datatype, target, 3, origin->window));
        OK(MPI_Win_flush(target, origin->window));
        if (memcmp(found, old, type->size) == 0)
            break;
        memcpy(old, found, type->size);
    }
    note(origin, target, 3, 1);
}

/* A cell that only grows is never seen to shrink. */
static void look(struct origin *origin, int target) {
    char found[16] = {0};
    OK(MPI_Fetch_and_op(NULL, found, origin->type->datatype, target, 3, MPI_NO_OP, origin->window));
    OK(MPI_Win_flush(target, origin->window));
    uint64_t now = read_number(origin->type, found);
    CHECK(!origin->type->is_ordered || now >= origin->seen, "%llu after %llu", (unsigned long long)now, (unsigned long long)origin->seen);
    origin->seen = now;
}

static void storm_of(struct origin *origin, enum mode mode, int count) {
    for (int i = 0; i < count; i++) {
        int target = (int)(draw(origin) % (uint64_t)ranks);
        if (mode == EXCLUSIVE || mode == SHARED_LOCK)
            OK(MPI_Win_lock(mode == EXCLUSIVE ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, origin->window));
        for (int j = 0; j < 4; j++) {
            one_call(origin, target);
            if (mode != FENCE && origin->type->may_swap && draw(origin) % 2)
                swap_until_done(origin, target);
        }
        if (mode == EXCLUSIVE || mode == SHARED_LOCK)
            OK(MPI_Win_unlock(target, origin->window));
        if (mode == LOCK_ALL)
            look(origin, 0);
        if (mode == FENCE && i % 8 == 7)
            OK(MPI_Win_fence(0, origin->window));
    }
}

/* All that was added anywhere is there: `of_all` origins of this rank have each noted their part. */
static void check_sums(const struct made *made, const struct numbers *type, struct origin **origins, int of_all) {
    int64_t *mine = calloc((size_t)ranks * CELLS, sizeof *mine), *all = calloc((size_t)ranks * CELLS, sizeof *all);
    for (int i = 0; i < of_all; i++)
        for (int j = 0; j < ranks * CELLS; j++)
            mine[j] += origins[i]->added[j];
    OK(MPI_Allreduce(mine, all, ranks * CELLS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, made->window));
    for (int i = 0; i < CELLS; i++) {
        uint64_t found = read_number(type, made->base + type->size * (size_t)i), due = (uint64_t)all[rank * CELLS + i];
        if (type->modulo)
            due %= type->modulo;
        CHECK(found == due, "cell %d of %s: %llu, not %llu", i, type->name, (unsigned long long)found, (unsigned long long)due);
    }
    OK(MPI_Win_unlock(rank, made->window));
    free(mine);
    free(all);
    barrier();
}

static struct made make_cells(const struct numbers *type) {
    struct made made = make(chosen, (MPI_Aint)(CELLS * type->size), (int)type->size);
    barrier();
    return made;
}

static void storm(enum mode mode, const char *name, int count) {
    const struct numbers *type = numbers_by_name(name);
    struct made made = make_cells(type);
    struct origin *origin = new_origin(made.window, type, rank);
    if (mode == LOCK_ALL)
        OK(MPI_Win_lock_all(0, made.window));
    if (mode == FENCE)
        OK(MPI_Win_fence(0, made.window));
    storm_of(origin, mode, count);
    if (mode == LOCK_ALL)
        OK(MPI_Win_unlock_all(made.window));
    if (mode == FENCE)
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, made.window));
    barrier();
    check_sums(&made, type, &origin, 1);
    free(origin->added);
    free(origin);
    unmake(&made);
}

static const char *wanted_mode;

static void storms(void) {
    static const char *const types[] = {"int64", "int32", "uint16", "uint8", "double", "complex", "long_double"};
    int usual = is_private(chosen) ? 480 : 1600;
    for (int mode = 0; mode < MODES; mode++)
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
            if (strcmp(wanted_mode, mode_names[mode]) == 0)
                storm((enum mode)mode, types[i], fewer_for_hosts(rounds(usual)) / ranks / 8 * 8);
}

/* --- Threads --- */

enum { THREADS = 4 };

struct job {
    struct origin *origin;
    enum mode mode;
    int count;
};

static void *run_job(void *argument) {
    struct job *job = argument;
    storm_of(job->origin, job->mode, job->count);
    return NULL;
}

static void storm_in_threads(struct made *made, const struct numbers *type, int windows) {
    struct origin *origins[THREADS];
    struct job jobs[THREADS];
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++) {
        origins[i] = new_origin(made[i % windows].window, type, rank * THREADS + i);
        jobs[i] = (struct job){origins[i], MODES, rounds(60)};
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&ids[i], NULL, run_job, &jobs[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < windows; i++)
        OK(MPI_Win_unlock_all(made[i].window));
    barrier();
    for (int i = 0; i < windows; i++) {
        struct origin *of_window[THREADS];
        int count = 0;
        for (int j = i; j < THREADS; j += windows)
            of_window[count++] = origins[j];
        check_sums(&made[i], type, of_window, count);
    }
    for (int i = 0; i < THREADS; i++) {
        free(origins[i]->added);
        free(origins[i]);
    }
}

static void threads_on_one_window(void) {
    static const char *const types[] = {"int64", "uint8", "complex"};
    for (int i = 0; i < 3; i++) {
        const struct numbers *type = numbers_by_name(types[i]);
        struct made made = make_cells(type);
        OK(MPI_Win_lock_all(0, made.window));
        storm_in_threads(&made, type, 1);
        unmake(&made);
    }
}

static void threads_on_several_windows(void) {
    const struct numbers *type = numbers_by_name("int32");
    struct made made[2] = {make_cells(type), make_cells(type)};
    for (int i = 0; i < 2; i++)
        OK(MPI_Win_lock_all(0, made[i].window));
    storm_in_threads(made, type, 2);
    for (int i = 0; i < 2; i++)
        unmake(&made[i]);
}

struct adder {
    struct origin *origin;
    int target;
};

static void *add(void *argument) {
    struct adder *adder = argument;
    for (int i = 0; i < rounds(100); i++)
        one_call(adder->origin, adder->target);
    return NULL;
}

/* An exclusive lock excludes other ranks, not the other threads of its own. */
static void threads_in_one_exclusive_epoch(void) {
    static const char *const types[] = {"int64", "uint8", "complex"};
    for (int i = 0; i < 3; i++) {
        const struct numbers *type = numbers_by_name(types[i]);
        struct made made = make_cells(type);
        struct origin *origins[2] = {new_origin(made.window, type, 2 * rank), new_origin(made.window, type, 2 * rank + 1)};
        for (int target = 0; target < ranks; target++) {
            struct adder adders[2] = {{origins[0], target}, {origins[1], target}};
            pthread_t ids[2];
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, made.window));
            for (int j = 0; j < 2; j++)
                CHECK(pthread_create(&ids[j], NULL, add, &adders[j]) == 0, "no thread");
            for (int j = 0; j < 2; j++)
                pthread_join(ids[j], NULL);
            OK(MPI_Win_unlock(target, made.window));
        }
        barrier();
        check_sums(&made, type, origins, 2);
        for (int j = 0; j < 2; j++) {
            free(origins[j]->added);
            free(origins[j]);
        }
        unmake(&made);
    }
}

/* --- What is seen meanwhile --- */

/* Case 46: some replace a cell by one pattern or the other, alone or among many; others see whole patterns only. */
static void no_op_reads_whole_patterns(void) {
    enum { PATTERNS = 2, MANY = 200 };
    struct made made = make(chosen, MANY * 16, 16);
    double complex patterns[PATTERNS][MANY], found[MANY];
    uint64_t words[PATTERNS][MANY], seen[MANY];
    for (int p = 0; p < PATTERNS; p++)
        for (int i = 0; i < MANY; i++) {
            patterns[p][i] = (p + 1) * 1.5 - (p + 1) * 1.5 * I;
            words[p][i] = p ? UINT64_MAX : 0;
        }
    barrier();
    OK(MPI_Win_lock_all(0, made.window));
    for (int i = 0; i < rounds(1500); i++) {
        int p = (i + rank) % 2, count = i % 3 ? 1 : MANY;
        if (rank % 2) {
            OK(MPI_Accumulate(words[p], count, MPI_UINT64_T, 0, 0, count, MPI_UINT64_T, MPI_REPLACE, made.window));
            continue;
        }
        OK(MPI_Get_accumulate(NULL, 0, MPI_BYTE, seen, count, MPI_UINT64_T, 0, 0, count, MPI_UINT64_T, MPI_NO_OP, made.window));
        OK(MPI_Win_flush(0, made.window));
        for (int j = 0; j < count; j++)
            CHECK(seen[j] == 0 || seen[j] == UINT64_MAX, "round %d: %llx", i, (unsigned long long)seen[j]);
    }
    OK(MPI_Win_unlock_all(made.window));
    barrier();
    memset(made.base, 0, (size_t)made.size);
    barrier();
    OK(MPI_Win_lock_all(0, made.window));
    for (int i = 0; i < rounds(1500); i++) {
        int p = (i + rank) % 2, count = i % 3 ? 1 : MANY;
        MPI_Datatype type = MPI_C_DOUBLE_COMPLEX;
        if (rank % 2) {
            OK(MPI_Accumulate(patterns[p], count, type, 0, 0, count, type, MPI_REPLACE, made.window));
            continue;
        }
        OK(MPI_Get_accumulate(NULL, 0, MPI_BYTE, found, count, type, 0, 0, count, type, MPI_NO_OP, made.window));
        OK(MPI_Win_flush(0, made.window));
        for (int j = 0; j < count; j++)
            CHECK(creal(found[j]) == -cimag(found[j]), "round %d: %f %f", i, creal(found[j]), cimag(found[j]));
    }
    OK(MPI_Win_unlock_all(made.window));
    unmake(&made);
}

static int test_and_set(MPI_Win window, int form) {
    int one = 1, before = -1;
    MPI_Request request;
    switch (form % 3) {
    case 0:
        OK(MPI_Get_accumulate(&one, 1, MPI_INT, &before, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window));
        break;
    case 1:
        OK(MPI_Rget_accumulate(&one, 1, MPI_INT, &before, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
    default:
        OK(MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_REPLACE, window));
    }
    OK(MPI_Win_flush(0, window));
    return before;
}

/* Case 47: a lock made of each form, and of all mixed, guards a number that is got and put. */
static void spinlock(void) {
    for (int mixed = 0; mixed < 4; mixed++) {
        struct made made = make(chosen, 256, 4);
        int zero = 0, value;
        barrier();
        OK(MPI_Win_lock_all(0, made.window));
        for (int i = 0; i < rounds(60); i++) {
            for (int tries = 0; test_and_set(made.window, mixed == 3 ? rank + i + tries : mixed) != 0; tries++)
                if (tries % 8 == 7)
                    usleep(50);
            OK(MPI_Get(&value, 1, MPI_INT, 0, 16, 1, MPI_INT, made.window));
            OK(MPI_Win_flush(0, made.window));
            value++;
            OK(MPI_Put(&value, 1, MPI_INT, 0, 16, 1, MPI_INT, made.window));
            OK(MPI_Win_flush(0, made.window));
            OK(MPI_Accumulate(&zero, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, made.window));
            OK(MPI_Win_flush(0, made.window));
        }
        OK(MPI_Win_unlock_all(made.window));
        barrier();
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, made.window));
        OK(MPI_Get(&value, 1, MPI_INT, 0, 16, 1, MPI_INT, made.window));
        OK(MPI_Win_unlock(0, made.window));
        CHECK(value == ranks * rounds(60), "form %d: %d", mixed, value);
        unmake(&made);
    }
}

/* Accumulates of one origin at one place come in the order of their calls, whatever their sizes, without a flush between them. */
static void order_of_one_origin(void) {
    enum { MANY = 300 };
    struct made made = make(chosen, MANY * 8, 8);
    long sent[MANY], found[MANY];
    int target = (rank + 1) % ranks;
    barrier();
    OK(MPI_Win_lock_all(0, made.window));
    for (long i = 1; i <= rounds(400); i++) {
        int first = i % 2 ? 1 : MANY, second = i % 3 ? MANY : 1, both = first < second ? first : second;
        long next = -i;
        for (int j = 0; j < MANY; j++)
            sent[j] = i, found[j] = -1;
        OK(MPI_Accumulate(sent, first, MPI_LONG, target, 0, first, MPI_LONG, MPI_REPLACE, made.window));
        OK(MPI_Get_accumulate(sent, second, MPI_LONG, found, second, MPI_LONG, target, 0, second, MPI_LONG, MPI_SUM, made.window));
        OK(MPI_Fetch_and_op(&next, &next, MPI_LONG, target, 0, MPI_NO_OP, made.window));
        OK(MPI_Win_flush(target, made.window));
        for (int j = 0; j < both; j++)
            CHECK(found[j] == i, "round %ld, element %d: %ld", i, j, found[j]);
        CHECK(next == 2 * i, "round %ld: %ld", i, next);
    }
    OK(MPI_Win_unlock_all(made.window));
    unmake(&made);
}

/* Case 66: the window is freed as soon as the epoch has ended; what was added is there. */
static void freed_at_once(void) {
    for (int i = 0; i < rounds(200); i++) {
        long ones[200];
        struct made made = make(chosen, sizeof ones, 8);
        for (int j = 0; j < 200; j++)
            ones[j] = 1;
        barrier();
        OK(MPI_Win_lock_all(0, made.window));
        for (int target = 0; target < ranks; target++)
            OK(MPI_Accumulate(ones, i % 2 ? 200 : 1, MPI_LONG, target, 0, i % 2 ? 200 : 1, MPI_LONG, MPI_SUM, made.window));
        OK(MPI_Win_unlock_all(made.window));
        OK(MPI_Win_free(&made.window));
        CHECK(made.memory < ALLOC_MEM || *(long *)made.base == ranks, "round %d: %ld", i, *(long *)made.base);
        if (made.memory == ALLOC_MEM)
            OK(MPI_Free_mem(made.base));
        if (made.memory == MALLOC)
            free(made.base);
    }
}

int main(int argc, char **argv) {
    static const struct scenario list[] = {SCENARIO(storms),
                                           SCENARIO(threads_on_one_window),
                                           SCENARIO(threads_on_several_windows),
                                           SCENARIO(threads_in_one_exclusive_epoch),
                                           SCENARIO(no_op_reads_whole_patterns),
                                           SCENARIO(spinlock),
                                           SCENARIO(order_of_one_origin),
                                           SCENARIO(freed_at_once)};
    WITH_STACK;
    int threaded = argc > 1 && strstr(argv[1], "thread") != NULL;
    start_threaded(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    chosen = memory_by_name(argc > 2 ? argv[2] : NULL);
    wanted_mode = argc > 3 ? argv[3] : "lock_all";
    choose(list, sizeof list / sizeof list[0], argv[1]);
    OK(MPI_Finalize());
    return 0;
}
