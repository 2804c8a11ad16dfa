/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that plans move in each level of memory: of one GPU each strategy's, of several the plan shown. */
#include "report/chart.h"

#include "report/describe.h"
#include <math.h>

enum { ROW = 26, AXIS = 44, APART = 70 /* for the figures behind a level's bars */ };

typedef enum { DRAM, L2, SHARED, LEVELS } level;
static const char *const level_names[LEVELS] = {"DRAM", "L2", "shared memory"};

typedef struct {
    const fsim_prediction *p;
    fsim_strategy strategy;
    const char *name;
    double bytes[LEVELS], written; /* written: of those of DRAM */
} line;

static line line_of(const fsim_prediction *p, fsim_strategy strategy, const char *name)
{
    const fsim_plan *plan = &p->plan[strategy];
    line x = {p, strategy, name, {0}, 0};
    for (int k = 0; k < plan->kernels; k++) {
        x.bytes[DRAM] += (double)plan->kernel[k].dram_read_bytes + (double)plan->kernel[k].dram_write_bytes;
        x.written += (double)plan->kernel[k].dram_write_bytes;
        x.bytes[L2] += plan->kernel[k].l2_bytes;
        x.bytes[SHARED] += plan->kernel[k].shared_bytes_moved;
    }
    return x;
}

static int lines_of(const fsim_charted *s, line **out)
{
    int count = 0;
    *out = fsim_new(s->c->a, line, s->count + FSIM_PLAN_COUNT);
    if (s->count == 1)
        for (int k = 0; k < FSIM_PLAN_COUNT; k++)
            if (fsim_planned(s->p, k))
                (*out)[count++] = line_of(s->p, (fsim_strategy)k, fsim_strategy_names[k]);
    for (int g = 0; g < s->count && s->count > 1; g++)
        (*out)[count++] = line_of(&s->p[g], s->p[g].chosen, s->p[g].hw->name);
    return count;
}

double fsim_height_of_traffic(const fsim_charted *s, double width)
{
    line *all;
    (void)width;
    return 48 + 24 + 20 + lines_of(s, &all) * ROW + AXIS;
}

static void put_bar(const fsim_charted *s, const fsim_scale *x, fsim_area row, const line *l, level which)
{
    const double y = (row.top + row.bottom) / 2, half = fmin(11, (row.bottom - row.top) * 0.34),
                 read = which == DRAM ? l->bytes[DRAM] - l->written : l->bytes[which],
                 end = fsim_scale_px(x, l->bytes[which]);
    static const fsim_ink ink[LEVELS] = {FSIM_INK_BLUE, FSIM_INK_GREEN, FSIM_INK_VIOLET};
    const char *bytes = fsim_bytes_text(s->c->a, l->bytes[which]);
    fsim_put_bar(s->c, (fsim_area){x->from, y - half, fsim_scale_px(x, read), y + half}, FSIM_PAINT(ink[which]));
    fsim_put_bar(s->c, (fsim_area){fsim_scale_px(x, read), y - half, end, y + half}, FSIM_PAINT(FSIM_INK_ORANGE));
    fsim_put_words(s->c, &(fsim_words_at){end + 5, y, FSIM_WORDS_LEFT, fmin(FSIM_SMALL, half * 2), FSIM_INK_TEXT, 0},
                   bytes);
    fsim_put_tip(s->c, (fsim_area){x->from, row.top, x->to + APART, row.bottom},
                 which == DRAM
                     ? fsim_printf(s->c->a, "%s on %s, DRAM: %s, of which %s written", fsim_strategy_names[l->strategy],
                                   l->p->hw->name, bytes, fsim_bytes_text(s->c->a, l->written))
                     : fsim_printf(s->c->a, "%s on %s, %s: %s", fsim_strategy_names[l->strategy], l->p->hw->name,
                                   level_names[which], bytes));
    fsim_put_figure(s->c, &(fsim_chart_figure){"traffic", l->p->hw->name, fsim_strategy_names[l->strategy],
                                               which == DRAM ? "DRAM read" : level_names[which], NULL, 0, NAN, NULL,
                                               read, "B", NAN, NAN});
    if (which == DRAM)
        fsim_put_figure(s->c, &(fsim_chart_figure){"traffic", l->p->hw->name, fsim_strategy_names[l->strategy],
                                                   "DRAM written", NULL, 0, NAN, NULL, l->written, "B", NAN, NAN});
}

void fsim_draw_traffic(const fsim_charted *s, fsim_area b)
{
    static const fsim_key key[] = {{"DRAM read", {FSIM_INK_BLUE, 0}},
                                   {"DRAM written", {FSIM_INK_ORANGE, 0}},
                                   {"L2, requested by multiprocessors", {FSIM_INK_GREEN, 0}},
                                   {"shared memory", {FSIM_INK_VIOLET, 0}}};
    line *all;
    const int lines = lines_of(s, &all);
    const char **name = fsim_new(s->c->a, const char *, lines + 1);
    for (int i = 0; i < lines; i++)
        name[i] = all[i].name;
    b = fsim_panel_head(
        s->c, b, "Traffic by level of memory",
        s->count == 1 ? "each level has its own scale"
                      : fsim_printf(s->c->a, "%s; each level has its own scale", fsim_strategy_names[s->p->chosen]));
    b.top += fsim_put_keys(s->c, b, key, LEVELS + 1) + 4;
    const fsim_rows r = fsim_rows_begin(b, name, lines, (fsim_area){0, 4, 0, AXIS});
    const double wide = (r.plot.right - r.plot.left) / LEVELS;
    fsim_rows_names(s->c, &r, name, NULL);
    for (int v = 0; v < LEVELS; v++) {
        const fsim_area plot = {r.plot.left + v * wide, r.plot.top, r.plot.left + (v + 1) * wide - APART,
                                r.plot.bottom};
        fsim_scale x = {level_names[v], FSIM_SCALE_BYTES, false, 0, 0, plot.left, plot.right};
        for (int i = 0; i < lines; i++)
            fsim_scale_reach(&x, all[i].bytes[v]);
        fsim_scale_widen(&x, 0);
        fsim_axis_below(s->c, plot, &x);
        for (int i = 0; i < lines; i++)
            put_bar(s, &x,
                    (fsim_area){plot.left, r.plot.top + i * r.row_px, plot.right, r.plot.top + (i + 1) * r.row_px},
                    &all[i], (level)v);
    }
}
