/* The direct path makes no system call and allocates nothing. A thread of its own runs the loop under a seccomp filter that traps every
 * system call, while this program's malloc and its kin count the calls of that thread, whichever object of the process makes them. */
#include "check.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* glibc's own, under the names that they keep when another object defines malloc. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static __thread int counting;
static volatile long allocations, system_calls, last_system_call = -1;

static void count_allocation(void) {
    if (counting)
        allocations++;
}

void *malloc(size_t size) {
    count_allocation();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_allocation();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    count_allocation();
    return __libc_realloc(block, size);
}

void free(void *block) {
    count_allocation();
    __libc_free(block);
}

void *memalign(size_t alignment, size_t size) {
    count_allocation();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block == NULL ? ENOMEM : 0;
}

static void trapped(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    system_calls++;
    last_system_call = info->si_syscall;
}

/* From now on this thread's system calls raise SIGSYS, but for the two that leave the handler and the thread. */
static void trap_system_calls(void) {
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof instructions / sizeof instructions[0], instructions};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "%s", strerror(errno));
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "no seccomp filter: %s", strerror(errno));
}

static MPI_Win window;
static long *own;
enum { CELLS = 512 };

static void allocated(void) {
    OK(MPI_Win_allocate(CELLS * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
}

static void shared(void) {
    OK(MPI_Win_allocate_shared(CELLS * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
}

static void created(void) {
    OK(MPI_Alloc_mem(CELLS * sizeof *own, MPI_INFO_NULL, &own));
    OK(MPI_Win_create(own, CELLS * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
}

/* The first use of a datatype builds what its later uses find. */
static void use_types(void) {
    const MPI_Datatype types[] = {MPI_LONG, MPI_CHAR, MPI_BYTE, MPI_INT};
    char buffer[8] = {0};
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window));
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        OK(MPI_Put(buffer, 1, types[i], rank, 0, 1, types[i], window));
    OK(MPI_Win_unlock(rank, window));
}

/* The loop leaves by itself, without anything that could be trapped: by a code of the first call that failed, or a wrong value. */
static volatile int failed_call = MPI_SUCCESS, wrong_round = -1;

#define STEP(call)                                                                                                          \
    do {                                                                                                                    \
        int code = (call);                                                                                                  \
        if (code != MPI_SUCCESS) {                                                                                          \
            failed_call = code;                                                                                             \
            return;                                                                                                         \
        }                                                                                                                   \
    } while (0)

static const int rounds = 1000000;

static void put_and_flush(int target) {
    STEP(MPI_Win_lock_all(0, window));
    for (long round = 0; round < rounds; round++) {
        STEP(MPI_Put(&round, 1, MPI_LONG, target, rank, 1, MPI_LONG, window));
        STEP(MPI_Win_flush(target, window));
    }
    STEP(MPI_Win_unlock_all(window));
}

static void get_and_flush(int target) {
    STEP(MPI_Win_lock_all(0, window));
    for (int round = 0; round < rounds; round++) {
        long back = -1;
        STEP(MPI_Get(&back, 1, MPI_LONG, target, rank, 1, MPI_LONG, window));
        STEP(MPI_Win_flush(target, window));
        if (back != rounds - 1)
            wrong_round = round;
    }
    STEP(MPI_Win_unlock_all(window));
}

/* Each rank locks another's memory, so that nobody waits: a wait may make system calls. */
static void lock_and_unlock(int target) {
    for (int round = 0; round < rounds; round++) {
        STEP(MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, window));
        STEP(MPI_Win_unlock(target, window));
    }
}

/* Larger transfers, the other forms of flush, a contiguous type, memory synchronisation, attributes. */
static void everything_else(int target) {
    static char large[CELLS * 4];
    void *base;
    int flag;
    STEP(MPI_Win_lock_all(0, window));
    for (int round = 0; round < rounds / 100; round++) {
        STEP(MPI_Put(large, sizeof large, MPI_CHAR, target, CELLS / 4, sizeof large, MPI_CHAR, window));
        STEP(MPI_Win_flush_local(target, window));
        STEP(MPI_Get(large, sizeof large, MPI_BYTE, target, CELLS / 4, sizeof large, MPI_BYTE, window));
        STEP(MPI_Win_flush_local_all(window));
        STEP(MPI_Win_flush_all(window));
        STEP(MPI_Win_sync(window));
        STEP(MPI_Put(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, 0, MPI_INT, window));
        STEP(MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flag));
    }
    STEP(MPI_Win_unlock_all(window));
}

/* Accumulates of every kind, element by element, on a cell of this rank's own. */
static void accumulates(int target) {
    long one = 1, old = 0, zero = 0;
    MPI_Aint cell = rank * 2;
    STEP(MPI_Win_lock_all(0, window));
    for (long round = 0; round < rounds / 10; round++) {
        STEP(MPI_Accumulate(&one, 1, MPI_LONG, target, cell, 1, MPI_LONG, MPI_REPLACE, window));
        STEP(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, cell, MPI_SUM, window));
        STEP(MPI_Win_flush(target, window));
        if (old != 1)
            wrong_round = (int)round;
        STEP(MPI_Get_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, target, cell, 1, MPI_LONG, MPI_SUM, window));
        STEP(MPI_Win_flush_local(target, window));
        if (old != 2)
            wrong_round = (int)round;
        one = 3;
        STEP(MPI_Compare_and_swap(&zero, &one, &old, MPI_LONG, target, cell, window));
        STEP(MPI_Win_flush(target, window));
        if (old != 3)
            wrong_round = (int)round;
        one = 1;
    }
    STEP(MPI_Win_unlock_all(window));
}

