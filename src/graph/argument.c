/* SPDX-License-Identifier: Apache-2.0 */
/* argument.c: the attributes of an operator, as the workload has them, by attribute.def. */
#include "graph/alias.h"
#include "graph/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is v in the attribute's range? */
static bool in_range(fsim_reader *r, fsim_loc at, const fsim_attr_row *row, double v)
{
    if (v >= row->least && v <= row->most)
        return true;
    if (isinf(row->most))
        fsim_error(r->diag, at, "'%s' is %g; wants at least %g", row->name, v, row->least);
    else
        fsim_error(r->diag, at, "'%s' is %.17g; wants %.17g to %.17g", row->name, v, row->least, row->most);
    return false;
}

/* `roll: true` is the same as 1, `roll: false` as no roll. */
static bool is_roll_word(fsim_attr attr, const fsim_yaml *y, fsim_list *l)
{
    if (attr != FSIM_ATTR_ROLL || y->kind != FSIM_YAML_SCALAR)
        return false;
    const bool yes = strcmp(y->text, "true") == 0;
    if (yes)
        l->at[l->count++] = 1;
    l->present = yes || strcmp(y->text, "false") != 0;
    return yes || !l->present;
}

/* One integer or a list. A list of lengths may be as long as a tensor's rank; the rule checks that. */
static bool read_list(fsim_reader *r, const fsim_yaml *y, fsim_attr attr, fsim_list *l)
{
    const fsim_attr_row *row = &fsim_attr_rows[attr];
    enum { ROOM = sizeof l->at / sizeof l->at[0] };
    l->whole = y->kind == FSIM_YAML_SCALAR;
    if (is_roll_word(attr, y, l))
        return true;
    if (y->kind == FSIM_YAML_MAPPING || (!l->whole && y->count > ROOM)) {
        fsim_error(r->diag, y->at, "'%s' wants an integer or a list of at most %d", row->name, ROOM);
        return false;
    }
    bool ok = true;
    for (int i = 0; i < (l->whole ? 1 : y->count); i++) {
        const fsim_yaml *one = l->whole ? y : y->item[i];
        ok = fsim_read_int(r, one, row->name, &l->at[i]) && in_range(r, one->at, row, (double)l->at[i]) && ok;
        l->count++;
    }
    return ok;
}

static bool read_word(fsim_reader *r, const fsim_yaml *y, const fsim_attr_row *row, double *value)
{
    if (!fsim_want_scalar(r, y, row->name))
        return false;
    const int i = fsim_word_index(row->words, y->text);
    *value = i;
    if (i >= 0)
        return true;
    fsim_error(r->diag, y->at, "'%s' is '%s'; wants %s", row->name, y->text, row->words);
    return false;
}

static bool read_type(fsim_reader *r, const fsim_yaml *y, const fsim_attr_row *row, double *value)
{
    fsim_dtype t = FSIM_TF32;
    const bool is_word = row->words && y->kind == FSIM_YAML_SCALAR && fsim_word_index(row->words, y->text) >= 0;
    const bool ok = is_word || fsim_read_dtype(r, y, &t);
    *value = t;
    return ok;
}

/* Is it a number that is written with a fraction, as 2.0 and 1e3 are? A symbol with an e in its name is none. */
static bool is_fraction(const char *text)
{
    char *end;
    (void)strtod(text, &end);
    return end != text && !*end && strpbrk(text, ".eE");
}

