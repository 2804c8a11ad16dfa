/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/interval.h"
#include "plan/price/timeline.h"
#include "report/describe.h"
#include <math.h>
#include <string.h>

enum { DEFAULT_WIDTH = 80, WIDE = 100, REFUSALS_SHOWN = 5, LOSSES_SHOWN = 5, BAR = 8 };
static const double same = 0.005; /* relative difference that a reader would call none */

typedef struct {
    fsim_page page;
    fsim_arena *a;
    const fsim_prediction *p;
    const fsim_graph *g;
    const fsim_plan *plan; /* the one to show */
    bool verbose;
} report;

static report begin(FILE *out, const fsim_prediction *p, const fsim_text_style *style, fsim_arena *a)
{
    return (report){.page = {out, style->width > 0 ? style->width : DEFAULT_WIDTH, style->color, fsim_utf8_locale()},
                    .a = a,
                    .p = p,
                    .g = p->graph,
                    .plan = &p->plan[p->chosen],
                    .verbose = style->verbose};
}

static const char *count_of(fsim_arena *a, int count, const char *what)
{
    return fsim_printf(a, "%d %s%s", count, what, count == 1 ? "" : "s");
}

static const char *hardware_name(const fsim_hw *hw) { return hw->description ? hw->description : hw->name; }

static const char *limit_text(fsim_arena *a, const fsim_options *o)
{
    return o->memory_limit > 0 ? fsim_printf(a, ", memory limit %s", fsim_bytes_text(a, (double)o->memory_limit)) : "";
}

static const char *objective_text(const report *r, double value)
{
    return fsim_objective_in_bytes(&r->p->options) ? fsim_bytes_text(r->a, value) : fsim_seconds_text(r->a, value);
}

static const char *dram_text(fsim_arena *a, const fsim_plan *plan)
{
    return fsim_bytes_text(a, (double)(plan->dram_read_bytes + plan->dram_write_bytes));
}

static void header(const report *r)
{
    const fsim_options *o = &r->p->options;
    fsim_paragraph(&r->page, FSIM_STRONG, 0, 2,
                   fsim_printf(r->a, "%s: %s, %s on %s", r->g->name, count_of(r->a, r->g->sources, "operator"),
                               count_of(r->a, r->g->nodes, "primitive"), hardware_name(r->p->hw)));
    fsim_paragraph(&r->page, FSIM_FAINT, 0, 2,
                   fsim_printf(r->a, "launch %s, L2 %s, objective %s%s%s%s", fsim_regime_names[o->regime],
                               o->warm ? "warm" : "cold", fsim_objective_name(o), limit_text(r->a, o),
                               o->strict ? ", strict numerics" : "", o->no_recompute ? ", no recomputation" : ""));
}

static fsim_interval speedup_interval(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    return fsim_speedup_interval(p->graph, p->hw, FSIM_BY_ATEN, &p->plan[FSIM_STRATEGY_EAGER], fsim_made_in(p, s),
                                 &p->plan[s], a);
}

/* "12%": half the width of an interval of a time, as a share of it. Eight of ten measured times would lie within. */
static const char *spread_text(fsim_arena *a, fsim_interval x, double time_s)
{
    return time_s > 0 ? fsim_printf(a, "%.0f%%", 50 * (x.high - x.low) / time_s) : "";
}

/* "246 us +- 12%". */
static const char *time_text(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    const double time_s = p->plan[s].time_s;
    const char *spread = spread_text(a, fsim_plan_interval(p->graph, p->hw, fsim_made_in(p, s), &p->plan[s]), time_s);
    return fsim_printf(a, "%s%s%s", fsim_seconds_text(a, time_s), *spread ? " +- " : "", spread);
}

/* A sentence: the plan shown (for eager: the optimum) against eager. */
static const char *against_eager(const report *r, fsim_emphasis *emphasis)
{
    const fsim_strategy s = r->p->chosen == FSIM_STRATEGY_EAGER ? FSIM_STRATEGY_OPTIMAL : r->p->chosen;
    const fsim_plan *eager = &r->p->plan[FSIM_STRATEGY_EAGER];
    const double ratio = r->p->plan[s].time_s / eager->time_s;
    const char *name = fsim_strategy_names[s];
    const char *base = fsim_printf(r->a, "eager (%s in %s)", fsim_seconds_text(r->a, eager->time_s),
                                   count_of(r->a, eager->kernels, "kernel"));
    const fsim_interval sure = speedup_interval(r->p, s, r->a);
    *emphasis = FSIM_PLAIN;
    if (sure.low < 1 && sure.high > 1 && !(sure.high - sure.low < same))
        return fsim_printf(r->a, "Too close to call: %s is predicted %s as fast as %s, %s to %s in eight of ten cases.",
                           name, fsim_times_text(r->a, 1 / ratio), base, fsim_times_text(r->a, sure.low),
                           fsim_times_text(r->a, sure.high));
    if (fabs(ratio - 1) < same)
        return fsim_printf(r->a, "Fusion makes next to no difference: %s is about as fast as %s.", name, base);
    *emphasis = ratio < 1 ? FSIM_GOOD : FSIM_BAD;
    if (ratio < 1)
        return fsim_printf(r->a, "Fusion helps: %s is %s (%s to %s) as fast as %s.", name,
                           fsim_times_text(r->a, 1 / ratio), fsim_times_text(r->a, sure.low),
                           fsim_times_text(r->a, sure.high), base);
    return fsim_printf(r->a, "Fusion hurts: %s is %s slower than %s.", name, fsim_percent_text(r->a, ratio - 1), base);
}

