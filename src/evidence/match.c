/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/match.h"

#include "evidence/kernel_name.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scores: of a launch whose operator is in the kernel; for each share of a list of fused operators that agrees; for
 * shapes that agree; for the kind alone; for another launch of the same call. Only their order matters: a name
 * counts more than a shape, and both count more than a kind. */
static const double named_score = 3, fused_score = 3, shape_score = 2, kind_score = 1, again_score = 0.5;
static const double no_match = -1;

/* A kernel of the plan, described by what its launches may show. */
typedef struct {
    unsigned kinds;
    fsim_op_set ops;          /* the operators of its primitives, and those that they were expanded from */
    int sources;              /* operators of the workload that it contains, whole or in part */
    const fsim_node *product; /* its first contraction; NULL */
    int64_t points;           /* points of its largest result */
} wanted;

typedef struct {
    const fsim_profiled_launch *launch;
    fsim_says says;
    const fsim_call_seen *call; /* NULL: unknown */
} shown;

static unsigned kinds_of_node(const fsim_node *n)
{
    static const struct {
        fsim_class class;
        unsigned kinds;
    } rows[] = {{FSIM_REDUCE, FSIM_DOES_REDUCTION}, {FSIM_WINDOW, FSIM_DOES_POOLING},
                {FSIM_SCAN, FSIM_DOES_SCAN},        {FSIM_GATHER, FSIM_DOES_GATHER},
                {FSIM_SCATTER, FSIM_DOES_SCATTER},  {FSIM_COMMUNICATION, FSIM_DOES_COMMUNICATION},
                {FSIM_OPAQUE, FSIM_DOES_SORT}};
    if (n->gemm.k > 0)
        return n->gemm.convolution ? FSIM_DOES_CONVOLUTION : FSIM_DOES_GEMM;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].class == fsim_ops[n->op].class)
            return rows[i].kinds;
    return FSIM_DOES_POINTWISE;
}

static wanted describe(const fsim_graph *g, const fsim_part *part)
{
    wanted w = {0};
    int last = -1;
    for (int i = 0; i < part->count; i++) {
        const fsim_node *n = &g->node[part->node[i]];
        w.kinds |= kinds_of_node(n);
        fsim_op_add(&w.ops, n->op);
        fsim_op_add(&w.ops, g->source[n->source].op);
        w.sources += n->source != last;
        last = n->source;
        if (g->source[n->source].op == FSIM_OP_ATTENTION && part->count > 1)
            w.kinds |= FSIM_DOES_ATTENTION;
        if (n->gemm.k > 0 && !w.product)
            w.product = n;
        for (int r = 0; r < n->results; r++)
            w.points = g->tensor[n->result[r]].elems > w.points ? g->tensor[n->result[r]].elems : w.points;
    }
    if (w.kinds & ~(unsigned)FSIM_DOES_POINTWISE) /* pointwise work does not show beside other kinds */
        w.kinds &= ~(unsigned)FSIM_DOES_POINTWISE;
    if (w.kinds & (FSIM_DOES_GEMM | FSIM_DOES_CONVOLUTION))
        w.kinds &= ~(unsigned)FSIM_DOES_REDUCTION;
    return w;
}

/* Can a launch of these kinds belong to a kernel of those? */
static bool kinds_agree(const shown *l, const wanted *k)
{
    unsigned may = l->says.kinds;
    if (l->says.fused > 0) {
        if (may & FSIM_DOES_POINTWISE) /* small reductions and windows are unrolled; gathers are loads */
            may |= FSIM_DOES_REDUCTION | FSIM_DOES_POOLING | FSIM_DOES_GATHER | FSIM_DOES_SCATTER;
        if (may & FSIM_DOES_REDUCTION)
            may |= FSIM_DOES_GATHER | FSIM_DOES_POINTWISE | FSIM_DOES_POOLING;
    } else if (may & FSIM_DOES_GEMM) {
        may |= FSIM_DOES_CONVOLUTION; /* 1 x 1, or implicit */
    } else if (may & FSIM_DOES_REDUCTION) {
        may |= FSIM_DOES_POOLING; /* global average pooling is a mean */
    } else if (may & FSIM_DOES_POOLING) {
        may |= FSIM_DOES_REDUCTION;
    }
    return may == 0 || k->kinds == 0 || (may & k->kinds) != 0;
}

