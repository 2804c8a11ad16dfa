/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/costing.h"

fsim_kernel fsim_kernel_made_from(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, fsim_maker maker,
                                  const fsim_group *group, const fsim_residency *l2, const fsim_kernel *known,
                                  fsim_arena *a)
{
    const fsim_kernel own = known ? *known : fsim_kernel_of(g, hw, regime, group, l2, a);
    if (maker == FSIM_BY_FUSESIM || own.time_s <= 0 ||
        hw->host) /* on a host there are generated kernels only, whoever chose the groups */
        return own;
    const fsim_maker torch = fsim_is_eager(maker) ? FSIM_BY_ATEN : maker; /* all but attention */
    const fsim_costing c = fsim_costing_of(g, hw, regime, group, l2, a);
    const bool contracts = group->template == FSIM_TILED_CONTRACTION || group->template == FSIM_LIBRARY_CONTRACTION;
    const fsim_kernel made = group->template == FSIM_CHAINED_CONTRACTION ? fsim_framework_attention(&c, maker, &own, a)
                             : contracts && g->node[group->anchor].gemm.convolution
                                 ? fsim_framework_convolution(&c, torch, &own, a)
                             : contracts             ? fsim_framework_contraction(&c, torch, &own, a)
                             : torch == FSIM_BY_ATEN ? fsim_aten_kernel(&c, &own, a)
                                                     : fsim_triton_kernel(&c, &own, a);
    const fsim_harness harness =
        l2 ? l2->harness : FSIM_HARNESS_NONE; /* the own kernel was priced with another L2, and without rest */
    const bool comparable = harness != FSIM_HARNESS_ROTATES && !(harness == FSIM_HARNESS_RESTS && contracts);
    return made.time_s >= own.time_s || !comparable ? made : own;
}

fsim_kernel fsim_kernel_made_by(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, fsim_maker maker,
                                const fsim_group *group, const fsim_residency *l2, fsim_arena *a)
{
    return fsim_kernel_made_from(g, hw, regime, maker, group, l2, NULL, a);
}
