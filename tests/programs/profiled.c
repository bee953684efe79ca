/* A program under a profiling tool: so many calls of each kind, and right results. */
#include "check.h"

enum { FENCES = 12, PUTS = 7, GETS = 3, CELLS = 1024 };

static MPI_Win windows[3];

/* A call of the program's from inside another one of its calls. */
static int marks_another(MPI_Win window, int keyval, void *value, void *extra) {
    (void)keyval, (void)extra;
    if (value != NULL)
        OK(MPI_Win_set_attr(window == windows[0] ? windows[1] : windows[0], *(int *)value, NULL));
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int *memory[3], keyval, silent;
    /* Not by what check.h has, which wants MPI_Put to be Transom's: here it is the tool's. */
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    OK(MPI_Alloc_mem(CELLS * sizeof(int), MPI_INFO_NULL, &memory[0]));
    OK(MPI_Win_create(memory[0], CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &windows[0]));
    for (int w = 1; w < 3; w++)
        OK(MPI_Win_allocate(CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory[w], &windows[w]));
    for (int w = 0; w < 3; w++) {
        for (int fence = 0; fence < FENCES / 2 - 1; fence++)
            OK(MPI_Win_fence(0, windows[w]));
        for (int put = 0; put < PUTS; put++) {
            int *value = &memory[w][put];
            *value = 1000 * rank + 10 * w + put;
            OK(MPI_Put(value, 1, MPI_INT, right, 100 + put, 1, MPI_INT, windows[w]));
        }
        OK(MPI_Win_fence(0, windows[w]));
        for (int get = 0; get < GETS; get++)
            OK(MPI_Get(&memory[w][500 + get], 1, MPI_INT, right, 100 + get, 1, MPI_INT, windows[w]));
        for (int fence = 0; fence < FENCES / 2; fence++)
            OK(MPI_Win_fence(0, windows[w]));
        for (int put = 0; put < PUTS; put++)
            CHECK(memory[w][100 + put] == 1000 * left + 10 * w + put, "window %d: %d", w, memory[w][100 + put]);
        for (int get = 0; get < GETS; get++)
            CHECK(memory[w][500 + get] == 1000 * rank + 10 * w + get, "window %d: %d", w, memory[w][500 + get]);
    }
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, marks_another, &keyval, NULL));
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &silent, NULL));
    /* Five of its own, and one by a callback. */
    for (int w = 0; w < 3; w++)
        OK(MPI_Win_set_attr(windows[w], silent, NULL));
    OK(MPI_Win_set_attr(windows[2], keyval, &silent));
    OK(MPI_Win_set_attr(windows[2], keyval, NULL));
    for (int w = 2; w >= 0; w--)
        OK(MPI_Win_free(&windows[w]));
    OK(MPI_Win_free_keyval(&keyval));
    OK(MPI_Win_free_keyval(&silent));
    OK(MPI_Free_mem(memory[0]));
    OK(MPI_Finalize());
    return 0;
}
