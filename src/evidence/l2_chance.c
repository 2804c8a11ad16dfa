/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/l2_chance.h"

#include "cost/costing.h"
#include "evidence/constants.h"
#include "evidence/harness.h"
#include <math.h>

/* A clock that counts the bytes that kernels touch. Of each tensor: the clock where the kernel that touched it last
 * began, and where it ended; the kernel and the place in it that wrote it, -1 for none. */
typedef struct {
    const fsim_graph *g;
    fsim_maker maker;
    const fsim_plan *plan;
    double capacity, clock;
    struct touch {
        double begun, ended;
        int kernel, write, last_reader;
        bool touched;
    } * tensor;
} walk;

/* The share h of the equation in l2_chance.h. */
static double survives(double touched, double capacity)
{
    double missing = 1;
    enum { STEPS = 64 };
    for (int i = 0; i < STEPS; i++)
        missing = 1 - exp(-missing * touched / capacity);
    return touched <= capacity ? 1 : 1 - missing;
}

/* Does kernel k write its result over operand i? PyTorch adds the bias of a convolution in place; torch.compile gives a
 * pointwise kernel the memory of an operand that nobody reads after it (config.inplace_buffers). */
static bool in_place(const walk *w, const fsim_group *o, int k, int i)
{
    const fsim_read *x = &o->read[i];
    const fsim_tensor *t = &w->g->tensor[x->tensor];
    if (o->template != FSIM_POINTWISE || o->writes == 0 || t->producer < 0 || !x->whole ||
        t->bytes != w->g->tensor[o->write[0].tensor].bytes || w->tensor[x->tensor].last_reader != k)
        return false;
    const fsim_node *made = &w->g->node[t->producer], *n = &w->g->node[o->member[0].node];
    return w->maker == FSIM_BY_INDUCTOR || (made->gemm.convolution && made->source == n->source);
}

static double bytes_of(const walk *w, const fsim_group *o, int k)
{
    double bytes = fsim_bytes_in_flight(w->g, o);
    for (int i = 0; i < o->reads; i++)
        if (in_place(w, o, k, i))
            return bytes - (double)w->g->tensor[o->read[i].tensor].bytes;
    return bytes;
}

/* The share of a tensor that is still there while a kernel that touches so many bytes goes through it: elements at the
 * start wait for the end of the kernel before, those at the end for this one. */
static double still_there(const walk *w, int tensor, double bytes)
{
    const struct touch *t = &w->tensor[tensor];
    return t->touched ? survives(w->clock + (bytes - t->begun - t->ended) / 2, w->capacity) : 0;
}

static void touch(walk *w, int tensor, double begun)
{
    w->tensor[tensor].begun = begun;
    w->tensor[tensor].ended = w->clock;
    w->tensor[tensor].touched = true;
}

static void run_kernel(walk *w, int k, double *found, double **stays)
{
    const fsim_group *o = w->plan->kernel[k].group;
    const double bytes = bytes_of(w, o, k), begun = w->clock;
    for (int i = 0; i < o->reads; i++) {
        const struct touch *t = &w->tensor[o->read[i].tensor];
        found[i] = still_there(w, o->read[i].tensor, bytes);
        if (t->kernel >= 0)
            stays[t->kernel][t->write] = fmin(stays[t->kernel][t->write], found[i]);
    }
    w->clock += bytes;
    for (int i = 0; i < o->reads; i++)
        if (o->read[i].whole)
            touch(w, o->read[i].tensor, begun);
    for (int i = 0; i < o->writes; i++) {
        struct touch *t = &w->tensor[o->write[i].tensor];
        touch(w, o->write[i].tensor, begun);
        t->kernel = k;
        t->write = i;
        stays[k][i] = 1;
    }
}

/* Results of the whole reach DRAM. */
static void end_run(walk *w, double **stays)
{
    for (int t = 0; t < w->g->tensors; t++)
        if (w->tensor[t].kernel >= 0 && (w->g->tensor[t].output || w->g->tensor[t].materialize))
            stays[w->tensor[t].kernel][w->tensor[t].write] = 0;
}

static void begin(walk *w, fsim_arena *a)
{
    w->tensor = fsim_new(a, struct touch, w->g->tensors + 1);
    for (int t = 0; t < w->g->tensors; t++)
        w->tensor[t].kernel = w->tensor[t].last_reader = -1;
    for (int k = 0; k < w->plan->kernels; k++)
        for (int i = 0; i < w->plan->kernel[k].group->reads; i++)
            w->tensor[w->plan->kernel[k].group->read[i].tensor].last_reader = k;
}

fsim_residency *fsim_l2_by_chance(const fsim_measured *row, const fsim_problem *p, fsim_maker maker,
                                  const fsim_plan *plan, fsim_arena *a)
{
    const fsim_design d = p->hw->arch->design;
    if (fsim_harness_of(row) != FSIM_HARNESS_RESTS || maker == FSIM_BY_FUSESIM || maker >= FSIM_BY_VLLM ||
        p->hw->host || (d != FSIM_AMPERE_GRAPHICS && d != FSIM_ADA && d != FSIM_BLACKWELL_GRAPHICS))
        return plan->l2;
    fsim_residency *out = fsim_new(a, fsim_residency, plan->kernels + 1);
    double **found = fsim_new(a, double *, plan->kernels + 1), **stays = fsim_new(a, double *, plan->kernels + 1);
    walk w = {.g = p->graph,
              .maker = maker,
              .plan = plan,
              .capacity = l2_by_chance * fsim_hw_get(p->hw, FSIM_HW_L2_CAPACITY)};
    begin(&w, a);
    for (int k = 0; k < plan->kernels; k++) {
        found[k] = fsim_new(a, double, plan->kernel[k].group->reads + 1);
        stays[k] = fsim_new(a, double, plan->kernel[k].group->writes + 1);
    }
    for (int run = p->warm ? 0 : 1; run < 2; run++)
        for (int k = 0; k < plan->kernels; k++)
            run_kernel(&w, k, found[k], stays);
    end_run(&w, stays);
    for (int k = 0; k < plan->kernels; k++) {
        out[k] = plan->l2[k];
        out[k].found = found[k];
        out[k].stays = stays[k];
    }
    return out;
}
