/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/reference/reference.h"

#include "validate/reference/interpret.h"
#include "validate/reference/point.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_TELLING = 64 }; /* elements in a mean square */

double fsim_reference_bytes(const fsim_graph *g)
{
    double bytes = 0;
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].storage == t)
            bytes +=
                3.0 * sizeof(double) * (double)g->tensor[t].elems; /* while it works: values, bounds and shared parts */
    return bytes;
}

/* Does the element count in shares of bounds? */
static bool is_telling(const fsim_expected *e, int64_t i)
{
    return e->bound[i] > 0 && isfinite(e->bound[i]) && isfinite(e->value[i]);
}

/* How operators that are not computed point by point (point.c) are interpreted. made_up: why the values of the
 * result are arbitrary. An operator with neither is unknown to the reference. */
typedef struct {
    void (*interpret)(const fsim_interpreter *in, const fsim_node *n);
    const char *made_up;
} row;
static const row rows[FSIM_OP_COUNT] = {
    [FSIM_OP_SUM] = {fsim_interpret_reduction, NULL},
    [FSIM_OP_MEAN] = {fsim_interpret_reduction, NULL},
    [FSIM_OP_MAX] = {fsim_interpret_reduction, NULL},
    [FSIM_OP_MIN] = {fsim_interpret_reduction, NULL},
    [FSIM_OP_ARGMAX] = {fsim_interpret_reduction, NULL},
    [FSIM_OP_ARGMIN] = {fsim_interpret_reduction, NULL},
    [FSIM_OP_PROD] = {fsim_interpret_reduction, NULL},
    [FSIM_OP_NORM] = {fsim_interpret_reduction, NULL},
    [FSIM_OP_MATMUL] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_BMM] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_LINEAR] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_EINSUM] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_CONV1D] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_CONV2D] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_CONV3D] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_CONV_TRANSPOSE1D] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_CONV_TRANSPOSE2D] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_CONV_TRANSPOSE3D] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_CONV1D_WEIGHT] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_CONV2D_WEIGHT] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_CONV3D_WEIGHT] = {fsim_interpret_contraction, NULL},
    [FSIM_OP_MAX_POOL1D] = {fsim_interpret_window, NULL},
    [FSIM_OP_MAX_POOL2D] = {fsim_interpret_window, NULL},
    [FSIM_OP_MAX_POOL3D] = {fsim_interpret_window, NULL},
    [FSIM_OP_AVG_POOL1D] = {fsim_interpret_window, NULL},
    [FSIM_OP_AVG_POOL2D] = {fsim_interpret_window, NULL},
    [FSIM_OP_AVG_POOL3D] = {fsim_interpret_window, NULL},
    [FSIM_OP_ADAPTIVE_AVG_POOL1D] = {fsim_interpret_window, NULL},
    [FSIM_OP_ADAPTIVE_AVG_POOL2D] = {fsim_interpret_window, NULL},
    [FSIM_OP_ADAPTIVE_AVG_POOL3D] = {fsim_interpret_window, NULL},
    [FSIM_OP_ADAPTIVE_MAX_POOL1D] = {fsim_interpret_window, NULL},
    [FSIM_OP_ADAPTIVE_MAX_POOL2D] = {fsim_interpret_window, NULL},
    [FSIM_OP_ADAPTIVE_MAX_POOL3D] = {fsim_interpret_window, NULL},
    [FSIM_OP_INTERPOLATE] = {fsim_interpret_interpolate, NULL},
    [FSIM_OP_AVG_POOL_GRAD] = {fsim_interpret_window_back, NULL},
    [FSIM_OP_MAX_POOL_GRAD] = {fsim_interpret_window_back, NULL},
    [FSIM_OP_MAX_POOL_PICK] = {fsim_interpret_pick, NULL},
    [FSIM_OP_FOLD] = {fsim_interpret_window_back, NULL},
    [FSIM_OP_CONCAT] = {fsim_interpret_assembly, NULL},
    [FSIM_OP_PAD] = {fsim_interpret_assembly, NULL},
    [FSIM_OP_ROLL] = {fsim_interpret_assembly, NULL},
    [FSIM_OP_GATHER] = {fsim_interpret_gather, NULL},
    [FSIM_OP_INDEX_SELECT] = {fsim_interpret_gather, NULL},
    [FSIM_OP_EMBEDDING] = {fsim_interpret_gather, NULL},
    [FSIM_OP_EMBEDDING_BAG] = {fsim_interpret_bag, NULL},
    [FSIM_OP_PICK] = {fsim_interpret_gather, NULL},
    [FSIM_OP_SCATTER] = {fsim_interpret_scatter, NULL},
    [FSIM_OP_SCATTER_ADD] = {fsim_interpret_index_add, NULL},
    [FSIM_OP_INDEX_COPY] = {fsim_interpret_scatter, NULL},
    [FSIM_OP_INDEX_ADD] = {fsim_interpret_index_add, NULL},
    [FSIM_OP_CUMSUM] = {fsim_interpret_scan, NULL},
    [FSIM_OP_CUMPROD] = {fsim_interpret_scan, NULL},
    [FSIM_OP_SORT] = {fsim_interpret_sort, NULL},
    [FSIM_OP_TOPK] = {fsim_interpret_sort, NULL},
    [FSIM_OP_ALL_REDUCE] = {fsim_interpret_collective, NULL},
    [FSIM_OP_ALL_GATHER] = {fsim_interpret_collective, NULL},
    [FSIM_OP_REDUCE_SCATTER] = {fsim_interpret_collective, NULL},
    [FSIM_OP_ALL_TO_ALL] = {fsim_interpret_collective, NULL},
    [FSIM_OP_SEND] = {fsim_interpret_collective, NULL},
    [FSIM_OP_RECV] = {NULL, "it comes from another device"},
    [FSIM_OP_CUSTOM] = {NULL, "a custom operator makes it"},
};

