/* SPDX-License-Identifier: Apache-2.0 */
#include "regions.h"

#include "base/names.h"
#include "plan/price/price.h"
#include "plan/price/sdpa.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_GRID = 33, USUAL_MOST = 4096 };

typedef struct {
    int64_t place; /* the symbol's value is first + place * step */
    int plan;
    bool proven;
} point;

typedef struct {
    fsim_workload_at *at;
    void *context;
    const fsim_range *range;
    const fsim_hw *hw;
    const fsim_options *options;
    fsim_arena *a;
    fsim_regions out;
    point *point; /* ascending */
    int points, point_room, plan_room;
} search;

const fsim_graph *fsim_parsed_at(void *context, int64_t value, fsim_arena *a)
{
    const fsim_parametric *w = context;
    fsim_workload_wanted how = w->how;
    fsim_binding *set = fsim_new(a, fsim_binding, how.sets + 1);
    for (int i = 0; i < how.sets; i++)
        set[i] = how.set[i];
    set[how.sets++] = (fsim_binding){w->symbol, fsim_printf(a, "%" PRId64, value)};
    how.set = set;
    return w->text ? fsim_graph_load_text(a, fsim_diag_new(a), w->path, w->text, w->bytes, &how)
                   : fsim_graph_load(a, fsim_diag_new(a), w->path, &how);
}

static int64_t value_of(const search *s, int64_t place) { return s->range->first + place * s->range->step; }

static double objective_of(const fsim_options *o, const fsim_plan *plan)
{
    return o->objective == FSIM_MINIMISE_MEMORY  ? (double)plan->peak_memory_bytes
           : o->objective == FSIM_MINIMISE_BYTES ? (double)(plan->dram_read_bytes + plan->dram_write_bytes)
                                                 : plan->time_s;
}

/* Names to plans, and back. */

static fsim_words *names_of(fsim_arena *a, const fsim_graph *g, const fsim_partition *partition)
{
    fsim_words *out = fsim_new(a, fsim_words, partition->parts + 1);
    for (int k = 0; k < partition->parts; k++)
        for (int i = 0; i < partition->part[k].count; i++)
            *FSIM_PUSH(a, out[k].at, out[k].count, out[k].room) =
                fsim_strdup(a, g->node[partition->part[k].node[i]].name);
    return out;
}

static void keep_plan(search *s, const fsim_plan *plan)
{
    const fsim_graph *g = plan->graph;
    const fsim_derive *how = fsim_derivation_of(g);
    const fsim_partition *priced = fsim_priced_partition(plan);
    fsim_named_plan *kept = FSIM_PUSH(s->a, s->out.plan, s->out.plans, s->plan_room);
    *kept = (fsim_named_plan){.groups = plan->kernels,
                              .group = names_of(s->a, g, &plan->partition),
                              .priced_groups = priced->parts,
                              .priced_group = names_of(s->a, g, priced),
                              .calls = plan->priced != NULL};
    if (g->derived != FSIM_REVERSE || !how || (how->forms == 0 && how->fates == 0))
        return;
    signed char *form = fsim_new(s->a, signed char, g->choices + 1);
    for (int i = 0; i < g->choices; i++)
        form[i] = (signed char)g->choice[i].form;
    kept->derived = true;
    kept->marked = g->calls;
    kept->form = form;
    kept->forms = g->choices;
    kept->fate = fsim_exact_copy(s->a, how->fate, how->fates, sizeof *how->fate);
    kept->fates = how->fates;
}

/* g differentiated as that of the plan. NULL where it can't be. */
static const fsim_graph *graph_of(const fsim_graph *g, const fsim_named_plan *named, fsim_arena *a)
{
    if (!named->derived)
        return g;
    if (named->forms != g->choices || named->fates > g->own_tensors)
        return NULL;
    fsim_graph *out = fsim_graph_with_forms(g, named->form, named->forms, a);
    if (out && named->fates > 0)
        out = fsim_graph_with_fates(out, named->fate, named->fates, a);
    if (out && named->marked)
        fsim_sdpa_mark(out, NULL, FSIM_BY_ATEN);
    return out;
}

