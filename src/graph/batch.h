/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h: a workload written for one example, mapped over its `batch`. */
#ifndef FUSESIM_GRAPH_BATCH_H
#define FUSESIM_GRAPH_BATCH_H

#include "graph/build.h"

/* Runs the rule of call->op. Where an argument has the batch as its first dimension, the call is rewritten first so
 * that its results have it too. May change call->op. False after an error: the operator may have no form with a
 * batch. */
bool fsim_map_over_batch(fsim_call *call);

/* The column `batch` of op.def: rewrites a call of which at least one argument is mapped, and runs its rule. */
#define FSIM_OP(id, name, class, least, most, outs, flops, instr, special, rule, makes, batch, takes, expr)            \
    bool fsim_batch_##batch(fsim_call *call);
#include "graph/op.def"
#undef FSIM_OP

#endif
