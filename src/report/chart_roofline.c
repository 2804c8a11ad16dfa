/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels under the roofs of arithmetic and of each level of memory; of several GPUs a panel each, with equal axes. */
#include "report/chart.h"

#include "report/ceilings.h"
#include "report/describe.h"
#include "report/place.h"
#include "report/repeats.h"
#include "report/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_WIDE = 280, SMALL_HIGH = 270, HIGH = 480, AXIS = 44, LEFT = 62 };

typedef enum { DRAM, L2, SHARED, LEVELS } level;
static const char *const level_names[LEVELS] = {"DRAM", "L2", "shared"};
static const int level_symbols[LEVELS] = {7, 12, 8}; /* disc, hollow diamond, hollow triangle */

typedef struct {
    double x[LEVELS], y, share; /* FLOP per byte of each level, 0: it moves none; share: of the plan's time */
    int kernel, times;
} point;

typedef struct {
    const fsim_charted *s;
    const fsim_prediction *p;
    fsim_scale x, y;
    fsim_places places;
    point *at;
    int count, hidden;
    double bandwidth[LEVELS]; /* 0: not known */
    fsim_ceiling roof[FSIM_MOST_CEILINGS];
    int roofs;
    bool small;
} roofline;

/* How many panels are in a row, and how many rows there are. */
static int columns_of(const fsim_charted *s, double width)
{
    const int most = (int)fmax(1, width / LEAST_WIDE);
    return s->count < most ? s->count : most;
}

double fsim_height_of_roofline(const fsim_charted *s, double width)
{
    const int columns = columns_of(s, width), rows = (s->count + columns - 1) / columns;
    return 48 + 22 + (s->count == 1 ? HIGH : rows * SMALL_HIGH);
}

static double level_bytes(const fsim_kernel *k, level which)
{
    return which == DRAM ? (double)k->dram_read_bytes + (double)k->dram_write_bytes
           : which == L2 ? k->l2_bytes
                         : k->shared_bytes_moved;
}

static point *points_of(const fsim_charted *s, const fsim_prediction *p, fsim_strategy which, int *count, int *hidden)
{
    const fsim_plan *plan = &p->plan[which];
    const int *times = fsim_repeats_of(p, which, s->c->a).times;
    point *out = fsim_new(s->c->a, point, plan->kernels + 1);
    for (int i = 0; i < plan->kernels; i++) {
        const fsim_kernel *k = &plan->kernel[i];
        point x = {
            .y = k->flops / k->time_s, .share = times[i] * k->time_s / plan->time_s, .kernel = i, .times = times[i]};
        bool any = false;
        for (int v = 0; v < LEVELS; v++) {
            x.x[v] = level_bytes(k, (level)v) > 0 ? k->flops / level_bytes(k, (level)v) : 0;
            any = any || x.x[v] > 0;
        }
        if (any && k->flops > 0 && k->time_s > 0 && times[i] > 0)
            out[(*count)++] = x;
        else if (hidden)
            *hidden += times[i];
    }
    return out;
}

static int by_share(const void *a, const void *b)
{
    const point *x = a, *y = b;
    return x->share != y->share ? (x->share < y->share) - (x->share > y->share) : x->kernel - y->kernel;
}

static void read_gpu(roofline *r, const fsim_charted *s, const fsim_prediction *p)
{
    *r = (roofline){.s = s, .p = p};
    r->at = points_of(s, p, p->chosen, &r->count, &r->hidden);
    qsort(r->at, (size_t)r->count, sizeof *r->at, by_share);
    r->roofs = fsim_ceilings_of(p, r->roof);
    r->bandwidth[DRAM] = fsim_hw_get(p->hw, FSIM_HW_DRAM_BANDWIDTH);
    r->bandwidth[L2] = fsim_hw_has(p->hw, FSIM_HW_L2_BANDWIDTH) ? fsim_hw_get(p->hw, FSIM_HW_L2_BANDWIDTH) : 0;
    if (fsim_hw_has(p->hw, FSIM_HW_SHARED_BANDWIDTH))
        r->bandwidth[SHARED] = fsim_hw_get(p->hw, FSIM_HW_SHARED_BANDWIDTH) * fsim_hw_get(p->hw, FSIM_HW_SMS) *
                               fsim_hw_get(p->hw, FSIM_HW_SM_CLOCK);
}

