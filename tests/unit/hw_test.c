/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "hw/find.h"
#include "hw/hw.h"
#include "hw/load.h"
#include "hw/relatives.h"
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h> /* needs those above */

#include "printed.h"

#ifndef FUSESIM_SOURCE_DIR
#define FUSESIM_SOURCE_DIR "."
#endif
static const char shipped[] = FUSESIM_SOURCE_DIR "/hwmodels";
static const fsim_hw_folders folders = {NULL, FUSESIM_SOURCE_DIR "/hwmodels"};

static const char *text_of(fsim_arena *a, const char *name)
{
    size_t bytes;
    const char *why = "";
    const char *text = fsim_read_file(a, fsim_printf(a, "%s/%s.yaml", shipped, name), &bytes, &why);
    if (!text)
        fail_msg("%s: %s", name, why);
    return text;
}

static fsim_hw *load(fsim_arena *a, const char *name)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, "%s/%s.yaml", shipped, name));
    const char *out = printed(a, d);
    if (!hw || *out)
        fail_msg("%s", out);
    return hw;
}

static void every_shipped_file_is_clean(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "a10",
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
        "mi210",
        "mi300x",
        "p100-pcie-16gb",
        "p4",
        "rtx-3090",
        "rtx-4090",
        "rtx-5090",
        "t4",
        "v100-pcie-32gb",
        "v100-sxm2-32gb",
    };
    static const fsim_hw_key always[] = {
        FSIM_HW_L2_EFFECTIVE, FSIM_HW_L2_BANDWIDTH,     FSIM_HW_L2_LATENCY,     FSIM_HW_DRAM_LATENCY,
        FSIM_HW_LAUNCH_EAGER, FSIM_HW_LAUNCH_STREAM,    FSIM_HW_LAUNCH_GRAPH,   FSIM_HW_KERNEL_FLOOR,
        FSIM_HW_DRAM_BUS,     FSIM_HW_CONTRACTION_FP32, FSIM_HW_LINK_BANDWIDTH, FSIM_HW_HOST_LINK_BANDWIDTH,
    };
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        fsim_hw *hw = load(a, wanted[i]);
        fsim_diag *d = fsim_diag_new(a);
        assert_string_equal(hw->name, wanted[i]);
        assert_int_equal(fsim_hw_lint(a, d, hw), 0);
        for (size_t k = 0; k < sizeof always / sizeof *always; k++)
            assert_true(fsim_hw_has(hw, always[k]));
        assert_true(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) < fsim_hw_peak(hw, FSIM_HW_DRAM_BANDWIDTH));
        for (int k = 0; k < FSIM_HW_COUNT; k++)
            assert_true(!hw->q[k].present || hw->q[k].source);
    }
    int count = 0;
    const char **names = fsim_hw_list(a, &folders, &count, NULL);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        bool listed = false;
        for (int n = 0; n < count; n++)
            listed = listed || strcmp(names[n], wanted[i]) == 0;
        assert_true(listed);
    }
    for (int n = 1; n < count; n++)
        assert_true(strcmp(names[n - 1], names[n]) < 0);
    fsim_arena_free(a);
}

/* What the table of architectures says of an SM, and what the files of their products say. */
static void products_have_the_limits_of_their_architecture(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    int count = 0, compared = 0;
    const char **names = fsim_hw_list(a, &folders, &count, NULL);
    for (int i = 0; i < count; i++) {
        const fsim_hw *hw = load(a, names[i]);
        const fsim_architecture *arch = fsim_architecture_named(hw->architecture);
        assert_non_null(arch);
        assert_ptr_equal(hw->arch, arch);
        const struct {
            fsim_hw_key key;
            double value;
        } same[] = {{FSIM_HW_THREADS_PER_SM, arch->threads_per_sm},
                    {FSIM_HW_BLOCKS_PER_SM, arch->blocks_per_sm},
                    {FSIM_HW_SHARED_PER_SM, arch->shared_kib_per_sm * 1024},
                    {FSIM_HW_SHARED_PER_BLOCK, arch->shared_kib_per_block * 1024},
                    {FSIM_HW_FP32_RATE, arch->fp32_rate},
                    {FSIM_HW_SPECIAL_RATE, arch->special_rate}};
        for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
            if (isnan(same[k].value))
                continue;
            if (fsim_hw_peak(hw, same[k].key) != same[k].value)
                fail_msg("%s: %s is %g, the row of %s says %g", names[i], fsim_hw_rows[same[k].key].key,
                         fsim_hw_peak(hw, same[k].key), arch->name, same[k].value);
            compared++;
        }
    }
    assert_true(compared > 100);
    fsim_arena_free(a);
}

