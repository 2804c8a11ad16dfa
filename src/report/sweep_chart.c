/* SPDX-License-Identifier: Apache-2.0 */
/* The points of a sweep as lines with their intervals, or as a map, and where the best plan changes. */
#include "report/sweep_chart.h"

#include "base/memory.h"
#include "report/describe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = FSIM_CHART_COLORS, MOST_TICS = 20 };

/* What varies: the grid's directions, and behind them the GPU. */
typedef struct {
    int length, stride; /* points from one step to the next */
    const char *name;
} direction;

typedef struct {
    const fsim_sweep *x;
    FILE *out;
    fsim_arena *a;
    direction of[FSIM_MOST_AXES + 1];
    int directions;
    int along, across; /* of these: the axis of numbers; in a map the other one */
    double points;     /* the terminal's pointsize for a symbol of the common size */
    double scale;      /* of the unit of times */
    double low, high;  /* of times, in that unit */
    const char *unit;
} chart;

static const char *value_at(const chart *c, int of, int point)
{
    const fsim_sweep_point *p = &c->x->point[point];
    const char *text = "";
    if (of == c->x->grid.directions)
        return p->hw;
    for (int i = 0; i < c->x->grid.axes; i++)
        if (c->x->grid.axis[i].along == of)
            text = fsim_printf(c->a, "%s%s%s", text, *text ? ", " : "", p->value[i]);
    return text;
}

/* The value of the direction's first axis as a number; NaN where it is none. */
static double number_at(const chart *c, int of, int point)
{
    char *end = NULL;
    for (int i = 0; i < c->x->grid.axes; i++)
        if (c->x->grid.axis[i].along == of) {
            const double value = strtod(c->x->point[point].value[i], &end);
            return end != c->x->point[point].value[i] && !*end ? value : NAN;
        }
    return NAN;
}

static void find_directions(chart *c)
{
    const fsim_grid *g = &c->x->grid;
    c->directions = g->directions + 1;
    for (int k = 0; k < g->directions; k++) {
        const char *name = "";
        for (int i = 0; i < g->axes; i++)
            if (g->axis[i].along == k)
                name = fsim_printf(c->a, "%s%s%s", name, *name ? ", " : "", g->axis[i].name);
        c->of[k] = (direction){g->length[k], fsim_grid_stride(g, k) * c->x->gpus, name};
    }
    c->of[g->directions] = (direction){c->x->gpus, 1, "GPU"};
}

/* Does the direction go up or down in numbers? */
static bool is_ordered(const chart *c, int of)
{
    const direction *d = &c->of[of];
    int up = 0, down = 0;
    for (int i = 0; i + 1 < d->length; i++) {
        const double one = number_at(c, of, i * d->stride), next = number_at(c, of, (i + 1) * d->stride);
        up += next > one;
        down += next < one;
    }
    return d->length > 1 && (up == d->length - 1 || down == d->length - 1);
}

/* The next point that begins a line: step 0 of `along`. */
static bool begins_line(const chart *c, int point)
{
    const direction *d = &c->of[c->along];
    return point / d->stride % d->length == 0;
}

/* "S=512, l4": what is fixed along the line that begins there. */
static const char *line_name(const chart *c, int point)
{
    const char *text = "";
    for (int k = 0; k < c->directions; k++)
        if (k != c->along && c->of[k].length > 1)
            text = fsim_printf(c->a, "%s%s%s%s%s", text, *text ? ", " : "",
                               k == c->x->grid.directions ? "" : c->of[k].name, k == c->x->grid.directions ? "" : "=",
                               value_at(c, k, point));
    return *text ? text : c->x->gpu[0];
}

/* The unit in which the shortest time is above 1, and whether times span more than a decade. */
static bool set_unit(chart *c)
{
    static const char *const unit[] = {"s", "ms", "us", "ns"};
    double low = INFINITY, high = 0;
    for (int i = 0; i < c->x->points; i++)
        if (c->x->point[i].planned) {
            low = fmin(low, c->x->point[i].time_s);
            high = fmax(high, c->x->point[i].time_s);
        }
    int u = 0;
    for (c->scale = 1; u < 3 && sqrt(low * high) < c->scale; u++)
        c->scale /= 1000;
    c->unit = unit[u];
    c->low = low / c->scale;
    c->high = high / c->scale;
    return high > 10 * low;
}

