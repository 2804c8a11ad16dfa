/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/memory.h"

#include <math.h>

/* Adds the workload's own tensors, which are in memory from the first kernel to the last. */
static void add_lasting(const fsim_graph *g, fsim_memory_use *use)
{
    for (int i = 0; i < g->tensors; i++) {
        const fsim_tensor *t = &g->tensor[i];
        if (t->storage != i || t->over >= 0 || t->renews ||
            !(t->producer < 0 ? t->readers > 0 || t->output : t->lasting))
            continue;
        *(t->role == FSIM_WEIGHT ? &use->weight_bytes : &use->activation_bytes) += t->bytes;
    }
}

static bool is_intermediate(const fsim_tensor *t) { return t->producer >= 0 && !t->lasting; }

static fsim_sum workspace_of(const fsim_graph *g, const fsim_kernel *k)
{
    fsim_sum bytes = 0;
    for (int i = 0; i < k->outputs && k->split_k > 1; i++)
        bytes += (fsim_sum)k->split_k * g->tensor[k->output[i].tensor].elems * (fsim_sum)sizeof(float);
    return bytes;
}

/* The largest intermediate in memory while kernel k runs. last: per tensor, the last kernel that reads it. */
static int largest_at(const fsim_graph *g, const fsim_plan *plan, int k, const int *last)
{
    int largest = -1;
    for (int j = 0; j <= k; j++)
        for (int i = 0; i < plan->kernel[j].outputs; i++) {
            const int t = plan->kernel[j].output[i].tensor;
            if (is_intermediate(&g->tensor[t]) && (j == k || last[t] >= k) &&
                (largest < 0 || g->tensor[t].bytes > g->tensor[largest].bytes))
                largest = t;
        }
    return largest;
}

fsim_memory_use fsim_memory_of(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    fsim_memory_use use = {.kernel = plan->kernels ? 0 : -1, .tensor = -1};
    int *last = fsim_new(a, int, g->tensors + 1);
    fsim_sum live = 0, most = 0;
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->kernel[k].inputs; i++)
            last[plan->kernel[k].input[i].tensor] = k;
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_kernel *x = &plan->kernel[k];
        const fsim_sum workspace = workspace_of(g, x);
        for (int i = 0; i < x->outputs; i++)
            live += fsim_taken_bytes(&g->tensor[x->output[i].tensor]);
        if (live > most) {
            most = live;
            use.kernel = k;
        }
        use.workspace_bytes = workspace > use.workspace_bytes ? workspace : use.workspace_bytes;
        for (int i = 0; i < x->inputs; i++) {
            const fsim_tensor *t = &g->tensor[x->input[i].tensor];
            if (is_intermediate(t) && last[x->input[i].tensor] == k)
                live -= fsim_freed_bytes(t);
        }
    }
    add_lasting(g, &use);
    use.activation_bytes += most;
    use.tensor = use.kernel < 0 ? -1 : largest_at(g, plan, use.kernel, last);
    fsim_rewind(a, mark);
    return use;
}

bool fsim_fits(const fsim_hw *hw, const fsim_memory_use *use)
{
    const double capacity = fsim_hw_get(hw, FSIM_HW_DRAM_CAPACITY);
    return isnan(capacity) || (double)fsim_needed_bytes(use) <= capacity;
}
