/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in generated kernels: what threads of a row, of a band of rows and of pieces of rows keep, read and leave; names
 * that C does not take; products side by side. Worked by hand. depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "generated.h"

static const row rows[] = {
    /* the most of each of 64 rows and where it is: 32 threads a row, eight rows a block; both are stored */
    {"tensors: {x: {shape: [64, 300], dtype: f32}}\noperators: [{op: max, in: x, out: [y, i], dim: 1}]\noutputs: [y, "
     "i]\n",
     A100,
     1,
     0,
     {{8, 256, 0}},
     0,
     {"FS_ROWS(p, 64, 8, 32)", "float a0 = -FS_INFf;", "fs_i64 a1 = 0;", "const fs_int o3 = p * 300;",
      "FS_WALK(r, 300, 4)", "FS_GET(float, x2, t_x, o3 + r)", "FS_LANES_OF(r, FS_IN_ORDER)",
      "if (x4 > a0 || (x4 == a0 && r < a1)) { a0 = x4; a1 = r; }", "FS_ROW_ARGMAX(f, a0, a1)", "const float m5 = a0;",
      "t_y[p] = (float)m5;", "t_i[p] = (fs_i64)a1;"},
     "scratch"},
    /* and where the least is of columns of whole numbers: ten bands of 32 columns, of 64 elements */
    {"tensors: {x: {shape: [64, 300], dtype: i32}}\noperators: [{op: argmin, in: x, out: y, dim: 0}]\noutputs: [y]\n",
     A100,
     1,
     0,
     {{10, 256, 0}},
     0,
     {"FS_BAND(p, 300, 32, 256)", "FS_BAND_VARIABLE(int, a0, FS_MOSTi)", "FS_BAND_VARIABLE(fs_i64, a1, 0)",
      "FS_BAND_WALK(r, p, 64)", "= t_x[p + r * 300];",
      "if (x2 < FS_BAND_OF(a0) || (x2 == FS_BAND_OF(a0) && r < FS_BAND_OF(a1)))", "FS_BAND_ARGMIN(i, a0, a1)",
      "FS_BAND_SET(fs_i64, m3, FS_BAND_OF(a1))", "FS_BAND_ONCE(p) {", "t_y[p] = (fs_i64)FS_BAND_OF(m3);"},
     NULL},
    /* Columns in bands of 32: 1024 of them in 32 bands, 64 pieces of 64 rows each; of each piece the maximum and the
       sum of exponentials stay, one behind the other for 1024 x 64 pieces; 8 columns a block of the second launch */
    {"tensors: {x: {shape: [4096, 1024], dtype: f16}}\noperators: [{op: softmax, in: x, out: y, dim: 0}]\noutputs: "
     "[y]\n",
     A100,
     2,
     0,
     {{2048, 256, 0}, {128, 256, 0}},
     2 * 2 * 1024 * 64 * 8, /* room for two values of each reduction */
     {"FS_BAND_PIECES(p, 1024, 64, 256, 64)", "FS_BAND_VARIABLE(float, a0, -FS_INFf)",
      "FS_BAND_VARIABLE(float, a1, 0.0f)", "FS_BAND_WALK(r, p, 4096)", "fs_from_f16(t_x[p + r * 1024]);",
      "fs_take_exp_f(&FS_BAND_OF(a0), &FS_BAND_OF(a1), x2);", "FS_BAND_EXP(f, a0, a1)", "FS_BAND_ONCE(p) {",
      "scratch_3[0 * 65536LL + p * 64LL + fs_piece] = (double)FS_BAND_OF(a0);",
      "scratch_3[1 * 65536LL + p * 64LL + fs_piece] = (double)FS_BAND_OF(a1);", "FS_ROWS(p, 1024, 8, 32)",
      "FS_WALK(r, 64, 1)", "(float)scratch_3[1 * 65536LL + p * 64LL + r];", "fs_merge_exp_f(&a3, &a4, x5, x6);",
      "t_y_max[p] = fs_to_f16(m7);", "t_y_sum[p] = fs_to_f16(m8);"},
     NULL},
    /* what is left: a row of 1024 has them beside it */
    {"tensors: {x: {shape: [4096, 1024], dtype: f16}}\noperators: [{op: softmax, in: x, out: y, dim: 0}]\noutputs: "
     "[y]\n",
     A100,
     2,
     1,
     {{2048, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 4194304, 1024, 8)", "const fs_int o1 = o * 1024;", "FS_GET(fs_f16, x0, t_x, o1 + c)",
      "FS_GET(fs_f16, x3, t_y_max, c)", "FS_GET(fs_f16, x7, t_y_sum, c)", "FS_AT(x3, t_y_max, c)",
      "FS_PUT(y10, t_y, o1 + c, fs_to_f16(v9));", "FS_FLUSH(fs_f16, y10, t_y, o1 + c)"},
     NULL},
    /* eight columns of 2^24: 2048 pieces of 8192 rows */
    {"tensors: {x: {shape: [16777216, 8], dtype: f32}}\noperators: [{op: sum, in: x, out: y, dims: [0]}]\noutputs: "
     "[y]\n",
     A100,
     1,
     0,
     {{2048, 256, 0}, {1, 256, 0}},
     2 * 8 * 2048 * 8,
     {"FS_BAND_PIECES(p, 8, 2048, 256, 8192)", "FS_BAND_WALK(r, p, 16777216)", "= t_x[p + r * 8];",
      "FS_BAND_OF(a0) += x1;", "FS_BAND_SUM(f, a0)",
      "scratch_2[0 * 16384LL + p * 2048LL + fs_piece] = ", "FS_ROWS(p, 8, 8, 32)", "FS_WALK(r, 2048, 1)",
      "(float)scratch_2[0 * 16384LL + p * 2048LL + r];", "FS_ROW_SUM(f, a2)", "t_y[p] = (float)m4;"},
     NULL},
    /* A row of 16384 for a block of 1024 threads, kept in registers, 4 elements at once; its mean is by 2^-14; weight
       and bias are the same row, read in the last walk alone */
    {"tensors: {x: {shape: [96, 16384], dtype: f32}, z: {shape: [16384], dtype: f32}}\noperators: [{op: layer_norm, "
     "in: "
     "[x, z, z], out: y}]\noutputs: [y]\n",
     "t4",
     FSIM_STRATEGY_OPTIMAL,
     1,
     0,
     {{96, 1024, 0}},
     0,
     {"FS_ROWS(p, 96, 1, 1024)", "FS_KEPT_IN_REGISTERS(float, kept3, 16384, 4)", "const fs_int o2 = p * 16384;",
      "FS_WALK_KEPT(r, 16384, 4)", "FS_KEEP(kept3, t_x, o2 + r)", "FS_LANES_OF(r, reduction(+ : a0))",
      "= FS_KEPT(kept3, t_x, o2 + r);", "FS_ROW_SUM(f, a0)", "const float m4 = a0 * 6.10351562e-05f;",
      "const float v7 = x6 - m4;", "const float v8 = v7 * v7;", "const float m9 = a5 * 6.10351562e-05f;",
      "= m9 + 1e-05f;", "FS_GET(float, x15, t_z, r)", "FS_PUT(y19, t_y, o2 + r, (float)v18);",
      "FS_FLUSH(float, y19, t_y, o2 + r)"},
     NULL},
    /* rows of 8 across 70: a thread has one, of 1000 x 70; what it keeps is 8 elements, one by one */
    {"tensors: {x: {shape: [1000, 8, 70], dtype: bf16}}\noperators:\n  - {op: mean, in: x, out: m, dims: [1], keepdim: "
     "true}\n  - {op: sub, in: [x, m], out: y}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{274, 256, 0}},
     0,
     {"FS_ROWS(p, 70000, 256, 1)", "FS_KEPT_IN_REGISTERS(fs_bf16, kept3, 8, 1)",
      "const fs_int o2 = (p / 70u) * 560 + p % 70u;", "FS_KEEP_EACH(kept3, t_x, o2 + r * 70)",
      "fs_from_bf16(FS_KEPT(kept3, t_x, o2 + r * 70));", "= a0 * 0.125f;", "t_y[o2 + r * 70] = fs_to_bf16(v6);"},
     NULL},
    /* as it is and turned around: point (o, c) of 768 x 512 reads column o of row c for the one, and its own element
       for the other */
    {"tensors: {x: {shape: [512, 768], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: r}\n  - {op: transpose, "
     "in: r, "
     "out: y, dims: [0, 1]}\noutputs: [r, y]\n",
     A100,
     1,
     0,
     {{384, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 393216, 512, 4)", "const fs_int o1 = o * 512;", "FS_GET(float, x0, t_x, o1 + c)",
      "FS_PUT(y4, t_r, o1 + c, (float)v3);", "= t_x[o + c * 768];", "FS_PUT(y7, t_y, o1 + c, (float)v6);"},
     "FS_STAGE"},
    /* names are of letters, digits and _, each once; what would end a comment does not */
    {"tensors: {\"a/b\": {shape: [8], dtype: f32}, \"a.b\": {shape: [8], dtype: f32}}\noperators:\n  - {op: add, in: "
     "[\"a/b\", \"a.b\"], out: \"y*/\"}\n  - {op: exp, in: \"y*/\", out: z}\noutputs: [z, \"y*/\"]\n",
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"k0_z", "t_a_b", "t_a_b_1", "t_y__", "FS_POINTS(0, o, c, 8, 8, 4)", "FS_AT(x0, t_a_b, c); /* a/b */",
      "FS_AT(x2, t_a_b_1, c); /* a.b */", "= x1 + x3; /* y_/ */", "FS_PUT(y5, t_y__, c, (float)v4); /* y_/ */",
      "FS_FLUSH(float, y5, t_y__, c)"},
     "y*/"},
    /* Two products of x: 2 x 3 tiles of 32 x 32, three operands in three stages of rows of 32 and 8 halves */
    {"tensors: {x: {shape: [64, 128], dtype: f16}, w: {shape: [96, 128], dtype: f16}, v: {shape: [96, 128], dtype: "
     "f16}}\noperators:\n  - {op: linear, in: [x, w], out: l}\n  - {op: linear, in: [x, v], out: m}\n  - {op: silu, "
     "in: l, "
     "out: s}\n  - {op: mul, in: [s, m], out: y}\noutputs: [y]\n",
     "a100-sxm4-40gb",
     FSIM_STRATEGY_MAXIMAL,
     1,
     0,
     {{6, 128, 3 * 3 * 32 * 40 * 2}},
     0,
     {"FS_TILE(f16, 32, 32, 32, 3, 2, 2)", "FS_TILE_PLACE(b, 0, 1, 64, 96, 8)", "FS_TILE_ROWS(f16, left, 1, 8)",
      "FS_TILE_COLUMNS(f16, right, 1, 8)", "FS_TILE_COLUMNS(f16, right2, 1, 8)", "FS_TILE_SUM(f16, sum2)",
      "FS_TILE_STEPS(128)", "FS_TILE_FETCH(f16, left, i, r, t_x, i * 128 + r)",
      "FS_TILE_FETCH(f16, right, i, r, t_w, i * 128 + r)", "FS_TILE_FETCH(f16, right2, i, r, t_v, i * 128 + r)",
      "FS_TILE_COMMIT", "FS_TILE_MULTIPLY(f16, sum, left, right)", "FS_TILE_MULTIPLY(f16, sum2, left, right2)",
      "const fs_int o5 = o * 96;", "FS_TILE_SUMMED(sum); /* l */", "FS_TILE_SUMMED(sum2); /* m */"},
     "FS_TILE_STORE"},
};

static void rows_by_hand(void **unused)
{
    (void)unused;
    check_rows(rows, sizeof rows / sizeof *rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
