/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's side of measuring, as far as it goes without one: records, sets of counters, faults of opening. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "validate/cuda/activity.h"
#include "validate/cuda/counters.h"
#include "validate/cuda/helpers.h"
#include "validate/cuda/measure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* CUPTI loads a library in a way that AddressSanitizer does not stand. */
#ifdef FSIM_SANITIZED
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static fsim_record record(const char *name, uint32_t launch, uint64_t start_ns, uint64_t end_ns)
{
    fsim_record r = {.start_ns = start_ns, .end_ns = end_ns, .correlation = launch};
    snprintf(r.name, sizeof r.name, "%s", name);
    return r;
}

static void near(double x, double wanted) { assert_true(x > wanted * (1 - 1e-9) && x < wanted * (1 + 1e-9)); }

/* Two launches a kernel, run twice; records come in any order, helpers among them. */
static void records_are_summed_by_run(void **unused)
{
    (void)unused;
    static const fsim_launch launch[] = {{.entry = "a"}, {.entry = "b"}};
    fsim_record r[] = {record("b", 6, 5000, 5400),         record("fsim_clock", 1, 1, 2), record("a", 5, 4000, 4300),
                       record("fsim_flush", 2, 3, 9),      record("a", 3, 1000, 1500),    record("b", 4, 2000, 2700),
                       record("fsim_clock", 7, 6000, 6001)};
    double s[2];
    assert_null(fsim_runs_of(r, 7, 2, launch, 2, s));
    near(s[0], 1200e-9);
    near(s[1], 700e-9);
}

static void library_kernels_may_be_any_but_the_same(void **unused)
{
    (void)unused;
    fsim_record r[] = {record("sgemm", 1, 100, 200), record("reduce", 2, 300, 350), record("sgemm", 3, 400, 490),
                       record("reduce", 4, 500, 540)};
    double s[2];
    assert_null(fsim_runs_of(r, 4, 2, NULL, 0, s));
    near(s[0], 150e-9);
    near(s[1], 130e-9);
    assert_non_null(fsim_runs_of(r, 3, 2, NULL, 0, s));
    r[2] = record("other", 3, 400, 490);
    assert_non_null(fsim_runs_of(r, 4, 2, NULL, 0, s));
}

static void bad_records_are_refused(void **unused)
{
    (void)unused;
    static const fsim_launch launch = {.entry = "a"};
    double s[2];
    assert_non_null(fsim_runs_of(NULL, 0, 2, &launch, 1, s));
    fsim_record few[] = {record("a", 1, 100, 200)};
    assert_non_null(fsim_runs_of(few, 1, 2, &launch, 1, s));
    fsim_record many[] = {record("a", 1, 100, 200), record("a", 2, 300, 400), record("a", 3, 500, 600),
                          record("a", 4, 700, 800)};
    assert_non_null(fsim_runs_of(many, 4, 2, &launch, 1, s));
    fsim_record other[] = {record("a", 1, 100, 200), record("c", 2, 300, 400)};
    assert_non_null(fsim_runs_of(other, 2, 2, &launch, 1, s));
    fsim_record untimed[] = {record("a", 1, 0, 200), record("a", 2, 300, 400)};
    assert_non_null(fsim_runs_of(untimed, 2, 2, &launch, 1, s));
    fsim_record backwards[] = {record("a", 1, 100, 200), record("a", 2, 300, 300)};
    assert_non_null(fsim_runs_of(backwards, 2, 2, &launch, 1, s));
}

static void samples_at_a_low_clock_are_dropped(void **unused)
{
    (void)unused;
    const double clock_hz[] = {1.98e9, 1.20e9, 1.97e9,
                               NAN,    1.96e9, 1.80e9}; /* median 1.96 GHz, so 1.764 is the least */
    double scratch[6], median_hz;
    bool usual[6];
    assert_int_equal(fsim_usual_clock(clock_hz, 6, scratch, usual, &median_hz), 5);
    assert_true(usual[0] && !usual[1] && usual[2] && usual[3] && usual[4] && usual[5]);
    near(median_hz, 1.96e9);
    assert_int_equal(fsim_usual_clock((double[]){NAN, NAN}, 2, scratch, usual, &median_hz), 2);
    assert_true(isnan(median_hz));
    assert_int_equal(fsim_usual_clock(NULL, 0, scratch, usual, &median_hz), 0);
}

