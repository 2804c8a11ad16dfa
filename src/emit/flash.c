/* SPDX-License-Identifier: Apache-2.0 */
/* flash.c: two contractions chained, tile by tile: fused MLPs, attention with online softmax (Milakov, Gimelshein,
 * 2018; Dao, 2023: FlashAttention-2).
 *
 * A block keeps some rows of one batch and walks the width of the intermediate. Of each tile it makes the first
 * product's scores, what lies between at (row, column), and adds the scores times the second's operand to its results.
 * Three forms: free     nothing between is reduced online   reductions run along: what has been summed of exp(x -
 * maximum) is multiplied by exp(old maximum - new) whenever the maximum grows; factors of a row come at the end levels
 * a tile holds whole rows: any reductions, one after the other What is neither is left to fsim_emit_chain. */
#include "emit/emit.h"
#include "kernel/chain.h"

#include <string.h>

enum { JOINING_THREADS = 128 }; /* of a block of the launch that puts pieces together */

typedef struct {
    fsim_chain_operand which;
    bool along;  /* of the first product's tile: k is contiguous in it; of the second's: the place in the row is */
    bool copied; /* 16 bytes at a time */
    fsim_where at;
    int tensor;
} tile;

typedef struct {
    fsim_emitter *e;
    const fsim_joint *joint;
    fsim_chain_maps maps;
    const fsim_node *first, *second;
    int intermediate; /* tensor */
    fsim_ctype type;
    int levels;   /* reductions before the intermediate exists */
    int *passes;  /* fsim_emitter.passes, while tiles are walked */
    bool *linear; /* holds exp(x - maximum) once as a factor */
    bool *scaled; /* ... and a row's factor that comes later */
    bool online;  /* else levels */
    int peak;     /* member: the maximum that is subtracted; -1 */
    int power;    /* member: exp(x - maximum), where x is what the maximum is of; -1. In base two */
    int kept; /* member that the first pass leaves in the scores, so that the second needs no more than it; -1: none */
    const char **state; /* per reduction: its running value, an element a row */
    bool causal;
    bool tensor;       /* tensor cores */
    const char *dtype; /* of the tiles' elements: f16 bf16 f32 f64 */
    int elem_bytes;
    fsim_chain_layout l;
    int64_t pieces, piece; /* blocks that share a row's width, and the columns of each: flash-decoding; a second launch
                              puts their results together */
    const char *scratch;   /* ... from here: results piece by piece, then each reduction's */
    int64_t batch_rows, batches;
    const char *row_of; /* function: number of a row, counted batch by batch, to its number in the intermediate */
    fsim_map order;
    tile rows, one, two; /* operands: the rows', the first's other, the second's other */
} flash;

static const fsim_node *node_of(const flash *f, int member) { return &f->e->g->node[f->e->group->member[member].node]; }
static fsim_class class_of(const flash *f, int member) { return fsim_ops[node_of(f, member)->op].class; }
static bool between(const flash *f, int member) { return member >= 0 && f->e->group->member[member].middle; }
static fsim_row_kind kind_of(const flash *f, int member) { return f->e->group->member[member].kind; }
static int level_of(const flash *f, int member) { return f->e->group->member[member].level; }
static const fsim_chain_operand_tile *place_of(const flash *f, const tile *t) { return &f->l.tile[t->which]; }
static const char *c_type(const flash *f) { return fsim_ctype_names[f->type]; }
static const char *c_suffix(const flash *f) { return fsim_ctype_suffix[f->type]; }

/* Text. */

static const char *text_of(const fsim_text *t) { return t->used ? t->at : ""; }

