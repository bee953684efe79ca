/* Every predefined operation on every predefined datatype: a line for each pair that is accepted, with both operands and the result in
 * hexadecimal. */
#include "check.h"
#include <float.h>
#include <stdbool.h>
#include <sys/wait.h>

enum { COUNT = 9 };

typedef struct {
    char kind; /* b: zero or one, i: signed integer, u: unsigned integer, f: floating point, q: quadruple precision */
    size_t size, offset;
} number;

static const struct {
    const char *name;
    MPI_Datatype type;
    const char *element; /* as Transom calls it */
    number numbers[2];
} types[] = {
#define ONE(type, element, kind, size) {#type, type, #element, {{kind, size, 0}}},
#define TWO(type, element, kind, size, second, second_size, at) {#type, type, #element, {{kind, size, 0}, {second, second_size, at}}},
    ONE(MPI_CHAR, I8, 'i', 1) ONE(MPI_SIGNED_CHAR, I8, 'i', 1) ONE(MPI_INT8_T, I8, 'i', 1) ONE(MPI_INTEGER1, I8, 'i', 1)
    ONE(MPI_SHORT, I16, 'i', 2) ONE(MPI_INT16_T, I16, 'i', 2) ONE(MPI_INTEGER2, I16, 'i', 2)
    ONE(MPI_INT, I32, 'i', 4) ONE(MPI_INT32_T, I32, 'i', 4) ONE(MPI_INTEGER, I32, 'i', 4) ONE(MPI_INTEGER4, I32, 'i', 4)
    ONE(MPI_LONG, I64, 'i', 8) ONE(MPI_LONG_LONG, I64, 'i', 8) ONE(MPI_INT64_T, I64, 'i', 8) ONE(MPI_INTEGER8, I64, 'i', 8)
    ONE(MPI_AINT, I64, 'i', 8) ONE(MPI_OFFSET, I64, 'i', 8) ONE(MPI_COUNT, I64, 'i', 8)
    ONE(MPI_UNSIGNED_CHAR, U8, 'u', 1) ONE(MPI_UINT8_T, U8, 'u', 1) ONE(MPI_CHARACTER, U8, 'u', 1)
    ONE(MPI_UNSIGNED_SHORT, U16, 'u', 2) ONE(MPI_UINT16_T, U16, 'u', 2)
    ONE(MPI_UNSIGNED, U32, 'u', 4) ONE(MPI_UINT32_T, U32, 'u', 4)
    ONE(MPI_UNSIGNED_LONG, U64, 'u', 8) ONE(MPI_UNSIGNED_LONG_LONG, U64, 'u', 8) ONE(MPI_UINT64_T, U64, 'u', 8)
    ONE(MPI_FLOAT, F32, 'f', 4) ONE(MPI_REAL, F32, 'f', 4) ONE(MPI_REAL4, F32, 'f', 4)
    ONE(MPI_DOUBLE, F64, 'f', 8) ONE(MPI_DOUBLE_PRECISION, F64, 'f', 8) ONE(MPI_REAL8, F64, 'f', 8)
    ONE(MPI_LONG_DOUBLE, LongDouble, 'f', sizeof(long double)) ONE(MPI_REAL16, F128, 'q', 16)
    TWO(MPI_COMPLEX, ComplexF32, 'f', 4, 'f', 4, 4) TWO(MPI_COMPLEX8, ComplexF32, 'f', 4, 'f', 4, 4)
    TWO(MPI_C_FLOAT_COMPLEX, ComplexF32, 'f', 4, 'f', 4, 4) TWO(MPI_CXX_FLOAT_COMPLEX, ComplexF32, 'f', 4, 'f', 4, 4)
    TWO(MPI_DOUBLE_COMPLEX, ComplexF64, 'f', 8, 'f', 8, 8) TWO(MPI_COMPLEX16, ComplexF64, 'f', 8, 'f', 8, 8)
    TWO(MPI_C_DOUBLE_COMPLEX, ComplexF64, 'f', 8, 'f', 8, 8) TWO(MPI_CXX_DOUBLE_COMPLEX, ComplexF64, 'f', 8, 'f', 8, 8)
    TWO(MPI_C_LONG_DOUBLE_COMPLEX, ComplexLongDouble, 'f', sizeof(long double), 'f', sizeof(long double), sizeof(long double))
    TWO(MPI_CXX_LONG_DOUBLE_COMPLEX, ComplexLongDouble, 'f', sizeof(long double), 'f', sizeof(long double), sizeof(long double))
    TWO(MPI_COMPLEX32, ComplexF128, 'q', 16, 'q', 16, 16)
    ONE(MPI_C_BOOL, Bool, 'b', 1) ONE(MPI_CXX_BOOL, Bool, 'b', 1) ONE(MPI_LOGICAL, Logical4, 'b', 4)
#ifdef MPI_LOGICAL1
    ONE(MPI_LOGICAL1, Logical1, 'b', 1) ONE(MPI_LOGICAL2, Logical2, 'b', 2)
    ONE(MPI_LOGICAL4, Logical4, 'b', 4) ONE(MPI_LOGICAL8, Logical8, 'b', 8)
#endif
    ONE(MPI_BYTE, Byte, 'u', 1) ONE(MPI_PACKED, Opaque1, 'u', 1) ONE(MPI_WCHAR, Opaque4, 'u', 4)
    TWO(MPI_FLOAT_INT, FloatInt, 'f', 4, 'i', 4, 4) TWO(MPI_DOUBLE_INT, DoubleInt, 'f', 8, 'i', 4, 8)
    TWO(MPI_LONG_INT, LongInt, 'i', 8, 'i', 4, 8) TWO(MPI_2INT, IntInt, 'i', 4, 'i', 4, 4)
    TWO(MPI_SHORT_INT, ShortInt, 'i', 2, 'i', 4, 4) TWO(MPI_2INTEGER, IntInt, 'i', 4, 'i', 4, 4)
    TWO(MPI_LONG_DOUBLE_INT, LongDoubleInt, 'f', sizeof(long double), 'i', 4, sizeof(long double))
    TWO(MPI_2REAL, FloatFloat, 'f', 4, 'f', 4, 4) TWO(MPI_2DOUBLE_PRECISION, DoubleDouble, 'f', 8, 'f', 8, 8)
};