bool fsim_reference_knows(fsim_op op) { return fsim_point_rows[op].value || rows[op].interpret || rows[op].made_up; }

const char *fsim_reference_lacks(const fsim_graph *g)
{
    for (int n = 0; n < g->nodes; n++)
        if (!fsim_reference_knows(g->node[n].op))
            return fsim_ops[g->node[n].op].name;
    return NULL;
}

static void interpret(const fsim_interpreter *in, const fsim_node *n, uint64_t seed)
{
    const row *how = &rows[n->op];
    if (fsim_point_rows[n->op].value) {
        fsim_interpret_points(in, n);
    } else if (how->interpret) {
        how->interpret(in, n);
    } else {
        assert(how->made_up); /* otherwise fsim_reference_lacks reports it */
        fsim_make_up(in, n->result[0], seed);
        in->r->unknown[n->result[0]] = how->made_up;
    }
    for (int i = 0; i < n->args; i++) /* results of arbitrary values are arbitrary */
        for (int k = 0; k < n->results; k++)
            if (!in->r->unknown[n->result[k]])
                in->r->unknown[n->result[k]] = in->r->unknown[n->arg[i].tensor];
}

/* How much a correct computation differs from the reference, as shares of its bounds. */
static void sample(const fsim_graph *g, fsim_reference *exact, uint64_t seed, const fsim_interpreter *of)
{
    fsim_reference r = {g, fsim_memory(g->tensors, sizeof *r.of), fsim_memory(g->tensors, sizeof *r.unknown)};
    fsim_interpreter in = {.g = g,
                           .r = &r,
                           .loads = of->loads,
                           .with = of->with,
                           .size = of->size,
                           .none = of->none,
                           .exact = exact,
                           .rounded = fsim_memory(g->tensors, sizeof *in.rounded)};
    for (int t = 0; t < g->tensors; t++) {
        if (g->tensor[t].storage != t)
            continue;
        r.of[t].value =
            g->tensor[t].producer < 0 ? exact->of[t].value : fsim_memory(g->tensor[t].elems, sizeof(double));
        r.of[t].bound = of->none;
    }
    for (int n = 0; n < g->nodes; n++)
        interpret(&in, &g->node[n], seed);
    for (int t = 0; t < g->tensors; t++) {
        fsim_expected *e = &exact->of[t];
        double squares = 0;
        int64_t count = 0;
        for (int64_t i = 0; e->value && i < g->tensor[t].elems; i++)
            if (is_telling(e, i)) {
                const double share = fsim_difference(r.of[t].value[i], e->value[i]) / e->bound[i];
                squares += fmin(share * share, 1);
                count++;
            }
        e->spread = count ? sqrt(squares / (double)count) : 0;
        if (e->value && g->tensor[t].producer >= 0)
            free(r.of[t].value);
        free(in.rounded[t]);
    }
    free(in.rounded);
    free(r.of);
    free(r.unknown);
}

