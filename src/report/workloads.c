/* SPDX-License-Identifier: Apache-2.0 */
#include "base/unit.h"
#include "report/json_stream.h"
#include "report/report.h"
#include "report/summary.h"

#include <string.h>

enum { ALL_LEVELS = 100 }; /* of the path of a layer */

static const char *symbol_text(fsim_arena *a, const fsim_symbol *s)
{
    return s->dtype != FSIM_DTYPE_NONE ? fsim_dtype_names[s->dtype] : fsim_printf(a, "%lld", (long long)s->value);
}

/* "M=4096, H=4096, dtype=f16"; dtypes: those that stand for dtypes as well. */
static const char *symbols_text(fsim_arena *a, const fsim_graph *g, bool dtypes)
{
    const char *text = "";
    for (int i = 0; i < g->symbols; i++)
        if (dtypes || g->symbol[i].dtype == FSIM_DTYPE_NONE)
            text =
                fsim_printf(a, "%s%s%s=%s", text, *text ? ", " : "", g->symbol[i].name, symbol_text(a, &g->symbol[i]));
    return text;
}

/* The dtype of the largest input or weight. */
static const char *dtype_text(const fsim_graph *g)
{
    int largest = -1;
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].role != FSIM_MADE && (largest < 0 || g->tensor[t].elems > g->tensor[largest].elems))
            largest = t;
    return largest < 0 ? "" : fsim_dtype_names[g->tensor[largest].dtype];
}

static fsim_table table_of(fsim_arena *a, const fsim_workload_list *list)
{
    static const fsim_column column[] = {{.title = "workload", .left = true},
                                         {.title = "operators"},
                                         {.title = "dtype", .left = true},
                                         {.title = "symbols", .left = true, .shrinks = true},
                                         {.title = "what it is", .left = true, .shrinks = true, .least = 24}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < list->count; i++) {
        const fsim_graph *g = list->at[i].graph;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = list->at[i].name;
        cell[1] = g ? fsim_printf(a, "%d", g->sources) : "";
        cell[2] = g ? dtype_text(g) : "";
        cell[3] = g ? symbols_text(a, g, false) : "";
        cell[4] = g ? g->description : fsim_printf(a, "does not load: see 'fusesim workloads %s'", list->at[i].name);
    }
    return t;
}

/* Is t an input or a weight, and not a view of one? */
static bool is_source(const fsim_graph *g, int t)
{
    return g->tensor[t].role != FSIM_MADE && g->tensor[t].storage == t;
}

static void print_tensors(const fsim_page *page, const fsim_graph *g, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "tensor", .left = true},
                                         {.title = "role", .left = true},
                                         {.title = "dtype", .left = true},
                                         {.title = "shape", .left = true, .shrinks = true}};
    static const char *const roles[] = {[FSIM_INPUT] = "input", [FSIM_WEIGHT] = "weight", [FSIM_MADE] = "result"};
    fsim_table table = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int made = 0; made < 2; made++)
        for (int t = 0; t < g->tensors; t++)
            if (made ? g->tensor[t].output && g->tensor[t].role == FSIM_MADE : is_source(g, t)) {
                const char **cell = fsim_table_row(&table, FSIM_PLAIN);
                cell[0] = g->tensor[t].name;
                cell[1] = roles[g->tensor[t].role];
                cell[2] = fsim_dtype_names[g->tensor[t].dtype];
                cell[3] = fsim_tensor_shape_text(a, &g->tensor[t]);
            }
    fsim_table_print(page, &table, 2);
}

/* "3 linear, 1 gelu": the operators by how many there are of each, in the order of the operator table. */
static const char *operators_text(fsim_arena *a, const fsim_graph *g)
{
    const char *text = "";
    int *count = fsim_new(a, int, FSIM_OP_COUNT);
    for (int i = 0; i < g->sources; i++)
        count[g->source[i].op]++;
    for (int op = 0; op < FSIM_OP_COUNT; op++)
        if (count[op])
            text = fsim_printf(a, "%s%s%d %s", text, *text ? ", " : "", count[op], fsim_ops[op].name);
    return text;
}

static void report_one(const fsim_page *page, const fsim_named_workload *w, fsim_arena *a)
{
    const fsim_graph *g = w->graph;
    char flops[32], parameters[32];
    fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                   fsim_printf(a, "%s%s%s", g->name, *g->description ? ": " : "", g->description));
    fsim_paragraph(page, FSIM_PLAIN, 0, 2, fsim_printf(a, "File: %s", g->path));
    if (g->symbols)
        fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                       fsim_printf(a, "Symbols, for --set NAME=VALUE: %s", symbols_text(a, g, true)));
    fsim_paragraph(page, FSIM_PLAIN, 0, 2, fsim_printf(a, "%d operators: %s", g->sources, operators_text(a, g)));
    fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                   fsim_printf(a, "%d primitives; %s parameters; %s FLOPs in products%s", g->nodes,
                               fsim_show_count(parameters, sizeof parameters, (double)g->parameters),
                               fsim_show_count(flops, sizeof flops, g->contraction_flops),
                               g->batch ? fsim_printf(a, "; batch of %lld", (long long)g->batch) : ""));
    putc('\n', page->out);
    print_tensors(page, g, a);
    fprintf(page->out, "\nTo plan it: fusesim %s --hw h100-sxm5-80gb\n", w->name);
}

