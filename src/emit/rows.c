/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: kernels whose threads share rows: reductions over a row, what depends on them, and chains, whose rows a
 * product fills first.
 *
 * A row is walked once for each level of dependent reductions, and once more for what is stored of it after the last.
 * Values of a whole row live outside of the walks. */
#include "emit/emit.h"

#include "fusion/online.h"

#include <stdlib.h>
#include <string.h>

enum { WARP = 32 };
enum { STATIC_BYTES = 2048 }; /* of shared memory, at most, that the dialect's reductions take */

typedef struct {
    fsim_emitter *e;
    int64_t rows, width;
    int *level; /* per member: reductions before its value exists */
    int levels;
    int *along;   /* per member: the reduction that runs along with this one, in one pass (fusion/online.h); -1 */
    bool *second; /* per member: it runs along with one */
    int row_threads, rows_per_block;
    int64_t pieces, piece;   /* blocks that share a row, and the elements of each */
    bool band;               /* neighbouring rows are contiguous: lanes run over rows */
    const fsim_joint *joint; /* chained */
    int product;             /* chained: the second contraction's member; -1 */
    const char *scratch;     /* pieces: partial results */
} rows_work;

static const fsim_node *member_node(const fsim_emitter *e, int i) { return &e->g->node[e->group->member[i].node]; }
static fsim_class class_of(const fsim_emitter *e, int i) { return fsim_ops[member_node(e, i)->op].class; }

/* The reduction among the members that i can run along with, both of one C type of floats; -1. */
static int leader_of(const rows_work *w, int i)
{
    const fsim_emitter *e = w->e;
    const fsim_node *n = member_node(e, i);
    const int with = class_of(e, i) == FSIM_REDUCE ? fsim_online_with(e->g, e->group->member[i].node) : -1,
              leader = with < 0 ? -1 : fsim_member_of(e->group, with);
    if (leader < 0 || e->group->strict || w->along[leader] >= 0 || e->g->node[with].results > 1)
        return -1;
    const fsim_ctype x = fsim_ctype_of(e->g->tensor[e->g->node[with].arg[0].tensor].dtype),
                     y = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    return x == y && x == fsim_ctype_of(e->g->tensor[e->g->node[with].result[0]].dtype) && x <= FSIM_C_DOUBLE ? leader
                                                                                                              : -1;
}

/* online: reductions run along with others where they can. Returns whether any does. */
static bool find_levels(rows_work *w, bool online)
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
        const fsim_node *n = member_node(e, i);
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
            w->level[i] += class_of(e, i) == FSIM_REDUCE;
        }
        w->levels = w->level[i] > w->levels ? w->level[i] : w->levels;
    }
    return any;
}

static void begin_walk(fsim_emitter *e)
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

static const char *text_of(const fsim_text *t) { return t->used ? t->at : ""; }

/* What is in the buffers as one walk of the row. clause: the host's reductions. */
static void end_walk(rows_work *w, const char *clause)
{
    fsim_emitter *e = w->e;
    const char *kept = e->keep == FSIM_KEEP_IN_REGISTERS ? "_KEPT" : "";
    if (w->band)
        fsim_text_put(e->a, &e->out, "%s    FS_BAND_WALK%s(r, p, %lld)\n%s%s    FS_BAND_WALK_END\n", text_of(&e->head),
                      kept, (long long)w->width, text_of(&e->before), text_of(&e->body));
    else
        fsim_text_put(e->a, &e->out,
                      "%s    FS_WALK%s(r, %lld, %d)\n%s    FS_LANES_OF(r, %s)\n%s    FS_LANES_END\n%s    FS_WALK_END\n",
                      text_of(&e->head), kept, (long long)w->width, e->vector, text_of(&e->before), clause,
                      text_of(&e->body), text_of(&e->after));
}

/* The product whose values a row's array holds, in a walk of its own. */
static void fill_array(rows_work *w)
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
    const fsim_variable v = fsim_value(e, member_node(e, member)->result[0], &e->array_at);
    fsim_say(e, 1, "%s[r] = %s;", e->array_name, v.name);
    fsim_text_put(e->a, &e->out, "    { /* %s, a row of it */\n", member_node(e, member)->name);
    end_walk(w, "");
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

