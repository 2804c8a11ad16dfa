/* SPDX-License-Identifier: Apache-2.0 */
/* Where generated kernels read, write and leave elements: expressions of loop variables that are worked by hand from
 * the shapes, for the kinds of kernels whose text names their places one by one. depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "generated.h"

/* x: 6 planes of 10 rows of 4; v: 6 planes of 3 rows of 4, whose row r goes where i[r] says, or each element where
 * j says */
#define PLANES                                                                                                         \
    "tensors: {x: {shape: [6, 10, 4], dtype: f32}, i: {shape: [3], dtype: i64}, v: {shape: [6, 3, 4], dtype: f32}, "   \
    "j: "                                                                                                              \
    "{shape: [6, 3, 4], dtype: i64}}\noperators:\n"

/* windows of 2 x 3, four rows and two columns apart, from one row and column in front of 5 x 6; one row and two columns
 * further each: 3 x 2 of them */
#define POOLED                                                                                                         \
    "tensors: {x: {shape: [2, 5, 6], dtype: f32}, g: {shape: [2, 3, 2], dtype: f32}}\noperators:\n  - {op: "           \
    "max_pool2d, in: x, out: z, kernel: [2, 3], stride: [1, 2], padding: [1, 1], dilation: [4, 2]}\n  - {op: "         \
    "max_pool_grad, in: [x, z, g], out: y, output_size: [5, 6], kernel: [2, 3], stride: [1, 2], padding: [1, 1], "     \
    "dilation: [4, 2]}\noutputs: [y]\n"
#define BETWEEN(what)                                                                                                  \
    "tensors: {x: {shape: [2, 5, 6], dtype: f32}}\noperators: [{" what ", in: x, out: y}]\noutputs: [y]\n"