static void architectures_without_a_row_are_like_the_nearest_older_one(void **state)
{
    (void)state;
    static const struct {
        const char *name, *like;
    } of[] = {{"sm_80", "sm_80"},   {"sm_90a", "sm_90"},   {"sm_88", "sm_87"},
              {"sm_121", "sm_120"}, {"sm_101", "sm_100"},  {"sm_52", "sm_50"},
              {"gfx942", "gfx942"}, {"gfx1100", "gfx90a"}, {"host", "host"}};
    static const char *const none[] = {"sm_", "sm_9ab", "sm_5", "sm_80 ", "gfx", "gfxyz1", "HOST", "ampere", ""};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        assert_string_equal(fsim_architecture_like(of[i].name)->name, of[i].like);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(fsim_architecture_like(none[i]));
    assert_null(fsim_architecture_named("sm_88"));
    int last = 0;
    for (int i = 0; fsim_architecture_at(i); i++) { /* looking up relies on the order of the rows */
        const fsim_architecture *row = fsim_architecture_at(i);
        assert_ptr_equal(fsim_architecture_named(row->name), row);
        assert_int_equal(fsim_sm_of_name(row->name), row->sm);
        assert_true(row->sm == 0 || row->sm > last);
        last = row->sm ? row->sm : last;
    }
}

static void values_are_in_si_units(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = load(a, "a100-sxm4-40gb");
    assert_int_equal(hw->sm, 80);
    assert_true(fsim_hw_get(hw, FSIM_HW_SMS) == 108);
    assert_true(fsim_hw_peak(hw, FSIM_HW_DRAM_BANDWIDTH) == 1555e9);
    assert_true(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) == 1346e9);
    assert_true(fsim_hw_get(hw, FSIM_HW_SHARED_PER_BLOCK) == 163 * 1024);
    assert_true(fabs(fsim_hw_get(hw, FSIM_HW_LAUNCH_STREAM) - 2.61e-6) < 1e-15);
    assert_true(hw->q[FSIM_HW_DRAM_BUS].value == 5120);
    assert_false(fsim_hw_has(hw, FSIM_HW_TENSOR_F8));
    assert_int_equal(strlen(hw->hash), 64);
    assert_int_equal(load(a, "mi300x")->sm, 0);
    fsim_arena_free(a);
}

