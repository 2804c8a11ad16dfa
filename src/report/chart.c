/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "report/ceilings.h"
#include "report/chart_bars.h"
#include "report/chart_front.h"
#include "report/chart_layers.h"
#include "report/chart_memory.h"
#include "report/gnuplot.h"
#include "report/repeats.h"
#include "report/report.h"
#include "report/versus.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All positions in the script are pixels of this canvas, from the lower left corner. So this code can keep labels
 * from overlapping, which gnuplot can't. */
enum { WIDTH = FSIM_CHART_WIDTH, HEIGHT = FSIM_CHART_HEIGHT };
typedef struct {
    double left, right, bottom, top;
} box;
static const box bars_panel = {75, 585, 80, 500}, roof_panel = {690, 1165, 80, 500},
                 layers_panel = {330, 1165, -290, -20}; /* below the canvas of the others, where there are layers */
enum { LAYERS_HEIGHT = 350 };
static const double char_px = 7.2, line_px = 15; /* size of a label's characters */

/* Okabe and Ito's colours, which people with colour blindness can tell apart. */
static const char *color_of(int gpu) { return fsim_chart_colors[gpu % FSIM_CHART_COLORS]; }

typedef struct {
    double x, y, share; /* share: of the plan's time, of all kernels that it stands for */
    int gpu, id, times; /* how many equal kernels it stands for */
} point;

typedef struct {
    fsim_arena *a;
    FILE *out;                /* the script */
    double below;             /* pixels below the canvas that all charts have */
    fsim_layers_chart layers; /* drawn there */
    const fsim_prediction *p;
    int count;
    point *chosen, *eager;
    int chosens, eagers, chosen_room, eager_room, hidden;
    bool repeats;                        /* some points of the plan shown stand for several kernels */
    double points;                       /* the terminal's pointsize for a symbol of the common size */
    double x_low, x_high, y_low, y_high; /* axes of the roofline: FLOP/B, FLOP/s */
    box *taken; /* places that are taken: lines, then (from `points_from` on) points, then labels */
    int takens, taken_room, points_from;
} chart;

typedef enum { LEFT, CENTER, RIGHT } justify;

/* A height as a share of the whole canvas. */
static double share_y(const chart *c, double y) { return (y + c->below) / (HEIGHT + c->below); }

/* A label at a pixel; y is the middle of its line. */
/* Where a label stands on the page, in pixels, and how it looks; more: gnuplot's words for the rest, "font ',7'". */
typedef struct {
    double x, y;
    justify side;
    const char *color, *more;
} label;

static void put_label(const chart *c, const label *l, const char *text)
{
    static const char *const word[] = {"left", "center", "right"};
    fputs("set label ", c->out);
    fsim_gnuplot_text(c->out, text);
    fprintf(c->out, " at screen %.5f,%.5f %s tc rgb '%s' %s front\n", l->x / WIDTH, share_y(c, l->y), word[l->side],
            l->color, l->more);
}

static void put_panel(const chart *c, const box *b)
{
    fprintf(c->out,
            "set lmargin at screen %.5f\nset rmargin at screen %.5f\nset bmargin at screen %.5f\nset tmargin at screen "
            "%.5f\n",
            b->left / WIDTH, b->right / WIDTH, share_y(c, b->bottom), share_y(c, b->top));
    fputs("unset label\nunset arrow\nunset logscale\nset format '%g'\nset key off\n", c->out);
}

static const char *gpu_name(const fsim_prediction *p)
{
    return p->hw->name ? p->hw->name : p->hw->description ? p->hw->description : "GPU";
}

static double legend_px(const fsim_prediction *p) { return fsim_text_width(gpu_name(p)) * char_px * 1.1 + 40; }

