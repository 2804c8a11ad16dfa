/* SPDX-License-Identifier: Apache-2.0 */
#include "report/summary.h"

#include "base/names.h"
#include "base/unit.h"
#include "report/describe.h"
#include "report/json_stream.h"
#include "report/layer.h"

#include <math.h>
#include <string.h>

/* The layer that each operator of the workload counts for. */
typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_layer_sum *layer;
    int layers;
    int *of; /* per operator */
} sums;

/* Does another operator read the tensor, or is it a result of the workload? Steps of an operator's expansion are
 * neither. */
static bool is_activation(const fsim_graph *g, int tensor)
{
    const fsim_tensor *t = &g->tensor[tensor];
    bool crosses = t->output;
    for (int i = 0; i < t->readers && !crosses; i++)
        crosses = g->node[t->reader[i]].source != g->node[t->producer].source;
    return crosses && t->producer >= 0;
}

static void add_node(fsim_layer_sum *to, const fsim_graph *g, const fsim_node *n)
{
    to->flops += n->flops * (double)n->points * (double)n->reduced;
    for (int r = 0; r < n->results; r++)
        if (is_activation(g, n->result[r]))
            to->activation_bytes += (double)g->tensor[n->result[r]].bytes;
}

static void add_weights(sums *s)
{
    const fsim_graph *g = s->g;
    for (int t = 0; t < g->tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        if (x->role != FSIM_WEIGHT || x->buffer || x->storage != t || x->readers == 0)
            continue;
        fsim_layer_sum *to = &s->layer[s->of[g->node[x->reader[0]].source]];
        to->parameters += fsim_tensor_numbers(x);
        to->weight_bytes += (double)x->bytes;
    }
}

static void sum_layers(sums *s, int levels)
{
    const fsim_graph *g = s->g;
    fsim_names at = {0};
    s->layers = 0;
    s->layer = fsim_new(s->a, fsim_layer_sum, g->sources + 1);
    s->of = fsim_new(s->a, int, g->sources + 1);
    for (int i = 0; i < g->sources; i++) {
        const fsim_source *x = &g->source[i];
        const char *name = x->layer ? fsim_layer_head(s->a, x->layer, levels) : "";
        int n = fsim_names_get(&at, name);
        if (n < 0) {
            n = s->layers++;
            s->layer[n] = (fsim_layer_sum){.name = name, .times = 1};
            fsim_names_set(s->a, &at, name, n);
        }
        s->of[i] = n;
        s->layer[n].operators++;
        for (int k = x->first; k < x->first + x->nodes; k++)
            add_node(&s->layer[n], g, &g->node[k]);
    }
    add_weights(s);
}

static bool equal(const fsim_layer_sum *x, const fsim_layer_sum *y)
{
    return fsim_same_but_numbers(x->name, y->name) && x->operators == y->operators && x->parameters == y->parameters &&
           x->flops == y->flops && x->activation_bytes == y->activation_bytes && x->weight_bytes == y->weight_bytes;
}

/* Equal layers that follow each other become one. */
static int merge(fsim_layer_sum *layer, int layers)
{
    int kept = 0;
    for (int i = 0; i < layers; i++)
        if (kept > 0 && equal(&layer[kept - 1], &layer[i]))
            layer[kept - 1].times++;
        else
            layer[kept++] = layer[i];
    return kept;
}

static fsim_layer_sum total_of(const sums *s)
{
    fsim_layer_sum total = {.name = "total", .times = 1};
    for (int i = 0; i < s->layers; i++) {
        const fsim_layer_sum *x = &s->layer[i];
        total.operators += x->operators;
        total.parameters += x->parameters;
        total.flops += x->flops;
        total.activation_bytes += x->activation_bytes;
        total.weight_bytes += x->weight_bytes;
    }
    return total;
}

/* Is it one of several numbered layers? */
static bool has_sibling(const fsim_summary *x, int layer)
{
    bool has = x->layer[layer].times > 1;
    for (int i = 0; i < x->layers; i++)
        has = has || (i != layer && fsim_same_but_numbers(x->layer[i].name, x->layer[layer].name));
    return has;
}