static int64_t elems_of(const fsim_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= s->dim[i];
    return s->rank ? n : 0;
}

/* Compares a product's operands with the sizes of the call's tensors: two of these must be its operands. 0: the
 * trace has no sizes. */
static double product_score(const fsim_graph *g, const fsim_node *n, const fsim_call_seen *c)
{
    int matrices = 0;
    const fsim_gemm *m = &n->gemm;
    const int64_t first = m->convolution ? g->tensor[n->arg[0].tensor].elems : m->batch * m->m * m->k;
    const int64_t second = m->convolution ? g->tensor[n->arg[1].tensor].elems : m->batch * m->n * m->k;
    for (int i = 0; i < c->tensors; i++)
        for (int k = 0; k < c->tensors; k++) {
            const int64_t x = elems_of(&c->tensor[i]), y = elems_of(&c->tensor[k]);
            const bool operands = (x == first || x * m->batch == first) && (y == second || y * m->batch == second);
            if (i != k && c->tensor[i].rank > 1 && c->tensor[k].rank > 1) {
                matrices++;
                if (operands)
                    return shape_score;
            }
        }
    return matrices ? no_match : 0;
}

/* For other kernels: some argument must have as many elements as something that the kernel reads or writes;
 * otherwise the shapes differ. */
static double size_score(const fsim_graph *g, const fsim_part *part, const fsim_call_seen *c)
{
    bool known = false;
    for (int i = 0; i < c->tensors; i++) {
        const int64_t x = elems_of(&c->tensor[i]);
        known = known || x > 1;
        for (int k = 0; k < part->count && x > 1; k++) {
            const fsim_node *n = &g->node[part->node[k]];
            for (int j = 0; j < n->args; j++)
                if (g->tensor[n->arg[j].tensor].elems == x || n->arg[j].distinct == x)
                    return shape_score;
            for (int j = 0; j < n->results; j++)
                if (g->tensor[n->result[j]].elems == x)
                    return shape_score;
        }
    }
    return known ? no_match : 0;
}

/* Without shapes: how many points the threads of a pointwise kernel can compute. Threads of ATen's compute 1, 2, 4,
 * 8 or 16 points, in as many blocks as needed; those of generated kernels up to 32. */
static double grid_score(const shown *l, const wanted *k)
{
    const int64_t *grid = l->launch->grid, *block = l->launch->block;
    const double blocks = (double)grid[0] * (double)grid[1] * (double)grid[2],
                 threads = blocks * (double)block[0] * (double)block[1] * (double)block[2];
    const double each = (double)k->points / threads;
    if (!(threads > 0) || k->kinds != FSIM_DOES_POINTWISE)
        return 0;
    if (l->says.fused > 0 || l->says.kinds != FSIM_DOES_POINTWISE)
        return each > 32.5 || each < 0.004 ? -again_score : again_score;
    for (int points = 1; points <= 16; points *= 2)
        if (ceil((double)k->points * blocks / threads / points) == blocks)
            return again_score;
    return each > 16 || each < 1 ? no_match : 0;
}

/* Above 0: sizes in the profile are those of the kernel. 0: it has no sizes. */
static double sizes_score(const fsim_graph *g, const fsim_part *part, const wanted *k, const shown *l)
{
    double shapes = 0;
    if (l->call && l->says.fused == 0)
        shapes = k->product ? product_score(g, k->product, l->call) : size_score(g, part, l->call);
    return shapes != 0 ? shapes : grid_score(l, k);
}

static double score(const fsim_graph *g, const fsim_part *part, const wanted *k, const shown *l)
{
    double s = 0;
    if (l->launch->ran != FSIM_RAN_KERNEL || l->says.helps || !kinds_agree(l, k))
        return no_match;
    if (!fsim_op_none(&l->says.ops)) {
        const int common = fsim_op_common(&l->says.ops, &k->ops);
        if (common == 0)
            return no_match;
        s = named_score;
        if (l->says.fused > 0) /* the name lists all operators: which share of each list is in the other */
            s += fused_score * fmin(1, (double)common / fmax(l->says.fused, k->sources)) -
                 (k->product && !(l->says.kinds & FSIM_DOES_GEMM) ? 2 * named_score : 0);
        if (s <= 0)
            return no_match;
    } else if (l->says.kinds & k->kinds) {
        s = kind_score;
    } else {
        return no_match;
    }
    const double shapes = sizes_score(g, part, k, l);
    return shapes == no_match ? no_match : s + shapes > 0 ? s + shapes : no_match;
}

