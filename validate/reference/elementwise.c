/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c: elementwise, random and permuting primitives, a point at a time. Bounds of arguments are propagated by
 * evaluating at the corners of their box: all functions here are monotone or nearly so over so small a box; those that
 * are not are named. */
#include "validate/reference/interpret.h"

#include <math.h>

enum { MOST_ARGS = 3 };

/* Where a point lies in the result. */
typedef struct {
    int64_t index, row, col, cols;
} place;

static double masked(fsim_op op, double x, bool inside)
{
    return inside ? x : op == FSIM_OP_CAUSAL_MASK ? -INFINITY : 0;
}

static double evaluate(const fsim_node *n, const double *x, const place *at)
{
    const fsim_attrs *a = &n->attrs;
    const double low = a->has_min ? a->min : n->op == FSIM_OP_HARDTANH ? -1 : -INFINITY;
    const double high = a->has_max ? a->max : n->op == FSIM_OP_HARDTANH ? 1 : INFINITY;
    switch (n->op) {
    case FSIM_OP_ADD:
        return x[0] + x[1];
    case FSIM_OP_SUB:
        return x[0] - x[1];
    case FSIM_OP_MUL:
        return x[0] * x[1];
    case FSIM_OP_DIV:
        return x[0] / x[1];
    case FSIM_OP_POW:
        return pow(x[0], x[1]);
    case FSIM_OP_MAXIMUM:
        return x[0] > x[1] || isnan(x[0]) ? x[0] : x[1];
    case FSIM_OP_MINIMUM:
        return x[0] < x[1] || isnan(x[0]) ? x[0] : x[1];
    case FSIM_OP_NEG:
        return -x[0];
    case FSIM_OP_ABS:
        return fabs(x[0]);
    case FSIM_OP_EXP:
        return exp(x[0]);
    case FSIM_OP_LOG:
        return log(x[0]);
    case FSIM_OP_SQRT:
        return sqrt(x[0]);
    case FSIM_OP_RSQRT:
        return 1 / sqrt(x[0]);
    case FSIM_OP_RECIPROCAL:
        return 1 / x[0];
    case FSIM_OP_SIN:
        return sin(x[0]);
    case FSIM_OP_COS:
        return cos(x[0]);
    case FSIM_OP_ERF:
        return erf(x[0]);
    case FSIM_OP_TANH:
        return tanh(x[0]);
    case FSIM_OP_SIGMOID:
        return 1 / (1 + exp(-x[0]));
    case FSIM_OP_RELU:
        return x[0] > 0 || isnan(x[0]) ? x[0] : 0;
    case FSIM_OP_RELU6:
        return x[0] > 6 ? 6 : x[0] > 0 || isnan(x[0]) ? x[0] : 0;
    case FSIM_OP_LEAKY_RELU:
        return x[0] > 0 ? x[0] : a->alpha * x[0];
    case FSIM_OP_ELU:
        return x[0] > 0 ? x[0] : a->alpha * expm1(x[0]);
    case FSIM_OP_SELU:
        return 1.05070098735548 * (x[0] > 0 ? x[0] : 1.67326324235437 * expm1(x[0]));
    case FSIM_OP_SOFTPLUS:
        return x[0] > 20 ? x[0] : log1p(exp(x[0]));
    case FSIM_OP_HARDTANH:
    case FSIM_OP_CLAMP:
        return isnan(x[0]) ? x[0] : fmin(fmax(x[0], low), high);
    case FSIM_OP_HARDSIGMOID:
        return fmin(fmax(x[0] / 6 + 0.5, 0), 1);
    case FSIM_OP_HARDSWISH:
        return x[0] * fmin(fmax(x[0] + 3, 0), 6) / 6;
    case FSIM_OP_EQ:
        return x[0] == x[1];
    case FSIM_OP_NE:
        return x[0] != x[1];
    case FSIM_OP_LT:
        return x[0] < x[1];
    case FSIM_OP_LE:
        return x[0] <= x[1];
    case FSIM_OP_GT:
        return x[0] > x[1];
    case FSIM_OP_GE:
        return x[0] >= x[1];
    case FSIM_OP_WHERE:
        return x[0] != 0 ? x[1] : x[2];
    case FSIM_OP_MASKED_FILL:
        return x[1] != 0 ? a->value : x[0];
    case FSIM_OP_CAST:
        return fsim_dtype_floating(a->dtype) ? x[0] : fsim_stored(a->dtype, x[0]);
    case FSIM_OP_TRIL:
    case FSIM_OP_CAUSAL_MASK:
        return masked(n->op, x[0], at->col <= at->row + a->k);
    case FSIM_OP_TRIU:
        return masked(n->op, x[0], at->col >= at->row + a->k);
    case FSIM_OP_FILL:
        return a->value;
    case FSIM_OP_SMOOTH_L1:
        return fabs(x[0]) < 1 ? 0.5 * x[0] * x[0] : fabs(x[0]) - 0.5;
    case FSIM_OP_XLOGX:
        return x[0] > 0 ? x[0] * log(x[0]) : 0;
    case FSIM_OP_DROPOUT:
        return fsim_dropout_keeps(at->index, a->p) ? x[0] / (1 - a->p) : 0;
    case FSIM_OP_ROTATE_HALF:
        return at->col < at->cols / 2 ? -x[0] : x[0];
    default:
        return x[0]; /* copies and permutes */
    }
}