/* Prices a named plan for the graph of p, as it was read. False where it is no legal plan. In a. */
static bool price(const search *s, fsim_problem *p, const fsim_named_plan *named, fsim_arena *a, fsim_plan *out)
{
    fsim_partition groups = {named->priced_groups, fsim_new(a, fsim_part, named->priced_groups + 1)};
    fsim_names nodes = {0};
    fsim_refusal why;
    fsim_problem other;
    const fsim_graph *g = graph_of(p->graph, named, a);
    if (!g)
        return false;
    if (g != p->graph) {
        other = fsim_problem_of(g, s->hw, s->options, a);
        p = &other;
    }
    bool *covered = fsim_new(a, bool, g->nodes + 1);
    int count = 0;
    for (int n = 0; n < g->nodes; n++)
        fsim_names_set(a, &nodes, g->node[n].name, n);
    for (int k = 0; k < named->priced_groups; k++) {
        const fsim_words *group = &named->priced_group[k];
        fsim_part *part = &groups.part[k];
        *part = (fsim_part){group->count, fsim_new(a, int, group->count), fsim_new(a, bool, group->count)};
        for (int i = 0; i < group->count; i++) {
            const int n = part->node[i] = fsim_names_get(&nodes, group->at[i]);
            if (n < 0)
                return false;
            count += !covered[n];
            covered[n] = true;
        }
        qsort(part->node, (size_t)part->count, sizeof *part->node, fsim_by_int);
    }
    if (count != g->nodes || !fsim_price(p, &groups, a, out, &why))
        return false;
    if (named->calls)
        fsim_plan_calling(p, out, a);
    return true;
}

/* Evaluation. */

/* The first known plan that costs as much as `best`; `best` is added where there is none. */
static int plan_number(search *s, fsim_problem *p, const fsim_plan *best, fsim_arena *a)
{
    for (int i = 0; i < s->out.plans; i++) {
        fsim_plan plan;
        if (price(s, p, &s->out.plan[i], a, &plan) && objective_of(s->options, &plan) <= objective_of(s->options, best))
            return i;
    }
    keep_plan(s, best);
    return s->out.plans - 1;
}

static point search_at(search *s, int64_t place)
{
    fsim_arena *a = fsim_arena_new();
    point out = {place, -1, false};
    const fsim_graph *g = s->at(s->context, value_of(s, place), a);
    s->out.evaluations++;
    if (g && g->nodes > 0 && fsim_plannable(g, s->hw, s->options, fsim_diag_new(a), a)) {
        const fsim_prediction now = fsim_predict(g, s->hw, s->options, a);
        fsim_problem p = fsim_problem_of(g, s->hw, s->options, a);
        const fsim_plan *best = &now.plan[FSIM_STRATEGY_OPTIMAL];
        out.plan = best->kernels > 0 ? plan_number(s, &p, best, a) : -1;
        out.proven = now.proof.proven;
    }
    fsim_arena_free(a);
    return out;
}

/* The result at a place, computed on first use. */
static const point *evaluate(search *s, int64_t place)
{
    int at = s->points;
    while (at > 0 && s->point[at - 1].place >= place)
        at--;
    if (at < s->points && s->point[at].place == place)
        return &s->point[at];
    const point found = search_at(s, place);
    FSIM_PUSH(s->a, s->point, s->points, s->point_room);
    memmove(&s->point[at + 1], &s->point[at], (size_t)(s->points - 1 - at) * sizeof *s->point);
    s->point[at] = found;
    return &s->point[at];
}

static void halve(search *s, int64_t low, int low_plan, int64_t high, int high_plan)
{
    if (low_plan == high_plan || high - low < 2)
        return;
    if (s->out.evaluations >= (s->range->most > 0 ? s->range->most : USUAL_MOST) ||
        fsim_is_set(s->options->interrupted)) {
        s->out.truncated = true;
        return;
    }
    const int64_t middle = low + (high - low) / 2;
    const int plan = evaluate(s, middle)->plan;
    halve(s, low, low_plan, middle, plan);
    halve(s, middle, plan, high, high_plan);
}