/* CUPTI's host side needs neither a GPU nor a driver: on every chip it knows these, each set takes one pass. */
static void sets_of_counters_take_one_pass(void **unused)
{
    (void)unused;
    static const char *const chips[] = {"GA100", "GA102", "AD102", "GH100", "GB100", "GB110", "GB202"};
    if (SANITIZED)
        skip();
    fsim_arena *a = fsim_arena_new();
    fsim_library library;
    fsim_cupti_entries cupti;
    fsim_fault fault = {0};
    if (!fsim_open_cupti(a, 0, &library, &cupti, &fault) || !cupti.cuptiProfilerHostInitialize) {
        print_message("%s\n", fault.message ? fault.message : "CUPTI is older than 12.6");
        fsim_arena_free(a);
        skip();
    }
    for (size_t c = 0; c < sizeof chips / sizeof *chips; c++) {
        int metrics = 0;
        for (int i = 0; i < FSIM_COUNT_SETS; i++) {
            fsim_count_set s;
            assert_int_equal(fsim_count_set_open(&cupti, a, chips[c], NULL, i, &s), 0);
            assert_int_equal(s.passes, 1);
            metrics += s.metrics;
            fsim_count_set_close(&cupti, &s);
        }
        assert_int_equal(metrics, FSIM_COUNTS);
    }
    fsim_count_set s;
    assert_int_equal(fsim_count_set_open(&cupti, a, "H200", NULL, 0, &s), FSIM_CUPTI_INVALID_CHIP_NAME);
    fsim_count_set_close(&cupti, &s);
    fsim_arena_free(a);
}

/* What measuring itself launches, for every architecture that the compiler has. */
static void helpers_compile(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    fsim_nvrtc *n = fsim_nvrtc_open(a, 0, &fault);
    if (!n) {
        print_message("%s\n", fault.message);
        fsim_arena_free(a);
        skip();
    }
    n->cache = NULL;
    for (int i = 0; i < n->archs; i++) {
        fsim_cubin c;
        const bool done =
            fsim_nvrtc_compile(n, &(fsim_nvrtc_source){"helpers.cu", fsim_helper_source, n->sm[i]}, NULL, a, &c);
        if (!done)
            print_message("%s\n%s\n", c.fault.message, c.log);
        assert_true(done);
        assert_int_equal(c.entries, 3);
        assert_non_null(fsim_resources_find(c.entry, c.entries, "fsim_flush"));
        assert_true(c.checked);
        for (int e = 0; e < c.entries; e++)
            assert_false(c.entry[e].disagrees);
    }
    fsim_arena_free(a);
}

static void opening_without_a_driver_says_so(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    setenv("FUSESIM_CUDA_LIB", "/no/such/libcuda.so.1", 1);
    assert_null(fsim_gpu_open(a, NULL, &fault));
    assert_int_equal(fault.status, FSIM_UNAVAILABLE);
    assert_non_null(strstr(fault.message, "/no/such/libcuda.so.1"));
    unsetenv("FUSESIM_CUDA_LIB");
    fsim_arena_free(a);
}

static void opening_without_a_gpu_is_polite(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    fsim_gpu *g = fsim_gpu_open(a, NULL, &fault);
    if (g) {
        fsim_gpu_close(g);
        fsim_arena_free(a);
        skip();
    }
    print_message("%s\n", fault.message);
    assert_int_equal(fault.status, FSIM_UNAVAILABLE);
    fsim_gpu_close(NULL);
    fsim_arena_free(a);
}

/* What programs are linked with where there is no driver: NVIDIA's toolkit brings it. */
static void the_stub_is_told_from_the_driver(void **unused)
{
    (void)unused;
    static const char stub[] = "/usr/local/cuda/lib64/stubs/libcuda.so";
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    FILE *f = fopen(stub, "rb");
    if (!f) {
        fsim_arena_free(a);
        skip();
    }
    fclose(f);
    setenv("FUSESIM_CUDA_LIB", stub, 1);
    assert_null(fsim_gpu_open(a, NULL, &fault));
    unsetenv("FUSESIM_CUDA_LIB");
    assert_int_equal(fault.status, FSIM_UNAVAILABLE);
    assert_non_null(strstr(fault.message, "stub"));
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_summed_by_run),        cmocka_unit_test(library_kernels_may_be_any_but_the_same),
        cmocka_unit_test(bad_records_are_refused),          cmocka_unit_test(samples_at_a_low_clock_are_dropped),
        cmocka_unit_test(sets_of_counters_take_one_pass),   cmocka_unit_test(helpers_compile),
        cmocka_unit_test(opening_without_a_driver_says_so), cmocka_unit_test(opening_without_a_gpu_is_polite),
        cmocka_unit_test(the_stub_is_told_from_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
