#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# cost: 8
# A step of training in little memory: no plan of another strategy, and none with --checkpoint, needs less than the one that is found for it, and the front has none that another plan beats in both.
set -u
: "${FUSESIM:?}"
python=${PYTHON:-python3}
fail=0
complain() { echo "FAILED: $1" >&2; fail=1; }
plan() { # FILE ARGUMENT...
    local file=$1
    shift
    "$FUSESIM" "$@" --train --grad weights --search-steps 20000 --json "$file" >out 2>err || complain "exit $?: $*: $(cat err)"
}

# An attention's scores are in no plan's memory where PyTorch computes them again in a call; of two layers what --checkpoint leaves is the least of all.
plan layer.json gpt2_layer --hw h100-sxm5-80gb --objective memory
plan deep.json stacks/bert --set layers=2 --hw h100-sxm5-80gb --objective memory
plan layers.json stacks/bert --set layers=2 --hw h100-sxm5-80gb --checkpoint
plan front.json seeds/mlp_stack --hw a100-sxm4-80gb --objective pareto
"$python" - <<'EOF' || complain 'memory'
import json
def strategies(file):
    return {s["name"]: s for s in json.load(open(file))["plans"][0]["strategies"]}
for file in ("layer.json", "deep.json"):
    of = strategies(file)
    least = min(s["peak_memory_bytes"] for s in of.values())
    assert of["optimal"]["peak_memory_bytes"] == least, (file, {n: s["peak_memory_bytes"] for n, s in of.items()})
again = min(s["peak_memory_bytes"] for s in strategies("layers.json").values())
assert strategies("deep.json")["optimal"]["peak_memory_bytes"] <= again, again
front = json.load(open("front.json"))["plans"][0]["pareto"]
points = [(x["time_s"], x["peak_memory_bytes"]) for x in front]
assert len(points) >= 5 and all(a[0] < b[0] and a[1] > b[1] for a, b in zip(points, points[1:])), points
# Of eight dense layers the least peaks for so many that are computed again, and layers more than once: what two programs found that search every schedule (a mask of bits for each sign).
def again(kernels):
    return sum(n.startswith("again") and n.endswith("/matmul") for k in kernels for n in k)
for layers, peak in ((0, 1249984516), (1, 1115766788), (2, 981549060), (3, 847331332), (4, 843137028), (5, 763469828), (7, 759275524), (9, 755081220)):
    found = min((x["peak_memory_bytes"] for x in front if again(x["kernels"]) <= layers), default=0)
    assert 755000000 < found <= peak, (layers, peak, found)
fits = min((x for x in front if x["peak_memory_bytes"] <= 1000000000), key=lambda x: x["time_s"])
assert again(fits["kernels"]) == 2, fits["kernels"]
for name, s in strategies("front.json").items():
    for time_s, peak in points:
        better = s["time_s"] <= time_s and s["peak_memory_bytes"] <= peak and (s["time_s"] < time_s or s["peak_memory_bytes"] < peak)
        assert not better, (name, s["time_s"], s["peak_memory_bytes"], time_s, peak)
EOF

# Below the least peak the limit is not met, and the peak is named. A plan with copies of copies is read back.
"$FUSESIM" seeds/mlp_stack --hw a100-sxm4-80gb --set layers=5 --train --grad weights --search-steps 1000 --memory-limit 200MB --json below.json >out 2>err
[ $? = 1 ] || complain "a limit of 200 MB: $(cat out err)"
plan copies.json seeds/mlp_stack --hw a100-sxm4-80gb --set layers=5 --objective memory
"$FUSESIM" seeds/mlp_stack --hw a100-sxm4-80gb --set layers=5 --train --grad weights --strategy optimal --search-steps 1000 --plan copies.json --json read.json >/dev/null 2>err || complain "copies: $(cat err)"
"$python" - <<'EOF' || complain 'limits'
import json
below, written, read = (json.load(open(name + ".json"))["plans"][0] for name in ("below", "copies", "read"))
kernels = lambda p: sorted(k["operators"] for k in p["plan"]["kernels"])
least = min(s["peak_memory_bytes"] for s in written["strategies"])
assert below["least_memory_bytes"] == least, (below["least_memory_bytes"], least)
assert any(c["event"] > 1 for c in written["plan"]["derivation"]["copies"])
assert kernels(written) == kernels(read)
EOF

# Such a plan of five layers runs as kernels on shorter shapes, with all its copies, and computes what the reference does.
cat >stack.yaml <<'EOF'
name: stack
symbols: {M: 64, N: 32}
tensors:
  h: {shape: [M, N], dtype: f32}
operators:
  - repeat: 5
    carry: {h: h_next}
    tensors:
      w: {shape: [N, N], dtype: f32, role: weight}
    operators:
      - {op: linear, in: [h, w], out: a}
      - {op: tanh, in: a, out: h_next}
  - {op: mean, in: h_next, out: loss}
outputs: [loss]
EOF
plan stack.json stack.yaml --hw a100-sxm4-40gb --set M=65536 --set N=1024 --objective memory
if command -v "${CC:-cc}" >/dev/null; then
    "$FUSESIM" validate stack.yaml --hw host --device cpu --no-measure --train --grad weights --plan stack.json --json ran.json >out 2>err || complain "validate --plan: $(cat out err)"
    "$python" - <<'EOF' || complain 'kernels of a plan with copies'
import json
planned, ran = json.load(open("stack.json"))["plans"][0]["plan"], json.load(open("ran.json"))["workloads"][0]["plans"]
assert any(k["name"].find("again_2_") >= 0 for k in planned["kernels"]), [k["name"] for k in planned["kernels"]]
assert [p["strategy"] for p in ran] == ["file"]
assert (ran[0]["checked"], ran[0]["wrong"]) == (len(planned["kernels"]), 0), (ran[0]["checked"], len(planned["kernels"]))
EOF
fi
"$FUSESIM" validate stack.yaml --hw host --device cpu --train --plan stack.json --strategies eager >out 2>err && complain '--plan beside --strategies'

"$FUSESIM" validate stack.yaml --hw a100-sxm4-40gb --registers --plan stack.json >out 2>err && complain '--plan beside --registers'

# Each value that is kept has a price for computing it again, in kernels of their own where no kernel of the plan may; that of equal layers is the same.
plan block.json llama_block --hw h100-sxm5-80gb
plan deep.json stacks/bert --set layers=4 --hw h100-sxm5-80gb
"$python" - <<'EOF' || complain 'other ways'
import json
for file in ("block.json", "deep.json"):
    plan = json.load(open(file))["plans"][0]
    peak = max(s["peak_memory_bytes"] for s in plan["strategies"])
    kept = [v for v in plan["plan"]["saved"] if v["way"] == "keep" and v["bytes"] > 0]
    assert len(kept) > 10, (file, kept)
    for v in kept:
        again = [w for w in v["alternatives"] if w["way"] != "keep"]
        assert again and all(w["time_s"] > 0 and 0 < w["peak_memory_bytes"] <= 2 * peak for w in again), (file, v)
layers = {v["tensor"]: v["alternatives"] for v in plan["plan"]["saved"]}
assert layers["q.1"][0]["time_s"] == layers["q.2"][0]["time_s"]
EOF

# A limit that only layers computed again meet is met.
limit=$("$python" -c 'import json; print(min(s["peak_memory_bytes"] for s in json.load(open("layers.json"))["plans"][0]["strategies"]))')
plan limited.json stacks/bert --set layers=2 --hw h100-sxm5-80gb --memory-limit "${limit}B"
exit $fail
