/* SPDX-License-Identifier: Apache-2.0 */
/* tile.c: the launches of a group's contractions in tiles, with the layout that was priced. */
#include "emit/tile.h"

#include "kernel/layout.h"

enum { STAND_IN_SIDE = 64 }; /* of a tile that stands in for a vendor's kernel without tiles */
enum {
    FEW = 64,
    ROOMY = 112
}; /* without tensor units, 128 registers a thread let two blocks fit on an SM. The text asks for that only between FEW
      and ROOMY registers: up to FEW the compiler stays below 128 by itself, and above ROOMY it may spill, depending on
      the order of loads */

const char *fsim_tile_kind(fsim_emitter *e, const fsim_tile_plan *p)
{
    static const char *const simple[FSIM_C_COUNT] = {"f", "d", "i", "l"};
    const fsim_node *n = p->product[0].node;
    if (!p->tensor)
        return simple[fsim_ctype_of(e->g->tensor[n->result[0]].dtype)];
    return fsim_printf(e->a, "%s%s", p->l.grouped ? "g" : "", fsim_dtype_names[n->gemm.arithmetic]);
}

/* The scratch memory for the partial sums of split k; NULL where k is not split. */
static const char *partial_of(fsim_emitter *e, const fsim_tiling *t)
{
    const fsim_node *n = t->plan[0].product[0].node;
    const fsim_ctype c = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    return t->parts == 1 ? NULL
                         : fsim_scratch(e, fsim_ctype_names[c],
                                        t->parts * n->points * (c == FSIM_C_DOUBLE || c == FSIM_C_LONG ? 8 : 4));
}

bool fsim_emit_tile(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    fsim_schedule *s = &e->program->schedule;
    if (s->template == FSIM_TILED_CONTRACTION && s->tile_m == 0)
        return false; /* the price has no tiles for it: fsim_emit_pointwise writes it */
    if (s->tile_m == 0)
        s->tile_m = s->tile_n = STAND_IN_SIDE;
    fsim_layout l = {.g = e->g, .hw = e->hw, .group = o, .tiling = fsim_tiling_of(e->g, e->hw, o, e->a)};
    const fsim_tiling *t = l.tiling;
    if (!fsim_schedule_of(&l, s))
        return false;
    bool *own = fsim_new(e->a, bool, o->writes + 1);
    for (int i = 0; i < o->writes; i++)
        e->stored[fsim_maker_in(e, o->write[i].tensor)] = t->of[i] != -1;
    const bool tensor = t->plan[0].tensor;
    fsim_tile_writing w = {.of = t, .partial = partial_of(e, t), .threads = s->block};
    fsim_rows_work totals = {.e = e, .rows = o->points, .width = 1, .product = -1};
    if (o->across > 0)
        fsim_totals_start(&totals, s->grid, fsim_tiles_down(t));
    w.totals = o->across > 0 ? &totals : NULL;
    fsim_begin_held_entry(e, s->grid, s->block, s->shared_bytes, s->registers,
                          s->registers > FEW && (tensor || s->registers <= ROOMY));
    e->program->sm = fsim_tile_sm(&t->plan[0]);
    int64_t first = 0;
    for (int i = 0; i < t->plans; i++) {
        for (int k = 0; k < o->writes; k++)
            own[k] = t->of[k] == i;
        w.plan = &t->plan[i];
        w.kind = fsim_tile_kind(e, w.plan);
        fsim_tile_text(e, &w, first, own);
        first += w.plan->blocks;
    }
    fsim_end_entry(e);
    if (o->across > 0)
        fsim_totals_finish(&totals, s->grid, fsim_tiles_down(t));
    if (t->parts > 1) {
        fsim_begin_entry(e, fsim_tile_sum_blocks(&w), w.threads, 0);
        fsim_tile_sum_text(e, &w, own);
        fsim_end_entry(e);
    }
    return true;
}
