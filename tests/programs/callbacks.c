/* What delete callbacks of attributes may do: call MPI, on their own window and on others, and fail. */
#include "flavours.h"
#include "keyvals.h"

enum { BYTES = 1024 };

static struct window current;
static int runs;

/* Everything that can be asked of a window has its answer still. */
static int asks(MPI_Win handle, int keyval, void *value, void *extra) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length, size;
    MPI_Group group;
    MPI_Errhandler handler;
    (void)keyval;
    CHECK(handle == current.handle && value == extra, "another window, or %p", value);
    CHECK(attribute(handle, MPI_WIN_BASE) == current.base, "%p", attribute(handle, MPI_WIN_BASE));
    CHECK(*(MPI_Aint *)attribute(handle, MPI_WIN_SIZE) == BYTES, "%ld", (long)*(MPI_Aint *)attribute(handle, MPI_WIN_SIZE));
    CHECK(*(int *)attribute(handle, MPI_WIN_DISP_UNIT) == 8, "%d", *(int *)attribute(handle, MPI_WIN_DISP_UNIT));
    CHECK(*(int *)attribute(handle, MPI_WIN_CREATE_FLAVOR) == current.flavour, "flavour %d", current.flavour);
    OK(MPI_Win_get_name(handle, name, &length));
    CHECK(strcmp(name, "asked") == 0 && length == 5, "%s, %d", name, length);
    OK(MPI_Win_get_group(handle, &group));
    OK(MPI_Group_size(group, &size));
    CHECK(size == ranks, "%d ranks", size);
    OK(MPI_Group_free(&group));
    OK(MPI_Win_get_errhandler(handle, &handler));
    CHECK(handler == MPI_ERRORS_RETURN, "another handler");
    OK(MPI_Errhandler_free(&handler));
    runs++;
    return MPI_SUCCESS;
}

/* Its own memory is there, what others have put included, and can be written. */
static int reads_memory(MPI_Win handle, int keyval, void *value, void *extra) {
    long *cells = attribute(handle, MPI_WIN_BASE);
    (void)keyval, (void)value, (void)extra;
    CHECK(cells == current.base, "%p", (void *)cells);
    CHECK(cells[5] == 100 + (rank + ranks - 1) % ranks, "%ld", cells[5]);
    memset(cells, 0x5a, BYTES);
    runs++;
    return MPI_SUCCESS;
}

static void make_current(int flavour) {
    current = flavours[flavour](BYTES, 8, MPI_COMM_WORLD);
    window_returns_errors(current.handle);
    OK(MPI_Win_set_name(current.handle, "asked"));
    runs = 0;
}

static void ask_at_deletion(void) {
    int keyval = keyval_with(asks, &runs);
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        OK(MPI_Win_set_attr(current.handle, keyval, &runs));
        OK(MPI_Win_set_attr(current.handle, keyval, &runs));
        OK(MPI_Win_delete_attr(current.handle, keyval));
        CHECK(runs == 2, "%d callbacks", runs);
        end(&current);
    }
    OK(MPI_Win_free_keyval(&keyval));
}

static void ask_at_free(void) {
    int keyval = keyval_with(asks, &runs);
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        OK(MPI_Win_set_attr(current.handle, keyval, &runs));
        MPI_Win handle = current.handle;
        OK(MPI_Win_free(&handle));
        CHECK(runs == 1 && handle == MPI_WIN_NULL, "%d callbacks", runs);
        if (current.flavour == MPI_WIN_FLAVOR_CREATE)
            OK(MPI_Free_mem(current.base));
    }
    OK(MPI_Win_free_keyval(&keyval));
}

static void memory_at_free(void) {
    int keyval = keyval_with(reads_memory, NULL);
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        OK(MPI_Win_set_attr(current.handle, keyval, NULL));
        long sent = 100 + rank;
        OK(MPI_Win_fence(0, current.handle));
        OK(MPI_Put(&sent, 1, MPI_LONG, (rank + 1) % ranks, 5, 1, MPI_LONG, current.handle));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, current.handle));
        end(&current);
        CHECK(runs == 1, "%d callbacks", runs);
    }
    OK(MPI_Win_free_keyval(&keyval));
}

