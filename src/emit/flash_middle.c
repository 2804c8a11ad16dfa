/* SPDX-License-Identifier: Apache-2.0 */
/* flash_middle.c: the operators between the two products of a chain in tiles, elements and reductions. Reductions
 * are either updated with each tile, or, where a tile holds whole rows, computed one level after the other. */
#include "emit/flash.h"

#include <string.h>

static const char *const combines[] = {"SUM", "MAX", "MIN", "PROD"}, *const clauses[] = {"+", "max", "min", "*"};

static int combining(const fsim_node *n)
{
    return n->op == FSIM_OP_MAX ? 1 : n->op == FSIM_OP_MIN ? 2 : n->op == FSIM_OP_PROD ? 3 : 0;
}

const char *fsim_flash_combine_name(const fsim_flash *f, int member)
{
    return combines[combining(fsim_chained_node(f->c, member))];
}

const char *fsim_flash_joined(fsim_flash *f, const fsim_node *n, const char *x, const char *y)
{
    const int how = combining(n);
    return how == 1 || how == 2 ? fsim_printf(f->e->a, "fs_%s%s(%s, %s)", clauses[how], fsim_flash_c_suffix(f), x, y)
                                : fsim_printf(f->e->a, "%s %s %s", x, how == 3 ? "*" : "+", y);
}

const char *fsim_flash_state(fsim_flash *f, int i) { return fsim_printf(f->e->a, "FS_FLASH_OF(%s)", f->state[i]); }

void fsim_flash_declare_states(fsim_flash *f)
{
    for (int i = 0; i < f->e->group->members; i++) {
        const fsim_node *n = fsim_chained_node(f->c, i);
        if (!fsim_chained_between(f->c, i) || fsim_chained_class(f->c, i) != FSIM_REDUCE)
            continue;
        f->state[i] = fsim_fresh(f->e, "s");
        fsim_flash_put(f, 1, "FS_FLASH_STATE(%s, %s, %s) /* %s */", fsim_flash_c_type(f), f->state[i],
                       fsim_accumulator_start(f->e, n, f->c->type), n->name);
    }
}

/* Text that adds the element at (p, c) to reduction i. Returns the accumulator's name; the head declares it. */
static const char *accumulated(fsim_flash *f, int i)
{
    fsim_emitter *e = f->e;
    const fsim_node *n = fsim_chained_node(f->c, i);
    const char *acc = fsim_fresh(e, "a");
    fsim_say(e, 0, "%s %s = %s; /* %s */", fsim_flash_c_type(f), acc, fsim_accumulator_start(e, n, f->c->type),
             n->name);
    const fsim_where at = {0, n->arg[0].map};
    const fsim_variable v = fsim_value(e, n->arg[0].tensor, &at);
    const char *x = fsim_ctype_of(e->g->tensor[n->arg[0].tensor].dtype) == f->c->type
                        ? v.name
                        : fsim_printf(e->a, "(%s)%s", fsim_flash_c_type(f), v.name);
    fsim_say(e, 1, "FS_FLASH_IN(%s)", fsim_accumulate(e, n, acc, x, f->c->type));
    return acc;
}

static const char *with_clause(fsim_flash *f, const char *clause, int i, const char *acc)
{
    return fsim_printf(f->e->a, "%s%sreduction(%s : %s)", clause, *clause ? " " : "",
                       clauses[combining(fsim_chained_node(f->c, i))], acc);
}

/* Starts a loop over the scores. They hold member `of`: the first product, or the member that the loop before stored
 * there. */
static void begin_elements(fsim_flash *f, int of)
{
    fsim_emitter *e = f->e;
    fsim_flash_begin_pass(e);
    fsim_say(e, 1, "const %s score = FS_SCORE;", fsim_flash_c_type(f));
    e->computed[of] = (fsim_computed){"score", NULL, 1};
}

