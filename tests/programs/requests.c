/* Request forms: what every call that ends requests makes of them, mixed with the host's own. */
#include "memories.h"

/* The compiler takes MPICH's MPI_STATUSES_IGNORE, which is 1, for an array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

static enum memory chosen;
static struct made made;
static long *own;
static int target;

enum { CELLS = 16384 };

static void open_window(void) {
    made = make(chosen, CELLS * (MPI_Aint)sizeof *own, sizeof *own);
    own = (long *)made.base;
    for (int i = 0; i < CELLS; i++)
        own[i] = 100000L * rank + i;
    target = (rank + 1) % ranks;
    barrier();
    OK(MPI_Win_lock_all(0, made.window));
}

static void close_window(void) {
    OK(MPI_Win_unlock_all(made.window));
    unmake(&made);
}

static long at_target(int cell) {
    return 100000L * target + cell;
}

/* Eight requests: the four forms at cells 10.. of the target, and four of messages from and to a neighbour. */
enum { REQUESTS = 8 };
static long put_value, got, added, old, incoming[2], outgoing[2];

static void make_requests(MPI_Request *requests, int round) {
    put_value = round + 1;
    got = old = -1;
    added = 5;
    incoming[0] = incoming[1] = -1;
    outgoing[0] = outgoing[1] = round;
    int left = (rank + ranks - 1) % ranks;
    OK(MPI_Irecv(&incoming[0], 1, MPI_LONG, left, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Rput(&put_value, 1, MPI_LONG, target, 10, 1, MPI_LONG, made.window, &requests[1]));
    OK(MPI_Rget(&got, 1, MPI_LONG, target, 11, 1, MPI_LONG, made.window, &requests[2]));
    OK(MPI_Isend(&outgoing[0], 1, MPI_LONG, target, 1, MPI_COMM_WORLD, &requests[3]));
    OK(MPI_Raccumulate(&added, 1, MPI_LONG, target, 12, 1, MPI_LONG, MPI_SUM, made.window, &requests[4]));
    OK(MPI_Irecv(&incoming[1], 1, MPI_LONG, left, 2, MPI_COMM_WORLD, &requests[5]));
    OK(MPI_Rget_accumulate(&added, 1, MPI_LONG, &old, 1, MPI_LONG, target, 13, 1, MPI_LONG, MPI_SUM, made.window, &requests[6]));
    OK(MPI_Isend(&outgoing[1], 1, MPI_LONG, target, 2, MPI_COMM_WORLD, &requests[7]));
    for (int i = 0; i < REQUESTS; i++)
        CHECK(requests[i] != MPI_REQUEST_NULL, "request %d is null", i);
}

static void check_done(const MPI_Request *requests, int round) {
    long found[4];
    for (int i = 0; i < REQUESTS; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is left", i);
    CHECK(got == at_target(11) && old == at_target(13) + 5L * round && incoming[0] == round && incoming[1] == round,
          "round %d: %ld %ld %ld %ld", round, got, old, incoming[0], incoming[1]);
    OK(MPI_Win_flush(target, made.window));
    OK(MPI_Get(found, 4, MPI_LONG, target, 10, 4, MPI_LONG, made.window));
    OK(MPI_Win_flush(target, made.window));
    CHECK(found[0] == round + 1 && found[2] == at_target(12) + 5L * (round + 1) && found[3] == at_target(13) + 5L * (round + 1),
          "round %d: %ld %ld %ld", round, found[0], found[2], found[3]);
}

static void waited_for_together(MPI_Request *requests) {
    MPI_Status statuses[REQUESTS];
    OK(MPI_Waitall(REQUESTS, requests, statuses));
}

static void waited_for_one_by_one(MPI_Request *requests) {
    for (int i = 0; i < REQUESTS; i++) {
        MPI_Status status;
        OK(MPI_Wait(&requests[i], &status));
    }
}

static void waited_for_any(MPI_Request *requests) {
    int seen = 0;
    for (int i = 0; i < REQUESTS; i++) {
        int index = -1;
        OK(MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE));
        CHECK(index >= 0 && index < REQUESTS && !(seen & 1 << index), "index %d, seen %x", index, seen);
        seen |= 1 << index;
    }
}

static void waited_for_some(MPI_Request *requests) {
    int seen = 0;
    while (seen != (1 << REQUESTS) - 1) {
        int count = -1, indices[REQUESTS];
        OK(MPI_Waitsome(REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE));
        CHECK(count > 0, "%d", count);
        for (int i = 0; i < count; i++)
            seen |= 1 << indices[i];
    }
}

static void tested_together(MPI_Request *requests) {
    for (int flag = 0; !flag;)
        OK(MPI_Testall(REQUESTS, requests, &flag, MPI_STATUSES_IGNORE));
}

static void tested_one_by_one(MPI_Request *requests) {
    for (int i = 0; i < REQUESTS; i++)
        for (int flag = 0; !flag;)
            OK(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
}

static void tested_for_any(MPI_Request *requests) {
    for (int done = 0; done < REQUESTS;) {
        int index = -1, flag = 0;
        OK(MPI_Testany(REQUESTS, requests, &index, &flag, MPI_STATUS_IGNORE));
        done += flag;
    }
}

static void tested_for_some(MPI_Request *requests) {
    for (int done = 0; done < REQUESTS;) {
        int count = 0, indices[REQUESTS];
        OK(MPI_Testsome(REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE));
        done += count;
    }
}

/* A look leaves the request as it is. */
static void looked_at(MPI_Request *requests) {
    for (int i = 0; i < REQUESTS; i++) {
        MPI_Request before = requests[i];
        for (int flag = 0; !flag;)
            OK(MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE));
        CHECK(requests[i] == before, "request %d has changed", i);
    }
    OK(MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE));
}

