/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/saved_ways.h"

#include "graph/gradient.h"
#include "plan/price/price.h"
#include "plan/search/again.h"
#include "plan/search/marks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_PRICED = 400000, /* kernels, of all ways together: beyond that, values are listed without other ways */
    MOST_AGAIN = 60000    /* the same where a value is computed again in kernels of its own, in a graph of its own */
};

/* A plan whose values are asked for, and its partition as fsim_price knows it. */
typedef struct {
    fsim_problem *p;
    const fsim_graph *g;
    const fsim_partition *base;
    const fsim_plan *plan;
    fsim_plan priced; /* base as fsim_price has it: beside library calls it differs from plan */
    bool *stored;     /* by tensor: kernels of base find it in memory */
    bool *in;         /* by primitive: scratch */
    fsim_arena *a;
    int left;
} pricing;

static bool pricing_of(pricing *w, fsim_problem *p, const fsim_plan *plan, fsim_arena *a)
{
    fsim_refusal why;
    *w = (pricing){.p = p, .g = p->graph, .base = fsim_priced_partition(plan), .plan = plan, .a = a};
    if (!fsim_price(p, w->base, a, &w->priced, &why))
        return false;
    w->stored = fsim_new(a, bool, w->g->tensors + 1);
    w->in = fsim_new(a, bool, w->g->nodes + 1);
    for (int k = 0; k < w->priced.kernels; k++)
        for (int i = 0; i < w->priced.kernel[k].outputs; i++)
            w->stored[w->priced.kernel[k].output[i].tensor] = true;
    w->left = MOST_PRICED / (w->base->parts + 1);
    return true;
}

static bool is_own(const fsim_part *part, int n)
{
    for (int i = 0; i < part->count; i++)
        if (part->node[i] == n)
            return !part->clone[i];
    return false;
}

/* Where gradients read the value in fewer bits: with `reduced` the kernel that makes it rounds it, else those do that
 * read it. */
static void move_reducer(pricing *w, const fsim_part *part, int tensor, fsim_way way)
{
    const int n = fsim_reducer_of(w->g, tensor);
    if (n < 0)
        return;
    const bool rounds =
        way == FSIM_REDUCED ? is_own(part, w->g->tensor[tensor].producer) : fsim_is_read_inside(w->g, w->in, n);
    if (rounds)
        w->in[n] = true;
    else if (w->in[n])
        fsim_unmark(w->g, part, n, w->in);
}

/* A kernel of the backward pass reads the value, or computes it again. */
static void move_copy(pricing *w, const fsim_part *part, int n, fsim_way way)
{
    if (is_own(part, n))
        return;
    if (way != FSIM_RECOMPUTE && w->in[n])
        fsim_unmark(w->g, part, n, w->in);
    else if (way == FSIM_RECOMPUTE && !w->in[n] && fsim_is_read_inside(w->g, w->in, n))
        fsim_mark_copy(w->g, w->stored, n, w->in);
}

static bool is_same(const fsim_part *x, const fsim_part *y)
{
    return x->count == y->count && memcmp(x->node, y->node, (size_t)x->count * sizeof *x->node) == 0;
}

/* The partition where the backward pass comes by the value in that way. False: it does already. */
static bool changed(pricing *w, int tensor, fsim_way way, fsim_partition *out)
{
    bool any = false;
    *out = (fsim_partition){0, fsim_new(w->a, fsim_part, w->base->parts + 1)};
    for (int i = 0; i < w->base->parts; i++) {
        const fsim_part *part = &w->base->part[i];
        fsim_mark_part(w->g, part, w->in);
        move_reducer(w, part, tensor, way);
        if (fsim_phase_of(w->g, part) == FSIM_BACKWARD)
            move_copy(w, part, w->g->tensor[tensor].producer, way);
        const fsim_part now = fsim_marked_part(w->g, w->in, w->a);
        any = any || !is_same(part, &now);
        if (now.count > 0)
            out->part[out->parts++] = is_same(part, &now) ? *part : now;
    }
    return any;
}

static int64_t held_as(const fsim_graph *g, int tensor, fsim_way way)
{
    return way == FSIM_KEEP      ? fsim_held_bytes(&g->tensor[tensor])
           : way == FSIM_REDUCED ? g->tensor[g->node[fsim_reducer_of(g, tensor)].result[0]].bytes
                                 : 0;
}

