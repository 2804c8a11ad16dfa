/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double rounded(double x)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.4g", x);
    return strtod(digits, NULL);
}

static const char *shown(fsim_arena *a, double x, fsim_dim dim)
{
    char buffer[48];
    return fsim_strdup(a, fsim_show(buffer, sizeof buffer, rounded(x), dim));
}

/* A key's line; source: behind what is kept of the old one. */
static const char *line_of(fsim_arena *a, const fsim_hw *hw, const fsim_fitted_key *k, const char *fitted)
{
    const fsim_hw_row *row = &fsim_hw_rows[k->key];
    const fsim_quantity *q = &hw->q[k->key];
    const char *key = fsim_printf(a, "%s:", row->key);
    if (row->form == FSIM_HW_PEAK && !isnan(q->value)) {
        const char *sheet = q->source ? fsim_strndup(a, q->source, strcspn(q->source, ";")) : "data sheet"; /* what it says of the peak */
        return fsim_printf(a, "%-30s {peak: %s, achieved: %s, spread: %s, source: \"%s; achieved %s\"}", key, shown(a, q->value, row->dim), shown(a, k->after, row->dim),
                           shown(a, k->spread, FSIM_DIM_NONE), sheet, fitted);
    }
    return fsim_printf(a, "%-30s {%s: %s, spread: %s, source: \"%s\"}", key, row->form == FSIM_HW_PEAK ? "achieved" : "value", shown(a, k->after, row->dim),
                       shown(a, k->spread, FSIM_DIM_NONE), fitted);
}

/* The lines of a top-level key: from its own to the next that does not continue it. False where the text has none. */
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

static const char head[] = "# Fitted by: ";

/* The comments that a file begins with end here. */
static const char *end_of_head(const char *text)
{
    while (*text == '#') {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

/* The text with a comment that names the command; one that names the same, on whatever day, goes. */
static const char *with_head(fsim_arena *a, const char *text, const char *command)
{
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

const char *fsim_calibrated_text(fsim_arena *a, const char *text, const fsim_hw *hw, const fsim_fit *fit, int fits, const char *date, const char *command)
{
    text = with_head(a, text, command);
    for (int f = 0; f < fits; f++)
        for (int k = 0; k < fit[f].fitted_keys && !fit[f].refused; k++) {
            const fsim_fitted_key *key = &fit[f].key[k];
            const char *fitted = fsim_printf(a, "fitted: %s, %d rows of %s, %s", fit[f].files, key->rows, fit[f].group->name, date), *from, *to;
            const char *line = line_of(a, hw, key, fitted);
            if (lines_of(text, fsim_hw_rows[key->key].key, &from, &to))
                text = fsim_printf(a, "%.*s%s\n%s", (int)(from - text), text, line, to);
            else
                text = fsim_printf(a, "%s%s%s\n", text, *text && text[strlen(text) - 1] != '\n' ? "\n" : "", line);
        }
    return text;
}
