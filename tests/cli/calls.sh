#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What serving stacks run as calls of their libraries: validate prices a row of such a stack with the call, and other rows without; mistakes in
# `calls:` are told with their place. Functions in expressions.
# depends: once
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${PYTHON:?}"
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

# The lists of plans begin with the best one, also where that calls a library; the names of others are those of their own operators.
listed() {
    "$FUSESIM" "$@" --objective pareto --top 3 --json listed.json >/dev/null 2>err || complain "$*: $(cat err)"
    "$PYTHON" - <<'END' || complain "$*: the lists of plans"
import json
p = json.load(open("listed.json"))["plans"][0]
best = next(s for s in p["strategies"] if s["name"] == "optimal")
assert any(k["template"] in ("serving", "library") for k in p["plan"]["kernels"])
assert len(p["alternatives"]) == 3 and [a["rank"] for a in p["alternatives"]] == [1, 2, 3]
assert p["alternatives"][0]["time_s"] == best["time_s"] < p["alternatives"][1]["time_s"] <= p["alternatives"][2]["time_s"]
assert p["alternatives"][0]["kernels"] == [k["operators"] for k in p["plan"]["kernels"]]
assert min(x["time_s"] for x in p["pareto"]) == best["time_s"]
names = [{n for group in a["kernels"] for n in group} for a in p["alternatives"]]
assert names[1] == names[2] and (any(n.startswith("again/") for n in names[0]) != any(n.startswith("again/") for n in names[1]) or names[0] == names[1])
END
}
listed ops/matmul_w8 --hw t4
listed gpt2_layer --hw a100-sxm4-80gb --train --search-steps 100000

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

refused "'calls': no kernel 'fuse'; did you mean 'fused'?" '[{kernel: fuse}]'
refused "unknown key 'm'" '[{kernel: fused, m: 8, operators: [y]}]'
refused "unknown symbol 'q'" '[{kernel: fused, when: q, operators: [y]}]'

# Operators that are there only sometimes, and calls inside repeat blocks: symbol W says whether the weight has 8 bits.
cat >layers.yaml <<'END'
symbols: {L: 3, M: 64, W: bf16, ranks: 1}
tensors: {x: {shape: [M, 256], dtype: bf16}, unused: {shape: [1], dtype: f32}}
operators:
  - repeat: L
    carry: {x: z}
    tensors: {w: {shape: [256, 256], dtype: W, role: weight}, scale: {shape: [1], dtype: f32, role: weight}}
    operators:
      - {op: quantize, in: [x, scale], out: q, dtype: W, when: W != bf16}
      - {op: linear, in: [q, w], out: y, dtype: bf16}
      - {op: all_reduce, in: y, out: sum, ranks: ranks, when: ranks > 1}
      - {op: relu, in: sum, out: r}
      - {op: mul, in: [r, r], out: z}
    calls:
      - {kernel: gemm_f8_static, operators: [q, y], m: M, n: 256, k: 256, when: W == f8e4m3}
      - {kernel: fused, operators: [r, z]}
  - {op: mul, in: [z, unused], out: last, when: ranks == 0}