static void end_elements(fsim_flash *f, const char *clause)
{
    fsim_flash_put_lines(f, 2, fsim_text_of(&f->e->head));
    fsim_flash_put(f, 3, "FS_FLASH_COLUMNS(c, c0, %s)", clause);
    fsim_flash_put_lines(f, 2, fsim_text_of(&f->e->body));
    fsim_flash_put(f, 3, "FS_FLASH_COLUMNS_END");
    fsim_text_clear(&f->e->head);
    fsim_text_clear(&f->e->body);
}

/* Stores the elements of the intermediate, and of the tensors before it, that the group writes. */
static void store_elements(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        const int member = fsim_maker_in(e, x->tensor);
        if (!e->group->member[member].middle || fsim_chained_is_row(f->c, member))
            continue;
        const fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_open(e, "FS_FLASH_STORE {");
        fsim_store_value(e, x->tensor, &at, v.name, true);
        fsim_close(e);
    }
}

static void keep_intermediate(fsim_flash *f)
{
    const fsim_where at = {0, f->c->joint->frame};
    const fsim_variable v = fsim_value(f->e, f->c->intermediate, &at);
    fsim_say(f->e, 1, "FS_FLASH_KEEP(%s)", v.name);
}

/* The first loop: reductions whose argument needs no other reduction. */
static void emit_early(fsim_flash *f, int first)
{
    fsim_emitter *e = f->e;
    const char **acc = fsim_new(e->a, const char *, e->group->members + 1), *clause = "";
    bool any = fsim_chained_writes_elements(f->c);
    begin_elements(f, first);
    for (int i = 0; i < e->group->members; i++)
        if (fsim_chained_between(f->c, i) && fsim_chained_class(f->c, i) == FSIM_REDUCE &&
            !fsim_chained_is_late(f->c, i)) {
            acc[i] = accumulated(f, i);
            clause = with_clause(f, clause, i, acc[i]);
            any = true;
        }
    store_elements(f);
    if (f->c->kept >= 0) {
        const fsim_where at = {0, fsim_chained_node(f->c, f->c->peak)->arg[0].map};
        fsim_say(e, 1, "FS_SCORE = %s;", fsim_value(e, fsim_chained_node(f->c, f->c->peak)->arg[0].tensor, &at).name);
    }
    if (!any) {
        fsim_flash_begin_scope(e);
        return;
    }
    end_elements(f, clause);
    for (int i = 0; i < e->group->members; i++) {
        if (!acc[i])
            continue;
        if (i == f->c->peak)
            fsim_flash_put(f, 3, "FS_FLASH_MAX(%s, %s)", fsim_flash_c_suffix(f), acc[i]);
        if (i == f->c->peak && f->c->power >= 0)
            fsim_flash_put(f, 3,
                           "const %s peak = %s, shift = fs_flash_peakf(peak), base = fs_flash_base2(shift), again = "
                           "fs_flash_exp2(fs_flash_base2(%s) - base);\n(void)shift;",
                           fsim_flash_c_type(f),
                           fsim_flash_joined(f, fsim_chained_node(f->c, i), fsim_flash_state(f, i), acc[i]),
                           fsim_flash_state(f, i));
        else if (i == f->c->peak)
            fsim_flash_put(f, 3, "const %s peak = %s, shift = fs_flash_peak%s(peak), again = fs_exp%s(%s - shift);",
                           fsim_flash_c_type(f),
                           fsim_flash_joined(f, fsim_chained_node(f->c, i), fsim_flash_state(f, i), acc[i]),
                           fsim_flash_c_suffix(f), fsim_flash_c_suffix(f), fsim_flash_state(f, i));
        fsim_flash_put(f, 3, "%s = %s;", fsim_flash_state(f, i),
                       i == f->c->peak
                           ? "peak"
                           : fsim_flash_joined(f, fsim_chained_node(f->c, i), fsim_flash_state(f, i), acc[i]));
    }
}

