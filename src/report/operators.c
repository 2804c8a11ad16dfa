/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/op.h"
#include "report/describe.h"
#include "report/json_stream.h"
#include <math.h>

static const char *arity(fsim_arena *a, int least, int most)
{
    return most < 0        ? fsim_printf(a, "%d+", least)
           : least == most ? fsim_printf(a, "%d", least)
                           : fsim_printf(a, "%d-%d", least, most);
}

/* Rows that only expansions make are no names that a workload may use. */
static bool is_public(int op)
{
    fsim_op parsed;
    return fsim_op_parse(fsim_ops[op].name, &parsed);
}

void fsim_report_ops(const fsim_page *page)
{
    static const fsim_column column[] = {{.title = "operator", .left = true},
                                         {.title = "class", .left = true},
                                         {.title = "arguments"},
                                         {.title = "flops/point"},
                                         {.title = "expression", .left = true, .shrinks = true}};
    fsim_arena *a = fsim_arena_new();
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < FSIM_OP_COUNT; i++) {
        const fsim_op_row *op = &fsim_ops[i];
        if (!is_public(i))
            continue;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = op->name;
        cell[1] = fsim_classes[op->class].name;
        cell[2] = arity(a, op->least_args, op->most_args);
        cell[3] = op->class == FSIM_COMPOSITE ? "" : fsim_printf(a, "%g", op->flops);
        cell[4] = op->expr;
    }
    fsim_table_print(page, &t, 0);
    fsim_arena_free(a);
}

void fsim_json_ops(FILE *out)
{
    const char *comma = "[{";
    for (int i = 0; i < FSIM_OP_COUNT; i++) {
        const fsim_op_row *op = &fsim_ops[i];
        if (!is_public(i))
            continue;
        const bool composite = op->class == FSIM_COMPOSITE;
        fsim_json_text(out, comma, "name", op->name);
        fsim_json_text(out, ", ", "class", fsim_classes[op->class].name);
        fsim_json_number(out, ", ", "least_arguments", op->least_args);
        fsim_json_number(out, ", ", "most_arguments", op->most_args < 0 ? (double)NAN : op->most_args);
        fsim_json_number(out, ", ", "flops", composite ? (double)NAN : op->flops);
        fsim_json_number(out, ", ", "instructions", composite ? (double)NAN : op->instructions);
        fsim_json_number(out, ", ", "specials", composite ? (double)NAN : op->specials);
        fsim_json_text(out, ", ", "expression", op->expr);
        putc('}', out);
        comma = ",\n {";
    }
    fputs("]\n", out);
}
