/* SPDX-License-Identifier: Apache-2.0 */
/* Which sets are kernels, of which template, and by which rule the others are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fusion/fuse.h"
#include "fusion/group.h"
#include "legal_reasons.h"
#include <stdlib.h>
#include <string.h>

static const char tensors[] =
    "tensors:\n  x: {shape: [64, 64], dtype: f32, role: input}\n  w: {shape: [64, 64], dtype: f32, role: weight}\n"
    "  v: {shape: [64], dtype: f32, role: input}\n  i: {shape: [64], dtype: i64, role: input}\n"
    "  m: {shape: [2, 4, 8, 8], dtype: f32, role: input}\n  k: {shape: [4, 4, 3, 3], dtype: f32, role: weight}\n"
    "  big: {shape: [4096, 4096], dtype: f32, role: input}\n"
    "  wide: {shape: [64, 512], dtype: f32, role: weight}\n  tall: {shape: [512, 64], dtype: f32, role: weight}\n"
    "  huge: {shape: [64, 4096], dtype: f32, role: weight}\n"
    "  q: {shape: [2, 4, 512, 64], dtype: f16, role: input}\n  kt: {shape: [2, 4, 64, 768], dtype: f16, role: input}\n"
    "  kk: {shape: [2, 4, 768, 64], dtype: f16, role: input}\n  vv: {shape: [2, 4, 768, 64], dtype: f16, role: input}\n"
    "  k1: {shape: [2, 1, 768, 64], dtype: f16, role: input}\n  v1: {shape: [2, 1, 768, 64], dtype: f16, role: input}\n"
    "  one: {shape: [2, 4, 1, 64], dtype: f16, role: input}\n  flat: {shape: [2, 512, 256], dtype: f16, role: input}\n"
    "  wv: {shape: [256, 256], dtype: f16, role: weight}\n  pr: {shape: [2, 4, 512, 512], dtype: f16, role: input}\n"
    "  vq: {shape: [2, 512, 768, 64], dtype: f16, role: input}\noperators:\n";

typedef struct {
    const char *idea, *operators, *set; /* set: primitives, separated by spaces */
    fsim_rule rule;                     /* FSIM_RULE_NONE: legal, of this template */
    fsim_template template;
    double needed; /* the refusal's number; 0: not looked at */
    bool strict, final;
} legal_case;

#define ATTENTION  "o/qk o/scale o/max o/sub o/exp o/sum o/probabilities o"
#define SOFT       "  - {op: softmax, in: s, out: p, dim: 3}\n"
#define SOFT_PARTS "p/max p/sub p/exp p/sum p"

