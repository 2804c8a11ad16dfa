/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on tensor units, worked by hand from a kernel's tile: what its products, exponentials and steps take, on
 * GPUs of three designs, and what rows that are shared by blocks add; where the result of a product flows to. depends:
 * compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fusion/walks.h"
#include "plan/price/price.h"
#include "predict.h"
#include <stdio.h>
#include <string.h>

/* Of the data sheet's rate tensor units reach `share` with tiles of 128 rows; of the exponentials' time `turns` is
 * added, in a norm. A step of 128 x 64 takes so many cycles at least. */
typedef struct {
    const char *gpu;
    double share, turns, norm, cycles;
    int batch, width, depth;
} attention_case;

static const attention_case cases[] = {
    /* steps are what it waits for, of blocks that share rows too */
    {"a100-sxm4-40gb", 0.9, 1.3, 1, 4800, 2, 128, 64},
    {"a100-sxm4-40gb", 0.9, 1.3, 1, 4800, 1, 8192, 64},
    {"a100-sxm4-40gb", 0.9, 1.3, 1, 4800, 2, 1024, 256},
    {"a100-sxm4-40gb", 0.9, 1.3, 1, 4800, 128, 4096, 256},
    {"h100-sxm5-80gb", 0.93, 1.5, 3, 4800, 2, 128, 64},
    {"h100-sxm5-80gb", 0.93, 1.5, 3, 2250, 128, 1024, 128},
    /* products, and exponentials beside them */
    {"h100-sxm5-80gb", 0.93, 1.5, 3, 2250, 128, 1024, 256},
    {"a100-sxm4-40gb", 0.9, 1.3, 1, 4800, 2, 512, 256},
    {"b200", 0.97, 0.3, 3, 4800, 2, 128, 64},
    {"b200", 0.97, 0.3, 3, 4800, 2, 1024, 192},
    {"b200", 0.97, 0.3, 3, 4800, 8, 256, 256},
};
enum { CASES = sizeof cases / sizeof *cases };

static void steps_by_hand(void **unused)
{
    (void)unused;
    int met = 0;
    for (int i = 0; i < CASES; i++) {
        const attention_case *w = &cases[i];
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text = fsim_printf(
            a,
            "tensors: {q: {shape: [%d, 128, %d], dtype: f16}, k: {shape: [%d, %d, %d], dtype: f16}, v: {shape: [%d, "
            "%d, %d], dtype: f16}}\noperators:\n  - {op: transpose, in: k, out: t, dims: [1, 2]}\n"
            "  - {op: matmul, in: [q, t], out: s}\n  - {op: softmax, in: s, out: p, dim: 2}\n"
            "  - {op: matmul, in: [p, v], out: y}\noutputs: [y]\n",
            w->batch, w->depth, w->batch, w->width, w->depth, w->batch, w->width, w->depth);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000};
        const fsim_graph *g = fsim_graph_parse(a, d, "chains.yaml", text, strlen(text), NULL);
        const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", w->gpu));
        assert_true(g && hw);
        fsim_problem p = fsim_problem_of(g, hw, &options, a);
        int *node = fsim_new(a, int, g->nodes);
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        const fsim_kernel *k = fsim_kernel_alone(&p, node, g->nodes, a);
        assert_true(k && k->template == FSIM_CHAINED_CONTRACTION);
        const double sms = fsim_hw_get(hw, FSIM_HW_SMS), clock = fsim_hw_get(hw, FSIM_HW_SM_CLOCK), m = k->tile_m,
                     n = k->tile_n, steps = ceil((double)w->width / k->split_k / n),
                     rounds = ceil((double)k->grid / sms),
                     resident = fmin(rounds, fmax(1, fsim_blocks_per_sm(hw, k->block, k->registers, k->shared_bytes))),
                     busy = fmin(1, resident * k->block / 32 / 4),
                     rate = fsim_hw_peak(hw, FSIM_HW_TENSOR_F16) * w->share / sms *
                            fmin(busy, 1 / (1 + 0.33 * fmax(0, 128 / m - 1)));
        const double products = 4 * m * steps * n * w->depth / rate, start = 2 * m * n * 240 / rate,
                     special = w->turns * 128. * w->batch * (w->width + (w->width > 256 ? w->depth : w->width)) /
                               (double)k->grid / (fsim_hw_get(hw, FSIM_HW_SPECIAL_RATE) * clock),
                     one = pow(pow(products, w->norm) + pow(special, w->norm), 1 / w->norm),
                     least = steps * w->cycles * m * n / (128 * 64) / clock,
                     wanted = rounds * (fmax(one, least) + start);
        if (!(fabs(k->unit[FSIM_COMPUTE] - wanted) <= 1e-9 * wanted))
            fail_msg("%s, %d x %d x %d: %g x %g in %g blocks take %.9g ns, by hand %.9g", w->gpu, w->batch, w->width,
                     w->depth, m, n, (double)k->grid, k->unit[FSIM_COMPUTE] * 1e9, wanted * 1e9);
        met += fmax(one, least) == one;
        fsim_arena_free(a);
    }
    assert_true(met >= 3 && met <= CASES - 3); /* either counts in some */
}

/* h has four readers: a product, and one that no kernel inlines, are not followed, but those behind them are, and the
 * product of both. The primitives are matmul 0, matmul 1, custom 2, exp 3, sin 4, matmul 5; a walk as far as 3 does not
 * have the sine, but each product that reads one of its primitives. */
static void all_readers_are_followed(void **unused)
{
    (void)unused;
    static const char text[] =
        "tensors: {x: {shape: [64, 64], dtype: f16}}\noperators:\n  - {op: matmul, in: [x, x], out: h}\n"
        "  - {op: matmul, in: [h, x], out: p}\n  - {op: custom, in: h, out: c}\n  - {op: exp, in: h, out: e}\n"
        "  - {op: sin, in: h, out: s}\n  - {op: matmul, in: [e, s], out: y}\noutputs: [p, c, y]\n";
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "readers.yaml", text, strlen(text), NULL);
    assert_true(g && g->nodes == 6);
    fsim_flow f;
    fsim_flow_from(g, 0, g->nodes, &f);
    assert_true(f.count == 2 && f.node[0] == 3 && f.node[1] == 4 && !f.more);
    assert_true(f.contractions == 2 && f.contraction[0] == 1 && f.contraction[1] == 5);
    assert_true(fsim_place_in_flow(&f, 4) == 1 && fsim_place_in_flow(&f, 1) == -1 && fsim_place_in_flow(&f, 5) == -1);
    fsim_flow_from(g, 0, 3, &f);
    assert_true(f.count == 1 && f.node[0] == 3 && f.contractions == 2);
    fsim_flow_from(g, 1, g->nodes, &f);
    assert_true(f.count == 0 && f.contractions == 0);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_by_hand), cmocka_unit_test(all_readers_are_followed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