static int other_keyval;

/* Sets, reads and deletes an attribute of another keyval on the window that it is called for. */
static int uses_another(MPI_Win handle, int keyval, void *value, void *extra) {
    (void)extra;
    CHECK(other_keyval != keyval && handle == current.handle, "another window");
    CHECK(!has_attribute(handle, other_keyval), "it is there already");
    OK(MPI_Win_set_attr(handle, other_keyval, value));
    CHECK(attribute(handle, other_keyval) == value, "%p", attribute(handle, other_keyval));
    OK(MPI_Win_delete_attr(handle, other_keyval));
    CHECK(!has_attribute(handle, other_keyval), "it is still there");
    runs++;
    return MPI_SUCCESS;
}

static void another_attribute(void) {
    int keyval = keyval_with(uses_another, NULL);
    other_keyval = keyval_with(recorded, NULL);
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        called = 0;
        OK(MPI_Win_set_attr(current.handle, keyval, number(1)));
        OK(MPI_Win_set_attr(current.handle, keyval, number(2)));
        CHECK(runs == 1 && called == 1, "%d and %d callbacks", runs, called);
        CALLED(0, current.handle, other_keyval, number(1), NULL);
        OK(MPI_Win_delete_attr(current.handle, keyval));
        CHECK(runs == 2 && called == 2, "%d and %d callbacks", runs, called);
        CALLED(1, current.handle, other_keyval, number(2), NULL);
        end(&current);
    }
    OK(MPI_Win_free_keyval(&keyval));
    OK(MPI_Win_free_keyval(&other_keyval));
}

static int sets_another(MPI_Win handle, int keyval, void *value, void *extra) {
    (void)keyval, (void)extra;
    OK(MPI_Win_set_attr(handle, other_keyval, value));
    runs++;
    return MPI_SUCCESS;
}

/* An attribute that comes while the window goes is deleted as the others are. */
static void set_at_free(void) {
    int keyval = keyval_with(sets_another, NULL);
    other_keyval = keyval_with(recorded, NULL);
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        called = 0;
        OK(MPI_Win_set_attr(current.handle, keyval, number(8)));
        MPI_Win handle = current.handle;
        end(&current);
        CHECK(runs == 1 && called == 1, "%d and %d callbacks", runs, called);
        CALLED(0, handle, other_keyval, number(8), NULL);
    }
    OK(MPI_Win_free_keyval(&keyval));
    OK(MPI_Win_free_keyval(&other_keyval));
}

static int siblings[3];

/* Deletes all others that are left. */
static int deletes_siblings(MPI_Win handle, int keyval, void *value, void *extra) {
    (void)value, (void)extra;
    runs++;
    for (int i = 0; i < 3; i++)
        if (siblings[i] != keyval && has_attribute(handle, siblings[i]))
            OK(MPI_Win_delete_attr(handle, siblings[i]));
    return recorded(handle, keyval, value, extra);
}

/* The callback of one attribute deletes the others: each goes once. */
static void siblings_at_free(void) {
    for (int i = 0; i < 3; i++)
        siblings[i] = keyval_with(i == 1 ? deletes_siblings : recorded, NULL);
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        called = 0;
        for (int i = 0; i < 3; i++)
            OK(MPI_Win_set_attr(current.handle, siblings[i], number(i)));
        MPI_Win handle = current.handle;
        end(&current);
        CHECK(runs == 1 && called == 3, "%d and %d callbacks", runs, called);
        int seen = 0;
        for (int i = 0; i < 3; i++) {
            CHECK(calls[i].window == handle, "another window");
            seen |= 1 << (intptr_t)calls[i].value;
        }
        CHECK(seen == 7, "attributes %x", seen);
    }
    for (int i = 0; i < 3; i++)
        OK(MPI_Win_free_keyval(&siblings[i]));
}