/* Sets *out for the value kept, reduced or computed again in the plan's kernels. False where that is not legal. */
static bool price(pricing *w, int tensor, fsim_way way, fsim_other_way *out)
{
    fsim_partition partition;
    fsim_plan plan;
    fsim_refusal why;
    if (w->g->tensor[tensor].producer < 0 || (way == FSIM_REDUCED && fsim_reducer_of(w->g, tensor) < 0) ||
        (way == FSIM_RECOMPUTE && !w->p->recompute) || w->left-- <= 0 || !changed(w, tensor, way, &partition) ||
        !fsim_price(w->p, &partition, w->a, &plan, &why))
        return false;
    *out = (fsim_other_way){way, held_as(w->g, tensor, way), w->plan->time_s + (plan.time_s - w->priced.time_s),
                            w->plan->peak_memory_bytes + (plan.peak_memory_bytes - w->priced.peak_memory_bytes)};
    return true;
}

static int by_time(const void *x, const void *y)
{
    const fsim_other_way *a = x, *b = y;
    return a->time_s != b->time_s ? (a->time_s < b->time_s ? -1 : 1) : (int)a->way - (int)b->way;
}

/* Adds a way; of equal ones the fastest stays. */
static void add(fsim_saved_value *v, fsim_other_way x)
{
    if (x.way == v->now.way)
        return;
    for (int i = 0; i < v->others; i++)
        if (v->other[i].way == x.way) {
            v->other[i] = x.time_s < v->other[i].time_s ? x : v->other[i];
            return;
        }
    v->other[v->others++] = x;
}

static bool reads_argument(const char *term)
{
    for (const char *at = strchr(term, '$'); at; at = strchr(at + 1, '$'))
        if (at[1] >= '0' && at[1] <= '9')
            return true;
    return false;
}

/* What a form of a derivative does about the argument of the primitive: keep stands for whatever reads it. */
static fsim_way way_of(const fsim_graph *g, const fsim_choice *c, int form)
{
    const char *term = c->packed >> form & 1 ? NULL : fsim_derivative(g->node[c->node].op, c->argument, form);
    return !term ? FSIM_FROM_BITS : reads_argument(term) ? FSIM_KEEP : FSIM_FROM_RESULT;
}

/* Bytes of an element for each element, or a bit. */
static int64_t held_by(const fsim_graph *g, const fsim_choice *c, fsim_way way)
{
    const int64_t bits_of_byte = 8;
    return way == FSIM_FROM_BITS ? g->node[c->node].points / bits_of_byte : 0;
}

static int argument_of(const fsim_graph *g, const fsim_choice *c)
{
    return g->node[c->node].arg[c->argument < g->node[c->node].args ? c->argument : 0].tensor;
}

/* The first kernel of the backward pass that computes a part of this derivative; -1: none. */
static int kernel_of(const fsim_graph *g, const fsim_plan *plan, const fsim_choice *c)
{
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->partition.part[k].count; i++) {
            const fsim_node *n = &g->node[plan->partition.part[k].node[i]];
            if (n->phase == FSIM_BACKWARD && g->source[n->source].gradient_of == g->node[c->node].source)
                return k;
        }
    return -1;
}

typedef struct {
    fsim_problem *p;
    const fsim_plan *plan;
    const fsim_ways *ways;
    fsim_arena *a;
    fsim_saved_value *at;
    int count;
    bool tried; /* the plan is the one that `ways` chose */
} list;

static fsim_saved_value *value_of(list *l, int tensor)
{
    for (int i = 0; i < l->count; i++)
        if (l->at[i].now.tensor == tensor)
            return &l->at[i];
    return NULL;
}

/* The other ways that the plan's kernels allow. */
static void add_priced(pricing *w, fsim_saved_value *v, int tensor, fsim_way now)
{
    static const fsim_way ways[] = {FSIM_KEEP, FSIM_REDUCED, FSIM_RECOMPUTE};
    fsim_other_way other;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i] != now && price(w, tensor, ways[i], &other))
            add(v, other);
}

/* What the plan of another graph does about the argument of choice c, where its derivative reads that, and the same
 * plan with the other way. */
static void add_reading(list *l, fsim_saved_value *v, const fsim_tried *x, const fsim_choice *c)
{
    fsim_saved *saved;
    fsim_problem q = *l->p;
    pricing w;
    const int tensor = argument_of(x->graph, c), count = fsim_saved_of(x->graph, &x->plan, l->a, &saved);
    fsim_way now = FSIM_WAYS;
    for (int i = 0; i < count; i++)
        now = saved[i].tensor == tensor ? saved[i].way : now;
    if (now == FSIM_WAYS) /* an input */
        return;
    add(v, (fsim_other_way){now, held_as(x->graph, tensor, now), x->plan.time_s, x->plan.peak_memory_bytes});
    q.graph = q.limits.graph = x->graph;
    q.store = fsim_store_new(l->a);
    if (pricing_of(&w, &q, &x->plan, l->a))
        add_priced(&w, v, tensor, now);
}

