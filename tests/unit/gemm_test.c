/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products worked by hand: each term of a tile's time (cost/gemm.h), on a GPU whose numbers are round.
 * depends: compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bare_gpu.h"

#define NEAR(x, y) assert_true(fabs((double)(x) - (double)(y)) <= 1e-12 * fabs((double)(y)))

/* Registers of the accumulators let an SM hold one block of 256 x 128, two of 128 x 64 to 128 x 128, four smaller ones.
 * A block of 128 x 128 and 1000 steps of 4 bytes loads 256 x 4000 bytes; two blocks that share its sum load half each.
 */
static void blocks_load_their_rows_and_columns(void **unused)
{
    (void)unused;
    static const struct {
        fsim_gemm_tile tile;
        double resident, blocks, bytes;
    } cases[] = {{{256, 128, 1}, 1, 2, 2 * 384 * 4000.0}, {{128, 128, 1}, 2, 4, 4 * 256 * 4000.0},
                 {{128, 64, 1}, 2, 8, 8 * 192 * 4000.0},  {{64, 64, 1}, 4, 16, 16 * 128 * 4000.0},
                 {{128, 128, 2}, 2, 8, 4 * 256 * 4000.0}, {{256, 256, 1}, 1, 1, 512 * 4000.0}};
    fsim_gemm_device d = bare();
    const fsim_gemm_shape s = product(1, 256, 256, 1000);
    d.l2_rate = 1e9;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int weight = 0; weight < 2;
             weight++) { /* a byte of the results costs L2 nothing, or as much as one more */
            d.result_weight = weight;
            const fsim_gemm_time t = fsim_gemm_with(&d, &s, cases[i].tile);
            NEAR(t.resident, cases[i].resident);
            NEAR(t.blocks, cases[i].blocks);
            NEAR(t.tile_bytes, cases[i].bytes);
            NEAR(t.l2_s, (cases[i].bytes + weight * 262144) / 1e9);
        }
}

/* 1000 steps of 4 bytes at 1 ns a byte and 1 us of start take a block 5 us, however few FLOP it has. 20 blocks are
 * resident on 10 SMs. Where a block's products take 4 us, two that share an SM take 8, and the last one alone takes 5;
 * where they take 6 us, 12 and 6. */
static void a_block_that_is_alone_waits(void **unused)
{
    (void)unused;
    static const struct {
        double one_us, blocks, us;
    } cases[] = {{1, 1, 5}, {1, 20, 5}, {1, 21, 10}, {4, 20, 8}, {4, 21, 13}, {6, 1, 6}, {6, 21, 18}, {6, 31, 24}};
    fsim_gemm_device d = bare();
    d.step_s = 1e-9;
    d.least_s = 1e-6;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_gemm_shape s = product(1, 128 * cases[i].blocks, 128, 1000);
        d.rate = 2.0 * 128 * 128 * 1000 / (cases[i].one_us * 1e-6);
        NEAR(fsim_gemm_with(&d, &s, square).compute_s, cases[i].us * 1e-6);
        s.beside_s = 2e-6; /* for which the units have something else to do */
        NEAR(fsim_gemm_with(&d, &s, square).compute_s, cases[i].us * 1e-6 + 2e-6);
    }
}

/* 1 MB at 1 GB/s; two blocks draw 0.1 GB/s each, of forty only the twenty that are under way draw 0.01 each. Where
 * nothing is written memory is 1.5 times as fast, where a sixteenth is, half of that gain is left, of an eighth on
 * none. */