static void put(flash *f, int depth, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Lines of text, moved in by `deeper` steps. */
static void put_lines(flash *f, int deeper, const char *lines)
{
    while (*lines) {
        const char *end = strchr(lines, '\n');
        const int length = end ? (int)(end - lines) : (int)strlen(lines);
        fsim_text_put(f->e->a, &f->e->out, "%*s%.*s\n", deeper * 4, "", length, lines);
        lines += length + (end != NULL);
    }
}

static void put(flash *f, int depth, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fsim_text line = {0};
    fsim_text_put_v(f->e->a, &line, format, args);
    va_end(args);
    put_lines(f, depth, text_of(&line));
}

/* A stretch of text that sees nothing of what came before. */
static void begin_scope(fsim_emitter *e)
{
    fsim_text_clear(&e->head);
    fsim_text_clear(&e->body);
    e->knowns = e->hoists = 0;
    e->depth = 1;
}

/* Another walk along the columns of the same rows. */
static void begin_pass(fsim_emitter *e)
{
    int kept = 0;
    fsim_text_clear(&e->head);
    fsim_text_clear(&e->body);
    for (int i = 0; i < e->knowns; i++)
        if (e->known[i].depth == 0)
            e->known[kept++] = e->known[i];
    e->knowns = kept;
    e->depth = 1;
}

/* What the reductions allow. */

static bool is_index(fsim_op op) { return op == FSIM_OP_ARGMAX || op == FSIM_OP_ARGMIN; }

static int most_levels(const flash *f)
{
    int levels = 0;
    for (int i = 0; i < f->e->group->members; i++)
        if (between(f, i) && f->e->group->member[i].node != f->e->group->first && level_of(f, i) > levels)
            levels = level_of(f, i);
    return levels;
}

/* Reductions whose value alone is wanted, of floats. */
static bool plain_reductions(const flash *f)
{
    bool plain = true;
    for (int i = 0; i < f->e->group->members; i++) {
        const fsim_node *n = node_of(f, i);
        if (!between(f, i) || class_of(f, i) != FSIM_REDUCE)
            continue;
        plain = plain && !is_index(n->op) && fsim_ctype_of(n->dtype) == f->type &&
                fsim_ctype_of(f->e->g->tensor[n->result[0]].dtype) == f->type;
        for (int r = 1; r < n->results; r++)
            plain = plain && f->e->g->tensor[n->result[r]].readers == 0 && !f->e->g->tensor[n->result[r]].output;
    }
    return plain;
}

static fsim_row_kind kind_of_argument(const flash *f, const fsim_node *n, int k)
{
    const int from = fsim_maker_in(f->e, n->arg[k].tensor);
    return between(f, from) ? kind_of(f, from) : FSIM_FREE;
}

/* x - maximum, and what leaves it as it is. */
static bool shifts(flash *f, int i)
{
    const fsim_node *n = node_of(f, i);
    if (n->op != FSIM_OP_SUB)
        return n->op == FSIM_OP_CAST || n->op == FSIM_OP_COPY ||
               (fsim_ops[n->op].class == FSIM_PERMUTE && fsim_ops[n->op].flops == 0);
    const int from = fsim_maker_in(f->e, n->arg[1].tensor);
    if (!between(f, from) || node_of(f, from)->op != FSIM_OP_MAX || level_of(f, from) != 1 ||
        (f->peak >= 0 && f->peak != from))
        return false;
    f->peak = from;
    return true;
}

/* Products of at most one exponential; factors of rows are left for the end. */
static bool scales(flash *f, int i)
{
    const fsim_node *n = node_of(f, i);
    int exponentials = n->op == FSIM_OP_EXP, later = 0;
    for (int k = 0; k < n->args; k++) {
        const int from = fsim_maker_in(f->e, n->arg[k].tensor);
        const fsim_row_kind kind = kind_of_argument(f, n, k);
        if (kind == FSIM_SCALED) {
            exponentials += f->linear[from];
            later += f->scaled[from];
        }
        if (kind == FSIM_ROW) {
            if (n->args != 2 || (n->op != FSIM_OP_MUL && n->op != FSIM_OP_DIV))
                return false;
            f->passes[i] = 1 - k;
            later++;
        }
    }
    f->linear[i] = exponentials == 1;
    f->scaled[i] = later == 1;
    return exponentials <= 1 && later <= 1;
}

/* Can every reduction run along with the tiles? */
static bool runs_online(flash *f)
{
    fsim_emitter *e = f->e;
    for (int i = 0; i < e->group->members; i++) {
        const fsim_node *n = node_of(f, i);
        if (!between(f, i) || e->group->member[i].node == e->group->first)
            continue;
        if (class_of(f, i) == FSIM_REDUCE) {
            const int from = fsim_maker_in(e, n->arg[0].tensor);
            const fsim_row_kind kind = kind_of_argument(f, n, 0);
            if (kind != FSIM_FREE &&
                (kind != FSIM_SCALED || (n->op != FSIM_OP_SUM && n->op != FSIM_OP_MEAN) || f->scaled[from]))
                return false;
            continue;
        }
        if (kind_of(f, i) == FSIM_BOUND || (kind_of(f, i) == FSIM_SHIFTED && !shifts(f, i)) ||
            (kind_of(f, i) == FSIM_SCALED && !scales(f, i)))
            return false;
    }
    const int maker = fsim_maker_in(e, f->intermediate);
    return kind_of(f, maker) == FSIM_FREE || kind_of(f, maker) == FSIM_SCALED;
}

/* Does the value of `tensor` need the first product's, other than by way of member `stop` or of reductions? */
static bool needs_scores(const flash *f, int tensor, int stop)
{
    const int i = fsim_maker_in(f->e, tensor);
    if (!between(f, i) || i == stop || class_of(f, i) == FSIM_REDUCE)
        return false;
    if (f->e->group->member[i].node == f->e->group->first)
        return true;
    const fsim_node *n = node_of(f, i);
    for (int k = 0; k < n->args; k++)
        if (needs_scores(f, n->arg[k].tensor, stop))
            return true;
    return false;
}

static bool is_late(const flash *f, int i) { return kind_of_argument(f, node_of(f, i), 0) == FSIM_SCALED; }

static void find_kept(flash *f)
{
    fsim_emitter *e = f->e;
    f->kept = -1;
    if (f->peak < 0)
        return;
    const int x = fsim_maker_in(e, node_of(f, f->peak)->arg[0].tensor);
    if (!between(f, x) || e->group->member[x].node == e->group->first)
        return;
    bool enough = !needs_scores(f, f->intermediate, x);
    for (int i = 0; i < e->group->members && enough; i++)
        if (between(f, i) && class_of(f, i) == FSIM_REDUCE && is_late(f, i))
            enough = !needs_scores(f, node_of(f, i)->arg[0].tensor, x);
    f->kept = enough ? x : -1;
}

/* The exponential that takes the maximum's own argument, less the maximum. */
static void find_power(flash *f)
{
    const fsim_emitter *e = f->e;
    int found = 0;
    for (int i = 0; i < e->group->members && f->peak >= 0 && f->type == FSIM_C_FLOAT; i++) {
        const fsim_node *n = node_of(f, i);
        if (!between(f, i) || n->op != FSIM_OP_EXP || kind_of(f, i) != FSIM_SCALED)
            continue;
        const int from = fsim_maker_in(e, n->arg[0].tensor), x = node_of(f, f->peak)->arg[0].tensor;
        const bool kept = f->kept >= 0 || x == f->first->result[0];
        f->power = kept && node_of(f, from)->op == FSIM_OP_SUB && node_of(f, from)->arg[0].tensor == x &&
                           fsim_ctype_of(n->dtype) == FSIM_C_FLOAT
                       ? i
                       : -1;
        found++;
    }
    f->power = found == 1 ? f->power : -1;
}

/* Writes. */

static bool is_row(const flash *f, int i) { return kind_of(f, i) == FSIM_ROW || class_of(f, i) == FSIM_REDUCE; }

/* Is all that is stored at hand at some time: values of rows at the end, elements while their tile is? */
static bool may_write(const flash *f, bool online)
{
    const fsim_group *o = f->e->group;
    for (int i = 0; i < o->writes; i++) {
        const fsim_write *x = &o->write[i];
        const int member = fsim_maker_in(f->e, x->tensor);
        if (o->member[member].prologue)
            return false;
        if (!o->member[member].middle)
            continue;
        if (fsim_map_points(&x->map) != o->rows || x->tensor != node_of(f, member)->result[0])
            return false;
        if (!is_row(f, member) &&
            (fsim_map_reduced(&x->map) != o->width || (online && kind_of(f, member) != FSIM_FREE)))
            return false;
    }
    return true;
}

static bool writes_elements(const flash *f)
{
    const fsim_group *o = f->e->group;
    bool any = false;
    for (int i = 0; i < o->writes; i++) {
        const int member = fsim_maker_in(f->e, o->write[i].tensor);
        any = any || (o->member[member].middle && !is_row(f, member));
    }
    return any;
}

/* Places. */

/* Where the first product is wanted, over (row, column). */
static bool place_of_first(flash *f, fsim_map *out)
{
    fsim_emitter *e = f->e;
    const int next = e->next, first = fsim_member_of(e->group, e->group->first);
    for (int i = 0; i < e->group->members; i++)
        if (between(f, i) && class_of(f, i) == FSIM_REDUCE)
            e->held[i].name = "";
    begin_scope(e);
    e->array = first;
    e->array_name = "";
    e->array_wanted = false;
    fsim_value(e, f->intermediate, &(fsim_where){0, f->joint->frame});
    const bool found = e->array_wanted && e->array_at.base == 0;
    *out = e->array_at.map;
    e->array = -1;
    e->array_wanted = false;
    e->next = next;
    memset(e->held, 0, (size_t)e->group->members * sizeof *e->held);
    begin_scope(e);
    return found;
}

static fsim_map points_of(fsim_map m)
{
    m.modes = m.split;
    return m;
}

static bool push_digits(fsim_map *to, const fsim_map *from, int first, int end)
{
    for (int i = first; i < end; i++)
        fsim_map_push(to, from->mode[i].extent, from->mode[i].stride);
    return to->modes <= FSIM_MAX_MODES;
}

/* The tensor in memory that an operand is, where all that lies between is an order of elements. */
static void resolve(flash *f, tile *t)
{
    for (int i; (i = fsim_maker_in(f->e, t->tensor)) >= 0 && class_of(f, i) == FSIM_PERMUTE &&
                node_of(f, i)->op != FSIM_OP_ROTATE_HALF;) {
        const fsim_access *x = &node_of(f, i)->arg[0];
        fsim_map at;
        if (x->how != FSIM_READ_MAP || x->map.split != x->map.modes || !fsim_map_compose(&t->at.map, &x->map, &at))
            return;
        t->at.map = at;
        t->tensor = x->tensor;
    }
}

/* The operands' elements: rows by (p, k), the first's other by (p0, c; k), the second's other by (p0, j; c). */
static bool place_operands(flash *f)
{
    fsim_emitter *e = f->e;
    fsim_map at, operand[2];
    int rows_from;
    if (!place_of_first(f, &at) || !fsim_tile_rows(e->g, e->group->first, &at, f->joint, &rows_from))
        return false;
    for (int k = 0; k < 2; k++) {
        const fsim_map points = points_of(f->first->arg[k].map);
        if (!fsim_map_compose(&at, &points, &operand[k]))
            return false;
    }
    const fsim_access *a = &f->first->arg[rows_from], *b = &f->first->arg[1 - rows_from];
    fsim_map mine = {.offset = operand[rows_from].offset}, other = {.offset = operand[1 - rows_from].offset};
    if (!push_digits(&mine, &operand[rows_from], 0, operand[rows_from].split))
        return false;
    mine.split = mine.modes;
    if (!push_digits(&mine, &a->map, a->map.split, a->map.modes) ||
        !push_digits(&other, &operand[1 - rows_from], 0, operand[1 - rows_from].modes))
        return false;
    other.split = other.modes;
    if (!push_digits(&other, &b->map, b->map.split, b->map.modes))
        return false;
    const fsim_base row = {.outer = "p", .inner_extent = 1, .reduced = "k", .outer_depth = 1, .reduced_depth = 1};
    const fsim_base column = {.outer = "p0",
                              .inner = "c",
                              .inner_extent = e->group->width,
                              .reduced = "k",
                              .inner_depth = 1,
                              .reduced_depth = 1};
    const fsim_base result = {.outer = "p0",
                              .inner = "j",
                              .inner_extent = f->maps.columns,
                              .reduced = "c",
                              .inner_depth = 1,
                              .reduced_depth = 1};
    f->rows.at = (fsim_where){fsim_add_base(e, row), mine};
    f->rows.tensor = a->tensor;
    f->one.at = (fsim_where){fsim_add_base(e, column), other};
    f->one.tensor = b->tensor;
    f->two.at = (fsim_where){fsim_add_base(e, result), f->maps.other};
    f->two.tensor = f->second->arg[1 - f->joint->side].tensor;
    resolve(f, &f->rows);
    resolve(f, &f->one);
    resolve(f, &f->two);
    /* digits of the row that move another operand number the batches; the others a batch's rows */
    const fsim_map columns = points_of(operand[1 - rows_from]);
    fsim_map x, y;
    if (!fsim_map_align(&columns, &f->joint->other, &x, &y))
        return false;
    const fsim_map place = fsim_place_of(&x);
    f->batches = 1;
    f->order = (fsim_map){0};
    for (int inside = 0; inside < 2; inside++)
        for (int i = 0; i < x.modes; i++)
            if ((x.mode[i].stride == 0 && y.mode[i].stride == 0) == inside) {
                f->batches *= inside ? 1 : x.mode[i].extent;
                fsim_map_push(&f->order, x.mode[i].extent, place.mode[i].stride);
            }
    f->order.split = f->order.modes;
    f->order = fsim_map_simplify(f->order);
    f->batch_rows = e->group->rows / f->batches;
    return true;
}

/* Is the digit that steps by one among those that are summed up? */
static bool summed_up_beside(const fsim_map *m)
{
    for (int i = m->split; i < m->modes; i++)
        if (m->mode[i].stride == 1)
            return true;
    return false;
}

/* Eight neighbours along the last of these digits, which step by one, on a multiple of eight in memory? */
static bool in_eights(const flash *f, const tile *t, bool reduced)
{
    const fsim_map *m = &t->at.map;
    const int last = (reduced ? m->modes : m->split) - 1;
    if (!f->tensor || fsim_maker_in(f->e, t->tensor) >= 0 || m->offset % 8 != 0 || last < (reduced ? m->split : 0) ||
        m->mode[last].stride != 1)
        return false;
    for (int i = 0; i < m->modes; i++)
        if (i == last ? m->mode[i].extent % 8 != 0 : m->mode[i].stride % 8 != 0)
            return false;
    return true;
}

/* Does the causal mask lie where (row, column) is the element's own number? */
static bool masked_in_place(const flash *f, int tensor, const fsim_map *at)
{
    const int i = fsim_maker_in(f->e, tensor);
    if (!between(f, i) || class_of(f, i) == FSIM_REDUCE || class_of(f, i) == FSIM_CONTRACTION)
        return false;
    const fsim_node *n = node_of(f, i);
    if (n->op == FSIM_OP_CAUSAL_MASK) {
        fsim_map own = {0};
        fsim_map_push(&own, f->e->group->rows, f->e->group->width);
        own.split = own.modes;
        fsim_map_push(&own, f->e->group->width, 1);
        const fsim_map simple = fsim_map_simplify(*at);
        own = fsim_map_simplify(own);
        return fsim_map_equal(&simple, &own);
    }
    for (int k = 0; k < n->args; k++) {
        fsim_map there;
        if (n->arg[k].how == FSIM_READ_MAP && fsim_map_compose(at, &n->arg[k].map, &there) &&
            masked_in_place(f, n->arg[k].tensor, &there))
            return true;
    }
    return false;
}

/* May columns that a mask hides from all of a block's rows be left out? Only where they add nothing: exp(-infinity). */
static bool leaves_out(const flash *f)
{
    const fsim_group *o = f->e->group;
    bool nothing = o->causal > 0 && o->width == o->causal && f->batch_rows % o->causal == 0 && f->peak >= 0 &&
                   f->linear[fsim_maker_in(f->e, f->intermediate)] && fsim_map_is_identity(&f->order) &&
                   !writes_elements(f);
    for (int i = 0; i < o->members && nothing; i++)
        if (between(f, i) && class_of(f, i) == FSIM_REDUCE)
            nothing = i == f->peak || (is_late(f, i) && f->linear[fsim_maker_in(f->e, node_of(f, i)->arg[0].tensor)]);
    return nothing && masked_in_place(f, f->intermediate, &f->joint->frame);
}

/* Tiles. */

/* The tile that the price assumes, as far as registers and shared memory go. */
static bool choose_tile(flash *f)
{
    const fsim_emitter *e = f->e;
    const fsim_chain_request request = {.batch_rows = f->batch_rows,
                                        .width = e->group->width,
                                        .depth = f->first->reduced,
                                        .columns = f->maps.columns,
                                        .tensor = f->tensor,
                                        .elem_bytes = f->elem_bytes,
                                        .whole = !f->online && f->levels > 0,
                                        .first_along_k = f->one.along,
                                        .second_along_width = f->two.along,
                                        .shared_most = (int64_t)fsim_hw_get(e->hw, FSIM_HW_SHARED_PER_BLOCK),
                                        .m = e->kernel->tile_m,
                                        .n = e->kernel->tile_n};
    return fsim_chain_layout_of(&request, &f->l);
}

/* As the prediction has it: few rows, whose width several blocks share. */
static void choose_pieces(flash *f)
{
    const fsim_group *o = f->e->group;
    bool between_written = false;
    int reductions = 0;
    f->pieces = 1;
    for (int i = 0; i < o->writes; i++)
        between_written = between_written || o->member[fsim_maker_in(f->e, o->write[i].tensor)].middle;
    for (int i = 0; i < o->members; i++)
        reductions += between(f, i) && class_of(f, i) == FSIM_REDUCE;
    if (!f->online || o->strict || f->causal || between_written)
        return;
    const int64_t pieces = fsim_chain_pieces(o->width, f->l.n, f->e->kernel->split_k, &f->piece);
    if ((double)pieces * (double)o->rows * (double)(f->maps.columns + reductions) < 1e9)
        f->pieces = pieces;
}

static void choose_copies(flash *f)
{
    const bool even = f->l.depth == f->first->reduced && f->l.depth % f->l.depth_step == 0;
    f->rows.copied = even && in_eights(f, &f->rows, true);
    f->one.copied = even && in_eights(f, &f->one, f->one.along) && (f->one.along || f->e->group->width % 8 == 0);
    f->two.copied =
        in_eights(f, &f->two, f->two.along) && (f->two.along ? f->e->group->width : f->maps.columns) % 8 == 0;
}

/* The text. */

static const char *whole_number(flash *f, int64_t x) { return fsim_printf(f->e->a, "%lld", (long long)x); }

/* How a tile is filled: the lines, and before them in *head what holds for all tiles. */
static const char *filled(flash *f, tile *t, const char *name, const char *where, const char **head)
{
    fsim_emitter *e = f->e;
    fsim_text out = {0};
    begin_scope(e);
    e->passes = NULL;
    if (t->copied) {
        const fsim_variable at = fsim_number(e, &t->at);
        fsim_text_put(e->a, &out, "    FS_FLASH_COPY%s(%s, %s, %s, %s, %s) /* %s */\n", t == &f->rows ? "_ROWS" : "",
                      f->dtype, name, where, fsim_pointer(e, t->tensor), at.name, e->g->tensor[t->tensor].name);
    } else {
        const fsim_variable v = fsim_value(e, t->tensor, &t->at);
        fsim_say(e, 1, "FS_FLASH_PUT(%s, %s, %s%s)", f->dtype, name,
                 fsim_ctype_of(e->g->tensor[t->tensor].dtype) == f->type ? "" : fsim_printf(e->a, "(%s)", c_type(f)),
                 v.name);
        fsim_text_put(e->a, &out, "    FS_FLASH_FILL%s(%s, %s) /* %s */\n%s    FS_FLASH_FILL_END\n",
                      t == &f->rows ? "_ROWS" : "", name, where, e->g->tensor[t->tensor].name, text_of(&e->body));
    }
    *head = fsim_printf(e->a, "%s", text_of(&e->head));
    return out.at;
}

static const char *fill_rows(flash *f, const char *k0, const char **head)
{
    const bool kept = f->l.depth <= FSIM_CHAIN_KEPT_DEPTH;
    return filled(f, &f->rows, "rows_tile",
                  fsim_printf(f->e->a, "p, %s, k, %s, %lld, %lld", f->row_of, kept ? "0" : k0,
                              (long long)(kept ? f->l.depth : f->l.depth_step), (long long)f->first->reduced),
                  head);
}

static const char *fill_one(flash *f, const char *c0, const char *k0, const char **head)
{
    const char *c = fsim_printf(f->e->a, "c, %s, %d, %lld", c0, f->l.n, (long long)f->e->group->width);
    const char *k =
        fsim_printf(f->e->a, "k, %s, %lld, %lld", k0, (long long)f->l.depth_step, (long long)f->first->reduced);
    return filled(f, &f->one, "first_tile",
                  fsim_printf(f->e->a, "%s, %s", summed_up_beside(&f->one.at.map) ? c : k,
                              summed_up_beside(&f->one.at.map) ? k : c),
                  head);
}

static const char *fill_two(flash *f, const char **head)
{
    const char *c = fsim_printf(f->e->a, "c, c0, %d, %lld", f->l.n, (long long)f->e->group->width);
    const char *j = fsim_printf(f->e->a, "j, %s, %lld, %lld", f->l.chunks > 1 ? "j0" : "0", (long long)f->l.columns,
                                (long long)f->maps.columns);
    return filled(f, &f->two, "second_tile",
                  fsim_printf(f->e->a, "%s, %s", summed_up_beside(&f->two.at.map) ? j : c,
                              summed_up_beside(&f->two.at.map) ? c : j),
                  head);
}

static const char *const combines[] = {"SUM", "MAX", "MIN", "PROD"}, *const clauses[] = {"+", "max", "min", "*"};
static int combining(const fsim_node *n)
{
    return n->op == FSIM_OP_MAX ? 1 : n->op == FSIM_OP_MIN ? 2 : n->op == FSIM_OP_PROD ? 3 : 0;
}

/* Two values of a reduction's as one. */
static const char *joined(flash *f, const fsim_node *n, const char *x, const char *y)
{
    const int how = combining(n);
    return how == 1 || how == 2 ? fsim_printf(f->e->a, "fs_%s%s(%s, %s)", clauses[how], c_suffix(f), x, y)
                                : fsim_printf(f->e->a, "%s %s %s", x, how == 3 ? "*" : "+", y);
}

static const char *state_of(flash *f, int i) { return fsim_printf(f->e->a, "FS_FLASH_OF(%s)", f->state[i]); }

static void declare_states(flash *f)
{
    for (int i = 0; i < f->e->group->members; i++) {
        const fsim_node *n = node_of(f, i);
        if (!between(f, i) || class_of(f, i) != FSIM_REDUCE)
            continue;
        f->state[i] = fsim_fresh(f->e, "s");
        put(f, 1, "FS_FLASH_STATE(%s, %s, %s) /* %s */", c_type(f), f->state[i],
            fsim_accumulator_start(f->e, n, f->type), n->name);
    }
}

/* A reduction takes in the element at (p, c); returns its accumulator, which the head declares. */
static const char *accumulated(flash *f, int i)
{
    fsim_emitter *e = f->e;
    const fsim_node *n = node_of(f, i);
    const char *acc = fsim_fresh(e, "a");
    fsim_say(e, 0, "%s %s = %s; /* %s */", c_type(f), acc, fsim_accumulator_start(e, n, f->type), n->name);
    const fsim_where at = {0, n->arg[0].map};
    const fsim_variable v = fsim_value(e, n->arg[0].tensor, &at);
    const char *x = fsim_ctype_of(e->g->tensor[n->arg[0].tensor].dtype) == f->type
                        ? v.name
                        : fsim_printf(e->a, "(%s)%s", c_type(f), v.name);
    fsim_say(e, 1, "FS_FLASH_IN(%s)", fsim_accumulate(e, n, acc, x, f->type));
    return acc;
}

static const char *with_clause(flash *f, const char *clause, int i, const char *acc)
{
    return fsim_printf(f->e->a, "%s%sreduction(%s : %s)", clause, *clause ? " " : "", clauses[combining(node_of(f, i))],
                       acc);
}

/* Scores at hand: the first product's, or what the pass before left. */
static void begin_elements(flash *f, int of)
{
    fsim_emitter *e = f->e;
    begin_pass(e);
    fsim_say(e, 1, "const %s score = FS_SCORE;", c_type(f));
    e->held[of] = (fsim_held){"score", NULL, 1};
}

static void end_elements(flash *f, const char *clause)
{
    put_lines(f, 2, text_of(&f->e->head));
    put(f, 3, "FS_FLASH_COLUMNS(c, c0, %s)", clause);
    put_lines(f, 2, text_of(&f->e->body));
    put(f, 3, "FS_FLASH_COLUMNS_END");
    fsim_text_clear(&f->e->head);
    fsim_text_clear(&f->e->body);
}

/* Elements of the intermediate, and of what leads to it, that are stored. */
static void store_elements(flash *f)
{
    fsim_emitter *e = f->e;
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_write *x = &e->group->write[i];
        const int member = fsim_maker_in(e, x->tensor);
        if (!e->group->member[member].middle || is_row(f, member))
            continue;
        const fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_open(e, "FS_FLASH_STORE {");
        fsim_store_value(e, x->tensor, &at, v.name, true);
        fsim_close(e);
    }
}

