#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 4
# A program for one example with `batch` gives the plan of the program that was written for the batch: the same kernels, times and bytes.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
export CC="${CC:-cc} -O0" # what kernels compute is asked, not how fast
failures=0

complain() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# pair NAME BATCH: compares NAME.one.yaml, which has no batch of its own, with NAME.hand.yaml.
pair() {
    { echo 'name: program'; cat "$1.one.yaml"; } >one.yaml
    { echo 'name: program'; cat "$1.hand.yaml"; } >hand.yaml
    for hw in t4 h100-sxm5-80gb; do
        for how in '--strategy optimal --verbose' '--strategy eager' '--strategy inductor'; do
            cp one.yaml program.yaml # reports name the file
            # shellcheck disable=SC2086
            "$FUSESIM" program.yaml --hw $hw --set B="$2" $how >one.out || complain "$1: no plan of the mapped program"
            cp hand.yaml program.yaml
            # shellcheck disable=SC2086
            "$FUSESIM" program.yaml --hw $hw --set B="$2" $how >hand.out || complain "$1: no plan of the program by hand"
            diff one.out hand.out >difference || complain "$1 on $hw, $how: $(cat difference)"
            grep -q kernels one.out || complain "$1: an empty report"
        done
    done
    "$FUSESIM" validate one.yaml --hw host --device cpu --no-measure --set B=5 >checked 2>&1 ||
        complain "$1: its kernels compute something else: $(cat checked)"
}

cat >poly.one.yaml <<'END'
symbols: {B: 4}
batch: B
tensors: {x: {shape: [], dtype: f32, role: input}}
operators:
  - {op: mul, in: x, out: p1, scalar: 2.0}
  - {op: add, in: p1, out: p2, scalar: 3.0}
  - {op: mul, in: [p2, x], out: y}
outputs: [y]
END
sed '/^batch/d; s/shape: \[\]/shape: [B]/' poly.one.yaml >poly.hand.yaml
pair poly 1000000

# A vector through two layers: both products become matrix products with shared weights.
cat >mlp.one.yaml <<'END'
symbols: {B: 4, H: 256}
batch: B
tensors:
  x: {shape: [H], dtype: f16, role: input}
  w1: {shape: [4 * H, H], dtype: f16, role: weight}
  b1: {shape: [4 * H], dtype: f16, role: weight}
  w2: {shape: [4 * H, H], dtype: f16, role: weight}
operators:
  - {op: linear, in: [x, w1, b1], out: h}
  - {op: gelu, in: h, out: g}
  - {op: matmul, in: [g, w2], out: y}
  - {op: add, in: [y, x], out: z}
outputs: [z]
END
sed '/^batch/d; s/x: {shape: \[H\]/x: {shape: [B, H]/' mlp.one.yaml >mlp.hand.yaml
pair mlp 2048

# A matrix times a vector is the linear layer with that matrix.
cat >matvec.one.yaml <<'END'
symbols: {B: 4}
batch: B
tensors:
  a: {shape: [512, 256], dtype: f32, role: weight}
  x: {shape: [256], dtype: f32, role: input}
operators: [{op: matmul, in: [a, x], out: h}, {op: relu, in: h, out: y}]
outputs: [y]
END
cat >matvec.hand.yaml <<'END'
symbols: {B: 4}
tensors:
  a: {shape: [512, 256], dtype: f32, role: weight}
  x: {shape: [B, 256], dtype: f32, role: input}
operators: [{op: linear, in: [x, a], out: h}, {op: relu, in: h, out: y}]
outputs: [y]
END
pair matvec 4096

cat >softmax.one.yaml <<'END'
symbols: {B: 4}
batch: B
tensors:
  x: {shape: [1024], dtype: f32, role: input}
  mask: {shape: [1024], dtype: f32, role: input}
operators: [{op: add, in: [x, mask], out: m}, {op: softmax, in: m, out: p, dim: 0}, {op: max, in: p, out: y}]
outputs: [y]
END
sed -i 's/  x: {\(.*\)}/  x: {\1, batch: true}/' softmax.one.yaml
cat >softmax.hand.yaml <<'END'
symbols: {B: 4}
tensors:
  x: {shape: [B, 1024], dtype: f32, role: input}
  mask: {shape: [1024], dtype: f32, role: input}