static void every_way_to_end(void) {
    static void (*const ways[])(MPI_Request *) = {waited_for_together, waited_for_one_by_one, waited_for_any,
                                                  waited_for_some,     tested_together,       tested_one_by_one,
                                                  tested_for_any,      tested_for_some,       looked_at};
    enum { WAYS = sizeof ways / sizeof ways[0] };
    open_window();
    for (int round = 0; round < 5 * WAYS; round++) {
        MPI_Request requests[REQUESTS];
        make_requests(requests, round);
        ways[round % WAYS](requests);
        check_done(requests, round);
    }
    close_window();
}

/* Case 56: so many at once, of each form. */
static void many_outstanding(void) {
    enum { MOST = 10000 };
    static MPI_Request requests[MOST];
    static long values[MOST];
    const int counts[] = {254, 255, 256, MOST};
    open_window();
    for (int i = 0; i < 4; i++)
        for (int form = 0; form < 4; form++) {
            static long results[MOST];
            int count = counts[i];
            for (int j = 0; j < count; j++) {
                values[j] = 1000000L * (i + 1) + j;
                results[j] = -1;
            }
            OK(MPI_Put(values, count, MPI_LONG, target, 0, count, MPI_LONG, made.window));
            OK(MPI_Win_flush(target, made.window));
            for (int j = 0; j < count; j++) {
                long *value = &values[j], *result = &results[j];
                if (form == 0)
                    OK(MPI_Rput(value, 1, MPI_LONG, target, count - 1 - j, 1, MPI_LONG, made.window, &requests[j]));
                else if (form == 1)
                    OK(MPI_Rget(result, 1, MPI_LONG, target, j, 1, MPI_LONG, made.window, &requests[j]));
                else if (form == 2)
                    OK(MPI_Raccumulate(value, 1, MPI_LONG, target, j, 1, MPI_LONG, MPI_SUM, made.window, &requests[j]));
                else
                    OK(MPI_Rget_accumulate(value, 1, MPI_LONG, result, 1, MPI_LONG, target, j, 1, MPI_LONG, MPI_SUM, made.window,
                                           &requests[j]));
            }
            OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
            for (int j = 0; j < count; j++)
                CHECK((form != 1 && form != 3) || results[j] == values[j], "form %d, request %d: %ld", form, j, results[j]);
            OK(MPI_Win_flush(target, made.window));
            OK(MPI_Get(results, count, MPI_LONG, target, 0, count, MPI_LONG, made.window));
            OK(MPI_Win_flush(target, made.window));
            for (int j = 0; j < count; j++) {
                long due = form == 0 ? values[count - 1 - j] : form == 1 ? values[j] : 2 * values[j];
                CHECK(results[j] == due, "form %d, cell %d of %d: %ld, not %ld", form, j, count, results[j], due);
            }
        }
    close_window();
}

