/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/rivals/saved.h"

#include <string.h>

/* Of a statistic of two numbers in f32, and of an index in i64. */
enum { STATISTIC_BYTES = 8, INDEX_BYTES = 8 };

typedef struct {
    const fsim_graph *g;
    const fsim_operation *by; /* the operator at hand */
    fsim_autograd_saved sum;
    double tensors; /* bytes of tensors in sum.made_bytes */
} ledger;

static const fsim_tensor *arg_of(const ledger *l, int i) { return &l->g->tensor[l->by->arg[i]]; }

static bool flows_to(const ledger *l, int i) { return i < l->by->args && arg_of(l, i)->traced; }

/* Does PyTorch show the argument's memory instead of copying it? */
static bool is_view(const fsim_graph *g, int node)
{
    const fsim_op op = g->node[node].op;
    return op == FSIM_OP_PERMUTE || op == FSIM_OP_TRANSPOSE || op == FSIM_OP_EXPAND || op == FSIM_OP_SLICE ||
           op == FSIM_OP_UNFOLD;
}

/* May a tensor of the shape of `from`, whatever its strides, be seen in this shape? Only where dimensions of 1 come or
 * go. */
static bool same_but_ones(const fsim_shape *from, const fsim_shape *to)
{
    int i = 0, k = 0;
    for (;;) {
        while (i < from->rank && from->dim[i] == 1)
            i++;
        while (k < to->rank && to->dim[k] == 1)
            k++;
        if (i == from->rank || k == to->rank)
            return i == from->rank && k == to->rank;
        if (from->dim[i++] != to->dim[k++])
            return false;
    }
}

int fsim_pytorch_storage(const fsim_graph *g, int t)
{
    for (;;) {
        const fsim_tensor *x = &g->tensor[t];
        const fsim_tensor *s = &g->tensor[x->storage];
        if (s->producer < 0 || !is_view(g, s->producer))
            return x->storage;
        if (x->storage != t && !same_but_ones(&s->shape, &x->shape))
            return t; /* a copy */
        t = g->node[s->producer].arg[0].tensor;
    }
}

static void keep(ledger *l, int tensor)
{
    const int t = fsim_pytorch_storage(l->g, tensor);
    const fsim_tensor *x = &l->g->tensor[t];
    if (l->sum.kept[t]) /* it counts already */
        return;
    l->sum.kept[t] = true;
    l->sum.until[t] = (int)(l->by - l->g->operation);
    l->tensors += l->g->tensor[x->storage].producer < 0 ? 0 : (double)x->elems * fsim_dtype_bytes(x->dtype);
    *(l->g->tensor[x->storage].producer < 0 ? &l->sum.given_bytes : &l->sum.made_bytes) +=
        (double)x->elems * fsim_dtype_bytes(x->dtype);
}

static void keep_result(ledger *l) { keep(l, l->by->result[0]); }
static void keep_input(ledger *l) { keep(l, l->by->arg[0]); }

static void keep_ends(ledger *l)
{
    keep_input(l);
    keep_result(l);
}

static void keep_both(ledger *l)
{
    for (int i = 0; i < l->by->args; i++)
        if (fsim_dtype_floating(arg_of(l, i)->dtype))
            keep(l, l->by->arg[i]);
}

static void keep_operands(ledger *l)
{
    for (int i = 0; i < 2 && l->by->args >= 2; i++)
        if (flows_to(l, 1 - i))
            keep(l, l->by->arg[i]);
}

static void keep_divided(ledger *l)
{
    if (l->by->args < 2)
        return;
    keep(l, l->by->arg[1]);
    if (flows_to(l, 1))
        keep(l, l->by->arg[0]);
}

/* x, its parameters, and so many bytes of statistics. */
static void keep_norm(ledger *l, double statistics)
{
    keep_both(l);
    l->sum.made_bytes += statistics;
}

