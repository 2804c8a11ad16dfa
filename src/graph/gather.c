/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c: the rules of assemblies (concat, pad, roll) and of gathers: which element is chosen by range, or by data.
 */
#include "graph/build.h"

#include <string.h>

static const char *text_of(const fsim_call *call, const fsim_shape *s)
{
    return fsim_shape_text(call->build->arena, s);
}

static void read_piece(const fsim_call *call, fsim_access *x, const fsim_tensor *t, const fsim_cut *cut, int cuts)
{
    fsim_cut *own = fsim_new(call->build->arena, fsim_cut, cuts);
    memcpy(own, cut, (size_t)cuts * sizeof *cut);
    x->how = FSIM_READ_PIECE;
    x->cut = own;
    x->cuts = cuts;
    x->map = (fsim_map){.offset = t->offset};
}

bool fsim_rule_concat(fsim_call *call)
{
    fsim_shape out = fsim_arg(call, 0)->shape;
    int64_t stride[FSIM_MAX_RANK], at = 0;
    int dim;
    if (!fsim_one_dim(call, out.rank, &dim))
        return false;
    for (int i = 1; i < call->args; i++) {
        const fsim_shape *s = &fsim_arg(call, i)->shape;
        if (s->rank != out.rank)
            return fsim_refuse(call, "ranks %d and %d differ", out.rank, s->rank);
        for (int d = 0; d < out.rank; d++)
            if (d != dim && s->dim[d] != out.dim[d])
                return fsim_refuse(call, "shapes %s and %s differ outside dimension %d", text_of(call, &out),
                                   text_of(call, s), dim);
        out.dim[dim] += s->dim[dim];
        if (out.dim[dim] > FSIM_MAX_DIM)
            return fsim_refuse(call, "dimension %d grows beyond %lld", dim, (long long)FSIM_MAX_DIM);
    }
    fsim_node *n = out.rank ? fsim_add_node(call, &out, 1) : NULL;
    if (!n)
        return out.rank ? false : fsim_refuse(call, "wants tensors of at least one dimension");
    fsim_row_major(&out, stride);
    for (int i = 0; i < call->args; i++) {
        const fsim_tensor *t = fsim_arg(call, i);
        const int64_t size = t->shape.dim[dim];
        read_piece(call, &n->arg[i], t, &(fsim_cut){stride[dim], out.dim[dim], at, size, size, 0}, 1);
        at += size;
    }
    return true;
}

bool fsim_rule_pad(fsim_call *call)
{
    const fsim_tensor *t = fsim_arg(call, 0);
    fsim_shape out = t->shape;
    fsim_cut cut[FSIM_MAX_RANK];
    int64_t inner = 1, kept = 1;
    int cuts = 0;
    const fsim_list *pads = &call->list[FSIM_ATTR_PADDING];
    if (pads->count % 2 != 0 || pads->count > 2 * out.rank)
        return fsim_refuse(call, "wants 'padding' as pairs of before and after, last dimension first");
    for (int i = 0; i < out.rank; i++) { /* innermost first: a cut's `inner` counts elements of the source */
        const int64_t have = t->shape.dim[out.rank - 1 - i];
        const bool present = i < pads->count / 2;
        const int64_t before = present ? pads->at[2 * i] : 0, after = present ? pads->at[2 * i + 1] : 0;
        if (before > FSIM_MAX_DIM || before < -FSIM_MAX_DIM || after > FSIM_MAX_DIM || after < -FSIM_MAX_DIM)
            return fsim_refuse(call, "padding of %lld and %lld elements", (long long)before, (long long)after);
        const int64_t first = before > 0 ? before : 0, skipped = before < 0 ? -before : 0;
        const int64_t size = have - skipped + (after < 0 ? after : 0);
        out.dim[out.rank - 1 - i] = have + before + after;
        if (before != 0 || after != 0)
            cut[cuts++] = (fsim_cut){inner, have + before + after, first, size > 0 ? size : 0, have, skipped};
        inner *= have;
        kept *= size > 0 ? size : 0;
    }
    fsim_node *n = fsim_add_node(call, &out, 1);
    if (!n)
        return false;
    read_piece(call, &n->arg[0], fsim_arg(call, 0), cut, cuts);
    n->arg[0].distinct = kept;
    return true;
}

