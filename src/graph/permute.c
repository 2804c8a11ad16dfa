/* SPDX-License-Identifier: Apache-2.0 */
/* permute.c: the rules of views and of index maps: an element of the result is one of the argument. */
#include "graph/build.h"

static const char *text_of(const fsim_call *call, const fsim_shape *s)
{
    return fsim_shape_text(call->build->arena, s);
}

bool fsim_rule_reshape(fsim_call *call)
{
    const fsim_tensor *t = fsim_arg(call, 0);
    fsim_shape out = {0};
    int guess = -1;
    double known = 1;
    if (!fsim_shape_from(call, FSIM_ATTR_SHAPE, &out))
        return false;
    for (int i = 0; i < out.rank; i++) {
        if (out.dim[i] == -1) {
            if (guess >= 0)
                return fsim_refuse(call, "only one dimension may be -1");
            guess = i;
        } else {
            known *= (double)out.dim[i];
        }
    }
    if (guess >= 0)
        out.dim[guess] =
            known > 0 && known <= (double)t->elems && t->elems % (int64_t)known == 0 ? t->elems / (int64_t)known : 0;
    double elems = 1;
    for (int i = 0; i < out.rank; i++)
        elems *= (double)out.dim[i];
    if (elems != (double)t->elems) {
        if (guess >= 0)
            out.dim[guess] = -1; /* as it was written */
        return fsim_refuse(call, "cannot view %s (%lld elements) as %s", text_of(call, &t->shape), (long long)t->elems,
                           text_of(call, &out));
    }
    call->result[0] = fsim_add_view(call->build, call->at, call->out[0], &out, call->arg[0], 0);
    return call->result[0] >= 0;
}

/* Adds one primitive that reads its only argument through m. */
static bool through(fsim_call *call, const fsim_shape *out, fsim_map m)
{
    fsim_node *n = fsim_add_node(call, out, 1);
    if (!n)
        return false;
    m.offset += fsim_arg(call, 0)->offset;
    m.split = m.modes;
    n->arg[0].map = fsim_map_simplify(m);
    bool exact;
    n->arg[0].distinct = fsim_map_distinct(&n->arg[0].map, &exact);
    return true;
}

static bool permuted(fsim_call *call, const int *order)
{
    const fsim_shape *in = &fsim_arg(call, 0)->shape;
    int64_t stride[FSIM_MAX_RANK];
    fsim_shape out = {.rank = in->rank};
    fsim_map m = {0};
    fsim_row_major(in, stride);
    for (int i = 0; i < in->rank; i++) {
        out.dim[i] = in->dim[order[i]];
        fsim_map_push(&m, out.dim[i], stride[order[i]]);
    }
    return through(call, &out, m);
}

bool fsim_rule_permute(fsim_call *call)
{
    const fsim_list *l = &call->list[FSIM_ATTR_DIMS];
    const int rank = fsim_arg(call, 0)->shape.rank;
    int order[FSIM_MAX_RANK], seen = 0;
    if (l->count != rank)
        return fsim_refuse(call, "'dims' lists %d of the tensor's %d dimensions", l->count, rank);
    for (int i = 0; i < rank; i++) {
        if (!fsim_wrap_dim(call, rank, l->at[i], &order[i]))
            return false;
        if (seen & 1 << order[i])
            return fsim_refuse(call, "'dims' names dimension %d twice", order[i]);
        seen |= 1 << order[i];
    }
    return permuted(call, order);
}

bool fsim_rule_transpose(fsim_call *call)
{
    const fsim_list *l = &call->list[FSIM_ATTR_DIMS];
    const int rank = fsim_arg(call, 0)->shape.rank;
    int order[FSIM_MAX_RANK], i, j;
    if (l->present && l->count != 2)
        return fsim_refuse(call, "'dims' names the two dimensions to swap; found %d", l->count);
    if (!l->present && rank - (call->examples > 0) != 2)
        return fsim_refuse(call, "wants 'dim: [i, j]', the two dimensions to swap: the tensor has %d",
                           rank - (call->examples > 0));
    if (!fsim_wrap_dim(call, rank, l->present ? l->at[0] : -2, &i) ||
        !fsim_wrap_dim(call, rank, l->present ? l->at[1] : -1, &j))
        return false;
    for (int d = 0; d < rank; d++)
        order[d] = d;
    order[i] = j;
    order[j] = i;
    return permuted(call, order);
}

