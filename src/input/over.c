/* SPDX-License-Identifier: Apache-2.0 */
#include "input/over.h"

#include "base/names.h"
#include "input/expr.h"
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

/* Up to the next comma that is not in brackets: "min(B,8)" is a word. */
static size_t word_length(const char *text)
{
    const char *p = text;
    for (int open = 0; *p && (*p != ',' || open > 0); p++)
        open += (*p == '(') - (*p == ')');
    return (size_t)(p - text);
}

/* Reads one of --over. False after an error. */
static bool read_axis(fsim_arena *a, fsim_diag *d, const char *text, fsim_over *out)
{
    const char *equals = strchr(text, '=');
    reading r = {.a = a, .d = d, .text = text, .axis = out};
    *out = (fsim_over){0};
    if (!equals || equals == text || !equals[1]) {
        fsim_error(d, command_line, "--over '%s': wanted NAME=VALUES, e.g. B=1:256:x2 or S=512,2048", text);
        return false;
    }
    out->name = fsim_strndup(a, text, (size_t)(equals - text));
    out->kind = strcmp(out->name, "launch") == 0     ? FSIM_OVER_LAUNCH
                : strcmp(out->name, "strategy") == 0 ? FSIM_OVER_STRATEGY
                : strncmp(out->name, "hw.", 3) == 0  ? FSIM_OVER_HW
                                                     : FSIM_OVER_SYMBOL;
    for (const char *p = equals + 1;; p++) {
        const size_t length = word_length(p);
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

static int axis_before(const fsim_grid *g, int end, const char *name)
{
    for (int i = 0; i < end; i++)
        if (g->axis[i].name && strcmp(g->axis[i].name, name) == 0)
            return i;
    return -1;
}

int fsim_grid_axis(const fsim_grid *g, const char *name) { return axis_before(g, g->axes, name); }

/* Is the value of a symbol an expression: has it an operator, or is it the name of an axis before? */
static bool is_expression(const fsim_grid *g, int axis, const char *value)
{
    return strpbrk(value, "+*/%()") || (*value && strchr(value + 1, '-')) || axis_before(g, axis, value) >= 0;
}

/* Does the axis vary with another? */
static bool is_zipped(const fsim_grid *g, int axis)
{
    bool zipped = false;
    for (int i = 0; i < g->axes; i++)
        zipped = zipped || (i != axis && g->axis[i].along == g->axis[axis].along);
    return zipped;
}

/* A list of --zip: its axes get the direction of the first. */
static void zip_axes(fsim_arena *a, fsim_diag *d, const char *text, fsim_grid *g)
{
    int first = -1, named = 0;
    for (const char *p = text;; p++) {
        const size_t length = strcspn(p, ",");
        const char *name = fsim_strndup(a, p, length);
        const int i = fsim_grid_axis(g, name);
        const char *known[FSIM_MOST_AXES];
        for (int k = 0; k < g->axes; k++)
            known[k] = g->axis[k].name;
        if (i < 0)
            fsim_error(d, command_line, "--zip '%s': no --over varies '%s'%s", text, name,
                       fsim_did_you_mean(a, name, known, g->axes));
        else if (i == first || is_zipped(g, i))
            fsim_error(d, command_line, "--zip '%s': '%s' is zipped twice", text, name);
        else if (first < 0)
            first = i;
        else if (g->axis[i].values != g->axis[first].values)
            fsim_error(d, command_line, "--zip '%s': '%s' has %d value%s, '%s' has %d", text, name, g->axis[i].values,
                       g->axis[i].values == 1 ? "" : "s", g->axis[first].name, g->axis[first].values);
        else
            g->axis[i].along = g->axis[first].along;
        named++;
        p += length;
        if (!*p)
            break;
    }
    if (named < 2)
        fsim_error(d, command_line, "--zip '%s': wanted two names of --over or more, e.g. B,S", text);
}

/* Directions from the axes' marks, which are so far the same where axes vary together. */
static void set_directions(fsim_diag *d, fsim_grid *g)
{
    int number[FSIM_MOST_AXES];
    int64_t combinations = 1;
    for (int i = 0; i < g->axes; i++) {
        int first = 0;
        while (g->axis[first].along != g->axis[i].along)
            first++;
        if (first == i) {
            number[i] = g->directions++;
            g->length[number[i]] = g->axis[i].values;
            combinations = combinations > FSIM_MOST_POINTS ? combinations : combinations * g->axis[i].values;
        } else {
            number[i] = number[first];
        }
    }
    for (int i = 0; i < g->axes; i++)
        g->axis[i].along = number[i];
    g->combinations = (int)combinations;
    if (combinations > FSIM_MOST_POINTS)
        fsim_error(d, command_line, "--over: more than %d points", FSIM_MOST_POINTS);
}

bool fsim_grid_read(fsim_arena *a, fsim_diag *d, const fsim_grid_texts *t, fsim_grid *out)
{
    const int errors = fsim_errors(d);
    *out = (fsim_grid){.axis = fsim_new(a, fsim_over, FSIM_MOST_AXES)};
    if (t->overs > FSIM_MOST_AXES)
        fsim_error(d, command_line, "--over: at most %d of them", FSIM_MOST_AXES);
    for (int i = 0; i < t->overs && i < FSIM_MOST_AXES; i++, out->axes++) {
        fsim_over *axis = &out->axis[i];
        if (!read_axis(a, d, t->over[i], axis))
            continue;
        if (axis_before(out, i, axis->name) >= 0)
            fsim_error(d, command_line, "--over names '%s' twice", axis->name);
        axis->along = i;
        for (int k = 0; k < axis->values && axis->kind == FSIM_OVER_SYMBOL; k++)
            axis->computed = axis->computed || is_expression(out, i, axis->value[k]);
    }
    if (fsim_errors(d) > errors)
        return false;
    for (int i = 0; i < t->zips; i++)
        zip_axes(a, d, t->zip[i], out);
    if (fsim_errors(d) == errors)
        set_directions(d, out);
    return fsim_errors(d) == errors;
}

int fsim_grid_stride(const fsim_grid *g, int direction)
{
    int stride = 1;
    for (int i = g->directions - 1; i > direction; i--)
        stride *= g->length[i];
    return stride;
}

int fsim_grid_step(const fsim_grid *g, int combination, int direction)
{
    return combination / fsim_grid_stride(g, direction) % g->length[direction];
}

/* The values of axes before one, for its expressions. */
typedef struct {
    const fsim_grid *grid;
    int axes;
    const char *const *value;
} known_values;

static bool value_of(const void *scope, const char *name, int64_t *value)
{
    const known_values *known = scope;
    const int i = axis_before(known->grid, known->axes, name);
    const char *text = i < 0 ? "" : known->value[i];
    return i >= 0 && known->grid->axis[i].kind == FSIM_OVER_SYMBOL && number(&text, value) && !*text;
}

bool fsim_grid_values(fsim_arena *a, fsim_diag *d, const fsim_grid *g, int combination, const char **value)
{
    const char *names[FSIM_MOST_AXES];
    for (int i = 0; i < g->axes; i++) {
        names[i] = g->axis[i].name;
        value[i] = g->axis[i].value[fsim_grid_index(g, combination, i)];
        if (!g->axis[i].computed || !is_expression(g, i, value[i]))
            continue;
        const known_values known = {g, i, value};
        const fsim_scope scope = {.value = value_of, .scope = &known, .names = names, .count = i};
        int64_t result;
        if (!fsim_eval(a, d, command_line, value[i], &scope, &result))
            return false;
        value[i] = fsim_printf(a, "%" PRId64, result);
    }
    return true;
}
