/* SPDX-License-Identifier: Apache-2.0 */
/* symbolic.c: each symbol at two other values, and all at others together. A number is fitted as a product of symbols,
 * or as a sum of them, and the expression has to give the number of every reading. */
#include "import/symbolic.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SYMBOLS = 8, /* that are fitted */
    MOST_READINGS = 3 * MOST_SYMBOLS + 2,
    MOST_LISTED = 8 /* numbers that stay, by name */
};

/* The model at one set of values. */
typedef struct {
    int64_t value[MOST_SYMBOLS];
    const fsim_yaml *yaml;
    int only; /* the one symbol that has another value than at first; -1: several */
} reading;

typedef struct {
    fsim_arena *a;
    const char *name;
    const fsim_workload_wanted *how;
    const char *symbol[MOST_SYMBOLS];
    int symbols;
    reading at[MOST_READINGS]; /* the first: as the user asked for it */
    int readings;
    const char *left;
    int lefts;
} fitter;

/* What a number is at each reading. */
typedef struct {
    int64_t y[MOST_READINGS];
    bool changes[MOST_SYMBOLS]; /* with each symbol */
} number;

/* Readings. */

static bool is_identifier(const char *name)
{
    bool good = isalpha((unsigned char)*name) || *name == '_';
    for (const char *c = name; *c; c++)
        good = good && (isalnum((unsigned char)*c) || *c == '_');
    return good;
}

static bool whole(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return *text && !*end && errno == 0;
}

/* Are the trees equal but for numbers? */
static bool same_but_values(const fsim_yaml *x, const fsim_yaml *y)
{
    int64_t value;
    if (x->kind != y->kind || x->count != y->count)
        return false;
    if (x->kind == FSIM_YAML_SCALAR)
        return strcmp(x->text, y->text) == 0 || (whole(x->text, &value) && whole(y->text, &value));
    for (int i = 0; i < x->count; i++)
        if ((x->kind == FSIM_YAML_MAPPING && strcmp(x->key[i]->text, y->key[i]->text) != 0) ||
            !same_but_values(x->item[i], y->item[i]))
            return false;
    return true;
}

/* Reads the model with these values. False where it can't be read so, or is another model then. */
static bool read_at(fitter *f, const int64_t *value, int only)
{
    fsim_workload_wanted how = *f->how;
    fsim_binding *set = fsim_new(f->a, fsim_binding, how.sets + f->symbols + 1);
    for (int i = 0; i < how.sets; i++)
        set[i] = how.set[i];
    for (int i = 0; i < f->symbols; i++)
        set[how.sets + i] = (fsim_binding){f->symbol[i], fsim_printf(f->a, "%" PRId64, value[i])};
    how.set = set;
    how.sets += f->symbols;
    const fsim_yaml *y = fsim_tree_load(f->a, fsim_diag_new(f->a), f->name, &how).yaml;
    if (!y || f->readings == MOST_READINGS || !same_but_values(f->at[0].yaml, y))
        return false;
    reading *to = &f->at[f->readings++];
    *to = (reading){.yaml = y, .only = only};
    memcpy(to->value, value, sizeof to->value);
    return true;
}

/* Reads the model at other values of one symbol: multiples of the first, which what divides it divides too, and the
 * next number. Returns how many worked. */
static int read_others(fitter *f, int symbol)
{
    int64_t value[MOST_SYMBOLS];
    const int64_t first = f->at[0].value[symbol], tries[] = {2 * first, 3 * first, first + 1, first / 2, 4 * first};
    int worked = 0;
    memcpy(value, f->at[0].value, sizeof value);
    for (size_t i = 0; i < sizeof tries / sizeof *tries && worked < 3; i++) {
        value[symbol] = tries[i];
        if (tries[i] > 0 && tries[i] != first && !(worked > 0 && f->at[f->readings - 1].value[symbol] == tries[i]))
            worked += read_at(f, value, symbol);
    }
    return worked;
}

static void note(fitter *f, const char *text)
{
    if (f->lefts++ < MOST_LISTED)
        f->left = fsim_printf(f->a, "%s%s\n", f->left, text);
}

/* The model at two sets of values of which all are others. */
static void read_together(fitter *f)
{
    int64_t value[2][MOST_SYMBOLS];
    for (int i = 0; i < f->symbols; i++) {
        value[0][i] = f->at[0].value[i] * (2 + i % 2);
        value[1][i] = f->at[0].value[i] * (3 - i % 2);
    }
    for (int i = 0; i < 2 && f->symbols > 1; i++)
        (void)read_at(f, value[i], -1);
}

