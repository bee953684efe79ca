#include "sum.h"

#if defined(__x86_64__)
#define IN_VECTORS __attribute__((optimize("O3"), target_clones("avx2", "default")))
#else
#define IN_VECTORS __attribute__((optimize("O3")))
#endif

IN_VECTORS void add_chars(void *to, const void *from, size_t bytes)
{
    signed char *restrict target = to;
    const signed char *restrict origin = from;
    for (size_t i = 0; i < bytes; i++)
        target[i] = (signed char)(target[i] + origin[i]);
}

IN_VECTORS void add_doubles(void *to, const void *from, size_t bytes)
{
    double *restrict target = to;
    const double *restrict origin = from;
    for (size_t i = 0; i < bytes / sizeof *target; i++)
        target[i] += origin[i];
}
