/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart_memory.h"

#include "plan/price/memory.h"
#include "plan/price/phases.h"
#include "plan/price/timeline.h"
#include "report/chart_axis.h"
#include "report/describe.h"
#include "report/gnuplot.h"
#include <math.h>

/* A plan's kernels in time, and the memory in use while each runs. */
typedef struct {
    const fsim_prediction *p;
    const fsim_plan *plan;
    fsim_timeline when;
    const fsim_memory_step *at;
} course;

static course course_of(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    const fsim_plan *plan = &p->plan[s];
    return (course){p, plan, fsim_timeline_of(p->graph, plan, a), fsim_memory_steps(p->graph, plan, a)};
}

/* Values as steps: each kernel's from its start to its end. */
static void put_steps(FILE *out, const char *name, int gpu, const course *x, const fsim_chart_axis axis[2])
{
    fprintf(out, "$%s%d << EOD\n", name, gpu);
    for (int k = 0; k < x->plan->kernels; k++)
        fprintf(out, "%.9g %.9g\n%.9g %.9g\n", x->when.span[k].start_s / axis[0].scale,
                (double)x->at[k].live_bytes / axis[1].scale, x->when.span[k].end_s / axis[0].scale,
                (double)x->at[k].live_bytes / axis[1].scale);
    fputs(x->plan->kernels > 0 ? "EOD\n" : "NaN NaN\nEOD\n", out);
}

static int peak_of(const course *x)
{
    int most = 0;
    for (int k = 1; k < x->plan->kernels; k++)
        most = x->at[k].live_bytes > x->at[most].live_bytes ? k : most;
    return most;
}

/* Shades the time from the first kernel of each phase to the last, and names it where it is wide enough. */
static void put_phases(FILE *out, const course *x, const fsim_chart_axis axis[2])
{
    static const char *const fill[FSIM_PHASES] = {"#eef5fa", "#fbf3ea", "#f0f7ee"};
    enum { LEAST_WIDE = 7 }; /* the axis is so many times as wide as the narrowest phase that is named */
    for (int i = 0; i < FSIM_PHASES; i++) {
        double from = INFINITY, to = 0;
        for (int k = 0; k < x->plan->kernels; k++)
            if (fsim_phase_of(x->p->graph, &x->plan->partition.part[k]) == (fsim_phase)i) {
                from = fmin(from, x->when.span[k].start_s);
                to = fmax(to, x->when.span[k].end_s);
            }
        if (from >= to)
            continue;
        fprintf(out,
                "set object rectangle from first %.9g,graph 0 to first %.9g,graph 1 fc rgb '%s' fs noborder behind\n",
                from / axis[0].scale, to / axis[0].scale, fill[i]);
        if ((to - from) * LEAST_WIDE >= axis[0].high)
            fprintf(out, "set label '%s' at first %.9g,graph 0.03 center tc rgb '#777777' front\n", fsim_phase_names[i],
                    (from + to) / 2 / axis[0].scale);
    }
}

/* Marks the peak, and says how much it is and where: beside it, or of several GPUs in the upper right corner. */
static void put_peak(FILE *out, const fsim_memory_chart *c, int gpu, const course *x, const fsim_chart_axis axis[2],
                     fsim_arena *a)
{
    const int k = peak_of(x);
    const double at = (x->when.span[k].start_s + x->when.span[k].end_s) / 2;
    const char *side = at < axis[0].high / 3       ? "left"
                       : at < axis[0].high * 2 / 3 ? "center"
                                                   : "right",
               *text = fsim_printf(a, "peak %s in kernel %d", fsim_bytes_text(a, (double)x->at[k].live_bytes), k + 1);
    fprintf(out, "set label '%s' at first %.9g,%.9g %s offset 0,0.9 point pt 7 ps %.3g lc rgb '%s' front\n",
            c->count == 1 ? text : "", at / axis[0].scale, (double)x->at[k].live_bytes / axis[1].scale, side,
            1.1 * c->points, c->color_of(gpu));
    if (c->count == 1)
        return;
    fputs("set label ", out);
    fsim_gnuplot_text(out, fsim_printf(a, "%s: %s", x->p->hw->name, text));
    fprintf(out, " at graph 0.99,graph %.3g right tc rgb '%s' front\n", 0.97 - 0.05 * gpu, c->color_of(gpu));
}

void fsim_chart_memory(FILE *out, const fsim_memory_chart *c, fsim_arena *a)
{
    fsim_chart_axis axis[2] = {{.name = "time"}, {.name = "memory in use"}};
    course *shown = fsim_new(a, course, c->count + 1), *eager = fsim_new(a, course, c->count + 1);
    for (int g = 0; g < c->count; g++) {
        shown[g] = course_of(&c->p[g], c->p[g].chosen, a);
        eager[g] = course_of(&c->p[g], FSIM_STRATEGY_EAGER, a);
        for (int list = 0; list < 2; list++) {
            const course *x = list ? &eager[g] : &shown[g];
            fsim_include_on(&axis[0], x->when.makespan_s);
            for (int k = 0; k < x->plan->kernels; k++)
                fsim_include_on(&axis[1], (double)x->at[k].live_bytes);
        }
    }
    fprintf(out, "set title 'Memory over time: %s%s'\nset grid ytics lt 1 lw 0.7 lc rgb '#e4e4e4'\n",
            fsim_strategy_names[c->p->chosen], c->p->chosen == FSIM_STRATEGY_EAGER ? "" : " (grey: eager)");
    fsim_put_axis(out, &axis[0], 'x', FSIM_IN_SECONDS);
    fsim_put_axis(out, &axis[1], 'y', FSIM_IN_BYTES);
    if (c->count == 1)
        put_phases(out, &shown[0], axis);
    for (int g = 0; g < c->count; g++) {
        put_steps(out, "shown", g, &shown[g], axis);
        put_steps(out, "eager", g, &eager[g], axis);
        put_peak(out, c, g, &shown[g], axis, a);
    }
    fputs("plot ", out);
    for (int g = 0; g < c->count; g++)
        fprintf(out,
                "%s$eager%d using 1:2 with lines lw 1.2 lc rgb '#999999', $shown%d using 1:2 with lines lw 2 lc rgb "
                "'%s'",
                g ? ", " : "", g, g, c->color_of(g));
    fputc('\n', out);
}
