/* SPDX-License-Identifier: Apache-2.0 */
#include "vendor/library.h"

bool fsim_library_can(const fsim_costing *c)
{
    const fsim_group *o = c->group;
    const fsim_gemm *m = &c->g->node[o->anchor].gemm;
    int vectors = 0;
    if (!fsim_map_is_identity(&o->anchor_map) || o->writes > 1 || o->contractions > 1 || o->whole_row > 0)
        return false;
    for (int i = 0; i < o->members; i++) { /* a transposed or strided operand is an argument of the call */
        const fsim_class class = fsim_ops[c->g->node[o->member[i].node].op].class;
        if (o->member[i].node != o->anchor && class != (o->member[i].prologue ? FSIM_PERMUTE : FSIM_ELEMENTWISE))
            return false;
    }
    for (int i = 0; i < o->reads; i++) {
        if (o->read[i].operand >= 0)
            continue;
        if (c->g->tensor[o->read[i].tensor].elems > m->n * m->batch)
            return false;
        vectors++;
    }
    return vectors <= 1;
}
