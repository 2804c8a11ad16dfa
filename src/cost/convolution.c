/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/costing.h"

#include <math.h>

static const double direct_cycles = 0.28;       /* SM cycles per output and tap of a depthwise convolution, measured on ATen kernels */

/* Few channels a group: no tile to share, so a thread for each output. */
fsim_kernel fsim_direct_convolution(const fsim_costing *c, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    fsim_kernel k = fsim_blank_kernel(c, a);
    const double points = (double)n->points * (double)n->reduced;
    k.template = fsim_library_can(c) ? FSIM_LIBRARY_CONTRACTION : FSIM_TILED_CONTRACTION;
    k.grid = (n->points + FSIM_BLOCK - 1) / FSIM_BLOCK;
    k.registers = fsim_registers(c->group->live, 1);
    k.flops = 2.0 * (double)n->gemm.batch * (double)n->gemm.m * (double)n->gemm.n * (double)n->gemm.k;
    fsim_add_arithmetic(c, &k, (const double[2]){fsim_window_loads(n), 1}, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    k.unit[FSIM_ISSUE] += points * direct_cycles / 32 / (c->sms * c->clock);
    k.unit[FSIM_COMPUTE] += points / fsim_pipe_rate(c, FSIM_F32);
    if (fsim_settle(c, &k, 1))
        fsim_sum_up(c, &k);
    k.penalised = true;
    return k;
}

fsim_kernel fsim_framework_convolution(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own, fsim_arena *a)
{
    (void)c;
    (void)maker;
    (void)a;
    return *own;
}
