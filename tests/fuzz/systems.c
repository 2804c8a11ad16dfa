/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as rows of systems that were measured: each that is read has what it must have. */
#include "serving/system.h"
#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fsim_arena *a = fsim_arena_new();
    const char *text = fsim_strndup(a, (const char *)data, size);
    const fsim_systems x = fsim_systems_parse(a, fsim_diag_new(a), "fuzz.csv", text, size);
    for (int i = 0; i < x.count; i++) {
        const fsim_system *s = &x.at[i];
        if (s->mode < 0 || s->mode >= FSIM_SYSTEM_MODES || !isfinite(s->value) || s->gpus < 0 || s->batch < 0)
            abort();
        fsim_engine_in(s->source);
    }
    fsim_arena_free(a);
    return 0;
}
