/* SPDX-License-Identifier: Apache-2.0 */
/* The time that each layer of a model takes: bars of the plan shown and of eager; of several GPUs marks. */
#include "report/chart.h"

#include "base/names.h"
#include "report/describe.h"
#include "report/layer.h"
#include "report/summary.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 14, ROW = 26, AXIS = 44, ROOM = 90 };

/* A layer, or several equal ones that follow each other, with the times of eager and of the plan shown on each GPU. */
typedef struct {
    const char *name; /* "encoder.layer.0 x 12" */
    double eager_s;   /* on the first GPU */
    double *shown_s;  /* on each */
} layer;

typedef struct {
    const fsim_prediction *p;
    int count; /* GPUs */
    layer *layer;
    int layers; /* 0: the workload says no layers, or one alone */
} layers_chart;

/* The row of each operator of the workload: that of its layer in the summary. */
static int *rows_of(const fsim_graph *g, const fsim_summary *s, fsim_arena *a)
{
    fsim_names seen = {0};
    int *row = fsim_new(a, int, g->sources + 1), at = 0, left = s->layers > 0 ? s->layer[0].times : 0;
    for (int i = 0; i < g->sources; i++) {
        const char *path = g->source[i].layer ? g->source[i].layer : "", *name = fsim_layer_head(a, path, s->levels);
        const int known = fsim_names_get(&seen, name);
        if (known < 0 && left == 0 && at + 1 < s->layers)
            left = s->layer[++at].times;
        if (known < 0) {
            fsim_names_set(a, &seen, name, at);
            left--;
        }
        row[i] = known < 0 ? at : known;
    }
    return row;
}

/* The row for which a kernel counts. */
static int row_of(const fsim_graph *g, const fsim_kernel *k, const int *row)
{
    double most = -1;
    int best = 0;
    for (int m = 0; m < k->group->members; m++) {
        const fsim_node *n = &g->node[k->group->member[m].node];
        const double flops = n->flops * (double)n->points * (double)n->reduced;
        if (k->group->member[m].clone || flops <= most)
            continue;
        most = flops;
        best = row[n->source];
    }
    return best;
}

static void add_plan(const fsim_prediction *p, fsim_strategy which, const int *row, double *sum)
{
    const fsim_plan *plan = &p->plan[which];
    for (int k = 0; k < plan->kernels; k++)
        sum[row_of(p->graph, &plan->kernel[k], row)] += plan->kernel[k].time_s;
}

static int by_time(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a < b) - (a > b);
}

/* Layers that the panel has no room for, those that take least, become one. */
static void leave_out(layers_chart *c, fsim_arena *a)
{
    double *time = fsim_new(a, double, c->layers + 1);
    layer rest = {.shown_s = fsim_new(a, double, c->count + 1)};
    int kept = 0, left = 0;
    if (c->layers <= MOST_LAYERS)
        return;
    for (int i = 0; i < c->layers; i++)
        time[i] = c->layer[i].eager_s;
    qsort(time, (size_t)c->layers, sizeof *time, by_time);
    for (int i = 0; i < c->layers; i++) {
        if (kept < MOST_LAYERS - 1 && c->layer[i].eager_s >= time[MOST_LAYERS - 2]) {
            c->layer[kept++] = c->layer[i];
            continue;
        }
        left++;
        rest.eager_s += c->layer[i].eager_s;
        for (int g = 0; g < c->count; g++)
            rest.shown_s[g] += c->layer[i].shown_s[g];
    }
    rest.name = fsim_printf(a, "%d others", left);
    c->layer[kept++] = rest;
    c->layers = kept;
}

/* Sums the kernels' times by layer: a kernel counts for the layer in which it does most arithmetic. */
static layers_chart layers_of(const fsim_prediction *p, int count, fsim_arena *a)
{
    const fsim_summary s = fsim_summary_of(p->graph, 0, a);
    layers_chart c = {p, count, fsim_new(a, layer, s.layers + 1), 0};
    if (s.layers < 2)
        return c;
    const int *row = rows_of(p->graph, &s, a);
    double *sum = fsim_new(a, double, s.layers + 1);
    add_plan(p, FSIM_STRATEGY_EAGER, row, sum);
    for (int i = 0; i < s.layers; i++) {
        const fsim_layer_sum *x = &s.layer[i];
        const char *name = *x->name ? x->name : "no layer";
        c.layer[i] = (layer){x->times > 1 ? fsim_printf(a, "%s x %d", name, x->times) : name, sum[i],
                             fsim_new(a, double, count + 1)};
    }
    for (int g = 0; g < count; g++) {
        double *shown = fsim_new(a, double, s.layers + 1);
        add_plan(&p[g], p[g].chosen, row, shown);
        for (int i = 0; i < s.layers; i++)
            c.layer[i].shown_s[g] = shown[i];
    }
    c.layers = s.layers;
    leave_out(&c, a);
    return c;
}

bool fsim_has_layers(const fsim_charted *s) { return fsim_summary_of(s->p->graph, 0, s->c->a).layers >= 2; }

double fsim_height_of_layers(const fsim_charted *s, double width)
{
    (void)width;
    const int layers = layers_of(s->p, s->count, s->c->a).layers;
    return layers > 0 ? 48 + 24 + layers * ROW + AXIS : 48;
}

static void put_figure(const fsim_charted *s, const char *gpu, const char *strategy, const char *name, double time_s)
{
    fsim_put_figure(s->c,
                    &(fsim_chart_figure){"layers", gpu, strategy, name, NULL, 0, NAN, NULL, time_s, "s", NAN, NAN});
}

