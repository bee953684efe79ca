/* What a window says of itself: predefined attributes, group, base addresses, Fortran handles. */
#include "flavours.h"

enum { BYTES = 4096 };

static void *attribute(MPI_Win window, int key) {
    void *value = NULL;
    int flag = 0;
    OK(MPI_Win_get_attr(window, key, &value, &flag));
    CHECK(flag, "predefined attribute %d is not set", key);
    return value;
}

static void check_attributes(const struct window *window) {
    CHECK(attribute(window->handle, MPI_WIN_BASE) == window->base, "%p", attribute(window->handle, MPI_WIN_BASE));
    CHECK(*(MPI_Aint *)attribute(window->handle, MPI_WIN_SIZE) == window->size, "of flavour %d", window->flavour);
    CHECK(*(int *)attribute(window->handle, MPI_WIN_DISP_UNIT) == window->unit, "of flavour %d", window->flavour);
    CHECK(*(int *)attribute(window->handle, MPI_WIN_CREATE_FLAVOR) == window->flavour, "of flavour %d", window->flavour);
    CHECK(*(int *)attribute(window->handle, MPI_WIN_MODEL) == MPI_WIN_UNIFIED, "of flavour %d", window->flavour);
}

/* Values stay readable through the pointers that were handed out, many calls later. */
static void predefined(void) {
    struct window windows[] = {allocated(BYTES + 8 * rank, 8, MPI_COMM_WORLD), shared(BYTES + 16 * rank, 1 + rank, MPI_COMM_WORLD),
                               created(BYTES + 24 * rank, 3, MPI_COMM_WORLD)};
    void *kept[3][2];
    for (int i = 0; i < 3; i++) {
        check_attributes(&windows[i]);
        kept[i][0] = attribute(windows[i].handle, MPI_WIN_SIZE);
        kept[i][1] = attribute(windows[i].handle, MPI_WIN_MODEL);
    }
    for (int round = 0; round < 200; round++) {
        struct window other = round % 2 ? allocated(64, 1, MPI_COMM_WORLD) : shared(128, 2, MPI_COMM_WORLD);
        int value = round;
        OK(MPI_Win_fence(0, other.handle));
        OK(MPI_Put(&value, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, other.handle));
        OK(MPI_Win_fence(0, other.handle));
        check_attributes(&other);
        end(&other);
    }
    for (int i = 0; i < 3; i++) {
        check_attributes(&windows[i]);
        CHECK(*(MPI_Aint *)kept[i][0] == windows[i].size && *(int *)kept[i][1] == MPI_WIN_UNIFIED, "window %d", i);
        end(&windows[i]);
    }
}

/* Ranks agree on where the memory is: the returned base, the attribute, the shared query and what others put. */
static void base_agrees(void) {
    struct window windows[] = {allocated(BYTES, 8, MPI_COMM_WORLD), shared(BYTES, 8, MPI_COMM_WORLD), created(BYTES, 8, MPI_COMM_WORLD)};
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    for (int i = 0; i < 3; i++) {
        MPI_Win window = windows[i].handle;
        long long sent = 100 * i + rank, expected = 100 * i + left;
        OK(MPI_Win_fence(0, window));
        OK(MPI_Put(&sent, 1, MPI_LONG_LONG, right, 17, 1, MPI_LONG_LONG, window));
        OK(MPI_Win_fence(0, window));
        long long *base = windows[i].base, *by_attribute = attribute(window, MPI_WIN_BASE);
        CHECK(base[17] == expected && by_attribute[17] == expected, "flavour %d: %lld", windows[i].flavour, base[17]);
        /* A host may refuse the query of other flavours than shared. */
        if (windows[i].flavour == MPI_WIN_FLAVOR_SHARED || behind_transom()) {
            MPI_Aint size;
            int unit;
            long long *own, *of_right;
            OK(MPI_Win_shared_query(window, rank, &size, &unit, &own));
            CHECK(own == base && size == BYTES && unit == 8, "flavour %d: size %ld, unit %d", windows[i].flavour, (long)size, unit);
            OK(MPI_Win_shared_query(window, right, &size, &unit, &of_right));
            CHECK(of_right[17] == sent, "flavour %d: %lld is seen in the neighbour's memory", windows[i].flavour, of_right[17]);
        }
        OK(MPI_Win_fence(0, window));
        end(&windows[i]);
    }
}

