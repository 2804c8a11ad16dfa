/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/rows.h"

#include "kernel/registers.h"
#include "kernel/stream.h"

enum { WARP = 32, ACCESSES = 4 };

int fsim_row_threads(int64_t width, int vector, int most)
{
    int threads = 1;
    while (threads < WARP && threads < most && (int64_t)threads * vector < width)
        threads *= 2;
    while (threads < most && threads < FSIM_ROW_THREADS && (int64_t)threads * vector * ACCESSES < width)
        threads *= 2;
    return threads;
}

/* Number of blocks with `rows_per_block` rows each. */
static int64_t row_blocks(int64_t rows, int64_t rows_per_block) { return (rows + rows_per_block - 1) / rows_per_block; }

void fsim_lay_out_rows(int64_t rows, int64_t width, bool band, fsim_schedule *s)
{
    s->band = band;
    s->row_threads = fsim_row_threads(width, s->vector, FSIM_ROW_THREADS);
    s->block = band || s->row_threads < FSIM_BLOCK ? FSIM_BLOCK : s->row_threads;
    s->rows_per_block = band ? FSIM_BAND_ROWS : s->block / s->row_threads;
    s->row_threads = band ? s->block / FSIM_BAND_ROWS : s->row_threads;
    s->grid = row_blocks(rows, s->rows_per_block);
}

fsim_scan_shape fsim_scan_shape_of(const fsim_graph *g, int node)
{
    const fsim_node *n = &g->node[node];
    const fsim_shape *s = &g->tensor[n->result[0]].shape;
    fsim_scan_shape x = {.width = s->rank ? s->dim[n->attrs.dim] : 1, .below = 1};
    for (int d = s->rank; d-- > n->attrs.dim + 1;)
        x.below *= s->dim[d];
    x.rows = n->points / x.width;
    return x;
}

void fsim_lay_out_scan(const fsim_scan_shape *x, fsim_schedule *s)
{
    s->launches = 1;
    s->block = FSIM_BLOCK;
    s->row_threads = x->below == 1 ? WARP : 1;
    while (x->below == 1 && s->row_threads < FSIM_BLOCK && (int64_t)s->row_threads * FSIM_SCAN_EACH < x->width)
        s->row_threads *= 2;
    s->rows_per_block = FSIM_BLOCK / s->row_threads;
    s->grid = row_blocks(x->rows, s->rows_per_block);
}

void fsim_lay_out_product_rows(const fsim_group *o, int elem_bytes, fsim_schedule *s)
{
    s->launches = s->split_k = s->vector = 1;
    s->tile_m = s->tile_n = 0;
    fsim_lay_out_rows(o->points, o->reduced, false, s);
    s->registers = fsim_direct_registers(o->live);
    s->shared_bytes = (int)(s->rows_per_block * o->reduced * elem_bytes);
}

int fsim_sum_bytes(const fsim_graph *g, const fsim_group *o)
{
    int bytes = 4;
    for (int i = 0; i < o->members; i++)
        if (o->member[i].across && g->tensor[g->node[o->member[i].node].result[0]].dtype == FSIM_F64)
            bytes = 8;
    return bytes;
}

int64_t fsim_columns_bytes(const fsim_graph *g, const fsim_group *o, const fsim_schedule *s)
{
    const int64_t step = (int64_t)s->row_threads * s->vector, steps = (o->reduced + step - 1) / step;
    return steps * step * s->rows_per_block * o->columns * fsim_sum_bytes(g, o);
}

int64_t fsim_kept_bytes(const fsim_graph *g, const fsim_group *o, const fsim_schedule *s)
{
    enum { ALIGNMENT = 16 };
    const int64_t threads = s->band && o->template == FSIM_COLUMN_REDUCTION ? s->row_threads : s->vector,
                  padded = (o->reduced + threads - 1) / threads * threads;
    int64_t bytes = 0;
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[i];
        if (r->full && (r->stages & (r->stages - 1)))
            bytes += (padded * s->rows_per_block * fsim_dtype_bytes(g->tensor[r->tensor].dtype) + ALIGNMENT - 1) /
                     ALIGNMENT * ALIGNMENT;
    }
    return bytes;
}

int64_t fsim_gathering_blocks(const fsim_group *o)
{
    return (o->columns ? row_blocks(o->reduced, FSIM_BAND_ROWS) : 0) + (o->across > o->columns);
}

int64_t fsim_row_pieces(int64_t width, int vector, int64_t wanted, int64_t *piece)
{
    int64_t pieces = wanted > width / FSIM_LEAST_PIECE ? width / FSIM_LEAST_PIECE : wanted;
    pieces = pieces < 1 ? 1 : pieces;
    *piece = (width + pieces - 1) / pieces;
    *piece = (*piece + vector - 1) / vector * vector;
    return (width + *piece - 1) / *piece;
}
