/* SPDX-License-Identifier: Apache-2.0 */
/* aten_shape.c: views, copies into other shapes, and what joins and cuts. The file has the shape of every result. */
#include "import/torch/work.h"

#include <string.h>

bool fsim_aten_op_reshape(fsim_aten *c, const char *word)
{
    (void)word;
    return fsim_aten_reshape(c, 0, fsim_aten_self(c));
}

bool fsim_aten_op_none(fsim_aten *c, const char *word)
{
    (void)c;
    (void)word;
    return true;
}

static void put_dims(fsim_aten *c, int count, const int64_t *dim) { fsim_draft_ints(c->x, "dim", count, dim); }
static void put_dim(fsim_aten *c, int64_t dim) { put_dims(c, 1, &dim); }

bool fsim_aten_op_expand(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const fsim_shape *s = &c->out[0]->shape;
    if (!x)
        return false;
    if (fsim_aten_elems(&x->shape) == fsim_aten_elems(s))
        return fsim_aten_reshape(c, 0, x);
    if (!fsim_aten_make(c, 0, "expand", 1, &x))
        return false;
    if (x->shape.rank == 2 && s->rank > 2 && x->shape.dim[0] == s->dim[s->rank - 2] &&
        x->shape.dim[1] == s->dim[s->rank - 1])
        c->out[0]->shared = x;
    fsim_draft_ints(c->x, "shape", s->rank, s->dim);
    return true;
}

/* Each tensor as wide as all of them. */
bool fsim_aten_op_broadcast(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value **in;
    const int count = fsim_aten_tensors(c, "tensors", &in);
    if (count != c->outs)
        return false;
    for (int k = 0; k < count; k++)
        if (!c->out[k] || !fsim_aten_same(c, k, fsim_aten_expanded(c, in[k], &c->out[k]->shape)))
            return false;
    return true;
}

/* Each dimension so many times: [a, b] as [1, a, 1, b], widened and joined. */
bool fsim_aten_op_repeat(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const fsim_shape *s = &c->out[0]->shape;
    fsim_shape apart = {0}, wide = {0};
    if (!x || x->shape.rank > s->rank)
        return false;
    for (int i = 0, lead = s->rank - x->shape.rank; i < s->rank; i++) {
        const int64_t own = i < lead ? 1 : x->shape.dim[i - lead];
        const bool both = own > 1 && s->dim[i] > own;
        if (own == 0 || s->dim[i] % own != 0 || apart.rank + both >= FSIM_MAX_RANK)
            return false;
        if (both) {
            wide.dim[apart.rank] = s->dim[i] / own;
            apart.dim[apart.rank++] = 1;
        }
        wide.dim[apart.rank] = own > 1 ? own : s->dim[i];
        apart.dim[apart.rank++] = own;
    }
    wide.rank = apart.rank;
    return fsim_aten_reshape(c, 0, fsim_aten_expanded(c, fsim_aten_reshaped(c, x, &apart), &wide));
}

/* Each row as often as data say: the sums of the repeats, and a pass that copies. */
static bool repeated_by_data(fsim_aten *c)
{
    const fsim_torch_value *x = fsim_aten_self(c);
    fsim_aten_assume(c, fsim_printf(c->a, "how long its result is depends on data; assumed: %lld elements of %lld",
                                    (long long)fsim_aten_elems(&c->out[0]->shape),
                                    x ? (long long)fsim_aten_elems(&x->shape) : 0));
    return fsim_aten_whole_kernel(c, (fsim_aten_work){0, 0});
}

/* Each element so many times. Repeats that are data choose rows. */
bool fsim_aten_op_repeat_interleave(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const fsim_torch_arg *repeats = fsim_aten_arg(c, "repeats"), *dim = fsim_aten_arg(c, "dim");
    double times;
    bool whole;
    if (!x || !fsim_aten_scalar(c, repeats, &times, &whole))
        return repeated_by_data(c);
    const fsim_shape flat = {.rank = 1, .dim = {fsim_aten_elems(&x->shape)}};
    x = dim ? x : fsim_aten_reshaped(c, x, &flat);
    const int axis = x ? fsim_aten_axis(dim ? fsim_aten_int(c, "dim", 0) : 0, x->shape.rank) : -1;
    if (axis < 0 || !fsim_aten_make(c, 0, "repeat_interleave", 1, &x))
        return false;
    fsim_draft_int(c->x, "repeats", (int64_t)times);
    put_dim(c, axis);
    return true;
}

