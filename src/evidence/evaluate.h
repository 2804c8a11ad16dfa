/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.h: predicts the rows of a measurements file, in threads, with each row's strategy, launch regime and L2
 * state; L2 `unknown` is predicted as warm. */
#ifndef FUSESIM_EVIDENCE_EVALUATE_H
#define FUSESIM_EVIDENCE_EVALUATE_H

#include "evidence/rows.h"
#include "hw/load.h"
#include "plan/price/interval.h"
#include "predict.h"

/* The kind of work of a workload: that of its one operator, or a chain or network of several. */
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
    FSIM_WORK_UNKNOWN, /* the row's workload or GPU was not found */
    FSIM_WORK_COUNT
} fsim_work_class;
extern const char *const fsim_work_class_names[FSIM_WORK_COUNT];
/* The class of g, from its operators. */
fsim_work_class fsim_work_class_of(const fsim_graph *g);

/* Where workloads and GPUs are looked for. */
typedef struct {
    const char *const *root; /* folders of --workload-root, tried in order */
    int roots;
    const char *workloads; /* shipped folder */
    fsim_hw *const *hw;    /* GPUs that are loaded already, used for rows that name them */
    int hws;
    fsim_hw_wanted others; /* how to load others */
} fsim_folders;
/* May a row name this file as its workload, or as its GPU? Rows come from others: they name files below this folder,
 * the shipped one and those of --workload-root, without "..", and no others; an absolute path begins with one of them.
 */
bool fsim_row_may_name(const fsim_folders *where, const char *name);
/* Path of a row's workload: under each root, else where workloads are found by name. In a. */
const char *fsim_row_path(fsim_arena *a, const fsim_folders *where, const char *name);

typedef struct {
    const fsim_measured *row;
    double predicted_s;      /* of a row of memory: bytes, as row->time_s is */
    double low_s, high_s;    /* 80 % interval of predicted_s, relatively as wide as that of the plan's kernels:
                                plan/price/interval.h */
    fsim_plan_errors errors; /* what that interval is made of */
    const double *common;    /* with these spreads of common errors, FSIM_ERROR_CLASSES; NULL: the program's */
    double dram_read_bytes, dram_write_bytes;
    double unit_s[FSIM_UNIT_COUNT]; /* shares of predicted_s */
    fsim_unit bound;                /* the largest of them */
    int kernels;
    bool mixed; /* see FSIM_EXCLUDED_MIXED */
    fsim_work_class class;
    double compulsory_bytes; /* bytes of inputs and outputs that every plan must read and write once */
    double bus_s;            /* time of the part of them that L2 can't hold, at the data sheet's bandwidth */
    const char *excluded;    /* why the row is not in the statistics, one of fsim_exclusions; NULL: it is */
} fsim_evaluated;

/* Reasons to exclude a row. Each is decided by the row, the data sheet and the inputs of the prediction, never by the
 * error:
 *   bus       the measured time is more than FSIM_BUS_SLACK shorter than bus_s
 *   host      launch `eager`, at least 16 kernels, and the GPU is predicted to wait for the host for more than half of
 *             the time: the row measures the host
 *   kernel    the row names a kernel, and no kernel of the plan computes its primitive
 *   GPU       no hardware file has the name in the row's `hw`
 *   workload  the row's workload is in none of the folders
 *   gradient  a row of a training has an operator whose gradient is not known
 *   mixed     a kernel of its plan belongs to its part of the training and to another: the part has no time of its own
 *   refit     numbers of the code are fitted anew (refit.h), and none of them has to do with the row, or too few rows
 */
enum {
    FSIM_EXCLUDED_BUS,
    FSIM_EXCLUDED_HOST,
    FSIM_EXCLUDED_KERNEL,
    FSIM_EXCLUDED_GPU,
    FSIM_EXCLUDED_WORKLOAD,
    FSIM_EXCLUDED_GRADIENT,
    FSIM_EXCLUDED_MIXED,
    FSIM_EXCLUDED_TRAINING,
    FSIM_EXCLUDED_REFIT,
    FSIM_EXCLUSIONS
};
extern const char *const fsim_exclusions[FSIM_EXCLUSIONS];
#define FSIM_BUS_SLACK 0.02

/* Rows with the workloads and GPUs that they refer to, each loaded once. */
typedef struct fsim_bench fsim_bench;
/* Loads every workload and GPU that the rows name. Rows whose GPU or workload is not found are excluded, with a
 * warning for each such name. NULL after errors in d: a file is not valid or can't be read, or no row is left. In a. */
fsim_bench *fsim_bench_of(fsim_arena *a, fsim_diag *d, const fsim_folders *where, const fsim_measurements *rows);

/* Bytes that cross the memory bus in every plan: `read` of inputs and weights, `written` of outputs (compulsory.c). */
void fsim_compulsory(const fsim_graph *g, double *read, double *written);

/* Whose kernels ran: those of the row's strategy; or of the serving stack named in its source, where the strategy is
 * eager, or where the row's workload says what such stacks run as calls. */
fsim_maker fsim_row_maker(const fsim_measured *row, const fsim_graph *g);
/* Number of rows, including those that can't be predicted. */
int fsim_bench_rows(const fsim_bench *b);
/* Row i, from 0. */
const fsim_measured *fsim_bench_row(const fsim_bench *b, int i);
/* Its GPU; NULL where it is not known. */
const fsim_hw *fsim_bench_hw(const fsim_bench *b, int i);
/* Why row i can't be predicted: fsim_exclusions[FSIM_EXCLUDED_GPU or _WORKLOAD]. NULL: it can. */
const char *fsim_bench_missing(const fsim_bench *b, int i);
/* Row i's graph; NULL where the workload is not valid or computes nothing. In a. */
const fsim_graph *fsim_bench_graph(const fsim_bench *b, int i, fsim_arena *a);
/* Reports in d why row i has no graph. */
void fsim_bench_refuse(const fsim_bench *b, int i, fsim_arena *a, fsim_diag *d);
/* Row i's plan with fusesim's own kernels, and the problem that it solves. In a. */
void fsim_bench_plan(const fsim_bench *b, int i, const fsim_graph *g, fsim_arena *a, fsim_problem *p, fsim_plan *out);
/* The kernels of its plan that row i measured: all, or where its `kernel` is "h+g", the one where h has its home.
 * False where there is none. */
bool fsim_bench_kernels(const fsim_bench *b, int i, const fsim_graph *g, const fsim_plan *plan, int *from, int *to);

/* Predicts every row i into out[i], in `jobs` threads (base/jobs.h). False after errors in d. Results are in a. */
bool fsim_evaluate(const fsim_bench *b, int jobs, fsim_arena *a, fsim_diag *d, fsim_evaluated *out);

/* predicted / measured - 1 */
static inline double fsim_error_of(const fsim_evaluated *e) { return e->predicted_s / e->row->time_s - 1; }

/* Was L2 warm, or may it have been? */
static inline bool fsim_row_is_warm(const fsim_measured *row) { return row->l2 != FSIM_L2_COLD; }
/* exclude.c: decides whether the predicted row is excluded, which must read and write so many bytes. For the bus limit,
 * what L2 may have held before or may hold at the end need not cross the bus. */
void fsim_judge_row(const fsim_hw *hw, const fsim_measured *row, double read, double written, fsim_evaluated *out);

#endif
