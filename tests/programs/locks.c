/* Passive epochs: what locks exclude and let through, and that nobody waits in vain. */
#include "check.h"
#include <sched.h>

static MPI_Win allocate(int cells, long **own) {
    MPI_Win window = allocate_cells(cells, own);
    barrier();
    return window;
}

/* Many times as many rounds in the long run of the tests. */
static int scaled(int rounds) {
    return getenv("TRANSOM_TEST_FULL") ? rounds * 10 : rounds;
}

/* Gives the other ranks the time, and on few cores the core, to come in between. */
static void dawdle(int round) {
    if (round % 8 == 0)
        sched_yield();
    for (double end = seconds() + 2e-6; seconds() < end;)
        ;
}

/* Adds one to a cell by get and put, which loses counts unless the lock excludes. */
static void increment(MPI_Win window, int target, int at) {
    long value = -1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window));
    OK(MPI_Get(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, window));
    OK(MPI_Win_flush(target, window));
    dawdle((int)value);
    value++;
    OK(MPI_Put(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, window));
    OK(MPI_Win_unlock(target, window));
}

static long cell(MPI_Win window, int target, int at) {
    long value = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
    OK(MPI_Get(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, window));
    OK(MPI_Win_unlock(target, window));
    return value;
}

static void exclusive_locks_lose_nothing(void) {
    long *own;
    MPI_Win window = allocate(2, &own);
    int rounds = scaled(300);
    for (int round = 0; round < rounds; round++)
        for (int target = 0; target < ranks; target++)
            increment(window, target, 1);
    barrier();
    for (int target = 0; target < ranks; target++)
        CHECK(cell(window, target, 1) == (long)rounds * ranks, "at %d: %ld of %ld", target, cell(window, target, 1), (long)rounds * ranks);
    barrier();
    OK(MPI_Win_free(&window));
}

/* The owner's loads and stores under its own lock count as well. */
static void the_owner_is_excluded_too(void) {
    long *own;
    MPI_Win window = allocate(2, &own);
    int rounds = scaled(2000);
    for (int round = 0; round < rounds; round++)
        if (rank == 0) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
            long before = own[0];
            dawdle(round);
            own[0] = before + 1;
            OK(MPI_Win_unlock(0, window));
        } else
            increment(window, 0, 0);
    barrier();
    CHECK(cell(window, 0, 0) == (long)rounds * ranks, "%ld of %ld", cell(window, 0, 0), (long)rounds * ranks);
    barrier();
    OK(MPI_Win_free(&window));
}

/* Writers keep two cells equal under an exclusive lock; readers under a shared one, or in lock_all, never see them differ. */
static void shared_locks_see_whole_updates(void) {
    long *own, pair[2];
    MPI_Win window = allocate(2, &own);
    int rounds = scaled(500);
    for (int round = 0; round < rounds; round++) {
        if (rank % 2 == 0) {
            pair[0] = pair[1] = round * 100 + rank;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
            OK(MPI_Put(&pair[0], 1, MPI_LONG, 0, 0, 1, MPI_LONG, window));
            OK(MPI_Win_flush(0, window));
            dawdle(round);
            OK(MPI_Put(&pair[1], 1, MPI_LONG, 0, 1, 1, MPI_LONG, window));
            OK(MPI_Win_unlock(0, window));
        } else {
            pair[0] = -1, pair[1] = -2;
            if (round % 2)
                OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
            else
                OK(MPI_Win_lock_all(0, window));
            OK(MPI_Get(&pair[1], 1, MPI_LONG, 0, 1, 1, MPI_LONG, window));
            OK(MPI_Win_flush(0, window));
            dawdle(round);
            OK(MPI_Get(&pair[0], 1, MPI_LONG, 0, 0, 1, MPI_LONG, window));
            if (round % 2)
                OK(MPI_Win_unlock(0, window));
            else
                OK(MPI_Win_unlock_all(window));
            CHECK(pair[0] == pair[1], "round %d: %ld and %ld", round, pair[0], pair[1]);
        }
    }
    barrier();
    OK(MPI_Win_free(&window));
}