/* x with its dimensions in this order. One that changes only where ones lie is a view. */
static bool permuted(fsim_aten *c, fsim_torch_value *x, const int64_t *order)
{
    const int rank = x->shape.rank;
    int last = -1;
    bool moves = false, seen[FSIM_MAX_RANK] = {false};
    for (int i = 0; i < rank; i++) {
        if (order[i] < 0 || order[i] >= rank || seen[order[i]])
            return false;
        seen[order[i]] = true;
        if (x->shape.dim[order[i]] == 1)
            continue;
        moves = moves || order[i] < last;
        last = (int)order[i];
    }
    if (!moves)
        return fsim_aten_reshape(c, 0, x);
    if (!fsim_aten_make(c, 0, "permute", 1, &x))
        return false;
    put_dims(c, rank, order);
    fsim_aten_view(c, 0, x, rank == 2 ? -2 : -3, 0);
    if (c->out[0] != x) {
        int64_t *own = fsim_new(c->a, int64_t, rank);
        memcpy(own, order, (size_t)rank * sizeof *own);
        c->out[0]->order = own;
    }
    return true;
}

bool fsim_aten_op_permute(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    int64_t order[16];
    const int count = fsim_aten_ints(c, "dims", order);
    if (!x || count != x->shape.rank)
        return false;
    for (int i = 0; i < count; i++)
        order[i] = fsim_aten_axis(order[i], count);
    return permuted(c, x, order);
}

/* Two dimensions change places: those named, or the last two. */
bool fsim_aten_op_transpose(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    int64_t order[FSIM_MAX_RANK];
    if (!x)
        return false;
    const int rank = x->shape.rank;
    if (rank < 2)
        return fsim_aten_same(c, 0, x);
    const int a = fsim_aten_axis(fsim_aten_int(c, "dim0|axis0", -2), rank),
              b = fsim_aten_axis(fsim_aten_int(c, "dim1|axis1", -1), rank);
    if (a < 0 || b < 0 || (strcmp(c->op, "numpy_T") == 0 && rank > 2))
        return false;
    for (int i = 0; i < rank; i++)
        order[i] = i;
    order[a] = b;
    order[b] = a;
    return permuted(c, x, order);
}

bool fsim_aten_op_movedim(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    int64_t from[16], to[16], order[FSIM_MAX_RANK];
    const int count = fsim_aten_ints(c, "source", from);
    bool moved[FSIM_MAX_RANK] = {false}, filled[FSIM_MAX_RANK] = {false};
    if (!x || count < 0 || fsim_aten_ints(c, "destination", to) != count)
        return false;
    const int rank = x->shape.rank;
    for (int i = 0; i < count; i++) {
        const int a = fsim_aten_axis(from[i], rank), b = fsim_aten_axis(to[i], rank);
        if (a < 0 || b < 0 || moved[a] || filled[b])
            return false;
        order[b] = a;
        moved[a] = filled[b] = true;
    }
    for (int i = 0, next = 0; i < rank; i++) {
        if (filled[i])
            continue;
        while (moved[next])
            next++;
        order[i] = next++;
    }
    return permuted(c, x, order);
}

/* Parts. */

/* Output k is x from start on along dim, as long as the output is there. */
static bool part(fsim_aten *c, int k, fsim_torch_value *x, int dim, int64_t start)
{
    const int64_t size = c->out[k]->shape.dim[dim];
    if (fsim_aten_same_shape(&x->shape, &c->out[k]->shape))
        return fsim_aten_same(c, k, x);
    if (start < 0 || start + size > x->shape.dim[dim] || !fsim_aten_make(c, k, "slice", 1, &x))
        return false;
    put_dim(c, dim);
    fsim_draft_ints(c->x, "start", 1, &start);
    fsim_draft_ints(c->x, "end", 1, (int64_t[1]){start + size});
    fsim_aten_view(c, k, x, dim, start);
    return true;
}

/* Every `step`-th: [n, step] and the first of each, where the part is long enough for that; else windows of one
 * element, as far apart. */