/* Puts to the next rank, in a lock of its own, and sees it arrive. */
static int transfers(MPI_Win handle, int keyval, void *value, void *extra) {
    long sent = (long)(intptr_t)value, back = -1;
    int right = (rank + 1) % ranks;
    (void)keyval, (void)extra;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, handle));
    OK(MPI_Put(&sent, 1, MPI_LONG, right, 7, 1, MPI_LONG, handle));
    OK(MPI_Win_flush(right, handle));
    OK(MPI_Get(&back, 1, MPI_LONG, right, 7, 1, MPI_LONG, handle));
    OK(MPI_Win_unlock(right, handle));
    CHECK(back == sent, "%ld", back);
    runs++;
    return MPI_SUCCESS;
}

static void transfer_at_deletion(void) {
    int keyval = keyval_with(transfers, NULL);
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        OK(MPI_Win_set_attr(current.handle, keyval, number(10 + rank)));
        OK(MPI_Win_set_attr(current.handle, keyval, number(20 + rank)));
        OK(MPI_Win_delete_attr(current.handle, keyval));
        CHECK(runs == 2, "%d callbacks", runs);
        barrier();
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, current.handle));
        CHECK(((long *)current.base)[7] == 20 + (rank + ranks - 1) % ranks, "%ld", ((long *)current.base)[7]);
        OK(MPI_Win_unlock(rank, current.handle));
        end(&current);
    }
    OK(MPI_Win_free_keyval(&keyval));
}

/* The window is whole until the callbacks are done, on the other ranks too. */
static void transfer_at_free(void) {
    int keyval = keyval_with(transfers, NULL);
    for (int f = 0; f < FLAVOURS; f++)
        for (int late = 0; late < ranks; late++) {
            make_current(f);
            OK(MPI_Win_set_attr(current.handle, keyval, number(30 + rank)));
            if (rank == late)
                sleep_ms(20);
            end(&current);
            CHECK(runs == 1, "%d callbacks", runs);
        }
    OK(MPI_Win_free_keyval(&keyval));
}

/* The attribute's value is a window, as of a library that keeps a second window beside each of the program's. */
static int frees_its_value(MPI_Win handle, int keyval, void *value, void *extra) {
    struct window *companion = value;
    (void)keyval, (void)extra;
    CHECK(companion->handle != handle, "it is its own companion");
    end(companion);
    free(companion);
    runs++;
    return MPI_SUCCESS;
}

static struct window *companion(int flavour) {
    struct window *made = malloc(sizeof *made);
    *made = flavours[flavour](BYTES, 8, MPI_COMM_WORLD);
    return made;
}

static void another_window_is_freed(void) {
    int keyval = keyval_with(frees_its_value, NULL);
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        OK(MPI_Win_set_attr(current.handle, keyval, companion(f)));
        OK(MPI_Win_set_attr(current.handle, keyval, companion((f + 1) % FLAVOURS)));
        CHECK(runs == 1, "%d callbacks", runs);
        OK(MPI_Win_delete_attr(current.handle, keyval));
        CHECK(runs == 2, "%d callbacks", runs);
        OK(MPI_Win_set_attr(current.handle, keyval, companion((f + 2) % FLAVOURS)));
        end(&current);
        CHECK(runs == 3, "%d callbacks", runs);
    }
    OK(MPI_Win_free_keyval(&keyval));
}

/* A chain: the end of the first window ends all others, one inside the other. */
static void windows_freed_in_a_chain(void) {
    enum { LINKS = 20 };
    int keyval = keyval_with(frees_its_value, NULL);
    make_current(0);
    MPI_Win last = current.handle;
    for (int i = 0; i < LINKS; i++) {
        struct window *next = companion(i % FLAVOURS);
        OK(MPI_Win_set_attr(last, keyval, next));
        last = next->handle;
    }
    OK(MPI_Win_free_keyval(&keyval));
    end(&current);
    CHECK(runs == LINKS, "%d callbacks", runs);
}

