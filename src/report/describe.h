/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h: shared by the reports: numbers as text, names of kernels, and how good a plan is. Texts are in the
 * arena. */
#ifndef FUSESIM_REPORT_DESCRIBE_H
#define FUSESIM_REPORT_DESCRIBE_H

#include "predict.h"

enum { FSIM_OBJECTIVES = FSIM_MINIMISE_MEMORY + 2 }; /* the last: pareto */

const char *fsim_bytes_text(fsim_arena *a, double bytes);     /* "12.6 MiB" */
const char *fsim_seconds_text(fsim_arena *a, double seconds); /* "34.2 us" */
const char *fsim_count_text(fsim_arena *a, double count);     /* "12.3 G" */
const char *fsim_percent_text(fsim_arena *a, double share);   /* "12.3%" */
const char *fsim_times_text(fsim_arena *a, double factor);    /* "1.42x" */

/* text as a word of a shell's command line: quoted where a shell would read it as something else. In a. */
const char *fsim_shell_word(fsim_arena *a, const char *text);

/* Name of a kernel: its template, first and last primitive as a C identifier, "pointwise_t1_t4". The last primitive
 * has its home in one kernel only, so names are distinct unless tensors differ only in characters that C does not
 * allow. In a. */
const char *fsim_kernel_name(const fsim_graph *g, const fsim_kernel *k, fsim_arena *a);
/* What a kernel computes, in the workload's words: "scores + probabilities". An operator that the kernel has only in
 * part is named by its primitives; clones are "t1 (recomputed)". In a. */
const char *fsim_kernel_label(const fsim_graph *g, const fsim_kernel *k, fsim_arena *a);

/* Members of a kernel from `at` on that are a whole operator of the workload, all clones or all at home; 0 where it is
 * there in part. */
int fsim_whole_source(const fsim_graph *g, const fsim_group *group, int at);

/* How good the reported plan is. */
typedef struct {
    double objective, lower_bound; /* seconds or bytes */
    double gap;                    /* (objective - lower_bound) / objective, 0 when proven */
    bool proven;                   /* the plan is optimal: the bound equals its objective within 1e-12 */
} fsim_verdict;
/* For the reported plan. */
fsim_verdict fsim_verdict_of(const fsim_prediction *p);
/* The requested objective: "time", "bytes", "memory", "pareto". */
extern const char *const fsim_objective_names[FSIM_OBJECTIVES];
/* The requested objective; "pareto" where the front was requested. */
const char *fsim_objective_name(const fsim_options *o);
/* Is the objective a number of bytes, rather than of seconds? */
bool fsim_objective_in_bytes(const fsim_options *o);
/* Seconds or bytes, as p->options.objective says. */
double fsim_plan_objective(const fsim_prediction *p, fsim_strategy s);
/* Has the GPU the memory that the plan of s needs? */
bool fsim_plan_fits(const fsim_prediction *p, fsim_strategy s);
/* "130 GiB of 80 GiB". */
const char *fsim_memory_text(const fsim_prediction *p, fsim_strategy s, fsim_arena *a);
/* Does the reported plan need more memory than --memory-limit? */
bool fsim_over_limit(const fsim_prediction *p);
/* The loss of a strategy: its objective / the optimum's - 1. NaN without an optimum. */
double fsim_over_optimum(const fsim_prediction *p, fsim_strategy s);
/* Speedup: time of `eager` over that of s. */
double fsim_speedup(const fsim_prediction *p, fsim_strategy s);
typedef struct {
    bool eager, chosen;
} fsim_waits;
/* Launched from Python, does the GPU wait for the host so long that the time is another: in eager, in the chosen plan?
 */
fsim_waits fsim_waits_for_host(const fsim_prediction *p);

#endif
