/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a number with a unit. */
#include "base/unit.h"
#include "base/arena.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fsim_arena *a = fsim_arena_new();
    const char *text = fsim_strndup(a, (const char *)data, size), *why;
    double value;
    for (int dim = 0; dim < FSIM_DIM_COUNT; dim++)
        if (fsim_parse_unit(text, (fsim_dim)dim, &value, &why) && !isfinite(value))
            abort();
    fsim_arena_free(a);
    return 0;
}