static const legal_case cases[] = {
    {"elementwise chain", "  - {op: exp, in: x, out: a}\n  - {op: neg, in: a, out: b}\n", "a b", FSIM_RULE_NONE,
     FSIM_POINTWISE, 0, false, false},
    {"siblings share an input", "  - {op: exp, in: x, out: a}\n  - {op: neg, in: x, out: b}\n", "a b", FSIM_RULE_NONE,
     FSIM_POINTWISE, 0, false, false},
    {"nothing shared", "  - {op: exp, in: x, out: a}\n  - {op: neg, in: w, out: b}\n", "a b", FSIM_RULE_CONNECTED, 0, 0,
     false, false},
    {"a permute is an index map", "  - {op: transpose, in: x, out: a, dims: [0, 1]}\n  - {op: neg, in: a, out: b}\n",
     "a b", FSIM_RULE_NONE, FSIM_POINTWISE, 0, false, false},
    {"a permute alone is a copy", "  - {op: transpose, in: x, out: a, dims: [0, 1]}\n", "a", FSIM_RULE_NONE, FSIM_COPY,
     0, false, false},
    {"a row reduction takes producers and consumers in",
     "  - {op: exp, in: x, out: a}\n  - {op: sum, in: a, out: s, dims: [1], keepdim: true}\n"
     "  - {op: div, in: [a, s], out: y}\n",
     "a s y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0, false, false},
    {"a column reduction",
     "  - {op: sum, in: x, out: s, dims: [0], keepdim: true}\n  - {op: div, in: [x, s], out: y}\n", "s y",
     FSIM_RULE_NONE, FSIM_COLUMN_REDUCTION, 0, false, false},
    /* s has no kept dimension: [64] broadcasts along the other axis, so y[r][c] wants row c's sum */
    /* a row has 4096 elements, a stretch of it 128: each is held by threads of one warp */
    {"a value of each block of a row beside the row's",
     "  - {op: sum, in: big, out: r, dims: [1], keepdim: true}\n  - {op: div, in: [big, r], out: d}\n"
     "  - {op: reshape, in: d, out: b, shape: [4096, 32, 128]}\n  - {op: max, in: b, out: l, dims: [2], keepdim: "
     "true}\n"
     "  - {op: neg, in: l, out: s}\n  - {op: mul, in: [b, s], out: y}\n",
     "r d l s y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0, false, false},
    {"the same in order",
     "  - {op: sum, in: big, out: r, dims: [1], keepdim: true}\n  - {op: div, in: [big, r], out: d}\n"
     "  - {op: reshape, in: d, out: b, shape: [4096, 32, 128]}\n  - {op: max, in: b, out: l, dims: [2], keepdim: "
     "true}\n"
     "  - {op: mul, in: [b, l], out: y}\n",
     "r d l y", FSIM_RULE_SPACE, 0, 131072, true, false},
    {"blocks that more than a warp would hold",
     "  - {op: sum, in: big, out: r, dims: [1], keepdim: true}\n  - {op: div, in: [big, r], out: d}\n"
     "  - {op: reshape, in: d, out: b, shape: [4096, 16, 256]}\n  - {op: max, in: b, out: l, dims: [2], keepdim: "
     "true}\n"
     "  - {op: mul, in: [b, l], out: y}\n",
     "r d l y", FSIM_RULE_SPACE, 0, 65536, false, true},
    {"blocks of two lengths",
     "  - {op: sum, in: big, out: r, dims: [1], keepdim: true}\n"
     "  - {op: reshape, in: big, out: b, shape: [4096, 32, 128]}\n  - {op: max, in: b, out: l, dims: [2]}\n"
     "  - {op: reshape, in: big, out: c, shape: [4096, 64, 64]}\n  - {op: max, in: c, out: n, dims: [2]}\n",
     "r l n", FSIM_RULE_SPACE, 0, 0, false, false},
    /* x [64, 64] times huge [64, 4096]: a tile of 128 columns has whole blocks of 128 */
    {"a value of each block of a product's rows",
     "  - {op: matmul, in: [x, huge], out: h}\n  - {op: reshape, in: h, out: b, shape: [64, 32, 128]}\n"
     "  - {op: max, in: b, out: l, dims: [2], keepdim: true}\n  - {op: div, in: [b, l], out: y}\n",
     "h l y", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0, false, false},
    {"blocks of a product's rows that no tile holds",
     "  - {op: matmul, in: [x, huge], out: h}\n  - {op: reshape, in: h, out: b, shape: [64, 8, 512]}\n"
     "  - {op: max, in: b, out: l, dims: [2], keepdim: true}\n  - {op: div, in: [b, l], out: y}\n",
     "h l y", FSIM_RULE_REDUCED_EPILOGUE, 0, 512, false, true},
    {"the mean of a product's elements",
     "  - {op: matmul, in: [x, huge], out: h}\n  - {op: relu, in: h, out: r}\n  - {op: mean, in: r, out: l}\n"
     "  - {op: neg, in: l, out: y}\n",
     "h r l y", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0, false, false},
    {"the same beside a value of each block of its rows",
     "  - {op: matmul, in: [x, huge], out: h}\n  - {op: reshape, in: h, out: b, shape: [64, 32, 128]}\n"
     "  - {op: max, in: b, out: c, dims: [2]}\n  - {op: mean, in: h, out: l}\n  - {op: mean, in: c, out: d}\n",
     "h c l d", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0, false, false},
    {"the mean of a product's elements, in order",
     "  - {op: matmul, in: [x, huge], out: h}\n  - {op: mean, in: h, out: l}\n", "h l", FSIM_RULE_REDUCED_EPILOGUE, 0,
     262144, true, true},
    {"an element over the sum of a product's elements",
     "  - {op: matmul, in: [x, huge], out: h}\n  - {op: sum, in: h, out: l}\n  - {op: div, in: [h, l], out: y}\n",
     "h l y", FSIM_RULE_GRID_BARRIER, 0, 262144, false, false},
    {"a sum of half of a product's elements",
     "  - {op: matmul, in: [x, huge], out: h}\n  - {op: slice, in: h, out: s, dim: 0, start: 0, size: 32}\n"
     "  - {op: sum, in: s, out: l}\n",
     "h l", FSIM_RULE_REDUCED_EPILOGUE, 0, 131072, false, false},
    {"another row's sum", "  - {op: sum, in: x, out: s, dims: [1]}\n  - {op: add, in: [x, s], out: y}\n", "s y",
     FSIM_RULE_GRID_BARRIER, 0, 64, false, false},
    {"the transposed of a normalised row",
     "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n"
     "  - {op: transpose, in: d, out: y, dims: [0, 1]}\n",
     "s d y", FSIM_RULE_GRID_BARRIER, 0, 0, false, false},
    {"a total separates",
     "  - {op: sum, in: big, out: s, keepdim: true, dims: [0, 1]}\n  - {op: div, in: [big, s], out: y}\n", "s y",
     FSIM_RULE_GRID_BARRIER, 0, 16777216, false, false},
    {"a total alone", "  - {op: exp, in: big, out: e}\n  - {op: sum, in: e, out: s}\n", "e s", FSIM_RULE_NONE,
     FSIM_FULL_REDUCTION, 0, false, false},
    {"rows and columns at once", "  - {op: sum, in: x, out: r, dims: [1]}\n  - {op: sum, in: x, out: c, dims: [0]}\n",
     "r c", FSIM_RULE_NONE, FSIM_MIXED_REDUCTION, 0, false, false},
    {"a maximum of columns beside rows",
     "  - {op: sum, in: x, out: r, dims: [1]}\n  - {op: max, in: x, out: c, dims: [0]}\n", "r c", FSIM_RULE_SPACE, 0,
     64, false, true},
    {"maxima of rows and columns", "  - {op: max, in: x, out: r, dims: [1]}\n  - {op: max, in: x, out: c, dims: [0]}\n",
     "r c", FSIM_RULE_SPACE, 0, 64, false, true},
    {"rows and columns in order", "  - {op: sum, in: x, out: r, dims: [1]}\n  - {op: sum, in: x, out: c, dims: [0]}\n",
     "r c", FSIM_RULE_SPACE, 0, 64, true, false},
    {"a sum of all rows, and what is computed from it",
     "  - {op: sum, in: x, out: r, dims: [1]}\n  - {op: mean, in: r, out: mm}\n  - {op: neg, in: mm, out: n}\n",
     "r mm n", FSIM_RULE_NONE, FSIM_MIXED_REDUCTION, 0, false, false},
    {"a sum of all rows, and each row with it",
     "  - {op: sum, in: x, out: r, dims: [1]}\n  - {op: mean, in: r, out: mm}\n  - {op: sub, in: [r, mm], out: n}\n",
     "r mm n", FSIM_RULE_GRID_BARRIER, 0, 0, false, false},
    {"results of two sizes", "  - {op: exp, in: v, out: a}\n  - {op: add, in: [x, v], out: b}\n", "a b",
     FSIM_RULE_SPACE, 0, 0, false, false},
    {"epilogue",
     "  - {op: matmul, in: [x, w], out: c}\n  - {op: add, in: [c, v], out: d}\n  - {op: relu, in: d, out: y}\n",
     "c d y", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0, false, false},
    {"transposed epilogue", "  - {op: matmul, in: [x, w], out: c}\n  - {op: transpose, in: c, out: y, dims: [0, 1]}\n",
     "c y", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0, false, false},
    {"prologue", "  - {op: relu, in: x, out: a}\n  - {op: matmul, in: [a, w], out: c}\n", "a c", FSIM_RULE_NONE,
     FSIM_TILED_CONTRACTION, 0, false, false},
    {"a prologue that must be stored",
     "  - {op: relu, in: x, out: a}\n  - {op: matmul, in: [a, w], out: c}\noutputs: [a, c]\n", "a c",
     FSIM_RULE_PROLOGUE, 0, 0, false, false},
    {"two contractions, the second reading the first",
     "  - {op: matmul, in: [x, w], out: c}\n  - {op: matmul, in: [c, w], out: d}\n", "c d", FSIM_RULE_NONE,
     FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"a short row behind a contraction",
     "  - {op: matmul, in: [x, w], out: c}\n  - {op: sum, in: c, out: s, dims: [1]}\n", "c s", FSIM_RULE_NONE,
     FSIM_TILED_CONTRACTION, 0, false, false},
    {"a contraction broadcast by its reader",
     "  - {op: matmul, in: [x, v], out: c}\n  - {op: add, in: [x, c], out: y}\n", "c y", FSIM_RULE_SPACE, 0, 4096,
     false, false},
    {"a contraction wanted twice over",
     "  - {op: matmul, in: [x, w], out: c}\n  - {op: transpose, in: c, out: t, dims: [0, 1]}\n  - {op: add, in: [c, "
     "t], out: y}\n",
     "c t y", FSIM_RULE_INDEX_MAP, 0, 2, false, false},
    {"a convolution's windows recompute", "  - {op: relu, in: m, out: a}\n  - {op: conv2d, in: [a, k], out: c}\n",
     "a c", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0, false, false},
    {"pooling takes its reader in", "  - {op: max_pool2d, in: m, out: p, kernel: 2}\n  - {op: relu, in: p, out: y}\n",
     "p y", FSIM_RULE_NONE, FSIM_POOLING, 0, false, false},
    {"concat takes its reader in", "  - {op: concat, in: [x, w], out: c, dim: 1}\n  - {op: relu, in: c, out: y}\n",
     "c y", FSIM_RULE_NONE, FSIM_POINTWISE, 0, false, false},
    {"concat takes its producer in", "  - {op: relu, in: x, out: a}\n  - {op: concat, in: [a, w], out: c, dim: 1}\n",
     "a c", FSIM_RULE_NONE, FSIM_POINTWISE, 0, false, false},
    {"concat without arithmetic is a copy",
     "  - {op: transpose, in: x, out: a, dims: [0, 1]}\n  - {op: concat, in: [a, w], out: c, dim: 0}\n", "a c",
     FSIM_RULE_NONE, FSIM_COPY, 0, false, false},
    {"concat stores a producer that others read too",
     "  - {op: relu, in: x, out: a}\n  - {op: concat, in: [a, w], out: c, dim: 1}\noutputs: [a, c]\n", "a c",
     FSIM_RULE_NONE, FSIM_POINTWISE, 0, false, false},
    {"a stored producer of which concat's reader wants a part",
     "  - {op: relu, in: x, out: a}\n  - {op: concat, in: [a, w], out: c, dim: 1}\n"
     "  - {op: slice, in: c, out: s, dim: 1, start: 0, size: 32}\n  - {op: neg, in: s, out: n}\noutputs: [a, n]\n",
     "a c s n", FSIM_RULE_SPACE, 0, 4096, false, false},
    {"a contraction feeds concat",
     "  - {op: matmul, in: [x, w], out: a}\n  - {op: concat, in: [a, w], out: c, dim: 1}\n", "a c", FSIM_RULE_SPACE, 0,
     8192, false, false},
    {"a reduction's rows feed concat",
     "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n  - {op: concat, in: "
     "[d, w], out: c, dim: 1}\n",
     "s d c", FSIM_RULE_SPACE, 0, 8192, false, false},
    {"concat and row reductions over it",
     "  - {op: relu, in: x, out: a}\n  - {op: neg, in: w, out: b}\n  - {op: concat, in: [a, b], out: c, dim: 1}\n"
     "  - {op: sum, in: c, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [c, s], out: y}\n",
     "a b c s y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0, false, false},
    {"concat of pieces of its own normalised row",
     "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n"
     "  - {op: slice, in: d, out: l, dim: 1, start: 0, size: 16}\n  - {op: slice, in: d, out: r, dim: 1, start: 16, "
     "size: 48}\n"
     "  - {op: exp, in: l, out: e}\n  - {op: concat, in: [e, r], out: y, dim: 1}\n",
     "s d l r e y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0, false, false},
    {"rolled rows of its own normalised row",
     "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n"
     "  - {op: roll, in: d, out: y, dims: [1], roll: [3]}\n",
     "s d y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0, false, false},
    {"rows rolled past each other",
     "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n"
     "  - {op: roll, in: d, out: y, dims: [0], roll: [3]}\n",
     "s d y", FSIM_RULE_GRID_BARRIER, 0, 64, false, false},
    {"pad and roll take their producers in",
     "  - {op: exp, in: x, out: a}\n  - {op: roll, in: a, out: b, dims: [0, 1], roll: [5, -3]}\n  - {op: pad, in: b, "
     "out: c, padding: [1, 2, 3, 4]}\n",
     "a b c", FSIM_RULE_NONE, FSIM_POINTWISE, 0, false, false},
    {"a reduction behind pad",
     "  - {op: pad, in: x, out: a, padding: [1, 2]}\n  - {op: sum, in: a, out: s, dims: [1]}\n", "a s", FSIM_RULE_NONE,
     FSIM_ROW_REDUCTION, 0, false, false},
    {"embedding and what follows", "  - {op: embedding, in: [i, w], out: e}\n  - {op: relu, in: e, out: y}\n", "e y",
     FSIM_RULE_NONE, FSIM_POINTWISE, 0, false, false},
    {"a gathered table is made where it is read",
     "  - {op: relu, in: x, out: a}\n  - {op: add, in: [a, v], out: b}\n  - {op: embedding, in: [i, b], out: e}\n",
     "a b e", FSIM_RULE_NONE, FSIM_POINTWISE, 0, false, false},
    {"a gathered table's row sums",
     "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n  - {op: embedding, "
     "in: [i, d], out: e}\n",
     "s d e", FSIM_RULE_GRID_BARRIER, 0, 64, false, false},
    {"embedding, position, layer norm",
     "  - {op: embedding, in: [i, w], out: e}\n  - {op: add, in: [e, x], out: h}\n  - {op: sum, in: h, out: s, dims: "
     "[1], keepdim: true}\n"
     "  - {op: sub, in: [h, s], out: y}\n",
     "e h s y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0, false, false},
    {"a gather of a gather", "  - {op: embedding, in: [i, w], out: a}\n  - {op: embedding, in: [i, a], out: b}\n",
     "a b", FSIM_RULE_NONE, FSIM_COPY, 0, false, false},
    {"windows side by side take their producer in",
     "  - {op: relu, in: m, out: a}\n  - {op: max_pool2d, in: a, out: c, kernel: 2}\n", "a c", FSIM_RULE_NONE,
     FSIM_POOLING, 0, false, false},
    {"overlapping windows compute a cheap producer again",
     "  - {op: relu, in: m, out: a}\n  - {op: max_pool2d, in: a, out: c, kernel: 3, stride: 1, padding: 1}\n", "a c",
     FSIM_RULE_NONE, FSIM_POOLING, 0, false, false},
    {"one window over everything is a row reduction",
     "  - {op: relu, in: m, out: a}\n  - {op: adaptive_avg_pool2d, in: a, out: p, output_size: 1}\n  - {op: mul, in: "
     "[a, p], out: y}\n",
     "a p y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0, false, false},
    {"scatter takes what it scatters",
     "  - {op: relu, in: x, out: a}\n  - {op: exp, in: w, out: b}\n  - {op: scatter, in: [b, i, a], out: y, dim: 0}\n",
     "a b y", FSIM_RULE_NONE, FSIM_OPAQUE_KERNEL, 0, false, false},
    {"scatter of gathered rows",
     "  - {op: exp, in: x, out: a}\n  - {op: gather, in: [a, i], out: b}\n  - {op: scatter, in: [w, i, b], out: y, "
     "dim: 0}\n",
     "a b y", FSIM_RULE_NONE, FSIM_OPAQUE_KERNEL, 0, false, false},
    {"scatter's reader waits for all of it",
     "  - {op: scatter, in: [x, i, w], out: a, dim: 0}\n  - {op: relu, in: a, out: y}\n", "a y", FSIM_RULE_BOUNDARY, 0,
     0, false, true},
    {"a sum beside a scatter",
     "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: sub, in: [x, s], out: a}\n  - {op: scatter, in: "
     "[w, i, a], out: y, dim: 0}\n",
     "s a y", FSIM_RULE_BOUNDARY, 0, 0, false, true},
    {"a window of windows",
     "  - {op: max_pool2d, in: m, out: a, kernel: 2}\n  - {op: avg_pool2d, in: a, out: c, kernel: 2}\n", "a c",
     FSIM_RULE_WINDOW, 0, 2, false, true},
    {"sort is a boundary", "  - {op: relu, in: x, out: a}\n  - {op: sort, in: a, out: s}\n", "a s", FSIM_RULE_BOUNDARY,
     0, 0, false, true},
    {"random is fusible", "  - {op: relu, in: x, out: a}\n  - {op: dropout, in: a, out: d, p: 0.1}\n", "a d",
     FSIM_RULE_NONE, FSIM_POINTWISE, 0, false, false},
    {"a path leaves and comes back",
     "  - {op: exp, in: x, out: a}\n  - {op: sort, in: a, out: c}\n  - {op: add, in: [a, c], out: b}\n", "a b",
     FSIM_RULE_CONVEXITY, 0, 0, false, false},
    {"attention", "  - {op: attention, in: [q, kk, vv], out: o}\n", ATTENTION, FSIM_RULE_NONE, FSIM_CHAINED_CONTRACTION,
     0, false, false},
    {"attention, strictly", "  - {op: attention, in: [q, kk, vv], out: o}\n", ATTENTION, FSIM_RULE_NUMERICS, 0, 768,
     true, true},
    {"causal attention", "  - {op: attention, in: [q, kk, vv], out: o, causal: true}\n", "o/mask " ATTENTION,
     FSIM_RULE_NONE, FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"heads share keys", "  - {op: attention, in: [q, k1, v1], out: o}\n", ATTENTION, FSIM_RULE_NONE,
     FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"heads share keys by an expand",
     "  - {op: expand, in: k1, out: ke, shape: [2, 4, 768, 64]}\n  - {op: expand, in: v1, out: ve, shape: [2, 4, 768, "
     "64]}\n"
     "  - {op: attention, in: [q, ke, ve], out: o}\n",
     "ke ve " ATTENTION, FSIM_RULE_NONE, FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"one query", "  - {op: attention, in: [one, kk, vv], out: o}\n", ATTENTION, FSIM_RULE_NONE,
     FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"dropout on the probabilities, an epilogue",
     "  - {op: matmul, in: [q, kt], out: s}\n" SOFT "  - {op: dropout, in: p, out: d, p: 0.1}\n"
     "  - {op: matmul, in: [d, vv], out: o}\n  - {op: relu, in: o, out: y}\n",
     "s " SOFT_PARTS " d o y", FSIM_RULE_NONE, FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"heads split out and merged by permutes",
     "  - {op: reshape, in: flat, out: split, shape: [2, 512, 4, 64]}\n  - {op: permute, in: split, out: h, dims: [0, "
     "2, 1, 3]}\n"
     "  - {op: matmul, in: [h, kt], out: s}\n" SOFT
     "  - {op: matmul, in: [p, vv], out: o}\n  - {op: permute, in: o, out: y, dims: [0, 2, 1, 3]}\n",
     "h s " SOFT_PARTS " o y", FSIM_RULE_NONE, FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"scores kept too",
     "  - {op: matmul, in: [q, kt], out: s}\n" SOFT "  - {op: matmul, in: [p, vv], out: o}\noutputs: [s, o]\n",
     "s " SOFT_PARTS " o", FSIM_RULE_NONE, FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"probabilities kept: their sum comes after them",
     "  - {op: matmul, in: [q, kt], out: s}\n" SOFT "  - {op: matmul, in: [p, vv], out: o}\noutputs: [p, o]\n",
     "s " SOFT_PARTS " o", FSIM_RULE_REDUCED_EPILOGUE, 0, 768, false, false},
    {"row values kept",
     "  - {op: matmul, in: [q, kt], out: s}\n  - {op: max, in: s, out: b, dims: [3], keepdim: true}\n  - {op: sub, in: "
     "[s, b], out: d}\n  - {op: exp, in: d, out: e}\n"
     "  - {op: sum, in: e, out: t, dims: [3], keepdim: true}\n  - {op: div, in: [e, t], out: p}\n  - {op: matmul, in: "
     "[p, vv], out: o}\n"
     "  - {op: log, in: t, out: l}\n  - {op: add, in: [l, b], out: lse}\noutputs: [o, lse]\n",
     "s b d e t p o l lse", FSIM_RULE_NONE, FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"half a softmax", "  - {op: attention, in: [q, kk, vv], out: o}\n", "o/qk o/scale o/max",
     FSIM_RULE_REDUCED_EPILOGUE, 0, 768, false, false},
    {"the other half", "  - {op: attention, in: [q, kk, vv], out: o}\n", "o/sum o/probabilities o",
     FSIM_RULE_REDUCED_EPILOGUE, 0, 768, false, false},
    {"half a softmax, strictly", "  - {op: attention, in: [q, kk, vv], out: o}\n", "o/qk o/scale o/max",
     FSIM_RULE_NUMERICS, 0, 768, true, true},
    {"both products and nothing between", "  - {op: attention, in: [q, kk, vv], out: o}\n", "o/qk o",
     FSIM_RULE_CONTRACTIONS, 0, 2, false, false},
    {"a softmax that no second product reads", "  - {op: matmul, in: [q, kt], out: s}\n" SOFT, "s p/max",
     FSIM_RULE_REDUCED_EPILOGUE, 0, 768, false, true},
    {"a mean can't be put right",
     "  - {op: matmul, in: [x, wide], out: h}\n  - {op: layer_norm, in: h, out: n, normalized_shape: [512]}\n  - {op: "
     "matmul, in: [n, tall], out: y}\n",
     "h n/mean n/centre n/square n/var n/eps n/rstd n y", FSIM_RULE_REDUCED_EPILOGUE, 0, 512, false, true},
    {"a sum of magnitudes can",
     "  - {op: matmul, in: [x, wide], out: h}\n  - {op: abs, in: h, out: b}\n  - {op: sum, in: b, out: t, dims: [1], "
     "keepdim: true}\n"
     "  - {op: div, in: [h, t], out: n}\n  - {op: matmul, in: [n, tall], out: y}\n",
     "h b t n y", FSIM_RULE_NONE, FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"fused MLP",
     "  - {op: matmul, in: [x, wide], out: h}\n  - {op: relu, in: h, out: g}\n  - {op: matmul, in: [g, tall], out: "
     "y}\n",
     "h g y", FSIM_RULE_NONE, FSIM_CHAINED_CONTRACTION, 0, true, false},
    /* 16 rows of 4096 sums, 64 columns kept, two steps of 16 x (64 + 256), 16 x 16 between: 4 bytes each */
    {"an MLP too wide",
     "  - {op: matmul, in: [x, w], out: h}\n  - {op: relu, in: h, out: g}\n  - {op: matmul, in: [g, huge], out: y}\n",
     "h g y", FSIM_RULE_SHARED, 0, 16 * 4 * (4096 + 64 + 16) + 2 * 16 * 4 * (64 + 256), false, true},
    {"columns of the first are the rows kept",
     "  - {op: matmul, in: [x, w], out: h}\n  - {op: matmul, in: [w, h], out: y}\n", "h y", FSIM_RULE_NONE,
     FSIM_CHAINED_CONTRACTION, 0, false, false},
    {"values of a head are a part of the first's rows and columns",
     "  - {op: linear, in: [flat, wv], out: vf}\n  - {op: reshape, in: vf, out: vs, shape: [2, 512, 4, 64]}\n"
     "  - {op: permute, in: vs, out: v2, dims: [0, 2, 1, 3]}\n  - {op: matmul, in: [pr, v2], out: y}\n",
     "vf v2 y", FSIM_RULE_INDEX_MAP, 0, 0, false, false},
    {"batches of other dimensions",
     "  - {op: matmul, in: [q, kt], out: s}\n  - {op: relu, in: s, out: r}\n  - {op: einsum, in: [r, vq], out: y, "
     "equation: \"bhqt,bqtd->bhqd\"}\n",
     "s r y", FSIM_RULE_INDEX_MAP, 0, 0, false, false},
    {"siblings",
     "  - {op: matmul, in: [x, w], out: c}\n  - {op: matmul, in: [x, wide], out: d}\n  - {op: relu, in: d, out: y}\n",
     "c d y", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0, true, false},
    {"siblings that meet, behind a prologue",
     "  - {op: neg, in: x, out: n}\n  - {op: matmul, in: [n, w], out: c}\n  - {op: silu, in: c, out: s}\n  - {op: "
     "linear, in: [n, w], out: d}\n"
     "  - {op: mul, in: [s, d], out: y}\n",
     "n c s/sigmoid s d y", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0, false, false},
    {"siblings that meet in different columns",
     "  - {op: matmul, in: [x, w], out: c}\n  - {op: linear, in: [x, w], out: d}\n  - {op: transpose, in: d, out: t, "
     "dims: [0, 1]}\n"
     "  - {op: mul, in: [c, t], out: y}\n",
     "c d t y", FSIM_RULE_INDEX_MAP, 0, 2, false, false},
    {"contractions of other operands",
     "  - {op: matmul, in: [x, w], out: c}\n  - {op: matmul, in: [wide, tall], out: d}\n  - {op: add, in: [c, d], out: "
     "y}\n",
     "c d y", FSIM_RULE_CONTRACTIONS, 0, 2, false, true},
    {"three in a row",
     "  - {op: matmul, in: [x, w], out: c}\n  - {op: matmul, in: [c, w], out: d}\n  - {op: matmul, in: [d, w], out: "
     "e}\n",
     "c d e", FSIM_RULE_CONTRACTIONS, 0, 3, false, true},
    {"a layer norm in the tile",
     "  - {op: matmul, in: [x, w], out: c}\n  - {op: layer_norm, in: c, out: n, normalized_shape: [64]}\n",
     "c n/mean n/centre n/square n/var n/eps n/rstd n", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0, true, false},
    {"a row longer than the tile", "  - {op: matmul, in: [x, wide], out: c}\n  - {op: sum, in: c, out: s, dims: [1]}\n",
     "c s", FSIM_RULE_REDUCED_EPILOGUE, 0, 512, false, true},
    {"columns of a product", "  - {op: matmul, in: [x, w], out: c}\n  - {op: sum, in: c, out: s, dims: [0]}\n", "c s",
     FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0, false, false},
    {"columns of a product turned around",
     "  - {op: matmul, in: [x, w], out: c}\n  - {op: transpose, in: c, out: t, dims: [0, 1]}\n"
     "  - {op: sum, in: t, out: s, dims: [0]}\n",
     "c t s", FSIM_RULE_REDUCED_EPILOGUE, 0, 64, false, false},
    {"columns of a product in order", "  - {op: matmul, in: [x, w], out: c}\n  - {op: sum, in: c, out: s, dims: [0]}\n",
     "c s", FSIM_RULE_REDUCED_EPILOGUE, 0, 64, true, false},
    {"the largest of a product", "  - {op: matmul, in: [x, w], out: c}\n  - {op: max, in: c, out: s}\n", "c s",
     FSIM_RULE_REDUCED_EPILOGUE, 0, 4096, false, true},
};

static int by_number(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* What a legal kernel needs: registers' worth of values live at once, walks of the row plus one. */
static void lives_and_walks(void **unused)
{
    (void)unused;
    static const struct {
        const char *idea, *operators;
        bool strict;
        int live, stages;
    } row[] = {
        {"ranges of a concat exclude each other",
         "  - {op: exp, in: x, out: a}\n  - {op: add, in: [w, a], out: b}\n  - {op: neg, in: x, out: c}\n  - {op: mul, "
         "in: [w, c], out: d}\n"
         "  - {op: concat, in: [b, d, b, d], out: y, dim: 1}\n",
         false, 5, 1},
        {"one range", "  - {op: concat, in: [x, w, x, w], out: y, dim: 1}\n", false, 2, 1},
        {"doubles take two registers", "  - {op: cast, in: x, out: a, dtype: f64}\n  - {op: exp, in: a, out: y}\n",
         false, 4, 1},
        {"a running maximum",
         "  - {op: max, in: x, out: top, dims: [1], keepdim: true}\n  - {op: sub, in: [x, top], out: d}\n  - {op: exp, "
         "in: d, out: e}\n"
         "  - {op: sum, in: e, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [e, s], out: y}\n",
         false, 0, 2},
        {"no running maximum in strict order",
         "  - {op: max, in: x, out: top, dims: [1], keepdim: true}\n  - {op: sub, in: [x, top], out: d}\n  - {op: exp, "
         "in: d, out: e}\n"
         "  - {op: sum, in: e, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [e, s], out: y}\n",
         true, 0, 3},
        {"another tensor's maximum",
         "  - {op: max, in: w, out: top, dims: [1], keepdim: true}\n  - {op: sub, in: [x, top], out: d}\n  - {op: exp, "
         "in: d, out: e}\n"
         "  - {op: sum, in: e, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [e, s], out: y}\n",
         false, 0, 3},
        {"a running mean",
         "  - {op: mean, in: x, out: top, dims: [1], keepdim: true}\n  - {op: sub, in: [x, top], out: d}\n  - {op: "
         "pow, in: d, out: sq, scalar: 2}\n"
         "  - {op: mean, in: sq, out: s, dims: [1], keepdim: true}\n  - {op: mul, in: [d, s], out: y}\n",
         false, 0, 2},
        {"fourth powers want the mean first",
         "  - {op: mean, in: x, out: top, dims: [1], keepdim: true}\n  - {op: sub, in: [x, top], out: d}\n  - {op: "
         "pow, in: d, out: sq, scalar: 4}\n"
         "  - {op: mean, in: sq, out: s, dims: [1], keepdim: true}\n  - {op: mul, in: [d, s], out: y}\n",
         false, 0, 3},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *text = fsim_printf(a, "%s%s", tensors, row[i].operators);
        fsim_diag *d = fsim_diag_new(a);
        const fsim_graph *g = fsim_graph_parse(a, d, "case.yaml", text, strlen(text), NULL);
        if (!g)
            fsim_diag_print(d, stderr, true);
        assert_non_null(g);
        int node[8];
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        const fsim_limits limits = {.graph = g, .shared_per_block = 163 << 10, .strict = row[i].strict};
        fsim_group made;
        fsim_refusal why;
        assert_true(fsim_legal(&limits, node, g->nodes, a, &made, &why));
        if (made.stages != row[i].stages || (row[i].live && made.live != row[i].live))
            print_message("%s: %d live, %d stages\n", row[i].idea, made.live, made.stages);
        assert_int_equal(made.stages, row[i].stages);
        assert_true(row[i].live == 0 || made.live == row[i].live);
        fsim_arena_free(a);
    }
}

static const legal_reason *reason_of(const char *idea)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].idea, idea) == 0)
            return &reasons[i];
    fail_msg("%s: no reason is known", idea);
    return NULL;
}

static void rules_and_templates(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const legal_case *c = &cases[i];
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text = fsim_printf(a, "%s%s", tensors, c->operators);
        const fsim_graph *g = fsim_graph_parse(a, d, "case.yaml", text, strlen(text), NULL);
        if (!g)
            fsim_diag_print(d, stderr, true);
        assert_non_null(g);
        int node[16], count = 0;
        char *names = fsim_strdup(a, c->set);
        for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
            node[count] = fsim_find_node(g, name);
            assert_true(node[count++] >= 0);
        }
        qsort(node, (size_t)count, sizeof *node, by_number);
        const fsim_limits limits = {.graph = g, .shared_per_block = 163 << 10, .strict = c->strict};
        fsim_group made;
        fsim_refusal why = {.rule = FSIM_RULE_NONE};
        const bool legal = fsim_legal(&limits, node, count, a, &made, &why);
        if (legal != (c->rule == FSIM_RULE_NONE) || (!legal && why.rule != c->rule) ||
            (legal && made.template != c->template))
            print_message("%s: %s\n", c->idea, legal ? fsim_template_names[made.template] : fsim_rule_names[why.rule]);
        assert_int_equal(legal, c->rule == FSIM_RULE_NONE);
        if (legal) {
            assert_int_equal(made.template, c->template);
        } else {
            assert_int_equal(why.rule, c->rule);
            if (why.final != c->final || (c->needed > 0 && why.needed != c->needed))
                print_message("%s: %g, %sfinal\n", c->idea, why.needed, why.final ? "" : "not ");
            assert_int_equal(why.final, c->final);
            if (c->needed > 0)
                assert_true(why.needed == c->needed);
            const char *words = fsim_refusal_text(g, &why, a);
            const legal_reason *reason = reason_of(c->idea);
            assert_string_equal(words, reason->words);
            assert_true(why.a == reason->a && why.b == reason->b);
            const char *against = strstr(words, " against "); /* never "64 rows against 64" */
            assert_true(!against || why.needed != why.limit || strncmp(against, " against as many", 16) == 0);
            if (why.unit == FSIM_IN_WINDOWS) /* two of them: whether they overlap is not the reason */
                assert_true(strstr(words, "each need") && !strstr(words, "overlapping"));
        }
        fsim_arena_free(a);
    }
}

/* What folds into a contraction's weights, and what is then read. */
static const struct {
    const char *idea, *operators;
    int folded, reads;
} folds[] = {
    {"batch norm behind a linear layer with bias",
     "  - {op: linear, in: [x, w, bias], out: c}\n  - {op: batch_norm, in: [c, gamma, beta, mu, var], out: y}\n", 7, 3},
    {"and what follows stays",
     "  - {op: linear, in: [x, w], out: c}\n  - {op: mul, in: [c, gamma], out: s}\n  - {op: relu, in: s, out: r}\n  - "
     "{op: mul, in: [r, gamma], out: y}\n",
     1, 3},
    {"a scale alone leaves no vector", "  - {op: linear, in: [x, w], out: c}\n  - {op: div, in: [c, gamma], out: y}\n",
     1, 2},
    {"a bias alone is an epilogue", "  - {op: linear, in: [x, w, bias], out: y}\n", 0, 3},
    {"a factor that is no weight", "  - {op: linear, in: [x, w], out: c}\n  - {op: mul, in: [c, v], out: y}\n", 0, 3},
    {"a factor a row", "  - {op: linear, in: [x, w], out: c}\n  - {op: mul, in: [c, rows], out: y}\n", 0, 3},
    {"one over the column's scale", "  - {op: linear, in: [x, w], out: c}\n  - {op: div, in: [gamma, c], out: y}\n", 0,
     3},
    {"weights that are an input", "  - {op: matmul, in: [x, x], out: c}\n  - {op: mul, in: [c, gamma], out: y}\n", 0,
     2},
    {"the product is wanted too",
     "  - {op: linear, in: [x, w], out: c}\n  - {op: mul, in: [c, gamma], out: y}\noutputs: [c, y]\n", 0, 3},
    {"two readers",
     "  - {op: linear, in: [x, w], out: c}\n  - {op: mul, in: [c, gamma], out: s}\n  - {op: add, in: [s, c], out: y}\n",
     0, 3},
};

static void weights_take_scales_in(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof folds / sizeof folds[0]; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *vectors =
            "tensors:\n  bias: {shape: [64], dtype: f32, role: weight}\n  gamma: {shape: [64], dtype: f32, role: "
            "weight}\n"
            "  beta: {shape: [64], dtype: f32, role: weight}\n  mu: {shape: [64], dtype: f32, role: weight}\n"
            "  var: {shape: [64], dtype: f32, role: weight}\n  rows: {shape: [64, 1], dtype: f32, role: weight}\n";
        const char *text = fsim_printf(a, "%s%s%s", vectors, tensors + strlen("tensors:\n"), folds[i].operators);
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "case.yaml", text, strlen(text), NULL);
        assert_non_null(g);
        for (int strict = 0; strict < 2; strict++) {
            int node[16];
            fsim_group made;
            fsim_refusal why;
            for (int n = 0; n < g->nodes; n++)
                node[n] = n;
            const fsim_limits limits = {.graph = g, .shared_per_block = 163 << 10, .strict = strict};
            assert_true(fsim_legal(&limits, node, g->nodes, a, &made, &why));
            if (!strict && (made.folded != folds[i].folded || made.reads != folds[i].reads))
                print_message("%s: %d folded, %d reads\n", folds[i].idea, made.folded, made.reads);
            assert_int_equal(made.folded, strict ? 0 : folds[i].folded);
            assert_true(strict || made.reads == folds[i].reads);
        }
        fsim_arena_free(a);
    }
}

