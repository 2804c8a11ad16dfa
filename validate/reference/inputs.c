/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.c: values of a workload's inputs and weights: numbers that keep every primitive inside its domain. */
#include "validate/reference/inputs.h"

#include "validate/reference/interpret.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef fsim_fill use;

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t fsim_hash(const char *name, uint64_t seed, int64_t i)
{
    uint64_t h = 0xcbf29ce484222325u; /* SplitMix64, seeded with FNV-1a of the name */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return mixed(mixed(h + seed * 0x9e3779b97f4a7c15u) + ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u);
}

/* Is the result positive if the argument is? */
static bool keeps_sign(const fsim_graph *g, const fsim_node *n)
{
    const double s = n->attrs.scalar;
    switch (n->op) {
    case FSIM_OP_ADD:
        return n->args == 2 || s >= 0;
    case FSIM_OP_MUL:
    case FSIM_OP_DIV:
        return n->args == 2 ? n->arg[0].tensor != n->arg[1].tensor : s > 0;
    case FSIM_OP_MAXIMUM:
    case FSIM_OP_MINIMUM:
        return n->args == 2 || s > 0;
    case FSIM_OP_CAST:
        return fsim_dtype_floating(g->tensor[n->result[0]].dtype);
    case FSIM_OP_RELU:
    case FSIM_OP_COPY:
    case FSIM_OP_TRANSFER:
    case FSIM_OP_SUM:
    case FSIM_OP_MEAN:
    case FSIM_OP_MAX:
    case FSIM_OP_MIN:
    case FSIM_OP_PERMUTE:
    case FSIM_OP_TRANSPOSE:
    case FSIM_OP_SLICE:
    case FSIM_OP_EXPAND:
    case FSIM_OP_FLIP:
    case FSIM_OP_SPLIT:
    case FSIM_OP_CONCAT:
    case FSIM_OP_ROLL:
    case FSIM_OP_CUMSUM:
    case FSIM_OP_ALL_REDUCE:
    case FSIM_OP_ALL_GATHER:
    case FSIM_OP_REDUCE_SCATTER:
    case FSIM_OP_ALL_TO_ALL:
    case FSIM_OP_SEND:
        return true;
    default:
        return false;
    }
}

/* Makes the inputs positive from which the arguments of a node are computed. An explicit stack, because chains may
 * be long. */
static void make_positive(const fsim_graph *g, int from, use *u, int *stack)
{
    int depth = 0;
    if (!u[from].positive) {
        u[from].positive = true;
        stack[depth++] = from;
    }
    while (depth > 0) {
        const fsim_tensor *t = &g->tensor[stack[--depth]];
        if (t->producer < 0 || !keeps_sign(g, &g->node[t->producer]))
            continue;
        const fsim_node *n = &g->node[t->producer];
        for (int i = 0; i < n->args; i++)
            if (!u[n->arg[i].tensor].positive) {
                u[n->arg[i].tensor].positive = true;
                stack[depth++] = n->arg[i].tensor;
            }
    }
}

/* The tensor behind operators that only move or convert elements. */
static int behind(const fsim_graph *g, int t)
{
    while (g->tensor[t].producer >= 0) {
        const fsim_node *n = &g->node[g->tensor[t].producer];
        if (n->args != 1 || (fsim_ops[n->op].class != FSIM_PERMUTE && n->op != FSIM_OP_CAST && n->op != FSIM_OP_COPY &&
                             n->op != FSIM_OP_TRANSFER))
            return t;
        t = n->arg[0].tensor;
    }
    return t;
}

/* The input behind such operators, or -1. */
static int source_of(const fsim_graph *g, int t)
{
    t = behind(g, t);
    return g->tensor[t].producer < 0 ? t : -1;
}

static bool picks(fsim_op op)
{
    return op == FSIM_OP_GATHER || op == FSIM_OP_INDEX_SELECT || op == FSIM_OP_PICK || op == FSIM_OP_EMBEDDING;
}

