// Error handlers that throw: an exception passes through the MPI call that failed, to the program that made it, and leaves nothing behind. The
// window, its locks, its communicator and other threads go on.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <mpi.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

int rank, ranks;

[[noreturn]] void fail(int line, const std::string &text) {
    std::fprintf(stderr, "exceptions.cc:%d: rank %d: %s\n", line, rank, text.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

#define CHECK(condition)                                                                                                    \
    do {                                                                                                                    \
        if (!(condition))                                                                                                   \
            fail(__LINE__, #condition);                                                                                     \
    } while (0)

// What handlers throw. It has a destructor, and it is not empty.
struct MpiError : std::exception {
    MPI_Win window;
    int code;
    std::string text;
    MpiError(MPI_Win of_window, int error_code) : window(of_window), code(error_code), text(MPI_MAX_ERROR_STRING, ' ') {
        int length;
        MPI_Error_string(code, &text[0], &length);
        text.resize(static_cast<std::size_t>(length));
    }
    const char *what() const noexcept override { return text.c_str(); }
    int error_class() const {
        int found;
        MPI_Error_class(code, &found);
        return found;
    }
};

void throwing(MPI_Win *window, int *code, ...) { throw MpiError(*window, *code); }
void throwing_for_communicator(MPI_Comm *, int *code, ...) { throw MpiError(MPI_WIN_NULL, *code); }

// The call must return normally.
#define OK(call)                                                                                                            \
    do {                                                                                                                    \
        try {                                                                                                               \
            if ((call) != MPI_SUCCESS)                                                                                      \
                fail(__LINE__, #call " failed");                                                                            \
        } catch (const MpiError &error) {                                                                                   \
            fail(__LINE__, #call ": " + error.text);                                                                        \
        }                                                                                                                   \
    } while (0)

// Hosts differ in the class of some errors.
enum { ANY_CLASS = -1 };

// The call must throw an error of this class for this window, and everything between must be destroyed on the way.
#define THROWS(expected, of_window, call)                                                                                   \
    do {                                                                                                                    \
        bool returned = false, destroyed = false;                                                                           \
        try {                                                                                                               \
            Notice notice{destroyed};                                                                                       \
            call;                                                                                                           \
            returned = true;                                                                                                \
        } catch (const MpiError &error) {                                                                                   \
            if ((expected) != ANY_CLASS && error.error_class() != (expected))                                                                          \
                fail(__LINE__, #call ": " #expected " is due: " + error.text);                                              \
            CHECK(error.window == (of_window));                                                                             \
        }                                                                                                                   \
        if (returned)                                                                                                       \
            fail(__LINE__, #call " threw nothing");                                                                         \
        CHECK(destroyed && std::uncaught_exceptions() == 0);                                                                \
    } while (0)

struct Notice {
    bool &destroyed;
    ~Notice() { destroyed = true; }
};

// A window of longs, all zero, whose errors are thrown.
struct Window {
    enum { CELLS = 128 };
    MPI_Win handle;
    long *own;

    Window() {
        MPI_Errhandler handler;
        OK(MPI_Win_allocate(CELLS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &handle));
        std::memset(own, 0, CELLS * sizeof(long));
        OK(MPI_Win_create_errhandler(throwing, &handler));
        OK(MPI_Win_set_errhandler(handle, handler));
        OK(MPI_Errhandler_free(&handler));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }

    int put(int target, MPI_Aint at, const long &value) const { return MPI_Put(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, handle); }

    // Every rank locks every rank alone, in turn: a lock that an exception left held would stop them.
    void check_works(long value) const {
        for (int target = 0; target < ranks; target++) {
            long back = -1;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, handle));
            OK(put(target, rank, value));
            OK(MPI_Win_flush(target, handle));
            OK(MPI_Get(&back, 1, MPI_LONG, target, rank, 1, MPI_LONG, handle));
            OK(MPI_Win_unlock(target, handle));
            CHECK(back == value);
        }
    }

    void free() {
        OK(MPI_Win_free(&handle));
        CHECK(handle == MPI_WIN_NULL);
    }
};

// The lifetime of a lock. Its end may come while an exception is on its way.
struct Lock {
    const Window &window;
    int target;
    Lock(const Window &of, int rank_of_target) : window(of), target(rank_of_target) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.handle);
    }
    ~Lock() { OK(MPI_Win_unlock(target, window.handle)); }
};

const int rounds = 100;

void from_the_programs_call() {
    Window window;
    for (int round = 0; round < rounds; round++) {
        THROWS(MPI_ERR_OTHER, window.handle, MPI_Win_call_errhandler(window.handle, MPI_ERR_OTHER));
        window.check_works(round);
    }
    window.free();
}

void from_operations() {
    Window window;
    long into = 0;
    for (int round = 0; round < rounds; round++) {
        OK(MPI_Win_lock_all(0, window.handle));
        THROWS(MPI_ERR_RANK, window.handle, window.put(ranks, 0, 1));
        THROWS(MPI_ERR_COUNT, window.handle, MPI_Get(&into, -1, MPI_LONG, 0, 0, 1, MPI_LONG, window.handle));
        OK(MPI_Win_unlock_all(window.handle));
        window.check_works(round);
    }
    window.free();
}

void out_of_range() {
    Window window;
    for (int round = 0; round < rounds; round++) {
        OK(MPI_Win_lock_all(0, window.handle));
        THROWS(MPI_ERR_RMA_RANGE, window.handle, window.put((rank + 1) % ranks, Window::CELLS, 1));
        OK(MPI_Win_unlock_all(window.handle));
        window.check_works(round);
    }
    window.free();
}

void from_locks() {
    Window window;
    for (int round = 0; round < rounds; round++) {
        THROWS(MPI_ERR_RANK, window.handle, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, ranks, 0, window.handle));
        THROWS(ANY_CLASS, window.handle, MPI_Win_lock(-77, 0, 0, window.handle));
        THROWS(MPI_ERR_RMA_SYNC, window.handle, MPI_Win_unlock(0, window.handle));
        THROWS(MPI_ERR_RMA_SYNC, window.handle, MPI_Win_unlock_all(window.handle));
        window.check_works(round);
    }
    window.free();
}

void from_epochs_that_do_not_fit() {
    Window window;
    for (int round = 0; round < rounds; round++) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window.handle));
        THROWS(MPI_ERR_RMA_SYNC, window.handle, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window.handle));
        THROWS(MPI_ERR_RMA_SYNC, window.handle, MPI_Win_lock_all(0, window.handle));
        THROWS(MPI_ERR_RMA_SYNC, window.handle, MPI_Win_fence(0, window.handle));
        THROWS(MPI_ERR_RANK, window.handle, MPI_Win_flush(ranks, window.handle));
        // A window that cannot be freed yet is none the worse for it.
        MPI_Win copy = window.handle;
        THROWS(MPI_ERR_RMA_SYNC, window.handle, MPI_Win_free(&copy));
        CHECK(copy == window.handle);
        OK(MPI_Win_unlock(rank, window.handle));
        THROWS(MPI_ERR_RMA_SYNC, window.handle, MPI_Win_flush(rank, window.handle));
        window.check_works(round);
    }
    window.free();
}