/* Cases 55 and 57: what was got is there once the request has ended, without any other call. */
static void got_when_ended(void) {
    static long found[CELLS];
    open_window();
    for (int count = 1; count <= CELLS; count = count * 3 + 1)
        for (int way = 0; way < 3; way++) {
            MPI_Request request;
            memset(found, 0, sizeof found);
            if (way == 2)
                OK(MPI_Rget_accumulate(NULL, 0, MPI_LONG, found, count, MPI_LONG, target, 0, count, MPI_LONG, MPI_NO_OP, made.window,
                                       &request));
            else
                OK(MPI_Rget(found, count, MPI_LONG, target, 0, count, MPI_LONG, made.window, &request));
            if (way == 1)
                for (int flag = 0; !flag;)
                    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            else
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            for (int i = 0; i < count; i++)
                CHECK(found[i] == at_target(i), "%d of %d: %ld", i, count, found[i]);
        }
    close_window();
}

/* Nothing to do, or nobody to do it at: a request all the same, and it is complete. */
static void of_nothing(void) {
    open_window();
    long value = 3, result = 7;
    for (int i = 0; i < 2; i++) {
        int to = i ? MPI_PROC_NULL : target, count = i;
        long *from = i ? &value : NULL, *into = i ? &result : NULL;
        MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        OK(MPI_Rput(from, count, MPI_LONG, to, 0, count, MPI_LONG, made.window, &requests[0]));
        OK(MPI_Rget(into, count, MPI_LONG, to, 0, count, MPI_LONG, made.window, &requests[1]));
        OK(MPI_Raccumulate(from, count, MPI_LONG, to, 0, count, MPI_LONG, MPI_SUM, made.window, &requests[2]));
        OK(MPI_Rget_accumulate(from, count, MPI_LONG, into, count, MPI_LONG, to, 0, count, MPI_LONG, MPI_SUM, made.window,
                               &requests[3]));
        for (int j = 0; j < 4; j++) {
            int flag = 0;
            CHECK(requests[j] != MPI_REQUEST_NULL, "request %d is null", j);
            OK(MPI_Test(&requests[j], &flag, MPI_STATUS_IGNORE));
            CHECK(flag && requests[j] == MPI_REQUEST_NULL, "request %d is not complete", j);
        }
        CHECK(result == 7, "%ld", result);
    }
    close_window();
}

/* MPI does not allow it, programs do it: the operation is done all the same, and nothing is left of its request. */
static void freed_requests(void) {
    open_window();
    long value = 77, found = 0;
    for (int i = 0; i < 1000; i++) {
        MPI_Request request;
        value = 77 + i;
        OK(MPI_Rput(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, made.window, &request));
        OK(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL, "the request is left");
        OK(MPI_Win_flush(target, made.window));
        OK(MPI_Get(&found, 1, MPI_LONG, target, 0, 1, MPI_LONG, made.window));
        OK(MPI_Win_flush(target, made.window));
        CHECK(found == value, "%ld of %ld", found, value);
    }
    close_window();
}

/* Requests that outlive their epoch, and even their window. */
static void ended_late(void) {
    long value = 5, found = -1;
    MPI_Request requests[2];
    open_window();
    OK(MPI_Rput(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, made.window, &requests[0]));
    OK(MPI_Rget(&found, 1, MPI_LONG, target, 1, 1, MPI_LONG, made.window, &requests[1]));
    OK(MPI_Win_unlock_all(made.window));
    CHECK(found == at_target(1), "%ld", found);
    barrier();
    CHECK(is_private(chosen) || own[0] == 5, "%ld", own[0]);
    unmake(&made);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "requests are left");
}

int main(int argc, char **argv) {
    static const struct scenario list[] = {SCENARIO(every_way_to_end), SCENARIO(many_outstanding), SCENARIO(got_when_ended),
                                           SCENARIO(of_nothing),       SCENARIO(freed_requests),   SCENARIO(ended_late)};
    WITH_STACK;
    start(&argc, &argv);
    chosen = memory_by_name(argc > 2 ? argv[2] : NULL);
    choose(list, sizeof list / sizeof list[0], argv[1]);
    OK(MPI_Finalize());
    return 0;
}
