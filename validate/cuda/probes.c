/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/probes.h"

#include "base/unit.h"
#include "validate/cuda/device.h"
#include "validate/cuda/helpers.h"
#include "validate/cuda/kernel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_gpu_probe_names[FSIM_GPU_PROBES] = {"copy",
                                                           "read",
                                                           "write",
                                                           "scale",
                                                           "repeated reads in L2",
                                                           "effective L2",
                                                           "L2 latency",
                                                           "DRAM latency",
                                                           "empty kernel",
                                                           "launch in a stream",
                                                           "launch in a graph",
                                                           "launch in a queue",
                                                           "launch alone, events around",
                                                           "launch alone, waited for",
                                                           "FFMA",
                                                           "HFMA2",
                                                           "DFMA",
                                                           "IMAD",
                                                           "special functions",
                                                           "shared memory",
                                                           "shared memory latency",
                                                           "mma.sync f16",
                                                           "mma.sync bf16",
                                                           "mma.sync tf32",
                                                           "mma.sync i8",
                                                           "FFMA, all SMs",
                                                           "HFMA2, all SMs",
                                                           "DFMA, all SMs",
                                                           "IMAD, all SMs",
                                                           "special functions, all SMs",
                                                           "mma.sync f16, all SMs",
                                                           "mma.sync bf16, all SMs",
                                                           "mma.sync tf32, all SMs",
                                                           "mma.sync i8, all SMs",
                                                           "cuBLAS product f16",
                                                           "cuBLAS product bf16",
                                                           "cuBLAS product tf32",
                                                           "cuBLAS product f32",
                                                           "SM clock at the start",
                                                           "SM clock under multiply-adds",
                                                           "SM clock under tensor cores",
                                                           "SM clock under copies"};
const char *const fsim_gpu_probe_units[FSIM_GPU_PROBES] = {
    "B/s",      "B/s",      "B/s",    "B/s",    "B/s",    "B",      "s",    "s",         "s",      "s",      "s",
    "s",        "s",        "s",      "/clk",   "/clk",   "/clk",   "/clk", "/clk",      "B/clk",  "clk",    "FLOP/clk",
    "FLOP/clk", "FLOP/clk", "OP/clk", "FLOP/s", "FLOP/s", "FLOP/s", "OP/s", "results/s", "FLOP/s", "FLOP/s", "FLOP/s",
    "OP/s",     "FLOP/s",   "FLOP/s", "FLOP/s", "FLOP/s", "Hz",     "Hz",   "Hz",        "Hz"};

enum {
    ELEM_BYTES = 16,
    BLOCK = 256,
    WIDE_BLOCK = 1024,
    LEAST_BYTES = 1 << 20,
    ARGS = 256,      /* pairs of numbers that kernels are given */
    TINY_BYTES = 64, /* of a parameter that is not used */
    LINE_BYTES = 128,
    CHASED_L2 = 512,
    CHASED_DRAM = 4096,
    L2_TURNS = 64,
    L2_STEPS = 4, /* sizes to a doubling */
    LAUNCHES = 200,
    LOAD_PARTS = 5,
    USUAL_GEMM = 8192
};
static const int64_t usual_most_bytes = (int64_t)4 << 30;
static const double usual_load_s = 0.5, most_spread = 0.1, resolution_s = 3e-7;

double fsim_gpu_spread(const fsim_gpu_figure *f) { return (f->high - f->low) / f->median; }

typedef enum { MEMORY, RATES, TENSOR, TEXTS } text;

typedef struct {
    fsim_gpu *g;
    fsim_arena *a;
    fsim_gpu_probe_options option;
    fsim_gpu_probed *out;
    fsim_cubin cubin[TEXTS];
    fsim_gpu_buffer args, operands, cycles, tiny; /* args: ARGS pairs; cycles: a number a block */
    int args_used, room;
    fsim_fault fault; /* set: nothing more can be measured */
} bench;

/* Figures. */

static fsim_gpu_figure missing(const char *name, const char *unit, const char *why)
{
    return (fsim_gpu_figure){.name = name, .unit = unit, .median = NAN, .low = NAN, .high = NAN, .why = why};
}

/* Of seconds: work / s where work > 0. The resolution is no noise. */
static fsim_gpu_figure figure_of(const char *name, const char *unit, fsim_times t, double less_s, double work)
{
    const double median = t.median_s - less_s, low = t.low_s - less_s, high = t.high_s - less_s;
    if (t.samples == 0)
        return missing(name, unit, "no samples");
    if (!(low > 0) || (less_s > 0 && median < 0.1 * less_s))
        return missing(name, unit, "it took no longer than an empty kernel");
    fsim_gpu_figure f = {.name = name, .unit = unit, .median = median, .low = low, .high = high, .samples = t.samples};
    f.noisy = high - low > resolution_s && fsim_gpu_spread(&f) > most_spread;
    if (work > 0)
        f = (fsim_gpu_figure){name, unit, 0, work / median, work / high, work / low, t.samples, f.noisy, NULL};
    return f;
}

