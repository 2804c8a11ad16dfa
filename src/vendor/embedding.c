/* SPDX-License-Identifier: Apache-2.0 */
/* embedding.c: the gradient of an embedding's table in PyTorch without a compiler (ATen/native/cuda,
 * embedding_backward_cuda_kernel). Of more than 3,072 indices it sorts them, asks how many there are of each, sums up
 * parts of the rows of one index, and then the parts:
 *
 *     time_s += start_s + passes x (rows that occur) x (bytes of a row in FP32) / bandwidth
 * Which rows occur is in the data: as many as of indices that are drawn evenly. torch.compile generates atomic
 * additions; on an MI300X it takes as long as eager, within 3 % on seven of Liger's eight tables of 4,096 features. */
#include "vendor/constants.h"
#include "vendor/kernels.h"

#include <math.h>

static const fsim_node *scatter_of(const fsim_costing *c)
{
    return c->group->members == 1 ? &c->g->node[c->group->member[0].node] : NULL;
}

bool fsim_is_embedding_backward(const fsim_costing *c, fsim_maker maker)
{
    const fsim_node *n = scatter_of(c);
    const bool compiled = maker == FSIM_BY_INDUCTOR && c->hw->arch->sm > 0;
    if (!n || compiled || n->op != FSIM_OP_INDEX_ADD)
        return false;
    const fsim_source *s = &c->g->source[n->source];
    return s->phase == FSIM_BACKWARD && s->gradient_of >= 0 && c->g->source[s->gradient_of].op == FSIM_OP_EMBEDDING;
}

fsim_kernel fsim_embedding_backward(const fsim_costing *c, const fsim_kernel *own)
{
    const fsim_node *n = scatter_of(c);
    const fsim_tensor *table = &c->g->tensor[n->result[0]], *from = &c->g->tensor[n->arg[n->args - 1].tensor];
    const double width = (double)table->shape.dim[table->shape.rank - 1], rows = (double)table->elems / width,
                 indices = (double)from->elems / width, occur = rows * (1 - exp(-indices / rows));
    fsim_kernel k = *own;
    if (indices <= ATEN_EMBEDDING_UNSORTED)
        return k;
    fsim_add_after(&k, FSIM_DRAM,
                   aten_embedding_start_s +
                       fsim_dram_seconds(c->hw, 1, 1) / 2 * aten_embedding_passes * occur * width * sizeof(float));
    return k;
}