/* A box of the argument; a view where its elements are contiguous. */
static bool boxed(fsim_call *call, const int64_t *start, const fsim_shape *out)
{
    const fsim_tensor *t = fsim_arg(call, 0);
    int64_t stride[FSIM_MAX_RANK], offset = 0;
    bool contiguous = true, cut = false;
    fsim_map m = {0};
    fsim_row_major(&t->shape, stride);
    for (int d = out->rank; d-- > 0;) {
        if (start[d] < 0 || out->dim[d] < 1 || start[d] + out->dim[d] > t->shape.dim[d])
            return fsim_refuse(call, "elements %lld to %lld of dimension %d, which has %lld", (long long)start[d],
                               (long long)(start[d] + out->dim[d] - 1), d, (long long)t->shape.dim[d]);
        offset += start[d] * stride[d];
        contiguous = contiguous && (!cut || out->dim[d] == 1);
        cut = cut || out->dim[d] != t->shape.dim[d];
    }
    if (contiguous) {
        call->result[0] = fsim_add_view(call->build, call->at, call->out[0], out, call->arg[0], offset);
        return call->result[0] >= 0;
    }
    for (int d = 0; d < out->rank; d++)
        fsim_map_push(&m, out->dim[d], stride[d]);
    m.offset = offset;
    return through(call, out, m);
}

int fsim_slice_entries(const fsim_call *call, bool *whole)
{
    static const fsim_attr lists[] = {FSIM_ATTR_START, FSIM_ATTR_END, FSIM_ATTR_SIZE};
    int entries = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const fsim_list *l = &call->list[lists[i]];
        if (entries && l->present && l->count != entries) {
            fsim_refuse(call, "wants 'start' and '%s' of equal length", fsim_attr_rows[lists[i]].name);
            return -1;
        }
        if (l->present) {
            entries = l->count;
            *whole = l->whole;
        }
    }
    if (entries == 0 || (call->list[FSIM_ATTR_END].present && call->list[FSIM_ATTR_SIZE].present)) {
        fsim_refuse(call, entries ? "has both 'end' and 'size'; wants one of them"
                                  : "wants 'start', and 'end' or 'size', for each 'dim'");
        return -1;
    }
    return entries;
}

/* x[start:end] of a dimension, where a number below zero counts from its end; what lies outside is cut off, as in
 * Python. */
static int64_t bounded(int64_t at, int64_t length)
{
    at = at < 0 ? at + length : at;
    return at < 0 ? 0 : at > length ? length : at;
}

/* Entry i of a slice of a dimension of this length. False after an error. */
static bool cut_of(const fsim_call *call, int i, int64_t length, int64_t *from, int64_t *size)
{
    const fsim_list *start = &call->list[FSIM_ATTR_START], *end = &call->list[FSIM_ATTR_END];
    const int64_t first = start->present ? start->at[i] : 0;
    *from = first < 0 ? first + length : first;
    if (call->list[FSIM_ATTR_SIZE].present) {
        *size = call->list[FSIM_ATTR_SIZE].at[i];
        return true;
    }
    *from = bounded(first, length);
    *size = (end->present ? bounded(end->at[i], length) : length) - *from;
    return *size > 0 || fsim_refuse(call, "nothing lies from %lld to %lld of %lld elements", (long long)first,
                                    (long long)(end->present ? end->at[i] : length), (long long)length);
}

