/* Error handlers of windows and, during creation, of communicators: how long they live, what they may do, who is told what. */
#include "flavours.h"

enum { BYTES = 1024 };

/* A lock of nobody: an error that every MPI finds. */
static int err(MPI_Win window) {
    return MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, window);
}

static int first_calls, second_calls, last_code;
static MPI_Win last_window;

static void first(MPI_Win *window, int *code, ...) {
    first_calls++;
    last_window = *window;
    last_code = *code;
}

static void second(MPI_Win *window, int *code, ...) {
    second_calls++;
    last_window = *window;
    last_code = *code;
}

static MPI_Errhandler handler_of(MPI_Win_errhandler_function *function) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    OK(MPI_Win_create_errhandler(function, &handler));
    CHECK(handler != MPI_ERRHANDLER_NULL, "a new handler is null");
    return handler;
}

/* Raises an error on the window: one call of one function, which is told what the caller is told. */
#define CALLS(calls, window)                                                                                                \
    do {                                                                                                                    \
        int before_first = first_calls, before_second = second_calls, before = calls;                                       \
        int err_code = err(window);                                                                                         \
        CHECK(class_of(err_code) == MPI_ERR_RANK, "class %d", class_of(err_code));                                      \
        CHECK(first_calls + second_calls == before_first + before_second + 1 && calls == before + 1, "%d and %d calls",     \
              first_calls - before_first, second_calls - before_second);                                                    \
        CHECK(last_window == (window) && last_code == err_code, "code %d, the handler saw %d", err_code, last_code);        \
    } while (0)

/* Freed at once, a handler stays with all its windows, and goes with the last. */
static void on_many_windows(void) {
    enum { WINDOWS = 90 };
    static struct window windows[WINDOWS];
    for (int round = 0; round < 2; round++) {
        MPI_Errhandler handler = handler_of(first), other = handler_of(second);
        for (int w = 0; w < WINDOWS; w++) {
            windows[w] = flavours[w % FLAVOURS](64, 1, MPI_COMM_WORLD);
            OK(MPI_Win_set_errhandler(windows[w].handle, w % 2 ? other : handler));
        }
        OK(MPI_Errhandler_free(&handler));
        OK(MPI_Errhandler_free(&other));
        for (int i = 0; i < WINDOWS; i++) {
            /* 77 and the number of windows have no common divisor. */
            int w = i * 77 % WINDOWS;
            if (w % 2)
                CALLS(second_calls, windows[w].handle);
            else
                CALLS(first_calls, windows[w].handle);
            end(&windows[w]);
            /* What is made now must not take the place of what is still in use. */
            MPI_Errhandler fresh = handler_of(i % 2 ? first : second);
            OK(MPI_Errhandler_free(&fresh));
        }
    }
}

/* Handlers come and go on one window; each is held by nothing but the window. */
static void many_on_one_window(void) {
    struct window window = allocated(BYTES, 1, MPI_COMM_WORLD);
    for (int round = 0; round < 20000; round++) {
        MPI_Errhandler handler = handler_of(round % 2 ? second : first), found;
        OK(MPI_Win_set_errhandler(window.handle, handler));
        /* Set again, it is the same one. */
        OK(MPI_Win_set_errhandler(window.handle, handler));
        OK(MPI_Errhandler_free(&handler));
        if (round % 100 < 2) {
            if (round % 2)
                CALLS(second_calls, window.handle);
            else
                CALLS(first_calls, window.handle);
            OK(MPI_Win_get_errhandler(window.handle, &found));
            OK(MPI_Win_set_errhandler(window.handle, MPI_ERRORS_RETURN));
            OK(MPI_Win_set_errhandler(window.handle, found));
            OK(MPI_Errhandler_free(&found));
        }
    }
    CALLS(second_calls, window.handle);
    end(&window);
}