END
# launches WANTED SET...: kernels of the strategies eager and serving.
launches() {
    local want=$1 set=()
    shift
    for one in "$@"; do set+=(--set "$one"); done
    "$FUSESIM" layers.yaml --hw h100-sxm5-80gb --json layers.json "${set[@]}" >out 2>err || complain "$*: $(cat err)"
    [ ! -s err ] || complain "$* warns: $(cat err)"
    [ "$(python3 -c 'import json; s = {s["name"]: s["kernels"] for s in json.load(open("layers.json"))["plans"][0]["strategies"]}; print(s["eager"], s["serving"])')" = "$want" ] ||
        complain "$*: wants $want kernels: $(grep -E '^  (eager|serving)' out)"
}
command -v python3 >/dev/null || { echo 'no python3'; exit 77; }
launches '9 6'
launches '12 6' W=f8e4m3
launches '12 9' ranks=2
launches '3 2' L=1
sed 's/in: \[q, w\], out: y, dtype/in: [q, w], when: 0, out: y, dtype/' layers.yaml >less.yaml
"$FUSESIM" less.yaml --hw t4 >out 2>err || complain "an operator that is not there: $(cat err)"
grep -q 'error' err && complain "an operator that is not there: $(cat err)"
sed 's/ranks > 1/q > 1/' layers.yaml >less.yaml
"$FUSESIM" less.yaml --hw t4 >out 2>err && complain 'when: with an unknown symbol is taken'
grep -q "less.yaml:10:[0-9]*: error: unknown symbol 'q'" err || complain "when: $(cat err)"
sed 's/operators: \[r, z\]/operators: [r, zz]/' layers.yaml >less.yaml
"$FUSESIM" less.yaml --hw t4 >out 2>err && complain 'a call of an unknown operator is taken'
grep -q "less.yaml:15:[0-9]*: error: 'operators': no primitive 'zz.0'; did you mean 'z.0'?" err || complain "calls in a block: $(cat err)"
[ "$(grep -c error err)" = 1 ] || complain "a call in a block is wrong once: $(cat err)"
sed 's/    calls:/    calls: {kernel: fused}/; /^      - {kernel/d' layers.yaml >less.yaml
"$FUSESIM" less.yaml --hw t4 >out 2>err && complain 'calls as a mapping is taken'
grep -q "'calls' is a mapping; wants a list of calls" err || complain "calls in a block: $(cat err)"
# A second result of an operator that is not there is no tensor, and its attributes are checked all the same.
printf 'tensors: {x: {shape: [8, 8], dtype: f32}}\noperators:\n  - {op: quantize, in: x, out: [q, s], when: 0}\n  - {op: mul, in: [q, s], out: y}\n  - {op: relu, in: x, out: z}\noutputs: [z]\n' >less.yaml
"$FUSESIM" less.yaml --hw t4 >out 2>err && complain 'the scale of a quantisation that is not there is taken'
grep -q "less.yaml:4:[0-9]*: error: 's' is a further result of an operator that is not there: its 'when' is 0" err || complain "a second result: $(cat err)"
printf 'tensors: {x: {shape: [8, 8], dtype: f32}}\noperators: [{op: relu, in: x, out: a, when: 0, nonsense: 3}, {op: relu, in: a, out: y}]\n' >less.yaml
"$FUSESIM" less.yaml --hw t4 >out 2>err && complain 'an unknown attribute of an operator that is not there is taken'
grep -q "unknown attribute 'nonsense'" err || complain "attributes of what is not there: $(cat err)"
printf 'operators: [{op: arange, end: 8, out: x, when: 0}, {op: relu, in: x, out: y}]\n' >less.yaml
"$FUSESIM" less.yaml --hw t4 >out 2>err && complain 'an operator without input is left out'
grep -q "'when' is 0, and 'x' has no input to stand for its result" err || complain "when without input: $(cat err)"

# Functions and comparisons in expressions, which such workloads need for ranks, blocks and types.
# valued WANTED EXPRESSION
valued() {
    printf 'symbols: {T: f16, A: 7, B: "%s"}\ntensors: {x: {shape: [A, B + 1], dtype: T}}\noperators: [{op: relu, in: x, out: y}]\n' "$2" >e.yaml
    "$FUSESIM" workloads e.yaml >out 2>err || complain "$2: $(cat err)"
    grep -q "A=7, B=$1\$" out || complain "$2 is not $1: $(cat out)"
}
valued 4 'ceil(A / 2)'
valued 7 'ceil(A / 2) + A / 2'
valued 12 'max(A, 4 * 3, 2)'
valued 3 'min(A, 100) - min(4, A)'
valued 2 'ceil(max(A, 9) / 5) + 7 % 7'
valued 1 'A == 7'
valued 0 'A + 1 <= 7'
valued 3 '1 + 2 * (A >= 7)'
valued 1 'A != 6'
valued 0 '(A < 7) + (A > 7)'
valued 1 'T == f16'
valued 5 '4 + (T != bf16)'
# invalid MESSAGE EXPRESSION
invalid() {
    printf 'symbols: {T: f16, A: "%s"}\ntensors: {x: {shape: [A], dtype: T}}\noperators: [{op: relu, in: x, out: y}]\n' "$2" >e.yaml
    "$FUSESIM" e.yaml --hw t4 >out 2>err
    [ $? = 65 ] || complain "$2 is not refused"
    grep -qF "e.yaml:1:" err && grep -qF "$1" err || complain "$2: $(cat err)"
}
invalid "expression 'flor(3)': no function 'flor'; there are min, max, ceil, routed_rows, routed_experts" 'flor(3)'
invalid "a dtype can only be compared with another, by == or !=" '1 + (T < f32)'
invalid "wants a dtype, or a symbol that is one, behind the comparison" '1 + (T == 16)'

