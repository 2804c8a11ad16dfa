/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/compile_cost.h"

#include "graph/attribute.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds. */

typedef enum { POINTWISE, ROW, FULL, FP32_CONTRACTION, TENSOR_CONTRACTION, CHAINED, CLASSES, NONE = CLASSES } class;

static const struct {
    double frame_s, instruction_s;
} measured[CLASSES] = {
#define FSIM_CONSTANT(name, value, unit, source)
#define FSIM_COMPILE_CLASS(class, frame_s, instruction_s, source) [class] = {frame_s, instruction_s},
#include "plan/compile_cost.def"
#undef FSIM_COMPILE_CLASS
#undef FSIM_CONSTANT
};
#define FSIM_COMPILE_CLASS(class, frame_s, instruction_s, source)
#define FSIM_CONSTANT(name, value, unit, source) static const double name = value;
#include "plan/compile_cost.def"
#undef FSIM_COMPILE_CLASS
#undef FSIM_CONSTANT

static class class_of(const fsim_graph *g, const fsim_kernel *k)
{
    static const class classes[FSIM_TEMPLATE_COUNT] = {
#define FSIM_TEMPLATE(id, name, brief, has, schedule, price, emit, residual, compile, line) [FSIM_##id] = compile,
#include "fusion/template.def"
#undef FSIM_TEMPLATE
    };
    const class c = classes[k->template];
    const fsim_dtype t = c == TENSOR_CONTRACTION ? g->node[k->group->anchor].gemm.arithmetic : FSIM_DTYPE_NONE;
    return t == FSIM_F32 || t == FSIM_F64 ? FP32_CONTRACTION : c;
}

static int stages_of(unsigned stages)
{
    int count = 0;
    for (; stages; stages &= stages - 1)
        count++;
    return count > 0 ? count : 1;
}

/* A contraction's step along k is unrolled. */
static double instructions_of(const fsim_node *n) { return n->gemm.k > 0 ? unrolled_products : n->instructions; }

/* How many copies of member m the unrolled source of one thread has. */
static double copies(const fsim_graph *g, const fsim_kernel *k, class c, const fsim_member *m)
{
    const fsim_group *o = k->group;
    const double tile = (double)k->tile_m * k->tile_n / k->block;
    if (m->form == FSIM_FOLDED)
        return 0;
    if (k->tile_m == 0)
        return stages_of(m->stages) * (o->reduced > 1 && !m->full ? 1.0 : k->vector);
    if (m->prologue) /* once for each load of a step along k */
        return fmax(1, (double)(m->operand == 1 ? k->tile_n : k->tile_m) *
                           (c == FP32_CONTRACTION ? fp32_step_elements : tensor_step_elements) / k->block);
    if (o->first < 0 || m->middle || m->node == o->first)
        return tile;
    return fmax(1, (double)k->tile_m * (double)g->node[o->anchor].points / (double)o->rows / k->block);
}

double fsim_compile_s(const fsim_graph *g, const fsim_kernel *k)
{
    const class c = class_of(g, k);
    double instructions = 0;
    for (int i = 0; i < k->group->members && c != NONE; i++)
        instructions += instructions_of(&g->node[k->group->member[i].node]) * copies(g, k, c, &k->group->member[i]);
    return c == NONE ? 0 : measured[c].frame_s + measured[c].instruction_s * instructions;
}

/* What a kernel's source depends on, as numbers. Tensors are numbered in the order in which they first appear. */

typedef struct {
    fsim_arena *a;
    int64_t *at;
    int count, room;
    const int *name; /* per tensor */
} writing;

static void put(writing *w, int64_t value) { *FSIM_PUSH(w->a, w->at, w->count, w->room) = value; }

static void put_real(writing *w, double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(w, bits);
}

static void put_map(writing *w, const fsim_map *m)
{
    put(w, m->modes);
    put(w, m->split);
    put(w, m->offset);
    for (int i = 0; i < m->modes; i++) {
        put(w, m->mode[i].extent);
        put(w, m->mode[i].stride);
    }
}

static void put_tensor(writing *w, const fsim_graph *g, int tensor)
{
    const fsim_tensor *t = &g->tensor[tensor];
    put(w, w->name[tensor]);
    put(w, t->dtype);
    put(w, t->shape.rank);
    for (int i = 0; i < t->shape.rank; i++)
        put(w, t->shape.dim[i]);
}

