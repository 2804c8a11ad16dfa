/* SPDX-License-Identifier: Apache-2.0 */
/* parts_simple.c: parts of operators that multiply no matrices. */
#include "import/torch/parts.h"

#include <stdlib.h>
#include <string.h>

bool fsim_part_of_none(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    (void)w;
    return !fsim_part_the_input(p);
}

bool fsim_part_of_one(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    return fsim_part_put_tensor(w, "self", fsim_part_the_input(p));
}

/* Two slices along a dimension. */
bool fsim_part_halves(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const int64_t dim = fsim_part_number(fsim_part_arg(fsim_part_part(p, "slice", 0), "dim"));
    if (dim == INT64_MIN || !fsim_part_of_one(p, w))
        return false;
    fsim_part_put(w, "dim", FSIM_TORCH_INT)->integer = dim;
    return true;
}

/* (place + length - shift) mod length, along each dimension that is rolled. */
bool fsim_part_rolled(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    int64_t shift[FSIM_MAX_RANK], dim[FSIM_MAX_RANK];
    int count = 0;
    for (const fsim_torch_node *s; (s = fsim_part_part(p, "index_select", count)) && count < FSIM_MAX_RANK; count++) {
        const int64_t length = fsim_part_number(fsim_part_arg(fsim_part_part(p, "fmod", count), "other")),
                      start = fsim_part_number(fsim_part_arg(fsim_part_part(p, "add", count), "other"));
        dim[count] = fsim_part_number(fsim_part_arg(s, "dim"));
        if (dim[count] == INT64_MIN || length < 1 || start < 0 || start > length)
            return false;
        shift[count] = length - start;
    }
    if (count == 0 || !fsim_part_of_one(p, w))
        return false;
    fsim_part_put_ints(w, "shifts", count, shift);
    fsim_part_put_ints(w, "dims", count, dim);
    return true;
}

/* By reflection, or the nearest element: as many in front as behind, which costs what other splits do. */
bool fsim_part_padded(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_value *x = fsim_part_known(p, fsim_part_the_input(p));
    const fsim_torch_tensor *y = fsim_part_described(p, p->result->text);
    int64_t pad[2 * FSIM_MAX_RANK];
    if (!x || x->shape.rank != y->rank)
        return false;
    for (int i = 0; i < y->rank; i++) {
        const int d = y->rank - 1 - i;
        if (y->dim[d].expression || y->dim[d].value < 0 || y->dim[d].value > FSIM_MAX_DIM)
            return false;
        const int64_t more = y->dim[d].value - x->shape.dim[d];
        pad[2 * i] = more / 2;
        pad[2 * i + 1] = more - more / 2;
    }
    if (!fsim_part_of_one(p, w))
        return false;
    fsim_part_put_ints(w, "pad", 2 * y->rank, pad);
    return true;
}

/* Places of windows and of elements in them, along both axes; padded before, or behind, on the way back. */
bool fsim_part_windows(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    int64_t kernel[2], stride[2], dilation[2], padding[2];
    const fsim_torch_node *pads = fsim_part_part(p, "constant_pad_nd", 0);
    const fsim_torch_arg *pad = fsim_part_arg(pads, "pad");
    for (int i = 0; i < 2; i++) {
        const fsim_torch_node *place = fsim_part_part(p, "arange", 2 * i),
                              *element = fsim_part_part(p, "arange", 2 * i + 1);
        const int64_t reach = fsim_part_number(fsim_part_arg(element, "end")),
                      apart = fsim_part_number(fsim_part_arg(element, "step")),
                      step = fsim_part_number(fsim_part_arg(place, "step"));
        dilation[i] = apart < 1 ? 1 : apart;
        stride[i] = step < 1 ? 1 : step;
        if (reach < 1)
            return false;
        kernel[i] = (reach - 1) / dilation[i] + 1;
        padding[i] = !pads ? 0 : pad && pad->count == 4 ? fsim_part_number(&pad->item[2 - 2 * i]) : INT64_MIN;
        if (padding[i] < -FSIM_MAX_DIM || padding[i] > FSIM_MAX_DIM)
            return false;
        padding[i] = llabs(padding[i]);
    }
    if (!fsim_part_of_one(p, w))
        return false;
    fsim_part_put_ints(w, "kernel_size", 2, kernel);
    fsim_part_put_ints(w, "dilation", 2, dilation);
    fsim_part_put_ints(w, "padding", 2, padding);
    fsim_part_put_ints(w, "stride", 2, stride);
    return true;
}

bool fsim_part_windows_back(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_tensor *y = fsim_part_described(p, p->result->text);
    int64_t size[2];
    for (int i = 0; i < 2; i++) {
        if (y->rank != 4 || y->dim[2 + i].expression)
            return false;
        size[i] = y->dim[2 + i].value;
    }
    if (!fsim_part_windows(p, w))
        return false;
    fsim_part_put_ints(w, "output_size", 2, size);
    return true;
}