// Locks end while the exception passes them.
void through_a_lock() {
    Window window;
    for (int round = 0; round < rounds; round++) {
        int target = (rank + round) % ranks;
        THROWS(MPI_ERR_RANK, window.handle, {
            Lock lock(window, target);
            window.put(target, rank, 1);
            window.put(ranks, rank, 1);
        });
        window.check_works(round);
    }
    window.free();
}

void from_attributes() {
    Window window;
    MPI_Aint size = 1, *found;
    for (int round = 0; round < rounds; round++) {
        int flag = 0;
        THROWS(ANY_CLASS, window.handle, MPI_Win_set_attr(window.handle, MPI_KEYVAL_INVALID, &size));
        THROWS(ANY_CLASS, window.handle, MPI_Win_get_attr(window.handle, MPI_KEYVAL_INVALID, &found, &flag));
        THROWS(ANY_CLASS, window.handle, MPI_Win_set_attr(window.handle, MPI_WIN_SIZE, &size));
        THROWS(ANY_CLASS, window.handle, MPI_Win_delete_attr(window.handle, MPI_WIN_BASE));
        OK(MPI_Win_get_attr(window.handle, MPI_WIN_SIZE, &found, &flag));
        CHECK(flag && *found == Window::CELLS * sizeof(long));
        window.check_works(round);
    }
    window.free();
}

