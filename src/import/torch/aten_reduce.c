/* SPDX-License-Identifier: Apache-2.0 */
/* aten_reduce.c: reductions, softmax, scans. */
#include "import/torch/aten.h"

#include <math.h>
#include <string.h>

/* The dimensions that the node reduces, and whether they stay. */
typedef struct {
    int count; /* 0: all */
    int64_t dim[16];
    bool keepdim;
} reduction;

static reduction reduction_of(fsim_aten *c)
{
    reduction r = {.keepdim = fsim_aten_flag(c, "keepdim", false)};
    r.count = fsim_aten_ints(c, "dim", r.dim);
    r.count = r.count < 0 ? 0 : r.count;
    return r;
}

static void put_reduction(fsim_aten *c, const reduction *r)
{
    if (r->count > 0)
        fsim_draft_ints(c->x, "dim", r->count, r->dim);
    if (r->keepdim)
        fsim_draft_flag(c->x, "keepdim", true);
}

/* x in the dtype that the sum is made in. */
static fsim_torch_value *in_dtype(fsim_aten *c, fsim_torch_value *x)
{
    return x ? fsim_aten_cast(c, x, fsim_aten_dtype(c, "dtype", x->dtype)) : NULL;
}

bool fsim_aten_op_reduce(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = in_dtype(c, fsim_aten_self(c));
    const reduction r = reduction_of(c);
    if (x && x->shape.rank == 0 && !strstr(word, "arg"))
        return fsim_aten_same(c, 0, fsim_aten_cast(c, x, c->out[0]->dtype));
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    put_reduction(c, &r);
    return true;
}

/* Of all, along a dimension with the places, or of two tensors. */
bool fsim_aten_op_max(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c), *other = fsim_aten_tensor(c, "other");
    const reduction r = reduction_of(c);
    if (other)
        return fsim_aten_make(c, 0, strcmp(word, "max") == 0 ? "maximum" : "minimum", 2,
                              (fsim_torch_value *[2]){x, other});
    if (x && x->shape.rank == 0)
        return c->outs == 1 && fsim_aten_same(c, 0, x);
    if (!fsim_aten_make_all(c, word, 1, &x))
        return false;
    put_reduction(c, &r);
    return true;
}

bool fsim_aten_op_aminmax(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const reduction r = reduction_of(c);
    for (int k = 0; k < 2; k++) {
        if (!fsim_aten_make(c, k, k ? "max" : "min", 1, &x))
            return false;
        put_reduction(c, &r);
    }
    return true;
}

bool fsim_aten_op_logsumexp(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const reduction r = reduction_of(c);
    if (r.count < 1 || !fsim_aten_make(c, 0, "logsumexp", 1, &x))
        return false;
    put_reduction(c, &r);
    return true;
}

/* The norm of power p; of infinite power the largest. */
bool fsim_aten_op_norm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = in_dtype(c, fsim_aten_self(c));
    const reduction r = reduction_of(c);
    const double p = fsim_aten_number(c, "p|ord", 2);
    if (isinf(p)) {
        x = x ? fsim_aten_step(c, "abs", FSIM_AS("abs", &x->shape, x->dtype), 1, &x) : NULL;
        if (!fsim_aten_make(c, 0, p > 0 ? "max" : "min", 1, &x))
            return false;
    } else {
        if (!fsim_aten_make(c, 0, "norm", 1, &x))
            return false;
        if (p != 2 && p >= 0)
            fsim_draft_number(c->x, "p", p);
    }
    put_reduction(c, &r);
    return true;
}

/* Of matrices: Frobenius', which is that of all their elements. */
bool fsim_aten_op_matrix_norm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = in_dtype(c, fsim_aten_self(c));
    reduction r = reduction_of(c);
    if (r.count < 1) { /* the schema's own, which files leave out */
        r.count = 2;
        r.dim[0] = -2;
        r.dim[1] = -1;
    }
    if (strcmp(fsim_aten_text(c, "ord", "fro"), "fro") != 0 || !fsim_aten_make(c, 0, "norm", 1, &x))
        return false;
    put_reduction(c, &r);
    return true;
}

/* The mean with the reduced dimensions still there. */
static fsim_torch_value *mean_of(fsim_aten *c, fsim_torch_value *x, const reduction *r)
{
    fsim_shape s = x->shape;
    for (int i = 0; i < (r->count ? r->count : s.rank); i++) {
        const int dim = r->count ? fsim_aten_axis(r->dim[i], s.rank) : i;
        if (dim < 0)
            return NULL;
        s.dim[dim] = 1;
    }
    x = fsim_aten_step(c, "mean", FSIM_AS("mean", &s, x->dtype), 1, &x);
    if (x && r->count)
        fsim_draft_ints(c->x, "dim", r->count, r->dim);
    if (x)
        fsim_draft_flag(c->x, "keepdim", true);
    return x;
}

/* With the mean as the second output, or alone. */
bool fsim_aten_op_var(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    const reduction r = reduction_of(c);
    const double less = fsim_aten_number(c, "correction", fsim_aten_flag(c, "unbiased", true));
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    put_reduction(c, &r);
    if (less != 1)
        fsim_draft_number(c->x, "correction", less);
    return c->outs == 1 || fsim_aten_reshape(c, 1, mean_of(c, x, &r));
}

bool fsim_aten_op_softmax(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    x = x ? fsim_aten_cast(c, x, c->out[0]->dtype) : NULL;
    if (!fsim_aten_make(c, 0, word, 1, &x))
        return false;
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){fsim_aten_int(c, "dim", -1)});
    return true;
}

/* Sums of integers are of 64 bits, and cast where the file wants others. */
bool fsim_aten_op_scan(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = in_dtype(c, fsim_aten_self(c));
    const fsim_dtype wanted = c->out[0]->dtype, made = x && !fsim_dtype_floating(x->dtype) ? FSIM_I64 : wanted;
    const int64_t dim = fsim_aten_int(c, "dim", 0);
    if (made == wanted) {
        if (!fsim_aten_make(c, 0, word, 1, &x))
            return false;
        fsim_draft_ints(c->x, "dim", 1, &dim);
        return true;
    }
    x = fsim_aten_step(c, word, FSIM_AS("sums", &x->shape, made), 1, &x);
    if (!x)
        return false;
    fsim_draft_ints(c->x, "dim", 1, &dim);
    return fsim_aten_same(c, 0, fsim_aten_cast(c, x, wanted));
}
