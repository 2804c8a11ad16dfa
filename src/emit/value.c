/* SPDX-License-Identifier: Apache-2.0 */
/* value.c: writes the statements that compute, load or store an element of a tensor, and names the variable that has
 * it. */
#include "emit/emit.h"

#include "graph/attribute.h"
#include <assert.h>
#include <math.h>
#include <string.h>

const char *const fsim_ctype_names[FSIM_C_COUNT] = {"float", "double", "int", "fs_i64"};
const char *const fsim_ctype_suffix[FSIM_C_COUNT] = {"f", "d", "i", "l"};
const char *const fsim_storage_names[FSIM_DTYPE_COUNT] = {"double",    "float",     "fs_f16",  "fs_bf16",   "fs_f8e4m3",
                                                          "fs_f8e5m2", "fs_f8e8m0", "fs_i64",  "fs_i32",    "fs_i16",
                                                          "fs_i8",     "fs_u8",     "fs_bool", "fs_f4e2m1", "fs_i4"};

/* Is the type in memory no C type? Functions of the dialect, named after the dtype, then convert its elements. */
static bool is_packed(fsim_dtype t) { return t >= FSIM_F16 && t <= FSIM_F8E8M0; }

int fsim_maker_in(const fsim_emitter *e, int tensor) { return fsim_member_that_makes(e->g, e->group, tensor); }

const char *fsim_pointer(fsim_emitter *e, int tensor)
{
    for (int i = 0; i < e->program->parameters; i++)
        if (e->program->parameter[i].tensor == tensor)
            return e->program->parameter[i].name;
    return NULL;
}

const char *fsim_literal(fsim_emitter *e, double x, fsim_ctype t)
{
    if (t == FSIM_C_INT || t == FSIM_C_LONG)
        return fsim_printf(e->a, "%lld", (long long)x);
    if (isinf(x))
        return fsim_printf(e->a, "%sFS_INF%s", x < 0 ? "-" : "", fsim_ctype_suffix[t]);
    const char *digits = fsim_printf(e->a, t == FSIM_C_FLOAT ? "%.9g" : "%.17g", x);
    return fsim_printf(e->a, "%s%s%s", digits, strpbrk(digits, ".en") ? "" : ".0", t == FSIM_C_FLOAT ? "f" : "");
}

/* Where an element is in its tensor, as expressions: its number, its row and its column. */
typedef struct {
    const char *element, *row, *col;
    int depth; /* the deepest block that declares one of their variables */
} place;

/* A digit of the number of a tensor's element at w, where it has `extent` values and `below` elements follow each. It
 * is taken from the digits that make the place up: a row's costs a division a row, not one an element. */
static fsim_variable digit_at(fsim_emitter *e, int64_t elems, int64_t extent, int64_t below, const fsim_where *w)
{
    fsim_map digit = {0};
    fsim_map_push(&digit, elems / (below * extent), 0);
    fsim_map_push(&digit, extent, 1);
    fsim_map_push(&digit, below, 0);
    digit.split = digit.modes;
    const fsim_where at = fsim_through(e, w, &digit);
    fsim_variable v = fsim_number(e, &at);
    v.name = strchr(v.name, ' ') ? fsim_printf(e->a, "((fs_int)(%s))", v.name) : v.name;
    return v;
}

/* The index along a dimension, counted from the last (back 0), of the result's element at w. */
static const char *along(fsim_emitter *e, const fsim_node *n, const fsim_where *w, int back, int *depth)
{
    const fsim_tensor *t = &e->g->tensor[n->result[0]];
    const fsim_shape *s = &t->shape;
    int64_t below = 1;
    if (s->rank <= back)
        return "0";
    for (int d = 0; d < back; d++)
        below *= s->dim[s->rank - 1 - d];
    const fsim_variable v = digit_at(e, t->elems, s->dim[s->rank - 1 - back], below, w);
    *depth = v.depth > *depth ? v.depth : *depth;
    return v.name;
}

