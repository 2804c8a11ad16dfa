/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c: a program written for one example, mapped over the workload's `batch` of them (vmap, as in JAX and PyTorch).
 *
 * A mapped tensor has the batch as its first dimension, a shared one (a weight, or an input that is not marked) has
 * not. An operator with a mapped argument is rewritten before its rule runs, by the function that its row names in the
 * column `batch`: dimensions counted from the front move by one, arguments of lower rank get dimensions of length 1
 * behind the batch so that they broadcast as the example's would, and where the operator has a batch of its own the two
 * become one. "Rank", "dimension" and "shape of an example" below are those that the program as written speaks of.
 * Rewriting adds views, which cost nothing, and an `expand` of a shared argument where each example needs a copy. */
#include "graph/batch.h"

#include "graph/mapped.h"

#include <stdio.h>
#include <string.h>

/* Sets *out to the shape of `count` examples of shape s. False after an error: too many dimensions. */
static bool batch_of(const fsim_call *c, int64_t count, const fsim_shape *s, fsim_shape *out)
{
    if (s->rank == FSIM_MAX_RANK)
        return fsim_refuse(c, "has %d dimensions; with that of the batch %d, at most %d", s->rank, s->rank + 1,
                           FSIM_MAX_RANK);
    *out = (fsim_shape){.rank = s->rank + 1, .dim = {count}};
    memcpy(out->dim + 1, s->dim, (size_t)s->rank * sizeof *s->dim);
    return true;
}

/* s with dimensions of length 1 in front, to this rank. */
static fsim_shape widened(const fsim_shape *s, int rank)
{
    fsim_shape out = {.rank = rank};
    for (int d = 0; d < rank; d++)
        out.dim[d] = d < rank - s->rank ? 1 : s->dim[d - (rank - s->rank)];
    return out;
}

/* Replaces argument i by a view of it with this shape; mapped: its first dimension is the batch. */
static bool view_argument(fsim_call *c, int i, const fsim_shape *shape, bool mapped)
{
    const fsim_tensor *t = tensor_of(c, i);
    if (t->mapped == mapped && t->shape.rank == shape->rank &&
        memcmp(t->shape.dim, shape->dim, (size_t)shape->rank * sizeof *shape->dim) == 0)
        return true;
    const char *name = fsim_printf(c->build->arena, "%s/%s", c->out[0], t->name);
    const int view = fsim_add_view(c->build, c->at, name, shape, c->arg[i], 0);
    if (view < 0)
        return false;
    c->build->graph->tensor[view].mapped = mapped;
    c->arg[i] = view;
    return true;
}

/* Puts the batch first and widens the example's shape to this rank; a shared argument gets a batch of 1. */
bool fsim_align(fsim_call *c, int i, int rank)
{
    const fsim_shape example = example_of(c, i), wide = widened(&example, rank);
    fsim_shape s;
    if (example.rank == 0)
        c->scalars |= 1u << i;
    return batch_of(c, is_mapped(c, i) ? examples_of(c) : 1, &wide, &s) && view_argument(c, i, &s, is_mapped(c, i));
}

/* Replaces a shared argument i by a copy of it for each example. */
bool fsim_copy_to_examples(fsim_call *c, int i)
{
    const fsim_shape example = example_of(c, i);
    const int shared = c->arg[i];
    fsim_shape s;
    fsim_step step;
    if (is_mapped(c, i))
        return true;
    if (!batch_of(c, examples_of(c), &example, &s))
        return false;
    fsim_step_start(&step, c, FSIM_OP_EXPAND, tensor_of(c, i)->name);
    step.call.list[FSIM_ATTR_SHAPE] = (fsim_list){.present = true, .count = s.rank};
    memcpy(step.call.list[FSIM_ATTR_SHAPE].at, s.dim, (size_t)s.rank * sizeof *s.dim);
    const int result = fsim_step_end(&step, 1, &c->arg[i]);
    if (result < 0)
        return false;
    c->build->graph->tensor[result].mapped = true;
    for (int k = c->args; k-- > i;) /* a tensor that stands twice is copied once */
        c->arg[k] = c->arg[k] == shared ? result : c->arg[k];
    return true;
}

static int highest_rank(const fsim_call *c)
{
    int most = 0;
    for (int i = 0; i < c->args; i++)
        most = rank_of(c, i) > most ? rank_of(c, i) : most;
    return most;
}

