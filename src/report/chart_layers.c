/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart_layers.h"

#include "base/names.h"
#include "report/chart_axis.h"
#include "report/gnuplot.h"
#include "report/layer.h"
#include "report/summary.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 14, LONGEST_NAME = 40 /* that the panel has room for */ };

/* The row of each operator of the workload: that of its layer in the summary. */
static int *rows_of(const fsim_graph *g, const fsim_summary *s, fsim_arena *a)
{
    fsim_names seen = {0};
    int *row = fsim_new(a, int, g->sources + 1), at = 0, left = s->layers > 0 ? s->layer[0].times : 0;
    for (int i = 0; i < g->sources; i++) {
        const char *layer = g->source[i].layer ? g->source[i].layer : "", *name = fsim_layer_head(a, layer, s->levels);
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
static void leave_out(fsim_layers_chart *c, fsim_arena *a)
{
    double *time = fsim_new(a, double, c->layers + 1);
    fsim_chart_layer rest = {.shown_s = fsim_new(a, double, c->count + 1)};
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

fsim_layers_chart fsim_layers_chart_of(const fsim_prediction *p, int count, const char *(*color_of)(int gpu),
                                       fsim_arena *a)
{
    const fsim_summary s = fsim_summary_of(p->graph, 0, a);
    fsim_layers_chart c = {p, count, color_of, fsim_new(a, fsim_chart_layer, s.layers + 1), 0};
    if (s.layers < 2)
        return c;
    const int *row = rows_of(p->graph, &s, a);
    double *sum = fsim_new(a, double, s.layers + 1);
    add_plan(p, FSIM_STRATEGY_EAGER, row, sum);
    for (int i = 0; i < s.layers; i++) {
        const fsim_layer_sum *x = &s.layer[i];
        const char *name = *x->name ? x->name : "no layer";
        const size_t bytes = strlen(name);
        if (bytes > LONGEST_NAME) { /* its end tells it apart */
            name += bytes - LONGEST_NAME + 3;
            while ((*name & 0xc0) == 0x80) /* not within a letter */
                name++;
            name = fsim_printf(a, "...%s", name);
        }
        c.layer[i] = (fsim_chart_layer){x->times > 1 ? fsim_printf(a, "%s x %d", name, x->times) : name, sum[i],
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

/* Bars of one plan: their middles, lengths, and half their height. */
static void put_rows(FILE *out, const fsim_layers_chart *c, int series, int all, double scale)
{
    const double high = 0.8 / all;
    fprintf(out, "$layers%d << EOD\n", series);
    for (int i = 0; i < c->layers; i++) {
        const double time = series == c->count ? c->layer[i].eager_s : c->layer[i].shown_s[series];
        fprintf(out, "%.9g %.6g %.6g\n", time / scale / 2, i - 0.4 + high * (series + 0.5), high * 0.46);
    }
    fputs("EOD\n", out);
}

void fsim_chart_layers(FILE *out, const fsim_layers_chart *c)
{
    const char *shown = fsim_strategy_names[c->p->chosen];
    const bool eager = c->count == 1 && c->p->chosen != FSIM_STRATEGY_EAGER;
    const int all = c->count + eager;
    fsim_chart_axis time = {.name = "time"};
    for (int i = 0; i < c->layers; i++) {
        if (eager)
            fsim_include_on(&time, c->layer[i].eager_s);
        for (int g = 0; g < c->count; g++)
            fsim_include_on(&time, c->layer[i].shown_s[g]);
    }
    fprintf(out, "set title 'Time by layer: %s%s'\n", shown, eager ? " (grey: eager)" : "");
    fsim_put_axis(out, &time, 'x', FSIM_IN_SECONDS);
    fprintf(out, "set ylabel ''\nset yrange [%.2f:-0.6]\nset style fill solid 1 noborder\nset ytics nomirror (",
            c->layers - 0.4);
    for (int i = 0; i < c->layers; i++) {
        fputs(i ? ", " : "", out);
        fsim_gnuplot_text(out, c->layer[i].name);
        fprintf(out, " %d", i);
    }
    fputs(")\nset grid noytics xtics lt 1 lw 0.7 lc rgb '#e4e4e4'\n", out);
    for (int s = 0; s < all; s++)
        put_rows(out, c, s, all, time.scale);
    fputs("plot ", out);
    for (int s = 0; s < all; s++)
        fprintf(out, "%s$layers%d using 1:2:1:3 with boxxyerror lc rgb '%s'", s ? ", " : "", s,
                s == c->count ? "#9a9a9a" : c->color_of(s));
    fputc('\n', out);
}
