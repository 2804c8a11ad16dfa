/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/device/backend.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear between neighbours, as numpy's default. */
static double quantile(const double *sorted, int n, double q)
{
    const double at = q * (n - 1);
    const int below = (int)at, above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

fsim_times fsim_times_of(double *s, int n)
{
    if (n <= 0)
        return (fsim_times){0};
    qsort(s, (size_t)n, sizeof *s, by_value);
    return (fsim_times){n, quantile(s, n, 0.5), quantile(s, n, 0.25), quantile(s, n, 0.75), s[0]};
}

double fsim_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

fsim_measured_kernel fsim_not_measured(void)
{
    return (fsim_measured_kernel){.dram_read_bytes = NAN,
                                  .dram_write_bytes = NAN,
                                  .dram_write_by_end_bytes = NAN,
                                  .l2_bytes = NAN,
                                  .l2_write_bytes = NAN,
                                  .shared_bytes = NAN,
                                  .local_bytes = NAN,
                                  .registers = -1,
                                  .static_shared_bytes = -1,
                                  .local_bytes_per_thread = -1,
                                  .occupancy = NAN,
                                  .achieved_occupancy = NAN,
                                  .sm_clock_hz = NAN};
}
