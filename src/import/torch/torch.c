/* SPDX-License-Identifier: Apache-2.0 */
/* torch.c: a torch.export archive as a workload. */
#include "import/format.h"

bool fsim_read_torch(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, const fsim_workload_wanted *how,
                     fsim_imported *out)
{
    (void)a;
    (void)how;
    (void)out;
    fsim_error(d, (fsim_loc){from->path, 0, 0},
               "torch.export archives are not in this release; wanted a workload in YAML");
    return false;
}
