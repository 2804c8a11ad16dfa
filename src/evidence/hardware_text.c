/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/hardware_text.h"

#include "evidence/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Four significant digits; counts are exact. */
static double rounded(double x)
{
    if (x == floor(x) && fabs(x) < 1e6)
        return x;
    char digits[40];
    snprintf(digits, sizeof digits, "%.4g", x);
    return strtod(digits, NULL);
}

/* Bytes in the largest binary unit in which they are a whole number. */
static const char *shown_bytes(fsim_arena *a, double bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB"};
    int u = 0;
    for (; u < 3 && bytes >= 1024 && fmod(bytes, 1024) == 0; u++)
        bytes /= 1024;
    return fsim_printf(a, "%.0f %s", bytes, unit[u]);
}

static const char *shown(fsim_arena *a, double x, fsim_dim dim)
{
    char buffer[48];
    return dim == FSIM_DIM_BYTES ? shown_bytes(a, x)
                                 : fsim_strdup(a, fsim_show(buffer, sizeof buffer, rounded(x), dim));
}

const char *fsim_hw_entry_line(fsim_arena *a, const fsim_hw_entry *e)
{
    const fsim_hw_row *row = &fsim_hw_rows[e->key];
    const char *line = fsim_printf(a, "%-30s {", fsim_printf(a, "%s:", row->key)),
               *name = row->form == FSIM_HW_PEAK && !isnan(e->achieved) ? "peak" : "value";
    if (!isnan(e->value))
        line = fsim_printf(a, "%s%s: %s, ", line, name, shown(a, e->value, row->dim));
    if (!isnan(e->achieved))
        line = fsim_printf(a, "%sachieved: %s, ", line, shown(a, e->achieved, row->dim));
    if (!isnan(e->spread))
        line = fsim_printf(a, "%sspread: %s, ", line, shown(a, e->spread, FSIM_DIM_NONE));
    return fsim_printf(a, "%ssource: \"%s\"}", line, e->source);
}

/* The line of a fitted key; fitted: added to what is kept of its old source. */
static const char *line_of(fsim_arena *a, const fsim_hw *hw, const fsim_fitted_key *k, const char *fitted)
{
    const fsim_quantity *q = &hw->q[k->key];
    fsim_hw_entry e = {k->key, k->after, NAN, k->spread, fitted};
    if (fsim_hw_rows[k->key].form == FSIM_HW_PEAK) {
        e.value = q->value;
        e.achieved = k->after;
    }
    if (!isnan(e.achieved) && !isnan(e.value)) {
        const char *sheet = q->source ? fsim_strndup(a, q->source, strcspn(q->source, ";"))
                                      : "data sheet"; /* the part of the source that is about the peak */
        e.source = fsim_printf(a, "%s; achieved %s", sheet, fitted);
    }
    return fsim_hw_entry_line(a, &e);
}

/* Finds the lines of a top-level key: from the key to the next line that does not continue it. False where the text
 * does not have it. */
static bool lines_of(const char *text, const char *key, const char **from, const char **to)
{
    const size_t length = strlen(key);
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (strncmp(p, key, length) == 0 && p[length] == ':') {
            *from = p;
            do {
                p += strcspn(p, "\n");
                p += *p == '\n';
            } while (*p == ' ' || *p == '\t');
            *to = p;
            return true;
        }
    return false;
}

/* The end of the comments at the beginning of the file. */
static const char *end_of_head(const char *text)
{
    while (*text == '#') {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

const char *fsim_hw_text_head(fsim_arena *a, const char *text, const char *label, const char *command)
{
    const char *head = fsim_printf(a, "# %s", label);
    const char *end = end_of_head(text), *day = strrchr(command, '('), *kept = "";
    const size_t same = day ? (size_t)(day - command) : strlen(command);
    for (const char *p = text; p < end;) {
        const size_t length = strcspn(p, "\n") + 1;
        if (strncmp(p, head, strlen(head)) != 0 || strncmp(p + strlen(head), command, same) != 0)
            kept = fsim_printf(a, "%s%.*s", kept, (int)length, p);
        p += length;
    }
    return fsim_printf(a, "%s%s%s\n%s", kept, head, command, end);
}

const char *fsim_hw_text_line(fsim_arena *a, const char *text, const char *key, const char *line)
{
    const char *from, *to;
    if (lines_of(text, key, &from, &to))
        return fsim_printf(a, "%.*s%s\n%s", (int)(from - text), text, line, to);
    return fsim_printf(a, "%s%s%s\n", text, *text && text[strlen(text) - 1] != '\n' ? "\n" : "", line);
}

const char *fsim_calibrated_text(fsim_arena *a, const char *text, const fsim_hw *hw, const fsim_fit *fit, int fits,
                                 const fsim_calibration_note *note)
{
    text = fsim_hw_text_head(a, text, "Fitted by: ", note->command);
    for (int f = 0; f < fits; f++)
        for (int k = 0; k < fit[f].fitted_keys && !fit[f].refused; k++) {
            const fsim_fitted_key *key = &fit[f].key[k];
            const char *others = key->others == 0 ? ""
                                                  : fsim_printf(a, " and those of %d other GPU%s", key->others,
                                                                key->others == 1 ? "" : "s");
            const char *fitted = fsim_printf(a, "fitted: %s, %d rows of %s%s, %s", fit[f].files, key->rows,
                                             fit[f].group->name, others, note->date);
            text = fsim_hw_text_line(a, text, fsim_hw_rows[key->key].key, line_of(a, hw, key, fitted));
        }
    return text;
}