static void keep_intermediate(flash *f)
{
    const fsim_where at = {0, f->joint->frame};
    const fsim_variable v = fsim_value(f->e, f->intermediate, &at);
    fsim_say(f->e, 1, "FS_FLASH_KEEP(%s)", v.name);
}

/* Reductions of what does not depend on others. */
static void emit_early(flash *f, int first)
{
    fsim_emitter *e = f->e;
    const char **acc = fsim_new(e->a, const char *, e->group->members + 1), *clause = "";
    bool any = writes_elements(f);
    begin_elements(f, first);
    for (int i = 0; i < e->group->members; i++)
        if (between(f, i) && class_of(f, i) == FSIM_REDUCE && !is_late(f, i)) {
            acc[i] = accumulated(f, i);
            clause = with_clause(f, clause, i, acc[i]);
            any = true;
        }
    store_elements(f);
    if (f->kept >= 0) {
        const fsim_where at = {0, node_of(f, f->peak)->arg[0].map};
        fsim_say(e, 1, "FS_SCORE = %s;", fsim_value(e, node_of(f, f->peak)->arg[0].tensor, &at).name);
    }
    if (!any) {
        begin_scope(e);
        return;
    }
    end_elements(f, clause);
    for (int i = 0; i < e->group->members; i++) {
        if (!acc[i])
            continue;
        if (i == f->peak)
            put(f, 3, "FS_FLASH_MAX(%s, %s)", c_suffix(f), acc[i]);
        if (i == f->peak && f->power >= 0)
            put(f, 3,
                "const %s peak = %s, shift = fs_flash_peakf(peak), base = fs_flash_base2(shift), again = "
                "fs_flash_exp2(fs_flash_base2(%s) - base);\n(void)shift;",
                c_type(f), joined(f, node_of(f, i), state_of(f, i), acc[i]), state_of(f, i));
        else if (i == f->peak)
            put(f, 3, "const %s peak = %s, shift = fs_flash_peak%s(peak), again = fs_exp%s(%s - shift);", c_type(f),
                joined(f, node_of(f, i), state_of(f, i), acc[i]), c_suffix(f), c_suffix(f), state_of(f, i));
        put(f, 3, "%s = %s;", state_of(f, i), i == f->peak ? "peak" : joined(f, node_of(f, i), state_of(f, i), acc[i]));
    }
}

