/* SPDX-License-Identifier: Apache-2.0 */
/* row_kind.h: what a running correction of a row does to a value between two contractions (fsim_row_kind). */
#ifndef FUSESIM_FUSION_ROW_KIND_H
#define FUSESIM_FUSION_ROW_KIND_H

#include "fusion/group.h"

/* The kind of n's result from the kinds of its arguments; FSIM_FREE for those that come from elsewhere. */
fsim_row_kind fsim_row_kind_of(const fsim_node *n, const fsim_row_kind *arg);

#endif
