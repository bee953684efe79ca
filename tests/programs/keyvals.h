/* Attributes of the program's own, and a delete callback that keeps a record of its calls. */
#ifndef KEYVALS_H
#define KEYVALS_H
#include "check.h"

struct call {
    MPI_Win window;
    int keyval;
    void *value, *extra;
};

enum { MOST_CALLS = 64 };
static struct call calls[MOST_CALLS];
static int called;

__attribute__((unused)) static int recorded(MPI_Win window, int keyval, void *value, void *extra) {
    CHECK(called < MOST_CALLS, "more callbacks than attributes");
    calls[called++] = (struct call){window, keyval, value, extra};
    return MPI_SUCCESS;
}

/* The call of this number was for this attribute. */
#define CALLED(number, of_window, of_keyval, of_value, of_extra)                                                            \
    do {                                                                                                                    \
        struct call *seen = &calls[number];                                                                                 \
        CHECK(called > (number), "%d calls", called);                                                                       \
        CHECK(seen->window == (of_window), "call %d is for another window", number);                                        \
        CHECK(seen->keyval == (of_keyval), "call %d is for keyval %d, not %d", number, seen->keyval, of_keyval);            \
        CHECK(seen->value == (of_value), "call %d is for value %p, not %p", number, seen->value, (void *)(of_value));       \
        CHECK(seen->extra == (of_extra), "call %d has extra state %p, not %p", number, seen->extra, (void *)(of_extra));    \
    } while (0)

static int keyval_with(MPI_Win_delete_attr_function *on_delete, void *extra) {
    int keyval = MPI_KEYVAL_INVALID;
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, extra));
    CHECK(keyval != MPI_KEYVAL_INVALID, "a new keyval is MPI_KEYVAL_INVALID");
    return keyval;
}

/* The value of an attribute that must be there. */
static void *attribute(MPI_Win window, int keyval) {
    void *value = &value;
    int flag = -1;
    OK(MPI_Win_get_attr(window, keyval, &value, &flag));
    CHECK(flag == 1, "the attribute of keyval %d has flag %d", keyval, flag);
    return value;
}

__attribute__((unused)) static int has_attribute(MPI_Win window, int keyval) {
    void *value;
    int flag = -1;
    OK(MPI_Win_get_attr(window, keyval, &value, &flag));
    CHECK(flag == 0 || flag == 1, "flag %d", flag);
    return flag;
}

/* An address to store that is like no other. */
__attribute__((unused)) static void *number(intptr_t value) {
    return (void *)value;
}

#endif
