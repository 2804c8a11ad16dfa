/* SPDX-License-Identifier: Apache-2.0 */
/* What a host's hardware file says of figures that are worked by hand: 4 threads of 1 GHz. And how threads share a
 * launch. cost: 1 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

#include "validate/cpu/cpu.h"
#include "validate/cpu/hardware.h"

/* 9 samples, a quarter of which is 10 % below and above. */
static fsim_spread_of figure(double median)
{
    return (fsim_spread_of){.samples = 9, .median = median, .low = 0.9 * median, .high = 1.1 * median};
}

static fsim_host_probes four_threads(void)
{
    fsim_host_probes h = {.threads = 4,
                          .rounds = 9,
                          .cpu = "Four",
                          .compiler = "cc 1",
                          .cache_bytes = 1 << 24,
                          .core_cache_bytes = 1 << 17,
                          .memory_bytes = INT64_C(1) << 34,
                          .effective_bytes = 1 << 23,
                          .sizes = 1};
    h.of[FSIM_PROBE_CLOCK] = figure(1e9);
    h.of[FSIM_PROBE_COPY] = figure(10e9);
    h.of[FSIM_PROBE_READ] = figure(12e9);
    h.of[FSIM_PROBE_LATENCY] = figure(100e-9);
    h.of[FSIM_PROBE_CACHE_COPY] = figure(80e9);
    h.of[FSIM_PROBE_CORE_COPY] = figure(128e9);
    h.of[FSIM_PROBE_FP32] = figure(60e9); /* of 4 threads x 2 x 1 GHz: 7.5, which is 8 lanes */
    h.of[FSIM_PROBE_FP64] = figure(33e9); /* 4.1: 4 lanes, of which more is reached than there is */
    h.of[FSIM_PROBE_INT32] = figure(48e9);
    h.of[FSIM_PROBE_DISPATCH] = figure(2e-6);
    h.of[FSIM_PROBE_PRODUCT] = figure(32e9);
    /* exp: 6 instructions of 8 lanes take 0.75 cycles, the function the rest of a 3-norm: it has one result in two
     * cycles, so that all take cbrt(8 + 0.421875) */
    h.of[FSIM_PROBE_EXP] = figure(4e9 / cbrt(8.421875));
    return h;
}

static const fsim_host_key *key_of(const fsim_host_key *key, int keys, fsim_hw_key wanted)
{
    const fsim_host_key *found = NULL;
    for (int i = 0; i < keys; i++)
        if (key[i].key == wanted) {
            assert_null(found); /* each once */
            found = &key[i];
        }
    return found;
}

/* That of a host's figures: NULL, it has none. */
static const fsim_host_key *figure_of(const fsim_host_probes *h, fsim_arena *a, fsim_hw_key wanted)
{
    fsim_host_key *key;
    const int keys = fsim_host_keys(h, a, &key);
    return key_of(key, keys, wanted);
}

static bool equal(double x, double y) { return isnan(y) ? isnan(x) : fabs(x - y) <= 1e-9 * fabs(y); }

