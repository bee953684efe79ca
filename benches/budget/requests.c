#include "budget.h"
#include "window.h"

#include <stddef.h>

enum { ORIGIN = 0, TARGET = 1, PAGE = 4096 };

struct requests {
    MPI_Win win;
    char *local;
};

static void rput_and_wait(void *context, long count)
{
    const struct requests *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Request request;
        MPI_Rput(at->local, 8, MPI_CHAR, TARGET, 0, 8, MPI_CHAR, at->win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        KEEP_PASS();
    }
}

static void rget_and_wait(void *context, long count)
{
    const struct requests *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Request request;
        MPI_Rget(at->local, 8, MPI_CHAR, TARGET, 0, 8, MPI_CHAR, at->win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        KEEP_PASS();
    }
}

/* The cheapest request of the host's own, made and waited for. */
static inline void null_receive_and_wait(void)
{
    MPI_Request request;
    MPI_Irecv(NULL, 0, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void put_flush_and_null_receive(void *context, long count)
{
    const struct requests *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Put(at->local, 8, MPI_CHAR, TARGET, 0, 8, MPI_CHAR, at->win);
        MPI_Win_flush(TARGET, at->win);
        null_receive_and_wait();
        KEEP_PASS();
    }
}

static void get_flush_and_null_receive(void *context, long count)
{
    const struct requests *at = context;
    for (long i = 0; i < count; i++) {
        MPI_Get(at->local, 8, MPI_CHAR, TARGET, 0, 8, MPI_CHAR, at->win);
        MPI_Win_flush(TARGET, at->win);
        null_receive_and_wait();
        KEEP_PASS();
    }
}

static void measure(const struct session *session, const char *name, loop *ours, loop *reference)
{
    struct window window = window_create(ALLOCATE, PAGE);
    char local[8] = {0};
    struct requests at = {window.win, local};
    if (session->rank == ORIGIN) {
        struct side sides[] = {{"ours", ours, &at}, {"reference", reference, &at}};
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window.win);
        alternate(session, ORIGIN_ALONE, name, sides, 2, 0);
        MPI_Win_unlock(TARGET, window.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    window_free(&window);
}

void rput8(const struct session *session, const char *name)
{
    measure(session, name, rput_and_wait, put_flush_and_null_receive);
}

void rget8(const struct session *session, const char *name)
{
    measure(session, name, rget_and_wait, get_flush_and_null_receive);
}