static bool stepped(fsim_aten *c, fsim_torch_value *x, int dim, int64_t start, int64_t step)
{
    const int64_t count = c->out[0]->shape.dim[dim];
    fsim_aten_view(c, 0, x, dim, start);
    c->out[0]->step = step;
    if (start == 0 && x->shape.dim[dim] == count * step && x->shape.rank < FSIM_MAX_RANK) {
        fsim_shape apart = {.rank = x->shape.rank + 1};
        for (int i = 0; i < apart.rank; i++)
            apart.dim[i] = i < dim ? x->shape.dim[i] : i == dim ? count : i == dim + 1 ? step : x->shape.dim[i - 1];
        x = fsim_aten_reshaped(c, x, &apart);
        if (!fsim_aten_make(c, 0, "select", 1, &x))
            return false;
        put_dim(c, dim + 1);
        fsim_draft_int(c->x, "index", 0);
        return true;
    }
    fsim_torch_value *whole = x;
    fsim_shape window = x->shape, ones = c->out[0]->shape;
    const int64_t end = start + (count - 1) * step + 1;
    if (ones.rank == FSIM_MAX_RANK || end > x->shape.dim[dim])
        return false;
    window.dim[dim] = end - start;
    ones.dim[ones.rank++] = 1;
    if (!fsim_aten_same_shape(&window, &x->shape)) {
        x = fsim_aten_step(c, "slice", FSIM_AS("part", &window, x->dtype), 1, &x);
        put_dim(c, dim);
        fsim_draft_ints(c->x, "start", 1, &start);
        fsim_draft_ints(c->x, "end", 1, &end);
    }
    x = x ? fsim_aten_step(c, "unfold", FSIM_AS("apart", &ones, x->dtype), 1, &x) : NULL;
    put_dim(c, dim);
    fsim_draft_int(c->x, "size", 1);
    fsim_draft_int(c->x, "step", step);
    if (!fsim_aten_reshape(c, 0, x))
        return false;
    fsim_aten_view(c, 0, whole, dim, start);
    c->out[0]->step = step;
    return true;
}

/* A bound of a slice, from the front and within the length. */
static int64_t bound(int64_t at, int64_t length)
{
    at = at < 0 ? at + length : at;
    return at < 0 ? 0 : at > length ? length : at;
}

bool fsim_aten_op_slice(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", 0), x->shape.rank) : -1;
    if (dim < 0 || c->out[0]->shape.rank != x->shape.rank)
        return false;
    const int64_t start = bound(fsim_aten_int(c, "start", 0), x->shape.dim[dim]), step = fsim_aten_int(c, "step", 1);
    return step == 1 || c->out[0]->shape.dim[dim] == 1
               ? part(c, 0, x, dim, start)
               : step > 1 && step < FSIM_MAX_DIM && stepped(c, x, dim, start, step);
}

bool fsim_aten_op_narrow(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", 0), x->shape.rank) : -1;
    return dim >= 0 && part(c, 0, x, dim, bound(fsim_aten_int(c, "start", 0), x->shape.dim[dim]));
}

/* One element along dim, which is gone then. */
static bool selected(fsim_aten *c, int k, fsim_torch_value *x, int dim, int64_t index)
{
    if (x->shape.dim[dim] == 1)
        return fsim_aten_reshape(c, k, x);
    if (!fsim_aten_make(c, k, "select", 1, &x))
        return false;
    put_dim(c, dim);
    fsim_draft_int(c->x, "index", index);
    fsim_aten_view(c, k, x, dim, index);
    return true;
}

bool fsim_aten_op_select(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", 0), x->shape.rank) : -1;
    const int64_t index = fsim_aten_int(c, "index", 0);
    if (dim < 0)
        return false;
    /* a place that data choose is one of them all the same */
    const int at = fsim_aten_axis(index, x->shape.dim[dim] < FSIM_MAX_DIM ? (int)x->shape.dim[dim] : 1);
    return selected(c, 0, x, dim, at < 0 ? 0 : at);
}

bool fsim_aten_op_unbind(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", 0), x->shape.rank) : -1;
    if (dim < 0 || c->outs != x->shape.dim[dim])
        return false;
    for (int k = 0; k < c->outs; k++)
        if (c->out[k] && c->read[k] && !selected(c, k, x, dim, k))
            return false;
    return true;
}

/* The pieces that anything reads. */
static bool read_pieces(fsim_aten *c, fsim_torch_value *x, int dim)
{
    int64_t start = 0;
    for (int k = 0; k < c->outs; k++) {
        if (c->read[k] && !part(c, k, x, dim, start))
            return false;
        start += c->out[k]->shape.dim[dim];
    }
    return true;
}

