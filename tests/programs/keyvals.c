/* Attributes of the program's own: what is stored, and when their delete callbacks are called, with what. */
#include "flavours.h"
#include "keyvals.h"

enum { BYTES = 1024 };

/* Any pointer is a value, and every window has values of its own. */
static void values_come_back(void) {
    enum { KEYVALS = 20 };
    void *const odd[] = {NULL, number(1), number(-1), number(INT64_MIN), number(INT64_MAX), &rank};
    int keyvals[KEYVALS];
    struct window windows[FLAVOURS];
    for (int i = 0; i < KEYVALS; i++)
        keyvals[i] = keyval_with(MPI_WIN_NULL_DELETE_FN, NULL);
    for (int w = 0; w < FLAVOURS; w++)
        windows[w] = flavours[w](BYTES, 1, MPI_COMM_WORLD);
    for (int round = 0; round < 3; round++) {
        for (int w = 0; w < FLAVOURS; w++)
            for (int i = 0; i < KEYVALS; i++)
                OK(MPI_Win_set_attr(windows[w].handle, keyvals[i], number(1000 * round + 100 * w + i)));
        for (int w = 0; w < FLAVOURS; w++)
            for (int i = 0; i < KEYVALS; i++)
                CHECK(attribute(windows[w].handle, keyvals[i]) == number(1000 * round + 100 * w + i), "round %d, window %d: %p", round, w,
                      attribute(windows[w].handle, keyvals[i]));
    }
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        OK(MPI_Win_set_attr(windows[0].handle, keyvals[0], odd[i]));
        CHECK(attribute(windows[0].handle, keyvals[0]) == odd[i], "%p", odd[i]);
    }
    for (int w = 0; w < FLAVOURS; w++) {
        CHECK(attribute(windows[w].handle, MPI_WIN_BASE) == windows[w].base, "the predefined attributes have changed");
        end(&windows[w]);
    }
    for (int i = 0; i < KEYVALS; i++)
        OK(MPI_Win_free_keyval(&keyvals[i]));
}

/* A value that is replaced or deleted is handed to the callback, at once and once. */
static void replaced_and_deleted(void) {
    int extra, keyval = keyval_with(recorded, &extra);
    for (int w = 0; w < FLAVOURS; w++) {
        struct window window = flavours[w](BYTES, 1, MPI_COMM_WORLD);
        called = 0;
        OK(MPI_Win_set_attr(window.handle, keyval, number(1)));
        CHECK(called == 0, "a callback at the first value");
        OK(MPI_Win_set_attr(window.handle, keyval, number(2)));
        CHECK(called == 1, "%d calls", called);
        CALLED(0, window.handle, keyval, number(1), &extra);
        CHECK(attribute(window.handle, keyval) == number(2), "%p", attribute(window.handle, keyval));
        /* The same value again is replaced all the same. */
        OK(MPI_Win_set_attr(window.handle, keyval, number(2)));
        CHECK(called == 2, "%d calls", called);
        CALLED(1, window.handle, keyval, number(2), &extra);
        OK(MPI_Win_delete_attr(window.handle, keyval));
        CHECK(called == 3, "%d calls", called);
        CALLED(2, window.handle, keyval, number(2), &extra);
        CHECK(!has_attribute(window.handle, keyval), "a deleted attribute is still there");
        OK(MPI_Win_set_attr(window.handle, keyval, NULL));
        CHECK(called == 3, "a callback at the first value after a deletion");
        MPI_Win handle = window.handle;
        end(&window);
        CHECK(called == 4, "%d calls", called);
        CALLED(3, handle, keyval, NULL, &extra);
    }
    OK(MPI_Win_free_keyval(&keyval));
    CHECK(called == 4, "a callback at the end of a keyval that no window has");
}

