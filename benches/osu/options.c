#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_TRANSFER = 1 << 30, DEFAULT_LARGEST = 1 << 22 };

struct choice {
    const char *name;
    const char *title;
    const char *help;
};

static const struct choice flavours[] = {
    [ALLOCATE] = {"allocate", "MPI_Win_allocate", "MPI_Win_allocate"},
    [CREATE] = {"create", "MPI_Win_create", "MPI_Win_create on memory of malloc"},
    [CREATE_MEM] = {"create_mem", "MPI_Win_create on MPI_Alloc_mem", "MPI_Win_create on memory of MPI_Alloc_mem"},
    [DYNAMIC] = {"dynamic", "MPI_Win_create_dynamic", "MPI_Win_create_dynamic and MPI_Win_attach"},
};

static const struct choice syncs[] = {
    [LOCK] = {"lock", "MPI_Win_lock/unlock", "MPI_Win_lock and unlock around each round"},
    [FLUSH] = {"flush", "MPI_Win_flush", "MPI_Win_flush, inside one lock epoch"},
    [FLUSH_LOCAL] = {"flush_local", "MPI_Win_flush_local", "MPI_Win_flush_local, inside one lock epoch"},
    [LOCK_ALL] = {"lock_all", "MPI_Win_lock_all/unlock_all", "MPI_Win_lock_all and unlock_all around each round"},
    [PSCW] = {"pscw", "MPI_Win_post/start/complete/wait", "MPI_Win_post, start, complete and wait"},
    [FENCE] = {"fence", "MPI_Win_fence", "MPI_Win_fence"},
};

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

const char *flavour_title(enum flavour flavour)
{
    return flavours[flavour].title;
}

const char *sync_title(enum sync sync)
{
    return syncs[sync].title;
}

/* A transfer in both directions at once needs epochs in which both ranks are origins. */
static bool has_sync(const struct benchmark *benchmark, enum sync sync)
{
    return benchmark->pattern != BOTH_WAYS || sync == PSCW || sync == FENCE;
}

/* Programs that work on one element, and on nothing else: its bytes. */
static int fixed_size(const struct benchmark *benchmark)
{
    return benchmark->element > 1 ? benchmark->element : 0;
}

static int find(const struct choice *choices, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(choices[i].name, name) == 0)
            return i;
    return -1;
}

static bool parse_number(const char *text, long least, long most, long *number)
{
    char *end;
    *number = strtol(text, &end, 10);
    return end != text && *end == '\0' && *number >= least && *number <= most;
}

/* MAX, MIN: or MIN:MAX. */
static bool parse_sizes(char *text, struct options *options)
{
    char *colon = strchr(text, ':');
    char *largest = colon ? colon + 1 : text;
    long size;
    if (colon) {
        *colon = '\0';
        if (*text != '\0') {
            if (!parse_number(text, 0, LARGEST_TRANSFER, &size))
                return false;
            options->smallest = (int)size;
        }
    }
    if (*largest != '\0' || !colon) {
        if (!parse_number(largest, 0, LARGEST_TRANSFER, &size))
            return false;
        options->largest = (int)size;
    }
    return options->smallest <= options->largest;
}

bool parse_options(int argc, char **argv, const struct benchmark *benchmark, struct options *options, char *error, size_t space)
{
    static const struct option long_options[] = {
        {"win-option", required_argument, NULL, 'w'}, {"sync-option", required_argument, NULL, 's'},
        {"message-size", required_argument, NULL, 'm'}, {"warmup", required_argument, NULL, 'x'},
        {"iterations", required_argument, NULL, 'i'}, {"nanoseconds", no_argument, NULL, 'n'},
        {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0},
    };
    *options = (struct options){
        .flavour = ALLOCATE,
        .sync = benchmark->pattern == BOTH_WAYS ? PSCW : FLUSH,
        .smallest = fixed_size(benchmark) ? fixed_size(benchmark) : 1,
        .largest = fixed_size(benchmark) ? fixed_size(benchmark) : DEFAULT_LARGEST,
        .warmup = -1,
        .iterations = -1,
    };
    opterr = 0; /* each rank would print */
    int option, choice;
    long *rounds;
    while ((option = getopt_long(argc, argv, ":w:s:m:x:i:nh", long_options, NULL)) != -1) {
        switch (option) {
        case 'w':
            choice = find(flavours, LENGTH(flavours), optarg);
            if (choice < 0) {
                snprintf(error, space, "-w %s: no such window", optarg);
                return false;
            }
            options->flavour = (enum flavour)choice;
            break;
        case 's':
            choice = find(syncs, LENGTH(syncs), optarg);
            if (choice < 0 || !has_sync(benchmark, (enum sync)choice)) {
                snprintf(error, space, "-s %s: %s", optarg, choice < 0 ? "no such synchronisation" : "not with this program");
                return false;
            }
            options->sync = (enum sync)choice;
            break;
        case 'm':
            if (fixed_size(benchmark)) {
                snprintf(error, space, "-m: not with this program, which works on %d bytes", fixed_size(benchmark));
                return false;
            }
            snprintf(error, space, "-m %s: not MIN:MAX with sizes from 0 to %d bytes", optarg, LARGEST_TRANSFER);
            if (!parse_sizes(optarg, options))
                return false;
            break;
        case 'x':
        case 'i':
            rounds = option == 'i' ? &options->iterations : &options->warmup;
            if (!parse_number(optarg, option == 'i', 1000 * 1000 * 1000, rounds)) {
                snprintf(error, space, "-%c %s: not a number of rounds", option, optarg);
                return false;
            }
            break;
        case 'n':
            if (benchmark->measure != LATENCY) {
                snprintf(error, space, "-n: not with this program, which prints a bandwidth");
                return false;
            }
            options->nanoseconds = true;
            break;
        case 'h':
            options->help = true;
            break;
        default:
            if (optopt)
                snprintf(error, space, "-%c: %s", optopt, option == ':' ? "needs a value" : "no such option");
            else
                snprintf(error, space, "%s: no such option", argv[optind - 1]);
            return false;
        }
    }
    if (optind < argc) {
        snprintf(error, space, "%s: the program takes options only", argv[optind]);
        return false;
    }
    return true;
}

void print_usage(const struct benchmark *benchmark)
{
    printf("Usage: mpirun -n 2 %s [options]\n", benchmark->program);
    printf("  -w, --win-option WINDOW     how the window is created:\n");
    for (int i = 0; i < LENGTH(flavours); i++)
        printf("         %-12s %s%s\n", flavours[i].name, flavours[i].help, i == ALLOCATE ? " (default)" : "");
    printf("  -s, --sync-option SYNC      how transfers are completed:\n");
    for (int i = 0; i < LENGTH(syncs); i++) {
        enum sync usual = benchmark->pattern == BOTH_WAYS ? PSCW : FLUSH;
        if (has_sync(benchmark, (enum sync)i))
            printf("         %-12s %s%s\n", syncs[i].name, syncs[i].help, i == (int)usual ? " (default)" : "");
    }
    if (!fixed_size(benchmark))
        printf("  -m, --message-size MIN:MAX  sizes in bytes, doubling (default 1:%d); also MAX, or MIN:\n", DEFAULT_LARGEST);
    printf("  -x, --warmup N              rounds before the clock starts\n");
    printf("  -i, --iterations N          rounds that are timed\n");
    if (benchmark->measure == LATENCY)
        printf("  -n, --nanoseconds           print nanoseconds\n");
    printf("  -h, --help                  print this\n");
}
