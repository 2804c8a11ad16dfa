/* SPDX-License-Identifier: Apache-2.0 */
/* runner.c: what running on any device has in common. */
#include "validate/runner.h"

#include "graph/scale.h"
#include "search/price.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Checks. */

/* Does the kernel that computes `node` have `tensor` from memory? Where several compute it, all of them. */
static bool loads(const void *with, int node, int tensor)
{
    const fsim_plan *plan = with;
    bool from_memory = true;
    for (int k = 0; k < plan->kernels && from_memory; k++) {
        const fsim_part *part = &plan->partition.part[k];
        if (!bsearch(&node, part->node, (size_t)part->count, sizeof node, fsim_by_int))
            continue;
        const fsim_group *o = plan->kernel[k].group;
        from_memory = false;
        for (int i = 0; i < o->reads && !from_memory; i++)
            from_memory = o->read[i].tensor == tensor;
    }
    return from_memory;
}

/* Multiply-adds and other points that the interpreter walks. */
static double work_of(const fsim_graph *g)
{
    double points = 0;
    for (int n = 0; n < g->nodes; n++)
        points += (double)g->node[n].points * (double)g->node[n].reduced;
    return points;
}

/* The workload with dimensions so short that the interpreter takes about most_s. */
static const fsim_graph *small_enough(const fsim_graph *g, const struct fsim_yaml *yaml, const fsim_binding *set, int sets, double most_s, int64_t *scale, fsim_arena *a)
{
    enum { LARGEST = 1 << 14 };
    static const double points_per_s = 2e7, most_bytes = 4e8; /* a release build on one core */
    const double most = most_s * points_per_s;
    *scale = 1;
    if (fsim_reference_bytes(g) <= most_bytes && work_of(g) <= most)
        return g;
    const fsim_graph *best = NULL;
    for (int64_t factor = 2; factor <= LARGEST && yaml; factor *= 2) {
        fsim_diag *quiet = fsim_diag_new(a);
        const fsim_graph *shorter = fsim_graph_of(a, quiet, g->path, fsim_scale_shapes(a, yaml, factor), set, sets);
        if (!shorter)
            continue;
        best = shorter;
        *scale = factor;
        if (fsim_reference_bytes(shorter) <= most_bytes && work_of(shorter) <= most)
            break;
    }
    return best && fsim_reference_bytes(best) <= most_bytes * 4 && work_of(best) <= most * 20 ? best : NULL;
}

/* Line of the source that stores the tensor, and its text: "37: t_y[o1 + c] = v5". In a. */
static const char *source_line(const fsim_program *p, const char *parameter, fsim_arena *a)
{
    int line = 1;
    for (const char *from = p->source; *from; line++) {
        const char *end = strchr(from, '\n');
        const size_t bytes = end ? (size_t)(end - from) : strlen(from);
        const char *text = fsim_strndup(a, from + strspn(from, " "), bytes > strspn(from, " ") ? bytes - strspn(from, " ") : 0);
        const char *at = strstr(text, parameter), *assigned = at ? strchr(at, '=') : NULL;
        const bool stores = at && (strncmp(text, "FS_PUT", 6) == 0 || (assigned && at == text));
        if (stores)
            return fsim_printf(a, "line %d: %s", line, text);
        from += bytes + (end != NULL);
    }
    return "";
}

static const char *named(const fsim_program *p, const fsim_check *c, fsim_arena *a)
{
    const char *line = "";
    if (!c->message)
        return fsim_printf(a, "%s: %s", p->name, c->untold);
    for (int i = 0; i < p->parameters && c->tensor >= 0; i++)
        if (p->parameter[i].tensor == c->tensor)
            line = source_line(p, p->parameter[i].name, a);
    return fsim_printf(a, "%s: %s%s%s", p->name, c->message, *line ? "; " : "", line);
}

static bool check_plan(fsim_trial_plan *x, const fsim_reference *ref, fsim_runner *r, const fsim_program *program, int kernels, fsim_fault *fault)
{
    fsim_host_memory *memory = fsim_host_memory_new(ref, program, kernels);
    const char **wrong = fsim_new(r->a, const char *, kernels + 1);
    bool good = memory && r->compile(r, program, kernels, wrong, fault);
    if (!memory)
        x->first_wrong = "not enough memory to check it";
    for (int k = 0; k < kernels && good; k++) {
        fsim_check c = {.tensor = -1, .message = wrong[k]};
        if (program[k].skipped) {
            fsim_host_stand_in(memory, ref, k);
            continue;
        }
        if (!c.message && (good = r->run(r, k, memory->argument[k], fault)))
            c = fsim_check_program(ref, &program[k], fsim_host_fetch, memory->argument[k], r->a);
        if (!good)
            break;
        const char *beyond = fsim_host_overrun(memory, k);
        if (beyond && !c.message)
            c = (fsim_check){.ran = true, .tensor = -1, .message = fsim_printf(r->a, "it writes behind the end of %s", beyond)};
        fsim_host_stand_in(memory, ref, k); /* each kernel starts from right values: an error shows where it is made */
        x->checked += !c.untold;
        if (c.untold && x->untold++ == 0)
            x->first_untold = named(&program[k], &c, r->a);
        if (c.message && x->wrong++ == 0)
            x->first_wrong = named(&program[k], &c, r->a);
        if (kernels == x->plan.kernels)
            x->check[k] = c;
    }
    fsim_host_memory_free(memory);
    return good || !memory;
}