static void put_title(const chart *c)
{
    const fsim_prediction *p = c->p;
    const fsim_options *o = &p->options;
    const char *where = c->count > 1         ? fsim_printf(c->a, "%d GPUs", c->count)
                        : p->hw->description ? p->hw->description
                                             : gpu_name(p);
    put_label(c, &(label){WIDTH / 2.0, HEIGHT - 22, CENTER, "#000000", "font ',14'"},
              fsim_printf(c->a, "%s on %s (%s, L2 %s)", p->graph->name, where, fsim_regime_counts[o->regime],
                          o->warm ? "warm" : "cold"));
    if (c->count == 1)
        return;
    double total = 0;
    for (int i = 0; i < c->count; i++)
        total += legend_px(&c->p[i]);
    const double scale = fmin(1, (WIDTH - 40) / total);
    double x = WIDTH / 2.0 - total * scale / 2;
    for (int i = 0; i < c->count; i++) {
        put_label(c, &(label){x, HEIGHT - 48, LEFT, color_of(i), scale < 0.8 ? "font ',7'" : ""},
                  fsim_printf(c->a, "\u25A0 %s", gpu_name(&c->p[i])));
        x += legend_px(&c->p[i]) * scale;
    }
}

static void put_bars(const chart *c)
{
    put_panel(c, &bars_panel);
    put_title(c);
    fsim_chart_bars(c->out, &(fsim_bars){c->p, c->count, bars_panel.right - bars_panel.left, color_of}, c->a);
}

/* The point of kernel i, which stands for so many equal ones. */
static bool point_of(const fsim_plan *plan, int i, int times, int gpu, point *out)
{
    const fsim_kernel *k = &plan->kernel[i];
    const double bytes = (double)(k->dram_read_bytes + k->dram_write_bytes);
    if (!(k->flops > 0) || !(bytes > 0) || !(k->time_s > 0))
        return false;
    *out = (point){.x = k->flops / bytes,
                   .y = k->flops / k->time_s,
                   .share = times * k->time_s / plan->time_s,
                   .gpu = gpu,
                   .id = i + 1,
                   .times = times};
    return true;
}

/* A point for each kernel of the plan shown and of eager; of equal layers, for each of one. */
static void collect_points(chart *c)
{
    point p;
    for (int g = 0; g < c->count; g++) {
        const fsim_strategy strategy = c->p[g].chosen;
        const fsim_plan *shown = &c->p[g].plan[strategy], *eager = &c->p[g].plan[FSIM_STRATEGY_EAGER];
        const int *times = fsim_repeats_of(&c->p[g], strategy, c->a).times;
        for (int i = 0; i < shown->kernels; i++)
            if (point_of(shown, i, times[i], g, &p) && times[i] > 0) {
                *FSIM_PUSH(c->a, c->chosen, c->chosens, c->chosen_room) = p;
                c->repeats = c->repeats || times[i] > 1;
            } else {
                c->hidden += times[i];
            }
        times = fsim_repeats_of(&c->p[g], FSIM_STRATEGY_EAGER, c->a).times;
        for (int i = 0; i < eager->kernels; i++)
            if (times[i] > 0 && point_of(eager, i, times[i], g, &p))
                *FSIM_PUSH(c->a, c->eager, c->eagers, c->eager_room) = p;
    }
}

static void include(chart *c, double x, double y)
{
    c->x_low = fmin(c->x_low, x);
    c->x_high = fmax(c->x_high, x);
    c->y_low = fmin(c->y_low, y);
    c->y_high = fmax(c->y_high, y);
}

static void find_range(chart *c)
{
    c->x_low = c->y_low = INFINITY;
    c->x_high = c->y_high = 0;
    for (int i = 0; i < c->chosens; i++)
        include(c, c->chosen[i].x, c->chosen[i].y);
    for (int i = 0; i < c->eagers; i++)
        include(c, c->eager[i].x, c->eager[i].y);
    for (int g = 0; g < c->count; g++) {
        fsim_ceiling roof[FSIM_MOST_CEILINGS];
        const int roofs = fsim_ceilings_of(&c->p[g], roof);
        for (int i = 0; i < roofs; i++)
            include(c, roof[i].flops_per_s / fsim_hw_get(c->p[g].hw, FSIM_HW_DRAM_BANDWIDTH), roof[i].flops_per_s);
    }
    c->x_low /= 3;
    c->x_high *= 8;
    c->y_low /= 5;
    c->y_high *= 4;
}

static double x_px(const chart *c, double x)
{
    return roof_panel.left + log(x / c->x_low) / log(c->x_high / c->x_low) * (roof_panel.right - roof_panel.left);
}