static void keys_of_figures(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_host_probes h = four_threads();
    const struct {
        fsim_hw_key key;
        double value, achieved;
        double spread; /* NAN: none */
    } wanted[] = {
        {FSIM_HW_SMS, 4, NAN, NAN},
        {FSIM_HW_SM_CLOCK, NAN, 1e9, 0.1},
        {FSIM_HW_DRAM_BANDWIDTH, NAN, 10e9, 0.1},
        {FSIM_HW_DRAM_WRITE_COST, 2 * 12. / 10 - 1, NAN, 0.1},
        {FSIM_HW_DRAM_LATENCY, 100e-9, NAN, 0.1},
        {FSIM_HW_L2_BANDWIDTH, NAN, 80e9, 0.1},
        {FSIM_HW_L2_EFFECTIVE, 0.5, NAN, 0.1},
        {FSIM_HW_SHARED_BANDWIDTH, 32, NAN, 0.1}, /* 128 GB/s of 4 G clocks */
        {FSIM_HW_DRAM_CAPACITY, 17179869184, NAN, NAN},
        {FSIM_HW_L2_CAPACITY, 16777216, NAN, NAN},
        {FSIM_HW_SHARED_PER_SM, 131072, NAN, NAN},
        {FSIM_HW_SHARED_PER_BLOCK, 131072, NAN, NAN},
        {FSIM_HW_REGISTERS_PER_SM, 32768, NAN, NAN},
        {FSIM_HW_REGISTERS_PER_THREAD, 32, NAN, NAN},
        {FSIM_HW_REGISTER_UNIT, 1, NAN, NAN},
        {FSIM_HW_THREADS_PER_SM, 1024, NAN, NAN},
        {FSIM_HW_THREADS_PER_BLOCK, 1024, NAN, NAN},
        {FSIM_HW_BLOCKS_PER_SM, 1, NAN, NAN},
        {FSIM_HW_WARP_SIZE, 16, NAN, NAN},
        {FSIM_HW_FP32_RATE, 8, NAN, 0.1},
        {FSIM_HW_FP32_PEAK, 64e9, 60e9, 0.1},
        {FSIM_HW_FP64_RATE, 4, NAN, 0.1},
        {FSIM_HW_FP64_PEAK, 32e9, 32e9, 0.1},
        {FSIM_HW_INT32_RATE, 12, NAN, 0.1},
        {FSIM_HW_SPECIAL_RATE, 0.5, NAN, 0},
        {FSIM_HW_LAUNCH_EAGER, 2e-6, NAN, 0.1},
        {FSIM_HW_LAUNCH_STREAM, 2e-6, NAN, 0.1},
        {FSIM_HW_LAUNCH_GRAPH, 2e-6, NAN, 0.1},
        {FSIM_HW_KERNEL_FLOOR, 2e-6, NAN, 0.1},
        {FSIM_HW_CONTRACTION_FP32, 0.5, NAN, 0.1},
        {FSIM_HW_GEMM_FP32, 0.5, NAN, 0.1},
        {FSIM_HW_GEMM_FP32_TRANSPOSED, 1, NAN, NAN},
        {FSIM_HW_GEMM_FP32_NARROW, 0, NAN, NAN},
        {FSIM_HW_GEMM_FP32_STARTUP, 0, NAN, NAN},
        {FSIM_HW_GEMM_FP32_L2, 64, NAN, NAN},
        {FSIM_HW_GEMM_FP32_SPLIT, 0, NAN, NAN},
        {FSIM_HW_GEMM_PAGE_MOST, 0, NAN, NAN},
        {FSIM_HW_GEMM_CALL, 0, NAN, NAN},
        {FSIM_HW_CALL_STREAM, 1e-9, NAN, NAN},
        {FSIM_HW_CALL_EAGER, 1e-9, NAN, NAN},
        {FSIM_HW_COMPILED_CALL, 0, NAN, NAN},
        {FSIM_HW_COMPILED_LAUNCH, 0, NAN, NAN},
    };
    enum { WANTED = sizeof wanted / sizeof *wanted };
    fsim_host_key *key;
    const int keys = fsim_host_keys(&h, a, &key);
    assert_int_equal(keys, WANTED);
    for (int i = 0; i < WANTED; i++) {
        const fsim_host_key *k = key_of(key, keys, wanted[i].key);
        if (!k || !equal(k->value, wanted[i].value) || !equal(k->achieved, wanted[i].achieved) ||
            !(wanted[i].spread == 0 ? fabs(k->spread) < 1e-7 : equal(k->spread, wanted[i].spread)) ||
            k->measured != !isnan(wanted[i].spread))
            fail_msg("%s: %g, %g, spread %g", fsim_hw_rows[wanted[i].key].key, k ? k->value : NAN,
                     k ? k->achieved : NAN, k ? k->spread : NAN);
    }
    fsim_arena_free(a);
}

