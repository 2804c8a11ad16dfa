/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart_axis.h"

#include <math.h>

/* A round distance between tics that divides a span into about five. */
static double tic_of(double span)
{
    const double raw = span / 5, unit = pow(10, floor(log10(raw))), m = raw / unit;
    return unit * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

void fsim_include_on(fsim_chart_axis *x, double value)
{
    x->low = fmin(x->low, value);
    x->high = fmax(x->high, value);
}

void fsim_put_axis(FILE *out, fsim_chart_axis *x, char letter, fsim_chart_unit kind)
{
    static const struct {
        int units;
        const char *name[5];
        double scale[5];
    } of[] = {[FSIM_IN_SECONDS] = {4, {"ns", "us", "ms", "s"}, {1e-9, 1e-6, 1e-3, 1}},
              [FSIM_IN_BYTES] = {5, {"B", "KiB", "MiB", "GiB", "TiB"}, {1, 0x1p10, 0x1p20, 0x1p30, 0x1p40}}};
    int u = 0;
    while (u + 1 < of[kind].units && x->high >= of[kind].scale[u + 1])
        u++;
    x->scale = of[kind].scale[u];
    const double room = x->high > x->low ? 0.12 * (x->high - x->low) : 0.1 * x->high;
    const double low = fmax(0, x->low - room) / x->scale, high = (x->high + room) / x->scale;
    fprintf(out, "set %clabel '%s (%s)'\nset %crange [%.9g:%.9g]\nset %ctics %.9g\nset format %c '%%g'\n", letter,
            x->name, of[kind].name[u], letter, low, high, letter, tic_of(high - low), letter);
}