/* The end of a window deletes what is left, each attribute once, and nothing of other windows. */
static void deleted_at_free(void) {
    enum { KEYVALS = 9, GONE = 4 };
    int extra[KEYVALS], keyvals[KEYVALS];
    struct window other = allocated(BYTES, 1, MPI_COMM_WORLD);
    for (int i = 0; i < KEYVALS; i++) {
        keyvals[i] = keyval_with(recorded, &extra[i]);
        OK(MPI_Win_set_attr(other.handle, keyvals[i], number(-1 - i)));
    }
    for (int w = 0; w < FLAVOURS; w++) {
        struct window window = flavours[w](BYTES, 1, MPI_COMM_WORLD);
        MPI_Win handle = window.handle;
        for (int i = 0; i < KEYVALS; i++)
            OK(MPI_Win_set_attr(handle, keyvals[i], number(100 * w + i)));
        OK(MPI_Win_delete_attr(handle, keyvals[GONE]));
        called = 0;
        end(&window);
        CHECK(called == KEYVALS - 1, "%d calls", called);
        int seen[KEYVALS] = {0};
        for (int call = 0; call < called; call++) {
            int i = (int)(intptr_t)calls[call].value - 100 * w;
            CHECK(i >= 0 && i < KEYVALS && i != GONE && !seen[i], "call %d has value %p", call, calls[call].value);
            CALLED(call, handle, keyvals[i], number(100 * w + i), &extra[i]);
            seen[i] = 1;
        }
    }
    for (int i = 0; i < KEYVALS; i++)
        CHECK(attribute(other.handle, keyvals[i]) == number(-1 - i), "%p", attribute(other.handle, keyvals[i]));
    called = 0;
    end(&other);
    CHECK(called == KEYVALS, "%d calls", called);
    for (int i = 0; i < KEYVALS; i++)
        OK(MPI_Win_free_keyval(&keyvals[i]));
}

/* The standard leaves the order at MPI_Win_free open; that of MPI_COMM_SELF's attributes is kept here too. */
static void the_last_one_set_goes_first(void) {
    enum { SOME = 9 };
    int keyvals[SOME];
    for (int i = 0; i < SOME; i++)
        keyvals[i] = keyval_with(recorded, NULL);
    for (int w = 0; w < FLAVOURS; w++) {
        struct window window = flavours[w](BYTES, 1, MPI_COMM_WORLD);
        MPI_Win handle = window.handle;
        /* Not in the order of the keyvals. */
        for (int i = 0; i < SOME; i++)
            OK(MPI_Win_set_attr(handle, keyvals[i * 5 % SOME], number(i)));
        called = 0;
        end(&window);
        CHECK(called == SOME, "%d calls", called);
        for (int i = 0; i < SOME; i++)
            CALLED(SOME - 1 - i, handle, keyvals[i * 5 % SOME], number(i), NULL);
    }
    for (int i = 0; i < SOME; i++)
        OK(MPI_Win_free_keyval(&keyvals[i]));
}

/* A keyval that is freed lives on with its attributes: they can be read and deleted, and their callbacks come. */
static void freed_with_attributes(void) {
    int extra, keyval = keyval_with(recorded, &extra), kept = keyval;
    struct window one = allocated(BYTES, 1, MPI_COMM_WORLD), two = shared(BYTES, 1, MPI_COMM_WORLD), three = created(BYTES, 1, MPI_COMM_WORLD);
    OK(MPI_Win_set_attr(one.handle, keyval, number(1)));
    OK(MPI_Win_set_attr(two.handle, keyval, number(2)));
    OK(MPI_Win_set_attr(three.handle, keyval, number(3)));
    OK(MPI_Win_free_keyval(&keyval));
    CHECK(keyval == MPI_KEYVAL_INVALID, "a freed keyval is %d", keyval);
    CHECK(called == 0, "a callback at the end of a keyval in use");
    CHECK(attribute(one.handle, kept) == number(1) && attribute(two.handle, kept) == number(2), "the values are lost");
    OK(MPI_Win_delete_attr(one.handle, kept));
    CHECK(called == 1, "%d calls", called);
    CALLED(0, one.handle, kept, number(1), &extra);
    CHECK(attribute(two.handle, kept) == number(2), "the other window's value is lost");
    MPI_Win handles[] = {two.handle, three.handle};
    end(&one);
    CHECK(called == 1, "%d calls", called);
    end(&two);
    CHECK(called == 2, "%d calls", called);
    CALLED(1, handles[0], kept, number(2), &extra);
    end(&three);
    CHECK(called == 3, "%d calls", called);
    CALLED(2, handles[1], kept, number(3), &extra);
}

