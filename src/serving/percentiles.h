/* SPDX-License-Identifier: Apache-2.0 */
/* percentiles.h: times of which half, nine of ten and 99 of 100 requests have no longer ones. */
#ifndef FUSESIM_SERVING_PERCENTILES_H
#define FUSESIM_SERVING_PERCENTILES_H

#include "base/arena.h"
#include <stdint.h>

typedef struct {
    double mean, p50, p90, p99;
} fsim_percentiles;

/* Of count numbers; NaN where there are none. Sorts them, and adds them up in that order. Scratch in a. */
fsim_percentiles fsim_percentiles_of(double *at, int64_t count, fsim_arena *a);

#endif
