/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/reference/interpret.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For each float dtype: the unit roundoff, half the distance of the smallest numbers (the smallest normal number
 * where hardware flushes), the largest number. */
static const struct {
    double unit, quantum, most;
} floats[] = {
    [FSIM_F64] = {0x1p-53, DBL_MIN, DBL_MAX}, [FSIM_F32] = {0x1p-24, FLT_MIN, FLT_MAX},
    [FSIM_F16] = {0x1p-11, 0x1p-25, 65504},   [FSIM_BF16] = {0x1p-8, FLT_MIN, 0x1.fep127},
    [FSIM_F8E4M3] = {0x1p-4, 0x1p-10, 448},   [FSIM_F8E5M2] = {0x1p-3, 0x1p-17, 57344},
    [FSIM_F8E8M0] = {0.5, 0x1p-127, 0x1p127},
};

void *fsim_memory(int64_t count, size_t size)
{
    void *p = calloc(count > 0 ? (size_t)count : 1, size);
    if (!p) {
        fprintf(stderr, "fusesim: no memory for a reference of %lld elements\n", (long long)count);
        fsim_out_of_memory();
    }
    return p;
}

double fsim_unit(fsim_dtype t) { return t == FSIM_TF32 ? 0x1p-11 : fsim_dtype_floating(t) ? floats[t].unit : 0; }
double fsim_arithmetic_unit(fsim_dtype t) { return t == FSIM_F64 ? 0x1p-53 : 0x1p-24; }

double fsim_sum_error(fsim_dtype arithmetic, double unit, int64_t terms)
{
    enum { BYTE_TERMS = 128 };
    const double steps = sqrt((double)(terms > 1 ? terms : 1));
    return steps * unit + (arithmetic == FSIM_F8E4M3 || arithmetic == FSIM_F8E5M2
                               ? fmin(steps, sqrt((double)BYTE_TERMS)) * 0x1p-13
                               : 0);
}

double fsim_stored(fsim_dtype t, double v)
{
    uint64_t bits;
    if (t == FSIM_F32)
        return (float)v;
    if (t == FSIM_F64)
        return v;
    fsim_set_element(t, &bits, 0, v);
    return fsim_element(t, &bits, 0);
}

