/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_rules.c: gradients of elementwise operators, sums, products and moves of elements. */
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

fsim_value fsim_gradient_missing(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    (void)i, (void)g;
    return fsim_derive_refuse(d, r, "it has no gradient in this release");
}

fsim_value fsim_gradient_term(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const char *term = fsim_derivative(r->op, i, 0);
    const fsim_shape to = arg_of(d, r, i)->shape;
    return term ? fsim_derive_sum_to(d, fsim_term(d, r, term, g), &r->shape, &to) : FSIM_ZERO;
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
    fsim_derive_start(d, &step, r->op == FSIM_OP_CAUSAL_MASK ? FSIM_OP_TRIL : r->op);
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

/* The largest elements share it, as in torch.amax; where the index is a result, that element gets all. */
fsim_value fsim_gradient_extreme(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_node *n = &d->build->graph->node[r - d->build->record];
    const fsim_list all = {.present = true}, own = fsim_record_list(r, FSIM_ATTR_DIMS);
    const fsim_shape x = arg_of(d, r, i)->shape;
    fsim_list dims = own.count ? own : all;
    for (int k = 0; k < x.rank && !own.count; k++)
        dims.at[dims.count++] = k;
    g = with_kept_dims(d, r, g);
    if (n->results == 2)
        return fsim_derive_scatter(d, &x, dims.at[0], with_kept_dims(d, r, fsim_value_of(n->result[1])), g);
    const fsim_value peak = with_kept_dims(d, r, fsim_value_of(r->result));
    const fsim_value is = fsim_derive_binary(d, FSIM_OP_EQ, fsim_value_of(r->arg[i]), peak);
    const fsim_value count = fsim_derive_sum(d, fsim_derive_cast(d, is, arg_of(d, r, i)->dtype), &dims);
    return fsim_derive_where(d, is, fsim_derive_binary(d, FSIM_OP_DIV, g, count), FSIM_ZERO);
}

/* The product of the others, which is the whole over the element. */
fsim_value fsim_gradient_prod(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_value whole = fsim_derive_binary(d, FSIM_OP_MUL, g, fsim_value_of(r->result));
    return fsim_derive_binary(d, FSIM_OP_DIV, with_kept_dims(d, r, whole), fsim_value_of(r->arg[i]));
}

/* Of the p-norm: x |x|^(p - 2) / y^(p - 1), and 0 where y is 0. */
fsim_value fsim_gradient_norm(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const double p = r->attrs.p;
    const fsim_value x = fsim_value_of(r->arg[i]), y = with_kept_dims(d, r, fsim_value_of(r->result));
    g = with_kept_dims(d, r, g);
    if (p == 1)
        return fsim_derive_binary(d, FSIM_OP_MUL, fsim_derive_unary(d, FSIM_OP_SIGN, x), g);
    if (p != 2)
        return fsim_derive_refuse(d, r, "a norm other than the first and the second has no gradient in this release");
    const fsim_value per = fsim_derive_binary(d, FSIM_OP_DIV, g, y);
    const fsim_value safe = fsim_derive_where(d, fsim_derive_binary(d, FSIM_OP_EQ, y, FSIM_ZERO), FSIM_ZERO, per);
    return fsim_derive_binary(d, FSIM_OP_MUL, x, safe);
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

/* The product of the result's gradient with the other operand, over the letters that this one lacks. */
fsim_value fsim_gradient_product(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const letters l = letters_of(d, r);
    const char *own = i ? l.b : l.a, *other = i ? l.a : l.b;
    const fsim_shape shape = arg_of(d, r, i)->shape;
    const fsim_dtype dtype = arg_of(d, r, i)->dtype;
    char result[FSIM_MAX_RANK + 1] = "";
    fsim_step step;
    fsim_shape kept = shape;
    g = fsim_derive_whole(d, g, &r->shape, dtype);
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
    step.call.equation = fsim_printf(d->build->arena, "%s,%s->%s", i ? other : l.out, i ? l.out : other, result);
    const int arg[2] = {i ? r->arg[0] : g.tensor, i ? g.tensor : r->arg[1]};
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
