// MPI-2's C++ bindings, as MPICH still builds them: handlers and attribute callbacks are called with objects of C++'s classes, which only the
// bindings' proxies can make. What is called as if it were written in C crashes on its first argument.
#include <cstdio>
#include <mpi.h>
#include <string_view>

namespace {

int rank;

#define CHECK(condition)                                                                                                    \
    do {                                                                                                                    \
        if (!(condition)) {                                                                                                 \
            std::fprintf(stderr, "bindings.cc:%d: rank %d: %s\n", __LINE__, rank, #condition);                              \
            MPI::COMM_WORLD.Abort(1);                                                                                       \
        }                                                                                                                   \
    } while (0)

MPI::Win window;
int handled, deleted, handled_class;

void handle(MPI::Win &of, int *code, ...) {
    CHECK(of == window);
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    of.Get_name(name, length);
    CHECK(std::string_view(name, static_cast<std::size_t>(length)) == "of C++");
    handled_class = MPI::Get_error_class(*code);
    ++handled;
}

int remove(MPI::Win &of, int, void *value, void *extra) {
    CHECK(of == window);
    CHECK(value == &handled && extra == &deleted);
    ++deleted;
    return MPI::SUCCESS;
}

} // namespace

int main(int argc, char **argv) {
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    int ranks = MPI::COMM_WORLD.Get_size();

    long cells[4] = {};
    window = MPI::Win::Create(cells, sizeof cells, sizeof *cells, MPI::INFO_NULL, MPI::COMM_WORLD);
    window.Set_name("of C++");
    MPI::Errhandler handler = MPI::Win::Create_errhandler(handle);
    window.Set_errhandler(handler);
    MPI::Errhandler same = window.Get_errhandler();
    CHECK(same == handler);
    same.Free();
    handler.Free();

    // By the program's own call, and by an operation that is refused. The bindings then throw nothing: the handler is not theirs.
    window.Call_errhandler(MPI::ERR_OTHER);
    CHECK(handled == 1 && handled_class == MPI::ERR_OTHER);
    long value = 40 + rank;
    window.Fence(0);
    window.Put(&value, 1, MPI::LONG, ranks, 0, 1, MPI::LONG);
    CHECK(handled == 2 && handled_class == MPI::ERR_RANK);

    // And where it is theirs, they throw.
    window.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    int thrown = MPI::SUCCESS;
    try {
        window.Put(&value, 1, MPI::LONG, -7, 0, 1, MPI::LONG);
    } catch (MPI::Exception &exception) {
        thrown = exception.Get_error_class();
    }
    CHECK(thrown == MPI::ERR_RANK && handled == 2);
    MPI::Errhandler theirs = window.Get_errhandler();
    CHECK(theirs == MPI::ERRORS_THROW_EXCEPTIONS);
    theirs.Free();

    int keyval = MPI::Win::Create_keyval(MPI::Win::NULL_COPY_FN, remove, &deleted);
    window.Set_attr(keyval, &handled);
    void *found;
    CHECK(window.Get_attr(keyval, &found) && found == &handled);
    window.Delete_attr(keyval);
    CHECK(deleted == 1);
    window.Set_attr(keyval, &handled);
    MPI::Win::Free_keyval(keyval);

    window.Put(&value, 1, MPI::LONG, (rank + 1) % ranks, 1, 1, MPI::LONG);
    window.Fence(0);
    CHECK(cells[1] == 40 + (rank + ranks - 1) % ranks);

    window.Free();
    CHECK(deleted == 2 && handled == 2);
    MPI::Finalize();
    return 0;
}