/* Evaluates values from first to last, each about the same multiple of the one before. */
static void walk_grid(search *s, int64_t places)
{
    const int grid = s->range->grid > 1 ? s->range->grid : USUAL_GRID;
    const double first = fmax(1, (double)s->range->first), last = fmax(first, (double)value_of(s, places));
    const double ratio = pow(last / first, 1.0 / (grid - 1));
    int64_t place = 0;
    int plan = evaluate(s, 0)->plan;
    while (place < places) {
        const double wanted = fmax(first, (double)value_of(s, place)) * ratio;
        int64_t next = (int64_t)floor((wanted - (double)s->range->first) / (double)s->range->step + 1e-9);
        next = next <= place ? place + 1 : next > places ? places : next;
        s->out.grid_ratio = fmax(s->out.grid_ratio, (double)value_of(s, next) / fmax(1, (double)value_of(s, place)));
        const int other = evaluate(s, next)->plan;
        halve(s, place, plan, next, other);
        place = next;
        plan = other;
    }
}

/* What was found. */

static void list_regions(search *s)
{
    fsim_regions *out = &s->out;
    out->region = fsim_new(s->a, fsim_region, s->points);
    for (int i = 0; i < s->points; i++) {
        const point *x = &s->point[i];
        const bool same = i > 0 && s->point[i - 1].plan == x->plan;
        if (same) {
            const int64_t gap = x->place - s->point[i - 1].place - 1;
            out->widest_gap = gap > out->widest_gap ? gap : out->widest_gap;
        } else {
            out->region[out->regions++] = (fsim_region){value_of(s, x->place), 0, x->plan, true};
        }
        fsim_region *now = &out->region[out->regions - 1];
        now->last = value_of(s, x->place);
        now->proven = now->proven && x->proven;
    }
}

/* Prices the plans of two neighbouring regions at the last value of the first or the first value of the second, and
 * compares them. False where another plan found is better there than the region's own. */
static bool price_side(search *s, int64_t value, int own, const int pair[2], double seconds[2], fsim_interval *likely)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = s->at(s->context, value, a);
    double best = INFINITY, mine = INFINITY;
    fsim_plan_errors errors[2];
    seconds[0] = seconds[1] = NAN;
    *likely = (fsim_interval){NAN, NAN};
    if (g && g->nodes > 0) {
        fsim_problem p = fsim_problem_of(g, s->hw, s->options, a);
        for (int i = 0; i < s->out.plans; i++) {
            fsim_plan plan;
            if (!price(s, &p, &s->out.plan[i], a, &plan))
                continue;
            for (int k = 0; k < 2; k++)
                if (pair[k] == i) {
                    seconds[k] = plan.time_s;
                    errors[k] = fsim_errors_of(&(fsim_software){plan.graph, s->hw, s->options->regime, FSIM_BY_FUSESIM},
                                               &plan, a);
                }
            best = fmin(best, objective_of(s->options, &plan));
            mine = i == own ? objective_of(s->options, &plan) : mine;
        }
        if (!isnan(seconds[0]) && !isnan(seconds[1]))
            *likely = fsim_ratio_interval(&errors[0], &errors[1], seconds[0] / seconds[1], a);
    }
    fsim_arena_free(a);
    return own < 0 || mine <= best;
}

static void confirm_breaks(search *s)
{
    fsim_regions *out = &s->out;
    out->at = fsim_new(s->a, fsim_break, out->regions + 1);
    for (int i = 0; i + 1 < out->regions; i++) {
        const int pair[2] = {out->region[i].plan, out->region[i + 1].plan};
        fsim_break *b = &out->at[i];
        b->before = out->region[i].last;
        b->after = out->region[i + 1].first;
        const bool before = price_side(s, b->before, pair[0], pair, b->before_s, &b->before_likely),
                   after = price_side(s, b->after, pair[1], pair, b->after_s, &b->after_likely);
        b->confirmed = before && after;
    }
}

fsim_regions fsim_regions_of(fsim_workload_at *at, void *context, const fsim_range *range, const fsim_hw *hw,
                             const fsim_options *options, fsim_arena *a)
{
    search s = {.at = at, .context = context, .range = range, .hw = hw, .options = options, .a = a};
    const int64_t places = range->last > range->first ? (range->last - range->first) / range->step : 0;
    walk_grid(&s, places);
    list_regions(&s);
    confirm_breaks(&s);
    return s.out;
}
