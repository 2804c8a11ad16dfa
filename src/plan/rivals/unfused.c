/* SPDX-License-Identifier: Apache-2.0 */
/* unfused.c: one kernel for each primitive. */
#include "plan/rivals/rivals.h"

fsim_partition fsim_unfused_partition(fsim_problem *p, fsim_arena *a, const char ***rule)
{
    (void)rule;
    return fsim_singles(p, a);
}
