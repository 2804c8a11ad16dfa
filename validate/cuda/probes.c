/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/probes.h"

#define FSIM_GPU_PROBE(id, name, unit, meaning) name,
const char *const fsim_gpu_probe_names[FSIM_GPU_PROBES] = {
#include "validate/cuda/probes.def"
};
#undef FSIM_GPU_PROBE
#define FSIM_GPU_PROBE(id, name, unit, meaning) unit,
const char *const fsim_gpu_probe_units[FSIM_GPU_PROBES] = {
#include "validate/cuda/probes.def"
};
#undef FSIM_GPU_PROBE

double fsim_gpu_spread(const fsim_figure *f) { return (f->high - f->low) / f->median; }
