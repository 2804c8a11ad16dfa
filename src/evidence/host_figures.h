/* SPDX-License-Identifier: Apache-2.0 */
/* host_figures.h: what PyTorch's host takes for operators on one machine, as tools/host.py measures it, as figures of a
 * hardware file. */
#ifndef FUSESIM_EVIDENCE_HOST_FIGURES_H
#define FUSESIM_EVIDENCE_HOST_FIGURES_H

#include "evidence/calibrate.h"
#include "input/csv.h"

/* Reads the rows `operator,launches,seconds,machine` of a file of which nothing was read yet, and sets the keys
 * launch_eager and host_* of hw, in place: the time of a plain operator is launch_eager; what another takes beyond its
 * launches is counted in launches. *fit has each key before and after, in the arena of the file. False after errors in
 * its diagnostics. */
bool fsim_read_host_figures(const fsim_csv *file, fsim_hw *hw, fsim_fit *fit);
/* The text of the hardware file with these figures. In a. */
const char *fsim_host_figures_text(fsim_arena *a, const char *text, const fsim_fit *fit,
                                   const fsim_calibration_note *note);

#endif