/* A logarithmic axis of times with the tics 1, 2, 5, 10, ... letter: "y" or "cb". */
static void put_log_axis(const chart *c, const char *letter)
{
    static const double step[] = {1, 2, 5};
    const char *before = "";
    fprintf(c->out, "set logscale %s\nset %stics (", letter, letter);
    for (int e = (int)floor(log10(c->low)) - 1; e <= (int)ceil(log10(c->high)) + 1; e++)
        for (int i = 0; i < 3; i++) {
            fprintf(c->out, "%s%.9g", before, step[i] * pow(10, e));
            before = ", ";
        }
    fputs(")\n", c->out);
}

static void put_head(const chart *c, const char *what)
{
    fputs("set title ", c->out);
    fsim_gnuplot_text(c->out, fsim_printf(c->a, "%s: %s", c->x->workload, what));
    fputs("\nset tics nomirror\nset border 3 lc rgb '#777777'\nset xlabel ", c->out);
    fsim_gnuplot_text(c->out, c->of[c->along].name);
    putc('\n', c->out);
}

/* Points of a line: number, time, ends of the interval, and the time again where the plan is another than before. */
static void put_line(const chart *c, int number, int start)
{
    const direction *d = &c->of[c->along];
    fprintf(c->out, "$line%d << EOD\n", number);
    for (int i = 0, plan = 0; i < d->length; i++) {
        const fsim_sweep_point *p = &c->x->point[start + i * d->stride];
        if (!p->planned) {
            putc('\n', c->out);
            continue;
        }
        fprintf(c->out, "%.9g %.9g %.9g %.9g ", number_at(c, c->along, start + i * d->stride), p->time_s / c->scale,
                p->likely.low / c->scale, p->likely.high / c->scale);
        plan &&plan != p->plan ? fprintf(c->out, "%.9g\n", p->time_s / c->scale) : (int)fputs("NaN\n", c->out);
        plan = p->plan;
    }
    fputs("EOD\n", c->out);
}

static void put_lines(chart *c)
{
    const direction *d = &c->of[c->along];
    const double first = number_at(c, c->along, 0), last = number_at(c, c->along, (d->length - 1) * d->stride);
    const bool wide = set_unit(c);
    int lines = 0;
    put_head(c, "time of the plan, bands: eight of ten (rings: another plan than before)");
    fprintf(c->out, "set ylabel 'time (%s)'\nset grid xtics ytics lt 1 lw 0.7 lc rgb '#e4e4e4'\nset key left top\n",
            c->unit);
    if (fmin(first, last) > 0 && fmax(first, last) >= 16 * fmin(first, last))
        fputs("set logscale x 2\n", c->out);
    wide ? put_log_axis(c, "y") : (void)fputs("set yrange [0:*]\n", c->out);
    fprintf(c->out, "set xrange [%.9g:%.9g]\n", fmin(first, last), fmax(first, last));
    for (int i = 0; i < c->x->points; i++)
        if (begins_line(c, i))
            put_line(c, lines++, i);
    fputs("plot ", c->out);
    for (int i = 0; i < lines; i++)
        fprintf(c->out,
                "%s$line%d using 1:3:4 with filledcurves fs transparent solid 0.15 noborder lc rgb '%s' notitle",
                i ? ", " : "", i, fsim_chart_colors[i]);
    for (int i = 0, line = 0; i < c->x->points; i++) {
        if (!begins_line(c, i))
            continue;
        const char *color = fsim_chart_colors[line];
        fprintf(c->out, ", $line%d using 1:2 with linespoints lw 1.5 pt 7 ps %.3g lc rgb '%s' title ", line,
                d->length > 40 ? 0 : 0.7 * c->points, color);
        fsim_gnuplot_text(c->out, line_name(c, i));
        fprintf(c->out, ", $line%d using 1:5 with points pt 6 lw 1.2 ps %.3g lc rgb '#000000' notitle", line,
                1.7 * c->points);
        line++;
    }
    putc('\n', c->out);
}

/* The values of a direction as tics, not more than fit. letter: x or y. */
static void put_tics(const chart *c, char letter, int of)
{
    const direction *d = &c->of[of];
    const int every = (d->length + MOST_TICS - 1) / MOST_TICS;
    fprintf(c->out, "set %crange [-0.5:%.1f]\nset %ctics (", letter, d->length - 0.5, letter);
    for (int i = 0; i < d->length; i += every) {
        fputs(i ? ", " : "", c->out);
        fsim_gnuplot_text(c->out, value_at(c, of, i * d->stride));
        fprintf(c->out, " %d", i);
    }
    fputs(")\n", c->out);
}

