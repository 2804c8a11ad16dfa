/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: bandwidth and latency of memory and of L2. */
#include "validate/cuda/probe/stages.h"

#include "base/unit.h"
#include <math.h>

enum {
    LINE_BYTES = 128,
    CHASED_L2 = 512,
    CHASED_DRAM = 4096,
    L2_TURNS = 64,
    L2_STEPS = 4 /* sizes to a doubling */
};

static const struct {
    const char *entry;
    fsim_gpu_probe probe;
    int reads, writes;
} streams[] = {{"probe_copy", FSIM_GPU_COPY, 1, 1},
               {"probe_read", FSIM_GPU_READ, 1, 0},
               {"probe_write", FSIM_GPU_WRITE, 0, 1},
               {"probe_scale", FSIM_GPU_SCALE, 1, 1}};
enum { STREAMS = sizeof streams / sizeof *streams };

/* Kernels one after the other; those that write use the same tensor. */
static bool measure_streams_of(fsim_probe_bench *b, int64_t bytes, fsim_gpu_buffer x, fsim_gpu_buffer y)
{
    char size[48];
    fsim_show_bytes(size, sizeof size, (double)bytes);
    for (int i = 0; i < STREAMS; i++) {
        const fsim_gpu_probe p = streams[i].probe;
        const double work = (double)bytes * (streams[i].reads + streams[i].writes);
        const fsim_probe_kernel s = {streams[i].entry,
                                     FSIM_PROBE_MEMORY,
                                     bytes / FSIM_PROBE_ELEM_BYTES / FSIM_PROBE_BLOCK,
                                     FSIM_PROBE_BLOCK,
                                     streams[i].reads ? x : b->operands,
                                     streams[i].writes ? y : b->tiny,
                                     (uint64_t)bytes / FSIM_PROBE_ELEM_BYTES,
                                     1};
        fsim_measured_kernel m;
        const char *why;
        if (!fsim_probe_measure(b, &s, &m, &why))
            return false;
        fsim_probe_add_by_size(
            b,
            fsim_probe_figure(fsim_printf(b->a, "%s %s, cold", fsim_gpu_probe_names[p], size), "B/s", m.cold, 0, work),
            bytes);
        fsim_probe_add_by_size(
            b,
            fsim_probe_figure(fsim_printf(b->a, "%s %s, warm", fsim_gpu_probe_names[p], size), "B/s", m.warm, 0, work),
            bytes);
        fsim_probe_set(b, p, m.cold, 0, work); /* the largest size comes last */
    }
    return true;
}

bool fsim_probe_streams(fsim_probe_bench *b)
{
    const char *why = NULL;
    for (int64_t bytes = FSIM_PROBE_LEAST_BYTES; bytes <= b->option.most_bytes; bytes *= 2) {
        fsim_gpu_buffer x = {0}, y = {0};
        const bool there = fsim_probe_allocate(b, "a probe of memory", bytes, &x, &why) &&
                           fsim_probe_allocate(b, "a probe of memory", bytes, &y, &why) &&
                           fsim_probe_fill(b, x, fsim_probe_floats, &why);
        if (there)
            (void)!measure_streams_of(b, bytes, x, y);
        fsim_gpu_free(b->g, &x);
        fsim_gpu_free(b->g, &y);
        if (b->fault.status != 0)
            return false;
        if (!there)
            break;
    }
    for (int i = 0; i < STREAMS; i++)
        fsim_probe_leave_out(b, streams[i].probe, why);
    return true;
}

/* L2. */

/* Bandwidths from repeated reads of growing sets: L2's is the best among those that certainly fit, memory's that of
 * the largest. */
static void judge_l2(fsim_probe_bench *b, const fsim_figure *f, int count)
{
    const double l2_bytes = (double)b->out->facts->l2_bytes;
    const fsim_figure *best = NULL, *last = NULL;
    for (int i = 0; i < count; i++) {
        if (f[i].samples > 0 && (double)f[i].bytes <= 0.5 * l2_bytes && (!best || f[i].median > best->median))
            best = &f[i];
        if (f[i].samples > 0)
            last = &f[i];
    }
    if (!best)
        return;
    b->out->of[FSIM_GPU_L2] = *best;
    b->out->of[FSIM_GPU_L2].name = fsim_gpu_probe_names[FSIM_GPU_L2];
    if (!last || (double)last->bytes < 1.5 * l2_bytes || last->median > 0.8 * best->median)
        return;
    const double half = log(sqrt(best->median * last->median));
    for (const fsim_figure *at = best; at < last; at++) {
        const double high = log(at[0].median), low = log(at[1].median);
        if (!(high >= half && low < half))
            continue;
        const double share = (high - half) / (high - low),
                     bytes = exp((1 - share) * log((double)at[0].bytes) + share * log((double)at[1].bytes));
        b->out->of[FSIM_GPU_L2_EFFECTIVE] = (fsim_figure){fsim_gpu_probe_names[FSIM_GPU_L2_EFFECTIVE],
                                                          "B",
                                                          0,
                                                          bytes,
                                                          (double)at[0].bytes,
                                                          (double)at[1].bytes,
                                                          1,
                                                          false,
                                                          NULL};
        return;
    }
}

