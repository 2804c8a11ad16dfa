/* SPDX-License-Identifier: Apache-2.0 */
#include "report/gate.h"

#include "report/json_stream.h"
#include "report/junit.h"

void fsim_report_gates(const fsim_page *page, const char *where, const fsim_gate *gate, int gates)
{
    fsim_arena *a = fsim_arena_new();
    for (int i = 0; i < gates; i++)
        fsim_paragraph(
            page, gate[i].passed ? FSIM_GOOD : FSIM_BAD, 0, 2,
            fsim_printf(a, "%sgate %s %s: %s", where, gate[i].text, gate[i].passed ? "holds" : "fails", gate[i].says));
    fsim_arena_free(a);
}

void fsim_markdown_gates(FILE *out, const char *where, const fsim_gate *gate, int gates)
{
    for (int i = 0; i < gates; i++)
        fprintf(out, "\n- %sgate `%s` %s: %s", where, gate[i].text, gate[i].passed ? "holds" : "**fails**",
                gate[i].says);
    if (gates)
        putc('\n', out);
}

void fsim_json_gates(FILE *out, const fsim_gate *gate, int gates)
{
    fputs(",\n \"gates\": [", out);
    for (int i = 0; i < gates; i++) {
        const fsim_gate *g = &gate[i];
        fsim_json_text(out, i ? ",\n  {" : "\n  {", "gate", g->text);
        fsim_json_text(out, ", ", "group", *g->group ? g->group : NULL);
        fsim_json_text(out, ", ", "metric", fsim_gate_metric_of(g)->name);
        fsim_json_number(out, ", ", "value", g->value);
        fsim_json_number(out, ", ", "limit", g->limit);
        if (g->count >= 0)
            fprintf(out, ", \"rows\": %d", g->count);
        fsim_json_bool(out, ", ", "passed", g->passed);
        fsim_json_text(out, ", ", "message", g->says);
        putc('}', out);
    }
    putc(']', out);
}

void fsim_junit_gates(FILE *out, const char *where, const fsim_gate *gate, int gates)
{
    fsim_arena *a = fsim_arena_new();
    for (int i = 0; i < gates; i++)
        fsim_junit_case(out, "fusesim.gate", fsim_printf(a, "%s%s", where, gate[i].text),
                        gate[i].passed ? NULL : "gate",
                        gate[i].passed ? gate[i].says : fsim_printf(a, "%s: %s", gate[i].text, gate[i].says));
    fsim_arena_free(a);
}
