/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a config.json: a model whose counts are its parts', or an error. */
#include "model/model.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const char *text = fsim_strndup(a, (const char *)data, size);
    const fsim_model *m = fsim_model_parse(a, d, "fuzz", "config.json", text, size);
    if ((m == NULL) != (fsim_errors(d) > 0))
        abort();
    int64_t parameters = 0;
    for (int i = 0; m && i < m->parts; i++)
        parameters += m->part[i].each * m->part[i].times;
    if (m && (parameters != m->parameters || m->active > m->parameters || m->active < 0 || m->cached < 0))
        abort();
    fsim_arena_free(a);
    return 0;
}
