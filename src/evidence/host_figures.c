/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/host_figures.h"

#include "evidence/hardware_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATOR, LAUNCHES, SECONDS, MACHINE, COLUMNS };
static const char *const columns[COLUMNS] = {"operator", "launches", "seconds", "machine"};

/* The rows of tools/host.py, the plain operator first. */
static const struct {
    const char *name;
    fsim_hw_key key;
} operators[] = {{"add", FSIM_HW_LAUNCH_EAGER},
                 {"convolution", FSIM_HW_HOST_CONVOLUTION},
                 {"convolution_bias", FSIM_HW_HOST_CONVOLUTION_BIAS},
                 {"linear", FSIM_HW_HOST_LINEAR},
                 {"linear_bias", FSIM_HW_HOST_LINEAR_BIAS},
                 {"matmul", FSIM_HW_HOST_MATMUL},
                 {"batch_norm", FSIM_HW_HOST_BATCH_NORM},
                 {"instance_norm", FSIM_HW_HOST_INSTANCE_NORM},
                 {"group_norm", FSIM_HW_HOST_GROUP_NORM},
                 {"layer_norm", FSIM_HW_HOST_LAYER_NORM},
                 {"softmax", FSIM_HW_HOST_SOFTMAX},
                 {"concat", FSIM_HW_HOST_CONCAT},
                 {"pool", FSIM_HW_HOST_POOL},
                 {"view", FSIM_HW_HOST_VIEW}};
enum { OPERATORS = sizeof operators / sizeof *operators, PLAIN = 0 };

typedef struct {
    fsim_csv csv;
    fsim_diag *diag;
    int field[COLUMNS];
    double seconds[OPERATORS], launches[OPERATORS]; /* seconds 0: no row */
    fsim_loc at[OPERATORS];
    const char *machine;
} reader;

static bool read_header(reader *r)
{
    if (!fsim_csv_next(&r->csv)) {
        fsim_error(r->diag, (fsim_loc){r->csv.path, 1, 1}, "the file is empty; tools/host.py writes it");
        return false;
    }
    for (int c = 0; c < COLUMNS; c++) {
        r->field[c] = -1;
        for (int f = 0; f < r->csv.fields; f++)
            if (strcmp(r->csv.field[f].text, columns[c]) == 0)
                r->field[c] = f;
        if (r->field[c] < 0)
            fsim_error(r->diag, fsim_csv_place(&r->csv, 0),
                       "no column '%s': tools/host.py writes operator, launches, seconds and machine", columns[c]);
    }
    return fsim_errors(r->diag) == 0;
}

static const char *text_of(const reader *r, int column)
{
    return r->field[column] < r->csv.fields ? r->csv.field[r->field[column]].text : "";
}

static bool read_number(reader *r, int column, double least, double most, double *out)
{
    char *end;
    const char *text = text_of(r, column);
    *out = strtod(text, &end);
    if (end != text && *end == '\0' && *out >= least && *out <= most)
        return true;
    fsim_error(r->diag, fsim_csv_place(&r->csv, r->field[column]), "'%s' is '%s'; wants %g to %g", columns[column],
               text, least, most);
    return false;
}

static void read_row(reader *r)
{
    static const double least_s = 1e-8, most_s = 1e-2, most_launches = 100;
    const char *name = text_of(r, OPERATOR), *names[OPERATORS];
    int at = -1;
    for (int i = 0; i < OPERATORS; i++) {
        names[i] = operators[i].name;
        at = strcmp(name, names[i]) == 0 ? i : at;
    }
    const fsim_loc place = fsim_csv_place(&r->csv, r->field[OPERATOR]);
    if (at < 0)
        fsim_error(r->diag, place, "no operator '%s'%s", name, fsim_did_you_mean(r->csv.arena, name, names, OPERATORS));
    else if (r->seconds[at] > 0)
        fsim_error(r->diag, place, "a second row of '%s'; the first is in line %d", name, r->at[at].line);
    else if (read_number(r, LAUNCHES, 0, most_launches, &r->launches[at]) &&
             read_number(r, SECONDS, least_s, most_s, &r->seconds[at])) {
        r->at[at] = place;
        r->machine = fsim_strdup(r->csv.arena, text_of(r, MACHINE));
    }
}

/* The figures in the order of the table. */
static void set_figures(const reader *r, fsim_hw *hw, fsim_fit *fit)
{
    const double launch_s = r->seconds[PLAIN] / r->launches[PLAIN];
    for (int i = 0; i < OPERATORS; i++) {
        if (!(r->seconds[i] > 0))
            continue;
        const fsim_hw_key key = operators[i].key;
        const double after = i == PLAIN ? launch_s : fmax(0, r->seconds[i] / launch_s - r->launches[i]);
        fit->key[fit->fitted_keys++] = (fsim_fitted_key){key, fsim_hw_get(hw, key), after, NAN, 1, 0};
        if (after < fsim_hw_rows[key].low || after > fsim_hw_rows[key].high)
            fsim_error(r->diag, r->at[i], "'%s' would be %.4g; wants %g to %g", fsim_hw_rows[key].key, after,
                       fsim_hw_rows[key].low, fsim_hw_rows[key].high);
        hw->q[key].value = after;
        fit->rows++;
    }
}

bool fsim_read_host_figures(const fsim_csv *file, fsim_hw *hw, fsim_fit *fit)
{
    static const fsim_fit_group host = {.name = "host", .help = "what PyTorch's host takes for operators"};
    fsim_diag *const d = file->diag;
    reader r = {.csv = *file, .diag = d, .machine = ""};
    const int errors = fsim_errors(d);
    if (!read_header(&r))
        return false;
    while (fsim_csv_next(&r.csv))
        read_row(&r);
    if (fsim_errors(d) == errors && !(r.seconds[PLAIN] > 0 && r.launches[PLAIN] > 0))
        fsim_error(d, (fsim_loc){file->path, 1, 1}, "no row of '%s' with its launches, in which the others are counted",
                   operators[PLAIN].name);
    if (fsim_errors(d) > errors)
        return false;
    const char *slash = strrchr(file->path, '/');
    *fit = (fsim_fit){
        .group = &host,
        .files = fsim_printf(file->arena, "%s%s%s", slash ? slash + 1 : file->path, *r.machine ? ", " : "", r.machine)};
    set_figures(&r, hw, fit);
    return fsim_errors(d) == errors;
}

const char *fsim_host_figures_text(fsim_arena *a, const char *text, const fsim_fit *fit,
                                   const fsim_calibration_note *note)
{
    text = fsim_hw_text_head(a, text, "Measured by: ", note->command);
    for (int k = 0; k < fit->fitted_keys; k++) {
        const fsim_fitted_key *f = &fit->key[k];
        const fsim_hw_entry e = {f->key, f->after, NAN, NAN,
                                 fsim_printf(a, "measured: tools/host.py, %s, %s", fit->files, note->date)};
        text = fsim_hw_text_line(a, text, fsim_hw_rows[f->key].key, fsim_hw_entry_line(a, &e));
    }
    return text;
}