/* What was not measured has no key; a figure beyond what a file may state is at its border. */
static void what_was_not_measured(void **unused)
{
    (void)unused;
    static const struct {
        fsim_probe probe;
        fsim_hw_key key[3];
    } none[] = {{FSIM_PROBE_READ, {FSIM_HW_DRAM_WRITE_COST}},
                {FSIM_PROBE_LATENCY, {FSIM_HW_DRAM_LATENCY}},
                {FSIM_PROBE_FP64, {FSIM_HW_FP64_RATE, FSIM_HW_FP64_PEAK}},
                {FSIM_PROBE_INT32, {FSIM_HW_INT32_RATE}},
                {FSIM_PROBE_EXP, {FSIM_HW_SPECIAL_RATE}},
                {FSIM_PROBE_PRODUCT, {FSIM_HW_CONTRACTION_FP32, FSIM_HW_GEMM_FP32, FSIM_HW_GEMM_CALL}}};
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        fsim_host_probes h = four_threads();
        h.of[none[i].probe] = (fsim_spread_of){0};
        for (int k = 0; k < 3 && (k == 0 || none[i].key[k] != 0); k++)
            assert_null(figure_of(&h, a, none[i].key[k]));
        assert_non_null(figure_of(&h, a, FSIM_HW_SM_CLOCK));
    }
    fsim_host_probes h = four_threads();
    h.effective_bytes = 0;
    h.sizes = 0; /* a quick calibration */
    assert_null(figure_of(&h, a, FSIM_HW_L2_EFFECTIVE));
    assert_null(figure_of(&h, a, FSIM_HW_GEMM_CALL));
    assert_non_null(figure_of(&h, a, FSIM_HW_GEMM_FP32));
    h.effective_bytes = 1 << 25;
    h.core_cache_bytes = 1 << 20;
    h.of[FSIM_PROBE_INT32] = figure(1e9);   /* a quarter of a result a clock */
    h.of[FSIM_PROBE_PRODUCT] = figure(1e8); /* 1 / 640 of the peak */
    h.of[FSIM_PROBE_FP64] = figure(1e9);    /* an eighth of a lane */
    h.of[FSIM_PROBE_CLOCK].low = 1e7;
    h.of[FSIM_PROBE_CLOCK].high = 1e12;
    assert_true(figure_of(&h, a, FSIM_HW_L2_EFFECTIVE)->value == 1);
    assert_true(figure_of(&h, a, FSIM_HW_SHARED_PER_BLOCK)->value == 262144); /* rows on the stack have no more */
    assert_true(figure_of(&h, a, FSIM_HW_INT32_RATE)->value == 1);
    assert_true(figure_of(&h, a, FSIM_HW_GEMM_FP32)->value == 0.05);
    assert_true(figure_of(&h, a, FSIM_HW_FP64_RATE)->value == 1);
    assert_true(figure_of(&h, a, FSIM_HW_SM_CLOCK)->spread == FSIM_HW_MOST_SPREAD);
    h.effective_bytes = 1 << 10;
    h.of[FSIM_PROBE_PRODUCT] = figure(65e9);
    assert_true(figure_of(&h, a, FSIM_HW_L2_EFFECTIVE)->value == 0.05);
    assert_true(figure_of(&h, a, FSIM_HW_GEMM_FP32)->value == 1);
    /* tanh has 14 instructions, 1.75 cycles of 8 lanes, and two functions, which take all of it where it takes 8 cycles
     * more: two rates of r and 4 r are 2 r in the mean of logarithms, which scatter by log 2 */
    h = four_threads();
    h.of[FSIM_PROBE_TANH] = figure(4e9 / cbrt(1 + 1.75 * 1.75 * 1.75));
    assert_true(equal(figure_of(&h, a, FSIM_HW_SPECIAL_RATE)->value, 1)); /* of 0.5 and of 2 */
    assert_true(equal(figure_of(&h, a, FSIM_HW_SPECIAL_RATE)->spread, log(2)));
    /* a function as quick as its instructions is taken to take a tenth of that */
    h = four_threads();
    h.of[FSIM_PROBE_EXP] = figure(4e9 / 0.75);
    assert_true(equal(figure_of(&h, a, FSIM_HW_SPECIAL_RATE)->value, 1 / 0.075));
    h.of[FSIM_PROBE_EXP] = figure(4e9 / 100); /* no less than a file may state */
    assert_true(figure_of(&h, a, FSIM_HW_SPECIAL_RATE)->value == 0.5);
    assert_true(fsim_relative_spread((fsim_spread_of){0}) == 0 &&
                fsim_relative_spread((fsim_spread_of){.samples = 1, .low = 1, .high = 2}) == 0);
    fsim_arena_free(a);
}

