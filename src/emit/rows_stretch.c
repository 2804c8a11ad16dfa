/* SPDX-License-Identifier: Apache-2.0 */
/* rows_stretch.c: reductions of stretches of a row (fusion/stretch.c). Each takes a loop over lanes of its own in a
 * step of the walk; the threads that hold the stretch then combine what they have, and the lanes that follow read that.
 */
#include "emit/rows.h"

/* Marks the reductions of stretches that the tensor is computed from, reductions of rows apart, which are known. */
static void mark_needed(const fsim_rows_work *w, int tensor, bool *needed, bool *seen)
{
    const fsim_emitter *e = w->e;
    const int member = fsim_maker_in(e, tensor);
    if (member < 0 || seen[member] || e->computed[member].name)
        return;
    seen[member] = true;
    needed[member] = e->group->member[member].inner;
    for (int k = 0; k < fsim_member_node(e, member)->args; k++)
        mark_needed(w, fsim_member_node(e, member)->arg[k].tensor, needed, seen);
}

/* The same for all that the walk of `level` reduces and stores. */
static void mark_of_walk(const fsim_rows_work *w, int level, bool last, bool *needed, bool *seen)
{
    const fsim_emitter *e = w->e;
    for (int i = 0; i < e->group->members; i++)
        if (fsim_member_class(e, i) == FSIM_REDUCE && w->level[i] == level + 1 && !e->group->member[i].inner)
            mark_needed(w, fsim_member_node(e, i)->arg[0].tensor, needed, seen);
    for (int i = 0; i < e->group->writes; i++) {
        const int own = w->level[fsim_maker_in(e, e->group->write[i].tensor)];
        if (last ? own >= level : own == level)
            mark_needed(w, e->group->write[i].tensor, needed, seen);
    }
}

static const char *name_of(fsim_op op) { return op == FSIM_OP_MAX ? "MAX" : op == FSIM_OP_MIN ? "MIN" : "SUM"; }

/* Values that were declared in a loop over lanes are not known in the next one. */
static void forget_lanes(fsim_emitter *e)
{
    int kept = 0;
    for (int i = 0; i < e->knowns; i++)
        if (e->known[i].depth == 0)
            e->known[kept++] = e->known[i];
    e->knowns = kept;
    fsim_text_clear(&e->body);
}

static void reduce(fsim_rows_work *w, int member)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = fsim_member_node(e, member);
    const fsim_ctype t = fsim_ctype_of(e->g->tensor[n->result[0]].dtype),
                     from = fsim_ctype_of(e->g->tensor[n->arg[0].tensor].dtype);
    const char *acc = fsim_fresh(e, "a"), *value = fsim_fresh(e, "m"), *type = fsim_ctype_names[t];
    const int64_t width = e->group->reduced;
    fsim_where at = {0, {.offset = n->arg[0].map.offset}};
    fsim_map_push(&at.map, e->group->points, width);
    at.map.split = at.map.modes;
    fsim_map_push(&at.map, width, 1);
    const fsim_variable x = fsim_value(e, n->arg[0].tensor, &at);
    fsim_say(e, 1, "%s", fsim_accumulate(e, n, acc, from == t ? x.name : fsim_printf(e->a, "(%s)%s", type, x.name), t));
    fsim_text_put(e->a, &w->phases,
                  "        %s %s = %s; /* %s */\n    FS_LANES_OF(r, reduction(%s : %s))\n%s    FS_LANES_END\n        "
                  "FS_STRETCH_%s(%s, %s)\n        const %s %s = %s;\n",
                  type, acc, fsim_accumulator_start(e, n, t), n->name,
                  n->op == FSIM_OP_MAX   ? "max"
                  : n->op == FSIM_OP_MIN ? "min"
                                         : "+",
                  acc, fsim_text_of(&e->body), name_of(n->op), fsim_ctype_suffix[t], acc, type, value,
                  fsim_accumulator_end(e, n, acc, t));
    forget_lanes(e);
    e->computed[member] = (fsim_computed){.name = value, .depth = 1};
}

/* Stores a value of each stretch, by the thread that holds its first element. */
static void store_values(fsim_rows_work *w, int level, bool last)
{
    fsim_emitter *e = w->e;
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        const int own = w->level[fsim_maker_in(e, x->tensor)];
        if (fsim_rows_place_of(w, x) != FSIM_AT_STRETCH || (last ? own < level : own != level))
            continue;
        const fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_store_value(e, x->tensor, &at, v.name, true);
    }
    if (e->body.used > 0)
        fsim_text_put(e->a, &w->phases, "    FS_STRETCH_FIRST(r)\n%s    FS_STRETCH_FIRST_END\n",
                      fsim_text_of(&e->body));
    forget_lanes(e);
}

void fsim_stretches_reduce(fsim_rows_work *w, int level, bool last)
{
    fsim_emitter *e = w->e;
    fsim_text_clear(&w->phases);
    if (e->group->stretch == 0)
        return;
    bool *needed = fsim_new(e->a, bool, e->group->members + 1), *seen = fsim_new(e->a, bool, e->group->members + 1);
    mark_of_walk(w, level, last, needed, seen);
    for (int i = 0; i < e->group->members; i++)
        if (needed[i])
            reduce(w, i);
    store_values(w, level, last);
}

void fsim_stretches_end(fsim_rows_work *w)
{
    for (int i = 0; i < w->e->group->members; i++)
        if (w->e->group->member[i].inner)
            w->e->computed[i] = (fsim_computed){0};
    fsim_text_clear(&w->phases);
}
