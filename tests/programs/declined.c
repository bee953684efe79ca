/* Windows that Transom leaves to the host must work as the host's do. */
#include "check.h"

/* Each rank's value travels to its right neighbour: by fence, by lock and by lock_all. */
static void check_window(MPI_Win window) {
    int right = (rank + 1) % ranks;
    for (int round = 0; round < 3; round++) {
        long value = 100 * round + rank, back = -1;
        OK(MPI_Win_fence(0, window));
        OK(MPI_Put(&value, 1, MPI_LONG, right, 3, 1, MPI_LONG, window));
        OK(MPI_Win_fence(0, window));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window));
        OK(MPI_Get(&back, 1, MPI_LONG, right, 3, 1, MPI_LONG, window));
        OK(MPI_Win_unlock(right, window));
        CHECK(back == value, "%ld of %ld", back, value);
        back = -1;
        OK(MPI_Win_lock_all(0, window));
        OK(MPI_Get(&back, 1, MPI_LONG, right, 3, 1, MPI_LONG, window));
        OK(MPI_Win_flush(right, window));
        OK(MPI_Win_unlock_all(window));
        CHECK(back == value, "%ld of %ld", back, value);
    }
}

static void check_all_of(MPI_Win window) {
    long one = 1;
    check_window(window);
    OK(MPI_Win_fence(0, window));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 5, 1, MPI_LONG, MPI_SUM, window));
    OK(MPI_Win_fence(0, window));
    long sum = -1;
    OK(MPI_Get(&sum, 1, MPI_LONG, 0, 5, 1, MPI_LONG, window));
    OK(MPI_Win_fence(0, window));
    CHECK(sum == ranks, "%ld of %d", sum, ranks);
}

static void check_and_free(MPI_Win window) {
    check_all_of(window);
    OK(MPI_Win_free(&window));
    CHECK(window == MPI_WIN_NULL, "the handle survives MPI_Win_free");
}

enum { CELLS = 1000 };