static void set(bench *b, fsim_gpu_probe p, fsim_times t, double less_s, double work)
{
    b->out->of[p] = figure_of(fsim_gpu_probe_names[p], fsim_gpu_probe_units[p], t, less_s, work);
}

/* A figure that is not there, and does not say why itself. */
static void leave_out(bench *b, fsim_gpu_probe p, const char *why)
{
    if (b->out->of[p].samples == 0 && !b->out->of[p].why)
        b->out->of[p] = missing(fsim_gpu_probe_names[p], fsim_gpu_probe_units[p], why);
}

static void add_by_size(bench *b, fsim_gpu_figure f, int64_t bytes)
{
    f.bytes = bytes;
    *FSIM_PUSH(b->a, b->out->by_size, b->out->sizes, b->room) = f;
}

/* Kernels. */

typedef struct {
    const char *entry;
    text of;
    int64_t grid;
    int block;
    fsim_gpu_buffer x, y;
    uint64_t elems, turns;
} shape;

/* A parameter is the buffer as it is. */
static fsim_program *program_of(bench *b, const shape *s)
{
    fsim_program *p = fsim_new(b->a, fsim_program, 1);
    *p = (fsim_program){.name = s->entry,
                        .parameter = fsim_new(b->a, fsim_parameter, 3),
                        .parameters = 3,
                        .launch = fsim_new(b->a, fsim_launch, 1),
                        .launches = 1};
    p->parameter[0] = (fsim_parameter){.tensor = -1, .name = "x", .type = "void"};
    p->parameter[1] = (fsim_parameter){.tensor = -1, .written = true, .name = "y", .type = "void"};
    p->parameter[2] = (fsim_parameter){.tensor = -1, .name = "n", .type = "unsigned long long"};
    p->launch[0] = (fsim_launch){.entry = s->entry, .grid = s->grid, .block = s->block};
    return p;
}

/* NULL after a fault. */
static fsim_gpu_kernel *load(bench *b, const shape *s, fsim_fault *fault)
{
    const uint64_t n[2] = {s->elems, s->turns};
    const int slot = b->args_used++ % ARGS; /* of those that are in use at a time */
    const fsim_gpu_buffer arg = {b->args.at + (fsim_cu_pointer)slot * sizeof n, sizeof n};
    const fsim_gpu_buffer argument[] = {s->x, s->y, arg};
    if (!fsim_gpu_upload(b->g, arg, n, sizeof n, fault))
        return NULL;
    return fsim_gpu_load(b->g, program_of(b, s), &b->cubin[s->of], argument, fault);
}

/* A fault that ends it all, or one that only concerns what was about to be measured: *why. */
static bool survives(bench *b, const fsim_fault *fault, const char **why)
{
    *why = fault->message;
    if (b->g->lost && b->fault.status == 0)
        b->fault = *fault;
    return b->fault.status == 0;
}

/* Cold and warm; 0 samples, and *why, where this kernel alone fails. False where nothing more can be measured. */
static bool measure(bench *b, const shape *s, fsim_measured_kernel *out, const char **why)
{
    fsim_fault fault = {0};
    *why = NULL;
    *out = (fsim_measured_kernel){.sm_clock_hz = NAN};
    fsim_gpu_kernel *k = load(b, s, &fault);
    const bool done = k && fsim_gpu_measure(b->g, &k, 1, out, &fault);
    fsim_gpu_unload(b->g, k);
    if (!done && fault.status != FSIM_INCONCLUSIVE) /* noise shows in the quartiles */
        return survives(b, &fault, why);
    *why = out->failed;
    return true;
}

/* Runs once, to leave results behind. */
static bool run_once(bench *b, const shape *s, const char **why)
{
    fsim_fault fault = {0};
    fsim_gpu_kernel *k = load(b, s, &fault);
    const bool done = k && fsim_gpu_run(b->g, k, &fault);
    fsim_gpu_unload(b->g, k);
    *why = NULL;
    return done || survives(b, &fault, why);
}

static double floor_s(const bench *b) { return b->out->facts->floor.median_s; }

static bool allocate(bench *b, const char *name, int64_t bytes, fsim_gpu_buffer *out, const char **why)
{
    fsim_fault fault = {0};
    *why = NULL;
    return fsim_gpu_allocate(b->g, name, bytes, out, &fault) || (survives(b, &fault, why), false);
}

/* Random bits, as floats within 0.5 to 1, in the first part of the buffer; device copies spread them. Zeros would take
 * less power. */
static bool fill(bench *b, fsim_gpu_buffer to, const char **why)
{
    enum { WORDS = 1 << 16 };
    fsim_fault fault = {0};
    uint32_t *word = malloc(WORDS * sizeof *word), state = 2463534242u;
    bool done = word != NULL;
    for (int i = 0; i < WORDS && word; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        word[i] = 0x3f000000u | (state & 0x7fffffu);
    }
    for (int64_t at = 0; at < to.bytes && done; at += (int64_t)sizeof *word * WORDS) {
        const int64_t rest = to.bytes - at,
                      bytes = rest < (int64_t)sizeof *word * WORDS ? rest : (int64_t)sizeof *word * WORDS;
        done = fsim_gpu_upload(b->g, (fsim_gpu_buffer){to.at + (fsim_cu_pointer)at, bytes}, word, bytes, &fault);
    }
    free(word);
    return done || (survives(b, &fault, why), false);
}