static void bytes_of_dram_by_hand(void **unused)
{
    (void)unused;
    static const struct {
        double blocks, block_rate, gain, result_bytes, ms;
    } cases[] = {{2, INFINITY, 0, 0, 1},         {2, 1e8, 0, 0, 5},          {40, 1e7, 0, 0, 5},
                 {2, INFINITY, 1.5, 0, 1 / 1.5}, {2, 1e8, 1.5, 0, 5 / 1.5},  {2, INFINITY, 1.5, 62500, 0.8},
                 {2, INFINITY, 1.5, 125000, 1},  {2, INFINITY, 1.5, 2e6, 1}, {2, INFINITY, 0.5, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_gemm_device d = bare();
        d.dram_rate = 1e9;
        d.block_dram_rate = cases[i].block_rate;
        d.reading_gain = cases[i].gain;
        fsim_gemm_shape s = product(1, 128 * cases[i].blocks, 128, 1000);
        s.dram_bytes = 1e6;
        s.result_bytes = cases[i].result_bytes;
        NEAR(fsim_gemm_with(&d, &s, square).dram_s, cases[i].ms * 1e-3);
    }
}

/* Operands up to 0.22 of L2 stay there; from 0.52 on all of what a square of resident blocks repeats comes from DRAM,
 * and in the middle half of it. The smaller operand decides, that of one batch. */
static void half_an_operand_stays_in_l2(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    fsim_gemm_shape s = product(4, 1280, 2560, 1000);
    const double smaller = 4 * 1280 * 1000.0;
    d.l2_bytes = smaller / 0.52;
    const double all = fsim_gemm_with(&d, &s, square).again_bytes;
    NEAR(all, 1.6 * (4 * 10 * 20 * 256 * 4000.0 / sqrt(20) - s.operand_bytes[0] - s.operand_bytes[1]));
    d.l2_bytes = smaller / 0.37;
    assert_true(fabs(fsim_gemm_with(&d, &s, square).again_bytes / all - 0.5) < 1e-9);
    d.l2_bytes = smaller / 0.21;
    assert_true(fsim_gemm_with(&d, &s, square).again_bytes == 0);
    d.tensor = true;
    d.l2_bytes = smaller / 0.6;
    NEAR(fsim_gemm_with(&d, &s, square).again_bytes, all / 1.6 * 2.6);
}

/* Units that are equally busy: two take 2^(1 / 2.5) as long as one, three 3^(1 / 2.5). The products themselves and what
 * the power limit lets through meet in an 8-norm. */
static void units_that_are_equally_busy(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    fsim_gemm_shape s = product(1, 1280, 128, 1000);
    const double one = 2.0 * 128 * 128 * 1000 / 1e12; /* ten blocks on ten SMs */
    NEAR(fsim_gemm_with(&d, &s, square).busy_s, one);
    d.dram_rate = 1e6 / one;
    s.dram_bytes = 1e6;
    NEAR(fsim_gemm_with(&d, &s, square).busy_s, one * pow(2, 0.4));
    d.l2_rate = 10 * 256 * 4000 / one;
    NEAR(fsim_gemm_with(&d, &s, square).busy_s, one * pow(3, 0.4));
    s.beside_powers = fsim_gemm_powers(one, one); /* and two units for what else is computed */
    NEAR(fsim_gemm_with(&d, &s, square).busy_s, one * pow(5, 0.4));
    assert_true(fsim_gemm_with(&d, &s, square).extra_s == 0);
    d.power_rate = 2.0 * 1280 * 128 * 1000 / one;
    s.beside_s = 7 * one;
    NEAR(fsim_gemm_with(&d, &s, square).compute_s, one * pow(2, 0.125) + 7 * one);
}

/* A split's second launch takes a share of the first one and a time of its own; every kernel a floor; and one that
 * takes 30 ms gets half of the drift to lower clocks. */
static void what_comes_on_top(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    const fsim_gemm_shape s = product(1, 1280, 128, 1000);
    const double one = 2.0 * 128 * 128 * 1000 / 30e-3;
    d.rate = one;
    d.floor_s = 2e-6;
    NEAR(fsim_gemm_with(&d, &s, square).extra_s, 2e-6);
    d.drift = 0.1;
    NEAR(fsim_gemm_with(&d, &s, square).extra_s, 2e-6 + 0.1 * 30e-3 / 2);
    d.drift = 0;
    d.split_share = 0.25;
    d.split_s = 3e-6;
    NEAR(fsim_gemm_with(&d, &s, square).extra_s, 2e-6);
    NEAR(fsim_gemm_with(&d, &s, (fsim_gemm_tile){128, 128, 2}).extra_s, 0.25 * 30e-3 + 5e-6);
}

/* On 10 SMs: sums are split while half as many blocks are fewer than 30, on tensor units than 15; each part has 64
 * steps; at most 128 parts, on tensor units 32. */
static void which_sums_may_be_split(void **unused)
{
    (void)unused;
    static const struct {
        bool tensor;
        double tiles, k;
        int split;
        bool may;
    } cases[] = {{false, 29, 1000, 2, true},    {false, 30, 1000, 2, false},   {true, 14, 1000, 2, true},
                 {true, 15, 1000, 2, false},    {false, 14, 1000, 4, true},    {false, 15, 1000, 4, false},
                 {false, 1, 128, 2, true},      {false, 1, 127, 2, false},     {false, 0.2, 1 << 20, 128, false},
                 {true, 1, 1 << 20, 16, true},  {true, 1, 1 << 20, 32, false}, {false, 100, 1, 1, true},
                 {false, 1, 1 << 20, 32, true}, {false, 1, 1 << 20, 64, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_gemm_device d = bare();
        d.tensor = cases[i].tensor;
        const fsim_gemm_shape s = product(1, 128 * cases[i].tiles, 128, cases[i].k);
        assert_int_equal(fsim_gemm_may_split(&d, &s, (fsim_gemm_tile){128, 128, cases[i].split}), cases[i].may);
    }
    fsim_gemm_device many = bare();
    many.sms = 1000;
    const fsim_gemm_shape one = product(1, 128, 128, 1 << 20);
    assert_true(fsim_gemm_may_split(&many, &one, (fsim_gemm_tile){128, 128, 128}));
    assert_false(fsim_gemm_may_split(&many, &one, (fsim_gemm_tile){128, 128, 256}));
    many.tensor = true;
    assert_true(fsim_gemm_may_split(&many, &one, (fsim_gemm_tile){128, 128, 32}));
    assert_false(fsim_gemm_may_split(&many, &one, (fsim_gemm_tile){128, 128, 64}));
}

/* narrow is 0.2. Of 128/m + 128/n a tile of 64 x 64 has 2 more than one of 128 x 128, and loses 0.4. Of the 6 more of
 * 32 x 32 the last 4 count half, as on a typical GPU (0.1): 0.8. On tensor units 256 x 128 is the widest: 64 x 64
 * has 2.5 more, 128 x 128 has 0.5. */
static void narrow_tiles_by_hand(void **unused)
{
    (void)unused;
    static const struct {
        bool tensor;
        int side;
        double loss;
    } cases[] = {{false, 128, 0}, {false, 64, 0.4}, {false, 32, 0.8}, {true, 128, 0.1},
                 {true, 64, 0.5}, {false, 256, 0},  {true, 256, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_gemm_device d = bare();
        const int side = cases[i].side;
        d.tensor = cases[i].tensor;
        d.narrow = 0.2;
        d.efficiency = 0.5;
        d.transposed = 0.5;
        fsim_gemm_shape s = product(1, side, side, 1000);
        const double seconds_of = 2.0 * side * side * 1000 / 1e12 * (1 + cases[i].loss) / 0.5;
        NEAR(fsim_gemm_with(&d, &s, (fsim_gemm_tile){side, side, 1}).compute_s, seconds_of);
        s.transposed_b = true;
        NEAR(fsim_gemm_with(&d, &s, (fsim_gemm_tile){side, side, 1}).compute_s, 2 * seconds_of);
        d.transposed = 4; /* no unit does more than all it can */
        NEAR(fsim_gemm_with(&d, &s, (fsim_gemm_tile){side, side, 1}).compute_s,
             fmax(2.0 * side * side * 1000 / 1e12, seconds_of / 4));
    }
}

/* 2000 results of 1000 steps: 16 blocks of 128 threads; 8 MB of the matrix and 4 KB of the vector pass L2, all in as
 * many seconds as DRAM takes; 4 MFLOP at 10 TFLOP/s, and twice the start. */
static void a_vector_by_hand(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    fsim_gemm_shape s = product(1, 2000, 1, 1000);
    d.dram_rate = d.l2_rate = 8004000 / 2e-6;
    d.least_s = 0.8e-6;
    d.floor_s = 1e-6;
    s.dram_bytes = 8004000;
    const fsim_gemm_time t = fsim_gemm_with(&d, &s, (fsim_gemm_tile){1, 1, 1});
    NEAR(t.blocks, 16);
    NEAR(t.tile_bytes, 8004000);
    NEAR(t.compute_s, 2e-6);
    NEAR(t.l2_s, 2e-6);
    NEAR(t.dram_s, 2e-6);
    NEAR(t.busy_s, 2e-6 * pow(3, 0.4));
    NEAR(t.extra_s, 1e-6);
    const fsim_gemm_shape row = product(1, 1, 2000, 1000);
    NEAR(fsim_gemm_with(&d, &row, (fsim_gemm_tile){1, 1, 1}).blocks, 16);
    assert_int_equal(fsim_gemm_best(&d, &s).tile.m, 1);
    d.tensor = true; /* there such products are as slow as tiles */
    assert_int_equal(fsim_gemm_best(&d, &s).tile.m, 128);
}

/* 256 x 128 results of 1000 steps: each of 256 x 128 x 2 operands of a row or column of a tile is loaded once for 128
 * others. Beside another product of the kernel, tiles are 256 wide, and the floor is shared. */
static void bounds_of_tiles_by_hand(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    const double results = 256 * 128.0, flops = 2 * results * 1000;
    fsim_gemm_shape s = product(1, 256, 128, 1000);
    NEAR(fsim_gemm_tiled_least_s(&d, &s, 1), flops / 1e13);
    d.startup_bytes = 4000; /* as much as the steps */
    NEAR(fsim_gemm_tiled_least_s(&d, &s, 1), 2 * flops / 1e13);
    d.efficiency = 0.25;
    d.transposed = 2;
    NEAR(fsim_gemm_tiled_least_s(&d, &s, 1), 4 * flops / 1e13);
    d.transposed = 0.5;
    NEAR(fsim_gemm_tiled_least_s(&d, &s, 1), 8 * flops / 1e13);
    d.floor_s = 6e-6;
    d.power_rate = 1e13 / 8;
    NEAR(fsim_gemm_tiled_least_s(&d, &s, 1), 8 * flops / 1e13 * pow(2, 0.125) + 6e-6);
    NEAR(fsim_gemm_tiled_least_s(&d, &s, 3), 8 * flops / 1e13 * pow(2, 0.125) + 2e-6);
    d = bare();
    d.rate = INFINITY;
    d.l2_rate = 1e9;
    NEAR(fsim_gemm_tiled_least_s(&d, &s, 1), results * 2 / 128 * 4000 / 1e9);
    NEAR(fsim_gemm_tiled_least_s(&d, &s, 2), results * (1.0 / 128 + 1.0 / 256) * 4000 / 1e9);
    d = bare();
    d.narrow = 0.2;
    d.tile = &(fsim_gemm_tile){64, 64, 0}; /* narrow by two */
    NEAR(fsim_gemm_tiled_least_s(&d, &s, 1), 1.4 * flops / 1e13);
    d = bare();
    d.l2_rate = 1e9;
    s.n = 1; /* a vector has no tiles, and loads nothing twice */
    d.rate = 1e12;
    NEAR(fsim_gemm_tiled_least_s(&d, &s, 1), 2.0 * 256 * 1000 / 1e13);
}

/* Without bytes of DRAM, and split however it may be: ten blocks of a tenth of 1280 steps each, which is as long as L2.
 */
static void a_call_takes_at_least_its_best_tile(void **unused)
{
    (void)unused;
    fsim_gemm_device d = bare();
    fsim_gemm_shape s = product(1, 1280, 128, 1000);
    d.dram_rate = 1e3;
    d.floor_s = 1e-6;
    s.dram_bytes = 1e9;
    s.whole = true;
    NEAR(fsim_gemm_call_least_s(&d, s), 2.0 * 128 * 128 * 1000 / 1e12 + 1e-6);
    NEAR(fsim_gemm_least_s(&d, 1e13), 1);
    d.efficiency = 0.5;
    d.transposed = 0.5;
    NEAR(fsim_gemm_least_s(&d, 1e13), 2);
    d.transposed = 1.5;
    NEAR(fsim_gemm_least_s(&d, 1e13), 1 / 0.75);
    d.transposed = 3; /* no faster than all units */
    NEAR(fsim_gemm_least_s(&d, 1e13), 1);
    d.power_rate = 1e12;
    NEAR(fsim_gemm_least_s(&d, 1e13), 10);
}

/* Of a limit of 250 W, 0.65 feed the units. A FLOP of 28 nm takes 10 pJ, one in f64 twice that: at 40 TFLOP/s 800 W, of
 * which 162.5 are there. At 1 GFLOP/s power is no limit, and 0.95 is what is typical. */
static void doubles_within_a_power_limit(void **unused)
{
    (void)unused;
    static const struct {
        const char *peak;
        double efficiency;
    } cases[] = {{"fp64_peak=40 TFLOP/s", 0.95 * 162.5 / 800}, {"fp64_peak=1 GFLOP/s", 0.95}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/tests/hw/toy.yaml");
        assert_non_null(hw);
        const bool set = fsim_hw_set(a, d, hw, cases[i].peak), limited = fsim_hw_set(a, d, hw, "power_limit=250 W");
        if (!set || !limited)
            fsim_diag_print(d, stderr, false);
        assert_true(set && limited);
        NEAR(fsim_gemm_device_of(hw, FSIM_F64).efficiency, cases[i].efficiency);
        fsim_arena_free(a);
    }
}

/* Pascal's library has two tiles in FP32 and later ones 13; tensor units have 15, and from Hopper on 23. */
static void tiles_of_each_design(void **unused)
{
    (void)unused;
    static const struct {
        const char *gpu;
        fsim_dtype t;
        int tiles;
    } cases[] = {{"p100-pcie-16gb", FSIM_F32, 2},
                 {"v100-pcie-32gb", FSIM_F32, 13},
                 {"a100-sxm4-40gb", FSIM_F16, 15},
                 {"h100-sxm5-80gb", FSIM_F16, 23},
                 {"l4", FSIM_BF16, 15}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_hw *hw =
            fsim_hw_read(a, fsim_diag_new(a), fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", cases[i].gpu));
        assert_non_null(hw);
        assert_int_equal(fsim_gemm_device_of(hw, cases[i].t).tiles, cases[i].tiles);
        fsim_arena_free(a);
    }
}

/* 40 tiles of rows, of which twenty blocks are under way: their 2560 rows, and as many pages, whether there are more
 * columns or not. Where both operands have k contiguous, the columns' rows are as far apart: 128 more. A step of each
 * reaches 4 KiB; from 1 KiB times the root of the rows on, time grows by half for each doubling. */
static void rows_that_are_under_way_have_pages(void **unused)
{
    (void)unused;
    static const struct {
        bool transposed;
        double m, rows;
    } cases[] = {{false, 5120, 2560}, {true, 5120, 2560 + 128}, {false, 1280, 1280}, {true, 1280, 1280 + 256}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_gemm_device d = bare();
        fsim_gemm_shape s = product(1, cases[i].m, 2560, 1024);
        s.transposed_b = cases[i].transposed;
        const double before = fsim_gemm_with(&d, &s, square).compute_s;
        d.page_slope = 0.5;
        d.page_most = 9;
        d.page_span = 1024 * sqrt(cases[i].rows);
        NEAR(fsim_gemm_with(&d, &s, square).compute_s, 2 * before); /* 4096 / 1024: two doublings */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_load_their_rows_and_columns),
        cmocka_unit_test(a_block_that_is_alone_waits),
        cmocka_unit_test(bytes_of_dram_by_hand),
        cmocka_unit_test(half_an_operand_stays_in_l2),
        cmocka_unit_test(units_that_are_equally_busy),
        cmocka_unit_test(what_comes_on_top),
        cmocka_unit_test(which_sums_may_be_split),
        cmocka_unit_test(narrow_tiles_by_hand),
        cmocka_unit_test(a_vector_by_hand),
        cmocka_unit_test(bounds_of_tiles_by_hand),
        cmocka_unit_test(a_call_takes_at_least_its_best_tile),
        cmocka_unit_test(doubles_within_a_power_limit),
        cmocka_unit_test(tiles_of_each_design),
        cmocka_unit_test(rows_that_are_under_way_have_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