/* Shared locks do not exclude each other: all ranks are inside at once. */
static void shared_locks_are_held_together(void) {
    long *own;
    MPI_Win window = allocate(1, &own);
    for (int round = 0; round < 50; round++) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
        barrier();
        OK(MPI_Win_unlock(0, window));
        OK(MPI_Win_lock_all(0, window));
        barrier();
        OK(MPI_Win_unlock_all(window));
    }
    OK(MPI_Win_free(&window));
}

/* One rank holds rank 0's lock exclusively across a barrier and lets go while rank 0 enters lock_all: both always finish. */
static void lock_all_against_exclusive(void) {
    long *own;
    MPI_Win window = allocate(1, &own);
    /* 100,000 rounds showed it elsewhere; here as many as the time allows, all ranks agreeing on the last. */
    double end = seconds() + (getenv("TRANSOM_TEST_FULL") ? 60 : 3);
    int more = 1;
    for (int round = 0; round < 100000 && more; round++) {
        if (rank == 1)
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
        barrier();
        if (rank == 1)
            OK(MPI_Win_unlock(0, window));
        else {
            OK(MPI_Win_lock_all(0, window));
            OK(MPI_Win_unlock_all(window));
        }
        /* Or rank 1 would take its next lock, and wait with it for rank 0, before rank 0 has had this one. */
        barrier();
        if (round % 100 == 0) {
            more = seconds() < end;
            OK(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
        }
    }
    increment(window, 0, 0);
    barrier();
    CHECK(cell(window, 0, 0) == ranks, "%ld", cell(window, 0, 0));
    barrier();
    OK(MPI_Win_free(&window));
}

/* Pairs with MPI_MODE_NOCHECK leave the lock as it was: later locks of both kinds work. */
static void nocheck_leaves_the_lock_alone(void) {
    long *own, value;
    MPI_Win window = allocate(2, &own);
    for (int round = 0; round < 50; round++) {
        for (int holder = 0; holder < ranks; holder++) {
            if (rank == holder) {
                value = round * 100 + rank;
                OK(MPI_Win_lock(round % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, window));
                OK(MPI_Put(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, window));
                OK(MPI_Win_unlock(0, window));
            }
            barrier();
        }
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, window));
        OK(MPI_Win_flush_all(window));
        OK(MPI_Win_unlock_all(window));
        barrier();
        increment(window, 0, 0);
        barrier();
        CHECK(cell(window, 0, 0) == (long)ranks * (round + 1), "round %d: %ld", round, cell(window, 0, 0));
        barrier();
    }
    OK(MPI_Win_free(&window));
}

/* All ranks take the locks of all targets in the same order and hold them together: eager acquisition cannot deadlock. */
static void many_locks_in_the_same_order(void) {
    long *own;
    MPI_Win window = allocate(1, &own);
    int rounds = scaled(500);
    for (int round = 0; round < rounds; round++) {
        for (int target = 0; target < ranks; target++)
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window));
        for (int target = 0; target < ranks; target++) {
            long value;
            OK(MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, window));
            OK(MPI_Win_flush(target, window));
            value++;
            OK(MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, window));
        }
        for (int target = 0; target < ranks; target++)
            OK(MPI_Win_unlock(target, window));
    }
    barrier();
    for (int target = 0; target < ranks; target++)
        CHECK(cell(window, target, 0) == (long)rounds * ranks, "at %d: %ld", target, cell(window, target, 0));
    barrier();
    OK(MPI_Win_free(&window));
}

/* Locks of several windows are independent: one is held while the other is taken, by ranks in opposite order. */
static void locks_of_two_windows(void) {
    long *one, *two;
    MPI_Win first = allocate(1, &one), second = allocate(1, &two);
    int rounds = scaled(200);
    for (int round = 0; round < rounds; round++) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, first));
        increment(second, (rank + 1) % ranks, 0);
        OK(MPI_Win_unlock(rank, first));
    }
    barrier();
    CHECK(cell(second, rank, 0) == rounds, "%ld of %d", cell(second, rank, 0), rounds);
    barrier();
    OK(MPI_Win_free(&first));
    OK(MPI_Win_free(&second));
}

