/* SPDX-License-Identifier: Apache-2.0 */
/* routing.c: the load of the most loaded rank over the mean is the larger of what the spread of loads makes of a rank's
 * sum, 1.5 x (standard deviation / root of experts a rank) x the expected largest of so many ranks, and of what the
 * most loaded expert alone makes of it. */
#include "input/routing.h"

#include <math.h>

#define FSIM_CONSTANT(name, value, unit, source) static const double name = value;
#include "input/constants.def"
#undef FSIM_CONSTANT

/* A load at quantile u of the power law, without its scale; power: 1 - alpha. */
static double load_at(double u, double most, double power) { return pow(1 + u * (pow(most, power) - 1), 1 / power); }

/* The j-th moment of that. */
static double moment(double most, double power, int j)
{
    return power / (power + j) * (pow(most, power + j) - 1) / (pow(most, power) - 1);
}

/* The expected largest of `count` normal numbers. */
static double largest_of(double count)
{
    if (count < 2)
        return 0;
    const double twice = 2 * log(count);
    return count <= 3 ? routing_largest_of_two : sqrt(twice) * (1 - log(2 * routing_pi * twice) / (2 * twice));
}

static double experts_of_rank(const fsim_routing *r) { return fmax(1, r->experts / r->ranks); }

/* The load of the most loaded rank over the mean of all. */
static double hottest(const fsim_routing *r, double most, double power)
{
    const double mine = experts_of_rank(r), mean = moment(most, power, 1),
                 spread = sqrt(fmax(0, moment(most, power, 2) / (mean * mean) - 1)),
                 top = fmin(load_at((2 * r->experts - 1) / (2 * r->experts), most, power) / mean, r->experts / r->topk),
                 others = (r->experts - top) / fmax(1, r->experts - 1);
    return r->ranks <= 1 ? 1
                         : fmax(1 + routing_heavy_tail * spread / sqrt(mine) * largest_of(r->ranks),
                                (top + (mine - 1) * others) / mine);
}

bool fsim_is_skewed(const fsim_routing *r) { return r->skew > 0 && r->skew != 100; }

int fsim_routed_loads(const fsim_routing *r, double *load)
{
    enum { PASSES = 4 };
    const int mine = (int)fmin(FSIM_MOST_EXPERTS, experts_of_rank(r));
    const double most = fmax(2, routing_law_top * r->tokens), power = 1 - r->skew / 100,
                 rows = fmin(r->tokens * fmin(r->topk, r->topk / r->ranks * hottest(r, most, power)),
                             experts_of_rank(r) * r->tokens);
    double scale, sum = 0;
    for (int i = 0; i < mine; i++)
        sum += load[i] = load_at((2 * i + 1) / (2 * (double)mine), most, power);
    scale = rows / sum;
    for (int pass = 0; pass < PASSES; pass++) { /* no expert gets a token twice: the others take what is over */
        sum = 0;
        for (int i = 0; i < mine; i++)
            sum += fmin(r->tokens, scale * load[i]);
        scale *= sum < rows * routing_enough && pass + 1 < PASSES ? rows / sum : 1;
    }
    for (int i = 0; i < mine; i++)
        load[i] = fmin(r->tokens, scale * load[i]);
    return mine;
}

double fsim_routed_rows(const fsim_routing *r)
{
    double load[FSIM_MOST_EXPERTS], sum = 0;
    if (!fsim_is_skewed(r))
        return fmax(1, ceil(r->tokens * r->topk / r->ranks - routing_slack));
    for (int i = fsim_routed_loads(r, load); i-- > 0;)
        sum += load[i];
    return fmax(1, sum);
}

double fsim_routed_experts(const fsim_routing *r)
{
    double load[FSIM_MOST_EXPERTS], sum = 0;
    if (!fsim_is_skewed(r))
        return fmin(floor(experts_of_rank(r)), fsim_routed_rows(r));
    for (int i = fsim_routed_loads(r, load); i-- > 0;)
        sum += 1 - exp(-load[i]);
    return fmax(1, sum);
}