static const char *how_sure(const report *r)
{
    const fsim_verdict v = fsim_verdict_of(r->p);
    const char *clock = r->p->interrupted              ? " (interrupted)"
                        : r->p->proof.stopped_by_clock ? " (stopped by the clock)"
                                                       : "";
    const char *of = r->p->options.objective == FSIM_MINIMISE_MEMORY ? " of peak memory" : "";
    const double over = fsim_over_optimum(r->p, r->p->chosen);
    if (fsim_over_limit(r->p))
        return fsim_printf(r->a, "over the limit of %s", fsim_bytes_text(r->a, (double)r->p->options.memory_limit));
    if (v.proven)
        return "proven optimal";
    if (r->p->chosen != FSIM_STRATEGY_OPTIMAL && r->p->proof.proven)
        return fsim_printf(r->a, "%s over the proven optimum, %s%s", fsim_percent_text(r->a, over),
                           objective_text(r, fsim_plan_objective(r->p, FSIM_STRATEGY_OPTIMAL)), of);
    return fsim_printf(r->a, "not proven: the gap to the lower bound, %s%s, is %s%s", objective_text(r, v.lower_bound),
                       of, fsim_percent_text(r->a, v.gap), clock);
}

/* "and needs 3.2 MiB of memory": where memory was asked for. */
static const char *memory_text(const report *r)
{
    const fsim_options *o = &r->p->options;
    return o->objective == FSIM_MINIMISE_MEMORY || o->memory_limit > 0 || o->pareto
               ? fsim_printf(r->a, " and needs %s of memory at its peak",
                             fsim_bytes_text(r->a, (double)r->plan->peak_memory_bytes))
               : "";
}

/* Kernels that run beside others, and what that saves. */
static void overlap(const report *r)
{
    const fsim_timeline when = fsim_timeline_of(r->g, r->plan, r->a);
    const double hidden = r->plan->time_s - when.makespan_s;
    const char *what = when.busy_s[FSIM_LANE_TRANSFER] == 0        ? "communication"
                       : when.busy_s[FSIM_LANE_COMMUNICATION] == 0 ? "transfers"
                                                                   : "communication and transfers";
    if (hidden > 0)
        fsim_paragraph(&r->page, FSIM_PLAIN, 0, 0,
                       fsim_printf(r->a,
                                   "It overlaps %s of %s with computation and ends after %s; %s is the sum of its "
                                   "kernels, which the search minimises.",
                                   fsim_seconds_text(r->a, hidden), what, fsim_seconds_text(r->a, when.makespan_s),
                                   fsim_seconds_text(r->a, r->plan->time_s)));
}

static void verdict(const report *r)
{
    fsim_emphasis emphasis;
    const char *eager = against_eager(r, &emphasis);
    fputc('\n', r->page.out);
    fsim_paragraph(&r->page, emphasis, 0, 0, eager);
    fsim_paragraph(&r->page, FSIM_PLAIN, 0, 0,
                   fsim_printf(r->a, "%s takes %s in %s with %s of DRAM traffic (eager: %s)%s: %s.",
                               fsim_strategy_names[r->p->chosen], time_text(r->p, r->p->chosen, r->a),
                               count_of(r->a, r->plan->kernels, "kernel"), dram_text(r->a, r->plan),
                               dram_text(r->a, &r->p->plan[FSIM_STRATEGY_EAGER]), memory_text(r), how_sure(r)));
    if (r->p->least_memory_bytes > 0)
        fsim_paragraph(&r->page, FSIM_BAD, 0, 0,
                       fsim_printf(r->a, "No plan was found that needs at most %s: the least found is %s.",
                                   fsim_bytes_text(r->a, (double)r->p->options.memory_limit),
                                   fsim_bytes_text(r->a, (double)r->p->least_memory_bytes)));
    overlap(r);
    const double maximal = r->p->plan[FSIM_STRATEGY_MAXIMAL].time_s, eager_s = r->p->plan[FSIM_STRATEGY_EAGER].time_s,
                 unfused = r->p->plan[FSIM_STRATEGY_UNFUSED].time_s;
    const char *slower = maximal > eager_s * (1 + same) ? "eager" : maximal > unfused * (1 + same) ? "unfused" : NULL;
    if (slower && r->p->chosen != FSIM_STRATEGY_MAXIMAL)
        fsim_paragraph(
            &r->page, FSIM_BAD, 0, 0,
            fsim_printf(r->a, "Fusing whatever is legal hurts: maximal is %s slower than %s.",
                        fsim_percent_text(r->a, maximal / (strcmp(slower, "eager") == 0 ? eager_s : unfused) - 1),
                        slower));
}

