/* SPDX-License-Identifier: Apache-2.0 */
/* step.h: rows of whole training steps (mode `step`). `set` holds, besides the workload's symbols, how the program
 * trained:
 *
 *     dtype=amp_bf16, amp_fp16    --autocast, and the workload's symbol dtype stays; where weights are sharded, they
 * are gathered in 16 bits, and so is all that is computed: the symbol dtype accumulate=N                micro-batches
 * that one update sums up checkpoint=True             backward computes each layer again; recompute=full says the same
 *     gpus=N                      GPUs that the weights' update is shared among where sharding is not NO_SHARD
 *     sharding=NO_SHARD, SHARD_GRAD_OP, FULL_SHARD   of PyTorch's FSDP
 *     parameters=N                for the reader alone
 *
 * Names as llm-foundry and Megatron have them. What the GPUs send each other is not priced: it runs beside the backward
 * pass. */
#ifndef FUSESIM_EVIDENCE_STEP_H
#define FUSESIM_EVIDENCE_STEP_H

#include "evidence/rows.h"
#include "graph/graph.h"

typedef struct {
    fsim_derive derive;
    const fsim_binding *set; /* of the workload's symbols */
    int sets;
    double update_share; /* of the update's time, the part that one GPU takes */
    bool beyond;         /* it was trained in a way that is not priced: several GPUs compute each layer, or other
                            layers; in 8 bits */
} fsim_step_run;

/* The workload that a row's name means where it names a model by its size, or a model that trains in another form
 * (sizes.def), and what its symbols are then; else the name itself and "". trained: has the row a mode? */
const char *fsim_sized_model(const char *name, bool trained, const char **set);
/* The workload that the row measured, and its symbols beside those of the row; set may be NULL. */
const char *fsim_row_model(const fsim_measured *row, const char **set);
/* How the row of mode step was run. In a. */
fsim_step_run fsim_step_of(const fsim_measured *row, fsim_arena *a);

/* Seconds of a plan of its graph: forward and backward of every micro-batch, and this GPU's share of the update.
 * Scratch in a. */
double fsim_step_row_seconds(const fsim_graph *g, const fsim_plan *plan, const fsim_measured *row, const fsim_hw *hw,
                             fsim_arena *a);

/* "M=1024;N=64" as bindings. Returns how many; *out is in a. */
int fsim_set_bindings(fsim_arena *a, const char *set, fsim_binding **out);

#endif
