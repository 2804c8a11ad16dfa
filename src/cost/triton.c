/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/costing.h"

fsim_kernel fsim_triton_kernel(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    (void)c;
    (void)a;
    return *own;
}