/* Axes that hold all points of all GPUs and the corners of their roofs. */
static void find_scales(const fsim_charted *s, fsim_scale *x, fsim_scale *y)
{
    *x = (fsim_scale){"arithmetic intensity (FLOP per byte moved)", FSIM_SCALE_COUNT, true, INFINITY, 0, 0, 0};
    *y = (fsim_scale){"FLOP/s", FSIM_SCALE_COUNT, true, INFINITY, 0, 0, 0};
    for (int g = 0; g < s->count; g++) {
        roofline r;
        read_gpu(&r, s, &s->p[g]);
        for (int i = 0; i < r.count; i++) {
            fsim_scale_reach(y, r.at[i].y);
            for (int v = 0; v < LEVELS; v++)
                fsim_scale_reach(x, r.at[i].x[v]);
        }
        for (int i = 0; i < r.roofs; i++) {
            fsim_scale_reach(y, r.roof[i].flops_per_s);
            fsim_scale_reach(x, r.roof[i].flops_per_s / r.bandwidth[DRAM]);
        }
    }
    x->low /= 2.5;
    x->high *= 4;
    y->low /= 4;
    y->high *= 3;
}

/* A roof of memory: a line at 45 degrees of the logarithmic axes, up to the highest roof of arithmetic. */
static void put_slope(roofline *r, level which, double top)
{
    const double rate = r->bandwidth[which], from = fmax(r->x.low, r->y.low / rate), to = fmin(top / rate, r->x.high);
    const fsim_area line = {fsim_scale_px(&r->x, from), fsim_scale_px(&r->y, from * rate), fsim_scale_px(&r->x, to),
                            fsim_scale_px(&r->y, to * rate)};
    if (!(rate > 0) || !(to > from))
        return;
    fsim_put_line(r->s->c, line,
                  (fsim_pen){which == DRAM ? 1.8 : 1.2, which == DRAM ? 1 : 2, FSIM_PAINT(FSIM_INK_MUTED)});
    for (double x = line.left; x < line.right; x += 6) {
        const double y = line.top + (x - line.left) * (line.bottom - line.top) / (line.right - line.left);
        fsim_place_take(&r->places, (fsim_area){x - 2, y - 2, x + 2, y + 2});
    }
}

/* The highest roof of arithmetic. */
static double top_of(const roofline *r)
{
    double top = 0;
    for (int i = 0; i < r->roofs; i++)
        top = fmax(top, r->roof[i].flops_per_s);
    return top;
}

static void put_roofs(roofline *r)
{
    const double top = top_of(r);
    for (int v = 0; v < LEVELS; v++)
        put_slope(r, (level)v, top);
    for (int i = 0; i < r->roofs; i++) {
        const double y = fsim_scale_px(&r->y, r->roof[i].flops_per_s),
                     from = fsim_scale_px(&r->x, fmax(r->x.low, r->roof[i].flops_per_s / r->bandwidth[DRAM]));
        fsim_put_line(r->s->c, (fsim_area){from, y, r->x.to, y}, (fsim_pen){1.8, 1, FSIM_PAINT(FSIM_INK_MUTED)});
        fsim_place_take(&r->places, (fsim_area){from, y - 1, r->x.to, y + 1});
    }
}

/* The name of a roof of arithmetic above or below its line, as far right as there is room. */
static void name_roof(roofline *r, const fsim_ceiling *roof)
{
    char rate[32];
    const double y = fsim_scale_px(&r->y, roof->flops_per_s),
                 from = fsim_scale_px(&r->x, roof->flops_per_s / r->bandwidth[DRAM]);
    const char *shown = fsim_show_rate(rate, sizeof rate, roof->flops_per_s, "FLOP/s"),
               *brief = strncmp(roof->name, "tensor ", 7) == 0 ? roof->name + 7 : roof->name;
    for (int attempt = 0; attempt < 2; attempt++) {
        const char *text = fsim_printf(r->s->c->a, "%s %s", attempt ? brief : roof->name, shown);
        const double half = fsim_words_px(text, FSIM_SMALL) / 2 + 3;
        for (double x = r->x.to - half; x - half > (attempt ? r->x.from : from) && x + half > from; x -= 12)
            for (int side = -1; side <= 1; side += 2) {
                const fsim_area b = fsim_place_of_words(x, y + side * 10, text, FSIM_SMALL);
                if ((side > 0 && x - half <= from) || !fsim_place_is_free(&r->places, &b))
                    continue;
                fsim_place_take(&r->places, b);
                fsim_put_words(r->s->c,
                               &(fsim_words_at){x, y + side * 10, FSIM_WORDS_CENTER, FSIM_SMALL, FSIM_INK_MUTED, 0},
                               text);
                return;
            }
    }
}

