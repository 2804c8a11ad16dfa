/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: kernels whose threads share rows: reductions over a row, what depends on them, and chains, whose rows a product fills first.
 *
 * A row is walked once for each level of dependent reductions, and once more for what is stored of it after the last. Values of a whole row live outside of the walks. */
#include "emit/emit.h"

#include <stdlib.h>
#include <string.h>

enum { WARP = 32, WIDEST_BLOCK = 1024, ROW_WORK = 4 };

typedef struct {
    fsim_emitter *e;
    int64_t rows, width;
    int *level;          /* per member: reductions before its value exists */
    int levels;
    int row_threads, rows_per_block;
    int64_t pieces, piece; /* blocks that share a row, and the elements of each */
    bool band;           /* neighbouring rows are contiguous: lanes run over rows */
    fsim_joint joint;
    int product;         /* chained: the second contraction's member; -1 */
    const char *scratch; /* pieces: partial results */
} rows_work;

static const fsim_node *member_node(const fsim_emitter *e, int i) { return &e->g->node[e->group->member[i].node]; }
static fsim_class class_of(const fsim_emitter *e, int i) { return fsim_ops[member_node(e, i)->op].class; }

static void find_levels(rows_work *w)
{
    fsim_emitter *e = w->e;
    w->level = fsim_new(e->a, int, e->group->members + 1);
    for (int i = 0; i < e->group->members; i++) {
        const fsim_node *n = member_node(e, i);
        for (int k = 0; k < n->args; k++) {
            const int from = fsim_maker_in(e, n->arg[k].tensor);
            if (from >= 0 && w->level[from] > w->level[i])
                w->level[i] = w->level[from];
        }
        w->level[i] += class_of(e, i) == FSIM_REDUCE;
        w->levels = w->level[i] > w->levels ? w->level[i] : w->levels;
    }
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
    if (w->band)
        fsim_text_put(e->a, &e->out, "%s    FS_BAND_WALK(r, p, %lld)\n%s    FS_BAND_WALK_END\n", text_of(&e->head), (long long)w->width, text_of(&e->body));
    else
        fsim_text_put(e->a, &e->out, "%s    FS_WALK(r, %lld, %d)\n%s    FS_LANES_OF(r, %s)\n%s    FS_LANES_END\n%s    FS_WALK_END\n", text_of(&e->head), (long long)w->width, e->vector,
                      text_of(&e->before), clause, text_of(&e->body), text_of(&e->after));
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
} reducing;

static reducing start_reduction(rows_work *w, int i)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = member_node(e, i);
    reducing r = {.member = i, .type = fsim_ctype_of(is_index(n->op) ? e->g->tensor[n->arg[0].tensor].dtype : n->dtype)};
    if (!is_index(n->op) && !fsim_dtype_floating(e->g->tensor[n->result[0]].dtype))
        r.type = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    if (n->op == FSIM_OP_MEAN || n->op == FSIM_OP_NORM)
        r.type = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    r.acc = fsim_fresh(e, "a");
    const char *start = fsim_accumulator_start(e, n, r.type);
    fsim_say(e, 0, w->band ? "FS_BAND_VARIABLE(%s, %s, %s) /* %s */" : "%s %s = %s; /* %s */", fsim_ctype_names[r.type], r.acc, start, n->name);
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
    const char *acc = w->band ? fsim_printf(e->a, "FS_BAND_OF(%s)", r->acc) : r->acc, *index = r->index && w->band ? fsim_printf(e->a, "FS_BAND_OF(%s)", r->index) : r->index;
    const fsim_ctype from = fsim_ctype_of(e->g->tensor[n->arg[0].tensor].dtype);
    const char *x = from == r->type ? v.name : fsim_printf(e->a, "(%s)%s", fsim_ctype_names[r->type], v.name);
    if (index)
        fsim_say(e, e->depth, "if (%s %s %s || (%s == %s && r < %s)) { %s = %s; %s = r; }", x, is_least(n->op) ? "<" : ">", acc, x, acc, index, acc, x, index);
    else
        fsim_say(e, e->depth, "%s", fsim_accumulate(e, n, acc, x, r->type));
}

static const char *kind_of(const fsim_node *n)
{
    return is_extreme(n->op) ? is_least(n->op) ? "min" : "max" : n->op == FSIM_OP_PROD ? "*" : "+";
}

static const char *combine_name(const fsim_node *n, bool index)
{
    return index ? is_least(n->op) ? "ARGMIN" : "ARGMAX" : is_extreme(n->op) ? is_least(n->op) ? "MIN" : "MAX" : n->op == FSIM_OP_PROD ? "PROD" : "SUM";
}

