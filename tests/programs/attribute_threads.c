/* Attributes and names from several threads at once. */
#include "flavours.h"
#include "keyvals.h"
#include <pthread.h>
#include <sched.h>

enum { THREADS = 4, ROUNDS = 3000, BYTES = 1024 };

static MPI_Win window;
static int common;

struct part {
    int number, keyval, callbacks;
    pthread_t thread;
};

static int counts(MPI_Win handle, int keyval, void *value, void *extra) {
    struct part *part = extra;
    CHECK(handle == window && keyval == part->keyval, "keyval %d", keyval);
    CHECK((intptr_t)value % THREADS == part->number, "the value of another thread: %p", value);
    part->callbacks++;
    return MPI_SUCCESS;
}

/* Sets and deletes one attribute, and reads one that stays. */
static void *on_one_window(void *argument) {
    struct part *part = argument;
    for (intptr_t round = 0; round < ROUNDS; round++) {
        void *value = (void *)(round * THREADS + part->number);
        OK(MPI_Win_set_attr(window, part->keyval, value));
        CHECK(attribute(window, part->keyval) == value, "%p", value);
        CHECK(attribute(window, common) == &common, "%p", attribute(window, common));
        CHECK(*(MPI_Aint *)attribute(window, MPI_WIN_SIZE) == BYTES, "%ld", (long)*(MPI_Aint *)attribute(window, MPI_WIN_SIZE));
        if (round % 3 == 0) {
            OK(MPI_Win_delete_attr(window, part->keyval));
            CHECK(!has_attribute(window, part->keyval), "round %d", (int)round);
        }
    }
    return NULL;
}

/* Makes and frees keyvals, with an attribute each. */
static void *with_own_keyvals(void *argument) {
    struct part *part = argument;
    for (intptr_t round = 0; round < ROUNDS; round++) {
        void *value = (void *)(round * THREADS + part->number);
        part->keyval = keyval_with(counts, part);
        int kept = part->keyval;
        OK(MPI_Win_set_attr(window, kept, value));
        int freed = kept;
        OK(MPI_Win_free_keyval(&freed));
        CHECK(attribute(window, kept) == value, "%p", value);
        OK(MPI_Win_delete_attr(window, kept));
    }
    return NULL;
}

static int set_here, deleted_here;

static int counts_values(MPI_Win handle, int keyval, void *value, void *extra) {
    (void)keyval, (void)extra;
    int *times = value;
    CHECK(handle == window, "another window");
    /* Lets the others in while the value is on its way out. */
    sched_yield();
    int before = __atomic_fetch_add(times, 1, __ATOMIC_RELAXED);
    CHECK(before == 0, "a value is deleted again");
    __atomic_fetch_add(&deleted_here, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

/* All threads set and delete the same attribute. */
static void *on_one_attribute(void *argument) {
    struct part *part = argument;
    int *times = calloc(ROUNDS, sizeof *times);
    CHECK(times != NULL, "no memory");
    for (int round = 0; round < ROUNDS; round++) {
        OK(MPI_Win_set_attr(window, common, &times[round]));
        __atomic_fetch_add(&set_here, 1, __ATOMIC_RELAXED);
        if (round % 4 == part->number)
            OK(MPI_Win_delete_attr(window, common));
    }
    return NULL;
}

static void run(void *(*function)(void *), struct part *parts) {
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&parts[i].thread, NULL, function, &parts[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(parts[i].thread, NULL);
}

static void attributes_of_one_window(void) {
    struct part parts[THREADS] = {0};
    struct window made = allocated(BYTES, 1, MPI_COMM_WORLD);
    window = made.handle;
    common = keyval_with(MPI_WIN_NULL_DELETE_FN, NULL);
    OK(MPI_Win_set_attr(window, common, &common));
    for (int i = 0; i < THREADS; i++)
        parts[i] = (struct part){.number = i, .keyval = keyval_with(counts, &parts[i])};
    run(on_one_window, parts);
    end(&made);
    for (int i = 0; i < THREADS; i++) {
        CHECK(parts[i].callbacks == ROUNDS, "thread %d: %d callbacks", i, parts[i].callbacks);
        OK(MPI_Win_free_keyval(&parts[i].keyval));
    }
    OK(MPI_Win_free_keyval(&common));
}

static void keyvals_come_and_go(void) {
    struct part parts[THREADS] = {0};
    struct window made = shared(BYTES, 1, MPI_COMM_WORLD);
    window = made.handle;
    for (int i = 0; i < THREADS; i++)
        parts[i].number = i;
    run(with_own_keyvals, parts);
    end(&made);
    for (int i = 0; i < THREADS; i++)
        CHECK(parts[i].callbacks == ROUNDS, "thread %d: %d callbacks", i, parts[i].callbacks);
}

/* As if one call came after the other: each value goes once. */
static void the_same_attribute(void) {
    struct part parts[THREADS] = {0};
    struct window made = allocated(BYTES, 1, MPI_COMM_WORLD);
    window = made.handle;
    common = keyval_with(counts_values, NULL);
    for (int i = 0; i < THREADS; i++)
        parts[i].number = i;
    run(on_one_attribute, parts);
    end(&made);
    CHECK(set_here == THREADS * ROUNDS && deleted_here == set_here, "%d values were set, and %d deleted", set_here, deleted_here);
    OK(MPI_Win_free_keyval(&common));
}

MAIN_THREADED(MPI_THREAD_MULTIPLE, SCENARIO(attributes_of_one_window), SCENARIO(the_same_attribute), SCENARIO(keyvals_come_and_go))