/* The name of a roof of memory along its line, above it: a third of it at least. */
static void name_slope(roofline *r, level which, double top)
{
    char rate[32];
    const double speed = r->bandwidth[which];
    if (!(speed > 0))
        return;
    const char *text =
        fsim_printf(r->s->c->a, "%s %s", level_names[which], fsim_show_rate(rate, sizeof rate, speed, "B/s"));
    const double from = fmax(r->x.low, r->y.low / speed), x0 = fsim_scale_px(&r->x, from),
                 y0 = fsim_scale_px(&r->y, from * speed),
                 angle = atan2(fsim_scale_px(&r->y, speed) - fsim_scale_px(&r->y, speed * 10),
                               fsim_scale_px(&r->x, 10) - fsim_scale_px(&r->x, 1)),
                 length = fsim_words_px(text, FSIM_SMALL), third = length * cos(angle) / 3,
                 end = fsim_scale_px(&r->x, fmin(top / speed, r->x.high)); /* of its line */
    for (double x = x0 + 4; x < fmin(r->x.to - 3 * third, end - third); x += 6) {
        const double px = x - sin(angle) * 9, py = y0 - (x - x0) * tan(angle) - cos(angle) * 9;
        bool clear = true;
        for (double along = 0; along <= length && clear; along += 5)
            clear =
                fsim_place_is_free(&r->places, &(fsim_area){px + along * cos(angle) - 4, py - along * sin(angle) - 4,
                                                            px + along * cos(angle) + 4, py - along * sin(angle) + 4});
        if (!clear)
            continue;
        for (double along = 0; along <= length; along += 5)
            fsim_place_take(&r->places, (fsim_area){px + along * cos(angle) - 6, py - along * sin(angle) - 6,
                                                    px + along * cos(angle) + 6, py - along * sin(angle) + 6});
        fsim_put_words(r->s->c,
                       &(fsim_words_at){px, py, FSIM_WORDS_LEFT, FSIM_SMALL, FSIM_INK_MUTED, angle * 180 / acos(-1)},
                       text);
        return;
    }
}

static double radius_of(const roofline *r, double share)
{
    return (r->small ? 2.5 : 4) + (r->small ? 6 : 9) * sqrt(share);
}

static void put_point(roofline *r, const point *x)
{
    const fsim_kernel *k = &r->p->plan[r->p->chosen].kernel[x->kernel];
    const fsim_class_look look = fsim_kernels_look[fsim_class_of(k)];
    const char *name = fsim_kernel_words(r->s, r->p, k, x->kernel + 1);
    const double y = fsim_scale_px(&r->y, x->y), radius = radius_of(r, x->share);
    for (int v = LEVELS - 1; v >= 0; v--) {
        const double at = fsim_scale_px(&r->x, x->x[v]), size = v == DRAM ? radius : r->small ? 2.5 : 4;
        if (!(x->x[v] > 0) || at < r->x.from || at > r->x.to)
            continue;
        fsim_put_mark(r->s->c, at, y, size, level_symbols[v], (fsim_paint){look.ink, v == DRAM ? 0.2 : 0});
        fsim_put_tip(r->s->c, (fsim_area){at - size, y - size, at + size, y + size},
                     fsim_printf(r->s->c->a, "kernel %s%s: %s, %s of the time, %s FLOP per byte of %s, %s FLOP/s", name,
                                 x->times > 1 ? fsim_printf(r->s->c->a, " x %d", x->times) : "", look.name,
                                 fsim_percent_text(r->s->c->a, x->share), fsim_count_text(r->s->c->a, x->x[v]),
                                 level_names[v], fsim_count_text(r->s->c->a, x->y)));
        fsim_put_figure(r->s->c,
                        &(fsim_chart_figure){"roofline", r->p->hw->name, fsim_strategy_names[r->p->chosen],
                                             fsim_printf(r->s->c->a, "%s at %s", name, level_names[v]), look.name,
                                             x->times, x->x[v], "FLOP/B", x->y, "FLOP/s", NAN, NAN});
    }
}