/* A library's usual last act: the keyval is freed by the callback of its last attribute. */
static int frees_its_keyval(MPI_Win handle, int keyval, void *value, void *extra) {
    int *own = extra;
    (void)handle, (void)value;
    CHECK(*own == keyval, "keyval %d", keyval);
    OK(MPI_Win_free_keyval(own));
    CHECK(*own == MPI_KEYVAL_INVALID, "%d", *own);
    runs++;
    return MPI_SUCCESS;
}

static void own_keyval_is_freed(void) {
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        int keyval;
        keyval = keyval_with(frees_its_keyval, &keyval);
        OK(MPI_Win_set_attr(current.handle, keyval, NULL));
        OK(MPI_Win_delete_attr(current.handle, keyval));
        CHECK(runs == 1 && keyval == MPI_KEYVAL_INVALID, "%d callbacks", runs);
        keyval = keyval_with(frees_its_keyval, &keyval);
        OK(MPI_Win_set_attr(current.handle, keyval, NULL));
        end(&current);
        CHECK(runs == 2 && keyval == MPI_KEYVAL_INVALID, "%d callbacks", runs);
    }
}

static int failing;

static int fails_at_times(MPI_Win handle, int keyval, void *value, void *extra) {
    (void)handle, (void)keyval, (void)value, (void)extra;
    runs++;
    return failing;
}

/* A value that its callback does not let go stays. */
static void failure_at_deletion(void) {
    int keyval = keyval_with(fails_at_times, NULL);
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        OK(MPI_Win_set_attr(current.handle, keyval, number(1)));
        failing = MPI_ERR_OTHER;
        int code = MPI_Win_delete_attr(current.handle, keyval);
        CHECK(class_of(code) == MPI_ERR_OTHER, "class %d", class_of(code));
        CHECK(runs == 1 && attribute(current.handle, keyval) == number(1), "%d callbacks", runs);
        code = MPI_Win_set_attr(current.handle, keyval, number(2));
        CHECK(class_of(code) == MPI_ERR_OTHER, "class %d", class_of(code));
        CHECK(runs == 2 && attribute(current.handle, keyval) == number(1), "%d callbacks", runs);
        failing = MPI_SUCCESS;
        OK(MPI_Win_set_attr(current.handle, keyval, number(3)));
        OK(MPI_Win_delete_attr(current.handle, keyval));
        CHECK(runs == 4 && !has_attribute(current.handle, keyval), "%d callbacks", runs);
        end(&current);
    }
    OK(MPI_Win_free_keyval(&keyval));
}

/* What a callback returns is what the call returns, also where it is a code of the program's own. */
static void failure_with_own_code(void) {
    int keyval = keyval_with(fails_at_times, NULL), own_class, own_code;
    OK(MPI_Add_error_class(&own_class));
    OK(MPI_Add_error_code(own_class, &own_code));
    OK(MPI_Add_error_string(own_code, "the cache is busy"));
    make_current(0);
    OK(MPI_Win_set_attr(current.handle, keyval, number(1)));
    failing = own_code;
    int code = MPI_Win_delete_attr(current.handle, keyval);
    CHECK(code == own_code && class_of(code) == own_class, "code %d (%s), not %d", code, string_of(code), own_code);
    CHECK(strcmp(string_of(code), "the cache is busy") == 0, "%s", string_of(code));
    failing = MPI_SUCCESS;
    end(&current);
    OK(MPI_Win_free_keyval(&keyval));
}

/* By default a callback's failure ends the job. */
static void failure_is_fatal(void) {
    int keyval = keyval_with(fails_at_times, NULL), own_class;
    OK(MPI_Add_error_class(&own_class));
    OK(MPI_Add_error_code(own_class, &failing));
    OK(MPI_Add_error_string(failing, "the cache is busy"));
    current = allocated(BYTES, 8, MPI_COMM_WORLD);
    OK(MPI_Win_set_attr(current.handle, keyval, number(1)));
    MPI_Win_delete_attr(current.handle, keyval);
    printf("lived on\n");
    fflush(stdout);
}

