/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.h: sizes as torch.export writes them: expressions of symbols, in the form that sympy's srepr prints,
 * "Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(-1))". Parsed, never run. */
#ifndef FUSESIM_IMPORT_TORCH_SIZES_H
#define FUSESIM_IMPORT_TORCH_SIZES_H

#include <stdbool.h>
#include <stdint.h>

/* The value of a symbol, for an expression. False: it has none. name is `length` characters. */
typedef struct {
    bool (*value)(void *what, const char *name, int length, int64_t *value);
    void *what;
} fsim_torch_symbols;

/* The value of an expression. False with *why set: it cannot be read, a symbol has no value, a division is by zero, or
 * the value is no integer of 64 bits. */
bool fsim_torch_size(const char *text, const fsim_torch_symbols *of, int64_t *value, const char **why);

#endif
