/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/probe/bench.h"

#include "validate/cuda/device.h"
#include <math.h>
#include <stdlib.h>

const fsim_probe_bits fsim_probe_floats = {0x007fffffu, 0x3f000000u};
const double fsim_probe_most_spread = 0.1;
static const double resolution_s = 3e-7;

fsim_figure fsim_probe_missing(const char *name, const char *unit, const char *why)
{
    return (fsim_figure){.name = name, .unit = unit, .median = NAN, .low = NAN, .high = NAN, .why = why};
}

/* A figure from times: work / s where work > 0. The clock's resolution does not count as noise. */
fsim_figure fsim_probe_figure(const char *name, const char *unit, fsim_times t, double less_s, double work)
{
    const double median = t.median_s - less_s, low = t.low_s - less_s, high = t.high_s - less_s;
    if (t.samples == 0)
        return fsim_probe_missing(name, unit, "no samples");
    if (!(low > 0) || (less_s > 0 && median < 0.1 * less_s))
        return fsim_probe_missing(name, unit, "it took no longer than an empty kernel");
    fsim_figure f = {.name = name, .unit = unit, .median = median, .low = low, .high = high, .samples = t.samples};
    f.noisy = high - low > resolution_s && fsim_gpu_spread(&f) > fsim_probe_most_spread;
    if (work > 0)
        f = (fsim_figure){name, unit, 0, work / median, work / high, work / low, t.samples, f.noisy, NULL};
    return f;
}

void fsim_probe_set(fsim_probe_bench *b, fsim_gpu_probe p, fsim_times t, double less_s, double work)
{
    b->out->of[p] = fsim_probe_figure(fsim_gpu_probe_names[p], fsim_gpu_probe_units[p], t, less_s, work);
}

/* Marks a figure that is missing and has no reason yet. */
void fsim_probe_leave_out(fsim_probe_bench *b, fsim_gpu_probe p, const char *why)
{
    if (b->out->of[p].samples == 0 && !b->out->of[p].why)
        b->out->of[p] = fsim_probe_missing(fsim_gpu_probe_names[p], fsim_gpu_probe_units[p], why);
}

void fsim_probe_add_by_size(fsim_probe_bench *b, fsim_figure f, int64_t bytes)
{
    f.bytes = bytes;
    *FSIM_PUSH(b->a, b->out->by_size, b->out->sizes, b->room) = f;
}

/* A parameter is the buffer as it is. */
static fsim_program *program_of(fsim_probe_bench *b, const fsim_probe_kernel *s)
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
fsim_gpu_kernel *fsim_probe_load(fsim_probe_bench *b, const fsim_probe_kernel *s, fsim_fault *fault)
{
    const uint64_t n[2] = {s->elems, s->iterations};
    const int slot = b->args_used++ % FSIM_PROBE_ARGS; /* slots are reused; so many are never in use at a time */
    const fsim_gpu_buffer arg = {b->args.at + (fsim_cu_pointer)slot * sizeof n, sizeof n};
    const fsim_gpu_buffer argument[] = {s->x, s->y, arg};
    if (!fsim_gpu_upload(b->g, arg, n, sizeof n, fault))
        return NULL;
    return fsim_gpu_load(b->g, program_of(b, s), &b->cubin[s->of], argument, fault);
}

/* Sorts faults: those that end everything, and those of one measurement, which go to *why. */
bool fsim_probe_survives(fsim_probe_bench *b, const fsim_fault *fault, const char **why)
{
    *why = fault->message;
    if (b->g->lost && b->fault.status == 0)
        b->fault = *fault;
    return b->fault.status == 0;
}

/* Times cold and warm runs; 0 samples, and *why, where this kernel alone fails. False where nothing more can be
 * measured. */
bool fsim_probe_measure(fsim_probe_bench *b, const fsim_probe_kernel *s, fsim_measured_kernel *out, const char **why)
{
    fsim_fault fault = {0};
    *why = NULL;
    *out = (fsim_measured_kernel){.sm_clock_hz = NAN};
    fsim_gpu_kernel *k = fsim_probe_load(b, s, &fault);
    const bool done = k && fsim_gpu_measure(b->g, &k, 1, out, &fault);
    fsim_gpu_unload(b->g, k);
    if (!done && fault.status != FSIM_INCONCLUSIVE) /* noise is visible in the quartiles */
        return fsim_probe_survives(b, &fault, why);
    *why = out->failed;
    return true;
}

/* Runs the kernel once, for its results. */
bool fsim_probe_run_once(fsim_probe_bench *b, const fsim_probe_kernel *s, const char **why)
{
    fsim_fault fault = {0};
    fsim_gpu_kernel *k = fsim_probe_load(b, s, &fault);
    const bool done = k && fsim_gpu_run(b->g, k, &fault);
    fsim_gpu_unload(b->g, k);
    *why = NULL;
    return done || fsim_probe_survives(b, &fault, why);
}

double fsim_probe_floor_s(const fsim_probe_bench *b) { return b->out->facts->floor.median_s; }

bool fsim_probe_allocate(fsim_probe_bench *b, const char *name, int64_t bytes, fsim_gpu_buffer *out, const char **why)
{
    fsim_fault fault = {0};
    *why = NULL;
    return fsim_gpu_allocate(b->g, name, bytes, out, &fault) || (fsim_probe_survives(b, &fault, why), false);
}

bool fsim_probe_fill(fsim_probe_bench *b, fsim_gpu_buffer to, fsim_probe_bits bits, const char **why)
{
    enum { WORDS = 1 << 16 };
    fsim_fault fault = {0};
    uint32_t *word = malloc(WORDS * sizeof *word), state = 2463534242u;
    bool done = word != NULL;
    for (int i = 0; i < WORDS && word; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        word[i] = bits.fixed | (state & bits.random);
    }
    for (int64_t at = 0; at < to.bytes && done; at += (int64_t)sizeof *word * WORDS) {
        const int64_t rest = to.bytes - at,
                      bytes = rest < (int64_t)sizeof *word * WORDS ? rest : (int64_t)sizeof *word * WORDS;
        done = fsim_gpu_upload(b->g, (fsim_gpu_buffer){to.at + (fsim_cu_pointer)at, bytes}, word, bytes, &fault);
    }
    free(word);
    return done || (fsim_probe_survives(b, &fault, why), false);
}