/* How a device's function errs, in units of its arithmetic: `ulps` of the result and `of_x` of |x| times it (an
 * exponential's argument is rounded before it is taken), `flat` units besides (differences inside). ulps 0: no
 * arithmetic, one of the arguments or a constant comes out. */
typedef struct {
    double ulps, of_x, flat;
} error;

static error error_of(const fsim_node *n)
{
    switch (n->op) {
    case FSIM_OP_ADD:
    case FSIM_OP_SUB:
    case FSIM_OP_MUL:
        return (error){1, 0, 0};
    case FSIM_OP_DIV:
    case FSIM_OP_SQRT:
    case FSIM_OP_RECIPROCAL:
    case FSIM_OP_SMOOTH_L1:
    case FSIM_OP_LEAKY_RELU:
        return (error){3, 0, 0};
    case FSIM_OP_DROPOUT:
        return (error){3 + (n->attrs.p < 1 ? 2 * fabs(n->attrs.p) / (1 - n->attrs.p) : 0), 0,
                       0}; /* 1 - p loses digits of p */
    case FSIM_OP_RSQRT:
    case FSIM_OP_LOG:
        return (error){4, 0, 0};
    case FSIM_OP_EXP:
        return (error){4, 2, 0};
    case FSIM_OP_SIN:
    case FSIM_OP_COS:
        return (error){4, 0, 4};
    case FSIM_OP_POW:
        return (error){8, 0, 0}; /* and of the logarithm, see rounding_of */
    case FSIM_OP_ERF:
    case FSIM_OP_XLOGX:
    case FSIM_OP_HARDSWISH:
        return (error){6, 0, 0};
    case FSIM_OP_TANH:
        return (error){8, 0, 0};
    case FSIM_OP_SIGMOID:
    case FSIM_OP_SOFTPLUS:
        return (error){8, 2, 0};
    case FSIM_OP_ELU:
        return (error){4, 0, 4 * fabs(n->attrs.alpha)};
    case FSIM_OP_SELU:
        return (error){4, 0, 8};
    case FSIM_OP_HARDSIGMOID:
        return (error){3, 0, 2};
    default:
        return (error){0, 0, 0};
    }
}

static double rounding_of(const fsim_node *n, const error *e, double unit, const double *x, double v)
{
    if (e->ulps == 0 || !isfinite(v))
        return 0;
    const double tiny = v != 0 && fabs(v) < 0x1p-100 && unit > 0x1p-30 ? 0x1p-126 : 0; /* flushed to zero */
    if (n->op == FSIM_OP_POW) {
        const double y = x[1];
        const bool plain = y == 2 || y == 3 || y == 0.5;
        return (plain ? 3 : e->ulps + (x[0] > 0 ? 2 * fabs(y * log(x[0])) : 4 * fabs(y))) * unit * fabs(v) + tiny;
    }
    return (e->ulps + (v != 0 && e->of_x > 0 ? e->of_x * fabs(x[0]) : 0)) * unit * fabs(v) + e->flat * unit + tiny;
}