/* "mlp (3 operators, f16; M=4096, H=1024)", and what it is below. */
static void report_line(const fsim_page *page, const fsim_named_workload *w, fsim_arena *a)
{
    const fsim_graph *g = w->graph;
    if (!g) {
        fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                       fsim_printf(a, "%s does not load: see 'fusesim workloads %s'", w->name, w->name));
        return;
    }
    fsim_paragraph(page, FSIM_STRONG, 0, 2,
                   fsim_printf(a, "%s (%d operator%s, %s%s%s)", w->name, g->sources, g->sources == 1 ? "" : "s",
                               dtype_text(g), *symbols_text(a, g, false) ? "; " : "", symbols_text(a, g, false)));
    if (*g->description)
        fsim_paragraph(page, FSIM_PLAIN, 2, 2, g->description);
}

static void report_summary(const fsim_page *page, const fsim_workload_list *list, fsim_arena *a)
{
    for (int i = 0; i < list->count; i++) {
        const fsim_graph *g = list->at[i].graph;
        if (!g)
            continue;
        const fsim_summary x = fsim_summary_of(g, list->deep ? ALL_LEVELS : 0, a);
        fprintf(page->out, "%s", i ? "\n" : "");
        fsim_paragraph(page, FSIM_STRONG, 0, 2,
                       fsim_printf(a, "%s%s%s", list->at[i].name, g->symbols ? ": " : "", symbols_text(a, g, true)));
        fsim_report_summary(page, &x);
    }
}

void fsim_report_workloads(const fsim_page *page, const fsim_workload_list *list)
{
    fsim_arena *a = fsim_arena_new();
    if (list->summary) {
        report_summary(page, list, a);
    } else if (list->in_full) {
        report_one(page, &list->at[0], a);
    } else {
        for (int i = 0; i < list->count; i++)
            report_line(page, &list->at[i], a);
        putc('\n', page->out);
        fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                       "'fusesim workloads NAME' shows one in full; --set NAME=VALUE gives a symbol another value.");
    }
    fsim_arena_free(a);
}

void fsim_markdown_workloads(FILE *out, const fsim_workload_list *list)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_table t = table_of(a, list);
    fsim_table_markdown(out, &t);
    fsim_arena_free(a);
}

static void json_symbols(FILE *out, const fsim_graph *g)
{
    fputs(", \"symbols\": {", out);
    for (int i = 0; i < g->symbols; i++) {
        const fsim_symbol *s = &g->symbol[i];
        if (s->dtype != FSIM_DTYPE_NONE)
            fsim_json_text(out, i ? ", " : "", s->name, fsim_dtype_names[s->dtype]);
        else
            fsim_json_number(out, i ? ", " : "", s->name, (double)s->value);
    }
    putc('}', out);
}

/* made: the results; else inputs and weights. */
static void json_tensors(FILE *out, const fsim_graph *g, bool made)
{
    const char *before = "{";
    fprintf(out, ", \"%s\": [", made ? "results" : "inputs");
    for (int t = 0; t < g->tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        if (!(made ? x->output && x->role == FSIM_MADE : is_source(g, t)))
            continue;
        fsim_json_text(out, before, "name", x->name);
        fsim_json_text(out, ", ", "dtype", fsim_dtype_names[x->dtype]);
        fputs(", \"shape\": [", out);
        const fsim_shape s = fsim_tensor_shape(x);
        for (int d = 0; d < s.rank; d++)
            fprintf(out, "%s%lld", d ? ", " : "", (long long)s.dim[d]);
        putc(']', out);
        if (!made)
            fsim_json_bool(out, ", ", "weight", x->role == FSIM_WEIGHT);
        putc('}', out);
        before = ", {";
    }
    putc(']', out);
}

static void summarise(FILE *out, const fsim_graph *g, const fsim_workload_list *list, fsim_arena *a)
{
    const fsim_summary x = fsim_summary_of(g, list->deep ? ALL_LEVELS : 0, a);
    fsim_json_summary(out, ",\n  ", &x);
}

void fsim_json_workloads(FILE *out, const fsim_workload_list *list)
{
    fsim_arena *a = fsim_arena_new();
    putc('[', out);
    for (int i = 0; i < list->count; i++) {
        const fsim_graph *g = list->at[i].graph;
        fsim_json_text(out, i ? ",\n {" : "{", "name", list->at[i].name);
        fsim_json_bool(out, ", ", "loads", g != NULL);
        if (g) {
            fsim_json_text(out, ", ", "description", g->description);
            fsim_json_text(out, ", ", "path", g->path);
            fsim_json_number(out, ", ", "operators", g->sources);
            fsim_json_number(out, ", ", "primitives", g->nodes);
            fsim_json_number(out, ", ", "parameters", (double)g->parameters);
            fsim_json_number(out, ", ", "contraction_flops", g->contraction_flops);
            fsim_json_text(out, ", ", "dtype", dtype_text(g));
            json_symbols(out, g);
            json_tensors(out, g, false);
            json_tensors(out, g, true);
            if (list->summary)
                summarise(out, g, list, a);
        }
        putc('}', out);
    }
    fputs("]\n", out);
    fsim_arena_free(a);
}
