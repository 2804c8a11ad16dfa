/* SPDX-License-Identifier: Apache-2.0 */
/* aten_strided.c: views by strides. */
#include "import/torch/aten.h"

#include <string.h>

static void put_dim(fsim_aten *c, int64_t dim) { fsim_draft_ints(c->x, "dim", 1, &dim); }

/* Windows along a dimension, which may overlap: in the result that dimension is two, `dim` and the next. */
typedef struct {
    int dim;
    int64_t count, length, step;
    fsim_shape from; /* what they are windows of */
} windows;

/* Does every dimension behind the windows have the length that it has in what they are of? */
static bool same_behind(const windows *w, int rank, const int64_t *size)
{
    if (w->from.rank != rank - 1)
        return false;
    for (int i = w->dim + 1; i < w->from.rank; i++)
        if (size[i + 1] != w->from.dim[i])
            return false;
    return true;
}

/* Of x as it is, its elements in their order; or of two dimensions of x as one, which are windows themselves that do
 * not overlap. */
static bool find_windows(const fsim_torch_value *x, int rank, const int64_t *size, const int64_t *stride, windows *w)
{
    int64_t below = 1;
    *w = (windows){.from = x->shape};
    while (w->dim < x->shape.rank && size[w->dim] == x->shape.dim[w->dim])
        w->dim++;
    if (w->dim + 1 >= rank || stride[w->dim + 1] < 1 || stride[w->dim] % stride[w->dim + 1] != 0)
        return false;
    if (x->shape.rank == rank) {
        w->from.rank--;
        w->from.dim[w->dim] = x->shape.dim[w->dim] * x->shape.dim[w->dim + 1];
        memmove(w->from.dim + w->dim + 1, x->shape.dim + w->dim + 2,
                (size_t)(w->from.rank - w->dim - 1) * sizeof *w->from.dim);
    } else {
        for (int i = rank - 1; i >= 0; i--) {
            if (i != w->dim && stride[i] != below)
                return false;
            below *= i == w->dim ? 1 : i == w->dim + 1 ? x->shape.dim[w->dim] : size[i];
        }
    }
    w->count = size[w->dim];
    w->length = size[w->dim + 1];
    w->step = stride[w->dim] / stride[w->dim + 1];
    return same_behind(w, rank, size) && w->step > 0 && (w->count - 1) * w->step + w->length <= w->from.dim[w->dim];
}

static bool windows_of(fsim_aten *c, fsim_torch_value *x)
{
    const int rank = c->out[0]->shape.rank;
    int64_t size[16], stride[16], order[FSIM_MAX_RANK];
    windows w;
    if (fsim_aten_ints(c, "size", size) != rank || fsim_aten_ints(c, "stride", stride) != rank ||
        fsim_aten_int(c, "storage_offset", 0) != 0 || !find_windows(x, rank, size, stride, &w))
        return false;
    const int64_t kept = (w.count - 1) * w.step + w.length, first = 0;
    fsim_shape used = w.from, wide = w.from;
    x = fsim_aten_reshaped(c, x, &w.from);
    used.dim[w.dim] = kept;
    if (kept < w.from.dim[w.dim]) {
        x = fsim_aten_step(c, "slice", FSIM_AS("used", &used, x->dtype), 1, &x);
        put_dim(c, w.dim);
        fsim_draft_ints(c->x, "start", 1, &first);
        fsim_draft_ints(c->x, "end", 1, &kept);
    }
    wide.dim[w.dim] = w.count;
    wide.dim[wide.rank++] = w.length;
    x = fsim_aten_step(c, "unfold", FSIM_AS("windows", &wide, x->dtype), 1, &x);
    put_dim(c, w.dim);
    fsim_draft_int(c->x, "size", w.length);
    fsim_draft_int(c->x, "step", w.step);
    if (w.dim == wide.rank - 2)
        return fsim_aten_reshape(c, 0, x);
    for (int i = 0; i < wide.rank; i++)
        order[i] = i <= w.dim ? i : i == w.dim + 1 ? wide.rank - 1 : i - 1;
    if (!fsim_aten_make(c, 0, "permute", 1, &x))
        return false;
    fsim_draft_ints(c->x, "dim", wide.rank, order);
    return true;
}

/* A view by strides. One with as many elements in the same order but for dimensions of 1, as core ATen has it of means
 * and of squeezed weights, is a reshape; of what others read, only windows that overlap are followed. */
bool fsim_aten_op_as_strided(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const fsim_shape *s = &c->out[0]->shape;
    int own = 0, wanted = 0;
    while (x && (own < x->shape.rank || wanted < s->rank)) {
        if (own < x->shape.rank && x->shape.dim[own] == 1)
            own++;
        else if (wanted < s->rank && s->dim[wanted] == 1)
            wanted++;
        else if (own == x->shape.rank || wanted == s->rank || x->shape.dim[own++] != s->dim[wanted++])
            return windows_of(c, x);
    }
    return x && fsim_aten_reshape(c, 0, x);
}
