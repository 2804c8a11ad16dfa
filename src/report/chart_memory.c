/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in use while a plan runs, with the phases of a step of training. */
#include "report/chart.h"

#include "plan/price/memory.h"
#include "plan/price/phases.h"
#include "plan/price/timeline.h"
#include "report/describe.h"
#include "report/place.h"
#include <math.h>

/* A plan's kernels in time, and the memory in use while each runs. */
typedef struct {
    const fsim_prediction *p;
    fsim_strategy strategy;
    const fsim_plan *plan;
    fsim_timeline when;
    const fsim_memory_step *at;
    double unit_s; /* of the time scale: 1, or a hundredth of its time where plans differ much */
} course;

static course course_of(const fsim_prediction *p, fsim_strategy s, fsim_arena *a)
{
    const fsim_plan *plan = &p->plan[s];
    return (course){p, s, plan, fsim_timeline_of(p->graph, plan, a), fsim_memory_steps(p->graph, plan, a), 1};
}

double fsim_height_of_memory(const fsim_charted *s, double width)
{
    return s->count > 1 ? 340 + 19 * ceil(s->count * 290 / width) : 400;
}

static int peak_of(const course *x)
{
    int most = 0;
    for (int k = 1; k < x->plan->kernels; k++)
        most = x->at[k].live_bytes > x->at[most].live_bytes ? k : most;
    return most;
}

/* Shades the time from the first kernel of each phase to the last, and names it where it is wide enough. */
static void put_phases(fsim_canvas *c, fsim_area plot, const course *x, const fsim_scale *time)
{
    static const fsim_ink ink[FSIM_PHASES] = {FSIM_INK_SKY, FSIM_INK_ORANGE, FSIM_INK_GREEN};
    for (int i = 0; i < FSIM_PHASES; i++) {
        double from = INFINITY, to = 0;
        for (int k = 0; k < x->plan->kernels; k++)
            if (fsim_phase_of(x->p->graph, &x->plan->partition.part[k]) == (fsim_phase)i) {
                from = fmin(from, x->when.span[k].start_s);
                to = fmax(to, x->when.span[k].end_s);
            }
        if (from >= to)
            continue;
        const fsim_area b = {fsim_scale_px(time, from), plot.top, fsim_scale_px(time, to), plot.bottom};
        fsim_put_bar(c, b, (fsim_paint){ink[i], 0.88});
        if (b.right - b.left > fsim_words_px(fsim_phase_names[i], FSIM_SMALL + 1) + 8)
            fsim_put_words(c,
                           &(fsim_words_at){(b.left + b.right) / 2, plot.bottom - 10, FSIM_WORDS_CENTER, FSIM_SMALL + 1,
                                            FSIM_INK_MUTED, 0},
                           fsim_phase_names[i]);
    }
}

/* The steps of a course as corners: from each kernel's start to its end. Returns how many; with the ground, an area. */
static int corners(const fsim_canvas *c, const course *x, const fsim_scale *time, const fsim_scale *bytes, double **out)
{
    double *xy = *out = fsim_new(c->a, double, 4 * x->plan->kernels + 8);
    int n = 0;
    for (int k = 0; k < x->plan->kernels; k++)
        for (int end = 0; end < 2; end++) {
            xy[2 * n] = fsim_scale_px(time, (end ? x->when.span[k].end_s : x->when.span[k].start_s) / x->unit_s);
            xy[2 * n++ + 1] = fsim_scale_px(bytes, (double)x->at[k].live_bytes);
        }
    return n;
}

static void put_course(const fsim_charted *s, const course *x, const fsim_scale scale[2], fsim_ink ink, bool filled)
{
    double *xy;
    int n = corners(s->c, x, &scale[0], &scale[1], &xy);
    fsim_put_path(s->c, xy, n, (fsim_pen){filled ? 2.2 : 1.4, 1, FSIM_PAINT(ink)});
    if (!filled || s->count > 1 || n == 0)
        return;
    xy[2 * n] = xy[2 * (n - 1)];
    xy[2 * n++ + 1] = scale[1].from;
    xy[2 * n] = xy[0];
    xy[2 * n++ + 1] = scale[1].from;
    fsim_put_shape(s->c, xy, n, (fsim_paint){ink, 0.82});
}

