/* SPDX-License-Identifier: Apache-2.0 */
/* rows_reduction.c: one reduction over a row: its variables, an element, threads' and pieces' values together. */
#include "emit/rows.h"

static bool is_index(fsim_op op) { return op == FSIM_OP_ARGMAX || op == FSIM_OP_ARGMIN; }
static bool is_least(fsim_op op) { return op == FSIM_OP_MIN || op == FSIM_OP_ARGMIN; }
static bool is_extreme(fsim_op op) { return op == FSIM_OP_MAX || op == FSIM_OP_MIN || is_index(op); }

static bool has_moments(const fsim_row_reduction *r) { return r->count != NULL; }

/* The variable that a lane of the walk sees. */
static const char *own(const fsim_rows_work *w, const char *name)
{
    return w->band ? fsim_printf(w->e->a, "FS_BAND_OF(%s)", name) : name;
}

static const char *declare(fsim_rows_work *w, fsim_ctype t, const char *start, const char *what)
{
    fsim_emitter *e = w->e;
    const char *name = fsim_fresh(e, "a");
    fsim_say(e, 0, w->band ? "FS_BAND_VARIABLE(%s, %s, %s) /* %s */" : "%s %s = %s; /* %s */", fsim_ctype_names[t],
             name, start, what);
    return name;
}

fsim_row_reduction fsim_reduction_start(fsim_rows_work *w, int i)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = fsim_member_node(e, i);
    fsim_row_reduction r = {.member = i,
                            .along = w->along[i],
                            .type = fsim_ctype_of(is_index(n->op) ? e->g->tensor[n->arg[0].tensor].dtype : n->dtype)};
    if (!is_index(n->op) && !fsim_dtype_floating(e->g->tensor[n->result[0]].dtype))
        r.type = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    if (n->op == FSIM_OP_MEAN || n->op == FSIM_OP_NORM)
        r.type = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    r.acc = declare(w, r.type, fsim_accumulator_start(e, n, r.type), n->name);
    if (r.along >= 0) {
        r.sum = declare(w, r.type, fsim_literal(e, 0, r.type), fsim_member_node(e, r.along)->name);
        r.count = is_extreme(n->op) ? NULL : declare(w, r.type, fsim_literal(e, 0, r.type), "elements");
    }
    if (is_index(n->op) || n->results > 1) {
        r.index = fsim_fresh(e, "a");
        fsim_say(e, 0, w->band ? "FS_BAND_VARIABLE(fs_i64, %s, 0)" : "fs_i64 %s = 0;", r.index);
    }
    return r;
}

void fsim_reduction_take(fsim_rows_work *w, const fsim_row_reduction *r)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = fsim_member_node(e, r->member);
    const fsim_where at = {0, n->arg[0].map};
    const fsim_variable v = fsim_value(e, n->arg[0].tensor, &at);
    const char *acc = own(w, r->acc), *index = r->index ? own(w, r->index) : NULL, *s = fsim_ctype_suffix[r->type];
    const fsim_ctype from = fsim_ctype_of(e->g->tensor[n->arg[0].tensor].dtype);
    const char *x = from == r->type ? v.name : fsim_printf(e->a, "(%s)%s", fsim_ctype_names[r->type], v.name);
    if (r->along >= 0 && has_moments(r))
        fsim_say(e, e->depth, "fs_take_moments_%s(&%s, &%s, &%s, %s);", s, own(w, r->count), acc, own(w, r->sum), x);
    else if (r->along >= 0)
        fsim_say(e, e->depth, "fs_take_exp_%s(&%s, &%s, %s);", s, acc, own(w, r->sum), x);
    else if (index)
        fsim_say(e, e->depth, "if (%s %s %s || (%s == %s && r < %s)) { %s = %s; %s = r; }", x,
                 is_least(n->op) ? "<" : ">", acc, x, acc, index, acc, x, index);
    else
        fsim_say(e, e->depth, "%s", fsim_accumulate(e, n, acc, x, r->type));
}

static const char *kind_of(const fsim_node *n)
{
    return is_extreme(n->op) ? is_least(n->op) ? "min" : "max" : n->op == FSIM_OP_PROD ? "*" : "+";
}

static const char *combine_name(const fsim_node *n, bool index)
{
    return index                   ? is_least(n->op) ? "ARGMIN" : "ARGMAX"
           : is_extreme(n->op)     ? is_least(n->op) ? "MIN" : "MAX"
           : n->op == FSIM_OP_PROD ? "PROD"
                                   : "SUM";
}

/* The value of a whole row, in a variable outside of the walks. */
static void set_value(fsim_rows_work *w, int member, const char *value, const char *second)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = fsim_member_node(e, member);
    const char *name = fsim_fresh(e, "m"), *type = fsim_ctype_names[fsim_ctype_of(e->g->tensor[n->result[0]].dtype)];
    fsim_text_put(e->a, &e->out,
                  w->band ? "    FS_BAND_SET(%s, %s, %s) /* %s */\n" : "    const %s %s = %s; /* %s */\n", type, name,
                  value, n->name);
    e->computed[member] = (fsim_computed){own(w, name), second, w->band ? 1 : 0};
}