static bool is_index(fsim_op op) { return op == FSIM_OP_ARGMAX || op == FSIM_OP_ARGMIN; }
static bool is_least(fsim_op op) { return op == FSIM_OP_MIN || op == FSIM_OP_ARGMIN; }
static bool is_extreme(fsim_op op) { return op == FSIM_OP_MAX || op == FSIM_OP_MIN || is_index(op); }

/* One reduction of a walk. */
typedef struct {
    int member;
    fsim_ctype type;
    const char *acc, *index; /* index: of the extreme element; NULL */
    int along;               /* member that runs along; -1 */
    const char *sum, *count; /* its sum; elements so far, NULL but for moments */
} reducing;

static bool has_moments(const reducing *r) { return r->count != NULL; }

/* The variable that a lane of the walk sees. */
static const char *own(const rows_work *w, const char *name)
{
    return w->band ? fsim_printf(w->e->a, "FS_BAND_OF(%s)", name) : name;
}

static const char *declare(rows_work *w, fsim_ctype t, const char *start, const char *what)
{
    fsim_emitter *e = w->e;
    const char *name = fsim_fresh(e, "a");
    fsim_say(e, 0, w->band ? "FS_BAND_VARIABLE(%s, %s, %s) /* %s */" : "%s %s = %s; /* %s */", fsim_ctype_names[t],
             name, start, what);
    return name;
}

static reducing start_reduction(rows_work *w, int i)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = member_node(e, i);
    reducing r = {.member = i,
                  .along = w->along[i],
                  .type = fsim_ctype_of(is_index(n->op) ? e->g->tensor[n->arg[0].tensor].dtype : n->dtype)};
    if (!is_index(n->op) && !fsim_dtype_floating(e->g->tensor[n->result[0]].dtype))
        r.type = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    if (n->op == FSIM_OP_MEAN || n->op == FSIM_OP_NORM)
        r.type = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    r.acc = declare(w, r.type, fsim_accumulator_start(e, n, r.type), n->name);
    if (r.along >= 0) {
        r.sum = declare(w, r.type, fsim_literal(e, 0, r.type), member_node(e, r.along)->name);
        r.count = is_extreme(n->op) ? NULL : declare(w, r.type, fsim_literal(e, 0, r.type), "elements");
    }
    if (is_index(n->op) || n->results > 1) {
        r.index = fsim_fresh(e, "a");
        fsim_say(e, 0, w->band ? "FS_BAND_VARIABLE(fs_i64, %s, 0)" : "fs_i64 %s = 0;", r.index);
    }
    return r;
}

static void reduce_element(rows_work *w, const reducing *r)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = member_node(e, r->member);
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
static void set_value(rows_work *w, int member, const char *value, const char *second)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = member_node(e, member);
    const char *name = fsim_fresh(e, "m"), *type = fsim_ctype_names[fsim_ctype_of(e->g->tensor[n->result[0]].dtype)];
    fsim_text_put(e->a, &e->out,
                  w->band ? "    FS_BAND_SET(%s, %s, %s) /* %s */\n" : "    const %s %s = %s; /* %s */\n", type, name,
                  value, n->name);
    e->held[member] = (fsim_held){own(w, name), second, w->band ? 1 : 0};
}

static void finish_reduction(rows_work *w, const reducing *r)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = member_node(e, r->member);
    const char *acc = own(w, r->acc), *index = r->index ? own(w, r->index) : NULL;
    set_value(w, r->member,
              is_index(n->op) ? index
              : r->along >= 0 ? acc
                              : fsim_accumulator_end(e, n, acc, r->type),
              index);
    if (r->along >= 0)
        set_value(w, r->along, fsim_accumulator_end(e, member_node(e, r->along), own(w, r->sum), r->type), NULL);
}