static void put_tips(const fsim_charted *s, const course *x, const fsim_scale scale[2], fsim_area plot)
{
    for (int k = 0; k < x->plan->kernels; k++) {
        const char *name = fsim_kernel_words(s, x->p, &x->plan->kernel[k], k + 1),
                   *bytes = fsim_bytes_text(s->c->a, (double)x->at[k].live_bytes);
        fsim_put_figure(s->c,
                        &(fsim_chart_figure){"memory", x->p->hw->name, fsim_strategy_names[x->strategy], name, NULL, 1,
                                             x->when.span[k].start_s, "s", (double)x->at[k].live_bytes, "B", NAN, NAN});
        if (s->count == 1)
            fsim_put_tip(s->c,
                         (fsim_area){fsim_scale_px(&scale[0], x->when.span[k].start_s), plot.top,
                                     fsim_scale_px(&scale[0], x->when.span[k].end_s), plot.bottom},
                         fsim_printf(s->c->a, "%s in use while kernel %s runs", bytes, name));
    }
}

/* Keeps words away from a course. */
static void take_course(fsim_places *places, const course *x, const fsim_scale scale[2])
{
    double *xy;
    const int n = corners(places->c, x, &scale[0], &scale[1], &xy);
    for (int i = 0; i + 1 < n; i++) {
        const double *p = &xy[2 * i];
        fsim_place_take(places, (fsim_area){fmin(p[0], p[2]) - 2, fmin(p[1], p[3]) - 2, fmax(p[0], p[2]) + 2,
                                            fmax(p[1], p[3]) + 2});
    }
}

/* Marks the peak; of one GPU, says how much it is and where, beside the courses, or above it where they leave no room.
 */
static void put_peak(const fsim_charted *s, const course *x, const fsim_scale scale[2], fsim_look look,
                     fsim_places *places)
{
    const int k = peak_of(x);
    const double at = fsim_scale_px(&scale[0], (x->when.span[k].start_s + x->when.span[k].end_s) / 2 / x->unit_s),
                 y = fsim_scale_px(&scale[1], (double)x->at[k].live_bytes);
    const char *text =
        fsim_printf(s->c->a, "peak %s in kernel %d", fsim_bytes_text(s->c->a, (double)x->at[k].live_bytes), k + 1);
    const double half = fsim_words_px(text, FSIM_SMALL + 1) / 2;
    fsim_put_mark(s->c, at, y, 5, look.symbol, FSIM_PAINT(look.ink));
    if (s->count == 1 && !fsim_place_label(places, &(fsim_labelled){at, y, 5, FSIM_INK_TEXT, FSIM_SMALL + 1}, text, 8))
        fsim_put_words(s->c,
                       &(fsim_words_at){fmin(fmax(at, scale[0].from + half + 4), scale[0].to - half - 4), y - 14,
                                        FSIM_WORDS_CENTER, FSIM_SMALL + 1, FSIM_INK_TEXT, 0},
                       text);
}

static int keys_of(const fsim_charted *s, const course *shown, fsim_key *key)
{
    int keys = 0;
    for (int g = 0; g < s->count && s->count > 1; g++)
        key[keys++] =
            (fsim_key){fsim_printf(s->c->a, "%s: peak %s in kernel %d", s->p[g].hw->name,
                                   fsim_bytes_text(s->c->a, (double)shown[g].at[peak_of(&shown[g])].live_bytes),
                                   peak_of(&shown[g]) + 1),
                       fsim_look_of_gpu(s->p[g].hw->name)};
    if (s->count > 1)
        return keys;
    key[keys++] = (fsim_key){fsim_strategy_names[s->p->chosen], {fsim_strategy_ink(s->p->chosen), 0}};
    if (s->p->chosen != FSIM_STRATEGY_EAGER)
        key[keys++] = (fsim_key){"eager", {fsim_strategy_ink(FSIM_STRATEGY_EAGER), 0}};
    return keys;
}

