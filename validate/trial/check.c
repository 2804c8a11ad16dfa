/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: kernels of a trial against the reference. */
#include "validate/trial/run.h"

#include "graph/scale.h"
#include "plan/price/price.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Checks. */

/* Does the kernel that computes `node` load `tensor` from memory? Where several kernels compute it: do all of them? */
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

/* Points that the interpreter visits: multiply-adds and others. */
static double work_of(const fsim_graph *g)
{
    double points = 0;
    for (int n = 0; n < g->nodes; n++)
        points += (double)g->node[n].points * (double)g->node[n].reduced;
    return points;
}

/* speed of the interpreter, and the most memory it may use */
static const double points_per_s = 2e7, most_bytes = 4e8; /* a release build on one core */
static bool within(const fsim_graph *g, double most, double times)
{
    return fsim_reference_bytes(g) <= most_bytes * fmin(times, 4) && work_of(g) <= most * times;
}

/* What is needed to read a workload again with shorter shapes. */
typedef struct {
    const char *path;
    const fsim_trial_source *source;
    double most; /* most points to interpret */
    fsim_arena *a;
} shortening;

/* The graph with the smallest sufficient factor, for all lengths (length 0) or around one of them; otherwise with
 * the largest factor that works. NULL where none works. */
static const fsim_graph *shortened(const shortening *s, int64_t length, bool only, int64_t *scale)
{
    enum { LARGEST = 1 << 14 };
    const fsim_graph *best = NULL;
    for (int64_t factor = 2; factor <= LARGEST && !(best && within(best, s->most, 1)); factor *= 2) {
        fsim_diag *quiet = fsim_diag_new(s->a);
        const struct fsim_yaml *shorter = length ? fsim_scale_around(s->a, s->source->yaml, factor, length, only)
                                                 : fsim_scale_shapes(s->a, s->source->yaml, factor);
        const fsim_graph *g = fsim_graph_of(s->a, quiet, s->path, shorter, &s->source->set);
        if (!g || (best && work_of(g) >= work_of(best)))
            continue;
        best = g;
        *scale = factor;
    }
    return best;
}

/* The workload with dimensions so short that interpreting it takes about most_s. Dividing all lengths may not work,
 * as for images that are halved many times; then all lengths but one are divided, or one alone. */
static const fsim_graph *small_enough(const fsim_graph *g, const fsim_trial_source *source, int64_t *scale,
                                      fsim_arena *a)
{
    static const double patience = 20;
    const double most = source->most_s * points_per_s;
    const shortening s = {g->path, source, most, a};
    const bool readable = source->yaml != NULL;
    *scale = 1;
    if (within(g, most, 1))
        return g;
    const fsim_graph *best = readable ? shortened(&s, 0, false, scale) : NULL;
    for (int t = 0; t < g->tensors && readable && !(best && within(best, most, patience)); t++)
        for (int d = 0;
             d < g->tensor[t].shape.rank && g->tensor[t].role == FSIM_INPUT && !(best && within(best, most, patience));
             d++)
            for (int only = 0; only < 2 && !(best && within(best, most, patience)); only++)
                best = shortened(&s, g->tensor[t].shape.dim[d], only == 1, scale);
    return best && within(best, most, patience) ? best : NULL;
}

/* The source line that stores the tensor: "37: t_y[o1 + c] = v5". In a. */
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

/* The programs to compile: the kernels of all plans, plan after plan. */
typedef struct {
    fsim_trial *trial; /* per plan of the trial that is checked: the same plan on the shapes that are interpreted; empty
                          where the strategy finds no plan */
    fsim_program *program;
    const char **wrong; /* per program, why it does not compile; NULL */
    int programs;
} compiled;

