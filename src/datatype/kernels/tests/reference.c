// What C makes of the operations, for comparison: the obvious loops, element by element, with the compiler's own types and structures.
// Members are written one by one, so that whatever else is in an element stays as it is.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef __int128 int128;
typedef unsigned __int128 uint128;
#ifdef __x86_64__
typedef __float128 quad;
#define LONG_DOUBLE_BYTES 10
#else
typedef long double quad;
#define LONG_DOUBLE_BYTES 16
#endif

static _Thread_local const char *op;
#define IS(name) (strcmp(op, #name) == 0)

// A loop over elements of STRIDE bytes, of which BYTES are of this type.
#define EACH(type, stride, bytes, compute)                                                                    \
    do {                                                                                                      \
        for (size_t i = 0; i < count; i++) {                                                                  \
            type a, b;                                                                                        \
            memcpy(&a, target + i * (stride), sizeof a);                                                      \
            memcpy(&b, origin + i * (stride), sizeof b);                                                      \
            a = (compute);                                                                                    \
            memcpy(target + i * (stride), &a, bytes);                                                         \
        }                                                                                                     \
        return true;                                                                                          \
    } while (0)
#define WHOLE(type, compute) EACH(type, sizeof(type), sizeof(type), compute)

#define FUNCTION(name) static bool name(char *target, const char *origin, size_t count)

#define BITS(type)                  \
    if (IS(Band)) WHOLE(type, a &b); \
    if (IS(Bor)) WHOLE(type, a | b); \
    if (IS(Bxor)) WHOLE(type, a ^ b);
#define LOGIC(type)                     \
    if (IS(Land)) WHOLE(type, a && b);   \
    if (IS(Lor)) WHOLE(type, a || b);    \
    if (IS(Lxor)) WHOLE(type, !a != !b);
#define NUMBERS(type, bytes)                                        \
    if (IS(Sum)) EACH(type, sizeof(type), bytes, a + b);            \
    if (IS(Prod)) EACH(type, sizeof(type), bytes, a *b);            \
    if (IS(Max)) EACH(type, sizeof(type), bytes, a > b ? a : b);    \
    if (IS(Min)) EACH(type, sizeof(type), bytes, a < b ? a : b);

#define INTEGER(name, type)  \
    FUNCTION(name) {         \
        NUMBERS(type, sizeof(type)) \
        LOGIC(type)          \
        BITS(type)           \
        return false;        \
    }
INTEGER(I8, int8_t)
INTEGER(I16, int16_t)
INTEGER(I32, int32_t)
INTEGER(I64, int64_t)
INTEGER(I128, int128)
INTEGER(U8, uint8_t)
INTEGER(U16, uint16_t)
INTEGER(U32, uint32_t)
INTEGER(U64, uint64_t)

#define LOGICAL(name, type) \
    FUNCTION(name) {        \
        LOGIC(type)         \
        return false;       \
    }
LOGICAL(Bool, uint8_t)
LOGICAL(Logical1, int8_t)
LOGICAL(Logical2, int16_t)
LOGICAL(Logical4, int32_t)
LOGICAL(Logical8, int64_t)

FUNCTION(Byte) {
    BITS(unsigned char)
    return false;
}

#define FLOAT(name, type, bytes) \
    FUNCTION(name) {             \
        NUMBERS(type, bytes)     \
        return false;            \
    }
FLOAT(F32, float, 4)
FLOAT(F64, double, 8)
FLOAT(LongDouble, long double, LONG_DOUBLE_BYTES)
FLOAT(F128, quad, 16)

#define COMPLEX(name, type, bytes)                                                                            \
    FUNCTION(name) {                                                                                          \
        if (!IS(Sum) && !IS(Prod)) return false;                                                              \
        for (size_t i = 0; i < count; i++) {                                                                  \
            type a[2], b[2], c[2];                                                                            \
            memcpy(a, target + i * sizeof a, sizeof a);                                                       \
            memcpy(b, origin + i * sizeof b, sizeof b);                                                       \
            c[0] = IS(Sum) ? a[0] + b[0] : a[0] * b[0] - a[1] * b[1];                                         \
            c[1] = IS(Sum) ? a[1] + b[1] : a[0] * b[1] + a[1] * b[0];                                         \
            memcpy(target + i * sizeof a, &c[0], bytes);                                                      \
            memcpy(target + i * sizeof a + sizeof(type), &c[1], bytes);                                       \
        }                                                                                                     \
        return true;                                                                                          \
    }
