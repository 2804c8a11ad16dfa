/* SPDX-License-Identifier: Apache-2.0 */
/* Where generated kernels read, write and leave elements: expressions of loop variables that are worked by hand from
 * the shapes, for the kinds of kernels whose text names their places one by one. depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emit/generate.h"
#include "predict.h"
#include <string.h>

enum { LINES = 16, LAUNCHES = 2 };

typedef struct {
    const char *text, *gpu;
    fsim_strategy strategy;
    int kernels, kernel; /* of the plan; the one that is looked at */
    struct {
        int64_t grid;
        int block, shared_bytes;
    } launch[LAUNCHES];
    int64_t scratch_bytes;
    const char *line[LINES], *none; /* in this order, one behind another; none: not in the text, or NULL */
} row;

#define A100 "a100-sxm4-40gb", FSIM_STRATEGY_OPTIMAL

/* x: 6 planes of 10 rows of 4; v: 6 planes of 3 rows of 4, whose row r goes where i[r] says, or each element where
 * j says */
#define PLANES                                                                                                         \
    "tensors: {x: {shape: [6, 10, 4], dtype: f32}, i: {shape: [3], dtype: i64}, v: {shape: [6, 3, 4], dtype: f32}, "   \
    "j: "                                                                                                              \
    "{shape: [6, 3, 4], dtype: i64}}\noperators:\n"

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
     {{4, 128, 0}},
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
};

/* Finds the lines one behind another. */
static void check_lines(const row *c, const char *source)
{
    const char *at = source;
    for (int k = 0; k < LINES && c->line[k]; k++) {
        const char *found = strstr(at, c->line[k]);
        if (!found)
            fail_msg("'%s' is not in the text, or not behind '%s':\n%s", c->line[k], k ? c->line[k - 1] : "", source);
        at = found + strlen(c->line[k]);
    }
    assert_true(!c->none || !strstr(source, c->none));
}

static void places_by_hand(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *c = &rows[i];
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 100000};
        const fsim_graph *g = fsim_graph_parse(a, d, "addresses.yaml", c->text, strlen(c->text), NULL);
        const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", c->gpu));
        if (!g)
            fsim_diag_print(d, stderr, false);
        assert_true(g && hw);
        const fsim_prediction p = fsim_predict(g, hw, &options, a);
        const fsim_plan *plan = &p.plan[c->strategy];
        assert_int_equal(plan->kernels, c->kernels);
        const fsim_program *w = &fsim_programs_of(p.graph, hw, plan, 1, a)[c->kernel];
        int64_t scratch = 0;
        for (int k = 0; k < w->parameters; k++)
            scratch += w->parameter[k].tensor < 0 ? w->parameter[k].bytes : 0;
        assert_int_equal(scratch, c->scratch_bytes);
        assert_int_equal(w->launches, c->launch[1].grid ? 2 : 1);
        for (int k = 0; k < w->launches; k++) {
            assert_int_equal(w->launch[k].grid, c->launch[k].grid);
            assert_int_equal(w->launch[k].block, c->launch[k].block);
            assert_int_equal(w->launch[k].shared_bytes, c->launch[k].shared_bytes);
        }
        check_lines(c, w->source);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
