/* SPDX-License-Identifier: Apache-2.0 */
/* generate.h: a plan's kernels as programs. */
#ifndef FUSESIM_EMIT_GENERATE_H
#define FUSESIM_EMIT_GENERATE_H

#include "emit/program.h"

/* The plan's kernels, plan->kernels of them, in launch order, written in `jobs` threads (base/jobs.h). In a. */
fsim_program *fsim_programs_of(const fsim_graph *g, const fsim_hw *hw, const fsim_plan *plan, int jobs, fsim_arena *a);

#endif
