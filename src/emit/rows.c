/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: kernels in which threads share rows: reductions over a row, and what depends on them.
 *
 * A row is walked once for each level of dependent reductions, and once more for what is stored after the last.
 * Values of a whole row are kept outside of the walks. */
#include "emit/rows.h"

#include "fusion/online.h"

#include <string.h>

enum { WARP = 32 };

/* The reduction among the members that i can run along with, if both have the same floating C type; -1. */
static int leader_of(const fsim_rows_work *w, int i)
{
    const fsim_emitter *e = w->e;
    const fsim_node *n = fsim_member_node(e, i);
    const int with = fsim_member_class(e, i) == FSIM_REDUCE ? fsim_online_with(e->g, e->group->member[i].node) : -1,
              leader = with < 0 ? -1 : fsim_member_of(e->group, with);
    if (leader < 0 || e->group->member[i].inner || e->group->member[leader].inner || e->group->strict ||
        w->along[leader] >= 0 || e->g->node[with].results > 1)
        return -1;
    const fsim_ctype x = fsim_ctype_of(e->g->tensor[e->g->node[with].arg[0].tensor].dtype),
                     y = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    return x == y && x == fsim_ctype_of(e->g->tensor[e->g->node[with].result[0]].dtype) && x <= FSIM_C_DOUBLE ? leader
                                                                                                              : -1;
}

bool fsim_rows_find_levels(fsim_rows_work *w, bool online)
{
    fsim_emitter *e = w->e;
    bool any = false;
    w->level = fsim_new(e->a, int, e->group->members + 1);
    w->along = fsim_new(e->a, int, e->group->members + 1);
    w->second = fsim_new(e->a, bool, e->group->members + 1);
    w->levels = 0;
    for (int i = 0; i < e->group->members; i++)
        w->along[i] = -1;
    for (int i = 0; i < e->group->members; i++) {
        const fsim_node *n = fsim_member_node(e, i);
        for (int k = 0; k < n->args; k++) {
            const int from = fsim_maker_in(e, n->arg[k].tensor);
            if (from >= 0 && w->level[from] > w->level[i])
                w->level[i] = w->level[from];
        }
        const int leader = leader_of(w, i);
        any = any || leader >= 0;
        if (online && leader >= 0) {
            w->along[leader] = i;
            w->second[i] = true;
            w->level[i] = w->level[leader];
        } else {
            w->level[i] +=
                fsim_member_class(e, i) == FSIM_REDUCE && !e->group->member[i].across && !e->group->member[i].inner;
        }
        w->levels = w->level[i] > w->levels ? w->level[i] : w->levels;
    }
    return any;
}

void fsim_rows_begin_walk(fsim_emitter *e)
{
    fsim_text_clear(&e->head);
    fsim_text_clear(&e->before);
    fsim_text_clear(&e->body);
    fsim_text_clear(&e->after);
    int kept = 0;
    for (int i = 0; i < e->knowns; i++)
        if (e->known[i].depth == 0)
            e->known[kept++] = e->known[i];
    e->knowns = kept;
    e->depth = 1;
}

void fsim_rows_end_walk(fsim_rows_work *w, const char *clause)
{
    fsim_emitter *e = w->e;
    const char *kept = e->keep == FSIM_KEEP_IN_REGISTERS ? "_KEPT" : "",
               *stretches = w->phases.used == 0
                                ? ""
                                : fsim_printf(e->a, "    FS_STRETCHES(%lld)\n", (long long)e->group->stretch);
    if (w->band)
        fsim_text_put(e->a, &e->out, "%s    FS_BAND_WALK%s(r, p, %lld)\n%s%s    FS_BAND_WALK_END\n",
                      fsim_text_of(&e->head), kept, (long long)w->width, fsim_text_of(&e->before),
                      fsim_text_of(&e->body));
    else
        fsim_text_put(e->a, &e->out,
                      "%s    FS_WALK%s(r, %lld, %d)\n%s%s%s    FS_LANES_OF(r, %s)\n%s    FS_LANES_END\n%s%s    "
                      "FS_WALK_END\n",
                      fsim_text_of(&e->head), kept, (long long)w->width, e->vector, stretches, fsim_text_of(&e->before),
                      fsim_text_of(&w->phases), clause, fsim_text_of(&e->body), fsim_text_of(&e->after),
                      *stretches ? "    FS_STRETCHES_END\n" : "");
}

