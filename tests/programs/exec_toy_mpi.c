/* An MPI of no known family, with a few functions that tell whether their arguments arrived. With -DPROGRAM: a program that makes the
 * first call of all with more arguments than registers hold. */
#include <stdio.h>
#include <string.h>

int MPI_Rget_accumulate(const void *, int, void *, void *, int, void *, int, long, int, void *, void *, void *, void **);
int MPI_Compare_and_swap(const void *, const void *, void *, void *, int, long, void *);
int MPI_Rput_c(const void *, long, void *, int, long, long, void *, void *, void **);

#ifdef PROGRAM
#define P(n) ((void *)(long)(n))

int main(void) {
    void *request[1];
    for (int round = 0; round < 2; round++)
        printf("rget_accumulate=%d\n", MPI_Rget_accumulate(P(1), 2, P(3), P(4), 5, P(6), 7, 8L << 40, 9, P(10), P(11), P(12), request));
    printf("compare_and_swap=%d\n", MPI_Compare_and_swap(P(1), P(2), P(3), P(4), 5, 6L << 40, P(7)));
    for (int round = 0; round < 2; round++)
        printf("rput_c=%d\n", MPI_Rput_c(P(1), 2, P(3), 4, 5, 6, P(7), P(8), request));
    return 0;
}
#else
int PMPI_Init(int *argc, char ***argv) {
    return argc == NULL || argv == NULL;
}

int PMPI_Get_library_version(char *text, int *length) {
    *length = (int)strlen(strcpy(text, "Toy MPI 1.0\nof no family"));
    return 0;
}

int PMPI_Rget_accumulate(const void *a, int b, void *c, void *d, int e, void *f, int g, long h, int i, void *j, void *k, void *l,
                         void **m) {
    return (long)a == 1 && b == 2 && (long)c == 3 && (long)d == 4 && e == 5 && (long)f == 6 && g == 7 && h == 8L << 40 && i == 9 &&
                   (long)j == 10 && (long)k == 11 && (long)l == 12 && m != NULL
               ? 111
               : -1;
}

int PMPI_Compare_and_swap(const void *a, const void *b, void *c, void *d, int e, long f, void *g) {
    return (long)a == 1 && (long)b == 2 && (long)c == 3 && (long)d == 4 && e == 5 && f == 6L << 40 && (long)g == 7 ? 222 : -1;
}

int MPI_Rget_accumulate(const void *a, int b, void *c, void *d, int e, void *f, int g, long h, int i, void *j, void *k, void *l, void **m)
    __attribute__((weak, alias("PMPI_Rget_accumulate")));
int MPI_Compare_and_swap(const void *a, const void *b, void *c, void *d, int e, long f, void *g)
    __attribute__((weak, alias("PMPI_Compare_and_swap")));

/* Declared to the linker, so that the program links, and absent at the profiling interface: as if the host were too old for it. */
int MPI_Rput_c(const void *a, long b, void *c, int d, long e, long f, void *g, void *h, void **i) {
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i;
    return -1;
}
#endif
