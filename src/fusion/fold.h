/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h: scales and shifts of a contraction's columns, computed into its weights before anything runs.
 *
 * y = (x w) a + b with a and b one value a column (a convolution's channel), made of weights alone, is x (w a) + b:
 * inference-time batch norm behind a convolution or linear layer. The kernel reads the folded weights instead of w, and
 * one vector of shifts. Not with --numerics strict. */
#ifndef FUSESIM_FUSION_FOLD_H
#define FUSESIM_FUSION_FOLD_H

#include "fusion/group.h"

/* Flags members of node[0, count) that vanish into the weights of the contraction node[anchor], the only one; stored:
 * those that must reach memory. Returns how many there are: 0 where nothing scales (a bias alone is an epilogue).
 * *shifts: a vector of shifts is left to add. */
int fsim_fold(const fsim_graph *g, const int *node, int count, int anchor, const bool *stored, bool *folded,
              bool *shifts);

#endif
