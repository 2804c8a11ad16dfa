/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of the time model of matrix products, and values that are done in the head. */
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bare_gpu.h"
#include "random.h"

static double seconds(const fsim_gemm_device *d, fsim_gemm_shape s)
{
    const fsim_gemm_time t = fsim_gemm_best(d, &s);
    return t.busy_s + t.extra_s;
}

static fsim_hw *gpu(fsim_arena *a, const char *name)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, name));
    assert_non_null(hw);
    return hw;
}

static void blocks_come_in_rounds(void **unused)
{
    (void)unused;
    const fsim_gemm_device d = bare();
    const double block_s = 2.0 * 128 * 128 * 1000 / 1e12;
    for (int blocks = 1; blocks <= 60; blocks++) {
        fsim_gemm_shape s = product(1, 128.0 * blocks, 128, 1000);
        const fsim_gemm_time t = fsim_gemm_with(&d, &s, square);
        assert_true(t.blocks == blocks);
        assert_true(fabs(t.compute_s / (ceil(blocks / 10.0) * block_s) - 1) <
                    1e-12); /* a step every ten blocks, none between */
        s.m -= 127;         /* one row of the last tile is as dear as all of it */
        assert_true(fsim_gemm_with(&d, &s, square).compute_s == t.compute_s);
    }
}

static void a_start_costs_as_much_as_so_many_steps(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    const fsim_gemm_shape s = product(1, 1280, 128, 1000), longer = product(1, 1280, 128, 1040);
    const double without = fsim_gemm_with(&d, &longer, square).compute_s;
    d.startup_bytes = 40 * 4;
    assert_true(fabs(fsim_gemm_with(&d, &s, square).compute_s / without - 1) < 1e-12);
}

static void only_small_grids_are_split(void **unused)
{
    (void)unused;
    const fsim_gemm_device d = bare();
    fsim_gemm_shape few = product(1, 128, 128, 8192), many = product(1, 4096, 4096, 8192),
                    batched = product(8, 128, 128, 8192), whole = few, flat = product(1, 128, 128, 64);
    whole.whole = true;
    assert_true(fsim_gemm_best(&d, &few).tile.split >= 8); /* one block on ten SMs */
    assert_int_equal(fsim_gemm_best(&d, &many).tile.split, 1);
    assert_int_equal(fsim_gemm_best(&d, &batched).tile.split, 1);
    assert_int_equal(fsim_gemm_best(&d, &whole).tile.split, 1);
    assert_int_equal(fsim_gemm_best(&d, &flat).tile.split, 1);
}

/* 256 x 256 results of 4 bytes are 256 KiB: on FP32 units two blocks that share a sum write them once more, at 1 GB/s
 * in 262 us. On tensor units the parts stay in L2. */
static void parts_of_a_split_sum_reach_dram(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    d.dram_rate = 1e9;
    const fsim_gemm_shape s = product(1, 256, 256, 1024);
    const fsim_gemm_tile half = {128, 128, 2};
    for (int tensor = 0; tensor < 2; tensor++) {
        d.tensor = tensor;
        const double more = fsim_gemm_with(&d, &s, half).dram_s - fsim_gemm_with(&d, &s, square).dram_s;
        assert_true(fabs(more - (tensor ? 0 : 262144e-9)) < 1e-15);
    }
}

static void power_bounds_the_rate(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    const fsim_gemm_shape s = product(1, 1280, 1280, 10000);
    const double free_s = fsim_gemm_with(&d, &s, square).compute_s, flops = 2.0 * 1280 * 1280 * 10000;
    d.power_rate = 1e12; /* a tenth */
    const double bound_s = fsim_gemm_with(&d, &s, square).compute_s;
    assert_true(bound_s > 9.9 * free_s && fabs(bound_s / (flops / 1e12) - 1) < 1e-6);
}

