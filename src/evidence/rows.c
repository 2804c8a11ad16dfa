/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/rows.h"

#include "base/names.h"
#include "input/csv.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ID,
    HW,
    WORKLOAD,
    SET,
    STRATEGY,
    L2,
    LAUNCH,
    TIME,
    READ,
    WRITTEN,
    SOURCE,
    KERNEL,
    MODE, /* from here on not written */
    PEAK,
    COLUMNS
};

static const struct {
    const char *name;
    bool required;
} columns[COLUMNS] = {[ID] = {"id", true},
                      [HW] = {"hw", true},
                      [WORKLOAD] = {"workload", true},
                      [SET] = {"set", false},
                      [STRATEGY] = {"strategy", true},
                      [L2] = {"l2", false},
                      [LAUNCH] = {"launch", false},
                      [TIME] = {"time_s", false},
                      [READ] = {"dram_read_bytes", false},
                      [WRITTEN] = {"dram_write_bytes", false},
                      [SOURCE] = {"source", false},
                      [KERNEL] = {"kernel", false},
                      [MODE] = {"mode", false},
                      [PEAK] = {"peak_bytes", false}};
const char *const fsim_l2_names[] = {"cold", "warm", "unknown"};
const char *const fsim_mode_names[FSIM_MODES] = {"", "forward", "backward", "full", "accumulate", "step"};

typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    fsim_csv csv;
    int place[COLUMNS]; /* field of each column; -1 */
    int header_fields;
    const char *kept[COLUMNS]; /* the row before's texts: most are said again and again */
} reader;

static fsim_loc place_of(const reader *r, int column) { return fsim_csv_place(&r->csv, r->place[column]); }

/* Rows of a training (mode) may say nothing of launches, rows of memory nothing of times. */
static bool is_required(const reader *r, int c)
{
    return columns[c].required || (c == LAUNCH && r->place[MODE] < 0) || (c == TIME && r->place[PEAK] < 0);
}

static bool read_header(reader *r)
{
    const int errors = fsim_errors(r->d);
    for (int c = 0; c < COLUMNS; c++) {
        r->place[c] = -1;
    }
    if (!fsim_csv_next(&r->csv)) {
        if (fsim_errors(r->d) == errors)
            fsim_error(r->d, (fsim_loc){r->csv.path, 1, 1},
                       "the file is empty, wanted a header: id,hw,workload,set,strategy,l2,launch,time_s,...");
        return false;
    }
    const char **name = fsim_new(r->a, const char *, r->csv.fields);
    for (int i = 0; i < r->csv.fields; i++) {
        name[i] = r->csv.field[i].text;
        for (int c = 0; c < COLUMNS; c++)
            if (strcmp(name[i], columns[c].name) == 0)
                r->place[c] = i;
    }
    for (int c = 0; c < COLUMNS; c++) {
        const bool lacks = r->place[c] < 0 && is_required(r, c);
        const char *near = lacks ? fsim_nearest(columns[c].name, name, r->csv.fields) : NULL;
        if (lacks)
            fsim_error(r->d, fsim_csv_place(&r->csv, -1), "no column '%s'%s%s%s", columns[c].name,
                       near ? "; is it '" : "", near ? near : "", near ? "'?" : "");
    }
    r->header_fields = r->csv.fields;
    return fsim_errors(r->d) == errors;
}

static const char *text_of(const reader *r, int column)
{
    const int f = r->place[column];
    return f >= 0 && f < r->csv.fields ? r->csv.field[f].text : "";
}

/* The same, to be kept. */
static const char *kept(reader *r, int column)
{
    const char *text = text_of(r, column), *before = r->kept[column];
    return before && strcmp(before, text) == 0 ? before : (r->kept[column] = fsim_strdup(r->a, text));
}

