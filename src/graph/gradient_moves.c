/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_moves.c: gradients of operators that move elements: index maps, assemblies, gathers and scatters. */
#include "graph/gradient.h"

#include <string.h>

static const fsim_tensor *arg_of(const fsim_derivation *d, const fsim_record *r, int i)
{
    return &d->build->graph->tensor[r->arg[i]];
}

static fsim_value permute_back(fsim_derivation *d, const fsim_record *r, fsim_op op, const fsim_list *dims,
                               fsim_value g)
{
    fsim_step step;
    if (g.is != FSIM_TENSOR)
        return g;
    g = fsim_derive_whole(d, g, &r->shape, fsim_value_tensor(d, g)->dtype);
    fsim_derive_start(d, &step, op);
    step.call.list[FSIM_ATTR_DIMS] = *dims;
    return fsim_derive_end(d, &step, 1, &g.tensor);
}

fsim_value fsim_gradient_permute(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_list dims = fsim_record_list(r, FSIM_ATTR_DIMS);
    fsim_list back = dims;
    (void)i;
    for (int k = 0; k < dims.count; k++)
        back.at[(dims.at[k] + dims.count) % dims.count] = k;
    return permute_back(d, r, FSIM_OP_PERMUTE, &back, g);
}

fsim_value fsim_gradient_transpose(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    fsim_list dims = fsim_record_list(r, FSIM_ATTR_DIMS);
    (void)i;
    if (!dims.present)
        dims = (fsim_list){.present = true, .count = 2, .at = {-2, -1}};
    return permute_back(d, r, FSIM_OP_TRANSPOSE, &dims, g);
}

fsim_value fsim_gradient_expand(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_shape to = arg_of(d, r, i)->shape;
    return fsim_derive_sum_to(d, g, &r->shape, &to);
}

/* A box out of its argument: zeros around it. */
fsim_value fsim_gradient_slice(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_tensor *x = arg_of(d, r, i);
    const fsim_shape whole = x->shape;
    const int node = (int)(r - d->build->record);
    int64_t stride[FSIM_MAX_RANK], offset = d->build->graph->node[node].arg[0].map.offset - x->offset;
    fsim_list pads = {.present = true, .count = 2 * whole.rank};
    fsim_step step;
    g = fsim_derive_whole(d, g, &r->shape, x->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_row_major(&whole, stride);
    for (int k = 0; k < whole.rank; k++) {
        const int64_t before = offset / stride[k];
        int64_t *pair = &pads.at[2 * (whole.rank - 1 - k)];
        offset %= stride[k];
        pair[0] = before;
        pair[1] = whole.dim[k] - before - r->shape.dim[k];
    }
    fsim_derive_start(d, &step, FSIM_OP_PAD);
    step.call.list[FSIM_ATTR_PADDING] = pads;
    return fsim_derive_end(d, &step, 1, &g.tensor);
}

/* Its own part of what was joined. */
fsim_value fsim_gradient_concat(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_list dims = fsim_record_list(r, FSIM_ATTR_DIMS);
    const fsim_shape x = arg_of(d, r, i)->shape;
    const int dim = (int)((dims.at[0] + x.rank) % x.rank);
    int64_t from = 0;
    fsim_step step;
    if (g.is != FSIM_TENSOR)
        return g;
    g = fsim_derive_whole(d, g, &r->shape, fsim_value_tensor(d, g)->dtype);
    for (int k = 0; k < i; k++)
        from += arg_of(d, r, k)->shape.dim[dim];
    fsim_derive_start(d, &step, FSIM_OP_SLICE);
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {dim}};
    step.call.list[FSIM_ATTR_START] = (fsim_list){.present = true, .count = 1, .at = {from}};
    step.call.list[FSIM_ATTR_SIZE] = (fsim_list){.present = true, .count = 1, .at = {x.dim[dim]}};
    return fsim_derive_end(d, &step, 1, &g.tensor);
}

/* What was added is cut off, what was cut off comes back as zeros. */
fsim_value fsim_gradient_pad(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    fsim_list pads = fsim_record_list(r, FSIM_ATTR_PADDING);
    fsim_step step;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    for (int k = 0; k < pads.count; k++)
        pads.at[k] = -pads.at[k];
    fsim_derive_start(d, &step, FSIM_OP_PAD);
    step.call.list[FSIM_ATTR_PADDING] = pads;
    return fsim_derive_end(d, &step, 1, &g.tensor);
}

