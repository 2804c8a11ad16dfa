#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Operators that no shipped workload has: their kernels, alone and fused, compute what the reference does.
# depends: once cost: 4
. "${SOURCE_DIR:?}/tests/trial.sh"
export CC="${CC:-cc} -O0" # what kernels compute is asked, not how fast

cat >functions.yaml <<'YAML'
name: functions
tensors: {x: {shape: [24, 256], dtype: f32}, y: {shape: [24, 256], dtype: f32}, h: {shape: [4, 16, 128], dtype: f16}, w: {shape: [16], dtype: f16, role: weight}, i: {shape: [24, 256], dtype: i64}, k: {shape: [24, 256], dtype: i8}, m: {shape: [24, 256], dtype: bool}, d: {shape: [24, 256], dtype: f64}}
operators:
  - {op: tan, in: x, out: o1}
  - {op: asin, in: x, out: o2}
  - {op: acos, in: x, out: o3}
  - {op: atan, in: x, out: o4}
  - {op: sinh, in: x, out: o5}
  - {op: cosh, in: x, out: o6}
  - {op: asinh, in: x, out: o7}
  - {op: acosh, in: y, out: o8}
  - {op: atanh, in: x, out: o9}
  - {op: atan2, in: [x, y], out: o10}
  - {op: celu, in: x, out: o11, alpha: 0.7}
  - {op: softsign, in: x, out: o12}
  - {op: hardshrink, in: x, out: o13}
  - {op: softshrink, in: x, out: o14, lambd: 0.3}
  - {op: tanhshrink, in: x, out: o15}
  - {op: logsigmoid, in: x, out: o16}
  - {op: threshold, in: x, out: o17, threshold: 0.1, value: 20}
  - {op: prelu, in: [h, w], out: o18}
  - {op: log10, in: y, out: o19}
  - {op: bitwise_and, in: i, out: o20, scalar: 5}
  - {op: bitwise_or, in: [i, k], out: o21}
  - {op: bitwise_xor, in: k, out: o22, scalar: 3}
  - {op: bitwise_not, in: m, out: o23}
  - {op: bitwise_not, in: k, out: o24}
  - {op: bitwise_left_shift, in: k, out: o25, scalar: 3}
  - {op: bitwise_right_shift, in: i, out: o26, scalar: 1}
  - {op: isnan, in: x, out: o27}
  - {op: isinf, in: h, out: o28}
  - {op: isfinite, in: i, out: o29}
  - {op: any, in: m, out: o30, dim: 1}
  - {op: all, in: k, out: o31, dim: 0}
  - {op: var, in: x, out: o32, dim: 1}
  - {op: std, in: h, out: o33, dim: [0, 2], keepdim: true}
  - {op: glu, in: x, out: o34}
  - {op: tan, in: d, out: o35}
  - {op: isinf, in: d, out: o36}
  - {op: bitwise_left_shift, in: [i, k], out: o37}
  - {op: acosh, in: d, out: o38}
YAML
cat >indices.yaml <<'YAML'
name: indices
tensors: {x: {shape: [8, 12, 16, 10], dtype: f32}, i: {shape: [20], dtype: i64}, j: {shape: [5, 1], dtype: i64}, k: {shape: [20], dtype: i32}, b: {shape: [10], dtype: f32}, p: {shape: [6, 30], dtype: f32}, q: {shape: [6, 50], dtype: i64}, r: {shape: [6, 50], dtype: f32}, q2: {shape: [9], dtype: i64}, r2: {shape: [9, 30], dtype: f32}}
operators:
  - {op: index, in: [x, i], out: o1, dim: 2}
  - {op: index, in: [x, i, j], out: t2, dim: [1, 2]}
  - {op: add, in: [t2, b], out: o2}
  - {op: index, in: [x, i, j], out: t3, dim: [0, 3]}
  - {op: relu, in: t3, out: o3}
  - {op: index, in: [x, k, i, i, k], out: o4}
  - {op: scatter_add, in: [p, q, r], out: o5, dim: 1}
  - {op: scatter_add, in: [p, q2, r2], out: o6, dim: 0}
