/* SPDX-License-Identifier: Apache-2.0 */
/* totals.c: sums over all tiles of a contraction: threads add up what they have of the results, blocks leave their
 * parts in scratch memory, and a second launch of one block adds those. */
#include "emit/rows.h"

static bool is_total(const fsim_rows_work *w, int i) { return w->e->group->member[i].across; }

void fsim_totals_start(fsim_rows_work *w, int64_t blocks)
{
    fsim_emitter *e = w->e;
    w->sum = fsim_new(e->a, struct fsim_row_sum, e->group->members + 1);
    for (int i = 0; i < e->group->members; i++) {
        if (!is_total(w, i))
            continue;
        const fsim_ctype t = fsim_ctype_of(e->g->tensor[fsim_member_node(e, i)->result[0]].dtype);
        w->sum[i] = (struct fsim_row_sum){
            fsim_fresh(e, "s"), fsim_scratch(e, fsim_ctype_names[t], blocks * (t == FSIM_C_DOUBLE ? 8 : 4)), t};
    }
}

void fsim_totals_declare(fsim_rows_work *w)
{
    fsim_emitter *e = w->e;
    for (int i = 0; i < e->group->members; i++)
        if (is_total(w, i))
            fsim_text_put(e->a, &e->out, "    %s %s = 0; /* %s */\n", fsim_ctype_names[w->sum[i].type], w->sum[i].name,
                          fsim_member_node(e, i)->name);
}

void fsim_totals_take(fsim_rows_work *w, const fsim_where *point)
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
        fsim_say(e, 1, "%s += %s%s%s%s;", w->sum[i].name, same ? "" : "(", same ? "" : fsim_ctype_names[w->sum[i].type],
                 same ? "" : ")", v.name);
    }
}

const char *fsim_totals_clause(const fsim_rows_work *w)
{
    const char *clause = "";
    for (int i = 0; i < w->e->group->members; i++)
        if (is_total(w, i))
            clause = fsim_printf(w->e->a, "%s%sreduction(+ : %s)", clause, *clause ? " " : "", w->sum[i].name);
    return clause;
}

void fsim_totals_leave(fsim_rows_work *w)
{
    fsim_emitter *e = w->e;
    fsim_text_put(e->a, &e->out, "    FS_TILE_TOTALS\n");
    for (int i = 0; i < e->group->members; i++)
        if (is_total(w, i))
            fsim_text_put(e->a, &e->out, "    FS_TOTAL_LEAVE(%s, %s, %s)\n", fsim_ctype_suffix[w->sum[i].type],
                          w->sum[i].name, w->sum[i].parts);
    fsim_text_put(e->a, &e->out, "    FS_TILE_TOTALS_END\n");
}

void fsim_totals_finish(fsim_rows_work *w, int64_t blocks)
{
    fsim_emitter *e = w->e;
    e->vector = 1;
    e->array = -1;
    e->arrayed = false;
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
