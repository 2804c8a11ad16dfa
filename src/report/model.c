/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model.h"

#include "base/unit.h"
#include "report/json_stream.h"
#include <string.h>

static const char *symbols_text(const fsim_graph *g, fsim_arena *a)
{
    const char *text = "";
    for (int i = 0; i < g->symbols; i++) {
        const fsim_symbol *s = &g->symbol[i];
        const char *value =
            s->dtype != FSIM_DTYPE_NONE ? fsim_dtype_names[s->dtype] : fsim_printf(a, "%lld", (long long)s->value);
        text = fsim_printf(a, "%s%s%s=%s", text, i ? ", " : "; ", s->name, value);
    }
    return text;
}

static void add_rows(fsim_table *t, const fsim_counted *of, int count, const char *known, fsim_arena *a)
{
    for (int i = 0; i < count; i++) {
        const char **cell = fsim_table_row(t, FSIM_PLAIN);
        cell[0] = of[i].name;
        cell[1] = fsim_printf(a, "%d", of[i].count);
        cell[2] = known;
    }
}

/* Unknown operators first. */
static void print_operators(const fsim_page *page, const fsim_shown_model *x, const fsim_coverage *c, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "operator", .left = true, .shrinks = true}, {.title = "count"}, {.title = "known", .left = true}};
    int count;
    const fsim_counted *known = fsim_known_operators(x->graph, a, &count);
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    add_rows(&t, c->of, c->names, "no: costs a copy", a);
    add_rows(&t, known, count, "yes", a);
    putc('\n', page->out);
    fsim_table_print(page, &t, 2);
}

static void print_written(const fsim_page *page, const fsim_shown_model *x, fsim_arena *a)
{
    const char *text = fsim_printf(a, "Written to %s", x->written);
    if (x->blocks > 0)
        text = fsim_printf(a, "%s: %d repeat block%s for %d of %d operators", text, x->blocks, x->blocks > 1 ? "s" : "",
                           x->in_block, x->graph->sources);
    fsim_paragraph(page, FSIM_PLAIN, 0, 2, text);
    for (const char *line = x->left; *line; line += strcspn(line, "\n") + 1)
        fsim_paragraph(page, FSIM_PLAIN, 2, 4, fsim_strndup(a, line, strcspn(line, "\n")));
}

void fsim_report_model(const fsim_page *page, const fsim_shown_model *x)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = x->graph;
    const fsim_coverage c = fsim_coverage_of(g, a);
    char parameters[32], flops[32];
    fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                   fsim_printf(a, "%s (%s): %d operators, %s parameters, %s FLOPs in products%s", g->name, x->format,
                               c.operators, fsim_show_count(parameters, sizeof parameters, (double)g->parameters),
                               fsim_show_count(flops, sizeof flops, g->contraction_flops), symbols_text(g, a)));
    fsim_paragraph(page, c.unknown ? FSIM_BAD : FSIM_GOOD, 0, 2,
                   c.unknown ? fsim_printf(a, "%s.", fsim_coverage_text(&c, a)) : "All operators are known.");
    if (x->list)
        print_operators(page, x, &c, a);
    if (x->list && x->written)
        putc('\n', page->out);
    if (x->written)
        print_written(page, x, a);
    fsim_arena_free(a);
}

static void json_counts(FILE *out, const char *key, const fsim_counted *of, int count)
{
    fprintf(out, ",\n \"%s\": {", key);
    for (int i = 0; i < count; i++)
        fsim_json_number(out, i ? ", " : "", of[i].name, of[i].count);
    putc('}', out);
}

void fsim_json_model(FILE *out, const fsim_shown_model *x)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = x->graph;
    const fsim_coverage c = fsim_coverage_of(g, a);
    int count;
    const fsim_counted *known = fsim_known_operators(g, a, &count);
    fputs("{\"schema\": 1,\n ", out);
    fsim_json_text(out, "", "model", g->name);
    fsim_json_text(out, ", ", "path", g->path);
    fsim_json_text(out, ", ", "format", x->format);
    fsim_json_number(out, ",\n ", "operators", c.operators);
    fsim_json_number(out, ", ", "coverage", c.known);
    fsim_json_number(out, ", ", "parameters", (double)g->parameters);
    fsim_json_number(out, ", ", "contraction_flops", g->contraction_flops);
    json_counts(out, "known", known, count);
    json_counts(out, "unknown", c.of, c.names);
    fsim_json_text(out, ",\n ", "written", x->written);
    fsim_json_number(out, ", ", "repeat_blocks", x->blocks);
    fsim_json_number(out, ", ", "repeated_operators", x->in_block);
    fputs("}\n", out);
    fsim_arena_free(a);
}
