/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy_chart.c: two panels with a point for each row: predicted against measured time, and the error against the
 * bytes that the row must move. Excluded rows are not drawn. */
#include "report/accuracy.h"

#include "base/memory.h"
#include "report/gnuplot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = FSIM_CHART_WIDTH, HEIGHT = FSIM_CHART_HEIGHT, LEGEND_LINES = 2, CELL = 2 };
typedef struct {
    int left, right, bottom, top; /* pixels from below left */
} box;
static const box time_panel = {85, 565, 75, 485}, size_panel = {685, 1165, 75, 485};
static const double char_px = 7.4, farthest = 4,
                    band =
                        0.1; /* farthest: the largest error ratio on the axis; points beyond it are drawn at the edge */

/* Okabe and Ito's colours and four of Tol's, which people with colour blindness can tell apart. */
static const char *const colors[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
                                     "#6A3D9A", "#B15928", "#000000", "#999933", "#882255", "#44AA99"};
enum { COLORS = sizeof colors / sizeof *colors };

/* The points of one colour. */
typedef struct {
    const char *name, *color;
    int rows;
    double mape;
} series;

typedef struct {
    fsim_arena *a;
    FILE *out;
    const fsim_accuracy *x;
    fsim_grouping by;
    series *all;
    int count, beyond, sizeless;
    double points, low_s, high_s, low_bytes, high_bytes;
} chart;

static bool is_drawn(const fsim_evaluated *e)
{
    return !e->excluded && !e->row->of_memory && e->predicted_s > 0 && isfinite(e->predicted_s);
}

static int by_rows(const void *x, const void *y)
{
    const series *a = x, *b = y;
    return a->rows != b->rows ? b->rows - a->rows : strcmp(a->name, b->name);
}

/* Gives each kind of work a colour, or each GPU where there is only one kind. The most frequent is drawn first, so
 * that it hides no others. */
static void find_series(chart *c)
{
    fsim_stat_group *group;
    c->by = FSIM_BY_CLASS;
    c->count = fsim_stat_groups(c->x->at, c->x->count, &c->by, 1, c->a, &group);
    if (c->count == 1) {
        c->by = FSIM_BY_HW;
        c->count = fsim_stat_groups(c->x->at, c->x->count, &c->by, 1, c->a, &group);
    }
    c->all = fsim_new(c->a, series, c->count + 1);
    for (int i = 0; i < c->count; i++)
        c->all[i] =
            (series){fsim_group_name(&group[i], c->by), colors[i % COLORS], group[i].stats.rows, group[i].stats.mape};
    if (c->count > 0)
        qsort(c->all, (size_t)c->count, sizeof *c->all, by_rows);
    while (c->count > 0 && c->all[c->count - 1].rows == 0)
        c->count--;
}

static void find_ranges(chart *c)
{
    c->low_s = c->low_bytes = INFINITY;
    for (int i = 0; i < c->x->count; i++) {
        const fsim_evaluated *e = &c->x->at[i];
        if (!is_drawn(e))
            continue;
        c->low_s = fmin(c->low_s, fmin(e->row->time_s, e->predicted_s));
        c->high_s = fmax(c->high_s, fmax(e->row->time_s, e->predicted_s));
        if (e->compulsory_bytes > 0) {
            c->low_bytes = fmin(c->low_bytes, e->compulsory_bytes);
            c->high_bytes = fmax(c->high_bytes, e->compulsory_bytes);
        }
    }
    c->low_s /= 1.5;
    c->high_s *= 1.5;
    if (!(c->low_bytes <= c->high_bytes))
        c->low_bytes = c->high_bytes = 1;
    c->low_bytes /= 1.5;
    c->high_bytes *= 1.5;
}

/* Where a label stands on the page, in pixels, and how it looks; more: gnuplot's words for the rest, "font ',7'". */
typedef struct {
    double x, y;
    const char *side;
    const char *color, *more;
} label;

static void put_label(const chart *c, const label *l, const char *text)
{
    fputs("set label ", c->out);
    fsim_gnuplot_text(c->out, text);
    fprintf(c->out, " at screen %.5f,%.5f %s tc rgb '%s' %s front\n", l->x / WIDTH, l->y / HEIGHT, l->side, l->color,
            l->more);
}

static const char *legend_of(const chart *c, const series *s)
{
    return fsim_printf(c->a, "\u25CF %s %.1f %%", s->name, s->mape * 100);
}