/* The host's clause for the reductions of a walk; one that keeps an index goes in order. */
static const char *clause_of(rows_work *w, const reducing *r, int count)
{
    const char *clause = "";
    for (int i = 0; i < count; i++)
        clause = r[i].index || r[i].along >= 0 ? "-"
                 : *clause == '-'              ? clause
                                  : fsim_printf(w->e->a, "%s%sreduction(%s : %s)", clause, *clause ? " " : "",
                                                kind_of(member_node(w->e, r[i].member)), r[i].acc);
    return *clause == '-' ? "FS_IN_ORDER" : w->band ? "" : clause;
}

/* Where write i is in the kernel's space. */
typedef enum { A_ROW, AN_ELEMENT, A_RESULT, IN_PASSING } write_place;
static write_place place_of(const rows_work *w, const fsim_write *x)
{
    const int64_t points = fsim_map_points(&x->map), all = points * fsim_map_reduced(&x->map);
    if (w->product >= 0) {
        const int member = fsim_maker_in(w->e, x->tensor);
        if (!w->e->group->member[member].middle)
            return A_RESULT;
    }
    if (points != w->rows || all != w->rows * w->width)
        return IN_PASSING;
    bool still = w->width > 1;
    for (int i = x->map.split; i < x->map.modes; i++)
        still = still && x->map.mode[i].stride == 0;
    const int member = fsim_maker_in(w->e, x->tensor);
    return still || class_of(w->e, member) == FSIM_REDUCE ? A_ROW : AN_ELEMENT;
}

/* The full writes that can be stored in the walk of `level`, which is the last where `last`. Returns whether there were
 * any. */
static bool store_elements(rows_work *w, int level, bool last, bool dry)
{
    fsim_emitter *e = w->e;
    bool any = false;
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        const int own = w->level[fsim_maker_in(e, x->tensor)];
        if (place_of(w, x) != AN_ELEMENT || (last ? own < level : own != level))
            continue;
        any = true;
        if (dry)
            continue;
        const fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_store_value(e, x->tensor, &at, v.name, false);
    }
    return any;
}

static void reduce_rows(rows_work *w, const reducing *r, int count)
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
                          combine_name(member_node(e, r[i].member), r[i].index != NULL), s, r[i].acc,
                          r[i].index ? ", " : "", r[i].index ? r[i].index : "");
    }
}

/* Partial results of a piece of a row, or of all of them: as many values as variables(r) has. */
static int variables(const reducing *r, const char **name)
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

static void store_partial(rows_work *w, const reducing *r, int count)
{
    fsim_emitter *e = w->e;
    int slot = 0;
    fsim_text_put(e->a, &e->out, w->band ? "    FS_BAND_ONCE(p) {\n" : "    FS_ONCE {\n");
    for (int i = 0; i < count; i++) {
        const char *name[3];
        const int values = variables(&r[i], name);
        for (int k = 0; k < values; k++)
            fsim_text_put(e->a, &e->out, "        %s[%d * %lldLL + p * %lldLL + fs_piece] = (double)%s;\n", w->scratch,
                          slot++, (long long)(w->rows * w->pieces), (long long)w->pieces, own(w, name[k]));
    }
    fsim_text_put(e->a, &e->out, "    }\n");
}

/* Walk `level`: its reductions, and what is stored of the row on the way. partial: the results go to scratch memory
 * instead. */
static void walk(rows_work *w, int level, bool partial)
{
    fsim_emitter *e = w->e;
    reducing *r = fsim_new(e->a, reducing, e->group->members + 1);
    int count = 0;
    begin_walk(e);
    for (int i = 0; i < e->group->members; i++)
        if (class_of(e, i) == FSIM_REDUCE && w->level[i] == level + 1 && !w->second[i])
            r[count++] = start_reduction(w, i);
    for (int i = 0; i < count; i++)
        reduce_element(w, &r[i]);
    store_elements(w, level, level == w->levels, false);
    if (e->array_wanted && !e->arrayed)
        fill_array(w);
    end_walk(w, clause_of(w, r, count));
    reduce_rows(w, r, count);
    for (int i = 0; i < count && !partial; i++)
        finish_reduction(w, &r[i]);
    if (partial)
        store_partial(w, r, count);
}

