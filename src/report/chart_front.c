/* SPDX-License-Identifier: Apache-2.0 */
/* Time against peak memory: the front of --objective pareto, and the strategies by name. */
#include "report/chart.h"

#include "report/describe.h"
#include "report/place.h"
#include "report/versus.h"
#include <math.h>

double fsim_height_of_pareto(const fsim_charted *s, double width)
{
    return s->count > 1 ? 380 + 19 * ceil(s->count * 170 / width) : 420;
}

typedef struct {
    const fsim_prediction *p;
    const fsim_plan *plan;
    const char *name; /* "front 2", "eager" */
    bool front;
    fsim_strategy strategy;
} spot;

/* The plans on p's front, then those of the strategies. Returns how many. */
static int spots_of(const fsim_charted *s, const fsim_prediction *p, spot **out)
{
    int count = 0;
    *out = fsim_new(s->c->a, spot, p->fronts + FSIM_PLAN_COUNT + 1);
    for (int i = 0; i < p->fronts; i++)
        (*out)[count++] = (spot){p, &p->front[i], fsim_printf(s->c->a, "plan %d", i + 1), true, FSIM_STRATEGY_OPTIMAL};
    for (int k = 0; k < FSIM_PLAN_COUNT; k++)
        if (fsim_planned(p, k))
            (*out)[count++] = (spot){p, &p->plan[k], fsim_strategy_names[k], false, (fsim_strategy)k};
    return count;
}

static fsim_interval likely_of(const fsim_charted *s, const spot *x)
{
    return fsim_likely_time(x->p, (fsim_plan_by){x->plan, fsim_plan_of(x->p, x->strategy).maker}, s->c->a);
}

static void put_spot(const fsim_charted *s, const spot *x, const fsim_scale scale[2], fsim_look look)
{
    const double at = fsim_scale_px(&scale[0], x->plan->time_s),
                 y = fsim_scale_px(&scale[1], (double)x->plan->peak_memory_bytes);
    const fsim_interval likely = likely_of(s, x);
    const double low = fmax(fsim_scale_px(&scale[0], likely.low), scale[0].from),
                 high = fmin(fsim_scale_px(&scale[0], likely.high), scale[0].to);
    if (x->front && high > low)
        fsim_put_line(s->c, (fsim_area){low, y, high, y}, (fsim_pen){1.2, 1, {look.ink, 0.45}});
    fsim_put_mark(s->c, at, y, x->front ? 6 : 5, x->front ? look.symbol : 6,
                  FSIM_PAINT(x->front || s->count > 1 ? look.ink : fsim_strategy_ink(x->strategy)));
    fsim_put_tip(s->c, (fsim_area){at - 7, y - 7, at + 7, y + 7},
                 fsim_printf(s->c->a, "%s on %s: %s (%s to %s), peak memory %s, %d kernel%s", x->name, x->p->hw->name,
                             fsim_seconds_text(s->c->a, x->plan->time_s), fsim_seconds_text(s->c->a, likely.low),
                             fsim_seconds_text(s->c->a, likely.high),
                             fsim_bytes_text(s->c->a, (double)x->plan->peak_memory_bytes), x->plan->kernels,
                             x->plan->kernels == 1 ? "" : "s"));
    fsim_put_figure(s->c,
                    &(fsim_chart_figure){"pareto", x->p->hw->name, x->front ? "optimal" : x->name,
                                         x->front ? x->name : NULL, x->front ? "front" : "strategy", 0, x->plan->time_s,
                                         "s", (double)x->plan->peak_memory_bytes, "B", likely.low, likely.high});
}

/* The front as steps: with so much memory, no plan is faster. */
static void put_steps(const fsim_charted *s, const fsim_prediction *p, const fsim_scale scale[2], fsim_ink ink)
{
    double *xy = fsim_new(s->c->a, double, 4 * p->fronts + 4);
    int n = 0;
    for (int i = 0; i < p->fronts; i++) {
        const double x = fsim_scale_px(&scale[0], p->front[i].time_s),
                     y = fsim_scale_px(&scale[1], (double)p->front[i].peak_memory_bytes);
        if (i > 0) {
            xy[2 * n] = x;
            xy[2 * n + 1] = xy[2 * n - 1];
            n++;
        }
        xy[2 * n] = x;
        xy[2 * n++ + 1] = y;
    }
    if (n > 1)
        fsim_put_path(s->c, xy, n, (fsim_pen){1.6, 1, FSIM_PAINT(ink)});
}

static fsim_labelled mark_of(const spot *x, const fsim_scale scale[2])
{
    return (fsim_labelled){fsim_scale_px(&scale[0], x->plan->time_s),
                           fsim_scale_px(&scale[1], (double)x->plan->peak_memory_bytes), 5,
                           x->front ? FSIM_INK_TEXT : FSIM_INK_MUTED, FSIM_SMALL + 1};
}

