/* SPDX-License-Identifier: Apache-2.0 */
/* rows_turns.c: row kernels with sums over all rows: blocks take rows in turn and add on chip; each leaves its part in
 * scratch memory, and a second launch adds the parts. */
#include "emit/rows.h"

#include "kernel/rows.h"
#include <string.h>

static bool is_column(const fsim_rows_work *w, int i) { return fsim_member_node(w->e, i)->points > 1; }

/* Does it add each element of the rows: place by place, or (of tiles) all of them? */
static bool is_each(const fsim_rows_work *w, int i)
{
    return is_column(w, i) || fsim_member_node(w->e, i)->reduced == w->rows * w->width;
}

static bool is_across(const fsim_rows_work *w, int i) { return w->e->group->member[i].across; }

void fsim_turns_start(fsim_rows_work *w, int64_t blocks)
{
    fsim_emitter *e = w->e;
    const int bytes = fsim_sum_bytes(e->g, e->group);
    w->sum = fsim_new(e->a, struct fsim_row_sum, e->group->members + 1);
    for (int i = 0; i < e->group->members; i++) {
        const fsim_node *n = fsim_member_node(e, i);
        if (!is_across(w, i))
            continue;
        const fsim_ctype t = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
        w->sum[i] = (struct fsim_row_sum){fsim_fresh(e, "s"),
                                          fsim_scratch(e, fsim_ctype_names[t], blocks * n->points * bytes), t};
    }
    const int64_t step = (int64_t)w->row_threads * e->vector, steps = (w->width + step - 1) / step;
    e->shared_bytes = steps * step * w->rows_per_block * e->group->columns * bytes; /* kept rows come behind */
}

/* What member i adds up, at an element of a row or once for a row, as a number of the sum's type. */
static const char *term_of(fsim_rows_work *w, int i)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = fsim_member_node(e, i);
    fsim_where at = {0, {.offset = n->arg[0].map.offset}};
    fsim_map_push(&at.map, w->rows, is_each(w, i) ? w->width : 1);
    at.map.split = at.map.modes;
    fsim_map_push(&at.map, w->width, is_each(w, i) ? 1 : 0);
    at.map = fsim_map_simplify(at.map);
    const fsim_variable v = fsim_value(e, n->arg[0].tensor, &at);
    return fsim_ctype_of(e->g->tensor[n->arg[0].tensor].dtype) == w->sum[i].type
               ? v.name
               : fsim_printf(e->a, "(%s)%s", fsim_ctype_names[w->sum[i].type], v.name);
}

bool fsim_turns_take_columns(fsim_rows_work *w, int level, bool dry)
{
    fsim_emitter *e = w->e;
    bool any = false;
    for (int i = 0; i < e->group->members; i++) {
        if (!is_across(w, i) || !is_each(w, i) || w->level[i] != level)
            continue;
        any = true;
        if (!dry)
            fsim_say(e, e->depth, is_column(w, i) ? "FS_COLUMN_ADD(%s, r, %s)" : "%s += %s;", w->sum[i].name,
                     term_of(w, i));
    }
    return any;
}

const char *fsim_turns_clause(const fsim_rows_work *w, int level, const char *clause)
{
    const bool ordered = strcmp(clause, "FS_IN_ORDER") == 0;
    for (int i = 0; i < w->e->group->members && !ordered; i++)
        if (is_across(w, i) && is_each(w, i) && !is_column(w, i) && w->level[i] == level)
            clause = fsim_printf(w->e->a, "%s%sreduction(+ : %s)", clause, *clause ? " " : "", w->sum[i].name);
    return clause;
}

bool fsim_turns_take_totals(fsim_rows_work *w)
{
    fsim_emitter *e = w->e;
    bool any = false;
    for (int i = 0; i < e->group->members; i++) {
        if (!is_across(w, i) || is_each(w, i))
            continue;
        any = true;
        fsim_say(e, e->depth, "%s += %s;", w->sum[i].name, term_of(w, i));
    }
    return any;
}

