/* SPDX-License-Identifier: Apache-2.0 */
/* joint.h: how several contractions, or one with reductions, are one kernel (chain.h). */
#ifndef FUSESIM_FUSION_JOINT_H
#define FUSESIM_FUSION_JOINT_H

#include "fusion/group.h"

typedef enum { FSIM_ALONE, FSIM_CHAINED, FSIM_SIBLINGS, FSIM_ROWS, FSIM_TOTALS } fsim_joint_kind;

typedef struct fsim_joint {
    fsim_joint_kind kind;
    int first, second;   /* chained: the contractions; otherwise `first` only */
    int side;            /* chained: the operand of the second that is computed from the first's result */
    int64_t rows, width; /* chained: shape of the intermediate */
    int64_t batch;       /* chained: number of groups of rows; rows of a group share both other operands */
    bool online;         /* chained: reductions run along with the tiles, and results are corrected after each */
    fsim_map frame;      /* chained: (row, column) of the intermediate to the element of the second's operand */
    fsim_map other;      /* chained: row to the first element of the second's other operand that belongs to it */
    fsim_map at;         /* chained: (row, place in it) to the first's element, once the group is made */
    int rows_from;       /* chained: .. and the operand of the first that belongs to the row */
} fsim_joint;

#endif