static void sources_of_a_file(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_host_probes h = four_threads();
    const char *text = fsim_host_text(a, "", "mine", &h, "2026-01-02", "fusesim calibrate");
    static const char *const lines[] = {
        "# Measured by: fusesim calibrate, Four, cc 1 (2026-01-02)\n",
        "name: mine\n",
        "description: \"Four, 4 threads\"\n",
        "architecture: host\n",
        "source: \"threads x rate x 2 x clock; achieved measured: fusesim calibrate --device cpu, Four, FP32 "
        "multiply-adds in registers, 2026-01-02, 4 threads\"}",
        "source: \"measured: fusesim calibrate --device cpu, Four, empty kernels one after the other, 2026-01-02, 4 "
        "threads\"}",
        "source: \"what the system reports\"}"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i]))
            fail_msg("%s is not in\n%s", lines[i], text);
    fsim_arena_free(a);
}

/* Each thread's part of a launch: its first block and how many. */
typedef struct {
    long long first[4], end[4];
    int parts;
    pthread_mutex_t lock;
} parts;

static void note_part(long long first, long long end, void *const *args)
{
    parts *p = args[0];
    pthread_mutex_lock(&p->lock);
    p->first[p->parts] = first;
    p->end[p->parts++] = end;
    pthread_mutex_unlock(&p->lock);
}

/* Of 10 blocks 4 threads take 3, 3, 2 and 2; of 3 one each, and the last thread none. */
static void threads_share_a_launch(void **unused)
{
    (void)unused;
    static const struct {
        int64_t grid;
        int parts;
        long long blocks[4];
    } cases[] = {{10, 4, {3, 3, 2, 2}}, {3, 3, {1, 1, 1}}, {8, 4, {2, 2, 2, 2}}, {1, 1, {1}}, {0, 0, {0}}};
    fsim_cpu_pool *pool = fsim_cpu_pool_new(4);
    assert_int_equal(fsim_cpu_threads(pool), 4);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        parts p = {.lock = PTHREAD_MUTEX_INITIALIZER};
        void *const args[] = {&p};
        long long at = 0;
        fsim_cpu_launch(pool, note_part, cases[c].grid, args);
        assert_int_equal(p.parts, cases[c].parts);
        for (int t = 0; t < cases[c].parts; t++) {
            bool found = false;
            for (int i = 0; i < p.parts; i++)
                found = found || (p.first[i] == at && p.end[i] - at == cases[c].blocks[t]);
            assert_true(found);
            at += cases[c].blocks[t];
        }
        assert_int_equal(at, cases[c].grid);
    }
    assert_true(fsim_cpu_busiest_s(pool) == 0);
    fsim_cpu_pool_free(pool);
    fsim_cpu_pool_free(NULL);
    const int cpus = fsim_cpu_count();
    pool = fsim_cpu_pool_new(0);
    assert_int_equal(fsim_cpu_threads(pool), cpus);
    if (cpus > 1)
        assert_int_equal(fsim_cpu_count(), 1); /* the caller stays on its CPU while the pool is there */
    fsim_cpu_pool_free(pool);
    assert_int_equal(fsim_cpu_count(), cpus);
}

/* The first block takes a while. */
static void work_a_while(long long first, long long end, void *const *args)
{
    const double start_s = fsim_cpu_busy_s(), *most_s = args[0];
    (void)end;
    while (first == 0 && fsim_cpu_busy_s() - start_s < *most_s)
        ;
}

