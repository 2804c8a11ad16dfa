/* SPDX-License-Identifier: Apache-2.0 */
/* layered.h: random stacks of equal layers, as descriptions that a test can simplify and write as a workload. A layer
 * gets one to three tensors from the layer below and hands as many on. All layers read the same inputs and weights,
 * and each has weights of its own; what stands before the first layer and behind the last one is other operators, and
 * one layer may differ. */
#ifndef FUSESIM_TESTS_LAYERED_H
#define FUSESIM_TESTS_LAYERED_H

#include "base/arena.h"
#include "random.h"
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { BORDERS_MOST = 3, OPS_MOST = 4, LAYERS_MOST = 64 };

/* The values of a layer: what it gets from below, what all layers read, a vector of its own, its results. */
enum { SHARED = BORDERS_MOST, VECTOR, COLUMN, OWN_VECTOR, RESULT, VALUES = RESULT + OPS_MOST };

typedef enum {
    UNARY,
    BINARY,
    OVER_ROWS, /* a reduction of each row */
    OVER_COLUMNS,
    CAST,
    LINEAR,     /* by a weight that all layers share */
    LINEAR_OWN, /* by a weight of its own */
    MATMUL,
    TRANSPOSE,
    DROPOUT,
    SCAN,
    CONCAT,
    SLICE,
    ROLL,
    OPERATORS
} operator_kind;

typedef struct {
    operator_kind kind;
    int x, y;    /* values */
    int variant; /* which of the operators of this kind */
} layer_op;

typedef struct {
    int ops;
    layer_op op[OPS_MOST];
    int next[BORDERS_MOST]; /* the value that becomes each tensor of the border above */
} layer_block;

/* Of [rows or 1, columns x 2^(width - 2) or 1], width being 0 to 3; of f16 instead of f32. */
typedef struct {
    bool tall, half;
    int width;
} value_shape;

typedef struct {
    int rows, columns, layers, borders;
    value_shape border[BORDERS_MOST];
    layer_block head, layer, odd, tail;
    int odd_at;               /* the layer that differs; -1: none */
    int kept, kept_at;        /* the result that is materialized, -1: none; in this layer, -1: in all */
    int split_a, split_b;     /* results that `separate` names, of a layer and of the next; -1: none */
    bool repeated;            /* written with `repeat` where it can be */
    int gpu, l2, launch, sms; /* the GPU and what is changed of it: layered_test.c */
    int regime, objective, haste;
    bool warm, strict, recompute;
} layered;

static bool same_shape(value_shape x, value_shape y)
{
    return x.tall == y.tall && x.half == y.half && x.width == y.width;
}

static const value_shape full_shape = {true, false, 2};

/* The shapes of a layer's values before its results. */
static void shapes_below(const layered *g, value_shape *shape)
{
    for (int i = 0; i < BORDERS_MOST; i++)
        shape[i] = i < g->borders ? g->border[i] : full_shape;
    shape[SHARED] = full_shape;
    shape[VECTOR] = shape[OWN_VECTOR] = (value_shape){false, false, 2};
    shape[COLUMN] = (value_shape){true, false, 0};
}

/* Can the operator be applied? *out is then the shape of its result. */
static bool applies(const layered *g, const layer_op *o, const value_shape *shape, value_shape *out)
{
    const value_shape x = shape[o->x], y = shape[o->y];
    const bool whole = x.tall && x.width == 2;
    *out = x;
    switch (o->kind) {
    case UNARY:
        return true;
    case BINARY:
        *out = (value_shape){x.tall || y.tall, x.half && y.half, x.width > y.width ? x.width : y.width};
        return o->x != o->y && (x.width == y.width || x.width == 0 || y.width == 0);
    case OVER_ROWS:
        out->width = 0;
        return x.width > 0;
    case OVER_COLUMNS:
        out->tall = false;
        return x.tall && x.width > 0;
    case CAST:
        out->half = !x.half;
        return true;
    case LINEAR:
    case LINEAR_OWN:
        return whole && !x.half;
    case MATMUL:
        return whole && same_shape(x, y) && g->rows == g->columns;
    case TRANSPOSE:
        return whole && g->rows == g->columns;
    case DROPOUT:
    case SCAN:
        return x.tall && x.width > 0;
    case CONCAT:
        out->width++;
        return x.tall && (x.width == 1 || x.width == 2) && same_shape(x, y);
    case SLICE:
        out->width--;
        return x.width > 1;
    case ROLL:
        return x.tall && x.width > 1;
    default:
        return false;
    }
}

/* One of the values below `count`, the newer the likelier. */
static int drawn_value(const layered *g, int count)
{
    if (count > RESULT && draw(5) < 3)
        return count - 1;
    const int v = (int)draw((uint32_t)count);
    return v < BORDERS_MOST && v >= g->borders ? 0 : v;
}

