#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# validate --device cpu: plans run as real kernels on this machine's threads: what is checked, measured, written; the command line of
# --device.
# depends: once cost: 10
. "${SOURCE_DIR:?}/tests/trial.sh"
export CC="${CC:-cc} -O1" # what is compared and written is asked, not how fast kernels are

# On this machine: compared only.
exits 0 seeds/layer_norm seeds/linear_gelu seeds/attention_standard --device cpu --hw a100-sxm4-80gb $small --no-measure
[ "$(grep -c 'agree with the reference' out)" = 3 ] || complain "three workloads compared: $(cat out)"
hasnt out 'measured'
exits 0 seeds/boundaries --device cpu --hw a100-sxm4-80gb $small --no-measure
has out 'are not generated'

# Eight exponentials of anything overflow: nothing is wrong, and nothing is known.
exits 0 golden/exp_chain_8 --device cpu --hw a100-sxm4-80gb --strategies optimal,eager --scale-shapes 64 --no-measure --json untold.json
has out '^All 3 kernels of 2 plans agree with the reference. 7 are not compared'
has out 'optimal: not compared: k0_y: [0-9]+ of [0-9]+ elements of y can be compared, 0 of them finite'
of_schema trials untold.json
"$python" - <<'PY' || complain "untold.json: $(head -c 600 untold.json)"
import json
d = json.load(open("untold.json"))
plan = {p["strategy"]: p for p in d["workloads"][0]["plans"]}
assert plan["optimal"]["checked"] == 0 and plan["optimal"]["not_compared"] == len(plan["optimal"]["kernels"]) and plan["eager"]["checked"] == 3
assert all((k["not_compared"] is None) == (k["comparable"] > 0.9) for k in plan["eager"]["kernels"][:4])
PY

# Measured: the figures are this machine's, so that only their presence is asked for.
exits 0 seeds/tanh_axpb seeds/softmax_primitive --device cpu --set M=64 --strategies eager,optimal --samples 3 --budget 0.3 --measured rows.csv --json out.json --markdown out.md --junit out.xml --trace out.trace
[ "$(grep -Ec '^(optimal|eager)( \*)? +[0-9]+ +[0-9.]+ [mun]s +[0-9.]+ [mun]s ' out)" = 4 ] || complain "plans: $(cat out)"
has out '^Regret [0-9.]+ %'
has out '^k0_y '
has out.md '^\| *plan'
has out.xml 'classname="fusesim.kernels" name="tanh_axpb/optimal"'
"$python" - <<'PY' || complain "JSON: $(head -c 600 out.json)"
import json
d = json.load(open("out.json"))
assert d["schema"] == 1 and d["device"]["kind"] == "cpu" and len(d["workloads"]) == 2
for w in d["workloads"]:
    assert w["checked_scale"] >= 1 and w["regret"] >= 0 and {p["strategy"] for p in w["plans"]} == {"eager", "optimal"}
    for p in w["plans"]:
        assert p["wrong"] == 0 and p["checked"] == len(p["kernels"]) and p["measured"]["samples"] >= 3 and p["predicted_s"] > 0 and p["differs"] is None
        assert all(k["measured"]["cold"]["median_s"] > 0 and k["predicted"]["cold_s"] > 0 for k in p["kernels"])
PY
of_schema trials out.json
# Of each plan two processes, predicted and measured, with the same kernels and figures.
"$python" - <<'PY' || complain "the trace: $(head -c 900 out.trace)"
import json
events, said = json.load(open("out.trace"))["traceEvents"], json.load(open("out.json"))
name = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
assert len(name) == 8 and sum(n.startswith("predicted ") for n in name.values()) == sum(n.startswith("measured ") for n in name.values()) == 4, name
slices = {n: [e for e in events if e["ph"] == "X" and e["pid"] == p and e["cat"] != "plan"] for p, n in name.items()}
for w in said["workloads"]:
    for p in w["plans"]:
        for which, times in ("predicted", [k["predicted"]["cold_s"] for k in p["kernels"]]), ("measured", [k["measured"]["cold"]["median_s"] for k in p["kernels"]]):
            found = next(s for n, s in slices.items() if n.startswith(f"{which} {p['strategy']}: {w['name']} on "))
            assert len(found) == len(times) and all(abs(e["dur"] * 1e-6 - t) < 2e-9 and e["args"][which + "_s"] == t for e, t in zip(found, times)), (found, times)