# Experts that a rank runs, and their rows: 6 tokens to 2 of 8 experts are 12 rows for all 8; on 4 ranks 3 for 2 experts; one token reaches 2 experts. Skewed (x^-1.2), the most loaded of 4 ranks has more
# rows than the mean of 512 x 2 / 4, all ranks together have no more, and 2 tokens reach fewer experts than the 4 that they would evenly; no expert has a token twice.
valued 8 'routed_experts(6, 8, 2, 1, 0)'
valued 12 'routed_rows(6, 8, 2, 1, 0)'
valued 3 'routed_rows(6, 8, 2, 4, 0)'
valued 2 'routed_experts(6, 8, 2, 4, 100)'
valued 2 'routed_experts(1, 8, 2, 1, 0)'
valued 1 'routed_rows(512, 8, 2, 4, 120) > 256 * 11 / 10'
valued 1 'routed_rows(512, 8, 2, 4, 120) <= 2 * 512'
valued 1 'routed_rows(512, 8, 2, 1, 120) * 100 >= 512 * 2 * 97'
valued 1 'routed_experts(2, 8, 2, 1, 120) < 4'
invalid 'wants tokens, experts, topk and ranks of 1 at least' 'routed_rows(0, 8, 2, 1, 0)'
invalid 'wants (tokens, experts, topk, ranks, skew)' 'routed_rows(6, 8)'

# What a workload requires of its symbols is said before what their expressions come to.
required() { # MESSAGE REQUIREMENTS
    printf 'symbols: {A: 7, B: 0, C: A / B}\nrequires: %s\ntensors: {x: {shape: [A], dtype: f16}}\noperators: [{op: relu, in: x, out: y}]\n' "$2" >e.yaml
    "$FUSESIM" e.yaml --hw t4 >out 2>err
    [ $? = 65 ] && [ "$(grep -c error: err)" = 1 ] && grep -qF "e.yaml:2:" err && grep -qF "$1" err || complain "$2: $(cat err)"
}
required 'wants (A >= 1) * (B >= 1), and A is 7, B is 0: both are lengths' '[{that: A < 8, because: few}, {that: (A >= 1) * (B >= 1), because: both are lengths}, {that: A < 1, because: unseen}]'
required "an entry of 'requires' has no 'because'" '[{that: A}]'
required "'requires' is a mapping; wants a list of {that, because}" '{that: A}'
required "unknown key 'else' in an entry of 'requires'" '[{that: A, because: x, else: y}]'

# Mixtures of experts: what every plan reads follows the tokens; one token reads its 8 experts of 128, 3 x 4096 x 1536 bf16 each; sizes that can't be are refused.
reads() { # WORKLOAD SET...: the bytes that the best plan reads
    local workload=$1 set=()
    shift
    for one in "$@"; do set+=(--set "$one"); done
    "$FUSESIM" "$SOURCE_DIR/workloads/$workload.yaml" --hw h100-sxm5-80gb "${set[@]}" --json - 2>err | tr -d ' \n\t' | sed 's/.*"name":"eager",[^}]*"dram_read_bytes":\([0-9]*\).*/\1/'
}
expert=$((3 * 4096 * 1536 * 2))
for wanted in '1 8' '1024 128'; do
    set -- $wanted
    read=$(reads ops/moe T="$1")
    [ "${read:-0}" -ge $((expert * $2)) ] && [ "$read" -lt $((expert * $2 * 105 / 100 + 3 * $1 * 8 * (4096 + 3072) * 2)) ] || complain "$1 tokens read ${read:-nothing} B, $2 experts have $((expert * $2)): $(cat err)"
done
[ "$(reads ops/moe T=4096 ep=8 alpha=120)" -gt "$(reads ops/moe T=4096 ep=8)" ] || complain 'the most loaded rank reads no more than the mean'
refused() { # MESSAGE WORKLOAD SET...
    local message=$1 workload=$2 set=()
    shift 2
    for one in "$@"; do set+=(--set "$one"); done
    "$FUSESIM" "$SOURCE_DIR/workloads/$workload.yaml" --hw h100-sxm5-80gb "${set[@]}" >out 2>err
    [ $? = 65 ] && [ "$(grep -c error: err)" = 1 ] && grep -qF "$message" err || complain "$workload $*: $(cat err)"
}
for experts in moe moe_f8 moe_f8_block moe_nvfp4; do
    refused 'T is 0: a step has one token at least' ops/$experts T=0
    refused 'experts is 128, ep is 7: each of the ep ranks has as many of the experts as the others' ops/$experts ep=7
    refused 'topk is 9, experts is 8: a token goes to one expert at least' ops/$experts experts=8 topk=9
