/* Info hints of windows: what is in use can be read, what is odd does no harm, and no hint is needed for a right result. */
#include "hints.h"

/* A hint that may change while the window lives: its value at first, others that it can have, and some that it cannot. */
struct hint {
    const char *key, *at_first, *valid[4], *odd[8];
};

#define ODD_BOOLEANS {"", "maybe", "1", "yes", "truefalse", "true,false", "t"}

static const struct hint changing[] = {
    {"no_locks", "false", {"true", "false"}, ODD_BOOLEANS},
    {"same_size", "false", {"true", "false"}, ODD_BOOLEANS},
    {"same_disp_unit", "false", {"true", "false"}, ODD_BOOLEANS},
    {"accumulate_ops", "same_op_no_op", {"same_op", "same_op_no_op"}, {"", "any_op", "same_op,same_op_no_op", "true", "SAME_OP"}},
    {"accumulate_ordering",
     "rar,raw,war,waw",
     {"none", "rar", "rar,waw", "rar,raw,war,waw"},
     {"", "rar,bogus", "none,rar", "rar;waw", "rarraw", "true"}},
    {"mpi_accumulate_granularity", "0", {"8", "4096", "1"}, {"", "-1", "x", "8 bytes", "1e3", "99999999999999999999999999"}},
};

/* The last one is of MPI-4.1, which no host here has. */
static int hints(void) {
    int all = sizeof changing / sizeof changing[0];
    return behind_transom() ? all : all - 1;
}

static int number_of_keys(MPI_Info info) {
    int keys;
    OK(MPI_Info_get_nkeys(info, &keys));
    return keys;
}

static void check_hint(MPI_Win window, const char *key, const char *expected) {
    const char *value = in_use(window, key);
    CHECK(value != NULL, "%s is not reported", key);
    CHECK(strcmp(value, expected) == 0, "%s is '%s', not '%s'", key, value, expected);
}

/* Without any info, each hint has the value that the standard says, or that is true of the window. */
static void defaults(void) {
    for (int with_empty = 0; with_empty < 2; with_empty++)
        for (enum flavour f = 0; f < FLAVOURS; f++) {
            MPI_Info empty = with_empty ? info_with(NULL, NULL) : MPI_INFO_NULL, info;
            MPI_Win window = made(f, empty, BYTES, 8);
            for (int i = 0; i < hints(); i++)
                check_hint(window, changing[i].key, changing[i].at_first);
            if (f == SHARED)
                check_hint(window, "alloc_shared_noncontig", "false");
            else
                CHECK(in_use(window, "alloc_shared_noncontig") == NULL, "flavour %d has parts that touch", f);
            if (f == CREATED)
                CHECK(in_use(window, "mpi_minimum_memory_alignment") == NULL, "memory of the program has an alignment");
            else
                CHECK(in_use(window, "mpi_minimum_memory_alignment") != NULL, "flavour %d has no alignment", f);
            const char *served = in_use(window, "transom");
            CHECK(served != NULL && strcmp(served, "host") != 0, "a window of ours says transom=%s", served == NULL ? "(nothing)" : served);
            OK(MPI_Win_get_info(window, &info));
            CHECK(number_of_keys(info) >= hints() + 1, "%d keys", number_of_keys(info));
            OK(MPI_Info_free(&info));
            if (with_empty)
                OK(MPI_Info_free(&empty));
            end(f, &window);
        }
}

/* What was given, and is a value of the hint, is in use; the other hints stay as they are. */
static void given_at_creation(void) {
    for (enum flavour f = 0; f < FLAVOURS; f++)
        for (int i = 0; i < hints(); i++)
            for (int v = 0; v < 4 && changing[i].valid[v] != NULL; v++) {
                MPI_Info info = info_with(changing[i].key, changing[i].valid[v]);
                MPI_Win window = made(f, info, BYTES, 8);
                /* The program's info is its own again. */
                OK(MPI_Info_set(info, changing[i].key, "overwritten"));
                OK(MPI_Info_free(&info));
                for (int other = 0; other < hints(); other++)
                    check_hint(window, changing[other].key, other == i ? changing[i].valid[v] : changing[other].at_first);
                end(f, &window);
            }
}

