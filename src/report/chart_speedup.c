/* SPDX-License-Identifier: Apache-2.0 */
/* The speedups of strategies over eager: bars for one GPU; for several a row each, with a mark for each strategy. */
#include "report/chart.h"

#include "report/describe.h"
#include "report/versus.h"
#include <math.h>

enum { BAR_ROW = 34, GPU_ROW = 24, AXIS = 44, ROOM = 118 /* for the figures on the right */ };

static int planned(const fsim_charted *s, fsim_strategy out[FSIM_PLAN_COUNT])
{
    int count = 0;
    for (int k = 0; k < FSIM_PLAN_COUNT; k++) {
        bool any = false;
        for (int g = 0; g < s->count; g++)
            any = any || fsim_planned(&s->p[g], k);
        if (any)
            out[count++] = (fsim_strategy)k;
    }
    return count;
}

double fsim_height_of_speedup(const fsim_charted *s, double width)
{
    fsim_strategy all[FSIM_PLAN_COUNT];
    (void)width;
    return s->count == 1 ? 48 + planned(s, all) * BAR_ROW + AXIS : 70 + s->count * GPU_ROW + AXIS;
}

/* The interval of a speedup; that of eager itself is the speedup. */
static fsim_interval likely_of(const fsim_charted *s, int gpu, fsim_strategy which)
{
    const double speedup = fsim_speedup(&s->p[gpu], which);
    return which == FSIM_STRATEGY_EAGER ? (fsim_interval){speedup, speedup}
                                        : fsim_against_eager(&s->p[gpu], which, s->c->a).likely;
}

static const char *words_of(const fsim_charted *s, int gpu, fsim_strategy which)
{
    const fsim_interval x = likely_of(s, gpu, which);
    return fsim_printf(s->c->a, "%s on %s: %.2fx as fast as eager (%.2fx to %.2fx), %s in %d kernels",
                       fsim_strategy_names[which], s->p[gpu].hw->name, fsim_speedup(&s->p[gpu], which), x.low, x.high,
                       fsim_seconds_text(s->c->a, s->p[gpu].plan[which].time_s), s->p[gpu].plan[which].kernels);
}

static void put_figures(const fsim_charted *s, int gpu, fsim_strategy which)
{
    const fsim_prediction *p = &s->p[gpu];
    const fsim_interval x = likely_of(s, gpu, which);
    fsim_put_figure(s->c, &(fsim_chart_figure){.chart = "speedup",
                                               .gpu = p->hw->name,
                                               .strategy = fsim_strategy_names[which],
                                               .x = p->plan[which].time_s,
                                               .x_unit = "s",
                                               .y = fsim_speedup(p, which),
                                               .y_unit = "times eager",
                                               .low = x.low,
                                               .high = x.high});
}

static void put_bar(const fsim_charted *s, const fsim_rows *r, const fsim_scale *x, fsim_strategy which, int row)
{
    const fsim_interval likely = likely_of(s, 0, which);
    const double y = fsim_row_y(r, row), half = fmin(11, r->row_px * 0.33), speedup = fsim_speedup(s->p, which),
                 end = fsim_scale_px(x, speedup), far = fmax(end, fsim_scale_px(x, likely.high));
    fsim_put_bar(s->c, (fsim_area){r->plot.left, y - half, end, y + half}, FSIM_PAINT(fsim_strategy_ink(which)));
    fsim_put_whisker(s->c, fsim_scale_px(x, likely.low), fsim_scale_px(x, likely.high), y, half * 0.4);
    fsim_put_words(s->c, &(fsim_words_at){far + 7, y, FSIM_WORDS_LEFT, r->letters, FSIM_INK_TEXT, 0},
                   fsim_printf(s->c->a, "%.2fx  %s", speedup, fsim_seconds_text(s->c->a, s->p->plan[which].time_s)));
    fsim_put_tip(s->c, (fsim_area){r->plot.left, y - r->row_px / 2, r->plot.right, y + r->row_px / 2},
                 words_of(s, 0, which));
}

