/*
 * The reference of every figure: what the two ranks can do on a plain shared mapping, with no MPI in between.
 */
#ifndef TRANSOM_BENCHES_RAW_H
#define TRANSOM_BENCHES_RAW_H

#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* What one rank writes never shares a line, nor a pair of lines that is fetched together, with what its peer writes. */
enum { APART = 128, RANKS = 2, SPINS_BEFORE_YIELD = 1 << 16 };

struct raw {
    alignas(APART) atomic_int lock;
    struct {
        alignas(APART) atomic_uint count;
    } arrivals[RANKS];
    alignas(4096) char data[];
};

/* Rank 1's memory, mapped by both ranks, zero, with room for `bytes` of data. Nothing of it has a name, so nothing is left behind
 * whatever happens. Aborts the job with a message when it cannot be had. */
struct raw *raw_map(int rank, size_t bytes);

void raw_unmap(struct raw *raw, size_t bytes);

/* Rank 1's private memory, as rank 0 reaches it. */
struct across {
    long process;
    void *address;
};

/* Both ranks, each with memory of its own. */
struct across find_across(int rank, void *memory);

/* Aborts the job with a message when the system does not allow it. */
void write_across(const struct across *across, const void *from, size_t bytes);

static inline void raw_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The cheapest barrier of two ranks: each counts its own arrivals and waits for the peer's, so that one line travels each way. A
 * count, where a flag that flips would not do: a rank may arrive at the next barrier before its peer has seen the last flip.
 * It spins, and yields only after far longer than a peer with a core of its own takes. */
static inline void raw_barrier(struct raw *raw, int rank)
{
    unsigned mine = atomic_load_explicit(&raw->arrivals[rank].count, memory_order_relaxed) + 1;
    /* release and acquire: what either rank wrote before it arrived is seen by the other after it leaves. */
    atomic_store_explicit(&raw->arrivals[rank].count, mine, memory_order_release);
    atomic_uint *peer = &raw->arrivals[1 - rank].count;
    for (unsigned spins = 0; (int)(atomic_load_explicit(peer, memory_order_acquire) - mine) < 0; spins++) {
        raw_pause();
        if (spins > SPINS_BEFORE_YIELD)
            sched_yield();
    }
}

static inline void raw_lock(struct raw *raw)
{
    int unlocked = 0;
    while (!atomic_compare_exchange_weak_explicit(&raw->lock, &unlocked, 1, memory_order_acquire, memory_order_relaxed)) {
        unlocked = 0;
        raw_pause();
    }
}

static inline void raw_unlock(struct raw *raw)
{
    atomic_store_explicit(&raw->lock, 0, memory_order_release);
}

#endif