/* Does one layer, which is not one of several, have a large part of the FLOPs? Then its own layers say more. */
static bool is_dominated(const fsim_summary *x)
{
    enum { FEW = 8 /* operators of a module that has none below it */ };
    bool any = false;
    for (int i = 0; i < x->layers; i++) {
        const fsim_layer_sum *one = &x->layer[i];
        any = any || (*one->name && one->operators > FEW && one->flops > x->total.flops / 4 && !has_sibling(x, i));
    }
    return any;
}

fsim_summary fsim_summary_of(const fsim_graph *g, int levels, fsim_arena *a)
{
    enum { DEEPEST = 5 };
    sums s = {.a = a, .g = g};
    fsim_summary out = {0};
    for (int level = levels ? levels : 1; level <= (levels ? levels : DEEPEST); level++) {
        sum_layers(&s, level);
        out.total = total_of(&s);
        out.layer = s.layer;
        out.layers = merge(s.layer, s.layers);
        out.levels = level;
        if (!is_dominated(&out))
            break;
    }
    return out;
}

/* FLOPs for each byte of activations and weights. */
static double intensity_of(const fsim_layer_sum *x)
{
    const double bytes = x->activation_bytes + x->weight_bytes;
    return bytes > 0 ? x->flops / bytes : NAN;
}

static void add_row(fsim_table *t, const fsim_layer_sum *x, fsim_emphasis how, fsim_arena *a)
{
    char text[2][32];
    const char **cell = fsim_table_row(t, how);
    const double intensity = intensity_of(x);
    cell[0] = *x->name ? x->name : "(no layer)";
    cell[1] = x->times > 1 ? fsim_printf(a, "x %d", x->times) : NULL;
    cell[2] = fsim_printf(a, "%d", x->operators);
    cell[3] = fsim_strdup(a, fsim_show_count(text[0], sizeof text[0], (double)x->parameters));
    cell[4] = fsim_strdup(a, fsim_show_count(text[1], sizeof text[1], x->flops));
    cell[5] = fsim_bytes_text(a, x->activation_bytes);
    cell[6] = fsim_bytes_text(a, x->weight_bytes);
    cell[7] = isnan(intensity) ? "-" : fsim_printf(a, "%.3g", intensity);
}

void fsim_report_summary(const fsim_page *page, const fsim_summary *x)
{
    static const fsim_column column[] = {
        {.title = "layer", .left = true, .shrinks = true},
        {.title = "", .left = true},
        {.title = "operators"},
        {.title = "parameters"},
        {.title = "FLOPs"},
        {.title = "activations", .legend = "bytes of what operators make, each result once"},
        {.title = "weights", .legend = "bytes of those that the layer is the first to read"},
        {.title = "FLOPs/byte", .legend = "arithmetic intensity: FLOPs for each byte of activations and weights"}};
    fsim_arena *a = fsim_arena_new();
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < x->layers && (x->layers > 1 || *x->layer[0].name); i++)
        add_row(&t, &x->layer[i], FSIM_PLAIN, a);
    add_row(&t, &x->total, FSIM_STRONG, a);
    fsim_table_print(page, &t, 2);
    fsim_arena_free(a);
}

static void json_sum(FILE *out, const fsim_layer_sum *x)
{
    fsim_json_number(out, "", "operators", x->operators);
    fsim_json_number(out, ", ", "parameters", (double)x->parameters);
    fsim_json_number(out, ", ", "flops", x->flops);
    fsim_json_number(out, ", ", "activation_bytes", x->activation_bytes);
    fsim_json_number(out, ", ", "weight_bytes", x->weight_bytes);
    fsim_json_number(out, ", ", "flops_per_byte", intensity_of(x));
}

void fsim_json_summary(FILE *out, const char *before, const fsim_summary *x)
{
    fprintf(out, "%s\"summary\": {", before);
    json_sum(out, &x->total);
    fputs(", \"layers\": [", out);
    for (int i = 0; i < x->layers; i++) {
        fsim_json_text(out, i ? ",\n   {" : "\n   {", "layer", x->layer[i].name);
        fsim_json_number(out, ", ", "times", x->layer[i].times);
        fputs(", ", out);
        json_sum(out, &x->layer[i]);
        putc('}', out);
    }
    fputs("]}", out);
}
