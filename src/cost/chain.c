/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/chain.h"

#include "kernel/chain.h"
#include <math.h>

enum { TENSOR_STEP = 16 }; /* tensor cores take 16 elements of k and 16 columns at a time */

fsim_chain_shape fsim_chain_shape_of(const fsim_graph *g, const fsim_group *o, bool tensor)
{
    const fsim_node *first = &g->node[o->first], *second = &g->node[o->anchor];
    const int elem_bytes = fsim_dtype_bytes(g->tensor[first->arg[0].tensor].dtype);
    fsim_chain_shape s = {.batch = (double)o->batch,
                          .m = (double)o->rows / (double)o->batch,
                          .width = (double)o->width,
                          .k = (double)first->gemm.k,
                          .results = (double)second->points / (double)o->rows,
                          .elem_bytes = elem_bytes,
                          .tensor = tensor,
                          .online = o->online,
                          .causal = (double)o->causal};
    for (int i = 0; i < FSIM_CHAIN_OPERANDS; i++)
        s.stored_bytes[i] = elem_bytes;
    return s;
}

fsim_chain_block fsim_chain_block_of(const fsim_chain_shape *s, fsim_chain_tile t)
{
    const double unit = s->tensor ? TENSOR_STEP : 1, chunks = t.chunks;
    const double k = ceil(s->k / unit) * unit,
                 results = ceil(s->results / chunks / unit) * unit; /* a block's k and results, padded */
    const double tiles_m = ceil(s->m / t.m), rows = s->batch * s->m, e = s->elem_bytes;
    fsim_chain_block b = {.steps = ceil(s->width / t.split / t.n), .chunks = chunks, .streams = !t.kept};
    const double made = s->causal > 0
                            ? fmin(1, (s->causal + t.m + t.n) / (2 * s->causal))
                            : 1; /* share of the tiles that reach below the mask's diagonal: the others are skipped */
    b.steps *= made;
    b.loads[FSIM_CHAIN_OPERANDS] = made * chunks;
    b.blocks = s->batch * tiles_m * t.split * chunks;
    b.first_flops = 2.0 * t.m * b.steps * t.n * k;
    b.second_flops = 2.0 * t.m * b.steps * t.n * results;
    if (s->online) /* in each step, each row's sums so far are multiplied by exp(old maximum - new maximum) */
        b.fixing_flops += rows * b.steps * t.split * (s->results + 4 * chunks);
    if (t.split > 1)
        b.fixing_flops += rows * t.split * (2 * s->results + 4);
    b.loads[FSIM_CHAIN_ROWS] = t.split * chunks * (b.streams ? b.steps : 1);
    b.loads[FSIM_CHAIN_FIRST] = tiles_m * chunks;
    b.loads[FSIM_CHAIN_SECOND] = tiles_m;
    b.l2_bytes = e * rows * s->k * b.loads[FSIM_CHAIN_ROWS] + s->batch * tiles_m * s->width * made *
                                                                  (s->stored_bytes[FSIM_CHAIN_FIRST] * s->k * chunks +
                                                                   s->stored_bytes[FSIM_CHAIN_SECOND] * s->results);
    if (t.split > 1) /* partial results are written and read in 32 bits */
        b.partial_bytes = 2.0 * t.split * rows * (s->results + 2) * 4;
    b.l2_bytes += b.partial_bytes;
    /* operands are written to shared memory and read by the units; tensor units have the intermediate in registers */
    const double step = (t.m + t.n) * k + t.n * results + (s->tensor ? 0 : (double)t.m * t.n);
    b.shared_bytes_moved = b.blocks * b.steps * step * e * (s->tensor ? 2 : 4);
    return b;
}
