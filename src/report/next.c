/* SPDX-License-Identifier: Apache-2.0 */
#include "report/next.h"

#include "base/names.h"
#include "report/describe.h"
#include "report/versus.h"
#include <math.h>
#include <string.h>

typedef struct {
    const fsim_prediction *p;
    fsim_arena *a;
    fsim_step *step;
    int count;
} steps;

/* A command that differs from the one that was typed. */
typedef struct {
    const char *verb;   /* "explain "; NULL: plan */
    const char *symbol; /* of --set, with `value`; NULL */
    const char *value;
    const char *launch; /* NULL: as it is */
    bool any_order;     /* without --numerics strict */
    const char *more;   /* behind all else; NULL */
} change;

/* Is word, quoted or not, a value of the symbol? */
static bool sets(const char *word, const char *symbol)
{
    const size_t length = symbol ? strlen(symbol) : 0;
    word += *word == '\'';
    return symbol && strncmp(word, symbol, length) == 0 && word[length] == '=';
}

/* "fusesim explain WORKLOAD --hw HW --set M=1 a y": the inputs as the user named them. */
static const char *command(const steps *s, change x)
{
    const fsim_options *o = &s->p->options;
    const fsim_typed *typed = &o->typed;
    const char *option = typed->set_option ? typed->set_option : "--set";
    const char *text = fsim_printf(s->a, "fusesim %s%s --hw %s", x.verb ? x.verb : "",
                                   typed->workload ? typed->workload : fsim_shell_word(s->a, s->p->graph->name),
                                   typed->hw ? typed->hw : s->p->hw->name);
    for (int i = 0; i < typed->sets; i++)
        if (!sets(typed->set[i], x.symbol))
            text = fsim_printf(s->a, "%s %s %s", text, option, typed->set[i]);
    if (x.symbol)
        text = fsim_printf(s->a, "%s %s %s=%s", text, option, x.symbol, x.value);
    text = fsim_printf(s->a, "%s%s%s", text, typed->options ? typed->options : "",
                       o->strict && !x.any_order ? " --numerics strict" : "");
    if (x.launch || o->regime != FSIM_REGIME_STREAM)
        text = fsim_printf(s->a, "%s --launch %s", text, x.launch ? x.launch : fsim_regime_names[o->regime]);
    return x.more ? fsim_printf(s->a, "%s %s", text, x.more) : text;
}

/* Adds a step where it saves enough, in order of the savings. */
static void add(steps *s, fsim_step step)
{
    static const double worth_saying = 0.01;
    if (s->count == FSIM_MOST_STEPS ||
        (!isnan(step.saves_s) && !(step.saves_s >= worth_saying * s->p->plan[s->p->chosen].time_s)))
        return;
    int at = s->count++;
    for (; at > 0 && !isnan(s->step[at - 1].saves_s) && (isnan(step.saves_s) || step.saves_s > s->step[at - 1].saves_s);
         at--)
        s->step[at] = s->step[at - 1];
    s->step[at] = step;
}

/* Less of the dimension that the search of the command found, where the plan does not fit. */
static void fit(steps *s)
{
    const fsim_smaller *x = &s->p->smaller;
    if (x->symbol)
        add(s, (fsim_step){.what = fsim_printf(s->a, "%s = %lld instead of %lld fits: it needs %s", x->symbol,
                                               (long long)x->value, (long long)x->now,
                                               fsim_bytes_text(s->a, (double)x->bytes)),
                           .saves_s = NAN,
                           .command = command(s, (change){.symbol = x->symbol,
                                                          .value = fsim_printf(s->a, "%lld", (long long)x->value)})});
}