/* Gives result i the shape of examples of shape s. */
static bool shape_result(fsim_call *c, int i, const fsim_shape *s)
{
    return batch_of(c, examples_of(c), s, &c->build->graph->tensor[c->result[i]].shape);
}

/* Shared arguments broadcast as they are; mapped ones are widened to the highest rank. */
bool fsim_batch_broadcast(fsim_call *c)
{
    const int rank = highest_rank(c);
    for (int i = 0; i < c->args; i++)
        if (is_mapped(c, i) && !fsim_align(c, i, rank))
            return false;
    return run_rule(c);
}

bool fsim_batch_none(fsim_call *c)
{
    return fsim_refuse(c, "can't be mapped over the batch: what it does with one more dimension is not known");
}

/* Operators along the last dimension. */
bool fsim_batch_last(fsim_call *c)
{
    if (highest_rank(c) == 0)
        return fsim_refuse(c, "wants at least one dimension beside that of the batch");
    return fsim_batch_broadcast(c);
}

/* Operators on matrices, which are the last two dimensions. */
bool fsim_batch_matrix(fsim_call *c)
{
    fsim_step step;
    if (rank_of(c, 0) >= 2)
        return run_rule(c);
    const fsim_shape s = tensor_of(c, 0)->shape;
    if (!fsim_align(c, 0, 2))
        return false;
    fsim_step_start(&step, c, c->op, "matrix");
    step.call.attrs = c->attrs;
    const int result = fsim_step_end(&step, 1, c->arg);
    c->result[0] = result < 0 ? -1 : fsim_add_view(c->build, c->at, c->out[0], &s, result, 0);
    return c->result[0] >= 0;
}

/* Moves the dimensions that the call names by one, because the batch is in front of them. */
bool fsim_shift_dims(fsim_call *c, int rank)
{
    fsim_list *l = &c->list[FSIM_ATTR_DIMS];
    for (int i = 0; i < l->count; i++) {
        int d;
        if (!fsim_wrap_dim(c, rank, l->at[i], &d))
            return false;
        l->at[i] = d + 1;
    }
    return true;
}

/* Runs the rule where each example's result is one number: on lists of length 1, and views the results as numbers. */
static bool run_for_numbers(fsim_call *c)
{
    const fsim_shape numbers = {.rank = 1, .dim = {examples_of(c)}};
    const char **names = c->out;
    c->out = fsim_new(c->build->arena, const char *, c->outs);
    for (int i = 0; i < c->outs; i++)
        c->out[i] = fsim_printf(c->build->arena, "%s/list", names[i]);
    bool ok = run_rule(c);
    c->out = names;
    for (int i = 0; i < c->outs && ok; i++) {
        c->result[i] = fsim_add_view(c->build, c->at, names[i], &numbers, c->result[i], 0);
        ok = c->result[i] >= 0;
    }
    return ok;
}

/* Operators along given dimensions: reductions, scans, sorts, softmax. */
bool fsim_batch_dims(fsim_call *c)
{
    fsim_list *l = &c->list[FSIM_ATTR_DIMS];
    const int rank = highest_rank(c), wide = rank > 0 ? rank : 1;
    if (!l->present || l->count == 0) { /* all dimensions */
        *l = (fsim_list){.present = true, .count = rank};
        for (int d = 0; d < rank; d++)
            l->at[d] = d;
    }
    if (!fsim_shift_dims(c, rank))
        return false;
    if (rank == 0) {
        l->count = 1;
        l->at[0] = 1;
    }
    for (int i = 0; i < c->args; i++)
        if (!fsim_align(c, i, wide))
            return false;
    return rank > 0 ? run_rule(c) : run_for_numbers(c);
}

/* Concatenation and writes into a tensor: all arguments get a batch. A stack's new dimension may be the last. */
bool fsim_batch_concat(fsim_call *c)
{
    for (int i = 0; i < c->args; i++)
        if (!fsim_copy_to_examples(c, i))
            return false;
    return fsim_shift_dims(c, rank_of(c, 0) + (c->op == FSIM_OP_STACK)) && run_rule(c);
}