static double y_px(const chart *c, double y)
{
    return roof_panel.bottom + log(y / c->y_low) / log(c->y_high / c->y_low) * (roof_panel.top - roof_panel.bottom);
}

static double point_size(double share) { return 0.7 + 1.8 * sqrt(share); }
static double point_px(double share) { return 5.5 * point_size(share); } /* radius of the point */

static bool is_free(const chart *c, const box *b)
{
    if (b->left < roof_panel.left || b->right > roof_panel.right || b->bottom < roof_panel.bottom ||
        b->top > roof_panel.top)
        return false;
    for (int i = 0; i < c->takens; i++)
        if (b->left < c->taken[i].right && b->right > c->taken[i].left && b->bottom < c->taken[i].top &&
            b->top > c->taken[i].bottom)
            return false;
    return true;
}

static void take(chart *c, box b) { *FSIM_PUSH(c->a, c->taken, c->takens, c->taken_room) = b; }

static box text_box(double x, double y, const char *text)
{
    const double half = fsim_text_width(text) * char_px / 2 + 2;
    return (box){x - half, x + half, y - line_px / 2, y + line_px / 2};
}

/* Draws a GPU's DRAM roof and its compute ceilings as lines, and notes the area that they cover. */
static void put_roofs(chart *c, int g)
{
    fsim_ceiling roof[FSIM_MOST_CEILINGS];
    const int roofs = fsim_ceilings_of(&c->p[g], roof);
    const double bandwidth = fsim_hw_get(c->p[g].hw, FSIM_HW_DRAM_BANDWIDTH);
    double top = 0;
    for (int i = 0; i < roofs; i++)
        top = fmax(top, roof[i].flops_per_s);
    const double from = fmax(c->x_low, c->y_low / bandwidth);
    fprintf(c->out, "$roof%d << EOD\n%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n", g, from, bandwidth * from, top / bandwidth,
            top, c->x_high, top);
    for (int i = 0; i < roofs; i++)
        fprintf(c->out, "\n%.9g %.9g\n%.9g %.9g\n", roof[i].flops_per_s / bandwidth, roof[i].flops_per_s, c->x_high,
                roof[i].flops_per_s);
    fputs("EOD\n", c->out);
    for (double x = x_px(c, from); x < x_px(c, top / bandwidth); x += 6) {
        const double y = y_px(c, from * bandwidth) + (x - x_px(c, from)) * (y_px(c, top) - y_px(c, from * bandwidth)) /
                                                         (x_px(c, top / bandwidth) - x_px(c, from));
        take(c, (box){x - 3, x + 3, y - 3, y + 3});
    }
    for (int i = 0; i < roofs; i++) {
        const double y = y_px(c, roof[i].flops_per_s);
        take(c, (box){x_px(c, roof[i].flops_per_s / bandwidth), roof_panel.right, y - 1, y + 1});
    }
}

/* Writes the label above or below a roof at y from `from` on, as far right as there is room. False: nowhere. */
static bool put_roof_label(chart *c, const char *text, const char *color, double from, double y)
{
    const double half = fsim_text_width(text) * char_px / 2 + 4;
    for (double x = roof_panel.right - half; x > from; x -= 24)
        for (int side = 1; side >= -1; side -= 2) {
            const box b = text_box(x, y + side * 10, text);
            if ((side < 0 && x - half <= from) || !is_free(c, &b))
                continue;
            take(c, b);
            put_label(c, &(label){x, y + side * 10, CENTER, color, ""}, text);
            return true;
        }
    return false;
}

