/* SPDX-License-Identifier: Apache-2.0 */
#include "report/gate.h"

#include "report/json_stream.h"
#include "report/report.h"

int fsim_gates_failed(const fsim_tried_gate *gate, int gates)
{
    int failed = 0;
    for (int i = 0; i < gates; i++)
        failed += !gate[i].passed;
    return failed;
}

void fsim_report_gates(const fsim_page *page, const fsim_tried_gate *gate, int gates)
{
    fsim_arena *a = fsim_arena_new();
    if (gates)
        putc('\n', page->out);
    for (int i = 0; i < gates; i++)
        fsim_paragraph(
            page, gate[i].passed ? FSIM_GOOD : FSIM_BAD, 0, 2,
            fsim_printf(a, "gate %s %s: %s", gate[i].text, gate[i].passed ? "holds" : "fails", gate[i].says));
    fsim_arena_free(a);
}

void fsim_markdown_gates(FILE *out, const fsim_tried_gate *gate, int gates)
{
    for (int i = 0; i < gates; i++)
        fprintf(out, "\n- gate `%s` %s: %s", gate[i].text, gate[i].passed ? "holds" : "**fails**", gate[i].says);
}

void fsim_json_gates(FILE *out, const fsim_tried_gate *gate, int gates)
{
    fputs(",\n \"gates\": [", out);
    for (int i = 0; i < gates; i++) {
        fsim_json_text(out, i ? ", {" : "{", "gate", gate[i].text);
        fsim_json_number(out, ", ", "value", gate[i].value);
        fsim_json_bool(out, ", ", "passed", gate[i].passed);
        putc('}', out);
    }
    fputs("]}\n", out);
}

void fsim_junit_gates(FILE *out, const fsim_tried_gate *gate, int gates)
{
    for (int i = 0; i < gates; i++)
        fsim_junit_case(out, "fusesim.gate", gate[i].text, gate[i].passed ? NULL : "gate", gate[i].says);
}
