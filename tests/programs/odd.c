/* Programs that use up or close descriptors, or change their user, between their calls of MPI. */
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

enum { LIMIT = 64 };
static int taken[LIMIT], takes = 0;

/* Leaves `spare` descriptors free. */
static void take_descriptors(int spare) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0, "%s", strerror(errno));
    limit.rlim_cur = LIMIT;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0, "%s", strerror(errno));
    for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;)
        taken[takes++] = fd;
    CHECK(takes >= spare, "only %d were free", takes);
    while (spare-- > 0)
        close(taken[--takes]);
}

static void give_descriptors_back(void) {
    while (takes > 0)
        close(taken[--takes]);
}

/* The host has made its connections before descriptors become scarce. */
static void connect_all(void) {
    int all = 0;
    OK(MPI_Allgather(&rank, 1, MPI_INT, (int[LIMIT]){0}, 1, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

/* Makes a window that may fail, and checks that it does so on all ranks or on none. `after` undoes what made it hard. */
static void all_or_none(void (*after)(void)) {
    long *base;
    MPI_Win window = MPI_WIN_NULL;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    int class = class_of(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    after();
    int lowest, highest;
    OK(MPI_Allreduce(&class, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&class, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(lowest == highest, "class %d here, %d to %d elsewhere", class, lowest, highest);
    if (class == MPI_SUCCESS) {
        OK(MPI_Win_fence(0, window));
        OK(MPI_Win_free(&window));
    }
}

static void no_descriptor_left_at_one_rank(void) {
    connect_all();
    if (rank == 1)
        take_descriptors(0);
    all_or_none(give_descriptors_back);
}

static void become_root_again(void) {
    if (geteuid() != getuid())
        CHECK(seteuid(getuid()) == 0, "%s", strerror(errno));
}

static void another_user_at_one_rank(void) {
    connect_all();
    if (rank == 1 && getuid() == 0)
        CHECK(seteuid(65534) == 0, "%s", strerror(errno));
    all_or_none(become_root_again);
}

/* Fences for which rank 0 waits much longer than it takes to look whether anybody has died. */
static void long_fences(MPI_Win window) {
    for (int round = 0; round < 2; round++) {
        if (rank == 1)
            sleep_ms(500);
        OK(MPI_Win_fence(0, window));
    }
}

static void hardly_a_descriptor_in_a_long_wait(void) {
    long *base;
    MPI_Win window;
    connect_all();
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    for (int spare = 0; spare < 3; spare++) {
        if (rank == 0)
            take_descriptors(spare);
        long_fences(window);
        give_descriptors_back();
    }
    OK(MPI_Win_free(&window));
}

static int descriptors(void) {
    int open_ones = 0;
    for (int fd = 0; fd < 1024; fd++)
        open_ones += fcntl(fd, F_GETFD) >= 0;
    return open_ones;
}

static void long_waits_keep_no_descriptor(void) {
    long *base;
    MPI_Win window;
    connect_all();
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    OK(MPI_Win_fence(0, window));
    int before = descriptors();
    long_fences(window);
    CHECK(descriptors() == before, "%d descriptors, %d before", descriptors(), before);
    OK(MPI_Win_free(&window));
}

int main(int argc, char **argv) {
    static const struct scenario list[] = {SCENARIO(no_descriptor_left_at_one_rank), SCENARIO(another_user_at_one_rank),
                                           SCENARIO(hardly_a_descriptor_in_a_long_wait), SCENARIO(long_waits_keep_no_descriptor)};
    start(&argc, &argv);
    choose(list, sizeof list / sizeof list[0], argv[1]);
    OK(MPI_Finalize());
    return 0;
}
