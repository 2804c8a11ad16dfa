/* SPDX-License-Identifier: Apache-2.0 */
/* l2_residency.c: which tensors kernels find in L2, and which results never leave it. */
#include "plan/price/launches.h"
#include "plan/price/price.h"

#include <math.h>

/* Models L2 by a clock that counts bytes. A tensor is resident while the bytes that entered since its last use, and
 * those of the kernel that used it last, fit the effective capacity. */
typedef struct {
    double capacity, entered;
    double *last; /* per tensor: the clock at its last use; far in the past for one that was never used */
} l2_clock;

static bool resident(const l2_clock *c, int tensor) { return c->entered - c->last[tensor] <= c->capacity; }

static void run_through(const fsim_problem *p, l2_clock *c, const fsim_group *o, const bool *hit)
{
    const double all = fsim_bytes_in_flight(p->graph, o);
    for (int i = 0; i < o->writes; i++)
        c->entered += (double)p->graph->tensor[o->write[i].tensor].written_bytes;
    for (int i = 0; i < o->reads; i++)
        c->entered += hit[i] ? 0 : (double)o->read[i].bytes;
    for (int i = 0; i < o->writes; i++)
        if (p->graph->tensor[o->write[i].tensor].over < 0) /* else a part of it, written in place */
            c->last[o->write[i].tensor] = fmax(c->last[o->write[i].tensor], c->entered - all);
    for (int i = 0; i < o->reads; i++)
        if (o->read[i].whole) /* else a later reader may need another part */
            c->last[o->read[i].tensor] = fmax(c->last[o->read[i].tensor], c->entered - all);
}

void fsim_find_residency(const fsim_problem *p, const fsim_launches *launches, fsim_arena *a)
{
    bool **hit = launches->hit;
    const fsim_graph *g = p->graph;
    l2_clock c = {fsim_l2_effective(p->hw), 0, fsim_new(a, double, g->tensors + 1)};
    bool *missed = fsim_new(a, bool, g->tensors + 1);
    for (int t = 0; t < g->tensors; t++)
        c.last[t] = -1e30;
    for (int run = p->warm ? 0 : 1; run < 2; run++)
        for (int k = 0; k < launches->kernels; k++) {
            const fsim_group *o = launches->kernel[k]->group;
            const bool room = fsim_bytes_in_flight(p->graph, o) <= c.capacity;
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
        const fsim_group *o = launches->kernel[k]->group;
        for (int i = 0; i < o->writes; i++) {
            const fsim_tensor *t = &g->tensor[o->write[i].tensor];
            launches->absorbed[k][i] =
                !t->output && !t->materialize && t->readers > 0 && fsim_is_passing(t) && !missed[o->write[i].tensor];
        }
    }
}
