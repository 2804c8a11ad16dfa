/* SPDX-License-Identifier: Apache-2.0 */
/* op_reduce.c: reductions, ArgMax, TopK, CumSum. */
#include "import/onnx/rows.h"

#include <math.h>
#include <string.h>

typedef enum { FOLD_NONE, FOLD_SUM, FOLD_PROD, FOLD_MAX, FOLD_MIN } folding;

/* Each reduction as an elementwise operator before, ours, and one behind; NULL: none. */
typedef struct {
    const char *name, *before, *op, *after;
    bool floats; /* PyTorch's takes no integers */
    folding fold;
} reduction;
static const reduction table[] = {
    {"ReduceL1", "abs", "sum", NULL, false, FOLD_NONE},
    {"ReduceL2", NULL, "norm", NULL, true, FOLD_NONE},
    {"ReduceLogSum", NULL, "sum", "log", true, FOLD_NONE},
    {"ReduceLogSumExp", NULL, "logsumexp", NULL, true, FOLD_NONE},
    {"ReduceMax", NULL, "max", NULL, false, FOLD_MAX},
    {"ReduceMean", NULL, "mean", NULL, true, FOLD_NONE},
    {"ReduceMin", NULL, "min", NULL, false, FOLD_MIN},
    {"ReduceProd", NULL, "prod", NULL, false, FOLD_PROD},
    {"ReduceSum", NULL, "sum", NULL, false, FOLD_SUM},
    {"ReduceSumSquare", "square", "sum", NULL, false, FOLD_NONE},
};

static const reduction *find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

/* Which dimensions: all where none is named, unless noop_with_empty_axes. */
static bool read_dims(fsim_onnx_call *c, const fsim_operand *x, fsim_onnx_dims *dims)
{
    const int64_t *axes;
    int count;
    unsigned seen = 0;
    if (!fsim_onnx_list(c, 1, "axes", &axes, &count))
        return false;
    if (!axes || count == 0) {
        *dims = fsim_onnx_dims_of(0, fsim_onnx_int(c, "noop_with_empty_axes", 0) ? 0 : x->shape.rank);
        return true;
    }
    for (int i = 0, d; i < count; i++) {
        if (!fsim_onnx_axis(c, axes[i], x->shape.rank, &d))
            return false;
        seen |= 1u << d;
    }
    dims->count = 0;
    for (int d = 0; d < x->shape.rank; d++)
        if (seen & 1u << d)
            dims->at[dims->count++] = d;
    return true;
}

/* Shape arithmetic: known integers of one dimension, reduced to one. Sets output 0 where it is that. */
static bool fold(fsim_onnx_call *c, const reduction *r, const fsim_operand *x, const fsim_shape *out)
{
    int count;
    const int64_t *at = fsim_onnx_ints_of(x, &count);
    if (!at || r->fold == FOLD_NONE || count < 1 || fsim_elems(out) != 1)
        return false;
    int64_t *sum = fsim_new(c->a, int64_t, 1);
    *sum = at[0];
    for (int i = 1; i < count; i++)
        if (r->fold == FOLD_MAX || r->fold == FOLD_MIN)
            *sum = (r->fold == FOLD_MAX) == (at[i] > *sum) ? at[i] : *sum;
        else if (r->fold == FOLD_SUM ? __builtin_add_overflow(*sum, at[i], sum)
                                     : __builtin_mul_overflow(*sum, at[i], sum))
            return false;
    return fsim_onnx_set_ints(c, 0, out, x->dtype, sum);
}

/* The dtype that PyTorch gives the result: sums of integers are of 64 bits. */
static fsim_dtype own_dtype(const reduction *r, fsim_dtype x)
{
    const bool wide = strcmp(r->op, "sum") == 0 || strcmp(r->op, "prod") == 0;
    return wide && !fsim_dtype_floating(x) ? FSIM_I64 : x;
}

static fsim_operand *reduce(fsim_onnx_call *c, fsim_onnx_at at, const reduction *r, fsim_operand *x,
                            const fsim_onnx_dims *dims)
{
    const bool keep = fsim_onnx_int(c, "keepdims", 1) != 0;
    if (!x)
        return NULL;
    const fsim_shape out = fsim_onnx_reduced_shape(&x->shape, dims, keep);
    fsim_operand *y = fsim_onnx_emit(c, at, r->op, &out, own_dtype(r, x->dtype), FSIM_ARGS(x));
    if (y && (dims->count < x->shape.rank || strcmp(r->op, "logsumexp") == 0))
        fsim_onnx_put_ints(c, "dim", dims->count, dims->at);
    if (y && keep)
        fsim_onnx_put_flag(c, "keepdim", true);
    return y;
}

/* The last operator of a row writes output 0; those before it are steps. */
static fsim_onnx_at step_or_out(bool step, const char *name) { return step ? FSIM_STEP(name) : FSIM_OUT(0); }

bool fsim_onnx_op_reduce(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    const reduction *r = find(c->op);
    fsim_onnx_dims dims;
    if (!x || !r || !read_dims(c, x, &dims))
        return false;
    const fsim_dtype dtype = x->dtype, inner = r->floats && !fsim_dtype_floating(dtype) ? FSIM_F32 : dtype;
    const bool reduces = dims.count > 0, back = (reduces ? own_dtype(r, inner) : inner) != dtype;
    const fsim_shape out = fsim_onnx_reduced_shape(&x->shape, &dims, fsim_onnx_int(c, "keepdims", 1) != 0);
    if (reduces && fold(c, r, x, &out))
        return true;
    if (!reduces && !r->before && !r->after)
        return fsim_onnx_same(c, 0, x);
    x = fsim_onnx_as(c, FSIM_STEP("wide"), x, inner);
    if (r->before)
        x = fsim_onnx_unary(c, step_or_out(reduces || r->after || back, r->before), r->before, x);
    if (reduces)
        x = reduce(c, step_or_out(r->after || back, r->op), r, x, &dims);
    if (r->after)
        x = fsim_onnx_unary(c, step_or_out(back, r->after), r->after, x);
    return back ? fsim_onnx_as(c, FSIM_OUT(0), x, dtype) != NULL : x != NULL;
}

