/* SPDX-License-Identifier: Apache-2.0 */
/* onnx.c: an ONNX model as a workload. */
#include "import/format.h"

bool fsim_read_onnx(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, const fsim_workload_wanted *how,
                    fsim_imported *out)
{
    (void)a;
    (void)how;
    (void)out;
    fsim_error(d, (fsim_loc){from->path, 0, 0}, "ONNX models are not in this release; wanted a workload in YAML");
    return false;
}