/* Where a function jumps, or has no bound, somewhere between the corners. */
static bool jumps(const fsim_node *n, const double *x, const double *b)
{
    switch (n->op) {
    case FSIM_OP_DIV:
        return b[1] > 0 && fabs(x[1]) <= b[1];
    case FSIM_OP_RECIPROCAL:
        return b[0] > 0 && fabs(x[0]) <= b[0];
    case FSIM_OP_POW:
        return b[0] > 0 && x[1] - b[1] < 0 && fabs(x[0]) <= b[0];
    case FSIM_OP_EQ:
    case FSIM_OP_NE:
    case FSIM_OP_LT:
    case FSIM_OP_LE:
    case FSIM_OP_GT:
    case FSIM_OP_GE:
        return b[0] + b[1] > 0 && !(fsim_apart(x[0], x[1]) > b[0] + b[1]);
    case FSIM_OP_CAST: {
        static const int bits[FSIM_DTYPE_COUNT] = {
            [FSIM_I64] = 63, [FSIM_I32] = 31, [FSIM_I16] = 15, [FSIM_I8] = 7, [FSIM_U8] = 8};
        const fsim_dtype t = n->attrs.dtype;
        if (fsim_dtype_floating(t))
            return false;
        if (t == FSIM_BOOL)
            return b[0] > 0 && fabs(x[0]) <= b[0];
        return !(fabs(x[0]) + b[0] < ldexp(1, bits[t])) ||
               (t == FSIM_U8 && x[0] - b[0] <= -1); /* beyond its range a device saturates, or not */
    }
    default:
        return false;
    }
}

/* The deviation of the result over the box, and how much of it is shared. */
static void spread_of(const fsim_node *n, int args, const double *x, const double *b, const double *shared,
                      const place *at, double v, double *own, double *of_shared)
{
    double total = 0, single = 0, part = 0, corner[MOST_ARGS];
    *own = *of_shared = 0;
    for (int i = 0; i < args; i++)
        if (isinf(b[i])) {
            *own = INFINITY;
            return;
        }
    if (jumps(n, x, b)) {
        *own = INFINITY;
        return;
    }
    if (n->op == FSIM_OP_SIN || n->op == FSIM_OP_COS) {
        *of_shared = fmin(shared[0], 2);
        *own = fmin(b[0], 2) - *of_shared;
        return;
    }
    for (int i = 0; i < args; i++) {
        double most = 0;
        if (b[i] == 0)
            continue;
        for (int side = -1; side <= 1; side += 2) {
            for (int k = 0; k < args; k++)
                corner[k] = k == i ? x[k] + side * b[k] : x[k];
            most = fmax(most, fsim_apart(evaluate(n, corner, at), v));
        }
        single += most;
        part += most * (shared[i] / b[i]);
        total = fmax(total, most);
    }
    for (int mask = 0; mask < 1 << args && total < single; mask++) { /* total == single: one argument moves */
        for (int k = 0; k < args; k++)
            corner[k] = x[k] + (mask >> k & 1 ? b[k] : -b[k]);
        total = fmax(total, fsim_apart(evaluate(n, corner, at), v));
    }
    if (isinf(total)) {
        *own = INFINITY;
        return;
    }
    *of_shared = single > 0 ? total * fmin(part / single, 1) : 0;
    *own = total - *of_shared;
}

/* A condition is settled before anything else: what it does not choose does not matter, and where it is free both may
 * come out. */