void fsim_rows_fill_array(fsim_rows_work *w)
{
    fsim_emitter *e = w->e;
    const fsim_text head = e->head, before = e->before, body = e->body, after = e->after;
    fsim_known *known = e->known;
    const int knowns = e->knowns, room = e->known_room, member = e->array;
    e->head = e->before = e->body = e->after = (fsim_text){0};
    e->known = fsim_new(e->a, fsim_known, 1);
    e->knowns = 0;
    e->known_room = 1;
    e->array = -1;
    const char **const hoisted = e->hoisted;
    const int hoists = e->hoists, hoist_room = e->hoist_room;
    e->hoisted = NULL;
    e->hoists = e->hoist_room = 0;
    const fsim_variable v = fsim_value(e, fsim_member_node(e, member)->result[0], &e->array_at);
    fsim_say(e, 1, "%s[r] = %s;", e->array_name, v.name);
    fsim_text_put(e->a, &e->out, "    { /* %s, a row of it */\n", fsim_member_node(e, member)->name);
    fsim_rows_end_walk(w, "");
    fsim_text_put(e->a, &e->out, "    }\n");
    e->hoisted = hoisted;
    e->hoists = hoists;
    e->hoist_room = hoist_room;
    e->array = member;
    e->arrayed = true;
    e->head = head;
    e->before = before;
    e->body = body;
    e->after = after;
    e->known = known;
    e->knowns = knowns;
    e->known_room = room;
}

fsim_write_place fsim_rows_place_of(const fsim_rows_work *w, const fsim_write *x)
{
    const int64_t points = fsim_map_points(&x->map), all = points * fsim_map_reduced(&x->map);
    const fsim_member *maker = &w->e->group->member[fsim_maker_in(w->e, x->tensor)];
    if (maker->across || maker->past)
        return FSIM_AFTERWARDS;
    if (w->product >= 0) {
        const int member = fsim_maker_in(w->e, x->tensor);
        if (!w->e->group->member[member].middle)
            return FSIM_AT_RESULT;
    }
    if (points != w->rows || all != w->rows * w->width)
        return FSIM_IN_PASSING;
    if (w->e->group->stretch > 0 && x->map.modes > x->map.split + 1 && x->map.mode[x->map.modes - 1].stride == 0)
        return FSIM_AT_STRETCH;
    bool still = w->width > 1;
    for (int i = x->map.split; i < x->map.modes; i++)
        still = still && x->map.mode[i].stride == 0;
    const int member = fsim_maker_in(w->e, x->tensor);
    return still || fsim_member_class(w->e, member) == FSIM_REDUCE ? FSIM_AT_ROW : FSIM_AT_ELEMENT;
}

bool fsim_rows_store_elements(fsim_rows_work *w, int level, bool last, bool dry)
{
    fsim_emitter *e = w->e;
    bool any = false;
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        const int own = w->level[fsim_maker_in(e, x->tensor)];
        const fsim_write_place place = fsim_rows_place_of(w, x);
        if ((place != FSIM_AT_ELEMENT && place != FSIM_AT_STRETCH) || (last ? own < level : own != level))
            continue;
        any = true;
        if (dry || place == FSIM_AT_STRETCH) /* rows_stretch.c stores those */
            continue;
        const fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_store_value(e, x->tensor, &at, v.name, false);
    }
    return any;
}

