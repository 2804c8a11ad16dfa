/* SPDX-License-Identifier: Apache-2.0 */
/* template.h: when a group has which template. */
#ifndef FUSESIM_FUSION_TEMPLATE_H
#define FUSESIM_FUSION_TEMPLATE_H

#include "fusion/group.h"

/* What decides on the template of a group. */
typedef struct {
    fsim_class alone;       /* of the primitive that is a kernel of its own; FSIM_CLASS_COUNT: there is none */
    bool contracts, chains; /* it holds a contraction; two, one of which needs the other */
    bool pools;             /* a pooling window */
    bool reduces;           /* a reduction */
    bool splits_rows;       /* .. over few rows, too long for a block each, with no full-size result behind it */
    bool strided_rows;      /* .. whose elements are not beside each other, but neighbouring rows are */
    bool mixes;             /* .. and sums over all rows beside those of each row */
    bool computes;          /* it has arithmetic */
} fsim_template_facts;

/* The template whose predicate, in its row of template.def, holds. Exactly one does. */
fsim_template fsim_template_for(const fsim_template_facts *f);

#endif
