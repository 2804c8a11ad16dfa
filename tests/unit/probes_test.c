/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 10 */
/* Probes of a GPU: their figures on the mock, whose times are known, and what becomes of them in a hardware file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "scenario.h"
#include "validate/cuda/hardware.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/fusesim_probes_XXXXXX";

static int open_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) ? setenv("FUSESIM_CACHE", folder, 0) : -1;
}

static int clear_folder(void **unused)
{
    (void)unused;
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void in_process(void (*scenario)(void), const char *fail)
{
    static const char *const libraries[] = {"FUSESIM_CUDA_LIB",   "FUSESIM_NVRTC_LIB",    "FUSESIM_CUPTI_LIB",
                                            "FUSESIM_CUBLAS_LIB", "FUSESIM_CUBLASLT_LIB", "FUSESIM_NVML_LIB"};
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
            setenv(libraries[i], MOCKGPU, 1);
        setenv("MOCK_SKIP_REPEATS", "1", 1);
        setenv("MOCK_MEMORY", "230000000", 1);
        setenv("MOCK_FAIL", fail, 1);
        scenario();
        exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static const fsim_gpu_options few_samples = {.no_counters = true, .least = 5, .most = 5, .budget_s = 0.001};
static const fsim_gpu_probe_options small = {.most_bytes = 2 << 20, .gemm = 64, .load_s = 1e-3};

static bool near(const fsim_gpu_probed *p, fsim_gpu_probe probe, double wanted, double tolerance)
{
    const fsim_figure *f = &p->of[probe];
    const bool good =
        f->samples > 0 && fabs(f->median / wanted - 1) <= tolerance && f->low <= f->median && f->median <= f->high;
    if (!good)
        fprintf(stderr, "%s: %g of %d samples, wanted %g%s%s\n", f->name, f->median, f->samples, wanted,
                f->why ? ": " : "", f->why ? f->why : "");
    return good;
}

static fsim_hw *hardware(fsim_arena *a, const char *name, const char **text)
{
    const char *why = "", *path = fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", name);
    size_t bytes = 0;
    *text = fsim_read_file(a, path, &bytes, &why);
    return *text ? fsim_hw_parse(a, fsim_diag_new(a), path, *text, bytes) : NULL;
}

static const char *line_of(fsim_arena *a, const char *text, const char *key)
{
    const char *at = strstr(text, fsim_printf(a, "\n%s:", key));
    return at ? fsim_strndup(a, at + 1, strcspn(at + 1, "\n")) : "";
}

/* The mock: 2 us a kernel, 3 TB/s from memory, 9 TB/s from L2 of 50 MiB, 1 us between kernels, 1.75 cycles a ns; each
 * up to 1 % more. */