void fsim_rows_walk(fsim_rows_work *w, int level, bool partial)
{
    fsim_emitter *e = w->e;
    fsim_row_reduction *r = fsim_new(e->a, fsim_row_reduction, e->group->members + 1);
    int count = 0;
    fsim_rows_begin_walk(e);
    fsim_stretches_reduce(w, level, level == w->levels);
    for (int i = 0; i < e->group->members; i++)
        if (fsim_member_class(e, i) == FSIM_REDUCE && w->level[i] == level + 1 && !w->second[i] &&
            !e->group->member[i].across && !e->group->member[i].inner)
            r[count++] = fsim_reduction_start(w, i);
    for (int i = 0; i < count; i++)
        fsim_reduction_take(w, &r[i]);
    fsim_rows_store_elements(w, level, level == w->levels, false);
    fsim_turns_take_columns(w, level, false);
    if (e->array_wanted && !e->arrayed)
        fsim_rows_fill_array(w);
    fsim_rows_end_walk(w, fsim_turns_clause(w, level, fsim_reduction_clause(w, r, count)));
    fsim_stretches_end(w);
    fsim_reduction_combine(w, r, count);
    for (int i = 0; i < count && !partial; i++)
        fsim_reduction_finish(w, &r[i]);
    if (partial)
        fsim_reduction_store_partial(w, r, count);
}

static void flush_head(fsim_emitter *e)
{
    fsim_text_put(e->a, &e->out, "%s", fsim_text_of(&e->head));
    fsim_text_clear(&e->head);
}

void fsim_rows_store_values(fsim_rows_work *w)
{
    fsim_emitter *e = w->e;
    bool any = false;
    fsim_rows_begin_walk(e);
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        if (fsim_rows_place_of(w, x) != FSIM_AT_ROW)
            continue;
        any = true;
        fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_store_value(e, x->tensor, &at, v.name, true);
    }
    any = fsim_turns_take_totals(w) || any;
    if (!any)
        return;
    flush_head(e);
    fsim_text_put(e->a, &e->out, "    %s {\n%s    }\n", w->band ? "FS_BAND_ONCE(p)" : "FS_ONCE",
                  fsim_text_of(&e->body));
}

void fsim_rows_begin_kernel(fsim_rows_work *w)
{
    fsim_emitter *e = w->e;
    e->knowns = e->hoists = e->bases = 0;
    memset(e->computed, 0, (size_t)e->group->members * sizeof *e->computed);
    fsim_text_clear(&e->head);
    fsim_add_base(
        e, w->band
               ? (fsim_base){.outer = "p", .inner_extent = 1, .outer_depth = 1, .reduced = "r", .reduced_depth = 1}
               : (fsim_base){.outer = "p", .inner_extent = 1, .outer_depth = 0, .reduced = "r", .reduced_depth = 1});
}

static void walks(fsim_rows_work *w)
{
    for (int level = 0; level <= w->levels; level++)
        if (level < w->levels || fsim_rows_store_elements(w, level, true, true) ||
            fsim_turns_take_columns(w, level, true))
            fsim_rows_walk(w, level, false);
}

void fsim_rows_share_threads(fsim_rows_work *w)
{
    const fsim_kernel *k = w->e->kernel;
    const int block = k->block > 0 ? k->block : 256;
    w->pieces = 1;
    if (k->row_threads > 0 && !w->band && k->row_threads * k->rows_per_block == block) {
        w->row_threads = k->row_threads;
        w->rows_per_block = k->rows_per_block;
        return;
    }
    w->row_threads = fsim_row_threads(w->width, w->e->vector, block);
    w->rows_per_block = block / w->row_threads > 0 ? block / w->row_threads : 1;
}

