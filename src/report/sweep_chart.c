/* SPDX-License-Identifier: Apache-2.0 */
/* The points of a sweep as lines with their intervals, or as a map, and where the best plan changes. */
#include "report/sweep_chart.h"

#include "report/axis.h"
#include "report/describe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_HIGH = 260,
    MOST_LINES = 24,
    BANDS = 5 /* with so many lines, no bands */,
    MARGIN = 22,
    TOP = 78,
    BOTTOM = 50
};

/* What varies: the grid's directions, and behind them the GPU. */
typedef struct {
    int length, stride; /* points from one step to the next */
    const char *name;
} direction;

typedef struct {
    const fsim_sweep *x;
    fsim_canvas *canvas; /* NULL until it is drawn */
    fsim_arena *a;
    direction of[FSIM_MOST_AXES + 1];
    int directions;
    int along, across; /* of these: the axis of numbers; in a map the other one */
    bool map;
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

static void put_figures(const chart *c)
{
    for (int i = 0; i < c->x->points; i++) {
        const fsim_sweep_point *p = &c->x->point[i];
        if (!p->planned)
            continue;
        const fsim_mark mark = fsim_save(c->a);
        const char *text = "";
        for (int k = 0; k < c->x->grid.axes; k++)
            text = fsim_printf(c->a, "%s%s%s=%s", text, *text ? ", " : "", c->x->grid.axis[k].name, p->value[k]);
        fsim_put_figure(c->canvas, &(fsim_chart_figure){"sweep", p->hw, fsim_strategy_names[p->strategy], text,
                                                        fsim_printf(c->a, "plan %d", p->plan), 0,
                                                        c->along < 0 ? NAN : number_at(c, c->along, i),
                                                        c->along < 0 ? NULL : c->of[c->along].name, p->time_s, "s",
                                                        p->likely.low, p->likely.high});
        fsim_rewind(c->a, mark);
    }
}

static void put_head(const chart *c, const char *what)
{
    c->canvas->title =
        fsim_printf(c->a, "%s: %s", c->x->workload, c->map ? "time of the plan as a map" : "time of the plan");
    c->canvas->about = fsim_printf(c->a, "%s. %s.", what, fsim_sweep_line(c->x, c->a));
    fsim_put_words(c->canvas, &(fsim_words_at){MARGIN, MARGIN + 6, FSIM_WORDS_LEFT, FSIM_TITLE, FSIM_INK_TEXT, 0},
                   fsim_words_within(c->canvas, fsim_printf(c->a, "%s: time of the plan", c->x->workload), FSIM_TITLE,
                                     c->canvas->width - 2 * MARGIN));
    fsim_put_words(c->canvas, &(fsim_words_at){MARGIN, MARGIN + 28, FSIM_WORDS_LEFT, FSIM_SMALL + 1, FSIM_INK_MUTED, 0},
                   fsim_words_within(c->canvas, what, FSIM_SMALL + 1, c->canvas->width - 2 * MARGIN));
}

/* The look of one of `lines` lines, no two of which are the same: its GPU's, or where one GPU is all, one of its own.
 * Where something else varies too, symbols say what, filled for the first GPU of a colour and hollow for the second. */
static fsim_look look_of(const chart *c, int line, int lines)
{
    static const int symbol[] = {7, 5, 9, 13, 11, 15}; /* one less: hollow */
    enum { SYMBOLS = sizeof symbol / sizeof *symbol };
    const int gpu = line % c->x->gpus, other = line / c->x->gpus, others = lines / c->x->gpus;
    const fsim_look look = fsim_look_of_gpu(c->x->gpu[gpu]);
    int before = 0; /* GPUs of the same colour */
    if (c->x->gpus == 1)
        return (fsim_look){FSIM_INK_BLUE + line % FSIM_HUES, symbol[line / FSIM_HUES % SYMBOLS]};
    if (others == 1)
        return look;
    for (int i = 0; i < gpu; i++)
        before += fsim_look_of_gpu(c->x->gpu[i]).ink == look.ink;
    const int turn = others <= SYMBOLS ? other + before * SYMBOLS : other + before * others;
    return (fsim_look){look.ink, symbol[turn % SYMBOLS] - turn / SYMBOLS % 2};
}

/* The band of a line's intervals, piece by piece where points have no plan. */
static void put_band(const chart *c, int start, const fsim_scale s[2], fsim_ink ink)
{
    const direction *d = &c->of[c->along];
    double *xy = fsim_new(c->a, double, 4 * d->length + 4);
    for (int from = 0, to; from < d->length; from = to + 1) {
        int n = 0;
        for (to = from; to < d->length && c->x->point[start + to * d->stride].planned; to++)
            n++;
        for (int i = 0; i < n; i++) {
            const int at = start + (from + i) * d->stride;
            const double x = fsim_scale_px(&s[0], number_at(c, c->along, at));
            xy[2 * i] = xy[2 * (2 * n - 1 - i)] = x;
            xy[2 * i + 1] = fsim_scale_px(&s[1], c->x->point[at].likely.high);
            xy[2 * (2 * n - 1 - i) + 1] = fsim_scale_px(&s[1], c->x->point[at].likely.low);
        }
        if (n > 1)
            fsim_put_shape(c->canvas, xy, 2 * n, (fsim_paint){ink, 0.85});
    }
}

static const char *words_of(const chart *c, int at)
{
    const fsim_sweep_point *p = &c->x->point[at];
    return fsim_printf(c->a, "%s, %s=%s on %s: %s (%s to %s), plan %d", c->x->workload, c->of[c->along].name,
                       value_at(c, c->along, at), p->hw, fsim_seconds_text(c->a, p->time_s),
                       fsim_seconds_text(c->a, p->likely.low), fsim_seconds_text(c->a, p->likely.high), p->plan);
}

/* A line with a mark at each point, or where points are close at some, and a ring where the plan is another than
 * before. */
static void put_line(const chart *c, int start, const fsim_scale s[2], fsim_look look)
{
    const direction *d = &c->of[c->along];
    double *xy = fsim_new(c->a, double, 2 * d->length + 2);
    const double apart = d->length > 40 ? 90 : 0; /* pixels */
    double marked = -INFINITY;
    for (int i = 0, n = 0, plan = 0; i <= d->length; i++) {
        const int at = start + i * d->stride;
        const fsim_sweep_point *p = i < d->length ? &c->x->point[at] : NULL;
        if (!p || !p->planned) {
            if (n > 1)
                fsim_put_path(c->canvas, xy, n, (fsim_pen){2, 1, FSIM_PAINT(look.ink)});
            n = 0;
            continue;
        }
        const double x = xy[2 * n] = fsim_scale_px(&s[0], number_at(c, c->along, at)),
                     y = xy[2 * n + 1] = fsim_scale_px(&s[1], p->time_s);
        n++;
        if (fabs(x - marked) >= apart) {
            fsim_put_mark(c->canvas, x, y, 4, look.symbol, FSIM_PAINT(look.ink));
            marked = x;
        }
        if (plan && plan != p->plan)
            fsim_put_mark(c->canvas, x, y, 8, 6, FSIM_PAINT(FSIM_INK_TEXT));
        fsim_put_tip(c->canvas, (fsim_area){x - 7, y - 7, x + 7, y + 7}, words_of(c, at));
        plan = p->plan;
    }
}

static void find_scales(const chart *c, fsim_scale s[2])
{
    const double many = 8;
    s[0] = (fsim_scale){c->of[c->along].name, FSIM_SCALE_COUNT, false, INFINITY, 0, 0, 0};
    s[1] = (fsim_scale){"time", FSIM_SCALE_SECONDS, false, INFINITY, 0, 0, 0};
    for (int i = 0; i < c->x->points; i++)
        if (c->x->point[i].planned) {
            s[0].low = fmin(s[0].low, number_at(c, c->along, i));
            s[0].high = fmax(s[0].high, number_at(c, c->along, i));
            fsim_scale_reach(&s[1], c->x->point[i].likely.low);
            fsim_scale_reach(&s[1], c->x->point[i].likely.high);
        }
    s[0].log = s[0].low > 0 && s[0].high >= 16 * s[0].low;
    if (!(s[0].high > s[0].low))
        s[0].high = s[0].low + 1;
    s[1].log = s[1].high > many * s[1].low;
    s[1].low = s[1].log ? s[1].low : 0;
    fsim_scale_widen(&s[1], 0.03);
}

/* The axis of numbers with its own values as ticks, as many as fit. */
static void put_values(const chart *c, fsim_area plot, const fsim_scale *x)
{
    const direction *d = &c->of[c->along];
    double last = -INFINITY;
    for (int step = 0; step < d->length; step++) {
        const int i = number_at(c, c->along, 0) > number_at(c, c->along, (d->length - 1) * d->stride)
                          ? d->length - 1 - step
                          : step;
        const char *text = value_at(c, c->along, i * d->stride);
        const double at = fsim_scale_px(x, number_at(c, c->along, i * d->stride)), half = fsim_words_px(text, 12) / 2;
        if (at - half < last + 8)
            continue;
        last = at + half;
        fsim_put_line(c->canvas, (fsim_area){at, plot.top, at, plot.bottom},
                      (fsim_pen){1, 1, FSIM_PAINT(FSIM_INK_GRID)});
        fsim_put_words(c->canvas,
                       &(fsim_words_at){at, plot.bottom + 13, FSIM_WORDS_CENTER, FSIM_SMALL + 1, FSIM_INK_MUTED, 0},
                       text);
    }
    fsim_put_line(c->canvas, (fsim_area){plot.left, plot.bottom, plot.right, plot.bottom},
                  (fsim_pen){1, 1, FSIM_PAINT(FSIM_INK_AXIS)});
    fsim_put_words(c->canvas,
                   &(fsim_words_at){(plot.left + plot.right) / 2, plot.bottom + 34, FSIM_WORDS_CENTER, FSIM_NORMAL,
                                    FSIM_INK_TEXT, 0},
                   fsim_words_within(c->canvas, x->name, FSIM_NORMAL, plot.right - plot.left));
}

static void put_lines(const chart *c)
{
    int lines = 0, start[MOST_LINES];
    fsim_key key[MOST_LINES];
    fsim_scale s[2];
    for (int i = 0; i < c->x->points; i++)
        if (begins_line(c, i))
            start[lines++] = i;
    for (int i = 0; i < lines; i++)
        key[i] = (fsim_key){line_name(c, start[i]), look_of(c, i, lines)};
    find_scales(c, s);
    put_head(c, lines < BANDS ? "bands: eight of ten measured ones; rings: another plan than at the value before"
                              : "rings: another plan than at the value before");
    const fsim_area all = {MARGIN, TOP - 18, c->canvas->width - MARGIN, c->canvas->height - BOTTOM};
    const double keys = fsim_put_keys(c->canvas, all, key, lines);
    const fsim_area plot = {MARGIN + 80, all.top + keys + 12, all.right - 14, all.bottom};
    s[0].from = plot.left;
    s[0].to = plot.right;
    s[1].from = plot.bottom;
    s[1].to = plot.top;
    fsim_axis_left(c->canvas, plot, &s[1]);
    put_values(c, plot, &s[0]);
    for (int i = 0; i < lines && lines < BANDS; i++)
        put_band(c, start[i], s, key[i].look.ink);
    for (int i = 0; i < lines; i++)
        put_line(c, start[i], s, key[i].look);
}

typedef struct {
    fsim_area plot;
    double wide, high; /* of a cell */
    fsim_scale time;
} map;

static fsim_area cell_at(const map *m, int i, int k)
{
    return (fsim_area){m->plot.left + i * m->wide, m->plot.bottom - (k + 1) * m->high, m->plot.left + (i + 1) * m->wide,
                       m->plot.bottom - k * m->high};
}

/* The values of both directions beside the cells, as many as fit. */
static void put_map_axes(const chart *c, const map *m)
{
    const direction *x = &c->of[c->along], *y = &c->of[c->across];
    double widest = 0;
    for (int i = 0; i < x->length; i++)
        widest = fmax(widest, fsim_words_px(value_at(c, c->along, i * x->stride), FSIM_SMALL + 1));
    for (int i = 0; i < x->length; i += (int)ceil((widest + 8) / m->wide)) {
        const fsim_area cell = cell_at(m, i, 0);
        fsim_put_words(c->canvas,
                       &(fsim_words_at){(cell.left + cell.right) / 2, m->plot.bottom + 13, FSIM_WORDS_CENTER,
                                        FSIM_SMALL + 1, FSIM_INK_MUTED, 0},
                       value_at(c, c->along, i * x->stride));
    }
    for (int k = 0; k < y->length; k += (int)ceil(16 / m->high)) {
        const fsim_area cell = cell_at(m, 0, k);
        fsim_put_words(c->canvas,
                       &(fsim_words_at){m->plot.left - 7, (cell.top + cell.bottom) / 2, FSIM_WORDS_RIGHT,
                                        FSIM_SMALL + 1, FSIM_INK_MUTED, 0},
                       fsim_words_within(c->canvas, value_at(c, c->across, k * y->stride), FSIM_SMALL + 1,
                                         m->plot.left - MARGIN - 26));
    }
    fsim_put_words(c->canvas,
                   &(fsim_words_at){(m->plot.left + m->plot.right) / 2, m->plot.bottom + 34, FSIM_WORDS_CENTER,
                                    FSIM_NORMAL, FSIM_INK_TEXT, 0},
                   x->name);
    fsim_put_words(c->canvas,
                   &(fsim_words_at){MARGIN + 4, (m->plot.top + m->plot.bottom) / 2, FSIM_WORDS_CENTER, FSIM_NORMAL,
                                    FSIM_INK_TEXT, 90},
                   y->name);
}

/* A time's colour: the page's own for the shortest, blue for the longest. */
static fsim_paint paint_of(const map *m, double time_s)
{
    const double part = (fsim_scale_px(&m->time, time_s) - m->time.from) / (m->time.to - m->time.from);
    return (fsim_paint){FSIM_INK_BLUE, 0.92 * (1 - fmin(1, fmax(0, part)))};
}

static void put_cell(const chart *c, const map *m, int i, int k)
{
    const int at = i * c->of[c->along].stride + k * c->of[c->across].stride;
    const fsim_sweep_point *p = &c->x->point[at];
    const fsim_area cell = cell_at(m, i, k);
    if (!p->planned)
        return;
    const fsim_paint paint = paint_of(m, p->time_s);
    const char *text = fsim_seconds_text(c->a, p->time_s);
    const double letters = FSIM_SMALL;
    fsim_put_bar(c->canvas, (fsim_area){cell.left + 0.5, cell.top + 0.5, cell.right - 0.5, cell.bottom - 0.5}, paint);
    if (fsim_words_px(text, letters) + 6 < m->wide && m->high > letters + 5)
        fsim_put_words(c->canvas,
                       &(fsim_words_at){(cell.left + cell.right) / 2, (cell.top + cell.bottom) / 2, FSIM_WORDS_CENTER,
                                        letters, fsim_ink_over(c->canvas->style->theme, paint.ink, paint.through), 0},
                       text);
    fsim_put_tip(c->canvas, cell,
                 fsim_printf(c->a, "%s, %s=%s", words_of(c, at), c->of[c->across].name, value_at(c, c->across, at)));
}

/* Edges between cells whose plans differ. */
static void put_edges(const chart *c, const map *m)
{
    const direction *x = &c->of[c->along], *y = &c->of[c->across];
    const fsim_pen pen = {2.4, 1, FSIM_PAINT(FSIM_INK_RED)};
    for (int i = 0; i < x->length; i++)
        for (int k = 0; k < y->length; k++) {
            const int at = i * x->stride + k * y->stride;
            const int plan = c->x->point[at].plan;
            const fsim_area cell = cell_at(m, i, k);
            if (i + 1 < x->length && c->x->point[at + x->stride].plan != plan)
                fsim_put_line(c->canvas, (fsim_area){cell.right, cell.top, cell.right, cell.bottom}, pen);
            if (k + 1 < y->length && c->x->point[at + y->stride].plan != plan)
                fsim_put_line(c->canvas, (fsim_area){cell.left, cell.top, cell.right, cell.top}, pen);
        }
}

/* What the colours mean, on the right. */
static void put_color_bar(const chart *c, map *m)
{
    enum { STEPS = 60 };
    const fsim_area bar = {m->plot.right + 24, m->plot.top, m->plot.right + 42, m->plot.bottom};
    fsim_scale up = m->time;
    up.from = bar.bottom;
    up.to = bar.top;
    for (int i = 0; i < STEPS; i++) {
        const double high = (bar.bottom - bar.top) / STEPS; /* whole pixels: no gap and no overlap */
        fsim_put_bar(c->canvas,
                     (fsim_area){bar.left, round(bar.bottom - (i + 1) * high), bar.right, round(bar.bottom - i * high)},
                     (fsim_paint){FSIM_INK_BLUE, 0.92 * (1 - (i + 0.5) / STEPS)});
    }
    for (int i = 0; i <= 4; i++) {
        const double value = up.log ? up.low * pow(up.high / up.low, i / 4.0) : up.low + (up.high - up.low) * i / 4;
        fsim_put_words(c->canvas,
                       &(fsim_words_at){bar.right + 7, fsim_scale_px(&up, value), FSIM_WORDS_LEFT, FSIM_SMALL + 1,
                                        FSIM_INK_MUTED, 0},
                       value > 0 ? fsim_seconds_text(c->a, value) : "0");
    }
}

static void put_map(const chart *c)
{
    const direction *x = &c->of[c->along], *y = &c->of[c->across];
    double widest = 0;
    const double many = 8;
    map m = {.time = {"time", FSIM_SCALE_SECONDS, false, INFINITY, 0, 0, 1}};
    for (int i = 0; i < c->x->points; i++)
        if (c->x->point[i].planned)
            fsim_scale_reach(&m.time, c->x->point[i].time_s);
    m.time.log = m.time.high > many * m.time.low;
    m.time.low = m.time.log ? m.time.low : 0;
    if (!(m.time.high > m.time.low))
        m.time.high = m.time.low * 2;
    for (int k = 0; k < y->length; k++)
        widest = fmax(widest, fsim_words_px(value_at(c, c->across, k * y->stride), FSIM_SMALL + 1));
    put_head(c, "red lines: where the best plan changes");
    m.plot = (fsim_area){MARGIN + 28 + fmin(widest, c->canvas->width * 0.38), TOP - 10, c->canvas->width - MARGIN - 110,
                         c->canvas->height - BOTTOM};
    m.wide = (m.plot.right - m.plot.left) / x->length;
    m.high = (m.plot.bottom - m.plot.top) / y->length;
    for (int i = 0; i < x->length; i++)
        for (int k = 0; k < y->length; k++)
            put_cell(c, &m, i, k);
    put_edges(c, &m);
    put_map_axes(c, &m);
    put_color_bar(c, &m);
}

/* Which direction is drawn along, and whether the others are lines or one of them is the other side of a map. False
 * with *fault set. */
static bool choose(chart *c, fsim_fault *fault)
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
    c->map = lines > MOST_LINES;
    return !c->map || others == 1 ||
           fsim_fail(fault, c->a, FSIM_UNAVAILABLE,
                     "more than %d lines: a map has two axes, and here vary %d; say fewer values", MOST_LINES,
                     others + 1);
}

