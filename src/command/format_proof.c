/* SPDX-License-Identifier: Apache-2.0 */
/* --proof: certificates of lower bounds. */
#include "command/command.h"
#include "report/proof.h"

/* Why there is no certificate for such a prediction; NULL where there may be one. */
static const char *why_without(const fsim_prediction *p)
{
    if (p->chosen != FSIM_STRATEGY_OPTIMAL)
        return "the plan shown is not that of the search";
    if (p->options.objective == FSIM_MINIMISE_MEMORY || p->options.memory_limit > 0)
        return "the bound is of memory, or of plans within a limit of memory: states would have to hold what is live";
    if (p->graph->derived != FSIM_NOT_DERIVED)
        return "the workload is differentiated: which form of its derivatives is best is not certified";
    if (p->graph->calls || p->graph->servings > 0)
        return "the plan may call a library for several operators at once";
    if (p->plan[FSIM_STRATEGY_OPTIMAL].kernels == 0)
        return "no plan was found";
    return NULL;
}

static bool show_plans(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_plans *p = what;
    fsim_certificate *certificate = fsim_new(c->arena, fsim_certificate, p->count + 1);
    for (int i = 0; i < p->count; i++) {
        const char *without = why_without(&p->at[i]);
        fsim_arena *a = fsim_arena_child(c->arena);
        fsim_problem problem = fsim_problem_of(p->at[i].graph, p->at[i].hw, &p->at[i].options, a);
        problem.groups = NULL;
        problem.progress = NULL;
        const fsim_plan *plan = &p->at[i].plan[FSIM_STRATEGY_OPTIMAL];
        certificate[i] = without ? (fsim_certificate){.without = without} : fsim_certify(&problem, plan, a);
    }
    fsim_report_proof(out, p->at, certificate, p->count);
    return true;
}

const fsim_renderer fsim_as_proof[FSIM_RESULT_KINDS] = {[FSIM_RESULT_PLANS] = {.show = show_plans}};
