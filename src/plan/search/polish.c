/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/polish.h"

#include "fusion/sets.h"
#include "plan/price/price.h"
#include "plan/price/user_rules.h"
#include "plan/search/cross.h"
#include "plan/search/marks.h"

#include <string.h>

enum { WORK_OF_STEP = 64 }; /* primitives that are looked at in a step of a search */

typedef struct {
    fsim_problem *p;
    const fsim_graph *g;
    const fsim_budget *budget;
    fsim_arena *keep, *scratch;
    fsim_plan *best;
    bool *in[2]; /* by primitive: the kernels that are being changed */
} polisher;

/* May the part be a kernel by its place in the graph and the rules of the workload? What it costs, and whether it
 * can be one kernel at all, is the price's to say. */
static bool is_kernel(polisher *w, const fsim_part *part)
{
    fsim_refusal why;
    return part->count == 0 || (fsim_connected(w->g, part->node, part->count, w->scratch, &why) &&
                                fsim_user_allows(w->p, part->node, part->count, &why));
}

/* The same for kernels x and y that hold what is marked in w->in[0] and w->in[1]. One that holds nothing ends to be; y
 * may be x, and is then not looked at; y may be one more than there are. */
static bool improve_two(polisher *w, int x, int y)
{
    const fsim_partition *old = &w->best->partition;
    fsim_partition new = {0, fsim_new(w->scratch, fsim_part, old->parts + 2)};
    fsim_add_work(w->p, 1 + (w->g->nodes + old->parts) / WORK_OF_STEP);
    for (int i = 0; i <= old->parts; i++) {
        fsim_part part = {0, NULL, NULL};
        if (i == x || i == y)
            part = fsim_marked_part(w->g, w->in[i == x ? 0 : 1], w->scratch);
        else if (i < old->parts)
            part = old->part[i];
        if ((i == x || i == y) && !is_kernel(w, &part))
            return false;
        if (part.count > 0)
            new.part[new.parts++] = part;
    }
    return fsim_improve(w->p, &new, w->keep, w->best);
}

static bool join(polisher *w, int x, int y)
{
    const fsim_part *other = &w->best->partition.part[y];
    fsim_mark_part(w->g, &w->best->partition.part[x], w->in[0]);
    for (int i = 0; i < other->count; i++)
        w->in[0][other->node[i]] = true;
    memset(w->in[1], 0, sizeof(bool) * (size_t)w->g->nodes);
    return improve_two(w, x, y);
}

/* Primitive n of kernel x runs in kernel y. y may be one more than there are. */
static bool move(polisher *w, int x, int n, int y)
{
    const fsim_partition *all = &w->best->partition;
    fsim_mark_part(w->g, &all->part[x], w->in[0]);
    if (y < all->parts)
        fsim_mark_part(w->g, &all->part[y], w->in[1]);
    else
        memset(w->in[1], 0, sizeof(bool) * (size_t)w->g->nodes);
    fsim_unmark(w->g, &all->part[x], n, w->in[0]);
    w->in[1][n] = true;
    return improve_two(w, x, y);
}

static bool again(polisher *w, int n, int y, const bool *stored)
{
    if (!w->p->recompute || !fsim_may_clone(w->p, n))
        return false;
    fsim_mark_part(w->g, &w->best->partition.part[y], w->in[0]);
    fsim_mark_copy(w->g, stored, n, w->in[0]);
    return improve_two(w, y, y);
}

/* The copies of kernel x, each read from memory instead. */
static bool drop(polisher *w, int x)
{
    const fsim_part *part = &w->best->partition.part[x];
    for (int i = 0; i < part->count && fsim_within(w->budget, w->p); i++)
        if (part->clone[i]) {
            fsim_mark_part(w->g, part, w->in[0]);
            fsim_unmark(w->g, part, part->node[i], w->in[0]);
            if (improve_two(w, x, x))
                return true;
        }
    return false;
}

static const bool *stored_by(polisher *w)
{
    bool *stored = fsim_new(w->scratch, bool, w->g->tensors + 1);
    for (int k = 0; k < w->best->kernels; k++)
        for (int i = 0; i < w->best->kernel[k].outputs; i++)
            stored[w->best->kernel[k].output[i].tensor] = true;
    return stored;
}

/* Kernel x with another one that reads what it reads too. */
static bool join_sharer(polisher *w, int x, const int *home)
{
    const fsim_part *part = &w->best->partition.part[x];
    for (int i = 0; i < part->count; i++)
        for (int k = 0; k < w->g->node[part->node[i]].args; k++) {
            const fsim_tensor *t = &w->g->tensor[w->g->node[part->node[i]].arg[k].tensor];
            for (int r = 0; r < t->readers && fsim_within(w->budget, w->p); r++)
                if (home[t->reader[r]] > x && join(w, x, home[t->reader[r]]))
                    return true;
        }
    return false;
}