static void put_marks(const fsim_charted *s, const fsim_rows *r, const fsim_scale *x, int gpu)
{
    const fsim_prediction *p = &s->p[gpu];
    const double y = fsim_row_y(r, gpu), radius = fmin(5.5, r->row_px * 0.32);
    const fsim_interval likely = likely_of(s, gpu, p->chosen);
    fsim_put_line(s->c, (fsim_area){r->plot.left, y, r->plot.right, y}, (fsim_pen){1, 1, FSIM_PAINT(FSIM_INK_GRID)});
    fsim_put_whisker(s->c, fsim_scale_px(x, likely.low), fsim_scale_px(x, likely.high), y, radius * 0.8);
    for (int k = FSIM_PLAN_COUNT - 1; k >= 0; k--) { /* the one that is shown is in front */
        const int which = k == 0 ? (int)p->chosen : k <= (int)p->chosen ? k - 1 : k;
        if (!fsim_planned(p, which))
            continue;
        const double at = fsim_scale_px(x, fsim_speedup(p, which));
        fsim_put_mark(s->c, at, y, which == (int)p->chosen ? radius * 1.25 : radius, fsim_strategy_symbol(which),
                      FSIM_PAINT(fsim_strategy_ink(which)));
        fsim_put_tip(s->c, (fsim_area){at - radius, y - radius, at + radius, y + radius}, words_of(s, gpu, which));
    }
    fsim_put_words(s->c,
                   &(fsim_words_at){r->plot.right + 8, y, FSIM_WORDS_LEFT, fmin(12, r->letters), FSIM_INK_TEXT, 0},
                   fsim_printf(s->c->a, "%.2fx  %s", fsim_speedup(p, p->chosen),
                               fsim_seconds_text(s->c->a, p->plan[p->chosen].time_s)));
}

/* From 0 in bars; logarithmic where one speedup is many times another. */
static fsim_scale scale_of(const fsim_charted *s, const fsim_rows *r)
{
    fsim_scale x = {"speedup (times eager)", FSIM_SCALE_TIMES, false, INFINITY, 0, r->plot.left, r->plot.right};
    const double many = 8;
    for (int g = 0; g < s->count; g++)
        for (int k = 0; k < FSIM_PLAN_COUNT; k++)
            if (fsim_planned(&s->p[g], k)) {
                const fsim_interval likely = likely_of(s, g, k);
                fsim_scale_reach(&x, fsim_speedup(&s->p[g], k));
                fsim_scale_reach(&x, k == (int)s->p[g].chosen || s->count == 1 ? likely.high : x.high);
                fsim_scale_reach(&x, k == (int)s->p[g].chosen ? likely.low : x.low);
            }
    x.log = s->count > 1 && x.high > many * x.low;
    if (!x.log)
        x.low = 0;
    fsim_scale_widen(&x, 0.04);
    return x;
}

void fsim_draw_speedup(const fsim_charted *s, fsim_area b)
{
    fsim_strategy all[FSIM_PLAN_COUNT];
    fsim_key key[FSIM_PLAN_COUNT];
    const int strategies = planned(s, all), rows = s->count == 1 ? strategies : s->count;
    const char **name = fsim_new(s->c->a, const char *, rows + 1);
    fsim_ink *ink = fsim_new(s->c->a, fsim_ink, rows + 1);
    for (int i = 0; i < strategies; i++)
        key[i] = (fsim_key){fsim_strategy_names[all[i]], {fsim_strategy_ink(all[i]), fsim_strategy_symbol(all[i])}};
    for (int i = 0; i < rows; i++) {
        name[i] = s->count == 1 ? fsim_strategy_names[all[i]] : s->p[i].hw->name;
        ink[i] = s->count > 1 || all[i] == s->p->chosen ? FSIM_INK_TEXT : FSIM_INK_MUTED;
    }
    b = fsim_panel_head(s->c, b, "Speedup over eager",
                        s->count == 1
                            ? "lines: eight of ten measured ones"
                            : fsim_printf(s->c->a, "lines: eight of ten measured ones of %s, figures: %s",
                                          fsim_strategy_names[s->p->chosen], fsim_strategy_names[s->p->chosen]));
    if (s->count > 1)
        b.top += fsim_put_keys(s->c, b, key, strategies) + 4;
    const fsim_rows r = fsim_rows_begin(b, name, rows, (fsim_area){0, 0, ROOM, AXIS});
    const fsim_scale x = scale_of(s, &r);
    fsim_axis_below(s->c, r.plot, &x);
    fsim_rows_names(s->c, &r, name, ink);
    const double one = fsim_scale_px(&x, 1);
    fsim_put_line(s->c, (fsim_area){one, r.plot.top, one, r.plot.bottom}, (fsim_pen){1, 2, FSIM_PAINT(FSIM_INK_AXIS)});
    for (int i = 0; i < rows; i++)
        s->count == 1 ? put_bar(s, &r, &x, all[i], i) : put_marks(s, &r, &x, i);
    for (int g = 0; g < s->count; g++)
        for (int i = 0; i < strategies; i++)
            if (fsim_planned(&s->p[g], all[i]))
                put_figures(s, g, all[i]);
}
