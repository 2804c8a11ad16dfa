/* SPDX-License-Identifier: Apache-2.0 */
/* live.c: how many registers the values of a kernel need at once. */
#include "fusion/grouping.h"

#include "fusion/sets.h"

enum { CROWD = 63 }; /* stands for all branches from there on: a thread is in one of them, and holds what one reads */

/* Registers that a value of this type takes: two for 8 bytes; halves are computed on as floats. */
static int width(const fsim_tensor *t) { return fsim_dtype_bytes(t->dtype) > 4 ? 2 : 1; }

/* A value that is needed outside of all branches exists everywhere; others exist only in their branches. */
static bool in_branch(uint64_t branches, int branch)
{
    return branch == 0 ? branches & 1 : !(branches & 1) && (branches >> branch & 1);
}

/* One value for each map; pieces exclude each other, so one for all of them. */
static int values_at_once(const member_demand *x)
{
    int values = 0, pieces = 0;
    for (int k = 0; k < x->maps; k++)
        *(x->view[k].scope.place ? &pieces : &values) += 1;
    return values + (pieces > 0) > 0 ? values + (pieces > 0) : 1;
}

/* Adds to change[] where the values of one branch (0: of no branch) begin and end to take registers. A loaded
 * value exists from its first reader to its last, a computed one from its computation to its last reader. */
static void add_lives(const grouping *w, int branch, int *change)
{
    const fsim_group *o = w->out;
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = fsim_grouping_node(w, i);
        int last = i;
        if (!in_branch(w->demand[i].branches, branch))
            continue;
        for (int k = 0; k < n->results; k++) {
            const fsim_tensor *t = &w->g->tensor[n->result[k]];
            for (int r = 0; r < t->readers && t->reader[r] <= w->node[w->count - 1]; r++) {
                const int at = fsim_position(w->node, w->count, t->reader[r]);
                last = at > last ? at : last;
            }
        }
        const int weight = width(&w->g->tensor[n->result[0]]) * values_at_once(&w->demand[i]);
        change[i] += weight;
        change[last + 1] -= weight;
    }
    for (int i = 0, in_crowd = 0; i < o->reads; i++) {
        const fsim_tensor *t = &w->g->tensor[o->read[i].tensor];
        int first = w->count, last = -1;
        if (!in_branch(o->read[i].branches, branch) || (branch == CROWD && in_crowd++ > 0))
            continue;
        for (int r = fsim_reader_from(t, w->node[0]); r < t->readers && t->reader[r] <= w->node[w->count - 1]; r++) {
            const int at = fsim_position(w->node, w->count, t->reader[r]);
            if (at < 0)
                continue;
            first = at < first ? at : first;
            last = at > last ? at : last;
        }
        if (last < 0)
            continue;
        const int weight = width(t) * (o->read[i].maps > 1 && !o->read[i].place ? o->read[i].maps : 1);
        change[first] += weight;
        change[last + 1] -= weight;
    }
}

int fsim_live_registers(grouping *w)
{
    int most[2] = {0, 0}; /* outside of branches; in the widest branch */
    for (int branch = 0; branch <= w->branches && branch < 64; branch++) {
        const fsim_mark mark = fsim_save(w->a);
        int *change = fsim_new(w->a, int, w->count + 2), live = 0, *peak = &most[branch > 0];
        add_lives(w, branch, change);
        for (int i = 0; i <= w->count; i++) {
            live += change[i];
            *peak = live > *peak ? live : *peak;
        }
        fsim_rewind(w->a, mark);
    }
    return most[0] + most[1];
}