static void flush_head(fsim_emitter *e)
{
    fsim_text_put(e->a, &e->out, "%s", text_of(&e->head));
    fsim_text_clear(&e->head);
}

/* Values of whole rows: by the row's first thread. */
static void store_rows(rows_work *w)
{
    fsim_emitter *e = w->e;
    bool any = false;
    begin_walk(e);
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        if (place_of(w, x) != A_ROW)
            continue;
        any = true;
        fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_store_value(e, x->tensor, &at, v.name, true);
    }
    if (!any)
        return;
    flush_head(e);
    fsim_text_put(e->a, &e->out, "    %s {\n%s    }\n", w->band ? "FS_BAND_ONCE(p)" : "FS_ONCE", text_of(&e->body));
}

static void begin_kernel(rows_work *w)
{
    fsim_emitter *e = w->e;
    e->knowns = e->hoists = e->bases = 0;
    memset(e->held, 0, (size_t)e->group->members * sizeof *e->held);
    fsim_text_clear(&e->head);
    fsim_add_base(
        e, w->band
               ? (fsim_base){.outer = "p", .inner_extent = 1, .outer_depth = 1, .reduced = "r", .reduced_depth = 1}
               : (fsim_base){.outer = "p", .inner_extent = 1, .outer_depth = 0, .reduced = "r", .reduced_depth = 1});
}

static void walks(rows_work *w)
{
    for (int level = 0; level <= w->levels; level++)
        if (level < w->levels || store_elements(w, level, true, true))
            walk(w, level, false);
}

/* How the block's threads share its rows. */
static void share_threads(rows_work *w)
{
    fsim_emitter *e = w->e;
    const int block = e->kernel->block > 0 ? e->kernel->block : 256;
    w->row_threads = fsim_row_threads(w->width, e->vector, block);
    w->rows_per_block = block / w->row_threads > 0 ? block / w->row_threads : 1;
    w->pieces = 1;
}

/* One partial result more: r numbers the pieces of a row. */
static void merge_partial(rows_work *w, const reducing *r, int slot)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = member_node(e, r->member);
    const char *name[3], *x[3], *s = fsim_ctype_suffix[r->type];
    const int values = variables(r, name);
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

/* Blocks take pieces of rows, a row's or those of a band of neighbouring rows, and a second launch puts them together.
 */
static void emit_pieces(rows_work *w)
{
    enum { TOGETHER = 8 }; /* rows of a block of the second launch */
    fsim_emitter *e = w->e;
    const int block = e->kernel->block;
    int slots = 0;
    for (int i = 0; i < e->group->members; i++)
        slots += class_of(e, i) == FSIM_REDUCE ? 2 : 0;
    w->scratch = fsim_scratch(e, "double", (int64_t)slots * w->rows * w->pieces * 8);
    begin_kernel(w);
    w->row_threads = block;
    w->rows_per_block = 1;
    fsim_begin_entry(e, (w->band ? (w->rows + FSIM_BAND_ROWS - 1) / FSIM_BAND_ROWS : w->rows) * w->pieces, block, 0);
    if (e->kernel->launches == 1)
        fsim_text_put(
            e->a, &e->out,
            "    /* predicted in one launch: a framework's kernel whose last block puts the pieces together */\n");
    fsim_text_put(e->a, &e->out, "    FS_%sPIECES(p, %lld, %lld, %d, %lld)\n", w->band ? "BAND_" : "",
                  (long long)w->rows, (long long)w->pieces, block, (long long)w->piece);
    walk(w, 0, true);
    fsim_text_put(e->a, &e->out, w->band ? "    FS_BAND_END\n" : "    FS_ROWS_END\n");
    fsim_end_entry(e);
    /* the pieces of a row put together */
    const int64_t width = w->width;
    w->band = false;
    w->width = w->pieces;
    e->vector = 1;
    begin_kernel(w);
    w->row_threads = WARP;
    w->rows_per_block = w->rows < TOGETHER ? 1 : TOGETHER;
    fsim_begin_entry(e, (w->rows + w->rows_per_block - 1) / w->rows_per_block, WARP * w->rows_per_block, 0);
    fsim_text_put(e->a, &e->out, "    FS_ROWS(p, %lld, %d, %d)\n", (long long)w->rows, w->rows_per_block, WARP);
    for (int i = 0, slot = 0; i < e->group->members; i++) {
        if (class_of(e, i) != FSIM_REDUCE || w->second[i])
            continue;
        const char *name[3];
        begin_walk(e);
        const reducing r = start_reduction(w, i);
        merge_partial(w, &r, slot);
        slot += variables(&r, name);
        end_walk(w, clause_of(w, &r, 1));
        reduce_rows(w, &r, 1);
        finish_reduction(w, &r);
    }
    w->width = width;
    store_rows(w);
    fsim_text_put(e->a, &e->out, "    FS_ROWS_END\n");
    fsim_end_entry(e);
}

