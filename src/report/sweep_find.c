/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sweep.h"

enum { TIME, MEMORY, BYTES, KERNELS, SPEEDUP, FITS, METRICS };

static const fsim_gate_metric metrics[METRICS] = {
    [TIME] = {"time", FSIM_GATE_SECONDS, false, "time of the plan"},
    [MEMORY] = {"memory", FSIM_GATE_BYTES, false, "memory at its peak"},
    [BYTES] = {"bytes", FSIM_GATE_BYTES, false, "DRAM bytes read and written"},
    [KERNELS] = {"kernels", FSIM_GATE_COUNT, false, "kernels of the plan"},
    [SPEEDUP] = {"speedup", FSIM_GATE_FACTOR, true, "time of eager over that of the plan"},
    [FITS] = {"fits", FSIM_GATE_YES, true, "the GPU has the memory that it needs"}};
/* What --under may limit. */
static const fsim_gate_table sweep_limits = {"sweep", metrics, METRICS, NULL, "--under"};

static double value_of(const fsim_sweep_point *p, int metric)
{
    switch (metric) {
    case TIME:
        return p->time_s;
    case MEMORY:
        return (double)p->peak_bytes;
    case BYTES:
        return (double)(p->read_bytes + p->write_bytes);
    case KERNELS:
        return p->kernels;
    case SPEEDUP:
        return p->speedup;
    default:
        return p->fits;
    }
}

/* The first limit that does not hold at p, judged; limits of them where all hold. */
static int broken_at(const fsim_sweep *x, const fsim_sweep_point *p, fsim_gate *judged, fsim_arena *a)
{
    for (int i = 0; i < x->limits; i++) {
        *judged = x->limit[i];
        fsim_gate_judge(judged, value_of(p, judged->metric), "", "there is no plan", a);
        if (!judged->passed)
            return i;
    }
    return x->limits;
}

static fsim_sweep_found along(const fsim_sweep *x, int start, int stride, fsim_arena *a)
{
    fsim_sweep_found f = {-1, -1, 0, x->grid.axis[x->find].values, -1, NULL};
    for (int v = 0; v < f.values; v++) {
        fsim_gate judged;
        const int i = start + v * stride;
        if (!x->point[i].planned || broken_at(x, &x->point[i], &judged, a) < x->limits)
            continue;
        f.first = f.meeting++ ? f.first : i;
        f.last = i;
    }
    f.next = f.last < 0 ? start : f.last + stride < start + f.values * stride ? f.last + stride : -1;
    if (f.next >= 0 && x->point[f.next].planned) {
        fsim_gate *broken = fsim_new(a, fsim_gate, 1);
        (void)broken_at(x, &x->point[f.next], broken, a);
        f.broken = broken;
    }
    return f;
}

void fsim_sweep_find(fsim_sweep *x, fsim_arena *a)
{
    if (x->find < 0)
        return;
    const fsim_over *axis = &x->grid.axis[x->find];
    const int stride = fsim_grid_stride(&x->grid, axis->along) * x->gpus, values = axis->values;
    fsim_sweep_found *found = fsim_new(a, fsim_sweep_found, x->points / values + 1);
    for (int i = 0; i < x->points; i++)
        if (i / stride % values == 0)
            found[x->founds++] = along(x, i, stride, a);
    x->found = found;
}

bool fsim_sweep_limits_read(fsim_arena *a, fsim_diag *d, const char *find, const char *const *under, int unders,
                            fsim_sweep *x)
{
    static const fsim_loc command_line = {NULL, 0, 0};
    const int errors = fsim_errors(d);
    fsim_gate *limit = fsim_new(a, fsim_gate, unders + 1);
    x->find = find ? fsim_grid_axis(&x->grid, find) : -1;
    if (find && x->find < 0)
        fsim_error(d, command_line, "--find: no --over varies '%s'", find);
    if (!find != (unders == 0))
        fsim_error(d, command_line, "--find NAME and --under METRIC=LIMIT belong together");
    for (int i = 0; i < unders; i++)
        (void)fsim_gate_read(a, d, under[i], &sweep_limits, &limit[i]);
    x->limit = limit;
    x->limits = unders;
    return fsim_errors(d) == errors;
}