static int handled;

static void handler(MPI_Win *handle, int *code, ...) {
    CHECK(*handle == current.handle && class_of(*code) == MPI_ERR_OTHER, "class %d", class_of(*code));
    handled++;
}

/* A callback's failure is an error of the window. */
static void failure_reaches_the_handler(void) {
    MPI_Errhandler counting;
    int keyval = keyval_with(fails_at_times, NULL);
    OK(MPI_Win_create_errhandler(handler, &counting));
    for (int f = 0; f < FLAVOURS; f++) {
        make_current(f);
        OK(MPI_Win_set_errhandler(current.handle, counting));
        handled = 0;
        OK(MPI_Win_set_attr(current.handle, keyval, number(1)));
        failing = MPI_ERR_OTHER;
        CHECK(MPI_Win_set_attr(current.handle, keyval, number(2)) != MPI_SUCCESS && handled == 1, "%d calls", handled);
        CHECK(MPI_Win_delete_attr(current.handle, keyval) != MPI_SUCCESS && handled == 2, "%d calls", handled);
        failing = MPI_SUCCESS;
        end(&current);
        CHECK(handled == 2, "%d calls", handled);
    }
    OK(MPI_Errhandler_free(&counting));
    OK(MPI_Win_free_keyval(&keyval));
}

/* A callback fails at the end of the window, on one rank or on all: nobody waits for ever, all other attributes are deleted, and a window
 * that is still there can be freed in the end. */
static void failure_at_free(void) {
    int bad = keyval_with(fails_at_times, NULL), good = keyval_with(recorded, NULL), good_too = keyval_with(recorded, NULL);
    for (int f = 0; f < FLAVOURS; f++)
        for (int culprit = -1; culprit < ranks; culprit++) {
            make_current(f);
            called = 0;
            OK(MPI_Win_set_attr(current.handle, good, number(1)));
            OK(MPI_Win_set_attr(current.handle, bad, number(2)));
            OK(MPI_Win_set_attr(current.handle, good_too, number(3)));
            int fails = culprit == -1 || culprit == rank;
            failing = fails ? MPI_ERR_OTHER : MPI_SUCCESS;
            int code = MPI_Win_free(&current.handle);
            CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_OTHER, "class %d", class_of(code));
            CHECK(!fails || code != MPI_SUCCESS, "the failure is lost");
            CHECK(code != MPI_SUCCESS || current.handle == MPI_WIN_NULL, "freed, but the handle is there");
            failing = MPI_SUCCESS;
            int alive = current.handle != MPI_WIN_NULL, alive_on_all;
            OK(MPI_Allreduce(&alive, &alive_on_all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            CHECK(alive_on_all == 0 || alive_on_all == ranks, "alive on %d ranks of %d", alive_on_all, ranks);
            if (alive)
                OK(MPI_Win_free(&current.handle));
            CHECK(called == 2, "%d of 2 other attributes were deleted", called);
            if (current.flavour == MPI_WIN_FLAVOR_CREATE)
                OK(MPI_Free_mem(current.base));
        }
    OK(MPI_Win_free_keyval(&bad));
    OK(MPI_Win_free_keyval(&good));
    OK(MPI_Win_free_keyval(&good_too));
}

MAIN(SCENARIO(ask_at_deletion), SCENARIO(ask_at_free), SCENARIO(memory_at_free), SCENARIO(another_attribute), SCENARIO(set_at_free),
     SCENARIO(siblings_at_free), SCENARIO(transfer_at_deletion), SCENARIO(transfer_at_free), SCENARIO(another_window_is_freed),
     SCENARIO(windows_freed_in_a_chain), SCENARIO(own_keyval_is_freed), SCENARIO(failure_at_deletion), SCENARIO(failure_with_own_code), SCENARIO(failure_is_fatal),
     SCENARIO(failure_reaches_the_handler), SCENARIO(failure_at_free))