/* The place of the element at w of n's result, as far as n's expression in op.def uses it. */
static place place_of(fsim_emitter *e, const fsim_node *n, const fsim_where *w)
{
    const char *expr = fsim_ops[n->op].expr;
    place at = {.element = ""};
    if (strstr(expr, "$element")) {
        const fsim_variable v = fsim_number(e, w);
        at.element = v.name;
        at.depth = v.depth;
    }
    if (strstr(expr, "$row"))
        at.row = along(e, n, w, 1, &at.depth);
    if (strstr(expr, "$col"))
        at.col = along(e, n, w, 0, &at.depth);
    return at;
}

/* An attribute's value, as a literal. */
static const char *attribute(fsim_emitter *e, const fsim_node *n, const char *name, fsim_ctype t)
{
    for (int f = 0; f < FSIM_FIELD_COUNT; f++)
        if (strcmp(fsim_attr_fields[f].name, name) == 0)
            return fsim_literal(e, fsim_attr_value(&n->attrs, f),
                                fsim_attr_fields[f].type == FSIM_TYPE_INT ? FSIM_C_LONG : t);
    assert(false); /* op.def names an attribute that attribute.def lacks */
    return "";
}

/* The text that replaces $name in an expression of op.def. */
static const char *parameter(fsim_emitter *e, const fsim_node *n, const char *name, const place *at, bool as_float)
{
    const fsim_ctype t = fsim_ctype_of(n->dtype);
    const fsim_shape *s = &e->g->tensor[n->result[0]].shape;
    if (strcmp(name, "element") == 0)
        return at->element;
    if (strcmp(name, "cols") == 0)
        return fsim_printf(e->a, "%lld", (long long)(s->rank ? s->dim[s->rank - 1] : 1));
    if (strcmp(name, "col") == 0)
        return at->col;
    if (strcmp(name, "row") == 0)
        return at->row;
    if (strcmp(name, "t") == 0)
        return fsim_ctype_suffix[t];
    if (strcmp(name, "f") == 0)
        return t == FSIM_C_FLOAT ? "f" : "";
    return attribute(e, n, name, as_float ? FSIM_C_FLOAT : t);
}

/* The operator's expression in op.def with the arguments and the element's place filled in. */
static const char *expression_text(fsim_emitter *e, const fsim_node *n, const char *const *arg, const place *at)
{
    fsim_text out = {0};
    for (const char *p = fsim_ops[n->op].expr, *end; *p; p = end) {
        end = p + 1;
        if (*p == '$' && *end >= '0' && *end <= '9') {
            fsim_text_put(e->a, &out, "%s", arg[*end++ - '0']);
        } else if (*p == '$') {
            end += strspn(end, "abcdefghijklmnopqrstuvwxyz_");
            const char *name = fsim_strndup(e->a, p + 1, (size_t)(end - p - 1));
            const bool as_float = strncmp(end, ".f", 2) == 0;
            end += as_float ? 2 : 0;
            fsim_text_put(e->a, &out, "%s", parameter(e, n, name, at, as_float));
        } else {
            fsim_text_put(e->a, &out, "%c", *p);
        }
    }
    return out.at ? out.at : "";
}

/* Loads and stores. */

static fsim_variable remember(fsim_emitter *e, int tensor, const fsim_where *w, fsim_variable v)
{
    *FSIM_PUSH(e->a, e->known, e->knowns, e->known_room) = (fsim_known){tensor, v.depth, *w, v.name};
    return v;
}

static const fsim_known *recall(const fsim_emitter *e, int tensor, const fsim_where *w)
{
    for (int i = e->knowns; i-- > 0;)
        if (e->known[i].tensor == tensor && e->known[i].where.base == w->base &&
            fsim_map_equal(&e->known[i].where.map, &w->map))
            return &e->known[i];
    return NULL;
}

static const char *converted(fsim_emitter *e, fsim_dtype t, const char *x)
{
    return is_packed(t) ? fsim_printf(e->a, "fs_from_%s(%s)", fsim_dtype_names[t], x) : x;
}