/* What lies between the products, reductions running along. */
static void emit_online(flash *f)
{
    fsim_emitter *e = f->e;
    const int first = fsim_member_of(e->group, e->group->first), maker = fsim_maker_in(e, f->intermediate);
    const char **acc = fsim_new(e->a, const char *, e->group->members + 1), *clause = "";
    bool rescales = f->linear[maker];
    begin_scope(e);
    emit_early(f, first);
    e->held[first].name = NULL;
    if (f->peak >= 0)
        e->held[f->peak] = (fsim_held){"shift", NULL, 0};
    begin_elements(f, f->kept >= 0 ? f->kept : first);
    if (f->power >= 0) {
        const char *name = fsim_fresh(e, "v");
        fsim_say(e, 1, "const float %s = fs_flash_exp2(score * FS_LOG2E - base); /* %s */", name,
                 node_of(f, f->power)->name);
        e->held[f->power] = (fsim_held){name, NULL, 1};
    }
    for (int i = 0; i < e->group->members; i++)
        if (between(f, i) && class_of(f, i) == FSIM_REDUCE && is_late(f, i)) {
            acc[i] = accumulated(f, i);
            clause = with_clause(f, clause, i, acc[i]);
        }
    keep_intermediate(f);
    end_elements(f, clause);
    for (int i = 0; i < e->group->members; i++)
        if (acc[i])
            put(f, 3,
                f->linear[fsim_maker_in(e, node_of(f, i)->arg[0].tensor)] ? "%s = %s * again + %s;" : "%s = %s + %s;",
                state_of(f, i), state_of(f, i), acc[i]);
    if (rescales)
        put(f, 3, "FS_FLASH_RESCALE(again)");
}

