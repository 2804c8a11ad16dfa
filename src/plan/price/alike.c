/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/alike.h"

#include "fusion/fold.h"
#include "fusion/online.h"
#include "fusion/sets.h"
#include "graph/attribute.h"
#include "vendor/triton.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGNED = 256 }; /* elements: more than any access of one thread, and any line, has */

/* Classes. */

static uint64_t mixed_real(uint64_t h, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return fsim_mix(h, bits);
}

static uint64_t mixed_shape(uint64_t h, const fsim_shape *s)
{
    h = fsim_mix(h, (uint64_t)s->rank);
    for (int d = 0; d < s->rank; d++)
        h = fsim_mix(h, (uint64_t)s->dim[d]);
    return h;
}

static uint64_t class_of_access(const fsim_graph *g, const fsim_access *x, int64_t offset, uint64_t h)
{
    const fsim_tensor *t = &g->tensor[x->tensor];
    h = fsim_mix(h, (uint64_t)x->how << 8 | (uint64_t)t->dtype << 4 | (uint64_t)t->role);
    h = fsim_mix(h, (uint64_t)t->elems << 2 | (uint64_t)t->output << 1 | (uint64_t)t->materialize);
    h = t->known ? fsim_mix(h, 1) : h;
    h = fsim_mix(mixed_shape(h, &t->shape), t->producer >= 0);
    h = fsim_mix(h, (uint64_t)x->map.modes << 32 | (uint64_t)x->map.split << 16);
    h = fsim_mix(h, (uint64_t)offset);
    for (int i = 0; i < x->map.modes && i < FSIM_MAX_MODES; i++)
        h = fsim_mix(fsim_mix(h, (uint64_t)x->map.mode[i].extent), (uint64_t)x->map.mode[i].stride);
    h = fsim_mix(h, (uint64_t)x->axes);
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *s = &x->axis[i];
        h = fsim_mix(fsim_mix(fsim_mix(h, (uint64_t)s->extent), (uint64_t)s->out), (uint64_t)s->taps);
        h = fsim_mix(fsim_mix(fsim_mix(h, (uint64_t)s->stride), (uint64_t)s->dilation), (uint64_t)s->pad);
    }
    h = fsim_mix(h, (uint64_t)x->cuts);
    for (int i = 0; i < x->cuts; i++) {
        const fsim_cut *c = &x->cut[i];
        h = fsim_mix(fsim_mix(fsim_mix(h, (uint64_t)c->inner), (uint64_t)c->extent), (uint64_t)c->from);
        h = fsim_mix(fsim_mix(fsim_mix(h, (uint64_t)c->size), (uint64_t)c->source_extent), (uint64_t)c->source_from);
    }
    h = fsim_mix(fsim_mix(h, (uint64_t)x->any.extent), (uint64_t)x->any.stride);
    return fsim_mix(fsim_mix(fsim_mix(fsim_mix(h, (uint64_t)x->planes), (uint64_t)x->rows), (uint64_t)x->run),
                    (uint64_t)x->distinct);
}

/* An offset as legality sees one: zero, below it, or how it is aligned. */
static int64_t alignment(int64_t offset) { return offset <= 0 ? offset : ALIGNED + offset % ALIGNED; }

static uint64_t class_of_primitive(const fsim_graph *g, int node, bool anywhere)
{
    const fsim_node *n = &g->node[node];
    uint64_t h =
        fsim_mix(17, (uint64_t)n->op << 32 | (uint64_t)n->args << 16 | (uint64_t)n->results << 8 | (uint64_t)n->dtype);
    h = fsim_mix(fsim_mix(h, (uint64_t)n->points), (uint64_t)n->reduced);
    h = fsim_mix(fsim_mix(fsim_mix(fsim_mix(h, (uint64_t)n->gemm.batch), (uint64_t)n->gemm.m), (uint64_t)n->gemm.n),
                 (uint64_t)n->gemm.k);
    h = fsim_mix(h, (uint64_t)n->gemm.arithmetic << 8 | (uint64_t)n->gemm.convolution << 1 |
                        (uint64_t)n->gemm.transposed_b);
    h = mixed_real(mixed_real(mixed_real(h, n->flops), n->instructions), n->specials);
    for (int f = 0; f < FSIM_FIELD_COUNT; f++)
        h = mixed_real(h, fsim_attr_value(&n->attrs, f));
    h = fsim_mix(h, n->effect);
    for (int k = 0; k < n->args; k++)
        h = class_of_access(g, &n->arg[k], anywhere ? alignment(n->arg[k].map.offset) : n->arg[k].map.offset, h);
    for (int r = 0; r < n->results; r++) {
        const fsim_tensor *t = &g->tensor[n->result[r]];
        h = fsim_mix(h, (uint64_t)t->elems << 8 | (uint64_t)t->dtype << 3 | (uint64_t)t->output << 2 |
                            (uint64_t)t->materialize << 1 | (t->readers > 0));
        h = mixed_shape(h, &t->shape);
    }
    return h;
}

