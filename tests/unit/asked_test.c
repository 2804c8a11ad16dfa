/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels ask L2 for, worked by hand on a GPU whose numbers are round (tests/hw/toy.yaml): readers that no map
 * describes, and what is read beside them. depends: compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/price/price.h"
#include "predict.h"
#include <string.h>

#define X(shape)        "tensors: {x: {shape: " shape ", dtype: f32}}\noperators:\n"
#define XZ(x, z)        "tensors: {x: {shape: " x ", dtype: f32}, z: {shape: " z ", dtype: f32}}\noperators:\n"
#define TABLE(shape, i) "tensors: {t: {shape: " shape ", dtype: f32}, i: {shape: [" i "], dtype: i64}}\noperators:\n"
#define WRITE(how)                                                                                                     \
    "tensors: {x: {shape: [64, 64], dtype: f32}, i: {shape: [8], dtype: i64}, v: {shape: [8, 64], dtype: f32}}\n"      \
    "operators:\n  - {op: index_put, in: [x, i, v], out: y" how "}\noutputs: [y]\n"
#define EMBEDDING(of) "  - {op: embedding, in: [i, " of "], out: y}\noutputs: [y]\n"
#define MAX_POOL(of)  "  - {op: max_pool2d, in: " of ", out: y, kernel_size: 3, stride: 2, padding: 1}\noutputs: [y]\n"

/* What is asked of L2 by readers that no map describes, and beside them. */
static const struct {
    const char *what, *text;
    double read, l2, coalescing; /* bytes of DRAM; bytes of L2, in both directions */
} asked[] = {
    /* A sector for each of 1024 rows of 4 bytes, of which the table has only half; the index, 8 KiB; 4 KiB written */
    {"rows of 4 bytes", TABLE("[4096, 1]", "1024") EMBEDDING("t"), 8192 + 16384, 8192 + 32768 + 4096, 0.125},
    {"rows of 4 bytes, computed", TABLE("[4096, 1]", "1024") "  - {op: exp, in: t, out: e}\n" EMBEDDING("e"),
     8192 + 16384, 8192 + 32768 + 4096, 0.125},
    /* Two sectors for 36 bytes; the nine warps ask for 16 sectors of the index */
    {"rows of 36 bytes", TABLE("[4096, 9]", "32") EMBEDDING("t"), 256 + 32 * 64, 16 * 32 + 32 * 64 + 32 * 36, 36. / 64},
    /* As much for 16 rows of 256 bytes: each sector once; an index for each warp */
    {"rows of 256 bytes", TABLE("[4096, 64]", "16") EMBEDDING("t"), 128 + 4096, 32 * 32 + 4096 + 4096, 1},
    /* Beside the gather the kernel reads the table in its order: so much for each, and once from DRAM */
    {"rows beside the table",
     TABLE("[4096, 1]", "4096") "  - {op: embedding, in: [i, t], out: g}\n  - {op: add, in: [g, t], out: y}\n"
                                "outputs: [y]\n",
     32768 + 16384, 32768 + 131072 + 16384 + 16384, (16384. + 16384) / (131072 + 16384)},
    /* A block has the 16 x 16 results of a plane, which reach over 33 x 33 elements */
    {"windows", X("[2, 4, 32, 32]") MAX_POOL("x"), 32768, 32768 * (33. / 32) * (33. / 32) + 8192, 1},
    {"windows, computed", X("[2, 4, 32, 32]") "  - {op: relu, in: x, out: r}\n" MAX_POOL("r"), 32768,
     32768 * (33. / 32) * (33. / 32) + 8192, 1},
    {"windows side by side",
     X("[1, 4, 256]") "  - {op: avg_pool1d, in: x, out: y, kernel_size: 4, stride: 4}\noutputs: [y]\n", 4096,
     4096 + 1024, 1},
    /* A block has half a row of 512 results: 260 elements of each of three rows, which are two apart */
    {"windows with gaps",
     X("[1, 1, 8, 516]") "  - {op: max_pool2d, in: x, out: y, kernel_size: 3, stride: 1, dilation: 2}\noutputs: [y]\n",
     8 * 516 * 4, 8 * 516 * 4 * (260. / 256) * 3 + 4 * 512 * 4, 1},
    /* The first element of each row is asked for by each of its four warps, and lies where the windows read */
    {"windows beside a column",
     X("[1, 64, 512]") "  - {op: max_pool1d, in: x, out: m, kernel_size: 4, stride: 4}\n"
                       "  - {op: slice, in: x, out: f, dim: 2, start: 0, end: 1}\n  - {op: sub, in: [m, f], out: y}\n"
                       "outputs: [y]\n",
     131072, 131072 + 64 * 4 * 32 + 32768, 1},
    /* Once for the sum and for what is taken from it: they are the same element of the same thread */
    {"running sums without their own",
     X("[64, 128]") "  - {op: cumsum, in: x, out: c, dim: 1}\n  - {op: sub, in: [c, x], out: y}\noutputs: [y]\n", 32768,
     65536, 1},
    {"running sums from the first on",
     X("[64, 128]") "  - {op: cumsum, in: x, out: c, dim: 1}\n  - {op: slice, in: x, out: f, dim: 1, start: 0, end: "
                    "1}\n"
                    "  - {op: sub, in: [c, f], out: y}\noutputs: [y]\n",
     32768, 32768 + 64 * 4 * 32 + 32768, 1},
    /* 8 rows of 256 bytes are written, and no others read; or added to, which L2 does */
    {"rows put", WRITE(""), 64 + 2048, 64 + 2048 + 2048, 1},
    {"rows added", WRITE(", accumulate: true"), 64 + 2048 + 2048, 64 + 2048 + 2048 + 2048, 1},
    {"halves side by side", XZ("[64, 32]", "[64, 32]") "  - {op: concat, in: [x, z], out: y, dim: 1}\noutputs: [y]\n",
     16384, 32768, 1},
    /* 31 rows are copied; a row of zeros is written, too */
    {"padded", X("[31, 32]") "  - {op: pad, in: x, out: y, padding: [0, 0, 0, 1]}\noutputs: [y]\n", 31 * 128,
     31 * 128 + 32 * 128, 1},
};

static void l2_is_asked_by_hand(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000};
        const fsim_graph *g = fsim_graph_parse(a, d, "asked.yaml", asked[i].text, strlen(asked[i].text), NULL);
        const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/tests/hw/toy.yaml");
        assert_true(g && hw);
        fsim_problem p = fsim_problem_of(g, hw, &options, a);
        int *node = fsim_new(a, int, g->nodes);
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        const fsim_kernel *k = fsim_kernel_alone(&p, node, g->nodes, a);
        assert_non_null(k);
        if ((double)k->dram_read_bytes != asked[i].read || !(fabs(k->coalescing - asked[i].coalescing) < 1e-9) ||
            fabs(k->l2_bytes - asked[i].l2) > 1e-9 * asked[i].l2)
            fail_msg("%s: %lld bytes are read, by hand %.0f; L2 is asked for %.10g, by hand %.10g; coalescing %.6g, by "
                     "hand %.6g",
                     asked[i].what, (long long)k->dram_read_bytes, asked[i].read, k->l2_bytes, asked[i].l2,
                     k->coalescing, asked[i].coalescing);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(l2_is_asked_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