/* Do several blocks share a row? Where the prediction has two launches, or far more blocks than rows would give it (a
 * framework's kernel that puts them together in one). */
static bool splits(const rows_work *w)
{
    const fsim_kernel *k = w->e->kernel;
    const int64_t own =
        (w->rows + (w->band ? FSIM_BAND_ROWS : w->rows_per_block) - 1) / (w->band ? FSIM_BAND_ROWS : w->rows_per_block);
    bool splits = w->levels == 1 && w->product < 0 && w->e->array < 0 &&
                  (k->launches > 1 || (k->grid >= 2 * own && !w->e->group->strict && w->width >= 2 * WARP));
    for (int i = 0; i < w->e->group->writes && splits; i++)
        splits = place_of(w, &w->e->group->write[i]) == A_ROW;
    return splits;
}

static void mark_stored(rows_work *w)
{
    for (int i = 0; i < w->e->group->writes; i++)
        if (place_of(w, &w->e->group->write[i]) == IN_PASSING)
            w->e->stored[fsim_maker_in(w->e, w->e->group->write[i].tensor)] = false;
}

/* Rows stay where the prediction has them: in shared memory where it takes enough of that, else in registers. */
static void choose_keep(rows_work *w)
{
    fsim_emitter *e = w->e;
    const int64_t row_bytes = e->group->kept_row_bytes * (w->band ? FSIM_BAND_ROWS : w->rows_per_block);
    e->band = w->band;
    e->width = w->width;
    e->rows_per_block = w->rows_per_block;
    e->shared_most = (int64_t)fsim_hw_get(e->hw, FSIM_HW_SHARED_PER_BLOCK) - STATIC_BYTES;
    if (row_bytes > 0 && e->kernel->passes == 1 && e->array < 0)
        e->keep = e->kernel->keep == FSIM_KEEP_IN_SHARED ? FSIM_KEEP_IN_SHARED : FSIM_KEEP_IN_REGISTERS;
}

/* Where the prediction wants one block an SM at a time, so that L2 holds the rows under way, shared memory that nothing
 * uses sees to it. */
static void ask_for_room(rows_work *w)
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

/* How the launch differs from the prediction's. */
static void note_launch(fsim_emitter *e, int64_t grid, int block)
{
    if (e->kernel->launches == 1 && (grid != e->kernel->grid || block != e->kernel->block))
        fsim_text_put(e->a, &e->out, "    /* predicted: %lld blocks of %d threads; here %lld of %d */\n",
                      (long long)e->kernel->grid, e->kernel->block, (long long)grid, block);
}

/* Everything between a kernel's head and its end. online: some reductions can run along with others. */
static fsim_text all_walks(rows_work *w, bool online)
{
    fsim_emitter *e = w->e;
    const int next = e->next;
    e->out = (fsim_text){0};
    if (e->keep != FSIM_KEEP_NOTHING) {
        find_levels(w, false);
        walks(w);
        store_rows(w);
        if (e->kepts > 0)
            return e->out;
        e->keep = FSIM_KEEP_NOTHING; /* rows put together from several tensors, say: each walk reads them again */
        e->out = (fsim_text){0};
        e->next = next;
        begin_kernel(w);
    }
    const bool both = online && e->array < 0;
    if (both) { /* the host's walks are faster one by one: its compiler does not vectorise a running rescaling */
        fsim_text_put(e->a, &e->out, "#ifdef FS_GPU /* reductions that depend on each other in one walk */\n");
        find_levels(w, true);
        walks(w);
        store_rows(w);
        fsim_text_put(e->a, &e->out, "#else\n");
        begin_kernel(w);
    }
    find_levels(w, false);
    walks(w);
    store_rows(w);
    fsim_text_put(e->a, &e->out, "%s", both ? "#endif\n" : "");
    return e->out;
}

