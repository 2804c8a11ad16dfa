/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h: scales and shifts of a contraction's columns, computed into its weights before anything runs.
 *
 * y = (x w) a + b, where a and b have one value for each column (a convolution's channel) and are computed from
 * weights alone, equals x (w a) + b. An example is batch norm behind a convolution or linear layer at inference
 * time. The kernel reads the folded weights instead of w, and one vector of shifts. Not with --numerics strict. */
#ifndef FUSESIM_FUSION_FOLD_H
#define FUSESIM_FUSION_FOLD_H

#include "fusion/group.h"

enum { FSIM_FOLD_DEPTH = 12 }; /* most primitives between weights and a vector computed from them */
/* Is a value that n computes from weights alone known before the run? */
bool fsim_folds(const fsim_node *n);

typedef struct {
    bool *member; /* per primitive of the set: it is part of the folded weights, the kernel does not compute it */
    int members;
    bool shifts; /* the kernel still adds one vector of shifts */
} fsim_folded;

/* Which primitives of the set can be folded into the weights of the contraction set->node[anchor], its only one. None
 * where nothing scales: a bias alone is an epilogue. Needs set->stored. In a. */
fsim_folded fsim_fold(const fsim_graph *g, const fsim_selection *set, int anchor, fsim_arena *a);

#endif
