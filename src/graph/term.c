/* SPDX-License-Identifier: Apache-2.0 */
/* term.c: the terms of derivative.def as primitives. A term is read while it is evaluated: constants are folded, and
 * what is left is emitted, one operator after the other. The table is ours, so that a term with a mistake in it ends
 * the program (unit.gradient reads all of them). */
#include "graph/gradient.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    fsim_derivation *d;
    const fsim_record *r;
    const char *at;
    fsim_value g;
} reader;

static fsim_value comparison(reader *t);

static void skip_spaces(reader *t)
{
    while (*t->at == ' ')
        t->at++;
}

static bool take(reader *t, const char *what)
{
    skip_spaces(t);
    const size_t length = strlen(what);
    if (strncmp(t->at, what, length) != 0)
        return false;
    t->at += length;
    return true;
}

/* A field of the primitive, by its name in op.def's expressions. */
static double field_of(const fsim_record *r, const char *name, size_t length)
{
    for (int f = 0; f < FSIM_FIELD_COUNT; f++)
        if (strlen(fsim_attr_fields[f].name) == length && strncmp(fsim_attr_fields[f].name, name, length) == 0)
            return fsim_attr_value(&r->attrs, f);
    assert(false && "a field of fsim_attrs");
    return 0;
}

static size_t word_at(const char *text)
{
    size_t n = 0;
    while ((text[n] >= 'a' && text[n] <= 'z') || text[n] == '_' || (n > 0 && text[n] >= '0' && text[n] <= '9'))
        n++;
    return n;
}

/* Argument i, or with -1 the result. A mask of bits is packed before anything is rounded. */
static fsim_value read(const reader *t, int i)
{
    return t->d->packing ? fsim_value_of(i < 0 ? t->r->result : t->r->arg[i]) : fsim_as_saved(t->d, t->r, i);
}

/* $0, $y, $g, $alpha */
static fsim_value variable(reader *t)
{
    const size_t length = word_at(t->at);
    const char *name = t->at;
    if (*name >= '0' && *name <= '9') {
        const int i = *t->at++ - '0';
        return i < t->r->args ? read(t, i) : fsim_constant(t->r->attrs.scalar);
    }
    t->at += length;
    if (length == 1 && *name == 'y')
        return read(t, -1);
    if (length == 1 && *name == 'g')
        return t->g;
    return fsim_constant(field_of(t->r, name, length));
}

/* exp(x), maximum(x, y), where(c, x, y) */
static fsim_value function(reader *t)
{
    const size_t length = word_at(t->at);
    const char *name = fsim_strndup(t->d->build->arena, t->at, length);
    fsim_value arg[3] = {FSIM_ZERO, FSIM_ZERO, FSIM_ZERO};
    fsim_op op = FSIM_OP_COUNT;
    int args = 0;
    t->at += length;
    const bool known = fsim_op_parse(name, &op), open = take(t, "(");
    assert(known && open);
    (void)known;
    (void)open;
    do {
        arg[args++] = comparison(t);
    } while (args < 3 && take(t, ","));
    const bool closed = take(t, ")");
    assert(closed);
    (void)closed;
    if (op == FSIM_OP_WHERE)
        return fsim_derive_where(t->d, arg[0], arg[1], arg[2]);
    return args == 1 ? fsim_derive_unary(t->d, op, arg[0]) : fsim_derive_binary(t->d, op, arg[0], arg[1]);
}

static fsim_value primary(reader *t)
{
    if (take(t, "(")) {
        const fsim_value v = comparison(t);
        const bool closed = take(t, ")");
        assert(closed);
        (void)closed;
        return v;
    }
    if (take(t, "-"))
        return fsim_derive_scaled(t->d, primary(t), -1);
    if (take(t, "$"))
        return variable(t);
    if ((*t->at >= '0' && *t->at <= '9') || *t->at == '.') {
        char *end;
        const double value = strtod(t->at, &end);
        t->at = end;
        return fsim_constant(value);
    }
    return function(t);
}

static fsim_value product(reader *t)
{
    fsim_value v = primary(t);
    for (;;)
        if (take(t, "*"))
            v = fsim_derive_binary(t->d, FSIM_OP_MUL, v, primary(t));
        else if (take(t, "/"))
            v = fsim_derive_binary(t->d, FSIM_OP_DIV, v, primary(t));
        else
            return v;
}

static fsim_value sum(reader *t)
{
    fsim_value v = product(t);
    for (;;)
        if (take(t, "+"))
            v = fsim_derive_binary(t->d, FSIM_OP_ADD, v, product(t));
        else if (take(t, "-"))
            v = fsim_derive_binary(t->d, FSIM_OP_SUB, v, product(t));
        else
            return v;
}

static fsim_value comparison(reader *t)
{
    static const struct {
        const char *sign;
        fsim_op op;
    } signs[] = {{">=", FSIM_OP_GE}, {"<=", FSIM_OP_LE}, {"==", FSIM_OP_EQ},
                 {"!=", FSIM_OP_NE}, {">", FSIM_OP_GT},  {"<", FSIM_OP_LT}};
    const fsim_value v = sum(t);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (take(t, signs[i].sign))
            return fsim_derive_binary(t->d, signs[i].op, v, sum(t));
    return v;
}

fsim_value fsim_term(fsim_derivation *d, const fsim_record *r, const char *text, fsim_value g)
{
    reader t = {d, r, text, g};
    const fsim_value v = comparison(&t);
    skip_spaces(&t);
    assert(!*t.at);
    return v;
}

const char *fsim_derivative(fsim_op op, int i, int form)
{
    static const struct {
        fsim_op op;
        int argument;
        const char *term;
    } rows[] = {
#define FSIM_DERIVATIVE(id, argument, term) {FSIM_OP_##id, argument, term},
#include "graph/derivative.def"
#undef FSIM_DERIVATIVE
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].op == op && rows[k].argument == i && form-- == 0)
            return rows[k].term;
    return NULL;
}
