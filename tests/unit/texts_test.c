/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of kernels: the lines that say how many blocks, threads, rows and elements there are, and where a tile lies,
 * worked by hand; with the launches, and scratch memory between them. depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emit/generate.h"
#include "predict.h"
#include <string.h>

enum { LINES = 9, LAUNCHES = 2 };

#define ATTENTION                                                                                                      \
    "operators:\n  - {op: transpose, in: [k], out: t, dims: [1, 2]}\n  - {op: bmm, in: [q, t], out: s}\n"              \
    "  - {op: softmax, in: [s], out: p, dim: 2}\n  - {op: bmm, in: [p, v], out: y}\noutputs: [y]\n"

static const struct {
    const char *text, *gpu;
    struct {
        int64_t grid;
        int block, shared_bytes;
    } launch[LAUNCHES];
    int64_t scratch_bytes;
    int vector, sm;
    const char *line[LINES], *none; /* none: not in the text; NULL */
} cases[] = {
    /* 2^24 elements, four a thread, 256 threads a block */
    {"tensors: {x: {shape: [16777216], dtype: f32}}\noperators: [{op: relu, in: [x], out: y}]\noutputs: [y]\n",
     "a100-sxm4-40gb",
     {{16384, 256, 0}},
     0,
     4,
     0,
     {"FS_POINTS(0, o, c, 16777216, 16777216, 4)"},
     "FS_WIDE"},
    /* few enough for an element a thread: 16 blocks */
    {"tensors: {x: {shape: [4096], dtype: f32}}\noperators: [{op: relu, in: [x], out: y}]\noutputs: [y]\n",
     "a100-sxm4-40gb",
     {{16, 256, 0}},
     0,
     1,
     0,
     {"FS_POINTS(0, o, c, 4096, 4096, 1)"},
     "FS_WIDE"},
    /* 2^32 elements have numbers of more than 31 bits */
    {"tensors: {x: {shape: [65536, 65536], dtype: f32}}\noperators: [{op: relu, in: [x], out: y}]\noutputs: [y]\n",
     "a100-sxm4-40gb",
     {{4194304, 256, 0}},
     0,
     4,
     0,
     {"FS_POINTS(0, o, c, 4294967296, 4294967296, 4)", "FS_WIDE"},
     NULL},
    /* and 2^31 - 2^20 have not; beyond it is left for what is added to them */
    {"tensors: {x: {shape: [2047, 1048576], dtype: f32}}\noperators: [{op: relu, in: [x], out: y}]\noutputs: [y]\n",
     "a100-sxm4-40gb",
     {{2047 * 1024, 256, 0}},
     0,
     4,
     0,
     {"FS_POINTS(0, o, c, 2146435072, 2146435072, 4)"},
     "FS_WIDE"},
    {"tensors: {x: {shape: [2047, 1048580], dtype: f32}}\noperators: [{op: relu, in: [x], out: y}]\noutputs: [y]\n",
     "a100-sxm4-40gb",
     {{2047 * 1024 + 8, 256, 0}},
     0,
     4,
     0,
     {"FS_POINTS(0, o, c, 2146443260, 2146443260, 4)", "FS_WIDE"},
     NULL},
    /* bytes have 64 steps in a stage, and 16 to fill up; their tensor units come with 8.9 */
    {"tensors: {x: {shape: [1024, 4096], dtype: f8e4m3}, w: {shape: [1024, 4096], dtype: f8e4m3}}\noperators: [{op: "
     "linear, in: [x, w], out: l}, {op: relu, in: l, out: y}]\noutputs: [y]\n",
     "l4",
     {{8 * 8 * 2, 256, 3 * 256 * (64 + 16)}, {2048, 256, 0}},
     2 * 1024 * 1024 * 4,
     2,
     89,
     {"FS_TILE(f8e4m3, 128, 128, 64, 3, 2, 4)"},
     NULL},
    /* the same of integers, whose tensor units came with 8.0, with results that are four times as many bytes as their
       scaled ones: one kernel */
    {"tensors: {x: {shape: [8192, 512], dtype: i8}, w: {shape: [8192, 512], dtype: i8}}\noperators: [{op: linear, in: "
     "[x, w], out: l, dtype: i32}, {op: relu, in: l, out: r}, {op: cast, in: r, out: y, dtype: i8}]\noutputs: [y]\n",
     "l4",
     {{64 * 64, 256, 3 * 256 * (64 + 16)}},
     0,
     2,
     80,
     {"FS_TILE(i8, 128, 128, 64, 3, 2, 4)", "= FS_TILE_SUMMED(sum);"},
     NULL},
    /* rows of 4098: two of them at once, not four; rows of 4097: one */
    {"tensors: {x: {shape: [8192, 4098], dtype: f32}, z: {shape: [4098], dtype: f32}}\noperators: [{op: add, in: [x, "
     "z], out: y}]\noutputs: [y]\n",
     "a100-sxm4-40gb",
     {{65568, 256, 0}},
     0,
     2,
     0,
     {"FS_POINTS(0, o, c, 33570816, 4098, 2)"},
     NULL},
    {"tensors: {x: {shape: [8192, 4097], dtype: f16}, z: {shape: [4097], dtype: f16}}\noperators: [{op: add, in: [x, "
     "z], out: y}]\noutputs: [y]\n",
     "a100-sxm4-40gb",
     {{131104, 256, 0}},
     0,
     1,
     0,
     {"FS_POINTS(0, o, c, 33562624, 4097, 1)"},
     NULL},
    /* turned around in tiles of 32 x 32: 256 x 256 of them */
    {"tensors: {x: {shape: [8192, 8192], dtype: f32}}\noperators: [{op: transpose, in: [x], out: t, dims: [0, 1]}, "
     "{op: relu, in: t, out: y}]\noutputs: [y]\n",
     "a100-sxm4-40gb",
     {{65536, 256, 0}},
     0,
     4,
     0,
     {"FS_TILES(0, o, y, c, 1, 8192, 8192)", "FS_TILE_BARRIER"},
     NULL},
    /* 16 rows of 30 a block, 16 threads each, two elements at once: kept, and walked three times */
    {"tensors: {x: {shape: [4096, 30], dtype: f32}}\noperators: [{op: softmax, in: [x], out: y, dim: 1}]\noutputs: "
     "[y]\n",
     "a100-sxm4-40gb",
     {{256, 256, 0}},
     0,
     2,
     0,
     {"FS_ROWS(p, 4096, 16, 16)", "FS_KEPT_IN_REGISTERS(float, kept3, 30, 2)", "const fs_int o2 = p * 30;",
      "FS_WALK_KEPT(r, 30, 2)", "FS_ROW_MAX(f, a0)", "FS_ROW_SUM(f, a5)"},
     NULL},
    /* 256 blocks of 1024 threads share each of four rows of 2^24, 65536 elements each; a warp a row adds their 256 sums
     */
    {"tensors: {x: {shape: [4, 16777216], dtype: f32}}\noperators: [{op: sum, in: [x], out: y, dims: [1]}]\noutputs: "
     "[y]\n",
     "a100-sxm4-40gb",
     {{1024, 1024, 0}, {4, 32, 0}},
     16384,
     4,
     0,
     {"FS_PIECES(p, 4, 256, 1024, 65536)", "FS_WALK(r, 16777216, 4)", "FS_ROWS(p, 4, 1, 32)", "FS_WALK(r, 256, 1)"},
     NULL},
    /* 8 x 8 tiles of 128 x 128, 8 blocks for the sum of each, 512 steps each; three stages of 256 rows of 32 halves,
     * and 8 to fill up; sums of 4 bytes between both launches, of which the second has two results a thread */
    {"tensors: {x: {shape: [1024, 4096], dtype: f16}, w: {shape: [1024, 4096], dtype: f16}, b: {shape: [1024], dtype: "
     "f16}}\noperators: [{op: linear, in: [x, w], out: l}, "
     "{op: add, in: [l, b], out: a}, {op: relu, in: a, out: y}]\noutputs: [y]\n",
     "a100-sxm4-40gb",
     {{8 * 8 * 8, 256, 3 * 256 * (32 + 8) * 2}, {2048, 256, 0}},
     8 * 1024 * 1024 * 4,
     2,
     80,
     {"FS_TILE(f16, 128, 128, 32, 3, 2, 4)", "FS_TILE_PLACE_PART(b, part, 8, 1, 1024, 1024, 8)",
      "FS_TILE_STEPS_OF(part, 512, 4096)", "FS_TILE_FETCH(f16, left, i, r, t_x, i * 4096 + r)",
      "FS_TILE_FETCH(f16, right, i, r, t_w, i * 4096 + r)",
      "FS_PUT(part_sum, scratch_4, row + c, FS_TILE_SUMMED(sum));"},
     NULL},
    /* 16 x 8 tiles of 64 x 128 in FP32, eight steps in two stages, each row filled up by four */
    {"tensors: {x: {shape: [1024, 1024], dtype: f32}, w: {shape: [1024, 1024], dtype: f32}}\noperators: [{op: linear, "
     "in: [x, w], out: l}, {op: relu, in: l, out: y}]\noutputs: [y]\n",
     "p4",
     {{16 * 8, 256, 2 * 8 * (64 + 4 + 128 + 4) * 4}},
     0,
     4,
     0,
     {"FS_TILE(f, 64, 128, 8, 2, 16, 16)", "FS_TILE_PLACE(b, 0, 1, 1024, 1024, 8)", "FS_TILE_STEPS(1024)",
      "FS_TILE_LOAD_K(left, i, r)"},
     NULL},
    /* 64 heads of 8 tiles of 128 rows; the tile of q holds 128 rows of 64 halves and 8 to fill up, and those of k and v
       128 columns, each behind the one before */
    {"tensors: {q: {shape: [64, 1024, 64], dtype: f16}, k: {shape: [64, 1024, 64], dtype: f16}, v: {shape: [64, 1024, "
     "64], dtype: f16}}\noperators:\n"
     "  - {op: transpose, in: [k], out: t, dims: [1, 2]}\n  - {op: bmm, in: [q, t], out: s}\n  - {op: softmax, in: "
     "[s], out: p, dim: 2}\n"
     "  - {op: bmm, in: [p, v], out: y}\noutputs: [y]\n",
     "a100-sxm4-40gb",
     {{64 * 8, 256, 3 * 128 * 72 * 2}},
     0,
     4,
     80,
     {"FS_FLASH(128, 128, 1024, 1024, 1, FS_SAME_ROW, 0)", "FS_FLASH_MMA(float, 64, 1)",
      "FS_FLASH_TILE(fs_f16, float, rows_tile, 0, 9216, p, 72, 72, k, 1, 1)",
      "FS_FLASH_TILE(fs_f16, float, first_tile, 18432, 8192, c, 72, 1, k, 1, 128)",
      "FS_FLASH_TILE(fs_f16, float, second_tile, 36864, 8192, c, 72, 64, j, 1, 1)",
      "FS_FLASH_STATE(float, s0, -FS_INFf) /* p/max */", "FS_FLASH_STATE(float, s1, 0.0f) /* p/sum */",
      "FS_FLASH_COPY_ROWS(f16, rows_tile, p, FS_SAME_ROW, k, 0, 64, 64, t_q, p * 64 + k) /* q */"},
     NULL},
    /* Decoding: 16 rows of each of 8 heads are a tile. 26 blocks share 8192 columns, 320 each, of 64 at a time; each of
     * four warps has some of them, and they meet. A block leaves 16 x 128 sums, and behind those of all a maximum and a
     * sum for each of 128 rows, which a block a row puts together */
    {"tensors: {q: {shape: [8, 16, 128], dtype: f16}, k: {shape: [8, 8192, 128], dtype: f16}, v: {shape: [8, 8192, "
     "128], dtype: f16}}\n" ATTENTION,
     "a100-sxm4-40gb",
     {{8 * 26, 128, (16 + 2 * 64) * 136 * 2}, {128, 128, 0}},
     (26 * 128 * 128 + 2 * 26 * 128) * 4,
     4,
     80,
     {"FS_FLASH(16, 64, 16, 8192, 26, FS_SAME_ROW, 0)",
      "FS_FLASH_TILE(fs_f16, float, first_tile, 4352, 8192, c, 136, 1, k, 1, 64)",
      "FS_FLASH_TILE(fs_f16, float, second_tile, 21760, 8192, c, 136, 128, j, 1, 1)",
      "const fs_int piece = fs_chunk / 1, from = piece * 320, stop = from + 320 < 8192 ? from + 320 : 8192;",
      "for (int i = 0; i < 4; i++)", "scratch_4[425984 + piece * 128 + p] = a9; /* p/max */",
      "scratch_4[429312 + piece * 128 + p] = a10; /* p/sum */", "FS_ROWS(p, 128, 1, 128)",
      "sum += scratch_4[(i * 128 + p) * 128 + j] * fs_flash_exp2(fs_flash_base2(scratch_4[425984 + i * 128 + p]) - "
      "base);"},
     NULL},
    /* Without tensor units: tiles of 64 x 32, each row of 64 floats filled up by four, and the scores between them */
    {"tensors: {q: {shape: [64, 1024, 64], dtype: f32}, k: {shape: [64, 1024, 64], dtype: f32}, v: {shape: [64, 1024, "
     "64], dtype: f32}}\n" ATTENTION,
     "p4",
     {{64 * 16, 128, (64 * 68 + 64 * 36 + 32 * 68 + 64 * 36) * 4}},
     0,
     4,
     0,
     {"FS_FLASH(64, 32, 1024, 1024, 1, FS_SAME_ROW, 0)",
      "FS_FLASH_TILE(float, float, rows_tile, 0, 4352, p, 68, 68, k, 1, 1)",
      "FS_FLASH_TILE(float, float, first_tile, 17408, 2048, c, 1, 1, k, 36, 32)",
      "FS_FLASH_TILE(float, float, second_tile, 26624, 2048, c, 68, 64, j, 1, 1)",
      "FS_FLASH_SCORES(float, scores, 35328, 36)",
      "FS_FLASH_FILL_ROWS(rows_tile, p, FS_SAME_ROW, k, 0, 64, 64) /* q */",
      "FS_FLASH_FIRST_SIMT(float, rows_tile, 0, first_tile, 36, 64)",
      "FS_FLASH_SECOND_SIMT(float, scores, second_tile, 68)"},
     "FS_FLASH_WAIT"},
    /* Groups of four warps have k and v twice, in lines as the unit reads them, and copy ahead; a KiB aligns them */
    {"tensors: {q: {shape: [64, 1024, 64], dtype: f16}, k: {shape: [64, 1024, 64], dtype: f16}, v: {shape: [64, 1024, "
     "64], dtype: f16}}\n" ATTENTION,
     "h100-sxm5-80gb",
     {{64 * 8, 256, (128 + 4 * 64) * 64 * 2 + 1024}},
     0,
     4,
     80,
     {"FS_FLASH(128, 64, 1024, 1024, 1, FS_SAME_ROW, 0)", "FS_FLASH_GROUPS(float, 64)",
      "FS_FLASH_LINES(fs_f16, float, rows_tile, 0, 8192, 1, p, 64, k, 1)",
      "FS_FLASH_LINES(fs_f16, float, first_tile, 16384, 4096, 2, c, 1, k, 64)",
      "FS_FLASH_LINES(fs_f16, float, second_tile, 32768, 4096, 2, c, 64, j, 1)",
      "FS_FLASH_FIRST_GROUPS(f16, rows_tile, first_tile, 1, 64)", "FS_FLASH_SECOND_GROUPS(f16, second_tile, 0)"},
     "FS_FLASH_WAIT"},
};

