/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/row_kind.h"

static bool passes_factors(fsim_op op)
{
    return op == FSIM_OP_NEG || op == FSIM_OP_CAST || op == FSIM_OP_COPY || op == FSIM_OP_DROPOUT ||
           op == FSIM_OP_TRIL || op == FSIM_OP_TRIU || (fsim_ops[op].class == FSIM_PERMUTE && fsim_ops[op].flops == 0);
}

fsim_row_kind fsim_row_kind_of(const fsim_node *n, const fsim_row_kind *arg)
{
    bool all_free = true, no_elements = true, bound = false;
    for (int k = 0; k < n->args; k++) {
        all_free = all_free && arg[k] == FSIM_FREE;
        no_elements = no_elements && arg[k] == FSIM_ROW;
        bound = bound || arg[k] == FSIM_BOUND;
    }
    if (bound)
        return FSIM_BOUND;
    if (fsim_ops[n->op].class == FSIM_REDUCE)
        return all_free || (arg[0] == FSIM_SCALED && (n->op == FSIM_OP_SUM || n->op == FSIM_OP_MEAN)) ? FSIM_ROW
                                                                                                      : FSIM_BOUND;
    if (all_free)
        return FSIM_FREE;
    if (no_elements)
        return FSIM_ROW;
    if (n->args == 1 && arg[0] == FSIM_SHIFTED && n->op == FSIM_OP_EXP)
        return FSIM_SCALED;
    if (n->args == 1)
        return passes_factors(n->op) || (n->op == FSIM_OP_MUL && arg[0] == FSIM_SCALED) ||
                       (n->op == FSIM_OP_DIV && arg[0] == FSIM_SCALED)
                   ? arg[0]
                   : FSIM_BOUND;
    if (n->op == FSIM_OP_SUB && arg[0] == FSIM_FREE && arg[1] == FSIM_ROW)
        return FSIM_SHIFTED;
    const bool product = n->op == FSIM_OP_MUL && arg[0] != FSIM_SHIFTED && arg[1] != FSIM_SHIFTED;
    const bool quotient = n->op == FSIM_OP_DIV && (arg[0] == FSIM_FREE || arg[0] == FSIM_SCALED) &&
                          (arg[1] == FSIM_FREE || arg[1] == FSIM_ROW);
    return product || quotient ? FSIM_SCALED : FSIM_BOUND;
}
