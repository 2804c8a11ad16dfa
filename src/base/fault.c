/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

bool fsim_fail(fsim_fault *fault, fsim_arena *a, fsim_status status, const char *format, ...)
{
    va_list args;
    if (!fault)
        return false;
    va_start(args, format);
    *fault = (fsim_fault){.status = status, .message = fsim_vprintf(a, format, args)};
    va_end(args);
    return false;
}
