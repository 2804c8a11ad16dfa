/* SPDX-License-Identifier: Apache-2.0 */
/* slice.c: Slice and Pad. */
#include "import/onnx/contents.h"
#include "import/onnx/import.h"

#include <inttypes.h>
#include <string.h>

/* What is cut out along an axis: count elements from start on, each `step` behind the one before. */
typedef struct {
    int64_t start, step, count;
} cut;

static int64_t clamp(int64_t x, int64_t least, int64_t most) { return x < least ? least : x > most ? most : x; }

static cut cut_of(int64_t length, int64_t start, int64_t end, int64_t step)
{
    start += start < 0 ? length : 0;
    end += end < 0 ? length : 0;
    start = step > 0 ? clamp(start, 0, length) : clamp(start, 0, length - 1);
    end = step > 0 ? clamp(end, 0, length) : clamp(end, -1, length - 1);
    const int64_t span = step > 0 ? end - start : start - end, size = step > 0 ? step : -step;
    return (cut){start, step, span > 0 ? (span - 1) / size + 1 : 0};
}

/* The lists of a Slice: attributes before opset 10, then inputs. axes and steps NULL: not given. */
typedef struct {
    const int64_t *start, *end, *axis, *step;
    int starts, ends, axes, steps;
} lists;

static bool read_lists(fsim_onnx_call *c, lists *l)
{
    if (c->opset < 10) {
        l->start = fsim_onnx_ints(c, "starts", &l->starts);
        l->end = fsim_onnx_ints(c, "ends", &l->ends);
        l->axis = fsim_onnx_ints(c, "axes", &l->axes);
    } else {
        l->start = fsim_onnx_ints_of(fsim_onnx_in(c, 1), &l->starts);
        l->end = fsim_onnx_ints_of(fsim_onnx_in(c, 2), &l->ends);
        l->axis = fsim_onnx_ints_of(fsim_onnx_in(c, 3), &l->axes);
        l->step = fsim_onnx_ints_of(fsim_onnx_in(c, 4), &l->steps);
        if ((fsim_onnx_in(c, 3) && !l->axis) || (fsim_onnx_in(c, 4) && !l->step))
            l->start = NULL;
    }
    if (l->start && l->end &&
        (l->starts != l->ends || (l->axis && l->axes != l->starts) || (l->step && l->steps != l->starts)))
        return fsim_onnx_refuse(c, "its lists of starts, ends, axes and steps differ in length");
    return true;
}

static bool cuts_of(fsim_onnx_call *c, const fsim_operand *x, const lists *l, cut *cuts)
{
    for (int i = 0; i < x->shape.rank; i++)
        cuts[i] = (cut){0, 1, x->shape.dim[i]};
    for (int i = 0; i < l->starts; i++) {
        const int64_t step = l->step ? l->step[i] : 1;
        int axis;
        if (!fsim_onnx_axis(c, l->axis ? l->axis[i] : i, x->shape.rank, &axis))
            return false;
        if (step == 0 || step == INT64_MIN)
            return fsim_onnx_refuse(c, "a step of %" PRId64, step);
        cuts[axis] = cut_of(x->shape.dim[axis], l->start[i], l->end[i], step);
    }
    return true;
}

/* How the elements of an axis are reached by what the workload has: after a flip where the step is negative, those at
 * `offset` in each group of `step` among count * step elements from `from` on. */
typedef struct {
    bool flip;
    int64_t from, step, offset;
} way;

static bool way_of(int64_t length, const cut *k, way *w)
{
    *w = (way){.flip = k->step < 0, .from = k->step < 0 ? length - 1 - k->start : k->start, .step = 1};
    if (k->count <= 1)
        return true;
    w->step = k->step < 0 ? -k->step : k->step;
    const int64_t span = k->count * w->step, from = length - span < w->from ? length - span : w->from;
    w->offset = w->from - from;
    w->from = from;
    return from >= 0;
}

