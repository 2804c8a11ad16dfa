/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/barrier.h"

const char *const fsim_phase_names[FSIM_PHASES] = {"forward", "backward", "optimizer"};

void fsim_note_outputs(fsim_graph *g)
{
    g->own_tensors = g->tensors;
    for (int t = 0; t < g->tensors; t++)
        g->tensor[t].forward_output = g->tensor[t].output;
}

static bool needs_gradient(const fsim_graph *g, const fsim_node *n)
{
    for (int k = 0; k < n->args; k++) {
        const fsim_tensor *t = &g->tensor[n->arg[k].tensor];
        if (t->after_outputs || (t->producer >= 0 && g->node[t->producer].side == FSIM_AFTER_BARRIER))
            return true;
    }
    return false;
}

static bool leads_to_output(const fsim_graph *g, const fsim_node *n)
{
    for (int r = 0; r < n->results; r++) {
        const fsim_tensor *t = &g->tensor[n->result[r]];
        bool leads = t->forward_output;
        for (int k = 0; k < t->readers && !leads; k++)
            leads = g->node[t->reader[k]].side == FSIM_BEFORE_BARRIER;
        if (leads)
            return true;
    }
    return false;
}

void fsim_find_barrier(fsim_graph *g)
{
    g->barrier = false;
    for (int n = 0; n < g->nodes; n++) {
        const bool after = needs_gradient(g, &g->node[n]);
        g->node[n].side = after ? FSIM_AFTER_BARRIER : FSIM_EITHER_SIDE;
        g->barrier = g->barrier || after;
    }
    for (int n = g->nodes; n-- > 0 && g->barrier;)
        if (g->node[n].side == FSIM_EITHER_SIDE && leads_to_output(g, &g->node[n]))
            g->node[n].side = FSIM_BEFORE_BARRIER;
}

int fsim_awaited_gradient(const fsim_graph *g, int n)
{
    while (n >= 0 && g->node[n].side == FSIM_AFTER_BARRIER) {
        int from = -1;
        for (int k = 0; k < g->node[n].args; k++) {
            const fsim_tensor *t = &g->tensor[g->node[n].arg[k].tensor];
            if (t->after_outputs)
                return g->node[n].arg[k].tensor;
            from = t->producer >= 0 && g->node[t->producer].side == FSIM_AFTER_BARRIER ? t->producer : from;
        }
        n = from;
    }
    return -1;
}

static bool is_result(const fsim_graph *g, int n, int *tensor)
{
    for (int r = 0; r < g->node[n].results; r++)
        if (g->tensor[g->node[n].result[r]].forward_output) {
            *tensor = g->node[n].result[r];
            return true;
        }
    return false;
}

/* The last reader that leads to an output; -1: none. */
static int reader_before(const fsim_graph *g, int n)
{
    int last = -1;
    for (int r = 0; r < g->node[n].results; r++) {
        const fsim_tensor *t = &g->tensor[g->node[n].result[r]];
        for (int k = 0; k < t->readers; k++)
            if (g->node[t->reader[k]].side == FSIM_BEFORE_BARRIER && t->reader[k] > last)
                last = t->reader[k];
    }
    return last;
}

int fsim_output_of(const fsim_graph *g, int n)
{
    int tensor = -1;
    while (n >= 0 && !is_result(g, n, &tensor))
        n = reader_before(g, n);
    return tensor;
}
