/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.h: the attribute table (attribute.def): names, types, ranges; and which attributes an operator takes, with
 * what each has where a workload does not give it (the column `takes` of op.def). */
#ifndef FUSESIM_GRAPH_ATTRIBUTE_H
#define FUSESIM_GRAPH_ATTRIBUTE_H

#include "graph/graph.h"

typedef enum {
    FSIM_TYPE_DIMS,   /* one dimension or a list of them */
    FSIM_TYPE_SIZES,  /* lengths of dimensions */
    FSIM_TYPE_INTS,   /* an integer, or a list of them */
    FSIM_TYPE_INT,    /* an integer */
    FSIM_TYPE_NUMBER, /* a number */
    FSIM_TYPE_FLAG,   /* true or false */
    FSIM_TYPE_WORD,   /* one of a few words */
    FSIM_TYPE_TEXT,
    FSIM_TYPE_DTYPE,
    FSIM_TYPE_COUNT
} fsim_attr_type;
extern const char *const fsim_attr_type_names[FSIM_TYPE_COUNT]; /* "integer or list", for people */

typedef enum {
#define FSIM_ATTR(id, ...) FSIM_ATTR_##id,
#include "graph/attribute.def"
#undef FSIM_ATTR
    FSIM_ATTR_COUNT
} fsim_attr;

/* The fields of fsim_attrs, all of them. */
enum {
#define FSIM_ATTR(id, name, also, type, field, least, most, words, meaning) FSIM_FIELD_##field,
#define FSIM_FIELD(type, field, meaning)                                    FSIM_FIELD_##field,
#define FSIM_SHARED(...)
#define FSIM_CALL(...)
#include "graph/attribute.def"
#undef FSIM_ATTR
    FSIM_FIELD_COUNT
};
typedef struct {
    const char *name; /* "alpha"; the expressions of op.def call it "$alpha" */
    fsim_attr_type type;
    size_t offset; /* in fsim_attrs */
} fsim_attr_field;
extern const fsim_attr_field fsim_attr_fields[FSIM_FIELD_COUNT];
/* A field's value; flags, words and dtypes as their number. Exact: integers are at most FSIM_MAX_DIM. */
double fsim_attr_value(const fsim_attrs *at, int field);

typedef struct {
    const char *name, *also; /* also: other names of the same attribute, as attribute.def has them, or NULL */
    fsim_attr_type type;
    int field;          /* index into fsim_attr_fields; -1: the value is kept in fsim_call, or only checked */
    double least, most; /* range of each value */
    const char *words;  /* "none|tanh": of WORD all, of DTYPE those beside the dtypes; else NULL */
    const char *meaning;
} fsim_attr_row;
extern const fsim_attr_row fsim_attr_rows[FSIM_ATTR_COUNT];

/* An attribute that an operator takes. */
typedef struct {
    fsim_attr attr;
    bool required;
    char otherwise[16]; /* the default, as a workload would write it; "": none */
    char described[48]; /* the default in words; "" */
} fsim_taken;

enum { FSIM_MAX_TAKEN = 8 };
/* The attributes of op, in the order of its row, in taken[0, result). */
int fsim_taken_of(fsim_op op, fsim_taken taken[FSIM_MAX_TAKEN]);
/* The attribute of op of this name, or FSIM_ATTR_COUNT. */
fsim_attr fsim_taken_named(fsim_op op, const char *name);
/* The other names that an attribute of op has, "dims, axis"; FSIM_OP_COUNT: of any, "exponent (pow)". "" where there
 * are none. In a. */
const char *fsim_attr_aliases(fsim_arena *a, fsim_attr attr, fsim_op op);
/* "integer or list", or the words that it may be. */
const char *fsim_attr_type_text(fsim_attr attr);
/* "required", "default 1", "default: the dtype", "may be absent". In a. */
const char *fsim_taken_default(fsim_arena *a, const fsim_taken *t);
/* "no attributes", or "dim (dimension or list; default -1), keepdim (...)", for messages. In a. */
const char *fsim_taken_text(fsim_arena *a, fsim_op op);

/* The index of text among "none|tanh", or -1. */
int fsim_word_index(const char *words, const char *text);

#endif
