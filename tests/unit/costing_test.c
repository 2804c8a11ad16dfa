/* SPDX-License-Identifier: Apache-2.0 */
/* What every kernel's price is put together from, worked by hand on a GPU whose numbers are round (tests/hw/toy.yaml).
 * depends: compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/chain.h"
#include "cost/collective.h"
#include "cost/costing.h"
#include "cost/product.h"
#include "fusion/assembly.h"
#include <string.h>

#define NEAR(x, y) assert_true(fabs((double)(x) - (double)(y)) <= 1e-9 * fabs((double)(y)))

/* Toy, with other values for some keys ("key=value", up to three; NULL: none). */
static fsim_hw *toy(fsim_arena *a, const char *first, const char *second, const char *third)
{
    const char *keys[] = {first, second, third};
    fsim_diag *d = fsim_diag_new(a);
    fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/tests/hw/toy.yaml");
    for (int i = 0; i < 3 && keys[i]; i++)
        if (!fsim_hw_set(a, d, hw, keys[i]))
            fsim_diag_print(d, stderr, false);
    assert_non_null(hw);
    return hw;
}

/* DRAM takes 3 us and arithmetic 4 us: together the cube root of 27 + 64, 4.498 us, of which each has the share of its
 * cube. Launched in a stream that is 1 us more for each launch; in a graph 0.5 us; alone 0.25 us. Python needs 10 us
 * for a launch, and a kernel hides as much of that as it runs, but no more than leaves the stream's own 1 us. */
static void units_and_launches_add_up(void **unused)
{
    (void)unused;
    static const struct {
        fsim_regime regime;
        int launches;
        double more_us, launch_us;
        fsim_unit bound;
    } cases[] = {{FSIM_REGIME_STREAM, 1, 0, 1, FSIM_COMPUTE},
                 {FSIM_REGIME_STREAM, 2, 0, 2, FSIM_COMPUTE},
                 {FSIM_REGIME_STREAM, 4, 0, 4, FSIM_LAUNCH},
                 {FSIM_REGIME_GRAPH, 1, 0, 0.5, FSIM_COMPUTE},
                 {FSIM_REGIME_KERNEL, 1, 0, 0.25, FSIM_COMPUTE},
                 {FSIM_REGIME_EAGER, 1, 0, 10 - 4.497941445275415, FSIM_LAUNCH},
                 {FSIM_REGIME_EAGER, 2, 0, 20 - 4.497941445275415, FSIM_LAUNCH}};
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = toy(a, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fsim_costing c = {.hw = hw, .regime = cases[i].regime};
        fsim_kernel k = {.launches = cases[i].launches, .unit = {[FSIM_DRAM] = 3e-6, [FSIM_COMPUTE] = 4e-6}};
        const double together = cbrt(91);
        NEAR(together, 4.497941445275415);
        fsim_sum_up(&c, &k);
        NEAR(k.time[FSIM_LAUNCH], cases[i].launch_us * 1e-6);
        NEAR(k.time[FSIM_DRAM], together * 27 / 91 * 1e-6);
        NEAR(k.time[FSIM_COMPUTE], together * 64 / 91 * 1e-6);
        NEAR(k.time_s, (cases[i].launch_us + together) * 1e-6);
        assert_int_equal(k.bound, cases[i].bound);
        double sum = 0;
        for (int u = 0; u < FSIM_UNIT_COUNT; u++)
            sum += k.time[u];
        NEAR(sum, k.time_s);
    }
    const fsim_costing eager = {.hw = hw, .regime = FSIM_REGIME_EAGER};
    fsim_kernel lasting = {.launches = 1, .unit = {[FSIM_L2] = 30e-6}};
    fsim_sum_up(&eager, &lasting);
    NEAR(lasting.time_s, 31e-6);
    fsim_arena_free(a);
}

