/* SPDX-License-Identifier: Apache-2.0 */
/* precision.h: a workload with floats of another dtype: --precision. */
#ifndef FUSESIM_IMPORT_PRECISION_H
#define FUSESIM_IMPORT_PRECISION_H

#include "input/yaml.h"

/* y with floats as `to`: f32, f16 or bf16. All of them: symbols that stand for a float, tensors, and attributes that
 * name a dtype; arithmetic that is asked for by name ('compute') becomes that of the dtype. Integers stay. tf32: floats
 * are f32, and products and convolutions compute in tf32. f8: floats
 * are bf16, and matrix products (matmul, bmm, linear) read f8e4m3 and make bf16: a weight that only they read is stored
 * so, all else is cast in front of them. trained: weights are cast too, since their update is in wider floats. In a. */
const fsim_yaml *fsim_recast(fsim_arena *a, const fsim_yaml *y, const char *to, bool trained);

#endif
