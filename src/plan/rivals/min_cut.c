/* SPDX-License-Identifier: Apache-2.0 */
/* min_cut.c: the partitioner of torch.compile (torch/_functorch/partitioners.py, 2.15). Vertices are tensors, twice:
 * the edge between the two is what keeping the tensor costs. The source feeds what cannot be computed again; what
 * depends on the gradient of an output pulls towards the target. */
#include "plan/rivals/min_cut.h"

#include "plan/rivals/constants.h"
#include "plan/rivals/flow.h"
#include <math.h>
#include <string.h>

/* A tensor's reader, as the partitioner sees it. */
typedef struct {
    int node;     /* -1: an operator of the backward pass that is not among our primitives */
    bool fusible; /* one loop may compute the tensor and what reads it */
    bool needed;  /* it depends on the gradient of an output */
} use;

typedef struct {
    use *use;
    int uses, room, distance; /* to the backward pass, in operators */
    bool needed, banned;      /* depends on the gradient of an output; is never computed again */
    double bytes;
} value;

/* What may be computed again: as it is faster; also what is read far apart, or in memory in the backward pass anyway;
 * everything but contractions, random numbers and results much smaller than what they are made of. */
typedef enum { FASTER, LAXER, LAXEST } laxness;

typedef struct {
    const fsim_graph *g;
    fsim_arena *a;
    laxness lax;
    const bool *freed; /* by primitive: it may be computed again whatever the rules say; NULL: none */
    value *value;      /* by tensor; behind them by operator of the workload: what only PyTorch's operator makes */
    int values;
    bool *extra; /* by operator: does it make something like that, which is read? */
} cut;

static const struct {
    signed char known, index, reads;
} special[FSIM_OP_COUNT] = {
#define FSIM_CUT(id, index, reads) [FSIM_OP_##id] = {1, index, reads},
#include "plan/rivals/min_cut.def"
#undef FSIM_CUT
};

enum { BOTH_ARGUMENTS = 4 };

/* May it be computed again? */
static bool is_recomputable(const fsim_node *n)
{
    const fsim_class class = fsim_ops[n->op].class;
    return class == FSIM_ELEMENTWISE || class == FSIM_PERMUTE || class == FSIM_REDUCE || class == FSIM_GATHER;
}

static bool is_fusible(const fsim_node *n) { return is_recomputable(n) || fsim_ops[n->op].class == FSIM_RANDOM; }

static bool may_fuse(const cut *c, int tensor, const fsim_node *reader)
{
    const int from = c->g->tensor[tensor].producer;
    return reader->op == FSIM_OP_CONCAT || (from >= 0 && is_fusible(&c->g->node[from]) && is_fusible(reader));
}

static bool is_kept_apart(const cut *c, const fsim_node *n)
{
    const int of = n->phase == FSIM_BACKWARD ? c->g->source[n->source].gradient_of : -1;
    if (of < 0 || of >= c->g->operations || c->g->source[n->source].accumulates)
        return false;
    const fsim_operation *by = &c->g->operation[of];
    return special[by->op].known &&
           (special[by->op].reads < BOTH_ARGUMENTS ||
            (by->args > 1 && c->g->tensor[by->arg[1]].traced && c->g->tensor[by->arg[0]].traced));
}

/* What depends on the gradient of an output. */
static void find_needed(cut *c)
{
    const fsim_graph *g = c->g;
    for (int t = 0; t < g->tensors; t++)
        c->value[t].needed = g->tensor[t].after_outputs;
    for (int n = 0; n < g->nodes; n++) {
        bool needed = g->node[n].phase == FSIM_OPTIMIZER;
        for (int k = 0; k < g->node[n].args; k++)
            needed = needed || c->value[g->node[n].arg[k].tensor].needed;
        for (int r = 0; r < g->node[n].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[n].result[r]];
            c->value[g->node[n].result[r]].needed =
                needed || t->adjoint || (g->node[n].phase != FSIM_FORWARD && t->output);
        }
    }
}

static void add_use(cut *c, int v, int node, bool fusible, bool needed)
{
    value *x = &c->value[v];
    *FSIM_PUSH(c->a, x->use, x->uses, x->room) = (use){node, fusible, needed};
}