bool fsim_rule_slice(fsim_call *call)
{
    const fsim_list *dims = &call->list[FSIM_ATTR_DIMS];
    fsim_shape out = fsim_arg(call, 0)->shape;
    int64_t from[FSIM_MAX_RANK] = {0};
    bool whole = false;
    const int entries = fsim_slice_entries(call, &whole);
    if (entries < 0)
        return false;
    if (!dims->present && entries != out.rank && !(entries == 1 && out.rank >= 1 && whole))
        return fsim_refuse(call, "'start' has %d entries for %d dimensions", entries, out.rank);
    if (dims->present && dims->count != entries)
        return fsim_refuse(call, "'dim' and 'start' differ in length");
    int cut = 0;
    for (int i = 0; i < entries; i++) {
        int d = i;
        if ((dims->present && !fsim_wrap_dim(call, out.rank, dims->at[i], &d)) ||
            !cut_of(call, i, out.dim[d], &from[d], &out.dim[d]))
            return false;
        if (cut & 1 << d)
            return fsim_refuse(call, "'dim' names dimension %d twice", d);
        cut |= 1 << d;
    }
    return boxed(call, from, &out);
}

/* `chunks: n` as the length of a piece: torch.chunk makes pieces of equal length, the last may be shorter, and fewer
 * than n where they do not go round. */
static bool chunked(fsim_call *call, int64_t length)
{
    fsim_list *size = &call->list[FSIM_ATTR_SIZE];
    const int64_t chunks = call->attrs.chunks;
    if (!call->list[FSIM_ATTR_CHUNKS].present)
        return true;
    if (size->present)
        return fsim_refuse(call, "has both 'size' and 'chunks'; wants one of them");
    const int64_t piece = (length + chunks - 1) / chunks, pieces = (length + piece - 1) / piece;
    if (pieces != call->outs)
        return fsim_refuse(call, "%lld elements in %lld chunks make %lld pieces; 'out' names %d", (long long)length,
                           (long long)chunks, (long long)pieces, call->outs);
    *size = (fsim_list){.present = true, .whole = true, .count = 1, .at = {piece}};
    call->attrs.chunks = 0;
    return true;
}

bool fsim_rule_split(fsim_call *call)
{
    const fsim_list *size = &call->list[FSIM_ATTR_SIZE];
    const fsim_shape in = fsim_arg(call, 0)->shape;
    int dim;
    if (in.rank == 0)
        return fsim_refuse(call, "wants a tensor of at least one dimension");
    if (!fsim_one_dim(call, in.rank, &dim) || !chunked(call, in.dim[dim]))
        return false;
    int64_t at = 0;
    for (int i = 0; i < call->outs; i++) {
        int64_t from[FSIM_MAX_RANK] = {0};
        fsim_shape out = in;
        if (size->present && size->count > 1 && size->count != call->outs)
            return fsim_refuse(call, "%d sizes for %d outputs", size->count, call->outs);
        out.dim[dim] = !size->present    ? (in.dim[dim] + call->outs - 1) / call->outs
                       : size->count > 1 ? size->at[i]
                                         : size->at[0];
        if (at + out.dim[dim] > in.dim[dim] && size->count <= 1)
            out.dim[dim] = in.dim[dim] - at;
        from[dim] = at;
        at += out.dim[dim];
        fsim_call one = *call;
        one.op = FSIM_OP_SLICE; /* as a slice has it, by which it is run again */
        one.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {dim}};
        one.list[FSIM_ATTR_START] = (fsim_list){.present = true, .count = 1, .at = {from[dim]}};
        one.list[FSIM_ATTR_SIZE] = (fsim_list){.present = true, .count = 1, .at = {out.dim[dim]}};
        one.out = &call->out[i];
        one.outs = 1;
        one.result = &call->result[i];
        if (!boxed(&one, from, &out))
            return false;
    }
    if (at != in.dim[dim])
        return fsim_refuse(call, "the pieces hold %lld of dimension %d's %lld", (long long)at, dim,
                           (long long)in.dim[dim]);
    return true;
}