/* Pieces along a dimension, as long as the file says. word: the dimension of hsplit and its like. */
bool fsim_aten_op_split(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    const int absent = *word == '1' && x && x->shape.rank < 2 ? 0 : *word ? *word - '0' : 0;
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", absent), x->shape.rank) : -1;
    int64_t all = 0;
    if (dim < 0)
        return false;
    for (int k = 0; k < c->outs; k++) {
        if (!c->out[k] || c->out[k]->empty || c->out[k]->shape.rank != x->shape.rank)
            return false;
        all += c->out[k]->shape.dim[dim];
    }
    if (c->outs == 1)
        return fsim_aten_same(c, 0, x);
    if (all == x->shape.dim[dim])
        return read_pieces(c, x, dim);
    const char *sizes = fsim_printf(c->a, "its results are %lld long together and its input %lld", (long long)all,
                                    (long long)x->shape.dim[dim]);
    fsim_aten_assume(c, fsim_printf(c->a, "%s: dimensions that depend on data do not agree", sizes));
    return false;
}

/* Joins. */

bool fsim_aten_op_cat(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value **in;
    const int count = fsim_aten_tensors(c, "tensors", &in), rank = c->out[0]->shape.rank;
    const int absent = strcmp(c->op, "hstack") == 0 && rank > 1;
    const int dim = fsim_aten_axis(fsim_aten_int(c, "dim", absent), rank);
    int some = 0;
    if (count < 0 || dim < 0)
        return false;
    for (int i = 0; i < count; i++)
        if (in[i] && !in[i]->empty)
            in[some++] = fsim_aten_cast(c, in[i], c->out[0]->dtype);
    if (some == 1)
        return fsim_aten_same(c, 0, in[0]);
    if (!fsim_aten_make(c, 0, "concat", some, in))
        return false;
    put_dim(c, dim);
    return true;
}

bool fsim_aten_op_stack(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value **in;
    const int count = fsim_aten_tensors(c, "tensors", &in);
    const int dim = fsim_aten_axis(fsim_aten_int(c, "dim", 0), c->out[0]->shape.rank);
    if (count < 1 || dim < 0)
        return false;
    if (count == 1)
        return fsim_aten_reshape(c, 0, in[0]);
    for (int i = 0; i < count; i++)
        in[i] = fsim_aten_cast(c, in[i], c->out[0]->dtype);
    if (!fsim_aten_make(c, 0, "stack", count, in))
        return false;
    put_dim(c, dim);
    return true;
}

/* Filled with a constant; mirrored and repeated edges cost the same. */
bool fsim_aten_op_pad(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    int64_t list[16];
    const int count = fsim_aten_ints(c, "pad|padding", list);
    bool any = false;
    for (int i = 0; i < count; i++)
        any = any || list[i] != 0;
    if (!any)
        return count >= 0 && fsim_aten_same(c, 0, x);
    if (!fsim_aten_make(c, 0, "pad", 1, &x))
        return false;
    fsim_draft_ints(c->x, "padding", count, list);
    if (fsim_aten_number(c, "value", 0) != 0)
        fsim_draft_number(c->x, "value", fsim_aten_number(c, "value", 0));
    return true;
}

bool fsim_aten_op_roll(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    int64_t shifts[16], dims[16];
    const int count = fsim_aten_ints(c, "shifts", shifts), along = fsim_aten_ints(c, "dims", dims);
    if (count < 1 || !fsim_aten_make(c, 0, "roll", 1, &x))
        return false;
    fsim_draft_ints(c->x, "roll", count, shifts);
    if (along > 0)
        put_dims(c, along, dims);
    return true;
}

bool fsim_aten_op_unfold(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dimension", 0), x->shape.rank) : -1;
    if (dim < 0 || !fsim_aten_make(c, 0, "unfold", 1, &x))
        return false;
    put_dim(c, dim);
    fsim_draft_int(c->x, "size", fsim_aten_int(c, "size", 1));
    fsim_draft_int(c->x, "step", fsim_aten_int(c, "step", 1));
    return true;
}

/* word: im2col, x[N, C, H, W] as columns of windows; or fold, its way back. */
bool fsim_aten_op_im2col(fsim_aten *c, const char *word)
{
    static const char *const from[] = {"output_size", "kernel_size", "stride", "padding", "dilation"};
    static const char *const to[] = {"output_size", "kernel", "stride", "padding", "dilation"};
    fsim_torch_value *x = fsim_aten_self(c);
    int64_t list[16];
    const bool back = strcmp(word, "fold") == 0;
    if (!x || x->shape.rank != (back ? 3 : 4) || !fsim_aten_make(c, 0, word, 1, &x))
        return false;
    for (int i = !back; i < 5; i++) {
        const int count = fsim_aten_ints(c, from[i], list);
        if (count > 0)
            fsim_draft_ints(c->x, to[i], count, list);
    }
    return true;
}

