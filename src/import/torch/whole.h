/* SPDX-License-Identifier: Apache-2.0 */
/* whole.h: operators that core ATen's decomposition took apart, as the one that they were. torch.export notes of each
 * node which node it was made from (program.h: origin), so that what PyTorch runs as one kernel is known to be one. */
#ifndef FUSESIM_IMPORT_TORCH_WHOLE_H
#define FUSESIM_IMPORT_TORCH_WHOLE_H

#include "import/torch/import.h"

/* The nodes from number n of the graph on that are the parts of one operator that has a row in whole.def, as that
 * operator with its arguments: *whole. Returns their number; 0: they are none, and node n is translated as it is. */
int fsim_torch_whole(const fsim_torch_import *m, int n, fsim_torch_node *whole);

#endif