bool fsim_trial_check(fsim_trial *t, fsim_runner *r, const struct fsim_yaml *yaml, const fsim_binding *set, int sets, double most_s, fsim_fault *fault)
{
    const fsim_graph *g = small_enough(t->graph, yaml, set, sets, most_s, &t->scale, r->a);
    bool good = true;
    if (!g)
        t->scale = 0;
    for (int i = 0; i < t->plans && g && good; i++) {
        fsim_trial_plan *x = &t->plan[i];
        const fsim_options options = {.strategy = x->strategy, .regime = FSIM_REGIME_STREAM, .time_limit_s = 1};
        fsim_trial small = {.plan = x, .plans = 1};
        if (g != t->graph)
            small = fsim_trial_of(g, t->hw, &options, &x->strategy, 1, r->a);
        if (small.plans == 0)
            continue;
        fsim_reference *ref = fsim_reference_finite(g, 1, loads, &small.plan->plan);
        good = check_plan(x, ref, r, small.plan->program, small.plan->plan.kernels, fault);
        fsim_reference_free(ref);
    }
    return good;
}

fsim_touched fsim_trial_touches(const fsim_trial *t, fsim_arena *a)
{
    fsim_touched x = {.used = fsim_new(a, bool, t->graph->tensors + 1)};
    for (int i = 0; i < t->plans; i++)
        for (int k = 0; k < t->plan[i].plan.kernels; k++) {
            const fsim_program *p = &t->plan[i].program[k];
            x.programs++;
            for (int m = 0; m < p->parameters; m++)
                if (p->parameter[m].tensor >= 0)
                    x.used[p->parameter[m].tensor] = true;
        }
    for (int i = 0; i < t->graph->tensors; i++)
        x.bytes += x.used[i] ? t->graph->tensor[i].bytes : 0;
    return x;
}

/* What plans that compute the same may differ by: rounding in the storage dtype, and the order of sums. */
static double apart_most(fsim_dtype t)
{
    switch (t) {
    case FSIM_F64: return 1e-10;
    case FSIM_F32: return 2e-3; /* TF32 products among them */
    case FSIM_F16: return 2e-2;
    case FSIM_BF16: return 5e-2;
    case FSIM_F8E4M3: case FSIM_F8E5M2: return 0.3;
    default: return 2e-2; /* integers made of floats: few may fall on the other side */
    }
}

/* Off by so much of the larger of an element and the root of the mean square of all is wrong altogether: ten times what all of them together may be. */
static double element_most(fsim_dtype t) { return fmin(10 * apart_most(t), 1); }

/* Primitives whose result jumps where rounding moves their arguments: an element of it may be anything. */
static bool jumps(const fsim_graph *g)
{
    bool any = false;
    for (int n = 0; n < g->nodes; n++)
        switch (g->node[n].op) {
        case FSIM_OP_EQ: case FSIM_OP_NE: case FSIM_OP_LT: case FSIM_OP_LE: case FSIM_OP_GT: case FSIM_OP_GE: case FSIM_OP_ARGMAX: case FSIM_OP_ARGMIN: case FSIM_OP_SORT: case FSIM_OP_TOPK:
        case FSIM_OP_SCATTER:
            any = true;
            break;
        case FSIM_OP_CAST: any = any || !fsim_dtype_floating(g->node[n].attrs.dtype); break;
        default: any = any || g->node[n].results > 1; break;
        }
    return any;
}

typedef struct {
    double by;           /* root of the sum of squares of the differences over that of the first */
    int64_t off, nowhere; /* elements that are wrong altogether; that are no number, or infinite, in one only */
} distance;

static distance distance_of(fsim_dtype t, const void *x, const void *y, int64_t elems)
{
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
    const double most = element_most(t), size = finite ? sqrt(all / (double)finite) : 0;
    for (int64_t i = 0; i < elems && difference > 0; i++) {
        const double u = fsim_element(t, x, i), v = fsim_element(t, y, i);
        d.off += isfinite(u) && isfinite(v) && fabs(u - v) > most * fmax(size, fabs(u));
    }
    return d;
}

const char *fsim_apart_by(const fsim_graph *g, int tensor, const void *x, const void *y, const char *from, fsim_arena *a)
{
    const fsim_tensor *t = &g->tensor[tensor];
    const distance d = distance_of(t->dtype, x, y, t->elems);
    const int64_t bears = jumps(g) ? t->elems / 1000 : 0;
    if (d.nowhere > bears)
        return fsim_printf(a, "%s: %lld of %lld elements are no finite number here or in what %s makes, and not in both", t->name, (long long)d.nowhere, (long long)t->elems, from);
    if (d.off > bears)
        return fsim_printf(a, "%s: %lld of %lld elements differ from what %s makes by more than %.2g of the tensor's size", t->name, (long long)d.off, (long long)t->elems, from,
                           element_most(t->dtype));
    if (d.by > apart_most(t->dtype))
        return fsim_printf(a, "%s differs from what %s makes by %.2g of its size", t->name, from, d.by);
    return NULL;
}
