/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: do two plans compute the same results? */
#include "validate/trial/run.h"

#include <math.h>

/* The difference that correct plans may have: rounding in the storage dtype, and the order of sums. */
static double apart_most(fsim_dtype t)
{
    switch (t) {
    case FSIM_F64:
        return 1e-10;
    case FSIM_F32:
        return 2e-3; /* for TF32 products too */
    case FSIM_F16:
        return 2e-2;
    case FSIM_BF16:
        return 5e-2;
    case FSIM_F8E4M3:
    case FSIM_F8E5M2:
    case FSIM_F8E8M0:
        return 0.3;
    default:
        return 2e-2; /* integers computed from floats: a few may round to the other side */
    }
}

/* That difference for a tensor: it is no closer than what it was computed from, which plans round where they store it.
 */
static double apart_of(const fsim_graph *g, int tensor, fsim_arena *a)
{
    double *most = fsim_new(a, double, g->tensors + 1);
    for (int n = 0; n < g->nodes; n++)
        for (int k = 0; k < g->node[n].results; k++) {
            const int t = g->node[n].result[k];
            most[t] = apart_most(g->tensor[t].dtype);
            for (int i = 0; i < g->node[n].args; i++) {
                const int of = g->node[n].arg[i].tensor;
                if (fsim_dtype_floating(g->tensor[of].dtype)) /* 0: an input, which all plans read as it is */
                    most[t] = fmax(most[t], most[of]);
            }
        }
    return fmax(most[tensor], apart_most(g->tensor[tensor].dtype));
}

/* An element is wrong if it differs by this share of its own size, or of the root mean square of all elements if
 * that is larger: ten times the difference that the whole tensor may have. */
static double element_most(double apart) { return fmin(10 * apart, 1); }

/* Does the graph have primitives whose result jumps when rounding changes their arguments? An element may have any
 * value then. */
static bool jumps(const fsim_graph *g)
{
    bool any = false;
    for (int n = 0; n < g->nodes; n++)
        switch (g->node[n].op) {
        case FSIM_OP_EQ:
        case FSIM_OP_NE:
        case FSIM_OP_LT:
        case FSIM_OP_LE:
        case FSIM_OP_GT:
        case FSIM_OP_GE:
        case FSIM_OP_ARGMAX:
        case FSIM_OP_ARGMIN:
        case FSIM_OP_SORT:
        case FSIM_OP_TOPK:
        case FSIM_OP_SCATTER:
        case FSIM_OP_INDEX_COPY:
            any = true;
            break;
        case FSIM_OP_CAST:
            any = any || !fsim_dtype_floating(g->node[n].attrs.dtype);
            break;
        default:
            any = any || g->node[n].results > 1;
            break;
        }
    return any;
}

typedef struct {
    double by;            /* root of the sum of squared differences, over that of the first tensor */
    int64_t off, nowhere; /* wrong elements; elements that are NaN or infinite in one tensor only */
} distance;

static distance distance_of(fsim_dtype t, double apart, const fsim_two_results *r, int64_t elems)
{
    const void *x = r->x, *y = r->y;
    distance d = {0};
    double difference = 0, all = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < elems; i++) {
        const double u = fsim_element(t, x, i), v = fsim_element(t, y, i);
        if (!isfinite(u) || !isfinite(v)) {
            d.nowhere += u != v && !(isnan(u) && isnan(v));
            continue;
        }
        difference += (u - v) * (u - v);
        all += u * u;
        finite++;
    }
    d.by = difference == 0 ? 0 : sqrt(difference / all);
    const double most = element_most(apart), size = finite ? sqrt(all / (double)finite) : 0;
    for (int64_t i = 0; i < elems && difference > 0; i++) {
        const double u = fsim_element(t, x, i), v = fsim_element(t, y, i);
        d.off += isfinite(u) && isfinite(v) && fabs(u - v) > most * fmax(size, fabs(u));
    }
    return d;
}

/* Is the tensor written in place, or computed of one that is? Each repetition of the measurement then begins with what
 * the one before has left: plans that were repeated more or less often differ. */
static bool comes_of_a_write(const fsim_graph *g, int tensor, fsim_arena *a)
{
    bool *mark = fsim_new(a, bool, g->tensors + 1);
    for (int n = 0; n < g->nodes; n++)
        for (int k = 0; k < g->node[n].results; k++) {
            const int t = g->node[n].result[k];
            mark[t] = g->tensor[t].over >= 0;
            for (int i = 0; i < g->node[n].args; i++)
                mark[t] = mark[t] || mark[g->node[n].arg[i].tensor];
        }
    return mark[tensor];
}

const char *fsim_difference_text(const fsim_graph *g, int tensor, const fsim_two_results *r, fsim_arena *a)
{
    const fsim_tensor *t = &g->tensor[tensor];
    if (comes_of_a_write(g, tensor, a))
        return NULL;
    const double apart = apart_of(g, tensor, a);
    const distance d = distance_of(t->dtype, apart, r, t->elems);
    const int64_t bears = jumps(g) ? t->elems / 1000 : 0;
    if (d.nowhere > bears)
        return fsim_printf(a, "%s: %lld of %lld elements are finite in only one of this result and that of %s", t->name,
                           (long long)d.nowhere, (long long)t->elems, r->from);
    if (d.off > bears)
        return fsim_printf(
            a, "%s: %lld of %lld elements differ from the result of %s by more than %.2g of the tensor's size", t->name,
            (long long)d.off, (long long)t->elems, r->from, element_most(apart));
    if (d.by > apart)
        return fsim_printf(a, "%s differs from the result of %s by %.2g of its size", t->name, r->from, d.by);
    return NULL;
}
