/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/device/backends.h"

static const fsim_backend *const backends[FSIM_DEVICE_COUNT] = {
#define FSIM_BACKEND(id, name, operations) &operations,
#include "validate/device/backends.def"
#undef FSIM_BACKEND
};

const char *const fsim_device_names[FSIM_DEVICE_COUNT] = {
#define FSIM_BACKEND(id, name, operations) name,
#include "validate/device/backends.def"
#undef FSIM_BACKEND
};

const fsim_backend *fsim_backend_of(fsim_device_kind kind) { return backends[kind]; }

fsim_device *fsim_device_open(fsim_device_kind kind, const fsim_device_options *options, fsim_arena *a,
                              fsim_fault *fault)
{
    const fsim_backend *b = backends[kind];
    if (b->version == FSIM_BACKEND_VERSION)
        return b->open(options, a, fault);
    fsim_fail(fault, a, FSIM_FAILED, "the back end '%s' is of version %d; this program calls version %d", b->name,
              b->version, FSIM_BACKEND_VERSION);
    return NULL;
}
