/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cpu/hardware.h"

#include "base/file.h"
#include "evidence/hardware_text.h"
#include "graph/op.h"
#include <math.h>
#include <string.h>

enum {
    STACK_ROW_BYTES = 256 << 10, /* arrays of a generated kernel on a thread's stack */
    LANES = 1024                 /* threads of the model's largest block */
};
static const double largest_write_cost = 1.8, least_write_cost = 0.7; /* the range of dram_write_cost */

typedef struct {
    const fsim_host_probes *h;
    fsim_arena *arena;
    fsim_host_key *key;
    int count, room;
} keys;

/* On a busy machine a figure may scatter by more than a file may state. */
static void add(keys *k, fsim_host_key key)
{
    key.spread = key.spread > FSIM_HW_MOST_SPREAD ? FSIM_HW_MOST_SPREAD : key.spread;
    *FSIM_PUSH(k->arena, k->key, k->count, k->room) = key;
}

/* Adds a key whose value the system reports or that is assumed. */
static void say(keys *k, fsim_hw_key key, double value, const char *source)
{
    add(k, (fsim_host_key){key, value, NAN, NAN, source, false});
}

static bool has(const keys *k, fsim_probe p) { return k->h->of[p].samples > 0; }
static double median(const keys *k, fsim_probe p) { return k->h->of[p].median; }

/* Adds a key with one figure, which was measured. form: that of its row. */
static void measured(keys *k, fsim_hw_key key, double value, fsim_probe p, const char *kernel)
{
    const double spread = fsim_relative_spread(k->h->of[p]);
    const bool peak = fsim_hw_rows[key].form == FSIM_HW_PEAK;
    add(k, (fsim_host_key){key, peak ? NAN : value, peak ? value : NAN, spread, kernel, true});
}

/* Multiply-adds per clock and thread; hardware has a power of two. */
static double lanes_per_clock(const keys *k, fsim_probe p)
{
    const double lanes = median(k, p) / (2 * k->h->threads * median(k, FSIM_PROBE_CLOCK));
    return exp2(fmax(0, rint(log2(lanes))));
}

static void add_vector_rate(keys *k, fsim_probe p, fsim_hw_key rate, fsim_hw_key peak, const char *type)
{
    const double lanes = lanes_per_clock(k, p), most = lanes * 2 * k->h->threads * median(k, FSIM_PROBE_CLOCK);
    measured(k, rate, lanes, p, fsim_printf(k->arena, "%s multiply-adds in registers, to the next power of two", type));
    add(k, (fsim_host_key){peak, most, fmin(most, median(k, p)), fsim_relative_spread(k->h->of[p]),
                           fsim_printf(k->arena, "%s multiply-adds in registers", type), true});
}

/* Clock cycles per element and thread. */
static double cycles(const keys *k, fsim_probe p) { return k->h->threads * median(k, FSIM_PROBE_CLOCK) / median(k, p); }

/* Results per clock and thread: the rate with which the model, which overlaps functions with other instructions by a
 * 3-norm, predicts the measured times. 0: nothing was measured. */
static double special_rate(const keys *k, double *spread)
{
    static const struct {
        fsim_probe probe;
        fsim_op op;
    } functions[] = {{FSIM_PROBE_EXP, FSIM_OP_EXP},
                     {FSIM_PROBE_TANH, FSIM_OP_TANH},
                     {FSIM_PROBE_SIGMOID, FSIM_OP_SIGMOID},
                     {FSIM_PROBE_ERF, FSIM_OP_ERF}};
    const double lanes = lanes_per_clock(k, FSIM_PROBE_FP32);
    double sum = 0, squares = 0;
    int count = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!has(k, functions[i].probe))
            continue;
        const fsim_op_row *row = &fsim_ops[functions[i].op];
        const double all = cycles(k, functions[i].probe), other = row->instructions / lanes,
                     special = cbrt(fmax(0.001 * all * all * all, all * all * all - other * other * other));
        const double rate = log(row->specials / special);
        sum += rate;
        squares += rate * rate;
        count++;
    }
    if (count == 0)
        return 0;
    *spread = sqrt(fmax(0, squares / count - sum / count * (sum / count)));
    return exp(sum / count);
}

static void add_special_rate(keys *k)
{
    double spread = 0;
    const double rate = special_rate(k, &spread), low = fsim_hw_rows[FSIM_HW_SPECIAL_RATE].low;
    if (rate > 0)
        add(k, (fsim_host_key){FSIM_HW_SPECIAL_RATE, fmax(low, rate), NAN, spread,
                               "exp, tanh, sigmoid and erf in vectors", true});
}