/* The same 3 and 4 us one after the other, as the sides of a triangle, and as what was measured for both: 10 us. */
static void units_overlap_as_they_are_known_to(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_costing c = {.hw = toy(a, NULL, NULL, NULL), .regime = FSIM_REGIME_STREAM};
    const fsim_kernel bare = {.launches = 1, .unit = {[FSIM_DRAM] = 3e-6, [FSIM_COMPUTE] = 4e-6}};
    const double dram[] = {3e-6, 5e-6 * 9 / 25, 10e-6 * 3 / 7}, all[] = {8e-6, 6e-6, 11e-6};
    for (int how = 0; how < 3; how++) {
        fsim_kernel k = bare;
        if (how < 2)
            fsim_sum_up_by(&c, &k, 1 + how);
        else
            fsim_sum_up_to(&c, &k, 10e-6);
        NEAR(k.time[FSIM_DRAM], dram[how]);
        NEAR(k.time_s, all[how]);
        assert_int_equal(k.bound, FSIM_COMPUTE);
    }
    fsim_kernel idle = {.launches = 1};
    fsim_sum_up(&c, &idle);
    NEAR(idle.time_s, 1e-6);
    assert_int_equal(idle.bound, FSIM_LAUNCH);
    fsim_arena_free(a);
}

/* Seconds that come after all else add to their unit, which is the bound from then on where it has most of the time. */
static void what_comes_after(void **unused)
{
    (void)unused;
    const fsim_kernel bare = {.time_s = 5e-6,
                              .unit = {[FSIM_LATENCY] = 1e-6},
                              .time = {[FSIM_DRAM] = 4e-6, [FSIM_LATENCY] = 1e-6},
                              .bound = FSIM_DRAM};
    for (int how = 0; how < 2; how++)
        for (int much = 0; much < 2; much++) {
            fsim_kernel k = bare;
            const double seconds = much ? 3.5e-6 : 2.5e-6;
            if (how)
                fsim_add_after(&k, FSIM_LATENCY, seconds);
            else
                fsim_add_seconds(&k, FSIM_LATENCY, seconds);
            NEAR(k.time_s, 5e-6 + seconds);
            NEAR(k.unit[FSIM_LATENCY], 1e-6 + seconds);
            NEAR(k.time[FSIM_LATENCY], 1e-6 + seconds);
            assert_int_equal(k.bound, much ? FSIM_LATENCY : FSIM_DRAM);
        }
}

/* Where a written byte costs 1.5 times a read one, as many of both reach the bandwidth: 1000 and 1000 bytes at 1 GB/s
 * take 2 us, 1000 read ones 0.8 us, 1000 written ones 1.2. A product's byte counts at most (1 + 1.5) / 2, and reads
 * that hardly write are 1.25 times as fast. */
static void bytes_read_and_written(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = toy(a, "dram_write_cost=1.5", "dram_read_bandwidth=1.25 GB/s", NULL),
                  *plain = toy(a, NULL, NULL, NULL), *cheap = toy(a, "dram_write_cost=0.8", NULL, NULL),
                  *fast = fsim_hw_read(a, fsim_diag_new(a), FUSESIM_SOURCE_DIR "/hwmodels/b200.yaml");
    NEAR(fsim_dram_seconds(hw, 1000, 1000), 2e-6);
    NEAR(fsim_dram_seconds(hw, 1000, 0), 0.8e-6);
    NEAR(fsim_dram_seconds(hw, 0, 1000), 1.2e-6);
    NEAR(fsim_dram_seconds(plain, 1000, 500), 1.5e-6);
    NEAR(fsim_reading_gain(hw), 1.25);
    assert_true(fsim_reading_gain(plain) == 1);
    NEAR(fsim_least_dram_seconds(hw, 1000, 1000, false), 2e-6);
    NEAR(fsim_least_dram_seconds(hw, 1000, 0, true), 0.8e-6 / 1.25);
    NEAR(fsim_least_dram_seconds(hw, 0, 1000, true), 1e-6 / 1.25);
    NEAR(fsim_read_seconds(hw, 1000, 0), 0.8e-6 / 1.25);
    const double more = fsim_hw_get(fast, FSIM_HW_GEMM_TENSOR_DRAM); /* than copies move */
    assert_true(more > 1);
    NEAR(fsim_least_dram_seconds(fast, 1000, 500, true), fsim_read_seconds(fast, 1000, 500) / more);
    NEAR(fsim_least_dram_seconds(fast, 1000, 500, false), fsim_dram_seconds(fast, 1000, 500));
    NEAR(fsim_least_dram_seconds(cheap, 1000, 0, true), 1e-6);
    NEAR(fsim_least_dram_seconds(cheap, 0, 1000, true), 0.8e-6 * 2 / 1.8);
    NEAR(fsim_least_dram_seconds(cheap, 1000, 0, false), 2e-6 / 1.8);
    fsim_arena_free(a);
}

