/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/product.h"

#include "fusion/chain.h"
#include <stdlib.h>

enum { MOST_EXTENT = 1 << 30 };

/* The digits of a product's result, outermost first. Each numbers batches, rows or columns, and has a stride in the
 * result and in both operands. */
typedef enum { BATCH, ROWS, COLUMNS } part;
typedef enum { RESULT, LEFT, RIGHT, MAPS } operand_map;
typedef struct {
    int count;
    int64_t extent[FSIM_MAX_MODES], stride[MAPS][FSIM_MAX_MODES];
    part of[FSIM_MAX_MODES];
    fsim_map k[MAPS]; /* LEFT, RIGHT: the reduced digits (behind the map's split) and the offset */
    bool padded;      /* LEFT is an image, and its windows reach into padding */
} digits;

static void add(digits *d, int64_t extent, int64_t result, int64_t left, int64_t right, part of)
{
    if (extent == 1 || d->count == FSIM_MAX_MODES)
        return;
    d->extent[d->count] = extent;
    d->stride[RESULT][d->count] = result;
    d->stride[LEFT][d->count] = left;
    d->stride[RIGHT][d->count] = right;
    d->of[d->count++] = of;
}

/* Appends the digits of kind `of`, with their strides in operand map `which`. */
static void push_part(const digits *d, part of, operand_map which, fsim_map *m)
{
    for (int i = 0; i < d->count; i++)
        if (d->of[i] == of)
            fsim_map_push(m, d->extent[i], d->stride[which][i]);
}

static int64_t extent_of(const digits *d, part of)
{
    int64_t n = 1;
    for (int i = 0; i < d->count; i++)
        n *= d->of[i] == of ? d->extent[i] : 1;
    return n;
}

/* The digits of a matrix product. *swapped: the columns come from the first operand. */
static bool product_digits(const fsim_node *n, digits *d, bool *swapped)
{
    fsim_map x, y;
    if (n->arg[0].how != FSIM_READ_MAP || n->arg[1].how != FSIM_READ_MAP ||
        !fsim_map_align(&n->arg[0].map, &n->arg[1].map, &x, &y) || x.modes > FSIM_MAX_MODES)
        return false;
    int64_t place = fsim_map_points(&x);
    if (place != n->points)
        return false;
    *swapped = x.modes > 0 && y.mode[y.modes - 1].stride == 0 && x.mode[x.modes - 1].stride != 0;
    for (int i = 0; i < x.modes; i++) {
        const bool first = x.mode[i].stride != 0, second = y.mode[i].stride != 0;
        place /= x.mode[i].extent;
        add(d, x.mode[i].extent, place, x.mode[i].stride, y.mode[i].stride,
            first && second      ? BATCH
            : second != *swapped ? COLUMNS
                                 : ROWS);
    }
    d->k[LEFT] = n->arg[0].map;
    d->k[RIGHT] = n->arg[1].map;
    return true;
}

/* The digits of a convolution. The result and the input are numbered by image, group, filter and pixel, k by channel
 * and tap. Rows are filters; columns are images and pixels. */
static bool convolution_digits(const fsim_graph *g, const fsim_node *n, digits *d)
{
    const fsim_access *x = &n->arg[0];
    const int64_t groups = n->gemm.batch, filters = n->gemm.n;
    int64_t taps = 1, pixels = 1, inputs = 1;
    if (x->how != FSIM_READ_WINDOW || n->arg[1].how != FSIM_READ_MAP || filters < FSIM_LEAST_FILTERS)
        return false;
    d->padded = false;
    for (int i = 0; i < x->axes; i++) {
        taps *= x->axis[i].taps;
        pixels *= x->axis[i].out;
        inputs *= x->axis[i].extent;
        d->padded = d->padded || x->axis[i].pad > 0;
    }
    const int64_t channels = n->gemm.k / taps, images = n->points / (groups * filters * pixels);
    if (images * groups * filters * pixels != n->points ||
        images * groups * channels * inputs > g->tensor[x->tensor].elems)
        return false;
    add(d, images, groups * filters * pixels, groups * channels * inputs, 0, COLUMNS);
    add(d, groups, filters * pixels, channels * inputs, filters * n->gemm.k, BATCH);
    add(d, filters, pixels, 0, n->gemm.k, ROWS);
    int64_t below = inputs, place = pixels;
    fsim_map k = {0};
    fsim_map_push(&k, channels, inputs);
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *a = &x->axis[i];
        below /= a->extent;
        place /= a->out;
        add(d, a->out, place, a->stride * below, 0, COLUMNS);
        fsim_map_push(&k, a->taps, a->dilation * below);
    }
    k.offset = x->map.offset;
    d->k[LEFT] = k;
    d->k[RIGHT] = (fsim_map){.offset = n->arg[1].map.offset};
    fsim_map_push(&d->k[RIGHT], n->gemm.k, 1);
    return true;
}