PY
# What was measured is predicted again without the device.
timeout 60 "$FUSESIM" validate --measurements rows.csv >again 2>err || complain "rows.csv is not read: $(cat err)"
has again '^host '
[ "$(grep -c ',kernel,' rows.csv)" -ge 8 ] || complain "rows of kernels: $(cat rows.csv)"
# As wide as the terminal, on one thread; gates: nothing is that far off, and something is.
narrow() { [ "$(awk 'length > n { n = length } END { print n }' out)" -le "$1" ] || complain "wider than $1: $(awk -v w="$1" 'length > w' out)"; }
COLUMNS=80 exits 0 seeds/exp_add_log --device cpu --hw l4 --set M=64 --strategies eager,optimal --samples 3 --budget 0.3 --threads 1 --no-check --gate mape=1000000% --gate regret=100000%
narrow 80
has out 'gate mape=1000000% holds'
COLUMNS=120 exits 1 seeds/tanh_axpb --device cpu --hw l4 --set M=64 --strategies eager,optimal --samples 3 --budget 0.3 --threads 1 --gate bytes=3%
narrow 120
has err 'gate bytes=3% failed'

# A chain's tiles are on the stack: in a shared library, clang's code for thread-local ones loses what registers 16 to 31 of AVX-512
# hold (MALLOC_PERTURB_ makes sure that the C library uses these).
cat >chain.yaml <<'END'
tensors:
  x: {shape: [5, 256], dtype: f16, role: input}
  w1: {shape: [1024, 256], dtype: f16, role: weight}
  b1: {shape: [1024], dtype: f16, role: weight}
  w2: {shape: [1024, 256], dtype: f16, role: weight}
operators:
  - {op: linear, in: [x, w1, b1], out: h}
  - {op: gelu, in: h, out: g}
  - {op: matmul, in: [g, w2], out: y}
  - {op: add, in: [y, x], out: z}
outputs: [z]
END
"$FUSESIM" codegen chain.yaml --hw host --target c --strategy maximal -o chain >/dev/null || complain 'codegen of a chain'
if command -v nm >/dev/null; then
    ${CC:-cc} -std=gnu11 -O1 -fPIC -w -c -o chain.o chain/k0_z.c || complain 'a chain is not compiled'
    nm chain.o >names && grep -q k0_z names || complain "names in the object: $(cat names)"
    hasnt names '__tls_get_addr'
fi
if command -v clang >/dev/null; then
    CC=clang MALLOC_PERTURB_=85 exits 0 chain.yaml --device cpu --hw host --strategies maximal --no-measure
    has out "^All 1 kernels of 1 plans agree with the reference"
fi

# Of k = 68 the second step of 64 takes only the 4 columns that are there: what lies behind them in the tile was never set.
sed 's/256/68/g' chain.yaml >uneven.yaml
"$FUSESIM" codegen uneven.yaml --hw host --target c --strategy maximal -o uneven >/dev/null || complain 'codegen of an uneven chain'
if command -v clang >/dev/null && echo 'int main(void) { return 0; }' >probe.c && clang -fsanitize=memory probe.c -o probe 2>probe.log && ./probe; then
    make -C uneven CC=clang CFLAGS='-O1 -fopenmp-simd -fsanitize=memory' LDFLAGS=-fsanitize=memory >log 2>&1 || complain "an uneven chain is not compiled: $(cat log)"
    uneven/launcher --runs 1 >log 2>&1 || complain "an uneven chain: $(head -n 20 log)"
fi

# A check that compared nothing is no pass.
printf 'tensors: {x: {shape: [64, 256], dtype: f32}}\noperators: [{op: topk, in: x, out: [v, i], k: 8}]\n' >topk.yaml
exits 69 topk.yaml --device cpu --no-measure --strategies eager
has out '^Nothing was compared with the reference: none of 1 kernels? of 1 plans? is generated\.$'
has err 'nothing was compared with the reference'

# The command line.
exits 2 seeds/tanh_axpb
has err 'wanted --device cpu or cuda'
exits 2 --device cpu
has err 'wants a workload'
exits 2 seeds/tanh_axpb --device cpu --strategies eagre
has err "did you mean 'eager'"
exits 2 seeds/tanh_axpb --device cpu --gate mpae=3%
has err "did you mean 'mape'"
exits 2 seeds/tanh_axpb --device cpu --gate mape
exits 2 seeds/tanh_axpb --device cpu --no-check --no-measure
exits 2 seeds/tanh_axpb --device cpu --measured x.csv --scale-shapes 4
exits 2 seeds/tanh_axpb --device cuda
has err 'wants one --hw'
exits 66 seeds/tanh_axbp --device cpu
exits 2 seeds/tanh_axpb --device cuda --hw h100-sxm5-80gb --measurements rows.csv
CC=no-such-compiler exits 69 seeds/tanh_axpb --device cpu --no-measure
has err 'no C compiler'

exit $fail
