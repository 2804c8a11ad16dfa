/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/profile_rows.h"

#include "evidence/kernel_name.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row for the whole step is written where at most this share of its time, measured and predicted, is unmatched. */
static const double most_unmatched = 0.05;

typedef struct {
    const fsim_profile *p;
    const fsim_graph *g;
    const fsim_plan *plan;
    const fsim_import_as *as;
    fsim_arena *a;
    fsim_import out;
    const char *stem; /* the file's name without folder and ending */
    fsim_names left;  /* "name why operator" -> index into out.left */
    int row_room, left_room;
    const char **shorter; /* per name of the profile: a shortened one */
} importer;

static int by_number(const void *left, const void *right)
{
    const double x = *(const double *)left, y = *(const double *)right;
    return (x > y) - (x < y);
}

/* The median of x[0, count) without NaN; reorders x. NaN where there is none. */
static double median(double *x, int count)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        if (isfinite(x[i]))
            x[n++] = x[i];
    if (n == 0)
        return NAN;
    qsort(x, (size_t)n, sizeof *x, by_number);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static const fsim_profiled_launch *launch_of(const importer *m, int repeat, int i)
{
    const fsim_steps *s = &m->out.steps;
    return &m->p->launch[s->order[s->first + repeat * s->launches + i]];
}

typedef enum { TIME, READ, WRITTEN } quantity;

static double quantity_of(const fsim_profiled_launch *l, quantity what)
{
    return what == TIME ? l->time_s : what == READ ? l->dram_read_bytes : l->dram_write_bytes;
}

/* Sums over the launches of a step that `chosen` flags (NULL: all); the median over the steps. */
static double median_sum(const importer *m, const bool *chosen, quantity what)
{
    const fsim_steps *s = &m->out.steps;
    double *sum = fsim_new(m->a, double, s->repeats + 1);
    for (int r = 0; r < s->repeats; r++)
        for (int i = 0; i < s->launches; i++)
            if (!chosen || chosen[i])
                sum[r] += quantity_of(launch_of(m, r, i), what);
    return median(sum, s->repeats);
}

static double median_span(const importer *m)
{
    const fsim_steps *s = &m->out.steps;
    double *span = fsim_new(m->a, double, s->repeats + 1);
    for (int r = 0; r < s->repeats; r++) {
        double start = INFINITY, end = -INFINITY;
        for (int i = 0; i < s->launches; i++) {
            start = fmin(start, launch_of(m, r, i)->start_s);
            end = fmax(end, launch_of(m, r, i)->start_s + launch_of(m, r, i)->time_s);
        }
        span[r] = m->p->timeline ? end - start : NAN;
    }
    return median(span, s->repeats);
}

static const char *short_name(importer *m, int name)
{
    if (!m->shorter[name])
        m->shorter[name] = fsim_kernel_short(m->a, m->p->name[name]);
    return m->shorter[name];
}

/* "h+g"; an operator that is complete is named by its last primitive, which has its name. */
static const char *primitives_of(const importer *m, const fsim_part *part)
{
    const char *text = "";
    for (int i = 0; i < part->count; i++) {
        const fsim_source *s = &m->g->source[m->g->node[part->node[i]].source];
        int last = i;
        while (part->node[i] == s->first && last + 1 < part->count && part->node[last + 1] < s->first + s->nodes)
            last++;
        if (last - i + 1 == s->nodes)
            i = last;
        if (!part->clone[i])
            text = fsim_printf(m->a, "%s%s%s", text, *text ? "+" : "", m->g->node[part->node[i]].name);
    }
    return text;
}

static const char *operator_of(const importer *m, const fsim_profiled_launch *l)
{
    return l->call >= 0 ? m->p->call[l->call].name : NULL;
}

