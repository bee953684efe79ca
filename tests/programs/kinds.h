/* Predefined types and what each operation does to an element of them, in plain arithmetic. */
#ifndef KINDS_H
#define KINDS_H
#include "check.h"
#include <complex.h>
#include <stdbool.h>

enum operation { MAX, MIN, SUM, PROD, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC, REPLACE, NO_OP, OPERATIONS };

static MPI_Op op_of(int op) {
    const MPI_Op ops[] = {MPI_MAX, MPI_MIN,  MPI_SUM, MPI_PROD, MPI_LAND,   MPI_LOR,    MPI_LXOR,
                          MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    return ops[op];
}

/* A predefined type: `combine` does to `target` what the operation does to it, or says that MPI does not allow it. */
struct kind {
    const char *name;
    MPI_Datatype datatype;
    size_t extent;
    bool (*combine)(int op, void *target, const void *origin);
    void (*fill)(int op, void *at);
    /* Bytes that mean nothing: the last of each `long double`, and the padding of pairs. */
    size_t loose[2][2], padding[2];
};

static uint64_t seed;

__attribute__((unused)) static uint64_t draw(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* A number whose sums and products with others are exact. */
static int small(size_t size) {
    int limit = size == 1 ? 11 : size == 2 ? 181 : 30000;
    return (int)(draw() % (uint64_t)(2 * limit + 1)) - limit;
}

#define INTEGER(name, type)                                                                                                 \
    static bool combine_##name(int op, void *target, const void *origin) {                                                  \
        type a, b;                                                                                                          \
        memcpy(&a, target, sizeof a);                                                                                       \
        memcpy(&b, origin, sizeof b);                                                                                       \
        switch (op) {                                                                                                       \
        case MAX: a = a > b ? a : b; break;                                                                                 \
        case MIN: a = a < b ? a : b; break;                                                                                 \
        case SUM: a = (type)(a + b); break;                                                                                 \
        case PROD: a = (type)(a * b); break;                                                                                \
        case LAND: a = (type)(a && b); break;                                                                               \
        case LOR: a = (type)(a || b); break;                                                                                \
        case LXOR: a = (type)(!a != !b); break;                                                                             \
        case BAND: a = (type)(a & b); break;                                                                                \
        case BOR: a = (type)(a | b); break;                                                                                 \
        case BXOR: a = (type)(a ^ b); break;                                                                                \
        case REPLACE: a = b; break;                                                                                         \
        case NO_OP: break;                                                                                                  \
        default: return false;                                                                                              \
        }                                                                                                                   \
        memcpy(target, &a, sizeof a);                                                                                       \
        return true;                                                                                                        \
    }                                                                                                                       \
    static void fill_##name(int op, void *at) {                                                                             \
        bool logical = op == LAND || op == LOR || op == LXOR;                                                               \
        type value = (type)(op == SUM || op == PROD ? (uint64_t)small(sizeof value) : logical ? draw() % 3 : draw());       \
        memcpy(at, &value, sizeof value);                                                                                   \
    }

#define REAL(name, type)                                                                                                    \
    static bool combine_##name(int op, void *target, const void *origin) {                                                  \
        type a, b;                                                                                                          \
        memcpy(&a, target, sizeof a);                                                                                       \
        memcpy(&b, origin, sizeof b);                                                                                       \
        switch (op) {                                                                                                       \
        case MAX: a = a > b ? a : b; break;                                                                                 \
        case MIN: a = a < b ? a : b; break;                                                                                 \
        case SUM: a = a + b; break;                                                                                         \
        case PROD: a = a * b; break;                                                                                        \
        case REPLACE: a = b; break;                                                                                         \
        case NO_OP: break;                                                                                                  \
        default: return false;                                                                                              \
        }                                                                                                                   \
        memcpy(target, &a, sizeof a);                                                                                       \
        return true;                                                                                                        \
    }                                                                                                                       \
    static void fill_##name(int op, void *at) {                                                                             \
        type value = (type)small(2) + (type)(op == SUM ? 0.5 : 0.25);                                                       \
        memcpy(at, &value, sizeof value);                                                                                   \
    }

#define COMPLEX(name, type)                                                                                                 \
    static bool combine_##name(int op, void *target, const void *origin) {                                                  \
        type a, b;                                                                                                          \
        memcpy(&a, target, sizeof a);                                                                                       \
        memcpy(&b, origin, sizeof b);                                                                                       \
        switch (op) {                                                                                                       \
        case SUM: a = a + b; break;                                                                                         \
        case PROD: a = a * b; break;                                                                                        \
        case REPLACE: a = b; break;                                                                                         \
        case NO_OP: break;                                                                                                  \
        default: return false;                                                                                              \
        }                                                                                                                   \
        memcpy(target, &a, sizeof a);                                                                                       \
        return true;                                                                                                        \
    }                                                                                                                       \
    static void fill_##name(int op, void *at) {                                                                             \
        type value = (type)small(2) + (type)small(2) * I;                                                                   \
        (void)op;                                                                                                           \
        memcpy(at, &value, sizeof value);                                                                                   \
    }