static void add_memory(keys *k)
{
    const fsim_host_probes *h = k->h;
    const double copy = median(k, FSIM_PROBE_COPY), read = median(k, FSIM_PROBE_READ);
    measured(k, FSIM_HW_DRAM_BANDWIDTH, copy, FSIM_PROBE_COPY, "copy with plain stores, all threads");
    if (has(k, FSIM_PROBE_READ)) /* a copy of one byte read and one written takes (1 + cost) / read */
        measured(k, FSIM_HW_DRAM_WRITE_COST, fmin(largest_write_cost, fmax(least_write_cost, 2 * read / copy - 1)),
                 FSIM_PROBE_READ, "reading beside copying, all threads");
    if (has(k, FSIM_PROBE_LATENCY))
        measured(k, FSIM_HW_DRAM_LATENCY, median(k, FSIM_PROBE_LATENCY), FSIM_PROBE_LATENCY,
                 "dependent loads in random order");
    measured(k, FSIM_HW_L2_BANDWIDTH, median(k, FSIM_PROBE_CACHE_COPY), FSIM_PROBE_CACHE_COPY,
             "copy of a quarter of the last-level cache, all threads");
    if (h->effective_bytes > 0)
        measured(k, FSIM_HW_L2_EFFECTIVE, fmin(1, fmax(0.05, (double)h->effective_bytes / (double)h->cache_bytes)),
                 FSIM_PROBE_CACHE_COPY, "copies of growing size");
    measured(k, FSIM_HW_SHARED_BANDWIDTH, median(k, FSIM_PROBE_CORE_COPY) / (h->threads * median(k, FSIM_PROBE_CLOCK)),
             FSIM_PROBE_CORE_COPY, "copy of 16 KiB, each thread its own");
}

/* Adds what the system reports, and keys that files must have although they mean nothing for a CPU. */
static void add_sizes(keys *k)
{
    static const char threads[] = "lanes of the largest block of a generated kernel",
                      vectors[] = "assumed: vector registers; a host's kernels are not limited by them";
    say(k, FSIM_HW_DRAM_CAPACITY, (double)k->h->memory_bytes, "what the system reports");
    say(k, FSIM_HW_L2_CAPACITY, (double)k->h->cache_bytes, "what the system reports: last-level cache");
    say(k, FSIM_HW_SHARED_PER_SM, (double)k->h->core_cache_bytes, "what the system reports: a core's own cache");
    say(k, FSIM_HW_SHARED_PER_BLOCK, fmin(STACK_ROW_BYTES, (double)k->h->core_cache_bytes),
        "arrays of a generated kernel on a thread's stack");
    say(k, FSIM_HW_REGISTERS_PER_SM, 32.0 * LANES, vectors);
    say(k, FSIM_HW_REGISTERS_PER_THREAD, 32, vectors);
    say(k, FSIM_HW_REGISTER_UNIT, 1, vectors);
    say(k, FSIM_HW_THREADS_PER_SM, LANES, threads);
    say(k, FSIM_HW_THREADS_PER_BLOCK, LANES, threads);
    say(k, FSIM_HW_BLOCKS_PER_SM, 1, "a core runs one block after the other");
    say(k, FSIM_HW_WARP_SIZE, 16, "lanes of a vector of 64 bytes: a cache line");
}

static void add_rates(keys *k)
{
    const fsim_host_probes *h = k->h;
    const double per_thread = h->threads * median(k, FSIM_PROBE_CLOCK);
    add_vector_rate(k, FSIM_PROBE_FP32, FSIM_HW_FP32_RATE, FSIM_HW_FP32_PEAK, "FP32");
    if (has(k, FSIM_PROBE_FP64))
        add_vector_rate(k, FSIM_PROBE_FP64, FSIM_HW_FP64_RATE, FSIM_HW_FP64_PEAK, "FP64");
    if (has(k, FSIM_PROBE_INT32))
        measured(k, FSIM_HW_INT32_RATE, fmax(1, median(k, FSIM_PROBE_INT32) / per_thread), FSIM_PROBE_INT32,
                 "additions and exclusive ors in registers");
    add_special_rate(k);
}

static void add_launches(keys *k)
{
    static const fsim_hw_key launches[] = {FSIM_HW_LAUNCH_EAGER, FSIM_HW_LAUNCH_STREAM, FSIM_HW_LAUNCH_GRAPH,
                                           FSIM_HW_KERNEL_FLOOR};
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++)
        measured(k, launches[i], median(k, FSIM_PROBE_DISPATCH), FSIM_PROBE_DISPATCH,
                 "empty kernels one after the other");
}

/* Keys of matrix products: only the rate of a tile is measured. Scalars of GPUs' libraries and frameworks do not
 * apply. */