static void put_access(writing *w, const fsim_graph *g, const fsim_access *x)
{
    put_tensor(w, g, x->tensor);
    put(w, x->how);
    if (x->how == FSIM_READ_MAP)
        put_map(w, &x->map);
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *axis = &x->axis[i];
        const int64_t all[] = {axis->extent, axis->out, axis->taps, axis->stride, axis->dilation, axis->pad};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            put(w, all[k]);
    }
    for (int i = 0; i < x->cuts; i++) {
        const fsim_cut *cut = &x->cut[i];
        const int64_t all[] = {cut->inner, cut->extent, cut->from, cut->size, cut->source_extent, cut->source_from};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            put(w, all[k]);
    }
    put(w, x->any.extent);
    put(w, x->any.stride);
    put(w, x->planes);
    put(w, x->rows);
    put(w, x->run);
}

static void put_attrs(writing *w, const fsim_attrs *t)
{
    for (int f = 0; f < FSIM_FIELD_COUNT; f++)
        put_real(w, fsim_attr_value(t, f));
}

static void put_member(writing *w, const fsim_graph *g, const fsim_member *m)
{
    const fsim_node *n = &g->node[m->node];
    put(w, n->op);
    put(w, n->points);
    put(w, n->reduced);
    put(w, n->dtype);
    put(w, n->gemm.arithmetic);
    put(w, m->form);
    put_attrs(w, &n->attrs);
    put(w, n->args);
    for (int i = 0; i < n->args; i++)
        put_access(w, g, &n->arg[i]);
    for (int i = 0; i < n->results; i++)
        put_tensor(w, g, n->result[i]);
}

typedef struct {
    const fsim_kernel *kernel;
    int64_t *at; /* the writing */
    int count;
} source;

static void name_tensor(int *name, int *names, int tensor)
{
    if (name[tensor] == 0)
        name[tensor] = ++*names;
}

/* name: per tensor, all 0, and again when it returns. */
static source source_of(const fsim_graph *g, const fsim_kernel *k, int *name, fsim_arena *a)
{
    const fsim_group *o = k->group;
    writing w = {.a = a, .name = name};
    const int64_t frame[] = {k->template, o->points, o->reduced, o->strict, o->causal, o->members, o->writes};
    int names = 0;
    for (int i = 0; i < o->members; i++) {
        const fsim_node *n = &g->node[o->member[i].node];
        for (int k2 = 0; k2 < n->args; k2++)
            name_tensor(name, &names, n->arg[k2].tensor);
        for (int r = 0; r < n->results; r++)
            name_tensor(name, &names, n->result[r]);
    }
    for (size_t i = 0; i < sizeof frame / sizeof *frame; i++)
        put(&w, frame[i]);
    for (int i = 0; i < o->members; i++)
        put_member(&w, g, &o->member[i]);
    for (int i = 0; i < o->writes; i++) {
        put(&w, name[o->write[i].tensor]);
        put_map(&w, &o->write[i].map);
    }
    for (int i = 0; i < o->members; i++) {
        const fsim_node *n = &g->node[o->member[i].node];
        for (int k2 = 0; k2 < n->args; k2++)
            name[n->arg[k2].tensor] = 0;
        for (int r = 0; r < n->results; r++)
            name[n->result[r]] = 0;
    }
    return (source){k, w.at, w.count};
}

static int by_text(const void *x, const void *y)
{
    const source *a = x, *b = y;
    return a->count != b->count ? (a->count > b->count) - (a->count < b->count)
                                : memcmp(a->at, b->at, (size_t)a->count * sizeof *a->at);
}

bool fsim_same_source(const fsim_graph *g, const fsim_kernel *x, const fsim_kernel *y, fsim_arena *a)
{
    int *name = fsim_new(a, int, g->tensors + 1);
    const source one = source_of(g, x, name, a), other = source_of(g, y, name, a);
    return by_text(&one, &other) == 0;
}

/* Plans. */

static int by_seconds_falling(const void *x, const void *y)
{
    return (*(const double *)x < *(const double *)y) - (*(const double *)x > *(const double *)y);
}

/* When the last of `jobs` processes has finished; second[] is sorted. */
static double makespan(const double *second, int count, int jobs, fsim_arena *a)
{
    double *end = fsim_new(a, double, jobs), last = 0;
    for (int i = 0; i < count; i++) {
        int next = 0;
        for (int j = 1; j < jobs; j++)
            next = end[j] < end[next] ? j : next;
        end[next] += second[i] + (end[next] > 0 ? 0 : nvrtc_start_s);
        last = fmax(last, end[next]);
    }
    return last;
}

/* Sources of the kernels that frameworks ship, sorted. */
static source *shipped(const fsim_plan *plan, int *name, fsim_arena *a, int *count)
{
    const fsim_plan *from[] = {&plan[FSIM_STRATEGY_EAGER], &plan[FSIM_STRATEGY_UNFUSED]};
    source *list = fsim_new(a, source, from[0]->kernels + from[1]->kernels + 1);
    *count = 0;
    for (int p = 0; p < 2; p++)
        for (int k = 0; k < from[p]->kernels; k++)
            list[(*count)++] = source_of(from[p]->graph, &from[p]->kernel[k], name, a);
    qsort(list, (size_t)*count, sizeof *list, by_text);
    return list;
}

