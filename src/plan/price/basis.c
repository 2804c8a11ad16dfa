/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/basis.h"

#include "plan/price/equal.h"
#include "plan/price/spread.h"
#include "plan/price/unmeasured.h"
#include "vendor/vendor.h"

/* Records in hw->read which keys the price of the plan's kernel k rests on. */
static void price_again(const fsim_problem *p, const fsim_hw *hw, fsim_maker maker, const fsim_plan *plan, int k,
                        fsim_arena *a)
{
    const fsim_group *group = plan->kernel[k].group;
    const fsim_residency l2 = plan->l2[k];
    if (group->template == FSIM_LIBRARY_CONTRACTION) { /* a call of several kernels (sdpa.h) */
        (void)fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH);
        (void)fsim_hw_get(hw, FSIM_HW_TENSOR_F16);
        fsim_kernel_spread(p->graph, hw, maker, &plan->kernel[k]);
        return;
    }
    /* the price of a framework's kernel is at least fusesim's own: only the keys of the one that was taken count */
    const fsim_kernel own = fsim_kernel_of(p->graph, p->hw, p->regime, group, &l2, a);
    bool is_own = maker == FSIM_BY_FUSESIM;
    if (!is_own) {
        const fsim_software software = {p->graph, hw, p->regime, maker};
        const fsim_kernel launched = fsim_framework_kernel(&software, group, &l2, &own, a);
        is_own = launched.time_s == own.time_s;
    }
    if (is_own)
        fsim_kernel_of(p->graph, hw, p->regime, group, &l2, a);
    fsim_kernel_spread(p->graph, hw, maker, &plan->kernel[k]);
}

fsim_basis fsim_basis_of(const fsim_problem *p, fsim_maker maker, const fsim_plan *plan, fsim_arena *a)
{
    fsim_basis basis = {.kernel = fsim_new(a, fsim_hw_keys, plan->kernels + 1)};
    fsim_hw *noting = fsim_new(a, fsim_hw, 1);
    *noting = *p->hw;
    noting->read = &basis.all;
    fsim_l2_effective(noting);
    const int *class = fsim_kernel_classes(p->graph, plan, NULL, a);
    int *first = fsim_new(a, int, plan->kernels + 1); /* per class: its first kernel, plus one */
    for (int k = 0; k < plan->kernels; k++) {
        if (first[class[k]]) { /* an equal kernel reads the same */
            basis.kernel[k] = basis.kernel[first[class[k]] - 1];
            continue;
        }
        first[class[k]] = k + 1;
        const fsim_mark mark = fsim_save(a);
        noting->read = &basis.kernel[k];
        price_again(p, noting, maker, plan, k, a);
        fsim_rewind(a, mark);
        for (int key = 0; key < FSIM_HW_COUNT; key++)
            basis.all.how[key] |= basis.kernel[k].how[key];
    }
    return basis;
}

bool fsim_feeds_bound(fsim_hw_key key, const fsim_kernel *k)
{
    static const fsim_hw_feeds feeds_of_unit[FSIM_UNIT_COUNT] = {
        [FSIM_LAUNCH] = FSIM_FEEDS_LAUNCH, [FSIM_DRAM] = FSIM_FEEDS_DRAM,       [FSIM_L2] = FSIM_FEEDS_L2,
        [FSIM_SHARED] = FSIM_FEEDS_SHARED, [FSIM_COMPUTE] = FSIM_FEEDS_COMPUTE, [FSIM_SPECIAL] = FSIM_FEEDS_SPECIAL,
        [FSIM_ISSUE] = FSIM_FEEDS_ISSUE,   [FSIM_LATENCY] = FSIM_FEEDS_LATENCY};
    return fsim_hw_rows[key].feeds == feeds_of_unit[k->bound];
}

fsim_origin fsim_kernel_origin(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k,
                               const fsim_hw_keys *read)
{
    static const fsim_origin by_weight[] = {FSIM_FROM_ASSUMED, FSIM_FROM_FITTED, FSIM_FROM_MEASURED};
    const bool generated =
        !fsim_is_eager(maker) && (k->template == FSIM_TILED_CONTRACTION || k->template == FSIM_CHAINED_CONTRACTION);
    bool any[FSIM_ORIGINS] = {[FSIM_FROM_ASSUMED] = (generated && k->bound == FSIM_COMPUTE) ||
                                                    fsim_unmeasured_spread(g, hw, maker, k) > 0};
    fsim_origin from;
    for (int key = 0; key < FSIM_HW_COUNT; key++)
        if (fsim_feeds_bound((fsim_hw_key)key, k) && fsim_hw_was_read(hw, read, (fsim_hw_key)key, &from))
            any[from] = true;
    for (size_t i = 0; i < sizeof by_weight / sizeof *by_weight; i++)
        if (any[by_weight[i]])
            return by_weight[i];
    return FSIM_FROM_DATASHEET;
}