void fsim_emit_rows(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    rows_work w = {.e = e, .rows = o->points, .width = o->reduced, .product = -1};
    e->walk = true;
    const bool online = find_levels(&w, true);
    e->vector = e->kernel->vector > 1 && w.width % e->kernel->vector == 0 ? e->kernel->vector : 1;
    if (o->whole_row > 0 && o->anchor < 0)
        return;
    if (o->contractions > 0)
        for (int i = 0; i < o->members; i++)
            if (class_of(e, i) == FSIM_CONTRACTION) {
                e->array = i;
                e->array_name = "row";
                e->vector = 1;
            }
    mark_stored(&w);
    w.band = o->template == FSIM_COLUMN_REDUCTION && e->array < 0;
    share_threads(&w);
    if (splits(&w)) {
        e->vector = w.band ? 1 : e->vector;
        const int64_t bands = w.band ? (w.rows + FSIM_BAND_ROWS - 1) / FSIM_BAND_ROWS : w.rows;
        const int64_t asked = e->kernel->grid / bands;
        w.pieces = fsim_row_pieces(w.width, e->vector, asked > 1 ? asked : 2, &w.piece);
        emit_pieces(&w);
        return;
    }
    begin_kernel(&w);
    if (w.band)
        e->vector = 1;
    choose_keep(&w);
    const fsim_text before = e->out;
    const fsim_text body = all_walks(&w, online);
    e->out = before;
    ask_for_room(&w);
    const int64_t grid =
        w.band ? (w.rows + FSIM_BAND_ROWS - 1) / FSIM_BAND_ROWS : (w.rows + w.rows_per_block - 1) / w.rows_per_block;
    const int block = w.band ? 256 : w.row_threads * w.rows_per_block;
    fsim_begin_entry(e, grid, block, (int)e->shared_bytes);
    note_launch(e, grid, block);
    if (w.band) {
        fsim_text_put(e->a, &e->out, "    FS_BAND(p, %lld, %d, 256)\n", (long long)w.rows, FSIM_BAND_ROWS);
    } else {
        fsim_text_put(e->a, &e->out, "    FS_ROWS(p, %lld, %d, %d)\n", (long long)w.rows, w.rows_per_block,
                      w.row_threads);
        if (e->array >= 0)
            fsim_text_put(e->a, &e->out, "    FS_ROW_ARRAY(%s, row, %lld, %d)\n",
                          fsim_ctype_names[fsim_ctype_of(e->g->tensor[member_node(e, e->array)->result[0]].dtype)],
                          (long long)w.width, w.rows_per_block);
    }
    fsim_text_put(e->a, &e->out, "%s%s%s", text_of(&e->keeps), text_of(&body),
                  w.band ? "    FS_BAND_END\n" : "    FS_ROWS_END\n");
    fsim_end_entry(e);
}

/* Chains. */

