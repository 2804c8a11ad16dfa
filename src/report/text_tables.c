/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of strategies, kernels, plans and GPUs, for the text report and for Markdown. */
#include "report/text_parts.h"

#include "plan/price/phases.h"
#include "report/layer.h"
#include <math.h>
#include <string.h>

enum { BAR = 8, OVER_OPTIMUM = 9 };

/* "12%": half the width of an interval of a time, as a share of it. Eight of ten measured times would lie within. */
const char *fsim_text_spread(fsim_arena *a, fsim_interval x, double time_s)
{
    return time_s > 0 ? fsim_printf(a, "%.0f%%", 50 * (x.high - x.low) / time_s) : "";
}

const char *fsim_text_times_range(fsim_arena *a, fsim_interval x)
{
    return fsim_printf(a, "%s to %s", fsim_times_text(a, x.low), fsim_times_text(a, x.high));
}

static const char no_difference[] = "no difference";

const char *fsim_text_speedup(const fsim_prediction *p, fsim_strategy s, const fsim_contest *c, fsim_arena *a)
{
    return c->verdict == FSIM_NO_DIFFERENCE && !fsim_is_none(c->speedup) ? no_difference
                                                                         : fsim_times_text(a, fsim_speedup(p, s));
}

/* What s loses against the optimum, where that is sure. */
static const char *loss_text(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    const double over = fsim_over_optimum(p, s);
    return fabs(over) < 1e-12          ? "-"
           : fabs(over) < 5e-4         ? "<0.1%"
           : !fsim_tells_loss(p, s, a) ? no_difference
                                       : fsim_percent_text(a, over);
}

const char *fsim_text_dram(fsim_arena *a, const fsim_plan *plan)
{
    return fsim_bytes_text(a, (double)(plan->dram_read_bytes + plan->dram_write_bytes));
}

fsim_table fsim_text_strategies(const fsim_prediction *p, fsim_arena *a)
{
    static const char *const over_optimum[] = {[FSIM_MINIMISE_TIME] = "how much longer than optimal takes",
                                               [FSIM_MINIMISE_BYTES] = "how many more DRAM bytes than optimal",
                                               [FSIM_MINIMISE_MEMORY] = "how much more memory than optimal"};
    static const fsim_column columns[] = {
        {.title = "strategy", .left = true},
        {.title = "kernels"},
        {.title = "DRAM read", .drop = 2},
        {.title = "DRAM write", .drop = 3},
        {.title = "saved", .drop = 4, .legend = "what forward keeps for backward besides inputs and weights"},
        {.title = "memory", .legend = "the most that it needs at once"},
        {.title = "time"},
        {.title = "speedup", .legend = "eager's time over this one"},
        {.title = "in 8 of 10 cases", .drop = FSIM_DROP_SOONEST, .legend = "where its measured speedup would lie"},
        {.title = "over optimum", .drop = 1},
        {.title = "which is", .left = true, .drop = FSIM_DROP_SOONEST + 1}};
    const fsim_options *o = &p->options;
    const bool training = p->graph->derived == FSIM_REVERSE,
               memory = training || o->objective == FSIM_MINIMISE_MEMORY || o->memory_limit > 0 || o->pareto;
    fsim_column *column = fsim_new(a, fsim_column, sizeof columns / sizeof *columns);
    memcpy(column, columns, sizeof columns);
    column[OVER_OPTIMUM].legend = over_optimum[o->objective];
    fsim_table t = fsim_table_new(a, column, sizeof columns / sizeof *columns);
    for (int s = 0; s < FSIM_PLAN_COUNT; s++) {
        const fsim_plan *plan = &p->plan[s];
        if (!fsim_planned(p, s))
            continue;
        if (plan->kernels == 0)
            continue;
        const fsim_contest eager = fsim_against_eager(p, (fsim_strategy)s, a);
        const char **cell = fsim_table_row(&t, s == (int)p->chosen ? FSIM_STRONG : FSIM_PLAIN);
        cell[0] = fsim_strategy_names[s];
        cell[1] = fsim_printf(a, "%d", plan->kernels);
        cell[2] = fsim_bytes_text(a, (double)plan->dram_read_bytes);
        cell[3] = fsim_bytes_text(a, (double)plan->dram_write_bytes);
        cell[4] = training ? fsim_bytes_text(a, (double)plan->saved_bytes) : NULL;
        cell[5] = memory ? fsim_bytes_text(a, (double)plan->peak_memory_bytes) : NULL;
        cell[6] = fsim_seconds_text(a, plan->time_s);
        cell[7] = fsim_text_speedup(p, (fsim_strategy)s, &eager, a);
        cell[8] = s == FSIM_STRATEGY_EAGER ? "" : fsim_text_times_range(a, eager.likely);
        cell[OVER_OPTIMUM] = loss_text(p, (fsim_strategy)s, a);
        cell[OVER_OPTIMUM + 1] = s < FSIM_STRATEGY_COUNT ? fsim_strategies[s].help : "the plan of --plan";
    }
    return t;
}

