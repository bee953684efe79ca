/* What the test programs share: checks that say where they failed and end the whole job, start and end, and a choice of scenarios by the
 * first argument. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank = -1, ranks = 0;

__attribute__((noreturn, format(printf, 3, 4), unused)) static void fail(const char *file, int line, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s:%d: rank %d: %s\n", file, line, rank, text);
    fflush(stderr);
    /* A launcher drops what it has not passed on when a job aborts. */
    const char *directory = getenv("TMPDIR");
    if (directory != NULL && getenv("TRANSOM_TEST_JOB") != NULL) {
        char path[512];
        snprintf(path, sizeof path, "%s/report-%d", directory, rank < 0 ? 0 : rank);
        FILE *report = fopen(path, "a");
        if (report != NULL) {
            fprintf(report, "%s:%d: rank %d: %s\n", file, line, rank, text);
            fclose(report);
        }
    }
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

/* CHECK(condition, "format", ...): ends the job unless the condition holds. */
#define CHECK(condition, ...)                                                                                               \
    do {                                                                                                                    \
        if (!(condition)) {                                                                                                 \
            char check_text[768];                                                                                           \
            snprintf(check_text, sizeof check_text, __VA_ARGS__);                                                           \
            fail(__FILE__, __LINE__, "%s: %s", #condition, check_text);                                                     \
        }                                                                                                                   \
    } while (0)

__attribute__((unused)) static int class_of(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    return class;
}

__attribute__((unused)) static const char *string_of(int code) {
    static _Thread_local char text[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    text[0] = 0;
    MPI_Error_string(code, text, &length);
    return text;
}

/* OK(call): the call must succeed. */
#define OK(call)                                                                                                            \
    do {                                                                                                                    \
        int ok_code = (call);                                                                                               \
        if (ok_code != MPI_SUCCESS)                                                                                         \
            fail(__FILE__, __LINE__, "%s failed: class %d: %s", #call, class_of(ok_code), string_of(ok_code));              \
    } while (0)

/* FAILS(class, call): the call must return an error of this class. */
#define FAILS(class, call)                                                                                                  \
    do {                                                                                                                    \
        int fails_code = (call);                                                                                            \
        if (fails_code == MPI_SUCCESS)                                                                                      \
            fail(__FILE__, __LINE__, "%s succeeded, but " #class " is due", #call);                                         \
        if (class_of(fails_code) != (class))                                                                                \
            fail(__FILE__, __LINE__, "%s: " #class " (%d) is due, but: class %d: %s", #call, (int)(class),                  \
                 class_of(fails_code), string_of(fails_code));                                                              \
    } while (0)

/* Is this rank behind `transom exec`? For what Transom promises beyond the standard. */
__attribute__((unused)) static int behind_transom(void) {
    return getenv("EXPECT_TRANSOM") != NULL;
}

/* The calls must reach Transom when it was put in front: a preload that was lost would let the bare host pass the test. */
__attribute__((unused)) static void check_preload(void) {
    Dl_info found;
    if (!behind_transom())
        return;
    void *put = dlsym(RTLD_DEFAULT, "MPI_Put");
    CHECK(put != NULL && dladdr(put, &found) != 0 && strstr(found.dli_fname, "libtransom.so") != NULL, "MPI_Put is not Transom's");
}

__attribute__((unused)) static void start_threaded(int *argc, char ***argv, int level) {
    int provided;
    OK(MPI_Init_thread(argc, argv, level, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    CHECK(provided >= level, "thread level %d granted, %d asked for", provided, level);
    check_preload();
}

__attribute__((unused)) static void start(int *argc, char ***argv) {
    OK(MPI_Init(argc, argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    check_preload();
}

__attribute__((unused)) static void barrier(void) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

__attribute__((unused)) static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((unused)) static void sleep_ms(long milliseconds) {
    struct timespec wait = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&wait, &wait) != 0)
        ;
}

/* A window of cells that are zero, for which nobody has waited yet. At least 64: under MPICH 4.0.2, the control, the parts of smaller windows
 * overlap. */
__attribute__((unused)) static MPI_Win allocate_cells(int cells, long **own) {
    MPI_Win window;
    if (cells < 64)
        cells = 64;
    OK(MPI_Win_allocate((MPI_Aint)sizeof **own * cells, sizeof **own, MPI_INFO_NULL, MPI_COMM_WORLD, own, &window));
    for (int i = 0; i < cells; i++)
        (*own)[i] = 0;
    return window;
}

/* Returns errors of MPI calls to the caller, on the window and, during creation, on the communicator. */
__attribute__((unused)) static void window_returns_errors(MPI_Win window) {
    OK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
}

__attribute__((unused)) static void world_returns_errors(void) {
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
}

/* A function of this name, NULL where neither the host nor Transom has it (the _c forms under Open MPI 4). */
__attribute__((unused)) static void *function(const char *name) {
    return dlsym(RTLD_DEFAULT, name);
}

/* A scenario by name. */
struct scenario {
    const char *name;
    void (*run)(void);
};
#define SCENARIO(name) {#name, name}

__attribute__((unused)) static void choose(const struct scenario *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (name != NULL && strcmp(list[i].name, name) == 0) {
            list[i].run();
            return;
        }
    fail(__FILE__, __LINE__, "no scenario is called %s", name == NULL ? "(nothing)" : name);
}

/* MAIN(SCENARIO(a), SCENARIO(b), ...): a program that runs the scenario named by its first argument on MPI_COMM_WORLD. */
#define MAIN(...)                                                                                                           \
    int main(int argc, char **argv) {                                                                                       \
        static const struct scenario list[] = {__VA_ARGS__};                                                                \
        start(&argc, &argv);                                                                                                \
        choose(list, sizeof list / sizeof list[0], argv[1]);                                                                \
        OK(MPI_Finalize());                                                                                                 \
        return 0;                                                                                                           \
    }

#define MAIN_THREADED(level, ...)                                                                                           \
    int main(int argc, char **argv) {                                                                                       \
        static const struct scenario list[] = {__VA_ARGS__};                                                                \
        start_threaded(&argc, &argv, level);                                                                                \
        choose(list, sizeof list / sizeof list[0], argv[1]);                                                                \
        OK(MPI_Finalize());                                                                                                 \
        return 0;                                                                                                           \
    }

#endif
