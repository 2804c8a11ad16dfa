/* SPDX-License-Identifier: Apache-2.0 */
/* NVML: sensors that always say the same. */
#include "mockgpu.h"
#include <stdio.h>

enum { SUCCESS, INVALID_ARGUMENT = 2, NOT_FOUND = 6 };

static int device; /* the one there is */

EXPORT int nvmlInit_v2(void) { return mock_fails("nonvml") ? NOT_FOUND : SUCCESS; }

EXPORT int nvmlShutdown(void) { return SUCCESS; }

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, int **out)
{
    *out = &device;
    return uuid && uuid[0] == 'G' ? SUCCESS : NOT_FOUND;
}

EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned bytes)
{
    snprintf(version, bytes, "580.00.mock");
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPowerUsage(const int *d, unsigned *mw)
{
    *mw = 345000;
    return d == &device ? SUCCESS : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(const int *d, unsigned *mw)
{
    *mw = 700000;
    return d == &device ? SUCCESS : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetClockInfo(const int *d, int which, unsigned *mhz)
{
    *mhz = which == 1 ? 1750 : 2619;
    return d == &device ? SUCCESS : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetTemperature(const int *d, int which, unsigned *celsius)
{
    *celsius = 55;
    return d == &device && which == 0 ? SUCCESS : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(const int *d, unsigned long long *reasons)
{
    *reasons = mock_busy() ? 0x4 : 0x1; /* power cap; idle */
    return d == &device ? SUCCESS : INVALID_ARGUMENT;
}
