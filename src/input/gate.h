/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h: limits of --gate, in one grammar for every command that has them:
 *
 *     [GROUP:]METRIC=LIMIT      softmax:median=8%   time=5ms   inductor:speedup=1.1   memory=80GiB
 *     [GROUP:]METRIC            proven              where the metric is a yes or no
 *
 * A command says in a table which metrics it has; what GROUP may name is the command's own. */
#ifndef FUSESIM_INPUT_GATE_H
#define FUSESIM_INPUT_GATE_H

#include "base/diag.h"

/* What a limit is written as, and how a value is shown. */
typedef enum {
    FSIM_GATE_SHARE,   /* 10% or 0.1 */
    FSIM_GATE_COUNT,   /* 40 */
    FSIM_GATE_ROWS,    /* 40, or 100%: that share of all that there are */
    FSIM_GATE_NUMBER,  /* 0.9 */
    FSIM_GATE_FACTOR,  /* 1.2 or 1.2x */
    FSIM_GATE_SECONDS, /* 5 ms */
    FSIM_GATE_BYTES,   /* 80 GiB */
    FSIM_GATE_YES      /* no limit: the value is 0 or 1 */
} fsim_gate_unit;

typedef struct {
    const char *name;
    fsim_gate_unit unit;
    bool at_least;    /* the value must be at least the limit, rather than at most */
    const char *help; /* what is measured, one line */
} fsim_gate_metric;

typedef struct {
    const char *command; /* "validate --device" */
    const fsim_gate_metric *metric;
    int metrics;
    const char *groups; /* what GROUP names, "a template"; NULL: the command has no groups */
} fsim_gate_table;

typedef struct {
    const char *text, *group; /* as given; what stands before the colon, "" without one */
    const fsim_gate_table *table;
    int metric;   /* of the table */
    bool percent; /* of FSIM_GATE_ROWS: the limit is a share */
    double limit; /* seconds, bytes, or a number; shares from 0 to 1 */
    int count;    /* rows or pairs that the value is of, set by who measures; -1: nobody counts */
    /* set by fsim_gate_judge: */
    double value; /* NaN where nothing was measured: then the gate fails */
    bool passed;
    const char *says; /* "12.3 % of 40 rows, wanted at most 10 %" */
} fsim_gate;

/* Reads text; what the group names is left to the caller. False after an error in d. In a; text and table stay
 * referenced. */
bool fsim_gate_read(fsim_arena *a, fsim_diag *d, const char *text, const fsim_gate_table *table, fsim_gate *out);
/* Does the value keep the limit? of: what it is a value of (" of 40 rows", or ""); why: what is said instead where the
 * value is NaN ("nothing was measured"). */
void fsim_gate_judge(fsim_gate *g, double value, const char *of, const char *why, fsim_arena *a);
/* What the gate judges. Lives in its table. */
const fsim_gate_metric *fsim_gate_metric_of(const fsim_gate *g);

/* How many failed. */
int fsim_gates_failed(const fsim_gate *gate, int gates);
/* The metrics of a table for --help, a line each. */
void fsim_gate_usage(FILE *out, const fsim_gate_table *table);

#endif
