/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a hardware file: parsed and linted. */
#include "hw/hw.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    fsim_hw_parse(a, d, "fuzz.yaml", fsim_strndup(a, (const char *)data, size), size);
    fsim_arena_free(a);
    return 0;
}