static void lines_by_hand(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 100000};
        const fsim_graph *g = fsim_graph_parse(a, d, "texts.yaml", cases[i].text, strlen(cases[i].text), NULL);
        const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", cases[i].gpu));
        assert_true(g && hw);
        const fsim_prediction p = fsim_predict(g, hw, &options, a);
        const fsim_plan *plan = &p.plan[FSIM_STRATEGY_OPTIMAL];
        assert_int_equal(plan->kernels, 1);
        const fsim_program *w = fsim_programs_of(p.graph, hw, plan, 1, a);
        int64_t scratch = 0;
        for (int k = 0; k < w->parameters; k++)
            scratch += w->parameter[k].tensor < 0 ? w->parameter[k].bytes : 0;
        assert_int_equal(scratch, cases[i].scratch_bytes);
        assert_int_equal(w->launches, cases[i].launch[1].grid ? 2 : 1);
        for (int k = 0; k < w->launches; k++) {
            assert_int_equal(w->launch[k].grid, cases[i].launch[k].grid);
            assert_int_equal(w->launch[k].block, cases[i].launch[k].block);
            assert_int_equal(w->launch[k].shared_bytes, cases[i].launch[k].shared_bytes);
        }
        assert_int_equal(w->schedule.vector, cases[i].vector);
        /* a tile that turns something around is declared in the text */
        assert_int_equal(w->schedule.shared_bytes,
                         cases[i].launch[0].shared_bytes + (strstr(w->source, "FS_TILES(") ? 32 * 33 * 4 : 0));
        assert_int_equal(w->sm, cases[i].sm);
        for (int k = 0; k < LINES && cases[i].line[k]; k++)
            if (!strstr(w->source, cases[i].line[k]))
                fail_msg("case %zu lacks '%s':\n%s", i, cases[i].line[k], w->source);
        assert_true(!cases[i].none || !strstr(w->source, cases[i].none));
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