uint64_t fsim_primitive_class(const fsim_graph *g, int node) { return class_of_primitive(g, node, false); }
uint64_t fsim_primitive_class_anywhere(const fsim_graph *g, int node) { return class_of_primitive(g, node, true); }

/* Per tensor: is it known before the run, as folding into weights sees it (fusion/fold.h)? */
static bool *constants(const fsim_graph *g, fsim_arena *a)
{
    int *height = fsim_new(a, int, g->tensors + 1); /* primitives between it and the weights; too many: never */
    bool *constant = fsim_new(a, bool, g->tensors + 1);
    const int never = FSIM_FOLD_DEPTH + 1;
    for (int t = 0; t < g->tensors; t++)
        height[t] = g->tensor[t].producer < 0 && g->tensor[t].role == FSIM_WEIGHT ? 0 : never;
    for (int i = 0; i < g->nodes; i++) {
        const fsim_node *n = &g->node[i];
        int most = fsim_folds(n) ? 0 : never;
        for (int k = 0; k < n->args; k++)
            most = height[n->arg[k].tensor] > most ? height[n->arg[k].tensor] : most;
        for (int r = 0; r < n->results; r++)
            height[n->result[r]] = most < never ? most + 1 : never;
    }
    for (int t = 0; t < g->tensors; t++)
        constant[t] = height[t] < never;
    return constant;
}

enum { CONTRACTS = 1, REDUCES = 2, NEVER = 4 };

static unsigned char marks_of(const fsim_graph *g, const fsim_node *n)
{
    const fsim_class class = fsim_ops[n->op].class;
    int marks = (class == FSIM_CONTRACTION ? CONTRACTS : 0) | (class == FSIM_REDUCE ? REDUCES : 0);
    for (int k = 0; k < n->args; k++)
        marks |= g->tensor[n->arg[k].tensor].overwritten || g->tensor[n->arg[k].tensor].over >= 0 ? NEVER : 0;
    for (int r = 0; r < n->results; r++)
        marks |= g->tensor[n->result[r]].overwritten || g->tensor[n->result[r]].over >= 0 ? NEVER : 0;
    return (unsigned char)marks;
}

/* The class of primitive i in a set: with the operator of the workload that it is a part of, which of its tensors are
 * constant, how many primitives read its results, and whether its neighbours are pooling that Triton does not have. */
static uint64_t class_in_set(const fsim_graph *g, int i, const bool *constant)
{
    const fsim_node *n = &g->node[i];
    const fsim_source *s = &g->source[n->source];
    uint64_t h = fsim_primitive_class(g, i);
    h = fsim_mix(fsim_mix(fsim_mix(h, s->op), (uint64_t)s->nodes), (uint64_t)(i - s->first));
    for (int k = 0; k < n->args; k++) {
        const int from = g->tensor[n->arg[k].tensor].producer;
        h = fsim_mix(h, constant[n->arg[k].tensor] | (uint64_t)(from >= 0 && fsim_falls_back(&g->node[from])) << 1);
    }
    for (int r = 0; r < n->results; r++) {
        const fsim_tensor *t = &g->tensor[n->result[r]];
        h = fsim_mix(h, (uint64_t)t->readers << 1 | constant[n->result[r]]);
        h = fsim_mix(h, t->readers > 0 && fsim_falls_back(&g->node[t->reader[0]]));
    }
    return h;
}

