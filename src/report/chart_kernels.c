/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time goes: the kernels that take longest, or of several GPUs each class of kernels. */
#include "report/chart.h"

#include "report/describe.h"
#include "report/repeats.h"
#include "report/versus.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 14, ROW = 26, AXIS = 44, ROOM = 112 };

typedef struct {
    int kernel, times; /* kernel: -1: all others */
    double time_s;
} bar;

static int by_time(const void *x, const void *y)
{
    const bar *a = x, *b = y;
    return a->time_s != b->time_s ? (a->time_s < b->time_s) - (a->time_s > b->time_s) : a->kernel - b->kernel;
}

/* The longest kernels, equal ones as one bar, then all others. Returns how many bars. */
static int bars_of(const fsim_charted *s, bar **out)
{
    const fsim_plan *plan = &s->p->plan[s->p->chosen];
    const int *times = fsim_repeats_of(s->p, s->p->chosen, s->c->a).times;
    bar *all = fsim_new(s->c->a, bar, plan->kernels + 1);
    int count = 0;
    for (int k = 0; k < plan->kernels; k++)
        if (times[k] > 0)
            all[count++] = (bar){k, times[k], times[k] * plan->kernel[k].time_s};
    qsort(all, (size_t)count, sizeof *all, by_time);
    for (int i = MOST; i < count; i++) {
        all[MOST - 1].time_s += all[i].time_s;
        all[MOST - 1].times += all[i].times;
        all[MOST - 1].kernel = -1;
    }
    *out = all;
    return count < MOST ? count : MOST;
}

double fsim_height_of_kernels(const fsim_charted *s, double width)
{
    bar *all;
    const int rows = s->count == 1 ? bars_of(s, &all) : s->count;
    (void)width;
    return 48 + 24 + rows * ROW + AXIS;
}

/* The classes that plans shown have, as a legend. */
static int keys_of(const fsim_charted *s, fsim_key out[FSIM_KERNELS_COUNT])
{
    bool has[FSIM_KERNELS_COUNT] = {false};
    int count = 0;
    for (int g = 0; g < s->count; g++)
        for (int k = 0; k < s->p[g].plan[s->p[g].chosen].kernels; k++)
            has[fsim_class_of(&s->p[g].plan[s->p[g].chosen].kernel[k])] = true;
    for (int i = 0; i < FSIM_KERNELS_COUNT; i++)
        if (has[i])
            out[count++] = (fsim_key){fsim_kernels_look[i].name, {fsim_kernels_look[i].ink, 0}};
    return count;
}

static void put_figures(const fsim_charted *s)
{
    for (int g = 0; g < s->count; g++) {
        const fsim_prediction *p = &s->p[g];
        const fsim_plan *plan = &p->plan[p->chosen];
        for (int k = 0; k < plan->kernels; k++)
            fsim_put_figure(s->c, &(fsim_chart_figure){"kernels", p->hw->name, fsim_strategy_names[p->chosen],
                                                       fsim_kernel_words(s, p, &plan->kernel[k], k + 1),
                                                       fsim_kernels_look[fsim_class_of(&plan->kernel[k])].name, 1, NAN,
                                                       NULL, plan->kernel[k].time_s, "s", NAN, NAN});
    }
}

static void put_bar(const fsim_charted *s, const fsim_rows *r, const fsim_scale *x, const bar *b, int row)
{
    const fsim_plan *plan = &s->p->plan[s->p->chosen];
    const fsim_kernel *k = b->kernel < 0 ? NULL : &plan->kernel[b->kernel];
    const fsim_ink ink = k ? fsim_kernels_look[fsim_class_of(k)].ink : FSIM_INK_PALE;
    const double y = fsim_row_y(r, row), half = fmin(11, r->row_px * 0.34), end = fsim_scale_px(x, b->time_s);
    const char *figures = fsim_printf(s->c->a, "%s  %s", fsim_seconds_text(s->c->a, b->time_s),
                                      fsim_percent_text(s->c->a, b->time_s / plan->time_s));
    fsim_put_bar(s->c, (fsim_area){r->plot.left, y - half, end, y + half}, FSIM_PAINT(ink));
    fsim_put_words(s->c, &(fsim_words_at){end + 6, y, FSIM_WORDS_LEFT, fmin(12, r->letters), FSIM_INK_TEXT, 0},
                   figures);
    fsim_put_tip(s->c, (fsim_area){r->plot.left, y - r->row_px / 2, r->plot.right, y + r->row_px / 2},
                 k ? fsim_printf(s->c->a, "kernel %s%s: %s, %s, bound by %s",
                                 fsim_kernel_words(s, s->p, k, b->kernel + 1),
                                 b->times > 1 ? fsim_printf(s->c->a, " x %d", b->times) : "",
                                 fsim_kernels_look[fsim_class_of(k)].name, figures, fsim_unit_words[k->bound])
                   : fsim_printf(s->c->a, "%d other kernels: %s", b->times, figures));
}