bool fsim_batch_slice(fsim_call *c)
{
    fsim_list *dims = &c->list[FSIM_ATTR_DIMS];
    const int rank = rank_of(c, 0);
    if (!dims->present) {
        bool whole = false;
        const int entries = fsim_slice_entries(c, &whole);
        if (entries < 0)
            return false;
        if (entries != rank && !(entries == 1 && rank >= 1 && whole))
            return fsim_refuse(c, "'start' has %d entries for %d dimensions", entries, rank);
        *dims = (fsim_list){.present = true, .count = entries};
        for (int i = 0; i < entries; i++)
            dims->at[i] = i;
    }
    return fsim_shift_dims(c, rank) && run_rule(c);
}

/* Padding counts dimensions from the last one, so nothing changes. */
bool fsim_batch_pad(fsim_call *c)
{
    if (c->list[FSIM_ATTR_PADDING].count > 2 * rank_of(c, 0))
        return fsim_refuse(c, "'padding' has %d values for %d dimensions", c->list[FSIM_ATTR_PADDING].count,
                           rank_of(c, 0));
    return run_rule(c);
}

/* Without dimensions, each example is rolled over all its elements in order. */
bool fsim_batch_roll(fsim_call *c)
{
    const fsim_shape s = example_of(c, 0);
    fsim_list *dims = &c->list[FSIM_ATTR_DIMS];
    if (!c->list[FSIM_ATTR_ROLL].present)
        return fsim_batch_broadcast(c);
    if (dims->present)
        return fsim_shift_dims(c, s.rank) && run_rule(c);
    *dims = (fsim_list){.present = true, .count = 1, .at = {1}};
    c->list[FSIM_ATTR_ROLL].count = c->list[FSIM_ATTR_ROLL].count > 1 ? 1 : c->list[FSIM_ATTR_ROLL].count;
    const fsim_shape line = {.rank = 2, .dim = {examples_of(c), fsim_elems(&s)}};
    return view_argument(c, 0, &line, true) && run_rule(c) && shape_result(c, 0, &s);
}

bool fsim_batch_permute(fsim_call *c)
{
    fsim_list *l = &c->list[FSIM_ATTR_DIMS];
    const int rank = rank_of(c, 0);
    if (l->count != rank)
        return fsim_refuse(c, "'dim' lists %d of the tensor's %d dimensions", l->count, rank);
    if (!fsim_shift_dims(c, rank))
        return false;
    memmove(l->at + 1, l->at, (size_t)l->count++ * sizeof *l->at);
    l->at[0] = 0;
    return run_rule(c);
}

bool fsim_batch_transpose(fsim_call *c)
{
    if (rank_of(c, 0) < (c->list[FSIM_ATTR_DIMS].present ? 1 : 2))
        return fsim_refuse(c, "wants two dimensions beside that of the batch");
    c->examples = examples_of(c);
    return fsim_shift_dims(c, rank_of(c, 0)) && run_rule(c);
}

/* Puts the batch in front of a list of lengths. */
static bool batch_lengths(fsim_call *c, fsim_attr attr, int64_t first)
{
    fsim_list *l = &c->list[attr];
    if (l->count >= FSIM_MAX_RANK)
        return fsim_refuse(c, "'%s' has %d dimensions; with that of the batch at most %d", fsim_attr_rows[attr].name,
                           l->count, FSIM_MAX_RANK);
    memmove(l->at + 1, l->at, (size_t)l->count++ * sizeof *l->at);
    l->at[0] = first;
    return true;
}

bool fsim_batch_reshape(fsim_call *c) { return batch_lengths(c, FSIM_ATTR_SHAPE, examples_of(c)) && run_rule(c); }

bool fsim_batch_view(fsim_call *c)
{
    const fsim_shape x = example_of(c, 0);
    return fsim_lower_view(c, &x) && fsim_batch_reshape(c);
}

bool fsim_batch_expand(fsim_call *c)
{
    const bool repeats = c->list[FSIM_ATTR_REPEATS].present;
    const fsim_attr attr = repeats ? FSIM_ATTR_REPEATS : FSIM_ATTR_SHAPE;
    const int rank = c->list[attr].count;
    if (rank < rank_of(c, 0))
        return fsim_refuse(c, "cannot expand rank %d to rank %d", rank_of(c, 0), rank);
    return batch_lengths(c, attr, repeats ? 1 : examples_of(c)) && fsim_align(c, 0, rank) && run_rule(c);
}

