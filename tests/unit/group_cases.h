/* SPDX-License-Identifier: Apache-2.0 */
/* group_cases.h: the kernels of groups_test.c: their operators, and what is said of them. */
#ifndef FUSESIM_TESTS_GROUP_CASES_H
#define FUSESIM_TESTS_GROUP_CASES_H

/* x: 64 x 256; z: one row of it, b: one column; w: 32 x 256; v: 256 x 256; u: 32 x 32 */
#define MATRICES                                                                                                       \
    "tensors: {x: {shape: [64, 256], dtype: f32}, z: {shape: [256], dtype: f32}, b: {shape: [64, 1], dtype: f32}, "    \
    "w: {shape: [32, 256], dtype: f32}, v: {shape: [256, 256], dtype: f32}, u: {shape: [32, 32], dtype: f32}}"

static const struct {
    const char *tensors, *operators, *outputs, *wanted;
} cases[] = {
    /* relu: each of 64 x 256 elements once; 4 bytes each */
    {MATRICES, "  - {op: relu, in: [x], out: y}\n", "[y]",
     "pointwise 16384 x 1, 1 loops, 2 live; x full 65536 -> y full; relu 16384 full"},
    /* broadcasts: a row and a column are read at every point, but are 256 and 64 elements; two results */
    {MATRICES,
     "  - {op: add, in: [x, b], out: s}\n"
     "  - {op: mul, in: [s, z], out: y}\n",
     "[y, s]",
     "pointwise 16384 x 1, 1 loops, 3 live; x full 65536; z full 1024; b full 256 -> s full; y full; add "
     "16384 full; mul 16384 full"},
    /* computed again: each of 64 exponentials for 256 points */
    {MATRICES,
     "  - {op: exp, in: [b], out: e}\n"
     "  - {op: mul, in: [x, e], out: y}\n",
     "[y]",
     "pointwise 16384 x 1, 1 loops, 3 live, recomputes; x full 65536; b full 256 -> y full; exp 16384 "
     "full; mul 16384 full"},
    /* shared: s is computed once for both of its readers */
    {MATRICES,
     "  - {op: mul, in: [x, x], out: s}\n"
     "  - {op: exp, in: [s], out: a}\n"
     "  - {op: neg, in: [s], out: c}\n"
     "  - {op: add, in: [a, c], out: y}\n",
     "[y, c]",
     "pointwise 16384 x 1, 1 loops, 3 live; x full 65536 -> c full; y full; mul 16384 full; exp 16384 "
     "full; neg 16384 full; add 16384 full"},
    /* part: 32 of 64 rows of x */
    {MATRICES,
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: slice, in: [e], out: half, dim: 0, start: 16, size: 32}\n"
     "  - {op: neg, in: [half], out: y}\n",
     "[y]", "pointwise 8192 x 1, 1 loops, 2 live; x full 32768 part -> y full; exp 8192 full; neg 8192 full"},
    /* two views: v as it is, and turned around */
    {MATRICES,
     "  - {op: transpose, in: [v], out: t, dims: [0, 1]}\n"
     "  - {op: add, in: [v, t], out: y}\n",
     "[y]",
     "pointwise 65536 x 1, 1 loops, 4 live; v by 2 full 262144 -> y full; transpose 65536 full; add 65536 "
     "full"},
    /* concatenation: the first 64 rows come from x and the others from v: ranges 1 and 2; exp of x only there */
    {MATRICES,
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: concat, in: [e, v], out: c, dim: 0}\n"
     "  - {op: exp, in: [c], out: y}\n",
     "[y]",
     "pointwise 81920 x 1, 1 loops, 4 live; x full 65536 placed branches 2; v full 262144 placed branches "
     "4 -> y full; exp 16384 full; concat 81920 full; exp 81920 full"},
    /* softmax: x is walked once for maximum and sum, and once for the quotients: loops 0 and 1. A row is 1024 bytes */
    {MATRICES, "  - {op: softmax, in: [x], out: y, dim: 1}\n", "[y]",
     "row_reduction 64 x 256, 2 loops, 3 live, keeps 1024; x full loops 3 65536 -> y full; max 16384 full "
     "level 1; sub 16384 full loops 3 level 1; exp 16384 full loops 3 level 1; sum 16384 full level 1; div"
     " 16384 full loops 2 level 1"},
    /* layer norm: weight and bias are z, in the second walk; what a row has once is computed 64 times */
    {MATRICES, "  - {op: layer_norm, in: [x, z, z], out: y}\n", "[y]",
     "row_reduction 64 x 256, 2 loops, 3 live, keeps 1024; x full loops 3 65536; z full loops 2 1024 -> y "
     "full; mean 16384 full level 1; sub 16384 full loops 3 level 1; mul 16384 full level 1; mean 16384 "
     "full level 1; add 64 loops 2 level 1; rsqrt 64 loops 2 level 1; mul 16384 full loops 2 level 1; mul "
     "16384 full loops 2 level 1; add 16384 full loops 2 level 1"},
    /* one loop: nothing of a row is needed again: b is a row's, and so is the exponential of its sum */
    {MATRICES,
     "  - {op: add, in: [x, b], out: s}\n"
     "  - {op: sum, in: [s], out: y, dims: [1]}\n"
     "  - {op: exp, in: [y], out: e}\n"
     "  - {op: relu, in: [s], out: r}\n",
     "[e, r]",
     "row_reduction 64 x 256, 2 loops, 3 live; x full 65536; b 256 -> e; r full; add 16384 full; sum 16384"
     " full level 1; exp 64 loops 2 level 1; relu 16384 full"},
    /* three loops: the second sum needs the first one */
    {MATRICES,
     "  - {op: sum, in: [x], out: s, dims: [1], keepdim: true}\n"
     "  - {op: div, in: [x, s], out: p}\n"
     "  - {op: mul, in: [p, z], out: q}\n"
     "  - {op: sum, in: [q], out: y, dims: [1]}\n",
     "[y]",
     "row_reduction 64 x 256, 3 loops, 3 live, keeps 1024; x full loops 3 65536; z full loops 2 1024 -> y;"
     " sum 16384 full level 1; div 16384 full loops 2 level 1; mul 16384 full loops 2 level 1; sum 16384 "
     "full level 2"},
    /* two reductions: of one row, in one walk */
    {MATRICES,
     "  - {op: argmax, in: [x], out: y, dim: 1}\n"
     "  - {op: sum, in: [x], out: q, dims: [1]}\n",
     "[y, q]",
     "row_reduction 64 x 256, 2 loops, 3 live; x full 65536 -> y; q; argmax 16384 full level 1; sum 16384 "
     "full level 1"},
    /* columns: 256 columns of 64 elements, 256 bytes each, walked twice */
    {MATRICES,
     "  - {op: relu, in: [x], out: r}\n"
     "  - {op: sum, in: [r], out: y, dims: [0]}\n"
     "  - {op: exp, in: [y], out: e}\n"
     "  - {op: mul, in: [r, e], out: m}\n",
     "[m]",
     "column_reduction 256 x 64, 2 loops, 3 live, keeps 256; x full loops 3 65536 -> m full; relu 16384 "
     "full loops 3; sum 16384 full level 1; exp 256 loops 2 level 1; mul 16384 full loops 2 level 1"},
    /* rows and columns: softmax's rows, and a sum for each of their places */
    {MATRICES,
     "  - {op: softmax, in: [x], out: m, dim: 1}\n"
     "  - {op: sum, in: [m], out: s, dims: [0]}\n",
     "[m, s]",
     "mixed_reduction 64 x 256, 2 loops, 3 live, keeps 1024, 1 across, 1 columns; x full loops 3 65536 -> "
     "m full; s full; max 16384 full level 1; sub 16384 full loops 3 level 1; exp 16384 full loops 3 level"
     " 1; sum 16384 full level 1; div 16384 full loops 2 level 1; sum 16384 full level 1 across"},
    /* all: one row of 65536 elements */
    {MATRICES, "  - {op: sum, in: [v], out: s, dims: [0, 1]}\n", "[s]",
     "row_reduction 1 x 65536, 2 loops, 2 live; v full 262144 -> s; sum 65536 full level 1"},
    /* scan */
    {MATRICES,
     "  - {op: cumsum, in: [x], out: c, dim: 1}\n"
     "  - {op: neg, in: [c], out: y}\n",
     "[y]", "scan 16384 x 1, 1 loops, 2 live; x full 65536 -> y full; cumsum 16384 full; neg 16384 full"},
    /* product: 64 x 32 results of 256 steps; relu of the first operand's elements before, gelu of the results after */
    {MATRICES,
     "  - {op: relu, in: [x], out: r}\n"
     "  - {op: linear, in: [r, w], out: l}\n"
     "  - {op: gelu, in: [l], out: y}\n",
     "[y]",
     "contraction 2048 x 1, 1 loops, 3 live; x full 65536 operand 0 beside 0; w full 32768 operand 1 "
     "beside 0 -> y full; relu 16384 full before 0; linear 524288 full; mul 2048 full; erf 2048 full; add "
     "2048 full; mul 2048 full; mul 2048 full"},
    /* weights first: relu of the second operand's elements */
    {MATRICES,
     "  - {op: relu, in: [w], out: r}\n"
     "  - {op: linear, in: [x, r], out: y}\n",
     "[y]",
     "contraction 2048 x 1, 1 loops, 3 live; x full 65536 operand 0 beside 0; w full 32768 operand 1 "
     "beside 0 -> y full; relu 8192 full before 1; linear 524288 full"},
    /* residual: x in tiles, and once more beside the results */
    {MATRICES,
     "  - {op: linear, in: [x, v], out: l}\n"
     "  - {op: add, in: [l, x], out: y}\n",
     "[y]",
     "contraction 16384 x 1, 1 loops, 4 live; x by 2 full 65536 operand 0 beside 1; v full 262144 operand "
     "1 beside 0 -> y full; linear 4194304 full; add 16384 full"},
    /* both operands: one tensor, whose bytes count once */
    {MATRICES, "  - {op: linear, in: [v, v], out: y}\n", "[y]",
     "contraction 65536 x 1, 1 loops, 3 live; v by 2 full 262144 operand 1 beside 0 -> y full; linear "
     "16777216 full"},
    /* side by side: two products of the same operands meet */
    {MATRICES,
     "  - {op: linear, in: [x, w], out: l}\n"
     "  - {op: linear, in: [x, w], out: m}\n"
     "  - {op: mul, in: [l, m], out: y}\n",
     "[y]",
     "contraction 4096 x 1, 1 loops, 4 live; x full 65536 operand 0 beside 0; w full 32768 operand 1 "
     "beside 0 -> y full; linear 524288 full; linear 524288 full; mul 2048 full"},
    /* product and softmax: a tile holds whole rows of results */
    {MATRICES,
     "  - {op: linear, in: [x, v], out: l}\n"
     "  - {op: softmax, in: [l], out: y, dim: 1}\n",
     "[y]",
     "contraction 64 x 256, 2 loops, 3 live, whole rows of 256; x full 65536 operand 0 beside 0; v full "
     "262144 operand 1 beside 0 -> y full; linear 4194304 full; max 16384 full level 1; sub 16384 full "
     "loops 3 level 1; exp 16384 full loops 3 level 1; sum 16384 full level 1; div 16384 full loops 2 "
     "level 1"},
    /* chain: 64 rows of 32 between the products; relu there */
    {MATRICES,
     "  - {op: linear, in: [x, w], out: l}\n"
     "  - {op: relu, in: [l], out: r}\n"
     "  - {op: linear, in: [r, u], out: y}\n",
     "[y]",
     "chained_contraction 2048 x 1, 1 loops, 3 live, chain 64 x 32 in 1, causal 0; x full 65536 operand 0 "
     "beside 0; w full 32768 operand 1 beside 0; u full 4096 operand 2 beside 0 -> y full; linear 524288 "
     "full middle 0; relu 2048 full middle 0; linear 65536 full"},
    /* pooling: windows of 3 x 3, 36 of them in each of two planes: an element is in (6 x 3 / 8)^2 of them on average */
    {"tensors: {x: {shape: [1, 2, 8, 8], dtype: f32}}",
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: max_pool2d, in: [e], out: p, kernel: 3, stride: 1}\n"
     "  - {op: relu, in: [p], out: y}\n",
     "[y]",
     "pooling 72 x 1, 1 loops, 2 live, recomputes; x full 512 repeats 5.0625 -> y full; exp 648 full; "
     "max_pool2d 648 full; relu 72 full"},
    /* gather: 16 of 64 rows, chosen by 16 indices of 8 bytes */
    {"tensors: {x: {shape: [64, 256], dtype: f32}, i: {shape: [16], dtype: i64}}",
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: index_select, in: [e, i], out: y, dim: 0}\n",
     "[y]",
     "pointwise 4096 x 1, 1 loops, 4 live; x full 16384 part; i full 128 -> y full; exp 4096 full; "
     "index_select 4096 full"},
    /* doubles: a value of 8 bytes takes two registers */
    {"tensors: {x: {shape: [64, 256], dtype: f16}, z: {shape: [256], dtype: f64}}",
     "  - {op: cast, in: [x], out: c, dtype: f64}\n"
     "  - {op: add, in: [c, z], out: y}\n",
     "[y]",
     "pointwise 16384 x 1, 1 loops, 6 live; x full 32768; z full 2048 -> y full; cast 16384 full; add "
     "16384 full"},
    /* attention: four heads of 128 rows: the maximum is a row's, the difference is shifted by it, and what follows can
       be corrected by a factor */
    {"tensors: {q: {shape: [4, 128, 64], dtype: f16}, k: {shape: [4, 128, 64], dtype: f16}, v: {shape: [4,"
     " 128, 64], dtype: f16}}",
     "  - {op: transpose, in: [k], out: t, dims: [1, 2]}\n"
     "  - {op: bmm, in: [q, t], out: s}\n"
     "  - {op: softmax, in: [s], out: p, dim: 2}\n"
     "  - {op: bmm, in: [p, v], out: y}\n",
     "[y]",
     "chained_contraction 32768 x 1, 3 loops, 3 live, chain 512 x 128 in 4, causal 0; q full 65536 operand"
     " 0 beside 0; k full 65536 operand 1 beside 0; v full 65536 operand 2 beside 0 -> y full; transpose "
     "32768 full before 1; bmm 4194304 full middle 0; max 65536 full level 1 middle 1; sub 65536 full "
     "loops 6 level 1 middle 2; exp 65536 full loops 6 level 1 middle 3; sum 65536 full level 2 middle 1; "
     "div 65536 full loops 4 level 2 middle 3; bmm 4194304 full"},
    /* stretches of 32: eight lanes hold four neighbours each, so that what is made of a stretch's largest is
       computed once for four elements; s is stored */
    {MATRICES,
     "  - {op: sum, in: [x], out: r, dims: [1], keepdim: true}\n"
     "  - {op: div, in: [x, r], out: d}\n"
     "  - {op: reshape, in: [d], out: b8, shape: [64, 8, 32]}\n"
     "  - {op: max, in: [b8], out: l, dims: [2], keepdim: true}\n"
     "  - {op: neg, in: [l], out: s}\n"
     "  - {op: mul, in: [b8, s], out: y}\n",
     "[y, s]",
     "row_reduction 64 x 256, 2 loops, 3 live, recomputes, keeps 1024; x full loops 3 65536 -> s full; y "
     "full; sum 16384 full level 1; div 16384 full loops 2 level 1; max 16384 full level 1; neg 4096 full "
     "loops 2 level 1; mul 16384 full loops 2 level 1"},
    /* causal: 1024 rows of 512 scores; tiles above the diagonal of 512 are left out; the factor 1 / sum waits for
       the end */
    {"tensors: {q: {shape: [2, 1, 512, 64], dtype: f16}, k: {shape: [2, 1, 512, 64], dtype: f16}, v: "
     "{shape: [2, 1, 512, 64], dtype: f16}}",
     "  - {op: attention, in: [q, k, v], out: y, causal: true}\n", "[y]",
     "chained_contraction 65536 x 1, 1 loops, 3 live, chain 1024 x 512 in 2, causal 512; q full 131072 "
     "operand 0 beside 0; k full 131072 operand 1 beside 0; v full 131072 operand 2 beside 0 -> y full; "
     "einsum 33554432 full middle 0; mul 524288 full loops 7 middle 0; causal_mask 524288 full loops 7 "
     "middle 0; max 524288 full level 1 middle 1; sub 524288 full loops 6 level 1 middle 2; exp 524288 "
     "full loops 6 level 1 middle 3 form 3; sum 524288 full level 2 middle 1; div 524288 full loops 4 "
     "level 2 middle 3 form 2; matmul 33554432 full"},
    /* causal, but no square: 512 queries, 768 keys */
    {"tensors: {q: {shape: [2, 1, 512, 64], dtype: f16}, k: {shape: [2, 1, 768, 64], dtype: f16}, v: "
     "{shape: [2, 1, 768, 64], dtype: f16}}",
     "  - {op: attention, in: [q, k, v], out: y, causal: true}\n", "[y]",
     "chained_contraction 65536 x 1, 1 loops, 3 live, chain 1024 x 768 in 2, causal 0; q full 131072 "
     "operand 0 beside 0; k full 196608 operand 1 beside 0; v full 196608 operand 2 beside 0 -> y full; "
     "einsum 50331648 full middle 0; mul 786432 full loops 7 middle 0; causal_mask 786432 full loops 7 "
     "middle 0; max 786432 full level 1 middle 1; sub 786432 full loops 6 level 1 middle 2; exp 786432 "
     "full loops 6 level 1 middle 3 form 3; sum 786432 full level 2 middle 1; div 786432 full loops 4 "
     "level 2 middle 3 form 2; matmul 50331648 full"},
    /* causal and short: a tile holds the row of 64, with all of its walks */
    {"tensors: {q: {shape: [2, 1, 64, 64], dtype: f16}, k: {shape: [2, 1, 64, 64], dtype: f16}, v: {shape:"
     " [2, 1, 64, 64], dtype: f16}}",
     "  - {op: attention, in: [q, k, v], out: y, causal: true}\n", "[y]",
     "chained_contraction 8192 x 1, 3 loops, 3 live, chain 128 x 64 in 2, causal 0; q full 16384 operand 0"
     " beside 0; k full 16384 operand 1 beside 0; v full 16384 operand 2 beside 0 -> y full; einsum 524288"
     " full middle 0; mul 8192 full loops 7 middle 0; causal_mask 8192 full loops 7 middle 0; max 8192 "
     "full level 1 middle 1; sub 8192 full loops 6 level 1 middle 2; exp 8192 full loops 6 level 1 middle "
     "3; sum 8192 full level 2 middle 1; div 8192 full loops 4 level 2 middle 3; matmul 524288 full"},
    /* deviations from a mean: the mean of their squares runs along with it (online.h) */
    {MATRICES,
     "  - {op: mean, in: [x], out: m, dims: [1], keepdim: true}\n"
     "  - {op: sub, in: [x, m], out: d}\n"
     "  - {op: mul, in: [d, d], out: q}\n"
     "  - {op: mean, in: [q], out: s, dims: [1], keepdim: true}\n"
     "  - {op: div, in: [d, s], out: y}\n",
     "[y]",
     "row_reduction 64 x 256, 2 loops, 3 live, keeps 1024; x full loops 3 65536 -> y full; mean 16384 full"
     " level 1; sub 16384 full loops 3 level 1; mul 16384 full level 1; mean 16384 full level 1; div 16384"
     " full loops 2 level 1"},
    /* folded: scale, exponential and shift go into the weights; the scale is not read, one vector of shifts is */
    {"tensors: {x: {shape: [64, 256], dtype: f32}, w: {shape: [32, 256], dtype: f32, role: weight}, g: "
     "{shape: [32], dtype: f32, role: weight}, h: {shape: [32], dtype: f32, role: weight}}",
     "  - {op: linear, in: [x, w], out: l}\n"
     "  - {op: mul, in: [l, g], out: m}\n"
     "  - {op: exp, in: [h], out: e}\n"
     "  - {op: add, in: [m, e], out: a}\n"
     "  - {op: relu, in: [a], out: y}\n",
     "[y]",
     "contraction 2048 x 1, 1 loops, 3 live; x full 65536 operand 0 beside 0; w full 32768 operand 1 "
     "beside 0; h full 128 -> y full; linear 524288 full; mul 0 loops 0 form 1; exp 0 loops 0 form 1; add "
     "0 loops 0 form 1; relu 2048 full"},
    /* convolution: relu once for each of 256 elements that it loads; 512 results of 36 steps */
    {"tensors: {x: {shape: [1, 4, 8, 8], dtype: f32}, k: {shape: [8, 4, 3, 3], dtype: f32}}",
     "  - {op: relu, in: [x], out: r}\n"
     "  - {op: conv2d, in: [r, k], out: c, padding: 1}\n"
     "  - {op: neg, in: [c], out: y}\n",
     "[y]",
     "contraction 512 x 1, 1 loops, 3 live; x full 1024 operand 0 beside 0; k full 1152 operand 1 beside 0"
     " -> y full; relu 256 full before 0; conv2d 18432 full; neg 512 full"},
    /* pooling with a border: of windows of 3, each 2, from -1 on, 2 + 3 + 3 + 3 elements lie inside: 11 x 11
       exponentials a plane */
    {"tensors: {x: {shape: [1, 2, 8, 8], dtype: f32}}",
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: max_pool2d, in: [e], out: p, kernel: 3, stride: 2, padding: 1}\n",
     "[p]",
     "pooling 32 x 1, 1 loops, 2 live, recomputes; x full 512 repeats 1.89062 -> p full; exp 242 full; "
     "max_pool2d 288 full"},
    /* adds in place: 16 of 64 rows are read and written */
    {"tensors: {x: {shape: [16, 32], dtype: f32}, s: {shape: [64, 32], dtype: f32}, i: {shape: [16], "
     "dtype: i64}}",
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: index_add, in: [s, i, e], out: y, dim: 0}\n",
     "[y]",
     "opaque 512 x 1, 1 loops, 5 live; x full 2048 repeats 1; s full 2048 part; i full 128 -> y full; exp "
     "512 full; index_add 512 full"},
    /* between: relu in front of the first product, and between the two */
    {MATRICES,
     "  - {op: relu, in: [x], out: r}\n"
     "  - {op: linear, in: [r, w], out: l}\n"
     "  - {op: relu, in: [l], out: m}\n"
     "  - {op: linear, in: [m, u], out: k}\n"
     "  - {op: neg, in: [k], out: y}\n",
     "[y]",
     "chained_contraction 2048 x 1, 1 loops, 3 live, chain 64 x 32 in 1, causal 0; x full 65536 operand 0 "
     "beside 0; w full 32768 operand 1 beside 0; u full 4096 operand 2 beside 0 -> y full; relu 16384 full"
     " before 0; linear 524288 full middle 0; relu 2048 full middle 0; linear 65536 full; neg 2048 full"},
    /* column after softmax: one element of each row is computed once more */
    {"tensors: {x: {shape: [64, 256], dtype: f32}, i: {shape: [64, 1], dtype: i64}}",
     "  - {op: softmax, in: [x], out: p, dim: 1}\n"
     "  - {op: gather, in: [p, i], out: g, dim: 1}\n"
     "  - {op: log, in: [g], out: y}\n",
     "[y, p]",
     "row_reduction 64 x 256, 2 loops, 5 live, recomputes, keeps 1024; x full loops 3 65536; i loops 2 512"
     " -> p full; y; max 16384 full level 1; sub 16448 full loops 3 level 1; exp 16448 full loops 3 level "
     "1; sum 16384 full level 1; div 16448 full loops 2 level 1; gather 64 loops 2 level 1; log 64 loops 2"
     " level 1"},
    /* a border of four rows above and below: exp of the 16384 elements inside */
    {MATRICES,
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: pad, in: [e], out: p, padding: [0, 0, 4, 4]}\n"
     "  - {op: relu, in: [p], out: y}\n",
     "[y]",
     "pointwise 18432 x 1, 1 loops, 4 live; x full 65536 placed branches 2 -> y full; exp 16384 full; pad "
     "18432 full; relu 18432 full"},
    /* siblings: products of one operand, each with an epilogue */
    {MATRICES,
     "  - {op: linear, in: [x, w], out: l}\n"
     "  - {op: linear, in: [x, v], out: m}\n"
     "  - {op: relu, in: [l], out: y}\n"
     "  - {op: neg, in: [m], out: q}\n",
     "[y, q]",
     "contraction 18432 x 1, 1 loops, 5 live; x by 2 full 65536 operand 0 beside 0; w full 32768 operand 1"
     " beside 0; v full 262144 operand 1 beside 0 -> y full; q full; linear 524288 full; linear 4194304 "
     "full; relu 2048 full; neg 16384 full"},
    /* doubles: a value takes two registers, an element 8 bytes */
    {"tensors: {x: {shape: [64, 256], dtype: f64}}", "  - {op: softmax, in: [x], out: y, dim: 1}\n", "[y]",
     "row_reduction 64 x 256, 2 loops, 6 live, keeps 2048; x full loops 3 131072 -> y full; max 16384 full"
     " level 1; sub 16384 full loops 3 level 1; exp 16384 full loops 3 level 1; sum 16384 full level 1; "
     "div 16384 full loops 2 level 1"},
    /* 255 rows of 65537 are too few and too long for blocks of their own */
    {"tensors: {x: {shape: [255, 65537], dtype: f32}}",
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: sum, in: [e], out: y, dims: [1]}\n",
     "[y]",
     "full_reduction 255 x 65537, 2 loops, 2 live; x full 66847740 -> y; exp 16711935 full; sum 16711935 "
     "full level 1"},
    /* 256 rows are enough */
    {"tensors: {x: {shape: [256, 65537], dtype: f32}}",
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: sum, in: [e], out: y, dims: [1]}\n",
     "[y]",
     "row_reduction 256 x 65537, 2 loops, 2 live; x full 67109888 -> y; exp 16777472 full; sum 16777472 "
     "full level 1"},
    /* 65536 elements are not too long */
    {"tensors: {x: {shape: [255, 65536], dtype: f32}}",
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: sum, in: [e], out: y, dims: [1]}\n",
     "[y]",
     "row_reduction 255 x 65536, 2 loops, 2 live; x full 66846720 -> y; exp 16711680 full; sum 16711680 "
     "full level 1"},
    /* but nothing is split where each element needs the row's values */
    {"tensors: {x: {shape: [255, 65537], dtype: f32}}", "  - {op: softmax, in: [x], out: y, dim: 1}\n", "[y]",
     "row_reduction 255 x 65537, 2 loops, 3 live, keeps 262148; x full loops 3 66847740 -> y full; max "
     "16711935 full level 1; sub 16711935 full loops 3 level 1; exp 16711935 full loops 3 level 1; sum "
     "16711935 full level 1; div 16711935 full loops 2 level 1"},
    /* every second element */
    {MATRICES,
     "  - {op: reshape, in: [x], out: t, shape: [64, 128, 2]}\n"
     "  - {op: exp, in: [t], out: e}\n"
     "  - {op: select, in: [e], out: h, dim: 2, index: 1}\n"
     "  - {op: neg, in: [h], out: y}\n",
     "[y]",
     "pointwise 8192 x 1, 1 loops, 2 live; x full 32768 part -> y full; exp 8192 full; slice 8192 full; "
     "neg 8192 full"},
    /* windows of 2, each 3: 6 x 6 elements of 8 x 8 */
    {"tensors: {x: {shape: [1, 2, 8, 8], dtype: f32}}",
     "  - {op: exp, in: [x], out: e}\n"
     "  - {op: max_pool2d, in: [e], out: p, kernel: 2, stride: 3}\n",
     "[p]",
     "pooling 18 x 1, 1 loops, 2 live; x full 288 part repeats 1 -> p full; exp 72 full; max_pool2d 72 "
     "full"},
    /* what runs along is complete after one walk; the largest of what was shifted needs a second */
    {MATRICES,
     "  - {op: max, in: [v], out: m, dims: [1], keepdim: true}\n"
     "  - {op: sub, in: [v, m], out: d}\n"
     "  - {op: exp, in: [d], out: e}\n"
     "  - {op: sum, in: [e], out: s, dims: [1], keepdim: true}\n"
     "  - {op: max, in: [d], out: f, dims: [1], keepdim: true}\n"
     "  - {op: add, in: [s, f], out: y}\n",
     "[y]",
     "row_reduction 256 x 256, 3 loops, 3 live, keeps 1024; v full loops 3 262144 -> y; max 65536 full "
     "level 1; sub 65536 full loops 3 level 1; exp 65536 full level 1; sum 65536 full level 1; max 65536 "
     "full level 2; add 256 loops 4 level 2"},
    /* chain: 4 x 64 rows of 48 between the products, stored; relu in front of the first, a factor of each row
       between, exp behind */
    {"tensors: {q: {shape: [4, 64, 32], dtype: f16}, k: {shape: [4, 32, 48], dtype: f16}, v: {shape: [4, "
     "48, 32], dtype: f16}, b: {shape: [64, 1], dtype: f16}}",
     "  - {op: relu, in: [q], out: r}\n"
     "  - {op: bmm, in: [r, k], out: s}\n"
     "  - {op: mul, in: [s, b], out: t}\n"
     "  - {op: bmm, in: [t, v], out: o}\n"
     "  - {op: exp, in: [o], out: y}\n",
     "[y, s]",
     "chained_contraction 8192 x 1, 1 loops, 3 live, chain 256 x 48 in 4, causal 0; q full 16384 operand 0"
     " beside 0; k full 12288 operand 1 beside 0; v full 12288 operand 2 beside 0; b 128 -> s full; y "
     "full; relu 8192 full before 0; bmm 393216 full middle 0; mul 12288 full middle 0; bmm 393216 full; "
     "exp 8192 full"},
};

#endif