/* What lies between the products where the tile holds whole rows. */
static void emit_levels(flash *f)
{
    fsim_emitter *e = f->e;
    const int first = fsim_member_of(e->group, e->group->first);
    const char **acc = fsim_new(e->a, const char *, e->group->members + 1);
    begin_scope(e);
    for (int level = 1; level <= f->levels; level++) {
        const char *clause = "";
        begin_elements(f, first);
        for (int i = 0; i < e->group->members; i++)
            if (between(f, i) && class_of(f, i) == FSIM_REDUCE && level_of(f, i) == level) {
                acc[i] = accumulated(f, i);
                clause = with_clause(f, clause, i, acc[i]);
            }
        end_elements(f, clause);
        for (int i = 0; i < e->group->members; i++) {
            if (!between(f, i) || class_of(f, i) != FSIM_REDUCE || level_of(f, i) != level)
                continue;
            const char *name = fsim_fresh(e, "m");
            put(f, 3, "FS_FLASH_%s(%s, %s)", combines[combining(node_of(f, i))], c_suffix(f), acc[i]);
            put(f, 3, "const %s %s = %s;", c_type(f), name, fsim_accumulator_end(e, node_of(f, i), acc[i], f->type));
            put(f, 3, "%s = %s;", state_of(f, i), acc[i]);
            e->held[i] = (fsim_held){name, NULL, 0};
        }
    }
    begin_elements(f, first);
    store_elements(f);
    keep_intermediate(f);
    end_elements(f, "");
}

static void emit_middle(flash *f)
{
    fsim_emitter *e = f->e;
    put(f, 2, "FS_FLASH_ROWS(p, %s)", f->row_of);
    e->passes = f->online ? f->passes : NULL;
    if (f->online)
        emit_online(f);
    else
        emit_levels(f);
    e->passes = NULL;
    memset(e->held, 0, (size_t)e->group->members * sizeof *e->held);
    put(f, 2, "FS_FLASH_ROWS_END");
}

