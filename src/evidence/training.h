/* SPDX-License-Identifier: Apache-2.0 */
/* training.h: rows of a training: which graph they are of, and which of its kernels were measured. */
#ifndef FUSESIM_EVIDENCE_TRAINING_H
#define FUSESIM_EVIDENCE_TRAINING_H

#include "evidence/rows.h"

/* The derivatives that a row's graph has; NULL: none. */
const fsim_derive *fsim_row_derive(const fsim_measured *row);
/* Rows of a workload for which it is equal have the same graph. */
int fsim_row_graph(const fsim_measured *row);

/* Bytes: the plan's peak of memory while what the row measures runs. What a later part needs alone is not there yet.
 * Scratch in a. */
double fsim_row_peak(const fsim_graph *g, const fsim_plan *plan, const fsim_measured *row, fsim_arena *a);

/* Does a kernel of the plan belong to the part as well as to another? Then the part has no time of its own: how much of
 * the kernel ran in it is for the program to say. */
bool fsim_mode_mixed(const fsim_graph *g, const fsim_plan *plan, fsim_measured_part mode);

/* The kernels of the plan that the mode measures, in order: a plan that has only these, for prices and intervals. In a.
 */
fsim_plan fsim_mode_kernels(const fsim_graph *g, const fsim_plan *plan, fsim_measured_part mode, fsim_arena *a);

#endif