/* The first line of text that starts with "key:", from 1. */
static int line_of(const char *text, const char *key)
{
    int line = 1;
    const size_t length = strlen(key);
    for (const char *p = text; p; line++) {
        if (strncmp(p, key, length) == 0 && p[length] == ':')
            return line;
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    return 0;
}

/* text with the line of key replaced, dropped (with ""), or added at the end. */
static const char *doctored(fsim_arena *a, const char *text, const char *key, const char *with)
{
    const int line = line_of(text, key);
    if (!line)
        return fsim_printf(a, "%s%s\n", text, with);
    const char *start = text;
    for (int n = 1; n < line; n++)
        start = strchr(start, '\n') + 1;
    const char *rest = strchr(start, '\n');
    return fsim_printf(a, "%.*s%s%s", (int)(start - text), text, with, rest ? rest : "");
}

typedef struct {
    const char *name, *key, *with, *message; /* message: expected in the error at the line of key */
    const char *also;                        /* a key whose line is dropped too, or NULL */
} slip;

static const slip slips[] = {
    /* cross-checks */
    {"h100-sxm5-80gb", "tensor_f16", "tensor_f16: {peak: 1979 TFLOP/s, achieved: 795 TFLOP/s, source: s}",
     "tensor_f16 is 1979 TFLOP/s, which looks like the 2:1 sparse figure: the dense one is 989", NULL},
    {"h100-sxm5-80gb", "tensor_bf16", "tensor_bf16: {peak: 1979 TFLOP/s, source: s}",
     "2:1 sparse figure: the dense one is 989", NULL},
    {"h100-sxm5-80gb", "tensor_tf32", "tensor_tf32: {peak: 989 TFLOP/s, source: s}",
     "2:1 sparse figure: the dense one is 494", NULL},
    {"h100-sxm5-80gb", "tensor_f8", "tensor_f8: {peak: 3958 TFLOP/s, source: s}",
     "2:1 sparse figure: the dense one is 1979", NULL},
    {"h100-sxm5-80gb", "tensor_i8", "tensor_i8: {peak: 3958 TOP/s, source: s}",
     "2:1 sparse figure: the dense one is 1979", NULL},
    {"h100-pcie-80gb", "tensor_f16", "tensor_f16: {peak: 1513 TFLOP/s, source: s}",
     "2:1 sparse figure: the dense one is 756", NULL},
    {"a100-sxm4-80gb", "tensor_f16", "tensor_f16: {peak: 624 TFLOP/s, source: s}",
     "2:1 sparse figure: the dense one is 312", NULL},
    {"l40s", "tensor_bf16", "tensor_bf16: {peak: 733 TFLOP/s, source: s}", "sparse figure", NULL},
    {"l4", "tensor_f8", "tensor_f8: {peak: 485 TFLOP/s, source: s}", "sparse figure", NULL},
    {"b200", "tensor_f16", "tensor_f16: {peak: 4500 TFLOP/s, source: s}", "sparse figure", NULL},
    {"mi300x", "tensor_f16", "tensor_f16: {peak: 2615 TFLOP/s, source: s}", "sparse figure", NULL},
    {"rtx-4090", "tensor_bf16", "tensor_bf16: {peak: 330 TFLOP/s, source: s}", "is one of them a sparse figure?", NULL},
    {"a100-sxm4-80gb", "tensor_f16", "tensor_f16: {peak: 31.2 TFLOP/s, source: s}",
     "108 SMs x 2048 FLOP per clock (sm_80) x 1410 MHz", NULL},
    {"p4", "tensor_f16", "tensor_f16: {peak: 10 TFLOP/s, source: s}", "sm_61 has no tensor cores", NULL},
    {"a100-sxm4-80gb", "tensor_f32", "tensor_f32: {peak: 156 TFLOP/s, source: s}",
     "the units of sm_80 do not multiply f32; what they round to tf32 is tensor_tf32", NULL},
    {"mi300x", "tensor_f32", "tensor_f32: {peak: 654 TFLOP/s, source: s}",
     "tensor_f32 is 654 TFLOP/s, but 304 SMs x 256 FLOP per clock (gfx942) x 2100 MHz", NULL},
    {"l4", "dram_bandwidth", "dram_bandwidth: {peak: 3350 GB/s, source: s}",
     "dram_bus 192 bit x 12.5 Gbit/s / 8 makes 300 GB/s", NULL},
    {"l4", "dram_bandwidth", "dram_bandwidth: {peak: 3350 GB/s, source: s}", "dram_bandwidth is 3350 GB/s for 58 SMs",
     "dram_bus"},
    {"l4", "dram_bandwidth", "dram_bandwidth: {peak: 1555 GB/s, source: s}", "is it another product's figure?",
     "dram_bus"},
    {"h100-sxm5-80gb", "dram_bandwidth", "dram_bandwidth: {peak: 300 GB/s, source: s}",
     "is it another product's figure?", "dram_bus"},
    {"a100-sxm4-40gb", "fp32_peak", "fp32_peak: {peak: 39 TFLOP/s, source: s}",
     "108 SMs x fp32_rate 64 /clk x 2 x 1410 MHz make 19.4", NULL},
    {"a100-sxm4-40gb", "fp64_peak", "fp64_peak: {peak: 19.5 TFLOP/s, source: s}", "fp64_rate 32 /clk", NULL},
    {"a100-sxm4-40gb", "dram_bandwidth", "dram_bandwidth: {peak: 1555 GB/s, achieved: 1600 GB/s, source: s}",
     "achieved 1600 GB/s is above the peak, 1555 GB/s", NULL},
    {"a100-sxm4-40gb", "shared_memory_per_block", "shared_memory_per_block: {value: 192 KiB, source: s}",
     "is larger than shared_memory_per_sm, 164 KiB", NULL},
    {"a100-sxm4-40gb", "l2_capacity", "l2_capacity: {value: 9 GiB, source: s}", "", NULL},
    {"a100-sxm4-40gb", "threads_per_sm", "threads_per_sm: {value: 2000, source: s}", "no multiple of warp_size", NULL},
    {"a100-sxm4-40gb", "l2_latency", "l2_latency: {value: 900 ns, source: s}", "is larger than dram_latency, 406 ns",
     NULL},
    /* one value */
    {"a100-sxm4-40gb", "dram_capacity", "dram_capacity: {value: 40 GB, source: s}",
     "'40 GB' is decimal, but memory comes in powers of two: write '40 GiB'", NULL},
    {"a100-sxm4-40gb", "l2_capacity", "l2_capacity: {value: 40 MB, source: s}", "write '40 MiB'", NULL},
    {"a100-sxm4-40gb", "shared_memory_per_sm", "shared_memory_per_sm: {value: 164 KB, source: s}", "write '164 KiB'",
     NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: nan, source: s}", "'nan' is not a number", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: .nan, source: s}", "'.nan' is not a number", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: 107.5, source: s}", "'107.5' is not a whole number", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: -108, source: s}", "'-108' is negative, wanted 1 to 65536", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: 0, source: s}", "'0' is absurd, wanted 1 to 65536", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: 108 GB/s, source: s}", "is bytes per second, wanted a plain number", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: unknown, source: s}", "no prediction can do without it", NULL},
    {"a100-sxm4-40gb", "sms", "sms: unknown", "no prediction can do without it", NULL},
    {"a100-sxm4-40gb", "sms", "sms: 108", "sms is a value without a source, wanted {value: 108, source: ...}", NULL},
    {"a100-sxm4-40gb", "sms", "sms: [108]", "sms is a list, wanted {value: 108, source: ...}", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: [108], source: s}", "'value' is a list", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: 108}", "sms has no 'source'", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: 108, source: ''}", "'source' must say in words", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {source: s}", "sms has no number", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {valeu: 108, source: s}", "sms has no 'valeu'", NULL},
    {"a100-sxm4-40gb", "sms", "sms: {peak: 108, source: s}", "sms has no 'peak'", NULL},
    {"a100-sxm4-40gb", "sm_clock", "sm_clock: {peak: 1410 MHz, value: 1400 MHz, source: s}", "both 'peak' and 'value'",
     NULL},
    {"a100-sxm4-40gb", "dram_bandwidth", "dram_bandwidth: {peak: 1555, source: s}",
     "'1555' has no unit, wanted bytes per second, e.g. 1555 GB/s", NULL},
    {"a100-sxm4-40gb", "dram_bandwidth", "dram_bandwidth: {peak: 1555 GB, source: s}",
     "'1555 GB' is bytes, wanted bytes per second", NULL},
    {"a100-sxm4-40gb", "dram_bandwidth", "dram_bandwidth: {peak: 1555 GBps, source: s}", "has an unknown unit", NULL},
    {"a100-sxm4-40gb", "dram_bandwidth", "dram_bandwidth: {peak: 1.555e9 GB/s, source: s}",
     "is absurd, wanted 0.1 GB/s to 100000 GB/s", NULL},
    {"a100-sxm4-40gb", "dram_bus", "dram_bus: {width: 5120 bit, source: s}", "dram_bus has no number", NULL},
    {"a100-sxm4-40gb", "dram_bandwith", "dram_bandwith: {peak: 1 GB/s, source: s}",
     "unknown key 'dram_bandwith'; did you mean 'dram_bandwidth'?", NULL},
    {"a100-sxm4-40gb", "architecture", "architecture: Ampere",
     "unknown architecture 'Ampere', wanted sm_80 for the A100 and A30, sm_86 for the others", NULL},
    {"a100-sxm4-40gb", "architecture", "architecture: TPU", "unknown architecture 'TPU', wanted generic", NULL},
    {"a100-sxm4-40gb", "architecture", "architecture: 8.0", "wanted sm_NN (NVIDIA: sm_86 for compute capability 8.6)",
     NULL},
    {"a100-sxm4-40gb", "sms", "sms: {value: 6912, source: s}",
     "sms is 6912: are these CUDA cores? A multiprocessor of sm_80 has 64 of them, which makes 108", NULL},
    {"a100-sxm4-40gb", "architecture", "architecture: {}", "'architecture' is a mapping, wanted text", NULL},
};