/* The tensor whose elements a gather picks; -1 where tensor t is no result of one. */
static int picked_from(const fsim_graph *g, int t)
{
    const fsim_node *n = g->tensor[t].producer < 0 ? NULL : &g->node[g->tensor[t].producer];
    for (int i = 0; n && picks(n->op) && i < n->args; i++)
        if (n->arg[i].how == FSIM_READ_INDIRECT)
            return n->arg[i].tensor;
    return -1;
}

/* Indices may themselves be picked by indices: then those that are picked from are in range. */
static void make_index(const fsim_graph *g, int from, int64_t below, int64_t inner, use *u)
{
    int t = behind(g, from);
    for (int data; (data = picked_from(g, t)) >= 0; inner = 0)
        t = behind(g, data);
    u[t].below = u[t].below == 0 || below < u[t].below ? below : u[t].below;
    u[t].inner = inner > u[t].inner ? inner : u[t].inner;
}

/* An index that index or index_put joins of several, (i * length + j): each below the length of its dimension. */
static void make_joined_index(const fsim_graph *g, int from, int64_t below, int64_t inner, use *u)
{
    const fsim_node *sum = NULL, *product = NULL;
    while (g->tensor[from].producer >= 0 && (sum = &g->node[g->tensor[from].producer])->op == FSIM_OP_ADD &&
           sum->args == 2 && g->tensor[sum->arg[0].tensor].producer >= 0 &&
           (product = &g->node[g->tensor[sum->arg[0].tensor].producer])->op == FSIM_OP_MUL && product->args == 1 &&
           product->attrs.has_scalar && product->attrs.scalar >= 1) {
        make_index(g, sum->arg[1].tensor, (int64_t)product->attrs.scalar, 0, u);
        from = product->arg[0].tensor;
        below /= (int64_t)product->attrs.scalar;
        inner = 0;
    }
    make_index(g, from, below, inner, u);
}

/* Per tensor: the factor that it is multiplied by first, as attention's scores by 1 / sqrt(D); 1 without one. */
static double *gains_of(const fsim_graph *g)
{
    double *gain = fsim_memory(g->tensors, sizeof *gain);
    for (int t = 0; t < g->tensors; t++)
        gain[t] = 1;
    for (int k = g->nodes; k-- > 0;) {
        const fsim_node *n = &g->node[k];
        const double s = fabs(n->attrs.scalar);
        const bool scales = n->args == 1 && n->attrs.has_scalar && (n->op == FSIM_OP_MUL || n->op == FSIM_OP_DIV) &&
                            s > 0 && isfinite(s);
        if (scales || (n->args == 1 && fsim_ops[n->op].class == FSIM_PERMUTE))
            gain[n->arg[0].tensor] = gain[n->result[0]] * (!scales ? 1 : n->op == FSIM_OP_MUL ? s : 1 / s);
    }
    return gain;
}

/* Sums of k products of numbers of variance 1/3 have that variance if one side's is 1/k: uniform in +-sqrt(3 / k).
 * Results that are scaled down next, such as attention's scores, get variance 1 after scaling. With smaller scores
 * every softmax is flat and checks nothing. */
static void make_weight(const fsim_graph *g, const fsim_node *n, double gain, use *u)
{
    enum { MOST = 4 };
    int side = -1;
    for (int i = 2; i-- > 0;) {
        const int t = source_of(g, n->arg[i].tensor);
        if (t >= 0 && (side < 0 || g->tensor[t].role == FSIM_WEIGHT))
            side = side >= 0 && g->tensor[source_of(g, n->arg[side].tensor)].role == FSIM_WEIGHT ? side : i;
    }
    if (side < 0)
        return;
    use *w = &u[source_of(g, n->arg[side].tensor)];
    const double k = (double)(n->gemm.k > 1 ? n->gemm.k : 1),
                 scale = gain < 1 ? fmin(MOST, 3 / sqrt(k) / gain) : fmin(1, sqrt(3 / k));
    w->scale = w->scale == 0 || scale < w->scale ? scale : w->scale;
}