static void choose(const fsim_node *n, const double *x, const double *b, const double *shared, double *v, double *own,
                   double *of_shared)
{
    const int condition = n->op == FSIM_OP_WHERE ? 0 : 1, yes = n->op == FSIM_OP_WHERE ? 1 : -1,
              no = n->op == FSIM_OP_WHERE ? 2 : 0;
    const double value[2] = {x[no], yes < 0 ? n->attrs.value : x[yes]}, bound[2] = {b[no], yes < 0 ? 0 : b[yes]},
                 same[2] = {shared[no], yes < 0 ? 0 : shared[yes]};
    const int chosen = x[condition] != 0;
    *v = value[chosen];
    *own = bound[chosen] - same[chosen];
    *of_shared = same[chosen];
    if (isinf(bound[chosen]))
        *own = INFINITY;
    if (b[condition] > 0 && fabs(x[condition]) <= b[condition]) {
        *own = fmax(bound[chosen], fsim_apart(value[0], value[1]) + bound[1 - chosen]);
        *of_shared = 0;
    }
}

static bool broadcasts(const fsim_map *m)
{
    for (int i = 0; i < m->modes; i++)
        if (m->mode[i].stride == 0 && m->mode[i].extent > 1)
            return true;
    return false;
}

void fsim_interpret_points(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_tensor *result = &in->g->tensor[n->result[0]];
    const fsim_shape *s = &result->shape;
    const double unit = fsim_arithmetic_unit(n->dtype);
    const error e = error_of(n);
    const int64_t cols = s->rank > 0 ? s->dim[s->rank - 1] : 1, rows = s->rank > 1 ? s->dim[s->rank - 2] : 1;
    const bool scalar = n->args == 1 && n->attrs.has_scalar;
    const int args = n->args + scalar;
    const bool selects = n->op == FSIM_OP_WHERE || n->op == FSIM_OP_MASKED_FILL,
               integer = !fsim_dtype_floating(result->dtype);
    const bool exact_once =
        n->op == FSIM_OP_ADD || n->op == FSIM_OP_SUB || n->op == FSIM_OP_MUL; /* correctly rounded everywhere */
    double x[MOST_ARGS] = {0}, b[MOST_ARGS] = {0}, shared[MOST_ARGS] = {0}, known = n->args ? 1 : 0;
    fsim_operand from[MOST_ARGS];
    fsim_cursor at[MOST_ARGS];
    bool wide[MOST_ARGS];
    for (int i = 0; i < n->args; i++) {
        from[i] = fsim_operand_of(in, n, &n->arg[i]);
        at[i] = fsim_cursor_of(&n->arg[i].map);
        wide[i] = broadcasts(&n->arg[i].map);
        if (fsim_unit(from[i].dtype) < known && fsim_dtype_floating(from[i].dtype))
            known = fsim_unit(from[i].dtype);
    }
    if (scalar) { /* a literal of the arithmetic */
        x[1] = n->attrs.scalar;
        b[1] = shared[1] = fsim_dtype_floating(n->dtype) && unit > 0x1p-30 ? fabs((double)(float)x[1] - x[1]) : 0;
    }
    const double stored =
        e.ulps > 0 ? unit : fmax(known, unit); /* what only moves has been rounded to a dtype before */
    for (int64_t p = 0; p < n->points; p++) {
        const place here = {p, p / cols % rows, p % cols, cols};
        double v, own = 0, of_shared = 0, rounding = 0;
        bool moved = scalar && b[1] > 0;
        for (int i = 0; i < n->args; i++) {
            const int64_t k = at[i].at;
            x[i] = from[i].value[k];
            b[i] = from[i].bound[k];
            shared[i] = wide[i] ? b[i] : from[i].shared[k];
            moved = moved || b[i] != 0;
            fsim_step(&at[i]);
        }
        for (int i = 0; i < n->args && moved; i++)
            if (from[i].dtype == FSIM_BOOL && isinf(b[i]) && !selects)
                b[i] = shared[i] = 1; /* it is 0 or 1 all the same */
        if (selects) {
            choose(n, x, b, shared, &v, &own, &of_shared);
        } else {
            v = evaluate(n, x, &here);
            if (moved)
                spread_of(n, args, x, b, shared, &here, v, &own, &of_shared);
            else if (jumps(n, x, b))
                own = INFINITY;
            if (!integer && !(exact_once && !moved && fsim_rounding(unit > 0x1p-30 ? FSIM_F32 : FSIM_F64, v) == 0))
                rounding = rounding_of(n, &e, unit, x, v);
        }
        fsim_put(in, n->result[0], p, v, own + rounding, of_shared, stored);
    }
}