static fsim_table summary(const fsim_prediction *p, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "strategy", .left = true},
                                         {.title = "kernels"},
                                         {.title = "DRAM read", .drop = 1},
                                         {.title = "DRAM write", .drop = 2},
                                         {.title = "memory"},
                                         {.title = "time"},
                                         {.title = "speedup"},
                                         {.title = "over optimum"}};
    const fsim_options *o = &p->options;
    const bool memory = o->objective == FSIM_MINIMISE_MEMORY || o->memory_limit > 0 || o->pareto;
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int s = 0; s < FSIM_PLAN_COUNT; s++) {
        const fsim_plan *plan = &p->plan[s];
        if (!fsim_planned(p, s))
            continue;
        const double over = fsim_over_optimum(p, s);
        if (plan->kernels == 0)
            continue;
        const char **cell = fsim_table_row(&t, s == (int)p->chosen ? FSIM_STRONG : FSIM_PLAIN);
        cell[0] = fsim_strategy_names[s];
        cell[1] = fsim_printf(a, "%d", plan->kernels);
        cell[2] = fsim_bytes_text(a, (double)plan->dram_read_bytes);
        cell[3] = fsim_bytes_text(a, (double)plan->dram_write_bytes);
        cell[4] = memory ? fsim_bytes_text(a, (double)plan->peak_memory_bytes) : NULL;
        cell[5] = fsim_seconds_text(a, plan->time_s);
        cell[6] = fsim_times_text(a, fsim_speedup(p, s));
        cell[7] = fabs(over) < 1e-12 ? "-" : fabs(over) < 5e-4 ? "<0.1%" : fsim_percent_text(a, over);
    }
    return t;
}

static const char *bound_text(fsim_arena *a, const fsim_kernel *k)
{
    const double busy = k->time_s > 0 ? k->unit[k->bound] / k->time_s : 0;
    return fsim_printf(a, "%s %.0f%%", fsim_unit_names[k->bound], 100 * busy);
}

/* A share of the largest as a bar of BAR columns. */
static const char *bar_text(fsim_arena *a, double share, bool utf8)
{
    const char *full = utf8 ? "\u2588" : "#", *rest = utf8 ? "\u2591" : ".";
    const int filled = (int)lround(fmin(1, fmax(0, share)) * BAR);
    char text[4 * BAR] = "";
    for (int i = 0; i < BAR; i++)
        strcat(text, i < filled ? full : rest);
    return fsim_strdup(a, text);
}

static const fsim_kernel *dominant(const fsim_plan *plan)
{
    const fsim_kernel *most = NULL;
    for (int i = 0; i < plan->kernels; i++)
        if (!most || plan->kernel[i].time_s > most->time_s)
            most = &plan->kernel[i];
    return most;
}

typedef enum { NARROW_TABLE, WIDE_TABLE, MARKDOWN_TABLE } table_kind;

static fsim_table kernel_table(const fsim_prediction *p, table_kind kind, bool utf8, fsim_arena *a)
{
    /* What a narrow table calls the templates. */
    static const char *const brief[FSIM_TEMPLATE_COUNT] = {
        "pointwise", "copy",    "row red.", "col red.", "full red.", "pooling", "contract.",
        "library",   "chained", "scan",     "opaque",   "comm.",     "transfer"};
    static const fsim_column column[] = {{.title = "#"},
                                         {.title = "kernel", .left = true, .shrinks = true},
                                         {.title = "template", .left = true},
                                         {.title = "time"},
                                         {.title = "+-", .drop = 4},
                                         {.title = "share"},
                                         {.title = "", .left = true, .drop = 3},
                                         {.title = "DRAM"},
                                         {.title = "bound by", .left = true},
                                         {.title = "regs", .drop = 1},
                                         {.title = "occ.", .drop = 2},
                                         {.title = "from", .left = true, .drop = 5}};
    const fsim_plan *plan = &p->plan[p->chosen];
    const fsim_maker maker = fsim_made_in(p, p->chosen);
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    const fsim_kernel *most = dominant(plan);
    for (int i = 0; i < plan->kernels; i++) {
        const fsim_kernel *k = &plan->kernel[i];
        const double share = plan->time_s > 0 ? k->time_s / plan->time_s : 0;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = fsim_printf(a, "%d", i + 1);
        cell[1] = fsim_kernel_label(p->graph, k, a);
        cell[2] = kind == NARROW_TABLE ? brief[k->template] : fsim_template_names[k->template];
        cell[3] = fsim_seconds_text(a, k->time_s);
        cell[4] = spread_text(a, fsim_kernel_interval(p->graph, p->hw, maker, k), k->time_s);
        cell[5] = fsim_percent_text(a, share);
        cell[6] = kind == WIDE_TABLE ? bar_text(a, k->time_s / most->time_s, utf8) : NULL;
        cell[7] = fsim_bytes_text(a, (double)(k->dram_read_bytes + k->dram_write_bytes));
        cell[8] = bound_text(a, k);
        cell[9] = fsim_printf(a, "%d", k->registers);
        cell[10] = fsim_printf(a, "%.0f%%", 100 * k->occupancy);
        cell[11] = fsim_origin_names[fsim_kernel_origin(p->hw, maker, k, &p->basis.kernel[i])];
    }
    return t;
}

static void title(const report *r, const char *text)
{
    fputc('\n', r->page.out);
    fsim_paragraph(&r->page, FSIM_STRONG, 0, 2, text);
}