bool fsim_rule_expand(fsim_call *call)
{
    const fsim_shape *in = &fsim_arg(call, 0)->shape;
    const fsim_list *repeats = &call->list[FSIM_ATTR_REPEATS];
    int64_t stride[FSIM_MAX_RANK];
    fsim_shape out = {0};
    fsim_map m = {0};
    fsim_row_major(in, stride);
    if (!repeats->present && !call->list[FSIM_ATTR_SHAPE].present)
        return fsim_refuse(call, "wants 'shape' or 'repeats'");
    if (!fsim_shape_from(call, repeats->present ? FSIM_ATTR_REPEATS : FSIM_ATTR_SHAPE, &out))
        return false;
    if (out.rank < in->rank)
        return fsim_refuse(call, "cannot expand %s to rank %d", text_of(call, in), out.rank);
    for (int d = 0; d < out.rank; d++) {
        const int own = d - (out.rank - in->rank);
        const int64_t have = own < 0 ? 1 : in->dim[own], step = own < 0 ? 0 : stride[own];
        if (repeats->present) {
            const int64_t times = out.dim[d];
            if (times < 1 || times > FSIM_MAX_DIM / have)
                return fsim_refuse(call, "repeats %lld is out of range", (long long)times);
            fsim_map_push(&m, times, 0);
            fsim_map_push(&m, have, step);
            out.dim[d] = times * have;
            continue;
        }
        if (out.dim[d] == -1 && own < 0)
            return fsim_refuse(call, "-1 leaves a dimension as it is; the tensor has none there");
        if (out.dim[d] == -1)
            out.dim[d] = have;
        if (have != 1 && have != out.dim[d])
            return fsim_refuse(call, "cannot expand %s to %s", text_of(call, in), text_of(call, &out));
        fsim_map_push(&m, out.dim[d], have == 1 ? 0 : step);
    }
    if (m.modes > FSIM_MAX_MODES)
        return fsim_refuse(call, "too many dimensions");
    return through(call, &out, m);
}

bool fsim_rule_flip(fsim_call *call)
{
    const fsim_shape in = fsim_arg(call, 0)->shape;
    const fsim_list *dims = &call->list[FSIM_ATTR_DIMS];
    int64_t stride[FSIM_MAX_RANK];
    int flipped = 0;
    fsim_map m = {0};
    fsim_row_major(&in, stride);
    for (int i = 0; i < dims->count; i++) {
        int d;
        if (!fsim_wrap_dim(call, in.rank, dims->at[i], &d))
            return false;
        if (flipped & 1 << d)
            return fsim_refuse(call, "'dim' names dimension %d twice", d);
        flipped |= 1 << d;
    }
    for (int d = 0; d < in.rank; d++) {
        const bool back = flipped & 1 << d;
        fsim_map_push(&m, in.dim[d], back ? -stride[d] : stride[d]);
        m.offset += back ? stride[d] * (in.dim[d] - 1) : 0;
    }
    return through(call, &in, m);
}

/* Swaps the halves of the last dimension and negates the first: what rotary embedding multiplies by the sine. */
bool fsim_rule_rotate_half(fsim_call *call)
{
    const fsim_shape in = fsim_arg(call, 0)->shape;
    const int64_t last = in.rank ? in.dim[in.rank - 1] : 1;
    if (last % 2 != 0)
        return fsim_refuse(call, "wants an even last dimension; found %lld", (long long)last);
    fsim_map m = {.offset = last / 2};
    fsim_map_push(&m, fsim_elems(&in) / last, last);
    fsim_map_push(&m, 2, -(last / 2));
    fsim_map_push(&m, last / 2, 1);
    return through(call, &in, m);
}

/* torch.Tensor.unfold: windows of `size` elements along dim, `step` apart, as a last dimension. */
bool fsim_rule_unfold(fsim_call *call)
{
    const fsim_shape in = fsim_arg(call, 0)->shape;
    const fsim_list *size = &call->list[FSIM_ATTR_SIZE];
    const int64_t step = call->attrs.step;
    int64_t stride[FSIM_MAX_RANK];
    fsim_shape out = in;
    fsim_map m = {0};
    int dim;
    if (in.rank < 1 || in.rank == FSIM_MAX_RANK || size->count != 1 || step < 1)
        return fsim_refuse(call, "wants 1 to %d dimensions, one 'size', and a 'step' above 0", FSIM_MAX_RANK - 1);
    if (!fsim_one_dim(call, in.rank, &dim))
        return false;
    if (size->at[0] > in.dim[dim])
        return fsim_refuse(call, "'size' %lld is more than the %lld elements of dimension %d", (long long)size->at[0],
                           (long long)in.dim[dim], dim);
    fsim_row_major(&in, stride);
    out.dim[dim] = (in.dim[dim] - size->at[0]) / step + 1;
    for (int d = 0; d < in.rank; d++)
        fsim_map_push(&m, out.dim[d], d == dim && out.dim[d] > 1 ? stride[d] * step : stride[d]);
    out.dim[out.rank++] = size->at[0];
    fsim_map_push(&m, size->at[0], stride[dim]);
    return through(call, &out, m);
}