static void draw_op(const layered *g, layer_op *o, value_shape *shape, int count)
{
    static const operator_kind often[] = {UNARY,  UNARY,     BINARY,       BINARY,     BINARY,
                                          BINARY, OVER_ROWS, OVER_COLUMNS, LINEAR_OWN, LINEAR};
    for (int attempt = 0; attempt < 30; attempt++) {
        *o = (layer_op){draw(2) ? often[draw(sizeof often / sizeof *often)] : (operator_kind)draw(OPERATORS),
                        drawn_value(g, count), drawn_value(g, count), (int)draw(5)};
        if (o->x == o->y)
            o->y = (int)draw(2) ? SHARED : 0; /* a residual, or what all layers read */
        if (applies(g, o, shape, &shape[count]))
            return;
    }
    *o = (layer_op){UNARY, 0, 0, 0};
    shape[count] = shape[0];
}

static bool is_read(const layer_block *b, int value)
{
    bool read = false;
    for (int i = 0; i < b->ops; i++)
        read = read || b->op[i].x == value ||
               (b->op[i].y == value && (b->op[i].kind == BINARY || b->op[i].kind == CONCAT || b->op[i].kind == MATMUL));
    return read;
}

/* A block of so many operators. What it hands on has the shapes of what it got; the first tensor is a new one where
 * that can be. */
static void draw_block(const layered *g, layer_block *b, int ops)
{
    value_shape shape[VALUES];
    shapes_below(g, shape);
    *b = (layer_block){.ops = ops};
    for (int i = 0; i < ops; i++)
        draw_op(g, &b->op[i], shape, RESULT + i);
    for (int k = 0; k < g->borders; k++) {
        b->next[k] = k;
        for (int i = 0; i < ops; i++)
            if (same_shape(shape[RESULT + i], g->border[k]) && (k == 0 || !is_read(b, RESULT + i) || draw(2)))
                b->next[k] = RESULT + i;
        const int other = (int)draw((uint32_t)g->borders);
        if (k > 0 && same_shape(g->border[other], g->border[k]) && draw(3) == 0)
            b->next[k] = other; /* the border before: a tensor that lives on */
    }
    if (ops > 0 && b->next[0] == 0 && g->layers > 0) { /* the last operator makes what the next layer gets */
        layer_op *last = &b->op[ops - 1];
        *last = (layer_op){BINARY, ops > 1 && shape[RESULT + ops - 2].width % 2 == 0 ? RESULT + ops - 2 : 0, SHARED,
                           (int)draw(4)};
        shape[RESULT + ops - 1] = full_shape;
        for (int k = 1; k < g->borders; k++)
            if (b->next[k] == RESULT + ops - 1 && !same_shape(full_shape, g->border[k]))
                b->next[k] = k;
        b->next[0] = RESULT + ops - 1;
    }
}

/* A random stack: `most` primitives at most. */
static layered draw_layered(int most)
{
    static const int shape[][2] = {{64, 64},    {256, 256}, {1024, 1024}, {2048, 2048},
                                   {4096, 256}, {16, 8192}, {512, 2048},  {3, 100000}};
    static const value_shape others[] = {
        {true, false, 2}, {true, false, 2}, {true, false, 0}, {true, true, 2}, {true, false, 1}};
    const int s = (int)draw(sizeof shape / sizeof *shape);
    layered g = {.rows = shape[s][0],
                 .columns = shape[s][1],
                 .layers = 2 + (int)draw(3),
                 .borders = 1 + (int)draw(3),
                 .odd_at = -1,
                 .kept = -1,
                 .split_a = -1};
    g.border[0] = full_shape;
    for (int k = 1; k < g.borders; k++)
        g.border[k] = others[draw(sizeof others / sizeof *others)];
    int ops = 2 + (int)draw(3);
    while (ops > 2 && ops * g.layers > most)
        ops--;
    while (g.layers > 2 && ops * g.layers > most)
        g.layers--;
    const int left = most - ops * g.layers;
    draw_block(&g, &g.layer, ops);
    draw_block(&g, &g.head, left > 0 ? (int)draw(2) : 0);
    draw_block(&g, &g.tail, left > 1 ? (int)draw(2) : 0);
    g.odd = g.layer;
    if (draw(6) == 0) {
        draw_block(&g, &g.odd, ops);
        g.odd_at = (int)draw((uint32_t)g.layers);
    }
    if (draw(6) == 0) {
        g.kept = (int)draw((uint32_t)ops);
        g.kept_at = draw(2) ? -1 : (int)draw((uint32_t)g.layers);
    }
    if (draw(12) == 0) {
        g.split_a = (int)draw((uint32_t)ops);
        g.split_b = (int)draw((uint32_t)ops);
    }
    g.repeated = draw(3) == 0;
    return g;
}

