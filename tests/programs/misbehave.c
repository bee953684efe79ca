/* What the harness has to notice. */
#include "check.h"
#include <signal.h>

static void hangs(void) {
    for (;;)
        pause();
}

/* One rank ends early and another never does. */
static void hangs_at_one_rank(void) {
    if (rank == 0)
        hangs();
}

/* A child outlives the job, in a session of its own and without the job's streams. */
static void leaves_a_child(void) {
    barrier();
    if (rank == 0 && fork() == 0) {
        setsid();
        for (int descriptor = 0; descriptor < 1024; descriptor++)
            close(descriptor);
        sleep_ms(60000);
        _exit(0);
    }
}

static void fails_a_check(void) {
    CHECK(rank != 1, "seven is %d", 7);
    barrier();
}

static void writes_without_end(void) {
    for (;;)
        printf("all work and no play makes a rank of %d\n", ranks);
}

MAIN(SCENARIO(hangs), SCENARIO(hangs_at_one_rank), SCENARIO(leaves_a_child), SCENARIO(fails_a_check), SCENARIO(writes_without_end))
