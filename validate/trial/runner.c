/* SPDX-License-Identifier: Apache-2.0 */
/* runner.c: what running on any device has in common. */
#include "validate/trial/runner.h"

#include "graph/scale.h"
#include "plan/price/price.h"
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

/* What the interpreter takes for each plan, and how much of it is too much. */
static const double points_per_s = 2e7, most_bytes = 4e8; /* a release build on one core */
static bool within(const fsim_graph *g, double most, double times)
{
    return fsim_reference_bytes(g) <= most_bytes * fmin(times, 4) && work_of(g) <= most * times;
}

typedef struct {
    const fsim_graph *g; /* the workload as it is */
    const struct fsim_yaml *yaml;
    const fsim_binding *set;
    int sets;
    fsim_arena *a;
} source;

/* The least factor that is enough, all lengths by it (length 0) or around one of them; else the largest that fits. NULL
 * where none fits. */
static const fsim_graph *shortened(const source *s, double most, int64_t length, bool only, int64_t *scale)
{
    enum { LARGEST = 1 << 14 };
    const fsim_graph *best = NULL;
    for (int64_t factor = 2; factor <= LARGEST && !(best && within(best, most, 1)); factor *= 2) {
        fsim_diag *quiet = fsim_diag_new(s->a);
        const struct fsim_yaml *shorter =
            length ? fsim_scale_around(s->a, s->yaml, factor, length, only) : fsim_scale_shapes(s->a, s->yaml, factor);
        const fsim_graph *g = fsim_graph_of(s->a, quiet, s->g->path, shorter, s->set, s->sets);
        if (!g || (best && work_of(g) >= work_of(best)))
            continue;
        best = g;
        *scale = factor;
    }
    return best;
}

/* The workload with dimensions so short that the interpreter takes about most_s. Where dividing all of them does not
 * fit, as with images that are halved often: all but one, or one alone. */
static const fsim_graph *small_enough(const fsim_graph *g, const struct fsim_yaml *yaml, const fsim_binding *set,
                                      int sets, double most_s, int64_t *scale, fsim_arena *a)
{
    static const double patience = 20;
    const double most = most_s * points_per_s;
    const source s = {g, yaml, set, sets, a};
    *scale = 1;
    if (within(g, most, 1))
        return g;
    const fsim_graph *best = yaml ? shortened(&s, most, 0, false, scale) : NULL;
    for (int t = 0; t < g->tensors && yaml && !(best && within(best, most, patience)); t++)
        for (int d = 0;
             d < g->tensor[t].shape.rank && g->tensor[t].role == FSIM_INPUT && !(best && within(best, most, patience));
             d++)
            for (int only = 0; only < 2 && !(best && within(best, most, patience)); only++)
                best = shortened(&s, most, g->tensor[t].shape.dim[d], only == 1, scale);
    return best && within(best, most, patience) ? best : NULL;
}

