/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_stream.h"
#include "report/report.h"
#include <math.h>
#include <string.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

static const char *shown(fsim_arena *a, double value, fsim_dim dim)
{
    char text[48];
    return isnan(value) ? "-" : fsim_strdup(a, fsim_show(text, sizeof text, value, dim));
}

/* What a list says of each GPU. */
static const struct {
    const char *title, *json;
    fsim_hw_key key;
} listed[] = {{"SMs", "sms", FSIM_HW_SMS},
              {"DRAM", "dram_bandwidth", FSIM_HW_DRAM_BANDWIDTH},
              {"FP32", "fp32_peak", FSIM_HW_FP32_PEAK},
              {"tensor f16", "tensor_f16", FSIM_HW_TENSOR_F16}};

void fsim_report_hw_list(const fsim_page *page, const fsim_named_hw *list, int count)
{
    fsim_arena *a = fsim_arena_new();
    fsim_column column[2 + COUNT_OF(listed)] = {{.title = "name", .left = true},
                                                {.title = "architecture", .left = true}};
    for (int k = 0; k < COUNT_OF(listed); k++)
        column[2 + k] = (fsim_column){.title = listed[k].title};
    fsim_table t = fsim_table_new(a, column, COUNT_OF(column));
    for (int i = 0; i < count; i++) {
        const fsim_hw *hw = list[i].hw;
        const char **cell = fsim_table_row(&t, hw ? FSIM_PLAIN : FSIM_BAD);
        cell[0] = list[i].name;
        cell[1] = hw ? hw->architecture : "not valid";
        for (int k = 0; hw && k < COUNT_OF(listed); k++)
            cell[2 + k] = shown(a, fsim_hw_peak(hw, listed[k].key), fsim_hw_rows[listed[k].key].dim);
    }
    fsim_table_print(page, &t, 0);
    fsim_arena_free(a);
}

void fsim_json_hw_list(FILE *out, const fsim_named_hw *list, int count)
{
    for (int i = 0; i < count; i++) {
        const fsim_hw *hw = list[i].hw;
        fsim_json_text(out, i ? ",\n {" : "[{", "name", list[i].name);
        fsim_json_text(out, ", ", "architecture", hw ? hw->architecture : NULL);
        for (int k = 0; k < COUNT_OF(listed); k++)
            fsim_json_number(out, ", ", listed[k].json, hw ? fsim_hw_peak(hw, listed[k].key) : (double)NAN);
        putc('}', out);
    }
    fputs(count ? "]\n" : "[]\n", out);
}

static const char *peak_text(fsim_arena *a, const fsim_quantity *q, const fsim_hw_row *row)
{
    if (q->unknown && isnan(q->value) && isnan(q->achieved))
        return "unknown";
    const char *value = shown(a, q->value, row->dim);
    return row->form == FSIM_HW_BUS
               ? fsim_printf(a, "%s x %s", value, shown(a, q->bus_rate_bits_per_s, FSIM_DIM_BITS_PER_S))
               : value;
}

enum { KEY, VALUE, ACHIEVED, SOURCE, HW_COLUMNS };

/* The key's source as a number, the same for the same text; *count texts are in source. */
static int number_of(const char **source, int *count, const char *text)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(source[i], text) == 0)
            return i + 1;
    source[(*count)++] = text;
    return *count;
}

/* Where the table is too wide, each source becomes a number, and the sources follow the table. */
static void print_numbered(const fsim_page *page, fsim_table *t)
{
    const char **source = fsim_new(t->arena, const char *, t->rows);
    int count = 0;
    for (int r = 0; r < t->rows; r++)
        if (t->row[r].cell[SOURCE])
            t->row[r].cell[SOURCE] = fsim_printf(t->arena, "[%d]", number_of(source, &count, t->row[r].cell[SOURCE]));
    fsim_table_print(page, t, 0);
    putc('\n', page->out);
    for (int i = 0; i < count; i++)
        fsim_paragraph(page, FSIM_PLAIN, 0, 5,
                       fsim_printf(t->arena, "%*s %s", 4, fsim_printf(t->arena, "[%d]", i + 1), source[i]));
}