/* What is left of x where it was stored in a dtype of few bits and read again. */
static const char *rounded(fsim_emitter *e, fsim_dtype t, const char *x)
{
    return converted(e, t, fsim_printf(e->a, "fs_to_%s((float)(%s))", fsim_dtype_names[t], x));
}

/* Can a thread load or store e->vector elements at once? Lanes must be neighbours in memory, and each group must
 * start at a multiple of e->vector. */
static bool grouped(const fsim_emitter *e, const fsim_where *w)
{
    const fsim_map *m = &w->map;
    const int inner = e->walk ? m->modes - 1 : m->split - 1;
    if (e->vector < 2 || w->base != 0 || inner < (e->walk ? m->split : 0) || m->offset % e->vector != 0 ||
        m->mode[inner].stride != 1)
        return false;
    for (int k = 0; k < m->modes; k++)
        if (k == inner ? m->mode[k].extent % e->vector != 0 : m->mode[k].stride % e->vector != 0)
            return false;
    return true;
}

/* Must a tile of (y, c) go through shared memory? It must where memory is contiguous along y and strided along c,
 * the lanes' direction. */
static bool turned(const fsim_emitter *e, const fsim_where *w)
{
    enum { MOST_TILES = 4 }; /* so many tiles of 8-byte elements fit in 48 KiB */
    const fsim_map *m = &w->map;
    return e->tiled && w->base == 0 && e->staged < MOST_TILES && m->modes == m->split + 1 &&
           m->mode[m->split].stride == 1 && m->split > 0 && m->mode[m->split - 1].stride != 0 &&
           m->mode[m->split - 1].stride != 1;
}

/* Is the tensor's whole row read in more than one loop over it? */
static bool wanted_again(const fsim_emitter *e, int tensor)
{
    for (int i = 0; i < e->group->reads; i++)
        if (e->group->read[i].tensor == tensor)
            return e->group->read[i].full && (e->group->read[i].stages & (e->group->read[i].stages - 1));
    return false;
}

/* Counts one more transposing tile in shared memory. */
static void add_staged(fsim_emitter *e, int tensor)
{
    e->staged++;
    e->declared_bytes += FSIM_TRANSPOSE_TILE * (FSIM_TRANSPOSE_TILE + 1) * fsim_dtype_bytes(e->g->tensor[tensor].dtype);
}

/* The array in registers or shared memory that keeps the tensor's row between loops, filled by this load if it is
 * the first. NULL: the row is not kept. */
static const char *kept_as(fsim_emitter *e, int tensor, const fsim_where *w, const char *pointer, const char *at,
                           bool group)
{
    if (e->keep == FSIM_KEEP_NOTHING || w->base != 0 || !wanted_again(e, tensor))
        return NULL;
    for (int i = 0; i < e->kepts; i++)
        if (e->kept[i].tensor == tensor && fsim_map_equal(&e->kept[i].where.map, &w->map))
            return e->kept[i].name;
    const fsim_dtype t = e->g->tensor[tensor].dtype;
    const int vector = e->band ? 1 : e->vector;
    const int64_t groups = e->band ? (e->width + 7) / 8 * 256 : (e->width + vector - 1) / vector * e->rows_per_block;
    const int64_t bytes = (groups * vector * fsim_dtype_bytes(t) + 15) / 16 * 16, from = e->shared_bytes;
    if (e->keep == FSIM_KEEP_IN_SHARED && from + bytes > e->shared_most)
        return NULL;
    const char *name = fsim_fresh(e, "kept");
    const char *elements = e->band ? fsim_printf(e->a, "%lld", (long long)e->width)
                                   : fsim_printf(e->a, "%lld, %d", (long long)e->width, vector);
    if (e->keep == FSIM_KEEP_IN_SHARED) {
        e->shared_bytes += bytes;
        fsim_text_put(e->a, &e->keeps, "    FS_%sKEPT_IN_SHARED(%s, %s, %lld, %s)\n", e->band ? "BAND_" : "",
                      fsim_storage_names[t], name, (long long)from, elements);
    } else {
        fsim_text_put(e->a, &e->keeps, "    FS_%sKEPT_IN_REGISTERS(%s, %s, %s)\n", e->band ? "BAND_" : "",
                      fsim_storage_names[t], name, elements);
    }
    fsim_text_put(e->a, &e->before, "        FS_KEEP%s(%s, %s, %s)\n", group ? "" : "_EACH", name, pointer, at);
    *FSIM_PUSH(e->a, e->kept, e->kepts, e->kept_room) = (fsim_kept){tensor, *w, name};
    return name;
}

