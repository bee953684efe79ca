/* The conformance matrix: matrix SEED SHARE FLAVOUR [control] [from=INDEX] [FILTER]
 *
 * Every one-sided operation, in every synchronisation, on every predefined type, in every layout and count, byte by byte against plain
 * memory. matrix_cells.h says which cells there are and what is pruned.
 *
 * SHARE is how many of a thousand cells run, chosen by the seed, or `all`. FLAVOUR is create, alloc_mem, allocate or shared. `control` says
 * that failures are the host's own and no failure of this program. FILTER runs the cells whose names hold it, all of a name to repeat one.
 * Rank 0 is origin, the last rank target. */
#include "matrix_cells.h"
#include <signal.h>
#include <sys/mman.h>

enum { ROOM = 512 << 10, MOST = 4200, GAP = 32, PAGE = 4096, PRINTED = 40, PATIENCE = 60 };

static const char *const flavour_names[] = {"create", "alloc_mem", "allocate", "shared"};
static uint64_t run_seed;
static long share, from;
static const char *filter;
static bool control;
static long run, printed, current;
static bool finished;
static char *ran, *failed;

/* Memory between two pages that nobody may touch. */
static char *guarded(size_t size) {
    char *at = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED && mprotect(at + PAGE, size, PROT_READ | PROT_WRITE) == 0, "%zu bytes", size);
    memset(at + PAGE, 0x5a, size);
    return at + PAGE;
}

/* A side of an operation: memory, what should be in it, and where in it the operation works. */
struct side {
    char *memory, *expected;
    const struct layout *layout;
    ptrdiff_t at, begin, end;
    int items;
};
static struct side origin, target, result;
/* Elements, one after the other. */
enum { SLOT = 32 };
static char ours[MOST * SLOT] __attribute__((aligned(SLOT))), theirs[MOST * SLOT] __attribute__((aligned(SLOT)));
static char old[MOST * SLOT] __attribute__((aligned(SLOT))), wanted[SLOT];

static MPI_Win window;
static MPI_Group rank_zero, last_rank;

static void make_window(const char *flavour) {
    target.expected = guarded(ROOM);
    if (strcmp(flavour, "allocate") == 0) {
        OK(MPI_Win_allocate(ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &target.memory, &window));
    } else if (strcmp(flavour, "shared") == 0) {
        OK(MPI_Win_allocate_shared(ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &target.memory, &window));
    } else {
        if (strcmp(flavour, "alloc_mem") == 0)
            OK(MPI_Alloc_mem(ROOM, MPI_INFO_NULL, &target.memory));
        else
            target.memory = guarded(ROOM);
        OK(MPI_Win_create(target.memory, ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    }
    window_returns_errors(window);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window));
    memset(target.memory, 0x5a, ROOM);
    OK(MPI_Win_unlock(rank, window));
    barrier();
}

static void free_window(const char *flavour) {
    OK(MPI_Win_free(&window));
    if (strcmp(flavour, "alloc_mem") == 0)
        OK(MPI_Free_mem(target.memory));
}

/* Made once for each type and layout, when first used. */
static const struct layout *layout_of(int type, int which) {
    static struct layout made[MOST_TYPES][ALL_LAYOUTS];
    struct layout *layout = &made[type][which];
    if (layout->pieces == 0) {
        *layout = make_layout(which, &all[type]);
        check_layout(layout, which, &all[type]);
    }
    return layout;
}