static void leave(importer *m, const fsim_profiled_launch *l, const char *why, int calls, double time_s)
{
    char key[512];
    const char *operator= operator_of(m, l);
    snprintf(key, sizeof key, "%d %s %s", l->name, why, operator ? operator : "");
    int at = fsim_names_get(&m->left, key);
    if (at < 0) {
        at = m->out.lefts;
        fsim_names_set(m->a, &m->left, fsim_strdup(m->a, key), at);
        *FSIM_PUSH(m->a, m->out.left, m->out.lefts, m->left_room) =
            (fsim_left){.name = short_name(m, l->name), .operator= operator, .why = why };
    }
    m->out.left[at].calls += calls;
    m->out.left[at].time_s += time_s;
}

static double known(double x) { return isfinite(x) ? x : 0; }

/* Lists what is outside of the steps: copies, other devices, warm-up. */
static void leave_outside(importer *m)
{
    const fsim_steps *s = &m->out.steps;
    bool *inside = fsim_new(m->a, bool, m->p->launches + 1);
    for (int i = 0; i < s->launches * s->repeats; i++)
        inside[s->order[s->first + i]] = true;
    for (int i = 0; i < m->p->launches; i++) {
        const fsim_profiled_launch *l = &m->p->launch[i];
        if (!inside[i])
            leave(m, l,
                  l->ran != FSIM_RAN_KERNEL ? "moved by the driver, no kernel"
                  : l->device != s->device  ? "on another device"
                                            : "outside of the repeated step",
                  1, known(l->time_s));
    }
}

static void leave_unmatched(importer *m, const fsim_matching *x)
{
    const fsim_steps *s = &m->out.steps;
    for (int i = 0; i < s->launches; i++) {
        double time_s = 0;
        for (int r = 0; r < s->repeats; r++)
            time_s += known(launch_of(m, r, i)->time_s);
        if (x->kernel[i] < 0)
            leave(m, launch_of(m, 0, i), x->why[i], s->repeats, time_s);
    }
}

static int dearer_left(const void *left, const void *right)
{
    const fsim_left *x = left, *y = right;
    if (x->time_s != y->time_s)
        return x->time_s > y->time_s ? -1 : 1;
    return strcmp(x->name, y->name);
}

static const char *launched_names(importer *m, const bool *chosen)
{
    const char *text = "";
    for (int i = 0; i < m->out.steps.launches; i++)
        if (chosen[i])
            text = fsim_printf(m->a, "%s%s%s", text, *text ? ", " : "", short_name(m, launch_of(m, 0, i)->name));
    return text;
}

static void add_matched(importer *m, const fsim_matching *x)
{
    const fsim_steps *s = &m->out.steps;
    bool *chosen = fsim_new(m->a, bool, s->launches + 1);
    for (int i = 0; i < s->launches; i++)
        chosen[i] = x->kernel[i] >= 0;
    m->out.matched_s = median_sum(m, chosen, TIME);
    m->out.matched = fsim_new(m->a, fsim_matched, m->plan->kernels + 1);
    m->out.missing = fsim_new(m->a, const char *, m->plan->kernels + 1);
    for (int k = 0; k < m->plan->kernels; k++) {
        int launches = 0;
        bool sized = false;
        for (int i = 0; i < s->launches; i++) {
            launches += chosen[i] = x->kernel[i] == k;
            sized = sized || (chosen[i] && x->sized[i]);
        }
        const char *primitives = primitives_of(m, &m->plan->partition.part[k]);
        if (launches == 0) {
            m->out.missing[m->out.missings++] = primitives;
            continue;
        }
        m->out.matched[m->out.matches++] = (fsim_matched){k,
                                                          primitives,
                                                          launched_names(m, chosen),
                                                          launches,
                                                          median_sum(m, chosen, TIME),
                                                          median_sum(m, chosen, READ),
                                                          median_sum(m, chosen, WRITTEN),
                                                          m->plan->kernel[k].time_s,
                                                          sized};
    }
}

/* Rows. */

static const char *source_of(const importer *m)
{
    const fsim_steps *s = &m->out.steps;
    return fsim_printf(m->a, "%s; %s; median of %d", m->p->path, m->p->format->source, s->repeats);
}

