/* SPDX-License-Identifier: Apache-2.0 */
/* work.h: kernels of PyTorch that are no operators of ours and whose work is known: each is one pass over its tensors,
 * and says how much it computes. */
#ifndef FUSESIM_IMPORT_TORCH_WORK_H
#define FUSESIM_IMPORT_TORCH_WORK_H

#include "import/torch/aten.h"

/* What a kernel computes in all: arithmetic results, and instructions beside loads and stores. */
typedef struct {
    double flops, instructions;
} fsim_aten_work;

typedef enum {
#define FSIM_ATEN_WORK(id, flops, instructions, source) FSIM_ATEN_##id,
#include "import/torch/aten_work.def"
#undef FSIM_ATEN_WORK
    FSIM_ATEN_WORKS
} fsim_aten_work_id;

/* So many units of a row of aten_work.def. */
fsim_aten_work fsim_aten_work_of(fsim_aten_work_id id, double units);
/* The newest operator, whose result has the shape s, computes that. */
void fsim_aten_put_work(fsim_aten *c, const fsim_shape *s, fsim_aten_work work);
/* Output k by a kernel of its own that reads these. False where an input is none. */
bool fsim_aten_own_kernel(fsim_aten *c, int k, int ins, fsim_torch_value *const *in, fsim_aten_work work);
/* The same as a step before the last. NULL as above. */
fsim_torch_value *fsim_aten_own_step(fsim_aten *c, const fsim_draft_result *as, int ins, fsim_torch_value *const *in,
                                     fsim_aten_work work);
/* The first output that something reads; 0 where nothing reads any. */
int fsim_aten_first_read(const fsim_aten *c);
/* The kernel of all outputs that are read, which reads all tensors of the node: the first has its work, the others are
 * stored beside it. */
bool fsim_aten_whole_kernel(fsim_aten *c, fsim_aten_work work);
/* Flops of Fourier transforms of `length` complex numbers, so many; of real numbers half of it. */
double fsim_aten_fourier_flops(double length, double count, bool real);

#endif