bool fsim_chain_maps_of(const fsim_node *second, const fsim_joint *j, fsim_chain_maps *out)
{
    const fsim_access *made = &second->arg[j->side], *other = &second->arg[1 - j->side];
    fsim_map x = made->map, y = other->map, mine, theirs, place;
    x.modes = x.split;
    y.modes = y.split;
    if (!fsim_map_align(&x, &y, &mine, &theirs))
        return false;
    place = fsim_place_of(&mine);
    *out = (fsim_chain_maps){.result = {0}, .other = {.offset = other->map.offset}, .columns = 1};
    bool taken[FSIM_MAX_MODES] = {false};
    for (bool more = true; more;) {
        int largest = -1;
        for (int i = 0; i < mine.modes; i++)
            if (!taken[i] && mine.mode[i].stride != 0 &&
                (largest < 0 || llabs(mine.mode[i].stride) > llabs(mine.mode[largest].stride)))
                largest = i;
        more = largest >= 0;
        if (!more)
            break;
        taken[largest] = true;
        fsim_map_push(&out->result, mine.mode[largest].extent, place.mode[largest].stride);
        fsim_map_push(&out->other, mine.mode[largest].extent, theirs.mode[largest].stride);
    }
    for (int i = 0; i < mine.modes; i++)
        if (!taken[i]) {
            fsim_map_push(&out->result, mine.mode[i].extent, place.mode[i].stride);
            fsim_map_push(&out->other, mine.mode[i].extent, theirs.mode[i].stride);
            out->columns *= mine.mode[i].extent;
        }
    out->result.split = out->result.modes;
    out->other.split = out->other.modes;
    for (int i = other->map.split; i < other->map.modes; i++)
        fsim_map_push(&out->other, other->map.mode[i].extent, other->map.mode[i].stride);
    return out->other.modes <= FSIM_MAX_MODES && out->result.modes <= FSIM_MAX_MODES;
}

/* The product of the intermediate row with the other operand, and what follows it: lanes run over the result's columns.
 */
static void emit_product(rows_work *w, const fsim_chain_maps *maps)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = &e->g->node[e->group->anchor];
    const fsim_ctype t = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    begin_walk(e);
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
    e->held[w->product] = (fsim_held){"acc", NULL, 1};
    fsim_map back;
    fsim_where at = {base, maps->result};
    if (!fsim_map_is_identity(&e->group->anchor_map) && fsim_invert(&e->group->anchor_map, &back))
        at = fsim_through(e, &at, &back);
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        if (place_of(w, x) != A_RESULT)
            continue;
        const fsim_where there = fsim_through(e, &at, &x->map);
        const fsim_variable y = fsim_value(e, x->tensor, &there);
        fsim_store_value(e, x->tensor, &there, y.name, true);
    }
    fsim_text_put(e->a, &e->out,
                  "%s    FS_WALK(j, %lld, 1)\n    FS_LANES_OF(j, )\n%s    FS_LANES_END\n    FS_WALK_END\n",
                  text_of(&e->head), (long long)maps->columns, text_of(&e->body));
}

/* Any chain: a block's threads fill a row of the first product, walk it as a row kernel does, and multiply it. */
void fsim_emit_chain(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    fsim_chain_maps maps;
    rows_work w = {
        .e = e, .rows = o->rows, .width = o->width, .product = fsim_member_of(o, o->anchor), .joint = o->joint};
    const fsim_node *second = &e->g->node[o->anchor];
    if (!fsim_chain_maps_of(second, w.joint, &maps))
        return;
    e->walk = true;
    e->vector = 1;
    find_levels(&w, false);
    w.levels = 0;
    for (int i = 0; i < o->members; i++)
        w.levels = o->member[i].middle && w.level[i] > w.levels ? w.level[i] : w.levels;
    e->array = fsim_member_of(o, o->first);
    e->array_name = "row";
    mark_stored(&w);
    share_threads(&w);
    w.row_threads = w.row_threads * w.rows_per_block; /* one row a block */
    w.rows_per_block = 1;
    begin_kernel(&w);
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
        walk(&w, level, false);
    begin_walk(e);
    store_elements(&w, w.levels, true, false);
    const fsim_where at = {0, w.joint->frame};
    const fsim_variable v = fsim_value(e, intermediate, &at);
    fsim_say(e, 1, "made[r] = %s;", v.name);
    if (e->array_wanted && !e->arrayed)
        fill_array(&w);
    end_walk(&w, "");
    fsim_text_put(e->a, &e->out, "    FS_ROW_BARRIER\n");
    store_rows(&w);
    emit_product(&w, &maps);
    fsim_text_put(e->a, &e->out, "    FS_ROWS_END\n");
    fsim_end_entry(e);
}
