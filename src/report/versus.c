/* SPDX-License-Identifier: Apache-2.0 */
#include "report/versus.h"

#include "report/describe.h"

#include <math.h>
#include <string.h>

static const double none = 0.005; /* a relative difference that a reader would call none */

const char *const fsim_versus_names[FSIM_VERSUS_COUNT] = {"faster", "slower", "no difference"};

fsim_plan_by fsim_plan_of(const fsim_prediction *p, fsim_strategy s)
{
    return (fsim_plan_by){&p->plan[s], fsim_maker_in(p, s)};
}

static fsim_software software_of(const fsim_prediction *p, fsim_plan_by x)
{
    return (fsim_software){x.plan->graph, p->hw, p->options.regime, x.maker};
}

fsim_interval fsim_likely_time(const fsim_prediction *p, fsim_plan_by x, fsim_arena *a)
{
    const fsim_software s = software_of(p, x);
    return fsim_plan_interval(&s, x.plan, a);
}

static bool same_kernels(const fsim_partition *x, const fsim_partition *y)
{
    bool equal = x->parts == y->parts;
    for (int k = 0; equal && k < x->parts; k++)
        equal = x->part[k].count == y->part[k].count &&
                memcmp(x->part[k].node, y->part[k].node, (size_t)x->part[k].count * sizeof *x->part[k].node) == 0;
    return equal;
}

bool fsim_is_none(double speedup) { return fabs(speedup - 1) < none; }

fsim_contest fsim_contest_of(const fsim_prediction *p, fsim_plan_by x, fsim_plan_by base, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    const fsim_software mine = software_of(p, x), its = software_of(p, base);
    const fsim_plan_errors errors = fsim_errors_of(&mine, x.plan, a), others = fsim_errors_of(&its, base.plan, a);
    fsim_contest c = {.speedup = base.plan->time_s / x.plan->time_s,
                      .same_kernels =
                          x.plan->graph == base.plan->graph && same_kernels(&x.plan->partition, &base.plan->partition)};
    c.likely = fsim_ratio_interval(&others, &errors, c.speedup, a);
    c.verdict = fsim_is_none(c.speedup) || (c.likely.low < 1 && c.likely.high > 1) ? FSIM_NO_DIFFERENCE
                : c.speedup > 1                                                    ? FSIM_FASTER
                                                                                   : FSIM_SLOWER;
    fsim_rewind(a, mark);
    return c;
}

fsim_contest fsim_against_eager(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    return fsim_contest_of(p, fsim_plan_of(p, s), fsim_plan_of(p, FSIM_STRATEGY_EAGER), a);
}

fsim_contest fsim_against_optimal(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    return fsim_contest_of(p, fsim_plan_of(p, s), fsim_plan_of(p, FSIM_STRATEGY_OPTIMAL), a);
}

bool fsim_tells_loss(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    return fsim_objective_in_bytes(&p->options) || fsim_over_optimum(p, s) == 0 ||
           fsim_against_optimal(p, s, a).verdict != FSIM_NO_DIFFERENCE;
}

fsim_versus fsim_versus_apart(double ratio, fsim_interval x, double x_s, fsim_interval y, double y_s)
{
    const double up = hypot(log(x.high / x_s), log(y_s / y.low)), down = hypot(log(x_s / x.low), log(y.high / y_s));
    return fsim_is_none(ratio) || (ratio * exp(-down) < 1 && ratio * exp(up) > 1) ? FSIM_NO_DIFFERENCE
           : ratio > 1                                                            ? FSIM_SLOWER
                                                                                  : FSIM_FASTER;
}
