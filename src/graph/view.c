/* SPDX-License-Identifier: Apache-2.0 */
/* view.c: PyTorch's other ways to say a reshape (flatten, unflatten, squeeze, unsqueeze) or a slice with a reshape
 * (select), and stack, which is a concatenation of reshapes. */
#include "graph/build.h"

#include <string.h>

static void add_dim(fsim_shape *s, int64_t length) { s->dim[s->rank++] = length; }

/* A number of no dimensions becomes a list of one. */
static bool flattened(const fsim_call *c, const fsim_shape *x, fsim_shape *out)
{
    int first = 0, last = 0;
    int64_t joined = 1;
    if (!fsim_wrap_dim(c, x->rank, c->attrs.start_dim, &first) || !fsim_wrap_dim(c, x->rank, c->attrs.end_dim, &last))
        return false;
    if (first > last)
        return fsim_refuse(c, "'start_dim' %d comes after 'end_dim' %d", first, last);
    for (int d = 0; d < first; d++)
        add_dim(out, x->dim[d]);
    for (int d = first; d <= last && d < x->rank; d++)
        joined *= x->dim[d];
    add_dim(out, joined);
    for (int d = last + 1; d < x->rank; d++)
        add_dim(out, x->dim[d]);
    return true;
}

static bool unflattened(const fsim_call *c, const fsim_shape *x, fsim_shape *out)
{
    const fsim_list *shape = &c->list[FSIM_ATTR_SHAPE];
    int dim, guess = -1;
    double known = 1;
    if (x->rank == 0)
        return fsim_refuse(c, "wants a tensor of at least one dimension");
    if (!fsim_one_dim(c, x->rank, &dim))
        return false;
    if (x->rank - 1 + shape->count > FSIM_MAX_RANK)
        return fsim_refuse(c, "rank %d is more than %d", x->rank - 1 + shape->count, FSIM_MAX_RANK);
    for (int i = 0; i < shape->count; i++) {
        if (shape->at[i] == -1 && guess >= 0)
            return fsim_refuse(c, "only one dimension may be -1");
        if (shape->at[i] == -1)
            guess = i;
        else
            known *= (double)shape->at[i];
    }
    const double length = (double)x->dim[dim];
    if (known < 1 || known > length || x->dim[dim] % (int64_t)known != 0 || (guess < 0 && known != length))
        return fsim_refuse(c, "'shape' does not hold the %lld elements of dimension %d", (long long)x->dim[dim], dim);
    for (int d = 0; d < dim; d++)
        add_dim(out, x->dim[d]);
    for (int i = 0; i < shape->count; i++)
        add_dim(out, i == guess ? x->dim[dim] / (int64_t)known : shape->at[i]);
    for (int d = dim + 1; d < x->rank; d++)
        add_dim(out, x->dim[d]);
    return true;
}

/* A dimension that is named and has another length than 1 stays, as in PyTorch. */
static bool squeezed(const fsim_call *c, const fsim_shape *x, fsim_shape *out)
{
    const fsim_list *l = &c->list[FSIM_ATTR_DIMS];
    int named = 0;
    for (int i = 0; i < l->count; i++) {
        int d;
        if (!fsim_wrap_dim(c, x->rank, l->at[i], &d))
            return false;
        if (named & 1 << d)
            return fsim_refuse(c, "'dim' names dimension %d twice", d);
        named |= 1 << d;
    }
    for (int d = 0; d < x->rank; d++)
        if (x->dim[d] != 1 || (l->present && !(named & 1 << d)))
            add_dim(out, x->dim[d]);
    return true;
}

/* x with a dimension of length 1 that has number dim in the result. */
static fsim_shape with_dim(const fsim_shape *x, int dim)
{
    fsim_shape out = {0};
    for (int d = 0; d <= x->rank; d++) {
        if (d == dim)
            add_dim(&out, 1);
        if (d < x->rank)
            add_dim(&out, x->dim[d]);
    }
    return out;
}

/* The dimension of the result that is new. */
static bool new_dim(const fsim_call *c, const fsim_shape *x, int *dim)
{
    if (x->rank == FSIM_MAX_RANK)
        return fsim_refuse(c, "rank %d is more than %d", x->rank + 1, FSIM_MAX_RANK);
    return fsim_one_dim(c, x->rank + 1, dim);
}

static bool unsqueezed(const fsim_call *c, const fsim_shape *x, fsim_shape *out)
{
    int dim;
    if (!new_dim(c, x, &dim))
        return false;
    *out = with_dim(x, dim);
    return true;
}

bool fsim_lower_view(fsim_call *c, const fsim_shape *x)
{
    fsim_list *shape = &c->list[FSIM_ATTR_SHAPE];
    fsim_shape out = {0};
    const bool ok = c->op == FSIM_OP_FLATTEN     ? flattened(c, x, &out)
                    : c->op == FSIM_OP_UNFLATTEN ? unflattened(c, x, &out)
                    : c->op == FSIM_OP_SQUEEZE   ? squeezed(c, x, &out)
                                                 : unsqueezed(c, x, &out);
    *shape = (fsim_list){.present = true, .count = out.rank};
    memcpy(shape->at, out.dim, (size_t)out.rank * sizeof *out.dim);
    c->op = FSIM_OP_RESHAPE;
    return ok;
}

bool fsim_rule_view(fsim_call *c)
{
    const fsim_shape x = fsim_arg(c, 0)->shape;
    return fsim_lower_view(c, &x) && fsim_rule_reshape(c);
}