/* "t1 in 3 and 5": names are cut off in the table, so that its marks may be too. */
static void recomputed(const report *r)
{
    const char *list = NULL;
    for (int i = 0; i < r->plan->kernels; i++) {
        const fsim_group *group = r->plan->kernel[i].group;
        for (int m = 0; m < group->members; m++)
            if (group->member[m].clone)
                list = fsim_printf(r->a, "%s%s%s in kernel %d", list ? list : "", list ? ", " : "",
                                   r->g->node[group->member[m].node].name, i + 1);
    }
    if (list)
        fsim_paragraph(&r->page, FSIM_PLAIN, 0, 2, fsim_printf(r->a, "Recomputed: %s.", list));
}

/* Operators that cost nothing at run time. */
static void folded(const report *r)
{
    const char *list = NULL;
    for (int i = 0; i < r->plan->kernels; i++) {
        const fsim_group *group = r->plan->kernel[i].group;
        int last = -1;
        for (int m = 0; m < group->members; m++) {
            const int source = r->g->node[group->member[m].node].source;
            if (group->member[m].form == FSIM_FOLDED && source != last)
                list = fsim_printf(r->a, "%s%s%s in kernel %d", list ? list : "", list ? ", " : "",
                                   r->g->source[last = source].name, i + 1);
        }
    }
    if (list)
        fsim_paragraph(&r->page, FSIM_PLAIN, 0, 2, fsim_printf(r->a, "Folded into the weights: %s.", list));
}

static const char *saving(const report *r, const fsim_priced_refusal *refusal)
{
    if (refusal->why.rule == FSIM_RULE_COST && refusal->saving_s > 0)
        return fsim_printf(r->a, "legal: would save %s%s", fsim_seconds_text(r->a, refusal->saving_s),
                           r->p->chosen == FSIM_STRATEGY_OPTIMAL ? " alone, but not in this plan" : "");
    if (refusal->why.rule == FSIM_RULE_COST)
        return fsim_printf(r->a, "legal but dearer by %s: %s", fsim_seconds_text(r->a, -refusal->saving_s),
                           fsim_cause_text(r->g, &refusal->cause, r->a));
    if (!(refusal->saving_s > 0) && refusal->saving_bytes <= 0)
        return "would save nothing";
    const char *seconds = refusal->saving_s > 0 ? fsim_seconds_text(r->a, refusal->saving_s) : NULL;
    const char *bytes = refusal->saving_bytes > 0 ? fsim_printf(r->a, "%s of DRAM traffic",
                                                                fsim_bytes_text(r->a, (double)refusal->saving_bytes))
                                                  : NULL;
    return fsim_printf(r->a, "would save at most %s%s%s", seconds ? seconds : "", seconds && bytes ? " and " : "",
                       bytes ? bytes : "");
}

/* Of refusals that are alike, as those of equal layers are, one is shown. */
static bool alike(const fsim_graph *g, const fsim_priced_refusal *x, const fsim_priced_refusal *y)
{
    return x->why.rule == y->why.rule && x->saving_s == y->saving_s && x->saving_bytes == y->saving_bytes &&
           (x->why.b < 0) == (y->why.b < 0) && g->node[x->why.a].op == g->node[y->why.a].op &&
           (x->why.b < 0 || g->node[x->why.b].op == g->node[y->why.b].op);
}

static void put_refusal(const report *r, const fsim_priced_refusal *refusal, int alikes)
{
    const char *a = r->g->node[refusal->why.a].name;
    const char *pair = refusal->why.b >= 0 ? fsim_printf(r->a, "%s + %s", a, r->g->node[refusal->why.b].name) : a;
    const char *more = alikes > 0 ? fsim_printf(r->a, " (and %d like it)", alikes) : "";
    const bool legal = refusal->why.rule == FSIM_RULE_COST;
    const char *why = legal ? "" : fsim_printf(r->a, ": %s", fsim_refusal_text(r->g, &refusal->why, r->a));
    const char *line = fsim_printf(r->a, "%s%s%s%s%s", pair, why, more, legal ? ": " : "   ", saving(r, refusal));
    if (fsim_text_width(line) + 2 <= r->page.width) {
        fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4, line);
        return;
    }
    fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4, fsim_printf(r->a, "%s%s%s", pair, why, more));
    fsim_paragraph(&r->page, FSIM_PLAIN, 4, 4, saving(r, refusal));
}

static void refusals(const report *r)
{
    const int count = r->p->refusals;
    bool *done = fsim_new(r->a, bool, count + 1);
    int shown = 0, told = 0; /* told: those that a line shown speaks for */
    if (count == 0)
        return;
    title(r, "not fused, and why");
    for (int i = 0; i < count && (r->verbose || shown < REFUSALS_SHOWN); i++) {
        int alikes = 0;
        if (done[i])
            continue;
        for (int k = i + 1; k < count && !r->verbose; k++)
            if (!done[k] && alike(r->g, &r->p->refusal[i], &r->p->refusal[k])) {
                done[k] = true;
                alikes++;
            }
        put_refusal(r, &r->p->refusal[i], alikes);
        shown++;
        told += 1 + alikes;
    }
    if (told < count)
        fsim_paragraph(&r->page, FSIM_FAINT, 2, 4, fsim_printf(r->a, "... and %d more: --verbose", count - told));
}