/* A number stays taken until the last attribute of its keyval is gone, however many are made meanwhile. */
static void numbers_in_use_are_not_given_out(void) {
    enum { KEYVALS = 2000 };
    static int fresh[KEYVALS];
    int keyval = keyval_with(recorded, NULL), kept = keyval;
    struct window window = allocated(BYTES, 1, MPI_COMM_WORLD);
    OK(MPI_Win_set_attr(window.handle, keyval, number(7)));
    OK(MPI_Win_free_keyval(&keyval));
    for (int i = 0; i < KEYVALS; i++) {
        fresh[i] = keyval_with(MPI_WIN_NULL_DELETE_FN, NULL);
        CHECK(fresh[i] != kept, "keyval %d is given out again", kept);
        CHECK(!has_attribute(window.handle, fresh[i]), "a new keyval has a value");
    }
    CHECK(attribute(window.handle, kept) == number(7), "%p", attribute(window.handle, kept));
    MPI_Win handle = window.handle;
    end(&window);
    CHECK(called == 1, "%d calls", called);
    CALLED(0, handle, kept, number(7), NULL);
    for (int i = 0; i < KEYVALS; i++)
        OK(MPI_Win_free_keyval(&fresh[i]));
}

/* Keyvals that come and go do not run out, nor do attributes. */
static void many_rounds(void) {
    struct window window = allocated(BYTES, 1, MPI_COMM_WORLD);
    int extra;
    for (int round = 0; round < 20000; round++) {
        int keyval = keyval_with(recorded, &extra), kept = keyval;
        called = 0;
        OK(MPI_Win_set_attr(window.handle, keyval, number(round)));
        OK(MPI_Win_free_keyval(&keyval));
        OK(MPI_Win_delete_attr(window.handle, kept));
        CALLED(0, window.handle, kept, number(round), &extra);
    }
    end(&window);
    CHECK(called == 1, "%d calls", called);
}

/* Nothing is found where nothing was set, and deleting it harms nothing. */
static void never_set(void) {
    int extra, keyval = keyval_with(recorded, &extra), other = keyval_with(recorded, &extra);
    for (int w = 0; w < FLAVOURS; w++) {
        struct window window = flavours[w](BYTES, 1, MPI_COMM_WORLD);
        window_returns_errors(window.handle);
        CHECK(!has_attribute(window.handle, keyval), "flavour %d", window.flavour);
        OK(MPI_Win_set_attr(window.handle, other, number(5)));
        CHECK(!has_attribute(window.handle, keyval), "flavour %d", window.flavour);
        /* Hosts differ in whether this is an error. */
        MPI_Win_delete_attr(window.handle, keyval);
        CHECK(!has_attribute(window.handle, keyval) && attribute(window.handle, other) == number(5), "flavour %d", window.flavour);
        CHECK(called == 0, "%d calls", called);
        end(&window);
        CHECK(called == 1, "%d calls", called);
        called = 0;
    }
    OK(MPI_Win_free_keyval(&keyval));
    OK(MPI_Win_free_keyval(&other));
}

static void refused(MPI_Win window, int keyval) {
    void *value = number(42);
    int flag = 0;
    FAILS(MPI_ERR_KEYVAL, MPI_Win_get_attr(window, keyval, &value, &flag));
    CHECK(!flag, "keyval %d: a refused call has found something", keyval);
    FAILS(MPI_ERR_KEYVAL, MPI_Win_set_attr(window, keyval, number(1)));
    FAILS(MPI_ERR_KEYVAL, MPI_Win_delete_attr(window, keyval));
    int copy = keyval;
    FAILS(MPI_ERR_KEYVAL, MPI_Win_free_keyval(&copy));
    CHECK(copy == keyval, "a refused call has changed keyval %d to %d", keyval, copy);
}