/* The first launch: what is declared in front of the rows, or what a block leaves behind them. */
static void put_sums(fsim_rows_work *w, bool leave)
{
    fsim_emitter *e = w->e;
    const int64_t step = (int64_t)w->row_threads * e->vector, steps = (w->width + step - 1) / step;
    int64_t offset = 0;
    for (int i = 0; i < e->group->members; i++) {
        const struct fsim_row_sum *s = &w->sum[i];
        if (!is_across(w, i))
            continue;
        const char *type = fsim_ctype_names[s->type], *name = fsim_member_node(e, i)->name;
        if (is_column(w, i) && leave)
            fsim_text_put(e->a, &e->out, "    FS_COLUMNS_LEAVE(%s, %s, %lld, %d, %d, %s)\n", type, s->name,
                          (long long)w->width, e->vector, w->rows_per_block, s->parts);
        else if (is_column(w, i))
            fsim_text_put(e->a, &e->out, "    FS_COLUMNS(%s, %s, %lld, %lld, %d, %s) /* %s */\n", type, s->name,
                          (long long)offset, (long long)w->width, e->vector, s->parts, name);
        else if (leave)
            fsim_text_put(e->a, &e->out, "    FS_TOTAL_LEAVE(%s, %s, %s)\n", fsim_ctype_suffix[s->type], s->name,
                          s->parts);
        else
            fsim_text_put(e->a, &e->out, "    %s %s = 0; /* %s */\n", type, s->name, name);
        offset += is_column(w, i) ? steps * step * w->rows_per_block * fsim_sum_bytes(e->g, e->group) : 0;
    }
}

void fsim_turns_parts(fsim_rows_work *w, int64_t width, int64_t first, int64_t parts)
{
    fsim_emitter *e = w->e;
    fsim_rows_begin_kernel(w);
    fsim_text_put(e->a, &e->out, "    FS_PARTS(p, %lld, %lld)\n", (long long)first, (long long)width);
    for (int i = 0; i < e->group->members; i++) {
        const fsim_node *n = fsim_member_node(e, i);
        const struct fsim_row_sum *s = &w->sum[i];
        if (!is_across(w, i) || n->points != width)
            continue;
        const char *acc = fsim_fresh(e, "a"), *name = fsim_fresh(e, "m"), *type = fsim_ctype_names[s->type];
        fsim_text_put(e->a, &e->out, "    FS_PART_SUM(%s, %s, p, %lld, %lld, %s)\n    const %s %s = %s; /* %s */\n",
                      type, acc, (long long)width, (long long)parts, s->parts, type, name,
                      fsim_accumulator_end(e, n, acc, s->type), n->name);
        e->computed[i] = (fsim_computed){name, NULL, 0};
    }
    fsim_rows_begin_walk(e);
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        if (fsim_rows_place_of(w, x) != FSIM_AFTERWARDS || fsim_map_points(&x->map) != width)
            continue;
        const fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_store_value(e, x->tensor, &at, v.name, true);
    }
    fsim_text_put(e->a, &e->out, "%s    FS_PART_ONCE(p) {\n%s    }\n    FS_PARTS_END\n", fsim_text_of(&e->head),
                  fsim_text_of(&e->body));
    fsim_text_clear(&e->head);
}

void fsim_turns_finish(fsim_rows_work *w, const fsim_text *body, int64_t blocks)
{
    enum { THREADS = 256 };
    fsim_emitter *e = w->e;
    const fsim_group *o = e->group;
    const fsim_text keeps = e->keeps;
    fsim_begin_entry(e, blocks, w->row_threads * w->rows_per_block, (int)e->shared_bytes);
    fsim_text_put(e->a, &e->out, "    FS_TURNS(%d)\n", w->row_threads);
    put_sums(w, false);
    fsim_text_put(e->a, &e->out, "    FS_ROWS_IN_TURN(p, %lld, %d, %lld)\n%s%s    FS_ROWS_IN_TURN_END\n",
                  (long long)w->rows, w->rows_per_block, (long long)blocks, fsim_text_of(&keeps), fsim_text_of(body));
    put_sums(w, true);
    fsim_text_put(e->a, &e->out, "    FS_TURNS_END\n");
    fsim_end_entry(e);
    e->keep = FSIM_KEEP_NOTHING;
    e->vector = 1;
    const int64_t columns = o->columns ? (w->width + FSIM_BAND_ROWS - 1) / FSIM_BAND_ROWS : 0;
    fsim_begin_entry(e, fsim_gathering_blocks(o), THREADS, 0);
    if (o->columns > 0)
        fsim_turns_parts(w, w->width, 0, blocks);
    if (o->across > o->columns)
        fsim_turns_parts(w, 1, columns, blocks);
    fsim_end_entry(e);
}
