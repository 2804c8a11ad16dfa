/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/alias.h"
#include "graph/attribute.h"
#include "graph/example.h"
#include "report/json_stream.h"
#include "report/report.h"
#include <math.h>
#include <string.h>

/* "2", "2 to 3", "1 or more". */
static const char *count_text(fsim_arena *a, int least, int most)
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

/* Is op among those that are shown: `only`, or all where that is FSIM_OP_COUNT? */
static bool is_shown(int op, fsim_op only) { return is_public(op) && (only == FSIM_OP_COUNT || op == (int)only); }

/* "stride=1, kernel!, groups=(...)": all attributes of an operator in a line. */
static const char *attributes_text(fsim_arena *a, fsim_op op)
{
    fsim_taken taken[FSIM_MAX_TAKEN];
    const int count = fsim_taken_of(op, taken);
    const char *text = "";
    for (int i = 0; i < count; i++) {
        const fsim_taken *t = &taken[i];
        text =
            fsim_printf(a, "%s%s%s%s%s%s%s", text, i ? ", " : "", fsim_attr_rows[t->attr].name, t->required ? "!" : "",
                        *t->otherwise   ? "="
                        : *t->described ? "=("
                                        : "",
                        *t->otherwise ? t->otherwise : t->described, *t->described ? ")" : "");
    }
    return text;
}

static void report_all(const fsim_page *page, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "operator", .left = true},
        {.title = "class", .left = true},
        {.title = "inputs"},
        {.title = "flops/point", .legend = "additions, multiplications, ... for an element of the result"},
        {.title = "attributes", .left = true, .shrinks = true}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < FSIM_OP_COUNT; i++) {
        const fsim_op_row *op = &fsim_ops[i];
        if (!is_public(i))
            continue;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = op->name;
        cell[1] = fsim_classes[op->class].name;
        cell[2] = count_text(a, op->least_args, op->most_args);
        cell[3] = op->class == FSIM_COMPOSITE ? "" : fsim_printf(a, "%g", op->flops);
        cell[4] = attributes_text(a, (fsim_op)i);
    }
    fsim_table_print(page, &t, 0);
    fsim_table_legend(page, &t, 0);
    putc('\n', page->out);
    fsim_paragraph(
        page, FSIM_PLAIN, 0, 0,
        "name! must be given, name=value has that value where it is absent. \"fusesim ops OP\" says what they "
        "mean, what else an operator may be called, and shows an example.");
    fsim_paragraph(page, FSIM_PLAIN, 0, 0, fsim_printf(a, "dtypes: %s.", fsim_dtype_list(a)));
}

/* "stride (integer or list, default kernel): step of ..." */
static void report_attribute(const fsim_page *page, fsim_op op, const fsim_taken *t, fsim_arena *a)
{
    const fsim_attr_row *row = &fsim_attr_rows[t->attr];
    const char *also = fsim_attr_aliases(a, t->attr, op);
    fsim_paragraph(page, FSIM_PLAIN, 2, 4,
                   fsim_printf(a, "%s%s%s (%s; %s): %s", row->name, *also ? " or " : "", also,
                               fsim_attr_type_text(t->attr), fsim_taken_default(a, t), row->meaning));
}

/* The inputs in their order, for people. */
static const char *inputs_text(fsim_op op)
{
    return fsim_operands[op]             ? fsim_operands[op]
           : fsim_ops[op].most_args == 2 ? "x and y, which broadcast; or x and `scalar`"
           : fsim_ops[op].most_args == 1 ? "x, a tensor of any shape"
                                         : "any number of tensors";
}