/* Some kernels of a plan as "a + b | c"; long ones are cut off. */
static const char *groups_text(const report *r, const fsim_plan *plan, const int *kernel, int count)
{
    enum { MOST = 60 };
    const char *text = "";
    for (int i = 0; i < count && fsim_text_width(text) <= MOST; i++)
        text =
            fsim_printf(r->a, "%s%s%s", text, i ? " | " : "", fsim_kernel_label(r->g, &plan->kernel[kernel[i]], r->a));
    if (fsim_text_width(text) <= MOST)
        return text;
    int end = MOST - 3;
    while (end > 0 && text[end] != ' ')
        end--;
    return fsim_printf(r->a, "%s...", fsim_strndup(r->a, text, (size_t)(end > 0 ? end : MOST - 3)));
}

/* "2.6 us and 8 MiB of DRAM traffic"; what is less than nothing is said to be saved. */
static const char *price_text(const report *r, double seconds, int64_t bytes)
{
    const char *time =
        fsim_printf(r->a, "%s%s", seconds < 0 ? "saves " : "costs ", fsim_seconds_text(r->a, fabs(seconds)));
    return bytes == 0 ? time
                      : fsim_printf(r->a, "%s and %s%s of DRAM traffic", time,
                                    (bytes < 0) == (seconds < 0) ? ""
                                    : bytes < 0                  ? "saves "
                                                                 : "costs ",
                                    fsim_bytes_text(r->a, fabs((double)bytes)));
}

/* What plan `mine` has where the optimum, or the best of --top, has something else. */
static const char *difference_text(const report *r, const fsim_difference *d, const fsim_plan *mine,
                                   const fsim_plan *best)
{
    const char *own = groups_text(r, mine, d->mine, d->mines), *other = groups_text(r, best, d->other, d->others);
    if (d->mines == 1 && d->others == 1)
        return fsim_printf(r->a, "%s: finds other tensors in L2", own);
    if (d->others == 1)
        return fsim_printf(r->a, "cuts %s", own);
    if (d->mines == 1)
        return fsim_printf(r->a, "fuses %s", other);
    return fsim_printf(r->a, "%s instead of %s", own, other);
}

/* Where the plan shown differs from the optimum, the dearest first. */
static void losses(const report *r)
{
    const fsim_plan *best = &r->p->plan[FSIM_STRATEGY_OPTIMAL];
    const int shown = r->verbose || r->p->losses <= LOSSES_SHOWN ? r->p->losses : LOSSES_SHOWN;
    if (shown == 0)
        return;
    title(r, fsim_printf(r->a, "%s against optimal", fsim_strategy_names[r->p->chosen]));
    for (int i = 0; i < shown; i++) {
        const fsim_difference *d = &r->p->loss[i];
        fsim_paragraph(
            &r->page, FSIM_PLAIN, 2, 4,
            fsim_printf(r->a, "%s: %s", difference_text(r, d, r->plan, best), price_text(r, d->time_s, d->dram_bytes)));
    }
    if (shown < r->p->losses)
        fsim_paragraph(&r->page, FSIM_FAINT, 2, 4,
                       fsim_printf(r->a, "... and %d more: --verbose", r->p->losses - shown));
}

/* --top: each plan against the best. */
static fsim_table alternatives(const report *r)
{
    static const fsim_column column[] = {{.title = "#"},
                                         {.title = "kernels"},
                                         {.title = "DRAM"},
                                         {.title = "memory", .drop = 1},
                                         {.title = "time"},
                                         {.title = "over best"},
                                         {.title = "what differs", .left = true, .shrinks = true}};
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    for (int i = 0; i < r->p->tops; i++) {
        const fsim_plan *plan = &r->p->top[i], *best = &r->p->top[0];
        fsim_difference *d;
        const int differences = i ? fsim_compare(r->g, plan, best, r->a, &d) : 0;
        const char **cell = fsim_table_row(&t, i ? FSIM_PLAIN : FSIM_STRONG);
        cell[0] = fsim_printf(r->a, "%d", i + 1);
        cell[1] = fsim_printf(r->a, "%d", plan->kernels);
        cell[2] = dram_text(r->a, plan);
        cell[3] = fsim_bytes_text(r->a, (double)plan->peak_memory_bytes);
        cell[4] = fsim_seconds_text(r->a, plan->time_s);
        cell[5] = i ? fsim_printf(r->a, "%.2f%%", 100 * (plan->time_s / best->time_s - 1)) : "-";
        cell[6] = differences > 1
                      ? fsim_printf(r->a, "%s (and %d more)", difference_text(r, &d[0], plan, best), differences - 1)
                  : differences ? difference_text(r, &d[0], plan, best)
                                : NULL;
    }
    return t;
}

/* --objective pareto: time against peak memory. */
static fsim_table front(const report *r)
{
    static const fsim_column column[] = {{.title = "#"},      {.title = "kernels"},
                                         {.title = "time"},   {.title = "over fastest"},
                                         {.title = "memory"}, {.title = "less memory"}};
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    for (int i = 0; i < r->p->fronts; i++) {
        const fsim_plan *plan = &r->p->front[i], *fastest = &r->p->front[0];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = fsim_printf(r->a, "%d", i + 1);
        cell[1] = fsim_printf(r->a, "%d", plan->kernels);
        cell[2] = fsim_seconds_text(r->a, plan->time_s);
        cell[3] = i ? fsim_percent_text(r->a, plan->time_s / fastest->time_s - 1) : "-";
        cell[4] = fsim_bytes_text(r->a, (double)plan->peak_memory_bytes);
        cell[5] =
            i ? fsim_percent_text(r->a, 1 - (double)plan->peak_memory_bytes / (double)fastest->peak_memory_bytes) : "-";
    }
    return t;
}

