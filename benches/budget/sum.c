#include "sum.h"

#if defined(__x86_64__)
#define IN_VECTORS __attribute__((optimize("O3"), target_clones("avx2", "default")))
#else
#define IN_VECTORS __attribute__((optimize("O3")))
#endif

#define SUM(name, type)                                                                                                       \
    IN_VECTORS void add_##name(void *to, const void *from, void *before, size_t bytes)                                         \
    {                                                                                                                          \
        type *restrict target = to;                                                                                            \
        const type *restrict origin = from;                                                                                    \
        (void)before;                                                                                                          \
        for (size_t i = 0; i < bytes / sizeof(type); i++)                                                                      \
            target[i] = (type)(target[i] + origin[i]);                                                                         \
    }                                                                                                                          \
    IN_VECTORS void fetch_and_add_##name(void *to, const void *from, void *before, size_t bytes)                               \
    {                                                                                                                          \
        type *restrict target = to, *restrict result = before;                                                                 \
        const type *restrict origin = from;                                                                                    \
        for (size_t i = 0; i < bytes / sizeof(type); i++) {                                                                    \
            type old = target[i];                                                                                              \
            result[i] = old;                                                                                                   \
            target[i] = (type)(old + origin[i]);                                                                               \
        }                                                                                                                      \
    }

SUM(chars, signed char)
SUM(doubles, double)
