/* SPDX-License-Identifier: Apache-2.0 */
/* recogniser.h: what the rules of recognise.c and recognise_attention.c look at, and the steps that they take. */
#ifndef FUSESIM_IMPORT_RECOGNISER_H
#define FUSESIM_IMPORT_RECOGNISER_H

#include "base/names.h"
#include "import/recognise_facts.h"
#include "input/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MEMBERS = 12, MOST_INPUTS = 4 };

typedef struct {
    fsim_arena *a;
    const fsim_recognise_facts *facts;
    fsim_yaml *ops;
    const fsim_yaml *tensors;
    fsim_names maker, readers; /* tensor -> the operator that makes it; how often it is read */
    fsim_names weight;         /* tensor that nothing makes -> its place in tensors */
    bool *merged;              /* of each operator: it is part of another now */
} recogniser;

/* Operators that are to be one: the last one first. */
typedef struct {
    int member[MOST_MEMBERS];
    int members;
    const char *op, *in[MOST_INPUTS], *key; /* key and number: an attribute of the new operator; NULL: none */
    int ins;
    double number;
    int64_t groups;          /* of a group norm */
    bool causal;             /* of an attention */
    const fsim_yaml *turned; /* the order of a permutation whose last two dimensions change places */
} found;

static inline const char *text_of(const fsim_yaml *op, const char *key)
{
    const fsim_yaml *v = fsim_yaml_get(op, key);
    return v && v->kind == FSIM_YAML_SCALAR ? v->text : "";
}

static inline int inputs(const fsim_yaml *op)
{
    const fsim_yaml *in = fsim_yaml_get(op, "in");
    return !in ? 0 : in->kind == FSIM_YAML_SCALAR ? 1 : in->count;
}

static inline const char *input(const fsim_yaml *op, int i)
{
    const fsim_yaml *in = fsim_yaml_get(op, "in");
    return in->kind == FSIM_YAML_SCALAR ? in->text : in->item[i]->text;
}

static inline const fsim_yaml *op_at(const recogniser *r, int i) { return r->ops->item[i]; }

static inline bool is_scalar(const fsim_yaml *op, double number)
{
    const char *text = text_of(op, "scalar");
    return *text && fabs(strtod(text, NULL) - number) < 1e-5 * fabs(number);
}

/* The operator that makes a tensor, if it is this one with so many inputs: it becomes a member. -1: it is not. */
static inline int made_by(const recogniser *r, found *f, const char *tensor, const char *op, int ins)
{
    const int at = fsim_names_get(&r->maker, tensor);
    if (at < 0 || r->merged[at] || strcmp(text_of(op_at(r, at), "op"), op) != 0 || inputs(op_at(r, at)) != ins ||
        f->members == MOST_MEMBERS)
        return -1;
    f->member[f->members++] = at;
    return at;
}

static inline bool read_times(const recogniser *r, const char *tensor, int times)
{
    return fsim_names_get(&r->readers, tensor) == times;
}

/* The tensors that members hand on are read by members alone: `twice`, where it is not NULL, by two of them. */
static inline bool is_closed(const recogniser *r, const found *f, const char *twice)
{
    for (int i = 1; i < f->members; i++) {
        const char *out = text_of(op_at(r, f->member[i]), "out");
        if (!*out || !read_times(r, out, twice && strcmp(out, twice) == 0 ? 2 : 1))
            return false;
    }
    return true;
}

/* Of two inputs, the one that `op` makes from `ins` others: which one, else -1. */
static inline int side_of(const recogniser *r, const fsim_yaml *y, const char *op, int ins)
{
    for (int i = 0; i < 2 && inputs(y) == 2; i++) {
        const int at = fsim_names_get(&r->maker, input(y, i));
        if (at >= 0 && !r->merged[at] && strcmp(text_of(op_at(r, at), "op"), op) == 0 && inputs(op_at(r, at)) == ins)
            return i;
    }
    return -1;
}

/* Does it work along the last dimension of x alone? */
static inline bool is_last(const fsim_yaml *op, const fsim_shape *x)
{
    const fsim_yaml *dim = fsim_yaml_get(op, "dim");
    if (dim && dim->kind == FSIM_YAML_SEQUENCE && dim->count == 1)
        dim = dim->item[0];
    const int at = dim && dim->kind == FSIM_YAML_SCALAR ? atoi(dim->text) : 0;
    return dim && dim->kind == FSIM_YAML_SCALAR && (at == -1 || at == x->rank - 1);
}

/* softmax(q * a times (k * a) transposed, plus a mask) times v: what torch's exporters make of
 * scaled_dot_product_attention, with the root of the scale on either side. */
bool fsim_is_attention(recogniser *r, found *f, int last);

#endif
