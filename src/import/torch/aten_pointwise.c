/* SPDX-License-Identifier: Apache-2.0 */
/* aten_pointwise.c: what works point by point, casts and copies, and what is made of nothing. */
#include "import/torch/aten.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool fsim_aten_op_unary(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    return fsim_aten_make(c, 0, word, 1, &x);
}

/* The second operand: a tensor, or a number that becomes `scalar`. */
static bool with_other(fsim_aten *c, const char *word, fsim_torch_value *x, const fsim_torch_arg *other)
{
    double value;
    bool whole;
    if (fsim_aten_scalar(c, other, &value, &whole)) {
        if (!fsim_aten_make(c, 0, word, 1, &x))
            return false;
        fsim_aten_put(c, "scalar", value, whole);
        return true;
    }
    fsim_torch_value *in[2] = {x, fsim_aten_tensor(c, other ? other->name : "other")};
    return fsim_aten_make(c, 0, word, 2, in);
}

/* x times a number, where that is not 1. */
static fsim_torch_value *scaled(fsim_aten *c, fsim_torch_value *x, double by, bool whole)
{
    if (!x || by == 1)
        return x;
    x = fsim_aten_step(c, "mul", FSIM_AS("scaled", &x->shape, whole ? x->dtype : c->out[0]->dtype), 1, &x);
    if (x)
        fsim_aten_put(c, "scalar", by, whole);
    return x;
}

/* A scalar before a tensor: pow.Scalar, remainder.Scalar_Tensor. */
static fsim_torch_value *first_operand(fsim_aten *c)
{
    double value;
    bool whole;
    if (c->node->ins && fsim_aten_scalar(c, &c->node->in[0], &value, &whole))
        return fsim_aten_constant(c, value, whole, whole ? FSIM_I64 : FSIM_F32);
    return fsim_aten_self(c);
}

bool fsim_aten_op_binary(fsim_aten *c, const char *word)
{
    const fsim_torch_arg *other = fsim_aten_arg(c, "other|exponent");
    const fsim_torch_arg *alpha = fsim_aten_arg(c, "alpha");
    fsim_torch_value *x = first_operand(c);
    double by = 1, value;
    bool whole = true, whole_other;
    if (!alpha || !fsim_aten_scalar(c, alpha, &by, &whole) || by == 1)
        return with_other(c, word, x, other);
    if (fsim_aten_scalar(c, other, &value, &whole_other)) {
        if (!fsim_aten_make(c, 0, word, 1, &x))
            return false;
        fsim_aten_put(c, "scalar", by * value, whole && whole_other);
        return true;
    }
    fsim_torch_value *in[2] = {x, scaled(c, fsim_aten_tensor(c, "other"), by, whole)};
    return fsim_aten_make(c, 0, word, 2, in);
}

/* other - alpha * self */
bool fsim_aten_op_rsub(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = scaled(c, fsim_aten_self(c), fsim_aten_number(c, "alpha", 1), true);
    double value;
    bool whole;
    fsim_torch_value *in[2] = {NULL, x};
    if (fsim_aten_scalar(c, fsim_aten_arg(c, "other"), &value, &whole))
        in[0] = fsim_aten_constant(c, value, whole, whole ? FSIM_I64 : FSIM_F32);
    else
        in[0] = fsim_aten_tensor(c, "other");
    return fsim_aten_make(c, 0, word, 2, in);
}

/* rounding_mode: floor or trunc. */
bool fsim_aten_op_div(fsim_aten *c, const char *word)
{
    const char *mode = fsim_aten_text(c, "rounding_mode", NULL);
    const fsim_torch_arg *other = fsim_aten_arg(c, "other");
    return with_other(c, mode ? "floor_divide" : word, fsim_aten_self(c), other);
}

bool fsim_aten_op_logical(fsim_aten *c, const char *word)
{
    fsim_torch_value *in[2] = {fsim_aten_self(c), fsim_aten_tensor(c, "other")};
    return fsim_aten_make(c, 0, word, 2, in);
}

bool fsim_aten_op_elu(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    fsim_draft_number(c->x, "alpha", fsim_aten_number(c, "alpha", 1));
    return true;
}

bool fsim_aten_op_leaky_relu(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    fsim_draft_number(c->x, "negative_slope", fsim_aten_number(c, "negative_slope", 0.01));
    return true;
}

bool fsim_aten_op_shrink(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    fsim_draft_number(c->x, "lambd", fsim_aten_number(c, "lambd", 0.5));
    return true;
}

bool fsim_aten_op_prelu(fsim_aten *c, const char *word)
{
    return fsim_aten_make(c, 0, word, 2, (fsim_torch_value *[2]){fsim_aten_self(c), fsim_aten_tensor(c, "weight")});
}

bool fsim_aten_op_glu(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){fsim_aten_int(c, "dim", -1)});
    return true;
}

bool fsim_aten_op_threshold(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    fsim_draft_number(c->x, "threshold", fsim_aten_number(c, "threshold", 0));
    fsim_draft_number(c->x, "value", fsim_aten_number(c, "value", 0));
    return true;
}

