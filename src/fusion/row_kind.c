/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/row_kind.h"

/* Does it pass on what is added to all elements of a row, and a factor of all? No integer does. */
static bool passes(const fsim_node *n)
{
    return n->op == FSIM_OP_NEG || n->op == FSIM_OP_COPY ||
           (n->op == FSIM_OP_CAST && fsim_dtype_floating(n->attrs.dtype)) ||
           (fsim_ops[n->op].class == FSIM_PERMUTE && fsim_ops[n->op].flops == 0);
}

/* Or a factor alone: it makes zeros of some elements, to which nothing was added, or multiplies all. */
static bool passes_factors(const fsim_node *n)
{
    return n->op == FSIM_OP_DROPOUT || n->op == FSIM_OP_TRIL || n->op == FSIM_OP_TRIU || n->op == FSIM_OP_MUL ||
           n->op == FSIM_OP_DIV;
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
        return passes(n) || (arg[0] == FSIM_SCALED && passes_factors(n)) ? arg[0] : FSIM_BOUND;
    if (n->op == FSIM_OP_SUB && arg[0] == FSIM_FREE && arg[1] == FSIM_ROW)
        return FSIM_SHIFTED;
    const bool product = n->op == FSIM_OP_MUL && arg[0] != FSIM_SHIFTED && arg[1] != FSIM_SHIFTED;
    const bool quotient = n->op == FSIM_OP_DIV && (arg[0] == FSIM_FREE || arg[0] == FSIM_SCALED) &&
                          (arg[1] == FSIM_FREE || arg[1] == FSIM_ROW);
    return product || quotient ? FSIM_SCALED : FSIM_BOUND;
}