COMPLEX(ComplexF32, float, 4)
COMPLEX(ComplexF64, double, 8)
COMPLEX(ComplexLongDouble, long double, LONG_DOUBLE_BYTES)
COMPLEX(ComplexF128, quad, 16)

#define PAIR(name, value_type, index_type, bytes)                                                             \
    FUNCTION(name) {                                                                                          \
        typedef struct {                                                                                      \
            value_type value;                                                                                 \
            index_type index;                                                                                 \
        } pair;                                                                                               \
        for (size_t i = 0; i < count; i++) {                                                                  \
            pair a, b;                                                                                        \
            memcpy(&a, target + i * sizeof a, sizeof a);                                                      \
            memcpy(&b, origin + i * sizeof b, sizeof b);                                                      \
            bool first;                                                                                       \
            if (IS(Maxloc)) first = a.value < b.value;                                                        \
            else if (IS(Minloc)) first = a.value > b.value;                                                   \
            else if (IS(Replace)) first = true;                                                               \
            else return false;                                                                                \
            if (!first && !IS(Replace) && a.value == b.value) first = b.index < a.index;                      \
            if (first) {                                                                                      \
                char *at = target + i * sizeof a;                                                             \
                memcpy(at, &b.value, bytes);                                                                  \
                memcpy(at + offsetof(pair, index), &b.index, sizeof b.index);                                 \
            }                                                                                                 \
        }                                                                                                     \
        return true;                                                                                          \
    }
PAIR(FloatInt, float, int, 4)
PAIR(DoubleInt, double, int, 8)
PAIR(LongInt, long, int, 8)
PAIR(IntInt, int, int, 4)
PAIR(ShortInt, short, int, 2)
PAIR(LongDoubleInt, long double, int, LONG_DOUBLE_BYTES)
PAIR(FloatFloat, float, float, 4)
PAIR(DoubleDouble, double, double, 8)

static const struct {
    const char *name;
    bool (*reduce)(char *, const char *, size_t);
    size_t extent;
} elements[] = {
#define ELEMENT(name, extent) {#name, name, extent},
#define OPAQUE(name, extent) {#name, NULL, extent},
    ELEMENT(I8, 1) ELEMENT(I16, 2) ELEMENT(I32, 4) ELEMENT(I64, 8) ELEMENT(I128, 16)
    ELEMENT(U8, 1) ELEMENT(U16, 2) ELEMENT(U32, 4) ELEMENT(U64, 8)
    ELEMENT(F32, 4) ELEMENT(F64, 8) ELEMENT(LongDouble, sizeof(long double)) ELEMENT(F128, 16)
    ELEMENT(ComplexF32, 8) ELEMENT(ComplexF64, 16) ELEMENT(ComplexLongDouble, 32) ELEMENT(ComplexF128, 32)
    ELEMENT(Bool, 1) ELEMENT(Logical1, 1) ELEMENT(Logical2, 2) ELEMENT(Logical4, 4) ELEMENT(Logical8, 8)
    ELEMENT(Byte, 1) OPAQUE(Opaque1, 1) OPAQUE(Opaque2, 2) OPAQUE(Opaque4, 4) OPAQUE(Opaque16, 16) OPAQUE(Opaque32, 32)
    ELEMENT(FloatInt, sizeof(struct { float v; int i; }))
    ELEMENT(DoubleInt, sizeof(struct { double v; int i; }))
    ELEMENT(LongInt, sizeof(struct { long v; int i; }))
    ELEMENT(IntInt, sizeof(struct { int v; int i; }))
    ELEMENT(ShortInt, sizeof(struct { short v; int i; }))
    ELEMENT(LongDoubleInt, sizeof(struct { long double v; int i; }))
    ELEMENT(FloatFloat, 8) ELEMENT(DoubleDouble, 16)
};

// The operation and the element by the names that they have in Rust; false where C has no such operation.
bool reference(const char *op_name, const char *element, char *target, const char *origin, size_t count) {
    op = op_name;
    if (IS(NoOp)) return true;
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        if (strcmp(elements[i].name, element) != 0) continue;
        if (elements[i].reduce != NULL && elements[i].reduce(target, origin, count)) return true;
        if (!IS(Replace)) return false;
        memcpy(target, origin, count * elements[i].extent);
        return true;
    }
    return false;
}