/* The result of a whole row, in a variable outside of the walks. */
static void finish_reduction(rows_work *w, const reducing *r)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = member_node(e, r->member);
    const char *name = fsim_fresh(e, "m");
    const char *acc = w->band ? fsim_printf(e->a, "FS_BAND_OF(%s)", r->acc) : r->acc;
    const fsim_ctype made = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    const char *value = is_index(n->op) ? (w->band ? fsim_printf(e->a, "FS_BAND_OF(%s)", r->index) : r->index) : fsim_accumulator_end(e, n, acc, r->type);
    if (w->band) {
        fsim_text_put(e->a, &e->out, "    FS_BAND_SET(%s, %s, %s) /* %s */\n", fsim_ctype_names[made], name, value, n->name);
        e->held[r->member] = (fsim_held){fsim_printf(e->a, "FS_BAND_OF(%s)", name), r->index ? fsim_printf(e->a, "FS_BAND_OF(%s)", r->index) : NULL, 1};
    } else {
        fsim_text_put(e->a, &e->out, "    const %s %s = %s; /* %s */\n", fsim_ctype_names[made], name, value, n->name);
        e->held[r->member] = (fsim_held){name, r->index, 0};
    }
}

/* The host's clause for the reductions of a walk; one that keeps an index goes in order. */
static const char *clause_of(rows_work *w, const reducing *r, int count)
{
    const char *clause = "";
    for (int i = 0; i < count; i++)
        clause = r[i].index ? "-" : *clause == '-' ? clause
                                    : fsim_printf(w->e->a, "%s%sreduction(%s : %s)", clause, *clause ? " " : "", kind_of(member_node(w->e, r[i].member)), r[i].acc);
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

/* The full writes that can be stored in the walk of `level`, which is the last where `last`. Returns whether there were any. */
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
    for (int i = 0; i < count && !w->band; i++) {
        const fsim_node *n = member_node(e, r[i].member);
        fsim_text_put(e->a, &e->out, "    FS_ROW_%s(%s, %s%s%s)\n", combine_name(n, r[i].index != NULL), fsim_ctype_suffix[r[i].type], r[i].acc, r[i].index ? ", " : "",
                      r[i].index ? r[i].index : "");
    }
    for (int i = 0; i < count && w->band; i++) {
        const fsim_node *n = member_node(e, r[i].member);
        fsim_text_put(e->a, &e->out, "    FS_BAND_%s(%s, %s%s%s)\n", combine_name(n, r[i].index != NULL), fsim_ctype_suffix[r[i].type], r[i].acc, r[i].index ? ", " : "",
                      r[i].index ? r[i].index : "");
    }
}

/* Walk `level`: its reductions, and what is stored of the row on the way. partial: the results go to scratch memory instead. */
static void walk(rows_work *w, int level, bool partial)
{
    fsim_emitter *e = w->e;
    reducing *r = fsim_new(e->a, reducing, e->group->members + 1);
    int count = 0;
    begin_walk(e);
    for (int i = 0; i < e->group->members; i++)
        if (class_of(e, i) == FSIM_REDUCE && w->level[i] == level + 1)
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
    if (!partial)
        return;
    fsim_text_put(e->a, &e->out, "    FS_ONCE {\n");
    int slot = 0;
    for (int i = 0; i < count; i++) {
        const long long all = (long long)(w->rows * w->pieces);
        fsim_text_put(e->a, &e->out, "        %s[%d * %lldLL + p * %lldLL + fs_piece] = (double)%s;\n", w->scratch, slot++, all, (long long)w->pieces, r[i].acc);
        if (r[i].index)
            fsim_text_put(e->a, &e->out, "        %s[%d * %lldLL + p * %lldLL + fs_piece] = (double)%s;\n", w->scratch, slot++, all, (long long)w->pieces, r[i].index);
    }
    fsim_text_put(e->a, &e->out, "    }\n");
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
    fsim_add_base(e, w->band ? (fsim_base){.outer = "p", .inner_extent = 1, .outer_depth = 1, .reduced = "r", .reduced_depth = 1}
                             : (fsim_base){.outer = "p", .inner_extent = 1, .outer_depth = 0, .reduced = "r", .reduced_depth = 1});
}

static void walks(rows_work *w)
{
    for (int level = 0; level <= w->levels; level++)
        if (level < w->levels || store_elements(w, level, true, true))
            walk(w, level, false);
}

