/* SPDX-License-Identifier: Apache-2.0 */
/* json_training.h: what --json says of gradients: which there are, phases, saved values, memory over time. Each puts
 * nothing where the workload has none. */
#ifndef FUSESIM_REPORT_JSON_TRAINING_H
#define FUSESIM_REPORT_JSON_TRAINING_H

#include "predict.h"
#include "report/json_writer.h"

/* `training`: the gradients, what has none, and FLOPs; several GPUs. */
void fsim_put_training(fsim_writer *w, cJSON *to, const fsim_prediction *p);
/* Of a strategy: seconds by phase, and what forward leaves in memory for backward. */
void fsim_put_phases(fsim_writer *w, cJSON *to, const fsim_graph *g, const fsim_plan *plan);
/* The peak of eager PyTorch's memory in a step without an update, by what autograd keeps (plan/rivals/tape.h): what
 * `peak_memory_bytes` of the plan of eager's kernels is not. */
void fsim_put_autograd_peak(fsim_writer *w, cJSON *to, const fsim_graph *g);
/* `saved` and `timeline` of the plan shown. */
void fsim_put_saved(fsim_writer *w, cJSON *to, const fsim_prediction *p);
/* `phase` of a kernel of the plan shown. */
void fsim_put_phase(fsim_writer *w, cJSON *to, const fsim_prediction *p, int kernel);

#endif
