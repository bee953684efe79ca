/* Accumulates of every kind, one origin at a target: each operation on each type against plain arithmetic, byte by byte. */
#include "memories.h"
#include "kinds.h"

static bool counts_at(const struct kind *kind, size_t byte) {
    for (int i = 0; i < 2; i++)
        if (byte >= kind->loose[i][0] && byte < kind->loose[i][1])
            return false;
    /* Hosts write to the padding (case 49). */
    return behind_transom() || byte < kind->padding[0] || byte >= kind->padding[1];
}

static void compare(const struct kind *kind, int op, const char *what, int count, const char *found, const char *right) {
    if (memcmp(found, right, kind->extent * (size_t)count) == 0)
        return;
    for (size_t i = 0; i < kind->extent * (size_t)count; i++)
        CHECK(found[i] == right[i] || !counts_at(kind, i % kind->extent), "%s: operation %d on %d %s: element %zu, byte %zu: %02x, not %02x",
              what, op, count, kind->name, i / kind->extent, i % kind->extent, (unsigned char)found[i], (unsigned char)right[i]);
}

enum { GUARD = 64, MOST = 5000, ROOM = MOST * 32 + 2 * GUARD + 64 };
static char before[ROOM], after[ROOM], expected[ROOM], origin[ROOM], untouched_origin[ROOM], result[ROOM];
static struct made made;
static int target;

/* One call with `count` elements at a byte offset of the target, `form` 0: accumulate, 1: get_accumulate, 2: fetch_and_op. */
static void check_call(const struct kind *kind, int op, int count, int offset, int form) {
    static const char *const forms[] = {"MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op"};
    size_t bytes = kind->extent * (size_t)count, all = bytes + 2 * GUARD;
    memset(before, 0x5a, all);
    memset(origin, 0x33, bytes);
    memset(result, 0x5a, all);
    for (int i = 0; i < count; i++) {
        kind->fill(op, before + GUARD + kind->extent * (size_t)i);
        kind->fill(op, origin + kind->extent * (size_t)i);
    }
    memcpy(untouched_origin, origin, bytes);
    memcpy(expected, before, all);
    for (int i = 0; i < count; i++)
        CHECK(kind->combine(op, expected + GUARD + kind->extent * (size_t)i, origin + kind->extent * (size_t)i), "allowed");
    OK(MPI_Put(before, (int)all, MPI_BYTE, target, offset, (int)all, MPI_BYTE, made.window));
    OK(MPI_Win_flush(target, made.window));
    if (form == 0)
        OK(MPI_Accumulate(origin, count, kind->datatype, target, offset + GUARD, count, kind->datatype, op_of(op), made.window));
    else if (form == 1)
        OK(MPI_Get_accumulate(origin, count, kind->datatype, result + GUARD, count, kind->datatype, target, offset + GUARD, count,
                              kind->datatype, op_of(op), made.window));
    else
        OK(MPI_Fetch_and_op(origin, result + GUARD, kind->datatype, target, offset + GUARD, op_of(op), made.window));
    OK(MPI_Win_flush(target, made.window));
    OK(MPI_Get(after, (int)all, MPI_BYTE, target, offset, (int)all, MPI_BYTE, made.window));
    OK(MPI_Win_flush(target, made.window));
    compare(kind, op, forms[form], count, after + GUARD, expected + GUARD);
    CHECK(memcmp(after, before, GUARD) == 0 && memcmp(after + GUARD + bytes, before + GUARD + bytes, GUARD) == 0,
          "%s: operation %d on %d %s wrote beside its elements", forms[form], op, count, kind->name);
    CHECK(memcmp(origin, untouched_origin, bytes) == 0, "%s changed its origin", forms[form]);
    if (form == 0)
        return;
    for (size_t i = 0; i < bytes; i++) {
        size_t byte = i % kind->extent;
        int padding = byte >= kind->padding[0] && byte < kind->padding[1];
        char right = padding ? 0x5a : before[GUARD + i];
        CHECK(result[GUARD + i] == right || !counts_at(kind, byte), "%s: result of operation %d on %d %s: element %zu, byte %zu",
              forms[form], op, count, kind->name, i / kind->extent, byte);
    }
    for (size_t i = 0; i < GUARD; i++)
        CHECK(result[i] == 0x5a && result[GUARD + bytes + i] == 0x5a, "%s wrote beside its result", forms[form]);
}

/* MPICH 4.0.2 compares unsigned numbers as if they were signed; Open MPI 4.1.4 takes MPI_OFFSET for unsigned and adds small integers with
 * saturation. */
static bool hosts_fail(const struct kind *kind) {
    bool is_unsigned = kind->combine == combine_u32 || kind->combine == combine_u64;
    return !behind_transom() && (kind->extent <= 2 || is_unsigned || kind->datatype == MPI_OFFSET);
}

static void check_kind(const struct kind *kind, int offset, int most) {
    if (hosts_fail(kind))
        return;
    char scratch[32] = {0}, zero[32] = {0};
    int counts[] = {1, 2, 7, 200, (int)(1024 / kind->extent) + 1, MOST};
    for (int op = 0; op < OPERATIONS; op++) {
        if (!kind->combine(op, scratch, zero))
            continue;
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            /* The control is done with less: MPICH needs milliseconds for the largest. */
            if (counts[i] > most || (counts[i] == MOST && !behind_transom()))
                continue;
            if (op != NO_OP)
                check_call(kind, op, counts[i], offset, 0);
            check_call(kind, op, counts[i], offset, 1);
        }
        check_call(kind, op, 1, offset, 2);
    }
}