/* Rolled back. */
fsim_value fsim_gradient_roll(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    fsim_list by = fsim_record_list(r, FSIM_ATTR_ROLL);
    fsim_step step;
    (void)i;
    if (g.is != FSIM_TENSOR)
        return g;
    g = fsim_derive_whole(d, g, &r->shape, fsim_value_tensor(d, g)->dtype);
    for (int k = 0; k < by.count; k++)
        by.at[k] = -by.at[k];
    fsim_derive_start(d, &step, FSIM_OP_ROLL);
    step.call.list[FSIM_ATTR_ROLL] = by;
    step.call.list[FSIM_ATTR_DIMS] = fsim_record_list(r, FSIM_ATTR_DIMS);
    return fsim_derive_end(d, &step, 1, &g.tensor);
}

/* A scan, forward or from the other end. */
static fsim_value scanned(fsim_derivation *d, const fsim_record *r, fsim_op op, bool back, fsim_value x)
{
    const fsim_op steps[] = {FSIM_OP_FLIP, op, FSIM_OP_FLIP};
    for (int k = !back; k < 3 - !back && x.is == FSIM_TENSOR; k++) {
        fsim_step step;
        fsim_derive_start(d, &step, steps[k]);
        step.call.list[FSIM_ATTR_DIMS] = fsim_record_list(r, FSIM_ATTR_DIMS);
        x = fsim_derive_end(d, &step, 1, &x.tensor);
    }
    return x;
}

/* A running sum from the other end. */
fsim_value fsim_gradient_cumsum(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    return scanned(d, r, FSIM_OP_CUMSUM, true, fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype));
}

/* What a running product is with its first zero left out: where that is, what is before it, and the product. */
typedef struct {
    fsim_value first, before, product;
} skipping;

static skipping skip_zero(fsim_derivation *d, const fsim_record *r)
{
    const fsim_value x = fsim_value_of(r->arg[0]), zero = fsim_derive_binary(d, FSIM_OP_EQ, x, FSIM_ZERO),
                     seen = scanned(d, r, FSIM_OP_CUMSUM, false, fsim_derive_cast(d, zero, arg_of(d, r, 0)->dtype)),
                     one = fsim_derive_binary(d, FSIM_OP_EQ, seen, fsim_constant(1));
    skipping s = {.first = fsim_derive_binary(d, FSIM_OP_LOGICAL_AND, zero, one),
                  .before = fsim_derive_binary(d, FSIM_OP_EQ, seen, FSIM_ZERO)};
    s.product = scanned(d, r, FSIM_OP_CUMPROD, false, fsim_derive_where(d, s.first, fsim_constant(1), x));
    return s;
}

/* Up to the first zero, what is behind an element of the sum of g y, over the element. The zero itself has the products
 * that skip it; what is behind it nothing. */
fsim_value fsim_gradient_cumprod(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    const skipping s = skip_zero(d, r);
    const fsim_value x = fsim_value_of(r->arg[i]), y = fsim_value_of(r->result),
                     own = scanned(d, r, FSIM_OP_CUMSUM, true, fsim_derive_binary(d, FSIM_OP_MUL, g, y)),
                     others = scanned(d, r, FSIM_OP_CUMSUM, true, fsim_derive_binary(d, FSIM_OP_MUL, g, s.product)),
                     behind = fsim_derive_where(d, s.first, others, FSIM_ZERO);
    return fsim_derive_where(d, s.before, fsim_derive_binary(d, FSIM_OP_DIV, own, x), behind);
}

/* The product times what changed of it so far; from the first zero on, that of the others times its tangent. */
fsim_value fsim_tangent_cumprod(fsim_derivation *d, const fsim_record *r, const fsim_value *dot)
{
    const fsim_shape shape = arg_of(d, r, 0)->shape;
    const fsim_value v = fsim_derive_whole(d, dot[0], &shape, arg_of(d, r, 0)->dtype);
    const skipping s = skip_zero(d, r);
    const fsim_value part = fsim_derive_binary(d, FSIM_OP_DIV, v, fsim_value_of(r->arg[0])),
                     own = scanned(d, r, FSIM_OP_CUMSUM, false, fsim_derive_where(d, s.before, part, FSIM_ZERO)),
                     zero = scanned(d, r, FSIM_OP_CUMSUM, false, fsim_derive_where(d, s.first, v, FSIM_ZERO));
    const fsim_value behind = fsim_derive_binary(d, FSIM_OP_MUL, s.product, zero),
                     before = fsim_derive_binary(d, FSIM_OP_MUL, fsim_value_of(r->result), own);
    return fsim_derive_where(d, s.before, before, behind);
}

/* Gathers and scatters. */

