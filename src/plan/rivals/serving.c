/* SPDX-License-Identifier: Apache-2.0 */
/* serving.c: as a serving stack runs it: what the workload's `calls:` name as calls of its library (price/calls.h joins
 * them), what they name as `fused` in one kernel, everything else as PyTorch does. A product that is faster beside a
 * kernel with the rest of its entry stays apart: stacks have both, and choose by size. */
#include "plan/rivals/rivals.h"

#include "plan/price/price.h"
#include "plan/price/sdpa.h"
#include "plan/search/around.h"
#include "plan/search/lists.h"
#include "plan/search/ways.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    int *set_of;  /* per primitive: the `fused` entry that it belongs to, by number from 1; 0: none */
    int *part_in; /* per part of eager's: the entry that it is a piece of; 0: none */
} merging;

/* The entry that all of the part is a piece of; views of others that it reads through do not matter. */
static int entry_of(const merging *m, const fsim_part *part)
{
    const fsim_graph *g = m->p->graph;
    int of = 0;
    for (int i = 0; i < part->count; i++) {
        const int set = m->set_of[part->node[i]];
        if (set == 0 && fsim_ops[g->node[part->node[i]].op].class == FSIM_PERMUTE)
            continue;
        if (set == 0 || (of != 0 && of != set))
            return 0;
        of = set;
    }
    return of;
}

/* Adds to of[0, count), ascending, what the part has beyond. Returns the new count. */
static int add_part(const fsim_part *part, int *of, int count)
{
    const int before = count;
    for (int i = 0; i < part->count; i++)
        if (!bsearch(&part->node[i], of, (size_t)before, sizeof *of, fsim_by_int))
            of[count++] = part->node[i];
    qsort(of, (size_t)count, sizeof *of, fsim_by_int);
    return count;
}

/* All pieces of an entry. Their nodes are in m->a. */
static fsim_part gathered(const merging *m, const fsim_partition *eager, int entry)
{
    int room = 0;
    for (int i = 0; i < eager->parts; i++)
        room += m->part_in[i] == entry ? eager->part[i].count : 0;
    fsim_part all = {.node = fsim_new(m->a, int, room + 1)};
    for (int i = 0; i < eager->parts; i++)
        if (m->part_in[i] == entry)
            all.count = add_part(&eager->part[i], all.node, all.count);
    return all;
}

static double alone_s(const merging *m, const fsim_part *part)
{
    const fsim_kernel *k = part->count > 0 ? fsim_kernel_alone(m->p, part->node, part->count, m->a) : NULL;
    return k ? k->time_s : INFINITY;
}

static bool has_product(const merging *m, const fsim_part *part)
{
    for (int i = 0; i < part->count; i++)
        if (fsim_ops[m->p->graph->node[part->node[i]].op].class == FSIM_CONTRACTION)
            return true;
    return false;
}

/* Which pieces become the entry's kernel: all of them; all but products, where that takes less time; none, where they
 * can be no kernel. */
static void choose_pieces(merging *m, const fsim_partition *eager, int entry)
{
    const fsim_part all = gathered(m, eager, entry);
    const double together_s = alone_s(m, &all);
    int *part_in = fsim_new(m->a, int, eager->parts + 1);
    double apart_s = 0;
    memcpy(part_in, m->part_in, (size_t)eager->parts * sizeof *part_in);
    for (int i = 0; i < eager->parts; i++)
        if (m->part_in[i] == entry && (isinf(together_s) || has_product(m, &eager->part[i]))) {
            apart_s += alone_s(m, &eager->part[i]);
            m->part_in[i] = 0;
        }
    if (isinf(together_s))
        return;
    const fsim_part rest = gathered(m, eager, entry);
    if (!(apart_s + alone_s(m, &rest) < together_s))
        m->part_in = part_in;
}

/* One part for each entry, in place of the last of its pieces; rule[i] then names part i. */
static fsim_partition merged(merging *m, const fsim_partition *eager, const char **rule)
{
    const int entries = m->p->graph->hand_fusions;
    fsim_partition out = {.part = fsim_new(m->a, fsim_part, eager->parts + 1)};
    int *pieces = fsim_new(m->a, int, entries + 1);
    for (int e = 1; e <= entries; e++)
        choose_pieces(m, eager, e);
    for (int i = 0; i < eager->parts; i++)
        pieces[m->part_in[i]]++;
    for (int i = 0; i < eager->parts; i++) {
        const int e = m->part_in[i];
        if (e == 0)
            out.part[out.parts++] = eager->part[i];
        else if (--pieces[e] == 0) {
            fsim_part whole = gathered(m, eager, e);
            whole.clone = fsim_new(m->a, bool, whole.count);
            rule[out.parts] = "fused by hand";
            out.part[out.parts++] = whole;
        }
    }
    return out;
}

fsim_partition fsim_serving_partition(fsim_problem *p, fsim_arena *a, const char ***rule)
{
    const fsim_graph *g = p->graph;
    const fsim_partition eager = fsim_eager_partition(p, a, rule);
    merging m = {
        .p = p, .a = a, .set_of = fsim_new(a, int, g->nodes + 1), .part_in = fsim_new(a, int, eager.parts + 1)};
    fsim_refusal why;
    fsim_plan plan;
    if (g->hand_fusions == 0)
        return eager;
    for (int e = 0; e < g->hand_fusions; e++)
        for (int i = 0; i < g->hand_fused[e].count; i++)
            m.set_of[g->hand_fused[e].node[i]] = e + 1;
    for (int i = 0; i < eager.parts; i++)
        m.part_in[i] = entry_of(&m, &eager.part[i]);
    const char **names = fsim_new(a, const char *, eager.parts + 1);
    const fsim_partition out = merged(&m, &eager, names);
    if (!fsim_price(p, &out, a, &plan, &why))
        return eager;
    *rule = names;
    return out;
}

bool fsim_best_calling(fsim_problem *q, fsim_arena *a, fsim_plan *plan, fsim_proof *proof, double *bound_s)
{
    const bool serves = q->graph->servings > 0;
    fsim_plan stack;
    fsim_call_price *call = NULL;
    if (serves)
        fsim_baseline(q, FSIM_STRATEGY_SERVING, a, &stack);
    int priced = serves ? fsim_calls_priced(q, a, &call) : 0;
    fsim_worth worth = {
        .graph = q->graph, .nothing = fsim_views_of_calls(q->graph, a), .a = a, .call = call, .calls = priced};
    q->worth = &worth;
    fsim_best(q, serves ? &stack : NULL, serves, a, plan, proof);
    priced = serves ? priced : fsim_sdpa_priced(q, plan, a, &call);
    bool calls = plan->kernels > 0 && fsim_plan_calling(q, plan, a);
    if (serves && fsim_plan_calling(q, &stack, a) && fsim_compare_plans(q, &stack, plan) < 0) {
        *plan = stack;
        calls = true;
    }
    const double enough_s = plan->kernels > 0 ? fmin(*bound_s, plan->time_s) : *bound_s;
    *bound_s = fsim_bound_around(q, call, priced, proof->before_s, enough_s);
    q->worth = NULL;
    return calls;
}
