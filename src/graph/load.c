/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/load.h"

#include "base/file.h"
#include "graph/find.h"
#include "graph/scale.h"
#include "input/yaml.h"

#include <string.h>

static const fsim_loc nowhere = {NULL, 0, 0};

fsim_graph *fsim_graph_load_text(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                                 const fsim_workload_wanted *how)
{
    fsim_diag_source(d, path, text, bytes);
    const fsim_yaml *y = fsim_yaml_parse(a, d, path, text, bytes);
    if (y && how->scale > 1)
        y = fsim_scale_shapes(a, y, how->scale);
    return y ? fsim_graph_of(a, d, path, y, &(fsim_bindings){how->set, how->sets}) : NULL;
}

fsim_graph *fsim_graph_load(fsim_arena *a, fsim_diag *d, const char *name, const fsim_workload_wanted *how)
{
    const char *path = fsim_workload_find(a, name, how->shipped), *dot = strrchr(name, '.'), *why = "";
    if (dot && strcmp(dot, ".onnx") == 0) {
        fsim_error(d, nowhere, "'%s': ONNX models are not in this release; wanted a workload in YAML", name);
        return NULL;
    }
    size_t bytes = 0;
    const char *text = fsim_read_file(a, path, &bytes, &why);
    if (!text) {
        fsim_failure(d, FSIM_NO_INPUT, nowhere, "cannot read workload '%s': %s%s", name, why,
                     fsim_workload_nearest(a, name, how->shipped));
        return NULL;
    }
    return fsim_graph_load_text(a, d, path, text, bytes, how);
}
