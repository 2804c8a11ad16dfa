/* SPDX-License-Identifier: Apache-2.0 */
#include "report/quiet.h"

#include "plan/price/parallel.h"
#include "report/coverage.h"
#include "report/describe.h"
#include "report/text_parts.h"
#include <inttypes.h>

/* "8 x h100-sxm5-80gb" where a step on several was asked for */
static const char *where(const fsim_prediction *p, fsim_arena *a)
{
    const int gpus = p->options.replicas.gpus;
    return gpus ? fsim_printf(a, "%d x %s", gpus, p->hw->name) : p->hw->name;
}

/* The plan's time; where several GPUs were asked for, that of a step with its collectives. */
static const char *time_text(const fsim_prediction *p, const fsim_plan *plan, fsim_arena *a)
{
    const fsim_replicas how = p->options.replicas;
    return how.gpus ? fsim_printf(a, "%s a step",
                                  fsim_seconds_text(a, fsim_parallel_of(p->graph, plan, p->hw, how, a).step_s))
                    : fsim_seconds_text(a, plan->time_s);
}

const char *fsim_plan_line(const fsim_prediction *p, fsim_arena *a)
{
    const fsim_plan *plan = &p->plan[p->chosen];
    const fsim_verdict v = fsim_verdict_of(p);
    const char *spread = fsim_text_spread(a, fsim_likely_time(p, fsim_plan_of(p, p->chosen), a), plan->time_s);
    const fsim_contest eager = fsim_against_eager(p, p->chosen, a);
    const fsim_coverage coverage = fsim_coverage_of(p->graph, a);
    const char *speedup = eager.verdict == FSIM_NO_DIFFERENCE && !fsim_is_none(eager.speedup)
                              ? "no difference to eager"
                              : fsim_printf(a, "%s eager", fsim_times_text(a, eager.speedup));
    const char *sure =
        v.proven ? "proven"
        : p->chosen != FSIM_STRATEGY_OPTIMAL
            ? fsim_tells_loss(p, p->chosen, a)
                  ? fsim_printf(a, "%s over optimal", fsim_percent_text(a, fsim_over_optimum(p, p->chosen)))
                  : "no difference to optimal"
            : fsim_printf(a, "gap %s", fsim_percent_text(a, v.gap));
    return fsim_printf(
        a, "%s on %s: %s %s%s%s, %s, %s, %s%s%s", p->graph->name, where(p, a), fsim_strategy_names[p->chosen],
        time_text(p, plan, a), *spread ? " +-" : "", spread, fsim_text_count(a, plan->kernels, "kernel"), speedup,
        fsim_over_limit(p) ? "over the memory limit" : sure,
        fsim_plan_fits(p, p->chosen) ? "" : fsim_printf(a, ", does not fit: %s", fsim_memory_text(p, p->chosen, a)),
        coverage.unknown ? fsim_printf(a, ", %s", fsim_coverage_text(&coverage, a)) : "");
}

const char *fsim_regions_line(const fsim_shown_regions *x, fsim_arena *a)
{
    const fsim_regions *r = &x->found;
    const char *at = "";
    for (int i = 0; i + 1 < r->regions; i++)
        at = fsim_printf(a, "%s%s%" PRId64, at, i ? ", " : "", r->region[i + 1].first);
    const char *head = fsim_printf(a, "%s on %s: %s along %s", x->graph->name, x->hw->name,
                                   fsim_text_count(a, r->plans, "best plan"), x->symbol);
    return *at ? fsim_printf(a, "%s; another from %s on", head, at) : head;
}

const char *fsim_calibration_line(const fsim_calibration *x, fsim_arena *a)
{
    const char *names = "";
    int fitted = 0, tried = 0;
    for (int i = 0; i < x->fits; i++) {
        tried += x->fit[i].rows > 0;
        if (x->fit[i].rows == 0 || x->fit[i].refused)
            continue;
        names = fsim_printf(a, "%s%s%s", names, fitted++ ? ", " : ": ", x->fit[i].group->name);
    }
    return fsim_printf(a, "%s: %d of %s fitted%s%s%s", x->hw->name, fitted, fsim_text_count(a, tried, "group"), names,
                       x->file ? ", written to " : "", x->file ? x->file : "");
}

const char *fsim_hw_check_line(const fsim_named_hw *list, int count, fsim_arena *a)
{
    const char *bad = "";
    int wrong = 0;
    for (int i = 0; i < count; i++)
        if (!list[i].hw)
            bad = fsim_printf(a, "%s%s%s", bad, wrong++ ? ", " : "", list[i].name);
    const char *what = count == 1 ? list[0].name : fsim_text_count(a, count, "hardware file");
    return wrong == 0   ? fsim_printf(a, "%s: ok", what)
           : count == 1 ? fsim_printf(a, "%s: not ok", what)
                        : fsim_printf(a, "%s: %d not ok: %s", what, wrong, bad);
}
