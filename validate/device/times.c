/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/device/device.h"

#include <stdlib.h>

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