/* Of a window on a communicator whose ranks are in reverse order. */
static void group(void) {
    MPI_Comm reversed;
    MPI_Group of_window, of_comm;
    int result;
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed));
    struct window windows[] = {allocated(8, 1, reversed), shared(8, 1, reversed), created(8, 1, reversed)};
    OK(MPI_Comm_group(reversed, &of_comm));
    for (int i = 0; i < 3; i++) {
        OK(MPI_Win_get_group(windows[i].handle, &of_window));
        OK(MPI_Group_compare(of_window, of_comm, &result));
        CHECK(result == MPI_IDENT, "comparison gives %d", result);
        OK(MPI_Group_free(&of_window));
    }
    /* The window's group outlives the communicator, and the caller's copy the window. */
    OK(MPI_Comm_free(&reversed));
    OK(MPI_Win_get_group(windows[0].handle, &of_window));
    for (int i = 0; i < 3; i++)
        end(&windows[i]);
    OK(MPI_Group_compare(of_window, of_comm, &result));
    CHECK(result == MPI_IDENT, "comparison gives %d", result);
    OK(MPI_Group_free(&of_window));
    OK(MPI_Group_free(&of_comm));
}

static void fortran_handles(void) {
    struct window windows[] = {allocated(8, 1, MPI_COMM_WORLD), shared(8, 1, MPI_COMM_WORLD), created(8, 1, MPI_COMM_WORLD)};
    MPI_Fint handles[3];
    for (int i = 0; i < 3; i++) {
        handles[i] = MPI_Win_c2f(windows[i].handle);
        CHECK(MPI_Win_f2c(handles[i]) == windows[i].handle, "window %d does not come back from %d", i, handles[i]);
        CHECK(handles[i] != MPI_Win_c2f(MPI_WIN_NULL), "window %d is MPI_WIN_NULL in Fortran", i);
        for (int other = 0; other < i; other++)
            CHECK(handles[i] != handles[other], "windows %d and %d are %d", i, other, handles[i]);
        /* Programs have sent the number to other ranks and expected it to mean the same window there: it does for windows that all
         * ranks make in the same order. */
        int highest;
        OK(MPI_Allreduce(&handles[i], &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        CHECK(highest == handles[i] || !behind_transom(), "window %d is %d here and %d elsewhere", i, handles[i], highest);
    }
    CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL, "MPI_WIN_NULL");
    for (int i = 0; i < 3; i++)
        end(&windows[i]);
}

/* Odd sizes do not make odd addresses. */
static void aligned(void) {
    const MPI_Aint sizes[] = {1, 3, 7, 9, 15, 17, 33, 63, 65, 100, 4097, 100001};
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        MPI_Aint size = sizes[i] + 2 * rank;
        void *bases[3];
        MPI_Win windows[2];
        OK(MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &bases[0], &windows[0]));
        OK(MPI_Win_allocate_shared(size, 1, info, MPI_COMM_WORLD, &bases[1], &windows[1]));
        OK(MPI_Alloc_mem(size, MPI_INFO_NULL, &bases[2]));
        for (int of = 0; of < 3; of++) {
            CHECK((uintptr_t)bases[of] % 16 == 0, "size %ld, kind %d: %p", (long)size, of, bases[of]);
            memset(bases[of], 0x5a, (size_t)size);
        }
        OK(MPI_Free_mem(bases[2]));
        OK(MPI_Win_free(&windows[1]));
        OK(MPI_Win_free(&windows[0]));
    }
    OK(MPI_Info_free(&info));
}

MAIN(SCENARIO(predefined), SCENARIO(base_agrees), SCENARIO(group), SCENARIO(fortran_handles), SCENARIO(aligned))
