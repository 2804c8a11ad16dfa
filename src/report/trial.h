/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h: plans that ran, predicted beside measured: as text, JSON, Markdown, JUnit XML and a trace. */
#ifndef FUSESIM_REPORT_TRIAL_H
#define FUSESIM_REPORT_TRIAL_H

#include "report/gate.h"
#include "validate/trial/trial.h"

/* mape: of all plans' times; bytes: of all kernels' DRAM bytes, differences over the sum, so that the large ones weigh
 * most; regret: the largest. */
typedef enum { FSIM_TRIAL_MAPE, FSIM_TRIAL_BYTES, FSIM_TRIAL_REGRET, FSIM_TRIAL_METRICS } fsim_trial_metric;
extern const fsim_gate_table fsim_trial_gates; /* of --gate */

typedef struct {
    const char *device, *name; /* cpu; "AMD EPYC, 2 threads" */
    const char *facts;         /* driver, clocks; "" */
    bool counts;               /* the device can count bytes */
    const char *no_counters;   /* why it counted none; NULL */
    const fsim_trial *at;
    int count;
    const fsim_gate *gate; /* judged */
    int gates;
    bool verbose, measured; /* measured: else kernels were compared only */
} fsim_trials;

/* Measures the gate's metric, and judges it. Returns what repetition alone may move the value by. */
double fsim_trial_gate_try(fsim_gate *g, const fsim_trials *x, fsim_arena *a);

/* Each workload: what was compared, its plans, its kernels; gates. */
void fsim_report_trials(const fsim_page *page, const fsim_trials *x);
/* "mlp on AMD EPYC, 2 threads: all 5 kernels agree with the reference. Regret 0 %: ..." In a. */
const char *fsim_trial_line(const fsim_trials *x, const fsim_trial *t, fsim_arena *a);
/* The same as Markdown, for a CI summary. */
void fsim_markdown_trials(FILE *out, const fsim_trials *x);
/* reports/schema/trials.schema.json describes it. */
void fsim_json_trials(FILE *out, const fsim_trials *x);
/* A test case for each gate, and for each plan whether its kernels are right. */
void fsim_junit_trials(FILE *out, const fsim_trials *x);
/* For Perfetto: of each plan two processes, predicted and measured, with the kernels one behind the other. */
void fsim_trace_trials(FILE *out, const fsim_trials *x);

#endif