/* One of the operators on the way: the last one makes the node's output. */
static fsim_operand *stage(fsim_onnx_call *c, bool last, const char *op, const fsim_shape *shape, fsim_operand *v,
                           const fsim_contents *known)
{
    return last ? fsim_onnx_make(fsim_knowing(c, known), 0, op, shape, v->dtype, FSIM_ARGS(v))
                : fsim_onnx_step(c, op, op, shape, v->dtype, FSIM_ARGS(v));
}

static fsim_operand *cut_out(fsim_onnx_call *c, bool last, fsim_operand *v, const fsim_shape *to, const int64_t *from,
                             const fsim_contents *known)
{
    int64_t dim[FSIM_MAX_RANK], start[FSIM_MAX_RANK], end[FSIM_MAX_RANK];
    int count = 0;
    for (int i = 0; i < to->rank; i++) {
        if (from[i] == 0 && to->dim[i] == v->shape.dim[i])
            continue;
        dim[count] = i;
        start[count] = from[i];
        end[count++] = from[i] + to->dim[i];
    }
    fsim_operand *made = stage(c, last, "slice", to, v, known);
    if (!made)
        return NULL;
    fsim_onnx_put_ints(c, "dim", count, dim);
    fsim_onnx_put_ints(c, "start", count, start);
    fsim_onnx_put_ints(c, "end", count, end);
    return made;
}

static fsim_operand *flipped(fsim_onnx_call *c, bool last, fsim_operand *v, const way *w, const fsim_contents *known)
{
    int64_t dim[FSIM_MAX_RANK];
    int count = 0;
    for (int i = 0; i < v->shape.rank; i++)
        if (w[i].flip)
            dim[count++] = i;
    fsim_operand *made = stage(c, last, "flip", &v->shape, v, known);
    if (made)
        fsim_onnx_put_ints(c, "dim", count, dim);
    return made;
}

/* Every step-th element: groups of `step` become a dimension, of which one place is kept. */
static bool thinned(fsim_onnx_call *c, fsim_operand *v, const way *w, const fsim_shape *to, const fsim_contents *known)
{
    fsim_shape apart = {0}, one = {0};
    int64_t from[FSIM_MAX_RANK] = {0};
    int groups = 0;
    for (int i = 0; i < to->rank; i++)
        groups += w[i].step > 1;
    if (to->rank + groups > FSIM_MAX_RANK)
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){.shape = *to, .dtype = v->dtype});
    for (int i = 0; i < to->rank; i++) {
        apart.dim[apart.rank++] = to->dim[i];
        one.dim[one.rank++] = to->dim[i];
        if (w[i].step <= 1)
            continue;
        from[one.rank] = w[i].offset;
        one.dim[one.rank++] = 1;
        apart.dim[apart.rank++] = w[i].step;
    }
    v = fsim_onnx_reshaped(c, v, &apart);
    v = v ? cut_out(c, false, v, &one, from, NULL) : NULL;
    if (!v || !fsim_onnx_make(fsim_knowing(c, known), 0, "reshape", to, v->dtype, FSIM_ARGS(v)))
        return false;
    fsim_onnx_put_ints(c, "shape", to->rank, to->dim);
    return true;
}

/* The same where an axis ends within its last group: windows of one element, `step` apart, along one axis after the
 * other. */
