/* SPDX-License-Identifier: Apache-2.0 */
/* calibration.h: an NVIDIA GPU probed, and its hardware file, as `calibrate --device` asks for them. */
#ifndef FUSESIM_VALIDATE_CUDA_CALIBRATION_H
#define FUSESIM_VALIDATE_CUDA_CALIBRATION_H

#include "validate/cuda/hardware.h"

/* All probes. False with *fault set, FSIM_INCONCLUSIVE with *out filled in. g: opened with fsim_gpu_probe_settings. In
 * a. */
bool fsim_gpu_calibrate(fsim_gpu *g, const fsim_probe_order *order, fsim_arena *a, fsim_device_probed *out,
                        fsim_fault *fault);
/* How a device is opened for it: many figures, few samples of each. */
extern const fsim_gpu_options fsim_gpu_probe_settings;
/* Why hw describes another GPU, or NULL. In a. */
const char *fsim_gpu_differs(const fsim_gpu_facts *f, const fsim_hw *hw, fsim_arena *a);

#endif