static void what_l2_has(void **unused)
{
    (void)unused;
    static const bool one[] = {true, false};
    static const double share[] = {0.25, 0.75};
    static const fsim_residency none = {0}, all = {.hit = one, .absorbed = one},
                                parts = {.found = share, .stays = share};
    for (int i = 0; i < 2; i++) {
        assert_true(fsim_found_in_l2(NULL, i) == 0 && fsim_stays_in_l2(NULL, i) == 0);
        assert_true(fsim_found_in_l2(&none, i) == 0 && fsim_stays_in_l2(&none, i) == 0);
        assert_true(fsim_found_in_l2(&all, i) == (i ? 0 : 1) && fsim_stays_in_l2(&all, i) == (i ? 0 : 1));
        assert_true(fsim_found_in_l2(&parts, i) == share[i] && fsim_stays_in_l2(&parts, i) == share[i]);
    }
}

/* A chain of two batches of 100 rows, 256 wide, 40 deep, with 24 results, in tiles of 64 x 32; two blocks share the
 * width, three the results. 2 tiles of rows x 2 batches x 2 x 3 = 24 blocks have 4 steps each, and 8 results. */
static void a_chains_block_by_hand(void **unused)
{
    (void)unused;
    const fsim_chain_shape shape = {
        .batch = 2, .m = 100, .width = 256, .k = 40, .results = 24, .elem_bytes = 2, .stored_bytes = {2, 2, 2}};
    const fsim_chain_tile tile = {64, 32, 2, 3, true};
    fsim_chain_block b = fsim_chain_block_of(&shape, tile);
    assert_true(b.blocks == 24 && b.steps == 4 && b.chunks == 3 && !b.streams);
    assert_true(b.first_flops == 2 * 64 * 32 * 4 * 40 && b.second_flops == 2 * 64 * 32 * 4 * 8);
    /* rows are loaded by each block that has a part of them; the others' elements by each tile of rows */
    assert_true(b.loads[FSIM_CHAIN_ROWS] == 6 && b.loads[FSIM_CHAIN_FIRST] == 6 && b.loads[FSIM_CHAIN_SECOND] == 2);
    assert_true(b.loads[FSIM_CHAIN_OPERANDS] == 3);
    /* two parts of 24 results, a maximum and a sum for each of 200 rows, written and read in 4 bytes */
    assert_true(b.partial_bytes == 2 * 2 * 200 * (24 + 2) * 4);
    assert_true(b.l2_bytes == 2 * 200 * 40 * 6 + 2 * 2 * 256 * (2 * 40 * 3 + 2 * 24) + b.partial_bytes);
    /* which are put together by two operations for each result, and four for maximum and sum */
    assert_true(b.fixing_flops == 200 * 2 * (2 * 24 + 4));
    /* written and read, each by threads in halves of the tile: both operands, the second one, and the tile itself */
    assert_true(b.shared_bytes_moved == 24. * 4 * (96 * 40 + 32 * 8 + 64 * 32) * 2 * 4);

    fsim_chain_shape other = shape;
    other.online =
        true; /* each step corrects each row's results, its maximum and its sum in each block that has a part */
    assert_true(fsim_chain_block_of(&other, tile).fixing_flops == b.fixing_flops + 200 * 4 * 2 * (24 + 4 * 3));
    other = shape;
    other.tensor = true; /* in steps of 16: depth 48, 16 results; the tile stays in registers */
    fsim_chain_block t = fsim_chain_block_of(&other, tile);
    assert_true(t.first_flops == 2 * 64 * 32 * 4 * 48 && t.second_flops == 2 * 64 * 32 * 4 * 16);
    assert_true(t.shared_bytes_moved == 24. * 4 * (96 * 48 + 32 * 16) * 2 * 2);
    other = shape;
    other.stored_bytes[FSIM_CHAIN_FIRST] = other.stored_bytes[FSIM_CHAIN_SECOND] = 1;
    assert_true(b.l2_bytes - fsim_chain_block_of(&other, tile).l2_bytes == 2 * 2 * 256 * (40 * 3 + 24));
    other = shape;
    other.causal = 256; /* (256 + 64 + 32) / 512 of the tiles reach below the diagonal */
    t = fsim_chain_block_of(&other, tile);
    assert_true(t.steps == 2.75 && t.loads[FSIM_CHAIN_OPERANDS] == 3 * 0.6875);
    assert_true(t.l2_bytes == 2 * 200 * 40 * 6 + 2 * 2 * 176 * (2 * 40 * 3 + 2 * 24) + b.partial_bytes);
    other.causal = 64; /* (64 + 96) / 128: all */
    assert_true(fsim_chain_block_of(&other, tile).steps == 4);

    const fsim_chain_tile again = {64, 32, 2, 3, false}, one = {64, 32, 1, 1, true};
    t = fsim_chain_block_of(&shape, again); /* rows are loaded in each step */
    assert_true(t.streams && t.loads[FSIM_CHAIN_ROWS] == 24 && t.l2_bytes - b.l2_bytes == 2 * 200 * 40 * 18);
    t = fsim_chain_block_of(&shape, one);
    assert_true(t.blocks == 4 && t.steps == 8 && t.partial_bytes == 0 && t.fixing_flops == 0 &&
                t.loads[FSIM_CHAIN_ROWS] == 1);
}