static void report_one(const fsim_page *page, fsim_op which, fsim_arena *a)
{
    const fsim_op_row *op = &fsim_ops[which];
    fsim_taken taken[FSIM_MAX_TAKEN];
    const int count = fsim_taken_of(which, taken);
    fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                   fsim_printf(a, "%s: %s; inputs: %s, results: %s", op->name, fsim_classes[op->class].name,
                               count_text(a, op->least_args, op->most_args), count_text(a, 1, op->most_outs)));
    if (*fsim_op_aliases(a, which))
        fsim_paragraph(page, FSIM_PLAIN, 0, 2, fsim_printf(a, "Also written: %s", fsim_op_aliases(a, which)));
    if (op->most_args != 0)
        fsim_paragraph(page, FSIM_PLAIN, 0, 2, fsim_printf(a, "Inputs: %s", inputs_text(which)));
    fsim_paragraph(page, FSIM_PLAIN, 0, 2, fsim_printf(a, "Shape of its result: %s", fsim_result_text(which)));
    fsim_paragraph(page, FSIM_PLAIN, 0, 0, fsim_printf(a, "Dtype of its result: %s", fsim_makes_texts[op->makes]));
    if (op->class == FSIM_COMPOSITE)
        fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                       "It expands into primitives when it is loaded; --dump graph shows them.");
    else
        fsim_paragraph(
            page, FSIM_PLAIN, 0, 0,
            fsim_printf(a, "%g flops, %g instructions, %g of them on the special-function unit, for each point%s%s",
                        op->flops, op->instructions, op->specials, op->expr ? ": " : "", op->expr ? op->expr : ""));
    if (fsim_classes[op->class].boundary)
        fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                       fsim_printf(a, "Always a kernel of its own: %s.", fsim_classes[op->class].why));
    fsim_paragraph(page, FSIM_PLAIN, 0, 0, count ? "Attributes:" : "It takes no attributes.");
    for (int i = 0; i < count; i++)
        report_attribute(page, which, &taken[i], a);
    fprintf(page->out, "\nExample, a whole workload (%s):\n%s", fsim_example_results(a, which), fsim_example(a, which));
}

void fsim_report_ops(const fsim_page *page, fsim_op only)
{
    fsim_arena *a = fsim_arena_new();
    only == FSIM_OP_COUNT ? report_all(page, a) : report_one(page, only, a);
    fsim_arena_free(a);
}

/* "a, b" as "key": ["a", "b"]. */
static void json_names(FILE *out, const char *key, const char *names)
{
    fprintf(out, ", \"%s\": [", key);
    for (const char *before = ""; *names; before = ", ") {
        const int length = (int)strcspn(names, ",");
        fprintf(out, "%s\"%.*s\"", before, length, names);
        names += length + (names[length] ? 2 : 0);
    }
    putc(']', out);
}

static void json_attributes(FILE *out, fsim_op op, fsim_arena *a)
{
    fsim_taken taken[FSIM_MAX_TAKEN];
    const int count = fsim_taken_of(op, taken);
    fputs(", \"attributes\": [", out);
    for (int i = 0; i < count; i++) {
        const fsim_taken *t = &taken[i];
        const fsim_attr_row *row = &fsim_attr_rows[t->attr];
        fsim_json_text(out, i ? ", {" : "{", "name", row->name);
        json_names(out, "also", fsim_attr_aliases(a, t->attr, op));
        fsim_json_text(out, ", ", "type", fsim_attr_type_names[row->type]);
        fsim_json_text(out, ", ", "words", row->words);
        fsim_json_bool(out, ", ", "required", t->required);
        fsim_json_text(out, ", ", "default", *t->otherwise ? t->otherwise : NULL);
        fsim_json_text(out, ", ", "default_is", *t->described ? t->described : NULL);
        fsim_json_text(out, ", ", "meaning", row->meaning);
        putc('}', out);
    }
    putc(']', out);
}

void fsim_json_ops(FILE *out, fsim_op only)
{
    const char *before = "[{";
    fsim_arena *a = fsim_arena_new();
    for (int i = 0; i < FSIM_OP_COUNT; i++) {
        const fsim_op_row *op = &fsim_ops[i];
        if (!is_shown(i, only))
            continue;
        const bool composite = op->class == FSIM_COMPOSITE;
        fsim_json_text(out, before, "name", op->name);
        json_names(out, "aliases", fsim_op_aliases(a, (fsim_op)i));
        fsim_json_text(out, ", ", "class", fsim_classes[op->class].name);
        fsim_json_number(out, ", ", "least_arguments", op->least_args);
        fsim_json_number(out, ", ", "most_arguments", op->most_args < 0 ? (double)NAN : op->most_args);
        fsim_json_text(out, ", ", "inputs", fsim_operands[i]);
        fsim_json_number(out, ", ", "most_results", op->most_outs < 0 ? (double)NAN : op->most_outs);
        fsim_json_number(out, ", ", "flops", composite ? (double)NAN : op->flops);
        fsim_json_number(out, ", ", "instructions", composite ? (double)NAN : op->instructions);
        fsim_json_number(out, ", ", "specials", composite ? (double)NAN : op->specials);
        fsim_json_text(out, ", ", "result_dtype", fsim_makes_texts[op->makes]);
        fsim_json_text(out, ", ", "result_shape", fsim_result_text((fsim_op)i));
        fsim_json_text(out, ", ", "expression", op->expr);
        fsim_json_text(out, ", ", "example", fsim_example(a, (fsim_op)i));
        fsim_json_text(out, ", ", "example_results", fsim_example_results(a, (fsim_op)i));
        json_attributes(out, (fsim_op)i, a);
        putc('}', out);
        before = ",\n {";
    }
    fputs("]\n", out);
    fsim_arena_free(a);
}

