/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_rules.c: gradients of elementwise operators, sums, products and moves of elements. */
#include "graph/forms.h"
#include "graph/gradient.h"

#include <string.h>

static const fsim_tensor *arg_of(const fsim_derivation *d, const fsim_record *r, int i)
{
    return &d->build->graph->tensor[r->arg[i]];
}

fsim_value fsim_gradient_none(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    (void)d, (void)r, (void)i, (void)g;
    return FSIM_ZERO;
}

static fsim_value refuse(fsim_derivation *d, const fsim_record *r, int i, const char *why)
{
    return fsim_dtype_floating(arg_of(d, r, i)->dtype) ? fsim_derive_refuse(d, r, why) : FSIM_ZERO;
}

fsim_value fsim_gradient_lowered(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    (void)g;
    return refuse(d, r, i, "it has no gradient");
}

fsim_value fsim_gradient_elsewhere(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    (void)g;
    return refuse(d, r, i, "it is sent: stages of a pipeline are not differentiated");
}

fsim_value fsim_gradient_custom(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    (void)g;
    return refuse(d, r, i, "what it computes is not known, nor is its gradient");
}

fsim_value fsim_gradient_term(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_form form = fsim_form_of(d, r, i);
    const fsim_shape to = arg_of(d, r, i)->shape;
    d->packing = form.packed;
    const fsim_value v = form.term ? fsim_term(d, r, form.term, g) : FSIM_ZERO;
    d->packing = false;
    return fsim_derive_sum_to(d, v, &r->shape, &to);
}

/* The gradient is cast back by whoever takes it. */
fsim_value fsim_gradient_cast(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    (void)d, (void)r, (void)i;
    return g;
}

/* The operator itself, on the gradient. A mask hides no more than a triangle's gradient; of halves that were swapped,
 * the other one had its sign changed. */
fsim_value fsim_gradient_same(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    fsim_step step;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_derive_start(d, &step,
                      r->op == FSIM_OP_CAUSAL_MASK   ? FSIM_OP_TRIL
                      : r->op == FSIM_OP_WINDOW_MASK ? FSIM_OP_TRIU
                                                     : r->op);
    step.call.attrs = r->attrs;
    step.call.list[FSIM_ATTR_DIMS] = fsim_record_list(r, FSIM_ATTR_DIMS);
    g = fsim_derive_end(d, &step, 1, &g.tensor);
    return r->op == FSIM_OP_ROTATE_HALF ? fsim_derive_scaled(d, g, -1) : g;
}

/* v, which has the result's shape or broadcasts to it, with the reduced dimensions back as 1. */
static fsim_value with_kept_dims(fsim_derivation *d, const fsim_record *r, fsim_value v)
{
    const fsim_shape x = arg_of(d, r, 0)->shape;
    const fsim_list dims = fsim_record_list(r, FSIM_ATTR_DIMS);
    fsim_shape kept = x;
    for (int k = 0; k < (dims.count ? dims.count : x.rank); k++)
        kept.dim[dims.count ? (dims.at[k] + x.rank) % x.rank : k] = 1;
    if (v.is != FSIM_TENSOR)
        return v;
    return fsim_derive_view(d, fsim_derive_whole(d, v, &r->shape, fsim_value_tensor(d, v)->dtype), &kept);
}

/* Sums and means: each element gets the gradient of its sum. */
fsim_value fsim_gradient_sum(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const double share = (double)fsim_elems(&r->shape) / (double)arg_of(d, r, i)->elems;
    return fsim_derive_scaled(d, with_kept_dims(d, r, g), r->op == FSIM_OP_MEAN ? share : 1);
}

static fsim_list reduced_dims(const fsim_derivation *d, const fsim_record *r)
{
    fsim_list dims = fsim_record_list(r, FSIM_ATTR_DIMS);
    if (dims.count)
        return dims;
    dims.present = true;
    for (int k = 0; k < arg_of(d, r, 0)->shape.rank; k++)
        dims.at[dims.count++] = k;
    return dims;
}

/* Which of the elements along the reduced dimension is the largest or smallest, the first of several: the result that
 * says so, or the same search again. */
static fsim_value place_of_extreme(fsim_derivation *d, const fsim_record *r)
{
    const fsim_node *n = &d->build->graph->node[r - d->build->record];
    fsim_step step;
    if (n->results == 2)
        return fsim_value_of(n->result[1]);
    fsim_derive_start(d, &step, r->op == FSIM_OP_MAX ? FSIM_OP_ARGMAX : FSIM_OP_ARGMIN);
    step.call.list[FSIM_ATTR_DIMS] = fsim_record_list(r, FSIM_ATTR_DIMS);
    return fsim_derive_end(d, &step, 1, r->arg);
}

