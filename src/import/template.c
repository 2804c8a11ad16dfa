/* SPDX-License-Identifier: Apache-2.0 */
#include "import/template.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4000, MOST_DIGITS = 9 };

/* Bytes of the number at text; 0 where there is none that is written as numbers are printed. */
static size_t number_bytes(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    return digits == 0 || digits > MOST_DIGITS || (*text == '0' && digits > 1) ? 0 : digits;
}

/* The names, each read up to at[t]. */
typedef struct {
    fsim_arena *a;
    const char **at;
    int64_t *value;
    int count;
    const char *out;
} reader;

static void add(reader *r, const char *text) { r->out = fsim_printf(r->a, "%s%s", r->out, text); }

/* value[t] = first + step * t? */
static bool is_line(const reader *r, int64_t *first, int64_t *step)
{
    *first = r->value[0];
    *step = r->count > 1 ? r->value[1] - r->value[0] : 0;
    for (int t = 0; t < r->count; t++)
        if (r->value[t] != *first + *step * t)
            return false;
    return true;
}

/* "i", "6 * i", "i + 4", "6 * i + 4", "11 - i". */
static const char *line_text(fsim_arena *a, int64_t first, int64_t step)
{
    if (step < 0)
        return step == -1 ? fsim_printf(a, "%" PRId64 " - i", first)
                          : fsim_printf(a, "%" PRId64 " - %" PRId64 " * i", first, -step);
    const char *i = step == 1 ? "i" : fsim_printf(a, "%" PRId64 " * i", step);
    return first ? fsim_printf(a, "%s + %" PRId64, i, first) : i;
}

/* The numbers that all names have here. */
static void take_numbers(reader *r)
{
    int64_t first, step;
    const bool line = is_line(r, &first, &step);
    if (line && step == 0) {
        add(r, fsim_printf(r->a, "%" PRId64, first));
    } else if (line) {
        add(r, fsim_printf(r->a, "<%s>", line_text(r->a, first, step)));
    } else {
        for (int t = 0; t < r->count; t++)
            add(r, fsim_printf(r->a, "%s%" PRId64, t ? "|" : "<", r->value[t]));
        add(r, ">");
    }
}

/* Do the rest of the names end in "_N", but for the first ones, which have nothing? Then N is a line through 0. */
static bool take_optional(reader *r)
{
    int64_t first, step;
    for (int t = 0; t < r->count; t++) {
        const char *rest = r->at[t];
        const size_t digits = *rest == '_' ? number_bytes(rest + 1) : 0;
        if (*rest && (digits == 0 || rest[1 + digits]))
            return false;
        r->value[t] = *rest ? strtoll(rest + 1, NULL, 10) : 0;
        if (*rest && r->value[t] == 0)
            return false;
    }
    if (!is_line(r, &first, &step) || step <= 0)
        return false;
    add(r, fsim_printf(r->a, "<_%s>", line_text(r->a, first, step)));
    return true;
}

/* Reads on by a number or a character that all names have. False where they differ. */
static bool take(reader *r)
{
    bool number = true, same = true;
    for (int t = 0; t < r->count; t++) {
        number = number && number_bytes(r->at[t]) > 0;
        same = same && *r->at[t] == *r->at[0];
    }
    if (!number && (!same || isdigit((unsigned char)*r->at[0])))
        return false;
    if (!number)
        add(r, (const char[]){*r->at[0], 0});
    for (int t = 0; t < r->count; t++) {
        if (number)
            r->value[t] = strtoll(r->at[t], NULL, 10);
        r->at[t] += number ? number_bytes(r->at[t]) : 1;
    }
    if (number)
        take_numbers(r);
    return true;
}

/* What is left of the names, one for each turn. */
static void take_rest(reader *r)
{
    for (int t = 0; t < r->count; t++)
        add(r, fsim_printf(r->a, "%s%s", t ? "|" : "<", r->at[t]));
    add(r, ">");
}

static bool any_left(const reader *r)
{
    bool any = false;
    for (int t = 0; t < r->count; t++)
        any = any || *r->at[t];
    return any;
}

const char *fsim_name_template(fsim_arena *a, const char *const *name, int turns)
{
    reader r = {a, fsim_new(a, const char *, turns), fsim_new(a, int64_t, turns), turns, ""};
    size_t bytes = 0;
    bool equal = true;
    for (int t = 0; t < turns; t++) {
        if (strpbrk(name[t], "<>|"))
            return NULL;
        r.at[t] = name[t];
        bytes += strlen(name[t]) + 1;
        equal = equal && strcmp(name[t], name[0]) == 0;
    }
    if (equal)
        return name[0];
    if (bytes > (size_t)MOST_BYTES * 8)
        return NULL;
    while (any_left(&r))
        if (take_optional(&r))
            return strlen(r.out) <= MOST_BYTES ? r.out : NULL;
        else if (!take(&r)) {
            take_rest(&r);
            break;
        }
    return strlen(r.out) <= MOST_BYTES ? r.out : NULL;
}