static void draw(fsim_canvas *canvas, const void *what)
{
    chart c = *(const chart *)what;
    c.canvas = canvas;
    canvas->least_height = LEAST_HIGH;
    put_figures(&c);
    if (c.along >= 0)
        c.map ? put_map(&c) : put_lines(&c);
}

bool fsim_chart_sweep(fsim_arena *a, const fsim_sweep *x, const fsim_chart_file *to, fsim_fault *fault)
{
    chart c = {.x = x, .a = a};
    bool any = false;
    for (int i = 0; i < x->points; i++)
        any = any || x->point[i].planned;
    if (!any)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "no point has a plan: nothing to draw");
    if (x->points < x->grid.combinations * x->gpus)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "a shard is no whole sweep: 'fusesim merge' draws it");
    find_directions(&c);
    return choose(&c, fault) && fsim_canvas_draw(a, to, draw, &c, fault);
}

void fsim_chart_data_sweep(FILE *out, fsim_arena *a, const fsim_sweep *x, const fsim_chart_style *style)
{
    chart c = {.x = x, .a = a, .along = -1};
    fsim_fault fault = {0};
    find_directions(&c);
    if (x->points < x->grid.combinations * x->gpus || !choose(&c, &fault))
        c.along = -1; /* points without a chart of their own */
    fsim_canvas_data(out, a, style, draw, &c);
}