/* Many elements under stripes. Only one rank: two that draw the same stripe wait for each other. */
static void bulk_accumulates(int target) {
    enum { MANY = 256 };
    static long ones[MANY], found[MANY];
    if (rank != 0)
        return;
    STEP(MPI_Win_lock_all(0, window));
    for (long round = 0; round < rounds / 10; round++) {
        STEP(MPI_Accumulate(ones, MANY, MPI_LONG, target, 8, MANY, MPI_LONG, MPI_SUM, window));
        STEP(MPI_Get_accumulate(ones, MANY, MPI_LONG, found, MANY, MPI_LONG, target, 8, MANY, MPI_LONG, MPI_NO_OP, window));
        STEP(MPI_Win_flush_all(window));
    }
    STEP(MPI_Win_unlock_all(window));
}

static volatile int filter_works, counter_works;

struct loop {
    const char *name;
    void (*run)(int target);
    int target;
};

static void *measured(void *argument) {
    const struct loop *loop = argument;
    /* Both instruments must see what they are there to see. The allocator makes system calls itself, for a new thread. */
    counting = 1;
    void *volatile block = malloc(1);
    free(block);
    counter_works = allocations == 2;
    trap_system_calls();
    syscall(SYS_getppid);
    filter_works = system_calls == 1 && last_system_call == SYS_getppid;
    allocations = system_calls = 0;
    last_system_call = -1;
    loop->run(loop->target);
    counting = 0;
    /* The usual end of a thread gives its stack back. */
    syscall(SYS_exit, 0);
    return NULL;
}

/* Ranks meet before and after each loop, so that none holds a lock that another's loop would wait for: a wait sleeps. */
static void measure(struct loop loop) {
    pthread_t thread;
    filter_works = counter_works = 0;
    barrier();
    CHECK(pthread_create(&thread, NULL, measured, &loop) == 0, "no thread");
    pthread_join(thread, NULL);
    CHECK(filter_works && counter_works, "system calls are trapped: %d, allocations are counted: %d", filter_works, counter_works);
    CHECK(failed_call == MPI_SUCCESS, "%s of %d: class %d: %s", loop.name, loop.target, class_of(failed_call), string_of(failed_call));
    CHECK(wrong_round == -1, "%s of %d: round %d got a wrong value", loop.name, loop.target, wrong_round);
    CHECK(system_calls == 0, "%s of %d: %ld system calls, the last was number %ld", loop.name, loop.target, system_calls, last_system_call);
    CHECK(allocations == 0, "%s of %d: %ld calls of malloc and its kin", loop.name, loop.target, allocations);
    barrier();
}

int main(int argc, char **argv) {
    static const struct scenario flavours[] = {SCENARIO(allocated), SCENARIO(shared), SCENARIO(created)};
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
    int level = argc > 2 && strcmp(argv[2], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
    start_threaded(&argc, &argv, level);
    CHECK(sigaction(SIGSYS, &action, NULL) == 0, "%s", strerror(errno));
    choose(flavours, sizeof flavours / sizeof flavours[0], argv[1]);
    window_returns_errors(window);
    use_types();
    for (int distance = 0; distance < 2; distance++) {
        int target = (rank + distance) % ranks;
        measure((struct loop){"put and flush", put_and_flush, target});
        measure((struct loop){"get and flush", get_and_flush, target});
        measure((struct loop){"lock and unlock", lock_and_unlock, target});
        measure((struct loop){"accumulates", accumulates, target});
        measure((struct loop){"bulk accumulates", bulk_accumulates, target});
        measure((struct loop){"everything else", everything_else, target});
    }
    OK(MPI_Win_free(&window));
    OK(MPI_Finalize());
    return 0;
}