static int most_tensors(const fsim_plan *plan)
{
    int most = 0;
    for (int s = 0; s < FSIM_PLAN_COUNT; s++)
        most = plan[s].kernels > 0 && plan[s].graph->tensors > most ? plan[s].graph->tensors : most;
    return most;
}

void fsim_compile_of(const fsim_plan *plan, int jobs, fsim_arena *a, fsim_compile out[FSIM_PLAN_COUNT])
{
    const fsim_mark scratch = fsim_save(a);
    int *name = fsim_new(a, int, most_tensors(plan) + 1), ready = 0;
    const source *have = shipped(plan, name, a, &ready);
    for (int s = 0; s < FSIM_PLAN_COUNT; s++) {
        const fsim_mark one = fsim_save(a);
        const fsim_graph *g = plan[s].graph;
        const double saving = plan[FSIM_STRATEGY_EAGER].time_s - plan[s].time_s;
        source *own = fsim_new(a, source, plan[s].kernels + 1);
        double *second = fsim_new(a, double, plan[s].kernels + 1);
        int count = 0, distinct = 0;
        for (int k = 0; k < plan[s].kernels; k++) {
            const source x =
                class_of(g, &plan[s].kernel[k]) == NONE ? (source){0} : source_of(g, &plan[s].kernel[k], name, a);
            if (x.count > 0 && !bsearch(&x, have, (size_t)ready, sizeof x, by_text))
                own[count++] = x;
        }
        qsort(own, (size_t)count, sizeof *own, by_text);
        for (int i = 0; i < count; i++) { /* the slowest of a kernel's configurations */
            distinct += i == 0 || by_text(&own[i - 1], &own[i]) != 0;
            second[distinct - 1] = fmax(second[distinct - 1], fsim_compile_s(g, own[i].kernel));
        }
        qsort(second, (size_t)distinct, sizeof *second, by_seconds_falling);
        out[s] = (fsim_compile){.to_compile = distinct, .compile_s = makespan(second, distinct, jobs, a)};
        out[s].break_even_runs = saving > 0 ? out[s].compile_s / saving : INFINITY;
        fsim_rewind(a, one);
    }
    fsim_rewind(a, scratch);
}

const double fsim_some_runs[FSIM_SOME_RUNS] = {1, 100, 1e4, 1e6};

/* The strategies in order of preference among equal ones: eager, optimal, then as in reports. */
static fsim_strategy preferred(int i)
{
    fsim_strategy at = FSIM_STRATEGY_EAGER;
    if (i < 2)
        return i == 0 ? FSIM_STRATEGY_EAGER : FSIM_STRATEGY_OPTIMAL;
    for (int left = i - 1; left > 0; at++)
        left -= at != FSIM_STRATEGY_EAGER && at != FSIM_STRATEGY_OPTIMAL;
    return (fsim_strategy)(at - 1);
}

fsim_strategy fsim_best_for(const fsim_plan *plan, const fsim_compile *c, double runs)
{
    fsim_strategy best = preferred(0);
    for (int i = 1; i < FSIM_PLAN_COUNT; i++)
        if (plan[preferred(i)].kernels > 0 &&
            fsim_total_s(&plan[preferred(i)], &c[preferred(i)], runs) < fsim_total_s(&plan[best], &c[best], runs))
            best = preferred(i);
    return best;
}

/* The number of runs after which plan s, the faster one, has caught up with plan t. */
static double catches_up(const fsim_plan *plan, const fsim_compile *c, fsim_strategy s, fsim_strategy t)
{
    return (c[s].compile_s - c[t].compile_s) / (plan[t].time_s - plan[s].time_s);
}

int fsim_stages_of(const fsim_plan *plan, const fsim_compile *c, fsim_stage out[FSIM_PLAN_COUNT])
{
    int count = 0;
    fsim_strategy now = fsim_best_for(plan, c, 1), next = now;
    double runs = 1;
    do {
        now = next;
        count -= count > 0 && out[count - 1].from_runs == runs; /* it was best only between two whole numbers */
        out[count++] = (fsim_stage){now, runs};
        for (int i = 0; i < FSIM_PLAN_COUNT; i++) {
            const fsim_strategy s = preferred(i);
            if (plan[s].kernels == 0 || !(plan[s].time_s < plan[now].time_s))
                continue;
            const double at = catches_up(plan, c, s, now),
                         known = next == now ? INFINITY : catches_up(plan, c, next, now);
            if (at < known || (at == known && plan[s].time_s < plan[next].time_s))
                next = s;
        }
        runs = next == now ? runs : fmax(runs, floor(catches_up(plan, c, next, now)) + 1);
    } while (next != now);
    return count;
}
