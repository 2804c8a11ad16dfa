/* SPDX-License-Identifier: Apache-2.0 */
/* flash_results.c: the end of a chain in tiles: the reductions' final values and the results. Where several blocks
 * share a row, each stores partial ones, and a second launch combines them. */
#include "emit/flash.h"

/* The factors, one value a row, that the loop over the columns left out, found from the intermediate upwards: " / l"
 * of a softmax. */
static const char *left_out(fsim_flash *f, int tensor, const fsim_where *at)
{
    fsim_emitter *e = f->e;
    const int i = fsim_maker_in(e, tensor);
    const char *factors = "";
    if (!fsim_chained_between(f->c, i) || fsim_chained_kind(f->c, i) != FSIM_SCALED)
        return "";
    const fsim_node *n = fsim_chained_node(f->c, i);
    for (int k = 0; k < n->args; k++) {
        const fsim_where there = fsim_through(e, at, &n->arg[k].map);
        if (f->c->passes[i] >= 0 && f->c->passes[i] != k)
            factors = fsim_printf(e->a, "%s %s (%s)%s", factors, n->op == FSIM_OP_DIV ? "/" : "*", fsim_flash_c_type(f),
                                  fsim_value(e, n->arg[k].tensor, &there).name);
        else
            factors = fsim_printf(e->a, "%s%s", factors, left_out(f, n->arg[k].tensor, &there));
    }
    return factors;
}

/* Combines the running value of row p over the threads that share the row, in a variable. */
static const char *gathered(fsim_flash *f, int i)
{
    const char *acc = fsim_fresh(f->e, "a");
    fsim_flash_put(f, 2, "%s %s = %s;", fsim_flash_c_type(f), acc, fsim_flash_state(f, i));
    if (f->c->online && i != f->c->peak)
        fsim_flash_put(f, 2, "FS_FLASH_%s(%s, %s)", fsim_flash_combine_name(f, i), fsim_flash_c_suffix(f), acc);
    return acc;
}

/* Where reduction `member` is among the values that parts leave. */
static int slot_of(const fsim_flash *f, int member)
{
    int slot = 0;
    for (int k = 0; k < member; k++)
        slot += f->state[k] != NULL;
    return slot;
}

/* The element with part i's value of reduction `member`: in scratch memory, or, of warps that share columns, in shared
 * memory. */
static const char *piece_of(fsim_flash *f, int member, const char *i)
{
    const fsim_group *o = f->e->group;
    const int slot = slot_of(f, member);
    if (f->meeting)
        return fsim_printf(f->e->a, "FS_FLASH_LEFT(%s, %d, %s)", fsim_flash_c_type(f), slot, i);
    return fsim_printf(f->e->a, "%s[%lld + %s * %lld + p]", f->scratch,
                       (long long)(f->layout.pieces * o->rows * (f->c->maps.columns + slot)), i, (long long)o->rows);
}

void fsim_flash_emit_piece(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    fsim_flash_put(f, 1, "FS_FLASH_ROWS(p, %s)", f->row_of);
    for (int i = 0; i < e->group->members; i++)
        if (f->state[i]) {
            const char *acc = gathered(f, i);
            fsim_flash_put(f, 2, "FS_FLASH_EACH %s = %s; /* %s */", piece_of(f, i, "piece"), acc,
                           fsim_chained_node(f->c, i)->name);
        }
    fsim_flash_put(f, 2, "FS_FLASH_RESULTS(j, %s, %lld)", f->layout.l.chunks > 1 ? "j0" : "0",
                   (long long)f->c->maps.columns);
    fsim_flash_put(f, 3, "%s[(piece * %lld + p) * %lld + j] = FS_RESULT;", f->scratch, (long long)e->group->rows,
                   (long long)f->c->maps.columns);
    fsim_flash_put(f, 2, "FS_FLASH_RESULTS_END");
    fsim_flash_put(f, 1, "FS_FLASH_ROWS_END");
}

/* Each piece subtracted its own maximum. This is the factor that corrects piece i for the maximum of all pieces; ""
 * where no maximum is subtracted. */
static const char *righting(fsim_flash *f)
{
    if (f->c->peak < 0)
        return "";
    return f->c->power >= 0
               ? fsim_printf(f->e->a, " * fs_flash_exp2(fs_flash_base2(%s) - base)", piece_of(f, f->c->peak, "i"))
               : fsim_printf(f->e->a, " * fs_exp%s(%s - shift)", fsim_flash_c_suffix(f), piece_of(f, f->c->peak, "i"));
}

/* Combines a reduction over all pieces, in a variable. The maximum must be combined first: the others' factors need
 * it. */
