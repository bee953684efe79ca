/* What MPI_Error_string says of errors on windows. The classes are the standard's; the texts, behind Transom, name the call and what was
 * wrong with it. */
#include "check.h"

enum { BYTES = 4096, UNIT = 4 };

static MPI_Win window;
static int *memory;
static char buffer[2 * BYTES];

static void begin(void) {
    world_returns_errors();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Win_allocate(BYTES, UNIT, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    window_returns_errors(window);
}

/* The code has this class, and its text each of these parts. */
static void check_text(int line, int class, int code, const char *const *parts) {
    char text[MPI_MAX_ERROR_STRING + 16];
    int length = -1;
    memset(text, '#', sizeof text);
    if (class_of(code) != class)
        fail(__FILE__, line, "class %d is due, but: class %d: %s", class, class_of(code), string_of(code));
    OK(MPI_Error_string(code, text, &length));
    CHECK(length > 0 && length < MPI_MAX_ERROR_STRING && text[length] == 0 && strlen(text) == (size_t)length, "length %d", length);
    CHECK(text[MPI_MAX_ERROR_STRING] == '#', "more than MPI_MAX_ERROR_STRING characters were written");
    if (!behind_transom())
        return;
    for (; *parts != NULL; parts++)
        if (strstr(text, *parts) == NULL)
            fail(__FILE__, line, "'%s' is missing in: %s", *parts, text);
}

/* SAYS(class, call, "a part of the text", ...) */
#define SAYS(class, call, ...) check_text(__LINE__, class, call, (const char *const[]){#class, __VA_ARGS__, NULL})

/* A text with numbers. */
__attribute__((format(printf, 1, 2))) static const char *with(const char *format, ...) {
    static char texts[8][80];
    static int next;
    char *text = texts[next++ % 8];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof texts[0], format, arguments);
    va_end(arguments);
    return text;
}

static void of_ranges(void) {
    begin();
    int target = ranks - 1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
    const char *rank_of_target = with("rank %d", target);
    SAYS(MPI_ERR_RMA_RANGE, MPI_Put(buffer, 1, MPI_INT, target, 1024, 1, MPI_INT, window), "MPI_Put", rank_of_target, "displacement 1024", "4 bytes",
         "4096 bytes");
    SAYS(MPI_ERR_RMA_RANGE, MPI_Get(buffer, 3, MPI_DOUBLE, target, 5000, 3, MPI_DOUBLE, window), "MPI_Get", rank_of_target, "displacement 5000",
         "24 bytes", "4096 bytes");
    SAYS(MPI_ERR_RMA_RANGE, MPI_Put(buffer, BYTES + 1, MPI_CHAR, target, 0, BYTES + 1, MPI_CHAR, window), "MPI_Put", rank_of_target,
         "displacement 0", "4097 bytes", "4096 bytes");
    OK(MPI_Win_unlock(target, window));
    OK(MPI_Win_free(&window));
}

static void of_ranks(void) {
    begin();
    int beyond = ranks, unit;
    const char *wrong = with("rank %d", beyond), *all = with("%d", ranks);
    MPI_Aint size;
    void *base;
    SAYS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, beyond, 0, window), "MPI_Win_lock", wrong, all);
    OK(MPI_Win_lock_all(0, window));
    SAYS(MPI_ERR_RANK, MPI_Put(buffer, 1, MPI_INT, beyond, 0, 1, MPI_INT, window), "MPI_Put", wrong, all);
    SAYS(MPI_ERR_RANK, MPI_Get(buffer, 1, MPI_INT, -77, 0, 1, MPI_INT, window), "MPI_Get", "rank -77", all);
    SAYS(MPI_ERR_RANK, MPI_Win_flush(beyond, window), "MPI_Win_flush", wrong, all);
    SAYS(MPI_ERR_RANK, MPI_Win_flush_local(-77, window), "MPI_Win_flush_local", "rank -77");
    OK(MPI_Win_unlock_all(window));
    SAYS(MPI_ERR_RANK, MPI_Win_shared_query(window, beyond, &size, &unit, &base), "MPI_Win_shared_query", wrong, all);
    OK(MPI_Win_free(&window));
}