/* Streams. */

static const struct {
    const char *entry;
    fsim_gpu_probe probe;
    int reads, writes;
} streams[] = {{"probe_copy", FSIM_GPU_COPY, 1, 1},
               {"probe_read", FSIM_GPU_READ, 1, 0},
               {"probe_write", FSIM_GPU_WRITE, 0, 1},
               {"probe_scale", FSIM_GPU_SCALE, 1, 1}};
enum { STREAMS = sizeof streams / sizeof *streams };

/* One kernel after the other: those that write, write to the same tensor. */
static bool measure_streams_of(bench *b, int64_t bytes, fsim_gpu_buffer x, fsim_gpu_buffer y)
{
    char size[48];
    fsim_show_bytes(size, sizeof size, (double)bytes);
    for (int i = 0; i < STREAMS; i++) {
        const fsim_gpu_probe p = streams[i].probe;
        const double work = (double)bytes * (streams[i].reads + streams[i].writes);
        const shape s = {streams[i].entry,
                         MEMORY,
                         bytes / ELEM_BYTES / BLOCK,
                         BLOCK,
                         streams[i].reads ? x : b->operands,
                         streams[i].writes ? y : b->tiny,
                         (uint64_t)bytes / ELEM_BYTES,
                         1};
        fsim_measured_kernel m;
        const char *why;
        if (!measure(b, &s, &m, &why))
            return false;
        add_by_size(b,
                    figure_of(fsim_printf(b->a, "%s %s, cold", fsim_gpu_probe_names[p], size), "B/s", m.cold, 0, work),
                    bytes);
        add_by_size(b,
                    figure_of(fsim_printf(b->a, "%s %s, warm", fsim_gpu_probe_names[p], size), "B/s", m.warm, 0, work),
                    bytes);
        set(b, p, m.cold, 0, work); /* the largest is the last */
    }
    return true;
}