typedef struct {
    const fsim_graph *g;
    const fsim_plan *plan;
    const wanted *want;
    const shown *show;
    int launches;
    fsim_arena *a;
    fsim_matching out;
} matcher;

/* The score of another launch of the kernel that the last launch belongs to: by the same call, or by a name of a
 * kind that takes several launches. */
static double again(const matcher *m, int i, int k)
{
    const fsim_profiled_launch *l = m->show[i].launch, *before = i > 0 ? m->show[i - 1].launch : NULL;
    if (!before || m->show[i].says.helps || l->ran != FSIM_RAN_KERNEL || m->show[i].says.fused > 0)
        return no_match;
    if (m->show[i].call) /* the call of a compiled region launches all of its kernels */
        return l->call == before->call && strncmp(m->show[i].call->name, "aten::", 6) == 0 ? again_score : no_match;
    const unsigned kinds =
        m->show[i].says.kinds & m->show[i - 1].says.kinds & (FSIM_DOES_REDUCTION | FSIM_DOES_SCAN | FSIM_DOES_SORT);
    return kinds && score(m->g, &m->plan->partition.part[k], &m->want[k], &m->show[i]) > 0 ? again_score : no_match;
}

enum { SKIPPED = -1, AGAIN = -2 };

/* Aligns launches with kernels by dynamic programming. best[s]: the highest score so far where s - 1 is the last
 * kernel that has a launch (0: none). from[i][s]: what launch i did to reach s: nothing, one more launch of that
 * kernel, or the first launch of it, after state `from`. */
static void align(matcher *m)
{
    const int states = m->plan->kernels + 1;
    double *best = fsim_new(m->a, double, states), *next = fsim_new(m->a, double, states);
    int *from = fsim_new(m->a, int, (size_t)m->launches *(size_t)states);
    for (int s = 1; s < states; s++)
        best[s] = -INFINITY;
    for (int i = 0; i < m->launches; i++) {
        int *back = &from[(size_t)i * (size_t)states], top = 0;
        next[0] = best[0];
        back[0] = SKIPPED;
        for (int s = 1; s < states; s++) {
            const double open = score(m->g, &m->plan->partition.part[s - 1], &m->want[s - 1], &m->show[i]),
                         more = again(m, i, s - 1);
            next[s] = best[s];
            back[s] = SKIPPED;
            if (more > 0 && best[s] + more > next[s]) {
                next[s] = best[s] + more;
                back[s] = AGAIN;
            }
            if (open > 0 && best[top] + open > next[s]) {
                next[s] = best[top] + open;
                back[s] = top;
            }
            if (best[s] > best[top])
                top = s;
        }
        memcpy(best, next, (size_t)states * sizeof *best);
    }
    int s = 0;
    for (int k = 1; k < states; k++)
        if (best[k] > best[s])
            s = k;
    for (int i = m->launches; i-- > 0;) {
        const int how = from[(size_t)i * (size_t)states + (size_t)s];
        if (how == SKIPPED)
            continue;
        m->out.kernel[i] = s - 1;
        s = how == AGAIN ? s : how;
    }
}

/* Pairs that the order did not allow: the best pairs of named launches and kernels that are both unmatched. */
static void match_out_of_order(matcher *m)
{
    bool *taken = fsim_new(m->a, bool, m->plan->kernels + 1);
    for (int i = 0; i < m->launches; i++)
        if (m->out.kernel[i] >= 0)
            taken[m->out.kernel[i]] = true;
    for (int i = 0; i < m->launches; i++) {
        int best = -1;
        double most = named_score - 1e-9;
        for (int k = 0; k < m->plan->kernels && m->out.kernel[i] < 0; k++) {
            const double s = taken[k] ? no_match : score(m->g, &m->plan->partition.part[k], &m->want[k], &m->show[i]);
            if (s > most) {
                most = s;
                best = k;
            }
        }
        if (best >= 0) {
            m->out.kernel[i] = best;
            taken[best] = true;
        }
    }
}