#define PAIR(name, type)                                                                                                    \
    struct name {                                                                                                           \
        type value;                                                                                                         \
        int index;                                                                                                          \
    };                                                                                                                      \
    static bool combine_##name(int op, void *target, const void *origin) {                                                  \
        struct name *a = target;                                                                                            \
        const struct name *b = origin;                                                                                      \
        int better = op == MAXLOC ? b->value > a->value : b->value < a->value;                                              \
        switch (op) {                                                                                                       \
        case MAXLOC:                                                                                                        \
        case MINLOC:                                                                                                        \
            if (better || (b->value == a->value && b->index < a->index)) {                                                  \
                a->value = b->value;                                                                                        \
                a->index = b->index;                                                                                        \
            }                                                                                                               \
            return true;                                                                                                    \
        case REPLACE:                                                                                                       \
            a->value = b->value;                                                                                            \
            a->index = b->index;                                                                                            \
            return true;                                                                                                    \
        default: return op == NO_OP;                                                                                        \
        }                                                                                                                   \
    }                                                                                                                       \
    static void fill_##name(int op, void *at) {                                                                             \
        struct name *pair = at;                                                                                             \
        (void)op;                                                                                                           \
        pair->value = (type)((int)(draw() % 5) - 2);                                                                        \
        pair->index = (int)(draw() % 7);                                                                                    \
    }

INTEGER(i8, int8_t)
INTEGER(u8, uint8_t)
INTEGER(i16, int16_t)
INTEGER(u16, uint16_t)
INTEGER(i32, int32_t)
INTEGER(u32, uint32_t)
INTEGER(i64, int64_t)
INTEGER(u64, uint64_t)
REAL(f32, float)
REAL(f64, double)
REAL(f80, long double)
COMPLEX(c32, float complex)
COMPLEX(c64, double complex)
COMPLEX(c80, long double complex)
PAIR(float_int, float)
PAIR(double_int, double)
PAIR(long_int, long)
PAIR(two_int, int)
PAIR(short_int, short)
PAIR(long_double_int, long double)

static bool combine_bool(int op, void *target, const void *origin) {
    return (op == LAND || op == LOR || op == LXOR || op == REPLACE || op == NO_OP) && combine_u8(op, target, origin);
}

static void fill_bool(int op, void *at) {
    (void)op;
    *(uint8_t *)at = draw() % 2;
}

static bool combine_byte(int op, void *target, const void *origin) {
    return (op == BAND || op == BOR || op == BXOR || op == REPLACE || op == NO_OP) && combine_u8(op, target, origin);
}

static void fill_byte(int op, void *at) {
    (void)op;
    *(uint8_t *)at = (uint8_t)draw();
}

#define KIND(datatype, type, like) {#datatype, datatype, sizeof(type), combine_##like, fill_##like, {{0, 0}, {0, 0}}, {0, 0}}
#define PADDED(datatype, type, from, to) {#datatype, datatype, sizeof(struct type), combine_##type, fill_##type, {{0, 0}, {0, 0}}, {from, to}}

enum { KINDS = 39 };
static struct kind kinds[KINDS];

/* Open MPI's handles are addresses that a static initialiser may not have from another object. */
static void name_kinds(void) {
    const struct kind list[] = {
        KIND(MPI_SIGNED_CHAR, signed char, i8),
        KIND(MPI_UNSIGNED_CHAR, unsigned char, u8),
        KIND(MPI_SHORT, short, i16),
        KIND(MPI_UNSIGNED_SHORT, unsigned short, u16),
        KIND(MPI_INT, int, i32),
        KIND(MPI_UNSIGNED, unsigned, u32),
        KIND(MPI_LONG, long, i64),
        KIND(MPI_UNSIGNED_LONG, unsigned long, u64),
        KIND(MPI_LONG_LONG, long long, i64),
        KIND(MPI_UNSIGNED_LONG_LONG, unsigned long long, u64),
        KIND(MPI_INT8_T, int8_t, i8),
        KIND(MPI_UINT8_T, uint8_t, u8),
        KIND(MPI_INT16_T, int16_t, i16),
        KIND(MPI_UINT16_T, uint16_t, u16),
        KIND(MPI_INT32_T, int32_t, i32),
        KIND(MPI_UINT32_T, uint32_t, u32),
        KIND(MPI_INT64_T, int64_t, i64),
        KIND(MPI_UINT64_T, uint64_t, u64),
        KIND(MPI_AINT, MPI_Aint, i64),
        KIND(MPI_OFFSET, MPI_Offset, i64),
        KIND(MPI_COUNT, MPI_Count, i64),
        KIND(MPI_FLOAT, float, f32),
        KIND(MPI_DOUBLE, double, f64),
        KIND(MPI_C_FLOAT_COMPLEX, float complex, c32),
        KIND(MPI_C_DOUBLE_COMPLEX, double complex, c64),
        KIND(MPI_C_BOOL, bool, bool),
        KIND(MPI_BYTE, char, byte),
        KIND(MPI_FLOAT_INT, struct float_int, float_int),
        KIND(MPI_2INT, struct two_int, two_int),
        PADDED(MPI_DOUBLE_INT, double_int, 12, 16),
        PADDED(MPI_LONG_INT, long_int, 12, 16),
        PADDED(MPI_SHORT_INT, short_int, 2, 4),
        {"MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, 16, combine_f80, fill_f80, {{10, 16}, {0, 0}}, {0, 0}},
        {"MPI_C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, 32, combine_c80, fill_c80, {{10, 16}, {26, 32}}, {0, 0}},
        {"MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, 32, combine_long_double_int, fill_long_double_int, {{10, 16}, {0, 0}}, {20, 32}},
        /* Characters are no numbers to MPI, but to both hosts. */
        KIND(MPI_CHAR, char, i8),
        /* Fortran's, where C may name them. */
        KIND(MPI_INTEGER, int, i32),
        KIND(MPI_REAL, float, f32),
        KIND(MPI_DOUBLE_PRECISION, double, f64),
    };
    _Static_assert(sizeof list == sizeof kinds, "as many as there are");
    memcpy(kinds, list, sizeof list);
}

#endif
