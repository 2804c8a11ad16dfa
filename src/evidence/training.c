/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/training.h"

static const fsim_derive gradients = {.mode = FSIM_REVERSE}, sums = {.mode = FSIM_REVERSE, .micro_batches = 2},
                         steps = {.mode = FSIM_REVERSE, .want = FSIM_WANT_WEIGHTS, .update = FSIM_ADAMW};

static const fsim_derive *const derives[FSIM_MODES] = {[FSIM_MODE_BACKWARD] = &gradients,
                                                       [FSIM_MODE_FULL] = &gradients,
                                                       [FSIM_MODE_ACCUMULATE] = &sums,
                                                       [FSIM_MODE_STEP] = &steps};

const fsim_derive *fsim_mode_derive(fsim_measured_part mode) { return derives[mode]; }

int fsim_mode_graph(fsim_measured_part mode)
{
    return derives[mode] == NULL ? 0 : derives[mode] == &gradients ? 1 : derives[mode] == &sums ? 2 : 3;
}

static bool is_measured(const fsim_graph *g, const fsim_node *n, fsim_measured_part mode)
{
    switch (mode) {
    case FSIM_MODE_FORWARD:
        return n->phase == FSIM_FORWARD;
    case FSIM_MODE_BACKWARD:
        return n->phase == FSIM_BACKWARD;
    case FSIM_MODE_ACCUMULATE:
        return n->phase == FSIM_BACKWARD && g->tensor[n->result[0]].renews;
    default:
        return true;
    }
}

/* How many of the primitives that kernel k owns the mode measures; *all: how many it owns. */
static int measured_in(const fsim_graph *g, const fsim_kernel *k, fsim_measured_part mode, int *all)
{
    int count = 0;
    *all = 0;
    for (int i = 0; i < k->group->members; i++)
        if (!k->group->member[i].clone) {
            ++*all;
            count += is_measured(g, &g->node[k->group->member[i].node], mode);
        }
    return count;
}

bool fsim_mode_mixed(const fsim_graph *g, const fsim_plan *plan, fsim_measured_part mode)
{
    for (int k = 0, all; k < plan->kernels; k++) {
        const int count = measured_in(g, &plan->kernel[k], mode, &all);
        if (count > 0 && count < all)
            return true;
    }
    return false;
}

fsim_plan fsim_mode_kernels(const fsim_graph *g, const fsim_plan *plan, fsim_measured_part mode, fsim_arena *a)
{
    fsim_plan out = *plan;
    out.kernel = fsim_new(a, fsim_kernel, plan->kernels + 1);
    out.kernels = 0;
    for (int k = 0, all; k < plan->kernels; k++)
        if (measured_in(g, &plan->kernel[k], mode, &all) > 0)
            out.kernel[out.kernels++] = plan->kernel[k];
    return out;
}
