/* SPDX-License-Identifier: Apache-2.0 */
/* layers.h: where in a row of items the same items come again and again. */
#ifndef FUSESIM_IMPORT_LAYERS_H
#define FUSESIM_IMPORT_LAYERS_H

#include "base/arena.h"
#include <stdint.h>

/* Items [first, first + period * times): each is equal to the one a period before. */
typedef struct {
    int first, period, times;
} fsim_layers;

/* The repeated stretches of kind[0, count), longest first found, in the order of the items; their number in *found.
 * Items are equal where their kinds are. cut[i]: how well a turn may begin at item i, more is better; NULL: anywhere.
 * In a. */
fsim_layers *fsim_find_layers(fsim_arena *a, const uint64_t *kind, const int *cut, int count, int *found);

#endif