static const row rows[] = {
    /* in place: one launch, 72 elements; element c is of plane c / 12, which has 40 elements in x, of row c / 4 % 3,
       whose index is one of three, and of column c % 4 */
    {PLANES "  - {op: index_add, in: [x, i, v], out: y, dim: 1}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 72, 72, 1)", "const fs_i64 x0 = t_i[c / 4u % 3u];", "const float x1 = t_v[c];",
      "const fs_int e2 = c / 12 * 40 + (fs_int)x0 * 4 + c % 4;", "fs_add_f32(&t_y[e2], x1);"},
     NULL},
    /* into a copy: 240 elements are copied first */
    {PLANES "  - {op: index_copy, in: [x, i, v], out: y, dim: 1, inplace: false}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}, {1, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 240, 240, 1)", "const float x0 = t_x[c];", "t_y[c] = (float)x0;",
      "FS_POINTS(0, o, c, 72, 72, 1)", "= t_i[c / 4u % 3u];", "= t_v[c];", "= c / 12 * 40 + (fs_int)x1 * 4 + c % 4;",
      "t_y[e3] = (float)x2;"},
     "fs_add"},
    {PLANES "  - {op: scatter_add, in: [x, j, v], out: y, dim: 1}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}, {1, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 240, 240, 1)", "FS_POINTS(0, o, c, 72, 72, 1)", "= t_j[c];", "= t_v[c];",
      "= c / 12 * 40 + (fs_int)x1 * 4 + c % 4;", "fs_add_f32(&t_y["},
     NULL},
    /* along the last dimension: nothing lies below an element; a row of x has 4, one of v has 3 */
    {"tensors: {x: {shape: [300, 4], dtype: f16}, j: {shape: [300, 3], dtype: i32}, v: {shape: [300, 3], dtype: f16}}\n"
     "operators: [{op: scatter, in: [x, j, v], out: y, dim: 1}]\noutputs: [y]\n",
     A100,
     1,
     0,
     {{5, 256, 0}, {4, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 1200, 1200, 1)", "FS_POINTS(0, o, c, 900, 900, 1)", "const int x1 = t_j[c];",
      "fs_from_f16(t_v[c]);", "const fs_int e3 = c / 3 * 4 + (fs_int)x1 * 1 + c % 1;", "t_y[e3] = fs_to_f16(x2);"},
     NULL},
    /* Windows in tiles: 64 filters of 16 x 3 x 5 weights by 2 x 7 x 16 results; step k is channel k / 15, row k / 5 % 3
       and column k % 5 of a window, two apart; result c is of image c / 112, row c / 16 % 7, two apart, column c % 16
     */
    {"tensors: {x: {shape: [2, 16, 14, 20], dtype: f16}, w: {shape: [64, 16, 3, 5], dtype: f16}, b: {shape: [64, 1, "
     "1], "
     "dtype: f16}}\noperators:\n  - {op: conv2d, in: [x, w], out: l, stride: [2, 1], padding: [1, 2], dilation: [1, "
     "2]}\n  - {op: add, in: [l, b], out: y}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{2 * 7, 128, 3 * 64 * 40 * 2}},
     0,
     {"FS_TILE(f16, 32, 32, 32, 3, 2, 2)", "FS_TILE_PLACE(b, 0, 1, 64, 224, 8)", "FS_TILE_STEPS(240)",
      "t_w, i * 240 + r)", "const fs_int q1 = k / 15;", "const fs_int k4 = k / 5 % 3 - 1;",
      "const fs_int k5 = k % 5 * 2 - 2;", "const fs_int q2 = c / 112;", "const fs_int i6 = c / 16 % 7 * 2 + k4;",
      "const fs_int i7 = c % 16 + k5;", "float v0 = 0;", "if (i6 >= 0 && i6 < 14 && i7 >= 0 && i7 < 20) {",
      "const fs_int e3 = ((q2 * 16 + q1) * 14 + i6) * 20 + i7;", "const fs_int o12 = o * 112;",
      "t_y, o12 + (c / 112u) * 7168 + c % 112u, fs_to_f16(v11));"},
     NULL},
    /* two groups of 32 filters of 8 channels: group b begins 8 channels further in an image of 16, and 32 x 120 weights
     */
    {"tensors: {x: {shape: [2, 16, 14, 20], dtype: f16}, w: {shape: [64, 8, 3, 5], dtype: f16}}\noperators:\n  - {op: "
     "conv2d, in: [x, w], out: l, groups: 2, padding: [1, 0]}\n  - {op: relu, in: l, out: y}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{2 * 14, 128, 3 * 64 * 40 * 2}},
     0,
     {"FS_TILE_PLACE(b, 0, 2, 32, 448, 8)", "FS_TILE_STEPS(120)", "const fs_int o0 = b * 3840;",
      "t_w, o0 + i * 120 + r)", "= k / 15;", "= k / 5 % 3 - 1;", "= k % 5 - 0;", "= c / 224;", "= c / 16 % 14 + ",
      "= c % 16 + ", "* 16 + b * 8 + "},
     NULL},
    /* Sums of columns and of rows' maxima: four rows a block, 64 threads each, 128 blocks in turn; each leaves 1024
       sums of columns and one of maxima in scratch memory; 32 blocks of the second launch have 32 columns each, and one
       has the total */
    {"tensors: {x: {shape: [512, 1024], dtype: f32}, w: {shape: [1024], dtype: f32}}\noperators:\n  - {op: softmax, "
     "in: "
     "[x], out: m, dim: 1}\n  - {op: sum, in: [m], out: s, dims: [0]}\n  - {op: mul, in: [s, w], out: t}\n  - {op: "
     "max, "
     "in: [x], out: q, dims: [1]}\n  - {op: sum, in: [q], out: r, dims: [0]}\noutputs: [m, t, r]\n",
     "t4",
     FSIM_STRATEGY_OPTIMAL,
     1,
     0,
     {{128, 256, 4 * 1024 * 4}, {33, 256, 0}},
     128 * (1024 + 1) * 4,
     {"FS_TURNS(64)", "FS_COLUMNS(float, s0, 0, 1024, 4, scratch_5)", "float s1 = 0;",
      "FS_ROWS_IN_TURN(p, 512, 4, 128)", "const fs_int o5 = p * 1024;", "FS_COLUMN_ADD(s0, r, v17)", "s1 += m8;",
      "FS_ROWS_IN_TURN_END", "FS_COLUMNS_LEAVE(float, s0, 1024, 4, 4, scratch_5)", "FS_TOTAL_LEAVE(f, s1, scratch_6)",
      "FS_PARTS(p, 0, 1024)", "FS_PART_SUM(float, a19, p, 1024, 128, scratch_5)", "= t_w[p];",
      "t_t[p] = ", "FS_PARTS(p, 32, 1)", "FS_PART_SUM(float, a23, p, 1, 128, scratch_6)"},
     NULL},
    /* The place of the most in four rows, 256 blocks a row with 32768 elements each: both its value and its place are
       left, behind each other for 4 x 256 pieces */
    {"tensors: {x: {shape: [4, 8388608], dtype: f32}}\noperators: [{op: argmax, in: x, out: y, dim: 1}]\noutputs: "
     "[y]\n",
     A100,
     1,
     0,
     {{1024, 1024, 0}, {4, 32, 0}},
     2 * 1024 * 8,
     {"FS_PIECES(p, 4, 256, 1024, 32768)", "const fs_int o3 = p * 8388608;", "FS_GET(float, x2, t_x, o3 + r)",
      "if (x4 > a0 || (x4 == a0 && r < a1)) { a0 = x4; a1 = r; }", "FS_ROW_ARGMAX(f, a0, a1)",
      "scratch_2[0 * 1024LL + p * 256LL + fs_piece] = (double)a0;",
      "scratch_2[1 * 1024LL + p * 256LL + fs_piece] = (double)a1;", "FS_ROWS(p, 4, 1, 32)", "FS_WALK(r, 256, 1)",
      "= (float)scratch_2[0 * 1024LL + p * 256LL + r];", "= (fs_i64)scratch_2[1 * 1024LL + p * 256LL + r];",
      "if (x7 > a5 || (x7 == a5 && x8 < a6)) { a5 = x7; a6 = x8; }", "FS_ROW_ARGMAX(f, a5, a6)",
      "t_y[p] = (fs_i64)m9;"},
     NULL},
    /* Windows one by one: element e is of column e % 7, row e / 7 % 5 and plane e / 35; filter 6 of image; a window's
       rows are one apart and its columns three, windows two and one */
    {"tensors: {x: {shape: [2, 3, 9, 10], dtype: f32}, w: {shape: [6, 3, 3, 2], dtype: f32}}\noperators:\n  - {op: "
     "conv2d, in: [x, w], out: y, stride: [2, 1], padding: [1, 0], dilation: [1, 3]}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{2, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 420, 35, 1)", "= e2 / 1 % 7;", "= e2 / 7 % 5;", "= e2 / 35;", "= q5 % 6, q7 = q5 / 6;",
      "k8 = 0; k8 < 3; k8++", "k9 = 0; k9 < 3; k9 += 1", "i10 = q4 * 2 + k9 * 1 - 1;", "if (i10 >= 0 && i10 < 9) {",
      "k11 = 0; k11 < 2; k11 += 1", "i12 = q3 * 1 + k11 * 3 - 0;", "if (i12 >= 0 && i12 < 10) {",
      "e13 = ((q7 * 3 + q6 / 6 * 3 + k8) * 9 + i10) * 10 + i12 + 0;", "e14 = ((q6 * 3 + k8) * 3 + k9) * 2 + k11 + 0;"},
     NULL},
    /* a weight's gradient: the weight of 6 x 3 x 3 x 2 says which tap; it meets 5 x 7 results in each of two images */
    {"tensors: {x: {shape: [2, 3, 9, 10], dtype: f32}, g: {shape: [2, 6, 5, 7], dtype: f32}}\noperators:\n  - {op: "
     "conv2d_weight, in: [x, g], out: y, kernel: [3, 2], stride: [2, 1], padding: [1, 0], dilation: [1, 3]}\noutputs: "
     "[y]\n",
     A100,
     1,
     0,
     {{1, 128, 0}},
     0,
     {"FS_POINTS(0, o, c, 108, 108, 1)", "= e1 / 1 % 2;", "= e1 / 2 % 3;", "= e1 / 6;",
      "q5 = q4 / 3, q6 = q5 / 6 * 3 + q4 % 3;", "k7 = 0; k7 < 2; k7++", "k8 = 0; k8 < 5; k8++",
      "i9 = k8 * 2 + q3 * 1 - 1;", "if (i9 >= 0 && i9 < 9) {", "k10 = 0; k10 < 7; k10++", "i11 = k10 * 1 + q2 * 3 - 0;",
      "if (i11 >= 0 && i11 < 10) {", "e12 = (k7 * 6 + q5) * 35 + ((0) * 5 + k8) * 7 + k10 + 0;",
      "e13 = (((k7 * 3 + q6)) * 9 + i9) * 10 + i11 + 0;"},
     NULL},
    /* transposed: of 3 rows each second tap meets a result, of 2 columns each third */
    {"tensors: {u: {shape: [1, 4, 3, 5], dtype: f32}, t: {shape: [4, 3, 3, 2], dtype: f32}}\noperators:\n  - {op: "
     "conv_transpose2d, in: [u, t], out: y, stride: [2, 3], padding: [1, 0]}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{2, 128, 0}},
     0,
     {"FS_POINTS(0, o, c, 210, 210, 1)", "= e1 / 1 % 14;", "= e1 / 14 % 5;", "= e1 / 70;", "q5 = q4 % 3, q6 = q4 / 3;",
      "k7 = 0; k7 < 4; k7++", "k8 = (q3 + 1) % 2; k8 < 3; k8 += 2", "i10 = q3 + 1 - k8 * 1, i9 = i10 / 2;",
      "if (i10 >= 0 && i9 < 3) {", "k11 = (q2 + 0) % 3; k11 < 2; k11 += 3", "i13 = q2 + 0 - k11 * 1, i12 = i13 / 3;",
      "if (i13 >= 0 && i12 < 5) {", "e14 = ((q6 * 4 + q5 / 3 * 4 + k7) * 3 + i9) * 5 + i12 + 0;",
      "e15 = (((q5 / 3 * 4 + k7) * 3 + q5 % 3) * 3 + k8) * 2 + k11 + 0;"},
     NULL},
    /* running sums of columns of 6: plane c / 7 of 42 elements; rows of 7, eight a block */
    {"tensors: {x: {shape: [5, 6, 7], dtype: f32}}\noperators: [{op: cumsum, in: x, out: y, dim: 1}]\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 35, 35, 1)", "float acc = 0.0f;", "r = 0; r < 6; r++", "t_x[(c / 7u) * 42 + c % 7u + r * 7];",
      "acc += x0;", "t_y[(c / 7u) * 42 + c % 7u + r * 7] = (float)acc;"},
     NULL},
    {"tensors: {x: {shape: [5, 6, 7], dtype: f64}}\noperators: [{op: cumprod, in: x, out: y, dim: 2}]\noutputs: [y]\n",
     A100,
     1,
     0,
     {{4, 256, 0}},
     0,
     {"FS_ROWS(p, 30, 8, 32)", "const fs_int o1 = p * 7;", "FS_SCAN(d, acc, r, 7, 4, 1.0)", "t_x[o1 + r];",
      "acc *= x0;", "FS_SCAN_SO_FAR(d, acc, r, 7, 1.0, prod_)", "t_y[o1 + r] = (double)acc;"},
     NULL},
    /* padded: one column in front of 4 and two behind, three rows in front of 10; 0.5 elsewhere */
    {"tensors: {x: {shape: [6, 10, 4], dtype: f32}}\noperators:\n  - {op: pad, in: x, out: p, pad: [1, 2, 3, 0], "
     "value: "
     "0.5}\n  - {op: relu, in: p, out: y}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{3, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 546, 546, 1)", "float v0 = 0.5f;", "d1 = ((fs_int)(c % 7u));",
      "e2 = ((fs_int)(c / 7u)) * 4 + d1 - 1;", "d3 = e2 / 4 % 13;", "e4 = (e2 / 52 * 10 + d3 - 3) * 4 + e2 % 4;",
      "if (d1 >= 1 && d1 < 5 && d3 >= 3 && d3 < 13) {", "= t_x[e4];"},
     NULL},
    /* rolled by three of ten rows: what lies behind the third comes from three before, the others from seven behind */
    {"tensors: {x: {shape: [6, 10, 4], dtype: f32}}\noperators:\n  - {op: roll, in: x, out: r, dims: [1], roll: [3]}\n "
     " "
     "- {op: neg, in: r, out: y}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 240, 240, 4)", "d1 = ((fs_int)(c / 4u % 10u));",
      "e2 = (((fs_int)(c / 40u)) * 10 + d1 - 3) * 4 + ((fs_int)(c % 4u));", "if (d1 >= 3 && d1 < 10) {", "= t_x[e2];",
      "d4 = ((fs_int)(c / 4u % 10u));", "e5 = (((fs_int)(c / 40u)) * 10 + d4 + 7) * 4 + ((fs_int)(c % 4u));",
      "if (d4 < 3) {", "= t_x[e5];"},
     NULL},
    /* one behind another: 8 rows of 300, and 3 */
    {"tensors: {x: {shape: [8, 300], dtype: f32}, z: {shape: [3, 300], dtype: f32}}\noperators:\n  - {op: concat, in: "
     "[x, z], out: c, dim: 0}\n  - {op: exp, in: c, out: y}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{13, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 3300, 3300, 1)", "d1 = ((fs_int)(c / 300u));",
      "e2 = (0 * 8 + d1) * 300 + ((fs_int)(c % 300u));", "if (d1 < 8) {", "= t_x[e2];", "d4 = ((fs_int)(c / 300u));",
      "e5 = (0 * 3 + d4 - 8) * 300 + ((fs_int)(c % 300u));", "if (d4 >= 8 && d4 < 11) {", "= t_z[e5];"},
     NULL},
    /* rows of a table: 24 elements each, one index a row; and an index an element */
    {"tensors: {i: {shape: [5], dtype: i64}, t: {shape: [100, 24], dtype: f16}}\noperators:\n  - {op: embedding, in: "
     "[i, "
     "t], out: g}\n  - {op: neg, in: g, out: y}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 120, 24, 4)", "const fs_i64 x0 = t_i[o];", "const fs_int o4 = o * 24;", "FS_ROOM(fs_f16, y5)",
      "e1 = c + (fs_int)x0 * 24;", "= fs_from_f16(t_t[e1]);", "FS_PUT(y5, t_y, o4 + c, fs_to_f16(",
      "FS_FLUSH(fs_f16, y5, t_y, o4 + c)"},
     NULL},
    {"tensors: {j: {shape: [4, 24], dtype: i32}, t: {shape: [100, 24], dtype: f16}}\noperators:\n  - {op: gather, in: "
     "[t, j], out: y, dim: 0}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 96, 96, 4)", "FS_GET(fs_i32, x0, t_j, c)", "const int x1 = FS_AT(x0, t_j, c);",
      "e2 = c % 24u + (fs_int)x1 * 24;", "= fs_from_f16(t_t[e2]);"},
     NULL},
    /* scales of eight bits are packed; two at once, as 42 is no multiple of four */
    {"tensors: {e: {shape: [6, 7], dtype: f8e8m0}}\noperators: [{op: cast, in: e, out: y, dtype: f32}]\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 42, 42, 2)", "FS_GET(fs_f8e8m0, x0, t_e, c)", "FS_ROOM(float, y3)",
      "= fs_from_f8e8m0(FS_AT(x0, t_e, c));", "FS_PUT(y3, t_y, c, (float)v2);", "FS_FLUSH(float, y3, t_y, c)"},
     NULL},
    /* what becomes of an element: true where it is not 0; rounded to eight bits; kept where its column is two in front
       of its row at least; its cube and its root by what the price counts; an eighth of it */
    {"tensors: {x: {shape: [8, 300], dtype: f32}}\noperators:\n  - {op: cast, in: x, out: b, dtype: bool}\n  - {op: "
     "cast, "
     "in: x, out: h, dtype: f8e5m2}\n  - {op: tril, in: x, out: lo, k: -2}\n  - {op: pow, in: x, out: p, scalar: 3}\n  "
     "- "
     "{op: pow, in: x, out: r, scalar: 0.5}\n  - {op: pow, in: x, out: s, scalar: 2}\n  - {op: div, in: x, out: d, "
     "scalar: "
     "8}\noutputs: [b, h, lo, p, r, s, d]\n",
     A100,
     1,
     0,
     {{10, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 2400, 2400, 1)", "const float x0 = t_x[c];", "const int v1 = (x0) != 0;", "t_b[c] = v1 != 0;",
      "t_h[c] = fs_to_f8e5m2(", "= ((fs_int)(c % 300u)) <= ((fs_int)(c / 300u)) + -2 ? x0 : 0;", "= x0 * x0 * x0;",
      "= fs_sqrtf(x0);", "= x0 * x0;", "= x0 * 0.125f;"},
     "fs_pow"},
    /* Two products without tiles, as places are asked for between them: a block has one of 24 rows, 40 values of the
       first product, and 40 that the second one multiplies, 160 bytes behind them */
    {"tensors: {q: {shape: [24, 16], dtype: f32}, k: {shape: [16, 40], dtype: f32}, v: {shape: [40, 8], dtype: f32}, "
     "w: "
     "{shape: [24, 1], dtype: f32}}\noperators:\n  - {op: matmul, in: [q, k], out: s}\n  - {op: argmax, in: s, out: m, "
     "dim: 1}\n  - {op: sum, in: s, out: r, dims: [1], keepdim: true}\n  - {op: sub, in: [s, r], out: d}\n  - {op: "
     "matmul, in: [d, v], out: y}\n  - {op: add, in: [y, w], out: z}\noutputs: [z, m, d]\n",
     "a100-sxm4-40gb",
     FSIM_STRATEGY_MAXIMAL,
     1,
     0,
     {{24, 256, 2 * 160 + 16}},
     0,
     {"FS_ROWS(p, 24, 1, 256)", "FS_DYNAMIC(float, row, 0, 40)", "FS_DYNAMIC(float, made, 160, 40)",
      "const fs_int o5 = p * 40;", "k4 = 0; k4 < 16; k4++", "t_q[(e6 / 40u) * 16 + k4];", "t_k[e6 % 40u + k4 * 40];",
      "row[r] = a3;", "FS_LANES_OF(r, FS_IN_ORDER)", "FS_ROW_SUM(f, a2)", "t_d[o12 + r] = ", "made[r] = v11;",
      "FS_ONCE {\n        t_m[p] = (fs_i64)m9;", "const fs_int o16 = p * 8;", "= t_v[j + k * 8];",
      "t_z[o16 + j] = (float)v15;"},
     NULL},
    /* pooling: result c is of column c % 2, row c / 2 % 3 and plane c / 6 */
    {POOLED,
     A100,
     2,
     0,
     {{1, 256, 0}},
     0,
     {"FS_POINTS(0, o, c, 12, 12, 1)", "float a0 = -FS_INFf;", "= e1 / 1 % 2;", "= e1 / 2 % 3;", "= e1 / 6;",
      "k5 = 0; k5 < 2; k5 += 1", "i6 = q3 * 1 + k5 * 4 - 1;", "if (i6 >= 0 && i6 < 5) {", "k7 = 0; k7 < 3; k7 += 1",
      "i8 = q2 * 2 + k7 * 2 - 1;", "if (i8 >= 0 && i8 < 6) {", "e9 = ((q4) * 5 + i6) * 6 + i8 + 0;",
      "a0 = fs_maxf(a0, x10);"},
     NULL},
    /* its gradient: row r is in windows from r - 3 to r + 1 that begin a multiple of four rows in front of it; column
       c, above 3, in those from (c - 2) / 2, to (c + 1) / 2; a window's rows end 5 behind its first, as do its columns;
       the first element in it that equals its maximum has its gradient */
    {POOLED,
     A100,
     2,
     1,
     {{1, 256, 0}},
     0,
     {"i9 = q5 > 3 ? (q5 - 3) / 1 : 0, i10 = (q5 + 1) / 1;", "o2 = i9; o2 <= i10 && o2 < 3; o2++",
      "k11 = q5 + 1 - o2 * 1;", "if (k11 % 4 == 0) {", "i12 = q4 > 3 ? (q4 - 2) / 2 : 0, i13 = (q4 + 1) / 2;",
      "o3 = i12; o3 <= i13 && o3 < 2; o3++", "k14 = q4 + 1 - o3 * 2;", "if (k14 % 2 == 0) {",
      "e16 = ((q6) * 3 + o2) * 2 + o3 + 0;", "fs_int f15 = -1;", "i18 = o2 * 1 - 1, i19 = i18 + 5;",
      "i20 = o3 * 2 - 1, i21 = i20 + 5;", "i22 = i18; i22 < i19 && i22 < 5 && f15 < 0; i22 += 4",
      "i23 = i20; i23 < i21 && i23 < 6 && f15 < 0; i23 += 2", "if (x25 == x17) f15 = ((q6) * 5 + i22) * 6 + i23;",
      "if (f15 == e1) {"},
     NULL},
    /* the gradient of means of 3 x 3, two apart, from one in front: row r is in windows r / 2, where r is above 1, to
       (r + 1) / 2; each gives a ninth */
    {"tensors: {g: {shape: [2, 3, 3], dtype: f32}}\noperators: [{op: avg_pool_grad, in: g, out: y, output_size: [5, "
     "6], "
     "kernel: 3, stride: 2, padding: 1}]\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"= e1 / 1 % 6;", "= e1 / 6 % 5;", "= e1 / 30;", "i7 = q5 > 1 ? (q5 - 0) / 2 : 0, i8 = (q5 + 1) / 2;",
      "o2 = i7; o2 <= i8 && o2 < 3; o2++", "i9 = q4 > 1 ? (q4 - 0) / 2 : 0, i10 = (q4 + 1) / 2;",
      "o3 = i9; o3 <= i10 && o3 < 3; o3++", "e11 = ((q6) * 3 + o2) * 3 + o3 + 0;", "a0 += x12;", "a0 *= 0.111111111f;"},
     NULL},
    /* and of windows that divide 5 x 7 into 2 x 3: row r is in windows r 2 / 5 to ((r + 1) 2 - 1) / 5, whose rows are
       from o 5 / 2 to above ((o + 1) 5 + 1) / 2 */
    {"tensors: {g: {shape: [2, 2, 3], dtype: f32}}\noperators: [{op: avg_pool_grad, in: g, out: y, output_size: [5, "
     "7]}]\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"i7 = q5 * 2 / 5, i8 = ((q5 + 1) * 2 - 1) / 5;", "o2 = i7; o2 <= i8; o2++",
      "i9 = q4 * 3 / 7, i10 = ((q4 + 1) * 3 - 1) / 7;", "o3 = i9; o3 <= i10; o3++",
      "i11 = o2 * 5 / 2, i12 = ((o2 + 1) * 5 + 1) / 2;", "i13 = o3 * 7 / 3, i14 = ((o3 + 1) * 7 + 2) / 3;",
      "a0 += x16 / (float)(1 * (i12 - i11) * (i14 - i13));"},
     "a0 *="},
    /* patches of 2 x 2 put together to 4 x 5: 3 x 4 windows, each tap with a row of its own */
    {"tensors: {p: {shape: [2, 12, 12], dtype: f32}}\noperators: [{op: fold, in: p, out: y, output_size: [4, 5], "
     "kernel: "
     "2, stride: 1, padding: 0}]\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"= e1 / 1 % 5;", "= e1 / 5 % 4;", "= e1 / 20;", "i7 = q5 > 1 ? (q5 - 1) / 1 : 0, i8 = (q5 + 0) / 1;",
      "o2 = i7; o2 <= i8 && o2 < 3; o2++", "k9 = q5 + 0 - o2 * 1;", "o3 = i10; o3 <= i11 && o3 < 4; o3++",
      "k12 = q4 + 0 - o3 * 1;", "e13 = ((((q6) * 2 + k9) * 2 + k12) * 3 + o2) * 4 + o3 + 0;"},
     NULL},
    /* the nearest of 6 elements: by 2 / 3, at most the last; by a third of whole numbers; by 6 / 4 */
    {BETWEEN("op: interpolate, scale_factor: 1.5"),
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"= e1 / 1 % 9;", "= e1 / 9;", "i4 = (fs_int)fs_mind((double)q2 * 0.66666666666666663, 5);",
      "e5 = (q3) * 6 + i4 + 0;", "a0 += x6;"},
     NULL},
    {BETWEEN("op: interpolate, scale_factor: 3"),
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"= e1 / 1 % 18;", "= e1 / 18;", "i4 = q2 / 3;", "e5 = (q3) * 6 + i4 + 0;"},
     NULL},
    {BETWEEN("op: interpolate, size: 4"),
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"= e1 / 1 % 4;", "= e1 / 4;", "i4 = (fs_int)((fs_i64)q2 * 6 / 4);"},
     NULL},
    /* between two neighbours, by their distances; the last has itself beside it */
    {BETWEEN("op: interpolate, scale_factor: 2, mode: linear"),
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"= e1 / 1 % 12;", "s5 = fs_minf(fs_maxf(((float)q2 + 0.5f) * 0.5f - 0.5f, 0), 5);", "i6 = (fs_int)s5;",
      "k7 = 0; k7 < 2; k7++", "i4 = i6 + k7 <= 5 ? i6 + k7 : i6;", "e8 = (q3) * 6 + i4 + 0;",
      "a0 += x9 * (k7 ? s5 - (float)i6 : 1 - (s5 - (float)i6));"},
     NULL},
    /* means of 2 x 4 windows that divide 5 x 6 */
    {BETWEEN("op: adaptive_avg_pool2d, output_size: [2, 4]"),
     A100,
     1,
     0,
     {{1, 256, 0}},
     0,
     {"= e1 / 1 % 4;", "= e1 / 4 % 2;", "= e1 / 8;", "i5 = q3 * 5 / 2, i6 = ((q3 + 1) * 5 + 1) / 2;",
      "i8 = q2 * 6 / 4, i9 = ((q2 + 1) * 6 + 3) / 4;", "i7 = i5; i7 < i6; i7++", "i10 = i8; i10 < i9; i10++",
      "e11 = ((q4) * 5 + i7) * 6 + i10 + 0;", "a0 /= (float)(1 * (i6 - i5) * (i9 - i8));"},
     NULL},
    /* A tile has whole rows of 96 scores, whose means come one after the other. Tiles of 32 rows and 96 columns of 64
       halves, each row of which is filled up by 8, and 96 rows of 80 and 8 */
    {"tensors: {q: {shape: [48, 64], dtype: f16}, k: {shape: [96, 64], dtype: f16}, v: {shape: [96, 80], dtype: f16}, "
     "z: "
     "{shape: [96], dtype: f16}}\noperators:\n  - {op: linear, in: [q, k], out: s}\n  - {op: layer_norm, in: [s, z, "
     "z], "
     "out: n}\n  - {op: matmul, in: [n, v], out: y}\noutputs: [y]\n",
     "a100-sxm4-40gb",
     FSIM_STRATEGY_MAXIMAL,
     1,
     0,
     {{2, 64, ((32 + 96) * 72 + 96 * 88) * 2}},
     0,
     {"FS_FLASH(32, 96, 48, 96, 1, FS_SAME_ROW, 0)", "second_tile, 18432, 7680, c, 88, 80, j, 1, 1)",
      "FS_FLASH_COPY_ROWS(f16, rows_tile, p, FS_SAME_ROW, k, 0, 64, 64, t_q, p * 64 + k)", "float a2 = 0.0f;",
      "FS_FLASH_IN(a2 += score;)", "const float m3 = a2 * 0.0104166667f;", "FS_FLASH_OF(s0) = a2;",
      "const float v5 = score - m3;", "FS_FLASH_IN(a4 += v6;)", "const float m7 = a4 * 0.0104166667f;",
      "FS_FLASH_OF(s1) = a4;", "const float v11 = v8 * v10;", "= fs_from_f16(t_z[c]);", "FS_FLASH_KEEP(v14)",
      "const fs_int o19 = p * 80;", "t_y[o19 + j] = fs_to_f16(result);"},
     "FS_FLASH_RESCALE"},
    /* a product and what needs its whole rows, in FP32: more than a tile has: 4 rows a block, of 64 threads each, which
       have 200 products */
    {"tensors: {q: {shape: [30, 64], dtype: f32}, k: {shape: [200, 64], dtype: f32}}\noperators:\n  - {op: linear, in: "
     "[q, k], out: s}\n  - {op: softmax, in: s, out: y, dim: 1}\noutputs: [y]\n",
     "a100-sxm4-40gb",
     FSIM_STRATEGY_MAXIMAL,
     1,
     0,
     {{8, 256, 0}},
     0,
     {"FS_ROWS(p, 30, 4, 64)", "FS_ROW_ARRAY(float, row, 200, 4)", "const fs_int o3 = p * 200;",
      "k2 = 0; k2 < 64; k2++", "t_q[(e4 / 200u) * 64 + k2];", "t_k[(e4 % 200u) * 64 + k2];", "row[r] = a1;",
      "FS_LANES_OF(r, reduction(max : a0))", "a0 = fs_maxf(a0, row[r]);", "FS_ROW_MAX(f, a0)",
      "FS_LANES_OF(r, reduction(+ : a8))", "= row[r] - m7;", "FS_ROW_SUM(f, a8)", "const fs_int o15 = p * 200;",
      "= v13 / m11;", "t_y[o15 + r] = (float)v14;"},
     NULL},
    /* whole numbers: tiles of 32 x 32 in eight steps and two stages, each row filled up by four */
    {"tensors: {q: {shape: [5, 7], dtype: i32}, k: {shape: [7, 6], dtype: i32}}\noperators:\n  - {op: matmul, in: [q, "
     "k], "
     "out: s}\n  - {op: neg, in: s, out: y}\noutputs: [y]\n",
     A100,
     1,
     0,
     {{1, 128, 2 * 8 * (36 + 36) * 4}},
     0,
     {"FS_TILE(i, 32, 32, 8, 2, 16, 8)", "FS_TILE_PLACE(b, 0, 1, 5, 6, 8)", "FS_TILE_ROWS(i, left, 1, 1)",
      "FS_TILE_COLUMNS(i, right, 0, 2)", "FS_TILE_STEPS(7)", "= t_q[i * 7 + r];", "FS_TILE_SET(i, left, i, r, x0)",
      "FS_GET(fs_i32, x1, t_k, c + k * 6)", "FS_TILE_SET(i, right, c, k, x2)", "FS_TILE_STORE(left)",
      "FS_TILE_STORE(right)", "FS_TILE_RESULTS(i, o, c, b, 2)", "const fs_int o5 = o * 6;", "= (fs_i32)(-a3);",
      "FS_PUT(y6, t_y, o5 + c, (fs_i32)v4);", "FS_FLUSH(fs_i32, y6, t_y, o5 + c)"},
     "ASYNC"},
};

static void places_by_hand(void **unused)
{
    (void)unused;
    check_rows(rows, sizeof rows / sizeof *rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