static void every_slip_is_found_at_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        const slip *s = &slips[i];
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text = doctored(a, text_of(a, s->name), s->key, s->with);
        if (s->also)
            text = doctored(a, text, s->also, "");
        const bool lawful = !*s->message; /* large, but not wrong */
        const fsim_hw *hw = fsim_hw_parse(a, d, "t.yaml", text, strlen(text));
        const char *out = printed(a, d), *place = fsim_printf(a, "t.yaml:%d:", line_of(text, s->key));
        const char *at = strstr(out, place), *message = strstr(out, s->message);
        if (lawful ? !hw : hw || !at || !message)
            fail_msg("%s: %s\nwanted at %s '%s', got:\n%s", s->name, s->with, place, s->message, out);
        fsim_arena_free(a);
    }
}

static void an_h100_with_every_sparse_figure_names_each(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const char *text = text_of(a, "h100-sxm5-80gb");
    text = doctored(a, text, "tensor_f16", "tensor_f16: {peak: 1979 TFLOP/s, source: s}");
    text = doctored(a, text, "tensor_bf16", "tensor_bf16: {peak: 1979 TFLOP/s, source: s}");
    text = doctored(a, text, "tensor_tf32", "tensor_tf32: {peak: 989 TFLOP/s, source: s}");
    text = doctored(a, text, "tensor_f8", "tensor_f8: {peak: 3958 TFLOP/s, source: s}");
    assert_null(fsim_hw_parse(a, d, "t.yaml", text, strlen(text)));
    assert_int_equal(fsim_errors(d), 4);
    fsim_arena_free(a);
}