/* "7 up + gelu, 9, 2": a label for all kernels whose points are so near that they need a common one; marks them. */
static const char *cluster(const roofline *r, int first, bool *done)
{
    enum { MOST = 5 };
    const double near_px = 14;
    const fsim_plan *plan = &r->p->plan[r->p->chosen];
    const point *one = &r->at[first];
    const char *whole = fsim_kernel_label(r->p->graph, &plan->kernel[one->kernel], r->s->c->a),
               *text = fsim_printf(r->s->c->a, "%d %s", one->kernel + 1,
                                   fsim_text_within(r->s->c->a, whole, r->small ? 14 : 26));
    int more = 0;
    if (one->times > 1)
        text = fsim_printf(r->s->c->a, "%s x %d", text, one->times);
    done[first] = true;
    for (int i = first + 1; i < r->count; i++) {
        const double dx = log(r->at[i].x[DRAM] / one->x[DRAM]) * (r->x.to - r->x.from) / log(r->x.high / r->x.low),
                     dy = fsim_scale_px(&r->y, r->at[i].y) - fsim_scale_px(&r->y, one->y);
        if (done[i] || !(r->at[i].x[DRAM] > 0) || !(hypot(dx, dy) <= near_px))
            continue;
        done[i] = true;
        if (++more < MOST)
            text = fsim_printf(r->s->c->a, "%s, %d", text, r->at[i].kernel + 1);
    }
    return more < MOST ? text : fsim_printf(r->s->c->a, "%s +%d", text, more - MOST + 1);
}

static void put_eager(roofline *r)
{
    int count = 0;
    const point *at = points_of(r->s, r->p, FSIM_STRATEGY_EAGER, &count, NULL);
    if (r->small || r->p->chosen == FSIM_STRATEGY_EAGER)
        return;
    for (int i = 0; i < count; i++)
        if (at[i].x[DRAM] > 0) {
            const double x = fsim_scale_px(&r->x, at[i].x[DRAM]), y = fsim_scale_px(&r->y, at[i].y),
                         radius = radius_of(r, at[i].share);
            if (x < r->x.from || x > r->x.to || y > r->y.from || y < r->y.to)
                continue;
            fsim_put_mark(r->s->c, x, y, radius, 6, FSIM_PAINT(FSIM_INK_PALE));
            fsim_place_take(&r->places, (fsim_area){x - radius, y - radius, x + radius, y + radius});
        }
}

static void put_labels(roofline *r)
{
    enum { MOST_SMALL = 3 };
    bool *done = fsim_new(r->s->c->a, bool, r->count + 1);
    for (int i = 0, labels = 0; i < r->count && (!r->small || labels < MOST_SMALL); i++) {
        const level v = r->at[i].x[DRAM] > 0 ? DRAM : r->at[i].x[L2] > 0 ? L2 : SHARED;
        if (done[i])
            continue;
        const char *text = cluster(r, i, done);
        const fsim_labelled at = {fsim_scale_px(&r->x, r->at[i].x[v]), fsim_scale_px(&r->y, r->at[i].y),
                                  v == DRAM ? radius_of(r, r->at[i].share) : 5, FSIM_INK_TEXT,
                                  r->small ? 10 : FSIM_SMALL + 1};
        if (!fsim_place_label(&r->places, &at, text, 6)) /* the number needs less room */
            (void)fsim_place_label(&r->places, &at, fsim_printf(r->s->c->a, "%d", r->at[i].kernel + 1), 12);
        labels++;
    }
}