/* The bars of the plan shown and of eager, one above the other. */
static void put_bars(const fsim_charted *s, const fsim_rows *r, const fsim_scale *x, const layer *l, int row)
{
    const double y = fsim_row_y(r, row), half = fmin(11, r->row_px * 0.36), shown = fsim_scale_px(x, l->shown_s[0]),
                 eager = fsim_scale_px(x, l->eager_s);
    const bool both = s->p->chosen != FSIM_STRATEGY_EAGER;
    const char *words = fsim_seconds_text(s->c->a, l->shown_s[0]);
    fsim_put_bar(s->c, (fsim_area){r->plot.left, y - half, shown, both ? y : y + half},
                 FSIM_PAINT(fsim_strategy_ink(s->p->chosen)));
    if (both)
        fsim_put_bar(s->c, (fsim_area){r->plot.left, y, eager, y + half},
                     FSIM_PAINT(fsim_strategy_ink(FSIM_STRATEGY_EAGER)));
    fsim_put_words(s->c,
                   &(fsim_words_at){fmax(shown, both ? eager : 0) + 6, y, FSIM_WORDS_LEFT,
                                    fmin(FSIM_SMALL + 1, r->letters), FSIM_INK_TEXT, 0},
                   words);
    fsim_put_tip(s->c, (fsim_area){r->plot.left, y - r->row_px / 2, r->plot.right, y + r->row_px / 2},
                 fsim_printf(s->c->a, "%s: %s with %s, %s with eager", l->name, words,
                             fsim_strategy_names[s->p->chosen], fsim_seconds_text(s->c->a, l->eager_s)));
    if (both)
        put_figure(s, s->p->hw->name, fsim_strategy_names[FSIM_STRATEGY_EAGER], l->name, l->eager_s);
}

static void put_marks(const fsim_charted *s, const fsim_rows *r, const fsim_scale *x, const layer *l, int row)
{
    const double y = fsim_row_y(r, row), radius = fmin(5, r->row_px * 0.32);
    fsim_put_line(s->c, (fsim_area){r->plot.left, y, r->plot.right, y}, (fsim_pen){1, 1, FSIM_PAINT(FSIM_INK_GRID)});
    for (int g = 0; g < s->count; g++) {
        const fsim_look look = fsim_look_of_gpu(s->p[g].hw->name);
        const double at = fsim_scale_px(x, l->shown_s[g]);
        fsim_put_mark(s->c, at, y, radius, look.symbol, FSIM_PAINT(look.ink));
        fsim_put_tip(
            s->c, (fsim_area){at - radius, y - radius, at + radius, y + radius},
            fsim_printf(s->c->a, "%s on %s: %s", l->name, s->p[g].hw->name, fsim_seconds_text(s->c->a, l->shown_s[g])));
    }
}

static fsim_scale scale_of(const layers_chart *c, const fsim_rows *r)
{
    const double many = 50;
    fsim_scale x = {"time", FSIM_SCALE_SECONDS, c->count > 1, c->count > 1 ? INFINITY : 0,
                    0,      r->plot.left,       r->plot.right};
    for (int i = 0; i < c->layers; i++) {
        if (c->count == 1)
            fsim_scale_reach(&x, c->layer[i].eager_s);
        for (int g = 0; g < c->count; g++)
            fsim_scale_reach(&x, c->layer[i].shown_s[g]);
    }
    if (x.log && x.high < many * x.low) {
        x.log = false;
        x.low = 0;
    }
    fsim_scale_widen(&x, 0.02);
    return x;
}

void fsim_draw_layers(const fsim_charted *s, fsim_area b)
{
    const layers_chart c = layers_of(s->p, s->count, s->c->a);
    const char *shown = fsim_strategy_names[s->p->chosen], **name = fsim_new(s->c->a, const char *, c.layers + 1);
    fsim_key *key = fsim_new(s->c->a, fsim_key, s->count + 2);
    int keys = 0;
    for (int g = 0; g < s->count && s->count > 1; g++)
        key[keys++] = (fsim_key){s->p[g].hw->name, fsim_look_of_gpu(s->p[g].hw->name)};
    if (s->count == 1) {
        key[keys++] = (fsim_key){shown, {fsim_strategy_ink(s->p->chosen), 0}};
        if (s->p->chosen != FSIM_STRATEGY_EAGER)
            key[keys++] = (fsim_key){"eager", {fsim_strategy_ink(FSIM_STRATEGY_EAGER), 0}};
    }
    b = fsim_panel_head(s->c, b, fsim_printf(s->c->a, "Time by layer: %s", shown),
                        c.layers == 0 ? "the workload says no layers" : "");
    if (c.layers == 0)
        return;
    b.top += fsim_put_keys(s->c, b, key, keys) + 4;
    for (int i = 0; i < c.layers; i++)
        name[i] = c.layer[i].name;
    const fsim_rows r = fsim_rows_begin(b, name, c.layers, (fsim_area){0, 0, ROOM, AXIS});
    const fsim_scale x = scale_of(&c, &r);
    fsim_axis_below(s->c, r.plot, &x);
    fsim_rows_names(s->c, &r, name, NULL);
    for (int i = 0; i < c.layers; i++) {
        s->count == 1 ? put_bars(s, &r, &x, &c.layer[i], i) : put_marks(s, &r, &x, &c.layer[i], i);
        for (int g = 0; g < s->count; g++)
            put_figure(s, s->p[g].hw->name, shown, c.layer[i].name, c.layer[i].shown_s[g]);
    }
}