/* Each dimension that is rolled, as the two cuts that meet at the seam. Returns their number in *rolled. */
static bool shifts(const fsim_call *call, const fsim_shape *s, fsim_cut (*seam)[2], int *rolled)
{
    const fsim_list *by = &call->list[FSIM_ATTR_ROLL], *dims = &call->list[FSIM_ATTR_DIMS];
    int64_t stride[FSIM_MAX_RANK];
    fsim_row_major(s, stride);
    *rolled = 0;
    for (int i = 0; i < by->count; i++) {
        int d = s->rank ? s->rank - 1 : 0;
        if (dims->present && (i >= dims->count || !fsim_wrap_dim(call, s->rank, dims->at[i], &d)))
            return i < dims->count
                       ? false
                       : fsim_refuse(call, "'roll' has %d entries for %d dimensions", by->count, dims->count);
        if (s->rank == 0 || (!dims->present && i > 0))
            break; /* without `dims`: one roll over all elements in order */
        const int64_t inner = dims->present ? stride[d] : 1, extent = dims->present ? s->dim[d] : fsim_elems(s);
        const int64_t shift = (by->at[i] % extent + extent) % extent;
        if (shift == 0)
            continue;
        seam[*rolled][0] = (fsim_cut){inner, extent, shift, extent - shift, extent, 0};
        seam[(*rolled)++][1] = (fsim_cut){inner, extent, 0, shift, extent, extent - shift};
    }
    return true;
}

static bool check_roll(const fsim_call *call)
{
    const fsim_list *by = &call->list[FSIM_ATTR_ROLL], *dims = &call->list[FSIM_ATTR_DIMS];
    if (by->count > 0 && (dims->present ? by->count == dims->count : by->count == 1))
        return true;
    return dims->present ? fsim_refuse(call, "'roll' has %d entries for %d dimensions", by->count, dims->count)
                         : fsim_refuse(call, "'roll' has %d entries: wants a 'dim' for each", by->count);
}

bool fsim_rule_roll(fsim_call *call)
{
    const fsim_tensor t = *fsim_arg(call, 0);
    fsim_cut seam[FSIM_MAX_RANK][2], cut[FSIM_MAX_RANK];
    int rolled;
    if (call->list[FSIM_ATTR_ROLL].count > FSIM_MAX_RANK)
        return fsim_refuse(call, "'roll' has %d entries; at most %d", call->list[FSIM_ATTR_ROLL].count, FSIM_MAX_RANK);
    if (!check_roll(call) || !shifts(call, &t.shape, seam, &rolled))
        return false;
    fsim_node *n = fsim_add_node(call, &t.shape, 1);
    if (!n)
        return false;
    const fsim_access whole = n->arg[0];
    n->args = 1 << rolled;
    n->arg = fsim_new(call->build->arena, fsim_access, n->args);
    for (int i = 0; i < n->args; i++) { /* one box for each combination of sides of the seams */
        for (int k = 0; k < rolled; k++)
            cut[k] = seam[k][i >> k & 1];
        n->arg[i] = whole;
        read_piece(call, &n->arg[i], &t, cut, rolled);
    }
    return true;
}

/* Gathers: rows of a table at indices that are data. */

static bool gathered(fsim_call *call, int table, int index)
{
    const fsim_tensor *t = fsim_arg(call, table), *at = fsim_arg(call, index);
    fsim_shape out = at->shape;
    if (t->shape.rank < 1 || at->shape.rank + t->shape.rank - 1 > FSIM_MAX_RANK)
        return fsim_refuse(call, "cannot take rows of %s at %s", text_of(call, &t->shape), text_of(call, &at->shape));
    if (at->dtype == FSIM_BOOL || (fsim_dtype_floating(at->dtype) && at->dtype != FSIM_F32))
        return fsim_refuse(call, "the index '%s' is %s; wants integers", at->name, fsim_dtype_names[at->dtype]);
    if (at->dtype == FSIM_F32) /* files that were traced have one dtype for all tensors */
        fsim_warning(call->build->diag, call->at,
                     "the index '%s' is f32, which PyTorch refuses: taken as integers of 4 B", at->name);
    int64_t run = 1;
    for (int d = 1; d < t->shape.rank; d++) {
        out.dim[out.rank++] = t->shape.dim[d];
        run *= t->shape.dim[d];
    }
    const int64_t rows = at->elems, offset = at->offset, have = t->elems;
    fsim_node *n = fsim_add_node(call, &out, 1);
    if (!n)
        return false;
    n->arg[table].how = FSIM_READ_INDIRECT;
    n->arg[table].rows = rows;
    n->arg[table].run = run;
    n->arg[table].distinct = rows * run < have ? rows * run : have;
    n->arg[table].map.offset = fsim_arg(call, table)->offset;
    fsim_map_push(&n->arg[table].map, rows, 0);
    fsim_map_push(&n->arg[table].map, run, 1);
    n->arg[table].map.split = n->arg[table].map.modes;
    n->arg[table].any = (fsim_mode){have / run, run};
    fsim_map m = {.offset = offset};
    fsim_map_push(&m, rows, 1);
    fsim_map_push(&m, run, 0);
    m.split = m.modes;
    n->arg[index].map = fsim_map_simplify(m);
    return true;
}