/* The shape of a matrix product of examples. False where a vector is missing; the rule says the rest. */
static fsim_shape product_of(const fsim_shape *x, const fsim_shape *y)
{
    const fsim_shape *wide = x->rank >= y->rank ? x : y, *other = wide == x ? y : x;
    fsim_shape out = {0};
    for (int d = 0; d < wide->rank - 2; d++) {
        const int own = d - (wide->rank - other->rank);
        out.dim[out.rank++] = wide->dim[d] == 1 && own >= 0 && own < other->rank - 2 ? other->dim[own] : wide->dim[d];
    }
    if (x->rank > 1)
        out.dim[out.rank++] = x->dim[x->rank - 2];
    if (y->rank > 1)
        out.dim[out.rank++] = y->dim[y->rank - 1];
    return out;
}

/* A product with a batch of vectors is a product of matrices: x[B, K] y[K, N]; and x[M, K] y[B, K] is the linear
 * layer y x^T. All others are batched products, in which a vector is a matrix of one row or column. */
bool fsim_batch_matmul(fsim_call *c)
{
    const fsim_shape x = example_of(c, 0), y = example_of(c, 1);
    const bool mapped[2] = {is_mapped(c, 0), is_mapped(c, 1)};
    if (c->op == FSIM_OP_BMM && (x.rank != 3 || y.rank != 3 || x.dim[0] != y.dim[0]))
        return fsim_refuse(c, "wants two batches of matrices of equal length for each example");
    c->op = FSIM_OP_MATMUL;
    if (x.rank < 1 || y.rank < 1 || x.dim[x.rank - 1] != y.dim[y.rank > 1 ? y.rank - 2 : 0])
        return fsim_refuse(c, "inner dimensions of an example's %s and %s differ", fsim_shape_text(c->build->arena, &x),
                           fsim_shape_text(c->build->arena, &y));
    if (mapped[0] && !mapped[1] && y.rank <= 2)
        return run_rule(c);
    if (!mapped[0] && y.rank == 1 && x.rank <= 2) { /* y x^T */
        const int swap = c->arg[0];
        c->arg[0] = c->arg[1];
        c->arg[1] = swap;
        c->op = x.rank == 2 ? FSIM_OP_LINEAR : FSIM_OP_MATMUL;
        return run_rule(c);
    }
    const fsim_shape row = widened(&x, 2), column = {.rank = 2, .dim = {y.dim[0], 1}};
    const fsim_shape whole[2] = {x.rank == 1 ? row : x, y.rank == 1 ? column : y};
    const int rank = whole[0].rank > whole[1].rank ? whole[0].rank : whole[1].rank;
    for (int i = 0; i < 2; i++) {
        const fsim_shape wide = widened(&whole[i], mapped[i] ? rank : whole[i].rank);
        fsim_shape s = wide;
        if ((mapped[i] && !batch_of(c, examples_of(c), &wide, &s)) || !view_argument(c, i, &s, mapped[i]))
            return false;
    }
    const fsim_shape out = product_of(&x, &y);
    return run_rule(c) && shape_result(c, 0, &out);
}

/* The product of a linear layer in which each example has its own weight, as an einsum. */
static bool linear_product(fsim_call *c)
{
    char text[64], *p = text;
    const int rank = rank_of(c, 0);
    if (!is_mapped(c, 1))
        return run_rule(c);
    if (rank < 1 || rank_of(c, 1) != 2)
        return fsim_refuse(c, "wants x[..., K] and weight[N, K] for each example");
    p += snprintf(p, 4, "%s", is_mapped(c, 0) ? "B" : "");
    for (int d = 0; d < rank - 1; d++)
        *p++ = (char)('a' + d);
    snprintf(p, 32, "k,Bnk->B%.*sn", rank - 1, "abcdefgh");
    c->op = FSIM_OP_EINSUM;
    c->equation = fsim_strdup(c->build->arena, text);
    return run_rule(c);
}

bool fsim_batch_linear(fsim_call *c)
{
    const int rank = rank_of(c, 0);
    if (c->args == 2 || (!is_mapped(c, 1) && !is_mapped(c, 2)))
        return linear_product(c);
    if (is_mapped(c, 2) && !fsim_align(c, 2, rank))
        return false;
    int result = -1;
    const char *name = fsim_printf(c->build->arena, "%s/matmul", c->out[0]);
    fsim_call product = *c;
    product.out = &name;
    product.args = 2;
    product.result = &result;
    if (!linear_product(&product))
        return false;
    c->result[0] = fsim_emit(c, FSIM_OP_ADD, NULL, 2, (int[2]){result, c->arg[2]});
    return c->result[0] >= 0;
}

