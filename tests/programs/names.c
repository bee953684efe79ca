/* Names of windows. */
#include "flavours.h"

enum { BYTES = 1024 };

static void check_name(MPI_Win window, const char *expected) {
    char name[MPI_MAX_OBJECT_NAME + 16];
    int length = -1;
    memset(name, '#', sizeof name);
    OK(MPI_Win_get_name(window, name, &length));
    CHECK(length == (int)strlen(expected), "length %d, not %zu", length, strlen(expected));
    CHECK(name[length] == 0 && strcmp(name, expected) == 0, "'%.*s', not '%s'", length, name, expected);
    for (size_t i = MPI_MAX_OBJECT_NAME; i < sizeof name; i++)
        CHECK(name[i] == '#', "more than MPI_MAX_OBJECT_NAME characters were written");
}

/* Until it is given one, the name is empty. */
static void none_at_first(void) {
    for (int f = 0; f < FLAVOURS; f++) {
        struct window window = flavours[f](BYTES, 1, MPI_COMM_WORLD);
        check_name(window.handle, "");
        OK(MPI_Win_set_name(window.handle, "left behind"));
        end(&window);
        /* Where a handle is used again, its name is not. */
        window = flavours[f](BYTES, 1, MPI_COMM_WORLD);
        check_name(window.handle, "");
        end(&window);
    }
}

/* A window gives up the name it was given for the next. */
static void set_and_got(void) {
    static const char *const names[] = {"a name", "b", "", " with spaces ", "another, longer than the first", "line\nbreak", "100% %s %n"};
    for (int f = 0; f < FLAVOURS; f++) {
        struct window window = flavours[f](BYTES, 1, MPI_COMM_WORLD);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            OK(MPI_Win_set_name(window.handle, names[i]));
            check_name(window.handle, names[i]);
        }
        end(&window);
    }
}

/* The window keeps a copy of its own. */
static void kept_as_a_copy(void) {
    char name[] = "as it was";
    struct window window = allocated(BYTES, 1, MPI_COMM_WORLD);
    OK(MPI_Win_set_name(window.handle, name));
    memset(name, 'x', sizeof name - 1);
    check_name(window.handle, "as it was");
    end(&window);
}

/* What does not fit is cut off. */
static void cut_off(void) {
    struct window window = shared(BYTES, 1, MPI_COMM_WORLD);
    static char given[2 * MPI_MAX_OBJECT_NAME + 1], expected[MPI_MAX_OBJECT_NAME];
    for (int length = MPI_MAX_OBJECT_NAME - 2; length < 2 * MPI_MAX_OBJECT_NAME; length++) {
        memset(given, 0, sizeof given);
        for (int i = 0; i < length; i++)
            given[i] = (char)('a' + i % 26);
        memset(expected, 0, sizeof expected);
        memcpy(expected, given, (size_t)(length < MPI_MAX_OBJECT_NAME ? length : MPI_MAX_OBJECT_NAME - 1));
        OK(MPI_Win_set_name(window.handle, given));
        check_name(window.handle, expected);
    }
    end(&window);
}

/* Bytes are bytes. */
static void in_utf_8(void) {
    struct window window = created(BYTES, 1, MPI_COMM_WORLD);
    static const char *const names[] = {"f\xc3\xbc"
                                        "r alle",
                                        "\xe7\xaa\x93", "\xf0\x9f\xaa\x9f\xf0\x9f\xaa\x9f", "\xff\xfe not UTF-8 \x80"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        OK(MPI_Win_set_name(window.handle, names[i]));
        check_name(window.handle, names[i]);
    }
    end(&window);
}

/* Every window has a name of its own. */
static void of_many_windows(void) {
    enum { WINDOWS = 200 };
    static struct window windows[WINDOWS];
    char name[40];
    for (int round = 0; round < 2; round++) {
        for (int w = 0; w < WINDOWS; w++) {
            windows[w] = flavours[w % FLAVOURS](64, 1, MPI_COMM_WORLD);
            snprintf(name, sizeof name, "rank %d, round %d, window %d", rank, round, w);
            OK(MPI_Win_set_name(windows[w].handle, name));
        }
        for (int w = 0; w < WINDOWS; w++) {
            snprintf(name, sizeof name, "rank %d, round %d, window %d", rank, round, w);
            check_name(windows[w].handle, name);
        }
        for (int w = 0; w < WINDOWS; w++)
            end(&windows[w]);
    }
}

MAIN(SCENARIO(none_at_first), SCENARIO(set_and_got), SCENARIO(kept_as_a_copy), SCENARIO(cut_off), SCENARIO(in_utf_8), SCENARIO(of_many_windows))
