/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/device.h"

#include "base/unit.h"
#include <time.h>

/* Errors. */

/* Errors that leave the context unusable, according to NVIDIA's documentation. */
static bool fatal(int result)
{
    static const int known[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == result)
            return true;
    return false;
}

bool fsim_gpu_usable(fsim_gpu *g, fsim_fault *fault)
{
    return !g->lost || fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "%s", g->lost);
}

bool fsim_gpu_ok(fsim_gpu *g, int result, const char *doing, fsim_fault *fault)
{
    const char *name = NULL, *text = NULL;
    if (result == 0)
        return true;
    (void)!g->cu.cuGetErrorName(result, &name);
    (void)!g->cu.cuGetErrorString(result, &text);
    const char *message = fsim_printf(g->a, "%s failed: %s (%s, %d)", doing, text ? text : "the driver gives no reason",
                                      name ? name : "unknown error", result);
    if (fatal(result) && !g->lost)
        g->lost = fsim_printf(g->a, "%s; nothing more can be run on the device", message);
    return fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "%s", fatal(result) ? g->lost : message);
}

bool fsim_gpu_wait(fsim_gpu *g, const char *name, fsim_fault *fault)
{
    static const double spin_s =
        0.02; /* spin for so long before sleeping: a sleep would show in times by the processor's clock */
    const double start_s = fsim_now_s();
    int result;
    while ((result = g->cu.cuStreamQuery(g->stream)) == FSIM_CU_NOT_READY) {
        const double waited_s = fsim_now_s() - start_s;
        if (waited_s > g->option.timeout_s) {
            g->lost = fsim_printf(g->a, "'%s' did not finish within %g s: the kernel hangs, and the device is given up",
                                  name, g->option.timeout_s);
            return fsim_gpu_usable(g, fault);
        }
        if (waited_s > spin_s)
            nanosleep(&(struct timespec){.tv_nsec = waited_s > 1 ? 1000000 : 50000}, NULL);
    }
    if (result == 0)
        return true;
    fsim_fault why = {0};
    fsim_gpu_ok(g, result, fsim_printf(g->a, "running '%s'", name), &why);
    g->lost = g->lost ? g->lost : why.message;
    return fsim_gpu_usable(g, fault);
}

const char *fsim_gpu_noise(fsim_gpu *g, const char *name, const fsim_times *t)
{
    static const double most_spread = 0.25, resolution_s = 1e-6;
    const double spread_s = t->high_s - t->low_s;
    if (t->samples == 0 || spread_s <= resolution_s || spread_s <= most_spread * t->median_s)
        return NULL;
    return fsim_printf(g->a,
                       "the middle half of the times of '%s' spreads over %.0f %% of their median: is something else "
                       "running on the GPU?",
                       name, 100 * spread_s / t->median_s);
}

const fsim_gpu_facts *fsim_gpu_facts_of(const fsim_gpu *g) { return &g->facts; }
const char *fsim_gpu_lost(const fsim_gpu *g) { return g->lost; }
void fsim_gpu_limit(fsim_gpu *g, double until_s) { g->until_s = until_s; }
bool fsim_gpu_is_late(const fsim_gpu *g, double until_s) { return g->until_s > 0 && fsim_now_s() > until_s; }
fsim_sensors fsim_gpu_sensors(const fsim_gpu *g) { return g->sensors; }

const char fsim_not_reached[] = "not reached within --budget";

/* Memory. */

bool fsim_gpu_allocate(fsim_gpu *g, const char *name, int64_t bytes, fsim_gpu_buffer *out, fsim_fault *fault)
{
    char need[32], left[32];
    size_t free_bytes = 0, total_bytes = 0;
    *out = (fsim_gpu_buffer){0};
    if (!fsim_gpu_usable(g, fault))
        return false;
    const int result = g->cu.cuMemAlloc_v2(&out->at, bytes > 16 ? (size_t)bytes : 16);
    if (result == 0) {
        out->bytes = bytes;
        return true;
    }
    if (result != FSIM_CU_OUT_OF_MEMORY)
        return fsim_gpu_ok(g, result, fsim_printf(g->a, "allocating memory for %s", name), fault);
    (void)!g->cu.cuMemGetInfo_v2(&free_bytes, &total_bytes);
    return fsim_fail(
        fault, g->a, FSIM_UNAVAILABLE,
        "out of device memory: %s needs %s, and %s are free; free the GPU, or choose smaller shapes (--dim)", name,
        fsim_show_bytes(need, sizeof need, (double)bytes), fsim_show_bytes(left, sizeof left, (double)free_bytes));
}

void fsim_gpu_free(fsim_gpu *g, fsim_gpu_buffer *buffer)
{
    if (buffer->at && !g->lost)
        (void)!g->cu.cuMemFree_v2(buffer->at);
    *buffer = (fsim_gpu_buffer){0};
}

static bool fits(fsim_gpu *g, fsim_gpu_buffer b, int64_t bytes, fsim_fault *fault)
{
    return (bytes >= 0 && bytes <= b.bytes) ||
           fsim_fail(fault, g->a, FSIM_FAILED, "a copy of %lld bytes to or from a buffer of %lld", (long long)bytes,
                     (long long)b.bytes);
}

bool fsim_gpu_upload(fsim_gpu *g, fsim_gpu_buffer to, const void *from, int64_t bytes, fsim_fault *fault)
{
    return fsim_gpu_usable(g, fault) && fits(g, to, bytes, fault) &&
           (bytes == 0 ||
            fsim_gpu_ok(g, g->cu.cuMemcpyHtoD_v2(to.at, from, (size_t)bytes), "copying to the GPU", fault));
}

bool fsim_gpu_download(fsim_gpu *g, void *to, fsim_gpu_buffer from, int64_t bytes, fsim_fault *fault)
{
    return fsim_gpu_usable(g, fault) && fits(g, from, bytes, fault) &&
           (bytes == 0 ||
            fsim_gpu_ok(g, g->cu.cuMemcpyDtoH_v2(to, from.at, (size_t)bytes), "copying from the GPU", fault));
}