operators: [{op: add, in: [x, mask], out: m}, {op: softmax, in: m, out: p, dim: 1}, {op: max, in: p, out: y, dim: 1}]
outputs: [y]
END
pair softmax 4096

# One image; its batch is the one of a convolution.
cat >conv.one.yaml <<'END'
symbols: {B: 4}
batch: B
tensors:
  x: {shape: [16, 32, 32], dtype: f32, role: input}
  w: {shape: [32, 16, 3, 3], dtype: f32, role: weight}
  b: {shape: [32], dtype: f32, role: weight}
  f: {shape: [10, 8192], dtype: f32, role: weight}
operators:
  - {op: conv2d, in: [x, w, b], out: c, padding: 1}
  - {op: relu, in: c, out: r}
  - {op: max_pool2d, in: r, out: p, kernel: 2}
  - {op: reshape, in: p, out: v, shape: [-1]}
  - {op: linear, in: [v, f], out: l}
  - {op: log_softmax, in: l, out: y, dim: -1}
outputs: [y]
END
sed '/^batch/d; s/x: {shape: \[16/x: {shape: [B, 16/; s/shape: \[-1\]/shape: [B, -1]/' conv.one.yaml >conv.hand.yaml
pair conv 64

# A transformer's block for one sequence: [S, H] without a batch, heads by reshape and permute.
cat >block.one.yaml <<'END'
symbols: {B: 4}
batch: B
tensors:
  x: {shape: [64, 128], dtype: f32, role: input}
  w: {shape: [384, 128], dtype: f32, role: weight}
  g: {shape: [128], dtype: f32, role: weight}
operators:
  - {op: layer_norm, in: [x, g], out: n}
  - {op: linear, in: [n, w], out: qkv}
  - {op: split, in: qkv, out: [q, k, v], dim: -1}
  - {op: reshape, in: q, out: q3, shape: [64, 2, 64]}
  - {op: reshape, in: k, out: k3, shape: [64, 2, 64]}
  - {op: reshape, in: v, out: v3, shape: [64, 2, 64]}
  - {op: permute, in: q3, out: qh, dims: [1, 0, 2]}
  - {op: permute, in: k3, out: kh, dims: [1, 2, 0]}
  - {op: permute, in: v3, out: vh, dims: [1, 0, 2]}
  - {op: bmm, in: [qh, kh], out: s}
  - {op: mul, in: s, out: t, scalar: 0.125}
  - {op: tril, in: t, out: u}
  - {op: softmax, in: u, out: p, dim: 2}
  - {op: bmm, in: [p, vh], out: o}
  - {op: transpose, in: o, out: ot, dims: [0, 1]}
  - {op: reshape, in: ot, out: oh, shape: [64, 128]}
  - {op: add, in: [oh, x], out: y}
outputs: [y]
END
sed '/^batch/d; s/x: {shape: \[64/x: {shape: [B, 64/; s/shape: \[64,/shape: [B, 64,/; s/\[1, 0, 2\]/[0, 2, 1, 3]/; s/\[1, 2, 0\]/[0, 2, 3, 1]/; s/op: bmm/op: matmul/
     s/dim: 2/dim: 3/; s/dims: \[0, 1\]/dims: [1, 2]/; s/x: {shape: \[B, B/x: {shape: [B/' block.one.yaml >block.hand.yaml
pair block 16

# What does not depend on the batch is computed once, and said so.
cat >shared.yaml <<'END'
batch: 3
tensors: {x: {shape: [4], dtype: f32}, w: {shape: [4], dtype: f32, role: weight}}
operators: [{op: exp, in: w, out: e}, {op: mul, in: [x, e], out: y}]
outputs: [e, y]
END
"$FUSESIM" shared.yaml --hw t4 >out 2>err || complain 'a shared output'
grep -q "shared.yaml:4:11: warning: 'e' does not depend on what differs between the examples" err || complain 'a shared output without a word'

[ $failures -eq 0 ]