/* A stack's workload as it is written. */
typedef struct {
    fsim_arena *a;
    const layered *g;
    const char *border[BORDERS_MOST], *lines, *kept, *apart, *indent;
} layer_text;

static int columns_of(const layered *g, value_shape s)
{
    const int of_width[] = {1, g->columns / 2, g->columns, g->columns * 2};
    return of_width[s.width];
}

static const char *op_text(fsim_arena *a, const layer_op *o, const char *x, const char *y, const char *own)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg", "sqrt"}, *const binary[] = {"add", "mul",
                                                                                                  "maximum", "sub",
                                                                                                  "div"};
    static const struct {
        const char *op, *more;
        int operands;
    } rest[OPERATORS] = {[OVER_COLUMNS] = {"sum", ", dims: [0], keepdim: true", 1},
                         [MATMUL] = {"matmul", "", 2},
                         [TRANSPOSE] = {"transpose", ", dims: [0, 1]", 1},
                         [DROPOUT] = {"dropout", ", p: 0.5", 1},
                         [SCAN] = {"cumsum", ", dim: 1", 1},
                         [CONCAT] = {"concat", ", dim: 1", 2},
                         [ROLL] = {"roll", ", dims: [1], roll: [3]", 1}};
    switch (o->kind) {
    case UNARY:
        return fsim_printf(a, "op: %s, in: %s", unary[o->variant], x);
    case BINARY:
        return fsim_printf(a, "op: %s, in: [%s, %s]", binary[o->variant], x, y);
    case OVER_ROWS:
        return fsim_printf(a, "op: %s, in: %s, dims: [1], keepdim: true", o->variant % 2 ? "max" : "sum", x);
    case LINEAR:
        return fsim_printf(a, "op: linear, in: [%s, square]", x);
    case LINEAR_OWN:
        return fsim_printf(a, "op: linear, in: [%s, own_square%s]", x, own);
    default:
        return rest[o->kind].operands == 2
                   ? fsim_printf(a, "op: %s, in: [%s, %s]%s", rest[o->kind].op, x, y, rest[o->kind].more)
                   : fsim_printf(a, "op: %s, in: %s%s", rest[o->kind].op, x, rest[o->kind].more);
    }
}

/* Writes a block, whose names end in `own`, and moves the border above it. False where an operator does not apply. */
static bool write_block(layer_text *t, const layer_block *b, const char *own)
{
    fsim_arena *a = t->a;
    value_shape shape[VALUES];
    const char *name[VALUES] = {t->border[0], t->border[1], t->border[2], "shared", "vector", "column"};
    shapes_below(t->g, shape);
    name[OWN_VECTOR] = fsim_printf(a, "own_vector%s", own);
    for (int i = 0; i < b->ops; i++) {
        const layer_op *o = &b->op[i];
        value_shape made;
        if (o->x >= RESULT + i || o->y >= RESULT + i || !applies(t->g, o, shape, &made))
            return false;
        shape[RESULT + i] = made;
        name[RESULT + i] = fsim_printf(a, "t%d%s", i, own);
        const char *more = o->kind == CAST    ? fsim_printf(a, ", dtype: %s", made.half ? "f16" : "f32")
                           : o->kind == SLICE ? fsim_printf(a, ", start: 0, size: %d", columns_of(t->g, made))
                                              : "";
        const char *op = o->kind == CAST    ? fsim_printf(a, "op: cast, in: %s", name[o->x])
                         : o->kind == SLICE ? fsim_printf(a, "op: slice, in: %s, dim: 1", name[o->x])
                                            : op_text(a, o, name[o->x], name[o->y], own);
        t->lines = fsim_printf(a, "%s%s- {%s%s, out: %s}\n", t->lines, t->indent, op, more, name[RESULT + i]);
    }
    const char *next[BORDERS_MOST] = {0};
    for (int k = 0; k < t->g->borders; k++) {
        if (b->next[k] >= RESULT + b->ops || !same_shape(shape[b->next[k]], t->g->border[k]))
            return false;
        next[k] = name[b->next[k]];
    }
    memcpy(t->border, next, sizeof next);
    return true;
}

