/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/fault.h"

bool fsim_fail(fsim_fault *fault, fsim_arena *a, int exit_status, const char *format, ...)
{
    va_list args;
    if (!fault)
        return false;
    va_start(args, format);
    *fault = (fsim_fault){.exit_status = exit_status, .message = fsim_vprintf(a, format, args)};
    va_end(args);
    return false;
}
