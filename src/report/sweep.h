/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h: the points of a sweep as a table, as JSON and as CSV. */
#ifndef FUSESIM_REPORT_SWEEP_H
#define FUSESIM_REPORT_SWEEP_H

#include "input/gate.h"
#include "input/over.h"
#include "predict.h"
#include "report/table.h"

/* One workload on one GPU. */
typedef struct {
    int number;               /* among all of the sweep, of which this may be a part */
    const char *const *value; /* one for each axis */
    const char *hw;           /* the GPU's name */
    fsim_strategy strategy;   /* whose plan */
    const char *reason;       /* why there is no plan; NULL: there is one, or none was looked for */
    bool planned;
    double time_s, eager_s; /* of the plan of the strategy; of eager */
    fsim_interval likely;   /* 80 % interval of time_s */
    double speedup;         /* eager's time over the plan's */
    int kernels;
    fsim_sum read_bytes, write_bytes, peak_bytes; /* DRAM; memory at the peak */
    bool fits, proven; /* the GPU has that memory; no legal plan is better (only of optimal) */
    double gap;        /* most that a better plan could save, of the time; only of optimal */
    int plan;          /* points with the same kernels, each of the same primitives, have the same number */
} fsim_sweep_point;

/* Of --find: the values of one axis at which all limits hold, on a GPU with the values of the other axes. */
typedef struct {
    int first, last;     /* points: the first and the last value, in their order, with which they hold; -1: with none */
    int meeting, values; /* values with which they hold, and all */
    int next;            /* the point after the last; -1: there is none */
    const fsim_gate *broken; /* the first limit that does not hold there; NULL: it has no plan. In the sweep's arena */
} fsim_sweep_found;

typedef struct {
    const char *workload;
    fsim_grid grid;
    fsim_strategy strategy;  /* where no axis says it */
    fsim_sweep_point *point; /* combination by combination, and each GPU within it */
    int points, plans, gpus;
    const char *const *gpu; /* their names */
    int find;               /* the axis of --find; -1: none */
    const fsim_gate *limit; /* of --under */
    int limits;
    const fsim_sweep_found *found; /* one for each combination of the other axes' values, and each GPU */
    int founds;
    bool interrupted;    /* the user ended it: some points were not looked at */
    int shard, shards;   /* these points are part `shard` of so many; 0 and 1: they are all */
    const char *written; /* the file of -o that has them; NULL: none */
} fsim_sweep;

/* Reads --find NAME, NULL where it is not given, and --under into x, whose grid is read. False after errors in d. */
bool fsim_sweep_limits_read(fsim_arena *a, fsim_diag *d, const char *find, const char *const *under, int unders,
                            fsim_sweep *x);
/* Fills found and founds. In a. */
void fsim_sweep_find(fsim_sweep *x, fsim_arena *a);
/* The points as a table (verbose: all of them), then what --find found, then how many have no plan and why. */
void fsim_report_sweep(const fsim_page *page, const fsim_sweep *x, bool verbose);
/* "mlp: 12 points, 3 plans, 1.02x to 1.88x eager" */
const char *fsim_sweep_line(const fsim_sweep *x, fsim_arena *a);
/* The same, and a line of each place that --find looked at. In a. */
const char *fsim_sweep_lines(const fsim_sweep *x, fsim_arena *a);
/* Times in seconds, sizes in bytes. */
void fsim_json_sweep(FILE *out, const fsim_sweep *x);
/* The points alone, one a line. */
void fsim_json_lines_sweep(FILE *out, const fsim_sweep *x);
/* The same as rows, with a head (RFC 4180 but for line ends, which are line feeds). */
void fsim_csv_sweep(FILE *out, const fsim_sweep *x);

#endif