static void list_arguments(fsim_likeness *l, fsim_arena *a)
{
    const fsim_graph *g = l->g;
    int count = 0;
    l->first = fsim_new(a, int, g->nodes + 1);
    for (int i = 0; i < g->nodes; i++) {
        l->first[i] = count;
        count += g->node[i].args;
    }
    l->first[g->nodes] = count;
    l->argument = fsim_new(a, struct fsim_link, count + 1);
    for (int i = 0; i < g->nodes; i++)
        for (int k = 0; k < g->node[i].args; k++) {
            const int t = g->node[i].arg[k].tensor;
            l->argument[l->first[i] + k] = (struct fsim_link){t, g->tensor[t].producer};
        }
}

fsim_likeness *fsim_likeness_of(const fsim_graph *g, fsim_arena *a)
{
    fsim_likeness *l = fsim_new(a, fsim_likeness, 1);
    const bool *constant = constants(g, a);
    *l = (fsim_likeness){.g = g,
                         .class = fsim_new(a, uint64_t, g->nodes + 1),
                         .source = fsim_new(a, int, g->nodes + 1),
                         .with = fsim_new(a, int, g->nodes + 1),
                         .marks = fsim_new(a, unsigned char, g->nodes + 1)};
    list_arguments(l, a);
    for (int i = 0; i < g->nodes; i++) {
        l->class[i] = class_in_set(g, i, constant);
        l->source[i] = g->node[i].source;
        l->with[i] = fsim_online_with(g, i);
        l->marks[i] = marks_of(g, &g->node[i]);
    }
    return l;
}

/* Comparisons. */

bool fsim_has_likes(const fsim_likeness *l, const fsim_selection *set)
{
    int contractions = 0, any = 0;
    for (int i = 0; i < set->count; i++) {
        contractions += l->marks[set->node[i]] & CONTRACTS;
        any |= l->marks[set->node[i]];
    }
    return !(any & NEVER) && contractions <= 1 && !(contractions && (any & REDUCES));
}

/* The member that makes the argument, or -1. */
static int maker_in(const fsim_selection *set, const struct fsim_link *x)
{
    return x->from < 0 ? -1 : fsim_position(set->node, set->count, x->from);
}

/* The member that member i runs along with, or -1. */
static int with_in(const fsim_likeness *l, const fsim_selection *set, int i)
{
    const int n = l->with[set->node[i]];
    return n < 0 ? -1 : fsim_position(set->node, set->count, n);
}

/* Are member i and the one before it parts of one operator of the workload? */
static bool continues(const fsim_likeness *l, const fsim_selection *set, int i)
{
    return i > 0 && l->source[set->node[i]] == l->source[set->node[i - 1]];
}

uint64_t fsim_likeness_hash(const fsim_likeness *l, const fsim_selection *set)
{
    uint64_t h = (uint64_t)set->count;
    for (int i = 0; i < set->count; i++) {
        const int n = set->node[i];
        h = fsim_mix(h, l->class[n] + set->stored[i] + 2 * (uint64_t)continues(l, set, i));
        for (int k = l->first[n]; k < l->first[n + 1]; k++)
            h = h * 31 + (uint64_t)(i - maker_in(set, &l->argument[k]));
    }
    return h ^ h >> 29;
}

static int result_index(const fsim_graph *g, int tensor)
{
    return g->node[g->tensor[tensor].producer].result[0] == tensor ? 0 : 1;
}

typedef struct {
    int x, y;
} pair;

static int by_first(const void *a, const void *b)
{
    const pair *p = a, *q = b;
    return p->x != q->x ? (p->x < q->x ? -1 : 1) : (p->y > q->y) - (p->y < q->y);
}

/* Do the tensors that enter the one set correspond to those of the other, in the same order? */
static bool same_order(pair *at, int count)
{
    bool ascending = true;
    for (int i = 1; i < count && ascending; i++)
        ascending = by_first(&at[i - 1], &at[i]) <= 0;
    if (!ascending)
        qsort(at, (size_t)count, sizeof *at, by_first);
    for (int i = 1; i < count; i++)
        if (at[i].x == at[i - 1].x ? at[i].y != at[i - 1].y : at[i].y <= at[i - 1].y)
            return false;
    return true;
}

static bool same_members(const fsim_likeness *l, const fsim_selection *x, const fsim_selection *y)
{
    for (int i = 0; i < x->count; i++)
        if (l->class[x->node[i]] != l->class[y->node[i]] || x->stored[i] != y->stored[i] ||
            continues(l, x, i) != continues(l, y, i) || with_in(l, x, i) != with_in(l, y, i))
            return false;
    return true;
}

