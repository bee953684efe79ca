/* Datatypes that Fortran programs name by precision and range, and what is built from them. */
#include "check.h"

enum { ITEMS = 6 };

static void move(MPI_Datatype type, int count, MPI_Win window, const unsigned char *own) {
    unsigned char sent[ITEMS * 32], got[ITEMS * 32] = {0};
    int size, other = (rank + 1) % ranks;
    OK(MPI_Type_size(type, &size));
    size_t bytes = (size_t)size * (size_t)count;
    for (size_t i = 0; i < bytes; i++)
        sent[i] = (unsigned char)(i * 7 + bytes + (size_t)rank);
    OK(MPI_Win_fence(0, window));
    OK(MPI_Put(sent, count, type, other, 0, count, type, window));
    OK(MPI_Win_fence(0, window));
    for (size_t i = 0; i < bytes; i++)
        CHECK(own[i] == (unsigned char)(i * 7 + bytes + (size_t)((rank + ranks - 1) % ranks)), "byte %zu of %zu", i, bytes);
    OK(MPI_Get(got, count, type, other, 0, count, type, window));
    OK(MPI_Win_fence(0, window));
    CHECK(memcmp(sent, got, bytes) == 0, "%zu bytes came back changed", bytes);
}

static void move_all(MPI_Datatype type, MPI_Win window, const unsigned char *own) {
    MPI_Datatype copy, two;
    move(type, ITEMS, window, own);
    OK(MPI_Type_dup(type, &copy));
    OK(MPI_Type_contiguous(2, copy, &two));
    OK(MPI_Type_commit(&two));
    /* Twice: were the named type given back to the host along with the others, it would be gone the second time. */
    for (int round = 0; round < 2; round++) {
        move(copy, ITEMS, window, own);
        move(two, ITEMS / 2, window, own);
    }
    OK(MPI_Type_free(&two));
    OK(MPI_Type_free(&copy));
    move(type, ITEMS, window, own);
}

static void moved(void) {
    MPI_Datatype type;
    MPI_Win window;
    unsigned char *own;
    OK(MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    const int ranges[] = {2, 4, 9, 18};
    for (int i = 0; i < 4; i++) {
        OK(MPI_Type_create_f90_integer(ranges[i], &type));
        move_all(type, window, own);
    }
    const int digits[] = {6, 15};
    for (int i = 0; i < 2; i++) {
        OK(MPI_Type_create_f90_real(digits[i], MPI_UNDEFINED, &type));
        move_all(type, window, own);
        OK(MPI_Type_create_f90_complex(digits[i], MPI_UNDEFINED, &type));
        move_all(type, window, own);
    }
    OK(MPI_Win_free(&window));
}

#define ADD(c_type, type)                                                                                                   \
    do {                                                                                                                    \
        c_type *cell = own, one = (c_type)1.5;                                                                              \
        *cell = 2;                                                                                                          \
        OK(MPI_Win_fence(0, window));                                                                                       \
        OK(MPI_Accumulate(&one, 1, type, (rank + 1) % ranks, 0, 1, type, MPI_SUM, window));                                 \
        OK(MPI_Win_fence(0, window));                                                                                       \
        CHECK(*cell == 2 + (c_type)1.5, #c_type);                                                                           \
    } while (0)

static void summed(void) {
    MPI_Datatype type, copy;
    MPI_Win window;
    void *own;
    OK(MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window));
    OK(MPI_Type_create_f90_integer(4, &type));
    ADD(short, type);
    OK(MPI_Type_create_f90_integer(18, &type));
    ADD(long, type);
    OK(MPI_Type_dup(type, &copy));
    ADD(long, copy);
    OK(MPI_Type_free(&copy));
    OK(MPI_Type_create_f90_real(6, MPI_UNDEFINED, &type));
    ADD(float, type);
    OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type));
    ADD(double, type);
    OK(MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &type));
    ADD(double _Complex, type);
    /* MPICH has no more digits. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (MPI_Type_create_f90_real(18, MPI_UNDEFINED, &type) == MPI_SUCCESS && type != MPI_DATATYPE_NULL)
        ADD(long double, type);
    OK(MPI_Win_free(&window));
}

MAIN(SCENARIO(moved), SCENARIO(summed))
