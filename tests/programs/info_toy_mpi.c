/* MPI libraries that do what no library should: loaded, or asked for their version, they crash, hang, end the process, or leave others
 * behind; with -DPROGRAM a program that has such an MPI inside. A process left behind writes its id to the file that TOY_PID names, so that its being gone can be seen. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int PMPI_Init(int *argc, char ***argv) {
    return argc == NULL || argv == NULL;
}

static void crash(void) {
    raise(SIGSEGV);
}

static void hang(void) {
    printf("a library that has a lot to say\n");
    fflush(stdout);
    fprintf(stderr, "transom: and none of it is to be believed\n");
    for (;;)
        pause();
}

/* A process that has left its group, its session and its parent, and holds whatever was open. */
static void leave_one_behind(void) {
    if (fork() != 0)
        return;
    setsid();
    if (fork() != 0)
        _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    const char *name = getenv("TOY_PID");
    FILE *file = name != NULL ? fopen(name, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "%d", (int)getpid());
        fclose(file);
    }
    for (;;)
        pause();
}

int PMPI_Get_library_version(char *text, int *length) {
#ifdef ASKED
    ASKED;
#endif
    *length = (int)strlen(strcpy(text, "MPICH Version:\t9.8.7\nand more"));
    return 0;
}

__attribute__((constructor)) static void loaded(void) {
    (void)crash, (void)hang, (void)leave_one_behind;
#ifdef LOADED
    LOADED;
#endif
}

#ifdef PROGRAM
int main(void) {
    return PMPI_Init(NULL, NULL);
}
#endif