static void find_uses(const fsim_graph *g, use *u, int *stack)
{
    double *gain = gains_of(g);
    for (int k = 0; k < g->nodes; k++) {
        const fsim_node *n = &g->node[k];
        const double s = n->attrs.scalar;
        if (g->source[n->source].gradient_of >= 0)
            continue; /* what derivatives read has the values that it has without them */
        switch (n->op) {
        case FSIM_OP_LOG:
        case FSIM_OP_LOG2:
        case FSIM_OP_LOG10:
        case FSIM_OP_ACOSH:
        case FSIM_OP_SQRT:
        case FSIM_OP_RSQRT:
        case FSIM_OP_RECIPROCAL:
            make_positive(g, n->arg[0].tensor, u, stack);
            break;
        case FSIM_OP_ONE_HOT:
            make_index(g, n->arg[0].tensor, n->attrs.classes, 0, u);
            break;
        case FSIM_OP_DIV:
        case FSIM_OP_FLOOR_DIVIDE:
        case FSIM_OP_REMAINDER:
        case FSIM_OP_FMOD:
            if (n->args == 2)
                make_positive(g, n->arg[1].tensor, u, stack);
            break;
        case FSIM_OP_POW:
            if (n->args == 2 || s < 0 || s != floor(s))
                make_positive(g, n->arg[0].tensor, u, stack);
            break;
        case FSIM_OP_GATHER:
        case FSIM_OP_INDEX_SELECT:
        case FSIM_OP_PICK:
            make_joined_index(g, n->arg[1].tensor, n->arg[0].any.extent, 0, u);
            break;
        case FSIM_OP_EMBEDDING_BAG:
            make_index(g, n->arg[2].tensor, n->arg[0].distinct, 0, u);
            u[behind(g, n->arg[2].tensor)].begins = true;
            make_index(g, n->arg[0].tensor, n->arg[1].any.extent, 0, u);
            break;
        case FSIM_OP_EMBEDDING:
            make_index(g, n->arg[0].tensor, n->arg[1].any.extent, 0, u);
            break;
        case FSIM_OP_INDEX_COPY:
        case FSIM_OP_INDEX_ADD:
            make_joined_index(g, n->arg[1].tensor, g->tensor[n->result[0]].shape.dim[n->attrs.dim],
                              n->op == FSIM_OP_INDEX_COPY, u);
            break;
        case FSIM_OP_SCATTER_ADD:
            make_index(g, n->arg[1].tensor, g->tensor[n->result[0]].shape.dim[n->attrs.dim], 0, u);
            break;
        case FSIM_OP_SCATTER: {
            const fsim_shape *x = &g->tensor[n->result[0]].shape;
            int64_t inner = 1;
            for (int d = (int)n->attrs.dim + 1; d < x->rank; d++)
                inner *= x->dim[d];
            make_index(g, n->arg[1].tensor, x->rank ? x->dim[n->attrs.dim] : 1,
                       n->arg[1].distinct == n->arg[2].distinct ? inner : 1, u);
            break;
        }
        default:
            if (fsim_ops[n->op].class == FSIM_CONTRACTION)
                make_weight(g, n, gain[n->result[0]], u);
            break;
        }
    }
    free(gain);
}

static double uniform(uint64_t h) { return (double)(h >> 11) * 0x1p-53; }

