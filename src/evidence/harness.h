/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h: how a benchmark ran its kernels, where that changes the measured times. Prices do not know it; this
 * file adjusts them to what such a benchmark measures. */
#ifndef FUSESIM_EVIDENCE_HARNESS_H
#define FUSESIM_EVIDENCE_HARNESS_H

#include "evidence/rows.h"
#include "vendor/vendor.h"

typedef enum {
    FSIM_HARNESS_NONE,    /* no adjustment */
    FSIM_HARNESS_ROTATES, /* rotates copies of the weights, activations stay in place: L2 holds the activations, and
                             weights so small that five copies fit */
    FSIM_HARNESS_CALLS, /* events around one call of the framework: the device waits for the host's part of the call */
    FSIM_HARNESS_RESTS  /* eager calls with pauses: a device with a low power limit runs faster at first */
} fsim_harness;

/* The harness of a measured row, from its launch regime and its L2 state. */
fsim_harness fsim_harness_of(const fsim_measured *row);

/* The group's kernel as software s runs it in this harness. own: fsim_kernel_of's answer where it is known, or NULL.
 * Result in a. */
fsim_kernel fsim_kernel_measured(fsim_harness harness, const fsim_software *s, const fsim_group *group,
                                 const fsim_residency *l2, const fsim_kernel *own, fsim_arena *a);

#endif