/* One value for both axes, or two. */
static bool pair_of(const fsim_call *call, fsim_attr attr, int64_t *of)
{
    const fsim_list *l = &call->list[attr];
    if (l->count != 1 && l->count != 2)
        return fsim_refuse(call, "'%s' lists %d values for 2 axes", fsim_attr_rows[attr].name, l->count);
    of[0] = l->at[0];
    of[1] = l->at[l->count - 1];
    return of[0] >= 0 && of[1] >= 0 ? true : fsim_refuse(call, "'%s' is negative", fsim_attr_rows[attr].name);
}

/* x with zeros around its last two dimensions. */
static int padded(fsim_call *call, const int64_t *by)
{
    fsim_step step;
    if (by[0] == 0 && by[1] == 0)
        return call->arg[0];
    fsim_step_start(&step, call, FSIM_OP_PAD, "padded");
    step.call.list[FSIM_ATTR_PADDING] = (fsim_list){.present = true, .count = 4, .at = {by[1], by[1], by[0], by[0]}};
    return fsim_step_end(&step, 1, call->arg);
}

/* torch.nn.functional.unfold: the columns that a convolution multiplies, [N, C kh kw, windows]. */
bool fsim_rule_im2col(fsim_call *call)
{
    const fsim_shape in = fsim_arg(call, 0)->shape;
    int64_t kernel[2], stride[2], pad[2], dilation[2], windows[2];
    if (in.rank != 4)
        return fsim_refuse(call, "wants x[N, C, H, W]; found %s", text_of(call, &in));
    if (!pair_of(call, FSIM_ATTR_KERNEL, kernel) || !pair_of(call, FSIM_ATTR_STRIDE, stride) ||
        !pair_of(call, FSIM_ATTR_PADDING, pad) || !pair_of(call, FSIM_ATTR_DILATION, dilation))
        return false;
    for (int i = 0; i < 2; i++) {
        const double reach = (double)dilation[i] * (double)(kernel[i] - 1) + 1;
        const double room = (double)in.dim[2 + i] + 2 * (double)pad[i] - reach;
        if (room < 0)
            return fsim_refuse(call, "the window does not fit into %s", text_of(call, &in));
        windows[i] = (int64_t)room / stride[i] + 1;
    }
    const double rows = (double)in.dim[1] * (double)kernel[0] * (double)kernel[1],
                 columns = (double)windows[0] * (double)windows[1];
    if (rows > (double)FSIM_MAX_DIM || columns > (double)FSIM_MAX_DIM)
        return fsim_refuse(call, "makes %g rows of %g columns; at most %lld", rows, columns, (long long)FSIM_MAX_DIM);
    const int x = padded(call, pad);
    if (x < 0)
        return false;
    const int64_t high = in.dim[2] + 2 * pad[0], wide = in.dim[3] + 2 * pad[1];
    const fsim_shape out = {.rank = 3, .dim = {in.dim[0], (int64_t)rows, (int64_t)columns}};
    fsim_map m = {0};
    fsim_map_push(&m, in.dim[0] * in.dim[1], high * wide);
    fsim_map_push(&m, kernel[0], kernel[0] > 1 ? dilation[0] * wide : 0); /* one alone may have any distance */
    fsim_map_push(&m, kernel[1], dilation[1]);
    fsim_map_push(&m, windows[0], windows[0] > 1 ? stride[0] * wide : 0);
    fsim_map_push(&m, windows[1], stride[1]);
    call->arg = &(int){x};
    return through(call, &out, m);
}
