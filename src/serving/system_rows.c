/* SPDX-License-Identifier: Apache-2.0 */
#include "base/names.h"
#include "input/csv.h"
#include "serving/system.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_system_mode_names[FSIM_SYSTEM_MODES] = {"static batch", "prefill", "maximum load",
                                                               "fixed concurrency", "training step"};

typedef enum { TEXT, COUNT, NUMBER, MODE } form;

static const struct {
    const char *name;
    form form;
    bool needed; /* a row may not leave it blank */
    size_t field;
} columns[] = {{"id", TEXT, true, offsetof(fsim_system, id)},
               {"source", TEXT, true, offsetof(fsim_system, source)},
               {"model", TEXT, true, offsetof(fsim_system, model)},
               {"precision", TEXT, true, offsetof(fsim_system, precision)},
               {"kv_precision", TEXT, false, offsetof(fsim_system, kv_precision)},
               {"hw", TEXT, true, offsetof(fsim_system, hw)},
               {"gpus", COUNT, true, offsetof(fsim_system, gpus)},
               {"tp", COUNT, false, offsetof(fsim_system, tp)},
               {"pp", COUNT, false, offsetof(fsim_system, pp)},
               {"dp", COUNT, false, offsetof(fsim_system, dp)},
               {"ep", COUNT, false, offsetof(fsim_system, ep)},
               {"mode", MODE, true, offsetof(fsim_system, mode)},
               {"batch", COUNT, false, offsetof(fsim_system, batch)},
               {"input_len", COUNT, false, offsetof(fsim_system, input)},
               {"output_len", COUNT, false, offsetof(fsim_system, output)},
               {"metric", TEXT, true, offsetof(fsim_system, metric)},
               {"value", NUMBER, true, offsetof(fsim_system, value)},
               {"unit", TEXT, true, offsetof(fsim_system, unit)},
               {"notes", TEXT, false, offsetof(fsim_system, notes)}};
enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct {
    fsim_csv csv;
    fsim_diag *diag;
    int field[COLUMNS]; /* of each column; -1: the file lacks it */
} reader;

static void read_header(reader *r)
{
    for (int c = 0; c < COLUMNS; c++) {
        r->field[c] = -1;
        for (int f = 0; f < r->csv.fields; f++)
            if (strcmp(r->csv.field[f].text, columns[c].name) == 0)
                r->field[c] = f;
        if (r->field[c] < 0 && columns[c].needed)
            fsim_error(r->diag, fsim_csv_place(&r->csv, 0), "no column '%s'", columns[c].name);
    }
}

static bool read_mode(reader *r, fsim_loc at, const char *text, fsim_system_mode *out)
{
    for (int m = 0; m < FSIM_SYSTEM_MODES; m++)
        if (strcmp(text, fsim_system_mode_names[m]) == 0) {
            *out = (fsim_system_mode)m;
            return true;
        }
    fsim_error(r->diag, at, "no mode '%s'%s", text,
               fsim_did_you_mean(r->csv.arena, text, fsim_system_mode_names, FSIM_SYSTEM_MODES));
    return false;
}

/* A count that is no whole number is an error; one that is below 1 or beyond all machines is a fault of its row. */
static bool read_number(reader *r, int c, fsim_loc at, const char *text, fsim_system *row)
{
    void *out = (char *)row + columns[c].field;
    static const double most = 1e15;
    char *end;
    const double x = strtod(text, &end);
    const bool whole = columns[c].form == COUNT;
    if (whole && *end == '\0' && end != text && floor(x) == x && (x <= 0 || x > most)) {
        row->fault =
            fsim_printf(r->csv.arena, "column '%s' is %s: wanted a whole number above 0", columns[c].name, text);
        return true;
    }
    if (*end != '\0' || !(x > 0) || x > most || (whole && floor(x) != x)) {
        fsim_error(r->diag, at, "column '%s': '%s' is no %snumber above 0", columns[c].name, text,
                   whole ? "whole " : "");
        return false;
    }
    if (whole)
        *(int64_t *)out = (int64_t)x;
    else
        *(double *)out = x;
    return true;
}

static bool read_field(reader *r, int c, fsim_system *row)
{
    const int f = r->field[c];
    const char *text = f >= 0 && f < r->csv.fields ? r->csv.field[f].text : "";
    const fsim_loc at = fsim_csv_place(&r->csv, f < 0 ? 0 : f);
    void *out = (char *)row + columns[c].field;
    if (columns[c].form == TEXT)
        *(const char **)out = fsim_strdup(r->csv.arena, text);
    if (*text == '\0') {
        if (columns[c].needed)
            fsim_error(r->diag, at, "column '%s' is blank", columns[c].name);
        return !columns[c].needed;
    }
    if (columns[c].form == MODE)
        return read_mode(r, at, text, out);
    return columns[c].form == TEXT || read_number(r, c, at, text, row);
}

fsim_systems fsim_systems_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes)
{
    reader r = {.csv = fsim_csv_open(a, d, path, text, bytes), .diag = d};
    fsim_systems all = {0};
    int room = 0;
    if (!fsim_csv_next(&r.csv))
        return all;
    const int before = fsim_errors(d);
    read_header(&r);
    while (fsim_errors(d) == before && fsim_csv_next(&r.csv)) {
        fsim_system row = {.at = fsim_csv_place(&r.csv, 0)};
        bool good = true;
        for (int c = 0; c < COLUMNS; c++)
            good = read_field(&r, c, &row) && good;
        if (good)
            *FSIM_PUSH(a, all.at, all.count, room) = row;
        else
            break; /* a file with one bad row has many */
    }
    return all;
}
