/* Layouts: each as a datatype and, for the oracle, as a list of its elements' offsets, written down by hand beside it. */
#ifndef MATRIX_LAYOUTS_H
#define MATRIX_LAYOUTS_H
#include "kinds.h"

enum {
    PLAIN, CONTIGUOUS, VECTOR, HVECTOR, INDEXED, HINDEXED, INDEXED_BLOCK, HINDEXED_BLOCK, STRUCT, SUBARRAY, DARRAY, NEGATIVE_BOUND,
    NEGATIVE_STRIDE, DUP, NESTED, LAYOUTS,
    /* Two structs of one signature, several basic types in each: for put and get. */
    MIXED = LAYOUTS, MIXED_APART, ALL_LAYOUTS
};
static const char *const layout_names[] = {"plain",   "contiguous", "vector",         "hvector",         "indexed", "hindexed",
                                           "indexed_block", "hindexed_block", "struct", "subarray", "darray", "negative_bound",
                                           "negative_stride", "dup", "nested", "mixed", "mixed_apart"};
enum { MOST_PIECES = 12 };

struct piece {
    ptrdiff_t at;
    const struct kind *kind;
};

struct layout {
    MPI_Datatype datatype;
    int pieces;
    struct piece piece[MOST_PIECES];
    ptrdiff_t extent, first, last; /* bytes from the first to behind the last, in one item */
};

static const struct kind *kind_by_name(const char *name) {
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    fail(__FILE__, __LINE__, "no kind is called %s", name);
}

static void piece(struct layout *layout, ptrdiff_t at, const struct kind *kind) {
    ptrdiff_t end = at + (ptrdiff_t)kind->extent;
    if (layout->pieces == 0 || at < layout->first)
        layout->first = at;
    if (layout->pieces == 0 || end > layout->last)
        layout->last = end;
    layout->piece[layout->pieces++] = (struct piece){at, kind};
}

/* Elements of one kind at multiples of its extent. */
static void elements(struct layout *layout, const struct kind *kind, int count, const int *at) {
    for (int i = 0; i < count; i++)
        piece(layout, at[i] * (ptrdiff_t)kind->extent, kind);
}
#define ELEMENTS(...) elements(&made, kind, (int)(sizeof(int[]){__VA_ARGS__} / sizeof(int)), (int[]){__VA_ARGS__})

static MPI_Datatype resized(MPI_Datatype inner, MPI_Aint lower, MPI_Aint extent) {
    MPI_Datatype outer;
    OK(MPI_Type_create_resized(inner, lower, extent, &outer));
    OK(MPI_Type_free(&inner));
    return outer;
}

/* A short, two elements of the kind, three bytes. */
static struct layout mixed(const struct kind *kind, int apart) {
    struct layout made = {0};
    const struct kind *small = kind_by_name("MPI_SHORT"), *byte = kind_by_name("MPI_BYTE");
    MPI_Aint at[] = {apart ? 80 : 0, apart ? 0 : 16, apart ? 91 : 16 + 2 * (MPI_Aint)kind->extent + 1};
    MPI_Datatype inner, types[] = {small->datatype, kind->datatype, byte->datatype};
    made.extent = apart ? 112 : 96;
    OK(MPI_Type_create_struct(3, (int[]){1, 2, 3}, at, types, &inner));
    made.datatype = resized(inner, 0, made.extent);
    piece(&made, at[0], small);
    for (int i = 0; i < 2; i++)
        piece(&made, at[1] + i * (ptrdiff_t)kind->extent, kind);
    for (int i = 0; i < 3; i++)
        piece(&made, at[2] + i, byte);
    return made;
}