/* A value that the hint cannot have is as none. An MPI may refuse empty values at MPI_Info_set. */
static void odd_at_creation(void) {
    world_returns_errors();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int i = 0; i < hints(); i++)
        for (int v = 0; v < 8 && changing[i].odd[v] != NULL; v++) {
            enum flavour f = (enum flavour)((i + v) % FLAVOURS);
            MPI_Info info = info_with(NULL, NULL);
            MPI_Info_set(info, changing[i].key, changing[i].odd[v]);
            MPI_Win window = made(f, info, BYTES, 8);
            check_hint(window, changing[i].key, changing[i].at_first);
            OK(MPI_Info_free(&info));
            end(f, &window);
        }
}

/* Blanks and capitals may be taken or not: what is reported is a value of the hint. */
static void blanks_and_capitals(void) {
    static const char *const values[] = {" true ", "TRUE", "True", "\ttrue", " false", "FALSE"};
    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
        MPI_Info info = info_with("no_locks", values[v]);
        OK(MPI_Info_set(info, "alloc_shared_noncontig", values[v]));
        MPI_Win window = made(SHARED, info, 24, 8);
        const char *locks = in_use(window, "no_locks");
        CHECK(locks != NULL && (strcmp(locks, "true") == 0 || strcmp(locks, "false") == 0), "no_locks=%s", locks);
        CHECK(strstr(values[v], "rue") != NULL || strcmp(locks, "false") == 0 || strstr(values[v], "RUE") != NULL, "no_locks=%s", locks);
        /* Parts of 24 bytes touch, or each has a cache line. */
        const char *apart = in_use(window, "alloc_shared_noncontig");
        CHECK(apart != NULL && (strcmp(apart, "true") == 0 || strcmp(apart, "false") == 0), "alloc_shared_noncontig=%s", apart);
        int is_apart = strcmp(apart, "true") == 0, unit;
        char *first, *second;
        MPI_Aint size;
        OK(MPI_Win_shared_query(window, 0, &size, &unit, &first));
        OK(MPI_Win_shared_query(window, 1, &size, &unit, &second));
        CHECK(is_apart == (second - first != 24), "alloc_shared_noncontig is %d, but the parts are %ld bytes apart", is_apart,
              (long)(second - first));
        OK(MPI_Info_free(&info));
        end(SHARED, &window);
    }
}

/* Keys that nobody knows are ignored, and not reported as if they were honoured. */
static void unknown_keys(void) {
    for (enum flavour f = 0; f < FLAVOURS; f++) {
        MPI_Info info = info_with("no_locks", "true"), reported;
        char key[40], value[40];
        for (int i = 0; i < 1000; i++) {
            snprintf(key, sizeof key, "a_key_of_the_program_%d", i);
            snprintf(value, sizeof value, "true%d", i);
            OK(MPI_Info_set(info, key, value));
        }
        OK(MPI_Info_set(info, "no_lock", "true"));
        OK(MPI_Info_set(info, "NO_LOCKS", "false"));
        OK(MPI_Info_set(info, "same_sizes", "true"));
        MPI_Win window = made(f, info, BYTES, 8);
        OK(MPI_Win_set_info(window, info));
        OK(MPI_Info_free(&info));
        check_hint(window, "no_locks", "true");
        check_hint(window, "same_size", "false");
        OK(MPI_Win_get_info(window, &reported));
        CHECK(number_of_keys(reported) < 40, "%d keys", number_of_keys(reported));
        CHECK(value_of(reported, "a_key_of_the_program_7") == NULL && value_of(reported, "no_lock") == NULL, "an unknown key is reported");
        OK(MPI_Info_free(&reported));
        check_works(window);
        end(f, &window);
    }
}

/* The longest key and values. */
static void long_ones(void) {
    static char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];
    memset(key, 'k', sizeof key - 1);
    memset(value, 'v', sizeof value - 1);
    MPI_Info info = info_with(key, value);
    for (int i = 0; i < hints(); i++)
        OK(MPI_Info_set(info, changing[i].key, value));
    OK(MPI_Info_set(info, "alloc_shared_noncontig", value));
    OK(MPI_Info_set(info, "transom", value));
    memset(value, '9', sizeof value - 1);
    OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", value));
    for (enum flavour f = 0; f < FLAVOURS; f++) {
        MPI_Win window = made(f, info, BYTES, 8);
        for (int i = 0; i < hints(); i++)
            check_hint(window, changing[i].key, changing[i].at_first);
        OK(MPI_Win_set_info(window, info));
        for (int i = 0; i < hints(); i++)
            check_hint(window, changing[i].key, changing[i].at_first);
        check_works(window);
        end(f, &window);
    }
    OK(MPI_Info_free(&info));
}