static void put_roof_labels(chart *c, int g)
{
    const char *color = c->count > 1 ? color_of(g) : "#333333";
    fsim_ceiling roof[FSIM_MOST_CEILINGS];
    const int roofs = fsim_ceilings_of(&c->p[g], roof);
    const double bandwidth = fsim_hw_get(c->p[g].hw, FSIM_HW_DRAM_BANDWIDTH);
    char rate[32];
    for (int i = 0; i < roofs; i++) {
        const char *shown = fsim_show_rate(rate, sizeof rate, roof[i].flops_per_s, "FLOP/s");
        const char *name = i > 0 ? roof[i].name + strlen("tensor ") : roof[i].name; /* the short one: "f16" */
        const double from = x_px(c, roof[i].flops_per_s / bandwidth), y = y_px(c, roof[i].flops_per_s);
        if (c->count > 1 || !put_roof_label(c, fsim_printf(c->a, "%s %s", roof[i].name, shown), color, from, y))
            (void)put_roof_label(c, fsim_printf(c->a, "%s %s", name, shown), color, from, y);
    }
    /* along the slope, above the line */
    const char *text = fsim_printf(c->a, "DRAM %s", fsim_show_rate(rate, sizeof rate, bandwidth, "B/s"));
    const double from = fmax(c->x_low, c->y_low / bandwidth),
                 angle = atan2(y_px(c, bandwidth * 10) - y_px(c, bandwidth), x_px(c, 10) - x_px(c, 1));
    const double length = fsim_text_width(text) * char_px;
    const double x0 = x_px(c, from), y0 = y_px(c, from * bandwidth), end = roof_panel.right - length * cos(angle);
    for (double x = x0 + 8; x < end; x += 8) {
        const double px = x - sin(angle) * 11, py = y0 + (x - x0) * tan(angle) + cos(angle) * 11;
        bool clear = true;
        for (double along = 0; along <= length && clear; along += 6)
            clear = is_free(c, &(box){px + along * cos(angle) - 5, px + along * cos(angle) + 5,
                                      py + along * sin(angle) - 5, py + along * sin(angle) + 5});
        if (!clear)
            continue;
        for (double along = 0; along <= length; along += 6)
            take(c, (box){px + along * cos(angle) - 7, px + along * cos(angle) + 7, py + along * sin(angle) - 7,
                          py + along * sin(angle) + 7});
        put_label(c, &(label){px, py, LEFT, color, fsim_printf(c->a, "rotate by %.1f", angle * 180 / acos(-1))}, text);
        break;
    }
}

/* Writes a note about values that a logarithmic axis can't show, in the corner without roofs. */
static void put_note(chart *c)
{
    if (c->hidden == 0)
        return;
    const char *text = fsim_printf(c->a, "%d kernel%s without arithmetic or DRAM traffic: not shown", c->hidden,
                                   c->hidden == 1 ? "" : "s");
    const double half = fsim_text_width(text) * char_px / 2 + 4, x = roof_panel.right - half,
                 y = roof_panel.bottom + 22;
    take(c, text_box(x, y, text));
    put_label(c, &(label){x, y, CENTER, "#777777", ""}, text);
}

static const char *with_times(const chart *c, const char *ids, int times)
{
    return times > 1 ? fsim_printf(c->a, "%s x %d", ids, times) : ids;
}

/* The ids of all kernels whose points coincide with that of chosen[first], for one common label; marks them as done.
 * Those that come equally often stand together: "2,6 x 11, 79". */
static const char *cluster(chart *c, int first, bool *done)
{
    enum { MOST = 5 };
    const double near_px = 12;
    const char *text = NULL;
    int ids = 0, times = 1;
    for (int i = 0; i < c->chosens; i++) {
        const point *p = &c->chosen[i];
        const double dx = x_px(c, p->x) - x_px(c, c->chosen[first].x), dy = y_px(c, p->y) - y_px(c, c->chosen[first].y);
        if (done[i] || p->gpu != c->chosen[first].gpu || hypot(dx, dy) > near_px)
            continue;
        done[i] = true;
        if (ids++ >= MOST)
            continue;
        text = !text               ? fsim_printf(c->a, "%d", p->id)
               : p->times == times ? fsim_printf(c->a, "%s,%d", text, p->id)
                                   : fsim_printf(c->a, "%s, %d", with_times(c, text, times), p->id);
        times = p->times;
    }
    text = with_times(c, text, times);
    return ids > MOST ? fsim_printf(c->a, "%s +%d", text, ids - MOST) : text;
}

/* Does a line from point p at (x, y) to its label avoid all other points and labels? Points that it touches itself do
 * not count. */