/* The dtype for which the GPU has a faster unit. */
static void other_dtype(steps *s)
{
    const fsim_arithmetic *x = &s->p->arithmetic;
    const fsim_graph *g = s->p->graph;
    if (!x->instead || x->slow == FSIM_DTYPE_NONE || !isfinite(x->instead_s))
        return;
    const char *from = fsim_dtype_names[x->slow], *to = fsim_dtype_names[x->faster], *symbol = NULL;
    for (int i = 0; i < g->symbols && !symbol; i++)
        symbol = g->symbol[i].dtype == x->slow ? g->symbol[i].name : NULL;
    const char *options = s->p->options.typed.options;
    const bool recast =
        !symbol && (x->faster == FSIM_F16 || x->faster == FSIM_BF16) && !(options && strstr(options, "--precision"));
    const char *all = fsim_printf(s->a, "--precision %s", to);
    add(s,
        (fsim_step){.what = symbol || recast ? fsim_printf(s->a, "%s instead of %s", to, from)
                                             : fsim_printf(s->a, "%s instead of %s in the workload's file", to, from),
                    .saves_s = s->p->plan[s->p->chosen].time_s - x->instead_s,
                    .command = symbol   ? command(s, (change){.symbol = symbol, .value = to})
                               : recast ? command(s, (change){.more = all})
                                        : NULL});
}

static void graph_launches(steps *s)
{
    const fsim_regime regime = s->p->options.regime;
    if (!s->p->hw->host && !isnan(s->p->launched[FSIM_REGIME_GRAPH].chosen_s) &&
        (regime == FSIM_REGIME_STREAM || regime == FSIM_REGIME_EAGER))
        add(s, (fsim_step){.what = "kernels recorded in a CUDA or HIP graph",
                           .saves_s = s->p->plan[s->p->chosen].time_s - s->p->launched[FSIM_REGIME_GRAPH].chosen_s,
                           .command = command(s, (change){.launch = "graph"})});
}

/* Caches that are copied to append to them: index_copy writes the new rows in place. */
static void write_in_place(steps *s)
{
    const fsim_append *x = &s->p->append;
    const fsim_graph *g = s->p->graph;
    if (x->caches == 0)
        return;
    const char *others = x->caches > 1 ? fsim_printf(s->a, ", and %d more of the kind, %s in all", x->caches - 1,
                                                     fsim_bytes_text(s->a, (double)x->bytes))
                                       : "";
    add(s, (fsim_step){.what = fsim_printf(s->a,
                                           "'%s' = concat('%s', ...) copies %s each time%s: with room in '%s', "
                                           "'index_copy' writes the new rows in place",
                                           g->node[x->node].name, g->tensor[x->cache].name,
                                           fsim_bytes_text(s->a, (double)g->tensor[x->cache].bytes), others,
                                           g->tensor[x->cache].name),
                       .saves_s = x->saves_s});
}

/* Ten times the limit that the user gave, or that ends a search which is given none. */
static const char *longer(steps *s)
{
    const fsim_options *o = &s->p->options;
    return o->search_steps > 0 ? fsim_printf(s->a, "--search-steps %lld", (long long)o->search_steps * 10)
                               : fsim_printf(s->a, "--time-limit %g", o->time_limit_s > 0 ? 10 * o->time_limit_s : 10);
}

/* The best plan instead of the one shown, or what a search that ended early may have missed. */
static void better_plan(steps *s)
{
    const fsim_prediction *p = s->p;
    const double now = p->plan[p->chosen].time_s, best = p->plan[FSIM_STRATEGY_OPTIMAL].time_s;
    const fsim_verdict v = fsim_verdict_of(p);
    static const double near = 0.1; /* a bound that is further away than this says little of what is possible */
    if (p->chosen != FSIM_STRATEGY_OPTIMAL && fsim_against_optimal(p, p->chosen, s->a).verdict != FSIM_SLOWER)
        return; /* whether it is faster is too close to call */
    if (p->chosen != FSIM_STRATEGY_OPTIMAL)
        add(s,
            (fsim_step){.what = fsim_printf(s->a, "the plan of optimal instead of %s", fsim_strategy_names[p->chosen]),
                        .saves_s = now - best,
                        .command = command(s, (change){0})});
    else if (!v.proven && v.gap < near)
        add(s, (fsim_step){.what = "a longer search",
                           .saves_s = v.gap * now,
                           .at_most = true,
                           .command = command(s, (change){.more = longer(s)})});
}

