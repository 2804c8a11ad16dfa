/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart_front.h"

#include "report/versus.h"
#include <math.h>

/* A round distance between tics that divides a span into about five. */
static double tic_of(double span)
{
    const double raw = span / 5, unit = pow(10, floor(log10(raw))), m = raw / unit;
    return unit * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

/* An axis, in a unit that suits its largest value. */
typedef struct {
    const char *name, *unit;
    double scale, low, high;
} axis;

static void include_on(axis *x, double value)
{
    x->low = fmin(x->low, value);
    x->high = fmax(x->high, value);
}

/* Sets the range, with room for points and labels (also where there is only one value), and the tics. letter: x or
 * y. */
static void put_axis(FILE *out, axis *x, char letter, const char *const *unit, const double *scale, int units)
{
    int u = 0;
    while (u + 1 < units && x->high >= scale[u + 1])
        u++;
    x->scale = scale[u];
    const double room = x->high > x->low ? 0.12 * (x->high - x->low) : 0.1 * x->high;
    const double low = fmax(0, x->low - room) / x->scale, high = (x->high + room) / x->scale;
    fprintf(out, "set %clabel '%s (%s)'\nset %crange [%.9g:%.9g]\nset %ctics %.9g\nset format %c '%%g'\n", letter,
            x->name, unit[u], letter, low, high, letter, tic_of(high - low), letter);
}

/* The interval of the time of a plan on p's front, or of a strategy's. */
static fsim_interval likely_time(const fsim_prediction *p, const fsim_plan *plan, bool strategy, fsim_arena *a)
{
    const fsim_strategy s = strategy ? (fsim_strategy)(plan - p->plan) : FSIM_STRATEGY_OPTIMAL;
    return fsim_likely_time(p, (fsim_plan_by){plan, fsim_plan_of(p, s).maker}, a);
}

void fsim_chart_front(FILE *out, const fsim_front *c, fsim_arena *a)
{
    static const char *const seconds[] = {"ns", "us", "ms", "s"}, *const bytes[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    static const double second[] = {1e-9, 1e-6, 1e-3, 1}, byte[] = {1, 0x1p10, 0x1p20, 0x1p30, 0x1p40};
    axis time = {.name = "time", .low = INFINITY}, memory = {.name = "peak memory", .low = INFINITY};
    for (int g = 0; g < c->count; g++)
        for (int i = 0; i < c->p[g].fronts + FSIM_PLAN_COUNT; i++) {
            const fsim_plan *plan = i < c->p[g].fronts ? &c->p[g].front[i] : &c->p[g].plan[i - c->p[g].fronts];
            if (plan->kernels == 0)
                continue;
            const fsim_interval likely = likely_time(&c->p[g], plan, i >= c->p[g].fronts, a);
            include_on(&time, i < c->p[g].fronts ? likely.low : plan->time_s);
            include_on(&time, i < c->p[g].fronts ? likely.high : plan->time_s);
            include_on(&memory, (double)plan->peak_memory_bytes);
        }
    fputs("set title 'Time against memory, lines: eight of ten (hollow: strategies)'\nset grid xtics ytics lt 1 lw 0.7 "
          "lc rgb '#e4e4e4'\n",
          out);
    put_axis(out, &time, 'x', seconds, second, 4);
    put_axis(out, &memory, 'y', bytes, byte, 5);
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