/* What a workload has, for the keys that matter only then. */
typedef enum { ANY, DOUBLES, CONTRACTIONS, DEVICES, HOST } matter;

static bool matters(const fsim_graph *g, matter what)
{
    for (int i = 0; i < g->nodes; i++) {
        const fsim_node *n = &g->node[i];
        const fsim_class class = fsim_ops[n->op].class;
        const bool here[] = {[ANY] = true,
                             [DOUBLES] = n->dtype == FSIM_F64,
                             [CONTRACTIONS] = n->gemm.k > 0,
                             [DEVICES] = class == FSIM_COMMUNICATION,
                             [HOST] = class == FSIM_TRANSFER};
        if (here[what])
            return true;
    }
    return false;
}

/* Keys that the model can do without, and what it does then. */
static void left_out(const report *r)
{
    static const struct {
        fsim_hw_key key;
        matter when;
        const char *text;
    } note[] = {{FSIM_HW_L2_BANDWIDTH, ANY, "L2 bandwidth unknown: left out."},
                {FSIM_HW_L2_EFFECTIVE, ANY,
                 "No 'l2_effective' in the hardware file: the whole L2 counts as kept between kernels."},
                {FSIM_HW_DRAM_LATENCY, ANY, "DRAM latency unknown: a typical one is assumed."},
                {FSIM_HW_FP64_RATE, DOUBLES, "FP64 rate unknown: FP64 is as fast as FP32."},
                {FSIM_HW_LINK_BANDWIDTH, DEVICES, "Bandwidth between devices unknown: left out."},
                {FSIM_HW_HOST_LINK_BANDWIDTH, HOST, "Bandwidth between host and device unknown: left out."}};
    for (size_t i = 0; i < sizeof note / sizeof *note; i++)
        if (!fsim_hw_has(r->p->hw, note[i].key) && matters(r->g, note[i].when))
            fsim_paragraph(&r->page, FSIM_FAINT, 0, 2, note[i].text);
}

/* Seconds of the plan's kernels that rest on this key: that read it, and are bound by the unit that it feeds where
 * `bound`. */
static double seconds_on(const fsim_prediction *p, int key, bool bound)
{
    const fsim_plan *plan = &p->plan[p->chosen];
    double seconds = 0;
    for (int k = 0; k < plan->kernels; k++)
        if (p->basis.kernel[k].how[key] && (!bound || fsim_feeds_bound((fsim_hw_key)key, &plan->kernel[k])))
            seconds += plan->kernel[k].time_s;
    return seconds;
}

/* Is x of more weight than y? Equal ones stand in the order of the table. */
static bool weighs_more(const fsim_prediction *p, int x, int y)
{
    for (int bound = 1; bound >= 0; bound--) {
        const double of_x = seconds_on(p, x, bound), of_y = seconds_on(p, y, bound);
        if (of_x != of_y)
            return of_x > of_y;
    }
    return x < y;
}

/* Keys of the hardware file that the plan shown rests on and nobody measured: those that matter most, and how many
 * there are. */
static void assumed(const report *r)
{
    enum { SHOWN = 6 };
    const fsim_prediction *p = r->p;
    int key[FSIM_HW_COUNT], keys = 0;
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        fsim_origin from;
        if (!fsim_hw_was_read(p->hw, &p->basis.all, (fsim_hw_key)i, &from) || from != FSIM_FROM_ASSUMED)
            continue;
        int at = keys++;
        for (; at > 0 && weighs_more(p, i, key[at - 1]); at--)
            key[at] = key[at - 1];
        key[at] = i;
    }
    const int shown = r->verbose || keys <= SHOWN ? keys : SHOWN;
    const char *list = "";
    for (int i = 0; i < shown; i++)
        list = fsim_printf(r->a, "%s%s%s", list, i ? ", " : "", fsim_hw_rows[key[i]].key);
    const char *more = keys > shown ? fsim_printf(r->a, " and %d more (--verbose)", keys - shown) : "";
    if (keys > 0)
        fsim_paragraph(&r->page, FSIM_FAINT, 0, 2,
                       fsim_printf(r->a, "Assumed, not measured, in %s: %s%s.",
                                   p->hw->name ? p->hw->name : "the hardware file", list, more));
}

static void units(const report *r, const fsim_kernel *k)
{
    static const fsim_column column[] = {{.title = "unit", .left = true},
                                         {.title = "accounts for"},
                                         {.title = "of time"},
                                         {.title = "alone takes"},
                                         {.title = "busy"}};
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    for (int u = 0; u < FSIM_UNIT_COUNT; u++) {
        if (k->time[u] <= 0 && k->unit[u] <= 0)
            continue;
        const char **cell = fsim_table_row(&t, u == (int)k->bound ? FSIM_STRONG : FSIM_PLAIN);
        cell[0] = fsim_unit_names[u];
        cell[1] = fsim_seconds_text(r->a, k->time[u]);
        cell[2] = fsim_percent_text(r->a, k->time_s > 0 ? k->time[u] / k->time_s : 0);
        cell[3] = fsim_seconds_text(r->a, k->unit[u]);
        cell[4] = fsim_percent_text(r->a, k->time_s > 0 ? k->unit[u] / k->time_s : 0);
    }
    fsim_table_print(&r->page, &t, 4);
}