static void find_uses(cut *c)
{
    const fsim_graph *g = c->g;
    for (int n = 0; n < g->nodes; n++) {
        const fsim_node *x = &g->node[n];
        const bool apart = is_kept_apart(c, x);
        for (int k = 0; k < x->args; k++) {
            const int t = x->arg[k].tensor, from = g->tensor[t].producer;
            const bool forward = from < 0 || g->node[from].phase == FSIM_FORWARD;
            bool known = c->value[t].needed || (apart && forward);
            for (int j = 0; j < k && !known; j++)
                known = x->arg[j].tensor == t;
            if (!known)
                add_use(c, t, n, may_fuse(c, t, x), c->value[x->result[0]].needed);
        }
        if (apart)
            c->extra[g->source[x->source].gradient_of] = true;
    }
    for (int i = 0; i < g->gradients; i++) { /* one that is a value of the forward pass */
        const int t = g->tensor[g->gradient[i].tensor].storage;
        if (!c->value[t].needed)
            add_use(c, t, -1, true, true);
    }
}

/* What the backward pass of an operator reads that is one for PyTorch. */
static void find_extras(cut *c)
{
    const fsim_graph *g = c->g;
    for (int i = 0; i < g->operations; i++) {
        const fsim_operation *by = &g->operation[i];
        if (!c->extra[i] || by->args == 0)
            continue;
        const int x = g->tensor[by->arg[0]].storage, y = g->tensor[by->result[0]].storage;
        for (int k = 0; k < 2 && special[by->op].reads == BOTH_ARGUMENTS; k++)
            add_use(c, g->tensor[by->arg[k]].storage, -1, true, true);
        if (special[by->op].reads & 1)
            add_use(c, x, -1, false, true);
        if (special[by->op].reads & 2)
            add_use(c, y, -1, false, true);
        const int64_t elems = g->tensor[by->op == FSIM_OP_DROPOUT ? by->arg[0] : by->result[0]].elems;
        c->value[g->tensors + i].bytes = (double)elems * special[by->op].index;
        c->value[g->tensors + i].banned = true;
        if (special[by->op].index > 0)
            add_use(c, g->tensors + i, -1, true, true);
    }
}

/* From each tensor to the nearest operator of the backward pass. */
static void find_distances(cut *c)
{
    const fsim_graph *g = c->g;
    for (int v = 0; v < c->values; v++)
        c->value[v].distance = v < g->tensors ? g->nodes + 1 : 0;
    for (int n = g->nodes - 1; n >= -1; n--) /* -1: what nobody makes */
        for (int r = 0; r < (n < 0 ? g->tensors : g->node[n].results); r++) {
            const int t = n < 0 ? r : g->node[n].result[r];
            value *x = &c->value[t];
            if (n < 0 && g->tensor[t].producer >= 0)
                continue;
            if (n >= 0 && g->node[n].phase != FSIM_FORWARD)
                x->distance = 0;
            for (int u = 0; u < x->uses && x->distance > 1; u++) {
                const use *by = &x->use[u];
                const int there = by->needed ? 0 : c->value[g->node[by->node].result[0]].distance;
                x->distance = there + 1 < x->distance ? there + 1 : x->distance;
            }
        }
}

static bool is_forward(const cut *c, const use *u) { return u->node >= 0 && c->g->node[u->node].phase == FSIM_FORWARD; }

/* Does something of the backward pass that no loop shares with it read it, perhaps under another order of dimensions?
 */
static bool is_in_memory(const cut *c, int t)
{
    const fsim_graph *g = c->g;
    const value *x = &c->value[t];
    if (fsim_ops[g->node[g->tensor[t].producer].op].class == FSIM_PERMUTE)
        return false;
    for (int u = 0; u < x->uses; u++) {
        if (!is_forward(c, &x->use[u]) && !x->use[u].fusible)
            return true;
        const int by = x->use[u].node;
        if (by < 0 || fsim_ops[g->node[by].op].class != FSIM_PERMUTE)
            continue;
        const value *shown = &c->value[g->node[by].result[0]];
        for (int k = 0; k < shown->uses; k++)
            if (!is_forward(c, &shown->use[k]) && !shown->use[k].fusible)
                return true;
    }
    return false;
}