/* How the block's threads share its rows. As rows_by in cost/kernel.c has it. */
static void share_threads(rows_work *w)
{
    fsim_emitter *e = w->e;
    const int block = e->kernel->block > 0 ? e->kernel->block : 256;
    w->row_threads = WARP;
    while (w->row_threads < WIDEST_BLOCK && w->row_threads < block && (int64_t)w->row_threads * e->vector * ROW_WORK < w->width)
        w->row_threads *= 2;
    w->rows_per_block = block / w->row_threads > 0 ? block / w->row_threads : 1;
    w->pieces = 1;
}

static void emit_pieces(rows_work *w)
{
    fsim_emitter *e = w->e;
    const int block = e->kernel->block;
    int slots = 0;
    for (int i = 0; i < e->group->members; i++)
        slots += class_of(e, i) == FSIM_REDUCE ? 2 : 0;
    w->scratch = fsim_scratch(e, "double", (int64_t)slots * w->rows * w->pieces * 8);
    begin_kernel(w);
    w->row_threads = block;
    w->rows_per_block = 1;
    fsim_begin_entry(e, w->rows * w->pieces, block, 0);
    fsim_text_put(e->a, &e->out, "    FS_PIECES(p, %lld, %lld, %d, %lld)\n", (long long)w->rows, (long long)w->pieces, block, (long long)w->piece);
    walk(w, 0, true);
    fsim_text_put(e->a, &e->out, "    FS_ROWS_END\n");
    fsim_end_entry(e);
    /* the pieces of a row put together */
    begin_kernel(w);
    w->row_threads = WARP;
    w->rows_per_block = 1;
    fsim_begin_entry(e, w->rows, WARP, 0);
    fsim_text_put(e->a, &e->out, "    FS_ROWS(p, %lld, 1, %d)\n", (long long)w->rows, WARP);
    int slot = 0;
    for (int i = 0; i < e->group->members; i++) {
        if (class_of(e, i) != FSIM_REDUCE)
            continue;
        begin_walk(e);
        reducing r = start_reduction(w, i);
        const fsim_node *n = member_node(e, i);
        const char *x = fsim_printf(e->a, "(%s)%s[%d * %lldLL + p * %lldLL + r]", fsim_ctype_names[r.type], w->scratch, slot, (long long)(w->rows * w->pieces), (long long)w->pieces);
        const int64_t width = w->width;
        const int vector = e->vector;
        if (r.index)
            fsim_say(e, 1, "if (%s %s %s) { %s = %s; %s = (fs_i64)%s[%d * %lldLL + p * %lldLL + r]; }", x, is_least(n->op) ? "<" : ">", r.acc, r.acc, x, r.index, w->scratch, slot + 1,
                     (long long)(w->rows * w->pieces), (long long)w->pieces);
        else if (is_extreme(n->op) || n->op == FSIM_OP_PROD)
            fsim_say(e, 1, "%s", fsim_accumulate(e, n, r.acc, x, r.type));
        else
            fsim_say(e, 1, "%s += %s;", r.acc, x);
        slot += 1 + (r.index != NULL);
        w->width = w->pieces;
        e->vector = 1;
        end_walk(w, clause_of(w, &r, 1));
        w->width = width;
        e->vector = vector;
        reduce_rows(w, &r, 1);
        finish_reduction(w, &r);
    }
    store_rows(w);
    fsim_text_put(e->a, &e->out, "    FS_ROWS_END\n");
    fsim_end_entry(e);
}