/* Got from one window and set on another, it needs neither its first window nor the handle. */
static void handed_on(void) {
    MPI_Errhandler handler = handler_of(first), got;
    struct window one = allocated(BYTES, 1, MPI_COMM_WORLD), two = shared(BYTES, 1, MPI_COMM_WORLD);
    OK(MPI_Win_set_errhandler(one.handle, handler));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Win_get_errhandler(one.handle, &got));
    end(&one);
    OK(MPI_Win_set_errhandler(two.handle, got));
    OK(MPI_Errhandler_free(&got));
    CALLS(first_calls, two.handle);
    end(&two);
}

static MPI_Errhandler successor;

/* Puts another in its own place, the last that holds it. */
static void gives_way(MPI_Win *window, int *code, ...) {
    OK(MPI_Win_set_errhandler(*window, successor));
    first(window, code);
}

static void replaced_by_itself(void) {
    for (int f = 0; f < FLAVOURS; f++) {
        MPI_Errhandler handler = handler_of(gives_way);
        successor = handler_of(second);
        struct window window = flavours[f](BYTES, 1, MPI_COMM_WORLD);
        OK(MPI_Win_set_errhandler(window.handle, handler));
        OK(MPI_Errhandler_free(&handler));
        CALLS(first_calls, window.handle);
        CALLS(second_calls, window.handle);
        OK(MPI_Errhandler_free(&successor));
        CALLS(second_calls, window.handle);
        end(&window);
    }
}

static MPI_Win other_window;
static int depth;

/* Makes the same mistake again, on this window and on another one. */
static void errs_itself(MPI_Win *window, int *code, ...) {
    CHECK(class_of(*code) == MPI_ERR_RANK, "class %d", class_of(*code));
    if (++depth < 5) {
        int again = err(*window), other = err(other_window);
        CHECK(class_of(again) == MPI_ERR_RANK && class_of(other) == MPI_ERR_RANK, "classes %d and %d", class_of(again), class_of(other));
    }
}

static void errors_inside(void) {
    MPI_Errhandler handler = handler_of(errs_itself), others = handler_of(second);
    struct window window = allocated(BYTES, 1, MPI_COMM_WORLD), other = created(BYTES, 1, MPI_COMM_WORLD);
    other_window = other.handle;
    OK(MPI_Win_set_errhandler(window.handle, handler));
    OK(MPI_Win_set_errhandler(other.handle, others));
    int code = err(window.handle);
    CHECK(class_of(code) == MPI_ERR_RANK && depth == 5 && second_calls == 4, "%d and %d calls", depth, second_calls);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Errhandler_free(&others));
    end(&window);
    end(&other);
}

/* Uses its window for what a handler is for: to see what is there, and to tell another rank. */
static void transfers(MPI_Win *window, int *code, ...) {
    long sent = 40 + rank, back = -1;
    int right = (rank + 1) % ranks;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, *window));
    OK(MPI_Put(&sent, 1, MPI_LONG, right, 16, 1, MPI_LONG, *window));
    OK(MPI_Win_flush(right, *window));
    OK(MPI_Get(&back, 1, MPI_LONG, right, 16, 1, MPI_LONG, *window));
    OK(MPI_Win_unlock(right, *window));
    CHECK(back == sent, "%ld", back);
    first(window, code);
}

static void transfers_inside(void) {
    MPI_Errhandler handler = handler_of(transfers);
    for (int f = 0; f < FLAVOURS; f++) {
        struct window window = flavours[f](BYTES, 1, MPI_COMM_WORLD);
        OK(MPI_Win_set_errhandler(window.handle, handler));
        CALLS(first_calls, window.handle);
        barrier();
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window.handle));
        CHECK(((long *)window.base)[2] == 40 + (rank + ranks - 1) % ranks, "%ld", ((long *)window.base)[2]);
        OK(MPI_Win_unlock(rank, window.handle));
        end(&window);
    }
    OK(MPI_Errhandler_free(&handler));
}

static void of_comm(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    fail(__FILE__, __LINE__, "a communicator's handler was called");
}

