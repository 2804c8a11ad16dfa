/* SPDX-License-Identifier: Apache-2.0 */
/* gates.h: the gates of `validate`: limits for errors of predicted rows, "mape=10%", "h100-sxm5-80gb/softmax:mape=8%".
 *
 * GROUP: names of a GPU, a kind of work, a strategy, a workload or a folder of workloads, joined by slashes. The
 * gate is about rows that belong to all of them, and fails where there is no such row or pair. */
#ifndef FUSESIM_EVIDENCE_GATES_H
#define FUSESIM_EVIDENCE_GATES_H

#include "evidence/pairs.h"
#include "input/args.h"
#include "input/gate.h"

/* Metrics of rows; metrics of speedups are over pairs of rows, where the strategy is the one that is not eager. */
typedef enum {
    FSIM_ROWS_MAPE,
    FSIM_ROWS_MEDIAN,
    FSIM_ROWS_P90,
    FSIM_ROWS_BIAS,
    FSIM_ROWS_COVERAGE,
    FSIM_ROWS_COVERAGE_MOST,
    FSIM_ROWS_PREDICTED,
    FSIM_ROWS_SPEEDUP,
    FSIM_ROWS_SPEEDUP_MEDIAN,
    FSIM_ROWS_RANK,
    FSIM_ROWS_VERDICT,
    FSIM_ROWS_HELPS,
    FSIM_ROWS_CALLED,
    FSIM_ROWS_METRICS
} fsim_row_metric;
extern const fsim_gate_table fsim_row_gates;

enum { FSIM_MOST_GATE_KEYS = 8 };

/* The names of a gate's group, and what each one names. */
typedef struct {
    int count;
    struct {
        fsim_grouping by;
        const char *name;
    } key[FSIM_MOST_GATE_KEYS];
} fsim_row_group;

/* Looks up the names of the gate's group: GPUs (those of the rows and those of gpus), workloads, folders of workloads,
 * kinds of work, strategies. False after an error in d. Names are in a. */
bool fsim_row_group_of(fsim_arena *a, fsim_diag *d, const fsim_measurements *rows, const fsim_words *gpus,
                       const fsim_gate *gate, fsim_row_group *out);

/* What gates are evaluated on: all predicted rows, and their pairs. */
typedef struct {
    const fsim_evaluated *at;
    int count;
    const fsim_pair *pair;
    int pairs;
} fsim_evaluated_rows;

/* Computes the gate's metric over the rows and pairs of its group, and judges it. */
void fsim_row_gate_try(const fsim_evaluated_rows *rows, const fsim_row_group *group, fsim_arena *a, fsim_gate *gate);

#endif