static const char *bound_text(fsim_arena *a, const fsim_kernel *k)
{
    const double busy = k->time_s > 0 ? k->unit[k->bound] / k->time_s : 0;
    const bool link = (k->template == FSIM_COMMUNICATION_KERNEL || k->template == FSIM_TRANSFER_KERNEL) &&
                      k->bound == FSIM_LATENCY; /* the time of a link is counted as latency */
    return fsim_printf(a, "%s %.0f%%", link ? "link" : fsim_unit_names[k->bound], 100 * busy);
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

/* Seconds of the row of the table that takes longest. */
static double dominant_s(const fsim_text_page *r)
{
    double most_s = 0;
    for (int i = 0; i < r->plan->kernels; i++)
        most_s = fmax(most_s, r->repeats.times[i] * r->plan->kernel[i].time_s);
    return most_s;
}

/* The heads, and what they mean where rows stand for several kernels. In a. */
static const fsim_column *kernel_columns(const fsim_repeats *repeats, const fsim_column *column, int columns, int share,
                                         fsim_arena *a)
{
    fsim_column *own = fsim_new(a, fsim_column, columns);
    memcpy(own, column, (size_t)columns * sizeof *own);
    if (repeats->count > 0)
        own[share].legend = "of the plan's time, of all x kernels together";
    return own;
}

fsim_table fsim_text_kernels(const fsim_text_page *r, fsim_kernel_table kind)
{
    enum { SHARE = 4 };
    static const fsim_column column[] = {
        {.title = "#"},
        {.title = "time"},
        {.title = "", .left = true},
        {.title = "+-", .drop = 1, .legend = "holds eight of ten measured times"},
        {.title = "share", .legend = "of the plan's time"},
        {.title = "", .left = true, .drop = 4},
        {.title = "DRAM", .legend = "bytes read and written there, without those that L2 holds"},
        {.title = "bound by", .left = true, .legend = "what takes longest, and for how much of the time"},
        {.title = "regs", .drop = 2, .legend = "registers of a thread"},
        {.title = "occ.", .drop = 3, .legend = "occupancy, the share of an SM's threads in use"},
        {.title = "from", .left = true, .drop = 5, .legend = "the least certain source of a figure behind the time"},
        {.title = "phase", .left = true, .drop = 4},
        {.title = "kind", .left = true},
        {.title = "layer", .left = true, .drop = 6},
        {.title = "computes", .left = true, .shrinks = true, .least = 24}};
    const int columns = sizeof column / sizeof *column, *times = r->repeats.times;
    const fsim_prediction *p = r->p;
    const fsim_plan *plan = r->plan;
    fsim_arena *a = r->a;
    const fsim_maker maker = fsim_maker_in(p, p->chosen);
    fsim_table t = fsim_table_new(a, kernel_columns(&r->repeats, column, columns, SHARE, a), columns);
    const double most_s = dominant_s(r);
    for (int i = 0; i < plan->kernels; i++) {
        const fsim_kernel *k = &plan->kernel[i];
        if (times[i] == 0)
            continue;
        const double share = plan->time_s > 0 ? times[i] * k->time_s / plan->time_s : 0;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = fsim_printf(a, "%d", i + 1);
        cell[1] = fsim_seconds_text(a, k->time_s);
        cell[2] = times[i] > 1 ? fsim_printf(a, "x %d", times[i]) : NULL;
        cell[3] = fsim_text_spread(a, fsim_kernel_interval(p->graph, p->hw, maker, k), k->time_s);
        cell[SHARE] = fsim_percent_text(a, share);
        cell[5] = kind == FSIM_WIDE_TABLE ? bar_text(a, times[i] * k->time_s / most_s, r->page.utf8) : NULL;
        cell[6] = fsim_bytes_text(a, (double)(k->dram_read_bytes + k->dram_write_bytes));
        cell[7] = bound_text(a, k);
        const bool known = k->registers > 0; /* else a library's own */
        cell[8] = known ? fsim_printf(a, "%d", k->registers) : "-";
        cell[9] = known ? fsim_printf(a, "%.0f%%", 100 * k->occupancy) : "-";
        cell[10] = fsim_origin_names[fsim_kernel_origin(p->graph, p->hw, maker, k, &p->basis.kernel[i])];
        cell[11] = fsim_phase_name_of(p->graph, &plan->partition.part[i]);
        cell[12] = kind == FSIM_NARROW_TABLE ? fsim_template_brief[k->template] : fsim_template_names[k->template];
        cell[13] = fsim_kernel_layer(p->graph, k, a);
        cell[14] = fsim_kernel_label(p->graph, k, a);
    }
    return t;
}

const char *fsim_text_repeat(const fsim_text_page *r, const fsim_repeat *x)
{
    const double turn_s = fsim_turn_s(r->plan, x);
    const char *which = x->kernels > 1 ? fsim_printf(r->a, "kernels %d to %d run", x->first + 1, x->first + x->kernels)
                                       : fsim_printf(r->a, "kernel %d runs", x->first + 1);
    return fsim_printf(r->a, "x %d: %s %d times one after the other, as %d to %d: %s a turn, %s in all (%s).", x->times,
                       which, x->times, x->first + 1, x->first + x->kernels * x->times, fsim_seconds_text(r->a, turn_s),
                       fsim_seconds_text(r->a, x->times * turn_s),
                       fsim_percent_text(r->a, x->times * turn_s / r->plan->time_s));
}

/* By how much a plan of the front is slower than the fastest, where that is sure. */
static const char *over_fastest_text(const fsim_text_page *r, const fsim_plan *plan, const fsim_plan *fastest)
{
    const fsim_maker maker = fsim_maker_in(r->p, FSIM_STRATEGY_OPTIMAL);
    const fsim_contest c = fsim_contest_of(r->p, (fsim_plan_by){plan, maker}, (fsim_plan_by){fastest, maker}, r->a);
    return c.verdict == FSIM_NO_DIFFERENCE && !fsim_is_none(c.speedup)
               ? no_difference
               : fsim_percent_text(r->a, plan->time_s / fastest->time_s - 1);
}

/* By how much a plan is slower than the best one, where that is sure. */
static const char *over_best_text(const fsim_text_page *r, const fsim_plan *plan, const fsim_plan *best)
{
    const fsim_maker maker = fsim_maker_in(r->p, FSIM_STRATEGY_OPTIMAL);
    const fsim_contest c = fsim_contest_of(r->p, (fsim_plan_by){plan, maker}, (fsim_plan_by){best, maker}, r->a);
    return c.verdict == FSIM_NO_DIFFERENCE && !fsim_is_none(c.speedup)
               ? no_difference
               : fsim_printf(r->a, "%.2f%%", 100 * (plan->time_s / best->time_s - 1));
}

/* --top: each plan against the best. */
fsim_table fsim_text_alternatives(const fsim_text_page *r)
{
    static const fsim_column column[] = {{.title = "#"},
                                         {.title = "kernels"},
                                         {.title = "DRAM"},
                                         {.title = "memory", .drop = 1, .legend = "the most that it needs at once"},
                                         {.title = "time"},
                                         {.title = "over best", .legend = "how much longer than the first takes"},
                                         {.title = "what differs", .left = true, .shrinks = true}};
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    for (int i = 0; i < r->p->tops; i++) {
        const fsim_plan *plan = &r->p->top[i], *best = &r->p->top[0];
        fsim_difference *d;
        const bool alike = fsim_same_graph(plan->graph, best->graph); /* else their primitives are others */
        const int differences = i && alike ? fsim_compare(r->g, plan, best, r->a, &d) : 0;
        const char **cell = fsim_table_row(&t, i ? FSIM_PLAIN : FSIM_STRONG);
        cell[0] = fsim_printf(r->a, "%d", i + 1);
        cell[1] = fsim_printf(r->a, "%d", plan->kernels);
        cell[2] = fsim_text_dram(r->a, plan);
        cell[3] = fsim_bytes_text(r->a, (double)plan->peak_memory_bytes);
        cell[4] = fsim_seconds_text(r->a, plan->time_s);
        cell[5] = i ? over_best_text(r, plan, best) : "-";
        cell[6] = differences > 1 ? fsim_printf(r->a, "%s (and %d more)", fsim_text_difference(r, &d[0], plan, best),
                                                differences - 1)
                  : differences   ? fsim_text_difference(r, &d[0], plan, best)
                  : alike         ? NULL
                                  : "no call of a library for attention's gradients";
    }
    return t;
}

/* --objective pareto: time against peak memory. */
fsim_table fsim_text_front(const fsim_text_page *r)
{
    static const fsim_column column[] = {{.title = "#"},
                                         {.title = "kernels"},
                                         {.title = "time"},
                                         {.title = "over fastest", .legend = "how much longer than the first takes"},
                                         {.title = "memory", .legend = "the most that it needs at once"},
                                         {.title = "less memory", .legend = "than the first"}};
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    for (int i = 0; i < r->p->fronts; i++) {
        const fsim_plan *plan = &r->p->front[i], *fastest = &r->p->front[0];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = fsim_printf(r->a, "%d", i + 1);
        cell[1] = fsim_printf(r->a, "%d", plan->kernels);
        cell[2] = fsim_seconds_text(r->a, plan->time_s);
        cell[3] = i ? over_fastest_text(r, plan, fastest) : "-";
        cell[4] = fsim_bytes_text(r->a, (double)plan->peak_memory_bytes);
        cell[5] =
            i ? fsim_percent_text(r->a, 1 - (double)plan->peak_memory_bytes / (double)fastest->peak_memory_bytes) : "-";
    }
    return t;
}

/* How many times as long as on the best GPU, where that is sure. */
static const char *versus_best_text(const fsim_prediction *p, const fsim_prediction *best, fsim_arena *a)
{
    const double mine_s = p->plan[p->chosen].time_s, best_s = best->plan[best->chosen].time_s, ratio = mine_s / best_s;
    const fsim_interval mine = fsim_likely_time(p, fsim_plan_of(p, p->chosen), a),
                        its = fsim_likely_time(best, fsim_plan_of(best, best->chosen), a);
    return !fsim_is_none(ratio) && fsim_versus_apart(ratio, mine, mine_s, its, best_s) == FSIM_NO_DIFFERENCE
               ? no_difference
               : fsim_times_text(a, ratio);
}

fsim_table fsim_text_comparison(const fsim_prediction *p, int count, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "GPU", .left = true, .shrinks = true},
        {.title = "kernels", .drop = 1},
        {.title = "DRAM"},
        {.title = "eager"},
        {.title = "time"},
        {.title = "speedup", .legend = "over eager on the same GPU"},
        {.title = "vs best", .legend = "time over that of the fastest GPU"},
        {.title = "bound by", .left = true, .drop = 3, .legend = "of its longest kernel"},
        {.title = "gap", .drop = 2, .legend = "by how much another plan could be better at most"}};
    const fsim_prediction *best = p;
    for (int i = 1; i < count; i++)
        best = p[i].plan[p[i].chosen].time_s < best->plan[best->chosen].time_s ? &p[i] : best;
    const double fastest = best->plan[best->chosen].time_s;
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < count; i++) {
        const fsim_plan *plan = &p[i].plan[p[i].chosen];
        const fsim_kernel *most = dominant(plan);
        const fsim_verdict v = fsim_verdict_of(&p[i]);
        const char **cell = fsim_table_row(&t, plan->time_s <= fastest ? FSIM_STRONG : FSIM_PLAIN);
        cell[0] = p[i].hw->name;
        cell[1] = fsim_printf(a, "%d", plan->kernels);
        cell[2] = fsim_text_dram(a, plan);
        cell[3] = fsim_seconds_text(a, p[i].plan[FSIM_STRATEGY_EAGER].time_s);
        cell[4] = fsim_seconds_text(a, plan->time_s);
        const fsim_contest eager = fsim_against_eager(&p[i], p[i].chosen, a);
        cell[5] = fsim_text_speedup(&p[i], p[i].chosen, &eager, a);
        cell[6] = versus_best_text(&p[i], best, a);
        cell[7] = most ? fsim_unit_names[most->bound] : NULL;
        cell[8] = v.proven ? "proven" : fsim_percent_text(a, v.gap);
    }
    return t;
}