bool fsim_aten_op_flip(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    int64_t dims[16];
    const int count = fsim_aten_ints(c, "dims", dims);
    if (count < 1)
        return fsim_aten_same(c, 0, x);
    if (!fsim_aten_make(c, 0, "flip", 1, &x))
        return false;
    put_dims(c, count, dims);
    return true;
}

/* What lies `from` on along dim, one shorter than x. */
static fsim_torch_value *shifted(fsim_aten *c, fsim_torch_value *x, int dim, int64_t from)
{
    fsim_shape s = x->shape;
    s.dim[dim]--;
    fsim_torch_value *y = fsim_aten_step(c, "slice", FSIM_AS(from ? "next" : "former", &s, x->dtype), 1, &x);
    if (y) {
        put_dim(c, dim);
        fsim_draft_ints(c->x, "start", 1, &from);
        fsim_draft_ints(c->x, "end", 1, (int64_t[1]){from + s.dim[dim]});
    }
    return y;
}

/* Each element less the one before it, once. */
bool fsim_aten_op_diff(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *in[3] = {fsim_aten_tensor(c, "prepend"), fsim_aten_self(c), fsim_aten_tensor(c, "append")};
    const int dim = in[1] ? fsim_aten_axis(fsim_aten_int(c, "dim", -1), in[1]->shape.rank) : -1;
    if (dim < 0 || fsim_aten_int(c, "n", 1) != 1)
        return false;
    fsim_shape s = in[1]->shape;
    fsim_torch_value *x = in[1], *some[3];
    int count = 0;
    s.dim[dim] = 0;
    for (int i = 0; i < 3; i++)
        if (in[i]) {
            s.dim[dim] += in[i]->shape.dim[dim];
            some[count++] = in[i];
        }
    if (count > 1) {
        x = fsim_aten_step(c, "concat", FSIM_AS("whole", &s, x->dtype), count, some);
        put_dim(c, dim);
    }
    if (!x || s.dim[dim] < 2)
        return false;
    fsim_torch_value *next = shifted(c, x, dim, 1);
    return fsim_aten_make(c, 0, c->out[0]->dtype == FSIM_BOOL ? "ne" : "sub", 2,
                          (fsim_torch_value *[2]){next, shifted(c, x, dim, 0)});
}

bool fsim_aten_op_pixel_shuffle(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    if (!x || x->shape.rank != 4 || !fsim_aten_make(c, 0, "pixel_shuffle", 1, &x))
        return false;
    fsim_draft_int(c->x, "upscale_factor", fsim_aten_int(c, "upscale_factor", 1));
    return true;
}

/* [N, C, H r, W r] as [N, C r r, H, W]. */
bool fsim_aten_op_pixel_unshuffle(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const int64_t r = fsim_aten_int(c, "downscale_factor", 1);
    if (!x || x->shape.rank != 4 || r < 1)
        return false;
    const int64_t *d = x->shape.dim;
    const fsim_shape six = {.rank = 6, .dim = {d[0], d[1], d[2] / r, r, d[3] / r, r}},
                     moved = {.rank = 6, .dim = {d[0], d[1], r, r, d[2] / r, d[3] / r}};
    x = fsim_aten_reshaped(c, x, &six);
    x = fsim_aten_step(c, "permute", FSIM_AS("pixels", &moved, c->out[0]->dtype), 1, &x);
    if (x)
        put_dims(c, 6, (int64_t[6]){0, 1, 3, 5, 2, 4});
    return fsim_aten_reshape(c, 0, x);
}

/* Each vector along a dimension of its own. */
bool fsim_aten_op_meshgrid(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value **in;
    const int count = fsim_aten_tensors(c, "tensors", &in);
    const bool xy = strcmp(fsim_aten_text(c, "indexing", "ij"), "xy") == 0;
    if (count < 1 || count != c->outs || count > FSIM_MAX_RANK)
        return false;
    for (int k = 0; k < count; k++) {
        fsim_shape s = {.rank = count};
        if (!in[k] || !c->out[k] || c->out[k]->shape.rank != count)
            return false;
        for (int i = 0; i < count; i++)
            s.dim[i] = i == (xy && k < 2 ? 1 - k : k) ? fsim_aten_elems(&in[k]->shape) : 1;
        fsim_torch_value *x = fsim_aten_reshaped(c, in[k], &s);
        if (!fsim_aten_make(c, k, "expand", 1, &x))
            return false;
        fsim_draft_ints(c->x, "shape", count, c->out[k]->shape.dim);
    }
    return true;
}
