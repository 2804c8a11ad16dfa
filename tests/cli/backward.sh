#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kernels that backward needs: sums over all rows beside what is computed of each row, and column sums that store what
# they read: legal, with the bytes that the tensors have, and generated kernels that agree with the reference.
# depends: once cost: 5
. "${SOURCE_DIR:?}/tests/trial.sh"
export CC="${CC:-cc} -O0" # what kernels compute is asked, not how fast

cat >norm.yaml <<'YAML'
name: norm_backward
symbols: {M: 4096, N: 4096, dtype: f32}
tensors: {x: {shape: [M, N], dtype: dtype}, g: {shape: [M, N], dtype: dtype}, w: {shape: [N], dtype: dtype, role: weight}, mean: {shape: [M, 1], dtype: dtype}, rstd: {shape: [M, 1], dtype: dtype}}
operators:
  - {op: sub, in: [x, mean], out: centred}
  - {op: mul, in: [centred, rstd], out: normal}
  - {op: mul, in: [g, w], out: wg}
  - {op: mul, in: [wg, normal], out: wgn}
  - {op: mean, in: wg, dim: 1, keepdim: true, out: c1}
  - {op: mean, in: wgn, dim: 1, keepdim: true, out: c2}
  - {op: sub, in: [wg, c1], out: d1}
  - {op: mul, in: [normal, c2], out: d2}
  - {op: sub, in: [d1, d2], out: d3}
  - {op: mul, in: [d3, rstd], out: gx}
  - {op: mul, in: [g, normal], out: gn}
  - {op: sum, in: gn, dim: 0, out: gw}
  - {op: sum, in: g, dim: 0, out: sums}
  - {op: neg, in: sums, out: gb}
outputs: [gx, gw, gb]
YAML
cat >loss.yaml <<'YAML'
name: softmax_cross_entropy_backward
symbols: {M: 8192, V: 32768}
tensors: {x: {shape: [M, V], dtype: f32}, target: {shape: [M], dtype: i64}}
operators:
  - {op: max, in: x, dim: 1, keepdim: true, out: m}
  - {op: sub, in: [x, m], out: c}
  - {op: exp, in: c, out: e}
  - {op: sum, in: e, dim: 1, keepdim: true, out: s}
  - {op: log, in: s, out: ls}
  - {op: add, in: [ls, m], out: lse}
  - {op: sub, in: [x, lse], out: lp}
  - {op: one_hot, in: target, num_classes: V, out: h64}
  - {op: cast, in: h64, dtype: f32, out: h}
  - {op: mul, in: [lp, h], out: lph}
  - {op: sum, in: lph, dim: 1, out: row}
  - {op: mean, in: row, out: mean}
  - {op: neg, in: mean, out: loss}
  - {op: exp, in: lp, out: p}
  - {op: sub, in: [p, h], out: d}
  - {op: mul, in: d, scalar: 0.0001220703125, out: gx}
outputs: [gx, loss]
YAML
cat >bias.yaml <<'YAML'
name: bias_relu_backward
symbols: {B: 16384, N: 16384}
tensors: {g: {shape: [B, N], dtype: f32}, mask: {shape: [B, N], dtype: bool}}
operators:
  - {op: where, in: [mask, g], other: 0, out: gx}
  - {op: sum, in: gx, dim: 0, out: gb}
outputs: [gx, gb]
YAML

# of_plan: kernels, bytes of DRAM read and written, of the first kernel the template, launches and bytes of partial
# results, and whether that is proven
of_plan() {
    "$python" - <<'PY'
import json
d = json.load(open("plan.json"))["plans"][0]["plan"]
k = d["kernels"]
print(len(k), sum(x["dram_read_bytes"] for x in k), sum(x["dram_write_bytes"] for x in k), k[0]["template"],
      k[0]["launches"], k[0].get("partial_bytes", 0), d["proven"])
PY
}
# says WORKLOAD GPU KERNELS READ WRITTEN TEMPLATE LAUNCHES PARTIAL: the optimum
says() {
    "$FUSESIM" "$1.yaml" --hw "$2" --json plan.json --quiet >out 2>err || complain "$1 on $2 fails: $(cat err)"
    got=$(of_plan)
    [ "$got" = "$3 $4 $5 $6 $7 ${8:-0} True" ] || complain "$1 on $2: '$got', not '$3 $4 $5 $6 $7 ${8:-0} True'"
}
says norm a100-sxm4-80gb 1 134266880 67141632 mixed_reduction 2 26869760
says norm h100-sxm5-80gb 1 134266880 67141632 mixed_reduction 2 33554432
says loss a100-sxm4-80gb 1 1073807360 1073741856 mixed_reduction 2 864
says loss h100-sxm5-80gb 1 1073807360 1073741856 mixed_reduction 2 1048
says bias h100-sxm5-80gb 1 1342177280 1073807360 column_reduction 2 524288
says bias a100-sxm4-80gb 1 1342177280 1073807360 column_reduction 1

# A row that fits no SM is read again, and a sum over all rows has no fixed order.
"$FUSESIM" norm.yaml --hw h100-sxm5-80gb --numerics strict --json plan.json --quiet >out 2>err
[ "$(of_plan | cut -d' ' -f1)" -gt 1 ] || complain "strict sums rows in the order of blocks"

# of 65,536 rows that are added to a table, many meet at each place where the table is small
for rows in 2 4096; do
    printf '%s\n' 'name: scatter' "tensors: {t: {shape: [$rows, 8], dtype: f32}, i: {shape: [65536], dtype: i64}, s: {shape: [65536, 8], dtype: f32}}" 'operators:' '  - {op: index_add, in: [t, i, s], out: y, dim: 0, inplace: false}' >scatter.yaml
    "$FUSESIM" scatter.yaml --hw h100-sxm5-80gb --json plan.json --quiet >out 2>err || complain "scatter: $(cat err)"
    "$python" -c 'import json; print(int(1e9 * json.load(open("plan.json"))["plans"][0]["plan"]["makespan_s"]))'
done >times
[ "$(head -n 1 times)" -gt $((2 * $(tail -n 1 times))) ] || complain "contention costs nothing: $(paste -s times)"

trial() {
    exits 0 "$1.yaml" --device cpu --hw "$2" --strategies optimal,maximal --no-measure "${@:3}"
    has out '^All [0-9]+ kernels of 2 plans agree with the reference'
}
trial norm a100-sxm4-80gb --set M=1000 --set N=48 --set dtype=f16
trial norm a100-sxm4-80gb --set M=65 --set N=4096 --set dtype=f64
trial loss h100-sxm5-80gb --set M=96 --set V=200
trial bias h100-sxm5-80gb --set B=1024 --set N=96

# the text that GPUs get, thread by thread
gpu 0 norm.yaml --set M=150 --set N=1028 --strategies optimal
has out '^All 1 kernels? of 1 plans? agrees? with the reference'
gpu 0 loss.yaml --set M=40 --set V=70 --strategies optimal
has out '^All 1 kernels? of 1 plans? agrees? with the reference'

exit $fail