static void open_window(enum memory memory, int exclusive) {
    made = make(memory, ROOM, 1);
    target = (rank + 1) % ranks;
    seed = 88172645463325252u + (uint64_t)rank;
    barrier();
    OK(MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, made.window));
}

static void close_window(void) {
    OK(MPI_Win_unlock(target, made.window));
    unmake(&made);
}

static enum memory chosen;

static void every_operation_on_every_type(void) {
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        open_window(chosen, exclusive);
        for (int i = 0; i < KINDS; i++)
            check_kind(&kinds[i], 0, MOST);
        close_window();
    }
}

/* Displacements in bytes that no element's alignment divides. */
static void misaligned(void) {
    open_window(chosen, 0);
    for (int offset = 1; offset < 16; offset += offset < 4 ? 1 : 5)
        for (int i = 0; i < KINDS; i++)
            check_kind(&kinds[i], offset, 200);
    close_window();
}

/* Case 50. */
static void every_count(void) {
    int step = is_private(chosen) ? 37 : 3;
    open_window(chosen, 0);
    for (int count = 1; count <= 4096; count += count < 300 ? 1 : step)
        for (int i = 0; i < KINDS; i++)
            if (strcmp(kinds[i].name, "MPI_INT") == 0 || strcmp(kinds[i].name, "MPI_DOUBLE") == 0)
                check_call(&kinds[i], SUM, count, 0, 1);
    close_window();
}

/* MPI_NO_OP looks at no argument of the origin. */
static void no_op_without_origin(void) {
    open_window(chosen, 0);
    for (int round = 0; round < 3; round++) {
        long values[300], found[300];
        int count = round == 0 ? 1 : round == 1 ? 10 : 300;
        for (int i = 0; i < count; i++)
            values[i] = 100 * round + i, found[i] = -1;
        OK(MPI_Put(values, count, MPI_LONG, target, 8, count, MPI_LONG, made.window));
        OK(MPI_Win_flush(target, made.window));
        OK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, found, count, MPI_LONG, target, 8, count, MPI_LONG, MPI_NO_OP, made.window));
        OK(MPI_Win_flush(target, made.window));
        CHECK(memcmp(found, values, sizeof values[0] * (size_t)count) == 0, "round %d: without an origin", round);
        memset(found, 0, sizeof found);
        OK(MPI_Get_accumulate(NULL, 7, MPI_DOUBLE_INT, found, count, MPI_LONG, target, 8, count, MPI_LONG, MPI_NO_OP, made.window));
        OK(MPI_Win_flush(target, made.window));
        CHECK(memcmp(found, values, sizeof values[0] * (size_t)count) == 0, "round %d: with any type", round);
        memset(found, 0, sizeof found);
        OK(MPI_Fetch_and_op(NULL, found, MPI_LONG, target, 8, MPI_NO_OP, made.window));
        OK(MPI_Win_flush(target, made.window));
        CHECK(found[0] == values[0], "round %d: fetched", round);
    }
    close_window();
}

/* Every type that may be compared: equal, unequal, unequal in one byte; at any address. */
static void compare_and_swap(void) {
    open_window(chosen, 0);
    for (int offset = 0; offset < 4; offset++)
        for (int i = 0; i < KINDS; i++) {
            const struct kind *kind = &kinds[i];
            char wanted[8], old[8] = {0}, new[8], found[8 + 2];
            if (kind->combine != combine_byte && kind->combine != combine_bool && !kind->combine(BAND, old, old))
                continue;
            for (int round = 0; round < 12; round++) {
                size_t size = kind->extent;
                int differs = round % 3;
                kind->fill(round % 2 ? SUM : BAND, wanted);
                kind->fill(SUM, new);
                memset(before, 0x77, 32);
                memcpy(before + 8, wanted, size);
                if (differs == 1)
                    before[8] ^= 1;
                if (differs == 2)
                    before[8 + size - 1] ^= 1;
                memset(found, 0x5a, sizeof found);
                memcpy(expected, before, 32);
                if (!differs)
                    memcpy(expected + 8, new, size);
                OK(MPI_Put(before, 32, MPI_BYTE, target, offset, 32, MPI_BYTE, made.window));
                OK(MPI_Win_flush(target, made.window));
                OK(MPI_Compare_and_swap(new, wanted, found + 1, kind->datatype, target, offset + 8, made.window));
                OK(MPI_Win_flush(target, made.window));
                OK(MPI_Get(after, 32, MPI_BYTE, target, offset, 32, MPI_BYTE, made.window));
                OK(MPI_Win_flush(target, made.window));
                CHECK(memcmp(after, expected, 32) == 0, "%s, round %d, offset %d", kind->name, round, offset);
                CHECK(memcmp(found + 1, before + 8, size) == 0 && found[0] == 0x5a && found[1 + size] == 0x5a, "%s: the result", kind->name);
            }
        }
    close_window();
}

int main(int argc, char **argv) {
    static const struct scenario list[] = {SCENARIO(every_operation_on_every_type), SCENARIO(misaligned), SCENARIO(every_count),
                                           SCENARIO(no_op_without_origin), SCENARIO(compare_and_swap)};
    WITH_STACK;
    start(&argc, &argv);
    name_kinds();
    chosen = memory_by_name(argv[2]);
    choose(list, sizeof list / sizeof list[0], argv[1]);
    OK(MPI_Finalize());
    return 0;
}
