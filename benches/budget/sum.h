/* The least that a sum of many elements can be: one loop over plain memory, in vectors. */
#ifndef TRANSOM_BENCHES_SUM_H
#define TRANSOM_BENCHES_SUM_H

#include <stddef.h>

/* `bytes` of elements of `from` are added to those at `to`; what was there before goes to `before`. No two overlap. */
typedef void sum(void *to, const void *from, void *before, size_t bytes);

sum add_chars, add_doubles;             /* `before` stays as it is */
sum fetch_and_add_chars, fetch_and_add_doubles;

#endif
