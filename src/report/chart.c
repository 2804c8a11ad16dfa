/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include "report/describe.h"
#include "report/report.h"
#include "report/summary.h"
#include <math.h>

const char *const fsim_chart_names[FSIM_CHARTS] = {
#define FSIM_CHART(id, name, help) #name,
#include "report/charts.def"
#undef FSIM_CHART
};

static const struct {
    fsim_panel_height *height;
    fsim_panel_draw *draw;
} panels[FSIM_CHARTS] = {
#define FSIM_CHART(id, name, help) {fsim_height_of_##name, fsim_draw_##name},
#include "report/charts.def"
#undef FSIM_CHART
};

enum { MARGIN = 22, APART = 34, TITLE_HIGH = 52, TWO_WIDE = 900 /* pixels in which two panels stand side by side */ };

/* Speedups; the roofline, or what was asked for in its place; and layers where there are some. */
static unsigned usual_kinds(const fsim_charted *s)
{
    const unsigned third = s->p->options.pareto                   ? 1u << FSIM_CHART_PARETO
                           : s->p->graph->derived == FSIM_REVERSE ? 1u << FSIM_CHART_MEMORY
                                                                  : 1u << FSIM_CHART_ROOFLINE;
    return 1u << FSIM_CHART_SPEEDUP | third |
           (s->count == 1 ? 1u << FSIM_CHART_KERNELS | 1u << FSIM_CHART_TRAFFIC : 0) |
           (fsim_has_layers(s) ? 1u << FSIM_CHART_LAYERS : 0);
}

/* Does the panel need the whole width? */
static bool is_wide(const fsim_charted *s, fsim_chart_kind kind)
{
    enum { FEW = 4 };
    return kind == FSIM_CHART_TRAFFIC || kind == FSIM_CHART_LAYERS || (s->count > 1 && kind == FSIM_CHART_ROOFLINE) ||
           s->count > FEW;
}

typedef struct {
    fsim_chart_kind kind[2];
    int count;
    double height;
} row;

/* The panels in rows of one or two. Returns how many rows. */
static int rows_of(const fsim_charted *s, unsigned kinds, double width, row out[FSIM_CHARTS])
{
    int rows = 0;
    const double half = (width - APART) / 2;
    const bool two = s->c->width >= TWO_WIDE;
    for (int k = 0; k < FSIM_CHARTS; k++) {
        const fsim_chart_kind kind = (fsim_chart_kind)k;
        row *last = rows > 0 ? &out[rows - 1] : NULL;
        if (!(kinds >> k & 1))
            continue;
        if (two && !is_wide(s, kind) && last && last->count == 1 && !is_wide(s, last->kind[0])) {
            last->kind[last->count++] = kind;
            last->height = fmax(panels[last->kind[0]].height(s, half), panels[kind].height(s, half));
            continue;
        }
        out[rows++] = (row){{kind, kind}, 1, panels[k].height(s, width)};
    }
    return rows;
}

static void put_title(const fsim_charted *s)
{
    const fsim_prediction *p = s->p;
    const fsim_options *o = &p->options;
    const char *where = s->count > 1         ? fsim_printf(s->c->a, "%d GPUs", s->count)
                        : p->hw->description ? p->hw->description
                                             : p->hw->name;
    s->c->title = fsim_printf(s->c->a, "%s on %s", p->graph->name, where);
    fsim_put_words(s->c, &(fsim_words_at){MARGIN, MARGIN + 6, FSIM_WORDS_LEFT, FSIM_TITLE, FSIM_INK_TEXT, 0},
                   fsim_words_within(s->c, s->c->title, FSIM_TITLE, s->c->width - 2 * MARGIN));
    fsim_put_words(
        s->c, &(fsim_words_at){MARGIN, MARGIN + 27, FSIM_WORDS_LEFT, FSIM_SMALL + 1, FSIM_INK_MUTED, 0},
        fsim_words_within(s->c,
                          fsim_printf(s->c->a, "%s, L2 %s", fsim_regime_counts[o->regime], o->warm ? "warm" : "cold"),
                          FSIM_SMALL + 1, s->c->width - 2 * MARGIN));
}

/* What a reader hears who does not see the chart. */
static const char *about(const fsim_charted *s, unsigned kinds)
{
    static const char *const help[FSIM_CHARTS] = {
#define FSIM_CHART(id, name, help) help,
#include "report/charts.def"
#undef FSIM_CHART
    };
    const char *text = "Charts:";
    for (int k = 0; k < FSIM_CHARTS; k++)
        if (kinds >> k & 1)
            text = fsim_printf(s->c->a, "%s %s (%s).", text, fsim_chart_names[k], help[k]);
    for (int g = 0; g < s->count; g++) {
        const fsim_prediction *p = &s->p[g];
        text = fsim_printf(s->c->a, "%s On %s, %s takes %s in %d kernels, %.2fx as fast as eager.", text, p->hw->name,
                           fsim_strategy_names[p->chosen], fsim_seconds_text(s->c->a, p->plan[p->chosen].time_s),
                           p->plan[p->chosen].kernels, fsim_speedup(p, p->chosen));
    }
    return text;
}

typedef struct {
    const fsim_prediction *p;
    int count;
} shown;

static void draw_plans(fsim_canvas *c, const void *what)
{
    const shown *x = what;
    const fsim_charted s = {c, x->p, x->count};
    row rows[FSIM_CHARTS];
    const unsigned kinds = c->style->kinds ? c->style->kinds : usual_kinds(&s);
    const double width = c->width - 2 * MARGIN;
    const int count = rows_of(&s, kinds, width, rows);
    double needed = 0, top = MARGIN + TITLE_HIGH;
    for (int i = 0; i < count; i++)
        needed += rows[i].height + APART;
    if (!c->style->height)
        c->height = ceil(top + needed - APART + MARGIN);
    const double least = 0.62, scale = fmax(0.1, (c->height - top - MARGIN + APART) / needed);
    c->least_height = ceil(top + MARGIN - APART + needed * least);
    put_title(&s);
    c->about = about(&s, kinds);
    for (int i = 0; i < count; i++) {
        const double high = (rows[i].height + APART) * scale - APART,
                     wide = rows[i].count > 1 ? (width - APART) / 2 : width;
        for (int k = 0; k < rows[i].count; k++)
            panels[rows[i].kind[k]].draw(
                &s, (fsim_area){MARGIN + k * (wide + APART), top, MARGIN + k * (wide + APART) + wide, top + high});
        top += high + APART;
    }
}

bool fsim_report_chart(fsim_arena *a, const fsim_prediction *p, int count, const fsim_chart_file *to, fsim_fault *fault)
{
    const shown x = {p, count};
    const unsigned asked = to->style ? to->style->kinds : 0;
    if (count < 1)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "nothing to draw");
    if ((asked >> FSIM_CHART_LAYERS & 1) && fsim_summary_of(p->graph, 0, a).layers < 2)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE,
                         "there are no layers: no two operators of '%s' differ in their key 'layer'", p->graph->name);
    return fsim_canvas_draw(a, to, draw_plans, &x, fault);
}

void fsim_report_chart_data(FILE *out, fsim_arena *a, const fsim_prediction *p, int count,
                            const fsim_chart_style *style)
{
    const shown x = {p, count};
    fsim_canvas_data(out, a, style, draw_plans, &x);
}
