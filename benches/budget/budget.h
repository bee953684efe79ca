/* What is measured; each of these is called by both ranks and prints its figures under `name`. */
#ifndef TRANSOM_BENCHES_BUDGET_H
#define TRANSOM_BENCHES_BUDGET_H

#include "measure.h"

/* transfer.c: MPI_Put and MPI_Get in one lock epoch, against stores and copies on the raw mapping. */
void put8_allocate(const struct session *session, const char *name);
void put8_allocate_shared(const struct session *session, const char *name);
void put8_create_mem(const struct session *session, const char *name);
void put8_create(const struct session *session, const char *name);
void get8_allocate(const struct session *session, const char *name);
void get8_allocate_shared(const struct session *session, const char *name);
void get8_create_mem(const struct session *session, const char *name);
void put_bandwidth_64kib(const struct session *session, const char *name);
void put_bandwidth_1mib(const struct session *session, const char *name);
void get_bandwidth_64kib(const struct session *session, const char *name);
void get_bandwidth_1mib(const struct session *session, const char *name);

/* atomics.c: one element of 8 bytes, against the bare atomic instruction. */
void fetch_and_op8(const struct session *session, const char *name);
void compare_and_swap8(const struct session *session, const char *name);

/* accumulate.c: 64 KiB, against a loop of vectors on the raw mapping; and two ranks at once, against one. */
void accumulate_chars(const struct session *session, const char *name);
void accumulate_doubles(const struct session *session, const char *name);
void get_accumulate_chars(const struct session *session, const char *name);
void get_accumulate_doubles(const struct session *session, const char *name);
void accumulate_disjoint(const struct session *session, const char *name);
void accumulate_disjoint_raw(const struct session *session, const char *name);

/* layouts.c: derived datatypes at both sides, against the same loops by hand on the raw mapping; and what a datatype's first use takes. */
void put_strided(const struct session *session, const char *name);
void get_strided(const struct session *session, const char *name);
void accumulate_strided(const struct session *session, const char *name);
void put_indexed(const struct session *session, const char *name);
void get_indexed(const struct session *session, const char *name);
void accumulate_indexed(const struct session *session, const char *name);
void first_use_strided(const struct session *session, const char *name);
void first_use_indexed(const struct session *session, const char *name);
void known_type(const struct session *session, const char *name);

/* requests.c: MPI_Rput and MPI_Rget with MPI_Wait. */
void rput8(const struct session *session, const char *name);
void rget8(const struct session *session, const char *name);

/* epochs.c: synchronisation. */
void lock_exclusive_put8(const struct session *session, const char *name);
void fence_two_ranks(const struct session *session, const char *name);

/* passive.c: progress while the target computes. */
void passive_put(const struct session *session, const char *name);
void passive_fetch_and_op(const struct session *session, const char *name);
void passive_accumulate(const struct session *session, const char *name);

/* creation.c */
void create_allocate_64b(const struct session *session, const char *name);
void create_live_10000(const struct session *session, const char *name);

#endif