/* Blocks have pieces of a row, or of a band of neighbouring rows, and a second launch combines them. */
static void emit_pieces(fsim_rows_work *w)
{
    fsim_schedule *s = &w->e->program->schedule;
    enum { TOGETHER = 8 }; /* rows of a block of the second launch */
    fsim_emitter *e = w->e;
    const int block = e->kernel->block;
    int slots = 0;
    for (int i = 0; i < e->group->members; i++)
        slots += fsim_member_class(e, i) == FSIM_REDUCE ? 2 : 0;
    w->scratch = fsim_scratch(e, "double", (int64_t)slots * w->rows * w->pieces * 8);
    fsim_rows_begin_kernel(w);
    w->row_threads = block;
    w->rows_per_block = 1;
    s->row_threads = w->band ? block / FSIM_BAND_ROWS : block;
    s->rows_per_block = w->band ? FSIM_BAND_ROWS : 1;
    s->pieces = (int)w->pieces;
    fsim_begin_entry(e, (w->band ? (w->rows + FSIM_BAND_ROWS - 1) / FSIM_BAND_ROWS : w->rows) * w->pieces, block, 0);
    if (e->kernel->launches == 1)
        fsim_text_put(
            e->a, &e->out,
            "    /* predicted in one launch: a framework's kernel whose last block puts the pieces together */\n");
    fsim_text_put(e->a, &e->out, "    FS_%sPIECES(p, %lld, %lld, %d, %lld)\n", w->band ? "BAND_" : "",
                  (long long)w->rows, (long long)w->pieces, block, (long long)w->piece);
    fsim_rows_walk(w, 0, true);
    fsim_text_put(e->a, &e->out, w->band ? "    FS_BAND_END\n" : "    FS_ROWS_END\n");
    fsim_end_entry(e);
    /* the pieces of a row put together */
    const int64_t width = w->width;
    w->band = false;
    w->width = w->pieces;
    e->vector = 1;
    fsim_rows_begin_kernel(w);
    w->row_threads = WARP;
    w->rows_per_block = w->rows < TOGETHER ? 1 : TOGETHER;
    fsim_begin_entry(e, (w->rows + w->rows_per_block - 1) / w->rows_per_block, WARP * w->rows_per_block, 0);
    fsim_text_put(e->a, &e->out, "    FS_ROWS(p, %lld, %d, %d)\n", (long long)w->rows, w->rows_per_block, WARP);
    for (int i = 0, slot = 0; i < e->group->members; i++) {
        if (fsim_member_class(e, i) != FSIM_REDUCE || w->second[i])
            continue;
        const char *name[3];
        fsim_rows_begin_walk(e);
        const fsim_row_reduction r = fsim_reduction_start(w, i);
        fsim_reduction_merge_partial(w, &r, slot);
        slot += fsim_reduction_variables(&r, name);
        fsim_rows_end_walk(w, fsim_reduction_clause(w, &r, 1));
        fsim_reduction_combine(w, &r, 1);
        fsim_reduction_finish(w, &r);
    }
    w->width = width;
    fsim_rows_store_values(w);
    fsim_text_put(e->a, &e->out, "    FS_ROWS_END\n");
    fsim_end_entry(e);
}

/* Do several blocks share a row? Yes if the prediction has two launches, or many more blocks than rows would give (a
 * framework's kernel that combines the pieces in one launch). */
static bool splits(const fsim_rows_work *w)
{
    const fsim_kernel *k = w->e->kernel;
    const int64_t own =
        (w->rows + (w->band ? FSIM_BAND_ROWS : w->rows_per_block) - 1) / (w->band ? FSIM_BAND_ROWS : w->rows_per_block);
    bool splits = w->levels == 1 && w->e->group->across == 0 && w->e->group->stretch == 0 && w->product < 0 &&
                  w->e->array < 0 &&
                  (k->launches > 1 || (k->grid >= 2 * own && !w->e->group->strict && w->width >= 2 * WARP));
    for (int i = 0; i < w->e->group->writes && splits; i++) { /* what each element gives is stored as it is read */
        const fsim_write *x = &w->e->group->write[i];
        const fsim_write_place place = fsim_rows_place_of(w, x);
        splits = place == FSIM_AT_ROW || (place == FSIM_AT_ELEMENT && w->level[fsim_maker_in(w->e, x->tensor)] == 0);
    }
    return splits;
}

void fsim_rows_mark_stored(fsim_rows_work *w)
{
    for (int i = 0; i < w->e->group->writes; i++)
        if (fsim_rows_place_of(w, &w->e->group->write[i]) == FSIM_IN_PASSING)
            w->e->stored[fsim_maker_in(w->e, w->e->group->write[i].tensor)] = false;
}