bool fsim_aten_op_gelu(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    if (strcmp(fsim_aten_text(c, "approximate", "none"), "tanh") == 0)
        fsim_draft_word(c->x, "approximate", "tanh");
    return true;
}

/* Bounds that are numbers; of tensors, maximum and minimum. */
bool fsim_aten_op_clamp(fsim_aten *c, const char *word)
{
    static const char *const names[2] = {"min|min_val", "max|max_val"}, *const keys[2] = {"min", "max"};
    fsim_torch_value *x = fsim_aten_self(c);
    const bool tanh = strcmp(word, "hardtanh") == 0;
    double bound[2];
    bool whole[2], given[2];
    for (int i = 0; i < 2; i++) {
        const fsim_torch_arg *arg = fsim_aten_arg(c, names[i]);
        given[i] = fsim_aten_scalar(c, arg, &bound[i], &whole[i]);
        fsim_torch_value *t = arg && !given[i] ? fsim_aten_tensor(c, names[i]) : NULL;
        if (t && x)
            x = fsim_aten_step(c, i ? "minimum" : "maximum", FSIM_AS(keys[i], &c->out[0]->shape, c->out[0]->dtype), 2,
                               (fsim_torch_value *[2]){x, t});
    }
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    for (int i = 0; i < 2; i++)
        if (given[i])
            fsim_aten_put(c, keys[i], bound[i], whole[i]);
        else if (tanh)
            fsim_draft_int(c->x, keys[i], i ? 1 : -1);
    return true;
}

/* A branch that is a number is `input` or `other`. */
bool fsim_aten_op_where(fsim_aten *c, const char *word)
{
    static const char *const names[2] = {"self|input", "other"}, *const keys[2] = {"input", "other"};
    fsim_torch_value *in[3] = {fsim_aten_tensor(c, "condition")};
    double value[2];
    bool whole[2], number[2];
    int ins = 1;
    if (c->outs != 1)
        return fsim_aten_op_chosen(c, word); /* where(condition): the places where it holds */
    for (int i = 0; i < 2; i++) {
        number[i] = fsim_aten_scalar(c, fsim_aten_arg(c, names[i]), &value[i], &whole[i]);
        if (!number[i])
            in[ins++] = fsim_aten_tensor(c, names[i]);
    }
    in[0] = fsim_aten_cast(c, in[0], FSIM_BOOL);
    if (!fsim_aten_make(c, 0, "where", ins, in))
        return false;
    for (int i = 0; i < 2; i++)
        if (number[i])
            fsim_aten_put(c, keys[i], value[i], whole[i]);
    return true;
}

bool fsim_aten_op_masked_fill(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *mask = fsim_aten_cast(c, fsim_aten_tensor(c, "mask"), FSIM_BOOL);
    double value;
    bool whole;
    if (!fsim_aten_scalar(c, fsim_aten_arg(c, "value"), &value, &whole)) {
        fsim_torch_value *in[3] = {mask, fsim_aten_cast(c, fsim_aten_tensor(c, "value"), c->out[0]->dtype), x};
        return fsim_aten_make(c, 0, "where", 3, in);
    }
    x = fsim_aten_expanded(c, x, &c->out[0]->shape);
    if (!fsim_aten_make(c, 0, "masked_fill", 2, (fsim_torch_value *[2]){x, mask}))
        return false;
    fsim_aten_put(c, "value", value, whole);
    return true;
}

/* x + weight * (end - x) */
bool fsim_aten_op_lerp(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *end = fsim_aten_tensor(c, "end"), *w = fsim_aten_tensor(c, "weight");
    const fsim_shape *s = &c->out[0]->shape;
    const fsim_dtype t = c->out[0]->dtype;
    fsim_torch_value *y = fsim_aten_step(c, "sub", FSIM_AS("way", s, t), 2, (fsim_torch_value *[2]){end, x});
    y = w ? fsim_aten_step(c, "mul", FSIM_AS("part", s, t), 2, (fsim_torch_value *[2]){y, w})
          : scaled(c, y, fsim_aten_number(c, "weight", 0.5), false);
    return fsim_aten_make(c, 0, "add", 2, (fsim_torch_value *[2]){x, y});
}

/* self + value * tensor1 * tensor2, or / tensor2 */
bool fsim_aten_op_addc(fsim_aten *c, const char *word)
{
    fsim_torch_value *in[2] = {fsim_aten_tensor(c, "tensor1"), fsim_aten_tensor(c, "tensor2")};
    fsim_torch_value *y = fsim_aten_step(c, word, FSIM_AS("product", &c->out[0]->shape, c->out[0]->dtype), 2, in);
    y = scaled(c, y, fsim_aten_number(c, "value", 1), false);
    return fsim_aten_make(c, 0, "add", 2, (fsim_torch_value *[2]){fsim_aten_self(c), y});
}

bool fsim_aten_op_triangle(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    fsim_draft_int(c->x, "diagonal", fsim_aten_int(c, "diagonal", 0));
    return true;
}

/* Casts and copies. */

/* Copies that change nothing: where a layout has to change, the reader's view says so. A clone is told apart only where
 * it, or what it was made of, is written in place. */