// There is no window yet, so the communicator's handler throws; then the communicator makes one.
void from_creation() {
    MPI_Comm comm;
    MPI_Errhandler handler;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(throwing_for_communicator, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Errhandler_free(&handler));
    for (int round = 0; round < rounds; round++) {
        MPI_Win window;
        long *own;
        THROWS(MPI_ERR_SIZE, MPI_WIN_NULL, MPI_Win_allocate(-1, 1, MPI_INFO_NULL, comm, &own, &window));
        THROWS(MPI_ERR_SIZE, MPI_WIN_NULL, MPI_Win_create(nullptr, -1, 1, MPI_INFO_NULL, comm, &window));
        OK(MPI_Win_allocate(1024, 8, MPI_INFO_NULL, comm, &own, &window));
        OK(MPI_Win_free(&window));
    }
    OK(MPI_Comm_free(&comm));
}

// One thread's exceptions stop no other thread, on the same window or another.
void in_a_thread() {
    Window one, other;
    std::atomic<bool> stop{false};
    std::thread throws([&] {
        for (int round = 0; !stop || round < rounds; round++) {
            const Window &window = round % 2 ? one : other;
            THROWS(MPI_ERR_RANK, window.handle, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, ranks, 0, window.handle));
            THROWS(MPI_ERR_OTHER, window.handle, MPI_Win_call_errhandler(window.handle, MPI_ERR_OTHER));
        }
    });
    for (int round = 0; round < 5 * rounds; round++)
        one.check_works(round);
    stop = true;
    throws.join();
    one.check_works(-1);
    other.check_works(-1);
    one.free();
    other.free();
}

const struct {
    const char *name;
    void (*run)();
    int level;
} scenarios[] = {
    {"from_the_programs_call", from_the_programs_call, MPI_THREAD_SINGLE},
    {"from_operations", from_operations, MPI_THREAD_SINGLE},
    {"out_of_range", out_of_range, MPI_THREAD_SINGLE},
    {"from_locks", from_locks, MPI_THREAD_SINGLE},
    {"from_epochs_that_do_not_fit", from_epochs_that_do_not_fit, MPI_THREAD_SINGLE},
    {"through_a_lock", through_a_lock, MPI_THREAD_SINGLE},
    {"from_attributes", from_attributes, MPI_THREAD_SINGLE},
    {"from_creation", from_creation, MPI_THREAD_SINGLE},
    {"in_a_thread", in_a_thread, MPI_THREAD_MULTIPLE},
};

} // namespace

int main(int argc, char **argv) {
    for (const auto &scenario : scenarios) {
        if (argc != 2 || std::strcmp(argv[1], scenario.name) != 0)
            continue;
        int provided;
        OK(MPI_Init_thread(&argc, &argv, scenario.level, &provided));
        OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
        OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
        CHECK(provided >= scenario.level);
        // The calls must reach Transom when it was put in front.
        if (std::getenv("EXPECT_TRANSOM") != nullptr) {
            Dl_info found;
            void *put = dlsym(RTLD_DEFAULT, "MPI_Put");
            CHECK(put != nullptr && dladdr(put, &found) != 0 && std::strstr(found.dli_fname, "libtransom.so") != nullptr);
        }
        scenario.run();
        OK(MPI_Finalize());
        return 0;
    }
    std::fprintf(stderr, "no scenario is called %s\n", argc == 2 ? argv[1] : "(nothing)");
    return 1;
}