/* The element of x at each point of `out`, whose dimension `dim` data choose: index[out] along it. */
static bool chosen_along(fsim_call *call, int dim, const fsim_shape *out, const fsim_map *index, int64_t run)
{
    const fsim_tensor x = *fsim_arg(call, 0);
    int64_t stride[FSIM_MAX_RANK], elems = fsim_elems(out);
    fsim_row_major(&x.shape, stride);
    fsim_node *n = fsim_add_node(call, out, 1);
    if (!n)
        return false;
    fsim_access *from = &n->arg[0];
    from->how = FSIM_READ_INDIRECT;
    from->rows = elems / run;
    from->run = run;
    from->distinct = elems < x.elems ? elems : x.elems;
    from->map = (fsim_map){.offset = x.offset};
    for (int d = 0; d < out->rank; d++)
        fsim_map_push(&from->map, out->dim[d], d == dim ? 0 : stride[d]);
    from->map.split = from->map.modes;
    from->map = fsim_map_simplify(from->map);
    from->any = (fsim_mode){x.shape.dim[dim], stride[dim]};
    n->arg[1].map = fsim_map_simplify(*index);
    return true;
}

static bool is_index(const fsim_call *call, int i)
{
    const fsim_tensor *at = fsim_arg(call, i);
    return (at->dtype != FSIM_BOOL && !fsim_dtype_floating(at->dtype)) ||
           fsim_refuse(call, "the index '%s' is %s; wants integers", at->name, fsim_dtype_names[at->dtype]);
}

/* torch.gather: an index for each element of the result. */
static bool gathered_along(fsim_call *call)
{
    const fsim_shape x = fsim_arg(call, 0)->shape, out = fsim_arg(call, 1)->shape;
    int dim;
    if (!fsim_one_dim(call, x.rank, &dim) || !is_index(call, 1))
        return false;
    bool fits = x.rank == out.rank && x.rank > 0;
    for (int d = 0; d < x.rank && fits; d++)
        fits = d == dim || out.dim[d] <= x.dim[d];
    if (!fits)
        return fsim_refuse(call,
                           "with 'dim' wants an index of x's rank, not longer than x outside of 'dim'; found %s for %s",
                           text_of(call, &out), text_of(call, &x));
    fsim_map m = fsim_identity(fsim_elems(&out));
    m.offset = fsim_arg(call, 1)->offset;
    return chosen_along(call, dim, &out, &m, 1);
}

bool fsim_rule_index_select(fsim_call *call)
{
    const fsim_tensor *x = fsim_arg(call, 0), *at = fsim_arg(call, 1);
    fsim_shape out = x->shape;
    int dim;
    if (at->shape.rank > 1 || out.rank < 1)
        return fsim_refuse(call, "wants x of at least one dimension and index[n]; found %s and %s", text_of(call, &out),
                           text_of(call, &at->shape));
    if (!fsim_one_dim(call, out.rank, &dim) || !is_index(call, 1))
        return false;
    out.dim[dim] = at->elems;
    int64_t inner = 1;
    for (int d = dim + 1; d < out.rank; d++)
        inner *= out.dim[d];
    fsim_map m = {.offset = at->offset};
    fsim_map_push(&m, fsim_elems(&out) / (at->elems * inner), 0);
    fsim_map_push(&m, at->elems, 1);
    fsim_map_push(&m, inner, 0);
    m.split = m.modes;
    return chosen_along(call, dim, &out, &m, inner);
}

bool fsim_rule_gather(fsim_call *call)
{
    return call->list[FSIM_ATTR_DIMS].present ? gathered_along(call) : gathered(call, 0, 1);
}
bool fsim_rule_embedding(fsim_call *call) { return gathered(call, 1, 0); }

/* Bags of one length: rows of a table, and a reduction over those of a bag. */
static bool even_bags(fsim_call *call)
{
    static const fsim_op join[] = {
        [FSIM_BAG_SUM] = FSIM_OP_SUM, [FSIM_BAG_MEAN] = FSIM_OP_MEAN, [FSIM_BAG_MAX] = FSIM_OP_MAX};
    fsim_step step;
    const int rows = fsim_emit(call, FSIM_OP_EMBEDDING, "rows", 2, call->arg);
    fsim_step_start(&step, call, join[call->attrs.bag], NULL);
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {1}};
    call->result[0] = fsim_step_end(&step, 1, &rows);
    return call->result[0] >= 0;
}