/* Between GPUs, from the rows of cost/collective.def: latency + step x log2(ranks) + sent bytes / (link x share). An
 * H100's links carry 450 GB/s. An all-gather of n ranks sends (n - 1) / n of the bytes; an all-reduce twice that, or,
 * in one shot, the whole n - 1 times; who sends sends all. From 3 ranks on the second protocol has another share. */
static void bytes_between_gpus(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), FUSESIM_SOURCE_DIR "/hwmodels/h100-sxm5-80gb.yaml");
    assert_non_null(hw);
    const double link = fsim_hw_get(hw, FSIM_HW_LINK_BANDWIDTH), big = 1e9;
    NEAR(fsim_collective_s(hw, FSIM_OP_ALL_GATHER, big, 2, false), 16.1e-6 + 2.33e-6 + big / 2 / (link * 0.565));
    NEAR(fsim_collective_s(hw, FSIM_OP_ALL_GATHER, big, 4, false),
         16.1e-6 + 2 * 2.33e-6 + big * 3 / 4 / (link * 0.565 * 1.21));
    NEAR(fsim_collective_s(hw, FSIM_OP_ALL_GATHER, big, 8, false),
         16.1e-6 + 3 * 2.33e-6 + big * 7 / 8 / (link * 0.565 * 1.32));
    NEAR(fsim_collective_s(hw, FSIM_OP_ALL_GATHER, 1000, 8, false), 0.887e-6 + 3 * 2.41e-6 + 875 / (link * 0.276));
    NEAR(fsim_collective_s(hw, FSIM_OP_ALL_REDUCE, big, 8, false),
         10.4e-6 + 3 * 15e-6 + big * 7 / 4 / (link * 0.685 * 1.48));
    NEAR(fsim_collective_s(hw, FSIM_OP_SEND, big, 2, false), 5.5e-6 + big / (link * 0.79));
    assert_true(fsim_collective_s(hw, FSIM_OP_RECV, big, 2, true) ==
                fsim_collective_s(hw, FSIM_OP_SEND, big, 2, false));
    NEAR(fsim_all_reduce_by_s(hw, FSIM_ONE_SHOT, 1000, 8), 1.32e-6 + 3 * 0.205e-6 + 7000 / (link * 0.59));
    NEAR(fsim_all_reduce_by_s(hw, FSIM_TWO_SHOT, 1000, 8), 6.25e-6 + 3 * 9.35e-6 + 1750 / (link * 0.664 * 1.49));
    NEAR(fsim_collective_s(hw, FSIM_OP_ALL_REDUCE, 1000, 8, true), 1.32e-6 + 3 * 0.205e-6 + 7000 / (link * 0.59));
    assert_true(isnan(fsim_collective_s(toy(a, NULL, NULL, NULL), FSIM_OP_ALL_REDUCE, 1000, 8, true)));
    /* step by step: a ring of n takes 2 (n - 1) steps, a tree twice the logarithm */
    const double rest = fsim_stepwise_s(hw, 0, 1750);
    NEAR(fsim_all_reduce_by_s(hw, FSIM_RING, 1000, 8) - rest,
         14 * (fsim_stepwise_s(hw, 1, 0) - fsim_stepwise_s(hw, 0, 0)));
    NEAR(fsim_all_reduce_by_s(hw, FSIM_TREE, 1000, 8) - rest,
         6 * (fsim_stepwise_s(hw, 1, 0) - fsim_stepwise_s(hw, 0, 0)));
    fsim_arena_free(a);
}

