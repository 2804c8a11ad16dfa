/* SPDX-License-Identifier: Apache-2.0 */
/* op_loss.c: the losses of classes, and the selection of boxes. */
#include "import/onnx/import.h"
#include "import/onnx/rows.h"

#include <math.h>
#include <string.h>

/* x[N, C, ...] and the class of each target[N, ...]; weights[C] of classes, NULL: none. */
typedef struct {
    fsim_operand *x, *target, *weight;
    bool ignores; /* one class counts nothing */
    int64_t ignored;
    const char *reduction; /* "none", "mean", "sum" */
} loss;

static fsim_onnx_at step_or_out(bool step, const char *name) { return step ? FSIM_STEP(name) : FSIM_OUT(0); }

/* x at the class of each target. */
static fsim_operand *picked(fsim_onnx_call *c, const loss *l)
{
    fsim_shape one = l->x->shape;
    one.dim[1] = 1;
    fsim_operand *index = fsim_onnx_view(c, FSIM_STEP("index"), l->target, &one);
    fsim_operand *y = fsim_onnx_emit(c, FSIM_STEP("at_target"), "gather", &one, l->x->dtype, FSIM_ARGS(l->x, index));
    if (y)
        fsim_onnx_put_int(c, "dim", 1);
    return fsim_onnx_view(c, FSIM_STEP("picked"), y, &l->target->shape);
}

/* What each target counts: its class's weight, or 1, and 0 where it is ignored; NULL: all count 1. */
static fsim_operand *counts(fsim_onnx_call *c, const loss *l)
{
    const fsim_shape *s = &l->target->shape;
    fsim_operand *own = NULL, *counted = NULL;
    if (l->weight)
        own = fsim_onnx_emit(c, FSIM_STEP("weights"), "gather", s, l->weight->dtype, FSIM_ARGS(l->weight, l->target));
    if (!l->ignores)
        return own;
    counted = fsim_onnx_emit(c, FSIM_STEP("counted"), "ne", s, FSIM_BOOL, FSIM_ARGS(l->target));
    if (counted)
        fsim_onnx_put_int(c, "scalar", l->ignored);
    if (!own)
        return fsim_onnx_as(c, FSIM_STEP("counts"), counted, l->x->dtype);
    own = fsim_onnx_emit(c, FSIM_STEP("counts"), "where", s, own->dtype, FSIM_ARGS(counted, own));
    if (own)
        fsim_onnx_put_number(c, "other", 0);
    return own;
}

static fsim_operand *sum_of(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x)
{
    const fsim_onnx_dims all = fsim_onnx_dims_of(0, x ? x->shape.rank : 0);
    return fsim_onnx_reduced(c, at, op, x, &all, false);
}

static bool write_loss(fsim_onnx_call *c, const loss *l)
{
    const bool none = strcmp(l->reduction, "none") == 0, mean = strcmp(l->reduction, "mean") == 0;
    const bool counted = l->weight || l->ignores;
    fsim_operand *y = fsim_onnx_unary(c, step_or_out(!none || counted, "losses"), "neg", picked(c, l));
    fsim_operand *count = y && counted ? counts(c, l) : NULL;
    if (counted)
        y = fsim_onnx_binary(c, step_or_out(!none, "counted_losses"), "mul", y, count);
    if (none)
        return y != NULL;
    y = sum_of(c, step_or_out(mean && counted, "sum"), mean && !counted ? "mean" : "sum", y);
    if (!mean || !counted)
        return y != NULL;
    return fsim_onnx_binary(c, FSIM_OUT(0), "div", y, sum_of(c, FSIM_STEP("count"), "sum", count)) != NULL;
}

static bool read_loss(fsim_onnx_call *c, loss *l)
{
    *l = (loss){.x = fsim_onnx_need(c, 0),
                .target = fsim_onnx_need(c, 1),
                .weight = fsim_onnx_in(c, 2),
                .ignores = fsim_onnx_has(c, "ignore_index"),
                .ignored = fsim_onnx_int(c, "ignore_index", -100),
                .reduction = fsim_onnx_string(c, "reduction", "mean")};
    if (!l->x || !l->target)
        return false;
    const fsim_shape *x = &l->x->shape, *t = &l->target->shape;
    bool fits = x->rank >= 2 && t->rank == x->rank - 1 && fsim_onnx_elems(l->x) > 0 && x->dim[0] == t->dim[0];
    for (int d = 2; fits && d < x->rank; d++)
        fits = x->dim[d] == t->dim[d - 1];
    return (fits && (!l->weight || fsim_onnx_elems(l->weight) == x->dim[1])) ||
           fsim_onnx_refuse(c, "wants x[N, C, ...] and target[N, ...]; found %s and %s", fsim_shape_text(c->a, x),
                            fsim_shape_text(c->a, t));
}

bool fsim_onnx_op_nll_loss(fsim_onnx_call *c)
{
    loss l;
    return read_loss(c, &l) && write_loss(c, &l);
}

/* The same of the logarithms of softmax, which are output 1. */
bool fsim_onnx_op_softmax_loss(fsim_onnx_call *c)
{
    loss l;
    if (!read_loss(c, &l))
        return false;
    l.x = fsim_onnx_unary(c, fsim_onnx_wants(c, 1) ? FSIM_OUT(1) : FSIM_STEP("log_softmax"), "log_softmax", l.x);
    if (l.x)
        fsim_onnx_put_int(c, "dim", 1);
    return l.x && write_loss(c, &l);
}

/* Boxes that don't overlap others much: how many is data, at most so many of each class of each example. */
bool fsim_onnx_op_non_max_suppression(fsim_onnx_call *c)
{
    fsim_operand *boxes = fsim_onnx_need(c, 0), *scores = fsim_onnx_need(c, 1);
    double each = 0;
    if (!boxes || !scores)
        return false;
    if (boxes->shape.rank != 3 || scores->shape.rank != 3)
        return fsim_onnx_refuse(c, "wants boxes[B, n, 4] and scores[B, classes, n]; found %s and %s",
                                fsim_shape_text(c->a, &boxes->shape), fsim_shape_text(c->a, &scores->shape));
    const int64_t *s = scores->shape.dim, lists = s[0] * s[1];
    const bool known = fsim_onnx_number_of(fsim_onnx_in(c, 2), &each) && each >= 0 && each < (double)s[2];
    const int64_t most = lists * (known ? (int64_t)each : s[2]);
    const fsim_shape out = {.rank = 2, .dim = {fsim_onnx_ask(c, 0, 0, most), 3}};
    return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, out, FSIM_I64});
}