static bool arg(fsim_onnx_call *c, const char *op)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    const bool keep = fsim_onnx_int(c, "keepdims", 1) != 0;
    int axis;
    if (!x || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", 0), x->shape.rank, &axis))
        return false;
    const fsim_onnx_dims dims = {1, {axis}};
    const fsim_shape out = fsim_onnx_reduced_shape(&x->shape, &dims, keep);
    if (!fsim_onnx_make(c, 0, op, &out, FSIM_I64, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_int(c, "dim", axis);
    if (keep)
        fsim_onnx_put_flag(c, "keepdim", true);
    return true;
}

bool fsim_onnx_op_argmax(fsim_onnx_call *c) { return arg(c, "argmax"); }
bool fsim_onnx_op_argmin(fsim_onnx_call *c) { return arg(c, "argmin"); }

/* How many elements: an attribute before version 10, then an input. */
static bool read_k(fsim_onnx_call *c, int64_t *k)
{
    const int64_t *known = fsim_onnx_ints_of(fsim_onnx_in(c, 1), NULL);
    if (c->opset < 10)
        *k = fsim_onnx_int(c, "k", 0);
    else if (known)
        *k = *known;
    else
        return false;
    return true;
}

bool fsim_onnx_op_topk(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    int64_t k;
    int axis;
    if (!x || !fsim_onnx_axis(c, fsim_onnx_int(c, "axis", -1), x->shape.rank, &axis))
        return false;
    if (!read_k(c, &k))
        return fsim_onnx_unsupported(c, "k is not known");
    if (k < 0 || k > x->shape.dim[axis])
        return fsim_onnx_refuse(c, "k is %lld; dimension %d has %lld", (long long)k, axis,
                                (long long)x->shape.dim[axis]);
    fsim_draft_result type[2] = {{NULL, x->shape, x->dtype}, {NULL, x->shape, FSIM_I64}};
    type[0].shape.dim[axis] = type[1].shape.dim[axis] = k;
    if (!fsim_onnx_make_all(c, "topk", 2, type, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_int(c, "k", k);
    fsim_onnx_put_int(c, "dim", axis);
    return true;
}

static fsim_operand *flip(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, int axis)
{
    fsim_operand *y = fsim_onnx_unary(c, at, "flip", x);
    if (y)
        fsim_onnx_put_int(c, "dim", axis);
    return y;
}

static fsim_operand *running_sum(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, int axis)
{
    if (!x)
        return NULL;
    const fsim_dtype wide = fsim_dtype_floating(x->dtype) ? x->dtype : FSIM_I64;
    const bool cast = wide != x->dtype;
    fsim_operand *y = fsim_onnx_emit(c, cast ? FSIM_STEP("sum") : at, "cumsum", &x->shape, wide, FSIM_ARGS(x));
    if (y)
        fsim_onnx_put_int(c, "dim", axis);
    return cast ? fsim_onnx_as(c, at, y, x->dtype) : y;
}

/* The known integers of a vector, summed up: positions. */
static bool fold_sums(fsim_onnx_call *c, const fsim_operand *x, bool exclusive, bool reverse)
{
    int count;
    const int64_t *at = fsim_onnx_ints_of(x, &count);
    if (!at || x->shape.rank != 1)
        return false;
    int64_t *sums = fsim_new(c->a, int64_t, count + 1), sum = 0;
    for (int i = 0; i < count; i++) {
        const int k = reverse ? count - 1 - i : i;
        const int64_t before = sum;
        if (__builtin_add_overflow(sum, at[k], &sum))
            return false;
        sums[k] = exclusive ? before : sum;
    }
    return fsim_onnx_set_ints(c, 0, &x->shape, x->dtype, sums);
}

/* The sum of the elements before, without the element itself, is the running sum minus it; backwards, the axis is
 * turned round before and after. */
bool fsim_onnx_op_cumsum(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    const bool exclusive = fsim_onnx_int(c, "exclusive", 0) != 0, reverse = fsim_onnx_int(c, "reverse", 0) != 0;
    int axis;
    if (!x || !fsim_onnx_need(c, 1))
        return false;
    int count = 0;
    const int64_t *along = fsim_onnx_ints_of(fsim_onnx_in(c, 1), &count);
    if (!along || count != 1)
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, x->shape, x->dtype});
    if (!fsim_onnx_axis(c, *along, x->shape.rank, &axis))
        return false;
    if (fold_sums(c, x, exclusive, reverse))
        return true;
    fsim_operand *in = reverse ? flip(c, FSIM_STEP("turned"), x, axis) : x;
    fsim_operand *y = running_sum(c, reverse || exclusive ? FSIM_STEP("sums") : FSIM_OUT(0), in, axis);
    if (exclusive)
        y = fsim_onnx_binary(c, reverse ? FSIM_STEP("before") : FSIM_OUT(0), "sub", y, in);
    return reverse ? flip(c, FSIM_OUT(0), y, axis) != NULL : y != NULL;
}