/* Edges between cells whose plans differ: x, y, and how far they go. */
static void put_edges(const chart *c)
{
    const direction *x = &c->of[c->along], *y = &c->of[c->across];
    fputs("$edges << EOD\n", c->out);
    for (int i = 0; i < x->length; i++)
        for (int k = 0; k < y->length; k++) {
            const int at = i * x->stride + k * y->stride;
            const int plan = c->x->point[at].plan;
            if (i + 1 < x->length && c->x->point[at + x->stride].plan != plan)
                fprintf(c->out, "%.1f %.1f 0 1\n", i + 0.5, k - 0.5);
            if (k + 1 < y->length && c->x->point[at + y->stride].plan != plan)
                fprintf(c->out, "%.1f %.1f 1 0\n", i - 0.5, k + 0.5);
        }
    fputs("-9 -9 0 0\nEOD\n", c->out); /* gnuplot refuses a list without rows */
}

static void put_map(chart *c)
{
    const direction *x = &c->of[c->along], *y = &c->of[c->across];
    const bool wide = set_unit(c);
    put_head(c, "time of the plan (lines: where the best plan changes)");
    fputs("set ylabel ", c->out);
    fsim_gnuplot_text(c->out, y->name);
    fprintf(c->out,
            "\nset cblabel 'time (%s)'\nset key off\nset palette defined (0 '#f7fbff', 0.5 '#6baed6', 1 '#08306b')\n",
            c->unit);
    wide ? put_log_axis(c, "cb") : (void)fputs("set cbrange [0:*]\n", c->out);
    put_tics(c, 'x', c->along);
    put_tics(c, 'y', c->across);
    fputs("$map << EOD\n", c->out);
    for (int k = 0; k < y->length; k++)
        for (int i = 0; i < x->length; i++) {
            const fsim_sweep_point *p = &c->x->point[i * x->stride + k * y->stride];
            p->planned ? fprintf(c->out, "%d %d %.9g\n", i, k, p->time_s / c->scale)
                       : fprintf(c->out, "%d %d NaN\n", i, k);
        }
    fputs("EOD\n", c->out);
    put_edges(c);
    fputs("plot $map using 1:2:3 with image pixels, $edges using 1:2:3:4 with vectors nohead lw 2 lc rgb '#D55E00'\n",
          c->out);
}

/* Which direction is drawn along, and whether the others are lines or one of them is the other side of a map. False
 * with *fault set. */
static bool choose(chart *c, bool *map, fsim_fault *fault)
{
    int lines = 1, others = 0;
    c->along = -1;
    for (int k = 0; k < c->x->grid.directions; k++)
        if (is_ordered(c, k) && (c->along < 0 || c->of[k].length > c->of[c->along].length))
            c->along = k;
    if (c->along < 0)
        return fsim_fail(fault, c->a, FSIM_UNAVAILABLE, "no axis of numbers to draw along");
    for (int k = 0; k < c->directions; k++)
        if (k != c->along && c->of[k].length > 1) {
            lines = lines > MOST_LINES ? lines : lines * c->of[k].length;
            c->across = k;
            others++;
        }
    *map = lines > MOST_LINES;
    return !*map || others == 1 ||
           fsim_fail(fault, c->a, FSIM_UNAVAILABLE,
                     "more than %d lines: a map has two axes, and here vary %d; say fewer values", MOST_LINES,
                     others + 1);
}

bool fsim_chart_sweep(fsim_arena *a, const fsim_sweep *x, const fsim_chart_file *to, fsim_fault *fault)
{
    chart c = {.x = x, .a = a, .points = 1};
    bool map = false, any = false;
    fsim_memory text;
    const char *terminal = fsim_gnuplot_terminal(a, to->path, FSIM_CHART_HEIGHT, &c.points);
    if (!terminal)
        return fsim_fail(fault, a, FSIM_FAILED, FSIM_CHART_ENDINGS);
    for (int i = 0; i < x->points; i++)
        any = any || x->point[i].planned;
    if (!any)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "no point has a plan: nothing to draw");
    if (x->points < x->grid.combinations * x->gpus)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "a shard is no whole sweep: 'fusesim merge' draws it");
    find_directions(&c);
    if (!choose(&c, &map, fault))
        return false;
    c.out = fsim_memory_begin(&text);
    fprintf(c.out, "set encoding utf8\n%s\nset termoption noenhanced\n", terminal);
    map ? put_map(&c) : put_lines(&c);
    return fsim_gnuplot_draw(a, fsim_memory_end(&text, a, NULL), to, fault);
}
