/* C error handlers of windows: when they are called, with what, and how long they live. */
#include "check.h"

static MPI_Win made(MPI_Aint bytes) {
    MPI_Win window;
    void *base;
    OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    return window;
}

/* An access that leaves the window, from inside an epoch. */
static int reach_too_far(MPI_Win window) {
    char byte = 1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
    int code = MPI_Put(&byte, 1, MPI_CHAR, 0, 1000, 1, MPI_CHAR, window);
    OK(MPI_Win_unlock(0, window));
    return code;
}

static int first_calls, second_calls, last_code;
static MPI_Win last_window;

static void first(MPI_Win *window, int *code, ...) {
    first_calls++;
    last_window = *window;
    last_code = *code;
}

/* A handler may use the window that it is called for. */
static void second(MPI_Win *window, int *code, ...) {
    void *base;
    int flag;
    second_calls++;
    last_window = *window;
    last_code = *code;
    OK(MPI_Win_get_attr(*window, MPI_WIN_BASE, &base, &flag));
    CHECK(flag, "a handler finds no base");
    OK(MPI_Win_sync(*window));
}

/* Errors reach the handler of their own window. */
static void called_by_an_error(void) {
    MPI_Win one = made(64), two = made(64);
    MPI_Errhandler of_one, of_two;
    OK(MPI_Win_create_errhandler(first, &of_one));
    OK(MPI_Win_create_errhandler(second, &of_two));
    OK(MPI_Win_set_errhandler(one, of_one));
    OK(MPI_Win_set_errhandler(two, of_two));
    for (int round = 1; round <= 3; round++) {
        int code = reach_too_far(one);
        CHECK(first_calls == round && second_calls == round - 1, "%d and %d calls", first_calls, second_calls);
        CHECK(last_window == one && last_code == code && class_of(code) == MPI_ERR_RMA_RANGE, "code %d, handler saw %d", code, last_code);
        code = reach_too_far(two);
        CHECK(first_calls == round && second_calls == round, "%d and %d calls", first_calls, second_calls);
        CHECK(last_window == two && last_code == code && class_of(code) == MPI_ERR_RMA_RANGE, "code %d, handler saw %d", code, last_code);
    }
    OK(MPI_Errhandler_free(&of_one));
    OK(MPI_Errhandler_free(&of_two));
    CHECK(of_one == MPI_ERRHANDLER_NULL && of_two == MPI_ERRHANDLER_NULL, "a freed handle stays");
    OK(MPI_Win_free(&one));
    OK(MPI_Win_free(&two));
}

static void called_by_the_program(void) {
    MPI_Win window = made(64);
    MPI_Errhandler handler;
    OK(MPI_Win_create_errhandler(first, &handler));
    OK(MPI_Win_set_errhandler(window, handler));
    OK(MPI_Win_call_errhandler(window, MPI_ERR_OTHER));
    CHECK(first_calls == 1 && last_window == window && last_code == MPI_ERR_OTHER, "%d calls, code %d", first_calls, last_code);
    int own_class, own_code;
    OK(MPI_Add_error_class(&own_class));
    OK(MPI_Add_error_code(own_class, &own_code));
    OK(MPI_Win_call_errhandler(window, own_code));
    CHECK(first_calls == 2 && last_code == own_code, "%d calls, code %d", first_calls, last_code);
    OK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
    OK(MPI_Win_call_errhandler(window, MPI_ERR_OTHER));
    CHECK(first_calls == 2, "the replaced handler was called");
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Win_free(&window));
}

/* A handler that was freed lives on with the windows that have it. */
static void freed_while_set(void) {
    MPI_Win one = made(64), two = made(64);
    MPI_Errhandler handler, another;
    OK(MPI_Win_create_errhandler(first, &handler));
    OK(MPI_Win_set_errhandler(one, handler));
    OK(MPI_Win_set_errhandler(two, handler));
    OK(MPI_Errhandler_free(&handler));
    /* What is created now must not take the freed one's place. */
    OK(MPI_Win_create_errhandler(second, &another));
    reach_too_far(one);
    CHECK(first_calls == 1 && second_calls == 0, "%d and %d calls", first_calls, second_calls);
    OK(MPI_Win_free(&one));
    reach_too_far(two);
    CHECK(first_calls == 2 && second_calls == 0, "%d and %d calls", first_calls, second_calls);
    OK(MPI_Win_get_errhandler(two, &handler));
    OK(MPI_Win_set_errhandler(two, another));
    reach_too_far(two);
    CHECK(first_calls == 2 && second_calls == 1, "%d and %d calls", first_calls, second_calls);
    OK(MPI_Win_set_errhandler(two, handler));
    reach_too_far(two);
    CHECK(first_calls == 3 && second_calls == 1, "%d and %d calls", first_calls, second_calls);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Errhandler_free(&another));
    OK(MPI_Win_free(&two));
}

static void got_back(void) {
    MPI_Win window = made(64);
    MPI_Errhandler handler, found;
    OK(MPI_Win_get_errhandler(window, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL, "a new window has another handler");
    OK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
    OK(MPI_Win_get_errhandler(window, &found));
    CHECK(found == MPI_ERRORS_RETURN, "MPI_ERRORS_RETURN does not come back");
    /* Open MPI counts predefined handlers too, and ends the job when more are given back than were got. */
    for (int round = 0; round < 20; round++) {
        OK(MPI_Errhandler_free(&found));
        OK(MPI_Win_get_errhandler(window, &found));
    }
    OK(MPI_Errhandler_free(&found));
    OK(MPI_Win_create_errhandler(first, &handler));
    OK(MPI_Win_set_errhandler(window, handler));
    for (int round = 0; round < 1000; round++) {
        OK(MPI_Win_get_errhandler(window, &found));
        CHECK(found == handler, "round %d: another handler comes back", round);
        OK(MPI_Errhandler_free(&found));
    }
    reach_too_far(window);
    CHECK(first_calls == 1, "%d calls", first_calls);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Win_free(&window));
}

/* The handler of the communicator has no say once the window exists. */
static void of_the_window_not_of_the_communicator(void) {
    world_returns_errors();
    MPI_Win window = made(64);
    MPI_Errhandler found;
    OK(MPI_Win_get_errhandler(window, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL, "a new window has another handler");
    OK(MPI_Win_free(&window));
}

/* A new window's errors end the job. */
static void default_is_fatal(void) {
    MPI_Win window = made(64);
    if (rank == 0) {
        reach_too_far(window);
        printf("lived on\n");
        fflush(stdout);
    }
    barrier();
    OK(MPI_Win_free(&window));
}

MAIN(SCENARIO(called_by_an_error), SCENARIO(called_by_the_program), SCENARIO(freed_while_set), SCENARIO(got_back),
     SCENARIO(of_the_window_not_of_the_communicator), SCENARIO(default_is_fatal))