/* Zeros of shape x, to whose rows along a dimension g is added where an index names them, some perhaps twice. */
static fsim_value added(fsim_derivation *d, const fsim_shape *x, int64_t dim, fsim_value index, fsim_value g)
{
    fsim_step step;
    const fsim_value zeros =
        g.is == FSIM_TENSOR ? fsim_derive_whole(d, FSIM_ZERO, x, fsim_value_tensor(d, g)->dtype) : FSIM_REFUSAL;
    if (zeros.is == FSIM_REFUSED || index.is != FSIM_TENSOR)
        return FSIM_REFUSAL;
    fsim_derive_start(d, &step, FSIM_OP_INDEX_ADD);
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {dim}};
    const int arg[3] = {zeros.tensor, index.tensor, g.tensor};
    return fsim_derive_end(d, &step, 3, arg);
}

/* x with zeros behind it, up to this shape. */
static fsim_value grown(fsim_derivation *d, fsim_value x, const fsim_shape *to)
{
    fsim_step step;
    fsim_list pads = {.present = true, .count = 2 * to->rank};
    if (x.is != FSIM_TENSOR || fsim_value_tensor(d, x)->elems == fsim_elems(to))
        return x;
    const fsim_shape from = fsim_value_tensor(d, x)->shape;
    for (int k = 0; k < to->rank; k++)
        pads.at[2 * (to->rank - 1 - k) + 1] = to->dim[k] - from.dim[k];
    fsim_derive_start(d, &step, FSIM_OP_PAD);
    step.call.list[FSIM_ATTR_PADDING] = pads;
    return fsim_derive_end(d, &step, 1, &x.tensor);
}

/* Zeros of shape x, to which g is added at an index for each of its elements along a dimension. */
static fsim_value scatter(fsim_derivation *d, const fsim_shape *x, int64_t dim, fsim_value index, fsim_value g)
{
    fsim_step step;
    const fsim_dtype dtype = d->build->graph->tensor[d->towards].dtype;
    if (index.is != FSIM_TENSOR)
        return index;
    const fsim_shape at = fsim_value_tensor(d, index)->shape;
    const int along = (int)((dim + at.rank) % (at.rank ? at.rank : 1));
    fsim_shape reached = at; /* an index may be shorter than x along the other dimensions */
    if (at.rank)
        reached.dim[along] = x->dim[along];
    const fsim_value from = fsim_derive_whole(d, g, &at, dtype),
                     zeros = fsim_derive_whole(d, FSIM_ZERO, &reached, dtype);
    if (from.is == FSIM_REFUSED || zeros.is == FSIM_REFUSED)
        return FSIM_REFUSAL;
    fsim_derive_start(d, &step, FSIM_OP_SCATTER_ADD);
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {dim}};
    const int arg[3] = {zeros.tensor, index.tensor, from.tensor};
    return grown(d, fsim_derive_end(d, &step, 3, arg), x);
}

/* So many elements of x[n] from one on. */
static fsim_value sliced(fsim_derivation *d, fsim_value x, int64_t from, int64_t size)
{
    fsim_step step;
    fsim_derive_start(d, &step, FSIM_OP_SLICE);
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {0}};
    step.call.list[FSIM_ATTR_START] = (fsim_list){.present = true, .count = 1, .at = {from}};
    step.call.list[FSIM_ATTR_SIZE] = (fsim_list){.present = true, .count = 1, .at = {size}};
    return fsim_derive_end(d, &step, 1, &x.tensor);
}

/* How many of n indices each bag has, at least 1: to where the next one begins, the last one to the end. */
static fsim_value length_of(fsim_derivation *d, fsim_value offsets, int64_t n)
{
    const fsim_shape bags = fsim_value_tensor(d, offsets)->shape;
    fsim_value end = fsim_derive_whole(d, fsim_constant((double)n), &bags, fsim_value_tensor(d, offsets)->dtype);
    if (bags.dim[0] > 1) { /* less n, so that zeros may follow */
        const fsim_value next =
            fsim_derive_binary(d, FSIM_OP_SUB, sliced(d, offsets, 1, bags.dim[0] - 1), fsim_constant((double)n));
        end = fsim_derive_binary(d, FSIM_OP_ADD, grown(d, next, &bags), fsim_constant((double)n));
    }
    return fsim_derive_binary(d, FSIM_OP_MAXIMUM, fsim_derive_binary(d, FSIM_OP_SUB, end, offsets), fsim_constant(1));
}

