/* SPDX-License-Identifier: Apache-2.0 */
/* partners.c: contractions that may be in a chain with one, told from the paths between them alone, however many
 * primitives these go through. */
#include "fusion/partners.h"

enum { NEIGHBOURHOOD = 4096 }; /* primitives that are looked at, at most: as far as what is between leads */

static fsim_class class_of(const fsim_graph *g, int n) { return fsim_ops[g->node[n].op].class; }

/* What a primitive of a neighbourhood is to the contraction there: nothing; it depends on it, or leads to it, only
 * through primitives that a kernel may hold between the two of a chain; or in another way, too. */
enum { UNRELATED, BETWEEN, BEYOND };

/* The primitives behind contraction n, or before it (up), by their distance. */
typedef struct {
    const fsim_graph *g;
    int n;
    bool up, one_side; /* one_side: only what is on n's side of the barrier matters */
    char is[NEIGHBOURHOOD];
} neighbourhood;

/* The next producer of primitive `at`, or its next reader; -1 behind the last. *k and *r begin with 0. */
static int next_link(const fsim_graph *g, int at, bool producers, int *k, int *r)
{
    const fsim_node *n = &g->node[at];
    for (; *k < (producers ? n->args : n->results); ++*k, *r = 0) {
        const fsim_tensor *t = &g->tensor[producers ? n->arg[*k].tensor : n->result[*k]];
        if (*r < (producers ? t->producer >= 0 : t->readers))
            return producers ? (++*r, t->producer) : t->reader[(*r)++];
    }
    return -1;
}

static int primitive_at(const neighbourhood *w, int by) { return w->up ? w->n - by : w->n + by; }

/* Can no kernel have n and the other at home, or does that lead to no contraction that it has? */
static bool across(const neighbourhood *w, int other)
{
    const fsim_side mine = w->g->node[w->n].side, its = w->g->node[other].side;
    return mine != its && mine != FSIM_EITHER_SIDE && (its != FSIM_EITHER_SIDE || w->one_side);
}

/* Primitives of either side lead to none before the barrier: those behind a contraction before it matter only where
 * contractions are among them. */
static bool is_one_sided(const fsim_graph *g, int n, bool up)
{
    bool one = g->node[n].side == FSIM_BEFORE_BARRIER && !up;
    for (int i = 0; i < g->nodes && one; i++)
        one = g->node[i].side != FSIM_EITHER_SIDE || class_of(g, i) != FSIM_CONTRACTION;
    return one;
}

static int relation_of(const neighbourhood *w, int by)
{
    const int at = primitive_at(w, by);
    const fsim_class class = class_of(w->g, at);
    int is = UNRELATED, k = 0, r = 0;
    for (int other; (other = next_link(w->g, at, !w->up, &k, &r)) >= 0 && is != BEYOND;) {
        const int near = w->up ? w->n - other : other - w->n;
        if (near >= 0 && near < by && w->is[near] != UNRELATED)
            is = w->is[near] == BEYOND || (near > 0 && class_of(w->g, other) == FSIM_CONTRACTION) ? BEYOND : BETWEEN;
    }
    const bool held = class == FSIM_CONTRACTION || class == FSIM_REDUCE || fsim_classes[class].inlines;
    return is == BETWEEN && (!held || across(w, at)) ? BEYOND : is;
}

/* How far from the contraction what is between leads from the primitive there: the distance of its furthest link. */
static int leads_to(const neighbourhood *w, int by)
{
    const int at = primitive_at(w, by);
    int k = 0, r = 0, furthest = 0;
    if (w->is[by] != BETWEEN || (by > 0 && class_of(w->g, at) == FSIM_CONTRACTION))
        return 0;
    for (int other; (other = next_link(w->g, at, w->up, &k, &r)) >= 0;) {
        const int far = w->up ? w->n - other : other - w->n;
        if (far > furthest && !(far >= NEIGHBOURHOOD && across(w, other)))
            furthest = far;
    }
    return furthest;
}

int fsim_chain_partners(const fsim_graph *g, int n, bool up, int *out, int room)
{
    neighbourhood w = {.g = g, .n = n, .up = up, .one_side = is_one_sided(g, n, up), .is = {BETWEEN}};
    int count = 0, furthest = leads_to(&w, 0);
    for (int by = 1; by <= furthest && furthest < NEIGHBOURHOOD; by++) {
        w.is[by] = (char)relation_of(&w, by);
        const int far = leads_to(&w, by);
        furthest = far > furthest ? far : furthest;
        if (w.is[by] != BETWEEN || class_of(g, primitive_at(&w, by)) != FSIM_CONTRACTION)
            continue;
        if (count == room)
            return -1;
        out[count++] = primitive_at(&w, by);
    }
    return furthest < NEIGHBOURHOOD ? count : -1;
}