/* The operators between the products, with reductions that are updated with each tile (online softmax). */
static void emit_online(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    const int first = fsim_member_of(e->group, e->group->first), maker = fsim_maker_in(e, f->c->intermediate);
    const char **acc = fsim_new(e->a, const char *, e->group->members + 1), *clause = "";
    bool rescales = f->c->linear[maker];
    fsim_flash_begin_scope(e);
    emit_early(f, first);
    e->computed[first].name = NULL;
    if (f->c->peak >= 0)
        e->computed[f->c->peak] = (fsim_computed){"shift", NULL, 0};
    begin_elements(f, f->c->kept >= 0 ? f->c->kept : first);
    if (f->c->power >= 0) {
        const char *name = fsim_fresh(e, "v");
        fsim_say(e, 1, "const float %s = fs_flash_exp2(score * FS_LOG2E - base); /* %s */", name,
                 fsim_chained_node(f->c, f->c->power)->name);
        e->computed[f->c->power] = (fsim_computed){name, NULL, 1};
    }
    for (int i = 0; i < e->group->members; i++)
        if (fsim_chained_between(f->c, i) && fsim_chained_class(f->c, i) == FSIM_REDUCE &&
            fsim_chained_is_late(f->c, i)) {
            acc[i] = accumulated(f, i);
            clause = with_clause(f, clause, i, acc[i]);
        }
    keep_intermediate(f);
    end_elements(f, clause);
    for (int i = 0; i < e->group->members; i++)
        if (acc[i])
            fsim_flash_put(f, 3,
                           f->c->linear[fsim_maker_in(e, fsim_chained_node(f->c, i)->arg[0].tensor)]
                               ? "%s = %s * again + %s;"
                               : "%s = %s + %s;",
                           fsim_flash_state(f, i), fsim_flash_state(f, i), acc[i]);
    if (rescales)
        fsim_flash_put(f, 3, "FS_FLASH_RESCALE(again)");
}

/* The operators between the products where a tile holds whole rows: a loop for each level of reductions. */
static void emit_levels(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    const int first = fsim_member_of(e->group, e->group->first);
    const char **acc = fsim_new(e->a, const char *, e->group->members + 1);
    fsim_flash_begin_scope(e);
    for (int level = 1; level <= f->c->levels; level++) {
        const char *clause = "";
        begin_elements(f, first);
        for (int i = 0; i < e->group->members; i++)
            if (fsim_chained_between(f->c, i) && fsim_chained_class(f->c, i) == FSIM_REDUCE &&
                fsim_chained_level(f->c, i) == level) {
                acc[i] = accumulated(f, i);
                clause = with_clause(f, clause, i, acc[i]);
            }
        end_elements(f, clause);
        for (int i = 0; i < e->group->members; i++) {
            if (!fsim_chained_between(f->c, i) || fsim_chained_class(f->c, i) != FSIM_REDUCE ||
                fsim_chained_level(f->c, i) != level)
                continue;
            const char *name = fsim_fresh(e, "m");
            fsim_flash_put(f, 3, "FS_FLASH_%s(%s, %s)", fsim_flash_combine_name(f, i), fsim_flash_c_suffix(f), acc[i]);
            fsim_flash_put(f, 3, "const %s %s = %s;", fsim_flash_c_type(f), name,
                           fsim_accumulator_end(e, fsim_chained_node(f->c, i), acc[i], f->c->type));
            fsim_flash_put(f, 3, "%s = %s;", fsim_flash_state(f, i), acc[i]);
            e->computed[i] = (fsim_computed){name, NULL, 0};
        }
    }
    begin_elements(f, first);
    store_elements(f);
    keep_intermediate(f);
    end_elements(f, "");
}

void fsim_flash_emit_middle(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    fsim_flash_put(f, 2, "FS_FLASH_ROWS(p, %s)", f->row_of);
    e->passes = f->c->online ? f->c->passes : NULL;
    if (f->c->online)
        emit_online(f);
    else
        emit_levels(f);
    e->passes = NULL;
    memset(e->computed, 0, (size_t)e->group->members * sizeof *e->computed);
    fsim_flash_put(f, 2, "FS_FLASH_ROWS_END");
}