static void of_epochs(void) {
    begin();
    int target = ranks - 1;
    const char *named = with("target %d", target);
    SAYS(MPI_ERR_RMA_SYNC, MPI_Put(buffer, 1, MPI_INT, target, 0, 1, MPI_INT, window), "MPI_Put", named);
    SAYS(MPI_ERR_RMA_SYNC, MPI_Get(buffer, 1, MPI_INT, target, 0, 1, MPI_INT, window), "MPI_Get", named);
    SAYS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(target, window), "MPI_Win_unlock", named);
    SAYS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(window), "MPI_Win_unlock_all");
    SAYS(MPI_ERR_RMA_SYNC, MPI_Win_flush(target, window), "MPI_Win_flush");
    SAYS(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(window), "MPI_Win_flush_all");
    SAYS(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(window), "MPI_Win_flush_local_all");
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window));
    SAYS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window), "MPI_Win_lock", named);
    SAYS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, window), "MPI_Win_lock_all");
    SAYS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, window), "MPI_Win_fence");
    OK(MPI_Win_unlock(target, window));
    OK(MPI_Win_free(&window));
}

static void of_arguments(void) {
    begin();
    SAYS(MPI_ERR_LOCKTYPE, MPI_Win_lock(-12345, 0, 0, window), "MPI_Win_lock", "lock_type", "-12345");
    SAYS(MPI_ERR_ASSERT, MPI_Win_fence(1 << 29, window), "MPI_Win_fence", "assert", "536870912");
    SAYS(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, 1 << 29, window), "MPI_Win_lock", "assert", "536870912");
    OK(MPI_Win_lock_all(0, window));
    SAYS(MPI_ERR_COUNT, MPI_Put(buffer, -3, MPI_INT, 0, 0, 1, MPI_INT, window), "MPI_Put", "origin_count", "-3");
    SAYS(MPI_ERR_COUNT, MPI_Get(buffer, 1, MPI_INT, 0, 0, -4, MPI_INT, window), "MPI_Get", "target_count", "-4");
    SAYS(MPI_ERR_TYPE, MPI_Put(buffer, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, window), "MPI_Put", "datatype");
    SAYS(MPI_ERR_TYPE, MPI_Get(buffer, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, window), "MPI_Get", "datatype");
    SAYS(MPI_ERR_TYPE, MPI_Put(buffer, 3, MPI_INT, 0, 0, 1, MPI_LONG, window), "MPI_Put", "12 bytes", "8");
    SAYS(MPI_ERR_BUFFER, MPI_Put(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, window), "MPI_Put", "null");
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_free(&window));
}

static void of_handles(void) {
    begin();
    MPI_Win kept = window;
    int keyval = MPI_KEYVAL_INVALID, flag;
    void *value;
    SAYS(MPI_ERR_KEYVAL, MPI_Win_set_attr(window, keyval, &keyval), "MPI_Win_set_attr", "keyval");
    SAYS(MPI_ERR_KEYVAL, MPI_Win_get_attr(window, keyval, &value, &flag), "MPI_Win_get_attr", "keyval");
    SAYS(MPI_ERR_KEYVAL, MPI_Win_delete_attr(window, keyval), "MPI_Win_delete_attr", "keyval");
    SAYS(MPI_ERR_KEYVAL, MPI_Win_set_attr(window, MPI_WIN_BASE, &keyval), "MPI_Win_set_attr", "predefined");
    SAYS(MPI_ERR_ARG, MPI_Win_set_errhandler(window, MPI_ERRHANDLER_NULL), "MPI_Win_set_errhandler", "error handler");
    SAYS(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(window, buffer, 64), "MPI_Win_attach", "MPI_Win_create_dynamic");
    SAYS(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(window, buffer), "MPI_Win_detach", "MPI_Win_create_dynamic");
    OK(MPI_Win_free(&window));
    SAYS(MPI_ERR_WIN, MPI_Put(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, kept), "MPI_Put", "freed");
    SAYS(MPI_ERR_WIN, MPI_Win_fence(0, kept), "MPI_Win_fence", "freed");
    SAYS(MPI_ERR_WIN, MPI_Win_get_attr(kept, MPI_WIN_BASE, &value, &flag), "MPI_Win_get_attr", "freed");
    SAYS(MPI_ERR_WIN, MPI_Win_free(&kept), "MPI_Win_free", "freed");
}