YAML
cat >images.yaml <<'YAML'
name: images
tensors: {x: {shape: [4, 12, 16, 10], dtype: f32}, w: {shape: [12], dtype: f32, role: weight}, b: {shape: [12], dtype: f32, role: weight}, m: {shape: [12], dtype: f32, role: weight}, v: {shape: [12], dtype: f32, role: weight}}
operators:
  - {op: interpolate, in: x, out: c1, scale_factor: 2, mode: bicubic}
  - {op: relu, in: c1, out: o1}
  - {op: interpolate, in: x, out: o2, size: [7, 21], mode: bicubic, align_corners: true}
  - {op: batch_norm, in: [x, w, b, m, v], out: [n, m2, v2, own, rstd], training: true}
  - {op: relu, in: n, out: o3}
  - {op: adaptive_max_pool2d, in: x, out: o4, output_size: [5, 3]}
  - {op: unfold, in: x, out: o5, dim: 2, size: 4, step: 3}
  - {op: im2col, in: x, out: c6, kernel: [3, 2], padding: [1, 1], stride: [2, 1], dilation: [1, 2]}
  - {op: exp, in: c6, out: o6}
outputs: [o1, o2, o3, m2, v2, own, rstd, o4, o5, o6]
YAML
cat >codes.yaml <<'YAML'
name: codes
tensors: {x: {shape: [32, 64], dtype: f32}, s: {shape: [32], dtype: f32, role: weight}, z: {shape: [32], dtype: i8, role: weight}, w: {shape: [48, 32], dtype: u8, role: weight}, t: {shape: [48, 2], dtype: f32, role: weight}, k: {shape: [32, 64], dtype: i8}, v: {shape: [16, 64], dtype: i8, role: weight}, f: {shape: [48, 64], dtype: f4e2m1, role: weight}, fs: {shape: [48, 4], dtype: f8e4m3, role: weight}, i: {shape: [48, 64], dtype: i4, role: weight}, is: {shape: [48, 2], dtype: f16, role: weight}, one: {shape: [1], dtype: f32, role: weight}}
operators:
  - {op: quantize_linear, in: [x, s, z], out: q, dim: 0}
  - {op: dequantize_linear, in: [q, s, z], out: o1, dim: 0}
  - {op: quantize, in: x, out: [q2, q2s], per: row, dtype: i8}
  - {op: quantize, in: x, out: [q3, q3s], per: block, block: 16}
  - {op: quantize, in: [x, one], out: q4, dtype: f8e5m2}
  - {op: quantize, in: x, out: [q5, q5s], per: block, block: 16, dtype: f4e2m1, scale_dtype: f8e4m3}
  - {op: quantize, in: x, out: [q6, q6s], per: block, block: 32, dtype: f4e2m1, scale_dtype: f8e8m0}
  - {op: quantize, in: x, out: [q7, q7s], per: row, dtype: i4}
  - {op: dequantize, in: [q6, q6s], out: x6, dtype: f32}
  - {op: dequantize, in: [f, fs], out: w5, dtype: f32}
  - {op: linear, in: [x6, w5], out: o5}
  - {op: dequantize, in: [i, is, is], out: w7, dtype: f32}
  - {op: linear, in: [x, w7], out: o7}
  - {op: unpack, in: w, out: codes}
  - {op: cast, in: codes, out: numbers, dtype: f32}
  - {op: sub, in: numbers, out: centred, scalar: 8}
  - {op: reshape, in: centred, out: blocks, shape: [48, 2, 32]}
  - {op: unsqueeze, in: t, out: scales, dim: 2}
  - {op: mul, in: [blocks, scales], out: scaled}
  - {op: reshape, in: scaled, out: weight, shape: [48, 64]}
  - {op: linear, in: [x, weight], out: o2}
  - {op: linear, in: [k, v], out: sums, dtype: i32}
  - {op: cast, in: sums, out: sums_f, dtype: f32}
  - {op: mul, in: sums_f, out: g, scalar: 0.01}
  - {op: quantize_linear, in: [g, one], out: o3}
outputs: [o1, o2, o3, q2, q2s, q3, q3s, q4, q5, q5s, q6, q6s, q7, q7s, o5, o7]
YAML
cat >weights.yaml <<'YAML'
name: weights
tensors: {x: {shape: [3, 8, 10, 9], dtype: f32}, g: {shape: [3, 12, 5, 4], dtype: f32}, u: {shape: [2, 6, 20], dtype: f16}, h: {shape: [2, 6, 18], dtype: f16}, v: {shape: [2, 4, 5, 6], dtype: f32}, k: {shape: [3, 4, 4, 3], dtype: f32}}
operators:
  - {op: conv2d_weight, in: [x, g], out: o1, kernel: [3, 2], stride: 2, padding: [1, 0], groups: 4}
  - {op: conv1d_weight, in: [u, h], out: o2, kernel: 3, groups: 6}
  - {op: conv3d_weight, in: [v, k], out: o3, kernel: [3, 2, 4], padding: [1, 0, 0]}
  - {op: exp, in: o1, out: o4}