static void measures(void)
{
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    fsim_gpu_probed p;
    fsim_gpu *g = fsim_gpu_open(a, &few_samples, &fault);
    CHECK(g);
    CHECK(fsim_gpu_run_probes(g, &small, a, &p, &fault));
    const double two_mib = 2 << 20, cold_s = 2e-6 + 2 * two_mib / 3e12, read_s = 2e-6 + two_mib / 3e12;
    CHECK(near(&p, FSIM_GPU_COPY, 2 * two_mib / cold_s, 0.02) && near(&p, FSIM_GPU_SCALE, 2 * two_mib / cold_s, 0.02));
    CHECK(near(&p, FSIM_GPU_READ, two_mib / read_s, 0.02) && near(&p, FSIM_GPU_WRITE, two_mib / read_s, 0.02));
    CHECK(near(&p, FSIM_GPU_L2, 64 * 9e12, 0.03)); /* 64 turns, of which the mock counts one */
    CHECK(near(&p, FSIM_GPU_L2_EFFECTIVE, 46 << 20, 0.1));
    CHECK(near(&p, FSIM_GPU_FLOOR, 2.01e-6, 0.01));
    CHECK(near(&p, FSIM_GPU_LAUNCH_STREAM, 3.01e-6, 0.01) && near(&p, FSIM_GPU_LAUNCH_GRAPH, 3.01e-6, 0.01) &&
          near(&p, FSIM_GPU_LAUNCH_QUEUED, 3.01e-6, 0.02) && near(&p, FSIM_GPU_LAUNCH_ALONE, 3.01e-6, 0.01));
    CHECK(near(&p, FSIM_GPU_FFMA, 128, 1e-9) && near(&p, FSIM_GPU_HFMA2, 256, 1e-9) &&
          near(&p, FSIM_GPU_DFMA, 64, 1e-9) && near(&p, FSIM_GPU_SPECIAL, 16, 1e-9));
    CHECK(near(&p, FSIM_GPU_SHARED, 128, 1e-9) && near(&p, FSIM_GPU_SHARED_LATENCY, 29, 1e-9));
    CHECK(near(&p, FSIM_GPU_MMA_F16, 2048, 1e-9) && near(&p, FSIM_GPU_MMA_TF32, 1024, 1e-9) &&
          near(&p, FSIM_GPU_MMA_I8, 4096, 1e-9));
    CHECK(near(&p, FSIM_GPU_CLOCK_START, 1.75e9, 0.01) && near(&p, FSIM_GPU_CLOCK_FMA, 1.75e9, 0.01) &&
          near(&p, FSIM_GPU_CLOCK_MEMORY, 1.75e9, 0.01));
    CHECK(near(&p, FSIM_GPU_GEMM_F16, 2.0 * 64 * 64 * 64 / 2e-6, 0.05));
    CHECK(p.of[FSIM_GPU_FFMA_RATE].samples == 0 && strstr(p.of[FSIM_GPU_FFMA_RATE].why, "empty kernel"));
    CHECK(p.sizes > 16 && p.noisy <= 1 /* what is waited for goes by the clock of this machine */ && !p.no_sensors &&
          strcmp(p.driver, "580.00.mock") == 0);
    CHECK(fabs(p.load[1].sensors.power_w - 345) < 1e-9 && strcmp(p.load[1].sensors.reasons, "power cap") == 0);

    const char *text;
    const fsim_hw *h100 = hardware(a, "h100-sxm5-80gb", &text);
    CHECK(h100);
    CHECK(fsim_gpu_hardware_like(p.facts, (fsim_hw *const *)&h100, 1) == h100);
    const fsim_gpu_hardware made = fsim_gpu_hardware_of(
        a, h100, text, "unused", &p, &(fsim_calibration_note){"2026-01-02", "fusesim calibrate --device cuda"});
    CHECK(made.text && made.written >= 8);
    const fsim_hw *hw = fsim_hw_parse(a, fsim_diag_new(a), "made", made.text, strlen(made.text));
    CHECK(hw && strcmp(hw->name, "h100-sxm5-80gb") == 0);
    CHECK(fabs(hw->q[FSIM_HW_DRAM_BANDWIDTH].achieved / p.of[FSIM_GPU_COPY].median - 1) < 1e-3);
    CHECK(fabs(hw->q[FSIM_HW_DRAM_BANDWIDTH].value - 3352e9) < 1 &&
          fsim_hw_origin(hw, FSIM_HW_DRAM_BANDWIDTH) == FSIM_FROM_MEASURED);
    CHECK(strstr(hw->q[FSIM_HW_DRAM_BANDWIDTH].source,
                 "measured: fusesim calibrate --device cuda, copy of the largest tensors, cold, 2026-01-02"));
    CHECK(fabs(hw->q[FSIM_HW_SM_CLOCK].achieved / 1.75e9 - 1) < 0.01);
    CHECK(strstr(line_of(a, made.text, "launch_stream"), "gap between queued kernels"));
    CHECK(strcmp(line_of(a, made.text, "launch_eager"), line_of(a, text, "launch_eager")) == 0);
    CHECK(strcmp(line_of(a, made.text, "special_rate"), line_of(a, text, "special_rate")) == 0);
    CHECK(
        strstr(made.text, "# Measured by: fusesim calibrate --device cuda, Mock H100, driver 580.00.mock, CUDA 13.0"));
    CHECK(!strstr(made.text, p.facts->uuid));
    /* the bytes of "mock gpu, no uid" */
    CHECK(strcmp(p.facts->uuid, "GPU-6d6f636b-2067-7075-2c20-6e6f20756964") == 0);

    const fsim_gpu_hardware fresh = fsim_gpu_hardware_of(
        a, NULL, "", "mine", &p, &(fsim_calibration_note){"2026-01-02", "fusesim calibrate --device cuda"});
    CHECK(fresh.text);
    hw = fsim_hw_parse(a, fsim_diag_new(a), "made", fresh.text, strlen(fresh.text));
    CHECK(hw && strcmp(hw->name, "mine") == 0 && hw->sm == 90 && fabs(fsim_hw_peak(hw, FSIM_HW_SMS) - 132) < 1e-9 &&
          fabs(fsim_hw_get(hw, FSIM_HW_REGISTERS_PER_SM) - 65536) < 1e-9);
    fsim_gpu_close(g);
    fsim_arena_free(a);
}