/* What can change later changes, alone; and back. */
static void set_later(void) {
    for (enum flavour f = 0; f < FLAVOURS; f++) {
        MPI_Win window = made(f, MPI_INFO_NULL, BYTES, 8);
        for (int i = 0; i < hints(); i++)
            for (int v = 0; v < 4 && changing[i].valid[v] != NULL; v++) {
                MPI_Info info = info_with(changing[i].key, changing[i].valid[v]);
                OK(MPI_Win_set_info(window, info));
                OK(MPI_Info_free(&info));
                check_hint(window, changing[i].key, changing[i].valid[v]);
                for (int other = i + 1; other < hints(); other++)
                    check_hint(window, changing[other].key, changing[other].at_first);
                for (int other = 0; other < i; other++) {
                    const char *const *last = changing[other].valid;
                    while (last[1] != NULL && last + 1 < changing[other].valid + 4)
                        last++;
                    check_hint(window, changing[other].key, *last);
                }
            }
        check_works(window);
        end(f, &window);
    }
}

/* An odd value later leaves what was set before. */
static void odd_later(void) {
    world_returns_errors();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int i = 0; i < hints(); i++) {
        const char *set = changing[i].valid[0];
        MPI_Info info = info_with(changing[i].key, set);
        MPI_Win window = made((enum flavour)(i % FLAVOURS), info, BYTES, 8);
        for (int v = 0; v < 8 && changing[i].odd[v] != NULL; v++) {
            MPI_Info odd = info_with(NULL, NULL);
            MPI_Info_set(odd, changing[i].key, changing[i].odd[v]);
            OK(MPI_Win_set_info(window, odd));
            check_hint(window, changing[i].key, set);
            OK(MPI_Info_free(&odd));
        }
        OK(MPI_Info_free(&info));
        end((enum flavour)(i % FLAVOURS), &window);
    }
}

/* What is settled at creation stays, whatever is set later. */
static void settled_at_creation(void) {
    for (int apart = 0; apart < 2; apart++) {
        MPI_Info info = info_with("alloc_shared_noncontig", apart ? "true" : "false");
        OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "128"));
        for (enum flavour f = 0; f < FLAVOURS; f++) {
            char alignment[40] = "", served[80];
            MPI_Win window = made(f, info, BYTES, 8);
            if (f != CREATED)
                snprintf(alignment, sizeof alignment, "%s", in_use(window, "mpi_minimum_memory_alignment"));
            snprintf(served, sizeof served, "%s", in_use(window, "transom"));
            MPI_Info other = info_with("alloc_shared_noncontig", apart ? "false" : "true");
            OK(MPI_Info_set(other, "mpi_minimum_memory_alignment", "65536"));
            OK(MPI_Info_set(other, "transom", "host"));
            OK(MPI_Win_set_info(window, other));
            OK(MPI_Info_free(&other));
            /* What MPICH's tests ask for: the wish is told, though parts lie where they lie. */
            if (f == SHARED)
                check_hint(window, "alloc_shared_noncontig", apart ? "false" : "true");
            if (f != CREATED)
                check_hint(window, "mpi_minimum_memory_alignment", alignment);
            check_hint(window, "transom", served);
            check_works(window);
            end(f, &window);
        }
        OK(MPI_Info_free(&info));
    }
}

/* No info changes nothing, whether it is taken or refused. */
static void no_info_later(void) {
    MPI_Info info = info_with("no_locks", "true"), empty = info_with(NULL, NULL);
    MPI_Win window = made(ALLOCATED, info, BYTES, 8);
    window_returns_errors(window);
    MPI_Win_set_info(window, MPI_INFO_NULL);
    check_hint(window, "no_locks", "true");
    OK(MPI_Win_set_info(window, empty));
    check_hint(window, "no_locks", "true");
    check_hint(window, "same_size", "false");
    check_works(window);
    OK(MPI_Info_free(&info));
    OK(MPI_Info_free(&empty));
    end(ALLOCATED, &window);
}