static const struct {
    const char *name;
    MPI_Op op;
} ops[] = {
    {"Max", MPI_MAX}, {"Min", MPI_MIN}, {"Sum", MPI_SUM}, {"Prod", MPI_PROD}, {"Land", MPI_LAND}, {"Band", MPI_BAND},
    {"Lor", MPI_LOR}, {"Bor", MPI_BOR}, {"Lxor", MPI_LXOR}, {"Bxor", MPI_BXOR}, {"Minloc", MPI_MINLOC}, {"Maxloc", MPI_MAXLOC},
    {"Replace", MPI_REPLACE}, {"NoOp", MPI_NO_OP},
};

enum { TYPES = sizeof types / sizeof types[0], OPS = sizeof ops / sizeof ops[0] };

#ifdef __x86_64__
typedef __float128 quad;
#else
typedef long double quad;
#endif

/* For sums and products a number small enough to make them exact. */
static void write_number(number number, bool exact, char *element) {
    long any = random() << 31 ^ random() << 62 ^ random();
    long little = number.kind == 'u' ? random() % 12 : random() % 23 - 11;
    double small = (double)(random() % 33 - 16) / 2;
    float single = (float)small;
    long double extended = small;
    quad quadruple = small;
    bool truth = random() % 2 == 0;
    const void *from = strchr("biu", number.kind) != NULL ? (const void *)&any
                       : number.kind == 'q'                      ? (const void *)&quadruple
                       : number.size == 4                        ? (const void *)&single
                       : number.size == 8                        ? (const void *)&small
                                                                 : (const void *)&extended;
    if (number.kind == 'b')
        any = truth;
    else if (exact)
        any = little;
    /* The x87's numbers end before their size does. */
    memcpy(element + number.offset, from, from == &extended ? LDBL_MANT_DIG == 64 ? 10 : 16 : number.size);
}

static void print_hexadecimal(const unsigned char *bytes, size_t size) {
    putchar(' ');
    for (size_t i = 0; i < size; i++)
        printf("%02x", bytes[i]);
}

static char target[COUNT * 64], origin[COUNT * 64], result[COUNT * 64];

static MPI_Aint fill(size_t type, size_t op) {
    MPI_Aint lower, extent;
    /* Where a sum overflows C leaves the result open, and Open MPI's vector instructions give the largest number. */
    bool exact = ops[op].op == MPI_SUM || ops[op].op == MPI_PROD;
    OK(MPI_Type_get_extent(types[type].type, &lower, &extent));
    memset(target, 0xee, sizeof target);
    memset(origin, 0xdd, sizeof origin);
    srandom((unsigned)(type * 100 + op));
    for (int i = 0; i < COUNT; i++)
        for (int part = 0; part < 2; part++) {
            write_number(types[type].numbers[part], exact, target + i * extent);
            write_number(types[type].numbers[part], exact, origin + i * extent);
            /* Equal values, so that the index decides. */
            if (i % 3 == 0 && part == 0)
                memcpy(origin + i * extent, target + i * extent, types[type].numbers[0].size);
        }
    return extent;
}