static void missing_and_duplicate_keys(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        const char *text = doctored(a, text_of(a, "a100-sxm4-40gb"), fsim_hw_rows[i].key, "");
        const fsim_hw *hw = fsim_hw_parse(a, d, "t.yaml", text, strlen(text));
        const char *out = printed(a, d);
        const bool needed = fsim_hw_rows[i].absent == FSIM_ABSENT_NEEDED;
        assert_int_equal(hw == NULL, needed);
        if (needed)
            assert_non_null(strstr(out, fsim_printf(a, "missing key '%s'", fsim_hw_rows[i].key)));
    }
    const char *twice = fsim_printf(a, "%ssms: {value: 108, source: s}\n", text_of(a, "a100-sxm4-40gb"));
    assert_null(fsim_hw_parse(a, d, "t.yaml", twice, strlen(twice)));
    assert_non_null(strstr(printed(a, d), "duplicate key 'sms'"));
    static const char *const wrong[] = {"", "[]", "name: x\n", "- sms: 1\n", "just text"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(fsim_hw_parse(a, d, "t.yaml", wrong[i], strlen(wrong[i])));
        assert_true(fsim_errors(d) > 0);
        printed(a, d);
    }
    fsim_arena_free(a);
}

static void unknown_is_sayable(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const char *text = doctored(a, text_of(a, "a100-sxm4-40gb"), "l2_bandwidth", "l2_bandwidth: unknown");
    text = doctored(a, text, "dram_latency", "dram_latency: {value: unknown, source: nobody knows}");
    text = doctored(a, text, "l2_effective", "l2_effective: {value: 0.7, spread: 0.1, source: fitted}");
    const fsim_hw *hw = fsim_hw_parse(a, d, "t.yaml", text, strlen(text));
    assert_non_null(hw);
    assert_true(hw->q[FSIM_HW_L2_BANDWIDTH].unknown);
    assert_true(hw->q[FSIM_HW_DRAM_LATENCY].unknown);
    assert_false(fsim_hw_has(hw, FSIM_HW_L2_BANDWIDTH));
    assert_true(isnan(fsim_hw_get(hw, FSIM_HW_DRAM_LATENCY)));
    assert_true(hw->q[FSIM_HW_L2_EFFECTIVE].spread == 0.1);
    fsim_arena_free(a);
}

static void blocks_fit_an_sm(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    static const char *const less[] = {"shared_memory_per_sm=32 KiB", "threads_per_sm=512"},
                             *const both[] = {"shared_memory_per_block=1.3x", "shared_memory_per_sm=1.3x"};
    fsim_hw *hw = load(a, "mi300x");
    assert_true(fsim_hw_complete(a, d, hw, &(fsim_hw_wanted){.change = less, .changes = 2}));
    assert_true(fsim_hw_get(hw, FSIM_HW_SHARED_PER_BLOCK) == 32 * 1024);
    assert_true(fsim_hw_get(hw, FSIM_HW_THREADS_PER_BLOCK) == 512);
    hw = load(a, "mi300x");
    assert_true(fsim_hw_complete(a, d, hw, &(fsim_hw_wanted){.change = both, .changes = 2}));
    assert_true(fsim_hw_get(hw, FSIM_HW_SHARED_PER_BLOCK) > 64 * 1024);
    assert_int_equal(fsim_errors(d), 0);
    assert_false(fsim_hw_complete(a, d, load(a, "mi300x"), &(fsim_hw_wanted){.change = both, .changes = 1}));
    assert_non_null(strstr(printed(a, d), "no such block fits; set shared_memory_per_sm too"));
    fsim_arena_free(a);
}