/* What is no handler of windows is refused, and the old one stays. */
static void wrong_handlers(void) {
    MPI_Errhandler handler = handler_of(first), of_communicators;
    OK(MPI_Comm_create_errhandler(of_comm, &of_communicators));
    for (int f = 0; f < FLAVOURS; f++) {
        struct window window = flavours[f](BYTES, 1, MPI_COMM_WORLD);
        OK(MPI_Win_set_errhandler(window.handle, handler));
        int before = first_calls;
        FAILS(MPI_ERR_ARG, MPI_Win_set_errhandler(window.handle, MPI_ERRHANDLER_NULL));
        CHECK(first_calls == before + 1, "%d calls", first_calls - before);
        FAILS(MPI_ERR_ARG, MPI_Win_set_errhandler(window.handle, of_communicators));
        CHECK(first_calls == before + 2, "%d calls", first_calls - before);
        CALLS(first_calls, window.handle);
        end(&window);
    }
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Errhandler_free(&of_communicators));
}

/* Not by an error, of which MPICH 5 makes a success once a handler was called. */
static void called_by_the_program(MPI_Win window) {
    int before = first_calls;
    OK(MPI_Win_call_errhandler(window, MPI_ERR_OTHER));
    CHECK(first_calls == before + 1 && last_window == window && last_code == MPI_ERR_OTHER, "%d calls, code %d", first_calls - before, last_code);
}

/* One handler on a window that the host serves and on one of ours. */
static void on_windows_of_host_and_transom(void) {
    MPI_Info host;
    MPI_Win windows[2];
    void *base;
    MPI_Errhandler handler = handler_of(first), found;
    OK(MPI_Info_create(&host));
    OK(MPI_Info_set(host, "transom", "host"));
    for (int round = 0; round < 2; round++) {
        OK(MPI_Win_allocate(BYTES, 1, host, MPI_COMM_WORLD, &base, &windows[0]));
        OK(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &windows[1]));
        for (int i = 0; i < 2; i++) {
            OK(MPI_Win_set_errhandler(windows[i], handler));
            called_by_the_program(windows[i]);
            /* Got from either, it is the same, and can be freed as often as it was got. */
            for (int times = 0; times < 20; times++) {
                OK(MPI_Win_get_errhandler(windows[i], &found));
                CHECK(found == handler, "window %d has another handler", i);
                OK(MPI_Errhandler_free(&found));
            }
        }
        /* In the second round the windows alone hold it, and one of them goes first. */
        if (round == 1)
            OK(MPI_Errhandler_free(&handler));
        for (int i = 0; i < 2; i++) {
            int w = (i + round) % 2;
            called_by_the_program(windows[w]);
            OK(MPI_Win_get_errhandler(windows[w], &found));
            OK(MPI_Win_set_errhandler(windows[w], found));
            OK(MPI_Errhandler_free(&found));
            called_by_the_program(windows[w]);
            OK(MPI_Win_free(&windows[w]));
        }
    }
    OK(MPI_Info_free(&host));
}

/* Codes of the program reach the handler as they are, and have their text. */
static void own_codes(void) {
    int class, codes[3];
    MPI_Errhandler handler = handler_of(first);
    OK(MPI_Add_error_class(&class));
    for (int i = 0; i < 3; i++) {
        char text[40];
        OK(MPI_Add_error_code(class, &codes[i]));
        snprintf(text, sizeof text, "the program's error %d", i);
        OK(MPI_Add_error_string(codes[i], text));
    }
    for (int f = 0; f < FLAVOURS; f++) {
        struct window window = flavours[f](BYTES, 1, MPI_COMM_WORLD);
        OK(MPI_Win_set_errhandler(window.handle, handler));
        for (int i = 0; i < 3; i++) {
            char text[40];
            snprintf(text, sizeof text, "the program's error %d", i);
            first_calls = 0;
            OK(MPI_Win_call_errhandler(window.handle, codes[i]));
            CHECK(first_calls == 1 && last_window == window.handle && last_code == codes[i], "code %d", last_code);
            CHECK(class_of(last_code) == class && strcmp(string_of(last_code), text) == 0, "class %d: %s", class_of(last_code), string_of(last_code));
        }
        CALLS(first_calls, window.handle);
        OK(MPI_Win_set_errhandler(window.handle, MPI_ERRORS_RETURN));
        OK(MPI_Win_call_errhandler(window.handle, codes[0]));
        CHECK(first_calls == 2, "%d calls", first_calls);
        end(&window);
    }
    OK(MPI_Errhandler_free(&handler));
}

