/* SPDX-License-Identifier: Apache-2.0 */
#include "report/describe.h"

#include "plan/price/memory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool identifier_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

const char *fsim_kernel_name(const fsim_graph *g, const fsim_kernel *k, fsim_arena *a)
{
    const fsim_group *group = k->group;
    const char *first = g->node[group->member[0].node].name,
               *last = g->node[group->member[group->members - 1].node].name;
    char *name = group->members == 1 ? fsim_printf(a, "%s_%s", fsim_template_names[k->template], first)
                                     : fsim_printf(a, "%s_%s_%s", fsim_template_names[k->template], first, last);
    for (char *c = name; *c; c++)
        if (!identifier_char(*c))
            *c = '_';
    return name;
}

int fsim_whole_source(const fsim_graph *g, const fsim_group *group, int at)
{
    const fsim_member *member = &group->member[at];
    const fsim_source *source = &g->source[g->node[member->node].source];
    if (member->node != source->first || at + source->nodes > group->members)
        return 0;
    for (int i = 0; i < source->nodes; i++)
        if (member[i].node != source->first + i || member[i].clone != member->clone)
            return 0;
    return source->nodes;
}

/* Does primitive n of a gradient make what is left of it: nothing else of the same gradient reads its result? The
 * gradient itself is named after the gradient that it reads. */
static bool is_left(const fsim_graph *g, const fsim_source *s, int n)
{
    const fsim_tensor *t = &g->tensor[g->node[n].result[0]];
    for (int i = 0; i < t->readers; i++)
        if (t->reader[i] >= s->first && t->reader[i] < s->first + s->nodes)
            return false;
    return true;
}

/* Is member i, of an operator that is all in the kernel, in no label: another name says it? */
static bool is_unsaid(const fsim_graph *g, const fsim_source *s, int n, int first)
{
    return s->gradient_of >= 0 ? !is_left(g, s, n) : n > first;
}

/* Writes the label to `to`, of which `room` bytes are left (0: none, to count); its length. In one pass: a kernel may
 * have as many members as a workload has primitives. */
static size_t put_label(const fsim_graph *g, const fsim_kernel *k, char *to, size_t room)
{
    size_t length = 0;
    for (int i = 0; i < k->group->members;) {
        const fsim_member *member = &k->group->member[i];
        const fsim_source *source = &g->source[g->node[member->node].source];
        const int whole = fsim_whole_source(g, k->group, i);
        for (int m = i; m < i + (whole ? whole : 1); m++) {
            const int n = k->group->member[m].node;
            if (whole && is_unsaid(g, source, n, source->first))
                continue;
            const int wrote =
                snprintf(room ? to + length : NULL, room ? room - length : 0, "%s%s%s", length ? " + " : "",
                         whole && source->gradient_of < 0 ? source->name : g->node[n].name,
                         member->clone ? " (recomputed)" : "");
            length += (size_t)wrote;
        }
        i += whole ? whole : 1;
    }
    return length;
}

const char *fsim_kernel_label(const fsim_graph *g, const fsim_kernel *k, fsim_arena *a)
{
    const size_t length = put_label(g, k, NULL, 0);
    char *label = fsim_new(a, char, length + 1);
    put_label(g, k, label, length + 1);
    return label;
}

const char *const fsim_objective_names[FSIM_OBJECTIVES] = {"time", "bytes", "memory", "pareto"};

const char *fsim_objective_name(const fsim_options *o)
{
    return fsim_objective_names[o->pareto ? FSIM_OBJECTIVES - 1 : (int)o->objective];
}

bool fsim_objective_in_bytes(const fsim_options *o) { return o->objective != FSIM_MINIMISE_TIME; }

double fsim_plan_objective(const fsim_prediction *p, fsim_strategy s)
{
    const fsim_plan *plan = &p->plan[s];
    switch (p->options.objective) {
    case FSIM_MINIMISE_BYTES:
        return (double)(plan->dram_read_bytes + plan->dram_write_bytes);
    case FSIM_MINIMISE_MEMORY:
        return (double)plan->peak_memory_bytes;
    case FSIM_MINIMISE_TIME:
        break;
    }
    return plan->time_s;
}