/* The bag that each of n indices is in: how many bags begin at it or before, less one. PyTorch's make_offset2bag. */
static fsim_value bag_of(fsim_derivation *d, fsim_value offsets, int64_t n)
{
    fsim_step step;
    const fsim_list along = {.present = true, .count = 1, .at = {0}};
    const fsim_shape places = {.rank = 1, .dim = {n + 1}}, bags = fsim_value_tensor(d, offsets)->shape;
    const fsim_value begin = fsim_derive_whole(d, fsim_constant(1), &bags, FSIM_I64),
                     begins = added(d, &places, 0, offsets, begin); /* empty bags begin behind the last index */
    if (begins.is != FSIM_TENSOR)
        return begins;
    const fsim_value first = sliced(d, begins, 0, n);
    if (first.is != FSIM_TENSOR)
        return first;
    fsim_derive_start(d, &step, FSIM_OP_CUMSUM);
    step.call.list[FSIM_ATTR_DIMS] = along;
    const fsim_value bag =
        fsim_derive_binary(d, FSIM_OP_SUB, fsim_derive_end(d, &step, 1, &first.tensor), fsim_constant(1));
    return fsim_derive_binary(d, FSIM_OP_MAXIMUM, bag,
                              FSIM_ZERO); /* the first bag begins at 0, whatever the data say */
}

/* Bags of which `offsets` says where they begin: each row of a bag gets the bag's gradient, or its share of that. */
fsim_value fsim_gradient_bags(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_shape x = arg_of(d, r, 1)->shape;
    const int64_t n = arg_of(d, r, 0)->elems;
    const fsim_shape column = {.rank = 2, .dim = {r->shape.dim[0], 1}};
    fsim_step step;
    if (i != 1)
        return FSIM_ZERO;
    if (r->attrs.bag == FSIM_BAG_MAX)
        return fsim_derive_refuse(
            d, r, "which row of a bag is the largest says nobody: it wants index[bags, n] for a gradient");
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, 1)->dtype);
    const fsim_value bag = bag_of(d, fsim_value_of(r->arg[2]), n);
    if (g.is != FSIM_TENSOR || bag.is != FSIM_TENSOR)
        return FSIM_REFUSAL;
    if (r->attrs.bag == FSIM_BAG_MEAN) {
        const fsim_value rows = length_of(d, fsim_value_of(r->arg[2]), n),
                         length = fsim_derive_cast(d, rows, fsim_value_tensor(d, g)->dtype);
        g = fsim_derive_binary(d, FSIM_OP_DIV, g, fsim_derive_view(d, length, &column));
    }
    if (g.is != FSIM_TENSOR)
        return g;
    fsim_derive_start(d, &step, FSIM_OP_EMBEDDING);
    const int arg[2] = {bag.tensor, g.tensor};
    return added(d, &x, 0, fsim_value_of(r->arg[0]), fsim_derive_end(d, &step, 2, arg));
}

/* Rows of a table, of which an index may name some twice: embedding, gather of rows, index_select. */
fsim_value fsim_gradient_gather(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const bool table_first = r->op != FSIM_OP_EMBEDDING;
    const int index = table_first ? 1 : 0;
    const fsim_list dims = fsim_record_list(r, FSIM_ATTR_DIMS);
    const fsim_shape x = arg_of(d, r, i)->shape;
    if (i == index)
        return FSIM_ZERO;
    const fsim_dtype whole = arg_of(d, r, index)->dtype; /* some exports have floats */
    const fsim_value at =
        fsim_derive_cast(d, fsim_value_of(r->arg[index]), fsim_dtype_floating(whole) ? FSIM_I64 : whole);
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (r->op == FSIM_OP_GATHER && dims.present)
        return scatter(d, &x, dims.at[0], at, g);
    if (r->op == FSIM_OP_INDEX_SELECT)
        return added(d, &x, dims.at[0], at, g);
    const fsim_shape line = {.rank = 1, .dim = {arg_of(d, r, index)->elems}};
    fsim_shape rows = x;
    rows.dim[0] = line.dim[0];
    g = fsim_derive_view(d, g, &rows);
    return added(d, &x, 0, fsim_derive_view(d, at, &line), g);
}

fsim_value fsim_derive_hot(fsim_derivation *d, fsim_value index, const fsim_shape *x, int dim)
{
    fsim_step step;
    fsim_shape rows = {.rank = x->rank - 1};
    for (int k = 0; k < rows.rank; k++)
        rows.dim[k] = x->dim[k + (k >= dim)];
    index = fsim_derive_view(d, index, &rows);
    if (index.is != FSIM_TENSOR)
        return index;
    fsim_derive_start(d, &step, FSIM_OP_ONE_HOT);
    step.call.attrs.classes = x->dim[dim];
    step.call.list[FSIM_ATTR_NUM_CLASSES].present = true;
    fsim_value hot = fsim_derive_end(d, &step, 1, &index.tensor);
    if (hot.is == FSIM_TENSOR && dim < x->rank - 1) { /* its last dimension goes to its place */
        fsim_list order = {.present = true, .count = x->rank};
        for (int k = 0; k < x->rank; k++)
            order.at[k] = k == dim ? x->rank - 1 : k - (k > dim);
        fsim_derive_start(d, &step, FSIM_OP_PERMUTE);
        step.call.list[FSIM_ATTR_DIMS] = order;
        hot = fsim_derive_end(d, &step, 1, &hot.tensor);
    }
    return fsim_derive_binary(d, FSIM_OP_GT, hot, FSIM_ZERO);
}