/* Ranks that say different things, at creation and later, and some that say nothing. */
static void different_on_ranks(void) {
    for (enum flavour f = 0; f < FLAVOURS; f++)
        for (int i = 0; i < hints(); i++) {
            MPI_Info mine = rank % 3 == 2 ? MPI_INFO_NULL : info_with(changing[i].key, changing[i].valid[rank % 2]);
            MPI_Win window = made(f, mine, BYTES, 8);
            const char *value = in_use(window, changing[i].key);
            int known = strcmp(value, changing[i].at_first) == 0;
            for (int v = 0; v < 4 && changing[i].valid[v] != NULL; v++)
                known |= strcmp(value, changing[i].valid[v]) == 0;
            CHECK(known, "%s=%s", changing[i].key, value);
            check_works(window);
            MPI_Info later = info_with(changing[i].key, changing[i].valid[(rank + 1) % 2]);
            OK(MPI_Win_set_info(window, later));
            check_works(window);
            OK(MPI_Info_free(&later));
            if (mine != MPI_INFO_NULL)
                OK(MPI_Info_free(&mine));
            end(f, &window);
        }
}

/* Hints that are not true: locks in spite of no_locks, sizes and units that differ in spite of same_size and same_disp_unit. */
static void promises_that_are_not_kept(void) {
    MPI_Info info = info_with("no_locks", "true");
    OK(MPI_Info_set(info, "same_size", "true"));
    OK(MPI_Info_set(info, "same_disp_unit", "true"));
    for (enum flavour f = 0; f < FLAVOURS; f++) {
        int unit = 1 << rank % 4;
        MPI_Win window = made(f, info, BYTES * (1 + rank), unit);
        check_works(window);
        int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks, far = BYTES * (1 + right) / (1 << right % 4) - 8 / (1 << right % 4);
        long sent = 77 + rank;
        OK(MPI_Win_fence(0, window));
        OK(MPI_Put(&sent, 1, MPI_LONG, right, far, 1, MPI_LONG, window));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
        long last = ((long *)own)[BYTES * (1 + rank) / 8 - 1];
        CHECK(last == 77 + left, "%ld", last);
        end(f, &window);
    }
    OK(MPI_Info_free(&info));
}

/* The info that is got is the program's own. */
static void got_many_times(void) {
    MPI_Info kept, changed, info = info_with("same_size", "true");
    MPI_Win window = made(SHARED, info, BYTES, 8);
    OK(MPI_Info_free(&info));
    OK(MPI_Win_get_info(window, &kept));
    OK(MPI_Win_get_info(window, &changed));
    OK(MPI_Info_set(changed, "same_size", "false"));
    OK(MPI_Info_set(changed, "own", "yes"));
    OK(MPI_Info_delete(changed, "no_locks"));
    OK(MPI_Info_free(&changed));
    check_hint(window, "same_size", "true");
    check_hint(window, "no_locks", "false");
    for (int round = 0; round < 2000; round++) {
        OK(MPI_Win_get_info(window, &changed));
        OK(MPI_Info_free(&changed));
    }
    end(SHARED, &window);
    CHECK(strcmp(value_of(kept, "same_size"), "true") == 0, "%s", value_of(kept, "same_size"));
    /* What was read from one window makes the next alike. */
    window = made(SHARED, kept, BYTES, 8);
    check_hint(window, "same_size", "true");
    OK(MPI_Info_free(&kept));
    check_works(window);
    end(SHARED, &window);
}

MAIN(SCENARIO(defaults), SCENARIO(given_at_creation), SCENARIO(odd_at_creation), SCENARIO(blanks_and_capitals), SCENARIO(unknown_keys),
     SCENARIO(long_ones), SCENARIO(set_later), SCENARIO(odd_later), SCENARIO(settled_at_creation), SCENARIO(no_info_later),
     SCENARIO(different_on_ranks), SCENARIO(promises_that_are_not_kept), SCENARIO(got_many_times))