static bool read_attr(fsim_reader *r, fsim_call *c, fsim_attr attr, const fsim_yaml *y)
{
    const fsim_attr_row *row = &fsim_attr_rows[attr];
    char what[32];
    snprintf(what, sizeof what, "'%s'", row->name);
    double value = 0;
    int64_t whole = 0;
    bool flag = false, ok = false;
    switch (row->type) {
    case FSIM_TYPE_DIMS:
    case FSIM_TYPE_SIZES:
    case FSIM_TYPE_INTS:
        return read_list(r, y, attr, &c->list[attr]);
    case FSIM_TYPE_INT:
        ok = fsim_read_int(r, y, what, &whole) && in_range(r, y->at, row, (double)whole);
        value = (double)whole;
        break;
    case FSIM_TYPE_NUMBER:
        ok = fsim_read_number(r, y, what, &value) && in_range(r, y->at, row, value);
        break;
    case FSIM_TYPE_FLAG:
        ok = fsim_read_flag(r, y, what, &flag);
        value = flag;
        break;
    case FSIM_TYPE_WORD:
        ok = read_word(r, y, row, &value);
        break;
    case FSIM_TYPE_DTYPE:
        ok = read_type(r, y, row, &value);
        break;
    case FSIM_TYPE_TEXT:
    case FSIM_TYPE_COUNT:
        ok = fsim_want_scalar(r, y, what);
        break;
    }
    if (ok)
        fsim_set_attr(c, attr, value);
    if (c->number == FSIM_WHOLE_NUMBER && row->type == FSIM_TYPE_NUMBER && is_fraction(y->text))
        c->number = FSIM_FRACTION; /* 2.0 is a float, as in Python */
    if (attr == FSIM_ATTR_EQUATION)
        c->equation = y->text;
    if (attr == FSIM_ATTR_EFFECTFUL)
        c->effect = flag;
    return ok;
}

/* "; did you mean 'dim'?" or "; it is an input: ..." for a key of an operator that is none of its attributes. */
static const char *meant(fsim_reader *r, fsim_op op, const char *key)
{
    const char *names[FSIM_MAX_TAKEN + 6] = {"op", "in", "out", "layer", "from", "when"},
                                       *instead = fsim_attr_instead(op, key);
    fsim_taken taken[FSIM_MAX_TAKEN];
    const int takes = fsim_taken_of(op, taken);
    for (int i = 0; i < takes; i++)
        names[6 + i] = fsim_attr_rows[taken[i].attr].name;
    return instead ? fsim_printf(r->arena, "; %s", instead) : fsim_did_you_mean(r->arena, key, names, 6 + takes);
}

static void unknown_attr(fsim_reader *r, fsim_op op, const fsim_yaml *key)
{
    fsim_error(r->diag, key->at, "unknown attribute '%s'%s", key->text, meant(r, op, key->text));
    fsim_note(r->diag, "'%s' takes %s", fsim_ops[op].name, fsim_taken_text(r->arena, op));
}

static bool has_required(const fsim_call *c)
{
    fsim_taken taken[FSIM_MAX_TAKEN];
    const int count = fsim_taken_of(c->op, taken);
    bool ok = true;
    for (int i = 0; i < count; i++)
        if (taken[i].required && !c->list[taken[i].attr].present)
            ok = fsim_refuse(c, "wants '%s': %s", fsim_attr_rows[taken[i].attr].name,
                             fsim_attr_rows[taken[i].attr].meaning);
    return ok;
}

bool fsim_read_attrs(fsim_reader *r, fsim_call *c, const fsim_yaml *y)
{
    bool ok = true;
    for (int i = 0; i < y->count; i++) {
        const char *key = y->key[i]->text;
        if (strcmp(key, "op") == 0 || strcmp(key, "in") == 0 || strcmp(key, "out") == 0 || strcmp(key, "when") == 0)
            continue;
        if (strcmp(key, "layer") == 0 || strcmp(key, "from") == 0) {
            ok = fsim_want_scalar(r, y->item[i], key) && ok;
            continue;
        }
        const fsim_attr attr = fsim_taken_named(c->op, key);
        if (attr == FSIM_ATTR_COUNT) {
            unknown_attr(r, c->op, y->key[i]);
            ok = false;
        } else if (c->list[attr].present) {
            fsim_error(r->diag, y->key[i]->at, "'%s' is given twice: '%s' has the other name%s %s", key,
                       fsim_attr_rows[attr].name, strchr(fsim_attr_aliases(r->arena, attr, c->op), ',') ? "s" : "",
                       fsim_attr_aliases(r->arena, attr, c->op));
            ok = false;
        } else {
            c->list[attr].present = true;
            ok = read_attr(r, c, attr, y->item[i]) && ok;
        }
    }
    ok = ok && has_required(c);
    fsim_default_attrs(c);
    return ok;
}
