/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h: what the driver's sensors say: power, temperature, clocks, and why clocks are not higher. All of it is
 * optional. */
#ifndef FUSESIM_VALIDATE_CUDA_NVML_H
#define FUSESIM_VALIDATE_CUDA_NVML_H

#include "validate/cuda/library.h"
#include "validate/device/probed.h"

typedef struct {
    fsim_nvml_entries call;
    fsim_nvml_device device; /* NULL: nothing is known */
    const char *driver;      /* "580.65.06", or NULL */
    const char *missing;     /* why nothing is known, or NULL */
} fsim_nvml;

/* uuid as fsim_gpu_facts has it, or NULL: the first device. */
fsim_nvml fsim_nvml_open(fsim_arena *a, const char *uuid);
/* Shuts NVML down where it was opened; nothing is known from here on. */
void fsim_nvml_close(fsim_nvml *n);
/* The sensors now: W, Hz, degrees Celsius. What the driver does not say stays unknown. Texts in a. */
fsim_sensors fsim_nvml_read(const fsim_nvml *n, fsim_arena *a);
/* A reading of which nothing is known. */
fsim_sensors fsim_no_sensors(void);
/* Of two readings under load: the lower clocks, the higher power and temperature, all that held clocks down (that some
 * reading saw the device idle says nothing). */
fsim_sensors fsim_sensors_worse(const fsim_sensors *x, const fsim_sensors *y, fsim_arena *a);

#endif