/* Draws the legend: each name with its mean error, in one line or in two of similar width, in a smaller font where
 * that is too wide. */
static void put_legend(const chart *c)
{
    double width[LEGEND_LINES] = {0}, total = 0;
    for (int i = 0; i < c->count; i++)
        total += fsim_text_width(legend_of(c, &c->all[i])) * char_px + 24;
    const int lines = total > WIDTH - 60 ? LEGEND_LINES : 1, first = (c->count + lines - 1) / lines;
    for (int i = 0; i < c->count; i++)
        width[i / first] += fsim_text_width(legend_of(c, &c->all[i])) * char_px + 24;
    const double scale = fmin(1, (WIDTH - 40) / fmax(width[0], width[1]));
    double x = 0;
    for (int i = 0; i < c->count; i++) {
        const int line = i / first;
        x = i % first ? x : WIDTH / 2.0 - width[line] * scale / 2;
        put_label(c, &(label){x, HEIGHT - 48 - 20 * line, "left", c->all[i].color, scale < 0.85 ? "font ',7'" : ""},
                  legend_of(c, &c->all[i]));
        x += (fsim_text_width(legend_of(c, &c->all[i])) * char_px + 24) * scale;
    }
}

static void put_panel(const chart *c, const box *b)
{
    fprintf(c->out,
            "set lmargin at screen %.5f\nset rmargin at screen %.5f\nset bmargin at screen %.5f\nset tmargin at screen "
            "%.5f\n",
            (double)b->left / WIDTH, (double)b->right / WIDTH, (double)b->bottom / HEIGHT, (double)b->top / HEIGHT);
    fputs(
        "unset label\nset key off\nset logscale xy\nset mxtics 10\nset grid xtics ytics lt 1 lw 0.7 lc rgb '#e4e4e4'\n",
        c->out);
}

/* Draws one point for each square of CELL pixels that has a row of the series, so that the size of the file is
 * limited by what can be seen, not by the number of rows. */
static void put_points(chart *c, const series *s, int number, const char *name, bool sizes)
{
    const box *b = sizes ? &size_panel : &time_panel;
    const int wide = (b->right - b->left) / CELL + 1, high = (b->top - b->bottom) / CELL + 1;
    const double low_x = sizes ? c->low_bytes : c->low_s, high_x = sizes ? c->high_bytes : c->high_s;
    const double low_y = sizes ? 1 / farthest : c->low_s, high_y = sizes ? farthest : c->high_s;
    const fsim_mark mark = fsim_save(c->a);
    bool *seen = fsim_new(c->a, bool, wide *high);
    fprintf(c->out, "$%s%d << EOD\nNaN NaN\n", name, number);
    for (int i = 0; i < c->x->count; i++) {
        const fsim_evaluated *e = &c->x->at[i];
        if (!is_drawn(e) || strcmp(fsim_name_in(e, c->by, c->a), s->name) != 0)
            continue;
        const double x = sizes ? e->compulsory_bytes : e->row->time_s, ratio = e->predicted_s / e->row->time_s;
        const double y = sizes ? fmin(farthest, fmax(1 / farthest, ratio)) : e->predicted_s;
        if (sizes && !(x > 0)) {
            c->sizeless++;
            continue;
        }
        c->beyond += sizes && y != ratio;
        const int px = (int)(log(x / low_x) / log(high_x / low_x) * (wide - 1)),
                  py = (int)(log(y / low_y) / log(high_y / low_y) * (high - 1));
        if (seen[py * wide + px])
            continue;
        seen[py * wide + px] = true;
        fprintf(c->out, "%.6g %.6g\n", x, y);
    }
    fputs("EOD\n", c->out);
    fsim_rewind(c->a, mark);
}

static void put_plot(const chart *c, const char *name, const char *band_name)
{
    fprintf(c->out,
            "plot $%s using 1:2:3 with filledcurves lc rgb '#e8e8e8', $%s using 1:4 with lines lw 1 lc rgb '#777777'",
            band_name, band_name);
    for (int i = 0; i < c->count; i++)
        fprintf(c->out, ", $%s%d using 1:2 with points pt 7 ps %.3g lc rgb '#60%s'", name, i, 0.45 * c->points,
                c->all[i].color + 1);
    fputc('\n', c->out);
}