/* Alternating put and flush on two windows. */
static void flushes_on_two_windows(void) {
    long *one, *two;
    MPI_Win first = allocate(1, &one), second = allocate(1, &two);
    int target = (rank + 1) % ranks;
    OK(MPI_Win_lock_all(0, first));
    OK(MPI_Win_lock_all(0, second));
    for (long round = 1; round <= 20000; round++) {
        OK(MPI_Put(&round, 1, MPI_LONG, target, 0, 1, MPI_LONG, first));
        OK(MPI_Win_flush(target, first));
        OK(MPI_Put(&round, 1, MPI_LONG, target, 0, 1, MPI_LONG, second));
        OK(MPI_Win_flush(target, second));
    }
    OK(MPI_Win_unlock_all(second));
    OK(MPI_Win_unlock_all(first));
    barrier();
    CHECK(cell(first, rank, 0) == 20000 && cell(second, rank, 0) == 20000, "%ld and %ld", cell(first, rank, 0), cell(second, rank, 0));
    barrier();
    OK(MPI_Win_free(&first));
    OK(MPI_Win_free(&second));
}

/* The target sits in a barrier of the parent communicator while others lock it. */
static void while_the_target_is_in_a_barrier(void) {
    long *own;
    MPI_Win window = allocate(64, &own);
    for (int round = 0; round < 20; round++) {
        if (rank != 0) {
            long value = round + 1, back = 0;
            OK(MPI_Win_lock_all(0, window));
            OK(MPI_Put(&value, 1, MPI_LONG, 0, rank, 1, MPI_LONG, window));
            OK(MPI_Win_flush(0, window));
            OK(MPI_Get(&back, 1, MPI_LONG, 0, rank, 1, MPI_LONG, window));
            OK(MPI_Win_unlock_all(window));
            CHECK(back == value, "%ld of %ld", back, value);
            increment(window, 0, 0);
        }
        barrier();
    }
    barrier();
    CHECK(cell(window, 0, 0) == 20L * (ranks - 1), "%ld", cell(window, 0, 0));
    barrier();
    OK(MPI_Win_free(&window));
}