static fsim_variable load(fsim_emitter *e, int tensor, const fsim_where *w)
{
    const fsim_tensor *t = &e->g->tensor[tensor];
    const fsim_ctype c = fsim_ctype_of(t->dtype);
    const char *pointer = fsim_pointer(e, tensor), *name = fsim_fresh(e, "x");
    fsim_variable at = fsim_number(e, w);
    const bool lane = at.depth > 0, group = lane && grouped(e, w);
    const char *element = fsim_printf(e->a, "%s[%s]", pointer, at.name),
               *kept = lane ? kept_as(e, tensor, w, pointer, at.name, group) : NULL;
    if (kept) {
        element = fsim_printf(e->a, "FS_KEPT(%s, %s, %s)", kept, pointer, at.name);
    } else if (lane && turned(e, w)) {
        fsim_text_put(e->a, &e->before, "    FS_STAGE(%s, %s, %s, %s)\n", fsim_storage_names[t->dtype], name, pointer,
                      at.name);
        element = fsim_printf(e->a, "FS_STAGED(%s)", name);
        name = fsim_fresh(e, "x");
        add_staged(e, tensor);
    } else if (group) { /* one load of e->vector elements in front of the loop over lanes */
        fsim_text_put(e->a, &e->before, "        FS_GET(%s, %s, %s, %s)\n", fsim_storage_names[t->dtype], name, pointer,
                      at.name);
        element = fsim_printf(e->a, "FS_AT(%s, %s, %s)", name, pointer, at.name);
        name = fsim_fresh(e, "x");
    }
    const int depth = lane ? e->depth : 0;
    fsim_say(e, depth, "const %s %s = %s; /* %s */", fsim_ctype_names[c], name, converted(e, t->dtype, element),
             t->name);
    return remember(e, tensor, w, (fsim_variable){name, depth});
}

void fsim_store_value(fsim_emitter *e, int tensor, const fsim_where *w, const char *x, bool once)
{
    const fsim_tensor *t = &e->g->tensor[tensor];
    const char *pointer = fsim_pointer(e, tensor);
    const fsim_variable at = fsim_number(e, w);
    const char *value = is_packed(t->dtype) ? fsim_printf(e->a, "fs_to_%s(%s)", fsim_dtype_names[t->dtype], x)
                                            : fsim_printf(e->a, "(%s)%s", fsim_storage_names[t->dtype], x);
    if (t->dtype == FSIM_BOOL)
        value = fsim_printf(e->a, "%s != 0", x);
    if (!once && e->depth == 1 && turned(e, w)) {
        const char *name = fsim_fresh(e, "y");
        fsim_text_put(e->a, &e->before, "    FS_STAGE_ROOM(%s, %s)\n", fsim_storage_names[t->dtype], name);
        fsim_say(e, e->depth, "FS_STAGED(%s) = %s; /* %s */", name, value, t->name);
        fsim_text_put(e->a, &e->after, "    FS_UNSTAGE(%s, %s, %s)\n", name, pointer, at.name);
        add_staged(e, tensor);
        e->stages_writes = true;
        return;
    }
    if (!once && e->depth == 1 && grouped(e, w)) {
        const char *name = fsim_fresh(e, "y");
        fsim_text_put(e->a, &e->before, "        FS_ROOM(%s, %s)\n", fsim_storage_names[t->dtype], name);
        fsim_say(e, e->depth, "FS_PUT(%s, %s, %s, %s); /* %s */", name, pointer, at.name, value, t->name);
        fsim_text_put(e->a, &e->after, "        FS_FLUSH(%s, %s, %s, %s)\n", fsim_storage_names[t->dtype], name,
                      pointer, at.name);
        return;
    }
    fsim_say(e, e->depth, "%s[%s] = %s; /* %s */", pointer, at.name, value, t->name);
}