double fsim_narrowed(fsim_dtype arithmetic, double v)
{
    float f = (float)v;
    uint32_t bits;
    if (arithmetic != FSIM_TF32)
        return fsim_stored(arithmetic, v);
    memcpy(&bits, &f, sizeof bits);
    bits &= 0xffffe000u;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

double fsim_rounding(fsim_dtype t, double v)
{
    if (!fsim_dtype_floating(t) || !isfinite(v) || fsim_stored(t, v) == v)
        return 0;
    return floats[t].unit * fabs(v) + (fabs(v) < floats[t].quantum / floats[t].unit ? floats[t].quantum : 0);
}

/* The smallest number that no longer rounds to the largest one of the dtype. */
static double rounds_to_infinity(fsim_dtype t) { return floats[t].most + floats[t].unit * exp2(ilogb(floats[t].most)); }

double fsim_difference(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isnan(a) || isnan(b) ? INFINITY : fabs(a - b);
}

fsim_operand fsim_operand_of(const fsim_interpreter *in, const fsim_node *n, const fsim_access *x)
{
    const int t = x->tensor;
    const fsim_expected *e = &in->r->of[t];
    const fsim_tensor *tensor = &in->g->tensor[t];
    if (!in->loads || !in->loads(in->with, (int)(n - in->g->node), t))
        return (fsim_operand){e->value, in->exact ? in->none : e->bound, in->exact ? in->none : in->shared[t],
                              tensor->dtype};
    if (!in->rounded[t]) {
        const double *value = in->exact ? in->exact->of[t].value : e->value;
        in->rounded[t] = fsim_memory(tensor->elems, sizeof(double));
        for (int64_t i = 0; i < tensor->elems; i++) {
            const double stored = fsim_stored(tensor->dtype, value[i]);
            in->rounded[t][i] = in->exact ? stored : fsim_difference(stored, value[i]);
        }
    }
    return (fsim_operand){in->exact ? in->rounded[t] : e->value, in->exact ? in->none : in->rounded[t], in->none,
                          tensor->dtype};
}

fsim_cursor fsim_cursor_of(const fsim_map *m)
{
    return (fsim_cursor){.modes = m->split, .mode = m->mode, .at = m->offset};
}

void fsim_set_result(const fsim_interpreter *in, int tensor, int64_t i, double v, fsim_doubt off)
{
    const fsim_dtype t = in->g->tensor[tensor].dtype;
    double bound = off.own + off.shared, shared = off.shared;
    const double before = bound; /* rounding */
    if (in->exact) {
        const double part = isfinite(bound) ? (double)(fsim_hash("", (uint64_t)tensor, i) >> 11) * 0x1p-53 - 0.5 : 0;
        in->r->of[tensor].value[i] = fsim_stored(t, part == 0 ? v : v + part * bound);
        return;
    }
    if (!fsim_dtype_floating(t)) {
        v = fsim_stored(t, v);
        bound = bound == 0 ? 0 : INFINITY;
        shared = 0;
    } else if (bound == 0) {
        bound = fsim_rounding(t, v);
    } else if (floats[t].unit > off.unit) {
        bound += floats[t].unit * (fabs(v) + bound) + floats[t].quantum;
    }
    if (isnan(v))
        bound = isinf(bound) ? INFINITY : 0;
    else if (isnan(bound) || (isinf(v) && bound != 0))
        bound = INFINITY;
    else if (fsim_dtype_floating(t) && isfinite(v) && fabs(v) + before >= rounds_to_infinity(t))
        bound = INFINITY; /* infinite if it is stored, but not if it stays in a register */
    in->r->of[tensor].value[i] = v;
    in->r->of[tensor].bound[i] = bound;
    in->shared[tensor][i] = isfinite(bound) && isfinite(shared) ? shared : 0;
}

void fsim_set_rounded(const fsim_interpreter *in, int tensor, int64_t i, double v, fsim_doubt off)
{
    const fsim_dtype t = in->g->tensor[tensor].dtype;
    const double bound = off.own + off.shared, to = fsim_stored(t, v);
    if (in->exact) {
        fsim_set_result(in, tensor, i, v, off);
        return;
    }
    in->r->of[tensor].value[i] = to;
    in->r->of[tensor].bound[i] = isnan(v) && isfinite(bound) ? 0
                                 : isfinite(bound)           ? fmax(fsim_difference(fsim_stored(t, v - bound), to),
                                                                    fsim_difference(fsim_stored(t, v + bound), to))
                                                             : INFINITY;
    in->shared[tensor][i] = 0;
}

void fsim_sum_add(fsim_sum *s, double v, double own, double shared)
{
    const double q = 5 * own;
    s->run = s->terms > 0 && v == s->last ? s->run : 0;
    s->value += v;
    s->magnitude += fabs(v);
    if (s->terms > 0 && v == s->last) {
        s->alike += fabs(v);
        s->repeats++;
    }
    s->last = v;
    s->squares += v * v;
    s->linear += own;
    s->quadratic += q * (2 * s->run + q); /* of the square of the run's sum */
    s->run += q;
    s->shared += shared;
    s->terms++;
}

double fsim_sum_own(const fsim_sum *s) { return fmin(s->linear, sqrt(s->quadratic)); }

/* Partial sums are at most as large as the sum of magnitudes; with random signs, as the root of the sum of squares.
 * n roundings add up to sqrt(n) of that; 4 sqrt(n) is safe (Higham and Mary). Consecutive equal terms are rounded in
 * the same direction while the sum has the same exponent: these errors add up, each at most the term. */
double fsim_sum_rounding(const fsim_sum *s, double unit)
{
    const double partial = fmin(s->magnitude, fmax(fabs(s->value), 4 * sqrt(s->squares)));
    return s->terms > 1
               ? 4 * sqrt((double)s->terms) * unit * partial + fmin((double)s->repeats * unit * partial, s->alike)
               : 0;
}