/* A pool whose one window is the whole plane. */
static bool was_pool(const fsim_derivation *d, const fsim_record *r)
{
    return fsim_ops[d->build->graph->source[r->source].op].class == FSIM_WINDOW;
}

/* The largest elements share it, as in torch.amax; along one dimension the first of them gets all. */
fsim_value fsim_gradient_extreme(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_list own = fsim_record_list(r, FSIM_ATTR_DIMS), dims = reduced_dims(d, r);
    const fsim_shape x = arg_of(d, r, i)->shape;
    const fsim_dtype dtype = arg_of(d, r, i)->dtype;
    fsim_step step;
    if (own.count > 1 && was_pool(d, r) && g.is == FSIM_TENSOR) {
        g = fsim_derive_whole(d, g, &r->shape, dtype);
        fsim_derive_start(d, &step, FSIM_OP_MAX_POOL_GRAD);
        step.call.list[FSIM_ATTR_OUTPUT_SIZE] = (fsim_list){.present = true, .count = own.count};
        memcpy(step.call.list[FSIM_ATTR_OUTPUT_SIZE].at, x.dim + x.rank - own.count, own.count * sizeof *x.dim);
        return fsim_derive_end(d, &step, 3, (int[3]){r->arg[0], r->result, g.tensor});
    }
    g = with_kept_dims(d, r, g);
    if (own.count == 1 && x.rank > 0) {
        const int dim = (int)((own.at[0] + x.rank) % x.rank);
        return fsim_derive_where(d, fsim_derive_hot(d, place_of_extreme(d, r), &x, dim), g, FSIM_ZERO);
    }
    const fsim_value peak = with_kept_dims(d, r, fsim_value_of(r->result));
    const fsim_value is = fsim_derive_binary(d, FSIM_OP_EQ, fsim_value_of(r->arg[i]), peak);
    const fsim_value count = fsim_derive_sum(d, fsim_derive_cast(d, is, dtype), &dims);
    return fsim_derive_where(d, is, fsim_derive_binary(d, FSIM_OP_DIV, g, count), FSIM_ZERO);
}

/* The product of the others: the whole over the element, and where the element is zero, the product of all that are
 * not, unless there is another zero. */
fsim_value fsim_gradient_prod(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_list dims = reduced_dims(d, r);
    const fsim_value x = fsim_value_of(r->arg[i]), y = with_kept_dims(d, r, fsim_value_of(r->result)),
                     zero = fsim_derive_binary(d, FSIM_OP_EQ, x, FSIM_ZERO),
                     zeros = fsim_derive_sum(d, fsim_derive_cast(d, zero, arg_of(d, r, i)->dtype), &dims),
                     others = fsim_derive_where(d, zero, fsim_constant(1), x);
    fsim_step step;
    if (others.is != FSIM_TENSOR)
        return others;
    fsim_derive_start(d, &step, FSIM_OP_PROD);
    step.call.list[FSIM_ATTR_DIMS] = dims;
    step.call.attrs.keepdim = true;
    const fsim_value product = fsim_derive_end(d, &step, 1, &others.tensor),
                     alone = fsim_derive_where(d, fsim_derive_binary(d, FSIM_OP_EQ, zeros, fsim_constant(1)), product,
                                               FSIM_ZERO),
                     rest = fsim_derive_where(d, zero, alone, fsim_derive_binary(d, FSIM_OP_DIV, y, x));
    return fsim_derive_binary(d, FSIM_OP_MUL, with_kept_dims(d, r, g), rest);
}