/* Factors of the row that the walk left out, from the intermediate upwards: " / l" of a softmax. */
static const char *left_out(flash *f, int tensor, const fsim_where *at)
{
    fsim_emitter *e = f->e;
    const int i = fsim_maker_in(e, tensor);
    const char *factors = "";
    if (!between(f, i) || kind_of(f, i) != FSIM_SCALED)
        return "";
    const fsim_node *n = node_of(f, i);
    for (int k = 0; k < n->args; k++) {
        const fsim_where there = fsim_through(e, at, &n->arg[k].map);
        if (f->passes[i] >= 0 && f->passes[i] != k)
            factors = fsim_printf(e->a, "%s %s (%s)%s", factors, n->op == FSIM_OP_DIV ? "/" : "*", c_type(f),
                                  fsim_value(e, n->arg[k].tensor, &there).name);
        else
            factors = fsim_printf(e->a, "%s%s", factors, left_out(f, n->arg[k].tensor, &there));
    }
    return factors;
}

/* A running value of row p, all of its threads' together, in a variable. */
static const char *gathered(flash *f, int i)
{
    const char *acc = fsim_fresh(f->e, "a");
    put(f, 2, "%s %s = %s;", c_type(f), acc, state_of(f, i));
    if (f->online && i != f->peak)
        put(f, 2, "FS_FLASH_%s(%s, %s)", combines[combining(node_of(f, i))], c_suffix(f), acc);
    return acc;
}

/* Where in scratch memory the i-th piece has its value of reduction `member`. */
static const char *piece_of(flash *f, int member, const char *i)
{
    const fsim_group *o = f->e->group;
    int64_t slot = 0;
    for (int k = 0; k < member; k++)
        slot += f->state[k] != NULL;
    return fsim_printf(f->e->a, "%s[%lld + %s * %lld + p]", f->scratch,
                       (long long)(f->pieces * o->rows * (f->maps.columns + slot)), i, (long long)o->rows);
}

/* What a block has of its rows, for the launch that puts the pieces together. */
static void emit_piece(flash *f)
{
    fsim_emitter *e = f->e;
    put(f, 1, "FS_FLASH_ROWS(p, %s)", f->row_of);
    for (int i = 0; i < e->group->members; i++)
        if (f->state[i]) {
            const char *acc = gathered(f, i);
            put(f, 2, "FS_FLASH_EACH %s = %s; /* %s */", piece_of(f, i, "piece"), acc, node_of(f, i)->name);
        }
    put(f, 2, "FS_FLASH_RESULTS(j, %s, %lld)", f->l.chunks > 1 ? "j0" : "0", (long long)f->maps.columns);
    put(f, 3, "%s[(piece * %lld + p) * %lld + j] = FS_RESULT;", f->scratch, (long long)e->group->rows,
        (long long)f->maps.columns);
    put(f, 2, "FS_FLASH_RESULTS_END");
    put(f, 1, "FS_FLASH_ROWS_END");
}

/* The factor that puts right what the i-th piece summed up beside its own maximum; "" where there is none. */
static const char *righting(flash *f)
{
    if (f->peak < 0)
        return "";
    return f->power >= 0
               ? fsim_printf(f->e->a, " * fs_flash_exp2(fs_flash_base2(%s) - base)", piece_of(f, f->peak, "i"))
               : fsim_printf(f->e->a, " * fs_exp%s(%s - shift)", c_suffix(f), piece_of(f, f->peak, "i"));
}

/* A reduction's value over all pieces, in a variable; the maximum's comes first. */
static const char *rejoined(flash *f, int i)
{
    fsim_emitter *e = f->e;
    const fsim_node *n = node_of(f, i);
    const char *acc = fsim_fresh(e, "a");
    const bool linear = is_late(f, i) && f->linear[fsim_maker_in(e, n->arg[0].tensor)];
    put(f, 2, "%s %s = %s;", c_type(f), acc, fsim_accumulator_start(e, n, f->type));
    put(f, 2, "for (int i = 0; i < %lld; i++)", (long long)f->pieces);
    put(f, 3, "%s = %s;", acc,
        joined(f, n, acc, fsim_printf(e->a, "%s%s", piece_of(f, i, "i"), linear ? righting(f) : "")));
    if (i == f->peak)
        put(f, 2, "const %s shift = fs_flash_peak%s(%s);", c_type(f), c_suffix(f), acc);
    if (i == f->peak && f->power >= 0)
        put(f, 2, "const float base = fs_flash_base2(shift);");
    return acc;
}

/* Final values of the reductions, row by row, then of the results. */
static void emit_results(flash *f)
{
    fsim_emitter *e = f->e;
    const fsim_group *o = e->group;
    if (f->pieces == 1)
        put(f, 1, "FS_FLASH_ROWS(p, %s)", f->row_of);
    begin_scope(e);
    const char *most = f->pieces > 1 && f->peak >= 0 ? rejoined(f, f->peak) : NULL;
    for (int i = 0; i < o->members; i++) {
        if (!f->state[i])
            continue;
        const fsim_node *n = node_of(f, i);
        const char *acc = f->pieces == 1 ? gathered(f, i)
                          : i == f->peak ? most
                                         : rejoined(f, i),
                   *name = fsim_fresh(e, "m");
        put(f, 2, "const %s %s = %s; /* %s */", c_type(f), name, fsim_accumulator_end(e, n, acc, f->type), n->name);
        put(f, 2, "(void)%s;", name);
        e->held[i] = (fsim_held){name, NULL, 0};
    }
    const fsim_where frame = {0, f->joint->frame};
    const char *factors = f->online ? left_out(f, f->intermediate, &frame) : "";
    if (*factors)
        fsim_say(e, 0, "const %s factor = %s%s;", c_type(f), fsim_literal(e, 1, f->type), factors);
    for (int i = 0; i < o->writes; i++) {
        const fsim_write *x = &o->write[i];
        const int member = fsim_maker_in(e, x->tensor);
        if (!o->member[member].middle || !is_row(f, member))
            continue;
        const fsim_where at = {0, x->map};
        const fsim_variable v = fsim_value(e, x->tensor, &at);
        fsim_store_value(e, x->tensor, &at, v.name, true);
    }
    put_lines(f, 1, text_of(&e->head));
    if (e->body.used) {
        put(f, 2, "FS_FLASH_ONCE {");
        put_lines(f, 1, text_of(&e->body));
        put(f, 2, "}");
    }
    begin_pass(e);
    const int base = fsim_add_base(
        e,
        (fsim_base){.outer = "p", .inner = "j", .inner_extent = f->maps.columns, .outer_depth = 0, .inner_depth = 1});
    if (f->pieces > 1) {
        fsim_say(e, 1, "%s sum = 0;", c_type(f));
        fsim_say(e, 1, "for (int i = 0; i < %lld; i++)", (long long)f->pieces);
        fsim_say(e, 2, "sum += %s[(i * %lld + p) * %lld + j]%s;", f->scratch, (long long)o->rows,
                 (long long)f->maps.columns, f->linear[fsim_maker_in(e, f->intermediate)] ? righting(f) : "");
    }
    fsim_say(e, 1, "const %s result = %s%s;", c_type(f), f->pieces > 1 ? "sum" : "FS_RESULT",
             *factors ? " * factor" : "");
    e->held[fsim_member_of(o, o->anchor)] = (fsim_held){"result", NULL, 1};
    fsim_map back;
    fsim_where at = {base, f->maps.result};
    if (!fsim_map_is_identity(&o->anchor_map) && fsim_invert(&o->anchor_map, &back))
        at = fsim_through(e, &at, &back);
    for (int i = 0; i < o->writes; i++) {
        const fsim_write *x = &o->write[i];
        if (o->member[fsim_maker_in(e, x->tensor)].middle)
            continue;
        const fsim_where there = fsim_through(e, &at, &x->map);
        const fsim_variable y = fsim_value(e, x->tensor, &there);
        fsim_store_value(e, x->tensor, &there, y.name, true);
    }
    put_lines(f, 1, text_of(&e->head));
    if (f->pieces > 1)
        put(f, 2, "FS_WALK(j, %lld, 1)\nFS_LANES_OF(j, )", (long long)f->maps.columns);
    else
        put(f, 2, "FS_FLASH_RESULTS(j, %s, %lld)", f->l.chunks > 1 ? "j0" : "0", (long long)f->maps.columns);
    put_lines(f, 1, text_of(&e->body));
    if (f->pieces > 1)
        put(f, 2, "FS_LANES_END\nFS_WALK_END");
    else {
        put(f, 2, "FS_FLASH_RESULTS_END");
        put(f, 1, "FS_FLASH_ROWS_END");
    }
}

