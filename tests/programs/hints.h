/* Windows made with info, what they report of it, and whether they work. */
#ifndef HINTS_H
#define HINTS_H
#include "check.h"

enum { BYTES = 4096 };

/* The value of a key, NULL where there is none. */
static const char *value_of(MPI_Info info, const char *key) {
    static char value[MPI_MAX_INFO_VAL + 1];
    int flag;
    OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    return flag ? value : NULL;
}

static const char *in_use(MPI_Win window, const char *key) {
    MPI_Info info = MPI_INFO_NULL;
    OK(MPI_Win_get_info(window, &info));
    const char *value = value_of(info, key);
    OK(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL, "a freed info stays");
    return value;
}

static MPI_Info info_with(const char *key, const char *value) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    if (key != NULL)
        OK(MPI_Info_set(info, key, value));
    return info;
}

enum flavour { ALLOCATED, SHARED, CREATED, FLAVOURS };
static void *own;

static MPI_Win made(enum flavour flavour, MPI_Info info, MPI_Aint size, int unit) {
    MPI_Win window;
    switch (flavour) {
    case ALLOCATED:
        OK(MPI_Win_allocate(size, unit, info, MPI_COMM_WORLD, &own, &window));
        break;
    case SHARED:
        OK(MPI_Win_allocate_shared(size, unit, info, MPI_COMM_WORLD, &own, &window));
        break;
    default:
        OK(MPI_Alloc_mem(size, MPI_INFO_NULL, &own));
        OK(MPI_Win_create(own, size, unit, info, MPI_COMM_WORLD, &window));
    }
    return window;
}

static void end(enum flavour flavour, MPI_Win *window) {
    OK(MPI_Win_free(window));
    if (flavour == CREATED)
        OK(MPI_Free_mem(own));
}

/* Puts in locks and in fences find their place, whatever the hints say. */
static void check_works(MPI_Win window) {
    long sent = 1000 + rank, back = -1;
    int right = (rank + 1) % ranks;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window));
    OK(MPI_Put(&sent, 1, MPI_LONG, right, 0, 1, MPI_LONG, window));
    OK(MPI_Win_flush(right, window));
    OK(MPI_Get(&back, 1, MPI_LONG, right, 0, 1, MPI_LONG, window));
    OK(MPI_Win_unlock(right, window));
    CHECK(back == sent, "%ld", back);
    OK(MPI_Win_lock_all(0, window));
    back = -1;
    OK(MPI_Get(&back, 1, MPI_LONG, right, 0, 1, MPI_LONG, window));
    OK(MPI_Win_unlock_all(window));
    CHECK(back == sent, "%ld", back);
    OK(MPI_Win_fence(0, window));
    sent += 1000;
    OK(MPI_Put(&sent, 1, MPI_LONG, right, 0, 1, MPI_LONG, window));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    CHECK(*(long *)own == 2000 + (rank + ranks - 1) % ranks, "%ld", *(long *)own);
    barrier();
}

#endif