static void read_all(fitter *f)
{
    const int asked = f->symbols;
    for (int i = 0; i < asked; i++)
        if (read_others(f, i) == 0)
            note(f, fsim_printf(f->a,
                                "%s: with another value the model has other operators, or can't be read; numbers that "
                                "follow from it "
                                "stay numbers",
                                f->symbol[i]));
    read_together(f);
}

/* Fits. */

/* c * product / k, or the sum of slope[i] * symbol i, over k. */
typedef struct {
    bool product;
    int64_t factor, over, offset, slope[MOST_SYMBOLS];
} form;

static bool value_of(const fitter *f, const form *x, const number *n, const reading *at, int64_t *out)
{
    int64_t sum = x->product ? x->factor : x->offset, term;
    for (int i = 0; i < f->symbols; i++) {
        if (!n->changes[i])
            continue;
        if (x->product
                ? __builtin_mul_overflow(sum, at->value[i], &sum)
                : __builtin_mul_overflow(x->slope[i], at->value[i], &term) || __builtin_add_overflow(sum, term, &sum))
            return false;
    }
    *out = sum / x->over;
    return true;
}

static bool fits(const fitter *f, const form *x, const number *n)
{
    for (int r = 0; r < f->readings; r++) {
        int64_t value;
        if (!value_of(f, x, n, &f->at[r], &value) || value != n->y[r])
            return false;
    }
    return true;
}

static int64_t common(int64_t x, int64_t y) { return y == 0 ? (x < 0 ? -x : x) : common(y, x % y); }

static bool fit_product(const fitter *f, const number *n, form *x)
{
    int64_t product = 1;
    for (int i = 0; i < f->symbols; i++)
        if (n->changes[i] && __builtin_mul_overflow(product, f->at[0].value[i], &product))
            return false;
    const int64_t by = common(n->y[0], product);
    if (by == 0 || n->y[0] == 0)
        return false;
    *x = (form){.product = true, .factor = n->y[0] / by, .over = product / by};
    return fits(f, x, n);
}

/* The slope along one symbol, as a fraction. */
static bool slope_of(const fitter *f, const number *n, int symbol, int64_t *rise, int64_t *run)
{
    for (int r = 1; r < f->readings; r++)
        if (f->at[r].only == symbol) {
            *rise = n->y[r] - n->y[0];
            *run = f->at[r].value[symbol] - f->at[0].value[symbol];
            const int64_t by = common(*rise, *run) * (*run < 0 ? -1 : 1);
            *rise /= by;
            *run /= by;
            return true;
        }
    return false;
}

static bool fit_sum(const fitter *f, const number *n, form *x)
{
    enum { MOST_OVER = 4096 };
    int symbols = 0;
    *x = (form){.over = 1};
    for (int i = 0; i < f->symbols; i++) {
        int64_t run = 1;
        if (!n->changes[i])
            continue;
        if (!slope_of(f, n, i, &x->slope[i], &run) || (symbols++ > 0 && run != x->over) || run > MOST_OVER)
            return false;
        x->over = run;
    }
    int64_t now = 0;
    form whole_sum = *x;
    whole_sum.over = 1;
    if (!value_of(f, &whole_sum, n, &f->at[0], &now) || __builtin_mul_overflow(n->y[0], x->over, &x->offset) ||
        __builtin_sub_overflow(x->offset, now, &x->offset))
        return false;
    for (int64_t i = 0; i < x->over; i++, x->offset++)
        if (fits(f, x, n))
            return true;
    return false;
}

static const char *product_text(const fitter *f, const form *x, const number *n)
{
    const char *text = x->factor == 1 ? "" : fsim_printf(f->a, "%" PRId64, x->factor);
    for (int i = 0; i < f->symbols; i++)
        if (n->changes[i])
            text = fsim_printf(f->a, "%s%s%s", text, *text ? " * " : "", f->symbol[i]);
    return x->over == 1 ? text : fsim_printf(f->a, "%s / %" PRId64, text, x->over);
}

