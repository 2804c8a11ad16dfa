/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c: the functions of column `schedule` of fusion/template.def. */
#include "kernel/layout.h"

#include "kernel/rows.h"
#include "kernel/sort.h"
#include "kernel/stream.h"

/* Launches that go through lists of tensors, as PyTorch's multi_tensor_apply cuts them: each takes so many tensors of
 * `lists` lists, and so many blocks with a chunk of one tensor (ATen/native/cuda/MultiTensorApply.cuh). Half a chunk of
 * each tensor is empty. */
static int list_launches(const fsim_group *o)
{
    enum { CHUNK = 65536, BLOCKS = 320 };
    static const int most[] = {110, 64, 48, 36, 30};
    const int depth = o->lists < 1 ? 1 : o->lists > 5 ? 5 : o->lists;
    const int64_t chunks = o->points * o->reduced / CHUNK + (o->listed + 1) / 2,
                  by_chunks = (chunks + BLOCKS - 1) / BLOCKS,
                  by_tensors = (o->listed + most[depth - 1] - 1) / most[depth - 1];
    return o->listed == 0 ? 1 : (int)(by_chunks > by_tensors ? by_chunks : by_tensors);
}

/* A thread computes `vector` points; or a block a transposing tile of them. */
static bool streams(fsim_layout *l, fsim_schedule *s)
{
    s->launches = list_launches(l->group);
    s->block = FSIM_BLOCK;
    s->vector = l->turning ? FSIM_TRANSPOSE_TILE * FSIM_TRANSPOSE_TILE / FSIM_BLOCK : s->vector;
    const int64_t each = (int64_t)FSIM_BLOCK * s->vector;
    s->grid = l->turning ? fsim_turning_tiles(l->turning) : (l->group->points + each - 1) / each;
    return true;
}

/* A scatter copies, unless it writes in place; then a second launch stores elements where the data say. Sorting takes
 * what PyTorch launches. */
static bool scatters(fsim_layout *l, fsim_schedule *s)
{
    const int anchor = l->group->anchor;
    fsim_sort sort;
    streams(l, s);
    const fsim_node *n = anchor < 0 ? NULL : &l->g->node[anchor];
    s->launches = !n                                                  ? 1
                  : fsim_ops[n->op].class == FSIM_SCATTER             ? (l->g->tensor[n->result[0]].over < 0 ? 2 : 1)
                  : !l->hw->host && fsim_sort_of(l->g, anchor, &sort) ? sort.launches
                                                                      : 1;
    return true;
}

/* Where `pieces` blocks share a row, a second launch combines what they leave. Where neighbouring rows are contiguous
 * and a block has no band of them, a thread has a row of its own, as if it were one element long. Where sums over all
 * rows are wanted, blocks take rows in turn, and a second launch adds what they have. */
static bool rows(fsim_layout *l, fsim_schedule *s)
{
    const bool by_thread = l->group->template == FSIM_COLUMN_REDUCTION && !s->band;
    fsim_lay_out_rows(l->group->points, by_thread ? 1 : l->group->reduced, s->band, s);
    s->launches = list_launches(l->group) + (s->pieces > 1 || l->group->across > 0);
    s->grid = s->turns > 1 ? (s->grid + s->turns - 1) / s->turns : s->grid;
    if (s->pieces > 1) {
        s->grid *= s->pieces;
        s->row_threads = s->band ? s->row_threads : s->block;
        s->rows_per_block = s->band ? s->rows_per_block : 1;
    }
    return true;
}

/* The library's own: not known. */
static bool calls(fsim_layout *l, fsim_schedule *s)
{
    s->block = FSIM_BLOCK;
    s->grid = (l->group->points + FSIM_BLOCK - 1) / FSIM_BLOCK;
    return true;
}

static bool scan(fsim_layout *l, fsim_schedule *s)
{
    const fsim_scan_shape x = fsim_scan_shape_of(l->g, l->group->anchor);
    fsim_lay_out_scan(&x, s);
    return true;
}

static fsim_tile_wish wish_of(const fsim_schedule *s) { return (fsim_tile_wish){s->tile_m, s->tile_n, s->split_k}; }

static bool contraction(fsim_layout *l, fsim_schedule *s)
{
    const fsim_dtype t = l->g->node[l->group->anchor].dtype;
    if (s->tile_m > 0)
        return l->tiling && fsim_tiling_lay_out(l->tiling, wish_of(s), s);
    if (l->group->whole_row > 0)
        fsim_lay_out_product_rows(l->group, t == FSIM_F64 || t == FSIM_I64 ? 8 : 4, s); /* in the kernel's variables */
    else
        fsim_lay_out_direct(l->group, s);
    return true;
}

static bool chain(fsim_layout *l, fsim_schedule *s)
{
    if (s->tile_m > 0)
        return l->chain && fsim_chained_lay_out(l->chain, l->hw, wish_of(s), &l->chained, s);
    fsim_lay_out_chain_rows(l->g, l->group, s);
    return s->shared_bytes <= fsim_hw_get(l->hw, FSIM_HW_SHARED_PER_BLOCK);
}

bool fsim_schedule_of(fsim_layout *l, fsim_schedule *s)
{
    static bool (*const layout_of[FSIM_TEMPLATE_COUNT])(fsim_layout *, fsim_schedule *) = {
#define FSIM_TEMPLATE(id, name, brief, has, schedule, price, emit, residual, compile, line) [FSIM_##id] = schedule,
#include "fusion/template.def"
#undef FSIM_TEMPLATE
    };
    return layout_of[l->group->template](l, s);
}

bool fsim_next_tile(fsim_layout *l, int *i, fsim_schedule *s)
{
    static const int side[] = {FSIM_GROUP_COLUMNS, FSIM_TILE_SIDE, FSIM_TILE_SIDE / 2, FSIM_TILE_SIDE / 4,
                               FSIM_TILE_SIDE / 8};
    enum { SIDES = sizeof side / sizeof *side };
    const bool whole = l->chain && fsim_chained_whole(l->chain); /* the tile must be as wide as the row */
    const int first = l->tiling && l->hw->arch->wgmma ? 0 : 1;   /* of the sides that tiles may have */
    for (; *i < SIDES * SIDES; ++*i) {
        const int m = side[*i / SIDES], n = side[*i % SIDES];
        if (*i / SIDES < first || *i % SIDES < first)
            continue;
        s->tile_m = m;
        s->tile_n = n;
        s->split_k = 1;
        if (fsim_schedule_of(l, s) && s->tile_m == m && (whole ? *i % SIDES == first : s->tile_n == n))
            return true;
    }
    return false;
}