static bool compile_plans(const fsim_trial *t, const fsim_graph *g, fsim_device *d, compiled *c, fsim_fault *fault)
{
    *c = (compiled){.trial = fsim_new(d->a, fsim_trial, t->plans + 1)};
    for (int i = 0; i < t->plans; i++) {
        const fsim_options options = {
            .strategy = t->plan[i].strategy, .regime = FSIM_REGIME_STREAM, .search_steps = t->search_steps};
        c->trial[i] = g == t->graph ? (fsim_trial){.graph = g, .plan = &t->plan[i], .plans = 1}
                                    : fsim_trial_of(g, t->hw, &options, &t->plan[i].strategy, 1, d->a);
        c->programs += c->trial[i].plans ? c->trial[i].plan->plan.kernels : 0;
    }
    c->program = fsim_new(d->a, fsim_program, c->programs + 1);
    c->wrong = fsim_new(d->a, const char *, c->programs + 1);
    for (int i = 0, at = 0; i < t->plans; i++)
        for (int k = 0; c->trial[i].plans && k < c->trial[i].plan->plan.kernels; k++)
            c->program[at++] = c->trial[i].plan->program[k];
    return d->backend->compile(d, c->program, c->programs, c->wrong, fault);
}

/* Where the kernels of a plan are among all compiled programs. */
typedef struct {
    int first, kernels;
} plan_programs;

static bool check_plan(fsim_trial_plan *x, const fsim_reference *ref, fsim_device *d, const compiled *c,
                       plan_programs of, fsim_fault *fault)
{
    const fsim_program *program = c->program + of.first;
    fsim_host_memory *memory = fsim_host_memory_new(ref, program, of.kernels);
    bool good = true;
    if (!memory)
        return fsim_fail(fault, d->a, FSIM_NO_MEMORY, "not enough memory to compare plan '%s' with the reference",
                         fsim_strategy_names[x->strategy]);
    for (int k = 0; k < of.kernels; k++) {
        fsim_check found = {.tensor = -1, .message = c->wrong[of.first + k]};
        if (program[k].skipped) {
            fsim_host_stand_in(memory, ref, k);
            continue;
        }
        fsim_host_set_out(memory, ref, k);
        if (!found.message && (good = d->backend->run_on_host_memory(d, of.first + k, memory->argument[k], fault)))
            found = fsim_check_program(ref, &program[k], fsim_host_fetch, memory->argument[k], d->a);
        if (!good)
            break;
        const char *beyond = fsim_host_overrun(memory, k);
        if (beyond && !found.message)
            found = (fsim_check){
                .ran = true, .tensor = -1, .message = fsim_printf(d->a, "it writes behind the end of %s", beyond)};
        fsim_host_stand_in(
            memory, ref,
            k); /* start each kernel from correct values, so that an error is reported for the kernel that causes it */
        x->checked += !found.untold;
        if (found.untold && x->untold++ == 0)
            x->first_untold = named(&program[k], &found, d->a);
        if (found.message && x->wrong++ == 0)
            x->first_wrong = named(&program[k], &found, d->a);
        if (of.kernels == x->plan.kernels)
            x->check[k] = found;
    }
    fsim_host_memory_free(memory);
    return good;
}

bool fsim_trial_check(fsim_trial *t, fsim_device *d, const fsim_trial_source *source, fsim_fault *fault)
{
    const char *unknown = fsim_reference_lacks(t->graph);
    if (unknown)
        return fsim_fail(fault, d->a, FSIM_FAILED, "the reference does not know '%s': its kernels can't be checked",
                         unknown);
    const fsim_graph *g = small_enough(t->graph, source, &t->scale, d->a);
    compiled c;
    if (!g)
        t->scale = 0;
    bool good = !g || compile_plans(t, g, d, &c, fault);
    for (int i = 0, first = 0; i < t->plans && g && good; i++) {
        if (c.trial[i].plans == 0)
            continue;
        const fsim_plan *plan = &c.trial[i].plan->plan;
        fsim_reference *ref = fsim_reference_finite(c.trial[i].graph, 1, loads, plan);
        good = check_plan(&t->plan[i], ref, d, &c, (plan_programs){first, plan->kernels}, fault);
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