static struct layout make_layout(int which, const struct kind *kind) {
    struct layout made = {0};
    MPI_Datatype inner, basic = kind->datatype;
    MPI_Aint e = (MPI_Aint)kind->extent, stride;
    switch (which) {
    case PLAIN:
        made.datatype = basic;
        ELEMENTS(0);
        made.extent = e;
        return made;
    case CONTIGUOUS:
        OK(MPI_Type_contiguous(3, basic, &made.datatype));
        ELEMENTS(0, 1, 2);
        made.extent = 3 * e;
        break;
    case VECTOR:
        OK(MPI_Type_vector(3, 2, 4, basic, &made.datatype));
        ELEMENTS(0, 1, 4, 5, 8, 9);
        made.extent = 10 * e;
        break;
    case HVECTOR:
        /* No multiple of anything: its elements are misaligned. */
        stride = 2 * e + 1;
        OK(MPI_Type_create_hvector(3, 1, stride, basic, &inner));
        /* Open MPI rounds its extent up, as MPI lets it. */
        made.datatype = resized(inner, 0, 2 * stride + e);
        for (int i = 0; i < 3; i++)
            piece(&made, i * stride, kind);
        made.extent = 2 * stride + e;
        break;
    case INDEXED:
        OK(MPI_Type_indexed(4, (int[]){2, 1, 0, 3}, (int[]){5, 1, 6, 8}, basic, &made.datatype));
        ELEMENTS(5, 6, 1, 8, 9, 10);
        made.extent = 10 * e;
        break;
    case HINDEXED:
        OK(MPI_Type_create_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){7 * e, 2 * e}, basic, &made.datatype));
        ELEMENTS(7, 2, 3);
        made.extent = 6 * e;
        break;
    case INDEXED_BLOCK:
        OK(MPI_Type_create_indexed_block(3, 2, (int[]){6, 0, 3}, basic, &made.datatype));
        ELEMENTS(6, 7, 0, 1, 3, 4);
        made.extent = 8 * e;
        break;
    case HINDEXED_BLOCK:
        OK(MPI_Type_create_hindexed_block(3, 1, (MPI_Aint[]){3 * e, 0, 5 * e}, basic, &made.datatype));
        ELEMENTS(3, 0, 5);
        made.extent = 6 * e;
        break;
    case STRUCT:
        OK(MPI_Type_create_struct(2, (int[]){2, 1}, (MPI_Aint[]){2 * e, 5 * e}, (MPI_Datatype[]){basic, basic}, &inner));
        made.datatype = resized(inner, e, 7 * e);
        ELEMENTS(2, 3, 5);
        made.extent = 7 * e;
        break;
    case SUBARRAY:
        OK(MPI_Type_create_subarray(2, (int[]){4, 5}, (int[]){2, 3}, (int[]){1, 1}, MPI_ORDER_C, basic, &made.datatype));
        ELEMENTS(6, 7, 8, 11, 12, 13);
        made.extent = 20 * e;
        break;
    case DARRAY:
        OK(MPI_Type_create_darray(2, 1, 2, (int[]){4, 6}, (int[]){MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC},
                                  (int[]){MPI_DISTRIBUTE_DFLT_DARG, 1}, (int[]){1, 2}, MPI_ORDER_C, basic, &made.datatype));
        ELEMENTS(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23);
        made.extent = 24 * e;
        break;
    case NEGATIVE_BOUND:
        OK(MPI_Type_vector(2, 1, 2, basic, &inner));
        made.datatype = resized(inner, -2 * e, 6 * e);
        ELEMENTS(0, 2);
        made.extent = 6 * e;
        break;
    case NEGATIVE_STRIDE:
        OK(MPI_Type_vector(3, 1, -2, basic, &made.datatype));
        ELEMENTS(0, -2, -4);
        made.extent = 5 * e;
        break;
    case DUP:
        OK(MPI_Type_vector(2, 1, 3, basic, &inner));
        OK(MPI_Type_dup(inner, &made.datatype));
        OK(MPI_Type_free(&inner));
        ELEMENTS(0, 3);
        made.extent = 4 * e;
        break;
    case NESTED: {
        MPI_Datatype innermost;
        OK(MPI_Type_vector(2, 1, 2, basic, &innermost));
        OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4 * e}, (MPI_Datatype[]){innermost, basic}, &inner));
        OK(MPI_Type_free(&innermost));
        inner = resized(inner, 0, 6 * e);
        OK(MPI_Type_vector(2, 1, 2, inner, &made.datatype));
        OK(MPI_Type_free(&inner));
        ELEMENTS(0, 2, 4, 12, 14, 16);
        made.extent = 18 * e;
        break;
    }
    default: made = mixed(kind, which == MIXED_APART); break;
    }
    OK(MPI_Type_commit(&made.datatype));
    return made;
}

/* The oracle against the host: extents that differ would make every cell wrong. */
static void check_layout(const struct layout *layout, int which, const struct kind *kind) {
    MPI_Aint lower, extent;
    OK(MPI_Type_get_extent(layout->datatype, &lower, &extent));
    CHECK(extent == layout->extent, "%s of %s: the host's extent is %ld, not %ld", layout_names[which], kind->name, (long)extent,
          (long)layout->extent);
}

/* Where element `index` lies, counted from the address that the operation is given. */
static struct piece nth(const struct layout *layout, int index) {
    struct piece found = layout->piece[index % layout->pieces];
    found.at += index / layout->pieces * layout->extent;
    return found;
}

/* Bytes before and behind the address that so many items reach. */
static ptrdiff_t reach_before(const struct layout *layout) {
    return layout->first < 0 ? -layout->first : 0;
}

static ptrdiff_t reach_behind(const struct layout *layout, int items) {
    return items == 0 ? 0 : (items - 1) * layout->extent + layout->last;
}

#endif