static void draw_longest(const fsim_charted *s, fsim_area b)
{
    bar *all;
    const int rows = bars_of(s, &all);
    const fsim_plan *plan = &s->p->plan[s->p->chosen];
    const char **name = fsim_new(s->c->a, const char *, rows + 1);
    for (int i = 0; i < rows; i++)
        name[i] =
            all[i].kernel < 0 ? fsim_printf(s->c->a, "%d others", all[i].times)
            : all[i].times > 1
                ? fsim_printf(s->c->a, "%s x %d",
                              fsim_kernel_words(s, s->p, &plan->kernel[all[i].kernel], all[i].kernel + 1), all[i].times)
                : fsim_kernel_words(s, s->p, &plan->kernel[all[i].kernel], all[i].kernel + 1);
    const fsim_rows r = fsim_rows_begin(b, name, rows, (fsim_area){0, 0, ROOM, AXIS});
    fsim_scale x = {"time", FSIM_SCALE_SECONDS, false, 0, 0, r.plot.left, r.plot.right};
    for (int i = 0; i < rows; i++)
        fsim_scale_reach(&x, all[i].time_s);
    fsim_scale_widen(&x, 0);
    fsim_axis_below(s->c, r.plot, &x);
    fsim_rows_names(s->c, &r, name, NULL);
    for (int i = 0; i < rows; i++)
        put_bar(s, &r, &x, &all[i], i);
}

/* Do the times differ so much that bars are shares of each GPU's time? */
static bool in_shares(const fsim_charted *s)
{
    const double many = 10;
    double low = INFINITY, high = 0;
    for (int g = 0; g < s->count; g++) {
        low = fmin(low, s->p[g].plan[s->p[g].chosen].time_s);
        high = fmax(high, s->p[g].plan[s->p[g].chosen].time_s);
    }
    return s->count > 1 && high > many * low;
}

/* One GPU's bar, a piece for each class. shares: the scale ends at the whole of its time. */
static void put_stack(const fsim_charted *s, const fsim_rows *r, const fsim_scale *x, int gpu, bool shares)
{
    const fsim_prediction *p = &s->p[gpu];
    const fsim_plan *plan = &p->plan[p->chosen];
    const double y = fsim_row_y(r, gpu), half = fmin(11, r->row_px * 0.34);
    const fsim_interval likely = fsim_likely_time(p, fsim_plan_of(p, p->chosen), s->c->a);
    const double unit = shares ? plan->time_s / 100 : 1;
    double sum = 0;
    for (int i = 0; i < FSIM_KERNELS_COUNT; i++) {
        double time_s = 0;
        for (int k = 0; k < plan->kernels; k++)
            time_s += (int)fsim_class_of(&plan->kernel[k]) == i ? plan->kernel[k].time_s : 0;
        const fsim_area piece = {fsim_scale_px(x, sum / unit), y - half, fsim_scale_px(x, (sum + time_s) / unit),
                                 y + half};
        fsim_put_bar(s->c, piece, FSIM_PAINT(fsim_kernels_look[i].ink));
        sum += time_s;
        if (time_s > 0)
            fsim_put_tip(s->c, piece,
                         fsim_printf(s->c->a, "%s, %s: %s, %s of the plan", p->hw->name, fsim_kernels_look[i].name,
                                     fsim_seconds_text(s->c->a, time_s),
                                     fsim_percent_text(s->c->a, time_s / plan->time_s)));
    }
    if (!shares)
        fsim_put_whisker(s->c, fsim_scale_px(x, likely.low), fsim_scale_px(x, likely.high), y, half * 0.4);
    fsim_put_words(s->c,
                   &(fsim_words_at){shares ? x->to + 6 : fsim_scale_px(x, fmax(sum, likely.high)) + 6, y,
                                    FSIM_WORDS_LEFT, fmin(12, r->letters), FSIM_INK_TEXT, 0},
                   fsim_seconds_text(s->c->a, plan->time_s));
}

static void draw_classes(const fsim_charted *s, fsim_area b)
{
    const char **name = fsim_new(s->c->a, const char *, s->count + 1);
    for (int g = 0; g < s->count; g++)
        name[g] = s->p[g].hw->name;
    const fsim_rows r = fsim_rows_begin(b, name, s->count, (fsim_area){0, 0, ROOM, AXIS});
    fsim_scale x = {"time", FSIM_SCALE_SECONDS, false, 0, 0, r.plot.left, r.plot.right};
    const bool shares = in_shares(s);
    if (shares)
        x = (fsim_scale){"share of the time (%)", FSIM_SCALE_PLAIN, false, 0, 100, r.plot.left, r.plot.right};
    for (int g = 0; g < s->count && !shares; g++)
        fsim_scale_reach(&x, fsim_likely_time(&s->p[g], fsim_plan_of(&s->p[g], s->p[g].chosen), s->c->a).high);
    fsim_scale_widen(&x, 0);
    fsim_axis_below(s->c, r.plot, &x);
    fsim_rows_names(s->c, &r, name, NULL);
    for (int g = 0; g < s->count; g++)
        put_stack(s, &r, &x, g, shares);
}

void fsim_draw_kernels(const fsim_charted *s, fsim_area b)
{
    fsim_key key[FSIM_KERNELS_COUNT];
    const int keys = keys_of(s, key);
    const char *shown = fsim_strategy_names[s->p->chosen];
    b = fsim_panel_head(
        s->c, b, fsim_printf(s->c->a, s->count == 1 ? "Time by kernel: %s" : "Time by class of kernel: %s", shown),
        s->count == 1  ? ""
        : in_shares(s) ? "each bar is the whole time of its GPU, which stands behind it"
                       : "lines: eight of ten measured ones");
    b.top += fsim_put_keys(s->c, b, key, keys) + 4;
    put_figures(s);
    s->count == 1 ? draw_longest(s, b) : draw_classes(s, b);
}