static uint64_t mixed_up(uint64_t number) {
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

static int least_common_multiple(int a, int b) {
    int multiple = a;
    while (multiple % b != 0)
        multiple += a;
    return multiple;
}

/* How many elements: whole items on each side. */
static int elements_of(const struct cell *cell) {
    int unit = least_common_multiple(origin.layout->pieces, target.layout->pieces), extent = (int)all[cell->type].extent;
    if (has_result(cell->call))
        unit = least_common_multiple(unit, result.layout->pieces);
    int counts[] = {0, unit, 2 * unit, 7 * unit, 1024 / extent + 1, 4096};
    return (counts[cell->count] + unit - 1) / unit * unit;
}

/* Near the middle of the memory's front, or, so that an access too many shows, up to its last byte as far as alignment allows. */
static void place(struct side *side, int elements, bool at_end, int misaligned) {
    side->items = elements / side->layout->pieces;
    ptrdiff_t before = reach_before(side->layout), behind = reach_behind(side->layout, side->items);
    /* Negative strides and bounds never reach further back than one item, so all items lie behind its beginning. */
    side->at = at_end ? (ROOM - behind - misaligned) / 64 * 64 : (before + GAP + 63) / 64 * 64;
    side->at += misaligned;
    CHECK(side->at - before >= 0 && side->at + behind <= ROOM, "room");
    side->begin = side->at - before - GAP > 0 ? side->at - before - GAP : 0;
    side->end = side->at + behind + GAP < ROOM ? side->at + behind + GAP : ROOM;
}

/* Bytes `from` to `to` of an element are its own, the next `skip` are padding. */
static void copy_element(const struct kind *kind, char *to, const char *from_element) {
    size_t first = kind->padding[1] == 0 ? kind->extent : kind->padding[0];
    memcpy(to, from_element, first);
    memcpy(to + kind->padding[1], from_element + kind->padding[1], first == kind->extent ? 0 : kind->extent - kind->padding[1]);
}

static void scatter(struct side *side, int elements, const char *packed) {
    for (int i = 0; i < elements; i++) {
        struct piece piece = nth(side->layout, i);
        copy_element(piece.kind, side->expected + side->at + piece.at, packed + i * SLOT);
    }
}

/* New contents of a side, gaps included. */
static void fill(struct side *side, int elements, int pattern, const char *packed) {
    memset(side->expected + side->begin, pattern, (size_t)(side->end - side->begin));
    if (packed != NULL)
        scatter(side, elements, packed);
    if (side != &target)
        memcpy(side->memory + side->begin, side->expected + side->begin, (size_t)(side->end - side->begin));
}

/* What is in bytes that mean nothing: the tail of each long double that was computed, and for bare hosts the padding of pairs, which they
 * write to (case 49), and the tail of a long double that was moved: MPICH moves the value. */
static void forgive(struct side *side, int elements, bool computed) {
    computed = computed || !behind_transom();
    for (int i = 0; i < elements; i++) {
        struct piece piece = nth(side->layout, i);
        ptrdiff_t at = side->at + piece.at;
        for (int j = 0; computed && j < 2; j++)
            memcpy(side->expected + at + piece.kind->loose[j][0], side->memory + at + piece.kind->loose[j][0],
                   piece.kind->loose[j][1] - piece.kind->loose[j][0]);
        if (!behind_transom())
            memcpy(side->expected + at + piece.kind->padding[0], side->memory + at + piece.kind->padding[0],
                   piece.kind->padding[1] - piece.kind->padding[0]);
    }
}

static char name[256];

__attribute__((format(printf, 2, 3))) static void fails(const struct cell *cell, const char *format, ...) {
    char text[300];
    va_list arguments;
    failed[cell->index] = 1;
    /* Who measures a host wants all of them, also if it dies before the end. */
    if (printed++ >= PRINTED && !control)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("failed: %ld %s: rank %d: %s\n", cell->index, name, rank, text);
    fflush(stdout);
}

/* Bytes `begin` to `end`, of which `elements` belong to the operation. */
static void compare(const struct cell *cell, struct side *side, const char *what, int elements, ptrdiff_t begin, ptrdiff_t end) {
    size_t size = (size_t)(end - begin);
    if (memcmp(side->memory + begin, side->expected + begin, size) == 0)
        return;
    forgive(side, elements, reduces(cell->call));
    for (ptrdiff_t i = begin; i < end; i++)
        if (side->memory[i] != side->expected[i]) {
            fails(cell, "%s, which begins at %ld with %d elements: byte %ld is %02x, not %02x", what, (long)side->at, elements, (long)(i - side->at),
                  (unsigned char)side->memory[i], (unsigned char)side->expected[i]);
            memcpy(side->memory + begin, side->expected + begin, size);
            return;
        }
}

#define TRY(call)                                                                                                           \
    do {                                                                                                                    \
        int try_code = (call);                                                                                              \
        if (try_code != MPI_SUCCESS)                                                                                        \
            fails(cell, "%s: class %d: %s", #call, class_of(try_code), string_of(try_code));                                \
    } while (0)

static void operate(const struct cell *cell, int to) {
    const char *from_origin = origin.memory + origin.at;
    char *into = origin.memory + origin.at, *found = result.memory + result.at;
    MPI_Datatype o = origin.layout->datatype, t = target.layout->datatype, r = result.layout->datatype;
    int os = origin.items, ts = target.items, rs = result.items;
    MPI_Aint at = target.at;
    MPI_Op op = op_of(cell->op);
    MPI_Request request = MPI_REQUEST_NULL;
    switch (cell->call) {
    case PUT: TRY(MPI_Put(from_origin, os, o, to, at, ts, t, window)); break;
    case GET: TRY(MPI_Get(into, os, o, to, at, ts, t, window)); break;
    case ACCUMULATE: TRY(MPI_Accumulate(from_origin, os, o, to, at, ts, t, op, window)); break;
    case GET_ACCUMULATE: TRY(MPI_Get_accumulate(from_origin, os, o, found, rs, r, to, at, ts, t, op, window)); break;
    case FETCH_AND_OP: TRY(MPI_Fetch_and_op(from_origin, found, t, to, at, op, window)); break;
    case COMPARE_AND_SWAP: TRY(MPI_Compare_and_swap(from_origin, wanted, found, t, to, at, window)); break;
    case RPUT: TRY(MPI_Rput(from_origin, os, o, to, at, ts, t, window, &request)); break;
    case RGET: TRY(MPI_Rget(into, os, o, to, at, ts, t, window, &request)); break;
    case RACCUMULATE: TRY(MPI_Raccumulate(from_origin, os, o, to, at, ts, t, op, window, &request)); break;
    case RGET_ACCUMULATE: TRY(MPI_Rget_accumulate(from_origin, os, o, found, rs, r, to, at, ts, t, op, window, &request)); break;
    case CALLS: break;
    }
    if (is_request(cell->call))
        TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* A value with all of its bytes: a long double has some that are not its own, and that come out as they lie in memory. */
static void draw_element(const struct kind *kind, int op, char *at) {
    kind->fill(op, at);
    for (int i = 0; i < 2; i++)
        memset(at + kind->loose[i][0], 0x11, kind->loose[i][1] - kind->loose[i][0]);
}

/* Both sides before the operation, and what they should be afterwards. */
static void prepare(const struct cell *cell, int elements) {
    bool any = cell->call != COMPARE_AND_SWAP && !reduces(cell->call);
    memset(ours, 0x33, (size_t)elements * SLOT);
    memset(theirs, 0x66, (size_t)elements * SLOT);
    for (int i = 0; i < elements; i++) {
        const struct kind *kind = nth(target.layout, i).kind;
        draw_element(kind, any ? REPLACE : cell->op, ours + i * SLOT);
        draw_element(kind, any ? REPLACE : cell->op, theirs + i * SLOT);
    }
    fill(&origin, elements, 0x33, ours);
    fill(&target, elements, 0x66, theirs);
    if (has_result(cell->call))
        fill(&result, elements, 0x5a, NULL);
}

static void expect(const struct cell *cell, int elements, bool swaps) {
    const struct kind *kind = &all[cell->type];
    memcpy(old, theirs, (size_t)elements * SLOT);
    if (gets(cell->call)) {
        scatter(&origin, elements, theirs);
    } else if (reduces(cell->call)) {
        for (int i = 0; i < elements; i++)
            CHECK(kind->combine(cell->op, theirs + i * SLOT, ours + i * SLOT), "a legal reduction");
        scatter(&target, elements, theirs);
    } else if (cell->call != COMPARE_AND_SWAP || swaps) {
        scatter(&target, elements, ours);
    }
    if (has_result(cell->call))
        scatter(&result, elements, old);
}

static void check_origin(const struct cell *cell, int elements) {
    compare(cell, &origin, "the origin", gets(cell->call) ? elements : 0, origin.begin, origin.end);
    if (has_result(cell->call))
        compare(cell, &result, "the result", elements, result.begin, result.end);
}

static void synchronised(const struct cell *cell, int to) {
    bool is_origin = rank == 0, is_target = rank == to;
    switch (cell->synchronisation) {
    case FENCE:
        TRY(MPI_Win_fence(MPI_MODE_NOPRECEDE, window));
        if (is_origin)
            operate(cell, to);
        TRY(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
        break;
    case PSCW:
        if (is_target)
            TRY(MPI_Win_post(rank_zero, 0, window));
        if (is_origin) {
            TRY(MPI_Win_start(to == 0 ? rank_zero : last_rank, 0, window));
            operate(cell, to);
            TRY(MPI_Win_complete(window));
        }
        if (is_target)
            TRY(MPI_Win_wait(window));
        break;
    case LOCK_ALL:
        if (is_origin) {
            TRY(MPI_Win_lock_all(0, window));
            operate(cell, to);
            TRY(MPI_Win_unlock_all(window));
        }
        break;
    default:
        if (is_origin) {
            TRY(MPI_Win_lock(cell->synchronisation == EXCLUSIVE ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, to, 0, window));
            operate(cell, to);
            TRY(MPI_Win_unlock(to, window));
        }
        break;
    }
}

/* Passive epochs say nothing of the target's own accesses: those have epochs of their own. */
static void own_epoch(const struct cell *cell, bool begins) {
    if (cell->synchronisation <= PSCW)
        return;
    if (begins)
        TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window));
    else
        TRY(MPI_Win_unlock(rank, window));
}

static void run_cell(const struct cell *cell) {
    uint64_t chance = mixed_up(run_seed * 0x9e3779b97f4a7c15u + (uint64_t)cell->index);
    bool chosen = cell->index >= from && (share >= 1000 || (long)(chance % 1000) < share);
    name_cell(cell, name, sizeof name);
    if (!chosen || (filter != NULL && strstr(name, filter) == NULL))
        return;
    run++;
    current = cell->index;
    ran[cell->index] = 1;
    /* What kills the process should name the cell. */
    alarm(PATIENCE);
    seed = mixed_up(chance) | 1;
    uint64_t bits = draw();
    int to = bits % 8 == 0 ? 0 : ranks - 1;
    bool swaps = bits >> 3 & 1, misaligned = bits >> 8 & (reduces(cell->call) || cell->call == COMPARE_AND_SWAP ? 31 : 3);
    origin.layout = layout_of(cell->type, cell->origin);
    target.layout = layout_of(cell->type, cell->target);
    result.layout = layout_of(cell->type, cell->result);
    int elements = elements_of(cell);
    place(&origin, elements, bits >> 4 & 1, 0);
    place(&target, elements, bits >> 5 & 1, misaligned ? 0 : 1 + (int)(bits >> 16 & 15));
    place(&result, elements, bits >> 6 & 1, 0);
    if (rank != to) {
        /* The same numbers are drawn, but nothing is written. */
        char *others = target.expected;
        static char *nowhere;
        if (nowhere == NULL)
            nowhere = guarded(ROOM);
        target.expected = nowhere;
        prepare(cell, elements);
        memcpy(wanted, theirs, SLOT);
        if (!swaps)
            wanted[0] ^= 1;
        expect(cell, elements, swaps);
        target.expected = others;
    } else {
        prepare(cell, elements);
        memcpy(wanted, theirs, SLOT);
        if (!swaps)
            wanted[0] ^= 1;
        own_epoch(cell, true);
        memcpy(target.memory + target.begin, target.expected + target.begin, (size_t)(target.end - target.begin));
        own_epoch(cell, false);
        expect(cell, elements, swaps);
    }
    if (cell->synchronisation != FENCE)
        barrier();
    synchronised(cell, to);
    if (rank == 0)
        check_origin(cell, elements);
    if (cell->synchronisation != FENCE)
        barrier();
    if (rank == to)
        own_epoch(cell, true);
    compare(cell, &target, "the window", rank == to ? elements : 0, 0, ROOM);
    if (rank == to)
        own_epoch(cell, false);
}

static void no_cell(const struct cell *cell) {
    (void)cell;
}

/* Failures by operation and type: with plain layouts alone, and with others. */
static long group_failed[CALLS][OPERATIONS][MOST_TYPES][2], group_ran[CALLS][OPERATIONS][MOST_TYPES][2], group_layout[CALLS][OPERATIONS][MOST_TYPES];

static void into_groups(const struct cell *cell) {
    bool derived = cell->origin != PLAIN || cell->target != PLAIN || (has_result(cell->call) && cell->result != PLAIN);
    group_ran[cell->call][cell->op][cell->type][derived] += ran[cell->index];
    if (!failed[cell->index])
        return;
    group_failed[cell->call][cell->op][cell->type][derived]++;
    group_layout[cell->call][cell->op][cell->type] |= 1L << cell->target;
}

static long failed_in_all;

static void summarise(void) {
    OK(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : failed, failed, (int)cells, MPI_SIGNED_CHAR, MPI_MAX, 0, MPI_COMM_WORLD));
    if (rank != 0)
        return;
    visit_all(into_groups);
    for (long i = 0; i < cells; i++)
        failed_in_all += failed[i];
    for (int call = 0; call < CALLS; call++)
        for (int op = 0; op < OPERATIONS; op++)
            for (int type = 0; type < types; type++) {
                long *bad = group_failed[call][op][type], *all_run = group_ran[call][op][type];
                if (bad[0] + bad[1] == 0)
                    continue;
                printf("group: %s%s%s %s: plain %ld of %ld, other layouts %ld of %ld; targets:", call_names[call],
                       reduces((enum call)call) ? ":" : "", reduces((enum call)call) ? op_names[op] : "", all[type].name, bad[0], all_run[0], bad[1],
                       all_run[1]);
                for (int i = 0; i < ALL_LAYOUTS; i++)
                    if (group_layout[call][op][type] >> i & 1)
                        printf(" %s", layout_names[i]);
                printf("\n");
            }
    printf("%ld cells, %ld run, %ld failed\n", cells, run, failed_in_all);
    fflush(stdout);
}

/* Says which cell it was, from a signal handler too. */
static void dies(int signal) {
    char text[400];
    int length = snprintf(text, sizeof text, "died: %ld %s: rank %d, signal %d\n", current, name, rank, signal);
    if (write(1, text, (size_t)length) != length)
        _exit(4);
    _exit(3);
}

/* Hosts end a process by exit() when they find themselves in the wrong. */
static void exits(void) {
    if (!finished)
        dies(0);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    CHECK(argc >= 4 && ranks >= 2, "matrix SEED SHARE FLAVOUR [control] [from=INDEX] [FILTER], on two ranks or more");
    run_seed = strtoull(argv[1], NULL, 0);
    share = strcmp(argv[2], "all") == 0 ? 1000 : atol(argv[2]);
    for (int i = 4; i < argc; i++)
        if (strcmp(argv[i], "control") == 0)
            control = true;
        else if (strncmp(argv[i], "from=", 5) == 0)
            from = atol(argv[i] + 5);
        else
            filter = argv[i];
    bool known = false;
    for (int i = 0; i < 4; i++)
        known = known || strcmp(argv[3], flavour_names[i]) == 0;
    CHECK(known, "no flavour is called %s", argv[3]);
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], dies);
    atexit(exits);
    name_types();
    visit_all(no_cell);
    ran = calloc((size_t)cells, 1);
    failed = calloc((size_t)cells, 1);
    origin.memory = guarded(ROOM), origin.expected = guarded(ROOM);
    result.memory = guarded(ROOM), result.expected = guarded(ROOM);
    MPI_Group world;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, (int[]){0}, &rank_zero));
    OK(MPI_Group_incl(world, 1, (int[]){ranks - 1}, &last_rank));
    make_window(argv[3]);
    double begin = seconds();
    visit_all(run_cell);
    alarm(0);
    finished = true;
    if (rank == 0)
        printf("seed %llu, share %s, flavour %s, %d types, %d ranks, %.1f s\n", (unsigned long long)run_seed, argv[2], argv[3], types, ranks,
               seconds() - begin);
    summarise();
    free_window(argv[3]);
    int bad = !control && failed_in_all > 0;
    OK(MPI_Bcast(&bad, 1, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Finalize());
    return bad;
}
