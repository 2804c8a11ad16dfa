/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h: how a benchmark ran what it measured, where that shows in the times. Prices know nothing of it: here they
 * are put in the place of what such a benchmark sees. */
#ifndef FUSESIM_EVIDENCE_HARNESS_H
#define FUSESIM_EVIDENCE_HARNESS_H

#include "evidence/rows.h"
#include "vendor/vendor.h"

typedef enum {
    FSIM_HARNESS_NONE,    /* nothing that prices do not say */
    FSIM_HARNESS_ROTATES, /* over copies of the weights in turn, activations in place: L2 holds the latter, and weights
                             so small that five copies fit */
    FSIM_HARNESS_CALLS,   /* events around one call of the framework: the device waits for what the host does in it */
    FSIM_HARNESS_RESTS    /* eager calls far apart: a device that is held to little power runs faster at first */
} fsim_harness;

/* The harness of a measured row, from its launch regime and what it says of L2. */
fsim_harness fsim_harness_of(const fsim_measured *row);

/* The group's kernel as software s runs it in this harness. own: fsim_kernel_of's answer where it is known, or NULL.
 * Result in a. */
fsim_kernel fsim_kernel_measured(fsim_harness harness, const fsim_software *s, const fsim_group *group,
                                 const fsim_residency *l2, const fsim_kernel *own, fsim_arena *a);

#endif
