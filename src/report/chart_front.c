/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart_front.h"

#include "report/chart_axis.h"
#include "report/versus.h"
#include <math.h>

/* The interval of the time of a plan on p's front, or of a strategy's. */
static fsim_interval likely_time(const fsim_prediction *p, const fsim_plan *plan, bool strategy, fsim_arena *a)
{
    const fsim_strategy s = strategy ? (fsim_strategy)(plan - p->plan) : FSIM_STRATEGY_OPTIMAL;
    return fsim_likely_time(p, (fsim_plan_by){plan, fsim_plan_of(p, s).maker}, a);
}

void fsim_chart_front(FILE *out, const fsim_front *c, fsim_arena *a)
{
    fsim_chart_axis time = {.name = "time", .low = INFINITY}, memory = {.name = "peak memory", .low = INFINITY};
    for (int g = 0; g < c->count; g++)
        for (int i = 0; i < c->p[g].fronts + FSIM_PLAN_COUNT; i++) {
            const fsim_plan *plan = i < c->p[g].fronts ? &c->p[g].front[i] : &c->p[g].plan[i - c->p[g].fronts];
            if (plan->kernels == 0)
                continue;
            const fsim_interval likely = likely_time(&c->p[g], plan, i >= c->p[g].fronts, a);
            fsim_include_on(&time, i < c->p[g].fronts ? likely.low : plan->time_s);
            fsim_include_on(&time, i < c->p[g].fronts ? likely.high : plan->time_s);
            fsim_include_on(&memory, (double)plan->peak_memory_bytes);
        }
    fputs("set title 'Time against memory, lines: eight of ten (hollow: strategies)'\nset grid xtics ytics lt 1 lw 0.7 "
          "lc rgb '#e4e4e4'\n",
          out);
    fsim_put_axis(out, &time, 'x', FSIM_IN_SECONDS);
    fsim_put_axis(out, &memory, 'y', FSIM_IN_BYTES);
    for (int g = 0; g < c->count; g++)
        for (int list = 0; list < 2; list++) {
            fprintf(out, "$%s%d << EOD\n", list ? "plans" : "front", g);
            for (int i = 0; i < (list ? FSIM_PLAN_COUNT : c->p[g].fronts); i++) {
                const fsim_plan *plan = list ? &c->p[g].plan[i] : &c->p[g].front[i];
                if (plan->kernels == 0)
                    continue;
                const fsim_interval likely = likely_time(&c->p[g], plan, list, a);
                fprintf(out, "%.9g %.9g %d %.9g %.9g\n", plan->time_s / time.scale,
                        (double)plan->peak_memory_bytes / memory.scale, i + 1, likely.low / time.scale,
                        likely.high / time.scale);
            }
            fputs("EOD\n", out);
        }
    fputs("plot ", out);
    for (int g = 0; g < c->count; g++)
        fprintf(out,
                "%s$plans%d using 1:2 with points pt 6 ps %.3g lc rgb '#888888', $front%d using 1:2 with steps lw 1.5 "
                "lc rgb '%s', $front%d using 4:2:($5-$4):(0) with vectors nohead lw 1.2 lc rgb '#333333', $front%d "
                "using 1:2 with points pt 7 ps %.3g lc rgb '%s', $front%d using 1:2:3 with labels offset 0.9,0.7 tc "
                "rgb '%s'",
                g ? ", " : "", g, 1.6 * c->points, g, c->color_of(g), g, g, 1.3 * c->points, c->color_of(g), g,
                c->count > 1 ? c->color_of(g) : "#000000");
    fputc('\n', out);
}