/* The default handler, called by the program, ends the job. */
static void own_code_is_fatal(void) {
    int class, code;
    struct window window = allocated(BYTES, 1, MPI_COMM_WORLD);
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "the reactor is on fire"));
    MPI_Win_call_errhandler(window.handle, code);
    printf("lived on\n");
    fflush(stdout);
    end(&window);
}

static int creation_calls, world_calls, creation_code;
static MPI_Comm creation_comm;

static void of_creation(MPI_Comm *comm, int *code, ...) {
    creation_calls++;
    creation_comm = *comm;
    creation_code = *code;
}

static void of_world(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    world_calls++;
}

static int create_badly(int flavour, MPI_Comm comm, MPI_Win *window) {
    static long memory[64];
    void *base;
    switch (flavour) {
    case 0:
        return MPI_Win_allocate(-64, 1, MPI_INFO_NULL, comm, &base, window);
    case 1:
        return MPI_Win_allocate_shared(-64, 1, MPI_INFO_NULL, comm, &base, window);
    default:
        return MPI_Win_create(memory, -64, 1, MPI_INFO_NULL, comm, window);
    }
}

/* A window that cannot be made is an error of the communicator that it was to be made on, and of no other. */
static void creation_on_another_communicator(void) {
    MPI_Comm comm;
    MPI_Win window;
    MPI_Errhandler handler, of_the_world;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(of_creation, &handler));
    OK(MPI_Comm_create_errhandler(of_world, &of_the_world));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_the_world));
    OK(MPI_Errhandler_free(&handler));
    for (int flavour = 0; flavour < FLAVOURS; flavour++) {
        creation_calls = world_calls = 0;
        int code = create_badly(flavour, comm, &window);
        CHECK(class_of(code) == MPI_ERR_SIZE || class_of(code) == MPI_ERR_ARG, "class %d: %s", class_of(code), string_of(code));
        CHECK(creation_calls == 1 && world_calls == 0, "%d calls, and %d of the world's", creation_calls, world_calls);
        CHECK(creation_comm == comm && creation_code == code, "code %d, the handler saw %d", code, creation_code);
    }
    /* Where errors are returned nobody is called. */
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int flavour = 0; flavour < FLAVOURS; flavour++) {
        int code = create_badly(flavour, comm, &window);
        CHECK(code != MPI_SUCCESS && creation_calls == 1 && world_calls == 0, "%d calls, and %d of the world's", creation_calls, world_calls);
    }
    /* The communicator is as good as before. */
    struct window made = allocated(BYTES, 1, comm);
    end(&made);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Errhandler_free(&of_the_world));
    OK(MPI_Comm_free(&comm));
}

/* The communicator's default is fatal, whatever the world's handler is. */
static void creation_is_fatal(void) {
    MPI_Comm comm;
    MPI_Win window;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    world_returns_errors();
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL));
    create_badly(0, comm, &window);
    printf("lived on\n");
    fflush(stdout);
}

MAIN(SCENARIO(on_many_windows), SCENARIO(many_on_one_window), SCENARIO(handed_on), SCENARIO(replaced_by_itself), SCENARIO(errors_inside),
     SCENARIO(transfers_inside), SCENARIO(wrong_handlers), SCENARIO(on_windows_of_host_and_transom), SCENARIO(own_codes),
     SCENARIO(own_code_is_fatal), SCENARIO(creation_on_another_communicator), SCENARIO(creation_is_fatal))
