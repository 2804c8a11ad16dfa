/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/interval.h"

#include "cost/constants.h"
#include <float.h>
#include <math.h>

/* One class after the other, in the order of both tables. */
const fsim_hw_key fsim_error_classes[] = {FSIM_HW_RESIDUAL_STREAMING,
                                          FSIM_HW_RESIDUAL_ROWS,
                                          FSIM_HW_RESIDUAL_FP32,
                                          FSIM_HW_RESIDUAL_TENSOR,
                                          FSIM_HW_RESIDUAL_CONVOLUTION,
                                          FSIM_HW_RESIDUAL_ATTENTION,
                                          FSIM_HW_RESIDUAL_SERVING_PRODUCT,
                                          FSIM_HW_RESIDUAL_SERVING_TOKEN,
                                          FSIM_HW_RESIDUAL_SERVING_QUANTIZE,
                                          FSIM_HW_RESIDUAL_SERVING_STATIC,
                                          FSIM_HW_RESIDUAL_SERVING_CAUSAL,
                                          FSIM_HW_RESIDUAL_SERVING_CONTEXT,
                                          FSIM_HW_RESIDUAL_SERVING_DECODE,
                                          FSIM_HW_RESIDUAL_SERVING_DECODE_BYTE,
                                          FSIM_HW_RESIDUAL_SERVING_MLA,
                                          FSIM_HW_RESIDUAL_SERVING_EXPERTS,
                                          FSIM_HW_RESIDUAL_COLLECTIVE,
                                          FSIM_HW_RESIDUAL_OTHER};
const double fsim_common_errors[] = {
    common_streaming, common_rows,    common_fp32,    common_tensor,  common_convolution, common_attention,
    common_serving,   common_serving, common_serving, common_serving, common_serving,     common_serving,
    common_serving,   common_serving, common_serving, common_serving, common_other,       common_other};
_Static_assert(sizeof fsim_error_classes / sizeof *fsim_error_classes == FSIM_ERROR_CLASSES, "a key for each class");
_Static_assert(sizeof fsim_common_errors / sizeof *fsim_common_errors == FSIM_ERROR_CLASSES, "an error for each class");

int fsim_error_class(fsim_hw_key key)
{
    int c = FSIM_ERROR_CLASSES - 1; /* other */
    while (c > 0 && fsim_error_classes[c] != key)
        c--;
    return c;
}

static double square(double x) { return x * x; }

static fsim_interval around(double x, double down, double up) { return (fsim_interval){x * exp(-down), x * exp(up)}; }

fsim_interval fsim_kernel_interval(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k)
{
    const double spread = fsim_kernel_spread(g, hw, maker, k);
    return around(k->time_s, spread, spread);
}

/* Errors of one plan. */

static uint64_t members_of(const fsim_group *o)
{
    const uint64_t basis = UINT64_C(14695981039346656037), prime = UINT64_C(1099511628211); /* FNV-1a */
    uint64_t h = basis;
    for (int m = 0; m < o->members; m++)
        h = (h ^ (uint64_t)o->member[m].node) * prime;
    return h;
}

static fsim_kernel_error error_of(const fsim_software *s, const fsim_kernel *k, double time_s)
{
    const fsim_group *o = k->group;
    return (fsim_kernel_error){.key = fsim_residual_key(s->graph, k),
                               .vendor = fsim_is_vendor_kernel(s->maker, k),
                               .share = time_s > 0 ? k->time_s / time_s : 0,
                               .own = fsim_spread_parts_of(s->graph, s->hw, s->maker, k),
                               .first = o->members > 0 ? o->member[0].node : 0,
                               .contraction = o->anchor >= 0 && s->graph->node[o->anchor].gemm.k > 0 ? o->anchor : -1,
                               .members = members_of(o)};
}

/* The primitives of the forward pass, which come first; all where nothing is derived. */
static int forward_nodes(const fsim_graph *g)
{
    int n = 0;
    while (n < g->nodes && g->node[n].phase == FSIM_FORWARD)
        n++;
    return n;
}