/* The root of a sum of powers. */
bool fsim_part_power_sum(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_node *power = fsim_part_part(p, "pow", 0), *sum = fsim_part_part(p, "sum", 0);
    const fsim_torch_arg *exponent = fsim_part_arg(power, "exponent"), *dim = fsim_part_arg(sum, "dim"),
                         *keep = fsim_part_arg(sum, "keepdim");
    if (!power || !sum || !exponent || (exponent->kind != FSIM_TORCH_INT && exponent->kind != FSIM_TORCH_FLOAT))
        return false;
    if (!fsim_part_of_one(p, w))
        return false;
    fsim_torch_arg *at = fsim_part_put(w, "ord", exponent->kind);
    at->integer = exponent->integer;
    at->number = exponent->number;
    if (dim) {
        *fsim_part_put(w, "dim", FSIM_TORCH_LIST) = *dim;
        w->n->in[w->n->ins - 1].name = "dim";
    }
    if (keep) {
        *fsim_part_put(w, "keepdim", FSIM_TORCH_BOOL) = *keep;
        w->n->in[w->n->ins - 1].name = "keepdim";
    }
    return true;
}

/* v * (g / the norm of v), whose sum is over all dimensions but one */
bool fsim_part_weight_norm(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_node *power = fsim_part_part(p, "pow", 0), *quotient = fsim_part_part(p, "div", 0);
    const fsim_torch_arg *dim = fsim_part_arg(fsim_part_part(p, "sum", 0), "dim");
    if (!power || !quotient || !dim || dim->kind != FSIM_TORCH_LIST ||
        !fsim_part_put_tensor(w, "v", fsim_part_from_outside(p, fsim_part_arg(power, "self"))) ||
        !fsim_part_put_tensor(w, "g", fsim_part_from_outside(p, fsim_part_arg(quotient, "self"))))
        return false;
    int64_t left = (int64_t)dim->count * (dim->count + 1) / 2;
    for (int i = 0; i < dim->count; i++) {
        const int64_t at = fsim_part_number(&dim->item[i]);
        if (at < 0 || at >= FSIM_MAX_RANK)
            return false;
        left -= at;
    }
    fsim_part_put(w, "dim", FSIM_TORCH_INT)->integer = left;
    return left >= 0 && left <= dim->count;
}

/* Not any of those that are not. */
bool fsim_part_none_not(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_node *any = fsim_part_part(p, "any", 0);
    const fsim_torch_arg *dim = fsim_part_arg(any, "dim"), *keep = fsim_part_arg(any, "keepdim");
    if (!any || !fsim_part_of_one(p, w))
        return false;
    if (dim)
        *fsim_part_put(w, "dim", FSIM_TORCH_INT) = *dim;
    if (keep)
        *fsim_part_put(w, "keepdim", FSIM_TORCH_BOOL) = *keep;
    return true;
}

/* A number that a part fills a tensor without dimensions with, under that name; else the tensor from outside. */
static bool put_number_or_tensor(const fsim_torch_parts *p, const fsim_part_writer *w, const char *name,
                                 const fsim_torch_arg *a)
{
    const fsim_torch_node *n = a && a->kind == FSIM_TORCH_TENSOR ? fsim_part_maker(p, a->text) : NULL;
    const fsim_torch_arg *value = n && fsim_part_is_op(n, "scalar_tensor") ? fsim_part_arg(n, "s") : NULL;
    if (n && fsim_part_is_op(n, "full"))
        value = fsim_part_arg(n, "fill_value");
    if (!value)
        return fsim_part_put_tensor(w, name, fsim_part_from_outside(p, a));
    *fsim_part_put(w, name, value->kind) = *value;
    w->n->in[w->n->ins - 1].name = name;
    return true;
}

bool fsim_part_filled(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_node *n = fsim_part_part(p, "where", 0);
    return n && fsim_part_put_tensor(w, "self", fsim_part_from_outside(p, fsim_part_arg(n, "other"))) &&
           fsim_part_put_tensor(w, "mask", fsim_part_from_outside(p, fsim_part_arg(n, "condition"))) &&
           put_number_or_tensor(p, w, "value", fsim_part_arg(n, "self"));
}

bool fsim_part_chosen(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_node *n = fsim_part_part(p, "where", 0);
    return n && fsim_part_put_tensor(w, "condition", fsim_part_from_outside(p, fsim_part_arg(n, "condition"))) &&
           put_number_or_tensor(p, w, "self", fsim_part_arg(n, "self")) &&
           put_number_or_tensor(p, w, "other", fsim_part_arg(n, "other"));
}

/* Two tensors, in the order in which they are read. */
bool fsim_part_of_two(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const char *in[2];
    const bool two = strncmp(p->first->origin_target, "aten.cdist.", 11) == 0; /* as its schema calls them */
    return fsim_part_inputs(p, 2, in) == 2 && fsim_part_put_tensor(w, two ? "x1" : "self", in[0]) &&
           fsim_part_put_tensor(w, two ? "x2" : "other", in[1]);
}