/* Products, by the units that multiply in each type; without tensor units an f64 takes 32 times an f32. */
static void rates_of_arithmetic(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = toy(a, NULL, NULL, NULL), *doubles = toy(a, "fp64_peak=0.5 GFLOP/s", NULL, NULL);
    const fsim_costing c = {.hw = hw, .sms = 1, .clock = 500e6};
    NEAR(fsim_dense_peak(hw, FSIM_F32), 1e9);
    NEAR(fsim_dense_peak(hw, FSIM_F16), 1e9);
    NEAR(fsim_dense_peak(hw, FSIM_F64), 1e9 / 32);
    NEAR(fsim_dense_peak(doubles, FSIM_F64), 0.5e9);
    NEAR(fsim_pipe_rate(&c, FSIM_F32), 500e6);
    NEAR(fsim_pipe_rate(&c, FSIM_I32), 500e6);
    assert_int_equal(fsim_tensor_key(hw, FSIM_F16), FSIM_HW_COUNT);
    assert_false(fsim_is_tensor_arithmetic(FSIM_F32) || fsim_is_tensor_arithmetic(FSIM_F64));
    assert_true(fsim_is_tensor_arithmetic(FSIM_F16) && fsim_is_tensor_arithmetic(FSIM_TF32));
    fsim_arena_free(a);
}

/* A tensor of f32, and one read of it at every point of `m`. */
typedef struct {
    fsim_tensor tensor;
    fsim_graph g;
    fsim_map map[2];
    fsim_read read;
} one_read;

static void start(one_read *r, int64_t elems, fsim_map m)
{
    *r = (one_read){.tensor = {.dtype = FSIM_F32, .elems = elems, .bytes = 4 * elems}, .map = {m, m}};
    r->g = (fsim_graph){.tensor = &r->tensor, .tensors = 1};
    r->read = (fsim_read){.map = r->map, .maps = 1, .full = true, .operand = -1};
}

/* 64 elements (256 bytes) that eight rows use: between two uses of one a kernel of 8000 bytes moves 1000, and 7 / 8 of
 * the elements themselves. Where that is more than L2 has, they are loaded eight times. Inside of a row nothing comes
 * between; two such digits multiply; a row's own value is used once. */