/* The target computes for a second without calling MPI; meanwhile others lock it, put, get and unlock. */
static void while_the_target_computes(void) {
    long *own;
    MPI_Win window = allocate(64, &own);
    double began = seconds(), ended[64] = {0};
    if (rank == 0) {
        volatile double sum = 0;
        while (seconds() - began < 1.0)
            for (int i = 1; i < 1000; i++)
                sum += 1.0 / i;
    } else {
        for (int round = 0; round < 100; round++) {
            long value = 1000 * round + rank, back = -1;
            OK(MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, window));
            OK(MPI_Put(&value, 1, MPI_LONG, 0, rank, 1, MPI_LONG, window));
            OK(MPI_Win_unlock(0, window));
            OK(MPI_Win_lock_all(0, window));
            OK(MPI_Get(&back, 1, MPI_LONG, 0, rank, 1, MPI_LONG, window));
            OK(MPI_Win_unlock_all(window));
            CHECK(back == value, "%ld of %ld", back, value);
        }
    }
    double took = seconds() - began;
    OK(MPI_Gather(&took, 1, MPI_DOUBLE, ended, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    for (int r = 1; r < ranks && rank == 0; r++)
        CHECK(ended[r] < 0.9, "rank %d needed %.3f s while the target computed", r, ended[r]);
    OK(MPI_Win_free(&window));
}

/* Put and flush, then a message; who has received it loads the new value, after MPI_Win_sync. */
static void flushed_data_is_there_when_a_message_says_so(void) {
    long *own;
    MPI_Win window = allocate(16, &own);
    int rounds = scaled(5000);
    OK(MPI_Win_lock_all(0, window));
    for (long round = 1; round <= rounds; round++)
        if (rank == 0) {
            for (int at = 0; at < 16; at++)
                OK(MPI_Put(&round, 1, MPI_LONG, 1, at, 1, MPI_LONG, window));
            OK(MPI_Win_flush(1, window));
            OK(MPI_Send(&round, 1, MPI_LONG, 1, 5, MPI_COMM_WORLD));
            OK(MPI_Recv(NULL, 0, MPI_LONG, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else if (rank == 1) {
            long sent;
            OK(MPI_Recv(&sent, 1, MPI_LONG, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Win_sync(window));
            for (int at = 0; at < 16; at++)
                CHECK(((volatile long *)own)[at] == round, "round %ld, cell %d: %ld", round, at, own[at]);
            OK(MPI_Win_sync(window));
            OK(MPI_Send(NULL, 0, MPI_LONG, 0, 6, MPI_COMM_WORLD));
        }
    OK(MPI_Win_unlock_all(window));
    barrier();
    OK(MPI_Win_free(&window));
}

/* Two ranks, each: put to the other, flush, get from its own cell at the other's... Both cannot miss the other's put. */
static void flush_orders_puts_before_gets(void) {
    long *own;
    MPI_Win window = allocate(2, &own);
    int peer = 1 - rank, both_missed = 0, rounds = scaled(3000);
    if (rank < 2) {
        for (long round = 1; round <= rounds; round++) {
            long seen = -1, others;
            OK(MPI_Win_lock_all(0, window));
            /* Rank 0 writes its cell in rank 0's memory and reads rank 1's in rank 1's, and the other way round. */
            OK(MPI_Put(&round, 1, MPI_LONG, rank, 0, 1, MPI_LONG, window));
            OK(MPI_Win_flush(rank, window));
            OK(MPI_Get(&seen, 1, MPI_LONG, peer, 0, 1, MPI_LONG, window));
            OK(MPI_Win_flush(peer, window));
            OK(MPI_Win_unlock_all(window));
            OK(MPI_Sendrecv(&seen, 1, MPI_LONG, peer, 3, &others, 1, MPI_LONG, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            both_missed += seen < round && others < round;
        }
        CHECK(both_missed == 0, "in %d of %d rounds both read the old value after their flush", both_missed, rounds);
    }
    barrier();
    OK(MPI_Win_free(&window));
}

/* The target polls its own window by lock, get and unlock until the peer, busy on a second window, says that it has finished. */
static void the_target_polls_its_own_window(void) {
    long *own, *other;
    MPI_Win polled = allocate(1, &own), busy = allocate(4096, &other);
    for (long round = 1; round <= 20; round++) {
        if (rank == 0) {
            long seen = 0;
            while (seen != round) {
                OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, polled));
                OK(MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, polled));
                OK(MPI_Win_unlock(0, polled));
            }
        } else if (rank == 1) {
            static long data[4096];
            for (int i = 0; i < 20; i++) {
                OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, busy));
                OK(MPI_Get(data, 4096, MPI_LONG, 0, 0, 4096, MPI_LONG, busy));
                OK(MPI_Win_unlock(0, busy));
            }
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, polled));
            OK(MPI_Put(&round, 1, MPI_LONG, 0, 0, 1, MPI_LONG, polled));
            OK(MPI_Win_unlock(0, polled));
        }
        barrier();
    }
    OK(MPI_Win_free(&polled));
    OK(MPI_Win_free(&busy));
}

/* Ranks 0 and 1 exchange messages inside shared epochs while rank 2 asks for an exclusive lock in between. If a waiting writer kept new
 * readers out: 0 (inside) waits for 1's message, 1 waits behind 2, and 2 waits for 0. */
static void readers_pass_a_waiting_writer(void) {
    long *own;
    MPI_Win window = allocate(1, &own);
    for (int round = 0; round < 20; round++) {
        if (rank == 0) {
            OK(MPI_Win_lock_all(0, window));
            OK(MPI_Send(NULL, 0, MPI_INT, 2, 1, MPI_COMM_WORLD));
            OK(MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD));
            OK(MPI_Recv(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Win_unlock_all(window));
        } else if (rank == 1) {
            OK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            /* Time enough for rank 2 to wait in its lock. */
            sleep_ms(20);
            if (round % 2)
                OK(MPI_Win_lock_all(0, window));
            else
                OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
            OK(MPI_Send(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD));
            if (round % 2)
                OK(MPI_Win_unlock_all(window));
            else
                OK(MPI_Win_unlock(0, window));
        } else {
            OK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            increment(window, 0, 0);
        }
        barrier();
    }
    CHECK(cell(window, 0, 0) == 20, "%ld", cell(window, 0, 0));
    barrier();
    OK(MPI_Win_free(&window));
}

/* Rank 0 holds the lock and receives a message too large to be sent at once, which rank 1 has begun to send before it waits for that
 * lock: the wait must also move the message. */
