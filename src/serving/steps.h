/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h: seconds of steps of shipped workloads, each priced once. Who composes a system asks for its steps twice: the
 * first time every answer is a placeholder and the step is noted; fsim_price_steps prices what was noted, in threads;
 * the second time the answers are prices. So what is asked for must not depend on the answers. */
#ifndef FUSESIM_SERVING_STEPS_H
#define FUSESIM_SERVING_STEPS_H

#include "evidence/evaluate.h"

typedef struct fsim_priced_steps fsim_priced_steps;

/* planned: how plans are searched for, whose kernels run the steps; NULL: a serving program's kernels run them. In a.
 */
fsim_priced_steps *fsim_priced_steps_new(fsim_arena *a, const fsim_options *planned);
/* Seconds of the workload with `set` ("B=8;S=1024"), launched as a graph; NaN where
 * it can't be predicted. The texts must outlive s. */
double fsim_step_s(fsim_priced_steps *s, const char *hw, const char *workload, const char *set);
/* The same of PyTorch's kernels in a stream, attention by FlashAttention. */
double fsim_eager_step_s(fsim_priced_steps *s, const char *hw, const char *workload, const char *set);
/* The same of a whole training step, as rows of mode `step` are priced (evidence/step.h). */
double fsim_training_step_s(fsim_priced_steps *s, const char *hw, const char *workload, const char *set);
/* Why one of the steps that were asked for since the last call can't be predicted; NULL: none that is known. */
const char *fsim_steps_fault(fsim_priced_steps *s);
/* Prices what was asked for; what can't be has a fault. False after errors in d: a file is not valid or can't be read.
 */
bool fsim_price_steps(fsim_priced_steps *s, const fsim_folders *where, int jobs, fsim_diag *d);
/* How many different steps there are. */
int fsim_priced_steps_count(const fsim_priced_steps *s);

#endif
