/* SPDX-License-Identifier: Apache-2.0 */
/* Where a softmax along a middle dimension keeps its rows: in registers, in shared memory, or nowhere. A block has a
 * band of 32 rows, 8 threads along each. What is priced is what the text has. More work is never faster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emit/generate.h"
#include "emit/program.h"
#include "predict.h"
#include <string.h>

static const char softmax[] = "symbols: {N: 1024, dtype: f32}\n"
                              "tensors: {x: {shape: [16, N, 1024], dtype: dtype}}\n"
                              "operators: [{op: softmax, in: x, out: y, dim: 1}]\n";

typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    fsim_prediction p;
} predicted;

static predicted of(fsim_arena *a, const char *gpu, const char *dtype, int width)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_binding set[] = {{"N", fsim_printf(a, "%d", width)}, {"dtype", dtype}};
    predicted x = {.g =
                       fsim_graph_parse(a, d, "softmax.yaml", softmax, strlen(softmax), &(fsim_bindings){set, 2, NULL}),
                   .hw = fsim_hw_read(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, gpu))};
    assert_true(x.g && x.hw);
    const fsim_options options = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .brief = true};
    x.p = fsim_predict(x.g, x.hw, &options, a);
    return x;
}

static void text_has_what_is_priced(fsim_arena *a, const predicted *s)
{
    const fsim_plan *best = &s->p.plan[FSIM_STRATEGY_OPTIMAL];
    const fsim_schedule *k = &best->kernel->schedule, *e = &fsim_programs_of(s->g, s->hw, best, 1, a)->schedule;
    if (e->keep != k->keep || e->shared_bytes != k->shared_bytes || e->grid != k->grid || e->passes != k->passes)
        fail_msg("kept %d in %d B, %lld blocks, %d passes; in the text %d in %d B, %lld, %d", k->keep, k->shared_bytes,
                 (long long)k->grid, k->passes, e->keep, e->shared_bytes, (long long)e->grid, e->passes);
}

/* What a band of rows of `width` elements has. A kept row is padded to the steps of 8 threads. */
typedef struct {
    const char *gpu, *dtype;
    int width;
    fsim_keep keep;
    int passes, shared_bytes, blocks_per_sm;
} expected;

/* f32: in registers a row may take 64 of a thread, N <= 512. In shared memory a band takes 32 x 4 N bytes:
 *     H100     227 KiB a block, 2 KiB of them for the reductions: 128 N <= 230,400, N <= 1,800. An SM has 228 KiB, of
 *              which a block takes 1 KiB more than it asks for: two blocks to 128 N <= 115,712, N <= 904, else one
 *     A100     163 KiB: 128 N <= 164,864, N <= 1,288
 * With N = 912 one block an SM takes ceil(512 / 132) = 4 rounds of 114 steps, and is slower than 512 blocks at once,
 * which read the row once for the maximum and the sum, and again for the result: part of it from L2. f16, N = 1,024,
 * H100: the exponentials stay, a float each, 128 of a thread, and 20 registers more: 148, in units of 256 a warp 4,864,
 * floor(65,536 / 4,864) = 13 warps, one block. In shared memory floor(233,472 / (65,536 + 1,024)) = 3.
 */
static const expected cases[] = {
    {"h100-sxm5-80gb", "f32", 896, FSIM_KEEP_IN_SHARED, 1, 114688, 2},
    {"h100-sxm5-80gb", "f32", 904, FSIM_KEEP_IN_SHARED, 1, 115712, 2},
    {"h100-sxm5-80gb", "f32", 912, FSIM_KEEP_NOTHING, 2, 0, 8},
    {"h100-sxm5-80gb", "f32", 1728, FSIM_KEEP_IN_SHARED, 1, 221184, 1},
    {"h100-sxm5-80gb", "f32", 1792, FSIM_KEEP_IN_SHARED, 1, 229376, 1},
    {"h100-sxm5-80gb", "f32", 1793, FSIM_KEEP_IN_SHARED, 1, 230400, 1},
    {"h100-sxm5-80gb", "f32", 1800, FSIM_KEEP_IN_SHARED, 1, 230400, 1},
    {"h100-sxm5-80gb", "f32", 1801, FSIM_KEEP_NOTHING, 2, -1, -1},
    {"h100-sxm5-80gb", "f32", 1856, FSIM_KEEP_NOTHING, 2, -1, -1},
    {"a100-sxm4-80gb", "f32", 1280, FSIM_KEEP_IN_SHARED, 1, 163840, 1},
    {"a100-sxm4-80gb", "f32", 1288, FSIM_KEEP_IN_SHARED, 1, 164864, 1},
    {"a100-sxm4-80gb", "f32", 1289, FSIM_KEEP_NOTHING, 2, -1, -1},
    {"h100-sxm5-80gb", "f16", 1024, FSIM_KEEP_IN_SHARED, 1, 65536, 3},
    {"h100-sxm5-80gb", "f16", 1056, FSIM_KEEP_IN_SHARED, 1, 67584, 3},
};

static void rows_stay_where_they_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const expected *x = &cases[i];
        const predicted s = of(a, x->gpu, x->dtype, x->width);
        const fsim_plan *best = &s.p.plan[FSIM_STRATEGY_OPTIMAL];
        assert_int_equal(best->kernels, 1);
        const fsim_kernel *k = best->kernel;
        if (k->keep != x->keep || k->passes != x->passes ||
            (x->shared_bytes >= 0 && (k->shared_bytes != x->shared_bytes || k->blocks_per_sm != x->blocks_per_sm)))
            fail_msg("%s, %s, N = %d: kept %d, %d passes, %d B, %d blocks an SM", x->gpu, x->dtype, x->width, k->keep,
                     k->passes, k->shared_bytes, k->blocks_per_sm);
        text_has_what_is_priced(a, &s);
        fsim_arena_free(a);
    }
}

/* A step of 64 is at least 3 % more work. */
static void longer_rows_take_no_less(void **state)
{
    (void)state;
    static const char *const gpus[] = {"h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-4090"}, *const dtypes[] = {"f32",
                                                                                                           "f16"};
    enum { STEP = 64, LONGEST = 2048 };
    const double slack = 0.01;
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++)
        for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++) {
            double most = 0, most_eager = 0;
            for (int n = STEP; n <= LONGEST; n += STEP) {
                fsim_arena *a = fsim_arena_new();
                const predicted s = of(a, gpus[g], dtypes[t], n);
                const fsim_plan *best = &s.p.plan[FSIM_STRATEGY_OPTIMAL], *eager = &s.p.plan[FSIM_STRATEGY_EAGER];
                if (best->kernels != 1 || eager->kernels != 1 || best->time_s < most * (1 - slack) ||
                    eager->time_s < most_eager * (1 - slack))
                    fail_msg("%s, %s, N = %d: %d kernels, %.9g s; eager %d, %.9g s; shorter rows %.9g and %.9g s",
                             gpus[g], dtypes[t], n, best->kernels, best->time_s, eager->kernels, eager->time_s, most,
                             most_eager);
                text_has_what_is_priced(a, &s);
                most = best->time_s > most ? best->time_s : most;
                most_eager = eager->time_s > most_eager ? eager->time_s : most_eager;
                fsim_arena_free(a);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_stay_where_they_fit),
                                       cmocka_unit_test(longer_rows_take_no_less)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