static bool is_smaller(const cut *c, const fsim_node *n)
{
    double bytes = 0;
    for (int k = 0; k < n->args; k++)
        bytes += (double)c->g->tensor[n->arg[k].tensor].bytes;
    return (double)c->g->tensor[n->result[0]].bytes * CUT_SMALLER < bytes;
}

static void ban(cut *c, const fsim_node *n)
{
    for (int r = 0; r < n->results; r++)
        c->value[n->result[r]].banned = true;
}

/* A value that is read on both sides of something that is a kernel of its own: what reads it there is kept. */
static void ban_far_uses(cut *c, int t)
{
    const fsim_graph *g = c->g;
    const value *x = &c->value[t];
    int last = -1, first = g->nodes, apart = g->nodes;
    for (int u = 0; u < x->uses; u++)
        if (is_forward(c, &x->use[u])) {
            last = x->use[u].node > last ? x->use[u].node : last;
            first = x->use[u].node < first ? x->use[u].node : first;
        }
    if (first >= last)
        return;
    const fsim_mark mark = fsim_save(c->a);
    bool *reached = fsim_new(c->a, bool, last - first + 1);
    for (int u = 0; u < x->uses; u++)
        if (is_forward(c, &x->use[u]))
            reached[x->use[u].node - first] = true;
    for (int n = first; n <= last && apart == g->nodes; n++)
        for (int r = 0; reached[n - first] && r < g->node[n].results; r++) {
            const value *y = &c->value[g->node[n].result[r]];
            for (int u = 0; u < y->uses; u++)
                if (is_forward(c, &y->use[u]) && y->use[u].node <= last) {
                    reached[y->use[u].node - first] = true;
                    apart = !y->use[u].fusible && y->use[u].node < apart ? y->use[u].node : apart;
                }
        }
    fsim_rewind(c->a, mark);
    for (int u = 0; u < x->uses; u++)
        if (is_forward(c, &x->use[u]) && x->use[u].fusible && x->use[u].node > apart)
            ban(c, &g->node[x->use[u].node]);
}

static bool is_banned(const cut *c, const fsim_node *n)
{
    if (c->freed && c->freed[n - c->g->node])
        return false;
    if (c->lax == LAXEST)
        return fsim_ops[n->op].class == FSIM_CONTRACTION || fsim_ops[n->op].class == FSIM_RANDOM || n->results > 1 ||
               is_smaller(c, n);
    return !is_recomputable(n) || (c->lax == FASTER && is_in_memory(c, n->result[0])) || is_smaller(c, n);
}

static void find_bans(cut *c)
{
    const fsim_graph *g = c->g;
    for (int t = 0; t < g->tensors; t++)
        c->value[t].banned = g->tensor[t].producer < 0;
    for (int n = 0; n < g->nodes; n++)
        if (g->node[n].phase == FSIM_FORWARD && is_banned(c, &g->node[n]))
            ban(c, &g->node[n]);
    for (int t = 0; t < g->tensors && c->lax == FASTER; t++)
        ban_far_uses(c, t);
}

/* What keeping a tensor costs. */
static fsim_sum weight_of(const cut *c, int v)
{
    const value *x = &c->value[v];
    const int steps = x->distance < 1 ? 1 : x->distance > CUT_FARTHEST ? CUT_FARTHEST : x->distance;
    bool fusible = v >= c->g->tensors || c->g->tensor[v].producer >= 0;
    if (v < c->g->tensors && c->g->tensor[v].producer < 0 && c->g->tensor[v].role == FSIM_WEIGHT)
        return 0;
    for (int u = 0; u < x->uses; u++)
        fusible = fusible && x->use[u].fusible;
    return (fsim_sum)(x->bytes * pow(cut_nearer, steps)) * (fusible ? (int)cut_fusible : 1);
}