static void what_l2_cannot_keep_is_loaded_again(void **unused)
{
    (void)unused;
    static const struct {
        fsim_map m;
        bool full;
        double l2_bytes, times;
    } cases[] = {{{.modes = 2, .split = 2, .mode = {{8, 0}, {64, 1}}}, true, 1223, 8},
                 {{.modes = 2, .split = 2, .mode = {{8, 0}, {64, 1}}}, true, 1224, 1},
                 {{.modes = 2, .split = 2, .mode = {{64, 1}, {8, 0}}}, true, 1, 1},
                 {{.modes = 4, .split = 4, .mode = {{2, 0}, {4, 16}, {8, 0}, {16, 1}}}, true, 1, 16},
                 /* 8000 / 2 + 128 are too many; 8000 / 64 + 56 are not */
                 {{.modes = 4, .split = 4, .mode = {{2, 0}, {4, 16}, {8, 0}, {16, 1}}}, true, 4127, 2},
                 {{.modes = 4, .split = 4, .mode = {{2, 0}, {4, 16}, {8, 0}, {16, 1}}}, true, 4128, 1},
                 {{.modes = 2, .split = 1, .mode = {{8, 0}, {64, 1}}}, false, 1, 1},
                 {{.modes = 2, .split = 1, .mode = {{8, 0}, {64, 1}}}, true, 1, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one_read r;
        start(&r, 64, cases[i].m);
        r.read.full = cases[i].full;
        assert_true(fsim_read_rereads(&r.g, &r.read, 8000, cases[i].l2_bytes) == cases[i].times);
        r.read.operand = 0; /* comes in tiles: not counted here, but for what reads it beside them */
        assert_true(fsim_read_rereads(&r.g, &r.read, 8000, cases[i].l2_bytes) == 1);
        r.read.other_maps = 1;
        assert_true(fsim_read_rereads(&r.g, &r.read, 8000, cases[i].l2_bytes) == cases[i].times);
        r.read.maps = 0;
        assert_true(fsim_read_rereads(&r.g, &r.read, 8000, cases[i].l2_bytes) == 1);
    }
}

/* What warps of 32 lanes ask L2 for. 64 x 64 elements, neighbours beside each other: 16 KiB. Across, a sector of 32
 * bytes for each of 4096 elements, or, by a tile whose rows are runs of 32 elements, 4 sectors for each run; L2 answers
 * pairs of sectors. Runs of two elements take a sector each. Where two lanes share an element no tile turns it around.
 */
static void what_warps_ask_for(void **unused)
{
    (void)unused;
    static const struct {
        fsim_map m;
        double requests, direct, staged, answered;
        bool across;
    } cases[] = {{{.modes = 2, .split = 2, .mode = {{64, 64}, {64, 1}}}, 16384, 16384, 0, 16384, false},
                 {{.modes = 2, .split = 2, .mode = {{64, 1}, {64, 64}}}, 16384, 131072, 16384, 262144, false},
                 {{.modes = 2, .split = 1, .mode = {{64, 1}, {64, 64}}}, 16384, 131072, 16384, 262144, true},
                 {{.modes = 2, .split = 2, .mode = {{2, 1}, {2048, 64}}}, 65536, 131072, 16384, 262144, false},
                 {{.modes = 2, .split = 2, .mode = {{64, 64}, {64, 0}}}, 4096, 4096, 0, 4096, false},
                 {{.modes = 3, .split = 3, .mode = {{64, 1}, {16, 64}, {2, 0}}}, 32768, 32768, 0, 32768, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one_read r;
        start(&r, 1 << 17, cases[i].m);
        const fsim_traffic t = fsim_read_traffic(&r.g, &r.read, 32, 0, 1);
        assert_true(t.request_bytes == cases[i].requests && t.direct_bytes == cases[i].direct);
        assert_true(t.staged_bytes == cases[i].staged && t.answered_bytes == cases[i].answered);
        assert_int_equal(t.across, cases[i].across);
        assert_true(fsim_read_traffic(&r.g, &r.read, 0, 0, 1).request_bytes == 0);
        const fsim_write w = {.map = cases[i].m, .full = true};
        const fsim_traffic out = fsim_write_traffic(&r.g, &w, 32);
        assert_true(out.request_bytes == cases[i].requests && out.staged_bytes == cases[i].staged && out.reread == 1);
        NEAR(out.coalescing, fmin(1, (double)out.compulsory_bytes / cases[i].requests));
    }
}

/* Two walks over 1024 elements, 256 apart: 4 KiB each, of a tensor of 5 KiB. While L2 holds the 1 KiB between them, or
 * all of the tensor, each sector is fetched once. */
static void two_walks_share_what_l2_holds(void **unused)
{
    (void)unused;
    static const struct {
        double l2_bytes;
        int64_t sectors;
    } cases[] = {{1023, 8192}, {1024, 5120}, {5120, 5120}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one_read r;
        start(&r, 1280, (fsim_map){.modes = 1, .split = 1, .mode = {{1024, 1}}});
        r.map[1].offset = 256;
        r.read.maps = 2;
        const fsim_traffic t = fsim_read_traffic(&r.g, &r.read, 32, 0, cases[i].l2_bytes);
        assert_int_equal(t.sector_bytes, cases[i].sectors);
        assert_int_equal(t.compulsory_bytes, 5120);
        assert_true(t.request_bytes == 8192 && t.coalescing == 1);
        r.map[1].mode[0].stride = -1; /* the other way: they meet once */
        r.map[1].offset = 1279;
        assert_int_equal(fsim_read_traffic(&r.g, &r.read, 32, 0, cases[i].l2_bytes).sector_bytes, i == 2 ? 5120 : 8192);
        r.read.operand = 0; /* tiles of an operand: cost/gemm.c says what is loaded again */
        r.read.other_maps = 1;
        const fsim_traffic operand = fsim_read_traffic(&r.g, &r.read, 32, 0, 1);
        assert_true(operand.sector_bytes == 5120 && operand.request_bytes == 4096);
    }
}

/* A block of 256 results. 100 in a row, windows of 3: 102 elements for 100. Rows of 16: 18 for 16 along the row, and of
 * 16 rows as many again; with rows of 512 each block has a part of one row. Two apart, taps of 3 reach 5, of
 * which a result alone has three. Windows that leave gaps share nothing. */
static void what_windows_of_a_block_share(void **unused)
{
    (void)unused;
    static const struct {
        fsim_axis axis[2];
        int axes;
        double halo;
    } cases[] = {
        {{{.taps = 3, .dilation = 1, .stride = 1, .out = 100}}, 1, 102. / 100},
        {{{.taps = 3, .dilation = 1, .stride = 1, .out = 64}, {.taps = 3, .dilation = 1, .stride = 1, .out = 16}},
         2,
         18. / 16 * 18 / 16},
        {{{.taps = 3, .dilation = 1, .stride = 1, .out = 64}, {.taps = 3, .dilation = 1, .stride = 1, .out = 512}},
         2,
         258. / 256 * 3},
        {{{.taps = 3, .dilation = 2, .stride = 1, .out = 16}}, 1, 20. / 16},
        {{{.taps = 3, .dilation = 2, .stride = 1, .out = 64}, {.taps = 3, .dilation = 2, .stride = 1, .out = 512}},
         2,
         260. / 256 * 3},
        {{{.taps = 2, .dilation = 5, .stride = 4, .out = 16}}, 1, 1},
        {{{.taps = 3, .dilation = 1, .stride = 2, .out = 16}}, 1, 33. / 32},
        {{{.taps = 3, .dilation = 1, .stride = 3, .out = 16}}, 1, 1},
        {{{.taps = 1, .dilation = 1, .stride = 4, .out = 16}}, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_access x = {.axes = cases[i].axes};
        for (int k = 0; k < x.axes; k++)
            x.axis[k] = cases[i].axis[k];
        NEAR(fsim_window_halo(&x, 256), cases[i].halo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_and_launches_add_up),
        cmocka_unit_test(units_overlap_as_they_are_known_to),
        cmocka_unit_test(what_comes_after),
        cmocka_unit_test(bytes_read_and_written),
        cmocka_unit_test(what_l2_has),
        cmocka_unit_test(a_chains_block_by_hand),
        cmocka_unit_test(bytes_between_gpus),
        cmocka_unit_test(rates_of_arithmetic),
        cmocka_unit_test(what_l2_cannot_keep_is_loaded_again),
        cmocka_unit_test(what_warps_ask_for),
        cmocka_unit_test(two_walks_share_what_l2_holds),
        cmocka_unit_test(what_windows_of_a_block_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