static void long_rows_miss_the_tlb(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    fsim_gemm_shape s = product(1, 1280, 1280, 8192);
    s.transposed_b = true;
    const double before = fsim_gemm_with(&d, &s, square).compute_s;
    d.page_slope = 0.5;
    d.page_most = 2;
    d.page_span =
        sqrt(1280 + 256) * 8192 * 4 / 4; /* two doublings ago, of the rows of twenty blocks: ten down, two across */
    assert_true(fabs(fsim_gemm_with(&d, &s, square).compute_s / before - 2) < 1e-9);
    d.page_span *= 1e-6;
    assert_true(fabs(fsim_gemm_with(&d, &s, square).compute_s / before - 3) < 1e-9);
    d.page_span *= 1e9;
    assert_true(fsim_gemm_with(&d, &s, square).compute_s == before);
}

static void operands_are_fetched_again_once_they_outgrow_l2(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    const fsim_gemm_shape s = product(1, 12800, 12800, 1000); /* 51 MB each */
    assert_true(fsim_gemm_with(&d, &s, square).again_bytes == 0);
    d.l2_bytes = 1e6;
    const double square_bytes = 100.0 * 100 * 256 * 1000 * 4 / sqrt(20); /* ten SMs hold two blocks each */
    assert_true(fabs(fsim_gemm_with(&d, &s, square).again_bytes / (1.6 * (square_bytes - 2 * 51.2e6)) - 1) < 1e-9);
}

static void a_matrix_times_a_vector_streams(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    fsim_gemm_shape s = product(1, 2048, 1, 1 << 20);
    d.dram_rate = 1e12;
    s.dram_bytes = s.operand_bytes[0] + s.operand_bytes[1] + s.result_bytes;
    assert_true(seconds(&d, s) < 1.05 * s.dram_bytes / 1e12);
}

static const char *const gpus[] = {"p4",   "p100-pcie-16gb", "v100-pcie-32gb", "t4",    "a100-sxm4-80gb", "l4",
                                   "l40s", "h100-sxm5-80gb", "h200-sxm-141gb", "mi300x"};

/* From 1 to 2^most, small ones as likely as large ones. */
static double extent(uint32_t most) { return floor(exp2(draw(most * 1000) / 1000.0)); }

/* No kernel beats the bound that the search takes for granted; more work never takes less time in one and the same
 * tile. */
static void laws_hold_on_every_gpu(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    state = 7;
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++)
        for (int half = 0; half < 2; half++) {
            const fsim_gemm_device d = fsim_gemm_device_of(gpu(a, gpus[g]), half ? FSIM_F16 : FSIM_F32);
            for (int i = 0; i < 2000; i++) {
                fsim_gemm_shape s = product(extent(6), extent(14), extent(14), extent(14));
                s.transposed_b = i % 2;
                s.dram_bytes = s.operand_bytes[0] + s.operand_bytes[1] + s.result_bytes;
                const fsim_gemm_time t = fsim_gemm_best(&d, &s);
                assert_true(isfinite(t.busy_s) && t.busy_s > 0 && t.extra_s >= 0);
                assert_true(t.compute_s >= fsim_gemm_least_s(&d, 2 * s.batch * s.m * s.n * s.k) * (1 - 1e-12));
                assert_true(t.dram_s >= s.dram_bytes / (d.dram_rate * fmax(1, d.reading_gain)) * (1 - 1e-12));
                assert_true(t.busy_s >= fmax(t.compute_s, fmax(t.dram_s, t.l2_s)) * (1 - 1e-12));
                for (int tile = 0; tile < d.tiles; tile++) {
                    fsim_gemm_tile one = d.tile[tile];
                    one.split = 1;
                    const fsim_gemm_time with = fsim_gemm_with(&d, &s, one);
                    fsim_gemm_shape deeper = s;
                    deeper.k *= 2;
                    assert_true(with.busy_s + with.extra_s >= (t.busy_s + t.extra_s) * (1 - 1e-12));
                    assert_true(fsim_gemm_with(&d, &deeper, one).compute_s >= with.compute_s);
                }
            }
        }
    fsim_arena_free(a);
}

/* What is fitted to products 64 wide and wider says nothing of narrower ones: those are no slower, per element of a
 * tile that a product fills, than 64 x 64 by more than on a typical GPU. */