/* Vertices of value v: 2 v where it is made, 2 v + 1 where it is read. */
static const bool *solve(const cut *c)
{
    const fsim_graph *g = c->g;
    const int source = 2 * c->values, target = source + 1;
    fsim_flow *f = fsim_flow_new(target + 1, c->a);
    for (int v = 0; v < c->values; v++) {
        const value *x = &c->value[v];
        if (x->needed)
            continue;
        fsim_flow_edge(f, 2 * v, 2 * v + 1, weight_of(c, v));
        if (x->banned)
            fsim_flow_edge(f, source, 2 * v, FSIM_UNCUT);
        for (int u = 0; u < x->uses; u++) {
            const use *by = &x->use[u];
            if (by->needed)
                fsim_flow_edge(f, 2 * v + 1, target, FSIM_UNCUT);
            for (int r = 0; !by->needed && r < g->node[by->node].results; r++)
                fsim_flow_edge(f, 2 * v + 1, 2 * g->node[by->node].result[r], FSIM_UNCUT);
        }
    }
    return fsim_flow_cut(f, source, target);
}

/* The tensor whose memory a permuted or sliced one shows. */
static int memory_of(const fsim_graph *g, int t)
{
    while (g->tensor[t].producer >= 0 && fsim_ops[g->node[g->tensor[t].producer].op].class == FSIM_PERMUTE)
        t = g->node[g->tensor[t].producer].arg[0].tensor;
    return t;
}

static fsim_kept sum_up(const cut *c, const bool *behind, fsim_arena *a)
{
    const fsim_graph *g = c->g;
    fsim_kept out = {.kept = fsim_new(a, bool, g->tensors + 1)};
    for (int v = 0; v < c->values; v++) {
        if (c->value[v].needed || behind[2 * v] || !behind[2 * v + 1])
            continue;
        const int t = v < g->tensors ? memory_of(g, v) : v;
        if (v < g->tensors && out.kept[t])
            continue;
        if (v < g->tensors)
            out.kept[t] = true;
        *(v < g->tensors && g->tensor[t].producer < 0 ? &out.given_bytes : &out.made_bytes) += c->value[t].bytes;
    }
    return out;
}

/* Everything but the bans, which differ. In a. */
static cut new_cut(const fsim_graph *g, fsim_arena *a)
{
    cut c = {.g = g, .a = a, .values = g->tensors + g->operations};
    c.value = fsim_new(a, value, c.values + 1);
    c.extra = fsim_new(a, bool, g->operations + 1);
    for (int t = 0; t < g->tensors; t++)
        c.value[t].bytes = (double)g->tensor[t].bytes;
    find_needed(&c);
    find_uses(&c);
    find_extras(&c);
    find_distances(&c);
    return c;
}

static fsim_kept cut_by(cut *c, laxness lax, const bool *freed, fsim_arena *a)
{
    c->lax = lax;
    c->freed = freed;
    find_bans(c);
    return sum_up(c, solve(c), a);
}

fsim_kept fsim_min_cut(const fsim_graph *g, fsim_arena *a)
{
    fsim_kept out = {.kept = fsim_new(a, bool, g->tensors + 1)};
    if (g->derived != FSIM_REVERSE)
        return out;
    if (g->cut) {
        memcpy(out.kept, g->cut->kept, (size_t)g->own_tensors * sizeof *out.kept);
        out.made_bytes = g->cut->made_bytes;
        out.given_bytes = g->cut->given_bytes;
        return out;
    }
    fsim_arena *scratch = fsim_arena_new();
    cut c = new_cut(g, scratch);
    out = cut_by(&c, FASTER, NULL, a);
    fsim_arena_free(scratch);
    return out;
}

/* A primitive that the laxest rules still keep. */
typedef struct {
    int node, units; /* of memory: ten-thousandths of what budget 1 keeps beyond the inputs */
    double flops;
} item;

static double bytes_of_result(const cut *c, const fsim_node *n) { return (double)c->g->tensor[n->result[0]].bytes; }

/* PyTorch's dp_knapsack: the values whose FLOPs are most in so many units of memory
 * are kept; freed[n] of the others is set. */