static void add_products(keys *k)
{
    static const struct {
        fsim_hw_key key;
        double value;
    } none[] = {{FSIM_HW_GEMM_FP32_TRANSPOSED, 1},
                {FSIM_HW_GEMM_FP32_NARROW, 0},
                {FSIM_HW_GEMM_FP32_STARTUP, 0},
                {FSIM_HW_GEMM_FP32_L2, 64},
                {FSIM_HW_GEMM_FP32_SPLIT, 0},
                {FSIM_HW_GEMM_PAGE_MOST, 0},
                {FSIM_HW_GEMM_CALL, 0},
                {FSIM_HW_CALL_STREAM, 1e-9},
                {FSIM_HW_CALL_EAGER, 1e-9},
                {FSIM_HW_COMPILED_CALL, 0},
                {FSIM_HW_COMPILED_LAUNCH, 0}};
    const double share =
        fmin(1, fmax(0.05, median(k, FSIM_PROBE_PRODUCT) / (lanes_per_clock(k, FSIM_PROBE_FP32) * 2 * k->h->threads *
                                                            median(k, FSIM_PROBE_CLOCK))));
    measured(k, FSIM_HW_CONTRACTION_FP32, share, FSIM_PROBE_PRODUCT, "matrix product in tiles of 64 x 64");
    measured(k, FSIM_HW_GEMM_FP32, share, FSIM_PROBE_PRODUCT, "matrix product in tiles of 64 x 64");
    for (size_t i = 0; i < sizeof none / sizeof *none && k->h->sizes; i++)
        say(k, none[i].key, none[i].value, "assumed: a host's generated kernels have no counterpart");
}

int fsim_host_keys(const fsim_host_probes *h, fsim_arena *a, fsim_host_key **out)
{
    keys k = {.h = h, .arena = a};
    say(&k, FSIM_HW_SMS, h->threads, "threads that generated kernels run on");
    measured(&k, FSIM_HW_SM_CLOCK, median(&k, FSIM_PROBE_CLOCK), FSIM_PROBE_CLOCK,
             "dependent integer operations, all threads");
    add_memory(&k);
    add_sizes(&k);
    add_rates(&k);
    add_launches(&k);
    if (has(&k, FSIM_PROBE_PRODUCT))
        add_products(&k);
    *out = k.key;
    return k.count;
}

/* The source of a key: that of its peak, if it has one, then "measured: ...". */
static const char *source_of(fsim_arena *a, const fsim_host_key *k, const fsim_host_probes *h, const char *date)
{
    if (!k->measured)
        return k->source;
    return fsim_printf(a, "%smeasured: fusesim calibrate --device cpu, %s, %s, %s, %d threads",
                       isnan(k->value) || isnan(k->achieved) ? "" : "threads x rate x 2 x clock; achieved ", h->cpu,
                       k->source, date, h->threads);
}

const char *fsim_host_text(fsim_arena *a, const char *text, const char *name, const fsim_host_probes *h,
                           const char *date, const char *command)
{
    fsim_host_key *key;
    const int count = fsim_host_keys(h, a, &key);
    text = fsim_hw_text_line(a, text, "name", fsim_printf(a, "name: %s", name));
    text = fsim_hw_text_line(a, text, "description",
                             fsim_printf(a, "description: \"%s, %d threads\"", h->cpu, h->threads));
    text = fsim_hw_text_line(a, text, "architecture", "architecture: host\n");
    for (int i = 0; i < count; i++) {
        const fsim_hw_entry entry = {key[i].key, key[i].value, key[i].achieved, key[i].spread,
                                     source_of(a, &key[i], h, date)};
        text = fsim_hw_text_line(a, text, fsim_hw_rows[key[i].key].key, fsim_hw_entry_line(a, &entry));
    }
    return fsim_hw_text_head(a, text,
                             "Measured by: ", fsim_printf(a, "%s, %s, %s (%s)", command, h->cpu, h->compiler, date));
}

const fsim_hw *fsim_host_recalibrated(const fsim_hw *hw, fsim_cpu_pool *p, const fsim_cpu_compiler *compiler,
                                      fsim_arena *a, const char **why)
{
    enum { QUICK_ROUNDS = 5 };
    const fsim_host_probes *h = fsim_host_probe(p, compiler, fsim_probes_quick, QUICK_ROUNDS, a, why);
    fsim_host_key *key;
    if (!h)
        return NULL;
    fsim_hw *own = fsim_new(a, fsim_hw, 1);
    *own = *hw;
    const int count = fsim_host_keys(h, a, &key);
    const char *hash = fsim_strdup(a, hw->hash);
    for (int i = 0; i < count; i++) {
        fsim_quantity *q = &own->q[key[i].key];
        q->value = key[i].value;
        q->achieved = key[i].achieved;
        q->spread = key[i].spread;
        q->source = source_of(a, &key[i], h, "now");
        q->present = true;
        q->typical = q->unknown = false;
        q->from = FSIM_HW_GIVEN;
        hash = fsim_printf(a, "%s\n%s=%.17g,%.17g", hash, fsim_hw_rows[key[i].key].key, q->value, q->achieved);
    }
    fsim_sha256(hash, strlen(hash), own->hash);
    return own;
}
