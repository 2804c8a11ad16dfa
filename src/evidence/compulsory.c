/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/evaluate.h"

/* Does the workload's call read what data choose of its weights? */
static bool is_routed(const fsim_graph *g)
{
    bool routed = false;
    for (int i = 0; i < g->servings; i++)
        routed = routed || (g->serving[i].kind >= FSIM_SERVING_MOE && g->serving[i].kind <= FSIM_SERVING_MOE_NVFP4);
    return routed;
}

/* Bytes that cross the memory bus in every plan: `read` of inputs and weights, `written` of outputs. What depends on
 * data (rows of an embedding, experts that no token chose) counts as 0. */
void fsim_compulsory(const fsim_graph *g, double *read, double *written)
{
    *read = *written = 0;
    for (int i = 0; i < g->tensors; i++) {
        const fsim_tensor *t = &g->tensor[i];
        if (t->storage == i && t->producer >= 0 && t->output)
            *written += (double)t->bytes;
        double most = 0;
        for (int r = 0; t->storage == i && t->producer < 0 && r < t->readers; r++) {
            const fsim_node *n = &g->node[t->reader[r]];
            for (int k = 0; k < n->args; k++)
                if (n->arg[k].tensor == i && n->arg[k].how != FSIM_READ_INDIRECT)
                    most = fmax(most, fmin((double)t->bytes, (double)n->arg[k].distinct * fsim_dtype_bytes(t->dtype)));
        }
        *read += most;
    }
    *read = is_routed(g) ? 0 : *read;
}