void fsim_add_value(fsim_emitter *e, int tensor, const char *at, const char *x)
{
    const fsim_tensor *t = &e->g->tensor[tensor];
    fsim_say(e, e->depth, "fs_add_%s(&%s[%s], %s); /* %s */", fsim_dtype_names[t->dtype], fsim_pointer(e, tensor), at,
             x, t->name);
}

/* Primitives. */

/* Converts x to the result's dtype: small integers wrap around, bools become 0 or 1. */
static const char *wrapped(fsim_emitter *e, fsim_dtype t, fsim_ctype from, const char *x)
{
    const bool whole = fsim_ctype_of(t) == FSIM_C_INT || fsim_ctype_of(t) == FSIM_C_LONG;
    if (t == FSIM_BOOL)
        return fsim_printf(e->a, "(%s) != 0", x);
    if (whole && (from != fsim_ctype_of(t) || t != FSIM_I64))
        return fsim_printf(e->a, "(%s)(%s)", fsim_storage_names[t], x);
    return from == fsim_ctype_of(t) ? x : fsim_printf(e->a, "(%s)(%s)", fsim_ctype_names[fsim_ctype_of(t)], x);
}

static fsim_variable elementwise(fsim_emitter *e, const fsim_node *n, int tensor, const fsim_where *w)
{
    const fsim_ctype c = fsim_ctype_of(n->dtype);
    const fsim_dtype made = e->g->tensor[tensor].dtype;
    const char *arg[4] = {"0", "0", "0", "0"};
    int depth = 0;
    for (int k = 0; k < n->args; k++) {
        const fsim_where at = fsim_through(e, w, &n->arg[k].map);
        const fsim_variable v = fsim_value(e, n->arg[k].tensor, &at);
        const fsim_ctype from = fsim_ctype_of(e->g->tensor[n->arg[k].tensor].dtype);
        arg[k] = from != c && c <= FSIM_C_DOUBLE && n->op != FSIM_OP_F4_VALUE
                     ? fsim_printf(e->a, "(%s)%s", fsim_ctype_names[c], v.name)
                     : v.name;
        depth = v.depth > depth ? v.depth : depth;
    }
    if (n->attrs.has_scalar && n->args < 2)
        arg[n->args] = fsim_literal(e, n->attrs.scalar, c);
    const char *text = NULL;
    if (n->op == FSIM_OP_POW && n->attrs.has_scalar &&
        c <= FSIM_C_DOUBLE) { /* the same instructions as the model counts */
        const double p = n->attrs.scalar;
        text = p == 2     ? fsim_printf(e->a, "%s * %s", arg[0], arg[0])
               : p == 3   ? fsim_printf(e->a, "%s * %s * %s", arg[0], arg[0], arg[0])
               : p == 0.5 ? fsim_printf(e->a, "fs_sqrt%s(%s)", fsim_ctype_suffix[c], arg[0])
                          : NULL;
    } else if (n->op == FSIM_OP_DIV && n->attrs.has_scalar) {
        text = fsim_printf(e->a, "%s * %s", arg[0], fsim_literal(e, 1 / n->attrs.scalar, c));
    } else if (n->op == FSIM_OP_POW && c > FSIM_C_DOUBLE) {
        text = fsim_printf(e->a, "fs_powi((fs_i64)%s, (fs_i64)%s)", arg[0], arg[1]);
    }
    if (!text) {
        const place at = place_of(e, n, w);
        text = expression_text(e, n, arg, &at);
        depth = at.depth > depth ? at.depth : depth;
    }
    if (n->rounds)
        text = rounded(e, made, text);
    depth = depth > 0 ? e->depth : 0;
    const char *name = fsim_fresh(e, "v");
    fsim_say(e, depth, "const %s %s = %s; /* %s */", fsim_ctype_names[fsim_ctype_of(made)], name,
             wrapped(e, made, c, text), n->name);
    return (fsim_variable){name, depth};
}

