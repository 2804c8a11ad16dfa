/* SPDX-License-Identifier: Apache-2.0 */
/* gates.h: limits that errors must keep: "mape=10%", "softmax:median=8%", "h100-sxm5-80gb/softmax:mape=8%",
 * "kernelbench/v01/l2:rank=0.9".
 *
 * In front of the colon: names of a GPU, a kind of work, a strategy, a workload or a folder of workloads, joined by
 * slashes; rows of all of them count. Metrics of rows: mape, median, p90 (at most the limit), bias (its size at most),
 * rows (at least). Of speedups, over pairs whose other strategy's row counts: speedup (mean error) and speedup_median
 * (at most), rank, verdict and helps (at least: rank correlation, right verdicts of three, right verdicts of helps or
 * not). A gate that meets no row, or no pair, fails. */
#ifndef FUSESIM_EVIDENCE_GATES_H
#define FUSESIM_EVIDENCE_GATES_H

#include "evidence/pairs.h"

typedef enum {
    FSIM_GATE_MAPE,
    FSIM_GATE_MEDIAN,
    FSIM_GATE_P90,
    FSIM_GATE_BIAS,
    FSIM_GATE_ROWS,
    FSIM_GATE_SPEEDUP,
    FSIM_GATE_SPEEDUP_MEDIAN,
    FSIM_GATE_RANK,
    FSIM_GATE_VERDICT,
    FSIM_GATE_HELPS,
    FSIM_GATE_METRICS
} fsim_gate_metric;
extern const char *const fsim_gate_metric_names[FSIM_GATE_METRICS];

enum { FSIM_MOST_GATE_KEYS = 8 };

typedef struct {
    const char *text, *group; /* as given; what stands before the colon, "" without one */
    fsim_gate_metric metric;
    double limit;
    int keys;
    struct {
        fsim_grouping by;
        const char *name;
    } key[FSIM_MOST_GATE_KEYS];
    /* set by fsim_gate_try */
    double value; /* NaN where nothing was met */
    int rows;     /* rows or pairs that it is of */
    bool passed;
} fsim_gate;

/* Reads text but for the group's names. False after an error in d. In a. */
bool fsim_gate_read(fsim_arena *a, fsim_diag *d, const char *text, fsim_gate *out);
/* Finds what the group's names are among the rows, the kinds of work, the strategies and hw[0, hws). False after an
 * error in d. */
bool fsim_gate_resolve(fsim_arena *a, fsim_diag *d, const fsim_measurements *rows, const char *const *hw, int hws,
                       fsim_gate *gate);
/* Does the limit hold? */
void fsim_gate_try(const fsim_evaluated *e, int count, const fsim_pair *pair, int pairs, fsim_arena *a,
                   fsim_gate *gate);

/* Must the value be at least the limit, rather than at most? */
bool fsim_gate_is_floor(fsim_gate_metric m);
/* Is it a share, shown in percent? */
bool fsim_gate_is_share(fsim_gate_metric m);
/* "12.3 % of 40 rows, wanted at most 10 %"; "no row is of this group". In a. */
const char *fsim_gate_says(const fsim_gate *g, fsim_arena *a);

#endif
