/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c: writes any two chained contractions, without tiles. A block computes a row of the first product, walks it
 * as rows.c does, and multiplies the row of the intermediate by the second product's operand. */
#include "emit/rows.h"

/* Multiplies the row of the intermediate by the second product's other operand, and writes the operators that
 * follow. Lanes run over the result's columns. */
static void emit_product(fsim_rows_work *w, const fsim_chain_maps *maps)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = &e->g->node[e->group->anchor];
    const fsim_ctype t = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    fsim_rows_begin_walk(e);
    e->walk = false;
    e->vector = 1;
    const int base = fsim_add_base(e, (fsim_base){.outer = "p",
                                                  .inner = "j",
                                                  .inner_extent = maps->columns,
                                                  .reduced = "k",
                                                  .outer_depth = 0,
                                                  .inner_depth = 1,
                                                  .reduced_depth = 2});
    fsim_say(e, 1, "%s acc = 0;", fsim_ctype_names[t]);
    fsim_open(e, "for (fs_int k = 0; k < %lld; k++) {", (long long)w->width);
    const fsim_where other = {base, maps->other};
    const int operand = n->arg[1 - w->joint->side].tensor;
    const fsim_variable v = fsim_value(e, operand, &other);
    fsim_say(e, 2, "acc += (%s)made[k] * (%s)%s;", fsim_ctype_names[t], fsim_ctype_names[t], v.name);
    fsim_close(e);
    e->computed[w->product] = (fsim_computed){"acc", NULL, 1};
    fsim_map back;
    fsim_where at = {base, maps->result};
    if (!fsim_map_is_identity(&e->group->anchor_map) && fsim_map_invert(&e->group->anchor_map, &back))
        at = fsim_through(e, &at, &back);
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        if (fsim_rows_place_of(w, x) != FSIM_AT_RESULT)
            continue;
        const fsim_where there = fsim_through(e, &at, &x->map);
        const fsim_variable y = fsim_value(e, x->tensor, &there);
        fsim_store_value(e, x->tensor, &there, y.name, true);
    }
    fsim_text_put(e->a, &e->out,
                  "%s    FS_WALK(j, %lld, 1)\n    FS_LANES_OF(j, )\n%s    FS_LANES_END\n    FS_WALK_END\n",
                  fsim_text_of(&e->head), (long long)maps->columns, fsim_text_of(&e->body));
}

/* A block computes one row at a time; its threads share the row. */
void fsim_emit_chain(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    fsim_chain_maps maps;
    fsim_rows_work w = {
        .e = e, .rows = o->rows, .width = o->width, .product = fsim_member_of(o, o->anchor), .joint = o->joint};
    const fsim_node *second = &e->g->node[o->anchor];
    if (!fsim_chain_maps_of(second, w.joint, &maps))
        return;
    e->walk = true;
    e->vector = 1;
    fsim_rows_find_levels(&w, false);
    w.levels = 0;
    for (int i = 0; i < o->members; i++)
        w.levels = o->member[i].middle && w.level[i] > w.levels ? w.level[i] : w.levels;
    e->array = fsim_member_of(o, o->first);
    e->array_name = "row";
    fsim_rows_mark_stored(&w);
    fsim_rows_share_threads(&w);
    w.row_threads = w.row_threads * w.rows_per_block; /* one row a block */
    w.rows_per_block = 1;
    fsim_rows_begin_kernel(&w);
    const int intermediate = second->arg[w.joint->side].tensor;
    const fsim_ctype made = fsim_ctype_of(e->g->tensor[intermediate].dtype),
                     row = fsim_ctype_of(e->g->tensor[e->g->node[o->first].result[0]].dtype);
    const int64_t bytes = w.width * ((made == FSIM_C_DOUBLE ? 8 : 4) + (row == FSIM_C_DOUBLE ? 8 : 4)) + 16;
    if ((double)bytes > fsim_hw_get(e->hw, FSIM_HW_SHARED_PER_BLOCK)) {
        e->program->skipped =
            fsim_printf(e->a, "a row of the intermediate takes %lld bytes of shared memory", (long long)bytes);
        return;
    }
    fsim_begin_entry(e, w.rows, w.row_threads, (int)bytes);
    fsim_text_put(
        e->a, &e->out,
        "    FS_ROWS(p, %lld, 1, %d)\n    FS_DYNAMIC(%s, row, 0, %lld)\n    FS_DYNAMIC(%s, made, %lld, %lld)\n",
        (long long)w.rows, w.row_threads, fsim_ctype_names[row], (long long)w.width, fsim_ctype_names[made],
        (long long)((w.width * (row == FSIM_C_DOUBLE ? 8 : 4) + 15) / 16 * 16), (long long)w.width);
    for (int level = 0; level < w.levels; level++)
        fsim_rows_walk(&w, level, false);
    fsim_rows_begin_walk(e);
    fsim_rows_store_elements(&w, w.levels, true, false);
    const fsim_where at = {0, w.joint->frame};
    const fsim_variable v = fsim_value(e, intermediate, &at);
    fsim_say(e, 1, "made[r] = %s;", v.name);
    if (e->array_wanted && !e->arrayed)
        fsim_rows_fill_array(&w);
    fsim_rows_end_walk(&w, "");
    fsim_text_put(e->a, &e->out, "    FS_ROW_BARRIER\n");
    fsim_rows_store_values(&w);
    emit_product(&w, &maps);
    fsim_text_put(e->a, &e->out, "    FS_ROWS_END\n");
    fsim_end_entry(e);
}