done
refused 'experts is 8, ep is 16' llm/moe_decode ep=16 tp=2
refused 'experts is 256, ep is 512' llm/mla_decode ep=512
refused 'tp is 0: a layer runs on one GPU at least' llm/dense_prefill tp=0

for collective in all_reduce all_gather all_to_all reduce_scatter; do
    refused 'ranks is 1: it is between GPUs' ops/$collective ranks=1
done

# An all-reduce with residual and norm in one kernel: 32 rows of 8192 bf16 on eight H100. In one shot each GPU reads 7 x 512 KiB at 59 % of 450 GB/s, 13.8 us, and waits 1.32 + 3 x 0.205 us. The call takes that and
# three passes over 512 KiB, less than the all-reduce and a kernel for the rest; fewer than two ranks are none.
cat >reduced.yaml <<'END'
symbols: {ranks: 8}
tensors: {x: {shape: [32, 8192], dtype: bf16}, r: {shape: [32, 8192], dtype: bf16}, g: {shape: [8192], dtype: bf16, role: weight}}
operators:
  - {op: all_reduce, in: x, out: s, ranks: 8, algorithm: one_shot}
  - {op: add, in: [r, s], out: t}
  - {op: rms_norm, in: [t, g], out: n, normalized_shape: [8192]}
outputs: [t, n]
calls:
  - {kernel: all_reduce_norm, operators: [s, t, n], tokens: 32, hidden: 8192, ranks: ranks, dtype: bf16}
END
"$FUSESIM" reduced.yaml --hw h100-sxm5-80gb --launch graph --json reduced.json >out 2>err || complain "all_reduce_norm: $(cat err)"
tr -d ' \n\t' <reduced.json | sed -n 's/.*"name":"inductor","kernels":\([0-9]*\),"time_s":\([^,]*\),.*"name":"serving","kernels":\([0-9]*\),"time_s":\([^,]*\),.*/\1 \2 \3 \4/p' >reduced
awk '{ found = 1; if (!($1 == 2 && $3 == 1 && $4 < $2 && $4 > 15.7e-6 && $4 < 19e-6)) exit 1 } END { exit !found }' reduced || complain "all_reduce_norm: $(cat reduced)"
grep -Eq '^  optimal +1 ' out || complain "the search has no use for all_reduce_norm: $(grep '^  optimal' out)"
"$FUSESIM" reduced.yaml --hw h100-sxm5-80gb --set ranks=1 >out 2>err
[ $? = 65 ] && grep -qF "'ranks' is 1; an all-reduce is between 2 GPUs or more" err || complain "one rank: $(cat err)"

# Links that are slower than those measured: calibrate finds by how much, and fits weights of 4 bits alone where it is told to.
{
    echo 'id,hw,workload,set,strategy,l2,launch,time_s,source'
    for elements in 4096 65536 1048576 4194304 16777216 67108864; do for ranks in 2 4 8; do for op in all_reduce all_gather; do
        echo "$op-$elements-$ranks,h100-sxm5-80gb,ops/$op,elements=$elements;ranks=$ranks,eager,unknown,stream,1,nccl"
    done; done; done
} >links.csv
"$FUSESIM" validate --measurements links.csv --json links.json >out 2>&1 || complain "links: $(cat out)"
tr '{' '\n' <links.json | sed -n 's/.*"id": "\([^"]*\)".*"predicted_s": \([^,]*\),.*/\1 \2/p' | awk 'NR == FNR { of[$1] = $2 * 1.5; next } FNR == 1 { print; next } { split($0, f, ","); sub(/,stream,1,/, ",stream," of[f[1]] ","); print }' - links.csv >slow.csv
"$FUSESIM" calibrate --hw h100-sxm5-80gb --measurements slow.csv --fit collectives -o slow.yaml >out 2>err || complain "collectives: $(cat err)"
grep -Eq '^collectives: .*value: 1\.[45]' slow.yaml || complain "the links are half as fast again: $(grep collectives slow.yaml out)"
"$FUSESIM" calibrate --hw h100-sxm5-80gb --measurements slow.csv --fit gemm_w4 >out 2>err
grep -q 'no group' err && complain "gemm_w4: $(cat err)"
[ "$failures" = 0 ]
