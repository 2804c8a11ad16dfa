#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What serving stacks run as calls of their libraries: validate prices a row of such a stack with the call, and other rows without; mistakes in
# `calls:` are told with their place. Functions in expressions.
# depends: once
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
failures=0

complain() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# kernels SOURCE STRATEGY: how many kernels the row's prediction has.
kernels() {
    printf 'id,hw,workload,set,strategy,l2,launch,time_s,source\nr,h100-sxm5-80gb,ops/moe,T=64;active=128;rows=4,%s,unknown,graph,1e-3,%s\n' "$2" "$1" >rows.csv
    "$FUSESIM" validate --measurements rows.csv --json rows.json >out 2>&1 || complain "validate: $(cat out)"
    sed -n 's/.*"kernels": \([0-9]*\).*/\1/p' rows.json | head -1
}
[ "$(kernels 'trtllm/1.3 moe' optimal)" = 1 ] || complain 'a row of TensorRT-LLM is not one call'
[ "$(kernels 'vllm/0.24 moe' eager)" = 1 ] || complain 'a row of vLLM is not one call'
[ "$(kernels 'PyTorch 2.5' eager)" -gt 3 ] || complain 'a row of PyTorch takes the call'
[ "$(kernels 'a benchmark' optimal)" -gt 1 ] || complain 'a row of a compiler takes the call'

# refused WANTED CALLS: the message for a workload with these calls.
refused() {
    printf 'symbols: {M: 8}\ntensors: {x: {shape: [M, 64], dtype: bf16}, w: {shape: [64, 64], dtype: bf16}}\noperators:\n  - {op: linear, in: [x, w], out: y}\noutputs: [y]\ncalls: %s\n' "$2" >w.yaml
    "$FUSESIM" w.yaml --hw t4 >out 2>err
    [ $? = 65 ] || complain "$2 is not refused"
    grep -qF "$1" err || complain "$2: $(cat err)"
}
refused "w.yaml:6:18: error: 'calls': no kernel 'gemm_i9'; did you mean 'gemm_i8'?" '[{kernel: gemm_i9}]'
refused "call 'gemm_i8' has no 'k': it wants m n k" '[{kernel: gemm_i8, m: M, n: 64}]'
refused "unknown key 'q'" '[{kernel: gemm_i8, m: M, n: 64, k: 64, q: 1}]'
refused "'operators': no primitive 'z'" '[{kernel: gemm_i8, m: M, n: 64, k: 64, operators: [z]}]'
refused "'calls' is a mapping; wants a list of calls" '{kernel: gemm_i8}'
refused "'m' is -8; wants 0 to" '[{kernel: gemm_i8, m: -8, n: 64, k: 64}]'
refused "an entry of 'calls' has no 'kernel'" '[{m: 8}]'

# Functions in expressions, which such workloads need for ranks and blocks.
# valued WANTED EXPRESSION
valued() {
    printf 'symbols: {A: 7, B: "%s"}\ntensors: {x: {shape: [A, B], dtype: f32}}\noperators: [{op: relu, in: x, out: y}]\n' "$2" >e.yaml
    "$FUSESIM" workloads e.yaml >out 2>err || complain "$2: $(cat err)"
    grep -q "A=7, B=$1\$" out || complain "$2 is not $1: $(cat out)"
}
valued 4 'ceil(A / 2)'
valued 7 'ceil(A / 2) + A / 2'
valued 12 'max(A, 4 * 3, 2)'
valued 3 'min(A, 100) - min(4, A)'
valued 2 'ceil(max(A, 9) / 5) + 7 % 7'
printf 'symbols: {A: flor(3)}\ntensors: {x: {shape: [A], dtype: f32}}\noperators: [{op: relu, in: x, out: y}]\n' >e.yaml
"$FUSESIM" e.yaml --hw t4 >out 2>err && complain 'an unknown function is taken'
grep -q "e.yaml:1:14: error: expression 'flor(3)': no function 'flor'; there are min, max, ceil" err || complain "unknown function: $(cat err)"
[ "$failures" = 0 ]
