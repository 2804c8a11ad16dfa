/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c: what torch.compile keeps of an operator in place of its tensors moves with its kernels: of a max pool the
 * place of each maximum in its window, of a dropout its mask, a byte an element of the result each. Our primitives take
 * both from what forward read and made. */
#include "vendor/kernels.h"

#include "vendor/triton.h"
#include <math.h>

/* Does operator s keep a byte for each element of its result? */
static bool keeps_bytes(const fsim_graph *g, int s)
{
    const fsim_op op = g->source[s].op;
    return op == FSIM_OP_DROPOUT || op == FSIM_OP_MAX_POOL1D || op == FSIM_OP_MAX_POOL2D ||
           (op == FSIM_OP_MAX_POOL3D && !fsim_falls_back(&g->node[g->source[s].first]));
}

static int result_of(const fsim_graph *g, int s)
{
    return g->node[g->source[s].first + g->source[s].nodes - 1].result[0];
}

/* Is the tensor one that only the gradient of operator s reads in this kernel, in which our primitives find again what
 * was kept? */
static bool is_replaced(const fsim_graph *g, const fsim_group *o, int s, int tensor)
{
    bool argument = tensor == result_of(g, s);
    for (int n = g->source[s].first; n < g->source[s].first + g->source[s].nodes; n++)
        for (int k = 0; k < g->node[n].args; k++)
            argument = argument || g->node[n].arg[k].tensor == tensor;
    for (int m = 0; m < o->members && argument; m++) {
        const fsim_node *n = &g->node[o->member[m].node];
        for (int k = 0; k < n->args; k++)
            argument = argument && (n->arg[k].tensor != tensor || g->source[n->source].gradient_of == s);
    }
    return argument;
}

static void leave_out(const fsim_graph *g, const fsim_group *o, int s, fsim_kernel *k)
{
    int kept = 0;
    for (int i = 0; i < k->inputs; i++)
        if (is_replaced(g, o, s, k->input[i].tensor))
            k->dram_read_bytes -= k->input[i].read_bytes;
        else
            k->input[kept++] = k->input[i];
    k->inputs = kept;
}

void fsim_move_kept(const fsim_software *s, fsim_kernel *k, fsim_arena *a)
{
    const fsim_graph *g = s->graph;
    const fsim_group *o = k->group;
    const double before_s = fsim_dram_seconds(s->hw, (double)k->dram_read_bytes, (double)k->dram_write_bytes);
    int last = -1;
    if (s->maker != FSIM_BY_INDUCTOR || g->derived != FSIM_REVERSE || s->hw->host)
        return;
    for (int m = 0; m < o->members; m++) {
        const fsim_source *of = &g->source[g->node[o->member[m].node].source];
        const bool back = of->gradient_of >= 0;
        const int by = back ? of->gradient_of : g->node[o->member[m].node].source;
        if (by == last || o->member[m].clone || !keeps_bytes(g, by))
            continue;
        last = by;
        const int64_t bytes = g->tensor[result_of(g, by)].elems;
        if (!back) {
            k->dram_write_bytes += bytes;
            continue;
        }
        fsim_input *own = fsim_new(a, fsim_input, k->inputs + 1);
        for (int i = 0; i < k->inputs; i++)
            own[i] = k->input[i];
        k->input = own;
        leave_out(g, o, by, k);
        k->dram_read_bytes += bytes;
    }
    /* less traffic is no less time: what a rival launches is never priced below what we would generate */
    const double more_s = fsim_dram_seconds(s->hw, (double)k->dram_read_bytes, (double)k->dram_write_bytes) - before_s;
    if (more_s > 0) {
        k->time[FSIM_DRAM] += more_s;
        k->unit[FSIM_DRAM] += more_s;
        k->time_s = rint((k->time_s + more_s) / FSIM_TICK_S) * FSIM_TICK_S;
    }
}
