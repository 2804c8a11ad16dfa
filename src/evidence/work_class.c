/* SPDX-License-Identifier: Apache-2.0 */
/* work_class.c: the kind of work of a workload. */
#include "evidence/evaluate.h"

const char *const fsim_work_class_names[FSIM_WORK_COUNT] = {
    "elementwise", "reduction",   "softmax",   "norm",  "loss",    "pooling", "movement",
    "matmul",      "convolution", "attention", "chain", "network", "unknown"};

/* Composites whose class can't be told from their primitives. */
static const struct {
    fsim_op op;
    fsim_work_class class;
} composites[] = {{FSIM_OP_SOFTMAX, FSIM_WORK_SOFTMAX},
                  {FSIM_OP_LOG_SOFTMAX, FSIM_WORK_SOFTMAX},
                  {FSIM_OP_LOGSUMEXP, FSIM_WORK_REDUCTION},
                  {FSIM_OP_LAYER_NORM, FSIM_WORK_NORM},
                  {FSIM_OP_RMS_NORM, FSIM_WORK_NORM},
                  {FSIM_OP_BATCH_NORM, FSIM_WORK_NORM},
                  {FSIM_OP_GROUP_NORM, FSIM_WORK_NORM},
                  {FSIM_OP_INSTANCE_NORM, FSIM_WORK_NORM},
                  {FSIM_OP_NORMALIZE, FSIM_WORK_NORM},
                  {FSIM_OP_CROSS_ENTROPY, FSIM_WORK_LOSS},
                  {FSIM_OP_KL_DIV, FSIM_WORK_LOSS},
                  {FSIM_OP_COSINE_SIMILARITY, FSIM_WORK_LOSS},
                  {FSIM_OP_SMOOTH_L1_LOSS, FSIM_WORK_LOSS},
                  {FSIM_OP_MSE_LOSS, FSIM_WORK_LOSS},
                  {FSIM_OP_TRIPLET_MARGIN_LOSS, FSIM_WORK_LOSS},
                  {FSIM_OP_ATTENTION, FSIM_WORK_ATTENTION}};

static fsim_work_class class_of_source(const fsim_graph *g, const fsim_source *s)
{
    fsim_work_class class = FSIM_WORK_ELEMENTWISE;
    for (size_t i = 0; i < sizeof composites / sizeof *composites; i++)
        if (composites[i].op == s->op)
            return composites[i].class;
    for (int n = s->first; n < s->first + s->nodes; n++) {
        const fsim_class c = fsim_ops[g->node[n].op].class;
        if (g->node[n].gemm.k)
            return g->node[n].gemm.convolution ? FSIM_WORK_CONVOLUTION : FSIM_WORK_MATMUL;
        class = c == FSIM_WINDOW                            ? FSIM_WORK_POOLING
                : c == FSIM_REDUCE || c == FSIM_SCAN        ? FSIM_WORK_REDUCTION
                : c == FSIM_ELEMENTWISE || c == FSIM_RANDOM ? class
                                                            : FSIM_WORK_MOVEMENT;
    }
    return class;
}

fsim_work_class fsim_work_class_of(const fsim_graph *g)
{
    enum { LONGEST_CHAIN = 12 };
    int sources = 0;
    fsim_work_class class = FSIM_WORK_MOVEMENT;
    for (int s = 0; s < g->sources; s++)
        if (g->source[s].nodes > 0 && g->source[s].phase == FSIM_FORWARD) {
            sources++;
            class = class_of_source(g, &g->source[s]);
        }
    return sources <= 1 ? class : sources <= LONGEST_CHAIN ? FSIM_WORK_CHAIN : FSIM_WORK_NETWORK;
}