/* A permuted element: an element of the argument, negated where the operator says so. */
static fsim_variable permuted(fsim_emitter *e, const fsim_node *n, int tensor, const fsim_where *w)
{
    if (n->op == FSIM_OP_ROTATE_HALF)
        return elementwise(e, n, tensor, w);
    const fsim_where at = fsim_through(e, w, &n->arg[0].map);
    return fsim_value(e, n->arg[0].tensor, &at);
}

/* Where a cut leads to: the index along it (declared as `along`), and the element's number without it. number: that of
 * the element; NULL: it is at w, in a tensor of so many elements. */
static const char *behind_cut(fsim_emitter *e, const fsim_cut *t, const char *number, const fsim_where *w,
                              int64_t elems, const char *along)
{
    const long long delta = (long long)(t->source_from - t->from), inner = (long long)t->inner;
    const char *moved = delta == 0
                            ? along
                            : fsim_printf(e->a, "%s %c %lld", along, delta < 0 ? '-' : '+', delta < 0 ? -delta : delta),
               *high, *low = "";
    if (number) {
        const char *run = inner == 1 ? number : fsim_printf(e->a, "%s / %lld", number, inner);
        fsim_say(e, e->depth, "const fs_int %s = %s %% %lld;", along, run, (long long)t->extent);
        high = fsim_printf(e->a, "%s / %lld", number, inner * (long long)t->extent);
        low = inner > 1 ? fsim_printf(e->a, "%s %% %lld", number, inner) : "";
    } else {
        fsim_say(e, e->depth, "const fs_int %s = %s;", along, digit_at(e, elems, t->extent, inner, w).name);
        high = digit_at(e, elems, elems / (inner * t->extent), inner * t->extent, w).name;
        low = inner > 1 ? digit_at(e, elems, inner, 1, w).name : "";
    }
    const char *there = fsim_printf(e->a, "%s * %lld + %s", high, (long long)t->source_extent, moved);
    return inner > 1 ? fsim_printf(e->a, "(%s) * %lld + %s", there, inner, low) : there;
}

/* Concat, pad, roll: finds the argument in whose range the element lies. Each argument has cuts: dimensions with a
 * range of the result that it fills, innermost first. */
static fsim_variable assembled(fsim_emitter *e, const fsim_node *n, int tensor, const fsim_where *w)
{
    const fsim_ctype c = fsim_ctype_of(e->g->tensor[tensor].dtype);
    const char *name = fsim_fresh(e, "v");
    fsim_say(e, e->depth, "%s %s = %s; /* %s */", fsim_ctype_names[c], name,
             fsim_literal(e, n->op == FSIM_OP_PAD ? n->attrs.value : 0, c), n->name);
    for (int k = 0; k < n->args; k++) {
        const fsim_access *x = &n->arg[k];
        const char *test = "", *number = NULL;
        const int64_t elems = x->how == FSIM_READ_PIECE ? e->g->tensor[x->tensor].elems : 0;
        for (int i = 0; i < x->cuts;
             i++) { /* each cut turns an index in a dimension of `extent` into one in a dimension of source_extent */
            const fsim_cut *t = &x->cut[i];
            const char *along = fsim_fresh(e, "d"), *rest = fsim_fresh(e, "e"),
                       *there = behind_cut(e, t, number, w, e->g->tensor[tensor].elems, along);
            fsim_say(e, e->depth, "const fs_int %s = %s;", rest, there);
            const char *from = t->from > 0 ? fsim_printf(e->a, "%s >= %lld && ", along, (long long)t->from) : "";
            test = fsim_printf(e->a, "%s%s%s%s < %lld", test, *test ? " && " : "", from, along,
                               (long long)(t->from + t->size));
            number = rest;
        }
        fsim_open(e, *test ? "if (%s) {" : "{", test);
        number = number ? number : fsim_number(e, w).name;
        const char *inner = number;
        if (x->map.offset != 0 || strchr(number, ' ')) {
            inner = fsim_fresh(e, "e");
            fsim_say(e, e->depth, "const fs_int %s = %s + %lld;", inner, number, (long long)x->map.offset);
        }
        const fsim_where there = fsim_where_var(e, inner, elems);
        const fsim_variable v = fsim_value(e, x->tensor, &there);
        fsim_say(e, e->depth, "%s = %s;", name,
                 wrapped(e, e->g->tensor[tensor].dtype, fsim_ctype_of(e->g->tensor[x->tensor].dtype), v.name));
        fsim_close(e);
    }
    return (fsim_variable){name, e->depth};
}

