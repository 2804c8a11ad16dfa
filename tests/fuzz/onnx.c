/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ONNX model: read and translated, with and without values for its dimensions, and its constants
 * looked at. */
#include "import/format.h"
#include "import/load.h"
#include "import/onnx/proto.h"
#include <stdlib.h>
#include <string.h>

/* Reads the constants of a model, which the importer does only where it needs them. */
static void touch(fsim_arena *a, const fsim_onnx_model *m)
{
    for (int i = 0; m && i < m->graph->initializers; i++) {
        const fsim_onnx_tensor *t = &m->graph->initializer[i];
        const int64_t n = t->elems < 64 ? t->elems : 64;
        fsim_onnx_integers(t, n, fsim_new(a, int64_t, n));
        fsim_onnx_numbers(t, n, fsim_new(a, double, n));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const fsim_binding dims[] = {{"n", "2"}, {"m", "3"}};
    char *text = malloc(size ? size : 1); /* of this size: a file in memory has no NUL behind it */
    if (size)
        memcpy(text, data, size);
    for (int sets = 0; sets <= 2 && fsim_format_of(text, size) == FSIM_FORMAT_ONNX; sets++) {
        const fsim_workload_wanted how = {.set = dims, .sets = sets};
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_graph *g = fsim_graph_load_text(a, d, "fuzz.onnx", text, size, &how);
        if (!g && fsim_errors(d) == 0)
            abort(); /* it says nothing */
        if (sets == 0)
            touch(a, fsim_onnx_read(a, fsim_diag_new(a), &(fsim_import_source){"fuzz.onnx", text, size}));
        fsim_arena_free(a);
    }
    free(text);
    return 0;
}