static void what_if_assignments(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    fsim_hw *hw = load(a, "a100-sxm4-40gb"), *other = load(a, "a100-sxm4-40gb");
    assert_string_equal(hw->hash, other->hash);
    assert_true(fsim_hw_set(a, d, hw, "dram_bandwidth=2x"));
    assert_true(fsim_hw_peak(hw, FSIM_HW_DRAM_BANDWIDTH) == 3110e9);
    assert_true(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) == 2692e9);
    assert_string_not_equal(hw->hash, other->hash);
    assert_true(fsim_hw_set(a, d, other, "dram_bandwidth=2x"));
    assert_string_equal(hw->hash, other->hash);
    assert_true(fsim_hw_set(a, d, hw, "dram_bandwidth=2 TB/s"));
    assert_true(fsim_hw_peak(hw, FSIM_HW_DRAM_BANDWIDTH) == 2e12);
    assert_true(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) == 2e12);
    assert_true(fsim_hw_set(a, d, hw, "sms=64"));
    assert_true(fsim_hw_get(hw, FSIM_HW_SMS) == 64);
    assert_true(fsim_hw_set(a, d, hw, "tensor_f8=600 TFLOP/s"));
    assert_true(fsim_hw_has(hw, FSIM_HW_TENSOR_F8));
    assert_true(fsim_hw_set(a, d, hw, "l2_bandwidth=unknown"));
    assert_false(fsim_hw_has(hw, FSIM_HW_L2_BANDWIDTH));
    assert_int_equal(fsim_errors(d), 0);
    static const struct {
        const char *assignment, *message;
    } wrong[] = {
        {"dram_bandwith=2x", "unknown key 'dram_bandwith'; did you mean 'dram_bandwidth'?"},
        {"dram_bandwidth", "wanted KEY=VALUE"},
        {"dram_bandwidth=", "wanted KEY=VALUE"},
        {"dram_bandwidth=2", "has no unit"},
        {"dram_bandwidth=-1x", "makes"},
        {"dram_bandwidth=1e9x", "makes"},
        {"dram_bandwidth=nanx", "is not a number"},
        {"dram_capacity=80 GB", "write '80 GiB'"},
        {"sms=1.3x", "not a whole number"},
        {"sms=1.5", "not a whole number"},
        {"sms=unknown", "cannot be 'unknown'"},
        {"l2_bandwidth=2x", "does not give l2_bandwidth"},
        {"dram_bus=2x", "set that"},
        {"name=x", "unknown key 'name'"},
    };
    char hash[65];
    memcpy(hash, hw->hash, sizeof hash);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(fsim_hw_set(a, d, hw, wrong[i].assignment));
        assert_int_equal(fsim_errors(d), 1);
        const char *out = printed(a, d);
        if (!strstr(out, wrong[i].message))
            fail_msg("%s: %s", wrong[i].assignment, out);
    }
    assert_string_equal(hw->hash, hash);
    fsim_arena_free(a);
}

/* The compiled-in table is what the rule makes of the shipped files. */
static void the_table_of_relatives_is_that_of_the_shipped_files(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    int count = 0;
    const char **names = fsim_hw_list(a, &folders, &count, NULL);
    assert_int_equal(fsim_shipped_relatives_count, count);
    for (int i = 0; i < count; i++) {
        const fsim_relative now = fsim_relative_of(load(a, names[i])), *built = &fsim_shipped_relatives[i];
        assert_string_equal(built->name, now.name);
        assert_true(built->cpu == now.cpu && built->stacked_memory == now.stacked_memory);
        assert_true(built->distance_step == now.distance_step);
        assert_true(built->watts_per_flop == now.watts_per_flop ||
                    (isnan(built->watts_per_flop) && isnan(now.watts_per_flop)));
        for (int k = 0; k < FSIM_HW_COUNT; k++)
            assert_true(built->figure[k] == now.figure[k] || (isnan(built->figure[k]) && isnan(now.figure[k])));
    }
    fsim_arena_free(a);
}

/* Figures that were measured or fitted are another GPU's to take; a data sheet's word on a share is none. What a GPU
 * lacks comes from those that are most like it, the nearest first, and never from its own name. */