/* The last row is the kernel's: what tiles of operands fetch from L2 is known of the kernel as a whole. */
static void tensors(const report *r, const fsim_kernel *k)
{
    static const fsim_column column[] = {{.title = "", .left = true},
                                         {.title = "tensor", .left = true},
                                         {.title = "compulsory"},
                                         {.title = "DRAM"},
                                         {.title = "L2"}};
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    int64_t compulsory = 0;
    for (int i = 0; i < k->inputs; i++) {
        const fsim_input *in = &k->input[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = "reads";
        cell[1] = r->g->tensor[in->tensor].name;
        cell[2] = fsim_bytes_text(r->a, (double)in->bytes);
        cell[3] = fsim_bytes_text(r->a, (double)in->read_bytes);
        cell[4] = in->l2_bytes > 0 ? fsim_bytes_text(r->a, in->l2_bytes) : "-";
        compulsory += in->bytes;
    }
    for (int i = 0; i < k->outputs; i++) {
        const fsim_result *out = &k->output[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = "writes";
        cell[1] = r->g->tensor[out->tensor].name;
        cell[2] = fsim_bytes_text(r->a, (double)out->bytes);
        cell[3] = fsim_bytes_text(r->a, (double)out->write_bytes);
        cell[4] = "-";
        compulsory += out->bytes;
    }
    const char **cell = fsim_table_row(&t, FSIM_STRONG);
    cell[0] = "all";
    cell[2] = fsim_bytes_text(r->a, (double)compulsory);
    cell[3] = fsim_bytes_text(r->a, (double)(k->dram_read_bytes + k->dram_write_bytes));
    cell[4] = fsim_bytes_text(r->a, k->l2_bytes);
    fsim_table_print(&r->page, &t, 4);
}

static void configuration(const report *r, const fsim_kernel *k)
{
    fsim_arena *a = r->a;
    const bool reduces =
        k->template == FSIM_ROW_REDUCTION || k->template == FSIM_COLUMN_REDUCTION || k->template == FSIM_FULL_REDUCTION;
    const char *tile = k->tile_m > 0 ? fsim_printf(a, ", tile %d x %d", k->tile_m, k->tile_n) : "";
    const char *split = k->split_k > 1 ? fsim_printf(a, ", split-K %d", k->split_k) : "";
    const char *passes =
        reduces || k->passes > 1
            ? fsim_printf(a, "%s over the rows, ", k->passes == 1 ? "1 pass" : fsim_printf(a, "%d passes", k->passes))
            : "";
    char flops[32];
    fsim_paragraph(
        &r->page, FSIM_PLAIN, 4, 6,
        fsim_printf(
            a, "%lld block%s of %d threads%s%s, %s, %d registers a thread, %s of shared memory a block, %s spilled",
            (long long)k->grid, k->grid == 1 ? "" : "s", k->block, tile, split,
            k->launches == 1 ? "1 launch" : fsim_printf(a, "%d launches", k->launches), k->registers,
            fsim_bytes_text(a, k->shared_bytes), fsim_bytes_text(a, (double)k->spilled_bytes)));
    fsim_paragraph(&r->page, FSIM_PLAIN, 4, 6,
                   fsim_printf(a, "occupancy %.0f%%, %.2f waves, %s%s, coalescing %.0f%%, %s", 100 * k->occupancy,
                               k->waves, passes,
                               k->vector > 1 ? fsim_printf(a, "vectors of %d elements", k->vector) : "no vectors",
                               100 * k->coalescing, fsim_show_rate(flops, sizeof flops, k->flops, "FLOP")));
}

static void details(const report *r)
{
    for (int i = 0; i < r->plan->kernels; i++) {
        const fsim_mark scratch = fsim_save(r->a);
        const fsim_kernel *k = &r->plan->kernel[i];
        title(r, fsim_printf(r->a, "kernel %d: %s", i + 1, fsim_kernel_name(r->g, k, r->a)));
        const char *list = NULL;
        for (int m = 0; m < k->group->members; m++)
            list = fsim_printf(r->a, "%s%s%s%s", list ? list : "", list ? ", " : "",
                               r->g->node[k->group->member[m].node].name,
                               k->group->member[m].clone ? " (recomputed)" : "");
        fsim_paragraph(&r->page, FSIM_PLAIN, 4, 6, list ? list : "");
        if (r->plan->rule && r->plan->rule[i])
            fsim_paragraph(
                &r->page, FSIM_PLAIN, 4, 6,
                fsim_printf(r->a, "made by the rule%s %s", strchr(r->plan->rule[i], '+') ? "s" : "", r->plan->rule[i]));
        configuration(r, k);
        units(r, k);
        tensors(r, k);
        fsim_rewind(r->a, scratch);
    }
}

void fsim_report_text(FILE *out, const fsim_prediction *p, const fsim_text_style *style)
{
    fsim_arena *a = fsim_arena_new();
    const report r = begin(out, p, style, a);
    header(&r);
    verdict(&r);
    fputc('\n', out);
    fsim_table t = summary(p, a);
    fsim_table_print(&r.page, &t, 2);
    title(&r, fsim_printf(a, "kernels of %s", fsim_strategy_names[p->chosen]));
    t = kernel_table(p, r.page.width >= WIDE ? WIDE_TABLE : NARROW_TABLE, r.page.utf8, a);
    fsim_table_print(&r.page, &t, 0);
    recomputed(&r);
    folded(&r);
    if (r.verbose)
        details(&r);
    losses(&r);
    if (p->tops > 0) {
        title(&r, fsim_printf(a, "the best %s", count_of(a, p->tops, "plan")));
        t = alternatives(&r);
        fsim_table_print(&r.page, &t, 2);
    }
    if (p->fronts > 0) {
        title(&r, "time against memory: no plan found is better in both");
        t = front(&r);
        fsim_table_print(&r.page, &t, 2);
    }
    if (p->options.compile_jobs > 0) {
        title(&r, "fast compile or fast run");
        fsim_put_compile(&r.page, p, a);
    }
    refusals(&r);
    fputc('\n', out);
    left_out(&r);
    assumed(&r);
    fsim_arena_free(a);
}

static fsim_table comparison(const fsim_prediction *p, int count, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "GPU", .left = true, .shrinks = true},
                                         {.title = "kernels", .drop = 1},
                                         {.title = "DRAM"},
                                         {.title = "eager"},
                                         {.title = "time"},
                                         {.title = "speedup"},
                                         {.title = "vs best"},
                                         {.title = "bound by", .left = true, .drop = 3},
                                         {.title = "gap", .drop = 2}};
    double fastest = INFINITY;
    for (int i = 0; i < count; i++)
        fastest = fmin(fastest, p[i].plan[p[i].chosen].time_s);
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < count; i++) {
        const fsim_plan *plan = &p[i].plan[p[i].chosen];
        const fsim_kernel *most = dominant(plan);
        const fsim_verdict v = fsim_verdict_of(&p[i]);
        const char **cell = fsim_table_row(&t, plan->time_s <= fastest ? FSIM_STRONG : FSIM_PLAIN);
        cell[0] = p[i].hw->name;
        cell[1] = fsim_printf(a, "%d", plan->kernels);
        cell[2] = dram_text(a, plan);
        cell[3] = fsim_seconds_text(a, p[i].plan[FSIM_STRATEGY_EAGER].time_s);
        cell[4] = fsim_seconds_text(a, plan->time_s);
        cell[5] = fsim_times_text(a, fsim_speedup(&p[i], p[i].chosen));
        cell[6] = fsim_times_text(a, plan->time_s / fastest);
        cell[7] = most ? fsim_unit_names[most->bound] : NULL;
        cell[8] = v.proven ? "proven" : fsim_percent_text(a, v.gap);
    }
    return t;
}