static void is_noisy(void)
{
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    fsim_gpu_probed p;
    fsim_gpu_options more = few_samples;
    more.least = more.most = 12;
    fsim_gpu *g = fsim_gpu_open(a, &more, &fault);
    CHECK(g);
    CHECK(!fsim_gpu_run_probes(g, &(fsim_gpu_probe_options){.most_bytes = 2 << 20, .gemm = -1, .load_s = 1e-3}, a, &p,
                               &fault));
    CHECK(p.noisy > 10 && p.of[FSIM_GPU_COPY].noisy);
    CHECK(fault.status == FSIM_INCONCLUSIVE && strstr(fault.message, "scatter by more than 10 %"));
    fsim_gpu_close(g);
    fsim_arena_free(a);
}

static void figures_follow_from_the_times(void **unused)
{
    (void)unused;
    in_process(measures, "");
}

static void noise_is_told(void **unused)
{
    (void)unused;
    in_process(is_noisy, "noise");
}

/* What is written, and what is not, of figures that are made up. */
static void doubtful_figures_are_left_out(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_gpu_facts f = {.name = "NVIDIA H100 80GB HBM3",
                              .sm = 90,
                              .sms = 132,
                              .driver_version = 13000,
                              .nvrtc_version = 13000,
                              .timing = "CUPTI activity records",
                              .l2_bytes = 50 << 20};
    fsim_gpu_probed p = {.facts = &f};
    for (int i = 0; i < FSIM_GPU_LOADS; i++)
        p.load[i].sensors.power_limit_w = NAN;
    p.of[FSIM_GPU_COPY] =
        (fsim_figure){"copy", "B/s", 0, 3360e9, 3350e9, 3370e9, 9, false, NULL}; /* a little above the peak: the peak */
    p.of[FSIM_GPU_GEMM_F16] =
        (fsim_figure){"f16", "FLOP/s", 0, 1100e12, 1090e12, 1110e12, 9, false, NULL}; /* more than there can be */
    p.of[FSIM_GPU_GEMM_BF16] = (fsim_figure){"bf16", "FLOP/s", 0, 700e12, 500e12, 900e12, 9, true, NULL}; /* noise */
    p.of[FSIM_GPU_GEMM_TF32] = (fsim_figure){"tf32", "FLOP/s", 0, 400e12, 399e12, 401e12, 9, false, NULL};
    p.of[FSIM_GPU_LAUNCH_STREAM] =
        (fsim_figure){"stream", "s", 0, 1e-6, 1e-6, 1e-6, 9, false, NULL}; /* below what a graph took: good together */
    p.of[FSIM_GPU_LAUNCH_GRAPH] = (fsim_figure){"graph", "s", 0, 0.9e-6, 0.9e-6, 0.9e-6, 9, false, NULL};
    p.of[FSIM_GPU_SPECIAL] = (fsim_figure){"ex2", "/clk", 0, 15.8, 15.8, 15.8, 9, false, NULL}; /* as told */
    p.of[FSIM_GPU_SHARED] = (fsim_figure){"shared", "B/clk", 0, 100, 100, 100, 9, false, NULL}; /* not as told */
    /* reading alone is 1.2 times as fast as copying: a written byte costs 2 x 1.2 - 1 read ones */
    p.of[FSIM_GPU_READ] =
        (fsim_figure){"read", "B/s", 0, 1.2 * p.of[FSIM_GPU_COPY].median, 4e12, 4.1e12, 9, false, NULL};
    p.load[0].sensors.power_limit_w = 650;
    const char *text;
    const fsim_hw *h100 = hardware(a, "h100-sxm5-80gb", &text);
    assert_non_null(h100);
    const fsim_gpu_hardware made = fsim_gpu_hardware_of(
        a, h100, text, "", &p, &(fsim_calibration_note){"2026-01-02", "fusesim calibrate --device cuda"});
    assert_non_null(made.text);
    const fsim_hw *hw = fsim_hw_parse(a, fsim_diag_new(a), "made", made.text, strlen(made.text));
    assert_non_null(hw);
    assert_true(fabs(hw->q[FSIM_HW_DRAM_BANDWIDTH].achieved - 3352e9) < 1);
    assert_string_equal(line_of(a, made.text, "tensor_f16"), line_of(a, text, "tensor_f16"));
    assert_string_equal(line_of(a, made.text, "tensor_bf16"), line_of(a, text, "tensor_bf16"));
    assert_true(fabs(hw->q[FSIM_HW_TENSOR_TF32].achieved - 400e12) < 1);
    assert_true(fabs(fsim_hw_get(hw, FSIM_HW_LAUNCH_STREAM) - 1e-6) < 1e-12 &&
                fabs(fsim_hw_get(hw, FSIM_HW_LAUNCH_GRAPH) - 0.9e-6) < 1e-12);
    assert_true(fabs(fsim_hw_get(hw, FSIM_HW_SPECIAL_RATE) - 16) < 1e-9 &&
                fabs(fsim_hw_get(hw, FSIM_HW_SHARED_BANDWIDTH) - 100) < 1e-9);
    assert_true(fabs(fsim_hw_get(hw, FSIM_HW_DRAM_WRITE_COST) - 1.4) < 1e-9);
    assert_true(fsim_hw_get(hw, FSIM_HW_POWER_LIMIT) == 650);
    /* copies, that cost, TF32, three launches (of which the third was not measured), shared memory, the limit */
    assert_int_equal(made.written, 7);
    bool above = false, scatters = false;
    for (int i = 0; i < made.notes; i++) {
        above = above || (strcmp(made.note[i].key, "tensor_f16") == 0 && strstr(made.note[i].text, "above the peak"));
        scatters = scatters || (strcmp(made.note[i].key, "tensor_bf16") == 0 && strstr(made.note[i].text, "scatter"));
    }
    assert_true(above && scatters);
    /* Once more, another day: one head. */
    const fsim_gpu_hardware again = fsim_gpu_hardware_of(
        a, hw, made.text, "", &p, &(fsim_calibration_note){"2026-02-03", "fusesim calibrate --device cuda"});
    const char *first = strstr(again.text, "# Measured by:");
    assert_non_null(first);
    assert_null(strstr(first + 1, "# Measured by:"));
    fsim_arena_free(a);
}