fsim_plan_errors fsim_errors_of_kernels(const fsim_software *s, const fsim_kernel *kernel, int kernels, fsim_arena *a)
{
    double time_s = 0, launch_s = 0, squares = 0;
    fsim_plan_errors e = {.maker = s->maker,
                          .kernels = kernels,
                          .nodes = s->graph->nodes,
                          .alike = forward_nodes(s->graph),
                          .kernel = fsim_new(a, fsim_kernel_error, kernels + 1)};
    for (int k = 0; k < kernels; k++) {
        time_s += kernel[k].time_s;
        launch_s += kernel[k].time[FSIM_LAUNCH];
    }
    for (int k = 0; k < kernels; k++) {
        e.kernel[k] = error_of(s, &kernel[k], time_s);
        squares += e.kernel[k].share * e.kernel[k].share;
    }
    e.busy_s = time_s;
    e.company = kernels > 1 ? square(fmax(0, 1 - squares)) : 0;
    if (s->regime == FSIM_REGIME_EAGER && time_s > 0) { /* the launches are the host's time */
        const double host = fmin(1, launch_s / time_s);
        e.slower_host = log1p(host * (exp(host_spread) - 1));
        e.faster_host = -log1p(host * (exp(-host_spread) - 1));
    }
    return e;
}

fsim_plan_errors fsim_errors_of(const fsim_software *s, const fsim_plan *plan, fsim_arena *a)
{
    return fsim_errors_of_kernels(s, plan->kernel, plan->kernels, a);
}

static double own_variance(const fsim_kernel_error *k)
{
    return square(k->own.kind) + square(k->own.generated) + square(k->own.unmeasured);
}

double fsim_own_variance(const fsim_plan_errors *e)
{
    double variance = 0;
    for (int k = 0; k < e->kernels; k++)
        variance += square(e->kernel[k].share) * own_variance(&e->kernel[k]);
    return variance;
}

void fsim_common_shares(const fsim_plan_errors *e, double share[FSIM_ERROR_CLASSES])
{
    for (int c = 0; c < FSIM_ERROR_CLASSES; c++)
        share[c] = 0;
    for (int k = 0; k < e->kernels; k++)
        share[fsim_error_class(e->kernel[k].key)] += e->kernel[k].share * e->company;
}

/* The common error of kernels that nobody has measured: what is wrong with one is wrong with all. One kernel alone has
 * it among its own. */
static double unmeasured_error(const fsim_plan_errors *e)
{
    double spread = 0;
    for (int k = 0; k < e->kernels && e->kernels > 1; k++)
        spread += e->kernel[k].share * e->kernel[k].own.unmeasured;
    return spread;
}

fsim_interval fsim_time_interval_with(const fsim_plan_errors *e, const double common[FSIM_ERROR_CLASSES], double time_s)
{
    double share[FSIM_ERROR_CLASSES], variance = fsim_own_variance(e);
    fsim_common_shares(e, share);
    for (int c = 0; c < FSIM_ERROR_CLASSES; c++)
        variance += square(share[c] * common[c]);
    variance += square(unmeasured_error(e));
    return around(time_s, sqrt(variance + square(e->faster_host)), sqrt(variance + square(e->slower_host)));
}

fsim_interval fsim_time_interval(const fsim_plan_errors *e, double time_s)
{
    return fsim_time_interval_with(e, fsim_common_errors, time_s);
}

fsim_interval fsim_plan_interval(const fsim_software *s, const fsim_plan *plan, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    const fsim_plan_errors e = fsim_errors_of(s, plan, a);
    const fsim_interval x = fsim_time_interval(&e, plan->time_s);
    fsim_rewind(a, mark);
    return x;
}

/* Differences of two plans. */

/* How the errors of a kernel of one plan go with those of a kernel of the other. */
typedef enum { APART, SAME_WORK, SAME_KERNEL } likeness;

/* Do both take as long, but for what L2 holds? Eager's convolution of another layout does not. */
static bool as_long(const fsim_plan_errors *x, const fsim_kernel_error *k, const fsim_plan_errors *y,
                    const fsim_kernel_error *l)
{
    static const double equal = 0.02;
    return fabs(x->busy_s * k->share - y->busy_s * l->share) <= equal * x->busy_s * k->share;
}

/* Of two kernels with the same primitives. */
static likeness of_same_members(const fsim_plan_errors *x, const fsim_kernel_error *k, const fsim_plan_errors *y,
                                const fsim_kernel_error *l)
{
    const bool compiled = x->maker == FSIM_BY_INDUCTOR || y->maker == FSIM_BY_INDUCTOR; /* has other layouts */
    return k->vendor == l->vendor && (x->maker == y->maker || (k->vendor && !compiled && as_long(x, k, y, l)))
               ? SAME_KERNEL
               : SAME_WORK;
}

/* For each kernel of `other`: which kernel of `base` it is like, or -1, and how much. */
typedef struct {
    int *of;
    likeness *how;
    bool *known; /* of base: its own error is that of a kernel of `other` */
} matches;