/* What is not a keyval of windows, or not any more. */
static void not_keyvals(void) {
    int of_comm, of_type, freed = keyval_with(recorded, NULL), good = keyval_with(recorded, &good), found;
    struct window window = allocated(BYTES, 1, MPI_COMM_WORLD);
    window_returns_errors(window.handle);
    /* Calls without a window or communicator report to one of these, by version. */
    world_returns_errors();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comm, NULL));
    OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &of_type, NULL));
    OK(MPI_Win_set_attr(window.handle, good, number(1)));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, of_comm, &found));
    int kept = freed;
    OK(MPI_Win_free_keyval(&freed));
    refused(window.handle, MPI_KEYVAL_INVALID);
    refused(window.handle, kept);
    refused(window.handle, of_comm);
    refused(window.handle, of_type);
    int *value = NULL;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, of_comm, &value, &found));
    CHECK(found && value == &found, "the communicator has lost its attribute");
    CHECK(attribute(window.handle, good) == number(1) && called == 0, "the window has lost its attribute");
    end(&window);
    CHECK(called == 1, "%d calls", called);
    OK(MPI_Win_free_keyval(&good));
    OK(MPI_Comm_free_keyval(&of_comm));
    OK(MPI_Type_free_keyval(&of_type));
}

/* Numbers that nobody has given out. */
static void made_up_numbers(void) {
    static const int numbers[] = {-1, -2, INT32_MIN, INT32_MAX, INT32_MAX - 1, 123456789, 0x0badcafe};
    struct window window = allocated(BYTES, 1, MPI_COMM_WORLD);
    window_returns_errors(window.handle);
    world_returns_errors();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        refused(window.handle, numbers[i]);
    end(&window);
}

/* The values that the standard gives a window are not the program's to change. */
static void predefined_ones_are_fixed(void) {
    static const int fixed[] = {MPI_WIN_BASE, MPI_WIN_SIZE, MPI_WIN_DISP_UNIT, MPI_WIN_CREATE_FLAVOR, MPI_WIN_MODEL};
    world_returns_errors();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int w = 0; w < FLAVOURS; w++) {
        struct window window = flavours[w](BYTES, 4, MPI_COMM_WORLD);
        window_returns_errors(window.handle);
        for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
            int keyval = fixed[i];
            FAILS(MPI_ERR_KEYVAL, MPI_Win_set_attr(window.handle, keyval, number(1)));
            FAILS(MPI_ERR_KEYVAL, MPI_Win_delete_attr(window.handle, keyval));
            FAILS(MPI_ERR_KEYVAL, MPI_Win_free_keyval(&keyval));
            CHECK(keyval == fixed[i], "a refused call has changed the keyval");
        }
        CHECK(attribute(window.handle, MPI_WIN_BASE) == window.base, "%p", attribute(window.handle, MPI_WIN_BASE));
        CHECK(*(MPI_Aint *)attribute(window.handle, MPI_WIN_SIZE) == BYTES, "of flavour %d", window.flavour);
        CHECK(*(int *)attribute(window.handle, MPI_WIN_DISP_UNIT) == 4, "of flavour %d", window.flavour);
        end(&window);
    }
}

/* MPI's own callbacks, in every combination. */
static void predefined_functions(void) {
    MPI_Win_copy_attr_function *const copies[] = {MPI_WIN_NULL_COPY_FN, MPI_WIN_DUP_FN};
    struct window window = allocated(BYTES, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        int silent, telling;
        OK(MPI_Win_create_keyval(copies[i], MPI_WIN_NULL_DELETE_FN, &silent, NULL));
        OK(MPI_Win_create_keyval(copies[i], recorded, &telling, NULL));
        OK(MPI_Win_set_attr(window.handle, silent, number(1)));
        OK(MPI_Win_set_attr(window.handle, telling, number(2)));
        OK(MPI_Win_set_attr(window.handle, silent, number(3)));
        OK(MPI_Win_set_attr(window.handle, telling, number(4)));
        CHECK(attribute(window.handle, silent) == number(3) && attribute(window.handle, telling) == number(4), "combination %d", i);
        OK(MPI_Win_delete_attr(window.handle, silent));
        CHECK(!has_attribute(window.handle, silent), "combination %d", i);
        OK(MPI_Win_set_attr(window.handle, silent, number(5)));
        OK(MPI_Win_free_keyval(&silent));
        OK(MPI_Win_free_keyval(&telling));
    }
    CHECK(called == 2, "%d calls", called);
    end(&window);
    CHECK(called == 4, "%d calls", called);
}