bool fsim_over_limit(const fsim_prediction *p)
{
    return p->options.memory_limit > 0 && p->plan[p->chosen].peak_memory_bytes > p->options.memory_limit;
}

fsim_verdict fsim_verdict_of(const fsim_prediction *p)
{
    fsim_verdict v = {.objective = fsim_plan_objective(p, p->chosen), .lower_bound = p->proof.lower_bound};
    const double excess = v.objective - v.lower_bound;
    v.proven =
        p->proof.proven && !fsim_over_limit(p) && (p->chosen == FSIM_STRATEGY_OPTIMAL || excess <= 1e-12 * v.objective);
    v.gap = v.proven || !(excess > 0) ? 0 : excess / v.objective;
    return v;
}

double fsim_over_optimum(const fsim_prediction *p, fsim_strategy s)
{
    const double best = fsim_plan_objective(p, FSIM_STRATEGY_OPTIMAL), mine = fsim_plan_objective(p, s);
    return mine == best ? 0 : best > 0 ? mine / best - 1 : (double)NAN;
}

double fsim_speedup(const fsim_prediction *p, fsim_strategy s)
{
    return p->plan[FSIM_STRATEGY_EAGER].time_s / p->plan[s].time_s;
}

fsim_waits fsim_waits_for_host(const fsim_prediction *p)
{
    static const double noticed = 1.05;
    const fsim_launched *host = &p->launched[FSIM_REGIME_EAGER], *gpu = &p->launched[FSIM_REGIME_STREAM];
    return (fsim_waits){!p->hw->host && host->eager_s > noticed * gpu->eager_s,
                        !p->hw->host && host->chosen_s > noticed * gpu->chosen_s};
}

const char *fsim_bytes_text(fsim_arena *a, double bytes)
{
    char buffer[32];
    return fsim_strdup(a, fsim_show_bytes(buffer, sizeof buffer, bytes));
}

const char *fsim_seconds_text(fsim_arena *a, double seconds)
{
    char buffer[32];
    return fsim_strdup(a, fsim_show_seconds(buffer, sizeof buffer, seconds));
}

const char *fsim_count_text(fsim_arena *a, double count)
{
    char buffer[32];
    return fsim_strdup(a, fsim_show_count(buffer, sizeof buffer, count));
}

const char *fsim_percent_text(fsim_arena *a, double share)
{
    return isfinite(share) ? fsim_printf(a, "%.1f%%", 100 * share) : "unknown";
}

const char *fsim_times_text(fsim_arena *a, double factor)
{
    return isfinite(factor) ? fsim_printf(a, factor < 99.995 ? "%.2fx" : "%.0fx", factor) : "unknown";
}

/* Bytes that the plan needs on each GPU. */
static fsim_sum needed_bytes(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    const fsim_plan *plan = &p->plan[s];
    const fsim_memory_use use = fsim_memory_of(plan->graph, plan, a);
    if (p->options.replicas.gpus == 0)
        return fsim_needed_bytes(&use);
    return fsim_parallel_of(plan->graph, plan, p->hw, p->options.replicas, a).peak_bytes + use.workspace_bytes;
}

bool fsim_plan_fits(const fsim_prediction *p, fsim_strategy s)
{
    fsim_arena *a = fsim_arena_new();
    const double capacity = fsim_hw_get(p->hw, FSIM_HW_DRAM_CAPACITY), bytes = (double)needed_bytes(p, s, a);
    fsim_arena_free(a);
    return isnan(capacity) || bytes <= capacity;
}

const char *fsim_memory_text(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    return fsim_printf(a, "%s of %s", fsim_bytes_text(a, (double)needed_bytes(p, s, a)),
                       fsim_bytes_text(a, fsim_hw_get(p->hw, FSIM_HW_DRAM_CAPACITY)));
}

const char *fsim_shell_word(fsim_arena *a, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=@%+-";
    if (*text && strspn(text, plain) == strlen(text))
        return text;
    const char *quoted = "'";
    for (const char *end; (end = strchr(text, '\'')); text = end + 1)
        quoted = fsim_printf(a, "%s%s'\\''", quoted, fsim_strndup(a, text, (size_t)(end - text)));
    return fsim_printf(a, "%s%s'", quoted, text);
}