/* Can elements along the digit `inner` be loaded as vectors of `by`? They must be contiguous, and each vector must
 * start at a multiple of `by`. */
static bool is_vectorised(const fsim_map *m, int inner, int by)
{
    if (m->offset % by != 0 || m->mode[inner].stride != 1 || m->mode[inner].extent % by != 0)
        return false;
    for (int i = 0; i < m->modes; i++)
        if (i != inner && m->mode[i].stride % by != 0)
            return false;
    return true;
}

static void side_of(const fsim_graph *g, const fsim_access *x, const digits *d, part rows, operand_map which,
                    fsim_tile_side *out)
{
    const bool padded = d->padded && which == LEFT;
    fsim_map m = {.offset = d->k[which].offset};
    *out = (fsim_tile_side){.access = x, .window = padded, .extent = extent_of(d, rows), .vector = 1};
    push_part(d, BATCH, which, &m);
    const int batch = m.modes;
    push_part(d, rows, which, &m);
    m.split = m.modes;
    for (int i = d->k[which].split; i < d->k[which].modes; i++)
        fsim_map_push(&m, d->k[which].mode[i].extent, d->k[which].mode[i].stride);
    out->map = m;
    if (padded || m.modes > FSIM_MAX_MODES)
        return;
    const bool rows_move = m.split > batch, k_moves = m.modes > m.split;
    const int64_t row_stride = rows_move ? llabs(m.mode[m.split - 1].stride) : INT64_MAX,
                  k_stride = k_moves ? llabs(m.mode[m.modes - 1].stride) : INT64_MAX;
    out->along_k = k_stride <= row_stride;
    out->map = m = fsim_map_simplify(m);
    const int inner = out->along_k ? m.modes - 1 : m.split - 1;
    if (k_moves || rows_move)
        for (int by = 16 / fsim_dtype_bytes(g->tensor[x->tensor].dtype); by > 1 && out->vector == 1; by /= 2)
            out->vector = is_vectorised(&m, inner, by) && (out->along_k || out->extent % by == 0) ? by : 1;
}

bool fsim_tile_product_of(const fsim_graph *g, const fsim_group *o, int member, fsim_tile_product *out)
{
    const fsim_node *n = &g->node[o->member[member].node];
    digits d = {0};
    *out = (fsim_tile_product){.member = member, .node = n, .depth = n->gemm.k};
    if (fsim_ops[n->op].class != FSIM_CONTRACTION || n->args != 2)
        return false;
    if (n->gemm.convolution ? !convolution_digits(g, n, &d) : !product_digits(n, &d, &out->swapped))
        return false;
    out->swapped = out->swapped || n->gemm.convolution;
    const int first = out->swapped ? 1 : 0;
    side_of(g, &n->arg[first], &d, ROWS, first ? RIGHT : LEFT, &out->side[0]);
    side_of(g, &n->arg[1 - first], &d, COLUMNS, first ? LEFT : RIGHT, &out->side[1]);
    push_part(&d, BATCH, RESULT, &out->result);
    push_part(&d, ROWS, RESULT, &out->result);
    push_part(&d, COLUMNS, RESULT, &out->result);
    out->result.split = out->result.modes;
    out->result = fsim_map_simplify(out->result);
    out->batch = extent_of(&d, BATCH);
    out->rows = out->side[0].extent;
    out->columns = out->side[1].extent;
    for (int i = 0; i < 2; i++)
        if (out->side[i].map.modes > FSIM_MAX_MODES)
            return false;
    return out->batch * out->rows * out->columns == n->points && n->points > 0 && n->gemm.k > 0 &&
           out->rows <= MOST_EXTENT && out->columns <= MOST_EXTENT && out->depth <= MOST_EXTENT;
}
