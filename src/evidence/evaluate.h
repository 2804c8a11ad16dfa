/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.h: rows of a measurements file predicted, in threads. A row's strategy, launch regime and L2 state are
 * honoured; L2 `unknown` is predicted as warm. */
#ifndef FUSESIM_EVIDENCE_EVALUATE_H
#define FUSESIM_EVIDENCE_EVALUATE_H

#include "evidence/rows.h"
#include "hw/load.h"
#include "predict.h"

/* What kind of work a workload is: of its one operator, or a chain or a network of several. */
typedef enum {
    FSIM_WORK_ELEMENTWISE,
    FSIM_WORK_REDUCTION,
    FSIM_WORK_SOFTMAX,
    FSIM_WORK_NORM,
    FSIM_WORK_LOSS,
    FSIM_WORK_POOLING,
    FSIM_WORK_MOVEMENT,
    FSIM_WORK_MATMUL,
    FSIM_WORK_CONVOLUTION,
    FSIM_WORK_ATTENTION,
    FSIM_WORK_CHAIN,
    FSIM_WORK_NETWORK,
    FSIM_WORK_UNKNOWN, /* of a row whose workload or GPU is not here */
    FSIM_WORK_COUNT
} fsim_work_class;
extern const char *const fsim_work_class_names[FSIM_WORK_COUNT];
/* Of g: from its operators. */
fsim_work_class fsim_work_class_of(const fsim_graph *g);

/* Where workloads and GPUs are found. */
typedef struct {
    const char *const *root; /* folders of --workload-root, tried in order */
    int roots;
    const char *workloads; /* shipped folder */
    fsim_hw *const *hw;    /* GPUs that are read already: rows that name one get it */
    int hws;
    fsim_hw_wanted others; /* how to read the others */
} fsim_folders;

typedef struct {
    const fsim_measured *row;
    double predicted_s;
    double low_s,
        high_s; /* 80 % interval of predicted_s: as wide for a call as for its plan's kernels, plan/price/interval.h */
    double dram_read_bytes, dram_write_bytes;
    double unit_s[FSIM_UNIT_COUNT]; /* shares of predicted_s */
    fsim_unit bound;                /* the largest of them */
    int kernels;
    fsim_work_class class;
    double compulsory_bytes; /* what any plan reads of the inputs and writes of the outputs, each element once */
    double bus_s;            /* seconds that the part of it which L2 can't hold takes at the data sheet's bandwidth */
    const char *excluded;    /* why it is left out of the statistics, one of fsim_exclusions; NULL */
} fsim_evaluated;

/* Reasons, each told from the row, the data sheet and the prediction's inputs, never from the error:
 *   bus       the measured time is more than FSIM_BUS_SLACK shorter than bus_s
 *   host      launch `eager`, at least 16 kernels, and the GPU is predicted to wait for the host for more than half of
 *             the time: what the row measures is the host
 *   kernel    the row names a kernel, and the plan has none that computes its primitive
 *   GPU       no hardware file has the row's `hw` for a name
 *   workload  the row's workload is in none of the folders */
enum {
    FSIM_EXCLUDED_BUS,
    FSIM_EXCLUDED_HOST,
    FSIM_EXCLUDED_KERNEL,
    FSIM_EXCLUDED_GPU,
    FSIM_EXCLUDED_WORKLOAD,
    FSIM_EXCLUSIONS
};
extern const char *const fsim_exclusions[FSIM_EXCLUSIONS];
#define FSIM_BUS_SLACK 0.02

/* What rows refer to, read once. */
typedef struct fsim_bench fsim_bench;
/* Reads every workload and GPU that the rows name, each once. Rows whose GPU or workload is not here are left out, with
 * a warning for each such name. NULL after errors in d: a file that is not valid or cannot be read, or no row that
 * is left. In a. */
fsim_bench *fsim_bench_of(fsim_arena *a, fsim_diag *d, const fsim_folders *where, const fsim_measurements *rows);

/* Whose kernels ran: those of the row's strategy, or of the serving stack that its source names. */
fsim_maker fsim_row_maker(const fsim_measured *row);
/* How many rows there are, those that cannot be predicted among them. */
int fsim_bench_rows(const fsim_bench *b);
/* Row i, from 0. */
const fsim_measured *fsim_bench_row(const fsim_bench *b, int i);
/* Why row i cannot be predicted: fsim_exclusions[FSIM_EXCLUDED_GPU or _WORKLOAD]. NULL: it can. */
const char *fsim_bench_missing(const fsim_bench *b, int i);
/* Row i's graph, or NULL where the workload is none or computes nothing. In a. */
const fsim_graph *fsim_bench_graph(const fsim_bench *b, int i, fsim_arena *a);
/* Where that is NULL: says in d why. */
void fsim_bench_refuse(const fsim_bench *b, int i, fsim_arena *a, fsim_diag *d);
/* Its plan with our own kernels, and the problem that it solves. In a. */
void fsim_bench_plan(const fsim_bench *b, int i, const fsim_graph *g, fsim_arena *a, fsim_problem *p, fsim_plan *out);
/* Which kernels of its plan row i times: all, or where its `kernel` says "h+g", the one that is home to h. False where
 * there is none. */
bool fsim_bench_kernels(const fsim_bench *b, int i, const fsim_graph *g, const fsim_plan *plan, int *from, int *to);

/* Predicts row i into out[i] for all rows, in `jobs` threads (0: one a processor). False after errors in d. What out
 * points to is in a. */
bool fsim_evaluate(const fsim_bench *b, int jobs, fsim_arena *a, fsim_diag *d, fsim_evaluated *out);

/* predicted over measured, less 1. */
static inline double fsim_error_of(const fsim_evaluated *e) { return e->predicted_s / e->row->time_s - 1; }

#endif
