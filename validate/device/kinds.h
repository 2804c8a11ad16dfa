/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h: the kinds of devices that --device knows. */
#ifndef FUSESIM_VALIDATE_DEVICE_KINDS_H
#define FUSESIM_VALIDATE_DEVICE_KINDS_H

#include "base/arena.h"

/* FSIM_DEVICE_CPU, FSIM_DEVICE_CUDA: the rows of backends.def; FSIM_DEVICE_NONE: no device is asked for. */
typedef enum {
    FSIM_DEVICE_NONE = -1,
#define FSIM_BACKEND(id, name, operations) FSIM_DEVICE_##id,
#include "validate/device/backends.def"
#undef FSIM_BACKEND
    FSIM_DEVICE_COUNT
} fsim_device_kind;

/* Names, as --device takes them: "cpu", "cuda". */
extern const char *const fsim_device_names[FSIM_DEVICE_COUNT];
/* "cpu or cuda": all of them, for messages. In a. */
const char *fsim_device_kinds(fsim_arena *a);

#endif