/* The value that choice i is about: its argument. */
static void add_forms(list *l, int i)
{
    const fsim_graph *g = l->p->graph;
    const fsim_choice *c = &g->choice[i];
    const fsim_way now = way_of(g, c, c->form);
    const int tensor = argument_of(g, c), kernel = kernel_of(g, l->plan, c);
    fsim_saved_value *v = value_of(l, tensor);
    if (now != FSIM_KEEP && !v && g->tensor[tensor].producer >= 0 && kernel >= 0) {
        v = &l->at[l->count++];
        *v =
            (fsim_saved_value){{tensor, now, held_by(g, c, now), kernel}, fsim_new(l->a, fsim_other_way, FSIM_WAYS), 0};
    }
    for (int t = 0; v && l->tried && t < l->ways->count; t++) {
        const fsim_tried *x = &l->ways->tried[t];
        if (x->form[i] == c->form || x->plan.kernels == 0 || i >= x->graph->choices)
            continue;
        const fsim_way way = way_of(x->graph, &x->graph->choice[i], x->form[i]);
        if (way == FSIM_KEEP)
            add_reading(l, v, x, &x->graph->choice[i]);
        else
            add(v, (fsim_other_way){way, held_by(g, c, way), x->plan.time_s, x->plan.peak_memory_bytes});
    }
}

/* Are the two values alike: the same in another layer, "h.3" and "h.7"? */
static bool are_alike(const fsim_graph *g, const fsim_saved *x, const fsim_saved *y)
{
    const char *p = g->tensor[x->tensor].name, *q = g->tensor[y->tensor].name;
    const size_t end = strcspn(p, "0123456789");
    if (x->way != y->way || x->bytes != y->bytes || end != strcspn(q, "0123456789") || strncmp(p, q, end) != 0)
        return false;
    p += end + strspn(p + end, "0123456789");
    q += end + strspn(q + end, "0123456789");
    return strcmp(p, q) == 0;
}

static bool has_way(const fsim_saved_value *v, fsim_way way)
{
    bool has = v->now.way == way;
    for (int i = 0; i < v->others; i++)
        has = has || v->other[i].way == way;
    return has;
}

/* Values that are kept, and that no kernel of the plan may compute again as it is: in kernels of their own, one value
 * at a time. Those of equal layers take the same. */
static void add_again(list *l)
{
    int *tensor = fsim_new(l->a, int, l->count + 1), *of = fsim_new(l->a, int, l->count + 1), count = 0;
    const int most = MOST_AGAIN / (l->plan->kernels + 1);
    for (int i = 0; i < l->count; i++) {
        const fsim_saved_value *v = &l->at[i];
        of[i] = -1;
        if (has_way(v, FSIM_RECOMPUTE) || has_way(v, FSIM_FROM_RESULT) || has_way(v, FSIM_FROM_BITS) ||
            v->now.bytes == 0)
            continue;
        for (int k = 0; k < i && of[i] < 0; k++)
            of[i] = of[k] >= 0 && are_alike(l->p->graph, &l->at[k].now, &v->now) ? of[k] : -1;
        if (of[i] < 0 && count < most) {
            of[i] = count;
            tensor[count++] = v->now.tensor;
        }
    }
    fsim_priced_again *price = fsim_new(l->a, fsim_priced_again, count + 1);
    fsim_price_given_up(l->p, l->plan, tensor, count, price);
    for (int i = 0; i < l->count; i++)
        if (of[i] >= 0 && !isnan(price[of[i]].time_s))
            add(&l->at[i], (fsim_other_way){FSIM_RECOMPUTE, 0, price[of[i]].time_s, price[of[i]].peak_memory_bytes});
}

int fsim_saved_values(fsim_problem *p, const fsim_plan *plan, const fsim_ways *ways, fsim_arena *a,
                      fsim_saved_value **out)
{
    fsim_saved *saved;
    pricing w;
    const int count = fsim_saved_of(p->graph, plan, a, &saved);
    list l = {p, plan, ways, a, fsim_new(a, fsim_saved_value, count + p->graph->choices + 1), 0, false};
    const bool priced = ways && pricing_of(&w, p, plan, a);
    for (int i = 0; i < count; i++) {
        fsim_saved_value *v = &l.at[l.count++];
        *v = (fsim_saved_value){saved[i], fsim_new(a, fsim_other_way, FSIM_WAYS), 0};
        if (priced)
            add_priced(&w, v, saved[i].tensor, saved[i].way);
    }
    l.tried = ways && ways->count > 1 && ways->tried[ways->best].graph == p->graph;
    for (int i = 0; i < p->graph->choices; i++)
        add_forms(&l, i);
    if (priced)
        add_again(&l);
    for (int i = 0; i < l.count; i++)
        if (l.at[i].others > 1)
            qsort(l.at[i].other, (size_t)l.at[i].others, sizeof *l.at[i].other, by_time);
    *out = l.at;
    return l.count;
}
