/* SPDX-License-Identifier: Apache-2.0 */
/* plans.c: planning, and what can be read of plans. */
#include "api/handles.h"
#include "base/memory.h"
#include "report/report.h"
#include "report/versus.h"

#include <stdlib.h>
#include <string.h>

static const fsim_loc argument = {NULL, 0, 0};

/* Options. */

/* Index of word in names; 0 where word is NULL, -1 after an error. */
static int index_of(fsim_call *c, const char *option, const char *word, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (!word || strcmp(word, names[i]) == 0)
            return i;
    fsim_failure(c->diag, FSIM_BAD_ARGUMENT, argument, "%s: unknown word '%s'%s", option, word,
                 fsim_did_you_mean(c->arena, word, names, count));
    return -1;
}

/* False after an error. */
static bool read_options(fsim_call *c, const fsim_plan_options *o, fsim_options *out)
{
    const char *strategy = o->strategy ? o->strategy : fsim_strategy_names[FSIM_STRATEGY_OPTIMAL],
               *launch = o->launch ? o->launch : fsim_regime_names[FSIM_REGIME_STREAM];
    const int of[] = {index_of(c, "strategy", strategy, fsim_strategy_names, FSIM_STRATEGY_COUNT),
                      index_of(c, "objective", o->objective, fsim_objective_names, FSIM_MINIMISE_MEMORY + 1),
                      index_of(c, "launch", launch, fsim_regime_names, FSIM_REGIME_COUNT),
                      index_of(c, "l2", o->l2, fsim_l2_words, 2),
                      index_of(c, "numerics", o->numerics, fsim_numerics_words, 2),
                      index_of(c, "recompute", o->recompute, fsim_recompute_words, 2)};
    if (!(o->time_limit_s >= 0) || o->memory_limit_bytes < 0 || o->search_memory_bytes < 0 || o->search_steps < 0)
        fsim_failure(c->diag, FSIM_BAD_ARGUMENT, argument,
                     "time_limit_s, memory_limit_bytes, search_memory_bytes and search_steps cannot be negative");
    *out = (fsim_options){.strategy = (fsim_strategy)of[0],
                          .objective = (fsim_objective)of[1],
                          .regime = (fsim_regime)of[2],
                          .warm = of[3] == 1,
                          .strict = of[4] == 1,
                          .no_recompute = of[5] == 1,
                          .time_limit_s = o->time_limit_s,
                          .memory_limit = o->memory_limit_bytes,
                          .search_memory = o->search_memory_bytes,
                          .search_steps = o->search_steps,
                          .interrupted = o->stop};
    return fsim_errors(c->diag) == 0;
}

/* Planning. */

typedef struct {
    const fsim_workload *workload;
    const fsim_hardware *hardware;
    fsim_plan_options options;
} request;

static void *plan(fsim_call *c, const void *arguments)
{
    const request *r = arguments;
    const fsim_graph *g = r->workload->graph;
    const fsim_hw *hw = r->hardware->hw;
    fsim_options how;
    if (!read_options(c, &r->options, &how) || !fsim_plannable(g, hw, &how, c->diag, c->arena))
        return NULL;
    fsim_plans *p = fsim_new(c->arena, fsim_plans, 1);
    p->arena = c->arena;
    p->session = c->session;
    p->prediction = fsim_predict(g, hw, &how, c->arena);
    p->refusal_text = fsim_new(c->arena, const char *, p->prediction.refusals + 1);
    for (int s = 0; s < FSIM_PLAN_COUNT; s++)
        if (fsim_planned(&p->prediction, (fsim_strategy)s)) {
            const fsim_plan *one = &p->prediction.plan[s];
            p->likely[p->strategies] =
                fsim_likely_time(&p->prediction, fsim_plan_of(&p->prediction, (fsim_strategy)s), c->arena);
            p->memory[p->strategies] = fsim_memory_of(g, one, c->arena);
            p->against_eager[p->strategies] = fsim_against_eager(&p->prediction, (fsim_strategy)s, c->arena);
            p->text[p->strategies] = fsim_new(c->arena, fsim_kernel_texts, one->kernels);
            p->strategy[p->strategies++] = (fsim_strategy)s;
        }
    return p;
}

