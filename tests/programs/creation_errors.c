/* A creation that cannot succeed ends on all ranks alike, and leaves the communicator as it was. */
#include "check.h"

/* What one rank passes. */
struct wish {
    MPI_Aint size;
    int unit;
};

static const struct wish good = {64, 8};

typedef int creation(struct wish wish, MPI_Win *window);

static int allocate(struct wish wish, MPI_Win *window) {
    void *base;
    return MPI_Win_allocate(wish.size, wish.unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, window);
}

static int allocate_shared(struct wish wish, MPI_Win *window) {
    void *base;
    return MPI_Win_allocate_shared(wish.size, wish.unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, window);
}

static void *memory;

static int create(struct wish wish, MPI_Win *window) {
    return MPI_Win_create(memory, wish.size, wish.unit, MPI_INFO_NULL, MPI_COMM_WORLD, window);
}

static creation *const flavours[] = {allocate, allocate_shared, create};
enum { FLAVOURS = 3 };

/* All ranks see the same class, one of two; a window made afterwards works. */
static void check_failure(creation *make, struct wish wish, int class, int or_class) {
    MPI_Win window = MPI_WIN_NULL;
    int code = make(wish, &window), found = class_of(code), lowest, highest;
    CHECK(code != MPI_SUCCESS, "size %ld, unit %d: succeeded", (long)wish.size, wish.unit);
    OK(MPI_Allreduce(&found, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&found, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(lowest == highest, "classes from %d to %d", lowest, highest);
    CHECK(found == class || found == or_class, "class %d (%s), not %d", found, string_of(code), class);
    OK(make(good, &window));
    long value = 10 + rank, back = 0;
    OK(MPI_Win_fence(0, window));
    OK(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % ranks, 2, 1, MPI_LONG, window));
    OK(MPI_Win_fence(0, window));
    OK(MPI_Get(&back, 1, MPI_LONG, (rank + 1) % ranks, 2, 1, MPI_LONG, window));
    OK(MPI_Win_fence(0, window));
    CHECK(back == value, "%ld of %ld", back, value);
    OK(MPI_Win_free(&window));
}

static struct wish of_one(int culprit, struct wish bad) {
    return rank == culprit ? bad : good;
}

static void negative_size_on_one_rank(void) {
    for (int i = 0; i < FLAVOURS; i++)
        for (int culprit = 0; culprit < ranks; culprit++)
            check_failure(flavours[i], of_one(culprit, (struct wish){-1, 8}), MPI_ERR_SIZE, MPI_ERR_ARG);
}

static void bad_unit_on_one_rank(void) {
    for (int i = 0; i < FLAVOURS; i++)
        for (int culprit = 0; culprit < ranks; culprit++) {
            check_failure(flavours[i], of_one(culprit, (struct wish){64, 0}), MPI_ERR_DISP, MPI_ERR_ARG);
            check_failure(flavours[i], of_one(culprit, (struct wish){64, -8}), MPI_ERR_DISP, MPI_ERR_ARG);
        }
}

static void bad_on_all_ranks(void) {
    for (int i = 0; i < FLAVOURS; i++) {
        check_failure(flavours[i], (struct wish){-64, 8}, MPI_ERR_SIZE, MPI_ERR_ARG);
        check_failure(flavours[i], (struct wish){64, 0}, MPI_ERR_DISP, MPI_ERR_ARG);
    }
}

/* Two ranks err in different ways: still one class for all. */
static void two_mistakes(void) {
    for (int i = 0; i < FLAVOURS; i++) {
        struct wish wish = rank == 0 ? (struct wish){-1, 8} : rank == 1 ? (struct wish){64, 0} : good;
        check_failure(flavours[i], wish, MPI_ERR_SIZE, MPI_ERR_DISP);
    }
}

/* More memory than any machine has, on one rank and on all. */
static void no_memory(void) {
    const MPI_Aint sizes[] = {(MPI_Aint)1 << 60, INT64_MAX, INT64_MAX - 4096};
    for (int i = 0; i < 2; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            check_failure(flavours[i], of_one(ranks - 1, (struct wish){sizes[s], 1}), MPI_ERR_NO_MEM, MPI_ERR_SIZE);
            check_failure(flavours[i], (struct wish){sizes[s], 1}, MPI_ERR_NO_MEM, MPI_ERR_SIZE);
        }
    void *base;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int code = MPI_Alloc_mem(sizes[s], MPI_INFO_NULL, &base);
        CHECK(class_of(code) == MPI_ERR_NO_MEM, "MPI_Alloc_mem of %ld: class %d", (long)sizes[s], class_of(code));
    }
}

/* Failures by the hundred cost neither memory nor handles that later windows need. */
static void many_failures(void) {
    for (int round = 0; round < 300; round++) {
        MPI_Win window;
        int code = flavours[round % FLAVOURS](of_one(round % ranks, (struct wish){-1, 8}), &window);
        CHECK(code != MPI_SUCCESS, "round %d succeeded", round);
    }
    check_failure(allocate, of_one(0, (struct wish){-1, 8}), MPI_ERR_SIZE, MPI_ERR_ARG);
}

static void not_a_communicator(void) {
    void *base;
    MPI_Win window;
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_COMM, MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_NULL, &base, &window));
    FAILS(MPI_ERR_COMM, MPI_Win_allocate_shared(64, 8, MPI_INFO_NULL, MPI_COMM_NULL, &base, &window));
    FAILS(MPI_ERR_COMM, MPI_Win_create(memory, 64, 8, MPI_INFO_NULL, MPI_COMM_NULL, &window));
}

/* An error during creation is the communicator's, and by default ends the job. */
static void default_is_fatal(void) {
    MPI_Win window;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    allocate((struct wish){-1, 8}, &window);
    printf("lived on\n");
    fflush(stdout);
}

static int handler_calls;

static void handler(MPI_Comm *comm, int *code, ...) {
    handler_calls += *comm == MPI_COMM_WORLD && class_of(*code) != MPI_SUCCESS;
}

static void goes_to_the_communicators_handler(void) {
    MPI_Errhandler counting;
    OK(MPI_Comm_create_errhandler(handler, &counting));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting));
    OK(MPI_Errhandler_free(&counting));
    for (int round = 1; round <= 5; round++) {
        MPI_Win window;
        int code = flavours[round % FLAVOURS](of_one(0, (struct wish){-1, 8}), &window);
        CHECK(code != MPI_SUCCESS && handler_calls == round, "round %d: %d calls", round, handler_calls);
    }
}

int main(int argc, char **argv) {
    static const struct scenario list[] = {SCENARIO(negative_size_on_one_rank),
                                           SCENARIO(bad_unit_on_one_rank),
                                           SCENARIO(bad_on_all_ranks),
                                           SCENARIO(two_mistakes),
                                           SCENARIO(no_memory),
                                           SCENARIO(many_failures),
                                           SCENARIO(not_a_communicator),
                                           SCENARIO(default_is_fatal),
                                           SCENARIO(goes_to_the_communicators_handler)};
    start(&argc, &argv);
    OK(MPI_Alloc_mem(64, MPI_INFO_NULL, &memory));
    world_returns_errors();
    choose(list, sizeof list / sizeof list[0], argv[1]);
    OK(MPI_Free_mem(memory));
    OK(MPI_Finalize());
    return 0;
}