/* An element of a table whose row is read from memory (gather, embedding). */
static fsim_variable gathered(fsim_emitter *e, const fsim_node *n, const fsim_where *w)
{
    const int table = n->arg[0].how == FSIM_READ_INDIRECT ? 0 : 1;
    const fsim_access *x = &n->arg[table];
    const fsim_where index_at = fsim_through(e, w, &n->arg[1 - table].map), base_at = fsim_through(e, w, &x->map);
    const fsim_variable index = fsim_value(e, n->arg[1 - table].tensor, &index_at), base = fsim_number(e, &base_at);
    const char *name = fsim_fresh(e, "e");
    fsim_say(e, e->depth, "const fs_int %s = %s + (fs_int)%s * %lld; /* %s */", name, base.name, index.name,
             (long long)x->any.stride, n->name);
    const fsim_where there = fsim_where_var(e, name, e->g->tensor[x->tensor].elems);
    return fsim_value(e, x->tensor, &there);
}

static fsim_variable computed(fsim_emitter *e, int member, int tensor, const fsim_where *w)
{
    const fsim_node *n = &e->g->node[e->group->member[member].node];
    if (e->computed[member].name)
        return (fsim_variable){n->results > 1 && tensor == n->result[1] ? e->computed[member].second
                                                                        : e->computed[member].name,
                               e->computed[member].depth};
    if (e->passes && e->passes[member] >= 0) {
        const fsim_access *x = &n->arg[e->passes[member]];
        const fsim_where at = fsim_through(e, w, &x->map);
        return fsim_value(e, x->tensor, &at);
    }
    if (member == e->array) { /* an earlier loop has filled the array */
        e->array_at = *w;
        e->array_wanted = true;
        return (fsim_variable){fsim_printf(e->a, "%s[%s]", e->array_name, e->base[0].reduced),
                               e->base[0].reduced_depth};
    }
    switch (fsim_ops[n->op].class) {
    case FSIM_PERMUTE:
        return permuted(e, n, tensor, w);
    case FSIM_ASSEMBLE:
        return assembled(e, n, tensor, w);
    case FSIM_GATHER:
        return gathered(e, n, w);
    case FSIM_CONTRACTION:
    case FSIM_WINDOW:
        return fsim_direct_sum(e, n, w);
    default:
        return elementwise(e, n, tensor, w);
    }
}

/* Stores a value where it is computed, if no loop of the kernel stores it: only a part of the kernel's points
 * compute it. */
static void store_in_passing(fsim_emitter *e, int member, int tensor, const fsim_where *w, const char *x)
{
    if (!e->stored[member])
        fsim_store_value(e, tensor, w, x, true);
}

fsim_variable fsim_value(fsim_emitter *e, int tensor, const fsim_where *w)
{
    const fsim_known *known = recall(e, tensor, w);
    if (known)
        return (fsim_variable){known->name, known->depth};
    const int member = fsim_maker_in(e, tensor);
    if (member < 0)
        return load(e, tensor, w);
    const fsim_variable v = computed(e, member, tensor, w);
    store_in_passing(e, member, tensor, w, v.name);
    return remember(e, tensor, w, v);
}