bool fsim_probe_l2(fsim_probe_bench *b)
{
    const double l2_bytes = (double)b->out->facts->l2_bytes;
    const int first = b->out->sizes;
    const char *why = "the driver does not say how large L2 is";
    char size[48];
    for (int i = 0; l2_bytes > 0; i++) {
        const int64_t bytes = (int64_t)(l2_bytes / 8 * exp2((double)i / L2_STEPS)) /
                              (FSIM_PROBE_ELEM_BYTES * FSIM_PROBE_BLOCK) * (FSIM_PROBE_ELEM_BYTES * FSIM_PROBE_BLOCK);
        fsim_gpu_buffer x;
        fsim_measured_kernel m;
        if ((double)bytes > 2.05 * l2_bytes)
            break;
        if (!fsim_probe_allocate(b, "a probe of L2", bytes, &x, &why))
            break;
        const fsim_probe_kernel s = {
            "probe_l2", FSIM_PROBE_MEMORY, 8 * (int64_t)b->out->facts->sms,         FSIM_PROBE_BLOCK,
            x,          b->tiny,           (uint64_t)bytes / FSIM_PROBE_ELEM_BYTES, L2_TURNS};
        const bool done = fsim_probe_fill(b, x, fsim_probe_floats, &why) && fsim_probe_measure(b, &s, &m, &why);
        fsim_gpu_free(b->g, &x);
        if (!done)
            break;
        fsim_probe_add_by_size(b,
                               fsim_probe_figure(fsim_printf(b->a, "%d reads of %s", L2_TURNS,
                                                             fsim_show_bytes(size, sizeof size, (double)bytes)),
                                                 "B/s", m.warm, fsim_probe_floor_s(b), (double)bytes * L2_TURNS),
                               bytes);
    }
    if (b->out->sizes > first)
        judge_l2(b, b->out->by_size + first, b->out->sizes - first);
    fsim_probe_leave_out(b, FSIM_GPU_L2, why ? why : "no figure for what fits");
    fsim_probe_leave_out(b, FSIM_GPU_L2_EFFECTIVE, "bandwidth falls nowhere");
    return b->fault.status == 0;
}

/* A chain over `count` lines in random order through the whole buffer; the last points to the first. */
static bool make_chain(fsim_probe_bench *b, fsim_gpu_buffer x, int count, const char **why)
{
    fsim_fault fault = {0};
    const int64_t stride = x.bytes / LINE_BYTES / count * LINE_BYTES;
    int64_t *order = fsim_new(b->a, int64_t, count);
    uint64_t state = 88172645463325252u;
    bool done = true;
    for (int i = 0; i < count; i++)
        order[i] = i * stride;
    for (int i = count - 1; i > 1; i--) { /* the first stays: the walk begins there */
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const int k = 1 + (int)(state % (uint64_t)i);
        const int64_t other = order[k];
        order[k] = order[i];
        order[i] = other;
    }
    for (int i = 0; i < count && done; i++) {
        const uint64_t next = (uint64_t)order[(i + 1) % count];
        done = fsim_gpu_upload(b->g, (fsim_gpu_buffer){x.at + (fsim_cu_pointer)order[i], sizeof next}, &next,
                               sizeof next, &fault);
    }
    return done || (fsim_probe_survives(b, &fault, why), false);
}

static void measure_latency(fsim_probe_bench *b, fsim_gpu_probe p, int64_t bytes, int count)
{
    fsim_gpu_buffer x = {0};
    fsim_measured_kernel m;
    const char *why;
    if (fsim_probe_allocate(b, "a probe of latency", bytes, &x, &why) && make_chain(b, x, count, &why)) {
        const fsim_probe_kernel s = {"probe_chase", FSIM_PROBE_MEMORY, 1, 1, x, b->tiny, 0, (uint64_t)count};
        if (fsim_probe_measure(b, &s, &m, &why)) {
            fsim_probe_set(b, p, p == FSIM_GPU_L2_LATENCY ? m.warm : m.cold, fsim_probe_floor_s(b), 0);
            fsim_figure *f = &b->out->of[p];
            f->median /= count;
            f->low /= count;
            f->high /= count;
        }
    }
    fsim_gpu_free(b->g, &x);
    fsim_probe_leave_out(b, p, why);
}

bool fsim_probe_latencies(fsim_probe_bench *b)
{
    const int64_t l2_bytes = b->out->facts->l2_bytes > 0 ? b->out->facts->l2_bytes : 4 << 20, large = 8 * l2_bytes;
    measure_latency(b, FSIM_GPU_L2_LATENCY, l2_bytes / 4, CHASED_L2);
    measure_latency(b, FSIM_GPU_DRAM_LATENCY, large < b->option.most_bytes ? large : b->option.most_bytes, CHASED_DRAM);
    return b->fault.status == 0;
}