void fsim_reduction_finish(fsim_rows_work *w, const fsim_row_reduction *r)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = fsim_member_node(e, r->member);
    const char *acc = own(w, r->acc), *index = r->index ? own(w, r->index) : NULL;
    set_value(w, r->member,
              is_index(n->op) ? index
              : r->along >= 0 ? acc
                              : fsim_accumulator_end(e, n, acc, r->type),
              index);
    if (r->along >= 0)
        set_value(w, r->along, fsim_accumulator_end(e, fsim_member_node(e, r->along), own(w, r->sum), r->type), NULL);
}

const char *fsim_reduction_clause(fsim_rows_work *w, const fsim_row_reduction *r, int count)
{
    const char *clause = "";
    for (int i = 0; i < count; i++)
        clause = r[i].index || r[i].along >= 0 ? "-"
                 : *clause == '-'              ? clause
                                  : fsim_printf(w->e->a, "%s%sreduction(%s : %s)", clause, *clause ? " " : "",
                                                kind_of(fsim_member_node(w->e, r[i].member)), r[i].acc);
    return *clause == '-' ? "FS_IN_ORDER" : w->band ? "" : clause;
}

void fsim_reduction_combine(fsim_rows_work *w, const fsim_row_reduction *r, int count)
{
    fsim_emitter *e = w->e;
    const char *what = w->band ? "BAND" : "ROW";
    for (int i = 0; i < count; i++) {
        const char *s = fsim_ctype_suffix[r[i].type];
        if (r[i].along >= 0 && has_moments(&r[i]))
            fsim_text_put(e->a, &e->out, "    FS_%s_MOMENTS(%s, %s, %s, %s)\n", what, s, r[i].count, r[i].acc,
                          r[i].sum);
        else if (r[i].along >= 0)
            fsim_text_put(e->a, &e->out, "    FS_%s_EXP(%s, %s, %s)\n", what, s, r[i].acc, r[i].sum);
        else
            fsim_text_put(e->a, &e->out, "    FS_%s_%s(%s, %s%s%s)\n", what,
                          combine_name(fsim_member_node(e, r[i].member), r[i].index != NULL), s, r[i].acc,
                          r[i].index ? ", " : "", r[i].index ? r[i].index : "");
    }
}

int fsim_reduction_variables(const fsim_row_reduction *r, const char **name)
{
    int count = 0;
    if (r->count)
        name[count++] = r->count;
    name[count++] = r->acc;
    if (r->sum)
        name[count++] = r->sum;
    if (r->index)
        name[count++] = r->index;
    return count;
}

void fsim_reduction_store_partial(fsim_rows_work *w, const fsim_row_reduction *r, int count)
{
    fsim_emitter *e = w->e;
    int slot = 0;
    fsim_text_put(e->a, &e->out, w->band ? "    FS_BAND_ONCE(p) {\n" : "    FS_ONCE {\n");
    for (int i = 0; i < count; i++) {
        const char *name[3];
        const int values = fsim_reduction_variables(&r[i], name);
        for (int k = 0; k < values; k++)
            fsim_text_put(e->a, &e->out, "        %s[%d * %lldLL + p * %lldLL + fs_piece] = (double)%s;\n", w->scratch,
                          slot++, (long long)(w->rows * w->pieces), (long long)w->pieces, own(w, name[k]));
    }
    fsim_text_put(e->a, &e->out, "    }\n");
}

void fsim_reduction_merge_partial(fsim_rows_work *w, const fsim_row_reduction *r, int slot)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = fsim_member_node(e, r->member);
    const char *name[3], *x[3], *s = fsim_ctype_suffix[r->type];
    const int values = fsim_reduction_variables(r, name);
    for (int k = 0; k < values; k++) {
        const char *type = r->index && k == values - 1 ? "fs_i64" : fsim_ctype_names[r->type];
        x[k] = fsim_fresh(e, "x");
        fsim_say(e, 1, "const %s %s = (%s)%s[%d * %lldLL + p * %lldLL + r];", type, x[k], type, w->scratch, slot + k,
                 (long long)(w->rows * w->pieces), (long long)w->pieces);
    }
    if (r->along >= 0 && has_moments(r))
        fsim_say(e, 1, "fs_merge_moments_%s(&%s, &%s, &%s, %s, %s, %s);", s, r->count, r->acc, r->sum, x[0], x[1],
                 x[2]);
    else if (r->along >= 0)
        fsim_say(e, 1, "fs_merge_exp_%s(&%s, &%s, %s, %s);", s, r->acc, r->sum, x[0], x[1]);
    else if (r->index)
        fsim_say(e, 1, "if (%s %s %s || (%s == %s && %s < %s)) { %s = %s; %s = %s; }", x[0],
                 is_least(n->op) ? "<" : ">", r->acc, x[0], r->acc, x[1], r->index, r->acc, x[0], r->index, x[1]);
    else if (is_extreme(n->op) || n->op == FSIM_OP_PROD)
        fsim_say(e, 1, "%s", fsim_accumulate(e, n, r->acc, x[0], r->type));
    else
        fsim_say(e, 1, "%s += %s;", r->acc, x[0]);
}
