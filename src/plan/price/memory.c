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

fsim_sum fsim_lasting_bytes(const fsim_graph *g)
{
    fsim_memory_use use = {0};
    add_lasting(g, &use);
    return fsim_tensor_bytes(&use);
}

static bool is_intermediate(const fsim_tensor *t) { return t->producer >= 0 && !t->lasting; }

static fsim_sum workspace_of(const fsim_graph *g, const fsim_kernel *k)
{
    fsim_sum bytes = k->pieces > 1 ? (fsim_sum)k->pieces * k->group->points * (fsim_sum)sizeof(float) : 0;
    for (int i = 0; i < k->outputs && k->split_k > 1; i++)
        bytes += (fsim_sum)k->split_k * g->tensor[k->output[i].tensor].elems * (fsim_sum)sizeof(float);
    return bytes;
}

/* Per tensor, the last kernel that reads it. In a. */
static int *last_readers(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a)
{
    int *last = fsim_new(a, int, g->tensors + 1);
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->kernel[k].inputs; i++)
            last[plan->kernel[k].input[i].tensor] = k;
    return last;
}

/* Is tensor t, which kernel `made` stores, in memory while kernel k runs? */
static bool is_alive(const fsim_tensor *t, int made, int last, int k)
{
    return made == k || (made < k && (last >= k || t->stays));
}

/* The largest intermediate in memory while kernel k runs. */
static int largest_at(const fsim_graph *g, const fsim_plan *plan, int k, const int *last)
{
    int largest = -1;
    for (int j = 0; j <= k; j++)
        for (int i = 0; i < plan->kernel[j].outputs; i++) {
            const int t = plan->kernel[j].output[i].tensor;
            if (is_intermediate(&g->tensor[t]) && is_alive(&g->tensor[t], j, last[t], k) &&
                (largest < 0 || g->tensor[t].bytes > g->tensor[largest].bytes))
                largest = t;
        }
    return largest;
}

/* Bytes of intermediates while each kernel runs, into at[]. Returns the kernel with most, the first of equals; -1
 * where the plan has none. */
static int live_bytes(const fsim_graph *g, const fsim_plan *plan, const int *last, fsim_memory_step *at)
{
    fsim_sum live = 0;
    int most = plan->kernels ? 0 : -1;
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_kernel *x = &plan->kernel[k];
        for (int i = 0; i < x->outputs; i++)
            live += fsim_taken_bytes(&g->tensor[x->output[i].tensor]);
        at[k] = (fsim_memory_step){live, workspace_of(g, x)};
        most = live > at[most].live_bytes ? k : most;
        for (int i = 0; i < x->inputs; i++) {
            const fsim_tensor *t = &g->tensor[x->input[i].tensor];
            if (is_intermediate(t) && last[x->input[i].tensor] == k)
                live -= fsim_freed_bytes(t);
        }
    }
    return most;
}

fsim_memory_use fsim_memory_of(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    const int *last = last_readers(g, plan, a);
    fsim_memory_step *at = fsim_new(a, fsim_memory_step, plan->kernels + 1);
    fsim_memory_use use = {.kernel = live_bytes(g, plan, last, at), .tensor = -1};
    for (int k = 0; k < plan->kernels; k++)
        use.workspace_bytes = at[k].workspace_bytes > use.workspace_bytes ? at[k].workspace_bytes : use.workspace_bytes;
    add_lasting(g, &use);
    if (use.kernel >= 0) {
        use.activation_bytes += at[use.kernel].live_bytes;
        use.tensor = largest_at(g, plan, use.kernel, last);
    }
    fsim_rewind(a, mark);
    return use;
}

const fsim_memory_step *fsim_memory_steps(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a)
{
    fsim_memory_step *at = fsim_new(a, fsim_memory_step, plan->kernels + 1);
    fsim_memory_use lasting = {0};
    live_bytes(g, plan, last_readers(g, plan, a), at);
    add_lasting(g, &lasting);
    for (int k = 0; k < plan->kernels; k++)
        at[k].live_bytes += fsim_tensor_bytes(&lasting);
    return at;
}

/* Puts tensor t among the largest so far, the largest first. */
static int put_in(const fsim_graph *g, int t, int *list, int count, int most)
{
    int i = count < most ? count : most;
    for (; i > 0 && g->tensor[list[i - 1]].bytes < g->tensor[t].bytes; i--)
        if (i < most)
            list[i] = list[i - 1];
    if (i < most)
        list[i] = t;
    return count < most ? count + 1 : most;
}

int fsim_largest_in_memory(const fsim_graph *g, const fsim_plan *plan, int k, fsim_largest *out, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    const int *last = last_readers(g, plan, a);
    out->count = 0;
    for (int t = 0; t < g->tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        if (x->storage == t && x->over < 0 && !x->renews &&
            (x->producer < 0 ? x->readers > 0 || x->output : x->lasting))
            out->count = put_in(g, t, out->tensor, out->count, FSIM_LARGEST);
    }
    for (int j = 0; j <= k; j++)
        for (int i = 0; i < plan->kernel[j].outputs; i++) {
            const int t = plan->kernel[j].output[i].tensor;
            const fsim_tensor *x = &g->tensor[t];
            if (is_intermediate(x) && !x->renews && x->over < 0 && is_alive(x, j, last[t], k))
                out->count = put_in(g, t, out->tensor, out->count, FSIM_LARGEST);
        }
    fsim_rewind(a, mark);
    return out->count;
}

bool fsim_fits(const fsim_hw *hw, const fsim_memory_use *use)
{
    const double capacity = fsim_hw_get(hw, FSIM_HW_DRAM_CAPACITY);
    return isnan(capacity) || (double)fsim_needed_bytes(use) <= capacity;
}
