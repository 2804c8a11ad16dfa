/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart_bars.h"

#include "report/describe.h"
#include "report/versus.h"
#include <math.h>

static int strategies_of(const fsim_prediction *p)
{
    int strategies = FSIM_STRATEGY_COUNT;
    while (!fsim_planned(p, strategies - 1))
        strategies--;
    return strategies;
}

/* The interval of a speedup; that of eager itself is the speedup. */
static fsim_interval likely_of(const fsim_prediction *p, int s, fsim_arena *a)
{
    const double speedup = fsim_speedup(p, s);
    return s == FSIM_STRATEGY_EAGER || !fsim_planned(p, s) ? (fsim_interval){speedup, speedup}
                                                           : fsim_against_eager(p, (fsim_strategy)s, a).likely;
}

static void put_axes(FILE *out, const fsim_bars *b, int strategies, double most)
{
    fprintf(out,
            "set title 'Speedup over eager; lines: eight of ten measured ones'\nset xlabel 'strategy'\nset ylabel "
            "'speedup (times eager)'\nset xrange [-0.6:%d.6]\n"
            "set yrange [0:%.6g]\nset ytics auto\nset grid ytics lt 1 lw 0.7 lc rgb '#e4e4e4'\nset xtics nomirror (",
            strategies - 1, most * (b->count > 1 ? 1.2 : 1.12));
    for (int s = 0; s < strategies; s++)
        fprintf(out, "%s'%s' %d", s ? ", " : "", fsim_strategy_names[s], s);
    fputs(")\n", out);
}

/* Where the bar is, its height, its text, its color, and its interval. */
static void put_data(FILE *out, const fsim_bars *b, int gpu, int strategies, fsim_arena *a)
{
    const double wide = 0.8 / b->count;
    fprintf(out, "$bars%d << EOD\n", gpu);
    for (int s = 0; s < strategies; s++) {
        const double speedup = fsim_speedup(&b->p[gpu], s);
        const fsim_interval x = likely_of(&b->p[gpu], s, a);
        const bool shown = s == (int)b->p[gpu].chosen || b->count > 1;
        const char *shade = shown ? b->color_of(gpu) : "#9CC3DE";
        fprintf(out, "%.6g %.6g %.2fx 0x%s %.6g %.6g\n", s + (gpu - (b->count - 1) / 2.0) * wide, speedup, speedup,
                shade + 1, x.low, x.high);
    }
    fputs("EOD\n", out);
}

void fsim_chart_bars(FILE *out, const fsim_bars *b, fsim_arena *a)
{
    const int strategies = strategies_of(b->p);
    const double wide = 0.8 / b->count, px = b->width_px / strategies * wide;
    double most = 1;
    for (int i = 0; i < b->count; i++)
        for (int s = 0; s < strategies; s++)
            most = fmax(most, likely_of(&b->p[i], s, a).high);
    put_axes(out, b, strategies, most);
    fprintf(out, "set boxwidth %.6g\nset style fill solid 1 noborder\n", wide * 0.92);
    fputs("set arrow from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#999999' back\n", out);
    for (int i = 0; i < b->count; i++)
        put_data(out, b, i, strategies, a);
    const char *rotate = b->count == 1 ? "offset 0,0.6" : "rotate by 90 left offset 0,0.3";
    fputs("set style textbox opaque noborder fc rgb 'white' margins 0,0\nplot ", out);
    for (int i = 0; i < b->count; i++)
        fprintf(out, "%s$bars%d using 1:2:4 with boxes lc rgb variable", i ? ", " : "", i);
    for (int i = 0; i < b->count; i++)
        fprintf(out, ", $bars%d using 1:5:(0):($6-$5) with vectors nohead lw 1.2 lc rgb '#333333'", i);
    for (int i = 0; i < b->count && px >= 9; i++)
        fprintf(out, ", $bars%d using 1:6:3 with labels boxed %s font ',%d'", i, rotate, px >= 14 ? 10 : 7);
    fputc('\n', out);
}