/* text in a cell of a table: bars would end it. */
static void put_cell(FILE *out, const char *text)
{
    fputs(" ", out);
    for (; *text; text++)
        *text == '|' ? fputs("\\|", out) : putc(*text, out);
    fputs(" |", out);
}

/* "rank 2, rank 1": what another name asks of the inputs. */
static const char *alias_needs(fsim_arena *a, const fsim_alias *alias)
{
    const char *text = alias->outs ? fsim_printf(a, "%d result", alias->outs) : "";
    for (const char *rank = alias->ranks; *rank; rank++)
        if (*rank != ' ')
            text = fsim_printf(a, "%s%srank %c", text, *text ? ", " : "", *rank);
    return text;
}

static void markdown_aliases(FILE *out)
{
    int count;
    fsim_arena *a = fsim_arena_new();
    const fsim_alias *alias = fsim_alias_rows(&count);
    fputs("\n| also written | operator | with |\n|---|---|---|\n", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "| `%s` | `%s` | %s |\n", alias[i].name, fsim_ops[alias[i].op].name, alias_needs(a, &alias[i]));
    fsim_arena_free(a);
}

static void markdown_options(FILE *out)
{
    static const struct {
        const char *name, *kernels, *meaning;
    } row[] = {
#define FSIM_SERVING_OPTION(id, name, kernels, most, meaning) {name, kernels, meaning},
#include "graph/serving_option.def"
#undef FSIM_SERVING_OPTION
    };
    fputs("\n| a call may say | of | meaning |\n|---|---|---|\n", out);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        fprintf(out, "| `%s` | `%s` | %s |\n", row[i].name, row[i].kernels, row[i].meaning);
}

static void markdown_calls(FILE *out)
{
    static const struct {
        const char *name, *values, *meaning;
    } row[] = {
#define FSIM_SERVING(id, name, price, factor, residual, values, meaning) {name, values, meaning},
#include "graph/serving.def"
#undef FSIM_SERVING
    };
    fputs("\n| `kernel` of a call | numbers that it wants | what the library runs |\n|---|---|---|\n", out);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        fprintf(out, "| `%s` | `%s` | %s |\n", row[i].name, row[i].values, row[i].meaning);
    markdown_options(out);
}

void fsim_markdown_ops(FILE *out)
{
    fsim_arena *a = fsim_arena_new();
    fputs("| operator | class | inputs | outputs | dtype of the result | attributes |\n|---|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < FSIM_OP_COUNT; i++) {
        const fsim_op_row *op = &fsim_ops[i];
        if (!is_public(i))
            continue;
        const char *takes = attributes_text(a, (fsim_op)i);
        fprintf(out, "| `%s` | %s | %s | %s | %s |", op->name, fsim_classes[op->class].name,
                count_text(a, op->least_args, op->most_args), count_text(a, 1, op->most_outs),
                fsim_makes_texts[op->makes]);
        put_cell(out, *takes ? fsim_printf(a, "`%s`", takes) : "");
        putc('\n', out);
    }
    markdown_aliases(out);
    markdown_calls(out);
    fputs("\n| attribute | other names | type | meaning |\n|---|---|---|---|\n", out);
    for (int i = 0; i < FSIM_ATTR_COUNT; i++) {
        const fsim_attr_row *row = &fsim_attr_rows[i];
        const char *also = fsim_attr_aliases(a, (fsim_attr)i, FSIM_OP_COUNT);
        fprintf(out, "| `%s` |", row->name);
        put_cell(out, *also ? fsim_printf(a, "`%s`", also) : "");
        put_cell(out, fsim_attr_type_text((fsim_attr)i));
        put_cell(out, row->meaning);
        putc('\n', out);
    }
    fputs("\ndtypes:", out);
    for (int t = 0; t < FSIM_DTYPE_COUNT; t++)
        fprintf(out, "%s `%s`", t ? "," : "", fsim_dtype_names[t]);
    fputs(".\n", out);
    fsim_arena_free(a);
}