/* What a random number keeps, and scales. */
bool fsim_part_dropped(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_arg *keep = fsim_part_arg(fsim_part_part(p, "bernoulli", 0), "p");
    if (!keep || keep->kind != FSIM_TORCH_FLOAT || !fsim_part_of_one(p, w))
        return false;
    fsim_part_put(w, "p", FSIM_TORCH_FLOAT)->number = 1 - keep->number;
    fsim_part_put(w, "train", FSIM_TORCH_BOOL)->integer = 1;
    return true;
}

/* A loss of two tensors: of each element, their sum or their mean. */
bool fsim_part_compared(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const char *in[2];
    if (fsim_part_inputs(p, 2, in) != 2 || !fsim_part_put_tensor(w, "self", in[0]) ||
        !fsim_part_put_tensor(w, "target", in[1]))
        return false;
    fsim_part_put(w, "reduction", FSIM_TORCH_INT)->integer = fsim_part_part(p, "mean", 0)  ? 1
                                                             : fsim_part_part(p, "sum", 0) ? 2
                                                                                           : 0;
    return true;
}

bool fsim_part_gelu(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    if (!fsim_part_of_one(p, w))
        return false;
    if (fsim_part_part(p, "tanh", 0))
        fsim_part_put(w, "approximate", FSIM_TORCH_TEXT)->text = "tanh";
    return true;
}

/* Norms: the input is what the parts read first; the weight and the bias, those of the last product and the last sum
 * with a tensor from outside. */

static const char *last_factor(const fsim_torch_parts *p, const char *op, const char *but)
{
    const char *found = NULL;
    const fsim_torch_node *n;
    for (int i = 0; (n = fsim_part_part(p, op, i)); i++)
        for (int k = 0; k < 2; k++) {
            const char *from = fsim_part_from_outside(p, fsim_part_arg(n, k ? "other" : "self"));
            found = from && strcmp(from, but) != 0 ? from : found;
        }
    return found;
}

/* but: a tensor that is neither; NULL: none. */
static bool put_norm(const fsim_torch_parts *p, const fsim_part_writer *w, const char *x, const char *but)
{
    const char *weight = last_factor(p, "mul", x), *bias = last_factor(p, "add", x);
    if (bias && but && strcmp(bias, but) == 0)
        bias = NULL;
    fsim_part_put_tensor(w, "input", x);
    fsim_part_put_tensor(w, "weight", weight);
    fsim_part_put_tensor(w, "bias", bias);
    return weight || !bias;
}

/* Over the last dimensions, as many as the reduction names. */
bool fsim_part_row_norm(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const char *in[3];
    const fsim_torch_node *reduced = fsim_part_part(p, "var_mean", 0);
    const int ins = fsim_part_inputs(p, 3, in);
    reduced = reduced ? reduced : fsim_part_part(p, "mean", 0);
    const fsim_torch_arg *dim = fsim_part_arg(reduced, "dim");
    const fsim_torch_value *x = ins > 0 && ins <= 3 ? fsim_part_known(p, in[0]) : NULL;
    if (!x || !dim || dim->kind != FSIM_TORCH_LIST || dim->count < 1 || dim->count > x->shape.rank ||
        !put_norm(p, w, in[0], NULL))
        return false;
    fsim_part_put_ints(w, "normalized_shape", dim->count, x->shape.dim + x->shape.rank - dim->count);
    return true;
}

/* x[N, C, ...] as [N, groups, ...]. */
bool fsim_part_group_norm(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const char *in[3];
    const int ins = fsim_part_inputs(p, 3, in);
    const fsim_torch_arg *x = fsim_part_arg(fsim_part_part(p, "var_mean", 0), "self");
    const fsim_torch_tensor *apart = x && x->text ? fsim_part_described(p, x->text) : NULL;
    if (ins < 1 || ins > 3 || !apart || apart->rank < 3 || apart->dim[1].expression || !put_norm(p, w, in[0], NULL))
        return false;
    fsim_part_put(w, "num_groups", FSIM_TORCH_INT)->integer = apart->dim[1].value;
    return true;
}

/* (x - mean) / root(variance + eps), of statistics that are given. */
bool fsim_part_batch_norm(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_node *gap = fsim_part_part(p, "sub", 0), *sum = fsim_part_part(p, "add", 0);
    const char *x = fsim_part_from_outside(p, fsim_part_arg(gap, "self")),
               *mean = fsim_part_from_outside(p, fsim_part_arg(gap, "other")),
               *variance = fsim_part_from_outside(p, fsim_part_arg(sum, "self"));
    if (!x || !mean || !variance || fsim_part_part(p, "var_mean", 0) || !put_norm(p, w, x, variance))
        return false;
    fsim_part_put_tensor(w, "running_mean", mean);
    fsim_part_put_tensor(w, "running_var", variance);
    fsim_part_put(w, "training", FSIM_TORCH_BOOL);
    return true;
}
