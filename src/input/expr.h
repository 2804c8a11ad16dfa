/* SPDX-License-Identifier: Apache-2.0 */
/* expr.h: integer expressions of a workload file: integers, symbols, + - * / % and parentheses; / and % truncate as in
 * C. == != < <= > >= bind least and are 1 or 0; == and != compare dtypes too. */
#ifndef FUSESIM_INPUT_EXPR_H
#define FUSESIM_INPUT_EXPR_H

#include "base/diag.h"
#include <stdint.h>

/* Sets *value to that of a symbol. False where there is none of that name; the message then offers the nearest of
 * names. */
typedef struct {
    bool (*value)(const void *scope, const char *name, int64_t *value);
    const void *scope;
    const char *const *names;
    int count;
    /* The number of the dtype that a name is, or stands for; -1: it is none. NULL: there are no dtypes. */
    int (*dtype)(const void *scope, const char *name);
} fsim_scope;

/* Evaluates text. A division of a name or number by another that leaves something is a warning, but in ceil(), min()
 * and max(). False after an error at `at`: syntax, unknown symbol, division by zero, overflow of 64 bits, nesting
 * beyond 64. */
bool fsim_eval(fsim_arena *a, fsim_diag *d, fsim_loc at, const char *text, const fsim_scope *scope, int64_t *value);

#endif