/* Names as drivers give them. */
static void shipped_files_are_found_by_device(void **unused)
{
    (void)unused;
    static const struct {
        const char *device, *file;
        int sm, sms, bus_bits;
        double memory_clock_hz, memory_gib;
    } cases[] = {{"NVIDIA H100 80GB HBM3", "h100-sxm5-80gb", 90, 132, 5120, 2619e6, 79.6},
                 {"NVIDIA H200", "h200-sxm-141gb", 90, 132, 6144, 3201e6, 140},
                 {"NVIDIA H100 PCIe", "h100-pcie-80gb", 90, 114, 5120, 1593e6, 79.6},
                 {"NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb", 80, 108, 5120, 1215e6, 39.4},
                 {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb", 80, 108, 5120, 1215e6, 39.4},
                 {"NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb", 80, 108, 5120, 1593e6, 79.2},
                 {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb", 80, 108, 5120, 1512e6, 79.2},
                 {"NVIDIA L4", "l4", 89, 58, 192, 6251e6, 22.5},
                 {"NVIDIA GeForce RTX 4090", "rtx-4090", 89, 128, 384, 10501e6, 23.6},
                 {"NVIDIA RTX A6000", NULL, 86, 84, 384, 8001e6, 47.5}};
    static const char *const names[] = {"a10",
                                        "a100-pcie-40gb",
                                        "a100-pcie-80gb",
                                        "a100-sxm4-40gb",
                                        "a100-sxm4-80gb",
                                        "b200",
                                        "h100-pcie-80gb",
                                        "h100-sxm5-80gb",
                                        "h200-sxm-141gb",
                                        "l4",
                                        "l40s",
                                        "rtx-3090",
                                        "rtx-4090",
                                        "t4"};
    enum { NAMES = sizeof names / sizeof *names };
    fsim_arena *a = fsim_arena_new();
    fsim_hw *hw[NAMES];
    const char *text;
    for (int i = 0; i < NAMES; i++)
        assert_non_null(hw[i] = hardware(a, names[i], &text));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fsim_gpu_facts f = {.name = cases[i].device,
                                  .sm = cases[i].sm,
                                  .sms = cases[i].sms,
                                  .memory_bus_bits = cases[i].bus_bits,
                                  .memory_clock_hz = cases[i].memory_clock_hz,
                                  .memory_bytes = (int64_t)(cases[i].memory_gib * 1024) << 20};
        const fsim_hw *found = fsim_gpu_hardware_like(&f, hw, NAMES);
        assert_string_equal(found ? found->name : "none", cases[i].file ? cases[i].file : "none");
    }
    fsim_arena_free(a);
}

/* By the real compiler, where there is one. */
static void texts_compile(void **unused)
{
    (void)unused;
    static const int sm[] = {80, 90, 100};
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    const fsim_nvrtc *n = fsim_nvrtc_open(a, 0, &fault);
    for (size_t i = 0; n && i < sizeof sm / sizeof *sm; i++) {
        const fsim_nvrtc_source source[] = {{"memory.cu", fsim_probe_memory_text, sm[i]},
                                            {"rates.cu", fsim_probe_rates_text, sm[i]},
                                            {"tensor.cu", fsim_probe_tensor_text, sm[i]}};
        static const int entries[] = {6, 7, 4};
        for (int s = 0; s < 3; s++) {
            fsim_cubin c;
            if (!fsim_nvrtc_compile(n, &source[s], NULL, a, &c))
                print_error("%s\n", c.fault.message);
            assert_non_null(c.cubin);
            assert_int_equal(c.entries, entries[s]);
            for (int e = 0; e < c.entries; e++) /* 1024 threads a block */
                assert_true(c.entry[e].registers <= 64 && c.entry[e].spill_store_bytes == 0 &&
                            c.entry[e].stack_bytes == 0 && !c.entry[e].disagrees);
        }
    }
    fsim_arena_free(a);
    if (!n)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_follow_from_the_times),
        cmocka_unit_test(noise_is_told),
        cmocka_unit_test(doubtful_figures_are_left_out),
        cmocka_unit_test(shipped_files_are_found_by_device),
        cmocka_unit_test(texts_compile),
    };
    return cmocka_run_group_tests(tests, open_folder, clear_folder);
}