bool fsim_rule_select(fsim_call *c)
{
    const fsim_shape x = fsim_arg(c, 0)->shape;
    const int64_t index = c->attrs.index;
    fsim_shape out = {0};
    fsim_step step;
    int dim;
    if (x.rank == 0)
        return fsim_refuse(c, "wants a tensor of at least one dimension");
    if (!fsim_one_dim(c, x.rank, &dim))
        return false;
    if (index < -x.dim[dim] || index >= x.dim[dim])
        return fsim_refuse(c, "index %lld is out of range for dimension %d, which has %lld", (long long)index, dim,
                           (long long)x.dim[dim]);
    for (int d = 0; d < x.rank; d++)
        if (d != dim)
            add_dim(&out, x.dim[d]);
    fsim_step_start(&step, c, FSIM_OP_SLICE, "slice");
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {dim}};
    step.call.list[FSIM_ATTR_START] = (fsim_list){.present = true, .count = 1, .at = {index}};
    step.call.list[FSIM_ATTR_SIZE] = (fsim_list){.present = true, .count = 1, .at = {1}};
    const int slice = fsim_step_end(&step, 1, c->arg);
    c->result[0] = slice < 0 ? -1 : fsim_add_view(c->build, c->at, c->out[0], &out, slice, 0);
    return c->result[0] >= 0;
}

bool fsim_rule_stack(fsim_call *c)
{
    const fsim_shape first = fsim_arg(c, 0)->shape;
    int dim;
    if (!new_dim(c, &first, &dim))
        return false;
    const fsim_shape wide = with_dim(&first, dim);
    int *views = fsim_new(c->build->arena, int, c->args);
    for (int i = 0; i < c->args; i++) {
        const fsim_tensor t = *fsim_arg(c, i);
        if (t.shape.rank != first.rank || memcmp(t.shape.dim, first.dim, (size_t)first.rank * sizeof *first.dim) != 0)
            return fsim_refuse(c, "shapes %s and %s differ", fsim_shape_text(c->build->arena, &first),
                               fsim_shape_text(c->build->arena, &t.shape));
        const char *name = fsim_printf(c->build->arena, "%s/%d", c->out[0], i);
        if ((views[i] = fsim_add_view(c->build, c->at, name, &wide, c->arg[i], 0)) < 0)
            return false;
    }
    c->arg = views;
    c->list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .whole = true, .count = 1, .at = {dim}};
    c->op = FSIM_OP_CONCAT;
    return fsim_rule_concat(c);
}

/* A step with a list of lengths or dimensions: expand or permute. */
static int listed(fsim_call *c, fsim_op op, const char *name, int x, fsim_attr attr, const fsim_shape *list)
{
    fsim_step step;
    fsim_step_start(&step, c, op, name);
    step.call.list[attr] = (fsim_list){.present = true, .count = list->rank};
    memcpy(step.call.list[attr].at, list->dim, (size_t)list->rank * sizeof *list->dim);
    return fsim_step_end(&step, 1, &x);
}

static int seen_as(fsim_call *c, const char *step, int x, const fsim_shape *s)
{
    const char *name = step ? fsim_printf(c->build->arena, "%s/%s", c->out[0], step) : c->out[0];
    return x < 0 ? -1 : fsim_add_view(c->build, c->at, name, s, x, 0);
}

/* Each element `repeats` times, side by side along `dim`. */
bool fsim_rule_repeat_interleave(fsim_call *c)
{
    const fsim_shape x = fsim_arg(c, 0)->shape;
    const fsim_list *repeats = &c->list[FSIM_ATTR_REPEATS];
    int dim;
    if (repeats->count != 1)
        return fsim_refuse(c, "'repeats' has %d entries; wants one number for all elements", repeats->count);
    if (x.rank < 1 || x.rank >= FSIM_MAX_RANK)
        return fsim_refuse(c, "wants 1 to %d dimensions", FSIM_MAX_RANK - 1);
    if (!fsim_one_dim(c, x.rank, &dim))
        return false;
    fsim_shape apart = {0}, wide, out = x;
    for (int d = 0; d < x.rank; d++) {
        add_dim(&apart, x.dim[d]);
        if (d == dim)
            add_dim(&apart, 1);
    }
    wide = apart;
    wide.dim[dim + 1] = repeats->at[0];
    out.dim[dim] = x.dim[dim] * repeats->at[0];
    const int each = listed(c, FSIM_OP_EXPAND, "each", seen_as(c, "apart", c->arg[0], &apart), FSIM_ATTR_SHAPE, &wide);
    c->result[0] = seen_as(c, NULL, each, &out);
    return c->result[0] >= 0;
}

/* x[N, C r r, H, W] as [N, C, H r, W r]: Shi et al., sub-pixel convolution, 2016. */
bool fsim_rule_pixel_shuffle(fsim_call *c)
{
    const fsim_shape x = fsim_arg(c, 0)->shape;
    const int64_t r = c->attrs.upscale;
    if (x.rank != 4 || x.dim[1] % (r * r) != 0)
        return fsim_refuse(c, "wants x[N, C, H, W] with C a multiple of %lld; found %s", (long long)(r * r),
                           fsim_shape_text(c->build->arena, &x));
    const int64_t n = x.dim[0], channels = x.dim[1] / (r * r), h = x.dim[2], w = x.dim[3];
    const fsim_shape six = {.rank = 6, .dim = {n, channels, r, r, h, w}},
                     order = {.rank = 6, .dim = {0, 1, 4, 2, 5, 3}},
                     out = {.rank = 4, .dim = {n, channels, h * r, w * r}};
    const int moved = listed(c, FSIM_OP_PERMUTE, "pixels", seen_as(c, "six", c->arg[0], &six), FSIM_ATTR_DIMS, &order);
    c->result[0] = seen_as(c, NULL, moved, &out);
    return c->result[0] >= 0;
}