static void figures_come_from_the_nearest(void **state)
{
    (void)state;
    const fsim_hw_key key = FSIM_HW_DRAM_BANDWIDTH;
    fsim_arena *a = fsim_arena_new();
    fsim_hw *hw = load(a, "l4");
    assert_false(isnan(hw->q[key].achieved));
    static const struct {
        const char *source;
        bool counts;
    } of[] = {{"datasheet; achieved measured: here", true},
              {"datasheet; achieved fitted: here", true},
              {"datasheet; achieved assumed: here", false},
              {"datasheet: here", false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        hw->q[key].source = of[i].source;
        assert_int_equal(!isnan(fsim_relative_of(hw).figure[key]), of[i].counts);
    }
    hw->q[key].source = of[0].source;
    fsim_relative relative[4];
    static const char *const names[] = {"l4", "far", "near", "nearest"};
    static const double apart[] = {0, 3, 1, 0.5}, figure[] = {0.9, 0.5, 0.5, 0.5};
    for (int i = 0; i < 4; i++) {
        relative[i] = fsim_relative_of(hw);
        relative[i].name = names[i];
        relative[i].distance_step += apart[i];
        relative[i].figure[key] = figure[i];
    }
    fsim_hw_drop_measurements(hw);
    fsim_hw_fill_from(a, hw, relative, 4);
    assert_string_equal(hw->q[key].source, "datasheet; achieved assumed: as on nearest and near");
    assert_true(fabs(hw->q[key].achieved - 0.5 * hw->q[key].value) < 1e-6 * hw->q[key].value);
    fsim_arena_free(a);
}

/* Of a key that is read both ways the weaker word counts. */
static void what_is_read_both_ways_is_as_sure_as_its_weaker_part(void **state)
{
    (void)state;
    const fsim_hw_key key = FSIM_HW_DRAM_BANDWIDTH;
    static const struct {
        const char *source;
        int how;
        fsim_origin from;
    } of[] = {{"assumed: x; achieved measured: y", FSIM_HW_READ_RATE, FSIM_FROM_MEASURED},
              {"assumed: x; achieved measured: y", FSIM_HW_READ_PEAK, FSIM_FROM_ASSUMED},
              {"assumed: x; achieved measured: y", FSIM_HW_READ_RATE | FSIM_HW_READ_PEAK, FSIM_FROM_ASSUMED},
              {"measured: x; achieved assumed: y", FSIM_HW_READ_RATE | FSIM_HW_READ_PEAK, FSIM_FROM_ASSUMED}};
    fsim_arena *a = fsim_arena_new();
    fsim_hw *hw = load(a, "l4");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        fsim_hw_keys read = {0};
        fsim_origin from;
        assert_false(fsim_hw_was_read(hw, &read, key, &from));
        hw->q[key].source = of[i].source;
        read.how[key] = (unsigned char)of[i].how;
        assert_true(fsim_hw_was_read(hw, &read, key, &from));
        assert_int_equal(from, of[i].from);
    }
    fsim_arena_free(a);
}

static fsim_hw *ready(fsim_arena *a, const char *name, const char *change)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_hw_wanted how = {.folders = folders, .change = &change, .changes = change ? 1 : 0};
    fsim_hw *hw = fsim_hw_load(a, d, name, &how);
    if (!hw)
        fail_msg("%s %s: %s", name, change, printed(a, d));
    return hw;
}