/* Merges the batch with the first dimension of the example. */
static bool merge(fsim_call *c, int i)
{
    fsim_shape s = example_of(c, i);
    s.dim[0] *= examples_of(c);
    return s.dim[0] <= FSIM_MAX_DIM ? view_argument(c, i, &s, false)
                                    : fsim_refuse(c, "the batch makes dimensions beyond %lld", (long long)FSIM_MAX_DIM);
}

/* Splits the first dimension of result 0 into both again. */
static bool part(fsim_call *c)
{
    fsim_shape s = c->build->graph->tensor[c->result[0]].shape;
    s.dim[0] /= examples_of(c);
    return shape_result(c, 0, &s);
}

static bool refuse_own(const fsim_call *c, int from)
{
    for (int i = from; i < c->args; i++)
        if (is_mapped(c, i))
            return !fsim_refuse(c,
                                "can't be mapped over the batch: each example has a '%s' of its own; all must share it",
                                tensor_of(c, i)->name);
    return false;
}

static int axes_of(const fsim_call *c) { return fsim_arg(c, 1)->shape.rank - 2; }

/* Images: the batch and the images of an example become one batch of images. */
bool fsim_batch_conv(fsim_call *c)
{
    if (refuse_own(c, 1))
        return false;
    if (rank_of(c, 0) != axes_of(c) + 2)
        return rank_of(c, 0) == axes_of(c) + 1 ? run_rule(c)
                                               : fsim_refuse(c, "wants an image [C, ...] or several for each example");
    return merge(c, 0) && run_rule(c) && part(c);
}

/* Pools: all dimensions in front of the spatial ones number planes. */
bool fsim_batch_planes(fsim_call *c)
{
    if (rank_of(c, 0) <= fsim_spatial_axes(c->op))
        return fsim_refuse(c, "the tensor of an example has too few dimensions");
    return run_rule(c);
}

bool fsim_batch_pixels(fsim_call *c) { return merge(c, 0) && run_rule(c) && part(c); }

bool fsim_batch_slice_dims(fsim_call *c) { return fsim_shift_dims(c, rank_of(c, 0)) && run_rule(c); }

/* Norms over trailing dimensions; scale and shift broadcast. */
bool fsim_batch_trailing(fsim_call *c)
{
    fsim_list *l = &c->list[FSIM_ATTR_NORMALIZED_SHAPE];
    const int rank = rank_of(c, 0);
    if (!l->present) {
        const fsim_shape x = example_of(c, 0), s = c->args > 1 ? example_of(c, 1) : (fsim_shape){.rank = 1};
        *l = (fsim_list){.present = true, .count = s.rank};
        for (int d = 0; d < s.rank && s.rank <= x.rank; d++)
            l->at[d] = x.dim[x.rank - s.rank + d];
    }
    if (l->count > rank)
        return fsim_refuse(c, "'normalized_shape' has %d dimensions, the example's tensor %d", l->count, rank);
    for (int i = 0; i < c->args; i++)
        if (is_mapped(c, i) && !fsim_align(c, i, rank))
            return false;
    return run_rule(c);
}

/* Norms of x[N, C, ...] with statistics for each image. Statistics over N (batch_norm in training) are taken for
 * each example: the rule skips the batch. */
bool fsim_batch_images(fsim_call *c)
{
    if (refuse_own(c, 1))
        return false;
    const fsim_shape x = example_of(c, 0);
    if (x.rank < 2)
        return fsim_refuse(c, "wants x[N, C, ...] for each example; found %s", fsim_shape_text(c->build->arena, &x));
    if (c->op == FSIM_OP_BATCH_NORM && (c->attrs.training || c->args < 5)) {
        c->examples = examples_of(c);
        return run_rule(c);
    }
    return merge(c, 0) && run_rule(c) && part(c);
}