static void narrow_products_are_bounded(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++) {
        const fsim_gemm_device d = fsim_gemm_device_of(gpu(a, gpus[g]), FSIM_F32);
        if (d.tensor) /* AMD's matrix units: their loss is that of 16-bit products */
            continue;
        const double square64 =
                         fsim_gemm_with(&d,
                                        &(fsim_gemm_shape){
                                            .batch = 8192, .m = 64, .n = 64, .k = 4096, .elem_bytes = 4, .whole = true},
                                        (fsim_gemm_tile){64, 64, 1})
                             .compute_s,
                     square32 =
                         fsim_gemm_with(&d,
                                        &(fsim_gemm_shape){
                                            .batch = 8192, .m = 32, .n = 32, .k = 4096, .elem_bytes = 4, .whole = true},
                                        (fsim_gemm_tile){32, 32, 1})
                             .compute_s;
        assert_true(square32 < square64 * 1.4 / 4 * 1.01);
    }
    const fsim_gemm_device d = fsim_gemm_device_of(gpu(a, "a100-sxm4-80gb"), FSIM_F32);
    fsim_gemm_shape s = product(8192, 27, 27, 128);
    s.dram_bytes = s.operand_bytes[0] + s.operand_bytes[1] + s.result_bytes;
    const double least = s.dram_bytes / d.dram_rate;
    assert_true(seconds(&d, s) > least && seconds(&d, s) < 5 * least);
    fsim_arena_free(a);
}

/* A wider dtype is no faster, where a product is long enough. GPUs whose FP32 units reach their
 * power limit multiply f64 on tensor units up to 15 % faster (H100 PCIe). f16 without tensor units is added up in FP32:
 * a P4 has one f16 unit for 64 of FP32. */
static void wider_types_are_no_faster(void **unused)
{
    (void)unused;
    glob_t files;
    int seen = 0;
    assert_int_equal(glob(FUSESIM_SOURCE_DIR "/hwmodels/*.yaml", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), files.gl_pathv[i]);
        const fsim_dtype types[] = {FSIM_F16, FSIM_F32, FSIM_F64};
        double s[3];
        assert_non_null(hw);
        for (int t = 0; t < 3 && !hw->host; t++) {
            const fsim_gemm_device d = fsim_gemm_device_of(hw, types[t]);
            fsim_gemm_shape x = product(1, 4096, 4096, 4096);
            x.elem_bytes = fsim_dtype_bytes(types[t]);
            s[t] = seconds(&d, x);
            seen += t > 0 && s[t - 1] < s[t] * 1.2;
            if (t > 0 && !(s[t - 1] < s[t] * 1.2))
                fail_msg("%s: %g s in %s, %g s in %s", hw->name, s[t - 1], fsim_dtype_names[types[t - 1]], s[t],
                         fsim_dtype_names[types[t]]);
        }
        fsim_arena_free(a);
    }
    assert_true(seen > 80);
    globfree(&files);
}

/* Matrix units of AMD: 256 FLOP a clock and unit in f32, 45.3 TFLOP/s on an MI210, of which NeuSight's BERT reaches 73
 * % at length. 4096^3 takes 137.4 GFLOP / 33.1 TFLOP/s = 4.15 ms, by FP32 vector units 6.1 ms at the very least. */
static void amd_multiplies_f32_in_matrix_units(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_gemm_device d = fsim_gemm_device_of(gpu(a, "mi210"), FSIM_F32);
    const double s = seconds(&d, product(1, 4096, 4096, 4096));
    assert_true(s > 4.1e-3 && s < 4.5e-3);
    assert_false(fsim_gemm_generated_of(gpu(a, "mi210"), FSIM_F32, FSIM_BY_THREADS).tensor);
    fsim_arena_free(a);
}

/* Measured: NeuSight linear (one eager call) on the A100 PCIe 80 GB and the H100 SXM5. */
static void measured_products_are_met(void **unused)
{
    (void)unused;
    static const struct {
        const char *gpu;
        double m, n, k, measured_s;
    } rows[] = {{"a100-pcie-80gb", 4096, 8192, 2048, 7.676e-3},
                {"a100-pcie-80gb", 768, 768, 2048, 0.217e-3},
                {"h100-sxm5-80gb", 16384, 50272, 960, 30.247e-3}};
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const fsim_hw *hw = gpu(a, rows[i].gpu);
        const fsim_gemm_device d = fsim_gemm_device_of(hw, FSIM_F32);
        const double host_s = fsim_hw_get(hw, FSIM_HW_LAUNCH_STREAM) + fsim_hw_get(hw, FSIM_HW_GEMM_CALL);
        fsim_gemm_shape s = product(1, rows[i].m, rows[i].n, rows[i].k);
        s.transposed_b = true;
        s.dram_bytes = s.result_bytes;
        assert_true(fabs((seconds(&d, s) + host_s) / rows[i].measured_s - 1) < 0.15);
    }
    fsim_arena_free(a);
}