static const char *rejoined(fsim_flash *f, int i)
{
    fsim_emitter *e = f->e;
    const fsim_node *n = fsim_chained_node(f->c, i);
    const char *acc = fsim_fresh(e, "a");
    const bool linear = fsim_chained_is_late(f->c, i) && f->c->linear[fsim_maker_in(e, n->arg[0].tensor)];
    fsim_flash_put(f, 2, "%s %s = %s;", fsim_flash_c_type(f), acc, fsim_accumulator_start(e, n, f->c->type));
    fsim_flash_put(f, 2, "FS_UNROLL_SOME(%d) for (int i = 0; i < %lld; i++)", FSIM_CHAIN_PARTS_AHEAD,
                   (long long)(f->meeting ? f->layout.l.across : f->layout.pieces));
    fsim_flash_put(
        f, 3, "%s = %s;", acc,
        fsim_flash_joined(f, n, acc, fsim_printf(e->a, "%s%s", piece_of(f, i, "i"), linear ? righting(f) : "")));
    if (i == f->c->peak)
        fsim_flash_put(f, 2, "const %s shift = fs_flash_peak%s(%s);", fsim_flash_c_type(f), fsim_flash_c_suffix(f),
                       acc);
    if (i == f->c->peak && f->c->power >= 0)
        fsim_flash_put(f, 2, "const float base = fs_flash_base2(shift);");
    return acc;
}

/* Replaces a thread's running values of a row by those of all warps that share its columns. */
static void meet_in_row(fsim_flash *f)
{
    const int members = f->e->group->members;
    const char **acc = fsim_new(f->e->a, const char *, members + 1);
    if (f->c->peak >= 0)
        acc[f->c->peak] = rejoined(f, f->c->peak);
    for (int i = 0; i < members; i++)
        acc[i] = acc[i] || !f->state[i] ? acc[i] : rejoined(f, i);
    if (f->c->linear[fsim_maker_in(f->e, f->c->intermediate)]) {
        const char *own = fsim_flash_state(f, f->c->peak);
        fsim_flash_put(f, 2, "const %s again = %s;\nFS_FLASH_RESCALE(again)", fsim_flash_c_type(f),
                       f->c->power >= 0 ? fsim_printf(f->e->a, "fs_flash_exp2(fs_flash_base2(%s) - base)", own)
                                        : fsim_printf(f->e->a, "fs_exp%s(%s - shift)", fsim_flash_c_suffix(f), own));
    }
    for (int i = 0; i < members; i++)
        if (acc[i])
            fsim_flash_put(f, 2, "%s = %s;", fsim_flash_state(f, i), acc[i]);
}

void fsim_flash_emit_meeting(fsim_flash *f)
{
    const int members = f->e->group->members, slots = slot_of(f, members);
    f->meeting = true;
    fsim_flash_put(f, 1, "FS_FLASH_MEET {");
    if (slots > 0)
        fsim_flash_put(f, 2, "FS_FLASH_MINE {");
    for (int i = 0; i < members; i++)
        if (f->state[i])
            fsim_flash_put(f, 3, "FS_FLASH_LEAVE(%s, %d, %s)", fsim_flash_c_type(f), slot_of(f, i),
                           fsim_flash_state(f, i));
    fsim_flash_put(f, 2, slots > 0 ? "}\nFS_ROW_BARRIER\nFS_FLASH_MINE {" : "FS_FLASH_MINE {");
    meet_in_row(f);
    fsim_flash_put(f, 3, "FS_FLASH_LEAVE_RESULTS(%s, %d)", fsim_flash_c_type(f), slots);
    fsim_flash_put(f, 2, "}\nFS_ROW_BARRIER");
    fsim_flash_put(f, 2, "FS_FLASH_MINE { FS_FLASH_TAKE_RESULTS(%s, %d) }", fsim_flash_c_type(f), slots);
    fsim_flash_put(f, 1, "}");
    f->meeting = false;
}

/* Declares variables with the final values of row p's reductions. */
static void declare_row_values(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    const fsim_group *o = e->group;
    const char *most = f->layout.pieces > 1 && f->c->peak >= 0 ? rejoined(f, f->c->peak) : NULL;
    for (int i = 0; i < o->members; i++) {
        if (!f->state[i])
            continue;
        const fsim_node *n = fsim_chained_node(f->c, i);
        const char *acc = f->layout.pieces == 1 ? gathered(f, i)
                          : i == f->c->peak     ? most
                                                : rejoined(f, i),
                   *name = fsim_fresh(e, "m");
        fsim_flash_put(f, 2, "const %s %s = %s; /* %s */", fsim_flash_c_type(f), name,
                       fsim_accumulator_end(e, n, acc, f->c->type), n->name);
        fsim_flash_put(f, 2, "(void)%s;", name);
        e->computed[i] = (fsim_computed){name, NULL, 0};
    }
}