outputs: [o1, o2, o3, o4]
YAML
# Gradients of pooling: element by element in kernels, window by window in the reference. ReLU makes many equal maxima.
cat >backward.yaml <<'YAML'
name: backward
tensors: {x: {shape: [3, 5, 23, 20], dtype: f32}, g: {shape: [3, 5, 12, 10], dtype: f32}, h: {shape: [3, 5, 9, 7], dtype: f32}, v: {shape: [3, 5, 23, 20], dtype: f32}, f: {shape: [3, 45, 120], dtype: f32}, q: {shape: [3, 5, 8, 7], dtype: f32}, z: {shape: [3, 4, 31], dtype: f16}, c: {shape: [2, 3, 4, 4, 3], dtype: f32}}
operators:
  - {op: avg_pool_grad, in: g, out: o1, output_size: [23, 20], kernel: 3, stride: 2, padding: 1}
  - {op: max_pool2d, in: x, out: y2, kernel: 3, stride: 2, padding: 1}
  - {op: max_pool_grad, in: [x, y2, g], out: o2, output_size: [23, 20], kernel: 3, stride: 2, padding: 1}
  - {op: relu, in: x, out: r}
  - {op: max_pool2d, in: r, out: y3, kernel: [5, 3], stride: [2, 2], dilation: [2, 3], padding: [1, 1]}
  - {op: exp, in: y3, out: g3}
  - {op: max_pool_grad, in: [r, y3, g3], out: o3, output_size: [23, 20], kernel: [5, 3], stride: [2, 2], dilation: [2, 3], padding: [1, 1]}
  - {op: avg_pool_grad, in: h, out: o4, output_size: [23, 20]}
  - {op: adaptive_max_pool2d, in: r, out: y5, output_size: [9, 7]}
  - {op: max_pool_grad, in: [r, y5, h], out: o5, output_size: [23, 20]}
  - {op: max_pool_pick, in: [r, v], out: o6, output_size: [12, 10], kernel: 3, stride: 2, padding: 1}
  - {op: max_pool_pick, in: [x, v], out: o7, output_size: [9, 7]}
  - {op: fold, in: f, out: o8, output_size: [23, 20], kernel: 3, stride: 2, padding: 1}
  - {op: relu, in: o8, out: o9}
  - {op: avg_pool_grad, in: q, out: o10, output_size: [23, 20], kernel: 2, stride: 3, dilation: 3, padding: 1}
  - {op: avg_pool_grad, in: z, out: o11, output_size: [64], kernel: 4, stride: 2}
  - {op: avg_pool_grad, in: c, out: o12, output_size: [9, 8, 5]}
YAML
# Transposed convolutions: a thread goes from tap to tap by the stride; with dilation it asks each.
cat >transposed.yaml <<'YAML'
name: transposed
tensors: {x: {shape: [2, 6, 5, 4], dtype: f32}, w: {shape: [6, 3, 5, 4], dtype: f32}, p: {shape: [6, 3, 3, 2], dtype: f32}, u: {shape: [2, 4, 9], dtype: f16}, v: {shape: [4, 2, 7], dtype: f16}, y: {shape: [1, 4, 3, 2, 3], dtype: f32}, z: {shape: [4, 2, 3, 4, 2], dtype: f32}}
operators:
  - {op: conv_transpose2d, in: [x, w], out: t1, stride: [2, 3], padding: [2, 1], output_padding: [1, 2]}
  - {op: conv_transpose2d, in: [x, p], out: t2, stride: [4, 2], output_padding: [3, 0]}
  - {op: conv_transpose2d, in: [x, w], out: t3, stride: 3, padding: 1, dilation: [2, 3]}
  - {op: conv_transpose1d, in: [u, v], out: t4, stride: 3, padding: 6, groups: 2}
  - {op: conv_transpose3d, in: [y, z], out: t5, stride: [2, 3, 2], padding: [0, 3, 1]}
  - {op: exp, in: t1, out: o1}
  - {op: sin, in: t2, out: o2}
  - {op: exp, in: t3, out: o3}
  - {op: exp, in: t4, out: o4}
  - {op: exp, in: t5, out: o5}
