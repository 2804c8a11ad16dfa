/* SPDX-License-Identifier: Apache-2.0 */
/* batch_index.c: gathers and writes at indices, mapped over the batch: whose tables and whose indices the examples
 * have. */
#include "graph/batch.h"

#include "graph/mapped.h"

/* Writes of rows that are the same ones in each example. */
bool fsim_batch_rows(fsim_call *c)
{
    if (!is_mapped(c, 0) || is_mapped(c, 1))
        return fsim_refuse(c, "can't be mapped over the batch: wants x of each example and one index for all");
    return fsim_copy_to_examples(c, 2) && fsim_shift_dims(c, rank_of(c, 0)) && run_rule(c);
}

/* All examples share one table; each has its own indices. */
bool fsim_batch_gather(fsim_call *c)
{
    const int table = c->op == FSIM_OP_GATHER ? 0 : 1;
    if (c->op == FSIM_OP_GATHER && c->list[FSIM_ATTR_DIMS].present)
        return fsim_batch_concat(c);
    if (is_mapped(c, table))
        return fsim_refuse(c,
                           "can't be mapped over the batch: each example has a table '%s' of its own, and rows are "
                           "taken of one",
                           tensor_of(c, table)->name);
    return run_rule(c);
}

/* All examples take the same elements. */
bool fsim_batch_index_select(fsim_call *c)
{
    if (is_mapped(c, 1))
        return fsim_refuse(c, "can't be mapped over the batch: each example has an index of its own, and 'gather' with "
                              "'dim' takes these");
    return fsim_shift_dims(c, rank_of(c, 0)) && run_rule(c);
}

/* Examples take the same elements of their own x, or their own elements of one x for all. */
bool fsim_batch_index(fsim_call *c)
{
    fsim_list *dims = &c->list[FSIM_ATTR_DIMS];
    int rank = 0, mapped = 0;
    for (int i = 1; i < c->args; i++) {
        rank = rank_of(c, i) > rank ? rank_of(c, i) : rank;
        mapped += is_mapped(c, i);
    }
    if (mapped && is_mapped(c, 0))
        return fsim_refuse(c, "can't be mapped over the batch: wants x of each example and indices for all, or one x");
    if (mapped == 0) {
        for (int i = 0; !dims->present && i < c->args - 1; i++)
            dims->at[dims->count++] = i;
        dims->present = true;
        c->examples = examples_of(c);
        return fsim_shift_dims(c, rank_of(c, 0)) && run_rule(c);
    }
    int first = 0;
    if (dims->present && dims->count > 0 && !fsim_wrap_dim(c, rank_of(c, 0), dims->at[0], &first))
        return false;
    if (first > 0)
        return fsim_refuse(c, "can't be mapped over the batch: each example's indices want dimension 0 among them");
    for (int i = 1; i < c->args; i++)
        if (is_mapped(c, i) && !fsim_align(c, i, rank))
            return false;
    return run_rule(c);
}
