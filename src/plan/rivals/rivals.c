/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/rivals/rivals.h"

#include "plan/price/deadline.h"
#include <math.h>

static fsim_partitioner *const partitioner[FSIM_STRATEGY_COUNT] = {
#define FSIM_STRATEGY(id, name, kernels, planned, measured, partition, help) partition,
#include "plan/search/strategy.def"
#undef FSIM_STRATEGY
};

static int last_of(const fsim_part *x) { return x->node[x->count - 1]; }

/* Sets the rule that created each kernel of the plan. The plan has the parts of `partition` in another order; its last
 * primitive, which is no copy, identifies a part. */
static void name_rules(const fsim_problem *p, const fsim_partition *partition, const char *const *rule, fsim_arena *a,
                       fsim_plan *out)
{
    int *with = fsim_new(a, int, p->graph->nodes + 1);
    for (int i = 0; i < partition->parts; i++)
        with[last_of(&partition->part[i])] = i;
    for (int k = 0; k < out->kernels; k++)
        out->rule[k] = rule[with[last_of(&out->partition.part[k])]];
}

bool fsim_baseline_in_time(fsim_problem *p, fsim_strategy strategy, fsim_arena *a, fsim_plan *out)
{
    fsim_arena *scratch = fsim_arena_new();
    const char **rule = NULL;
    fsim_refusal why;
    const fsim_partition partition = partitioner[strategy](p, scratch, &rule);
    const bool late = fsim_late(p);
    *out = (fsim_plan){0};
    if (late && strategy != FSIM_STRATEGY_GREEDY) { /* the only one whose steps each make a better plan */
        fsim_arena_free(scratch);
        return false;
    }
    if (!fsim_price(p, &partition, a, out, &why)) { /* each part is legal, but not all of them together */
        const fsim_partition singles = fsim_singles(p, scratch);
        rule = NULL;
        fsim_price(p, &singles, a, out, &why);
    }
    if (rule)
        name_rules(p, &partition, rule, scratch, out);
    for (int k = 0; k < out->kernels && rule; k++)
        out->rule[k] = out->rule[k] ? fsim_strdup(a, out->rule[k]) : NULL;
    out->strategy = fsim_strategy_names[strategy];
    fsim_arena_free(scratch);
    return !late;
}

void fsim_baseline(fsim_problem *p, fsim_strategy strategy, fsim_arena *a, fsim_plan *out)
{
    fsim_problem whole = *p;
    whole.until_s = INFINITY;
    whole.interrupted = NULL;
    fsim_baseline_in_time(&whole, strategy, a, out);
}