outputs: [o1, o2, o3, o4, o5]
YAML
for family in functions indices images codes weights backward transposed "$trial/stretches"; do
    exits 0 "$family.yaml" --device cpu --hw a100-sxm4-80gb --strategies eager,optimal --no-measure --search-steps 20000
    has out '^All [0-9]+ kernels of 2 plans agree with the reference\.$'
done

# In the kernel that fuses all that is legal, also where the last tiles are not full. A softmax of rows of 100 has no blocks, and a tile has whole rows.
sed 's/quantize.*/softmax, in: h, out: p, dim: 1}/; s/\[q, s, h\]/[p, h]/; s/, block: 128//' "$trial/tiles.yaml" >softmax.yaml
for set in '' '--set block=16 --set dtype=f32' '--set block=32 --set K=1024 --set dtype=f64' '--set M=300 --set N=128 --set K=1024'; do
    exits 0 "$trial/tiles.yaml" --device cpu --hw a100-sxm4-80gb --strategies maximal --no-measure $set
    has out '^All 1 kernels of 1 plans agree with the reference'
done
exits 0 softmax.yaml --device cpu --hw a100-sxm4-80gb --strategies maximal --no-measure --set N=100 --set K=512
has out '^All 1 kernels of 1 plans agree with the reference'
for gpu in a100-sxm4-80gb h100-sxm5-80gb; do # 16 x 16384 tiles by tensor units take far less than a thread a result, whose loads alone take 2 x 8 B x 4096 x 2048 x 4096 of shared memory's 30 TB/s: 18 ms
    "$FUSESIM" "$trial/tiles.yaml" --hw $gpu --strategy maximal --set M=4096 --set N=2048 --set K=4096 --json - 2>/dev/null | tr -d ' \n\t' >tiles.json
    grep -Eq '"name":"maximal","kernels":1,"time_s":0\.000[0-9]*,' tiles.json && grep -Eq '"tile":\[[0-9]+,(128|256)\]' tiles.json || complain "a product whose rows are reduced by blocks is not in tiles on $gpu"
done
# Tiles that are not full leave their own parts of a total alone.
for file in totals totals_of_rows columns; do
    for set in '--set dtype=bf16' '--set M=300 --set N=128 --set K=256' '--set M=33 --set N=100 --set dtype=f64'; do
        exits 0 "$trial/$file.yaml" --device cpu --hw a100-sxm4-80gb --strategies maximal --no-measure $set
        has out '^All 1 kernels of 1 plans agree with the reference'
    done
    # The product's 2 launches and no more: its results, 32 MiB, never reach memory.
    "$FUSESIM" "$trial/$file.yaml" --hw a100-sxm4-80gb --set M=65536 --set N=128 --set K=64 --json - 2>/dev/null | tr -d ' \n\t' | grep -q '"name":"optimal","kernels":1,' || complain "$file is no kernel"
done
# Columns of a product that a copy turns around are columns no longer, though it has as many; turned rows leave them.
cat >turned.yaml <<'YAML'
name: turned
symbols: {B: 8, S: 64}
tensors: {a: {shape: [B, 2, 32, 64], dtype: f16}, b: {shape: [B, 2, 64, S], dtype: f16}}
operators:
  - {op: matmul, in: [a, b], out: c}
  - {op: permute, in: c, out: t, dims: [0, 3, 1, 2]}
  - {op: copy, in: t, out: e}
  - {op: reshape, in: e, out: f, shape: [B * S, 64]}
  - {op: sum, in: f, out: y, dim: 0}
outputs: [f, y]
YAML
sed 's/\[0, 3, 1, 2\]/[1, 2, 0, 3]/' turned.yaml >turned_rows.yaml
for set in '' '--set B=1'; do
    exits 0 turned.yaml --device cpu --hw a100-sxm4-80gb --strategies maximal,optimal --no-measure $set
    has out '^All [0-9] kernels of 2 plans agree with the reference'
done
exits 0 turned_rows.yaml --device cpu --hw a100-sxm4-80gb --strategies maximal --no-measure
has out '^All 1 kernels of 1 plans agree with the reference'
"$FUSESIM" "$trial/stretches.yaml" --hw h100-sxm5-80gb --json - 2>/dev/null | tr -d ' \n\t' | grep -q '"name":"optimal","kernels":2,' || complain 'a norm and the scales of its blocks are no kernel'

exit $fail