static bool strided(fsim_onnx_call *c, fsim_operand *x, const cut *cuts, const fsim_shape *to,
                    const fsim_contents *known)
{
    way w[FSIM_MAX_RANK] = {{0}};
    fsim_shape now = *to;
    int64_t from[FSIM_MAX_RANK];
    bool flip = false, part = false;
    int left = 0;
    if (to->rank == FSIM_MAX_RANK)
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){.shape = *to, .dtype = x->dtype});
    for (int i = 0; i < to->rank; i++) {
        w[i].flip = cuts[i].step < 0;
        w[i].step = cuts[i].count <= 1 ? 1 : w[i].flip ? -cuts[i].step : cuts[i].step;
        from[i] = w[i].flip ? x->shape.dim[i] - 1 - cuts[i].start : cuts[i].start;
        now.dim[i] = (to->dim[i] - 1) * w[i].step + 1;
        flip = flip || w[i].flip;
        part = part || now.dim[i] != x->shape.dim[i];
        left += w[i].step > 1;
    }
    x = flip ? flipped(c, false, x, w, NULL) : x;
    x = x && part ? cut_out(c, false, x, &now, from, NULL) : x;
    for (int i = 0; x && i < to->rank; i++) {
        if (w[i].step <= 1)
            continue;
        fsim_shape ones = now;
        ones.dim[i] = now.dim[i] = to->dim[i];
        ones.dim[ones.rank++] = 1;
        x = fsim_onnx_step(c, "apart", "unfold", &ones, x->dtype, FSIM_ARGS(x));
        if (!x)
            return false;
        fsim_onnx_put_ints(c, "dim", 1, (int64_t[1]){i});
        fsim_onnx_put_int(c, "size", 1);
        fsim_onnx_put_int(c, "step", w[i].step);
        x = --left > 0 ? fsim_onnx_reshaped(c, x, &now) : x;
    }
    if (!x || !fsim_onnx_make(fsim_knowing(c, known), 0, "reshape", to, x->dtype, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_ints(c, "shape", to->rank, to->dim);
    return true;
}

static bool write_slice(fsim_onnx_call *c, fsim_operand *x, const cut *cuts, const fsim_shape *to,
                        const fsim_contents *known)
{
    way w[FSIM_MAX_RANK];
    fsim_shape window = *to;
    int64_t from[FSIM_MAX_RANK];
    bool flip = false, thin = false, part = false;
    for (int i = 0; i < to->rank; i++) {
        if (!way_of(x->shape.dim[i], &cuts[i], &w[i]))
            return strided(c, x, cuts, to, known);
        from[i] = w[i].from;
        window.dim[i] = to->dim[i] * w[i].step;
        flip = flip || w[i].flip;
        thin = thin || w[i].step > 1;
        part = part || window.dim[i] != x->shape.dim[i];
    }
    if (flip)
        x = flipped(c, !thin && !part, x, w, known);
    if (x && part)
        x = cut_out(c, !thin, x, &window, from, known);
    return x && (!thin || thinned(c, x, w, to, known));
}

/* How much of x a slice takes whose ends are data: what the file says; in a loop, the passes share the elements;
 * elsewhere --dim says how many there are. */
static bool share_of_data(fsim_onnx_call *c, const fsim_operand *x, const lists *l, fsim_shape *to)
{
    const int64_t trips = c->m->trips;
    int axis = 0;
    if (fsim_onnx_stated(c->m, fsim_onnx_stated_type(c, 0), to) && to->rank == x->shape.rank)
        return true;
    *to = x->shape;
    if (to->rank == 0 || (l->axis && l->axes != 1))
        return fsim_onnx_depends(c, 1);
    if (l->axis && !fsim_onnx_axis(c, l->axis[0], to->rank, &axis))
        return false;
    const int64_t length = to->dim[axis];
    to->dim[axis] = trips > 0 && length > 0 ? (length - 1) / trips + 1 : fsim_onnx_ask(c, 0, axis, length);
    if (trips > 0 && !c->m->shares_said)
        fsim_warning(c->d, fsim_draft_place(c->x),
                     "the length of a slice depends on data: each of the loop's %" PRId64 " passes takes %" PRId64
                     " of %" PRId64,
                     trips, to->dim[axis], length);
    c->m->shares_said = c->m->shares_said || trips > 0;
    return true;
}

static bool slice_of_data(fsim_onnx_call *c, fsim_operand *x, const lists *l)
{
    fsim_shape to = {0};
    bool whole = true;
    if (!share_of_data(c, x, l, &to))
        return false;
    for (int i = 0; i < to.rank; i++) {
        if (to.dim[i] > x->shape.dim[i])
            return fsim_onnx_refuse(c, "%s is no part of %s", fsim_shape_text(c->a, &to),
                                    fsim_shape_text(c->a, &x->shape));
        whole = whole && to.dim[i] == x->shape.dim[i];
    }
    return whole ? fsim_onnx_same(c, 0, x) : cut_out(c, true, x, &to, (int64_t[FSIM_MAX_RANK]){0}, NULL) != NULL;
}

bool fsim_onnx_op_slice(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    lists l = {0};
    cut cuts[FSIM_MAX_RANK];
    int64_t stride[FSIM_MAX_RANK], start = 0;
    bool whole = true;
    if (!x || !read_lists(c, &l))
        return false;
    if (!l.start || !l.end)
        return slice_of_data(c, x, &l);
    if (!cuts_of(c, x, &l, cuts))
        return false;
    fsim_shape to = x->shape;
    fsim_contents_strides(&x->shape, stride);
    for (int i = 0; i < to.rank; i++) {
        to.dim[i] = cuts[i].count;
        whole = whole && cuts[i].count == x->shape.dim[i] && cuts[i].step > 0;
        start += cuts[i].start * stride[i];
        stride[i] *= cuts[i].count > 1 ? cuts[i].step : 0;
    }
    if (whole)
        return fsim_onnx_same(c, 0, x);
    const fsim_contents known = fsim_contents_view(c, x, &to, start, stride);
    if (fsim_elems(&to) == 0 || fsim_onnx_elems(x) == 0)
        return fsim_onnx_make(fsim_knowing(c, &known), 0, "slice", &to, x->dtype, FSIM_ARGS(x));
    return write_slice(c, x, cuts, &to, &known);
}

/* Pad. */

/* Elements before and behind each axis. */
static bool read_pads(fsim_onnx_call *c, int rank, int64_t *before, int64_t *behind)
{
    const int64_t *pads, *axes = NULL;
    int count, named = rank;
    if (!fsim_onnx_list(c, c->opset < 11 ? c->ins : 1, "pads", &pads, &count))
        return false;
    if (c->opset >= 18 && fsim_onnx_in(c, 3) && !fsim_onnx_list(c, 3, "axes", &axes, &named))
        return false;
    if (count != 2 * named)
        return fsim_onnx_refuse(c, "%d pads for %d dimensions", count, named);
    for (int i = 0; i < rank; i++)
        before[i] = behind[i] = 0;
    for (int i = 0; i < named; i++) {
        int axis = i;
        if (axes && !fsim_onnx_axis(c, axes[i], rank, &axis))
            return false;
        before[axis] = pads[i];
        behind[axis] = pads[named + i];
    }
    return true;
}

bool fsim_onnx_op_pad(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0);
    int64_t before[FSIM_MAX_RANK], behind[FSIM_MAX_RANK], padding[2 * FSIM_MAX_RANK];
    double value = c->opset < 11 ? fsim_onnx_float(c, "value", 0) : 0;
    bool any = false;
    if (!x || !read_pads(c, x->shape.rank, before, behind))
        return false;
    fsim_shape to = x->shape;
    for (int i = 0; i < to.rank; i++) {
        if (__builtin_add_overflow(to.dim[i], before[i], &to.dim[i]) ||
            __builtin_add_overflow(to.dim[i], behind[i], &to.dim[i]))
            return fsim_onnx_refuse(c, "its pads are too large");
        padding[2 * (to.rank - 1 - i)] = before[i];
        padding[2 * (to.rank - 1 - i) + 1] = behind[i];
        any = any || before[i] != 0 || behind[i] != 0;
    }
    if (!any)
        return fsim_onnx_same(c, 0, x);
    const char *mode = fsim_onnx_string(c, "mode", "constant");
    if (strcmp(mode, "constant") != 0) {
        c->unsupported = fsim_printf(c->a, "mode '%s'", mode);
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){.shape = to, .dtype = x->dtype});
    }
    if (c->opset >= 11 && fsim_onnx_in(c, 2))
        fsim_onnx_number_of(fsim_onnx_in(c, 2), &value);
    if (!fsim_onnx_make(c, 0, "pad", &to, x->dtype, FSIM_ARGS(x)))
        return false;
    fsim_onnx_put_ints(c, "padding", 2 * to.rank, padding);
    fsim_onnx_put_number(c, "value", value);
    return true;
}