void fsim_report_hw(const fsim_page *page, const fsim_hw *hw)
{
    static const fsim_column column[HW_COLUMNS] = {{.title = "key", .left = true},
                                                   {.title = "value"},
                                                   {.title = "achieved"},
                                                   {.title = "source", .left = true, .shrinks = true}};
    fsim_arena *a = fsim_arena_new();
    fsim_table t = fsim_table_new(a, column, HW_COLUMNS);
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        const fsim_quantity *q = &hw->q[i];
        if (!q->present)
            continue;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[KEY] = fsim_hw_rows[i].key;
        cell[VALUE] = peak_text(a, q, &fsim_hw_rows[i]);
        cell[ACHIEVED] = isnan(q->achieved) ? "" : shown(a, q->achieved, fsim_hw_rows[i].dim);
        cell[SOURCE] = q->source;
    }
    fprintf(page->out, "%s: %s, %s\n", hw->name, hw->description, hw->architecture);
    if (page->width > 0 && fsim_table_width(&t) > page->width)
        print_numbered(page, &t);
    else
        fsim_table_print(page, &t, 0);
    fsim_arena_free(a);
}

void fsim_json_hw(FILE *out, const fsim_hw *hw)
{
    const char *comma = "\n ";
    fsim_json_text(out, "{", "name", hw->name);
    fsim_json_text(out, ", ", "description", hw->description);
    fsim_json_text(out, ", ", "architecture", hw->architecture);
    fsim_json_text(out, ", ", "path", hw->path);
    fsim_json_text(out, ", ", "hash", hw->hash);
    fputs(", \"keys\": {", out);
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        const fsim_quantity *q = &hw->q[i];
        if (!q->present)
            continue;
        fprintf(out, "%s\"%s\": ", comma, fsim_hw_rows[i].key);
        fsim_json_number(out, "{", "value", q->value);
        fsim_json_number(out, ", ", "achieved", q->achieved);
        if (fsim_hw_rows[i].form == FSIM_HW_BUS)
            fsim_json_number(out, ", ", "rate", q->bus_rate_bits_per_s);
        fsim_json_text(out, ", ", "source", q->source);
        putc('}', out);
        comma = ",\n ";
    }
    fputs("}}\n", out);
}

void fsim_report_hw_check(FILE *out, const fsim_named_hw *list, int count)
{
    for (int i = 0; i < count; i++)
        if (list[i].hw)
            fprintf(out, "%s: ok\n", list[i].name);
}

void fsim_json_hw_check(FILE *out, const fsim_named_hw *list, int count)
{
    for (int i = 0; i < count; i++) {
        fsim_json_text(out, i ? ",\n {" : "[{", "file", list[i].name);
        fsim_json_bool(out, ", ", "ok", list[i].hw != NULL);
        fprintf(out, ", \"errors\": %d}", list[i].errors);
    }
    fputs("]\n", out);
}

static const char *form_text(const fsim_hw_row *row)
{
    static const char *const forms[] = {
        [FSIM_HW_VALUE] = "value", [FSIM_HW_PEAK] = "peak, achieved", [FSIM_HW_BUS] = "width, rate"};
    return forms[row->form];
}

/* What a file without the key has. */
static const char *absent_text(fsim_arena *a, const fsim_hw_row *row)
{
    return row->required ? "required" : isnan(row->otherwise) ? "unknown" : shown(a, row->otherwise, row->dim);
}

static const char *unit_text(const fsim_hw_row *row)
{
    return row->dim == FSIM_DIM_NONE ? "a number" : fsim_dim_name(row->dim);
}

void fsim_report_hw_keys(const fsim_page *page)
{
    static const fsim_column column[] = {{.title = "key", .left = true},
                                         {.title = "is", .left = true},
                                         {.title = "written as", .left = true},
                                         {.title = "least"},
                                         {.title = "most"},
                                         {.title = "where absent", .left = true},
                                         {.title = "meaning", .left = true, .shrinks = true}};
    fsim_arena *a = fsim_arena_new();
    fsim_table t = fsim_table_new(a, column, COUNT_OF(column));
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        const fsim_hw_row *row = &fsim_hw_rows[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = row->key;
        cell[1] = unit_text(row);
        cell[2] = form_text(row);
        cell[3] = shown(a, row->low, row->dim);
        cell[4] = shown(a, row->high, row->dim);
        cell[5] = absent_text(a, row);
        cell[6] = row->meaning;
    }
    fsim_table_print(page, &t, 0);
    fsim_arena_free(a);
}

void fsim_markdown_hw_keys(FILE *out)
{
    fsim_arena *a = fsim_arena_new();
    fputs("| key | meaning | is | written as | from | to | where absent |\n|---|---|---|---|---|---|---|\n", out);
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        const fsim_hw_row *row = &fsim_hw_rows[i];
        fprintf(out, "| `%s` | %s | %s | %s | %s | %s | %s |\n", row->key, row->meaning, unit_text(row), form_text(row),
                shown(a, row->low, row->dim), shown(a, row->high, row->dim), absent_text(a, row));
    }
    fsim_arena_free(a);
}