static void on_malloc(void) {
    long *memory = calloc(CELLS, sizeof *memory);
    MPI_Win window;
    OK(MPI_Win_create(memory, CELLS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    check_and_free(window);
    free(memory);
}

static void on_the_stack(void) {
    long memory[CELLS] = {0};
    MPI_Win window;
    OK(MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    check_and_free(window);
}

/* Memory of MPI_Alloc_mem everywhere but on one rank: all decline, or all would have to serve what one cannot. */
static void on_malloc_at_one_rank(void) {
    long *memory;
    MPI_Win window;
    if (rank == ranks - 1)
        memory = malloc(CELLS * sizeof *memory);
    else
        OK(MPI_Alloc_mem(CELLS * sizeof *memory, MPI_INFO_NULL, &memory));
    memset(memory, 0, CELLS * sizeof *memory);
    OK(MPI_Win_create(memory, CELLS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    check_and_free(window);
    if (rank == ranks - 1)
        free(memory);
    else
        OK(MPI_Free_mem(memory));
}

static void dynamic(void) {
    long *memory = calloc(CELLS, sizeof *memory);
    MPI_Aint address, of_right;
    MPI_Win window;
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    OK(MPI_Win_attach(window, memory, CELLS * sizeof *memory));
    OK(MPI_Get_address(memory, &address));
    OK(MPI_Sendrecv(&address, 1, MPI_AINT, left, 0, &of_right, 1, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    long value = 70 + rank;
    OK(MPI_Win_fence(0, window));
    OK(MPI_Put(&value, 1, MPI_LONG, right, MPI_Aint_add(of_right, 8 * 11), 1, MPI_LONG, window));
    OK(MPI_Win_fence(0, window));
    CHECK(memory[11] == 70 + left, "%ld", memory[11]);
    OK(MPI_Win_detach(window, memory));
    OK(MPI_Win_free(&window));
    free(memory);
}

static MPI_Info host_info(int asked) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    if (asked)
        OK(MPI_Info_set(info, "transom", "host"));
    return info;
}

/* The info key on one rank is enough for all. */
static void asked_for_by_one_rank(void) {
    for (int asking = 0; asking < ranks; asking++)
        for (int shared = 0; shared < 2; shared++) {
            long *memory;
            MPI_Win window;
            MPI_Info info = host_info(rank == asking);
            if (shared)
                OK(MPI_Win_allocate_shared(CELLS * sizeof *memory, sizeof *memory, info, MPI_COMM_WORLD, &memory, &window));
            else
                OK(MPI_Win_allocate(CELLS * sizeof *memory, sizeof *memory, info, MPI_COMM_WORLD, &memory, &window));
            memset(memory, 0, CELLS * sizeof *memory);
            OK(MPI_Info_free(&info));
            barrier();
            check_and_free(window);
        }
}

/* Five windows of which the host gets two, for the line at the end. */
static void two_of_five(void) {
    long *memory[5];
    MPI_Win windows[5];
    MPI_Info host = host_info(1), usual = host_info(0);
    for (int i = 0; i < 5; i++)
        OK(MPI_Win_allocate(CELLS * 8, 8, i % 2 ? host : usual, MPI_COMM_WORLD, &memory[i], &windows[i]));
    long value = rank;
    for (int i = 0; i < 5; i++) {
        OK(MPI_Win_fence(0, windows[i]));
        OK(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % ranks, 9, 1, MPI_LONG, windows[i]));
        OK(MPI_Win_fence(0, windows[i]));
        CHECK(memory[i][9] == (rank + ranks - 1) % ranks, "window %d: %ld", i, memory[i][9]);
        OK(MPI_Win_free(&windows[i]));
    }
    OK(MPI_Info_free(&host));
    OK(MPI_Info_free(&usual));
}

/* With TRANSOM_REQUIRE=1 what would be declined is an error of its creation, on all ranks, and what would not be works. */
static void required(void) {
    long *base;
    MPI_Win window;
    MPI_Info info = host_info(rank == 0);
    world_returns_errors();
    int codes[] = {MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window),
                   MPI_Win_allocate(800, 8, info, MPI_COMM_WORLD, &base, &window)};
    for (int i = 0; i < 2; i++)
        CHECK(codes[i] != MPI_SUCCESS && strstr(string_of(codes[i]), "TRANSOM_REQUIRE") != NULL, "creation %d: class %d: %s", i,
              class_of(codes[i]), string_of(codes[i]));
    OK(MPI_Win_allocate(800, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    OK(MPI_Win_free(&window));
    OK(MPI_Info_free(&info));
}

/* The same for private memory that the ranks may not reach. */
static void required_to_reach(void) {
    long *memory = calloc(CELLS, sizeof *memory), *base;
    MPI_Win window;
    world_returns_errors();
    int code = MPI_Win_create(memory, CELLS * sizeof *memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    CHECK(code != MPI_SUCCESS && strstr(string_of(code), "process_vm_readv") != NULL, "class %d: %s", class_of(code), string_of(code));
    OK(MPI_Win_allocate(CELLS * sizeof *base, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    memset(base, 0, CELLS * sizeof *base);
    barrier();
    check_and_free(window);
    free(memory);
}

/* Windows of every flavour, for ranks of which some are without Transom or switched it off. */
static void whatever_the_others_have(void) {
    long *memory;
    MPI_Win window;
    OK(MPI_Win_allocate(CELLS * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    memset(memory, 0, CELLS * 8);
    barrier();
    check_window(window);
    OK(MPI_Win_free(&window));
    OK(MPI_Win_allocate_shared(CELLS * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    memset(memory, 0, CELLS * 8);
    barrier();
    check_window(window);
    OK(MPI_Win_free(&window));
    OK(MPI_Alloc_mem(CELLS * 8, MPI_INFO_NULL, &memory));
    memset(memory, 0, CELLS * 8);
    OK(MPI_Win_create(memory, CELLS * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    check_window(window);
    OK(MPI_Win_free(&window));
    OK(MPI_Free_mem(memory));
    /* A communicator of which all have Transom is served, whatever the rest of the world has. */
    OK(MPI_Win_allocate(CELLS * 8, 8, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &window));
    memory[0] = 5;
    long back = 0;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    OK(MPI_Get(&back, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window));
    OK(MPI_Win_unlock(0, window));
    CHECK(back == 5, "%ld", back);
    OK(MPI_Win_free(&window));
}

/* Windows of an inter-communicator do not exist in MPI. */
static void on_an_intercommunicator(void) {
    MPI_Comm half, both;
    void *base;
    MPI_Win window = MPI_WIN_NULL;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both));
    OK(MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN));
    int code = MPI_Win_allocate(64, 8, MPI_INFO_NULL, both, &base, &window);
    CHECK(code != MPI_SUCCESS, "a window on an inter-communicator");
    OK(MPI_Comm_free(&both));
    OK(MPI_Comm_free(&half));
}

/* One rank reaches MPI_Init three seconds after the others. Its number is known before that, from its launcher. */
static void wait_if_late(int argc, char **argv) {
    const char *variables[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK"};
    if (argc < 3 || strcmp(argv[2], "late") != 0)
        return;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (getenv(variables[i]) != NULL && strcmp(getenv(variables[i]), "1") == 0)
            sleep_ms(3000);
}

int main(int argc, char **argv) {
    static const struct scenario list[] = {SCENARIO(on_malloc),
                                           SCENARIO(on_the_stack),
                                           SCENARIO(on_malloc_at_one_rank),
                                           SCENARIO(dynamic),
                                           SCENARIO(asked_for_by_one_rank),
                                           SCENARIO(two_of_five),
                                           SCENARIO(required),
                                           SCENARIO(required_to_reach),
                                           SCENARIO(whatever_the_others_have),
                                           SCENARIO(on_an_intercommunicator)};
    wait_if_late(argc, argv);
    start(&argc, &argv);
    choose(list, sizeof list / sizeof list[0], argv[1]);
    OK(MPI_Finalize());
    return 0;
}