/* torch.nn.functional.embedding_bag: as many rows are read as there are indices; data say which, and where a bag ends.
 */
bool fsim_rule_embedding_bag(fsim_call *call)
{
    const fsim_shape at = fsim_arg(call, 0)->shape, t = fsim_arg(call, 1)->shape;
    const bool even = at.rank == 2 && call->args == 2;
    if (t.rank != 2 || !(even || (at.rank == 1 && call->args == 3 && fsim_arg(call, 2)->shape.rank == 1)))
        return fsim_refuse(call,
                           "wants index[n], table[rows, E] and offsets[bags], or index[bags, n] and table[rows, E]");
    if (even)
        return even_bags(call);
    if (!is_index(call, 0) || !is_index(call, 2))
        return false;
    const int64_t n = at.dim[0], bags = fsim_arg(call, 2)->elems;
    const fsim_shape out = {.rank = 2, .dim = {bags, t.dim[1]}};
    if ((double)n * (double)t.dim[1] > (double)FSIM_MAX_ELEMS)
        return fsim_refuse(call, "reads %g elements; at most %lld", (double)n * (double)t.dim[1],
                           (long long)FSIM_MAX_ELEMS);
    fsim_node *node = fsim_add_node(call, &out, n > bags ? (n + bags - 1) / bags : 1);
    if (!node)
        return false;
    for (int i = 0; i < 3; i++) {
        node->arg[i].how = FSIM_READ_ONCE;
        node->arg[i].map.offset = fsim_arg(call, i)->offset;
    }
    fsim_access *rows = &node->arg[1];
    rows->how = FSIM_READ_INDIRECT;
    rows->rows = n;
    rows->run = t.dim[1];
    rows->distinct = n < t.dim[0] ? n * t.dim[1] : t.dim[0] * t.dim[1];
    rows->any = (fsim_mode){t.dim[0], t.dim[1]};
    return true;
}

/* One class of x[N, C, ...] for each target[N, ...]. */
bool fsim_rule_pick(fsim_call *call)
{
    const fsim_tensor *x = fsim_arg(call, 0), *target = fsim_arg(call, 1);
    const fsim_shape out = target->shape;
    const int64_t rows = target->elems;
    if (x->elems % rows != 0)
        return fsim_refuse(call, "target %s does not match %s", text_of(call, &out), text_of(call, &x->shape));
    const int64_t classes = x->elems / rows,
                  inner = x->shape.rank && rows % x->shape.dim[0] == 0 ? rows / x->shape.dim[0] : 1; /* x[N, C, ...] */
    fsim_node *n = fsim_add_node(call, &out, 1);
    if (!n)
        return false;
    n->arg[0].how = FSIM_READ_INDIRECT;
    n->arg[0].rows = rows;
    n->arg[0].run = 1;
    n->arg[0].distinct = rows;
    n->arg[0].any = (fsim_mode){classes, inner};
    n->arg[0].map.offset = fsim_arg(call, 0)->offset;
    fsim_map_push(&n->arg[0].map, rows / inner, classes * inner);
    fsim_map_push(&n->arg[0].map, inner, 1);
    n->arg[0].map.split = n->arg[0].map.modes;
    fsim_read_broadcast(call, n, 1, &out);
    return true;
}

/* An index for each element of the source, as torch.scatter has it; or one for each row of it along dim. */
static bool check_scatter(const fsim_call *call, int dim)
{
    const fsim_shape *x = &fsim_arg(call, 0)->shape, *at = &fsim_arg(call, 1)->shape, *from = &fsim_arg(call, 2)->shape;
    bool fits = x->rank == from->rank, rows = fits && x->rank > 0 && at->rank == 1 && at->dim[0] == from->dim[dim];
    for (int d = 0; d < x->rank && fits; d++) {
        rows = rows && (d == dim || x->dim[d] == from->dim[d]);
        fits = at->rank == x->rank && at->dim[d] <= from->dim[d] && (d == dim || at->dim[d] <= x->dim[d]);
    }
    return is_index(call, 1) &&
           (fits || rows ||
            fsim_refuse(call,
                        "wants an index for each element of the source, or for each row of it; found %s, %s and %s",
                        text_of(call, x), text_of(call, at), text_of(call, from)));
}

bool fsim_rule_scatter(fsim_call *call)
{
    const fsim_shape out = fsim_arg(call, 0)->shape;
    int dim;
    return fsim_keep_dim(call, &dim) && check_scatter(call, dim) && fsim_add_whole(call, &out);
}