void fsim_report_compare(FILE *out, const fsim_prediction *p, int count, const fsim_text_style *style)
{
    if (count < 1)
        return;
    fsim_arena *a = fsim_arena_new();
    const report r = begin(out, p, style, a);
    const fsim_options *o = &p->options;
    fsim_paragraph(
        &r.page, FSIM_STRONG, 0, 2,
        fsim_printf(a, "%s on %s: %s", r.g->name, count_of(a, count, "GPU"), fsim_strategy_names[p->chosen]));
    fsim_paragraph(&r.page, FSIM_FAINT, 0, 2,
                   fsim_printf(a, "launch %s, L2 %s, objective %s%s", fsim_regime_names[o->regime],
                               o->warm ? "warm" : "cold", fsim_objective_name(o), limit_text(a, o)));
    fputc('\n', out);
    const fsim_table t = comparison(p, count, a);
    fsim_table_print(&r.page, &t, 0);
    fsim_arena_free(a);
}

void fsim_report_markdown(FILE *out, const fsim_prediction *p, int count)
{
    fsim_arena *a = fsim_arena_new();
    if (count > 1) {
        const fsim_table t = comparison(p, count, a);
        fsim_table_markdown(out, &t);
        fputc('\n', out);
    }
    for (int i = 0; i < count; i++) {
        const fsim_text_style style = {.width = DEFAULT_WIDTH};
        const report r = begin(out, &p[i], &style, a);
        fsim_emphasis emphasis;
        fputs("### ", out);
        fsim_markdown_text(out, fsim_printf(a, "%s on %s", r.g->name, hardware_name(p[i].hw)));
        fputs("\n\n", out);
        fsim_markdown_text(out, against_eager(&r, &emphasis));
        fputc(' ', out);
        fsim_markdown_text(out, fsim_printf(a, "%s takes %s, %s.", fsim_strategy_names[p[i].chosen],
                                            fsim_seconds_text(a, r.plan->time_s), how_sure(&r)));
        fputs("\n\n", out);
        fsim_table t = summary(&p[i], a);
        fsim_table_markdown(out, &t);
        fputc('\n', out);
        t = kernel_table(&p[i], MARKDOWN_TABLE, false, a);
        fsim_table_markdown(out, &t);
        if (p[i].tops > 0) {
            fputs("\nThe best plans:\n\n", out);
            t = alternatives(&r);
            fsim_table_markdown(out, &t);
        }
        if (p[i].fronts > 0) {
            fputs("\nTime against memory:\n\n", out);
            t = front(&r);
            fsim_table_markdown(out, &t);
        }
        if (p[i].options.compile_jobs > 0) {
            fputs("\nFast compile or fast run:\n\n", out);
            fsim_markdown_compile(out, &p[i], a);
        }
        fputs(i + 1 < count ? "\n" : "", out);
    }
    fsim_arena_free(a);
}
