/* SPDX-License-Identifier: Apache-2.0 */
/* backends.h: the table of back ends. */
#ifndef FUSESIM_VALIDATE_DEVICE_BACKENDS_H
#define FUSESIM_VALIDATE_DEVICE_BACKENDS_H

#include "validate/device/backend.h"
#include "validate/device/kinds.h"

/* The operations of each kind, in its own file. */
#define FSIM_BACKEND(id, name, operations) extern const fsim_backend operations;
#include "validate/device/backends.def"
#undef FSIM_BACKEND

/* A device of back end b, opened. NULL with *fault set: there is none, or b was written for another version. In a. */
fsim_device *fsim_backend_open(const fsim_backend *b, const fsim_device_options *options, fsim_arena *a,
                               fsim_fault *fault);
/* The same of this kind. */
fsim_device *fsim_device_open(fsim_device_kind kind, const fsim_device_options *options, fsim_arena *a,
                              fsim_fault *fault);
/* The operations of this kind. */
const fsim_backend *fsim_backend_of(fsim_device_kind kind);

#endif