static void emit_first(flash *f, int depth, const char *k0)
{
    if (f->tensor)
        put(f, depth, "FS_FLASH_FIRST_MMA(%s, rows_tile, %s, first_tile, %d, %s, %lld)", f->dtype, k0,
            place_of(f, &f->one)->lead, f->one.along ? "K" : "J", (long long)f->l.depth_step);
    else
        put(f, depth, "FS_FLASH_FIRST_SIMT(%s, rows_tile, %s, first_tile, %d, %lld)", c_type(f), k0,
            place_of(f, &f->one)->lead, (long long)f->l.depth_step);
}

static void emit_second(flash *f)
{
    if (f->tensor)
        put(f, 2, "FS_FLASH_SECOND_MMA(%s, second_tile, %d, %s)", f->dtype, place_of(f, &f->two)->lead,
            f->two.along ? "K" : "J");
    else
        put(f, 2, "FS_FLASH_SECOND_SIMT(%s, scores, second_tile, %d)", c_type(f), place_of(f, &f->two)->lead);
}

static const char *from_of(const flash *f) { return f->pieces > 1 ? "from" : "0"; }

/* Steps whose operands come by copies: one loads while the other is used. */
static void emit_overlapped(flash *f, const char *stop)
{
    const char *head;
    const int next = f->e->next;
    const char *one = fill_one(f, from_of(f), "0", &head);
    put_lines(f, 0, head);
    put_lines(f, 0, one);
    put(f, 1, "FS_FLASH_COMMIT");
    const char *two = fill_two(f, &head);
    put_lines(f, 0, head);
    put(f, 1, "for (fs_int c0 = %s; c0 < %s; c0 += %d) {", from_of(f), stop, f->l.n);
    put(f, 2, "FS_FLASH_WAIT(0)\nFS_ROW_BARRIER");
    put_lines(f, 1, two);
    put(f, 2, "FS_FLASH_COMMIT\nFS_FLASH_CLEAR");
    emit_first(f, 2, "0");
    put(f, 2, "FS_ROW_BARRIER");
    put(f, 2, "if (c0 + %d < %s) {", f->l.n, stop);
    const int after = f->e->next;
    f->e->next = next; /* the same names: what they stand for is there already */
    put_lines(f, 2, fill_one(f, fsim_printf(f->e->a, "c0 + %d", f->l.n), "0", &head));
    f->e->next = after;
    put(f, 2, "}\nFS_FLASH_COMMIT");
    emit_middle(f);
    put(f, 2, "FS_FLASH_WAIT(1)\nFS_ROW_BARRIER");
    emit_second(f);
    put(f, 1, "}");
}

static void emit_steps(flash *f, const char *stop)
{
    const bool chunked = f->l.depth_step < f->l.depth, kept = f->l.depth <= FSIM_CHAIN_KEPT_DEPTH;
    const char *head, *k0 = chunked ? "k0" : "0";
    const char *rows = kept ? NULL : fill_rows(f, k0, &head);
    const char *one = fill_one(f, "c0", k0, &head);
    put_lines(f, 0, head);
    const char *two = fill_two(f, &head);
    put_lines(f, 0, head);
    put(f, 1, "for (fs_int c0 = %s; c0 < %s; c0 += %d) {", from_of(f), stop, f->l.n);
    put(f, 2, "FS_ROW_BARRIER");
    put_lines(f, 1, two);
    put(f, 2, "FS_FLASH_CLEAR");
    if (chunked)
        put(f, 2, "for (fs_int k0 = 0; k0 < %lld; k0 += %lld) {", (long long)f->l.depth, (long long)f->l.depth_step);
    if (rows)
        put_lines(f, 1 + chunked, rows);
    put_lines(f, 1 + chunked, one);
    if (f->rows.copied || f->one.copied || f->two.copied)
        put(f, 2 + chunked, "FS_FLASH_COMMIT\nFS_FLASH_WAIT(0)");
    put(f, 2 + chunked, "FS_ROW_BARRIER");
    emit_first(f, 2 + chunked, kept ? k0 : "0");
    if (chunked)
        put(f, 2, "    FS_ROW_BARRIER\n}");
    emit_middle(f);
    emit_second(f);
    put(f, 1, "}");
}

static void declare_tile(flash *f, const tile *t, const char *name, const char *x, int64_t x_step, int64_t host_x,
                         const char *y, int64_t y_step, int64_t host_y, int64_t count)
{
    const char *storage = strcmp(f->dtype, "f16") == 0    ? "fs_f16"
                          : strcmp(f->dtype, "bf16") == 0 ? "fs_bf16"
                                                          : c_type(f);
    put(f, 1, "FS_FLASH_TILE(%s, %s, %s, %lld, %lld, %s, %lld, %lld, %s, %lld, %lld)", storage, c_type(f), name,
        (long long)place_of(f, t)->offset, (long long)count, x, (long long)x_step, (long long)host_x, y,
        (long long)y_step, (long long)host_y);
}

static int neighbours(int64_t columns) { return columns % 64 == 0 ? 4 : columns % 32 == 0 ? 2 : 1; }

/* Rows of one batch follow each other; where they do not in the intermediate, a function says which is which. */
static void emit_order(flash *f)
{
    fsim_emitter *e = f->e;
    f->row_of = "FS_SAME_ROW";
    if (fsim_map_is_identity(&f->order))
        return;
    begin_scope(e);
    const fsim_where q = fsim_where_var(e, "q", e->group->rows);
    const fsim_where at = {q.base, f->order};
    f->row_of = fsim_printf(e->a, "%s_row", e->program->name);
    fsim_text_put(e->a, &e->out, "\nFS_FN fs_int %s(fs_int q) { return %s; }\n", f->row_of, fsim_number(e, &at).name);
}

