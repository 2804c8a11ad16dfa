/* SPDX-License-Identifier: Apache-2.0 */
/* select.c: primitives that choose elements: assemblies, gathers, scatters, sorts; and scans. */
#include "validate/reference/interpret.h"

#include <math.h>
#include <stdlib.h>

static void copy(const fsim_interpreter *in, const fsim_node *n, int64_t p, const fsim_operand *x, int64_t i,
                 bool loose)
{
    const double b = x->bound[i], shared = fmin(x->shared[i], b);
    fsim_set_result(
        in, n->result[0], p, x->value[i],
        (fsim_doubt){loose || isinf(b) ? INFINITY : b - shared, shared, fmax(fsim_unit(x->dtype), 0x1p-60)});
}

/* The element of the source that point p reads, or -1. Cuts are applied in order; each restores the source's extent
 * along its dimension. */
static int64_t through_cuts(const fsim_access *x, int64_t p)
{
    for (int i = 0; i < x->cuts; i++) {
        const fsim_cut *c = &x->cut[i];
        const int64_t along = p / c->inner % c->extent - c->from;
        if (along < 0 || along >= c->size)
            return -1;
        p = (p / (c->inner * c->extent) * c->source_extent + along + c->source_from) * c->inner + p % c->inner;
    }
    return p + x->map.offset;
}

void fsim_interpret_assembly(const fsim_interpreter *in, const fsim_node *n)
{
    for (int64_t p = 0; p < n->points; p++) {
        int64_t at = -1;
        for (int i = 0; i < n->args && at < 0; i++) {
            at = through_cuts(&n->arg[i], p);
            if (at >= 0) {
                const fsim_operand x = fsim_operand_of(in, n, &n->arg[i]);
                copy(in, n, p, &x, at, false);
            }
        }
        if (at < 0)
            fsim_set_result(in, n->result[0], p, n->attrs.value, (fsim_doubt){0, 0, 1});
    }
}

void fsim_interpret_gather(const fsim_interpreter *in, const fsim_node *n)
{
    const int table = n->op == FSIM_OP_EMBEDDING ? 1 : 0;
    const fsim_operand x = fsim_operand_of(in, n, &n->arg[table]), index = fsim_operand_of(in, n, &n->arg[1 - table]);
    const fsim_mode any = n->arg[table].any;
    fsim_cursor from = fsim_cursor_of(&n->arg[table].map), at = fsim_cursor_of(&n->arg[1 - table].map);
    for (int64_t p = 0; p < n->points; p++) {
        const double row = index.value[at.at];
        const bool inside = row >= 0 && row < (double)any.extent;
        copy(in, n, p, &x, from.at + (inside ? (int64_t)row : 0) * any.stride, !inside || index.bound[at.at] > 0);
        fsim_step(&from);
        fsim_step(&at);
    }
}

/* The first index of bag b: within 0 to count, whatever the data say. */
static int64_t begin_of(const fsim_operand *offsets, int64_t first, int64_t b, int64_t bags, int64_t count)
{
    return b == bags ? count : (int64_t)fmax(0, fmin(offsets->value[first + b], (double)count));
}

/* Is it not known where bag b begins or ends? */
static bool is_vague(const fsim_operand *offsets, int64_t first, int64_t b, int64_t bags)
{
    return offsets->bound[first + b] > 0 || (b + 1 < bags && offsets->bound[first + b + 1] > 0);
}

/* A bag is the rows at index[offsets[b]] to index[offsets[b + 1] - 1]. */
void fsim_interpret_bag(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_operand index = fsim_operand_of(in, n, &n->arg[0]), x = fsim_operand_of(in, n, &n->arg[1]),
                       offsets = fsim_operand_of(in, n, &n->arg[2]);
    const fsim_mode any = n->arg[1].any;
    const int64_t bags = n->arg[2].distinct, count = n->arg[0].distinct;
    const double unit = fsim_arithmetic_unit(n->dtype);
    for (int64_t p = 0; p < n->points; p++) {
        const int64_t b = p / any.stride, from = begin_of(&offsets, n->arg[2].map.offset, b, bags, count),
                      to = begin_of(&offsets, n->arg[2].map.offset, b + 1, bags, count);
        fsim_sum sum = {0};
        double most = -INFINITY, spread = 0, loose = is_vague(&offsets, n->arg[2].map.offset, b, bags) ? INFINITY : 0;
        for (int64_t i = from; i < to; i++) {
            const int64_t at = n->arg[0].map.offset + i;
            const double row = index.value[at];
            const bool inside = row >= 0 && row < (double)any.extent;
            const int64_t k = n->arg[1].map.offset + (inside ? (int64_t)row : 0) * any.stride + p % any.stride;
            loose = !inside || index.bound[at] > 0 ? INFINITY : loose;
            fsim_sum_add(&sum, x.value[k], isinf(x.bound[k]) ? INFINITY : x.bound[k], 0);
            most = fmax(most, x.value[k]);
            spread = fmax(spread, x.bound[k]);
        }
        const double share = n->attrs.bag == FSIM_BAG_MEAN && to > from ? 1 / (double)(to - from) : 1;
        const double error =
            share * (fsim_sum_own(&sum) + fsim_sum_rounding(&sum, unit)) + unit * fabs(sum.value * share);
        if (n->attrs.bag == FSIM_BAG_MAX)
            fsim_set_result(in, n->result[0], p, to > from ? most : 0, (fsim_doubt){spread + loose, 0, unit});
        else
            fsim_set_result(in, n->result[0], p, sum.value * share, (fsim_doubt){error + loose, 0, unit});
    }
}