static void pack(const item *all, int items, int units, bool *freed, fsim_arena *a)
{
    double *most = fsim_new(a, double, units + 1);
    bool *taken = fsim_new(a, bool, (size_t)(items + 1) * (size_t)(units + 1));
    for (int i = 0; i < items; i++)
        for (int room = units; room >= all[i].units; room--) {
            const double with = most[room - all[i].units] + all[i].flops;
            taken[(size_t)i * (size_t)(units + 1) + (size_t)room] = with > most[room];
            most[room] = fmax(most[room], with);
        }
    for (int i = items, room = units; i-- > 0;) {
        const bool kept = all[i].units <= units && taken[(size_t)i * (size_t)(units + 1) + (size_t)room];
        freed[all[i].node] = !kept;
        room -= kept ? all[i].units : 0;
    }
}

/* What the laxest rules keep of what the backward pass needs, and may be computed again. */
static int items_of(const cut *c, double beyond, item *out)
{
    const fsim_graph *g = c->g;
    int items = 0;
    for (int n = 0; n < g->nodes; n++) {
        const fsim_node *x = &g->node[n];
        const bool repeats = fsim_ops[x->op].class != FSIM_RANDOM && x->results == 1;
        if (x->phase == FSIM_FORWARD && repeats && is_banned(c, x) && c->value[x->result[0]].distance <= g->nodes)
            out[items++] = (item){
                n, (int)rint(bytes_of_result(c, x) / beyond * CUT_UNITS),
                fsim_ops[x->op].class == FSIM_CONTRACTION ? x->flops * (double)x->points * (double)x->reduced : 1};
    }
    return items;
}

/* PyTorch's choose_saved_values_set. */
static fsim_kept cut_within(const fsim_graph *g, double budget, fsim_arena *a)
{
    fsim_arena *scratch = fsim_arena_new();
    cut c = new_cut(g, scratch);
    fsim_kept best = cut_by(&c, FASTER, NULL, a);
    double given = 0;
    for (int t = 0; t < g->own_tensors; t++)
        given += g->tensor[t].storage == t && g->tensor[t].producer < 0 ? (double)g->tensor[t].bytes : 0;
    const double beyond = best.made_bytes + best.given_bytes - given;
    bool done = beyond <= 0 && budget > 0;
    for (laxness lax = LAXER; lax <= LAXEST && !done && budget > 0; lax++) {
        best = cut_by(&c, lax, NULL, a);
        done = best.made_bytes + best.given_bytes - given < budget * beyond;
    }
    if (!done && budget > 0) {
        item *all = fsim_new(scratch, item, g->nodes + 1);
        bool *freed = fsim_new(scratch, bool, g->nodes + 1);
        const int items = items_of(&c, beyond, all);
        pack(all, items, (int)rint(budget * CUT_UNITS), freed, scratch);
        best = cut_by(&c, LAXEST, freed, a);
    }
    if (budget <= 0) {
        best = (fsim_kept){.given_bytes = given, .kept = fsim_new(a, bool, g->tensors + 1)};
        for (int t = 0; t < g->own_tensors; t++)
            best.kept[t] = g->tensor[t].storage == t && g->tensor[t].producer < 0;
    }
    fsim_arena_free(scratch);
    return best;
}

fsim_graph *fsim_graph_within_budget(const fsim_graph *g, double budget, fsim_arena *a)
{
    const fsim_derive *how = fsim_derivation_of(g);
    if (g->derived != FSIM_REVERSE || !g->origin || !how || budget >= 1)
        return NULL;
    const fsim_kept usual = fsim_min_cut(g, a), kept = cut_within(g, budget, a);
    signed char *fate = fsim_new(a, signed char, g->own_tensors + 1);
    if (how->fates > 0)
        memcpy(fate, how->fate, (size_t)(how->fates < g->own_tensors ? how->fates : g->own_tensors));
    for (int t = 0; t < g->own_tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        if (x->producer >= 0 && x->storage == t && !x->output && !kept.kept[t] && fate[t] == FSIM_HELD)
            fate[t] = usual.kept[t] || !is_recomputable(&g->node[x->producer]) ? FSIM_DROPPED : FSIM_PASSED;
    }
    fsim_graph *other = fsim_graph_with_fates(g, fate, g->own_tensors, a);
    if (!other)
        return NULL;
    fsim_budgeted *of = fsim_new(a, fsim_budgeted, 1);
    *of = (fsim_budgeted){kept.made_bytes, kept.given_bytes, kept.kept};
    other->cut = of;
    return other;
}
