/* SPDX-License-Identifier: Apache-2.0 */
/* ctype.h: the C type in which a kernel's text computes with each dtype: f16, bf16 and f8 as float, small integers
 * and bool as int. */
#ifndef FUSESIM_KERNEL_CTYPE_H
#define FUSESIM_KERNEL_CTYPE_H

#include "graph/graph.h"

typedef enum { FSIM_C_FLOAT, FSIM_C_DOUBLE, FSIM_C_INT, FSIM_C_LONG, FSIM_C_COUNT } fsim_ctype;

static inline fsim_ctype fsim_ctype_of(fsim_dtype t)
{
    return t == FSIM_F64            ? FSIM_C_DOUBLE
           : fsim_dtype_floating(t) ? FSIM_C_FLOAT
           : t == FSIM_I64          ? FSIM_C_LONG
                                    : FSIM_C_INT;
}
static inline int fsim_ctype_bytes(fsim_ctype t) { return t == FSIM_C_DOUBLE || t == FSIM_C_LONG ? 8 : 4; }

#endif
