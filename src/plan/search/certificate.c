/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.c: the pieces of a certificate, and the sum of their bounds. */
#include "plan/search/certificate.h"

#include <stdlib.h>

enum { MOST_PRIMITIVES = 4096, MOST_READERS = 64 };

static const fsim_class_row *class_of(const fsim_graph *g, int n)
{
    return &fsim_classes[fsim_ops[g->node[n].op].class];
}

bool fsim_never_in_kernel(fsim_problem *p, int x, int y, fsim_refusal *why)
{
    const fsim_graph *g = p->graph;
    const int pair[2] = {x < y ? x : y, x < y ? y : x};
    const bool boundary = class_of(g, x)->boundary || class_of(g, y)->boundary;
    if (!boundary && (class_of(g, x)->inlines || class_of(g, y)->inlines))
        return false;
    const fsim_candidate *c = fsim_candidate_of(p, pair, 2, (const bool[2]){true, true});
    *why = c->why;
    return !c->legal && c->why.final;
}

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    int *parent;
    fsim_pair_apart *separated; /* all pairs with a tensor in common that are apart */
    int pairs, room;
} splitting;

/* The primitives that access tensor t, in who, which has room. Returns their number. */
static int accessing(const fsim_graph *g, int t, int *who)
{
    int count = 0;
    if (g->tensor[t].producer >= 0)
        who[count++] = g->tensor[t].producer;
    for (int r = 0; r < g->tensor[t].readers; r++)
        who[count++] = g->tensor[t].reader[r];
    return count;
}

static void connect(splitting *s, int x, int y, bool compare)
{
    fsim_refusal why;
    if (compare && fsim_never_in_kernel(s->p, x, y, &why))
        *FSIM_PUSH(s->a, s->separated, s->pairs, s->room) = (fsim_pair_apart){x < y ? x : y, x < y ? y : x, why};
    else
        s->parent[root_of(s->parent, x)] = root_of(s->parent, y);
}

static int by_primitives(const void *x, const void *y)
{
    const fsim_pair_apart *a = x, *b = y;
    return a->a != b->a ? (a->a < b->a ? -1 : 1) : (a->b > b->b) - (a->b < b->b);
}

/* Finds the piece of each primitive, by its lowest member, and the pairs that lie in two of them, each once. */
static void split(splitting *s)
{
    const fsim_graph *g = s->p->graph;
    int *who = fsim_new(s->a, int, g->nodes + 1), kept = 0;
    s->parent = fsim_new(s->a, int, g->nodes + 1);
    for (int n = 0; n < g->nodes; n++)
        s->parent[n] = n;
    for (int t = 0; t < g->tensors; t++) {
        const int count = accessing(g, t, who);
        for (int i = 1; i < count; i++)
            for (int k = i < MOST_READERS ? 0 : i - 1; k < i; k++)
                if (who[i] != who[k])
                    connect(s, who[i], who[k], i < MOST_READERS);
    }
    if (s->pairs > 0)
        qsort(s->separated, (size_t)s->pairs, sizeof *s->separated, by_primitives);
    for (int i = 0; i < s->pairs; i++) {
        const fsim_pair_apart *x = &s->separated[i];
        const bool seen = kept > 0 && by_primitives(x, &s->separated[kept - 1]) == 0;
        if (!seen && root_of(s->parent, x->a) != root_of(s->parent, x->b))
            s->separated[kept++] = *x;
    }
    s->pairs = kept;
}

/* Adds up what the plan's kernels cost in each piece. */
static void find_costs(splitting *s, const fsim_plan *plan, const int *number, fsim_certificate *c)
{
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        c->piece[number[root_of(s->parent, part->node[0])]].cost += fsim_objective_of(s->p, &plan->kernel[k]);
    }
}

/* Sets the bound of a piece that has no potentials. Returns that of any. */
static fsim_sum bound_of(const fsim_problem *p, fsim_certified_piece *x, fsim_arena *a)
{
    if (x->count > FSIM_SPACE_NODES)
        x->without = "it has more than 64 primitives";
    if (x->without) {
        const fsim_certified_floor f = fsim_certified_floor_of(p, x->node, x->count, a);
        double written = 0, products = 0;
        for (int i = 0; i < x->count; i++) {
            written += f.written[i];
            products += f.product[i];
        }
        x->bound = fsim_certified_least(&f, written, products);
    }
    return x->bound;
}

fsim_certificate fsim_certify(fsim_problem *p, const fsim_plan *plan, fsim_arena *a)
{
    const fsim_graph *g = p->graph;
    splitting s = {.p = p, .a = a};
    fsim_certificate out = {0};
    if (g->nodes > MOST_PRIMITIVES) {
        out.without = "the workload has more than 4096 primitives";
        return out;
    }
    split(&s);
    int *size = fsim_new(a, int, g->nodes + 1), *number = fsim_new(a, int, g->nodes + 1);
    for (int n = 0; n < g->nodes; n++)
        if (size[root_of(s.parent, n)]++ == 0)
            number[root_of(s.parent, n)] = out.pieces++;
    out.piece = fsim_new(a, fsim_certified_piece, out.pieces + 1);
    for (int n = 0; n < g->nodes; n++) {
        fsim_certified_piece *piece = &out.piece[number[root_of(s.parent, n)]];
        if (!piece->node)
            piece->node = fsim_new(a, int, size[root_of(s.parent, n)]);
        piece->node[piece->count++] = n;
    }
    find_costs(&s, plan, number, &out);
    int64_t steps = FSIM_CERTIFIED_STEPS;
    for (int count = 1; count <= FSIM_SPACE_NODES; count++) /* small pieces first: they are surely certified */
        for (int i = 0; i < out.pieces; i++)
            if (out.piece[i].count == count)
                fsim_certify_piece(p, &steps, a, &out.piece[i]);
    for (int i = 0; i < out.pieces; i++)
        out.pieces_bound += bound_of(p, &out.piece[i], a);
    out.bound = out.pieces_bound;
    fsim_certify_l2(p, plan->objective, a, &out);
    out.separated = s.separated;
    out.pairs = s.pairs;
    return out;
}