static bool measure_streams(bench *b)
{
    const char *why = NULL;
    for (int64_t bytes = LEAST_BYTES; bytes <= b->option.most_bytes; bytes *= 2) {
        fsim_gpu_buffer x = {0}, y = {0};
        const bool there = allocate(b, "a probe of memory", bytes, &x, &why) &&
                           allocate(b, "a probe of memory", bytes, &y, &why) && fill(b, x, &why);
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
        leave_out(b, streams[i].probe, why);
    return true;
}

/* L2. */

/* Of repeated reads of growing sets: L2's bandwidth is the best of those that surely fit, memory's that of the largest.
 */
static void judge_l2(bench *b, const fsim_gpu_figure *f, int count)
{
    const double l2_bytes = (double)b->out->facts->l2_bytes;
    const fsim_gpu_figure *best = NULL, *last = NULL;
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
    for (const fsim_gpu_figure *at = best; at < last; at++) {
        const double high = log(at[0].median), low = log(at[1].median);
        if (!(high >= half && low < half))
            continue;
        const double share = (high - half) / (high - low),
                     bytes = exp((1 - share) * log((double)at[0].bytes) + share * log((double)at[1].bytes));
        b->out->of[FSIM_GPU_L2_EFFECTIVE] = (fsim_gpu_figure){fsim_gpu_probe_names[FSIM_GPU_L2_EFFECTIVE],
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

static bool measure_l2(bench *b)
{
    const double l2_bytes = (double)b->out->facts->l2_bytes;
    const int first = b->out->sizes;
    const char *why = "the driver does not say how large L2 is";
    char size[48];
    for (int i = 0; l2_bytes > 0; i++) {
        const int64_t bytes =
            (int64_t)(l2_bytes / 8 * exp2((double)i / L2_STEPS)) / (ELEM_BYTES * BLOCK) * (ELEM_BYTES * BLOCK);
        fsim_gpu_buffer x;
        fsim_measured_kernel m;
        if ((double)bytes > 2.05 * l2_bytes)
            break;
        if (!allocate(b, "a probe of L2", bytes, &x, &why))
            break;
        const shape s = {"probe_l2", MEMORY,  8 * (int64_t)b->out->facts->sms, BLOCK,
                         x,          b->tiny, (uint64_t)bytes / ELEM_BYTES,    L2_TURNS};
        const bool done = fill(b, x, &why) && measure(b, &s, &m, &why);
        fsim_gpu_free(b->g, &x);
        if (!done)
            break;
        add_by_size(
            b,
            figure_of(fsim_printf(b->a, "%d reads of %s", L2_TURNS, fsim_show_bytes(size, sizeof size, (double)bytes)),
                      "B/s", m.warm, floor_s(b), (double)bytes * L2_TURNS),
            bytes);
    }
    if (b->out->sizes > first)
        judge_l2(b, b->out->by_size + first, b->out->sizes - first);
    leave_out(b, FSIM_GPU_L2, why ? why : "no figure for what fits");
    leave_out(b, FSIM_GPU_L2_EFFECTIVE, "bandwidth falls nowhere");
    return b->fault.status == 0;
}

/* A chain over `count` lines in random order, through all of the buffer; back to the start from the last. */
static bool make_chain(bench *b, fsim_gpu_buffer x, int count, const char **why)
{
    fsim_fault fault = {0};
    const int64_t stride = x.bytes / LINE_BYTES / count * LINE_BYTES;
    int64_t *order = fsim_new(b->a, int64_t, count);
    uint64_t state = 88172645463325252u;
    bool done = true;
    for (int i = 0; i < count; i++)
        order[i] = i * stride;
    for (int i = count - 1; i > 1; i--) { /* the first stays, where the walk begins */
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
    return done || (survives(b, &fault, why), false);
}

static void measure_latency(bench *b, fsim_gpu_probe p, int64_t bytes, int count)
{
    fsim_gpu_buffer x = {0};
    fsim_measured_kernel m;
    const char *why;
    if (allocate(b, "a probe of latency", bytes, &x, &why) && make_chain(b, x, count, &why)) {
        const shape s = {"probe_chase", MEMORY, 1, 1, x, b->tiny, 0, (uint64_t)count};
        if (measure(b, &s, &m, &why)) {
            set(b, p, p == FSIM_GPU_L2_LATENCY ? m.warm : m.cold, floor_s(b), 0);
            fsim_gpu_figure *f = &b->out->of[p];
            f->median /= count;
            f->low /= count;
            f->high /= count;
        }
    }
    fsim_gpu_free(b->g, &x);
    leave_out(b, p, why);
}

static bool measure_latencies(bench *b)
{
    const int64_t l2_bytes = b->out->facts->l2_bytes > 0 ? b->out->facts->l2_bytes : 4 << 20, large = 8 * l2_bytes;
    measure_latency(b, FSIM_GPU_L2_LATENCY, l2_bytes / 4, CHASED_L2);
    measure_latency(b, FSIM_GPU_DRAM_LATENCY, large < b->option.most_bytes ? large : b->option.most_bytes, CHASED_DRAM);
    return b->fault.status == 0;
}

/* Launches. */

static fsim_times slope(fsim_times one, fsim_times many)
{
    if (one.samples == 0 || many.samples == 0)
        return (fsim_times){0};
    return (fsim_times){many.samples, (many.median_s - one.median_s) / LAUNCHES, (many.low_s - one.median_s) / LAUNCHES,
                        (many.high_s - one.median_s) / LAUNCHES, (many.least_s - one.median_s) / LAUNCHES};
}

static bool measure_launches(bench *b)
{
    fsim_gpu_kernel **kernel = fsim_new(b->a, fsim_gpu_kernel *, LAUNCHES + 1);
    const fsim_gpu_plan plan[] = {{"one empty kernel", kernel, 1, false},
                                  {"many empty kernels", kernel, LAUNCHES + 1, false}};
    fsim_measured_plan m[2] = {{0}, {0}};
    fsim_times wall[2] = {{0}, {0}};
    fsim_fault fault = {0};
    const char *why = NULL;
    for (int i = 0; i <= LAUNCHES; i++)
        kernel[i] = i == 0 ? fsim_gpu_empty_kernel(b->g) : kernel[0];
    if (!fsim_gpu_measure_plans(b->g, plan, 2, m, wall, &fault) && fault.status != FSIM_INCONCLUSIVE &&
        !survives(b, &fault, &why))
        return false;
    set(b, FSIM_GPU_LAUNCH_STREAM, slope(m[0].stream, m[1].stream), 0, 0);
    set(b, FSIM_GPU_LAUNCH_GRAPH, slope(m[0].graph, m[1].graph), 0, 0);
    set(b, FSIM_GPU_LAUNCH_ALONE, m[0].stream, 0, 0);
    set(b, FSIM_GPU_LAUNCH_WAITED, wall[0], 0, 0);
    return true;
}

/* Pipes. */

static const struct {
    const char *entry;
    text of;
    fsim_gpu_probe per_clock, rate; /* rate FSIM_GPU_PROBES: none */
    double a_turn;                  /* results, bytes or FLOP of a block */
    double flop;                    /* of a result, in the rate */
    int turns;
} pipes[] = {{"probe_ffma", RATES, FSIM_GPU_FFMA, FSIM_GPU_FFMA_RATE, 32.0 * WIDE_BLOCK, 2, 2000},
             {"probe_hfma2", RATES, FSIM_GPU_HFMA2, FSIM_GPU_HFMA2_RATE, 64.0 * WIDE_BLOCK, 2, 2000},
             {"probe_dfma", RATES, FSIM_GPU_DFMA, FSIM_GPU_DFMA_RATE, 32.0 * WIDE_BLOCK, 2, 200},
             {"probe_imad", RATES, FSIM_GPU_IMAD, FSIM_GPU_IMAD_RATE, 32.0 * WIDE_BLOCK, 1, 1000},
             {"probe_special", RATES, FSIM_GPU_SPECIAL, FSIM_GPU_SPECIAL_RATE, 32.0 * WIDE_BLOCK, 1, 400},
             {"probe_shared", RATES, FSIM_GPU_SHARED, FSIM_GPU_PROBES, 64.0 * WIDE_BLOCK, 1, 1000},
             {"probe_mma_f16", TENSOR, FSIM_GPU_MMA_F16, FSIM_GPU_MMA_F16_RATE, 32.0 * 8 * 4096, 1, 2000},
             {"probe_mma_bf16", TENSOR, FSIM_GPU_MMA_BF16, FSIM_GPU_MMA_BF16_RATE, 32.0 * 8 * 4096, 1, 2000},
             {"probe_mma_tf32", TENSOR, FSIM_GPU_MMA_TF32, FSIM_GPU_MMA_TF32_RATE, 32.0 * 8 * 2048, 1, 2000},
             {"probe_mma_i8", TENSOR, FSIM_GPU_MMA_I8, FSIM_GPU_MMA_I8_RATE, 32.0 * 8 * 8192, 1, 2000}};
enum { PIPES = sizeof pipes / sizeof *pipes };

static shape pipe_shape(const bench *b, int i, int times)
{
    return (shape){pipes[i].entry,
                   pipes[i].of,
                   b->out->facts->sms,
                   WIDE_BLOCK,
                   b->operands,
                   b->cycles,
                   0,
                   (uint64_t)pipes[i].turns * (uint64_t)times};
}

/* The blocks' cycles of the last run: work / cycles, or, where work is 0, cycles / divisor. */
static void set_by_cycles(bench *b, fsim_gpu_probe p, double work, double divisor)
{
    const int sms = b->out->facts->sms;
    uint64_t *cycles = fsim_new(b->a, uint64_t, sms);
    double *x = fsim_new(b->a, double, sms);
    fsim_fault fault = {0};
    const char *why = NULL;
    int n = 0;
    if (!fsim_gpu_download(b->g, cycles, b->cycles, (int64_t)sizeof *cycles * sms, &fault)) {
        survives(b, &fault, &why);
        leave_out(b, p, why);
        return;
    }
    for (int i = 0; i < sms; i++)
        if (cycles[i] > 0)
            x[n++] = work > 0 ? work / (double)cycles[i] : (double)cycles[i] / divisor;
    const fsim_times t = fsim_times_of(x, n);
    fsim_gpu_figure f = {
        fsim_gpu_probe_names[p], fsim_gpu_probe_units[p], 0, t.median_s, t.low_s, t.high_s, n, false, NULL};
    f.noisy = n > 0 && fsim_gpu_spread(&f) > most_spread;
    b->out->of[p] = n > 0 ? f : missing(f.name, f.unit, "no cycles were counted");
}

static bool measure_pipe(bench *b, int i)
{
    const shape s = pipe_shape(b, i, 1);
    const double work = pipes[i].a_turn * pipes[i].turns;
    const char *why;
    fsim_measured_kernel m;
    if (!b->cubin[pipes[i].of].cubin) {
        why = b->cubin[pipes[i].of].fault.message;
    } else if (!measure(b, &s, &m, &why)) {
        return false;
    } else if (m.warm.samples > 0) {
        set_by_cycles(b, pipes[i].per_clock, work, 0);
        if (pipes[i].rate != FSIM_GPU_PROBES)
            set(b, pipes[i].rate, m.warm, floor_s(b), work * pipes[i].flop * b->out->facts->sms);
    } else {
        why = why ? why : m.failed;
    }
    leave_out(b, pipes[i].per_clock, why);
    if (pipes[i].rate != FSIM_GPU_PROBES)
        leave_out(b, pipes[i].rate, why);
    return b->fault.status == 0;
}

static bool measure_shared_latency(bench *b)
{
    enum { TURNS = 100 };
    const shape s = {"probe_shared_chase", RATES, b->out->facts->sms, WIDE_BLOCK, b->operands, b->cycles, 0, TURNS};
    const char *why;
    if (!run_once(b, &s, &why))
        return false;
    if (!why)
        set_by_cycles(b, FSIM_GPU_SHARED_LATENCY, 0, 32.0 * TURNS);
    leave_out(b, FSIM_GPU_SHARED_LATENCY, why);
    return true;
}

static bool measure_pipes(bench *b)
{
    for (int i = 0; i < PIPES; i++)
        if (!measure_pipe(b, i))
            return false;
    return measure_shared_latency(b);
}

/* Kernels that take longer than their launch, behind one that lasts until they are queued: between them are the
 * device's gaps alone, where between empty kernels there is the processor's time for a launch. What one takes there
 * beyond its record is the gap; an empty kernel's record is added, as a launch costs that much of device time by the
 * other figures too. */
static bool measure_queue(bench *b)
{
    enum { SHORT_TURNS = 140, LONG_TURNS = 30 * SHORT_TURNS }; /* about 20 us and 0.6 ms */
    const int ffma = 0;                                        /* of pipes */
    shape s = pipe_shape(b, ffma, 1), l = s;
    fsim_gpu_kernel **kernel = fsim_new(b->a, fsim_gpu_kernel *, LAUNCHES + 2);
    const fsim_gpu_plan plan[] = {{"a long kernel and a short one", kernel, 2, false},
                                  {"a long kernel and many short ones", kernel, LAUNCHES + 2, false}};
    fsim_measured_plan m[2] = {{0}, {0}};
    fsim_measured_kernel one;
    fsim_fault fault = {0};
    const char *why = NULL;
    s.turns = SHORT_TURNS;
    l.turns = LONG_TURNS;
    if (!measure(b, &s, &one, &why))
        return false;
    fsim_gpu_kernel *longer = load(b, &l, &fault), *shorter = longer ? load(b, &s, &fault) : NULL;
    for (int i = 0; i < LAUNCHES + 2; i++)
        kernel[i] = i == 0 ? longer : shorter;
    if (shorter && fsim_gpu_measure_plans(b->g, plan, 2, m, NULL, &fault))
        fault = (fsim_fault){0};
    fsim_gpu_unload(b->g, longer);
    fsim_gpu_unload(b->g, shorter);
    if (fault.status != 0 && fault.status != FSIM_INCONCLUSIVE && !survives(b, &fault, &why))
        return false;
    fsim_times t = slope(m[0].stream, m[1].stream);
    const double work_s = one.warm.median_s - floor_s(b);
    t.median_s -= work_s, t.low_s -= work_s, t.high_s -= work_s, t.least_s -= work_s;
    if (strstr(b->out->facts->timing, "records") && one.warm.samples > 0)
        set(b, FSIM_GPU_LAUNCH_QUEUED, t, 0, 0);
    leave_out(b, FSIM_GPU_LAUNCH_QUEUED, why ? why : b->out->facts->timing);
    return true;
}

/* Library products. */

static const struct {
    fsim_gpu_probe probe;
    fsim_dtype type;
    bool tf32;
    int part, elem_bytes; /* part: of the rows of others */
} products[] = {{FSIM_GPU_GEMM_F16, FSIM_F16, false, 1, 2},
                {FSIM_GPU_GEMM_BF16, FSIM_BF16, false, 1, 2},
                {FSIM_GPU_GEMM_TF32, FSIM_F32, true, 1, 4},
                {FSIM_GPU_GEMM_F32, FSIM_F32, false, 2, 4}};
enum { PRODUCTS = sizeof products / sizeof *products };

/* 16-bit elements of 0.5 to 1 in magnitude; as floats they are as good. */
static bool fill_halves(bench *b, fsim_gpu_buffer to, fsim_dtype type, const char **why)
{
    enum { WORDS = 1 << 16 };
    fsim_fault fault = {0};
    uint32_t *word = malloc(WORDS * sizeof *word), state = 362436069u;
    const uint32_t random = type == FSIM_F16    ? 0x83ff83ffu
                            : type == FSIM_BF16 ? 0x807f807fu
                                                : 0x807fffffu,
                   fixed = type == FSIM_F16    ? 0x38003800u
                           : type == FSIM_BF16 ? 0x3f003f00u
                                               : 0x3f000000u;
    bool done = word != NULL;
    for (int i = 0; i < WORDS && word; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        word[i] = (state & random) | fixed;
    }
    for (int64_t at = 0; at < to.bytes && done; at += (int64_t)sizeof *word * WORDS) {
        const int64_t rest = to.bytes - at,
                      bytes = rest < (int64_t)sizeof *word * WORDS ? rest : (int64_t)sizeof *word * WORDS;
        done = fsim_gpu_upload(b->g, (fsim_gpu_buffer){to.at + (fsim_cu_pointer)at, bytes}, word, bytes, &fault);
    }
    free(word);
    return done || (survives(b, &fault, why), false);
}

static void measure_product(bench *b, int i)
{
    const int64_t n = b->option.gemm / products[i].part, bytes = n * n * products[i].elem_bytes;
    fsim_gpu_buffer at[3] = {{0}, {0}, {0}};
    const fsim_gpu_gemm_call call = {.name = fsim_gpu_probe_names[products[i].probe],
                                     .m = n,
                                     .n = n,
                                     .k = n,
                                     .batch = 1,
                                     .type = products[i].type,
                                     .tf32 = products[i].tf32};
    const char *why = NULL;
    fsim_fault fault = {0};
    fsim_measured_kernel m;
    bool ready = true;
    for (int k = 0; k < 3 && ready; k++)
        ready = allocate(b, "a matrix product", bytes, &at[k], &why) && fill_halves(b, at[k], products[i].type, &why);
    fsim_gpu_kernel *kernel = ready ? fsim_gpu_gemm(b->g, &call, at[0], at[1], at[2], &fault) : NULL;
    if (kernel && (fsim_gpu_measure(b->g, &kernel, 1, &m, &fault) || fault.status == FSIM_INCONCLUSIVE))
        m.failed ? (void)(why = m.failed)
                 : set(b, products[i].probe, m.warm, 0, 2.0 * (double)n * (double)n * (double)n);
    else if (ready)
        survives(b, &fault, &why);
    fsim_gpu_unload(b->g, kernel);
    for (int k = 0; k < 3; k++)
        fsim_gpu_free(b->g, &at[k]);
    const char *above = i > 0 ? b->out->of[products[i - 1].probe].why : NULL;
    leave_out(b, products[i].probe, why && above && strcmp(why, above) == 0 ? "the same" : why);
}

static bool measure_products(bench *b)
{
    for (int i = 0; i < PRODUCTS && b->fault.status == 0; i++)
        if (b->option.gemm < 0)
            leave_out(b, products[i].probe, "not asked for");
        else if ((products[i].tf32 || products[i].type == FSIM_BF16) &&
                 !fsim_architecture_of_sm(b->out->facts->sm)->mma)
            leave_out(b, products[i].probe, "sm_80 and newer have it");
        else
            measure_product(b, i);
    return b->fault.status == 0;
}

/* Loads. */

/* Clock readings around `parts` runs of the kernel, each of about load_s / parts; sensors in the middle of the last. */
static bool run_load(bench *b, const char *name, fsim_gpu_kernel *k, fsim_gpu_probe clock, fsim_sensors *sensors,
                     const fsim_nvml *nvml)
{
    enum { LEAST_LAUNCHES = 8, MOST_LAUNCHES = 2000 };
    fsim_gpu *g = b->g;
    fsim_fault fault = {0};
    const char *why = NULL;
    double x[LOAD_PARTS];
    int n = 0;
    const double start_s = fsim_now_s();
    bool good = fsim_gpu_run(g, k, &fault);
    const double once_s = fsim_now_s() - start_s,
                 wanted = b->option.load_s / LOAD_PARTS / (once_s > 1e-5 ? once_s : 1e-5);
    const int launches = wanted < LEAST_LAUNCHES  ? LEAST_LAUNCHES
                         : wanted > MOST_LAUNCHES ? MOST_LAUNCHES
                                                  : (int)wanted;
    for (int part = 0; part < LOAD_PARTS && good; part++) {
        good = fsim_gpu_stamp_clocks(g, 0, &fault);
        for (int i = 0; i < launches && good; i++)
            good = fsim_gpu_launch(g, k, &fault);
        if (good && part == LOAD_PARTS - 1)
            *sensors = fsim_nvml_read(nvml, b->a);
        good = good && fsim_gpu_stamp_clocks(g, 1, &fault) && fsim_gpu_wait(g, name, &fault);
        const double hz = good ? fsim_gpu_clock_hz(g) : NAN;
        if (!isnan(hz))
            x[n++] = hz;
    }
    const fsim_times t = fsim_times_of(x, n);
    if (n > 0)
        set(b, clock, t, 0, 0);
    if (!good)
        survives(b, &fault, &why);
    leave_out(b, clock, why ? why : "no clock was read");
    return b->fault.status == 0;
}

static bool measure_loads(bench *b, const fsim_nvml *nvml)
{
    static const int fma = 0, tensor = 6; /* of pipes */
    const int64_t bytes = b->option.most_bytes;
    fsim_gpu_buffer x = {0}, y = {0};
    const char *why = NULL;
    const bool there = allocate(b, "a probe of memory", bytes, &x, &why) &&
                       allocate(b, "a probe of memory", bytes, &y, &why) && fill(b, x, &why);
    const struct {
        const char *name;
        fsim_gpu_probe clock;
        shape of;
        bool there;
        const char *why;
    } load_of[FSIM_GPU_LOADS] = {
        {"multiply-adds", FSIM_GPU_CLOCK_FMA, pipe_shape(b, fma, 20), true, NULL},
        {"tensor cores", FSIM_GPU_CLOCK_TENSOR, pipe_shape(b, tensor, 20), b->cubin[TENSOR].cubin != NULL,
         b->cubin[TENSOR].fault.message},
        {"copies",
         FSIM_GPU_CLOCK_MEMORY,
         {"probe_copy", MEMORY, bytes / ELEM_BYTES / BLOCK, BLOCK, x, y, (uint64_t)bytes / ELEM_BYTES, 1},
         there,
         why}};
    for (int i = 0; i < FSIM_GPU_LOADS && b->fault.status == 0; i++) {
        fsim_fault fault = {0};
        b->out->load[i].name = load_of[i].name;
        fsim_gpu_kernel *k = load_of[i].there ? load(b, &load_of[i].of, &fault) : NULL;
        why = load_of[i].why;
        if (k)
            (void)!run_load(b, load_of[i].name, k, load_of[i].clock, &b->out->load[i].sensors, nvml);
        else if (load_of[i].there)
            survives(b, &fault, &why);
        leave_out(b, load_of[i].clock, why);
        fsim_gpu_unload(b->g, k);
    }
    fsim_gpu_free(b->g, &x);
    fsim_gpu_free(b->g, &y);
    return b->fault.status == 0;
}

/* Before anything else has run: a flush lasts long enough. */
static bool read_first_clock(bench *b)
{
    fsim_gpu *g = b->g;
    double hz = NAN;
    if (fsim_gpu_stamp_clocks(g, 0, &b->fault) && fsim_gpu_flush(g, &b->fault) &&
        fsim_gpu_stamp_clocks(g, 1, &b->fault) && fsim_gpu_wait(g, "the clock's reading", &b->fault))
        hz = fsim_gpu_clock_hz(g);
    if (!isnan(hz))
        set(b, FSIM_GPU_CLOCK_START, (fsim_times){1, hz, hz, hz, hz}, 0, 0);
    leave_out(b, FSIM_GPU_CLOCK_START, "too short a time");
    return b->fault.status == 0;
}

/* All. */

static bool open_bench(bench *b)
{
    static const float operand[4] = {0.999f, 0.5f, 0.75f, 0.25f};
    const fsim_program program[TEXTS] = {{.name = "probe_memory", .source = fsim_probe_memory_text},
                                         {.name = "probe_rates", .source = fsim_probe_rates_text},
                                         {.name = "probe_tensor", .source = fsim_probe_tensor_text, .sm = 80}};
    fsim_gpu *g = b->g;
    const int64_t eighth = b->out->facts->free_bytes / 8, limit = eighth < usual_most_bytes ? eighth : usual_most_bytes;
    if (b->option.most_bytes == 0)
        for (b->option.most_bytes = LEAST_BYTES; 2 * b->option.most_bytes <= limit;)
            b->option.most_bytes *= 2;
    b->option.load_s = b->option.load_s > 0 ? b->option.load_s : usual_load_s;
    while (b->option.gemm == 0 || (int64_t)3 * 4 * b->option.gemm * b->option.gemm > b->out->facts->free_bytes / 2)
        b->option.gemm = b->option.gemm == 0 ? USUAL_GEMM : b->option.gemm / 2;
    if (!fsim_gpu_compile(g, program, TEXTS, NULL, TEXTS, b->cubin, &b->fault)) {
        if (!b->cubin[MEMORY].cubin || !b->cubin[RATES].cubin || b->cubin[TENSOR].fault.status != FSIM_UNAVAILABLE)
            return false; /* else: an older device */
        b->fault = (fsim_fault){0};
    }
    return fsim_gpu_allocate(g, "probes", ARGS * 2 * (int64_t)sizeof(uint64_t), &b->args, &b->fault) &&
           fsim_gpu_allocate(g, "probes", TINY_BYTES, &b->operands, &b->fault) &&
           fsim_gpu_allocate(g, "probes", TINY_BYTES, &b->tiny, &b->fault) &&
           fsim_gpu_allocate(g, "probes", (int64_t)sizeof(uint64_t) * b->out->facts->sms, &b->cycles, &b->fault) &&
           fsim_gpu_upload(g, b->operands, operand, sizeof operand, &b->fault);
}

static void close_bench(bench *b)
{
    fsim_gpu_free(b->g, &b->args);
    fsim_gpu_free(b->g, &b->operands);
    fsim_gpu_free(b->g, &b->tiny);
    fsim_gpu_free(b->g, &b->cycles);
}

static void count(fsim_gpu_probed *out)
{
    for (int i = 0; i < FSIM_GPU_PROBES + out->sizes; i++) {
        const fsim_gpu_figure *f = i < FSIM_GPU_PROBES ? &out->of[i] : &out->by_size[i - FSIM_GPU_PROBES];
        out->measured += f->samples > 0;
        out->noisy += f->noisy;
    }
}

/* An empty kernel is measured beside all others. */
static void take_floor(bench *b)
{
    if (strstr(b->out->facts->timing, "records"))
        set(b, FSIM_GPU_FLOOR, b->out->facts->floor, 0, 0);
    leave_out(b, FSIM_GPU_FLOOR, b->out->facts->timing);
}

bool fsim_gpu_run_probes(fsim_gpu *g, const fsim_gpu_probe_options *options, fsim_arena *a, fsim_gpu_probed *out,
                         fsim_fault *fault)
{
    bench b = {.g = g, .a = a, .option = options ? *options : (fsim_gpu_probe_options){0}, .out = out};
    const double start_s = fsim_now_s();
    *out = (fsim_gpu_probed){.facts = fsim_gpu_facts_of(g)};
    fsim_nvml nvml = fsim_nvml_open(a, out->facts->uuid);
    const fsim_sensors unknown = fsim_nvml_read(&(fsim_nvml){.device = NULL}, a);
    out->driver = nvml.driver;
    out->no_sensors = nvml.missing;
    out->at_start = fsim_nvml_read(&nvml, a);
    for (int i = 0; i < FSIM_GPU_LOADS; i++)
        out->load[i].sensors = unknown;
    if (open_bench(&b) && read_first_clock(&b) && measure_streams(&b) && measure_launches(&b) && measure_l2(&b) &&
        measure_latencies(&b) && measure_pipes(&b) && measure_queue(&b) && measure_products(&b))
        (void)!measure_loads(&b, &nvml);
    take_floor(&b);
    close_bench(&b);
    fsim_nvml_close(&nvml);
    count(out);
    out->took_s = fsim_now_s() - start_s;
    if (b.fault.status == 0 && 2 * out->noisy > out->measured)
        fsim_fail(&b.fault, a, FSIM_INCONCLUSIVE,
                  "%d of %d figures scatter by more than %.0f %%: is something else running on the GPU?", out->noisy,
                  out->measured, 100 * most_spread);
    if (b.fault.status != 0 && fault)
        *fault = b.fault;
    return b.fault.status == 0;
}
