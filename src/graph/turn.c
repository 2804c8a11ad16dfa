/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/turn.h"

#include "input/expr.h"
#include <inttypes.h>
#include <string.h>

enum { MOST_BYTES = 4096 /* of a name with <...>: it is read anew in each turn */ };

bool fsim_has_turn(const char *name)
{
    const char *open = strchr(name, '<');
    return open && strchr(open, '>');
}

static bool turn_value(const void *scope, const char *name, int64_t *value)
{
    *value = *(const int64_t *)scope;
    return strcmp(name, "i") == 0;
}

/* The one of "a|b|c" for this turn. NULL where there are not as many as turns. */
static const char *choice(fsim_arena *a, const char *list, const fsim_iteration *t)
{
    int64_t count = 1, at = 0;
    for (const char *c = list; *c; c++)
        count += *c == '|';
    for (; at < t->number && strchr(list, '|'); at++)
        list = strchr(list, '|') + 1;
    return count == t->count ? fsim_strndup(a, list, strcspn(list, "|")) : NULL;
}

/* What stands in <...>, in this turn. NULL after an error. */
static const char *number(fsim_arena *a, fsim_diag *d, fsim_loc at, const char *text, const fsim_iteration *t)
{
    static const char *const names[] = {"i"};
    const fsim_scope scope = {turn_value, &t->number, names, 1, NULL};
    const bool optional = *text == '_';
    int64_t value;
    if (strchr(text, '|')) {
        const char *one = choice(a, text, t);
        if (!one)
            fsim_error(d, at, "'<%s>' wants a name for each of %" PRId64 " turns", text, t->count);
        return one;
    }
    if (!fsim_eval(a, d, at, text + optional, &scope, &value))
        return NULL;
    return optional && value == 0 ? "" : fsim_printf(a, "%s%" PRId64, optional ? "_" : "", value);
}

const char *fsim_turn_text(fsim_arena *a, fsim_diag *d, fsim_loc at, const char *text, const fsim_iteration *t)
{
    const char *out = "", *rest = text;
    if (!fsim_has_turn(text))
        return text;
    if (strlen(text) > MOST_BYTES) {
        fsim_error(d, at, "a name with <...> has at most %d characters", MOST_BYTES);
        return text;
    }
    for (const char *open, *close; (open = strchr(rest, '<')) && (close = strchr(open, '>')); rest = close + 1) {
        const char *inside = number(a, d, at, fsim_strndup(a, open + 1, (size_t)(close - open - 1)), t);
        if (!inside)
            return text;
        out = fsim_printf(a, "%s%.*s%s", out, (int)(open - rest), rest, inside);
    }
    return fsim_printf(a, "%s%s", out, rest);
}

const char *fsim_turn_name(fsim_arena *a, fsim_diag *d, fsim_loc at, const char *name, const fsim_iteration *t)
{
    if (!fsim_has_turn(name))
        return fsim_printf(a, "%s%s", name, t->suffix);
    return fsim_printf(a, "%s%s", fsim_turn_text(a, d, at, name, t), t->outer);
}