/* x, overwritten with src at index along dim. With as many indices as elements of src it is PyTorch's scatter,
 * out[.., index[i], ..] = src[i] (index as large as x in the other dimensions); with fewer it is index_copy of whole
 * slices. Elements that two indices name, and all elements where an index is not known, are not compared. */
void fsim_interpret_scatter(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_operand x = fsim_operand_of(in, n, &n->arg[0]), index = fsim_operand_of(in, n, &n->arg[1]),
                       src = fsim_operand_of(in, n, &n->arg[2]);
    const int64_t indices = n->arg[1].distinct, sources = n->arg[2].distinct, all = in->g->tensor[n->result[0]].elems;
    const fsim_shape *s = &in->g->tensor[n->result[0]].shape;
    const int64_t extent = s->rank ? s->dim[n->attrs.dim] : 1;
    int64_t inner = 1;
    for (int d = (int)n->attrs.dim + 1; d < s->rank; d++)
        inner *= s->dim[d];
    const int64_t outer = all / (extent * inner), rows = sources / (outer * inner);
    bool known = sources == rows * outer * inner && (indices == sources || indices == rows),
         *hit = fsim_memory(all, sizeof *hit);
    for (int64_t i = 0; i < indices && known; i++) {
        const double k = index.value[n->arg[1].map.offset + i];
        known = index.bound[n->arg[1].map.offset + i] == 0 && k >= 0 && k < (double)extent;
    }
    for (int64_t p = 0; p < all; p++)
        copy(in, n, p, &x, n->arg[0].map.offset + p, !known);
    for (int64_t i = 0; i < sources && known; i++) {
        const int64_t row = i / inner % rows, at = n->arg[1].map.offset + (indices == sources ? i : row);
        const int64_t p = (i / (inner * rows) * extent + (int64_t)index.value[at]) * inner + i % inner;
        copy(in, n, p, &src, n->arg[2].map.offset + i, hit[p]);
        hit[p] = true;
    }
    free(hit);
}

/* x, to which src is added at index along dim, in any order: whole slices, or with as many indices as elements each for
 * itself. */
void fsim_interpret_index_add(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_operand x = fsim_operand_of(in, n, &n->arg[0]), index = fsim_operand_of(in, n, &n->arg[1]),
                       src = fsim_operand_of(in, n, &n->arg[2]);
    const fsim_tensor *t = &in->g->tensor[n->result[0]];
    const int64_t extent = t->shape.rank ? t->shape.dim[n->attrs.dim] : 1, sources = n->arg[2].distinct;
    const bool each = n->arg[1].distinct == sources;
    const int64_t rows = each ? sources / (t->elems / extent) : n->arg[1].distinct;
    int64_t below = 1;
    for (int d = (int)n->attrs.dim + 1; d < t->shape.rank; d++)
        below *= t->shape.dim[d];
    fsim_sum *sum = fsim_memory(t->elems, sizeof *sum);
    bool known = sources == rows * (t->elems / extent);
    for (int64_t p = 0; p < t->elems; p++) {
        const int64_t k = n->arg[0].map.offset + p;
        const double shared = fmin(x.shared[k], x.bound[k]);
        fsim_sum_add(&sum[p], x.value[k], isinf(x.bound[k]) ? INFINITY : x.bound[k] - shared, shared);
    }
    for (int64_t i = 0; i < sources && known; i++) {
        const int64_t at = n->arg[1].map.offset + (each ? i : i / below % rows), k = n->arg[2].map.offset + i;
        const double row = index.value[at], shared = fmin(src.shared[k], src.bound[k]);
        known = index.bound[at] == 0 && row >= 0 && row < (double)extent;
        if (known)
            fsim_sum_add(&sum[(i / (below * rows) * extent + (int64_t)row) * below + i % below], src.value[k],
                         isinf(src.bound[k]) ? INFINITY : src.bound[k] - shared, shared);
    }
    const double unit = fmax(fsim_arithmetic_unit(t->dtype), fsim_unit(t->dtype)); /* each sum is stored */
    for (int64_t p = 0; p < t->elems; p++) {
        const double rounding = fsim_dtype_floating(t->dtype) ? fsim_sum_rounding(&sum[p], unit) : 0;
        fsim_set_result(in, n->result[0], p, sum[p].value,
                        (fsim_doubt){known ? fsim_sum_own(&sum[p]) + rounding : INFINITY, sum[p].shared, unit});
    }
    free(sum);
}

/* Rows along a dimension: row r, of n->points / length, starts at (r / inner) x length x inner + r % inner. */
typedef struct {
    int64_t length, inner, rows;
} lanes;

