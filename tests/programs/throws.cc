// Error handlers that leave by an exception: of a window, at its errors and when the program calls them; of a communicator, while a window is
// made. What stands between is destroyed, and MPI can be used as before.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <cstdio>
#include <mpi.h>

static int rank, ranks;

static void check(bool condition, int line, const char *text) {
    if (!condition) {
        std::fprintf(stderr, "throws.cc:%d: rank %d: %s\n", line, rank, text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CHECK(condition) check(condition, __LINE__, #condition)
#define OK(call) check((call) == MPI_SUCCESS, __LINE__, #call)

struct Failure {
    int code;
};

static int destroyed;

struct Witness {
    ~Witness() { destroyed++; }
};

static void of_window(MPI_Win *, int *code, ...) {
    Witness witness;
    throw Failure{*code};
}

static void of_comm(MPI_Comm *, int *code, ...) {
    Witness witness;
    throw Failure{*code};
}

// The class of what the call throws; each throw passes two witnesses.
template <typename Call> static int thrown(Call call) {
    int before = destroyed, code = MPI_SUCCESS, error_class;
    try {
        Witness witness;
        call();
    } catch (const Failure &failure) {
        code = failure.code;
    }
    CHECK(destroyed == before + 2);
    MPI_Error_class(code, &error_class);
    return error_class;
}

int main(int argc, char **argv) {
    long *memory, sent, back = -1;
    MPI_Win window;
    MPI_Comm comm;
    MPI_Errhandler windows, comms;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Win_create_errhandler(of_window, &windows));
    OK(MPI_Comm_create_errhandler(of_comm, &comms));
    OK(MPI_Comm_set_errhandler(comm, comms));
    for (int round = 0; round < 50; round++) {
        int failed = thrown([&] { MPI_Win_allocate(-64, 8, MPI_INFO_NULL, comm, &memory, &window); });
        CHECK(failed == MPI_ERR_SIZE || failed == MPI_ERR_ARG);
        OK(MPI_Win_allocate(1024, 8, MPI_INFO_NULL, comm, &memory, &window));
        OK(MPI_Win_set_errhandler(window, windows));
        CHECK(thrown([&] { MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, window); }) == MPI_ERR_RANK);
        CHECK(thrown([&] { MPI_Win_call_errhandler(window, MPI_ERR_OTHER); }) == MPI_ERR_OTHER);
        int right = (rank + 1) % ranks;
        sent = 100 * round + rank;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window));
        CHECK(thrown([&] { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, ranks, 0, window); }) == MPI_ERR_RANK);
        OK(MPI_Put(&sent, 1, MPI_LONG, right, 3, 1, MPI_LONG, window));
        OK(MPI_Win_flush(right, window));
        OK(MPI_Get(&back, 1, MPI_LONG, right, 3, 1, MPI_LONG, window));
        OK(MPI_Win_unlock(right, window));
        CHECK(back == sent);
        OK(MPI_Win_free(&window));
    }
    OK(MPI_Errhandler_free(&windows));
    OK(MPI_Errhandler_free(&comms));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Finalize());
    return 0;
}