/* Keeps names away from the lines of intervals and from those down to the next plan of the front. */
static void take_intervals(const fsim_charted *s, int gpu, const fsim_scale scale[2], fsim_places *places)
{
    spot *all;
    const int count = spots_of(s, &s->p[gpu], &all);
    for (int i = 0; i < count; i++) {
        const double y = mark_of(&all[i], scale).y;
        if (all[i].front)
            fsim_place_take(places, (fsim_area){fsim_scale_px(&scale[0], likely_of(s, &all[i]).low), y - 2,
                                                fsim_scale_px(&scale[0], likely_of(s, &all[i]).high), y + 2});
    }
    const fsim_prediction *p = &s->p[gpu];
    for (int i = 1; i < p->fronts; i++) {
        const double x = fsim_scale_px(&scale[0], p->front[i].time_s);
        fsim_place_take(places, (fsim_area){x - 1, fsim_scale_px(&scale[1], (double)p->front[i - 1].peak_memory_bytes),
                                            x + 1, fsim_scale_px(&scale[1], (double)p->front[i].peak_memory_bytes)});
    }
}

/* Draws the plans of a GPU, and notes the places of their marks. */
static void put_gpu(const fsim_charted *s, int gpu, const fsim_scale scale[2], fsim_places *places)
{
    spot *all;
    const int count = spots_of(s, &s->p[gpu], &all);
    const fsim_look look = s->count > 1 ? fsim_look_of_gpu(s->p[gpu].hw->name) : (fsim_look){FSIM_INK_BLUE, 7};
    put_steps(s, &s->p[gpu], scale, look.ink);
    for (int i = 0; i < count; i++) {
        const fsim_labelled m = mark_of(&all[i], scale);
        put_spot(s, &all[i], scale, look);
        fsim_place_take(places, (fsim_area){m.x - 5, m.y - 5, m.x + 5, m.y + 5});
    }
}

/* Plans whose marks are one have one label. */
static void name_gpu(const fsim_charted *s, int gpu, const fsim_scale scale[2], fsim_places *places)
{
    spot *all;
    const int count = spots_of(s, &s->p[gpu], &all);
    const double same = 3; /* pixels */
    bool *named = fsim_new(s->c->a, bool, count + 1);
    for (int i = 0; i < count; i++) {
        const fsim_labelled m = mark_of(&all[i], scale);
        const char *text = all[i].name;
        for (int j = i + 1; j < count && !named[i]; j++) {
            const fsim_labelled other = mark_of(&all[j], scale);
            if (!named[j] && fabs(m.x - other.x) < same && fabs(m.y - other.y) < same) {
                named[j] = true;
                text = fsim_printf(s->c->a, "%s, %s", text, all[j].name);
            }
        }
        if (!named[i])
            (void)fsim_place_label(places, &m, text, 8);
    }
}

void fsim_draw_pareto(const fsim_charted *s, fsim_area b)
{
    fsim_scale scale[2] = {{"time", FSIM_SCALE_SECONDS, false, INFINITY, 0, 0, 0},
                           {"peak memory", FSIM_SCALE_BYTES, false, INFINITY, 0, 0, 0}};
    fsim_key *key = fsim_new(s->c->a, fsim_key, s->count + 1);
    enum { FEW = 3 /* GPUs whose plans are named */ };
    const double many = 6;
    for (int g = 0; g < s->count; g++) {
        spot *all;
        const int count = spots_of(s, &s->p[g], &all);
        key[g] = (fsim_key){s->p[g].hw->name, fsim_look_of_gpu(s->p[g].hw->name)};
        for (int i = 0; i < count; i++) {
            fsim_scale_reach(&scale[0], all[i].plan->time_s);
            if (all[i].front) {
                fsim_scale_reach(&scale[0], likely_of(s, &all[i]).low);
                fsim_scale_reach(&scale[0], likely_of(s, &all[i]).high);
            }
            fsim_scale_reach(&scale[1], (double)all[i].plan->peak_memory_bytes);
        }
    }
    for (int i = 0; i < 2; i++) {
        scale[i].log = scale[i].high > many * scale[i].low && scale[i].low > 0;
        fsim_scale_widen(&scale[i], scale[i].log ? 0.06 : 0.12);
    }
    b = fsim_panel_head(s->c, b, "Time against memory",
                        s->p->fronts > 0
                            ? "filled: plans that no other beats in both, lines: eight of ten; hollow: strategies"
                            : "strategies; --objective pareto adds the plans that no other beats in both");
    if (s->count > 1)
        b.top += fsim_put_keys(s->c, b, key, s->count) + 4;
    const fsim_area plot = {b.left + 85, b.top + 6, b.right - 14, b.bottom - 44};
    scale[0].from = plot.left;
    scale[0].to = plot.right;
    scale[1].from = plot.bottom;
    scale[1].to = plot.top;
    fsim_axis_left(s->c, plot, &scale[1]);
    fsim_axis_below(s->c, plot, &scale[0]);
    fsim_places places = {.c = s->c, .in = plot};
    for (int g = 0; g < s->count; g++)
        take_intervals(s, g, scale, &places);
    places.marks_from = places.count;
    for (int g = 0; g < s->count; g++)
        put_gpu(s, g, scale, &places);
    for (int g = 0; g < s->count && s->count <= FEW; g++)
        name_gpu(s, g, scale, &places);
}