/* All ranks make the same mistake, and each tells of its own. */
static void of_creations(void) {
    begin();
    MPI_Comm between, half;
    MPI_Win none;
    void *base;
    SAYS(MPI_ERR_SIZE, MPI_Win_allocate(-64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none), "MPI_Win_allocate", "size", "-64");
    SAYS(MPI_ERR_SIZE, MPI_Win_allocate_shared(-65, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none), "MPI_Win_allocate_shared", "size", "-65");
    SAYS(MPI_ERR_SIZE, MPI_Win_create(memory, -66, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &none), "MPI_Win_create", "size", "-66");
    SAYS(MPI_ERR_DISP, MPI_Win_allocate(64, -8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none), "MPI_Win_allocate", "disp_unit", "-8");
    SAYS(MPI_ERR_DISP, MPI_Win_create(memory, 64, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &none), "MPI_Win_create", "disp_unit", "0");
    SAYS(MPI_ERR_BASE, MPI_Win_create(NULL, 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &none), "MPI_Win_create", "base", "null");
    SAYS(MPI_ERR_NO_MEM, MPI_Win_allocate((MPI_Aint)1 << 60, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none), "MPI_Win_allocate", "bytes");
    SAYS(MPI_ERR_NO_MEM, MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &base), "MPI_Alloc_mem", "1152921504606846976 bytes");
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &between));
    OK(MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN));
    SAYS(MPI_ERR_COMM, MPI_Win_allocate(64, 8, MPI_INFO_NULL, between, &base, &none), "MPI_Win_allocate", "inter-communicator");
    OK(MPI_Comm_free(&between));
    OK(MPI_Comm_free(&half));
    OK(MPI_Win_free(&window));
}

/* One rank errs: it says how, and the others name it. */
static void of_other_ranks(void) {
    begin();
    MPI_Win none;
    void *base;
    int culprit = ranks - 1, code = MPI_Win_allocate(rank == culprit ? -64 : 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none);
    if (rank == culprit)
        SAYS(MPI_ERR_SIZE, code, "MPI_Win_allocate", "size", "-64");
    else
        SAYS(MPI_ERR_SIZE, code, "MPI_Win_allocate", with("rank %d", culprit));
    OK(MPI_Win_free(&window));
}

/* Codes and texts go with any number of calls and windows: a code that was kept tells the same later. */
static void kept_for_later(void) {
    begin();
    OK(MPI_Win_lock_all(0, window));
    int code = MPI_Put(buffer, 1, MPI_INT, 0, 1234, 1, MPI_INT, window);
    char before[MPI_MAX_ERROR_STRING + 1];
    snprintf(before, sizeof before, "%s", string_of(code));
    for (int round = 0; round < 10000; round++) {
        int again = MPI_Put(buffer, 1, MPI_INT, 0, 1234, 1, MPI_INT, window);
        CHECK(class_of(again) == MPI_ERR_RMA_RANGE, "class %d", class_of(again));
    }
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_free(&window));
    CHECK(strcmp(before, string_of(code)) == 0, "%s, and later: %s", before, string_of(code));
}

/* Texts of the host's own codes are still the host's. */
static void of_the_host(void) {
    int class, code;
    char text[MPI_MAX_ERROR_STRING];
    begin();
    for (class = MPI_SUCCESS; class <= MPI_ERR_LASTCODE && class < 64; class ++) {
        int length = 0, of_class = -1;
        OK(MPI_Error_string(class, text, &length));
        CHECK(length > 0, "class %d has no text", class);
        OK(MPI_Error_class(class, &of_class));
        CHECK(of_class == class, "class %d is of class %d", class, of_class);
    }
    code = MPI_Send(buffer, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    CHECK(class_of(code) == MPI_ERR_COUNT && string_of(code)[0] != 0, "class %d: %s", class_of(code), string_of(code));
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "a code of the program"));
    CHECK(class_of(code) == class && strcmp(string_of(code), "a code of the program") == 0, "class %d: %s", class_of(code), string_of(code));
    OK(MPI_Win_free(&window));
}

MAIN(SCENARIO(of_ranges), SCENARIO(of_ranks), SCENARIO(of_epochs), SCENARIO(of_arguments), SCENARIO(of_handles), SCENARIO(of_creations),
     SCENARIO(of_other_ranks), SCENARIO(kept_for_later), SCENARIO(of_the_host))