static int choice(const reader *r, int column, const char *const *names, int count, int otherwise)
{
    const char *text = text_of(r, column);
    if (!*text && otherwise >= 0)
        return otherwise;
    for (int i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    fsim_error(r->d, place_of(r, column), "%s: unknown '%s'%s", columns[column].name, text,
               fsim_did_you_mean(r->a, text, names, count));
    return 0;
}

/* Does the row's benchmark empty L2 before each run, so that the host runs ahead? Liger's runs by
 * triton.testing.do_bench, which does. */
static bool flushes(const reader *r) { return r->place[MODE] >= 0 && strncmp(text_of(r, SOURCE), "Liger ", 6) == 0; }

/* eager, whose attention is FlashAttention-2's wherever that is asked for in one operator */
static const char eager_flash[] = "eager+flash";

static bool is_flash_2(const reader *r) { return strcmp(text_of(r, STRATEGY), eager_flash) == 0; }

static fsim_strategy strategy_of(const reader *r)
{
    if (is_flash_2(r))
        return FSIM_STRATEGY_EAGER;
    return (fsim_strategy)choice(r, STRATEGY, fsim_strategy_names, FSIM_STRATEGY_COUNT, -1);
}

/* A number of at least `least`; NaN for an empty field, where that is allowed. */
static double number(const reader *r, int column, double least)
{
    const char *text = text_of(r, column);
    char *end;
    const double x = strtod(text, &end);
    if (!*text && !is_required(r, column))
        return NAN;
    if (end == text || *end || !isfinite(x) || x < least) {
        fsim_error(r->d, place_of(r, column), "%s: '%s' is no %s", columns[column].name, text,
                   column == TIME ? "time above 0, in seconds" : "number of bytes");
        return NAN;
    }
    return x;
}

fsim_measurements fsim_rows_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes)
{
    reader r = {.a = a, .d = d, .csv = fsim_csv_open(a, d, path, text, bytes)};
    fsim_measurements all = {0};
    int room = 0, left_out = 0;
    if (!read_header(&r))
        return all;
    for (int errors = fsim_errors(d); fsim_csv_next(&r.csv); errors = fsim_errors(d)) {
        const fsim_loc at = fsim_csv_place(&r.csv, -1);
        if (r.csv.fields != r.header_fields)
            fsim_error(d, (fsim_loc){path, at.line, 1}, "%d fields, the header has %d", r.csv.fields, r.header_fields);
        else {
            fsim_measured row = {
                .id = kept(&r, ID),
                .hw = kept(&r, HW),
                .workload = kept(&r, WORKLOAD),
                .set = kept(&r, SET),
                .source = kept(&r, SOURCE),
                .kernel = kept(&r, KERNEL),
                .strategy = strategy_of(&r),
                .flash_2 = is_flash_2(&r),
                .mode = (fsim_measured_part)choice(&r, MODE, fsim_mode_names, FSIM_MODES, FSIM_MODE_NONE),
                .l2 = (fsim_l2_state)choice(&r, L2, fsim_l2_names, 3, flushes(&r) ? FSIM_L2_COLD : FSIM_L2_UNKNOWN),
                .launch = (fsim_regime)choice(&r, LAUNCH, fsim_regime_names, FSIM_REGIME_COUNT,
                                              is_required(&r, LAUNCH) ? -1
                                              : flushes(&r)           ? FSIM_REGIME_KERNEL
                                                                      : FSIM_REGIME_STREAM),
                .time_s = number(&r, TIME, 1e-12),
                .dram_read_bytes = number(&r, READ, 0),
                .dram_write_bytes = number(&r, WRITTEN, 0),
                .at = {path, at.line, 1}};
            const double peak = number(&r, PEAK, 1);
            if (fsim_errors(d) == errors && *row.workload && !isnan(row.time_s))
                *FSIM_PUSH(a, all.at, all.count, room) = row;
            row.of_memory = true;
            row.time_s = peak;
            if (fsim_errors(d) == errors && *row.workload && !isnan(peak))
                *FSIM_PUSH(a, all.at, all.count, room) = row;
            left_out += *row.workload == '\0';
        }
    }
    if (left_out > 0)
        fsim_warning(d, (fsim_loc){.file = path}, "%d rows without a workload are left out", left_out);
    return all;
}

static void put_bytes(FILE *out, double bytes)
{
    if (!isnan(bytes))
        fprintf(out, "%.0f", bytes);
}

void fsim_rows_write(FILE *out, const fsim_measured *row, int count)
{
    bool trained = false;
    for (int i = 0; i < count; i++)
        trained = trained || row[i].mode != FSIM_MODE_NONE;
    const int written = trained ? MODE + 1 : MODE;
    for (int c = 0; c < written; c++)
        fprintf(out, "%s%s", c ? "," : "", columns[c].name);
    putc('\n', out);
    for (int i = 0; i < count; i++) {
        const fsim_measured *m = &row[i];
        const char *const text[COLUMNS] = {[ID] = m->id,
                                           [HW] = m->hw,
                                           [WORKLOAD] = m->workload,
                                           [SET] = m->set,
                                           [STRATEGY] = m->flash_2 ? eager_flash : fsim_strategy_names[m->strategy],
                                           [L2] = fsim_l2_names[m->l2],
                                           [LAUNCH] = fsim_regime_names[m->launch],
                                           [SOURCE] = m->source,
                                           [KERNEL] = m->kernel,
                                           [MODE] = fsim_mode_names[m->mode]};
        for (int c = 0; c < written; c++) {
            if (c)
                putc(',', out);
            if (c == TIME)
                fprintf(out, "%.9g", m->time_s);
            else if (c == READ || c == WRITTEN)
                put_bytes(out, c == READ ? m->dram_read_bytes : m->dram_write_bytes);
            else
                fsim_csv_put(out, text[c] ? text[c] : "");
        }
        putc('\n', out);
    }
}
