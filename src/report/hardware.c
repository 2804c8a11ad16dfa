/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/adopt.h"
#include "report/json_stream.h"
#include "report/report.h"
#include <math.h>
#include <stdlib.h>
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
    int drop;
} listed[] = {{"SMs", "sms", FSIM_HW_SMS, 2},
              {"DRAM", "dram_bandwidth", FSIM_HW_DRAM_BANDWIDTH, 0},
              {"FP32", "fp32_peak", FSIM_HW_FP32_PEAK, 1},
              {"tensor f16", "tensor_f16", FSIM_HW_TENSOR_F16, 0},
              {"USD/h", "rent_usd_per_h", FSIM_HW_RENT, 3}};

/* A figure of the list in four digits; a price without its unit, which is the column's head. */
static const char *listed_text(fsim_arena *a, double value, fsim_hw_key key)
{
    const fsim_dim dim = fsim_hw_rows[key].dim;
    char four[32];
    snprintf(four, sizeof four, "%.4g", value);
    return isnan(value)                ? "-"
           : dim == FSIM_DIM_USD_PER_H ? fsim_printf(a, "%.2f", value)
                                       : shown(a, strtod(four, NULL), dim);
}

void fsim_report_hw_list(const fsim_page *page, const fsim_named_hw *list, int count)
{
    fsim_arena *a = fsim_arena_new();
    fsim_column column[2 + COUNT_OF(listed)] = {{.title = "name", .left = true},
                                                {.title = "architecture", .left = true}};
    for (int k = 0; k < COUNT_OF(listed); k++)
        column[2 + k] = (fsim_column){.title = listed[k].title, .drop = listed[k].drop};
    fsim_table t = fsim_table_new(a, column, COUNT_OF(column));
    for (int i = 0; i < count; i++) {
        const fsim_hw *hw = list[i].hw;
        const char **cell = fsim_table_row(&t, hw ? FSIM_PLAIN : FSIM_BAD);
        cell[0] = list[i].name;
        cell[1] = hw ? hw->architecture : "not valid";
        for (int k = 0; hw && k < COUNT_OF(listed); k++)
            cell[2 + k] = listed_text(a, fsim_hw_peak(hw, listed[k].key), listed[k].key);
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
        fsim_json_text(out, ", ", "from", fsim_hw_from_names[q->from]);
        putc('}', out);
        comma = ",\n ";
    }
    fputs("}}\n", out);
}

/* How many figures of hw come from where. */
typedef struct {
    int of[FSIM_HW_FROMS];
} tally;

static tally tally_of(const fsim_hw *hw)
{
    tally t = {{0}};
    for (int k = 0; k < FSIM_HW_COUNT; k++)
        if (fsim_hw_has(hw, (fsim_hw_key)k))
            t.of[hw->q[k].from]++;
    return t;
}

/* Data-sheet figures that neither the file nor its `like:` gives, of those that the architecture has: "power_limit,
 * link_bandwidth", or "". */
static const char *sheet_lacks(const fsim_hw *hw, fsim_arena *a)
{
    const char *names = "";
    for (int i = 0; i < FSIM_SHEET_FIGURES && !hw->host; i++) {
        const fsim_hw_key key = fsim_hw_sheet_figure(hw, i);
        const bool lacks = !fsim_hw_has(hw, key) || hw->q[key].from == FSIM_HW_FROM_SIMILAR;
        if (lacks && !(key == FSIM_HW_TENSOR_F16 && hw->arch->dense_f16 == 0))
            names = fsim_printf(a, "%s%s%s", names, *names ? ", " : "", fsim_hw_rows[key].key);
    }
    return names;
}

static void report_checked(const fsim_page *page, const fsim_named_hw *one, fsim_arena *a)
{
    const fsim_hw *hw = one->hw;
    const tally t = tally_of(hw);
    const char *lacks = sheet_lacks(hw, a),
               *inherited = hw->like ? fsim_printf(a, "%d from %s, ", t.of[FSIM_HW_FROM_LIKE], hw->like) : "";
    fprintf(page->out, "%s: ok\n", one->name);
    fsim_paragraph(page, FSIM_PLAIN, 2, 2,
                   fsim_printf(a,
                               "of %d figures: %d given, %s%d from the architecture %s, %d derived, %d assumed as on "
                               "similar GPUs ('fusesim hw show' has each)",
                               t.of[FSIM_HW_GIVEN] + t.of[FSIM_HW_FROM_LIKE] + t.of[FSIM_HW_FROM_ARCHITECTURE] +
                                   t.of[FSIM_HW_FROM_KEYS] + t.of[FSIM_HW_FROM_SIMILAR],
                               t.of[FSIM_HW_GIVEN], inherited, t.of[FSIM_HW_FROM_ARCHITECTURE], hw->architecture,
                               t.of[FSIM_HW_FROM_KEYS], t.of[FSIM_HW_FROM_SIMILAR]));
    if (*lacks)
        fsim_paragraph(page, FSIM_PLAIN, 2, 2, fsim_printf(a, "not given, and in every data sheet: %s", lacks));
}

void fsim_report_hw_check(const fsim_page *page, const fsim_named_hw *list, int count)
{
    fsim_arena *a = fsim_arena_new();
    for (int i = 0; i < count; i++)
        if (list[i].hw)
            report_checked(page, &list[i], a);
    fsim_arena_free(a);
}

void fsim_json_hw_check(FILE *out, const fsim_named_hw *list, int count)
{
    for (int i = 0; i < count; i++) {
        const fsim_hw *hw = list[i].hw;
        fsim_json_text(out, i ? ",\n {" : "[{", "file", list[i].name);
        fsim_json_bool(out, ", ", "ok", hw != NULL);
        fprintf(out, ", \"errors\": %d, \"figures\": ", list[i].errors);
        const tally t = hw ? tally_of(hw) : (tally){{0}};
        for (int f = 0; hw && f < FSIM_HW_FROMS; f++)
            fprintf(out, "%s\"%s\": %d", f ? ", " : "{", fsim_hw_from_names[f], t.of[f]);
        fputs(hw ? "}}" : "null}", out);
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
    static const char *const says[] = {[FSIM_ABSENT_NEEDED] = "required",
                                       [FSIM_ABSENT_UNKNOWN] = "unknown",
                                       [FSIM_ABSENT_ARCHITECTURE] = "that of the architecture",
                                       [FSIM_ABSENT_DERIVED] = "from other keys",
                                       [FSIM_ABSENT_SIMILAR] = "as on similar GPUs"};
    return isnan(row->otherwise) ? says[row->absent] : shown(a, row->otherwise, row->dim);
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