fsim_status fsim_plan_workload(fsim_session *session, const fsim_workload *workload, const fsim_hardware *hardware,
                               const fsim_plan_options *options, fsim_plans **plans)
{
    request r = {.workload = workload, .hardware = hardware};
    void *result = NULL;
    if (plans)
        *plans = NULL;
    if (!plans || !workload || !hardware)
        return fsim_call_refuse(session, "a plan wants a workload, hardware and a place for the result: one is NULL");
    if (!session || workload->session != session || hardware->session != session)
        return fsim_call_refuse(session, "the workload or the hardware belongs to another session");
    fsim_take(&r.options, options, sizeof r.options);
    const fsim_status status = fsim_call_run(session, plan, &r, &result);
    *plans = result;
    return status;
}

void fsim_plans_free(fsim_plans *plans)
{
    if (plans)
        fsim_arena_free(plans->arena);
}

/* Reading. */

int fsim_plans_count(const fsim_plans *plans) { return plans ? plans->strategies : 0; }

int fsim_plans_chosen(const fsim_plans *plans)
{
    for (int i = 0; i < fsim_plans_count(plans); i++)
        if (plans->strategy[i] == plans->prediction.chosen)
            return i;
    return -1;
}

/* The plan at that index; NULL where there is none. */
static const fsim_plan *plan_at(const fsim_plans *p, int index)
{
    return p && index >= 0 && index < p->strategies ? &p->prediction.plan[p->strategy[index]] : NULL;
}

fsim_status fsim_plans_strategy(const fsim_plans *plans, int index, fsim_plan_summary *summary)
{
    const fsim_plan *one = plan_at(plans, index);
    if (!one || !summary)
        return FSIM_BAD_ARGUMENT;
    fsim_prediction as = plans->prediction;
    as.chosen = plans->strategy[index];
    const fsim_verdict verdict = fsim_verdict_of(&as);
    const fsim_interval likely = plans->likely[index];
    const fsim_memory_use *use = &plans->memory[index];
    const fsim_plan_summary full = {.strategy = fsim_strategy_names[as.chosen],
                                    .kernels = one->kernels,
                                    .time_s = one->time_s,
                                    .time_low_s = likely.low,
                                    .time_high_s = likely.high,
                                    .dram_read_bytes = fsim_sum_int64(one->dram_read_bytes),
                                    .dram_write_bytes = fsim_sum_int64(one->dram_write_bytes),
                                    .peak_memory_bytes = fsim_sum_int64(one->peak_memory_bytes),
                                    .objective = verdict.objective,
                                    .lower_bound = verdict.lower_bound,
                                    .gap = verdict.gap,
                                    .proven = verdict.proven,
                                    .interrupted = as.interrupted,
                                    .weight_bytes = fsim_sum_int64(use->weight_bytes),
                                    .activation_bytes = fsim_sum_int64(use->activation_bytes),
                                    .workspace_bytes = fsim_sum_int64(use->workspace_bytes),
                                    .speedup = plans->against_eager[index].speedup,
                                    .speedup_low = plans->against_eager[index].likely.low,
                                    .speedup_high = plans->against_eager[index].likely.high,
                                    .fits = fsim_fits(as.hw, use)};
    fsim_fill_struct(summary, &full, sizeof full);
    return FSIM_OK;
}

/* Texts are created on first use, in the plans' arena. */

typedef struct {
    fsim_plans *plans;
    const fsim_kernel *kernel;
    fsim_kernel_texts *text;
} naming;

static void name_kernel(void *what)
{
    const naming *n = what;
    const fsim_graph *g = n->plans->prediction.graph;
    n->text->operators = fsim_kernel_label(g, n->kernel, n->plans->arena);
    n->text->name = fsim_kernel_name(g, n->kernel, n->plans->arena);
}