static matches match(const fsim_plan_errors *base, const fsim_plan_errors *other, fsim_arena *a)
{
    matches m = {fsim_new(a, int, other->kernels + 1), fsim_new(a, likeness, other->kernels + 1),
                 fsim_new(a, bool, base->kernels + 1)};
    const int nodes = base->nodes > other->nodes ? base->nodes : other->nodes, /* graphs may differ behind `alike` */
        alike = base->nodes == other->nodes ? nodes : base->alike;
    int *first = fsim_new(a, int, nodes + 1), *contraction = fsim_new(a, int, nodes + 1); /* 1 + kernel */
    for (int k = 0; k < base->kernels; k++) {
        first[base->kernel[k].first] = k + 1;
        if (base->kernel[k].contraction >= 0)
            contraction[base->kernel[k].contraction] = k + 1;
    }
    for (int k = 0; k < other->kernels; k++) {
        const fsim_kernel_error *x = &other->kernel[k];
        const int twin = x->first < alike ? first[x->first] - 1 : -1,
                  product = x->contraction >= 0 && x->contraction < alike ? contraction[x->contraction] - 1 : -1;
        m.of[k] = -1;
        if (twin >= 0 && base->kernel[twin].members == x->members) {
            m.of[k] = twin;
            m.how[k] = of_same_members(base, &base->kernel[twin], other, x);
        } else if (product >= 0 && base->kernel[product].vendor == x->vendor) {
            m.of[k] = product;
            m.how[k] = SAME_WORK;
        }
        if (m.of[k] >= 0 && m.known[m.of[k]])
            m.of[k] = -1;
        else if (m.of[k] >= 0)
            m.known[m.of[k]] = true;
    }
    return m;
}

/* The variance of the difference of the own errors. */
static double own_difference(const fsim_plan_errors *base, const fsim_plan_errors *other, const matches *m)
{
    double variance = fsim_own_variance(base) + fsim_own_variance(other);
    for (int k = 0; k < other->kernels; k++) {
        if (m->of[k] < 0)
            continue;
        const fsim_kernel_error *x = &other->kernel[k], *y = &base->kernel[m->of[k]];
        const double alike = m->how[k] == SAME_KERNEL ? 1 : alike_work;
        variance -= 2 * alike * x->share * y->share * sqrt(own_variance(x) * own_variance(y));
    }
    return fmax(0, variance);
}

/* The variance of the difference of the common errors of class c. Kernels that both plans launch have one error; those
 * of the other software are off together with `base`'s only in part. */
static double common_difference(const fsim_plan_errors *base, const fsim_plan_errors *other, const matches *m, int c)
{
    const double alike = base->maker == other->maker ? 1 : alike_class;
    double shared = 0, rest = 0;
    for (int k = 0; k < base->kernels; k++)
        shared += fsim_error_class(base->kernel[k].key) == c ? base->kernel[k].share * base->company : 0;
    for (int k = 0; k < other->kernels; k++) {
        const double share = fsim_error_class(other->kernel[k].key) == c ? other->kernel[k].share * other->company : 0;
        if (m->of[k] >= 0 && m->how[k] == SAME_KERNEL)
            shared -= share;
        else
            rest += share;
    }
    return shared * shared + rest * rest - 2 * alike * shared * rest;
}

/* How far the host moves the ratio upwards, where it is the same host for both (one software), or two. */
static double host_difference(const fsim_plan_errors *base, const fsim_plan_errors *other)
{
    return base->maker == FSIM_BY_INDUCTOR || other->maker == FSIM_BY_INDUCTOR
               ? hypot(base->slower_host, other->faster_host)
               : fmax(0, fmax(base->slower_host - other->slower_host, other->faster_host - base->faster_host));
}

fsim_interval fsim_ratio_interval_with(const fsim_plan_errors *base, const fsim_plan_errors *other,
                                       const double common[FSIM_ERROR_CLASSES], double ratio, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    const matches m = match(base, other, a);
    double variance = own_difference(base, other, &m) + square(unmeasured_error(base) - unmeasured_error(other));
    for (int c = 0; c < FSIM_ERROR_CLASSES; c++)
        variance += common_difference(base, other, &m, c) * square(common[c]);
    fsim_rewind(a, mark);
    if (variance < 64 * DBL_EPSILON) /* what rounding leaves of errors that cancel */
        variance = 0;
    return around(ratio, sqrt(variance + square(host_difference(other, base))),
                  sqrt(variance + square(host_difference(base, other))));
}

fsim_interval fsim_ratio_interval(const fsim_plan_errors *base, const fsim_plan_errors *other, double ratio,
                                  fsim_arena *a)
{
    return fsim_ratio_interval_with(base, other, fsim_common_errors, ratio, a);
}
