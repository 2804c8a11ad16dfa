/* SPDX-License-Identifier: Apache-2.0 */
/* l2_residency.c: which tensors kernels find in L2, and which results never leave it. */
#include "plan/price/launches.h"
#include "plan/price/price.h"

#include <math.h>

/* Models L2 by a clock that counts bytes. A tensor is resident while the bytes that entered since its last use, its
 * own included, fit the effective capacity. A kernel uses its inputs first, the largest first, then its results; on
 * a host all at the same time. */
typedef struct {
    double capacity, entered;
    double *last; /* per tensor: the clock at its last use; far in the past for one that was never used */
    int *order;
} l2_clock;

bool fsim_used_later(const fsim_problem *p, int x, int y)
{
    const int64_t a = p->graph->tensor[x].bytes, b = p->graph->tensor[y].bytes;
    return a != b ? a < b : x < y;
}

static bool resident(const l2_clock *c, int tensor) { return c->entered - c->last[tensor] <= c->capacity; }

/* Bytes of all tensors that the kernel uses, on a host; 0 on a GPU. The few threads of a host go through all tensors
 * of a kernel side by side, from beginning to end, and so do those of the next kernel. At its first element all
 * bytes of the kernel before have passed through the cache, at its last element all bytes of its own. So a tensor is
 * found again only where the bytes of either kernel fit. */
static double bytes_in_flight(const fsim_problem *p, const fsim_group *o)
{
    double all = 0;
    if (!p->hw->host)
        return 0;
    for (int i = 0; i < o->writes; i++)
        all += (double)p->graph->tensor[o->write[i].tensor].written_bytes;
    for (int i = 0; i < o->reads; i++)
        all += o->read[i].whole ? (double)p->graph->tensor[o->read[i].tensor].bytes : 0;
    return all;
}

static void run_through(const fsim_problem *p, l2_clock *c, const fsim_group *o, const bool *hit)
{
    const double all = bytes_in_flight(p, o);
    double behind = 0;
    for (int i = 0; i < o->writes; i++)
        c->entered += (double)p->graph->tensor[o->write[i].tensor].written_bytes;
    for (int i = 0; i < o->reads; i++)
        c->entered += hit[i] ? 0 : (double)o->read[i].bytes;
    for (int i = 0; i < o->writes; i++) {
        behind += (double)p->graph->tensor[o->write[i].tensor].written_bytes;
        if (p->graph->tensor[o->write[i].tensor].over >= 0)
            continue; /* a part of it, written in place */
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
            continue; /* the kernel reads a part of it, and a later reader may need another part */
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
            launches->absorbed[k][i] =
                !t->output && !t->materialize && t->readers > 0 && fsim_is_passing(t) && !missed[o->write[i].tensor];
        }
    }
}
