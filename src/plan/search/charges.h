/* SPDX-License-Identifier: Apache-2.0 */
/* charges.h: what every kernel with a primitive moves through DRAM, and what a second of each unit counts for it. */
#ifndef FUSESIM_PLAN_SEARCH_CHARGES_H
#define FUSESIM_PLAN_SEARCH_CHARGES_H

#include "plan/search/states.h"

/* Weights of DRAM and of contractions' work: for primitives by place, for graph inputs by tensor. start: per place, the
 * seconds of a launch that a contraction is charged. */
typedef struct {
    double *dram, *work, *input, *start;
} fsim_charges;

/* Adds to own[place] what is charged beyond graph inputs and outputs, and finds the weights. f's transfers, products
 * and f->whole are known; masked: per place, a contraction that may be in a chain which skips a part of it;
 * input[tensor]: what graph inputs are charged. False, and nothing is added, for lists of which nothing more is known
 * than one weight for each unit. In f's arena. */
bool fsim_find_charges(fsim_frontier *f, const bool *masked, fsim_unit_seconds *own, const fsim_unit_seconds *input,
                       fsim_charges *out);
/* Does no kernel have the place and a contraction? */
bool fsim_is_solo(const fsim_frontier *f, int place);

#endif