/* Each number below `below` once, in random order, while there are any left. */
static void fill_distinct(const fsim_tensor *t, const use *u, uint64_t seed, double *value)
{
    int64_t *order = fsim_memory(u->below, sizeof *order);
    for (int64_t i = 0; i < u->below; i++) {
        const int64_t j = (int64_t)(fsim_hash(t->name, seed, i) % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (int64_t i = 0; i < t->elems; i++)
        value[i] = (double)order[(i / u->inner + i % u->inner) % u->below];
    free(order);
}

/* Fills the first `count` elements of tensor t. */
static void fill_values(const fsim_tensor *t, const use *u, uint64_t seed, int64_t count, double *value)
{
    for (int64_t i = 0; i < count; i++) {
        const uint64_t h = fsim_hash(t->name, seed, i);
        double v;
        if (u->below > 0 && u->begins)
            v = (double)(i * u->below / t->elems);
        else if (u->below > 0)
            v = (double)(h % (uint64_t)u->below);
        else if (t->dtype == FSIM_BOOL)
            v = (double)(h & 1);
        else if (!fsim_dtype_floating(t->dtype))
            v = fsim_dtype_paired(t->dtype) ? (double)(h % 256)
                : u->positive               ? 1 + (double)(h % 8)
                : t->dtype == FSIM_U8       ? (double)(h % 16)
                                            : (double)(h % 17) - 8;
        else
            v = u->positive ? 0.5 + uniform(h) : (2 * uniform(h) - 1) * (u->scale > 0 ? u->scale : 1);
        value[i] = fsim_stored(t->dtype, v);
    }
}

static void fill_tensor(const fsim_interpreter *in, int id, const use *u, uint64_t seed)
{
    const fsim_tensor *t = &in->g->tensor[id];
    if (u->below > 0 && u->inner > 0)
        fill_distinct(t, u, seed, in->r->of[id].value);
    else
        fill_values(t, u, seed, t->elems, in->r->of[id].value);
    for (int64_t i = 0; i < t->elems && in->size > 0 && u->below == 0 && fsim_dtype_floating(t->dtype); i++)
        in->r->of[id].value[i] = fsim_stored(t->dtype, in->size * in->r->of[id].value[i]);
}

void fsim_make_up(const fsim_interpreter *in, int t, uint64_t seed) { fill_tensor(in, t, &(use){0}, seed); }

void fsim_make_inputs(const fsim_interpreter *in, uint64_t seed)
{
    const fsim_graph *g = in->g;
    use *u = fsim_memory(g->tensors, sizeof *u);
    int *stack = fsim_memory(g->tensors, sizeof *stack);
    find_uses(g, u, stack);
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].storage == t && g->tensor[t].producer < 0)
            fill_tensor(in, t, &u[t], seed);
    free(stack);
    free(u);
}

void fsim_fills_of(const fsim_graph *g, fsim_fill *fill)
{
    int *stack = fsim_memory(g->tensors, sizeof *stack);
    memset(fill, 0, (size_t)g->tensors * sizeof *fill);
    find_uses(g, fill, stack);
    free(stack);
}

void fsim_inputs_store(const fsim_graph *g, uint64_t seed, void *const *bytes)
{
    enum { PERIOD = FSIM_FILL_PERIOD };
    use *u = fsim_memory(g->tensors, sizeof *u);
    int *stack = fsim_memory(g->tensors, sizeof *stack);
    find_uses(g, u, stack);
    for (int id = 0; id < g->tensors; id++) {
        const fsim_tensor *t = &g->tensor[id];
        if (!bytes[id] || t->storage != id || t->producer >= 0)
            continue;
        const bool distinct = u[id].below > 0 && u[id].inner > 0;
        const int64_t count = distinct || u[id].begins || t->elems < PERIOD ? t->elems : PERIOD,
                      each = t->bytes / t->elems;
        double *value = fsim_memory(count, sizeof *value);
        if (distinct)
            fill_distinct(t, &u[id], seed, value);
        else
            fill_values(t, &u[id], seed, count, value);
        for (int64_t i = 0; i < count; i++)
            fsim_set_element(t->dtype, bytes[id], i, value[i]);
        for (int64_t done = count; done < t->elems; done += count)
            memcpy((char *)bytes[id] + done * each, bytes[id],
                   (size_t)((t->elems - done < count ? t->elems - done : count) * each));
        free(value);
    }
    free(stack);
    free(u);
}