static void the_waiter_owes_the_holder_a_rendezvous(void) {
    enum { LARGE = 8 << 20 };
    long *own;
    MPI_Win window = allocate(1, &own);
    char *message = malloc(LARGE);
    CHECK(message != NULL, "no memory");
    for (int round = 0; round < 5; round++) {
        if (rank == 0) {
            OK(MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, window));
            /* The first stays unexpected at rank 1 for the whole wait: a progress call must not be content with having found it. */
            OK(MPI_Send(&round, 1, MPI_INT, 1, 3, MPI_COMM_WORLD));
            OK(MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD));
            /* Rank 1 is waiting for the lock by now. */
            sleep_ms(50);
            OK(MPI_Recv(message, LARGE, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(message[0] == (char)(round + 1) && message[LARGE - 1] == (char)(round + 1), "round %d: %d", round, message[0]);
            OK(MPI_Win_unlock(0, window));
        } else if (rank == 1) {
            MPI_Request request;
            memset(message, round + 1, LARGE);
            OK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Isend(message, LARGE, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &request));
            increment(window, 0, 0);
            int unexpected = -1;
            OK(MPI_Recv(&unexpected, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(unexpected == round, "%d", unexpected);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        barrier();
    }
    CHECK(cell(window, 0, 0) == 5, "%ld", cell(window, 0, 0));
    free(message);
    barrier();
    OK(MPI_Win_free(&window));
}

/* The same inside a fence: rank 1's fence must move the message for which rank 0 waits before its own. */
static void a_fence_owes_a_rendezvous(void) {
    enum { LARGE = 8 << 20 };
    long *own;
    MPI_Win window = allocate(1, &own);
    char *message = malloc(LARGE);
    CHECK(message != NULL, "no memory");
    for (int round = 0; round < 5; round++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank == 1) {
            memset(message, round + 1, LARGE);
            OK(MPI_Isend(message, LARGE, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &request));
        } else if (rank == 0) {
            sleep_ms(50);
            OK(MPI_Recv(message, LARGE, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(message[0] == (char)(round + 1), "round %d: %d", round, message[0]);
        }
        OK(MPI_Win_fence(0, window));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    free(message);
    OK(MPI_Win_free(&window));
}

/* More ranks than cores, all at one lock, then at everybody's: waiters sleep, and nothing takes minutes. */
static void contention(void) {
    long *own;
    MPI_Win window = allocate(2, &own);
    int rounds = scaled(200);
    double began = seconds();
    for (int round = 0; round < rounds; round++)
        increment(window, 0, 0);
    for (int round = 0; round < rounds / 4; round++)
        for (int i = 0; i < ranks; i++)
            increment(window, (rank + i) % ranks, 1);
    double took = seconds() - began;
    barrier();
    CHECK(cell(window, 0, 0) == (long)rounds * ranks, "%ld of %ld", cell(window, 0, 0), (long)rounds * ranks);
    CHECK(cell(window, rank, 1) == (long)(rounds / 4) * ranks, "%ld of %ld", cell(window, rank, 1), (long)(rounds / 4) * ranks);
    if (rank == 0)
        printf("%d ranks, %d exclusive epochs each: %.2f s\n", ranks, rounds + rounds / 4 * ranks, took);
    barrier();
    OK(MPI_Win_free(&window));
}

/* Each form of flush ends what it says it ends; the buffer of a get is filled after any of them. */
static void every_flush(void) {
    long *own;
    MPI_Win window = allocate(64, &own);
    OK(MPI_Win_lock_all(0, window));
    for (long round = 1; round <= 400; round++)
        for (int form = 0; form < 4; form++) {
            for (int target = 0; target < ranks; target++) {
                long value = round * 1000 + rank, back = -1;
                OK(MPI_Put(&value, 1, MPI_LONG, target, rank, 1, MPI_LONG, window));
                OK(MPI_Win_flush(target, window));
                OK(MPI_Get(&back, 1, MPI_LONG, target, rank, 1, MPI_LONG, window));
                if (form == 0)
                    OK(MPI_Win_flush(target, window));
                else if (form == 1)
                    OK(MPI_Win_flush_all(window));
                else if (form == 2)
                    OK(MPI_Win_flush_local(target, window));
                else
                    OK(MPI_Win_flush_local_all(window));
                CHECK(back == value, "round %ld, form %d: %ld of %ld", round, form, back, value);
            }
        }
    OK(MPI_Win_unlock_all(window));
    barrier();
    OK(MPI_Win_free(&window));
}

/* After a fence with nothing behind it, locks are legal; after the locks, fences again. */
static void after_a_fence(void) {
    long *own, value, back;
    MPI_Win window = allocate(1, &own);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    for (int round = 0; round < 50; round++) {
        value = 10 * round + rank;
        OK(MPI_Win_fence(0, window));
        OK(MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, window));
        OK(MPI_Win_fence(0, window));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window));
        OK(MPI_Get(&back, 1, MPI_LONG, right, 0, 1, MPI_LONG, window));
        OK(MPI_Win_unlock(right, window));
        CHECK(back == value, "%ld of %ld", back, value);
        OK(MPI_Win_lock_all(0, window));
        OK(MPI_Win_unlock_all(window));
        CHECK(own[0] == 10 * round + left, "%ld", own[0]);
        /* Nobody's next put may come before everybody's look. */
        barrier();
    }
    OK(MPI_Win_free(&window));
}

/* Calls in the wrong state are refused, and leave the state as it was. */
static void wrong_order(void) {
    long *own, value = 1;
    MPI_Win window = allocate(4, &own);
    int right = (rank + 1) % ranks;
    window_returns_errors(window);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(right, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(right, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(window));
    FAILS(MPI_ERR_LOCKTYPE, MPI_Win_lock(4711, right, 0, window));
    barrier();

    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(rank, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(rank, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, window));
    OK(MPI_Put(&value, 1, MPI_LONG, right, 1, 1, MPI_LONG, window));
    OK(MPI_Win_flush(right, window));
    OK(MPI_Win_unlock(right, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, window));
    barrier();

    OK(MPI_Win_lock_all(0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, window));
    OK(MPI_Put(&value, 1, MPI_LONG, right, 2, 1, MPI_LONG, window));
    OK(MPI_Win_unlock_all(window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(window));
    barrier();

    /* Inside a fence epoch that has an operation, no lock. */
    OK(MPI_Win_fence(0, window));
    OK(MPI_Put(&value, 1, MPI_LONG, right, 3, 1, MPI_LONG, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(right, window));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    CHECK(own[1] == 1 && own[2] == 1 && own[3] == 1, "%ld, %ld, %ld", own[1], own[2], own[3]);
    barrier();
    increment(window, right, 0);
    barrier();
    CHECK(cell(window, rank, 0) == 1, "%ld", cell(window, rank, 0));
    barrier();
    OK(MPI_Win_free(&window));
}

/* A window is not freed in the middle of an epoch. */
static void freed_inside_an_epoch(void) {
    long *own;
    MPI_Win window = allocate(1, &own);
    window_returns_errors(window);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&window));
    CHECK(window != MPI_WIN_NULL, "the handle of a window that was not freed is gone");
    OK(MPI_Win_unlock(rank, window));
    OK(MPI_Win_free(&window));
}

MAIN(SCENARIO(exclusive_locks_lose_nothing), SCENARIO(the_owner_is_excluded_too), SCENARIO(shared_locks_see_whole_updates),
     SCENARIO(shared_locks_are_held_together), SCENARIO(lock_all_against_exclusive), SCENARIO(nocheck_leaves_the_lock_alone),
     SCENARIO(many_locks_in_the_same_order), SCENARIO(locks_of_two_windows), SCENARIO(flushes_on_two_windows),
     SCENARIO(while_the_target_is_in_a_barrier), SCENARIO(while_the_target_computes), SCENARIO(flushed_data_is_there_when_a_message_says_so),
     SCENARIO(flush_orders_puts_before_gets), SCENARIO(the_target_polls_its_own_window), SCENARIO(readers_pass_a_waiting_writer),
     SCENARIO(the_waiter_owes_the_holder_a_rendezvous), SCENARIO(a_fence_owes_a_rendezvous), SCENARIO(contention), SCENARIO(every_flush),
     SCENARIO(after_a_fence), SCENARIO(wrong_order), SCENARIO(freed_inside_an_epoch))
