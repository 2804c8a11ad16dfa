/* SPDX-License-Identifier: Apache-2.0 */
/* calibration.h: this machine probed, and its hardware file, as `calibrate --device` asks for them. */
#ifndef FUSESIM_VALIDATE_CPU_CALIBRATION_H
#define FUSESIM_VALIDATE_CPU_CALIBRATION_H

#include "validate/cpu/hardware.h"
#include "validate/device/backend.h"

/* All probes on the pool's threads. False with *fault set. In a. */
bool fsim_host_calibrate(fsim_cpu_pool *p, const fsim_cpu_compiler *compiler, const fsim_probe_order *order,
                         fsim_arena *a, fsim_device_probed *out, fsim_fault *fault);

#endif
