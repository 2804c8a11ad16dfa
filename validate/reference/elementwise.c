/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c: elementwise, random and permuting primitives, point by point. The bound of a result is found by
 * evaluating at the corners of the box of its arguments: in so small a box all functions are nearly monotone, except
 * those that are listed. */
#include "validate/reference/interpret.h"
#include "validate/reference/point.h"

#include <math.h>

enum { MOST_ARGS = 3 };

/* v: the largest size that the result can have before it is rounded. */
static double rounding_of(const fsim_node *n, const fsim_error_units *e, double unit, const double *x, double v)
{
    if (e->ulps == 0 || !isfinite(v))
        return 0;
    const double tiny =
        v != 0 && fabs(v) < 0x1p-100 && unit > 0x1p-30 ? 0x1p-126 : 0; /* subnormal results may be flushed to zero */
    if (n->op == FSIM_OP_POW) {
        const double y = x[1];
        const bool plain = y == 2 || y == 3 || y == 0.5;
        return (plain ? 3 : e->ulps + (x[0] > 0 ? 2 * fabs(y * log(x[0])) : 4 * fabs(y))) * unit * fabs(v) + tiny;
    }
    return (e->ulps + (v != 0 && e->of_x > 0 ? e->of_x * fabs(x[0]) : 0)) * unit * fabs(v) + e->flat * unit + tiny;
}

static bool jumps(const fsim_node *n, const double *x, const double *b)
{
    const fsim_point_row *row = &fsim_point_rows[n->op];
    return row->jumps && row->jumps(n, x, b);
}

/* The arguments of a node at one point: values, bounds, and the shared part of the bounds. */
typedef struct {
    int args;
    double x[MOST_ARGS], b[MOST_ARGS], shared[MOST_ARGS];
} point;

/* The largest deviation from v if all arguments change by their bounds. */
static double corner_spread(const fsim_node *n, const point *p, const fsim_place *at, double v)
{
    double total = 0, corner[MOST_ARGS];
    for (int mask = 0; mask < 1 << p->args; mask++) {
        for (int k = 0; k < p->args; k++)
            corner[k] = p->x[k] + (mask >> k & 1 ? p->b[k] : -p->b[k]);
        total = fmax(total, fsim_difference(fsim_point_rows[n->op].value(n, corner, at), v));
    }
    return total;
}

/* The parts of a bound: see interpret.h. */
typedef struct {
    double own, shared;
} spread;

/* The deviation of result v over the box of the arguments, and its shared part. */
static spread spread_of(const fsim_node *n, const point *p, const fsim_place *at, double v)
{
    double total = 0, single = 0, part = 0, corner[MOST_ARGS];
    int varying = 0;
    for (int i = 0; i < p->args; i++)
        if (isinf(p->b[i]))
            return (spread){INFINITY, 0};
    if (jumps(n, p->x, p->b))
        return (spread){INFINITY, 0};
    if (n->op == FSIM_OP_SIN || n->op == FSIM_OP_COS) {
        const double shared = fmin(p->shared[0], 2);
        return (spread){fmin(p->b[0], 2) - shared, shared};
    }
    for (int i = 0; i < p->args; i++) {
        double most = 0;
        if (p->b[i] == 0)
            continue;
        for (int side = -1; side <= 1; side += 2) {
            for (int k = 0; k < p->args; k++)
                corner[k] = k == i ? p->x[k] + side * p->b[k] : p->x[k];
            most = fmax(most, fsim_difference(fsim_point_rows[n->op].value(n, corner, at), v));
        }
        varying++;
        single += most;
        part += most * (p->shared[i] / p->b[i]);
        total = fmax(total, most);
    }
    if (varying > 1) /* a square of what may be 0 deviates only where both do */
        total = fmax(total, corner_spread(n, p, at, v));
    if (isinf(total))
        return (spread){INFINITY, 0};
    const double shared = single > 0 ? total * fmin(part / single, 1) : 0;
    return (spread){total - shared, shared};
}

/* Operators that choose: which argument is the condition, and which is taken where it holds and where not; -1: a
 * constant. */
typedef struct {
    int condition, yes, no;
    double yes_value, no_value;
} choice;