static void print_reduced(size_t type, size_t op, MPI_Aint extent) {
    printf("reduced %s %s %s", types[type].name, types[type].element, ops[op].name);
    print_hexadecimal((unsigned char *)target, (size_t)(COUNT * extent));
    print_hexadecimal((unsigned char *)origin, (size_t)(COUNT * extent));
    print_hexadecimal((unsigned char *)result, (size_t)(COUNT * extent));
    putchar('\n');
}

static void try_locally(size_t type, size_t op) {
    MPI_Aint extent = fill(type, op);
    memcpy(result, target, sizeof result);
    if (MPI_Reduce_local(origin, result, COUNT, types[type].type, ops[op].op) == MPI_SUCCESS)
        print_reduced(type, op, extent);
}

/* What the host makes of them, each in a process of its own: a host may end the program over a pair that it means to accept. */
static void local(void) {
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (size_t type = 0; type < TYPES; type++) {
        if (types[type].type == MPI_DATATYPE_NULL)
            continue;
        printf("datatype %s %s\n", types[type].name, types[type].element);
        for (size_t op = 0; op < OPS; op++) {
            fflush(stdout);
            pid_t child = fork();
            CHECK(child >= 0, "fork");
            if (child == 0) {
                CHECK(freopen("/dev/null", "w", stderr) != NULL, "stderr");
                try_locally(type, op);
                fflush(stdout);
                _exit(0);
            }
            CHECK(waitpid(child, NULL, 0) == child, "waitpid");
        }
    }
}

static void write_target(MPI_Win window) {
    OK(MPI_Put(target, sizeof target, MPI_BYTE, 1, 0, sizeof target, MPI_BYTE, window));
    OK(MPI_Win_flush(1, window));
}

static void read_target(char *to, MPI_Win window) {
    OK(MPI_Get(to, sizeof target, MPI_BYTE, 1, 0, sizeof target, MPI_BYTE, window));
    OK(MPI_Win_flush(1, window));
}

/* All forms of an accumulate must do the same. */
static void try_remotely(size_t type, size_t op, MPI_Win window) {
    static char again[sizeof target], old[sizeof target];
    MPI_Aint extent = fill(type, op);
    MPI_Datatype datatype = types[type].type;
    write_target(window);
    int code = MPI_Accumulate(origin, COUNT, datatype, 1, 0, COUNT, datatype, ops[op].op, window);
    if (code != MPI_SUCCESS) {
        CHECK(class_of(code) == MPI_ERR_OP, "class %d", class_of(code));
        return;
    }
    OK(MPI_Win_flush(1, window));
    read_target(result, window);
    print_reduced(type, op, extent);

    write_target(window);
    memcpy(old, target, sizeof old);
    memset(old, 0xee, (size_t)(COUNT * extent));
    OK(MPI_Get_accumulate(origin, COUNT, datatype, old, COUNT, datatype, 1, 0, COUNT, datatype, ops[op].op, window));
    OK(MPI_Win_flush(1, window));
    read_target(again, window);
    CHECK(memcmp(again, result, sizeof again) == 0, "%s %s: MPI_Get_accumulate does not what MPI_Accumulate does", types[type].name, ops[op].name);
    CHECK(memcmp(old, target, sizeof old) == 0, "%s %s: old values of MPI_Get_accumulate", types[type].name, ops[op].name);

    write_target(window);
    for (int i = 0; i < COUNT; i++) {
        memset(old, 0xee, sizeof old);
        OK(MPI_Fetch_and_op(origin + i * extent, old, datatype, 1, i * extent, ops[op].op, window));
        OK(MPI_Win_flush(1, window));
        CHECK(memcmp(old, target + i * extent, (size_t)extent) == 0, "%s %s: old value of MPI_Fetch_and_op", types[type].name, ops[op].name);
    }
    read_target(again, window);
    CHECK(memcmp(again, result, sizeof again) == 0, "%s %s: MPI_Fetch_and_op does not what MPI_Accumulate does", types[type].name, ops[op].name);
}

/* What accumulates make of them. */
static void remote(void) {
    MPI_Win window;
    char *own;
    OK(MPI_Win_allocate(sizeof target, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    window_returns_errors(window);
    OK(MPI_Win_lock_all(0, window));
    for (size_t type = 0; rank == 0 && type < TYPES; type++) {
        int size = 0;
        if (types[type].type == MPI_DATATYPE_NULL)
            continue;
        /* What a build of Open MPI lacks, as PyPI's does without Fortran, has an object too, of no size. */
        OK(MPI_Type_size(types[type].type, &size));
        if (size == 0)
            continue;
        printf("datatype %s %s\n", types[type].name, types[type].element);
        for (size_t op = 0; op < OPS; op++)
            try_remotely(type, op, window);
    }
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_free(&window));
}

MAIN(SCENARIO(local), SCENARIO(remote))