/* One class of each row: the row's gradient where the class's number is the target, which a comparison says. */
fsim_value fsim_gradient_pick(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_shape x = arg_of(d, r, 0)->shape;
    const int dim = x.rank > 1 ? 1 : 0;
    fsim_shape kept = x;
    if (i == 1)
        return FSIM_ZERO;
    kept.dim[dim] = 1;
    if (g.is == FSIM_TENSOR)
        g = fsim_derive_view(d, fsim_derive_whole(d, g, &r->shape, arg_of(d, r, 0)->dtype), &kept);
    return fsim_derive_where(d, fsim_derive_hot(d, fsim_value_of(r->arg[1]), &x, dim), g, FSIM_ZERO);
}

fsim_value fsim_derive_indices(fsim_derivation *d, const fsim_record *r)
{
    const int node = (int)(r - d->build->record);
    fsim_node *n = &d->build->graph->node[node];
    if (n->results == 2)
        return fsim_value_of(n->result[1]);
    const char *name = fsim_printf(d->build->arena, "%s/indices", n->name);
    const int id = fsim_add_tensor(d->build, n->at, name, &r->shape, FSIM_I64, FSIM_MADE);
    if (id < 0)
        return FSIM_REFUSAL;
    d->build->graph->tensor[id].producer = node;
    n->result[n->results++] = id;
    return fsim_value_of(id);
}

/* Each element goes back to where it came from, which the second result says. */
fsim_value fsim_gradient_sort(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_shape x = arg_of(d, r, i)->shape;
    const int64_t dim = d->build->graph->node[r - d->build->record].attrs.dim;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    return scatter(d, &x, dim, fsim_derive_indices(d, r), g);
}

/* Elements or rows that were written or added at an index: x, index, source. */
fsim_value fsim_gradient_scatter(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const bool rows = r->op == FSIM_OP_INDEX_ADD || r->op == FSIM_OP_INDEX_COPY;
    const bool adds = r->op == FSIM_OP_INDEX_ADD || r->op == FSIM_OP_SCATTER_ADD;
    fsim_step step;
    if (i == 1 || (i == 0 && adds))
        return i == 1 ? FSIM_ZERO : g;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    const fsim_shape from = arg_of(d, r, 2)->shape;
    const fsim_value zeros = i == 0 ? fsim_derive_whole(d, FSIM_ZERO, &from, arg_of(d, r, 2)->dtype) : FSIM_ZERO;
    const bool narrow = arg_of(d, r, 1)->shape.rank == 1 && from.rank > 1; /* an index for each row of the source */
    fsim_derive_start(d, &step, i == 0 ? r->op : rows || narrow ? FSIM_OP_INDEX_SELECT : FSIM_OP_GATHER);
    step.call.list[FSIM_ATTR_DIMS] = fsim_record_list(r, FSIM_ATTR_DIMS);
    step.call.attrs.inplace = false;
    const int arg[3] = {g.tensor, r->arg[1], zeros.tensor};
    return fsim_derive_end(d, &step, i == 0 ? 3 : 2, arg);
}

/* Communication: what was gathered is scattered, and the reverse. */
fsim_value fsim_gradient_communicate(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_op back = r->op == FSIM_OP_ALL_GATHER       ? FSIM_OP_REDUCE_SCATTER
                         : r->op == FSIM_OP_REDUCE_SCATTER ? FSIM_OP_ALL_GATHER
                                                           : r->op;
    const fsim_shape x = arg_of(d, r, i)->shape;
    fsim_step step;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_derive_start(d, &step, back);
    step.call.list[FSIM_ATTR_SIZE] = fsim_record_list(r, FSIM_ATTR_SIZE);
    step.call.list[FSIM_ATTR_SHAPE] = (fsim_list){.present = true, .count = x.rank};
    memcpy(step.call.list[FSIM_ATTR_SHAPE].at, x.dim, (size_t)x.rank * sizeof *x.dim);
    return fsim_derive_end(d, &step, 1, &g.tensor);
}