/* Must a kernel store what the primitive makes, whoever reads it? */
static bool must_store(const polisher *w, int n)
{
    bool must = w->g->node[n].effect;
    for (int r = 0; r < w->g->node[n].results && !must; r++) {
        const fsim_tensor *t = &w->g->tensor[w->g->node[n].result[r]];
        must = t->output || t->materialize || (r == 0 && t->readers == 0);
    }
    return must;
}

/* Does a primitive of the part read what a marked one makes? */
static bool reads_marked(const polisher *w, const fsim_part *part, const bool *in)
{
    bool any = false;
    for (int i = 0; i < part->count && !any; i++)
        for (int k = 0; k < w->g->node[part->node[i]].args && !any; k++) {
            const int from = w->g->tensor[w->g->node[part->node[i]].arg[k].tensor].producer;
            any = from >= 0 && in[from];
        }
    return any;
}

/* Kernel x computed again by all that read its results, none of which is stored then. */
static bool spread(polisher *w, int x)
{
    const fsim_partition *old = &w->best->partition;
    const fsim_part *part = &old->part[x];
    fsim_partition new = {0, fsim_new(w->scratch, fsim_part, old->parts + 1)};
    fsim_add_work(w->p, 1 + old->parts / WORK_OF_STEP);
    if (!w->p->recompute)
        return false;
    for (int i = 0; i < part->count; i++)
        if (!fsim_may_clone(w->p, part->node[i]) || must_store(w, part->node[i]))
            return false;
    fsim_mark_part(w->g, part, w->in[1]);
    for (int i = 0; i < old->parts; i++) {
        if (i == x)
            continue;
        new.part[new.parts] = old->part[i];
        if (reads_marked(w, &old->part[i], w->in[1])) {
            fsim_mark_part(w->g, &old->part[i], w->in[0]);
            for (int k = part->count - 1; k >= 0; k--)
                w->in[0][part->node[k]] = w->in[0][part->node[k]] || fsim_is_read_inside(w->g, w->in[0], part->node[k]);
            new.part[new.parts] = fsim_marked_part(w->g, w->in[0], w->scratch);
            fsim_add_work(w->p, 1 + w->g->nodes / WORK_OF_STEP);
            if (!is_kernel(w, &new.part[new.parts]))
                return false;
        }
        new.parts++;
    }
    return fsim_improve(w->p, &new, w->keep, w->best);
}

/* What primitive n of kernel x makes is read in another kernel: brings the two together. */
static bool at_reader(polisher *w, int x, int n, int reader, const int *home, const bool *stored)
{
    const int y = home[reader];
    return y != x && y >= 0 && (again(w, n, y, stored) || move(w, x, n, y) || move(w, y, reader, x) || join(w, x, y));
}

/* Changes kernel x once. True where that made the plan better. */
static bool change(polisher *w, int x)
{
    const fsim_partition *all = &w->best->partition;
    const fsim_part *part = &all->part[x];
    const bool *stored = stored_by(w);
    fsim_add_work(w->p, 1 + (w->g->nodes + all->parts) / WORK_OF_STEP);
    int *home = fsim_new(w->scratch, int, w->g->nodes + 1);
    for (int i = 0; i < all->parts; i++)
        for (int k = 0; k < all->part[i].count; k++)
            if (!all->part[i].clone[k])
                home[all->part[i].node[k]] = i;
    if (drop(w, x) || spread(w, x) || join_sharer(w, x, home))
        return true;
    for (int i = 0; i < part->count; i++) {
        const fsim_node *n = &w->g->node[part->node[i]];
        if (part->clone[i])
            continue;
        for (int r = 0; r < n->results; r++)
            for (int k = 0; k < w->g->tensor[n->result[r]].readers && fsim_within(w->budget, w->p); k++)
                if (at_reader(w, x, part->node[i], w->g->tensor[n->result[r]].reader[k], home, stored))
                    return true;
        if (part->count > 1 && fsim_within(w->budget, w->p) && move(w, x, part->node[i], all->parts))
            return true;
    }
    return false;
}

void fsim_polish(fsim_problem *p, const fsim_budget *b, fsim_arena *a, fsim_plan *plan)
{
    polisher w = {p, p->graph, b, a, fsim_arena_new(), plan, {NULL, NULL}};
    int x = 0;
    for (int i = 0; i < 2; i++)
        w.in[i] = fsim_new(a, bool, p->graph->nodes + 1);
    for (int same = 0; same < plan->partition.parts && fsim_within(b, p);) {
        const fsim_mark mark = fsim_save(w.scratch);
        same = change(&w, x) ? 0 : same + 1;
        x = same == 0 ? x : x + 1;
        x = x < plan->partition.parts ? x : 0;
        fsim_rewind(w.scratch, mark);
    }
    fsim_arena_free(w.scratch);
}