/* A profiler's measurements; NaN: not measured. */
typedef struct {
    double time_s, read_bytes, written_bytes; /* bytes of DRAM */
} figures;

static void add_row(importer *m, const char *id, const char *kernel, fsim_regime launch, figures x)
{
    if (!(x.time_s > 0))
        return;
    *FSIM_PUSH(m->a, m->out.row, m->out.rows, m->row_room) =
        (fsim_measured){.id = fsim_printf(m->a, "%s/%s", m->stem, id),
                        .hw = m->as->hw,
                        .workload = m->as->workload,
                        .set = m->as->set,
                        .kernel = kernel,
                        .source = source_of(m),
                        .strategy = m->as->strategy,
                        .l2 = m->p->format->empties_caches ? FSIM_L2_COLD : FSIM_L2_UNKNOWN,
                        .launch = launch,
                        .time_s = x.time_s,
                        .dram_read_bytes = x.read_bytes,
                        .dram_write_bytes = x.written_bytes};
}

/* The reason why a row for the whole step would mislead, because what ran is not what is predicted. NULL: it would
 * not. */
static const char *not_whole(const importer *m, double predicted_missing_s)
{
    const double unmatched = 1 - m->out.matched_s / m->out.step_s, missing = predicted_missing_s / m->out.predicted_s;
    if (m->out.matches == 0)
        return "no kernel was matched";
    if (!(unmatched <= most_unmatched))
        return fsim_printf(m->a, "%.0f %% of the step's time is of kernels that were not matched", unmatched * 100);
    if (!(missing <= most_unmatched))
        return fsim_printf(m->a, "kernels with %.0f %% of the plan's predicted time were not matched", missing * 100);
    return NULL;
}

static void add_rows(importer *m)
{
    bool graph = false;
    double missing_s = 0;
    m->out.predicted_s = 0;
    for (int k = 0; k < m->plan->kernels; k++) {
        m->out.predicted_s += m->plan->kernel[k].time_s;
        missing_s += m->plan->kernel[k].time_s;
    }
    for (int i = 0; i < m->out.matches; i++)
        missing_s -= m->out.matched[i].predicted_s;
    m->out.not_whole = not_whole(m, missing_s);
    for (int i = 0; i < m->out.matches; i++) {
        const fsim_matched *x = &m->out.matched[i];
        if (!m->out.not_whole || x->sized)
            add_row(m, fsim_printf(m->a, "%d/%s[%s]", x->kernel + 1, x->launched, x->primitives), x->primitives,
                    FSIM_REGIME_KERNEL, (figures){x->time_s, x->dram_read_bytes, x->dram_write_bytes});
        else
            m->out.withheld++;
    }
    if (m->out.not_whole)
        return;
    for (int i = 0; i < m->out.steps.launches; i++)
        graph = graph || launch_of(m, 0, i)->graph;
    add_row(m, "kernels", "", FSIM_REGIME_KERNEL,
            (figures){m->out.step_s, median_sum(m, NULL, READ), median_sum(m, NULL, WRITTEN)});
    add_row(m, "step", "", graph ? FSIM_REGIME_GRAPH : FSIM_REGIME_STREAM, (figures){m->out.span_s, NAN, NAN});
}

/* Without a plan. */

typedef struct {
    const fsim_profiled_launch *like;
    int calls;
    double *time_s, *read, *written;
    int time_room, read_room, written_room, reads, writes;
} listed;

static bool alike(const fsim_profiled_launch *x, const fsim_profiled_launch *y)
{
    return x->name == y->name && memcmp(x->grid, y->grid, sizeof x->grid) == 0 &&
           memcmp(x->block, y->block, sizeof x->block) == 0;
}

static int dearer_matched(const void *left, const void *right)
{
    const fsim_matched *x = left, *y = right;
    const double a = known(x->time_s) * x->launches, b = known(y->time_s) * y->launches;
    return a != b ? (a > b ? -1 : 1) : strcmp(x->launched, y->launched);
}