/* Layout changes, sums of split-K and fills belong to the contraction beside them; only other such launches may be
 * between. */
static void place_helpers(matcher *m)
{
    for (int i = 0; i < m->launches; i++) {
        const fsim_helps helps = m->show[i].says.helps;
        if (m->out.kernel[i] >= 0 || !helps)
            continue;
        const int step = helps == FSIM_HELPS_NEXT ? 1 : -1;
        int at = i + step;
        while (at >= 0 && at < m->launches && m->show[at].says.helps)
            at += step;
        const int k = at >= 0 && at < m->launches ? m->out.kernel[at] : -1;
        if (k >= 0 && m->want[k].product)
            m->out.kernel[i] = k;
    }
}

static const char *reason(const matcher *m, int i)
{
    const shown *l = &m->show[i];
    bool kind = false, op = false;
    for (int k = 0; k < m->plan->kernels; k++) {
        kind = kind || (l->says.kinds & m->want[k].kinds);
        op = op || (fsim_op_common(&l->says.ops, &m->want[k].ops) > 0 && kinds_agree(l, &m->want[k]));
    }
    if (l->says.helps)
        return "not next to a matched contraction";
    if (l->says.kinds == 0 && fsim_op_none(&l->says.ops))
        return "its name is of no known operator";
    if (!fsim_op_none(&l->says.ops))
        return op ? "the plan's kernels of this operator are matched, or of other shapes"
                  : "no kernel of the plan does this";
    return kind ? "the plan's kernels of this kind are matched" : "no kernel of the plan is of this kind";
}

int fsim_counted_launches(const fsim_graph *g, const fsim_plan *plan, const fsim_profile *p, fsim_arena *a,
                          const bool **counted)
{
    const unsigned product = FSIM_DOES_GEMM | FSIM_DOES_CONVOLUTION | FSIM_DOES_ATTENTION;
    bool *flag = fsim_new(a, bool, p->names + 1);
    int products = 0;
    for (int k = 0; k < plan->kernels; k++)
        products += describe(g, &plan->partition.part[k]).product != NULL;
    for (int i = 0; i < p->names; i++) {
        const fsim_says says = fsim_kernel_says(p->name[i], NULL);
        flag[i] = products == 0 || (!says.helps && (says.kinds & product));
    }
    *counted = flag;
    return products ? products : plan->kernels;
}

fsim_matching fsim_match(const fsim_graph *g, const fsim_plan *plan, const fsim_profile *p, const fsim_steps *s,
                         fsim_arena *a)
{
    enum { MOST_CELLS = 1 << 26 };
    wanted *want = fsim_new(a, wanted, plan->kernels + 1);
    shown *show = fsim_new(a, shown, s->launches + 1);
    matcher m = {g,
                 plan,
                 want,
                 show,
                 s->launches,
                 fsim_arena_new(),
                 {fsim_new(a, int, s->launches + 1), fsim_new(a, const char *, s->launches + 1),
                  fsim_new(a, bool, s->launches + 1)}};
    const bool too_many = (int64_t)s->launches * (plan->kernels + 1) > MOST_CELLS;
    for (int k = 0; k < plan->kernels; k++)
        want[k] = describe(g, &plan->partition.part[k]);
    for (int i = 0; i < s->launches; i++) {
        const fsim_profiled_launch *l = &p->launch[s->order[s->first + i]];
        const fsim_call_seen *call = l->call >= 0 ? &p->call[l->call] : NULL;
        show[i] = (shown){l, fsim_kernel_says(p->name[l->name], call ? call->name : NULL), call};
        m.out.kernel[i] = -1;
    }
    if (!too_many) {
        align(&m);
        match_out_of_order(&m);
        place_helpers(&m);
    }
    for (int i = 0; i < s->launches; i++)
        if (m.out.kernel[i] >= 0)
            m.out.sized[i] =
                sizes_score(g, &plan->partition.part[m.out.kernel[i]], &want[m.out.kernel[i]], &show[i]) > 0;
        else
            m.out.why[i] = too_many ? "the step and the plan are too long to be matched" : reason(&m, i);
    fsim_arena_free(m.a);
    return m.out;
}
