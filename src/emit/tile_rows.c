/* SPDX-License-Identifier: Apache-2.0 */
/* tile_rows.c: a contraction in tiles whose results are reduced by rows, or by blocks of them, in the same kernel: a
 * block keeps its sums in shared memory, and its threads go through their rows as a row kernel does. */
#include "emit/rows.h"
#include "emit/tile.h"

#include "kernel/layout.h"

bool fsim_emit_tile_rows(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    fsim_schedule *s = &e->program->schedule;
    fsim_layout l = {.g = e->g, .hw = e->hw, .group = o, .tiling = fsim_tiling_of(e->g, e->hw, o, e->a)};
    if (s->tile_m == 0 || !l.tiling || !fsim_schedule_of(&l, s))
        return false;
    const fsim_tile_plan *p = &l.tiling->plan[0];
    const fsim_node *n = p->product[0].node;
    const fsim_ctype type = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    const char *const name = "row";
    fsim_rows_work w = {.e = e,
                        .rows = o->points,
                        .width = o->reduced,
                        .product = -1,
                        .row_threads = fsim_tile_row_threads(o->reduced),
                        .rows_per_block = 1};
    if (o->across > 0)
        fsim_totals_start(&w, s->grid, 0);
    const fsim_text walks = fsim_rows_of_array(&w, p->product[0].member, name);
    fsim_tile_writing t = {.of = l.tiling, .plan = p, .kind = fsim_tile_kind(e, p), .threads = s->block};
    e->out = (fsim_text){0};
    e->array = -1;
    fsim_begin_held_entry(e, s->grid, s->block, s->shared_bytes, s->registers, false);
    e->program->sm = fsim_tile_sm(p);
    fsim_tile_sums_text(e, &t, 0);
    if (o->across > 0)
        fsim_totals_declare(&w, NULL);
    fsim_text_put(e->a, &e->out,
                  "    FS_TILE_KEEP(%s, sum, %s)\n    FS_TILE_EACH_ROW(b, p, %s, %s, %lld, %d)\n%s    "
                  "FS_TILE_EACH_ROW_END\n",
                  t.kind, fsim_ctype_names[type], fsim_ctype_names[type], name, (long long)o->reduced, w.row_threads,
                  fsim_text_of(&walks));
    if (o->across > 0)
        fsim_totals_leave(&w, NULL);
    fsim_tile_end_text(e);
    fsim_end_entry(e);
    if (o->across > 0)
        fsim_totals_finish(&w, s->grid, 0);
    return true;
}