static const char *sum_text(const fitter *f, const form *x, const number *n)
{
    const char *text = "";
    for (int i = 0; i < f->symbols; i++) {
        const int64_t slope = n->changes[i] ? x->slope[i] : 0, size = slope < 0 ? -slope : slope;
        const char *sign = slope < 0 ? (*text ? " - " : "-") : *text ? " + " : "";
        if (slope)
            text = size == 1 ? fsim_printf(f->a, "%s%s%s", text, sign, f->symbol[i])
                             : fsim_printf(f->a, "%s%s%" PRId64 " * %s", text, sign, size, f->symbol[i]);
    }
    if (x->offset)
        text = fsim_printf(f->a, "%s %c %" PRId64, text, x->offset < 0 ? '-' : '+',
                           x->offset < 0 ? -x->offset : x->offset);
    return x->over == 1 ? text : fsim_printf(f->a, "(%s) / %" PRId64, text, x->over);
}

/* The expression that gives the number of every reading. NULL where there is none of these forms. */
static const char *expression(const fitter *f, number *n)
{
    form x;
    bool any = false;
    for (int r = 1; r < f->readings; r++)
        if (f->at[r].only >= 0 && n->y[r] != n->y[0])
            any = n->changes[f->at[r].only] = true;
    if (any && fit_product(f, n, &x))
        return product_text(f, &x, n);
    return any && fit_sum(f, n, &x) ? sum_text(f, &x, n) : NULL;
}

/* Trees. */

/* y[r]: the same place of the tree of each reading. path: the nearest name above, for comments. */
static fsim_yaml *fitted(fitter *f, const fsim_yaml *const *y, const char *path)
{
    fsim_yaml *copy = fsim_new(f->a, fsim_yaml, 1);
    *copy = *y[0];
    if (copy->kind == FSIM_YAML_SCALAR) {
        number n = {{0}, {0}};
        bool same = true, good = true;
        for (int r = 0; r < f->readings; r++) {
            same = same && strcmp(y[r]->text, copy->text) == 0;
            good = good && whole(y[r]->text, &n.y[r]);
        }
        const char *text = same || !good ? NULL : expression(f, &n);
        if (text)
            copy->text = text;
        else if (!same)
            note(f, fsim_printf(f->a, "%s: %s does not follow from a symbol by a product or a sum", path, copy->text));
        return copy;
    }
    const fsim_yaml *out = copy->kind == FSIM_YAML_MAPPING ? fsim_yaml_get(copy, "out") : NULL;
    if (out)
        path = out->kind == FSIM_YAML_SEQUENCE && out->count > 0 ? out->item[0]->text : out->text ? out->text : path;
    copy->item = fsim_new(f->a, fsim_yaml *, copy->count + 1);
    for (int i = 0; i < copy->count; i++) {
        const fsim_yaml *below[MOST_READINGS];
        for (int r = 0; r < f->readings; r++)
            below[r] = y[r]->item[i];
        const char *key = copy->kind == FSIM_YAML_MAPPING ? copy->key[i]->text : NULL;
        const bool symbols = key && strcmp(key, "symbols") == 0 && y[0] == f->at[0].yaml;
        const bool entry = y[0] == fsim_yaml_get(f->at[0].yaml, "tensors");
        copy->item[i] = symbols ? (fsim_yaml *)below[0] : fitted(f, below, entry ? key : path);
    }
    return copy;
}

fsim_symbolic fsim_symbolic_tree(fsim_arena *a, const char *name, const fsim_workload_wanted *how,
                                 const fsim_tree *tree)
{
    const fsim_yaml *symbols = fsim_yaml_get(tree->yaml, "symbols");
    fitter *f = fsim_new(a, fitter, 1);
    *f = (fitter){.a = a, .name = name, .how = how, .left = "", .readings = 1};
    f->at[0] = (reading){.yaml = tree->yaml, .only = -1};
    for (int i = 0; symbols && i < symbols->count && f->symbols < MOST_SYMBOLS; i++) {
        int64_t value;
        if (!symbols->item[i]->text || !whole(symbols->item[i]->text, &value) || value < 1)
            continue;
        if (!is_identifier(symbols->key[i]->text)) {
            note(f, fsim_printf(a, "%s: no name for a symbol; numbers that follow from it stay numbers",
                                symbols->key[i]->text));
            continue;
        }
        f->at[0].value[f->symbols] = value;
        f->symbol[f->symbols++] = symbols->key[i]->text;
    }
    read_all(f);
    const fsim_yaml *y[MOST_READINGS];
    for (int r = 0; r < f->readings; r++)
        y[r] = f->at[r].yaml;
    const fsim_yaml *out = f->readings > 1 ? fitted(f, y, "") : tree->yaml;
    if (f->lefts > MOST_LISTED)
        f->left = fsim_printf(a, "%sand %d more\n", f->left, f->lefts - MOST_LISTED);
    return (fsim_symbolic){out, f->left};
}
