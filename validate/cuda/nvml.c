/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/nvml.h"

#include <math.h>

fsim_nvml fsim_nvml_open(fsim_arena *a, const char *uuid)
{
    fsim_nvml n = {.device = NULL};
    fsim_library library;
    fsim_fault fault = {0};
    char version[96] = "";
    if (!fsim_open_nvml(a, &library, &n.call, &fault)) {
        n.missing = fault.message;
        return n;
    }
    const int result = n.call.nvmlInit_v2();
    if (result != 0) {
        n.missing = fsim_printf(a, "NVML does not start (%d)", result);
        return n;
    }
    if (n.call.nvmlSystemGetDriverVersion && n.call.nvmlSystemGetDriverVersion(version, sizeof version) == 0)
        n.driver = fsim_strdup(a, version);
    const bool named =
        uuid && n.call.nvmlDeviceGetHandleByUUID && n.call.nvmlDeviceGetHandleByUUID(uuid, &n.device) == 0;
    if (!named && !uuid &&
        (!n.call.nvmlDeviceGetHandleByIndex_v2 || n.call.nvmlDeviceGetHandleByIndex_v2(0, &n.device) != 0))
        n.device = NULL;
    n.device = uuid && !named ? NULL : n.device; /* the sensors of another device would mislead */
    n.missing = n.device ? NULL : "NVML does not know the device";
    return n;
}

void fsim_nvml_close(fsim_nvml *n)
{
    if (n->call.nvmlShutdown && n->device)
        (void)!n->call.nvmlShutdown();
    n->device = NULL;
}

static const char *reasons_of(fsim_arena *a, unsigned long long set)
{
    static const struct {
        unsigned long long bit;
        const char *name;
    } names[] = {{FSIM_NVML_IDLE, "idle"},
                 {FSIM_NVML_APPLICATION_CLOCKS, "application clocks"},
                 {FSIM_NVML_POWER_CAP, "power cap"},
                 {FSIM_NVML_HARDWARE_SLOWDOWN, "hardware slowdown"},
                 {FSIM_NVML_SYNC_BOOST, "sync boost"},
                 {FSIM_NVML_THERMAL_SOFTWARE, "thermal (software)"},
                 {FSIM_NVML_THERMAL_HARDWARE, "thermal (hardware)"},
                 {FSIM_NVML_POWER_BRAKE, "power brake"},
                 {FSIM_NVML_DISPLAY_CLOCKS, "display clocks"}};
    const char *text = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (set & names[i].bit)
            text = fsim_printf(a, "%s%s%s", text, *text ? ", " : "", names[i].name);
    return *text ? text : "none";
}

fsim_sensors fsim_nvml_read(const fsim_nvml *n, fsim_arena *a)
{
    fsim_sensors s = fsim_no_sensors();
    const fsim_nvml_entries *call = &n->call;
    unsigned x = 0;
    unsigned long long set = 0;
    if (!n->device)
        return s;
    if (call->nvmlDeviceGetPowerUsage && call->nvmlDeviceGetPowerUsage(n->device, &x) == 0)
        s.power_w = 1e-3 * x;
    if (call->nvmlDeviceGetEnforcedPowerLimit && call->nvmlDeviceGetEnforcedPowerLimit(n->device, &x) == 0)
        s.power_limit_w = 1e-3 * x;
    if (call->nvmlDeviceGetClockInfo && call->nvmlDeviceGetClockInfo(n->device, FSIM_NVML_CLOCK_SM, &x) == 0)
        s.sm_clock_hz = 1e6 * x;
    if (call->nvmlDeviceGetClockInfo && call->nvmlDeviceGetClockInfo(n->device, FSIM_NVML_CLOCK_MEMORY, &x) == 0)
        s.memory_clock_hz = 1e6 * x;
    if (call->nvmlDeviceGetTemperature && call->nvmlDeviceGetTemperature(n->device, FSIM_NVML_TEMPERATURE_GPU, &x) == 0)
        s.temperature_c = x;
    if (call->nvmlDeviceGetCurrentClocksEventReasons
            ? call->nvmlDeviceGetCurrentClocksEventReasons(n->device, &set) == 0
            : call->nvmlDeviceGetCurrentClocksThrottleReasons &&
                  call->nvmlDeviceGetCurrentClocksThrottleReasons(n->device, &set) == 0) {
        s.held_by = set;
        s.reasons = reasons_of(a, set);
    }
    return s;
}

fsim_sensors fsim_no_sensors(void) { return (fsim_sensors){NAN, NAN, NAN, NAN, NAN, NULL, 0}; }

fsim_sensors fsim_sensors_worse(const fsim_sensors *x, const fsim_sensors *y, fsim_arena *a)
{
    const unsigned long long idle = FSIM_NVML_IDLE, held_by = (x->held_by | y->held_by) & ~idle;
    return (fsim_sensors){.power_w =
                              fmax(x->power_w, y->power_w), /* of a number and NaN, fmax and fmin return the number */
                          .power_limit_w = fmin(x->power_limit_w, y->power_limit_w),
                          .sm_clock_hz = fmin(x->sm_clock_hz, y->sm_clock_hz),
                          .memory_clock_hz = fmin(x->memory_clock_hz, y->memory_clock_hz),
                          .temperature_c = fmax(x->temperature_c, y->temperature_c),
                          .reasons = x->reasons || y->reasons ? reasons_of(a, held_by) : NULL,
                          .held_by = held_by};
}