static void emit_kernel(flash *f)
{
    fsim_emitter *e = f->e;
    const fsim_group *o = e->group;
    const int64_t tiles = (f->batch_rows + f->l.m - 1) / f->l.m;
    emit_order(f);
    if (f->pieces > 1) {
        int64_t each = f->maps.columns;
        for (int i = 0; i < o->members; i++)
            each += between(f, i) && class_of(f, i) == FSIM_REDUCE;
        f->scratch = fsim_scratch(e, c_type(f), f->pieces * o->rows * each * (f->type == FSIM_C_DOUBLE ? 8 : 4));
    }
    fsim_begin_held_entry(e, f->batches * tiles * f->l.chunks * f->pieces, f->l.threads, (int)f->l.shared_bytes,
                          f->l.registers, true);
    put(f, 1, "FS_FLASH(%d, %d, %lld, %lld, %lld, %s, %d)", f->l.m, f->l.n, (long long)f->batch_rows,
        (long long)o->width, (long long)(f->l.chunks * f->pieces), f->row_of, f->causal);
    if (f->tensor)
        put(f, 1, "FS_FLASH_MMA(%s, %lld)", c_type(f), (long long)f->l.columns);
    else
        put(f, 1, "FS_FLASH_SIMT(%s, %lld, %d, %d)", c_type(f), (long long)f->l.columns, neighbours(f->l.n),
            neighbours(f->l.columns));
    const int64_t deep = f->l.depth_step * f->l.n, wide = f->l.n * f->l.columns;
    declare_tile(f, &f->rows, "rows_tile", "p", place_of(f, &f->rows)->lead, place_of(f, &f->rows)->lead, "k", 1, 1,
                 place_of(f, &f->rows)->count);
    declare_tile(f, &f->one, "first_tile", "c", f->one.along ? place_of(f, &f->one)->lead : 1, 1, "k",
                 f->one.along ? 1 : place_of(f, &f->one)->lead, f->l.n, deep);
    declare_tile(f, &f->two, "second_tile", "c", f->two.along ? 1 : place_of(f, &f->two)->lead, f->l.columns, "j",
                 f->two.along ? place_of(f, &f->two)->lead : 1, 1, wide);
    if (!f->tensor)
        put(f, 1, "FS_FLASH_SCORES(%s, scores, %lld, %d)", c_type(f), (long long)f->l.scores, f->l.n + 4);
    if (f->l.chunks > 1)
        put(f, 1, "const fs_int j0 = fs_chunk %% %lld * %lld;", (long long)f->l.chunks, (long long)f->l.columns);
    const char *stop = whole_number(f, o->width);
    if (f->pieces > 1) {
        put(f, 1,
            "const fs_int piece = fs_chunk / %lld, from = piece * %lld, stop = from + %lld < %lld ? from + %lld : "
            "%lld;",
            (long long)f->l.chunks, (long long)f->piece, (long long)f->piece, (long long)o->width, (long long)f->piece,
            (long long)o->width);
        stop = "stop";
    }
    if (f->causal) {
        put(f, 1, "const fs_int stop = fs_flash_stop(fs_top, fs_last, %lld);", (long long)o->causal);
        stop = "stop";
    }
    declare_states(f);
    if (f->l.depth <= FSIM_CHAIN_KEPT_DEPTH) {
        const char *head, *rows = fill_rows(f, "0", &head);
        put_lines(f, 0, head);
        put_lines(f, 0, rows);
    }
    if (f->one.copied && f->two.copied && f->l.depth_step == f->l.depth)
        emit_overlapped(f, stop);
    else
        emit_steps(f, stop);
    if (f->pieces == 1)
        emit_results(f);
    else
        emit_piece(f);
    put(f, 1, "FS_FLASH_END");
    fsim_end_entry(e);
    if (f->pieces == 1)
        return;
    fsim_begin_entry(e, o->rows, JOINING_THREADS, 0);
    put(f, 1, "FS_ROWS(p, %lld, 1, %d)", (long long)o->rows, JOINING_THREADS);
    emit_results(f);
    put(f, 1, "FS_ROWS_END");
    fsim_end_entry(e);
}

static bool on_tensor_cores(const flash *f)
{
    const fsim_emitter *e = f->e;
    const fsim_dtype t = f->first->gemm.arithmetic;
    bool same = e->hw->arch->mma && (t == FSIM_F16 || t == FSIM_BF16) && f->second->gemm.arithmetic == t &&
                f->type == FSIM_C_FLOAT;
    for (int k = 0; k < 2 && same; k++)
        same = e->g->tensor[f->first->arg[k].tensor].dtype == t && e->g->tensor[f->second->arg[k].tensor].dtype == t;
    return same;
}

static bool analyse(flash *f)
{
    fsim_emitter *e = f->e;
    const fsim_group *o = e->group;
    f->joint = o->joint;
    if (!fsim_chain_maps_of(f->second, f->joint, &f->maps))
        return false;
    f->intermediate = f->second->arg[f->joint->side].tensor;
    f->type = fsim_ctype_of(e->g->tensor[f->first->result[0]].dtype);
    if (f->type > FSIM_C_DOUBLE || fsim_ctype_of(e->g->tensor[f->second->result[0]].dtype) != f->type ||
        fsim_ctype_of(e->g->tensor[f->intermediate].dtype) != f->type)
        return false;
    f->levels = most_levels(f);
    if (!plain_reductions(f))
        return false;
    f->online = (!o->strict || f->levels == 0) && runs_online(f) && may_write(f, true);
    if (f->online) {
        find_kept(f);
        find_power(f);
    } else {
        f->peak = -1;
        if (o->width > FSIM_TILE_ROW || !may_write(f, false))
            return false;
    }
    e->passes = f->online ? f->passes : NULL;
    const bool placed = place_operands(f);
    e->passes = NULL;
    return placed;
}

bool fsim_emit_flash(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    flash f = {.e = e,
               .first = &e->g->node[o->first],
               .second = &e->g->node[o->anchor],
               .peak = -1,
               .power = -1,
               .kept = -1,
               .rows.which = FSIM_CHAIN_ROWS,
               .one.which = FSIM_CHAIN_FIRST,
               .two.which = FSIM_CHAIN_SECOND,
               .dtype = "f32",
               .elem_bytes = 4};
    f.passes = fsim_new(e->a, int, o->members + 1);
    f.linear = fsim_new(e->a, bool, o->members + 1);
    f.scaled = fsim_new(e->a, bool, o->members + 1);
    f.state = fsim_new(e->a, const char *, o->members + 1);
    for (int i = 0; i < o->members; i++)
        f.passes[i] = -1;
    e->walk = true;
    e->vector = 1;
    e->bases = 0;
    fsim_add_base(e, (fsim_base){.outer = "p", .inner_extent = 1, .reduced = "c", .reduced_depth = 1});
    if (!analyse(&f))
        return false;
    f.tensor = on_tensor_cores(&f);
    if (f.tensor) {
        f.dtype = fsim_dtype_names[f.first->gemm.arithmetic];
        f.elem_bytes = 2;
        f.one.along = summed_up_beside(&f.one.at.map);
        f.two.along = summed_up_beside(&f.two.at.map);
    } else if (f.type == FSIM_C_DOUBLE) {
        f.dtype = "f64";
        f.elem_bytes = 8;
    }
    if (!choose_tile(&f))
        return false;
    e->program->sm = f.tensor ? 80 : 0;
    choose_copies(&f);
    f.causal = leaves_out(&f);
    choose_pieces(&f);
    e->program->schedule.tile_m = f.l.m;
    e->program->schedule.tile_n = f.l.n;
    e->program->schedule.split_k = (int)f.pieces;
    emit_kernel(&f);
    return true;
}
