/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/chain.h"

#include "cost/thread_registers.h"
#include "fusion/chain.h"
#include <math.h>

enum {
    TENSOR_STEP = 16, /* tensor units take k and columns sixteen at a time */
    MOST_RESULTS = 256
}; /* a row's, of one block: emit/flash.c */

fsim_chain_shape fsim_chain_shape_of(const fsim_graph *g, const fsim_group *o, bool tensor)
{
    const fsim_node *first = &g->node[o->first], *second = &g->node[o->anchor];
    return (fsim_chain_shape){.batch = (double)o->batch,
                              .m = (double)o->rows / (double)o->batch,
                              .width = (double)o->width,
                              .k = (double)first->gemm.k,
                              .results = (double)second->points / (double)o->rows,
                              .elem_bytes = fsim_dtype_bytes(g->tensor[first->arg[0].tensor].dtype),
                              .tensor = tensor,
                              .online = o->online,
                              .causal = (double)o->causal};
}

/* A tile as emit/flash.c lays it out and shares it among its threads: smaller where they would hold too much. */
static void settle_block(const fsim_chain_shape *s, fsim_chain_tile t, fsim_chain_block *b)
{
    enum {
        MOST_SUMS = 160,
        MOST_TENSOR_SUMS = 144,
        MOST_ROWS = 128,
        LEAST_COLUMNS = 32,
        SHARING = 16,
        FRAGMENTS = 8,
        STREAMED = 64,
        SIMT_PAD = 4,
        TENSOR_PAD = 8
    };
    const double unit = TENSOR_STEP, results = ceil(s->results / b->chunks / unit) * unit,
                 word = s->elem_bytes > 4 ? 2 : 1;
    const double pad = s->tensor ? TENSOR_PAD : SIMT_PAD, kept = b->streams ? STREAMED : s->k,
                 step = s->tensor ? kept : fmin(kept, STREAMED);
    const int m = t.m < MOST_ROWS ? t.m : MOST_ROWS;
    double n = t.n;
    b->threads = s->tensor ? 2 * m : m >= 128 ? 256 : m >= 32 ? 128 : 64;
    while (n > LEAST_COLUMNS && m * (n + results) / b->threads * word > (s->tensor ? MOST_TENSOR_SUMS : MOST_SUMS))
        n /= 2;
    b->shared_bytes =
        (int64_t)((m * (kept + pad) + n * (step + pad) + n * (results + pad) + (s->tensor ? 0 : m * (n + pad))) *
                  s->elem_bytes);
    const fsim_held_words w = {.threads = b->threads,
                               .tensor = s->tensor,
                               .sums = m * (n + results) / b->threads * word,
                               .fragments = s->tensor ? FRAGMENTS
                                                      : (SHARING * m / b->threads + fmax(n, results) / SHARING) * word,
                               .packed = s->tensor ? m * n / b->threads / 2 : 0};
    b->registers = fsim_flash_registers(&w);
}

fsim_chain_block fsim_chain_block_of(const fsim_chain_shape *s, fsim_chain_tile t)
{
    const double unit = s->tensor ? TENSOR_STEP : 1, chunks = ceil(s->results / MOST_RESULTS);
    const double k = ceil(s->k / unit) * unit, results = ceil(s->results / chunks / unit) * unit; /* of one block */
    const double tiles_m = ceil(s->m / t.m), rows = s->batch * s->m, e = s->elem_bytes;
    fsim_chain_block b = {.steps = ceil(s->width / t.split / t.n), .chunks = chunks, .streams = s->k > FSIM_KEPT_WIDTH};
    const double made = s->causal > 0 ? fmin(1, (s->causal + t.m + t.n) / (2 * s->causal))
                                      : 1; /* tiles that reach below the diagonal */
    b.steps *= made;
    b.turns[FSIM_CHAIN_OPERANDS] = made * chunks;
    b.blocks = s->batch * tiles_m * t.split * chunks;
    b.first_flops = 2.0 * t.m * b.steps * t.n * k;
    b.second_flops = 2.0 * t.m * b.steps * t.n * results;
    if (s->online) /* each step: the old sums times exp(old maximum - new), row by row */
        b.fixing_flops += rows * b.steps * t.split * (s->results + 4 * chunks);
    if (t.split > 1)
        b.fixing_flops += rows * t.split * (2 * s->results + 4);
    b.turns[FSIM_CHAIN_ROWS] = t.split * chunks * (b.streams ? b.steps : 1);
    b.turns[FSIM_CHAIN_FIRST] = tiles_m * chunks;
    b.turns[FSIM_CHAIN_SECOND] = tiles_m;
    b.l2_bytes = e * (rows * s->k * b.turns[FSIM_CHAIN_ROWS] +
                      s->batch * tiles_m * s->width * made * (s->k * chunks + s->results));
    if (t.split > 1) /* partial results, written and read in 32 bits */
        b.l2_bytes += 2.0 * t.split * rows * (s->results + 2) * 4;
    /* operands into shared memory and out of it to the units; tensor units find the intermediate in their registers */
    const double step = (t.m + t.n) * k + t.n * results + (s->tensor ? 0 : (double)t.m * t.n);
    b.shared_bytes_moved = b.blocks * b.steps * step * e * (s->tensor ? 2 : 4);
    settle_block(s, t, &b);
    return b;
}