enum { WINDOWS = 1000, KEYVALS = 10 };
static char gone[WINDOWS * KEYVALS];
static int deletions;

static int marked(MPI_Win window, int keyval, void *value, void *extra) {
    (void)window, (void)keyval;
    CHECK(extra == gone && gone[(intptr_t)value] == 0, "attribute %p is deleted again", value);
    gone[(intptr_t)value] = 1;
    deletions++;
    return MPI_SUCCESS;
}

/* Ten attributes on each of a thousand windows, all alive at once. */
static void by_the_thousand(void) {
    static MPI_Win windows[WINDOWS];
    int keyvals[KEYVALS];
    void *base;
    for (int i = 0; i < KEYVALS; i++)
        keyvals[i] = keyval_with(marked, gone);
    for (int w = 0; w < WINDOWS; w++) {
        OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &windows[w]));
        for (int i = 0; i < KEYVALS; i++)
            OK(MPI_Win_set_attr(windows[w], keyvals[i], number(w * KEYVALS + i)));
    }
    for (int i = 0; i < KEYVALS; i++) {
        int kept = keyvals[i];
        OK(MPI_Win_free_keyval(&keyvals[i]));
        for (int w = 0; w < WINDOWS; w++)
            CHECK(attribute(windows[w], kept) == number(w * KEYVALS + i), "window %d, keyval %d", w, i);
    }
    for (int round = 0; round < WINDOWS; round++) {
        /* 7 and the number of windows have no common divisor. */
        int w = round * 7 % WINDOWS;
        OK(MPI_Win_free(&windows[w]));
        CHECK(deletions == (round + 1) * KEYVALS, "%d deletions, not %d", deletions, (round + 1) * KEYVALS);
        for (int i = 0; i < KEYVALS; i++)
            CHECK(gone[w * KEYVALS + i], "window %d, keyval %d", w, i);
    }
}

/* One keyval on a window that the host serves and on one of ours. */
static void on_windows_of_host_and_transom(void) {
    MPI_Info host;
    MPI_Win windows[2];
    void *base;
    int extra, keyval = keyval_with(recorded, &extra), kept = keyval;
    OK(MPI_Info_create(&host));
    OK(MPI_Info_set(host, "transom", "host"));
    OK(MPI_Win_allocate(BYTES, 1, host, MPI_COMM_WORLD, &base, &windows[0]));
    OK(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &windows[1]));
    OK(MPI_Info_free(&host));
    for (int i = 0; i < 2; i++) {
        called = 0;
        CHECK(!has_attribute(windows[i], keyval), "window %d", i);
        OK(MPI_Win_set_attr(windows[i], keyval, number(10 + i)));
        OK(MPI_Win_set_attr(windows[i], keyval, number(20 + i)));
        CHECK(called == 1, "window %d: %d calls", i, called);
        CALLED(0, windows[i], keyval, number(10 + i), &extra);
        OK(MPI_Win_delete_attr(windows[i], keyval));
        CHECK(called == 2, "window %d: %d calls", i, called);
        CALLED(1, windows[i], keyval, number(20 + i), &extra);
        OK(MPI_Win_set_attr(windows[i], keyval, number(30 + i)));
    }
    OK(MPI_Win_free_keyval(&keyval));
    for (int i = 0; i < 2; i++) {
        CHECK(attribute(windows[i], kept) == number(30 + i), "window %d: %p", i, attribute(windows[i], kept));
        MPI_Win handle = windows[i];
        called = 0;
        OK(MPI_Win_free(&windows[i]));
        CHECK(called == 1, "window %d: %d calls", i, called);
        CALLED(0, handle, kept, number(30 + i), &extra);
    }
}

MAIN(SCENARIO(values_come_back), SCENARIO(replaced_and_deleted), SCENARIO(deleted_at_free), SCENARIO(the_last_one_set_goes_first), SCENARIO(freed_with_attributes),
     SCENARIO(numbers_in_use_are_not_given_out), SCENARIO(many_rounds), SCENARIO(never_set), SCENARIO(not_keyvals), SCENARIO(made_up_numbers),
     SCENARIO(predefined_ones_are_fixed), SCENARIO(predefined_functions), SCENARIO(by_the_thousand), SCENARIO(on_windows_of_host_and_transom))