/* A tile that is not priced because it can't be faster would not have been, whatever else its kernel does. */
static void what_is_not_priced_is_no_faster(void **unused)
{
    (void)unused;
    static const double share[] = {0.3, 0.7, 0.999, 1.001};
    fsim_arena *a = fsim_arena_new();
    int skipped = 0, kept = 0;
    for (int turn = 0; turn < 2; turn++) {
        const fsim_gemm_device d = fsim_gemm_device_of(gpu(a, turn ? "t4" : "h100-sxm5-80gb"), FSIM_F16);
        for (int i = 0; i < 2000; i++) {
            fsim_gemm_shape s = product(1 + draw(4), 16 + draw(4096), 16 + draw(4096), 64 + draw(8192));
            const fsim_gemm_tile tile = {32 << draw(3), 32 << draw(3), 1 << draw(3)};
            s.dram_bytes = draw(2) * (s.operand_bytes[0] + s.result_bytes);
            const fsim_gemm_time t = fsim_gemm_with(&d, &s, tile);
            const double own_s = t.busy_s + t.extra_s, less_s = share[draw(4)] * own_s;
            const bool may = fsim_gemm_may_beat(&d, &s, tile, less_s);
            assert_true(may || own_s >= less_s);
            *(may ? &kept : &skipped) += 1;
        }
    }
    assert_true(skipped > 500 && kept > 500);
    fsim_arena_free(a);
}

/* H200 and GH200 have the H100's SMs at the H100's clock, a larger or an equal L2 and faster DRAM: no FP32 product is
 * slower there. Nobody measured one; means of other GPUs made most of them 4.6 % slower. */
static void more_bandwidth_on_the_same_die_is_no_slower(void **unused)
{
    (void)unused;
    static const char *const faster[] = {"h200-sxm-141gb", "gh200"};
    fsim_arena *a = fsim_arena_new();
    const fsim_gemm_device h100 = fsim_gemm_device_of(gpu(a, "h100-sxm5-80gb"), FSIM_F32);
    state = 3;
    for (size_t g = 0; g < sizeof faster / sizeof *faster; g++) {
        const fsim_gemm_device d = fsim_gemm_device_of(gpu(a, faster[g]), FSIM_F32);
        for (int i = 0; i < 2000; i++) {
            fsim_gemm_shape s = product(extent(6), extent(14), extent(14), extent(14));
            s.transposed_b = i % 2;
            s.dram_bytes = s.operand_bytes[0] + s.operand_bytes[1] + s.result_bytes;
            const fsim_gemm_time here = fsim_gemm_best(&d, &s), there = fsim_gemm_best(&h100, &s);
            assert_true(here.busy_s + here.extra_s <= (there.busy_s + there.extra_s) * (1 + 1e-9));
        }
    }
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_in_rounds),
        cmocka_unit_test(a_start_costs_as_much_as_so_many_steps),
        cmocka_unit_test(only_small_grids_are_split),
        cmocka_unit_test(parts_of_a_split_sum_reach_dram),
        cmocka_unit_test(power_bounds_the_rate),
        cmocka_unit_test(long_rows_miss_the_tlb),
        cmocka_unit_test(operands_are_fetched_again_once_they_outgrow_l2),
        cmocka_unit_test(a_matrix_times_a_vector_streams),
        cmocka_unit_test(laws_hold_on_every_gpu),
        cmocka_unit_test(narrow_products_are_bounded),
        cmocka_unit_test(wider_types_are_no_faster),
        cmocka_unit_test(amd_multiplies_f32_in_matrix_units),
        cmocka_unit_test(measured_products_are_met),
        cmocka_unit_test(what_is_not_priced_is_no_faster),
        cmocka_unit_test(more_bandwidth_on_the_same_die_is_no_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
