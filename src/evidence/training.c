/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/training.h"

#include "evidence/do_bench.h"
#include "evidence/step.h"
#include "plan/price/memory.h"
#include "plan/rivals/tape.h"
#include <math.h>

static const fsim_derive gradients = {.mode = FSIM_REVERSE}, sums = {.mode = FSIM_REVERSE, .micro_batches = 2},
                         steps = {.mode = FSIM_REVERSE, .want = FSIM_WANT_WEIGHTS, .update = FSIM_ADAMW};

/* Peaks of memory: a benchmark runs again and again, so that gradients are added to those of the run before. */
static const fsim_derive again = {.mode = FSIM_REVERSE, .micro_batches = 2, .sums_all = true};

static const fsim_derive *const derives[FSIM_MODES] = {[FSIM_MODE_BACKWARD] = &gradients,
                                                       [FSIM_MODE_FULL] = &gradients,
                                                       [FSIM_MODE_ACCUMULATE] = &sums,
                                                       [FSIM_MODE_STEP] = &steps};

/* Is it a whole model in the form that trains? The forward pass of an operator alone was run again and again. */
static bool trains(const fsim_measured *row)
{
    const char *set;
    fsim_row_model(row, &set);
    return *set != '\0';
}

const fsim_derive *fsim_row_derive(const fsim_measured *row)
{
    if (fsim_bench_memory_mode(row) == FSIM_MODE_FORWARD && (row->of_memory || trains(row)))
        return &gradients; /* what is kept for backward */
    const fsim_derive *as_is = derives[fsim_bench_memory_mode(row)];
    return row->of_memory && as_is == &gradients ? &again : as_is;
}

int fsim_row_graph(const fsim_measured *row)
{
    const fsim_derive *const all[] = {NULL, &gradients, &sums, &steps, &again};
    int i = 0;
    while (all[i] != fsim_row_derive(row))
        i++;
    return i;
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

/* Eager PyTorch's own, by what autograd keeps. A whole run ends with the gradients of all that wants one. */
static double eager_peak(const fsim_graph *g, const fsim_measured *row, fsim_arena *a)
{
    const fsim_measured_part mode = fsim_bench_memory_mode(row);
    const fsim_tape_part part = mode == FSIM_MODE_FORWARD    ? FSIM_TAPE_FORWARD
                                : mode == FSIM_MODE_BACKWARD ? FSIM_TAPE_BACKWARD
                                                             : FSIM_TAPE_FULL;
    return fsim_tape_peak(g, part, fsim_row_derive(row) == &again, a);
}

double fsim_row_peak(const fsim_graph *g, const fsim_plan *plan, const fsim_measured *row, fsim_arena *a)
{
    if (row->strategy == FSIM_STRATEGY_EAGER && row->mode != FSIM_MODE_STEP && row->mode != FSIM_MODE_ACCUMULATE)
        return eager_peak(g, row, a);
    const fsim_memory_step *step = fsim_memory_steps(g, plan, a);
    double most = 0, later = 0;
    for (int t = 0; t < g->tensors && row->mode == FSIM_MODE_FORWARD; t++)
        later += g->tensor[t].after_outputs ? (double)g->tensor[t].bytes : 0;
    for (int k = 0, all; k < plan->kernels; k++)
        if (measured_in(g, &plan->kernel[k], row->mode, &all) > 0)
            most = fmax(most, (double)(step[k].live_bytes + step[k].workspace_bytes) - later);
    return most;
}
