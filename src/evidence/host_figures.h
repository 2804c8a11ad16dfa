/* SPDX-License-Identifier: Apache-2.0 */
/* host_figures.h: what PyTorch's host takes for operators on one machine, as tools/host.py measures it, as figures of a
 * hardware file. */
#ifndef FUSESIM_EVIDENCE_HOST_FIGURES_H
#define FUSESIM_EVIDENCE_HOST_FIGURES_H

#include "base/diag.h"
#include "evidence/calibrate.h"

/* Reads the rows `operator,launches,seconds,machine` and sets the keys launch_eager and host_* of hw, in place: the
 * time of a plain operator is launch_eager; what another takes beyond its launches is counted in launches. *fit has
 * each key before and after. False after errors in d. In a. */
bool fsim_read_host_figures(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes, fsim_hw *hw,
                            fsim_fit *fit);
/* The text of the hardware file with these figures. In a. */
const char *fsim_host_figures_text(fsim_arena *a, const char *text, const fsim_fit *fit,
                                   const fsim_calibration_note *note);

#endif
