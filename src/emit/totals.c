/* SPDX-License-Identifier: Apache-2.0 */
/* totals.c: sums over all tiles of a contraction, or over those of each column: threads add up what they have of the
 * results, blocks leave their parts in scratch memory, and a second launch adds those. */
#include "emit/rows.h"

#include "kernel/rows.h"

static bool is_total(const fsim_rows_work *w, int i) { return w->e->group->member[i].across; }

static bool is_column(const fsim_rows_work *w, int i) { return fsim_member_node(w->e, i)->points > 1; }

void fsim_totals_start(fsim_rows_work *w, int64_t blocks, int64_t down)
{
    fsim_emitter *e = w->e;
    w->sum = fsim_new(e->a, struct fsim_row_sum, e->group->members + 1);
    for (int i = 0; i < e->group->members; i++) {
        if (!is_total(w, i))
            continue;
        const fsim_ctype t = fsim_ctype_of(e->g->tensor[fsim_member_node(e, i)->result[0]].dtype);
        const int64_t parts = is_column(w, i) ? down * fsim_member_node(e, i)->points : blocks;
        w->sum[i] = (struct fsim_row_sum){
            fsim_fresh(e, "s"), fsim_scratch(e, fsim_ctype_names[t], parts * (t == FSIM_C_DOUBLE ? 8 : 4)), t};
    }
}

void fsim_totals_declare(fsim_rows_work *w, const char *kind)
{
    fsim_emitter *e = w->e;
    for (int i = 0; i < e->group->members; i++)
        if (is_total(w, i) && is_column(w, i))
            fsim_text_put(e->a, &e->out, "    FS_TILE_COLUMN_SUMS(%s, %s, %s) /* %s */\n", kind,
                          fsim_ctype_names[w->sum[i].type], w->sum[i].name, fsim_member_node(e, i)->name);
        else if (is_total(w, i))
            fsim_text_put(e->a, &e->out, "    %s %s = 0; /* %s */\n", fsim_ctype_names[w->sum[i].type], w->sum[i].name,
                          fsim_member_node(e, i)->name);
}

void fsim_totals_take(fsim_rows_work *w, const fsim_where *point, const char *kind)
{
    fsim_emitter *e = w->e;
    for (int i = 0; i < e->group->members; i++) {
        if (!is_total(w, i))
            continue;
        const fsim_node *n = fsim_member_node(e, i);
        fsim_map m = fsim_identity(e->group->points);
        m.offset = n->arg[0].map.offset;
        const fsim_where at = fsim_through(e, point, &m);
        const fsim_variable v = fsim_value(e, n->arg[0].tensor, &at);
        const bool same = fsim_ctype_of(e->g->tensor[n->arg[0].tensor].dtype) == w->sum[i].type;
        const char *to =
            is_column(w, i) ? fsim_printf(e->a, "FS_TILE_COLUMN(%s, %s, c)", kind, w->sum[i].name) : w->sum[i].name;
        fsim_say(e, 1, "%s += %s%s%s%s;", to, same ? "" : "(", same ? "" : fsim_ctype_names[w->sum[i].type],
                 same ? "" : ")", v.name);
    }
}

const char *fsim_totals_clause(const fsim_rows_work *w)
{
    const char *clause = "";
    for (int i = 0; i < w->e->group->members; i++)
        if (is_total(w, i) && !is_column(w, i))
            clause = fsim_printf(w->e->a, "%s%sreduction(+ : %s)", clause, *clause ? " " : "", w->sum[i].name);
    return clause;
}

void fsim_totals_leave(fsim_rows_work *w, const char *kind)
{
    fsim_emitter *e = w->e;
    const bool totals = e->group->across > e->group->columns;
    for (int i = 0; i < e->group->members; i++)
        if (is_total(w, i) && is_column(w, i))
            fsim_text_put(e->a, &e->out, "    FS_TILE_COLUMNS_LEAVE(%s, %s, %s, %s)\n", kind,
                          fsim_ctype_suffix[w->sum[i].type], w->sum[i].name, w->sum[i].parts);
    if (totals)
        fsim_text_put(e->a, &e->out, "    FS_TILE_TOTALS\n");
    for (int i = 0; i < e->group->members; i++)
        if (is_total(w, i) && !is_column(w, i))
            fsim_text_put(e->a, &e->out, "    FS_TOTAL_LEAVE(%s, %s, %s)\n", fsim_ctype_suffix[w->sum[i].type],
                          w->sum[i].name, w->sum[i].parts);
    if (totals)
        fsim_text_put(e->a, &e->out, "    FS_TILE_TOTALS_END\n");
}

/* Sums of columns, and of all besides. */
static void finish_columns(fsim_rows_work *w, int64_t blocks, int64_t down)
{
    fsim_emitter *e = w->e;
    const fsim_group *o = e->group;
    int64_t width = 1;
    for (int i = 0; i < o->members; i++)
        width = is_total(w, i) && is_column(w, i) ? fsim_member_node(e, i)->points : width;
    const int64_t bands = (width + FSIM_BAND_ROWS - 1) / FSIM_BAND_ROWS;
    fsim_begin_entry(e, bands + (o->across > o->columns), FSIM_BLOCK, 0);
    fsim_turns_parts(w, width, 0, down);
    if (o->across > o->columns)
        fsim_turns_parts(w, 1, bands, blocks);
    fsim_end_entry(e);
}

void fsim_totals_finish(fsim_rows_work *w, int64_t blocks, int64_t down)
{
    fsim_emitter *e = w->e;
    e->vector = 1;
    e->array = -1;
    e->arrayed = false;
    if (e->group->columns > 0) {
        finish_columns(w, blocks, down);
        return;
    }
    fsim_begin_entry(e, 1, FSIM_BLOCK, 0);
    fsim_rows_begin_kernel(w);
    fsim_text_put(e->a, &e->out, "    FS_TOTALS(p)\n");
    for (int i = 0; i < e->group->members; i++) {
        const fsim_node *n = fsim_member_node(e, i);
        const struct fsim_row_sum *s = &w->sum[i];
        if (!is_total(w, i))
            continue;
        const char *acc = fsim_fresh(e, "a"), *name = fsim_fresh(e, "m"), *type = fsim_ctype_names[s->type];
        fsim_text_put(e->a, &e->out, "    FS_TOTAL_SUM(%s, %s, %lld, %s)\n    const %s %s = %s; /* %s */\n",
                      fsim_ctype_suffix[s->type], acc, (long long)blocks, s->parts, type, name,
                      fsim_accumulator_end(e, n, acc, s->type), n->name);
        e->computed[i] = (fsim_computed){name, NULL, 0};
    }
    fsim_rows_begin_walk(e);
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        if (fsim_rows_place_of(w, x) != FSIM_AFTERWARDS)
            continue;
        const fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_store_value(e, x->tensor, &at, v.name, true);
    }
    fsim_text_put(e->a, &e->out, "%s    FS_TOTALS_ONCE {\n%s    }\n    FS_TOTALS_END\n", fsim_text_of(&e->head),
                  fsim_text_of(&e->body));
    fsim_text_clear(&e->head);
    fsim_end_entry(e);
}