/* Of the p-norm: x |x|^(p - 2) / y^(p - 1), and 0 where y is 0. */
fsim_value fsim_gradient_norm(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const double p = r->attrs.p;
    const fsim_value x = fsim_value_of(r->arg[i]), y = with_kept_dims(d, r, fsim_value_of(r->result));
    g = with_kept_dims(d, r, g);
    if (p == 0)
        return FSIM_ZERO;
    if (p == 1)
        return fsim_derive_binary(d, FSIM_OP_MUL, fsim_derive_unary(d, FSIM_OP_SIGN, x), g);
    const fsim_value raised = p == 2 ? y : fsim_derive_binary(d, FSIM_OP_POW, y, fsim_constant(p - 1)),
                     per = fsim_derive_binary(d, FSIM_OP_DIV, g, raised),
                     safe = fsim_derive_where(d, fsim_derive_binary(d, FSIM_OP_EQ, y, FSIM_ZERO), FSIM_ZERO, per);
    if (p == 2)
        return fsim_derive_binary(d, FSIM_OP_MUL, x, safe);
    const fsim_value power =
        fsim_derive_binary(d, FSIM_OP_POW, fsim_derive_unary(d, FSIM_OP_ABS, x), fsim_constant(p - 1));
    const fsim_value slope = fsim_derive_binary(d, FSIM_OP_MUL, fsim_derive_unary(d, FSIM_OP_SIGN, x), power);
    const fsim_value part = fsim_derive_binary(d, FSIM_OP_MUL, slope, safe);
    return p > 1 ? part /* below, a zero has an infinite slope */
                 : fsim_derive_where(d, fsim_derive_binary(d, FSIM_OP_EQ, x, FSIM_ZERO), FSIM_ZERO, part);
}

/* Contractions. */

typedef struct {
    char a[FSIM_MAX_RANK + 1], b[FSIM_MAX_RANK + 1], out[FSIM_MAX_RANK + 1];
} letters;

static void put_letter(char *to, char letter)
{
    const size_t n = strlen(to);
    to[n] = letter;
    to[n + 1] = 0;
}

/* The letters of an equation "ab,bc->ac". */
static void read_equation(const char *p, letters *l)
{
    char *const part[] = {l->a, l->b, l->out};
    int k = 0;
    for (; *p; p++)
        if (*p == ',' || *p == '>')
            k++;
        else if (*p != ' ' && *p != '-')
            put_letter(part[k], *p);
}

/* The product as an einsum. */
static letters letters_of(const fsim_derivation *d, const fsim_record *r)
{
    letters l = {"", "", ""};
    const int x = arg_of(d, r, 0)->shape.rank, y = arg_of(d, r, 1)->shape.rank;
    if (r->op == FSIM_OP_EINSUM) {
        read_equation(r->equation, &l);
        return l;
    }
    const int left = x > 2 ? x - 2 : 0, right = y > 2 ? y - 2 : 0, batch = left > right ? left : right;
    if (r->op == FSIM_OP_LINEAR) {
        for (int i = 0; i < x - 1; i++) {
            put_letter(l.a, (char)('a' + i));
            put_letter(l.out, (char)('a' + i));
        }
        put_letter(l.a, 'k');
        put_letter(l.out, 'n');
        strcpy(l.b, "nk");
        return l;
    }
    for (int i = 0; i < batch; i++) {
        const char letter = (char)('a' + i);
        put_letter(l.out, letter);
        if (i >= batch - left)
            put_letter(l.a, letter);
        if (i >= batch - right)
            put_letter(l.b, letter);
    }
    if (x > 1) {
        put_letter(l.a, 'm');
        put_letter(l.out, 'm');
    }
    put_letter(l.a, 'k');
    put_letter(l.b, 'k');
    if (y > 1) {
        put_letter(l.b, 'n');
        put_letter(l.out, 'n');
    }
    return l;
}

/* The length of a letter: the longest of the dimensions that have it. */
static int64_t length_of(const fsim_derivation *d, const fsim_record *r, const letters *l, char letter)
{
    const char *const side[] = {l->a, l->b};
    int64_t most = 1;
    for (int i = 0; i < 2; i++) {
        const char *at = strchr(side[i], letter);
        const int64_t have = at ? arg_of(d, r, i)->shape.dim[at - side[i]] : 1;
        most = have > most ? have : most;
    }
    return most;
}

/* The product of the result's gradient with the other operand, over the letters that this one lacks. Of operands in 8
 * bits it is in 8 bits too, and what comes of it as wide as the product's result. */
