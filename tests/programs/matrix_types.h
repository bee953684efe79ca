/* The matrix's predefined types: those of the accumulates, and what C knows of Fortran's. */
#ifndef MATRIX_TYPES_H
#define MATRIX_TYPES_H
#include "kinds.h"

static bool combine_logical(int op, void *target, const void *origin) {
    return (op == LAND || op == LOR || op == LXOR || op == REPLACE || op == NO_OP) && combine_i32(op, target, origin);
}

static void fill_logical(int op, void *at) {
    int value = draw() % 2;
    (void)op;
    memcpy(at, &value, sizeof value);
}

/* No arithmetic, but every type may be replaced and read. */
static bool combine_opaque1(int op, void *target, const void *origin) {
    return (op == REPLACE || op == NO_OP) && combine_u8(op, target, origin);
}

static bool combine_opaque4(int op, void *target, const void *origin) {
    return (op == REPLACE || op == NO_OP) && combine_u32(op, target, origin);
}

enum { MOST_TYPES = 64 };
static struct kind all[MOST_TYPES];
static int types;

static const char *const op_names[] = {"max", "min", "sum", "prod", "land", "lor", "lxor", "band", "bor", "bxor", "maxloc", "minloc", "replace", "no_op"};

static void name_types(void) {
    name_kinds();
#define OPAQUE(datatype, type, like, fill) {#datatype, datatype, sizeof(type), combine_##like, fill, {{0, 0}, {0, 0}}, {0, 0}}
    const struct kind more[] = {
        KIND(MPI_INTEGER1, int8_t, i8),
        KIND(MPI_INTEGER2, int16_t, i16),
        KIND(MPI_INTEGER4, int32_t, i32),
        KIND(MPI_INTEGER8, int64_t, i64),
        KIND(MPI_REAL4, float, f32),
        KIND(MPI_REAL8, double, f64),
        KIND(MPI_COMPLEX, float complex, c32),
        KIND(MPI_DOUBLE_COMPLEX, double complex, c64),
        KIND(MPI_LOGICAL, int, logical),
        KIND(MPI_2INTEGER, struct two_int, two_int),
        OPAQUE(MPI_CHARACTER, char, opaque1, fill_byte),
        OPAQUE(MPI_PACKED, char, opaque1, fill_byte),
        OPAQUE(MPI_WCHAR, wchar_t, opaque4, fill_u32),
    };
    const size_t count = sizeof more / sizeof more[0];
    _Static_assert(KINDS + sizeof more / sizeof more[0] <= MOST_TYPES, "room");
    memcpy(all, kinds, sizeof kinds);
    memcpy(all + KINDS, more, sizeof more);
    /* The host may have been built without some. */
    for (size_t i = 0; i < KINDS + count; i++) {
        int size = 0;
        if (all[i].datatype != MPI_DATATYPE_NULL && MPI_Type_size(all[i].datatype, &size) == MPI_SUCCESS && size > 0)
            all[types++] = all[i];
    }
}

static bool allows(const struct kind *kind, int op) {
    char scratch[32] = {0}, zero[32] = {0};
    return kind->combine(op, scratch, zero);
}

/* Integers, logical types and bytes; MPI_PACKED, MPI_WCHAR and characters are none. */
static bool may_be_swapped(const struct kind *kind) {
    return allows(kind, BAND) || (allows(kind, LAND) && kind->extent <= 4 && !allows(kind, SUM));
}

#endif