static void put_times(chart *c)
{
    const fsim_stats all = fsim_stats_of(c->x->at, c->x->count, c->a);
    put_panel(c, &time_panel);
    const int excluded = c->x->count - all.rows;
    put_label(c, &(label){WIDTH / 2.0, HEIGHT - 22, "center", "#000000", "font ',14'"},
              fsim_printf(c->a, "%d rows: mean error %.1f %%, median %.1f %%%s", all.rows, all.mape * 100,
                          all.median * 100, excluded ? fsim_printf(c->a, " (%d more excluded)", excluded) : ""));
    put_legend(c);
    fprintf(c->out,
            "set title 'Predicted against measured (band: 10 %%)'\nset xlabel 'measured time'\nset ylabel 'predicted "
            "time'\nset format xy '%%.0s %%cs'\n"
            "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nset xtics auto\nset ytics auto\n",
            c->low_s, c->high_s, c->low_s, c->high_s);
    fprintf(c->out, "$time_band << EOD\n");
    for (int i = 0; i < 2; i++) {
        const double x = i ? c->high_s : c->low_s;
        fprintf(c->out, "%.9g %.9g %.9g %.9g\n", x, x / (1 + band), x * (1 + band), x);
    }
    fputs("EOD\n", c->out);
    for (int i = 0; i < c->count; i++)
        put_points(c, &c->all[i], i, "time", false);
    put_plot(c, "time", "time_band");
}

static void put_sizes(chart *c)
{
    for (int i = 0; i < c->count; i++)
        put_points(c, &c->all[i], i, "size", true);
    put_panel(c, &size_panel);
    const char *note = c->beyond ? fsim_printf(c->a, "; %d beyond +300 or -75 %% stand%s on the edge", c->beyond,
                                               c->beyond == 1 ? "s" : "")
                                 : "";
    if (c->sizeless)
        note = fsim_printf(c->a, "%s; %d without size", note, c->sizeless);
    fputs("set title ", c->out);
    fsim_gnuplot_text(c->out, fsim_printf(c->a, "Error against size (band: 10 %%%s)", note));
    fprintf(c->out,
            "\nset xlabel 'bytes of inputs and outputs'\nset ylabel 'predicted over measured, less 1' offset -1,0\n"
            "set format x '%%.0s %%cB'\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n",
            c->low_bytes, c->high_bytes, 1 / farthest, farthest);
    fputs("set ytics ('-75 %%' 0.25, '-50 %%' 0.5, '-25 %%' 0.75, '-10 %%' 0.9, '0' 1, '+10 %%' 1.1, '+25 %%' 1.25, "
          "'+50 %%' 1.5, '+100 %%' 2, '+200 %%' 3, '+300 %%' 4)\n",
          c->out);
    fprintf(c->out, "$size_band << EOD\n%.9g %.9g %.9g 1\n%.9g %.9g %.9g 1\nEOD\n", c->low_bytes, 1 - band, 1 + band,
            c->high_bytes, 1 - band, 1 + band);
    put_plot(c, "size", "size_band");
}

static const char *script_of(fsim_arena *a, const fsim_accuracy *x, const char *terminal, double points)
{
    fsim_memory text;
    chart c = {.a = a, .x = x, .points = points, .out = fsim_memory_begin(&text)};
    find_series(&c);
    find_ranges(&c);
    fprintf(c.out,
            "set encoding utf8\n%s\nset termoption noenhanced\nset multiplot\nset tics nomirror\nset border 3 lc rgb "
            "'#555555'\n",
            terminal);
    put_times(&c);
    put_sizes(&c);
    fputs("unset multiplot\n", c.out);
    return fsim_memory_end(&text, a, NULL);
}

bool fsim_chart_accuracy(fsim_arena *a, const fsim_accuracy *x, const fsim_chart_file *to, fsim_fault *fault)
{
    double points = 1;
    bool any = false;
    const char *terminal = fsim_gnuplot_terminal(a, to->path, FSIM_CHART_HEIGHT, &points);
    for (int i = 0; i < x->count && !any; i++)
        any = is_drawn(&x->at[i]);
    if (!terminal)
        return fsim_fail(fault, a, FSIM_FAILED, FSIM_CHART_ENDINGS);
    if (!any)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "every row is excluded: nothing to draw");
    return fsim_gnuplot_draw(a, script_of(a, x, terminal, points), to, fault);
}