bool fsim_are_alike(const fsim_likeness *l, const fsim_selection *x, const fsim_selection *y, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    pair *entering = NULL;
    int count = 0, room = 0;
    bool alike = x->count == y->count && same_members(l, x, y);
    for (int i = 0; i < x->count && alike; i++) {
        const int n = x->node[i], by = l->first[y->node[i]] - l->first[n];
        for (int k = l->first[n]; k < l->first[n + 1] && alike; k++) {
            const struct fsim_link *mine = &l->argument[k], *other = &l->argument[k + by];
            const int from = maker_in(x, mine);
            alike = from == maker_in(y, other) &&
                    (from < 0 || result_index(l->g, mine->tensor) == result_index(l->g, other->tensor));
            if (from < 0)
                *FSIM_PUSH(a, entering, count, room) = (pair){mine->tensor, other->tensor};
        }
    }
    alike = alike && same_order(entering, count);
    fsim_rewind(a, mark);
    return alike;
}

/* Moving a group. */

/* A place among the arguments of a group's members. */
typedef struct {
    int member, arg;
} origin;

/* The argument that x is; member -1 where it is none. */
static origin origin_of(const fsim_graph *g, const fsim_group *o, const fsim_access *x)
{
    for (int i = 0; x && i < o->members; i++) {
        const fsim_node *n = &g->node[o->member[i].node];
        for (int k = 0; k < n->args; k++)
            if (&n->arg[k] == x)
                return (origin){i, k};
    }
    return (origin){-1, -1};
}

bool fsim_group_may_move(const fsim_graph *g, const fsim_group *o)
{
    bool all = !o->joint && o->first < 0;
    for (int i = 0; i < o->reads && all; i++) {
        const fsim_read *r = &o->read[i];
        all = !r->derived && origin_of(g, o, r->access).member >= 0 &&
              (!r->window || origin_of(g, o, r->window).member >= 0);
    }
    return all;
}

static const fsim_access *argument_of(const fsim_graph *g, const fsim_group *o, const fsim_selection *y,
                                      const fsim_access *x)
{
    const origin at = origin_of(g, o, x);
    return at.member < 0 ? NULL : &g->node[y->node[at.member]].arg[at.arg];
}

/* The tensor of set y in the place of o's tensor, which a member makes. */
static int moved_result(const fsim_graph *g, const fsim_group *o, const fsim_selection *y, int tensor)
{
    return g->node[y->node[fsim_member_that_makes(g, o, tensor)]].result[result_index(g, tensor)];
}

fsim_group fsim_group_moved(const fsim_graph *g, const fsim_group *o, const fsim_selection *y, fsim_arena *a)
{
    fsim_group out = *o;
    out.member = fsim_new(a, fsim_member, o->members + 1);
    out.read = fsim_new(a, fsim_read, o->reads + 1);
    out.write = fsim_new(a, fsim_write, o->writes + 1);
    for (int i = 0; i < o->members; i++) {
        out.member[i] = o->member[i];
        out.member[i].node = y->node[i];
    }
    for (int i = 0; i < o->reads; i++) {
        out.read[i] = o->read[i];
        out.read[i].access = argument_of(g, o, y, o->read[i].access);
        out.read[i].window = argument_of(g, o, y, o->read[i].window);
        out.read[i].tensor = out.read[i].access->tensor;
    }
    for (int i = 0; i < o->writes; i++) {
        out.write[i] = o->write[i];
        out.write[i].tensor = moved_result(g, o, y, o->write[i].tensor);
    }
    out.anchor = o->anchor < 0 ? -1 : y->node[fsim_member_of(o, o->anchor)];
    return out;
}

static bool move_primitive(const fsim_selection *x, const fsim_selection *y, int *n)
{
    const int at = *n < 0 ? -1 : fsim_position(x->node, x->count, *n);
    const bool known = *n < 0 || at >= 0;
    *n = at < 0 ? *n : y->node[at];
    return known;
}

bool fsim_refusal_moved(const fsim_selection *x, const fsim_selection *y, fsim_refusal *why)
{
    return move_primitive(x, y, &why->a) && move_primitive(x, y, &why->b) && why->through < 0;
}
