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

/* Sums and means: each element gets the gradient of its sum. */
fsim_value fsim_gradient_sum(fsim_derivation *d, const fsim_record *r, int i, fsim_value g)
{
    const fsim_shape x = arg_of(d, r, i)->shape;
    const fsim_list dims = fsim_record_list(r, FSIM_ATTR_DIMS);
    fsim_shape kept = x;
    for (int k = 0; k < (dims.count ? dims.count : x.rank); k++)
        kept.dim[dims.count ? (dims.at[k] + x.rank) % x.rank : k] = 1;
    if (g.is == FSIM_TENSOR)
        g = fsim_derive_view(d, fsim_derive_whole(d, g, &r->shape, fsim_value_tensor(d, g)->dtype), &kept);
    return fsim_derive_scaled(d, g, r->op == FSIM_OP_MEAN ? (double)fsim_elems(&r->shape) / (double)fsim_elems(&x) : 1);
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

/* Moves. */

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