bool fsim_aten_op_same(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!x || !fsim_aten_same_shape(&x->shape, &c->out[0]->shape) || x->dtype != c->out[0]->dtype)
        return false;
    if (!*word)
        return fsim_aten_same(c, 0, x);
    c->out[0]->tensor = x->tensor;
    c->out[0]->reads = ++x->reads; /* neither is the only one to have it */
    c->out[0]->shared = x->shared;
    return true;
}

/* What an attention in fewer bits was cast from, and viewed: casting back gives that. NULL: it is none. */
static fsim_torch_value *before_cast(const fsim_torch_value *x, fsim_dtype dtype)
{
    while (!x->cast_of && !x->mutated && x->base && x->dim == -1)
        x = x->base;
    return x->cast_of && !x->mutated && x->cast_of->dtype == dtype && !x->cast_of->mutated ? x->cast_of : NULL;
}

bool fsim_aten_op_to(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    if (!x || x->dtype == c->out[0]->dtype)
        return x && fsim_aten_same(c, 0, x);
    fsim_torch_value *narrow = before_cast(x, c->out[0]->dtype);
    if (narrow)
        return fsim_aten_reshape(c, 0, narrow);
    if (!fsim_aten_make(c, 0, "cast", 1, &x))
        return false;
    fsim_draft_word(c->x, "dtype", fsim_dtype_names[c->out[0]->dtype]);
    return true;
}

/* self takes the values of src, broadcast and cast. */
bool fsim_aten_op_copy(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_cast(c, fsim_aten_tensor(c, "src"), c->out[0]->dtype), *to = fsim_aten_self(c);
    if (x && to && x->base && fsim_aten_is_same_view(x, to)) /* x[i] += y writes x[i] again */
        return fsim_aten_same(c, 0, c->in_place ? to : x);
    if (x && !c->in_place) /* a program without writes in place names the copy, whose reader is the write */
        return fsim_aten_same(c, 0, fsim_aten_expanded(c, x, &c->out[0]->shape));
    if (x && to && to->base && x != to) /* what the base becomes is the copy */
        return fsim_aten_same(c, 0, fsim_aten_expanded(c, x, &c->out[0]->shape));
    if (x && fsim_aten_same_shape(&x->shape, &c->out[0]->shape))
        return fsim_aten_make(c, 0, "copy", 1, &x);
    if (!fsim_aten_make(c, 0, "expand", 1, &x))
        return false;
    fsim_draft_ints(c->x, "shape", c->out[0]->shape.rank, c->out[0]->shape.dim);
    return true;
}

bool fsim_aten_op_dropout(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const double p = fsim_aten_number(c, "p", 0.5);
    if (!fsim_aten_flag(c, "train", true) || p == 0)
        return c->outs == 1 && fsim_aten_same(c, 0, x);
    if (!fsim_aten_make(c, 0, "dropout", 1, &x))
        return false;
    fsim_draft_number(c->x, "p", p);
    if (c->outs > 1 && c->out[1]) { /* the mask */
        if (!fsim_aten_make(c, 1, "ne", 1, &c->out[0]))
            return false;
        fsim_draft_int(c->x, "scalar", 0);
    }
    return true;
}

/* Made of nothing. */

/* word: a number, or the argument that says which. */
bool fsim_aten_op_fill(fsim_aten *c, const char *word)
{
    double value = atof(word);
    bool whole = true;
    fsim_aten_scalar(c, fsim_aten_arg(c, word), &value, &whole);
    for (int k = 0; k < c->outs; k++) {
        if (!c->out[k] || c->out[k]->empty)
            continue;
        if (!fsim_aten_make(c, k, "fill", 0, NULL))
            return false;
        fsim_draft_ints(c->x, "shape", c->out[k]->shape.rank, c->out[k]->shape.dim);
        fsim_aten_put(c, "value", value, whole);
        fsim_draft_word(c->x, "dtype", fsim_dtype_names[c->out[k]->dtype]);
    }
    return true;
}

/* As many numbers as the result has, from `start` by `step`; what is not whole costs the same. */
bool fsim_aten_op_arange(fsim_aten *c, const char *word)
{
    (void)word;
    const fsim_torch_value *out = c->out[0];
    int64_t start = fsim_aten_int(c, "start", 0), step = fsim_aten_int(c, "step", 1), end;
    const int64_t count = fsim_aten_elems(&out->shape);
    const bool fits = step != 0 && llabs(step) < FSIM_MAX_DIM && llabs(start) < FSIM_MAX_DIM &&
                      !__builtin_mul_overflow(count, step, &end) && !__builtin_add_overflow(end, start, &end) &&
                      llabs(end) <= FSIM_MAX_DIM;
    if (!fits) {
        start = 0;
        step = 1;
        end = count;
    }
    if (!fsim_aten_make(c, 0, "arange", 0, NULL))
        return false;
    fsim_draft_int(c->x, "end", end);
    if (start != 0)
        fsim_draft_int(c->x, "start", start);
    if (step != 1)
        fsim_draft_int(c->x, "step", step);
    fsim_draft_word(c->x, "dtype", fsim_dtype_names[out->dtype]);
    return true;
}