/* Stores the values of which there is one a row. The row's first thread does it. */
static void store_row_values(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    const fsim_group *o = e->group;
    for (int i = 0; i < o->writes; i++) {
        const fsim_write *x = &o->write[i];
        const int member = fsim_maker_in(e, x->tensor);
        if (!o->member[member].middle || !fsim_chained_is_row(f->c, member))
            continue;
        const fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_store_value(e, x->tensor, &at, v.name, true);
    }
    fsim_flash_put_lines(f, 1, fsim_text_of(&e->head));
    if (e->body.used) {
        fsim_flash_put(f, 2, "FS_FLASH_ONCE {");
        fsim_flash_put_lines(f, 1, fsim_text_of(&e->body));
        fsim_flash_put(f, 2, "}");
    }
}

/* Stores the results of row p, column by column, through the operators that follow the second product. factor: the
 * head declares `factor`, which multiplies each result of the row. */
static void store_columns(fsim_flash *f, bool factor)
{
    fsim_emitter *e = f->e;
    const fsim_group *o = e->group;
    fsim_flash_begin_pass(e);
    const int base = fsim_add_base(
        e, (fsim_base){
               .outer = "p", .inner = "j", .inner_extent = f->c->maps.columns, .outer_depth = 0, .inner_depth = 1});
    if (f->layout.pieces > 1) {
        fsim_say(e, 1, "%s sum = 0;", fsim_flash_c_type(f));
        fsim_say(e, 1, "FS_UNROLL_SOME(%d) for (int i = 0; i < %lld; i++)", FSIM_CHAIN_PARTS_AHEAD,
                 (long long)f->layout.pieces);
        fsim_say(e, 2, "sum += %s[(i * %lld + p) * %lld + j]%s;", f->scratch, (long long)o->rows,
                 (long long)f->c->maps.columns, f->c->linear[fsim_maker_in(e, f->c->intermediate)] ? righting(f) : "");
    }
    fsim_say(e, 1, "const %s result = %s%s;", fsim_flash_c_type(f), f->layout.pieces > 1 ? "sum" : "FS_RESULT",
             factor ? " * factor" : "");
    e->computed[fsim_member_of(o, o->anchor)] = (fsim_computed){"result", NULL, 1};
    fsim_map back;
    fsim_where at = {base, f->c->maps.result};
    if (!fsim_map_is_identity(&o->anchor_map) && fsim_map_invert(&o->anchor_map, &back))
        at = fsim_through(e, &at, &back);
    for (int i = 0; i < o->writes; i++) {
        const fsim_write *x = &o->write[i];
        if (o->member[fsim_maker_in(e, x->tensor)].middle)
            continue;
        const fsim_where there = fsim_through(e, &at, &x->map);
        const fsim_variable y = fsim_value(e, x->tensor, &there);
        fsim_store_value(e, x->tensor, &there, y.name, true);
    }
    fsim_flash_put_lines(f, 1, fsim_text_of(&e->head));
    if (f->layout.pieces > 1)
        fsim_flash_put(f, 2, "FS_WALK(j, %lld, 1)\nFS_LANES_OF(j, )", (long long)f->c->maps.columns);
    else
        fsim_flash_put(f, 2, "FS_FLASH_RESULTS(j, %s, %lld)", f->layout.l.chunks > 1 ? "j0" : "0",
                       (long long)f->c->maps.columns);
    fsim_flash_put_lines(f, 1, fsim_text_of(&e->body));
    if (f->layout.pieces > 1)
        fsim_flash_put(f, 2, "FS_LANES_END\nFS_WALK_END");
    else {
        fsim_flash_put(f, 2, "FS_FLASH_RESULTS_END");
        fsim_flash_put(f, 1, "FS_FLASH_ROWS_END");
    }
}

void fsim_flash_emit_results(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    if (f->layout.pieces == 1)
        fsim_flash_put(f, 1, "FS_FLASH_ROWS(p, %s)", f->row_of);
    fsim_flash_begin_scope(e);
    declare_row_values(f);
    const fsim_where frame = {0, f->c->joint->frame};
    const char *factors = f->c->online ? left_out(f, f->c->intermediate, &frame) : "";
    if (*factors)
        fsim_say(e, 0, "const %s factor = %s%s;", fsim_flash_c_type(f), fsim_literal(e, 1, f->c->type), factors);
    store_row_values(f);
    store_columns(f, *factors != 0);
}