static choice choice_of(const fsim_node *n)
{
    switch (n->op) {
    case FSIM_OP_WHERE:
        return (choice){0, 1, 2, 0, 0};
    case FSIM_OP_WHERE_INPUT:
        return (choice){0, -1, 1, n->attrs.input, 0};
    case FSIM_OP_WHERE_OTHER:
        return (choice){0, 1, -1, 0, n->attrs.other};
    case FSIM_OP_WHERE_SCALARS:
        return (choice){0, -1, -1, n->attrs.input, n->attrs.other};
    case FSIM_OP_MASKED_FILL:
        return (choice){1, -1, 0, n->attrs.value, 0};
    case FSIM_OP_MASK_OUT:
        return (choice){1, 0, -1, 0, -INFINITY};
    default:
        return (choice){-1, -1, -1, 0, 0};
    }
}

/* Selects are handled first: an argument that the condition does not choose does not matter; if the condition is
 * uncertain, either may be the result. */
static spread choose(const choice *c, const point *p, double *v)
{
    const int from[2] = {c->no, c->yes};
    double value[2], bound[2], same[2];
    for (int i = 0; i < 2; i++) {
        value[i] = from[i] >= 0 ? p->x[from[i]] : i ? c->yes_value : c->no_value;
        bound[i] = from[i] < 0 ? 0 : p->b[from[i]];
        same[i] = from[i] < 0 ? 0 : p->shared[from[i]];
    }
    const int chosen = p->x[c->condition] != 0;
    *v = value[chosen];
    if (p->b[c->condition] > 0 && fabs(p->x[c->condition]) <= p->b[c->condition])
        return (spread){fmax(bound[chosen], fsim_difference(value[0], value[1]) + bound[1 - chosen]), 0};
    return (spread){isinf(bound[chosen]) ? INFINITY : bound[chosen] - same[chosen], same[chosen]};
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
    const fsim_error_units e = fsim_point_error(n);
    const int64_t cols = s->rank > 0 ? s->dim[s->rank - 1] : 1, rows = s->rank > 1 ? s->dim[s->rank - 2] : 1;
    const bool scalar = n->args == 1 && n->attrs.has_scalar;
    const int args = n->args + scalar;
    const choice selects = choice_of(n);
    const bool integer = !fsim_dtype_floating(result->dtype);
    const bool exact_once =
        n->op == FSIM_OP_ADD || n->op == FSIM_OP_SUB || n->op == FSIM_OP_MUL; /* rounded correctly on all devices */
    point at_point = {.args = args};
    double *x = at_point.x, *b = at_point.b, *shared = at_point.shared, known = n->args ? 1 : 0;
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
    if (scalar) { /* a literal in the arithmetic's dtype */
        x[1] = n->attrs.scalar;
        b[1] = shared[1] = fsim_dtype_floating(n->dtype) && unit > 0x1p-30 ? fabs((double)(float)x[1] - x[1]) : 0;
    }
    const double stored = e.ulps > 0 ? unit : fmax(known, unit); /* the argument was rounded to a dtype before */
    for (int64_t p = 0; p < n->points; p++) {
        const fsim_place here = {p, p / cols % rows, p % cols, cols};
        spread off = {0, 0};
        double v, rounding = 0;
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
            if (from[i].dtype == FSIM_BOOL && isinf(b[i]) && selects.condition < 0)
                b[i] = shared[i] = 1; /* the result is 0 or 1 in any case */
        if (selects.condition >= 0) {
            off = choose(&selects, &at_point, &v);
        } else {
            v = fsim_point_rows[n->op].value(n, x, &here);
            if (moved)
                off = spread_of(n, &at_point, &here, v);
            else if (jumps(n, x, b))
                off.own = INFINITY;
            if (!integer && !(exact_once && !moved && fsim_rounding(unit > 0x1p-30 ? FSIM_F32 : FSIM_F64, v) == 0))
                rounding = rounding_of(n, &e, unit, x, fabs(v) + off.own + off.shared);
        }
        const fsim_doubt doubt = {off.own + rounding, off.shared, stored};
        (n->rounds ? fsim_set_rounded : fsim_set_result)(in, n->result[0], p, v, doubt);
    }
}