/* names: bits 1 and 2: the axes below and on the left have their names. */
static void put_gpu(const fsim_charted *s, int gpu, fsim_area b, const fsim_scale axis[2], int names)
{
    roofline r;
    read_gpu(&r, s, &s->p[gpu]);
    r.small = s->count > 1;
    if (r.small) {
        fsim_put_words(s->c,
                       &(fsim_words_at){b.left + LEFT, b.top + 8, FSIM_WORDS_LEFT, FSIM_SMALL + 1, FSIM_INK_TEXT, 0},
                       fsim_words_within(s->c, r.p->hw->name, FSIM_SMALL + 1, b.right - b.left - LEFT));
        b.top += 18;
    }
    const fsim_area plot = {b.left + LEFT, b.top + 4, b.right - 12, b.bottom - AXIS};
    r.x = axis[0];
    r.y = axis[1];
    r.x.name = !(names & 1) ? "" : r.small ? "FLOP per byte moved" : r.x.name;
    r.y.name = names & 2 ? r.y.name : "";
    r.x.from = plot.left;
    r.x.to = plot.right;
    r.y.from = plot.bottom;
    r.y.to = plot.top;
    r.places = (fsim_places){.c = s->c, .in = plot};
    fsim_axis_left(s->c, plot, &r.y);
    fsim_axis_below(s->c, plot, &r.x);
    put_roofs(&r);
    r.places.marks_from = r.places.count;
    put_eager(&r);
    for (int i = r.count - 1; i >= 0; i--)
        put_point(&r, &r.at[i]);
    for (int i = 0; i < r.count; i++)
        for (int v = 0; v < LEVELS; v++) {
            const double x = fsim_scale_px(&r.x, r.at[i].x[v]), y = fsim_scale_px(&r.y, r.at[i].y),
                         size = v == DRAM ? radius_of(&r, r.at[i].share) : 4;
            if (r.at[i].x[v] > 0)
                fsim_place_take(&r.places, (fsim_area){x - size, y - size, x + size, y + size});
        }
    for (int i = 0; i < r.roofs; i++)
        name_roof(&r, &r.roof[i]);
    for (int v = 0; v < LEVELS; v++)
        name_slope(&r, (level)v, top_of(&r));
    put_labels(&r);
    if (r.hidden > 0 && !r.small)
        fsim_put_words(
            s->c, &(fsim_words_at){plot.right - 6, plot.bottom - 9, FSIM_WORDS_RIGHT, FSIM_SMALL, FSIM_INK_MUTED, 0},
            fsim_printf(s->c->a, "%d kernel%s without arithmetic: not shown", r.hidden, r.hidden == 1 ? "" : "s"));
}

void fsim_draw_roofline(const fsim_charted *s, fsim_area b)
{
    fsim_key key[FSIM_KERNELS_COUNT + LEVELS];
    bool has[FSIM_KERNELS_COUNT] = {false};
    int keys = 0;
    fsim_scale axis[2];
    find_scales(s, &axis[0], &axis[1]);
    for (int g = 0; g < s->count; g++)
        for (int k = 0; k < s->p[g].plan[s->p[g].chosen].kernels; k++)
            has[fsim_class_of(&s->p[g].plan[s->p[g].chosen].kernel[k])] = true;
    for (int v = 0; v < LEVELS; v++)
        key[keys++] = (fsim_key){level_names[v], {FSIM_INK_TEXT, level_symbols[v]}};
    for (int i = 0; i < FSIM_KERNELS_COUNT; i++)
        if (has[i])
            key[keys++] = (fsim_key){fsim_kernels_look[i].name, {fsim_kernels_look[i].ink, 0}};
    b = fsim_panel_head(s->c, b, fsim_printf(s->c->a, "Roofline: kernels of %s", fsim_strategy_names[s->p->chosen]),
                        s->count > 1 ? "size: share of the time"
                                     : "size: share of the time; pale rings: eager's kernels");
    b.top += fsim_put_keys(s->c, b, key, keys) + 4;
    const int columns = columns_of(s, b.right - b.left), rows = (s->count + columns - 1) / columns;
    const double wide = (b.right - b.left) / columns, high = (b.bottom - b.top) / rows;
    for (int g = 0; g < s->count; g++)
        put_gpu(s, g,
                (fsim_area){b.left + g % columns * wide, b.top + g / columns * high, b.left + (g % columns + 1) * wide,
                            b.top + (g / columns + 1) * high},
                axis, (g + columns >= s->count ? 1 : 0) | (g % columns == 0 ? 2 : 0));
}
