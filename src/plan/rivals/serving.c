/* SPDX-License-Identifier: Apache-2.0 */
/* serving.c: as a serving stack runs it: what the workload's `calls:` name as calls of its library (price/calls.h joins
 * them), everything else as PyTorch does. */
#include "plan/rivals/rivals.h"

fsim_partition fsim_serving_partition(fsim_problem *p, fsim_arena *a, const char ***rule)
{
    return fsim_eager_partition(p, a, rule);
}