/* Line of the source that stores the tensor, and its text: "37: t_y[o1 + c] = v5". In a. */
static const char *source_line(const fsim_program *p, const char *parameter, fsim_arena *a)
{
    int line = 1;
    for (const char *from = p->source; *from; line++) {
        const char *end = strchr(from, '\n');
        const size_t bytes = end ? (size_t)(end - from) : strlen(from);
        const char *text =
            fsim_strndup(a, from + strspn(from, " "), bytes > strspn(from, " ") ? bytes - strspn(from, " ") : 0);
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

/* What is compiled: the kernels of all plans, one plan behind the other. */
typedef struct {
    fsim_trial *trial; /* per plan of the one that is checked: on the shapes that are interpreted; of no plan where the
                          strategy finds none */
    fsim_program *program;
    const char **wrong; /* per program, why it does not compile; NULL */
    int programs;
} compiled;

static bool compile_plans(const fsim_trial *t, const fsim_graph *g, fsim_runner *r, compiled *c, fsim_fault *fault)
{
    *c = (compiled){.trial = fsim_new(r->a, fsim_trial, t->plans + 1)};
    for (int i = 0; i < t->plans; i++) {
        const fsim_options options = {.strategy = t->plan[i].strategy, .regime = FSIM_REGIME_STREAM, .time_limit_s = 1};
        c->trial[i] = g == t->graph ? (fsim_trial){.plan = &t->plan[i], .plans = 1}
                                    : fsim_trial_of(g, t->hw, &options, &t->plan[i].strategy, 1, r->a);
        c->programs += c->trial[i].plans ? c->trial[i].plan->plan.kernels : 0;
    }
    c->program = fsim_new(r->a, fsim_program, c->programs + 1);
    c->wrong = fsim_new(r->a, const char *, c->programs + 1);
    for (int i = 0, at = 0; i < t->plans; i++)
        for (int k = 0; c->trial[i].plans && k < c->trial[i].plan->plan.kernels; k++)
            c->program[at++] = c->trial[i].plan->program[k];
    return r->compile(r, c->program, c->programs, c->wrong, fault);
}

/* The plan whose kernels are those from `first` on. */
static bool check_plan(fsim_trial_plan *x, const fsim_reference *ref, fsim_runner *r, const compiled *c, int first,
                       int kernels, fsim_fault *fault)
{
    const fsim_program *program = c->program + first;
    fsim_host_memory *memory = fsim_host_memory_new(ref, program, kernels);
    bool good = true;
    if (!memory)
        x->first_wrong = "not enough memory to check it";
    for (int k = 0; k < kernels && memory; k++) {
        fsim_check found = {.tensor = -1, .message = c->wrong[first + k]};
        if (program[k].skipped) {
            fsim_host_stand_in(memory, ref, k);
            continue;
        }
        if (!found.message && (good = r->run(r, first + k, memory->argument[k], fault)))
            found = fsim_check_program(ref, &program[k], fsim_host_fetch, memory->argument[k], r->a);
        if (!good)
            break;
        const char *beyond = fsim_host_overrun(memory, k);
        if (beyond && !found.message)
            found = (fsim_check){
                .ran = true, .tensor = -1, .message = fsim_printf(r->a, "it writes behind the end of %s", beyond)};
        fsim_host_stand_in(memory, ref, k); /* each kernel starts from right values: an error shows where it is made */
        x->checked += !found.untold;
        if (found.untold && x->untold++ == 0)
            x->first_untold = named(&program[k], &found, r->a);
        if (found.message && x->wrong++ == 0)
            x->first_wrong = named(&program[k], &found, r->a);
        if (kernels == x->plan.kernels)
            x->check[k] = found;
    }
    fsim_host_memory_free(memory);
    return good;
}

bool fsim_trial_check(fsim_trial *t, fsim_runner *r, const struct fsim_yaml *yaml, const fsim_binding *set, int sets,
                      double most_s, fsim_fault *fault)
{
    const fsim_graph *g = small_enough(t->graph, yaml, set, sets, most_s, &t->scale, r->a);
    compiled c;
    if (!g)
        t->scale = 0;
    bool good = !g || compile_plans(t, g, r, &c, fault);
    for (int i = 0, first = 0; i < t->plans && g && good; i++) {
        if (c.trial[i].plans == 0)
            continue;
        const fsim_plan *plan = &c.trial[i].plan->plan;
        fsim_reference *ref = fsim_reference_finite(g, 1, loads, plan);
        good = check_plan(&t->plan[i], ref, r, &c, first, plan->kernels, fault);
        fsim_reference_free(ref);
        first += plan->kernels;
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
    case FSIM_F64:
        return 1e-10;
    case FSIM_F32:
        return 2e-3; /* TF32 products among them */
    case FSIM_F16:
        return 2e-2;
    case FSIM_BF16:
        return 5e-2;
    case FSIM_F8E4M3:
    case FSIM_F8E5M2:
        return 0.3;
    default:
        return 2e-2; /* integers made of floats: few may fall on the other side */
    }
}

/* Off by so much of the larger of an element and the root of the mean square of all is wrong altogether: ten times what
 * all of them together may be. */
static double element_most(fsim_dtype t) { return fmin(10 * apart_most(t), 1); }

/* Primitives whose result jumps where rounding moves their arguments: an element of it may be anything. */
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
    double by;            /* root of the sum of squares of the differences over that of the first */
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

const char *fsim_apart_by(const fsim_graph *g, int tensor, const void *x, const void *y, const char *from,
                          fsim_arena *a)
{
    const fsim_tensor *t = &g->tensor[tensor];
    const distance d = distance_of(t->dtype, x, y, t->elems);
    const int64_t bears = jumps(g) ? t->elems / 1000 : 0;
    if (d.nowhere > bears)
        return fsim_printf(a,
                           "%s: %lld of %lld elements are no finite number here or in what %s makes, and not in both",
                           t->name, (long long)d.nowhere, (long long)t->elems, from);
    if (d.off > bears)
        return fsim_printf(a,
                           "%s: %lld of %lld elements differ from what %s makes by more than %.2g of the tensor's size",
                           t->name, (long long)d.off, (long long)t->elems, from, element_most(t->dtype));
    if (d.by > apart_most(t->dtype))
        return fsim_printf(a, "%s differs from what %s makes by %.2g of its size", t->name, from, d.by);
    return NULL;
}
