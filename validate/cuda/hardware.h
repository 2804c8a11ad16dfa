/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.h: an NVIDIA GPU as a hardware file, from probes.
 *
 * The file gets the figures that plans are made with: achieved rates, latencies, costs of launches. Keys that no
 * probe measures keep their lines. Rates of matrix products are cuBLAS's, as in shipped files; launch_eager, which
 * is a framework's, is written only where it is missing. The vendor's rates per clock stay unless the probe differs
 * by more than a tenth. A figure that is noisy, or that the file's checks reject together with the other keys, is
 * left out, with a note. */
#ifndef FUSESIM_VALIDATE_CUDA_HARDWARE_H
#define FUSESIM_VALIDATE_CUDA_HARDWARE_H

#include "evidence/calibrate.h"
#include "hw/hw.h"
#include "validate/cuda/probes.h"

typedef struct {
    const char *text;         /* of the new file; NULL: there is none */
    fsim_unwritten_key *note; /* keys that were not written, and why */
    int notes, written;
    const char *why; /* why there is none */
} fsim_gpu_hardware;

/* The hardware file of the GPU that was measured: an update of hw and its text, or (NULL and "") a new file of this
 * name. In a. */
fsim_gpu_hardware fsim_gpu_hardware_of(fsim_arena *a, const fsim_hw *hw, const char *text, const char *name,
                                       const fsim_gpu_probed *p, const fsim_calibration_note *note);

/* Which of hw[0, count) is this device: the same architecture and number of SMs, and about the same memory. NULL:
 * none. */
const fsim_hw *fsim_gpu_hardware_like(const fsim_gpu_facts *f, fsim_hw *const *hw, int count);

#endif