/* Rules that a kernel of the user's own, or a change of the workload, need not keep. */
static const bool by_hand[FSIM_RULE_COUNT] = {
    [FSIM_RULE_SPACE] = true,        [FSIM_RULE_INDEX_MAP] = true,        [FSIM_RULE_GRID_BARRIER] = true,
    [FSIM_RULE_CONTRACTIONS] = true, [FSIM_RULE_REDUCED_EPILOGUE] = true, [FSIM_RULE_PROLOGUE] = true,
    [FSIM_RULE_WINDOW] = true,       [FSIM_RULE_ASSEMBLY] = true,         [FSIM_RULE_SHARED] = true,
    [FSIM_RULE_USER] = true};

/* The same refusal between the same primitives, of this or another layer? */
static bool same_elsewhere(const fsim_graph *g, const fsim_priced_refusal *x, const fsim_priced_refusal *y)
{
    return x->why.rule == y->why.rule && x->saving_s == y->saving_s && y->b >= 0 &&
           g->node[x->a].op == g->node[y->a].op && g->node[x->b].op == g->node[y->b].op &&
           fsim_same_but_numbers(g->node[x->a].name, g->node[y->a].name) &&
           fsim_same_but_numbers(g->node[x->b].name, g->node[y->b].name);
}

/* Sums whose order --numerics strict keeps, and the refused fusion that would save most. */
static void refused(steps *s)
{
    const fsim_graph *g = s->p->graph;
    const fsim_priced_refusal *largest = NULL;
    double orders_s = 0, saves_s = 0;
    int times = 0;
    for (int i = 0; i < s->p->refusals; i++) {
        const fsim_priced_refusal *r = &s->p->refusal[i];
        if (r->why.rule == FSIM_RULE_NUMERICS)
            orders_s += r->saving_s;
        else if (by_hand[r->why.rule] && r->b >= 0 && !largest)
            largest = r;
        if (largest && same_elsewhere(g, largest, r)) {
            saves_s += r->saving_s;
            times++;
        }
    }
    if (orders_s > 0)
        add(s, (fsim_step){.what = "sums in any order",
                           .saves_s = orders_s,
                           .command = command(s, (change){.any_order = true})});
    if (!largest)
        return;
    const bool whole = largest->first != largest->a || largest->second != largest->b, named = largest->first >= 0;
    const char *x = g->node[largest->a].name, *y = g->node[largest->b].name;
    const char *asked = fsim_printf(s->a, "%s %s", fsim_shell_word(s->a, named ? g->node[largest->first].name : x),
                                    fsim_shell_word(s->a, named ? g->node[largest->second].name : y));
    const bool user = largest->why.rule == FSIM_RULE_USER, call = largest->why.unit == FSIM_IN_LIBRARY_CALL;
    const char *what = fsim_printf(s->a,
                                   user && call ? "'%s' and '%s' in one kernel, in place of a library's call"
                                   : user       ? "'%s' and '%s' in one kernel, which the workload forbids"
                                   : whole      ? "the whole kernels of '%s' and '%s' as one, written by hand"
                                                : "one kernel for '%s' and '%s', written by hand",
                                   x, y);
    add(s, (fsim_step){.what = times > 1 ? fsim_printf(s->a, "%s (x %d)", what, times) : what,
                       .saves_s = saves_s,
                       .at_most = true,
                       .command = command(s, (change){.verb = "explain ", .more = asked})});
}

int fsim_next_steps(const fsim_prediction *p, fsim_arena *a, fsim_step step[FSIM_MOST_STEPS])
{
    steps s = {p, a, step, 0};
    fit(&s);
    if (p->options.objective != FSIM_MINIMISE_TIME || fsim_over_limit(p))
        return s.count;
    better_plan(&s);
    other_dtype(&s);
    graph_launches(&s);
    write_in_place(&s);
    refused(&s);
    return s.count;
}
