/* What the Fortran programs do in C: whatever the harness asks of every program, and windows seen from the other language. */
#include "../check.h"

void check_preload_in_c(int own_rank) {
    rank = own_rank;
    check_preload();
}

int behind_transom_in_c(void) {
    return behind_transom();
}

int is_openmpi_in_c(void) {
#ifdef OPEN_MPI
    return 1;
#else
    return 0;
#endif
}

/* The number of a window names the same window in both languages. */
void check_number_in_c(MPI_Fint number, void *base) {
    MPI_Win window = MPI_Win_f2c(number);
    void *found;
    int flag;
    CHECK(MPI_Win_c2f(window) == number, "window %d comes back as %d", number, MPI_Win_c2f(window));
    CHECK((number == MPI_Win_c2f(MPI_WIN_NULL)) == (base == NULL), "window %d", number);
    if (base == NULL)
        return;
    OK(MPI_Win_get_attr(window, MPI_WIN_BASE, &found, &flag));
    CHECK(flag && found == base, "window %d is at %p in C, at %p in Fortran", number, found, base);
}

void set_name_in_c(MPI_Fint number, const char *name) {
    OK(MPI_Win_set_name(MPI_Win_f2c(number), name));
}

void check_name_in_c(MPI_Fint number, const char *name) {
    char found[MPI_MAX_OBJECT_NAME];
    int length = -1;
    OK(MPI_Win_get_name(MPI_Win_f2c(number), found, &length));
    CHECK(strcmp(found, name) == 0 && length == (int)strlen(name), "it is called '%s' (%d letters)", found, length);
}

void set_in_c(MPI_Fint number, int keyval, void *value) {
    OK(MPI_Win_set_attr(MPI_Win_f2c(number), keyval, value));
}

/* NULL where nothing is set. */
void *get_in_c(MPI_Fint number, int keyval) {
    void *value;
    int flag;
    OK(MPI_Win_get_attr(MPI_Win_f2c(number), keyval, &value, &flag));
    return flag ? value : NULL;
}

void delete_in_c(MPI_Fint number, int keyval) {
    OK(MPI_Win_delete_attr(MPI_Win_f2c(number), keyval));
}

void free_in_c(MPI_Fint number) {
    MPI_Win window = MPI_Win_f2c(number);
    OK(MPI_Win_free(&window));
    CHECK(window == MPI_WIN_NULL, "a freed window stays");
}

static int deletions;
static MPI_Aint last_value;
static int is_number[2] = {0, 1};

static int on_delete(MPI_Win window, int keyval, void *value, void *extra_state) {
    CHECK(window != MPI_WIN_NULL && keyval != MPI_KEYVAL_INVALID, "keyval %d", keyval);
    deletions++;
    /* A value of Fortran's is somewhere else. */
    last_value = *(int *)extra_state ? *(MPI_Aint *)value : (MPI_Aint)value;
    return MPI_SUCCESS;
}

/* A keyval whose callback expects pointers to numbers, or pointers. */
int create_keyval_in_c(int points_to_number) {
    int keyval;
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, &is_number[points_to_number]));
    return keyval;
}

void check_deletion_in_c(int number, intptr_t value) {
    CHECK(deletions == number, "%d deletions instead of %d", deletions, number);
    CHECK(last_value == value, "the callback got value %ld instead of %ld", (long)last_value, (long)value);
}

static int handler_calls, handled_code;
static MPI_Win handled_window;

static void handler(MPI_Win *window, int *code, ...) {
    handler_calls++;
    handled_window = *window;
    handled_code = *code;
}

MPI_Fint create_handler_in_c(void) {
    MPI_Errhandler made;
    OK(MPI_Win_create_errhandler(handler, &made));
    return MPI_Errhandler_c2f(made);
}

void check_handler_call_in_c(int number, MPI_Fint window, int code) {
    CHECK(handler_calls == number, "%d calls instead of %d", handler_calls, number);
    CHECK(handled_window == MPI_Win_f2c(window), "the handler got window %d", MPI_Win_c2f(handled_window));
    CHECK(handled_code == code, "the handler got code %d instead of %d", handled_code, code);
}

void call_handler_in_c(MPI_Fint window, int code) {
    OK(MPI_Win_call_errhandler(MPI_Win_f2c(window), code));
}

int put_to_nobody_in_c(MPI_Fint number) {
    MPI_Win window = MPI_Win_f2c(number);
    char byte = 0;
    int beyond;
    OK(MPI_Comm_size(MPI_COMM_WORLD, &beyond));
    OK(MPI_Win_lock_all(0, window));
    int code = MPI_Put(&byte, 1, MPI_CHAR, beyond, 0, 1, MPI_CHAR, window);
    OK(MPI_Win_unlock_all(window));
    return code;
}