/* The rows that a norm works along: what its statistics number. */
static void keep_rows(ledger *l)
{
    const fsim_source *s = &l->g->source[l->by - l->g->operation];
    double rows = 0;
    for (int n = s->first; n < s->first + s->nodes && rows == 0; n++)
        if (fsim_ops[l->g->node[n].op].class == FSIM_REDUCE)
            rows = (double)l->g->node[n].points;
    keep_norm(l, STATISTIC_BYTES * rows);
}

static void keep_groups(ledger *l)
{
    const fsim_shape *x = &arg_of(l, 0)->shape;
    const int64_t groups = l->by->op == FSIM_OP_GROUP_NORM ? l->by->attrs.groups : x->rank > 1 ? x->dim[1] : 1;
    keep_norm(l, STATISTIC_BYTES * (double)(x->rank ? x->dim[0] : 1) * (double)groups);
}

static void keep_channels(ledger *l)
{
    const fsim_shape *x = &arg_of(l, 0)->shape;
    keep_norm(l, STATISTIC_BYTES * (double)(x->rank > 1 ? x->dim[1] : 1));
}

static void keep_index(ledger *l) { l->sum.made_bytes += INDEX_BYTES * (double)l->g->tensor[l->by->result[0]].elems; }

static void keep_pooled(ledger *l)
{
    keep_input(l);
    keep_index(l);
}

static void keep_indices(ledger *l)
{
    for (int i = 0; i < l->by->args; i++)
        if (!fsim_dtype_floating(arg_of(l, i)->dtype))
            keep(l, l->by->arg[i]);
}

static void keep_mask(ledger *l) { keep_indices(l); }

static void keep_noise(ledger *l)
{
    l->sum.made_bytes += (double)arg_of(l, 0)->elems;
    l->sum.mask_bytes += (double)arg_of(l, 0)->elems;
}

static void keep_classes(ledger *l)
{
    const fsim_tensor *x = arg_of(l, 0);
    l->sum.made_bytes += (double)x->elems * fsim_dtype_bytes(x->dtype) + 4;
    keep_indices(l);
}

static void keep_attended(ledger *l)
{
    const fsim_tensor *q = arg_of(l, 0);
    keep_both(l);
    keep_result(l);
    l->sum.made_bytes += 4 * (double)(q->elems / (q->shape.rank ? q->shape.dim[q->shape.rank - 1] : 1));
}

static void (*const keeps[FSIM_OP_COUNT])(ledger *l) = {
#define FSIM_SAVED(id, what) [FSIM_OP_##id] = keep_##what,
#include "plan/rivals/saved.def"
#undef FSIM_SAVED
};

/* An operator of a layer that is computed again keeps nothing but what the layer is given. */
static void keep_given_to_layer(ledger *l)
{
    const fsim_graph *g = l->g;
    const int layer = g->source[l->by - g->operation].layer_number;
    for (int i = 0; i < l->by->args; i++) {
        const int from = g->tensor[g->tensor[l->by->arg[i]].storage].producer;
        if (from < 0 || g->source[g->node[from].source].layer_number != layer)
            keep(l, l->by->arg[i]);
    }
}

fsim_autograd_saved fsim_saved_by_eager(const fsim_graph *g, fsim_arena *a)
{
    ledger l = {.g = g,
                .sum.kept = fsim_new(a, bool, g->tensors + 1),
                .sum.until = fsim_new(a, int, g->tensors + 1),
                .sum.extra = fsim_new(a, double, g->operations + 1)};
    for (int i = 0; i < g->operations; i++) {
        l.by = &g->operation[i];
        bool flows = false;
        const double before = l.sum.made_bytes - l.tensors;
        for (int k = 0; k < l.by->results; k++)
            flows = flows || g->tensor[l.by->result[k]].traced;
        if (flows && g->checkpoint && g->source[i].layer_number > 0)
            keep_given_to_layer(&l);
        else if (flows && keeps[l.by->op])
            keeps[l.by->op](&l);
        l.sum.extra[i] = l.sum.made_bytes - l.tensors - before;
    }
    return l.sum;
}