static bool is_clear(const chart *c, const point *p, double to_x, double to_y)
{
    const double x = x_px(c, p->x), y = y_px(c, p->y), r = point_px(p->share) * 0.8;
    const double length = hypot(to_x - x, to_y - y);
    for (int i = c->points_from; i < c->takens; i++) {
        const box *b = &c->taken[i];
        if (x + r > b->left && x - r < b->right && y + r > b->bottom && y - r < b->top)
            continue;
        for (double at = 0; at <= length; at += 2) {
            const double px = x + (to_x - x) * at / length, py = y + (to_y - y) * at / length;
            if (px > b->left && px < b->right && py > b->bottom && py < b->top)
                return false;
        }
    }
    return true;
}

enum { DIRECTIONS = 16, RINGS = 10 };

/* Puts the label at one of the places around the point, if it is free. */
static bool put_id_at(chart *c, const point *p, const char *text, int ring, int direction)
{
    /* right, left, above, below, then the directions between them */
    static const int order[DIRECTIONS] = {0, 8, 4, 12, 2, 6, 10, 14, 1, 7, 9, 15, 3, 5, 11, 13};
    const double x = x_px(c, p->x), y = y_px(c, p->y), half = fsim_text_width(text) * char_px / 2 + 2;
    const double turn = 2 * acos(-1) * order[direction] / DIRECTIONS, away = point_px(p->share) + 1 + 10 * ring;
    const double lx = x + cos(turn) * (away + half), ly = y + sin(turn) * (away + line_px / 2);
    const double end_x = lx - cos(turn) * half, end_y = ly - sin(turn) * line_px / 2;
    const box b = text_box(lx, ly, text);
    if (!is_free(c, &b) || !is_clear(c, p, end_x, end_y))
        return false;
    take(c, b);
    put_label(c, &(label){lx, ly, CENTER, c->count > 1 ? color_of(p->gpu) : "#000000", ""}, text);
    if (ring > 0)
        fprintf(c->out, "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead lw 0.7 lc rgb '#999999'\n",
                x / WIDTH, share_y(c, y), end_x / WIDTH, share_y(c, end_y));
    return true;
}

/* Puts the label beside the point; where no place is free, further away, with a line to the point; where that is not
 * free either, there is no label. */
static void put_id(chart *c, const point *p, const char *text)
{
    for (int ring = 0; ring < RINGS; ring++)
        for (int direction = 0; direction < DIRECTIONS; direction++)
            if (put_id_at(c, p, text, ring, direction))
                return;
}

static int by_share(const void *a, const void *b)
{
    const point *x = a, *y = b;
    return x->share != y->share ? (x->share < y->share) - (x->share > y->share)
           : x->gpu != y->gpu   ? x->gpu - y->gpu
                                : x->id - y->id;
}

static void put_points(const chart *c, const char *name, const point *p, int count, int gpu)
{
    fprintf(c->out, "$%s%d << EOD\n", name, gpu);
    int printed = 0;
    for (int i = 0; i < count; i++)
        if (p[i].gpu == gpu && ++printed)
            fprintf(c->out, "%.9g %.9g %.4g\n", p[i].x, p[i].y, c->points * point_size(p[i].share));
    fputs(printed ? "EOD\n" : "NaN NaN 1\nEOD\n", c->out);
}