/* The listed kernel of which l is another launch, among those of its name: first[name], then next[] of each. -1:
 * none yet. */
static int like_number(const listed *all, const fsim_profiled_launch *l, const int *first, const int *next)
{
    int i = first[l->name];
    while (i >= 0 && !alike(all[i].like, l))
        i = next[i];
    return i;
}

static void list_all(importer *m)
{
    listed *all = NULL;
    int count = 0, room = 0;
    int *first = fsim_new(m->a, int, m->p->names + 1), *next = fsim_new(m->a, int, m->p->launches + 1);
    for (int i = 0; i < m->p->names; i++)
        first[i] = -1;
    for (int i = 0; i < m->p->launches; i++) {
        const fsim_profiled_launch *l = &m->p->launch[i];
        if (l->ran != FSIM_RAN_KERNEL || l->device != m->out.steps.device)
            continue;
        int k = like_number(all, l, first, next);
        if (k < 0) {
            *FSIM_PUSH(m->a, all, count, room) = (listed){.like = l};
            k = count - 1;
            next[k] = first[l->name];
            first[l->name] = k;
        }
        listed *x = &all[k];
        *FSIM_PUSH(m->a, x->time_s, x->calls, x->time_room) = l->time_s;
        *FSIM_PUSH(m->a, x->read, x->reads, x->read_room) = l->dram_read_bytes;
        *FSIM_PUSH(m->a, x->written, x->writes, x->written_room) = l->dram_write_bytes;
    }
    m->out.matched = fsim_new(m->a, fsim_matched, count + 1);
    for (int k = 0; k < count; k++)
        m->out.matched[k] = (fsim_matched){-1,
                                           "",
                                           short_name(m, all[k].like->name),
                                           all[k].calls,
                                           median(all[k].time_s, all[k].calls),
                                           median(all[k].read, all[k].reads),
                                           median(all[k].written, all[k].writes),
                                           NAN,
                                           false};
    m->out.matches = count;
    if (count > 0)
        qsort(m->out.matched, (size_t)count, sizeof *m->out.matched, dearer_matched);
    for (int k = 0; k < count; k++) {
        const fsim_matched *x = &m->out.matched[k];
        add_row(m, fsim_printf(m->a, "%d/%s", k + 1, x->launched), x->launched, FSIM_REGIME_KERNEL,
                (figures){x->time_s, x->dram_read_bytes, x->dram_write_bytes});
    }
}

static const char *stem_of(fsim_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strchr(name, '.');
    return strcmp(path, "-") == 0 ? "stdin"
                                  : fsim_strndup(a, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

fsim_import fsim_import_of(const fsim_profile *p, const fsim_graph *g, const fsim_plan *plan, const fsim_import_as *as,
                           fsim_arena *a)
{
    importer m = {p,
                  g,
                  plan,
                  as,
                  a,
                  {.profile = p, .plan = plan, .predicted_s = NAN, .span_s = NAN},
                  .stem = stem_of(a, p->path),
                  .shorter = fsim_new(a, const char *, p->names + 1)};
    for (int i = 0; i < p->launches; i++)
        m.out.total_s += known(p->launch[i].time_s);
    const bool *counted = NULL;
    const int wanted = plan ? fsim_counted_launches(g, plan, p, a, &counted) : 0;
    m.out.steps = fsim_steps_of(p, wanted, counted, a);
    if (m.out.steps.launches > 0) {
        m.out.step_s = median_sum(&m, NULL, TIME);
        m.out.span_s = median_span(&m);
    }
    if (!plan) {
        list_all(&m);
        return m.out;
    }
    const fsim_matching x = fsim_match(g, plan, p, &m.out.steps, a);
    add_matched(&m, &x);
    add_rows(&m);
    leave_unmatched(&m, &x);
    leave_outside(&m);
    if (m.out.lefts > 0)
        qsort(m.out.left, (size_t)m.out.lefts, sizeof *m.out.left, dearer_left);
    return m.out;
}
