/* What is measured; each of these is called by both ranks and prints its figures under `name`. */
#ifndef TRANSOM_BENCHES_BUDGET_H
#define TRANSOM_BENCHES_BUDGET_H

#include "measure.h"

/* transfer.c: MPI_Put and MPI_Get in one lock epoch, against stores and copies on the raw mapping. */
void put8_allocate(const struct session *session, const char *name);
void put8_allocate_shared(const struct session *session, const char *name);
void put8_create_mem(const struct session *session, const char *name);
void get8_allocate(const struct session *session, const char *name);
void get8_allocate_shared(const struct session *session, const char *name);
void get8_create_mem(const struct session *session, const char *name);
void put_bandwidth_64kib(const struct session *session, const char *name);
void put_bandwidth_1mib(const struct session *session, const char *name);
void get_bandwidth_64kib(const struct session *session, const char *name);
void get_bandwidth_1mib(const struct session *session, const char *name);

/* epochs.c: synchronisation, and progress of a put while the target computes. */
void lock_exclusive_put8(const struct session *session, const char *name);
void fence_two_ranks(const struct session *session, const char *name);
void passive_put(const struct session *session, const char *name);

/* creation.c */
void create_allocate_64b(const struct session *session, const char *name);
void create_live_10000(const struct session *session, const char *name);

#endif