fsim_status fsim_plans_kernel(fsim_plans *plans, int index, int kernel, fsim_kernel_summary *summary)
{
    const fsim_plan *one = plan_at(plans, index);
    if (!one || !summary || kernel < 0 || kernel >= one->kernels)
        return FSIM_BAD_ARGUMENT;
    const fsim_kernel *k = &one->kernel[kernel];
    naming n = {plans, k, &plans->text[index][kernel]};
    if (!n.text->name && !fsim_session_attempt(plans->session, name_kernel, &n))
        return FSIM_NO_MEMORY;
    const fsim_kernel_summary full = {.name = n.text->name,
                                      .operators = n.text->operators,
                                      .template_name = fsim_template_names[k->template],
                                      .bound_by = fsim_unit_names[k->bound],
                                      .time_s = k->time_s,
                                      .dram_read_bytes = k->dram_read_bytes,
                                      .dram_write_bytes = k->dram_write_bytes,
                                      .members = k->group->members};
    fsim_fill_struct(summary, &full, sizeof full);
    return FSIM_OK;
}

const char *fsim_plans_member(const fsim_plans *plans, int index, int kernel, int member)
{
    const fsim_plan *one = plan_at(plans, index);
    if (!one || kernel < 0 || kernel >= one->kernels)
        return NULL;
    const fsim_group *group = one->kernel[kernel].group;
    return member >= 0 && member < group->members ? plans->prediction.graph->node[group->member[member].node].name
                                                  : NULL;
}

int fsim_plans_refusal_count(const fsim_plans *plans) { return plans ? plans->prediction.refusals : 0; }

typedef struct {
    const fsim_plans *plans;
    const fsim_refusal *why;
    const char **text;
} wording;

static void word_refusal(void *what)
{
    const wording *w = what;
    *w->text = fsim_refusal_text(w->plans->prediction.graph, w->why, w->plans->arena);
}

fsim_status fsim_plans_refusal(fsim_plans *plans, int index, fsim_refusal_summary *summary)
{
    if (!plans || !summary || index < 0 || index >= plans->prediction.refusals)
        return FSIM_BAD_ARGUMENT;
    const fsim_priced_refusal *r = &plans->prediction.refusal[index];
    const fsim_node *node = plans->prediction.graph->node;
    wording w = {plans, &r->why, &plans->refusal_text[index]};
    if (!*w.text && !fsim_session_attempt(plans->session, word_refusal, &w))
        return FSIM_NO_MEMORY;
    const fsim_refusal_summary full = {.first = node[r->a].name,
                                       .second = r->b >= 0 ? node[r->b].name : NULL,
                                       .rule = fsim_rule_names[r->why.rule],
                                       .text = *w.text,
                                       .saving_s = r->saving_s,
                                       .saving_bytes = fsim_sum_int64(r->saving_bytes)};
    fsim_fill_struct(summary, &full, sizeof full);
    return FSIM_OK;
}

/* JSON. */

/* A stream into memory of its own. */
static void *write_json(fsim_call *c, const void *arguments)
{
    fsim_plans *p = *(fsim_plans *const *)arguments;
    fsim_memory text;
    (void)c;
    if (!fsim_report_json(fsim_memory_begin(&text), &p->prediction, NULL, 1))
        fsim_out_of_memory();
    p->json = fsim_memory_end(&text, p->arena, &p->json_bytes);
    return p;
}

fsim_status fsim_plans_json(fsim_plans *plans, const char **text, size_t *bytes)
{
    void *result = NULL;
    if (!plans || !text)
        return FSIM_BAD_ARGUMENT;
    *text = NULL;
    const fsim_status status = plans->json ? FSIM_OK : fsim_call_run(plans->session, write_json, &plans, &result);
    if (status)
        return status;
    *text = plans->json;
    if (bytes)
        *bytes = plans->json_bytes;
    return FSIM_OK;
}