/* The processor's time of the thread that takes longest, of each launch that is counted. */
static void the_busiest_thread_counts(void **unused)
{
    (void)unused;
    double while_s = 2e-3;
    void *const args[] = {&while_s};
    fsim_cpu_pool *pool = fsim_cpu_pool_new(1);
    fsim_cpu_launch(pool, work_a_while, 1, args);
    assert_true(fsim_cpu_busiest_s(pool) == 0);
    fsim_cpu_count_busiest(pool, true);
    fsim_cpu_launch(pool, work_a_while, 1, args);
    const double once_s = fsim_cpu_busiest_s(pool);
    assert_true(once_s >= 0.9 * while_s && once_s < 10 * while_s);
    fsim_cpu_launch(pool, work_a_while, 1, args);
    assert_true(fsim_cpu_busiest_s(pool) >= once_s + 0.9 * while_s);
    fsim_cpu_count_busiest(pool, false);
    assert_true(fsim_cpu_busiest_s(pool) == 0);
    fsim_cpu_pool_free(pool);
}

/* Zeros, to the last byte of the last page, and no page more than one behind what was asked for. */
static void memory_is_zeroed(void **unused)
{
    (void)unused;
    static const int64_t sizes[] = {0, 1, 4095, 4096, 4097, 1 << 20};
    fsim_cpu_pool *pool = fsim_cpu_pool_new(2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *at = fsim_cpu_memory(pool, sizes[i]);
        assert_non_null(at);
        for (int64_t k = 0; k < sizes[i]; k++)
            assert_int_equal(at[k], 0);
        memset(at, 1, (size_t)sizes[i]);
        fsim_cpu_memory_free(at, sizes[i]);
    }
    assert_null(fsim_cpu_memory(pool, -1));
    fsim_cpu_memory_free(NULL, 4096);
    fsim_cpu_pool_free(pool);
}

static void what_the_system_says(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    assert_string_equal(fsim_cpu_name("vendor_id\t: A\nmodel name\t:  AMD EPYC 9R14 \"x\"\nflags : y\n", a),
                        "AMD EPYC 9R14 ");
    assert_string_equal(fsim_cpu_name("model name", a), "unknown CPU");
    assert_string_equal(fsim_cpu_name("", a), "unknown CPU");
    assert_true(fsim_cpu_count() >= 1 && fsim_cpu_cache_bytes() >= 1 << 18 && fsim_cpu_core_cache_bytes() >= 1 << 16);
    static const struct {
        const char *says;
        int64_t bytes; /* 0: what the system says, whatever that is */
    } cases[] = {{"24 MiB", 24 << 20}, {"1MB", 1000000}, {"256KiB", 1 << 18},
                 {"255 KiB", 0},       {"2000 GiB", 0},  {"much", 0}};
    assert_int_equal(unsetenv("FUSESIM_CPU_CACHE"), 0);
    const int64_t stated = fsim_cpu_cache_bytes();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(setenv("FUSESIM_CPU_CACHE", cases[i].says, 1), 0);
        assert_int_equal(fsim_cpu_cache_bytes(), cases[i].bytes ? cases[i].bytes : stated);
        assert_int_equal(fsim_cpu_cache_is_stated_well(), cases[i].bytes > 0);
    }
    double s[] = {4, 1, 3, 2}; /* quartiles are linear between neighbours: a quarter of the way from 1 to 4 is 1.75 */
    const fsim_spread_of x = fsim_spread_of_samples(s, 4);
    assert_true(x.samples == 4 && x.median == 2.5 && x.low == 1.75 && x.high == 3.25);
    assert_true(fsim_relative_spread(x) == 0.3);
    assert_int_equal(fsim_spread_of_samples(s, 0).samples, 0);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_figures),           cmocka_unit_test(what_was_not_measured),
        cmocka_unit_test(sources_of_a_file),         cmocka_unit_test(threads_share_a_launch),
        cmocka_unit_test(the_busiest_thread_counts), cmocka_unit_test(memory_is_zeroed),
        cmocka_unit_test(what_the_system_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