/* Where some GPU takes many times as long as another, the time scale has shares of each plan's time. */
static void use_shares(course *shown, int count, fsim_scale *time)
{
    const double many = 10;
    double low = INFINITY, high = 0;
    for (int g = 0; g < count; g++) {
        low = fmin(low, shown[g].when.makespan_s);
        high = fmax(high, shown[g].when.makespan_s);
    }
    if (!(high > many * low))
        return;
    *time = (fsim_scale){"share of the plan's time (%)", FSIM_SCALE_PLAIN, false, 0, 0, 0, 0};
    for (int g = 0; g < count; g++)
        shown[g].unit_s = shown[g].when.makespan_s / 100;
}

void fsim_draw_memory(const fsim_charted *s, fsim_area b)
{
    fsim_scale scale[2] = {{"time", FSIM_SCALE_SECONDS, false, 0, 0, 0, 0},
                           {"memory in use", FSIM_SCALE_BYTES, false, 0, 0, 0, 0}};
    course *shown = fsim_new(s->c->a, course, s->count + 1);
    const course eager = course_of(s->p, FSIM_STRATEGY_EAGER, s->c->a);
    const bool both = s->count == 1 && s->p->chosen != FSIM_STRATEGY_EAGER;
    fsim_key *key = fsim_new(s->c->a, fsim_key, s->count + 2);
    for (int g = 0; g < s->count; g++)
        shown[g] = course_of(&s->p[g], s->p[g].chosen, s->c->a);
    use_shares(shown, s->count, &scale[0]);
    for (int i = 0; i < s->count + both; i++) {
        const course *x = i < s->count ? &shown[i] : &eager;
        fsim_scale_reach(&scale[0], x->when.makespan_s / x->unit_s);
        for (int k = 0; k < x->plan->kernels; k++)
            fsim_scale_reach(&scale[1], (double)x->at[k].live_bytes);
    }
    fsim_scale_widen(&scale[0], 0);
    fsim_scale_widen(&scale[1], 0.12);
    b = fsim_panel_head(s->c, b, fsim_printf(s->c->a, "Memory over time: %s", fsim_strategy_names[s->p->chosen]), "");
    b.top += fsim_put_keys(s->c, b, key, keys_of(s, shown, key)) + 4;
    const fsim_area plot = {b.left + 85, b.top + 6, b.right - 10, b.bottom - 44};
    scale[0].from = plot.left;
    scale[0].to = plot.right;
    scale[1].from = plot.bottom;
    scale[1].to = plot.top;
    if (s->count == 1 && s->p->graph->derived == FSIM_REVERSE)
        put_phases(s->c, plot, &shown[0], &scale[0]);
    fsim_axis_left(s->c, plot, &scale[1]);
    fsim_axis_below(s->c, plot, &scale[0]);
    fsim_places places = {.c = s->c, .in = plot};
    if (both) {
        put_course(s, &eager, scale, FSIM_INK_GREY, false);
        take_course(&places, &eager, scale);
    }
    for (int g = 0; g < s->count; g++) {
        const fsim_look look =
            s->count > 1 ? fsim_look_of_gpu(s->p[g].hw->name) : (fsim_look){fsim_strategy_ink(s->p->chosen), 7};
        put_course(s, &shown[g], scale, look.ink, true);
        if (s->count == 1)
            take_course(&places, &shown[g], scale);
        places.marks_from = places.count;
        put_peak(s, &shown[g], scale, look, &places);
        put_tips(s, &shown[g], scale, plot);
    }
    if (both)
        for (int k = 0; k < eager.plan->kernels; k++)
            fsim_put_figure(s->c, &(fsim_chart_figure){
                                      "memory", s->p->hw->name, fsim_strategy_names[FSIM_STRATEGY_EAGER],
                                      fsim_kernel_words(s, s->p, &eager.plan->kernel[k], k + 1), NULL, 1,
                                      eager.when.span[k].start_s, "s", (double)eager.at[k].live_bytes, "B", NAN, NAN});
}