static fsim_reference *of_size(const fsim_graph *g, uint64_t seed, double size, fsim_loads *loads, const void *with)
{
    fsim_reference *r = fsim_memory(1, sizeof *r);
    fsim_interpreter in = {.g = g, .r = r, .loads = loads, .with = with, .size = size};
    int64_t most = 0;
    in.shared = fsim_memory(g->tensors, sizeof *in.shared);
    in.rounded = fsim_memory(g->tensors, sizeof *in.rounded);
    r->graph = g;
    r->of = fsim_memory(g->tensors, sizeof *r->of);
    r->unknown = fsim_memory(g->tensors, sizeof *r->unknown);
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].storage == t) {
            r->of[t].value = fsim_memory(g->tensor[t].elems, sizeof(double));
            r->of[t].bound = fsim_memory(g->tensor[t].elems, sizeof(double));
            in.shared[t] = fsim_memory(g->tensor[t].elems, sizeof(double));
            most = g->tensor[t].elems > most ? g->tensor[t].elems : most;
        }
    in.none = fsim_memory(most, sizeof *in.none);
    fsim_make_inputs(&in, seed);
    for (int n = 0; n < g->nodes; n++)
        interpret(&in, &g->node[n], seed);
    for (int t = 0; t < g->tensors; t++) {
        free(in.shared[t]);
        free(in.rounded[t]);
    }
    free(in.shared);
    free(in.rounded);
    sample(g, r, seed, &in);
    free(in.none);
    return r;
}

fsim_reference *fsim_reference_within(const fsim_graph *g, uint64_t seed, fsim_loads *loads, const void *with)
{
    return of_size(g, seed, 0, loads, with);
}

/* Masks contain infinities in some elements, which are exact and do not count. */
static bool overflows(const fsim_reference *r)
{
    const fsim_graph *g = r->graph;
    bool any = false;
    for (int t = 0; t < g->tensors && !any; t++) {
        if (g->tensor[t].storage != t || g->tensor[t].producer < 0 || !fsim_dtype_floating(g->tensor[t].dtype) ||
            r->unknown[t])
            continue;
        int64_t loose = 0, finite = 0;
        for (int64_t i = 0; i < g->tensor[t].elems; i++) {
            loose += isinf(r->of[t].bound[i]);
            finite += isfinite(r->of[t].value[i]);
        }
        any = finite == 0 || loose * 10 > g->tensor[t].elems;
    }
    return any;
}

fsim_reference *fsim_reference_finite(const fsim_graph *g, uint64_t seed, fsim_loads *loads, const void *with)
{
    fsim_reference *usual = of_size(g, seed, 0, loads, with);
    for (double size = 1.0 / 8; size >= 1.0 / 512 && overflows(usual); size /= 8) {
        fsim_reference *smaller = of_size(g, seed, size, loads, with);
        if (!overflows(smaller)) {
            fsim_reference_free(usual);
            return smaller;
        }
        fsim_reference_free(smaller);
    }
    return usual;
}

fsim_reference *fsim_reference_of(const fsim_graph *g, uint64_t seed)
{
    return fsim_reference_within(g, seed, NULL, NULL);
}

void fsim_reference_free(fsim_reference *r)
{
    if (!r)
        return;
    for (int t = 0; t < r->graph->tensors; t++) {
        free(r->of[t].value);
        free(r->of[t].bound);
    }
    free(r->of);
    free(r->unknown);
    free(r);
}

void fsim_reference_store(const fsim_reference *r, int tensor, void *bytes)
{
    const fsim_tensor *t = &r->graph->tensor[r->graph->tensor[tensor].storage];
    for (int64_t i = 0; i < t->elems; i++)
        fsim_set_element(t->dtype, bytes, i, r->of[t->storage].value[i]);
}

fsim_comparison fsim_reference_compare(const fsim_reference *r, int tensor, const void *bytes)
{
    const fsim_tensor *t = &r->graph->tensor[r->graph->tensor[tensor].storage];
    const fsim_expected *e = &r->of[t->storage];
    fsim_comparison c = {.at = -1, .elems = t->elems, .usual = e->spread};
    double squares = 0, all = 0, shares = 0;
    int64_t telling = 0;
    for (int64_t i = 0; i < t->elems; i++) {
        const double got = fsim_element(t->dtype, bytes, i), off = fsim_difference(got, e->value[i]),
                     share = off == 0 ? 0 : off / e->bound[i];
        if (isinf(e->bound[i]))
            continue;
        c.compared++;
        if (share > c.worst)
            c.worst = share;
        if (isfinite(e->value[i])) {
            c.finite++;
            squares += off * off;
            all += e->value[i] * e->value[i];
        }
        if (is_telling(e, i)) {
            telling++;
            shares += share * share;
        }
        if (off <= e->bound[i])
            continue;
        c.wrong++;
        if (c.at < 0) {
            c.at = i;
            c.got = got;
            c.wanted = e->value[i];
            c.bound = e->bound[i];
        }
    }
    c.off = squares > 0 ? sqrt(squares / all) : 0;
    c.spread = telling >= LEAST_TELLING ? sqrt(shares / (double)telling) : 0;
    return c;
}

bool fsim_comparison_tells(const fsim_comparison *c)
{
    return c->finite > 0 && (double)c->compared >= 0.9 * (double)c->elems;
}
bool fsim_comparison_drifts(const fsim_comparison *c) { return c->off > 0x1p-8 && c->spread > 2 * c->usual; }
