/* Which cells there are, and in which order: a cell's index and name are the same in every run.
 *
 * Every synchronisation is combined with every operation (request forms with passive ones), every type that the operation takes and every
 * count. What is pruned:
 *  - put, get, accumulate and their request forms: MPI_INT, MPI_CHAR and MPI_DOUBLE_INT have every pair of origin and target layout. Any other
 *    type has each target layout with two origin layouts: plain, and one that differs from type to type so that all pairs occur.
 *  - get_accumulate: the same pairs; the result's layout is one of all, which differs from pair to pair, from count to count, and between
 *    synchronisations, so that all triples occur over the types.
 *  - an accumulate's reduction is the next of those that its type allows; each legal pair of reduction and type occurs with every operation.
 *  - fetch_and_op has every reduction, and like compare_and_swap one count and no layouts, as MPI has it.
 *  - structs of several basic types: put and get only, each pair of the two.
 *  - flavours are arguments of the program: the same cells for each. One cell in eight has its origin for target; one in four has a misaligned
 *    target displacement (accumulates: one in thirty-two). */
#ifndef MATRIX_CELLS_H
#define MATRIX_CELLS_H
#include "matrix_layouts.h"
#include "matrix_types.h"

enum synchronisation { FENCE, PSCW, EXCLUSIVE, LOCK_SHARED, LOCK_ALL, SYNCHRONISATIONS };
static const char *const synchronisation_names[] = {"fence", "pscw", "lock_exclusive", "lock_shared", "lock_all"};

enum call { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, RPUT, RGET, RACCUMULATE, RGET_ACCUMULATE, CALLS };
static const char *const call_names[] = {"put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap",
                                         "rput", "rget", "raccumulate", "rget_accumulate"};

/* The last but one crosses the engine's threshold of 1024 bytes by one element. */
enum { COUNTS = 6 };
static const char *const count_names[] = {"0", "1", "2", "7", "over1k", "4096"};

struct cell {
    long index;
    enum synchronisation synchronisation;
    enum call call;
    int op, type, origin, target, result, count;
};

static bool is_request(enum call call) {
    return call >= RPUT;
}

static bool reduces(enum call call) {
    return call == ACCUMULATE || call == RACCUMULATE || call == GET_ACCUMULATE || call == RGET_ACCUMULATE || call == FETCH_AND_OP;
}

static bool has_result(enum call call) {
    return call == GET_ACCUMULATE || call == RGET_ACCUMULATE || call == FETCH_AND_OP || call == COMPARE_AND_SWAP;
}

static bool gets(enum call call) {
    return call == GET || call == RGET;
}

static void name_cell(const struct cell *cell, char *name, size_t room) {
    snprintf(name, room, "%s/%s%s%s/%s/%s,%s%s%s/%s", synchronisation_names[cell->synchronisation], call_names[cell->call],
             reduces(cell->call) ? ":" : "", reduces(cell->call) ? op_names[cell->op] : "", all[cell->type].name + 4, layout_names[cell->origin],
             layout_names[cell->target], has_result(cell->call) ? "," : "", has_result(cell->call) ? layout_names[cell->result] : "",
             count_names[cell->count]);
}

/* The `turn`th reduction of those that the type allows. */
static int reduction(const struct kind *kind, int turn) {
    int legal[OPERATIONS], count = 0;
    for (int op = 0; op < OPERATIONS; op++)
        if (allows(kind, op))
            legal[count++] = op;
    return legal[turn % count];
}

static bool has_all_pairs(const struct kind *kind) {
    return strcmp(kind->name, "MPI_INT") == 0 || strcmp(kind->name, "MPI_CHAR") == 0 || strcmp(kind->name, "MPI_DOUBLE_INT") == 0;
}

typedef void visitor(const struct cell *cell);
static long cells;

static void visit(visitor *visitor, struct cell cell) {
    cell.index = cells++;
    visitor(&cell);
}

static void with_layouts(visitor *visitor, struct cell cell) {
    bool full = has_all_pairs(&all[cell.type]), reducing = reduces(cell.call);
    for (cell.target = 0; cell.target < LAYOUTS; cell.target++)
        for (cell.origin = 0; cell.origin < LAYOUTS; cell.origin++) {
            if (!full && cell.origin != PLAIN && cell.origin != 1 + (cell.target + cell.type) % (LAYOUTS - 1))
                continue;
            for (cell.count = 0; cell.count < COUNTS; cell.count++) {
                int turn = cell.target + 5 * cell.count + (int)cell.synchronisation + (cell.origin != PLAIN);
                cell.op = reducing ? reduction(&all[cell.type], turn) : NO_OP;
                cell.result = (cell.origin + 2 * cell.target + cell.type + 4 * cell.count + 7 * (int)cell.synchronisation) % LAYOUTS;
                /* MPI_Accumulate takes MPI_NO_OP only since MPI 4, and there is nothing to see of it. */
                if (cell.op == NO_OP && (cell.call == ACCUMULATE || cell.call == RACCUMULATE))
                    cell.op = REPLACE;
                visit(visitor, cell);
            }
        }
    if (reducing)
        return;
    for (cell.target = MIXED; cell.target < ALL_LAYOUTS; cell.target++)
        for (cell.origin = MIXED; cell.origin < ALL_LAYOUTS; cell.origin++)
            for (cell.count = 0; cell.count < COUNTS; cell.count++)
                visit(visitor, cell);
}

static void visit_all(visitor *visitor) {
    struct cell cell = {0};
    cells = 0;
    for (int synchronisation = 0; synchronisation < SYNCHRONISATIONS; synchronisation++)
        for (int call = 0; call < CALLS; call++)
            for (cell.type = 0; cell.type < types; cell.type++) {
                cell.synchronisation = (enum synchronisation)synchronisation;
                cell.call = (enum call)call;
                if (is_request(cell.call) && synchronisation <= PSCW)
                    continue;
                cell.origin = cell.target = cell.result = PLAIN;
                cell.op = REPLACE;
                cell.count = 1;
                if (cell.call == FETCH_AND_OP) {
                    for (cell.op = 0; cell.op < OPERATIONS; cell.op++)
                        if (allows(&all[cell.type], cell.op))
                            visit(visitor, cell);
                } else if (cell.call == COMPARE_AND_SWAP) {
                    if (may_be_swapped(&all[cell.type]))
                        visit(visitor, cell);
                } else {
                    with_layouts(visitor, cell);
                }
            }
}

#endif