/* May several blocks share a row? */
static bool splits(const rows_work *w)
{
    bool splits = w->levels == 1 && w->product < 0 && w->e->array < 0 && w->e->kernel->launches > 1;
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

void fsim_emit_rows(fsim_emitter *e)
{
    enum { BAND = 32 };
    const fsim_group *o = e->group;
    rows_work w = {.e = e, .rows = o->points, .width = o->reduced, .product = -1};
    e->walk = true;
    find_levels(&w);
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
    w.band = o->template == FSIM_COLUMN_REDUCTION && e->array < 0 && e->kernel->launches == 1;
    share_threads(&w);
    if (splits(&w)) {
        w.pieces = e->kernel->grid / w.rows > 1 ? e->kernel->grid / w.rows : 2;
        w.pieces = w.pieces > w.width ? w.width : w.pieces;
        w.piece = (w.width + w.pieces - 1) / w.pieces;
        w.piece = (w.piece + e->vector - 1) / e->vector * e->vector;
        w.pieces = (w.width + w.piece - 1) / w.piece;
        emit_pieces(&w);
        return;
    }
    begin_kernel(&w);
    if (w.band) {
        e->vector = 1;
        fsim_begin_entry(e, (w.rows + BAND - 1) / BAND, 256, 0);
        fsim_text_put(e->a, &e->out, "    FS_BAND(p, %lld, %d, 256)\n", (long long)w.rows, BAND);
    } else {
        fsim_begin_entry(e, (w.rows + w.rows_per_block - 1) / w.rows_per_block, w.row_threads * w.rows_per_block, 0);
        fsim_text_put(e->a, &e->out, "    FS_ROWS(p, %lld, %d, %d)\n", (long long)w.rows, w.rows_per_block, w.row_threads);
        if (e->array >= 0)
            fsim_text_put(e->a, &e->out, "    FS_ROW_ARRAY(%s, row, %lld, %d)\n",
                          fsim_ctype_names[fsim_ctype_of(e->g->tensor[member_node(e, e->array)->result[0]].dtype)], (long long)w.width, w.rows_per_block);
    }
    walks(&w);
    store_rows(&w);
    fsim_text_put(e->a, &e->out, w.band ? "    FS_BAND_END\n" : "    FS_ROWS_END\n");
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
            if (!taken[i] && mine.mode[i].stride != 0 && (largest < 0 || llabs(mine.mode[i].stride) > llabs(mine.mode[largest].stride)))
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

/* The product of the intermediate row with the other operand, and what follows it: lanes run over the result's columns. */
static void emit_product(rows_work *w, const fsim_chain_maps *maps)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = &e->g->node[e->group->anchor];
    const fsim_ctype t = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    begin_walk(e);
    e->walk = false;
    e->vector = 1;
    const int base = fsim_add_base(e, (fsim_base){.outer = "p", .inner = "j", .inner_extent = maps->columns, .reduced = "k", .outer_depth = 0, .inner_depth = 1, .reduced_depth = 2});
    fsim_say(e, 1, "%s acc = 0;", fsim_ctype_names[t]);
    fsim_open(e, "for (fs_int k = 0; k < %lld; k++) {", (long long)w->width);
    const fsim_where other = {base, maps->other};
    const int operand = n->arg[1 - w->joint.side].tensor;
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
    fsim_text_put(e->a, &e->out, "%s    FS_WALK(j, %lld, 1)\n    FS_LANES_OF(j, )\n%s    FS_LANES_END\n    FS_WALK_END\n", text_of(&e->head), (long long)maps->columns, text_of(&e->body));
}

/* Any chain: a block's threads fill a row of the first product, walk it as a row kernel does, and multiply it. */
void fsim_emit_chain(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    const fsim_limits limits = {e->g, INT64_MAX / 2, o->strict};
    fsim_refusal why;
    fsim_chain_maps maps;
    rows_work w = {.e = e, .rows = o->rows, .width = o->width, .product = fsim_member_of(o, o->anchor)};
    const fsim_node *second = &e->g->node[o->anchor];
    if (!fsim_may_chain(&limits, o->first, o->anchor, &w.joint, &why) || !fsim_chain_maps_of(second, &w.joint, &maps))
        return;
    e->walk = true;
    e->vector = 1;
    find_levels(&w);
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
    const int intermediate = second->arg[w.joint.side].tensor;
    const fsim_ctype made = fsim_ctype_of(e->g->tensor[intermediate].dtype), row = fsim_ctype_of(e->g->tensor[e->g->node[o->first].result[0]].dtype);
    const int64_t bytes = w.width * ((made == FSIM_C_DOUBLE ? 8 : 4) + (row == FSIM_C_DOUBLE ? 8 : 4)) + 16;
    if ((double)bytes > fsim_hw_get(e->hw, FSIM_HW_SHARED_PER_BLOCK)) {
        e->program->skipped = fsim_printf(e->a, "a row of the intermediate takes %lld bytes of shared memory", (long long)bytes);
        return;
    }
    fsim_begin_entry(e, w.rows, w.row_threads, (int)bytes);
    fsim_text_put(e->a, &e->out, "    FS_ROWS(p, %lld, 1, %d)\n    FS_DYNAMIC(%s, row, 0, %lld)\n    FS_DYNAMIC(%s, made, %lld, %lld)\n", (long long)w.rows, w.row_threads,
                  fsim_ctype_names[row], (long long)w.width, fsim_ctype_names[made], (long long)((w.width * (row == FSIM_C_DOUBLE ? 8 : 4) + 15) / 16 * 16), (long long)w.width);
    for (int level = 0; level < w.levels; level++)
        walk(&w, level, false);
    begin_walk(e);
    store_elements(&w, w.levels, true, false);
    const fsim_where at = {0, w.joint.frame};
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
