/* SPDX-License-Identifier: Apache-2.0 */
/* refit.h: numbers of the code that hold for all GPUs of a design (vendor/serving_fit.def, cost/collective.def), when
 * they are fitted anew: evidence/refit.h. A price takes a row of such a table through fsim_refitted. */
#ifndef FUSESIM_HW_REFIT_H
#define FUSESIM_HW_REFIT_H

#include "hw/hw.h"
#include <stddef.h>

/* A table: `count` rows of `size` bytes, each with numbers from byte `first` on. */
typedef struct {
    const char *name; /* of the macro in the .def file */
    const void *rows;
    size_t size, first;
    int count;
} fsim_refit_table;
#define FSIM_REFIT_TABLE(name, rows, type, from)                                                                       \
    (fsim_refit_table) { name, rows, sizeof(type), offsetof(type, from), (int)(sizeof rows / sizeof *rows) }

/* What a GPU's prices are taken with: `instead` in the place of the row `of` (NULL: of none). first: the first row that
 * a price took since it was set to NULL. */
struct fsim_refit {
    const void *of, *instead;
    const void *first;
};

/* The row, or what hw has in its place. */
static inline const void *fsim_refitted(const fsim_hw *hw, const void *row)
{
    if (!hw->refit)
        return row;
    if (!hw->refit->first)
        hw->refit->first = row;
    return hw->refit->of == row ? hw->refit->instead : row;
}

#endif
