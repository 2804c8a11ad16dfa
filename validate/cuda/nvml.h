/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h: the driver's sensors: power, temperature, clocks, and reasons for throttling. All of it is optional. */
#ifndef FUSESIM_VALIDATE_CUDA_NVML_H
#define FUSESIM_VALIDATE_CUDA_NVML_H

#include "validate/cuda/library.h"
#include "validate/device/probed.h"

typedef struct {
    fsim_nvml_entries call;
    fsim_nvml_device device; /* NULL: no sensors */
    const char *driver;      /* "580.65.06", or NULL */
    const char *missing;     /* why there are no sensors, or NULL */
} fsim_nvml;

/* uuid as fsim_gpu_facts has it, or NULL: the first device. */
fsim_nvml fsim_nvml_open(fsim_arena *a, const char *uuid);
/* Shuts NVML down if it was opened; there are no sensors afterwards. */
void fsim_nvml_close(fsim_nvml *n);
/* The current readings: W, Hz, degrees Celsius. What the driver does not report stays unknown. Texts in a. */
fsim_sensors fsim_nvml_read(const fsim_nvml *n, fsim_arena *a);
/* A reading in which everything is unknown. */
fsim_sensors fsim_no_sensors(void);
/* Combines two readings under load: the lower clocks, the higher power and temperature, all reasons for throttling;
 * "idle" is no reason. */
fsim_sensors fsim_sensors_worse(const fsim_sensors *x, const fsim_sensors *y, fsim_arena *a);

#endif