static lanes lanes_of(const fsim_shape *s, const fsim_node *n)
{
    lanes l = {1, 1, 0};
    if (s->rank > 0)
        l.length = s->dim[n->attrs.dim];
    for (int d = (int)n->attrs.dim + 1; d < s->rank; d++)
        l.inner *= s->dim[d];
    l.rows = fsim_elems(s) / l.length;
    return l;
}

void fsim_interpret_scan(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_operand x = fsim_operand_of(in, n, &n->arg[0]);
    const lanes l = lanes_of(&in->g->tensor[n->result[0]].shape, n);
    const double unit = fsim_arithmetic_unit(x.dtype);
    const bool floating = fsim_dtype_floating(in->g->tensor[n->result[0]].dtype);
    const double least =
        unit < 0x1p-50 ? 0x1p-1074 : 0x1p-149; /* a subnormal product is a multiple of the smallest number */
    for (int64_t row = 0; row < l.rows; row++) {
        fsim_sum sum = {0};
        double product = 1, off = 0;
        for (int64_t i = 0; i < l.length; i++) {
            const int64_t p = (row / l.inner * l.length + i) * l.inner + row % l.inner, k = n->arg[0].map.offset + p;
            const double v = x.value[k], b = x.bound[k], shared = fmin(x.shared[k], b);
            if (n->op == FSIM_OP_CUMSUM) {
                fsim_sum_add(&sum, v, isinf(b) ? b : b - shared, shared);
                fsim_set_result(in, n->result[0], p, sum.value,
                                (fsim_doubt){fsim_sum_own(&sum) + (floating ? fsim_sum_rounding(&sum, unit) : 0),
                                             sum.shared, i == 0 ? fmax(unit, fsim_unit(x.dtype)) : unit});
            } else {
                off = fabs(product) * b + (fabs(v) + b) * off +
                      (floating && i > 0 ? 2 * unit * fabs(product * v) + least : 0);
                product *= v;
                fsim_set_result(in, n->result[0], p, product,
                                (fsim_doubt){off, 0, i == 0 ? fmax(unit, fsim_unit(x.dtype)) : unit});
            }
        }
    }
}

typedef struct {
    double value, bound;
    int64_t at;
} ranked;

static int ascending(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int descending(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Per place of a sorted row: is the element there whatever the elements are within their bounds? It is above the most
 * that any before it may be, and below the least of those behind it. sign: -1 where the row descends. */
static void find_clear(const ranked *row, int64_t length, int sign, bool *clear)
{
    double most = -INFINITY, least = INFINITY;
    for (int64_t i = 0; i < length; i++) {
        clear[i] = i == 0 || sign * row[i].value - row[i].bound > most;
        most = fmax(most, sign * row[i].value + row[i].bound);
    }
    for (int64_t i = length; i-- > 0;) {
        clear[i] = clear[i] && (i == length - 1 || sign * row[i].value + row[i].bound < least);
        least = fmin(least, sign * row[i].value - row[i].bound);
    }
}

/* sort ascends, topk descends, as PyTorch does by default. The order of equal elements is not specified: their
 * indices are not compared. */
void fsim_interpret_sort(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_operand x = fsim_operand_of(in, n, &n->arg[0]);
    const fsim_shape *s = &in->g->tensor[n->result[0]].shape;
    const lanes out = lanes_of(s, n);
    const int64_t length = n->arg[0].distinct / out.rows; /* topk shortens the rows */
    ranked *row = fsim_memory(length, sizeof *row);
    bool *clear = fsim_memory(length, sizeof *clear);
    for (int64_t r = 0; r < out.rows; r++) {
        double most = 0;
        for (int64_t i = 0; i < length; i++) {
            const int64_t k = n->arg[0].map.offset + (r / out.inner * length + i) * out.inner + r % out.inner;
            row[i] = (ranked){x.value[k], x.bound[k], i};
            most = fmax(most, x.bound[k]);
        }
        qsort(row, (size_t)length, sizeof *row, n->op == FSIM_OP_TOPK ? descending : ascending);
        find_clear(row, length, n->op == FSIM_OP_TOPK ? -1 : 1, clear);
        for (int64_t i = 0; i < out.length; i++) {
            const int64_t p = (r / out.inner * out.length + i) * out.inner + r % out.inner;
            fsim_set_result(
                in, n->result[0], p, row[i].value,
                (fsim_doubt){most, 0,
                             fmax(fsim_unit(x.dtype),
                                  0x1p-60)}); /* an order statistic changes at most as much as the elements do */
            if (n->results > 1)
                fsim_set_result(in, n->result[1], p, (double)row[i].at, (fsim_doubt){clear[i] ? 0 : INFINITY, 0, 0});
        }
    }
    free(row);
    free(clear);
}

/* Collectives of one device: all_gather repeats its input, reduce_scatter keeps the first shard. */
void fsim_interpret_collective(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_operand x = fsim_operand_of(in, n, &n->arg[0]);
    for (int64_t p = 0; p < n->points; p++)
        copy(in, n, p, &x, n->arg[0].map.offset + p % n->arg[0].distinct, false);
}
