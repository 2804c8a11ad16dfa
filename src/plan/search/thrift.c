/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/thrift.h"

#include "plan/price/deadline.h"
#include "plan/price/phases.h"
#include "plan/price/price.h"
#include "plan/search/lists.h"

#include <string.h>

typedef struct {
    fsim_problem p;
    const fsim_graph *g;
    fsim_plan plan; /* what has been made so far */
    fsim_arena *a;
    bool *cone; /* per primitive: the intermediate is made of it, inside its kernel */
} saver;

static bool is_home(const fsim_part *part, int node)
{
    for (int i = 0; i < part->count; i++)
        if (part->node[i] == node && !part->clone[i])
            return true;
    return false;
}

/* Marks what kernel k makes of the tensor it is made of. Are these primitives cheap, and do they read less than the
 * tensor takes? */
static bool find_cone(saver *w, int k, int tensor)
{
    const fsim_part *part = &w->plan.partition.part[k];
    fsim_sum read = 0;
    bool cheap = true;
    int last = -1;
    memset(w->cone, 0, (size_t)w->g->nodes * sizeof *w->cone);
    w->cone[w->g->tensor[tensor].producer] = true;
    for (int i = part->count; i-- > 0;) {
        const fsim_node *n = &w->g->node[part->node[i]];
        if (!w->cone[part->node[i]])
            continue;
        cheap = cheap && fsim_may_clone(&w->p, part->node[i]);
        for (int q = 0; q < n->args; q++) {
            const fsim_tensor *t = &w->g->tensor[n->arg[q].tensor];
            bool inside = false;
            for (int m = 0; m < part->count; m++)
                inside = inside || part->node[m] == t->producer;
            if (inside)
                w->cone[t->producer] = true;
            else if (n->arg[q].tensor != last && !t->known)
                read += t->bytes;
            last = n->arg[q].tensor;
        }
    }
    return cheap && read < w->g->tensor[tensor].bytes;
}

static bool reads(const saver *w, int k, int tensor)
{
    for (int i = 0; i < w->plan.kernel[k].inputs; i++)
        if (w->plan.kernel[k].input[i].tensor == tensor)
            return true;
    return false;
}

/* Part k with the cone as clones, or at home. */
static fsim_part joined(const saver *w, int k, bool clone)
{
    const fsim_part *part = &w->plan.partition.part[k];
    fsim_part out = {0, fsim_new(w->a, int, w->g->nodes + 1), fsim_new(w->a, bool, w->g->nodes + 1)};
    for (int n = 0; n < w->g->nodes; n++) {
        bool has = false, as = clone;
        for (int i = 0; i < part->count; i++)
            if (part->node[i] == n) {
                has = true;
                as = part->clone[i] && (clone || !w->cone[n]);
            }
        if (!has && !w->cone[n])
            continue;
        out.node[out.count] = n;
        out.clone[out.count++] = as;
    }
    return out;
}

/* Leaves the tensor, which kernel k stores, to those that read it. Kernel k goes, too, where it does nothing else. */
static bool leave_out(saver *w, int k, int tensor)
{
    const fsim_part *own = &w->plan.partition.part[k];
    const bool goes = w->plan.kernel[k].outputs == 1;
    bool moved = false;
    fsim_partition part = {0, fsim_new(w->a, fsim_part, w->plan.kernels + 1)};
    fsim_plan plan;
    fsim_refusal why;
    for (int i = 0; i < own->count && goes; i++)
        if (!own->clone[i] && !w->cone[own->node[i]])
            return false;
    for (int m = 0; m < w->plan.kernels; m++) {
        if (m == k && goes)
            continue;
        const bool joins = reads(w, m, tensor);
        part.part[part.parts++] = joins ? joined(w, m, !goes || moved) : w->plan.partition.part[m];
        moved = moved || joins;
    }
    if (!moved || !fsim_price(&w->p, &part, w->a, &plan, &why))
        return false;
    w->plan = plan;
    return true;
}

/* The first intermediate that can be left out, from kernel *k on. */
static bool leave_out_next(saver *w, int *k)
{
    for (; *k < w->plan.kernels && !fsim_late(&w->p); ++*k) {
        if (fsim_phase_of(w->g, &w->plan.partition.part[*k]) != FSIM_BACKWARD)
            continue;
        for (int i = 0; i < w->plan.kernel[*k].outputs; i++) {
            const int tensor = w->plan.kernel[*k].output[i].tensor;
            const fsim_tensor *t = &w->g->tensor[tensor];
            if (!t->lasting && !t->output && !t->materialize && is_home(&w->plan.partition.part[*k], t->producer) &&
                find_cone(w, *k, tensor) && leave_out(w, *k, tensor))
                return true;
        }
    }
    return false;
}

bool fsim_make_thrifty(const fsim_problem *p, const fsim_plan *base, fsim_arena *a, fsim_plan *out)
{
    saver w = {.p = *p, .g = base->graph, .plan = *base, .a = a, .cone = fsim_new(a, bool, base->graph->nodes + 1)};
    bool any = false;
    if (base->priced || !p->recompute)
        return false;
    w.p.lean = false;
    for (int k = 0; leave_out_next(&w, &k);)
        any = true;
    *out = w.plan;
    return any;
}

static void add_member(fsim_part *x, const fsim_part *from, int i)
{
    x->node[x->count] = from->node[i];
    x->clone[x->count++] = from->clone[i];
}

bool fsim_part_with_sums(const fsim_problem *p, const fsim_plan *base, fsim_arena *a, fsim_plan *out)
{
    fsim_problem q = *p;
    fsim_partition part = {0, fsim_new(a, fsim_part, 2 * base->kernels + 1)};
    fsim_refusal why;
    q.lean = false;
    for (int k = 0; k < base->kernels && !base->priced; k++) {
        const fsim_part *x = &base->partition.part[k];
        const fsim_group *o = base->kernel[k].group;
        fsim_part of[2];
        for (int i = 0; i < 2; i++)
            of[i] = (fsim_part){0, fsim_new(a, int, x->count), fsim_new(a, bool, x->count)};
        for (int i = 0; i < x->count; i++) {
            const int m = fsim_member_of(o, x->node[i]);
            add_member(&of[o->contractions > 0 && m >= 0 && (o->member[m].across || o->member[m].past) &&
                           base->graph->node[x->node[i]].points > 1],
                       x, i);
        }
        for (int i = 0; i < 2; i++)
            if (of[i].count > 0)
                part.part[part.parts++] = of[i];
    }
    return part.parts > base->kernels && fsim_price(&q, &part, a, out, &why);
}
