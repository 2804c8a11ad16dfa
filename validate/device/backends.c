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

const char *fsim_device_kinds(fsim_arena *a)
{
    const char *text = fsim_device_names[0];
    for (int i = 1; i < FSIM_DEVICE_COUNT; i++)
        text = fsim_printf(a, "%s%s%s", text, i + 1 < FSIM_DEVICE_COUNT ? ", " : " or ", fsim_device_names[i]);
    return text;
}

const fsim_backend *fsim_backend_of(fsim_device_kind kind) { return backends[kind]; }

fsim_device *fsim_backend_open(const fsim_backend *b, const fsim_device_options *options, fsim_arena *a,
                               fsim_fault *fault)
{
    if (b->version == FSIM_BACKEND_VERSION)
        return b->open(options, a, fault);
    fsim_fail(fault, a, FSIM_FAILED, "the back end '%s' is of version %d; this program calls version %d", b->name,
              b->version, FSIM_BACKEND_VERSION);
    return NULL;
}

fsim_device *fsim_device_open(fsim_device_kind kind, const fsim_device_options *options, fsim_arena *a,
                              fsim_fault *fault)
{
    return fsim_backend_open(backends[kind], options, a, fault);
}