fsim_value fsim_gradient_product(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const letters l = letters_of(d, r);
    const char *own = i ? l.b : l.a, *other = i ? l.a : l.b;
    const fsim_shape shape = arg_of(d, r, i)->shape;
    const fsim_dtype dtype = arg_of(d, r, i)->dtype, wide = d->build->graph->tensor[r->result].dtype;
    const bool narrow = fsim_dtype_bytes(dtype) < fsim_dtype_bytes(wide) && fsim_is_float8(dtype);
    char result[FSIM_MAX_RANK + 1] = "";
    fsim_step step;
    fsim_shape kept = shape;
    g = fsim_derive_whole(d, g, &r->shape, narrow ? wide : dtype);
    g = narrow ? fsim_derive_cast(d, g, dtype) : g;
    if (g.is == FSIM_REFUSED)
        return g;
    for (int k = 0; own[k]; k++) {
        const bool known = strchr(l.out, own[k]) || strchr(other, own[k]);
        if (known && shape.dim[k] == length_of(d, r, &l, own[k]))
            put_letter(result, own[k]);
        else
            kept.dim[k] = 1; /* it was broadcast, or summed alone */
    }
    fsim_derive_start(d, &step, FSIM_OP_EINSUM);
    step.call.attrs.compute = r->attrs.compute;
    if (narrow)
        step.call.attrs.dtype = wide;
    step.call.equation = fsim_printf(d->build->arena, "%s,%s->%s", i ? other : l.out, i ? l.out : other, result);
    const fsim_value with = fsim_as_saved(d, r, 1 - i);
    if (with.is == FSIM_REFUSED)
        return with;
    const int arg[2] = {i ? with.tensor : g.tensor, i ? g.tensor : with.tensor};
    return fsim_derive_view(d, fsim_derive_end(d, &step, 2, arg), &kept);
}

/* Convolutions: the gradient of the input is a transposed one, that of the weight a sum over pixels; and the reverse.
 */

static void take_windows(fsim_step *step, const fsim_record *r)
{
    static const fsim_attr windows[] = {FSIM_ATTR_STRIDE, FSIM_ATTR_PADDING, FSIM_ATTR_DILATION};
    for (int k = 0; k < 3; k++)
        step->call.list[windows[k]] = fsim_record_list(r, windows[k]);
    step->call.attrs.groups = r->attrs.groups;
    step->call.attrs.compute = r->attrs.compute;
}

/* What a transposed convolution adds to its result, so that it is as long as x. */
static fsim_list output_padding(const fsim_derivation *d, const fsim_record *r)
{
    const fsim_node *n = &d->build->graph->node[r - d->build->record];
    fsim_list extra = {.present = true, .count = n->arg[0].axes};
    for (int k = 0; k < extra.count; k++) {
        const fsim_axis *a = &n->arg[0].axis[k];
        extra.at[k] = a->extent - ((a->out - 1) * a->stride - 2 * a->pad + a->dilation * (a->taps - 1) + 1);
    }
    return extra;
}

fsim_value fsim_gradient_convolution(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const bool transposed = r->op >= FSIM_OP_CONV_TRANSPOSE1D;
    const int axes = fsim_spatial_axes(r->op) - 1;
    const fsim_shape w = arg_of(d, r, 1)->shape;
    fsim_step step;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_derive_start(d, &step,
                      i            ? FSIM_OP_CONV1D_WEIGHT + axes
                      : transposed ? FSIM_OP_CONV1D + axes
                                   : FSIM_OP_CONV_TRANSPOSE1D + axes);
    take_windows(&step, r);
    if (i == 0 && !transposed)
        step.call.list[FSIM_ATTR_OUTPUT_PADDING] = output_padding(d, r);
    if (i == 0)
        return fsim_derive_end(d, &step, 2, (int[2]){g.tensor, r->arg[1]});
    fsim_list *taps = &step.call.list[FSIM_ATTR_KERNEL];
    *taps = (fsim_list){.present = true, .count = axes + 1};
    for (int k = 0; k <= axes; k++)
        taps->at[k] = w.dim[2 + k];
    return fsim_derive_end(d, &step, 2, transposed ? (int[2]){g.tensor, r->arg[0]} : (int[2]){r->arg[0], g.tensor});
}

/* What convN_weight(x, g) sums is linear in both: the other one, as a convolution has it. */
fsim_value fsim_gradient_conv_weight(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const int axes = fsim_spatial_axes(r->op) - 1;
    fsim_step step;
    g = fsim_derive_whole(d, g, &r->shape, arg_of(d, r, i)->dtype);
    if (g.is == FSIM_REFUSED)
        return g;
    fsim_derive_start(d, &step, (i ? FSIM_OP_CONV1D : FSIM_OP_CONV_TRANSPOSE1D) + axes);
    take_windows(&step, r);
    if (i == 0)
        step.call.list[FSIM_ATTR_OUTPUT_PADDING] = output_padding(d, r);
    return fsim_derive_end(d, &step, 2, (int[2]){r->arg[!i], g.tensor});
}
