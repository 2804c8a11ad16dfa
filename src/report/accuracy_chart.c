/* SPDX-License-Identifier: Apache-2.0 */
/* Two panels with a point for each row: predicted against measured time, and their ratio against the bytes that the row
 * must move. Excluded rows are not drawn. */
#include "report/accuracy.h"
#include "report/axis.h"

#include "report/describe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_HIGH = 220, MARGIN = 22, APART = 40, HIGH = 520, CELL = 2, FEW = 60, MOST_TIPS = 600, TWO_WIDE = 900 };
static const double band = 0.1;

/* The points of one colour. */
typedef struct {
    const char *name;
    fsim_look look;
    int rows;
    double mape;
} series;

typedef struct {
    fsim_canvas *c;
    const fsim_accuracy *x;
    fsim_grouping by;
    series *all;
    int count;
    fsim_scale time, predicted, bytes, ratio;
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

/* Gives each kind of work a colour, by the order of its name, or each GPU its own where there is only one kind. The
 * most frequent is drawn first, so that it hides no others. */
static void find_series(chart *c)
{
    static const int symbol[] = {7, 5, 9, 13};
    fsim_stat_group *group;
    c->by = FSIM_BY_CLASS;
    c->count = fsim_stat_groups(c->x->at, c->x->count, &c->by, 1, c->c->a, &group);
    if (c->count == 1) {
        c->by = FSIM_BY_HW;
        c->count = fsim_stat_groups(c->x->at, c->x->count, &c->by, 1, c->c->a, &group);
    }
    c->all = fsim_new(c->c->a, series, c->count + 1);
    for (int i = 0; i < c->count; i++) {
        const char *name = fsim_group_name(&group[i], c->by);
        const fsim_look look = {FSIM_INK_BLUE + i % FSIM_HUES, symbol[i / FSIM_HUES % 4]};
        c->all[i] = (series){name, c->by == FSIM_BY_HW ? fsim_look_of_gpu(name) : look, group[i].stats.rows,
                             group[i].stats.mape};
    }
    if (c->count > 0)
        qsort(c->all, (size_t)c->count, sizeof *c->all, by_rows);
    while (c->count > 0 && c->all[c->count - 1].rows == 0)
        c->count--;
}

static void find_scales(chart *c)
{
    c->time = (fsim_scale){"measured time", FSIM_SCALE_SECONDS, true, INFINITY, 0, 0, 0};
    c->bytes = (fsim_scale){"bytes of inputs and outputs", FSIM_SCALE_BYTES, true, INFINITY, 0, 0, 0};
    c->ratio = (fsim_scale){"predicted over measured", FSIM_SCALE_TIMES, true, 1 - band, 1 + band, 0, 0};
    for (int i = 0; i < c->x->count; i++) {
        const fsim_evaluated *e = &c->x->at[i];
        if (!is_drawn(e))
            continue;
        fsim_scale_reach(&c->time, e->row->time_s);
        fsim_scale_reach(&c->time, e->predicted_s);
        fsim_scale_reach(&c->bytes, e->compulsory_bytes);
        fsim_scale_reach(&c->ratio, e->predicted_s / e->row->time_s);
    }
    fsim_scale_widen(&c->time, 0.04);
    fsim_scale_widen(&c->bytes, 0.04);
    fsim_scale_widen(&c->ratio, 0.05);
    c->predicted = c->time;
    c->predicted.name = "predicted time";
}

static void put_tip(const chart *c, const fsim_evaluated *e, double x, double y)
{
    if (c->c->tips >= MOST_TIPS)
        return;
    fsim_put_tip(c->c, (fsim_area){x - 4, y - 4, x + 4, y + 4},
                 fsim_printf(c->c->a, "%s on %s: measured %s, predicted %s (%.2fx)", e->row->workload, e->row->hw,
                             fsim_seconds_text(c->c->a, e->row->time_s), fsim_seconds_text(c->c->a, e->predicted_s),
                             e->predicted_s / e->row->time_s));
}

/* Draws one point for each square of CELL pixels that has a row of the series, so that the size of the file is
 * limited by what can be seen, not by the number of rows. */
static void put_points(const chart *c, const series *s, fsim_area plot, bool ratios)
{
    const fsim_scale *at = ratios ? &c->bytes : &c->time, *up = ratios ? &c->ratio : &c->predicted;
    const int wide = (int)(plot.right - plot.left) / CELL + 1, high = (int)(plot.bottom - plot.top) / CELL + 1;
    const double radius = c->x->count > FEW ? 2.6 : 4.2; /* few are seen in a small picture, too */
    bool *seen = fsim_new(c->c->a, bool, wide *high);
    for (int i = 0; i < c->x->count; i++) {
        const fsim_evaluated *e = &c->x->at[i];
        if (!is_drawn(e) || strcmp(fsim_name_in(e, c->by, c->c->a), s->name) != 0)
            continue;
        if (ratios && !(e->compulsory_bytes > 0))
            continue;
        const double x = fsim_scale_px(at, ratios ? e->compulsory_bytes : e->row->time_s),
                     y = fsim_scale_px(up, ratios ? e->predicted_s / e->row->time_s : e->predicted_s);
        const int px = (int)((x - plot.left) / CELL), py = (int)((y - plot.top) / CELL);
        if (px < 0 || px >= wide || py < 0 || py >= high || seen[py * wide + px])
            continue;
        seen[py * wide + px] = true;
        fsim_put_mark(c->c, x, y, radius, s->look.symbol, (fsim_paint){s->look.ink, 0.35});
        put_tip(c, e, x, y);
    }
}

static void lay_out(fsim_area plot, fsim_scale *x, fsim_scale *y)
{
    x->from = plot.left;
    x->to = plot.right;
    y->from = plot.bottom;
    y->to = plot.top;
}

static void put_times(chart *c, fsim_area b)
{
    b = fsim_panel_head(c->c, b, "Predicted against measured time", "band: 10 %");
    const fsim_area plot = {b.left + 72, b.top + 4, b.right - 14, b.bottom - 44};
    lay_out(plot, &c->time, &c->predicted);
    const double low = c->time.low, high = c->time.high,
                 up = log(1 + band) / log(high / low) * (plot.bottom - plot.top);
    const double area[] = {plot.left,  plot.bottom, plot.left,  plot.bottom - up, plot.right - up, plot.top,
                           plot.right, plot.top,    plot.right, plot.top + up,    plot.left + up,  plot.bottom};
    fsim_put_shape(c->c, area, 6, (fsim_paint){FSIM_INK_BAND, 0.72});
    fsim_axis_left(c->c, plot, &c->predicted);
    fsim_axis_below(c->c, plot, &c->time);
    fsim_put_line(c->c, (fsim_area){plot.left, plot.bottom, plot.right, plot.top},
                  (fsim_pen){1, 1, FSIM_PAINT(FSIM_INK_AXIS)});
    for (int i = 0; i < c->count; i++)
        put_points(c, &c->all[i], plot, false);
}

static void put_ratios(chart *c, fsim_area b)
{
    int sizeless = 0;
    for (int i = 0; i < c->x->count; i++)
        sizeless += is_drawn(&c->x->at[i]) && !(c->x->at[i].compulsory_bytes > 0);
    b = fsim_panel_head(c->c, b, "Ratio against size",
                        sizeless ? fsim_printf(c->c->a, "band: 10 %%; %d rows without size are not shown", sizeless)
                                 : "band: 10 %");
    const fsim_area plot = {b.left + 72, b.top + 4, b.right - 14, b.bottom - 44};
    lay_out(plot, &c->bytes, &c->ratio);
    fsim_put_bar(
        c->c,
        (fsim_area){plot.left, fsim_scale_px(&c->ratio, 1 + band), plot.right, fsim_scale_px(&c->ratio, 1 - band)},
        (fsim_paint){FSIM_INK_BAND, 0.72});
    fsim_axis_left(c->c, plot, &c->ratio);
    fsim_axis_below(c->c, plot, &c->bytes);
    const double one = fsim_scale_px(&c->ratio, 1);
    fsim_put_line(c->c, (fsim_area){plot.left, one, plot.right, one}, (fsim_pen){1, 1, FSIM_PAINT(FSIM_INK_AXIS)});
    for (int i = 0; i < c->count; i++)
        put_points(c, &c->all[i], plot, true);
}

static void put_figures(const chart *c)
{
    for (int i = 0; i < c->x->count; i++) {
        const fsim_evaluated *e = &c->x->at[i];
        if (!is_drawn(e))
            continue;
        const fsim_mark mark = fsim_save(c->c->a);
        fsim_chart_figure f = {"accuracy",
                               e->row->hw,
                               fsim_name_in(e, FSIM_BY_STRATEGY, c->c->a),
                               e->row->workload,
                               fsim_name_in(e, FSIM_BY_CLASS, c->c->a),
                               0,
                               e->row->time_s,
                               "s",
                               e->predicted_s,
                               "s",
                               e->low_s,
                               e->high_s};
        fsim_put_figure(c->c, &f);
        f.chart = "ratio";
        f.x = e->compulsory_bytes;
        f.x_unit = "B";
        f.y = e->predicted_s / e->row->time_s;
        f.y_unit = "predicted over measured";
        f.low = f.high = NAN;
        fsim_put_figure(c->c, &f);
        fsim_rewind(c->c->a, mark);
    }
}

static void draw(fsim_canvas *canvas, const void *what)
{
    chart c = {.c = canvas, .x = what};
    const fsim_stats all = fsim_stats_of(c.x->at, c.x->count, canvas->a);
    const int excluded = c.x->count - all.rows;
    const bool two = canvas->width >= TWO_WIDE;
    find_series(&c);
    find_scales(&c);
    fsim_key *key = fsim_new(canvas->a, fsim_key, c.count + 1);
    for (int i = 0; i < c.count; i++)
        key[i] = (fsim_key){fsim_printf(canvas->a, "%s %.1f %%", c.all[i].name, c.all[i].mape * 100), c.all[i].look};
    canvas->title = fsim_printf(canvas->a, "Predictions against %d measured rows", all.rows);
    canvas->about = fsim_printf(canvas->a, "Mean error %.1f %%, median %.1f %%%s.", all.mape * 100, all.median * 100,
                                excluded ? fsim_printf(canvas->a, "; %d rows more are excluded", excluded) : "");
    fsim_area b = {MARGIN, MARGIN + 46, canvas->width - MARGIN, 0};
    const double keys = fsim_put_keys(NULL, b, key, c.count);
    canvas->least_height = b.top + keys + (two ? LEAST_HIGH : 2 * LEAST_HIGH);
    if (!canvas->style->height)
        canvas->height = b.top + keys + 14 + HIGH * (two ? 1 : 2) + MARGIN;
    fsim_put_words(canvas, &(fsim_words_at){MARGIN, MARGIN + 6, FSIM_WORDS_LEFT, FSIM_TITLE, FSIM_INK_TEXT, 0},
                   fsim_words_within(canvas, canvas->title, FSIM_TITLE, b.right - b.left));
    fsim_put_words(canvas, &(fsim_words_at){MARGIN, MARGIN + 28, FSIM_WORDS_LEFT, FSIM_SMALL + 1, FSIM_INK_MUTED, 0},
                   fsim_words_within(canvas, fsim_printf(canvas->a, "%s The legend has mean errors.", canvas->about),
                                     FSIM_SMALL + 1, b.right - b.left));
    b.top += fsim_put_keys(canvas, b, key, c.count) + 14;
    b.bottom = canvas->height - MARGIN;
    const double half = (b.right - b.left - APART) / 2, middle = (b.top + b.bottom) / 2;
    put_times(&c, two ? (fsim_area){b.left, b.top, b.left + half, b.bottom}
                      : (fsim_area){b.left, b.top, b.right, middle - APART / 2.0});
    put_ratios(&c, two ? (fsim_area){b.right - half, b.top, b.right, b.bottom}
                       : (fsim_area){b.left, middle + APART / 2.0, b.right, b.bottom});
    put_figures(&c);
}

bool fsim_chart_accuracy(fsim_arena *a, const fsim_accuracy *x, const fsim_chart_file *to, fsim_fault *fault)
{
    bool any = false;
    for (int i = 0; i < x->count && !any; i++)
        any = is_drawn(&x->at[i]);
    return any ? fsim_canvas_draw(a, to, draw, x, fault)
               : fsim_fail(fault, a, FSIM_UNAVAILABLE, "every row is excluded: nothing to draw");
}

void fsim_chart_data_accuracy(FILE *out, fsim_arena *a, const fsim_accuracy *x, const fsim_chart_style *style)
{
    fsim_canvas_data(out, a, style, draw, x);
}
