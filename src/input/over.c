/* SPDX-License-Identifier: Apache-2.0 */
#include "input/over.h"

#include "base/names.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const fsim_loc command_line = {NULL, 0, 0};

typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    const char *text; /* the option's */
    fsim_over *axis;
    fsim_names seen;
    int room;
} reading;

/* False where it came before, or is one too many. */
static bool add(reading *r, const char *value)
{
    if (fsim_names_get(&r->seen, value) >= 0) {
        fsim_error(r->d, command_line, "--over '%s': the value %s comes twice", r->text, value);
        return false;
    }
    if (r->axis->values == FSIM_MOST_VALUES) {
        fsim_error(r->d, command_line, "--over '%s': more than %d values", r->text, FSIM_MOST_VALUES);
        return false;
    }
    fsim_names_set(r->a, &r->seen, value, r->axis->values);
    *FSIM_PUSH(r->a, r->axis->value, r->axis->values, r->room) = value;
    return true;
}

/* A whole number from *text on, which moves behind it. False where there is none. */
static bool number(const char **text, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(*text, &end, 10);
    if (end == *text || errno || **text == '+' || **text == ' ')
        return false;
    *text = end;
    return true;
}

/* "FIRST:LAST", "FIRST:LAST:STEP" or "FIRST:LAST:xFACTOR". */
static bool add_range(reading *r, const char *word)
{
    const char *p = word;
    int64_t first, last, step = 1;
    bool good = number(&p, &first) && *p++ == ':' && number(&p, &last), times = false;
    if (good && *p == ':') {
        times = p[1] == 'x';
        p += 1 + times;
        good = number(&p, &step);
    }
    if (!good || *p || step < 1 + times || last < first || (times && first < 1)) {
        fsim_error(r->d, command_line,
                   "--over '%s': '%s' is no range; wanted FIRST:LAST, FIRST:LAST:STEP or FIRST:LAST:xFACTOR, whole "
                   "numbers, the last no lower than the first",
                   r->text, word);
        return false;
    }
    for (int64_t x = first; x <= last;) {
        if (!add(r, fsim_printf(r->a, "%" PRId64, x)))
            return false;
        if (times ? __builtin_mul_overflow(x, step, &x) : __builtin_add_overflow(x, step, &x))
            break;
    }
    return true;
}

bool fsim_over_read(fsim_arena *a, fsim_diag *d, const char *text, fsim_over *out)
{
    const char *equals = strchr(text, '=');
    reading r = {.a = a, .d = d, .text = text, .axis = out};
    *out = (fsim_over){0};
    if (!equals || equals == text || !equals[1]) {
        fsim_error(d, command_line, "--over '%s': wanted NAME=VALUES, e.g. B=1:256:x2 or S=512,2048", text);
        return false;
    }
    out->name = fsim_strndup(a, text, (size_t)(equals - text));
    out->kind = strcmp(out->name, "launch") == 0    ? FSIM_OVER_LAUNCH
                : strncmp(out->name, "hw.", 3) == 0 ? FSIM_OVER_HW
                                                    : FSIM_OVER_SYMBOL;
    for (const char *p = equals + 1;; p++) {
        const size_t length = strcspn(p, ",");
        const char *word = fsim_strndup(a, p, length);
        if (!*word) {
            fsim_error(d, command_line, "--over '%s': a value is empty", text);
            return false;
        }
        if (!(strchr(word, ':') ? add_range(&r, word) : add(&r, word)))
            return false;
        p += length;
        if (!*p)
            return true;
    }
}
