/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h: the limits of --gate, with one grammar for all commands:
 *
 *     [GROUP:]METRIC=LIMIT      softmax:median=8%   time=5ms   inductor:speedup=1.1   memory=80GiB
 *     [GROUP:]METRIC            proven              for a metric that is yes or no
 *
 * Each command has a table of its metrics, and decides what GROUP may name. */
#ifndef FUSESIM_INPUT_GATE_H
#define FUSESIM_INPUT_GATE_H

#include "base/diag.h"

/* How a limit is written and a value is shown. */
typedef enum {
    FSIM_GATE_SHARE,   /* 10% or 0.1 */
    FSIM_GATE_PART,    /* the same, of most: 85% */
    FSIM_GATE_COUNT,   /* 40 */
    FSIM_GATE_ROWS,    /* 40, or 100%: that share of the rows that exist */
    FSIM_GATE_NUMBER,  /* 0.9 */
    FSIM_GATE_FACTOR,  /* 1.2 or 1.2x */
    FSIM_GATE_SECONDS, /* 5 ms */
    FSIM_GATE_BYTES,   /* 80 GiB */
    FSIM_GATE_YES      /* no limit: the value is 0 or 1 */
} fsim_gate_unit;

typedef struct {
    const char *name;
    fsim_gate_unit unit;
    bool at_least;    /* the value must be at least the limit; otherwise at most */
    const char *help; /* what is measured, one line */
} fsim_gate_metric;

typedef struct {
    const char *command; /* "validate --device" */
    const fsim_gate_metric *metric;
    int metrics;
    const char *groups; /* what GROUP names ("a template"); NULL: the command has no groups */
    const char *option; /* that says the limits; NULL: --gate */
} fsim_gate_table;

typedef struct {
    const char *text, *group; /* the text as typed, and what it has before the colon ("" without one) */
    const fsim_gate_table *table;
    int metric;   /* index into the table */
    bool percent; /* FSIM_GATE_ROWS: the limit is a share */
    double limit; /* seconds, bytes, or a number; shares from 0 to 1 */
    int count;    /* rows or pairs that the value was computed from, set by whoever measures it; -1: not counted */
    /* filled in by fsim_gate_judge: */
    double value; /* NaN where nothing was measured; the gate fails then */
    bool passed;
    const char *says; /* "12.3 % of 40 rows, wanted at most 10 %" */
} fsim_gate;

/* Parses text; the caller checks the name of the group. False after an error in d. In a; text and table stay
 * referenced. */
bool fsim_gate_read(fsim_arena *a, fsim_diag *d, const char *text, const fsim_gate_table *table, fsim_gate *out);
/* Compares the value with the limit and sets passed and says. of: what the value was computed from (" of 40 rows",
 * or ""); why: the reason where the value is NaN ("nothing was measured"). */
void fsim_gate_judge(fsim_gate *g, double value, const char *of, const char *why, fsim_arena *a);
/* "mape=10%", "proven": how a limit of this metric is written. In a. */
const char *fsim_gate_example(const fsim_gate_metric *m, fsim_arena *a);
/* "at least", "at most"; "" for what is yes or no. */
const char *fsim_gate_bound(const fsim_gate_metric *m);
/* The metric of a gate. Lives in its table. */
const fsim_gate_metric *fsim_gate_metric_of(const fsim_gate *g);

/* How many failed. */
int fsim_gates_failed(const fsim_gate *gate, int gates);
/* Prints the metrics of a table for --help, one line each. */
void fsim_gate_usage(FILE *out, const fsim_gate_table *table);

#endif
