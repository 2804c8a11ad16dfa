/* SPDX-License-Identifier: Apache-2.0 */
/* l2_residency.c: which tensors kernels find in L2, and which never leave it. */
#include "plan/price/launches.h"
#include "plan/price/price.h"

#include <math.h>

/* L2 as a clock of the bytes that have entered it: a tensor is resident while no more than the effective capacity has
 * entered since its last use, itself included. A kernel's results were used last, before them its inputs, the largest
 * first; on a host all together. */
typedef struct {
    double capacity, entered;
    double *last; /* per tensor: where the clock stood at its last use; far back when never */
    int *order;
} l2_clock;

bool fsim_used_later(const fsim_problem *p, int x, int y)
{
    const int64_t a = p->graph->tensor[x].bytes, b = p->graph->tensor[y].bytes;
    return a != b ? a < b : x < y;
}

static bool resident(const l2_clock *c, int tensor) { return c->entered - c->last[tensor] <= c->capacity; }

/* Bytes of all that the kernel uses on a host; else 0. A host's few threads go through all tensors of a kernel side by
 * side, from beginning to end, and so does what reads them next: when it comes to the first element, all bytes of the
 * kernel before have passed, when it comes to the last, all of its own. So neither may be more than there is room for.
 */
static double bytes_in_flight(const fsim_problem *p, const fsim_group *o)
{
    double all = 0;
    if (!p->hw->host)
        return 0;
    for (int i = 0; i < o->writes; i++)
        all += (double)p->graph->tensor[o->write[i].tensor].bytes;
    for (int i = 0; i < o->reads; i++)
        all += o->read[i].whole ? (double)p->graph->tensor[o->read[i].tensor].bytes : 0;
    return all;
}

static void run_through(const fsim_problem *p, l2_clock *c, const fsim_group *o, const bool *hit)
{
    const double all = bytes_in_flight(p, o);
    double behind = 0;
    for (int i = 0; i < o->writes; i++)
        c->entered += (double)p->graph->tensor[o->write[i].tensor].bytes;
    for (int i = 0; i < o->reads; i++)
        c->entered += hit[i] ? 0 : (double)o->read[i].bytes;
    for (int i = 0; i < o->writes; i++) {
        behind += (double)p->graph->tensor[o->write[i].tensor].bytes;
        c->last[o->write[i].tensor] = fmax(c->last[o->write[i].tensor], c->entered - fmax(behind, all));
    }
    int *order = c->order;
    for (int i = 0; i < o->reads; i++) {
        int k = i;
        for (; k > 0 && fsim_used_later(p, o->read[i].tensor, o->read[order[k - 1]].tensor); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[order[i]];
        if (!r->whole)
            continue; /* a part of it: what is there later is not known to be what is wanted */
        behind += (double)p->graph->tensor[r->tensor].bytes;
        c->last[r->tensor] = fmax(c->last[r->tensor], c->entered - fmax(behind, all));
    }
}

void fsim_find_residency(const fsim_problem *p, const fsim_launches *launches, fsim_arena *a)
{
    bool **hit = launches->hit;
    const fsim_graph *g = p->graph;
    l2_clock c = {fsim_l2_effective(p->hw), 0, fsim_new(a, double, g->tensors + 1), fsim_new(a, int, g->tensors + 1)};
    bool *missed = fsim_new(a, bool, g->tensors + 1);
    for (int t = 0; t < g->tensors; t++)
        c.last[t] = -1e30;
    for (int run = p->warm ? 0 : 1; run < 2; run++)
        for (int k = 0; k < launches->kernels; k++) {
            const fsim_group *o = &launches->kernel[k]->group;
            const bool room = bytes_in_flight(p, o) <= c.capacity;
            for (int i = 0; i < o->reads; i++) {
                hit[k][i] = room && resident(&c, o->read[i].tensor);
                missed[o->read[i].tensor] = missed[o->read[i].tensor] || (run == 1 && !hit[k][i]);
            }
            const fsim_part *part = launches->part[k];
            for (int i = 0; i < part->count && run == 1; i++)
                for (int r = 0; part->clone[i] && r < g->node[part->node[i]].results; r++) {
                    const int t = g->node[part->node[i]].result[r];
                    missed[t] = missed[t] || !resident(&c, t);
                }
            run_through(p, &c, o, hit[k]);
        }
    for (int k = 0; k < launches->kernels; k++) {
        const fsim_group *o = &launches->kernel[k]->group;
        for (int i = 0; i < o->writes; i++) {
            const fsim_tensor *t = &g->tensor[o->write[i].tensor];
            launches->absorbed[k][i] = !t->output && !t->materialize && t->readers > 0 && !missed[o->write[i].tensor];
        }
    }
}