/* Keeps rows where the prediction has them: in shared memory if it needs enough of that, otherwise in registers. */
static void choose_keep(fsim_rows_work *w)
{
    fsim_emitter *e = w->e;
    const int64_t row_bytes = e->group->kept_row_bytes * (w->band ? FSIM_BAND_ROWS : w->rows_per_block);
    e->band = w->band;
    e->width = w->width;
    e->rows_per_block = w->rows_per_block;
    e->shared_most = (int64_t)fsim_hw_get(e->hw, FSIM_HW_SHARED_PER_BLOCK) - FSIM_ROW_STATIC;
    if (row_bytes > 0 && e->kernel->passes == 1 && e->array < 0)
        e->keep = e->kernel->keep == FSIM_KEEP_IN_SHARED ? FSIM_KEEP_IN_SHARED : FSIM_KEEP_IN_REGISTERS;
}

/* If the prediction has one block on an SM at a time, so that L2 holds the rows in progress, the launch requests
 * shared memory that nothing uses. */
static void ask_for_room(fsim_rows_work *w)
{
    fsim_emitter *e = w->e;
    if (e->keep != FSIM_KEEP_NOTHING || e->kernel->passes < 2 || !e->kernel->alone)
        return;
    e->shared_bytes = e->kernel->shared_bytes < e->shared_most ? e->kernel->shared_bytes : e->shared_most;
    fsim_text_put(e->a, &e->keeps,
                  "    /* launched with %lld bytes of shared memory, which keep other blocks off the SM: fewer rows "
                  "are under way, and L2 holds them */\n",
                  (long long)e->shared_bytes);
}

/* Says in the text how the launch differs from the prediction. */
static void note_launch(fsim_emitter *e, int64_t grid, int block)
{
    if (e->kernel->launches == 1 && (grid != e->kernel->grid || block != e->kernel->block))
        fsim_text_put(e->a, &e->out, "    /* predicted: %lld blocks of %d threads; here %lld of %d */\n",
                      (long long)e->kernel->grid, e->kernel->block, (long long)grid, block);
}

/* Everything between a kernel's head and its end. online: some reductions may run along with others. */
static fsim_text all_walks(fsim_rows_work *w, bool online)
{
    fsim_emitter *e = w->e;
    const int next = e->next;
    e->out = (fsim_text){0};
    if (e->keep != FSIM_KEEP_NOTHING) {
        fsim_rows_find_levels(w, false);
        walks(w);
        fsim_rows_store_values(w);
        if (e->kepts > 0)
            return e->out;
        e->keep = FSIM_KEEP_NOTHING; /* rows put together from several tensors, say: each walk reads them again */
        e->out = (fsim_text){0};
        e->next = next;
        fsim_rows_begin_kernel(w);
    }
    const bool both = online && e->array < 0;
    if (both) { /* the host's walks are faster one by one: its compiler does not vectorise a running rescaling */
        fsim_text_put(e->a, &e->out, "#ifdef FS_GPU /* reductions that depend on each other in one walk */\n");
        fsim_rows_find_levels(w, true);
        walks(w);
        fsim_rows_store_values(w);
        fsim_text_put(e->a, &e->out, "#else\n");
        fsim_rows_begin_kernel(w);
    }
    fsim_rows_find_levels(w, false);
    walks(w);
    fsim_rows_store_values(w);
    fsim_text_put(e->a, &e->out, "%s", both ? "#endif\n" : "");
    return e->out;
}

static int ctype_bytes(const fsim_emitter *e, int tensor)
{
    const fsim_ctype t = fsim_ctype_of(e->g->tensor[tensor].dtype);
    return t == FSIM_C_DOUBLE || t == FSIM_C_LONG ? 8 : 4;
}

fsim_text fsim_rows_of_array(fsim_rows_work *w, int array, const char *name)
{
    fsim_emitter *e = w->e;
    e->walk = e->arrayed = true;
    e->vector = 1;
    e->array = array;
    e->array_name = name;
    fsim_rows_find_levels(w, false);
    fsim_rows_mark_stored(w);
    fsim_rows_begin_kernel(w);
    return all_walks(w, false);
}

/* Do lanes have a row each of the block's band? They do where rows are columns, and where pieces of rows leave nothing
 * but sums. Elsewhere results may lie along the row: then the threads that share a row go along it, and its neighbours
 * in the block find the sectors of what lies across in L1. */
