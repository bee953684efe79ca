/* The least that a sum of many elements can be: one loop over plain memory, in vectors. */
#ifndef TRANSOM_BENCHES_SUM_H
#define TRANSOM_BENCHES_SUM_H

#include <stddef.h>

/* `bytes` of elements of `from` are added to those at `to`; they do not overlap. */
typedef void sum(void *to, const void *from, size_t bytes);

sum add_chars, add_doubles;

#endif
