/* SPDX-License-Identifier: Apache-2.0 */
/* window_back.c: gradients of pooling, and fold, window by window: each window adds to its elements. Kernels go the
 * other way, element by element. */
#include "validate/reference/interpret.h"

#include <math.h>
#include <stdlib.h>

/* A plane of the pooling: three axes; outer ones have one element and one window where there are fewer. */
typedef struct {
    fsim_axis axis[3];
    int64_t elements, windows, taps;
} plane;

static plane plane_of(const fsim_access *x)
{
    plane p = {.elements = 1, .windows = 1, .taps = 1};
    for (int i = 0; i < 3; i++) {
        p.axis[i] = i < 3 - x->axes ? (fsim_axis){1, 1, 1, 1, 1, 0} : x->axis[i - (3 - x->axes)];
        p.elements *= p.axis[i].extent;
        p.windows *= p.axis[i].out;
        p.taps *= p.axis[i].taps;
    }
    return p;
}

/* An element of a window, and its tap. */
typedef struct {
    int64_t element, tap;
} place;

/* The element of window o along an axis at tap k; -1: none. */
static int64_t along(const fsim_axis *a, int64_t o, int64_t k)
{
    if (a->stride > 0) {
        const int64_t at = o * a->stride + k * a->dilation - a->pad;
        return at >= 0 && at < a->extent ? at : -1;
    }
    const int64_t from = o * a->extent / a->out, end = ((o + 1) * a->extent + a->out - 1) / a->out;
    return from + k < end ? from + k : -1;
}

/* The elements of window o, in order: at most a tap more along each axis where it is adaptive. Returns how many. */
static int64_t elements_of(const plane *p, int64_t o, place *out)
{
    const int64_t at[3] = {o / (p->axis[1].out * p->axis[2].out), o / p->axis[2].out % p->axis[1].out,
                           o % p->axis[2].out};
    int64_t taps[3], count = 0;
    for (int i = 0; i < 3; i++)
        taps[i] = p->axis[i].taps + (p->axis[i].stride == 0);
    for (int64_t i = 0; i < taps[0]; i++)
        for (int64_t j = 0; j < taps[1]; j++)
            for (int64_t k = 0; k < taps[2]; k++) {
                const int64_t x = along(&p->axis[0], at[0], i), y = along(&p->axis[1], at[1], j),
                              z = along(&p->axis[2], at[2], k);
                if (x >= 0 && y >= 0 && z >= 0)
                    out[count++] = (place){(x * p->axis[1].extent + y) * p->axis[2].extent + z,
                                           (i * p->axis[1].taps + j) * p->axis[2].taps + k};
            }
    return count;
}

static place *room_for(const plane *p)
{
    return fsim_memory((p->axis[0].taps + 1) * (p->axis[1].taps + 1) * (p->axis[2].taps + 1), sizeof(place));
}

static void add(fsim_sum *sum, const fsim_operand *g, int64_t i, double weight)
{
    const double b = g->bound[i], shared = fmin(g->shared[i], b);
    fsim_sum_add(sum, weight * g->value[i], isinf(b) ? b : weight * (b - shared), weight * shared);
}

typedef struct {
    const fsim_interpreter *in;
    const fsim_node *n;
    plane p;
    place *at;
    int64_t *won;
    fsim_sum *sum; /* by element of a plane */
    bool *loose;   /* anything may come out of it */
} back;

/* Which of the window's `count` elements equal its maximum y[of], the nearest first, into w->won: *several where
 * rounding decides. x: element `first` begins the plane. Returns how many. */
static int64_t winners(const back *w, int64_t first, int64_t count, int64_t of, bool *several)
{
    const fsim_operand x = fsim_operand_of(w->in, w->n, &w->n->arg[0]), y = fsim_operand_of(w->in, w->n, &w->n->arg[1]);
    int64_t found = 0, nearest = 0;
    bool exact = y.bound[of] == 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = first + w->at[k].element;
        if (fabs(x.value[i] - y.value[of]) > x.bound[i] + y.bound[of])
            continue;
        exact = exact && x.bound[i] == 0;
        w->won[found++] = k;
        nearest = fabs(x.value[i] - y.value[of]) < fabs(x.value[first + w->at[w->won[nearest]].element] - y.value[of])
                      ? found - 1
                      : nearest;
    }
    if (found > 0) {
        const int64_t k = w->won[nearest];
        w->won[nearest] = w->won[0];
        w->won[0] = k;
    }
    *several = found > 1 && !exact;
    return found;
}