static bool takes_band(const fsim_emitter *e)
{
    return e->kernel->band && e->array < 0 && (e->group->template == FSIM_COLUMN_REDUCTION || e->kernel->launches > 1);
}

void fsim_emit_rows(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    fsim_rows_work w = {.e = e, .rows = o->points, .width = o->reduced, .product = -1};
    e->walk = true;
    const bool online = fsim_rows_find_levels(&w, true);
    e->vector = e->kernel->vector > 1 && w.width % e->kernel->vector == 0 ? e->kernel->vector : 1;
    if (o->stretch > 0 && e->vector < FSIM_STRETCH_VECTOR)
        e->vector = FSIM_STRETCH_VECTOR;
    if (o->whole_row > 0 && o->anchor < 0)
        return;
    if (o->contractions > 0)
        for (int i = 0; i < o->members; i++)
            if (fsim_member_class(e, i) == FSIM_CONTRACTION) {
                e->array = i;
                e->array_name = "row";
                e->vector = 1;
            }
    fsim_rows_mark_stored(&w);
    w.band = takes_band(e);
    fsim_rows_share_threads(&w);
    if (splits(&w)) {
        e->vector = w.band ? 1 : e->vector;
        const int64_t bands = w.band ? (w.rows + FSIM_BAND_ROWS - 1) / FSIM_BAND_ROWS : w.rows;
        const int64_t asked = e->kernel->grid / bands;
        w.pieces = fsim_row_pieces(w.width, e->vector, asked > 1 ? asked : 2, &w.piece);
        emit_pieces(&w);
        return;
    }
    fsim_rows_begin_kernel(&w);
    if (w.band)
        e->vector = 1;
    choose_keep(&w);
    const int64_t blocks = e->kernel->grid;
    if (o->across > 0)
        fsim_turns_start(&w, blocks);
    const fsim_text before = e->out;
    const fsim_text body = all_walks(&w, online);
    e->out = before;
    ask_for_room(&w);
    if (e->array >= 0)
        e->declared_bytes += (int)w.width * w.rows_per_block * ctype_bytes(e, fsim_member_node(e, e->array)->result[0]);
    const int64_t grid =
        w.band ? (w.rows + FSIM_BAND_ROWS - 1) / FSIM_BAND_ROWS : (w.rows + w.rows_per_block - 1) / w.rows_per_block;
    const int block = w.band ? 256 : w.row_threads * w.rows_per_block;
    e->program->schedule.row_threads = w.band ? block / FSIM_BAND_ROWS : w.row_threads;
    e->program->schedule.rows_per_block = w.band ? FSIM_BAND_ROWS : w.rows_per_block;
    e->program->schedule.pieces = 1;
    e->program->schedule.band = w.band || (e->kernel->band && w.rows_per_block == FSIM_BAND_ROWS);
    if (o->across > 0) {
        fsim_turns_finish(&w, &body, blocks);
        return;
    }
    fsim_begin_entry(e, grid, block, (int)e->shared_bytes);
    note_launch(e, grid, block);
    if (w.band) {
        fsim_text_put(e->a, &e->out, "    FS_BAND(p, %lld, %d, 256)\n", (long long)w.rows, FSIM_BAND_ROWS);
    } else {
        fsim_text_put(e->a, &e->out, "    FS_ROWS(p, %lld, %d, %d)\n", (long long)w.rows, w.rows_per_block,
                      w.row_threads);
        if (e->array >= 0)
            fsim_text_put(e->a, &e->out, "    FS_ROW_ARRAY(%s, row, %lld, %d)\n",
                          fsim_ctype_names[fsim_ctype_of(e->g->tensor[fsim_member_node(e, e->array)->result[0]].dtype)],
                          (long long)w.width, w.rows_per_block);
    }
    fsim_text_put(e->a, &e->out, "%s%s%s", fsim_text_of(&e->keeps), fsim_text_of(&body),
                  w.band ? "    FS_BAND_END\n" : "    FS_ROWS_END\n");
    fsim_end_entry(e);
}