/* Can the layers be a repeat block: is each tensor that they hand on a different result, or the one that they got? */
static bool repeats(const layered *g)
{
    bool can = g->repeated && g->odd_at < 0 && g->kept < 0 && g->split_a < 0;
    for (int k = 0; k < g->borders; k++) {
        const int next = g->layer.next[k];
        can = can && (next == k || next >= RESULT);
        for (int i = 0; i < k; i++)
            can = can && (next != g->layer.next[i]);
    }
    for (int k = 0; k < g->borders; k++) /* and the first layer gets different ones */
        for (int i = 0; i < k; i++)
            can = can && g->head.next[i] != g->head.next[k];
    return can;
}

static bool write_layers(layer_text *t)
{
    const layered *g = t->g;
    fsim_arena *a = t->a;
    if (repeats(g)) {
        const char *before[BORDERS_MOST], *carry = "", *head = t->lines;
        memcpy(before, t->border, sizeof before);
        t->lines = "";
        t->indent = "      ";
        if (!write_block(t, &g->layer, ""))
            return false;
        t->indent = "  ";
        for (int k = 0; k < g->borders; k++)
            if (before[k] != t->border[k])
                carry = fsim_printf(a, "%s%s%s: %s", carry, *carry ? ", " : "", before[k], t->border[k]);
        t->lines = fsim_printf(a,
                               "%s  - repeat: %d\n    carry: {%s}\n    tensors:\n      own_vector: {shape: [1, %d], "
                               "dtype: f32, role: weight}\n"
                               "      own_square: {shape: [%d, %d], dtype: f32, role: weight}\n    operators:\n%s",
                               head, g->layers, carry, g->columns, g->columns, g->columns, t->lines);
        return true;
    }
    for (int l = 0; l < g->layers; l++) {
        if (!write_block(t, l == g->odd_at ? &g->odd : &g->layer, fsim_printf(a, "_%d", l)))
            return false;
        if (g->kept >= 0 && g->kept < g->layer.ops && (g->kept_at < 0 || g->kept_at == l))
            t->kept = fsim_printf(a, "%s%st%d_%d", t->kept, *t->kept ? ", " : "", g->kept, l);
        if (g->split_a >= 0 && g->split_a < g->layer.ops && g->split_b < g->layer.ops && l > 0)
            t->apart = fsim_printf(a, "%s%s[t%d_%d, t%d_%d]", t->apart, *t->apart ? ", " : "", g->split_a, l - 1,
                                   g->split_b, l);
    }
    return true;
}

/* Does the text have this word? */
static bool mentions(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if (!isalnum((unsigned char)at[-1]) && at[-1] != '_' && !isalnum((unsigned char)at[n]) && at[n] != '_')
            return true;
    return false;
}

/* Adds the tensor to the list if an operator reads it. */
static void declare(layer_text *t, const char **list, const char *name, value_shape shape, const char *role)
{
    const layered *g = t->g;
    if (mentions(t->lines, name))
        *list = fsim_printf(t->a, "%s  %s: {shape: [%d, %d], dtype: %s, role: %s}\n", *list, name,
                            shape.tall ? g->rows : 1, columns_of(g, shape), shape.half ? "f16" : "f32", role);
}

/* The workload; NULL where an operator does not apply to what it gets. In a. */
static const char *layered_text(const layered *g, fsim_arena *a)
{
    layer_text t = {a, g, {"in0", "in1", "in2"}, "", "", "", "  "};
    if (!write_block(&t, &g->head, "_head") || !write_layers(&t) || !write_block(&t, &g->tail, "_tail"))
        return NULL;
    const char *list = "";
    for (int k = 0; k < g->borders; k++)
        declare(&t, &list, fsim_printf(a, "in%d", k), g->border[k], "input");
    declare(&t, &list, "shared", full_shape, "input");
    declare(&t, &list, "vector", (value_shape){false, false, 2}, "weight");
    declare(&t, &list, "column", (value_shape){true, false, 0}, "input");
    for (int l = -2; l < g->layers; l++) {
        const char *own = l == -2 ? "_head" : l == -1 ? "_tail" : fsim_printf(a, "_%d", l);
        declare(&t, &list, fsim_printf(a, "own_vector%s", own), (value_shape){false, false, 2}, "weight");
        const char *square = l < 0 && own[1] == 'h' ? "square" : fsim_printf(a, "own_square%s", own);
        for (int twice = 0; twice < 1 + (l == -2); twice++, square = "own_square_head")
            if (mentions(t.lines, square))
                list = fsim_printf(a, "%s  %s: {shape: [%d, %d], dtype: f32, role: weight}\n", list, square, g->columns,
                                   g->columns);
    }
    return fsim_printf(a, "name: layers\ntensors:\n%soperators:\n%s%s%s", list, t.lines,
                       *t.kept ? fsim_printf(a, "materialize: [%s]\n", t.kept) : "",
                       *t.apart ? fsim_printf(a, "separate: [%s]\n", t.apart) : "");
}

#endif