static void put_roofline(chart *c)
{
    collect_points(c);
    find_range(c);
    put_panel(c, &roof_panel);
    const char *shown = fsim_strategy_names[c->p->chosen];
    fprintf(c->out, "set title 'Roofline: kernels of %s by number%s (hollow: eager)'\n", shown,
            c->repeats ? ", x equal ones" : "");
    fprintf(c->out,
            "set xlabel 'arithmetic intensity (FLOP per byte of DRAM traffic)'\nset ylabel 'FLOP/s'\nset logscale xy\n"
            "set xtics auto\nset ytics auto\nset format x '%%g'\nset format y '%%.0s %%c'\nset xrange [%.9g:%.9g]\nset "
            "yrange [%.9g:%.9g]\n"
            "set grid xtics ytics lt 1 lw 0.7 lc rgb '#e4e4e4'\n",
            c->x_low, c->x_high, c->y_low, c->y_high);
    for (int g = 0; g < c->count; g++)
        put_roofs(c, g);
    c->points_from = c->takens;
    for (int i = 0; i < c->chosens; i++) {
        const double x = x_px(c, c->chosen[i].x), y = y_px(c, c->chosen[i].y), r = point_px(c->chosen[i].share) * 0.8;
        take(c, (box){x - r, x + r, y - r, y + r});
    }
    for (int i = 0; i < c->eagers; i++) {
        const double x = x_px(c, c->eager[i].x), y = y_px(c, c->eager[i].y), r = point_px(c->eager[i].share) * 0.8;
        take(c, (box){x - r, x + r, y - r, y + r});
    }
    put_note(c);
    for (int g = 0; g < c->count; g++)
        put_roof_labels(c, g);
    if (c->chosens > 0)
        qsort(c->chosen, (size_t)c->chosens, sizeof *c->chosen, by_share);
    bool *done = fsim_new(c->a, bool, c->chosens + 1);
    for (int i = 0; i < c->chosens; i++)
        if (!done[i])
            put_id(c, &c->chosen[i], cluster(c, i, done));
    for (int g = 0; g < c->count; g++) {
        put_points(c, "chosen", c->chosen, c->chosens, g);
        put_points(c, "eager", c->eager, c->eagers, g);
    }
    fputs("plot ", c->out);
    for (int g = 0; g < c->count; g++)
        fprintf(c->out,
                "%s$roof%d using 1:2 with lines lw 1.5 lc rgb '%s', $eager%d using 1:2:3 with points pt 6 ps variable "
                "lc rgb '#aaaaaa'",
                g ? ", " : "", g, c->count > 1 ? color_of(g) : "#333333", g);
    for (int g = 0; g < c->count; g++)
        fprintf(c->out, ", $chosen%d using 1:2:3 with points pt 7 ps variable lc rgb '#50%s'", g, color_of(g) + 1);
    fputc('\n', c->out);
}

static void put_front(const chart *c)
{
    put_panel(c, &roof_panel);
    fsim_chart_front(c->out, &(fsim_front){c->p, c->count, c->points, color_of}, c->a);
}

static void put_memory(const chart *c)
{
    put_panel(c, &roof_panel);
    fsim_chart_memory(c->out, &(fsim_memory_chart){c->p, c->count, c->points, color_of}, c->a);
}

static void put_layers(const chart *c)
{
    if (c->layers.layers == 0)
        return;
    put_panel(c, &layers_panel);
    fsim_chart_layers(c->out, &c->layers);
}

/* NULL: the path has no ending of a chart. */
static const char *script_of(fsim_arena *a, const fsim_prediction *p, int count, const char *path)
{
    fsim_memory text;
    chart c = {.a = a, .p = p, .count = count, .layers = fsim_layers_chart_of(p, count, color_of, a)};
    c.below = c.layers.layers > 0 ? LAYERS_HEIGHT : 0;
    const char *terminal = fsim_gnuplot_terminal(a, path, HEIGHT + (int)c.below, &c.points);
    if (!terminal)
        return NULL;
    c.out = fsim_memory_begin(&text);
    fprintf(c.out,
            "set encoding utf8\n%s\nset termoption noenhanced\nset multiplot\nset tics nomirror\nset border 3 lc rgb "
            "'#555555'\n",
            terminal);
    put_bars(&c);
    if (p->options.pareto)
        put_front(&c);
    else if (p->graph->derived == FSIM_REVERSE)
        put_memory(&c);
    else
        put_roofline(&c);
    put_layers(&c);
    fputs("unset multiplot\n", c.out);
    return fsim_memory_end(&text, a, NULL);
}

bool fsim_report_chart(fsim_arena *a, const fsim_prediction *p, int count, const fsim_chart_file *to, fsim_fault *fault)
{
    if (count < 1)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "nothing to draw");
    const char *text = script_of(a, p, count, to->path);
    return text ? fsim_gnuplot_draw(a, text, to, fault) : fsim_fail(fault, a, FSIM_FAILED, FSIM_CHART_ENDINGS);
}