/* x[N, C, ...] with the slopes of all examples, or of each its own. */
bool fsim_batch_prelu(fsim_call *c)
{
    const fsim_shape x = example_of(c, 0), w = example_of(c, 1);
    const int64_t slopes = fsim_elems(&w);
    fsim_shape s = {.rank = x.rank + 1, .dim = {examples_of(c), 1, 1, 1, 1, 1, 1, 1}};
    if (!is_mapped(c, 1))
        return fsim_batch_images(c);
    if (w.rank != 1 || x.rank < 1 || x.rank >= FSIM_MAX_RANK || (slopes != 1 && (x.rank < 2 || slopes != x.dim[1])))
        return fsim_refuse(c, "wants x[N, C, ...] and a weight of [C] or [1] for each example; found %s and %s",
                           fsim_shape_text(c->build->arena, &x), fsim_shape_text(c->build->arena, &w));
    if (x.rank > 1)
        s.dim[2] = slopes;
    return view_argument(c, 1, &s, true) && fsim_rule_elementwise(c);
}

/* q, k, v[B, heads, S, D], a mask that broadcasts to [B, heads, Sq, Sk], and sinks that all examples share. */
bool fsim_batch_attention(fsim_call *c)
{
    const fsim_shape q = example_of(c, 0);
    const bool masked = c->args - c->attrs.sinks == 4;
    if (c->attrs.sinks && c->args > 3 && is_mapped(c, c->args - 1))
        return fsim_refuse(c, "can't be mapped over the batch: the examples share the sinks");
    if (masked && rank_of(c, 3) > 4)
        return fsim_refuse(c, "wants a mask that broadcasts to [B, heads, Sq, Sk]");
    for (int i = 0; i < 3; i++)
        if (rank_of(c, i) != 4)
            return fsim_refuse(c, "wants q[B, heads, Sq, D] and k, v[B, kv_heads, Sk, D] for each example");
    for (int i = 0; i < 3; i++)
        if (!fsim_copy_to_examples(c, i) || !merge(c, i))
            return false;
    if (masked) {
        const fsim_shape mask = example_of(c, 3);
        const bool for_all = mask.rank < 4 || mask.dim[0] == 1;
        if (is_mapped(c, 3) && for_all && q.dim[0] != 1)
            return fsim_refuse(c, "can't be mapped over the batch: an example's mask %s is for all of its %lld",
                               fsim_shape_text(c->build->arena, &mask), (long long)q.dim[0]);
        if (is_mapped(c, 3) ? !fsim_align(c, 3, 4) || !merge(c, 3)
                            : !for_all && (!fsim_copy_to_examples(c, 3) || !merge(c, 3)))
            return false;
    }
    return run_rule(c) && part(c);
}

/* Losses: a mean for each example. */
bool fsim_batch_loss(fsim_call *c)
{
    c->examples = examples_of(c);
    return fsim_batch_broadcast(c);
}

bool fsim_batch_margin(fsim_call *c)
{
    c->examples = examples_of(c);
    return fsim_batch_last(c);
}

/* Logits [N, C, ...] or [C]. */
bool fsim_batch_cross_entropy(fsim_call *c)
{
    const bool rows = rank_of(c, 0) > 1;
    c->examples = examples_of(c);
    for (int i = 0; i < 2; i++)
        if (!fsim_copy_to_examples(c, i) || (rows && rank_of(c, i) > 0 && !merge(c, i)))
            return false;
    if (rank_of(c, 0) < 1)
        return fsim_refuse(c, "wants logits [N, C, ...] or [C] for each example");
    return run_rule(c);
}

/* Collectives along the example's first dimension: the rule skips the batch. */
bool fsim_batch_communicate(fsim_call *c)
{
    c->examples = examples_of(c);
    if (c->list[FSIM_ATTR_SHAPE].present && !batch_lengths(c, FSIM_ATTR_SHAPE, examples_of(c)))
        return false;
    return run_rule(c);
}

bool fsim_map_over_batch(fsim_call *c)
{
    static bool (*const rules[FSIM_OP_COUNT])(fsim_call *) = {
#define FSIM_OP(id, name, class, least, most, outs, flops, instr, special, rule, makes, batch, takes, expr)            \
    [FSIM_OP_##id] = fsim_batch_##batch,
#include "graph/op.def"
#undef FSIM_OP
    };
    bool any = false;
    for (int i = 0; i < c->args; i++)
        any = any || is_mapped(c, i);
    if (!any)
        return run_rule(c);
    c->arg = memcpy(fsim_new(c->build->arena, int, c->args), c->arg, (size_t)c->args * sizeof *c->arg);
    if (!rules[c->op](c))
        return false;
    for (int i = 0; i < c->outs; i++)
        c->build->graph->tensor[c->result[i]].mapped = true;
    return true;
}