/* power_limit and fp32_peak have a say in which GPUs are alike; a change of them on the command line has none. */
static void a_what_if_changes_the_key_it_names_alone(void **state)
{
    (void)state;
    static const struct {
        const char *change;
        fsim_hw_key key;
    } what_if[] = {{"power_limit=2x", FSIM_HW_POWER_LIMIT},       {"fp32_peak=0.5x", FSIM_HW_FP32_PEAK},
                   {"dram_bandwidth=2x", FSIM_HW_DRAM_BANDWIDTH}, {"tensor_f16=unknown", FSIM_HW_TENSOR_F16},
                   {"gemm_floor=7 us", FSIM_HW_GEMM_FLOOR},       {"residual_other=unknown", FSIM_HW_RESIDUAL_OTHER}};
    static const char *const gpu[] = {"rtx-4090", "t4", "b200", "mi300x", "a100-pcie-40gb"};
    fsim_arena *a = fsim_arena_new();
    for (size_t g = 0; g < sizeof gpu / sizeof *gpu; g++) {
        const fsim_hw *plain = ready(a, gpu[g], NULL);
        for (size_t i = 0; i < sizeof what_if / sizeof *what_if; i++) {
            const fsim_hw *changed = ready(a, gpu[g], what_if[i].change);
            for (int k = 0; k < FSIM_HW_COUNT; k++)
                if (k != (int)what_if[i].key &&
                    (memcmp(&plain->q[k].value, &changed->q[k].value, sizeof(double)) != 0 ||
                     memcmp(&plain->q[k].achieved, &changed->q[k].achieved, sizeof(double)) != 0))
                    fail_msg("%s: %s changes %s", gpu[g], what_if[i].change, fsim_hw_rows[k].key);
        }
        assert_true(fsim_hw_get(ready(a, gpu[g], "gemm_floor=7 us"), FSIM_HW_GEMM_FLOOR) == 7e-6);
        assert_true(fsim_hw_get(ready(a, gpu[g], "residual_other=unknown"), FSIM_HW_RESIDUAL_OTHER) ==
                    fsim_hw_rows[FSIM_HW_RESIDUAL_OTHER].otherwise);
    }
    fsim_arena_free(a);
}

static void names_are_found_or_the_nearest_offered(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    assert_string_equal(fsim_hw_find(a, d, "a100-sxm4-40gb", &folders),
                        fsim_printf(a, "%s/a100-sxm4-40gb.yaml", shipped));
    const char *path = fsim_printf(a, "%s/t4.yaml", shipped);
    assert_string_equal(fsim_hw_find(a, d, path, &folders), path);
    assert_int_equal(fsim_errors(d), 0);
    static const struct {
        const char *name, *message;
    } wrong[] = {
        {"a100", "unknown hardware 'a100'; nearest: a100-pcie-40gb, a100-pcie-80gb, a100-sxm4-40gb, a100-sxm4-80gb "
                 "('fusesim hw list' shows all)"},
        {"A100", "nearest: a100-pcie-40gb, a100-pcie-80gb, a100-sxm4-40gb, a100-sxm4-80gb ("},
        {"a100.yaml", "no hardware file 'a100.yaml'; nearest: a100-pcie-40gb, a100-pcie-80gb, a100-sxm4-40gb, "
                      "a100-sxm4-80gb ('fusesim hw list' shows all)"},
        {"gpus/h100.yml", "no hardware file 'gpus/h100.yml'; nearest: h100-nvl, h100-pcie-80gb, h100-sxm5-80gb "},
        {"h100sxm", "nearest: h100-sxm5-80gb"},
        {"rtx4090", "nearest: rtx-4090"},
        {"H200", "nearest: h200-sxm-141gb"},
        {"t5", "nearest: "},
        {"mi", "unknown hardware 'mi'; nearest: mi210, mi250x, mi300x, "},
        {"", "unknown hardware ''"},
        {"no/such.yaml", "no hardware file 'no/such.yaml'; nearest: "},
        {FUSESIM_SOURCE_DIR "/hwmodels", "is a directory"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(fsim_hw_find(a, d, wrong[i].name, &folders));
        assert_int_equal(fsim_errors(d), 1);
        const char *out = printed(a, d);
        if (!strstr(out, wrong[i].message))
            fail_msg("%s: %s", wrong[i].name, out);
    }
    assert_null(fsim_hw_read(a, d, "/no/such/file.yaml"));
    assert_non_null(strstr(printed(a, d), "no such file"));
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shipped_file_is_clean),
        cmocka_unit_test(products_have_the_limits_of_their_architecture),
        cmocka_unit_test(architectures_without_a_row_are_like_the_nearest_older_one),
        cmocka_unit_test(values_are_in_si_units),
        cmocka_unit_test(every_slip_is_found_at_its_line),
        cmocka_unit_test(an_h100_with_every_sparse_figure_names_each),
        cmocka_unit_test(missing_and_duplicate_keys),
        cmocka_unit_test(unknown_is_sayable),
        cmocka_unit_test(blocks_fit_an_sm),
        cmocka_unit_test(what_if_assignments),
        cmocka_unit_test(the_table_of_relatives_is_that_of_the_shipped_files),
        cmocka_unit_test(a_what_if_changes_the_key_it_names_alone),
        cmocka_unit_test(figures_come_from_the_nearest),
        cmocka_unit_test(what_is_read_both_ways_is_as_sure_as_its_weaker_part),
        cmocka_unit_test(names_are_found_or_the_nearest_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