/* A refusal that calls itself final must hold for every larger set: whatever part of a legal set is refused, is not
 * refused for good. */
static void final_refusals_are_final(void **unused)
{
    (void)unused;
    int partial = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const legal_case *c = &cases[i];
        if (c->rule != FSIM_RULE_NONE)
            continue;
        fsim_arena *a = fsim_arena_new();
        const char *text = fsim_printf(a, "%s%s", tensors, c->operators);
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "case.yaml", text, strlen(text), NULL);
        const fsim_limits limits = {.graph = g, .shared_per_block = 163 << 10, .strict = c->strict};
        int node[16], some[16], count = 0;
        char *names = fsim_strdup(a, c->set);
        for (char *name = strtok(names, " "); name; name = strtok(NULL, " "))
            node[count++] = fsim_find_node(g, name);
        qsort(node, (size_t)count, sizeof *node, by_number);
        for (unsigned subset = 1; subset < 1u << count; subset++) {
            fsim_group made;
            fsim_refusal why = {.rule = FSIM_RULE_NONE};
            int n = 0;
            for (int k = 0; k < count; k++)
                if (subset >> k & 1)
                    some[n++] = node[k];
            const fsim_mark mark = fsim_save(a);
            if (!fsim_group_of(&limits, &(fsim_selection){.node = some, .count = n}, a, &made, &why)) {
                partial++;
                if (why.final)
                    print_message("%s: %s\n", c->idea, fsim_refusal_text(g, &why, a));
                assert_false(why.final);
            }
            fsim_rewind(a, mark);
        }
        fsim_arena_free(a);
    }
    assert_true(partial > 1000);
}

/* Every unit of a refusal, and every template, has words of its own. */
static void tables_have_texts(void **unused)
{
    (void)unused;
    assert_null(fsim_refusal_units[FSIM_IN_NONE]);
    for (int i = FSIM_IN_NONE + 1; i < FSIM_REFUSAL_UNITS; i++)
        for (int k = FSIM_IN_NONE + 1; k <= i; k++)
            assert_true((strcmp(fsim_refusal_units[i], fsim_refusal_units[k]) == 0) == (i == k));
    for (int i = 0; i < FSIM_TEMPLATE_COUNT; i++)
        for (int k = 0; k <= i; k++) {
            assert_true((strcmp(fsim_template_names[i], fsim_template_names[k]) == 0) == (i == k));
            assert_true((strcmp(fsim_template_lines[i], fsim_template_lines[k]) == 0) == (i == k));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_and_templates), cmocka_unit_test(lives_and_walks),
                                       cmocka_unit_test(weights_take_scales_in),
                                       cmocka_unit_test(final_refusals_are_final), cmocka_unit_test(tables_have_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