/* Adds what window o of a plane gives to its elements. */
static void give(const back *w, int64_t number, int64_t o)
{
    const fsim_node *n = w->n;
    const int64_t count = elements_of(&w->p, o, w->at);
    const fsim_access *last = &n->arg[n->args - 1];
    const fsim_operand g = fsim_operand_of(w->in, n, last);
    if (n->op == FSIM_OP_MAX_POOL_GRAD) {
        const int64_t of = n->arg[1].map.offset + number * w->p.windows + o;
        bool several;
        const int64_t found = winners(w, n->arg[0].map.offset + number * w->p.elements, count, of, &several);
        for (int64_t k = 0; k < found && several; k++)
            w->loose[w->at[w->won[k]].element] = true;
        if (found > 0)
            add(&w->sum[w->at[w->won[0]].element], &g, last->map.offset + number * w->p.windows + o, 1);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        const bool fold = n->op == FSIM_OP_FOLD;
        const int64_t row = fold ? number * w->p.taps + w->at[k].tap : number;
        const double share = fold ? 1 : w->p.axis[2].stride > 0 ? 1.0 / (double)w->p.taps : 1.0 / (double)count;
        add(&w->sum[w->at[k].element], &g, last->map.offset + row * w->p.windows + o, share);
    }
}

void fsim_interpret_window_back(const fsim_interpreter *in, const fsim_node *n)
{
    back w = {.in = in, .n = n, .p = plane_of(&n->arg[0])};
    const double unit = fsim_arithmetic_unit(n->dtype);
    w.at = room_for(&w.p);
    w.won = fsim_memory((w.p.axis[0].taps + 1) * (w.p.axis[1].taps + 1) * (w.p.axis[2].taps + 1), sizeof *w.won);
    w.sum = fsim_memory(w.p.elements, sizeof *w.sum);
    w.loose = fsim_memory(w.p.elements, sizeof *w.loose);
    for (int64_t number = 0; number < n->points / w.p.elements; number++) {
        for (int64_t i = 0; i < w.p.elements; i++) {
            w.sum[i] = (fsim_sum){0};
            w.loose[i] = false;
        }
        for (int64_t o = 0; o < w.p.windows; o++)
            give(&w, number, o);
        for (int64_t i = 0; i < w.p.elements; i++) {
            const fsim_sum *s = &w.sum[i];
            const double off = fsim_sum_own(s) + s->shared + fsim_sum_rounding(s, unit) + 3 * unit * s->magnitude;
            fsim_set_result(in, n->result[0], number * w.p.elements + i, s->value,
                            (fsim_doubt){w.loose[i] ? INFINITY : off, 0, unit});
        }
    }
    free(w.at);
    free(w.won);
    free(w.sum);
    free(w.loose);
}

void fsim_interpret_pick(const fsim_interpreter *in, const fsim_node *n)
{
    const fsim_operand x = fsim_operand_of(in, n, &n->arg[0]), v = fsim_operand_of(in, n, &n->arg[1]);
    const plane p = plane_of(&n->arg[0]);
    place *at = room_for(&p);
    for (int64_t i = 0; i < n->points; i++) {
        const int64_t count = elements_of(&p, i % p.windows, at), first = i / p.windows * p.elements;
        int64_t best = 0;
        bool loose = false;
        for (int64_t k = 1; k < count; k++)
            best = x.value[n->arg[0].map.offset + first + at[k].element] >
                           x.value[n->arg[0].map.offset + first + at[best].element]
                       ? k
                       : best;
        const int64_t top = n->arg[0].map.offset + first + at[best].element;
        for (int64_t k = 0; k < count; k++) {
            const int64_t other = n->arg[0].map.offset + first + at[k].element;
            loose = loose || (k != best && x.bound[other] + x.bound[top] > 0 &&
                              x.value[other] + x.bound[other] >= x.value[top] - x.bound[top]);
        }
        const int64_t from = n->arg[1].map.offset + first + at[best].element;
        fsim_set_result(in, n->result[0], i, v.value[from],
                        (fsim_doubt){loose ? INFINITY : v.bound[from], 0, fmax(fsim_unit(v.dtype), 0x1p-60)});
    }
    free(at);
}
