#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 4
# A step of training from file to output: phases in every format, and on real graphs the gradients, FLOPs and what has no gradient as PyTorch has them.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
unset COLUMNS
fail=0
complain() { echo "FAILED: $1" >&2; fail=1; }

step="seeds/fused_mlp --hw a100-sxm4-40gb --train --grad weights --optimizer sgd"
# shellcheck disable=SC2086 # $step is words
"$FUSESIM" $step --trace step.trace --dot step.dot --markdown step.md >step.txt 2>err || complain "the step: $(cat err)"
for phase in forward backward optimizer; do
    grep -q "^  $phase  *[0-9]" step.txt || complain "the report has no line for $phase"
    grep -q "^| $phase | [0-9]" step.md || complain "Markdown has no row for $phase"
    grep -q "label=\"[0-9]*: $phase, [a-z_]*\\\\n" step.dot || complain "no kernel of the drawing is $phase"
    grep -q "\"phase\": \"$phase\"" step.trace || complain "no kernel of the trace is $phase"
done
for text in 'Forward keeps .* for backward in' 'Memory is at its peak while kernel [0-9]* runs: .*eager'; do
    for file in step.txt step.md; do grep -q "$text" $file || complain "$file has no sentence like '$text'"; done
done
sed 's/, approximate: tanh//' "$SOURCE_DIR/workloads/mlp.yaml" >erf.yaml # whose slope no library has: 8 KiB more than eager's 240 MiB
"$FUSESIM" erf.yaml --hw h100-sxm5-80gb --train --optimizer adamw >peak.txt 2>err || complain "AdamW: $(cat err)"
grep -q "runs: .*, as much as eager's\." peak.txt || complain "peaks that differ in no digit that is shown: $(grep 'at its peak' peak.txt)"
"$python" - <<'EOF' || complain 'memory over time in the trace'
import json, sys
events = json.load(open("step.trace"))["traceEvents"]
kernels = [e for e in events if e["ph"] == "X"]
memory = [e for e in events if e["ph"] == "C" and e["name"] == "memory"]
sys.exit(not (len(memory) == len(kernels) and [e["ts"] for e in memory] == [e["ts"] for e in kernels] and all(e["args"]["MiB"] > 0 for e in memory)))
EOF
# The colours of boxes tell the phases apart; what has no gradients looks as ever.
[ "$(grep -o 'fillcolor="[^"]*"' step.dot | sort -u | wc -l)" = 3 ] || complain 'the drawing does not have three colours'
"$FUSESIM" seeds/fused_mlp --hw a100-sxm4-40gb --dot plain.dot --json plain.json >plain.txt || complain 'the plan without --train'
grep -q 'forward\|backward' plain.dot plain.json plain.txt && complain 'phases without --train'
for columns in 60 80 120; do
    # shellcheck disable=SC2086
    COLUMNS=$columns "$FUSESIM" $step >narrow.txt || complain "$columns columns"
    sed -n '/^ *strategy .*time/,/^$/p' narrow.txt | "$python" -c "import sys; sys.exit(max([len(l.rstrip('\n')) for l in sys.stdin] or [999]) > $columns)" || complain "the strategies are wider than $columns columns"
    sed -n '/^phases of/,/^$/p' narrow.txt | "$python" -c "import sys; sys.exit(max(len(l.rstrip('\n')) for l in sys.stdin) > $columns)" || complain "the phases are wider than $columns columns"
done

# Plans of two graphs, which have other forms of the same derivatives, are compared.
"$FUSESIM" seeds/transpose_elementwise --hw t4 --train --json forms.json >out 2>err || complain "the JSON of plans with other forms: exit status $?"

# A plan or a rule of the user's that puts both passes into one kernel is refused.
known="grad/y is known only after y"
echo '[[a], [m], [r, grad/r/1], [y, grad/r/2], [grad/m/1], [grad/m/2, grad/x]]' >crossing
"$FUSESIM" seeds/chain4 --hw t4 --train --plan crossing >out 2>err && complain 'a kernel of both passes was accepted'
grep -q "group 4 (y + grad/r/2) is no kernel: 'y' with 'grad/r/2': $known (rule cycle)" err || complain "of a plan: $(cat err)"
{ cat "$SOURCE_DIR/workloads/seeds/chain4.yaml"; echo 'fuse: [[y, grad/x]]'; } >together.yaml
"$FUSESIM" together.yaml --hw t4 --train >out 2>err && complain 'fuse: of both passes was accepted'
grep -q "can't share a kernel: $known" err || complain "of fuse: $(cat err)"

# Attention in 16 bits: forward and backward are a call of FlashAttention each, in PyTorch's plans and in the optimum, which is no slower than they are.
"$FUSESIM" gpt2_layer --hw a100-sxm4-80gb --train --search-steps 200000 --json attention.json >out 2>err || complain "attention: $(cat err)"
for strategy in eager inductor; do
    "$FUSESIM" gpt2_layer --hw a100-sxm4-80gb --train --strategy $strategy --search-steps 1 --json $strategy.json >out 2>err || complain "attention, $strategy: $(cat err)"
done
"$python" - <<'EOF' || complain 'attention'
import json
plan = json.load(open("attention.json"))["plans"][0]
time = {s["name"]: s["time_s"] for s in plan["strategies"]}
assert time["optimal"] <= min(time.values()) * 1.001, time
scores = 8 * 12 * 1024 * 1024 * 2
for name in ("attention", "eager", "inductor"):
    kernels = json.load(open(name + ".json"))["plans"][0]["plan"]["kernels"]
    call = [k for k in kernels if any("mixed/scores" in o for o in k["operators"]) and k["phase"] == "backward"]
    assert len(call) == 1 and call[0]["dram_read_bytes"] + call[0]["dram_write_bytes"] < scores, (name, call)
EOF

"$FUSESIM" explain gpt2_layer --hw a100-sxm4-80gb --train --search-steps 200000 grad/mixed/p/1 grad/v/1 >out 2>err || complain "explain: $(cat err)"
grep -q "are in one call of a library" out || complain "explain says nothing of the call: $(cat out)"
# PyTorch's gradient of an operator composed of several primitives is a kernel of its own, which reads the operator's argument or result
for op in gelu softmax; do
    "$FUSESIM" ops/$op --hw a100-sxm4-40gb --train --strategy eager --json $op.json >out 2>err || complain "$op: $(cat err)"
    [ "$(grep -oE '"phase":[[:space:]]*"backward"' $op.json | wc -l)" = 1 ] || complain "eager's gradient of $op is not one kernel"
done

# A kernel is named after what it makes, not after the gradient that it reads.
cat >product.yaml <<'END'
tensors: {x: {shape: [4096, 1024], dtype: f32}, w: {shape: [1024, 1024], dtype: f32, role: weight}}
operators: [{op: linear, in: [x, w], out: y}]
outputs: [y]
END
"$FUSESIM" product.yaml --hw a100-sxm4-40gb --train --grad weights >product.txt 2>err || complain "product: $(cat err)"
grep -q 'backward .* grad/w$' product.txt || complain "the kernel that makes grad/w: $(grep 'backward .*library' product.txt)"
grep -q ' grad/y$' product.txt && complain 'a kernel is named after what it reads'

# What torch.compile keeps in place of tensors moves with its kernels: of a max pool a byte for each result, where its maximum is, and neither x nor y; of a dropout its mask.
cat >pool.yaml <<'END'
tensors: {x: {shape: [64, 64, 112, 112], dtype: f32}}
operators: [{op: max_pool2d, in: x, out: y, kernel: [3, 3], stride: [2, 2], padding: [1, 1]}]
outputs: [y]
END
cat >drop.yaml <<'END'
tensors: {x: {shape: [8192, 8192], dtype: f32}}
operators: [{op: dropout, in: x, out: y, p: 0.1}]
outputs: [y]
END
for w in pool drop; do
    "$FUSESIM" $w.yaml --hw h100-sxm5-80gb --train --strategy inductor --json $w.json >out 2>err || complain "$w: $(cat err)"
done
"$python" - <<'EOF' || complain 'what torch.compile keeps of a pool and a dropout'
import json
def moved(w):
    return [(k["dram_read_bytes"], k["dram_write_bytes"]) for k in json.load(open(w + ".json"))["plans"][0]["plan"]["kernels"]]
x, y = 64 * 64 * 112 * 112, 64 * 64 * 56 * 56
assert moved("pool") == [(4 * x, 4 * y + y), (4 * y + y, 4 * x)], moved("pool")
n = 8192 * 8192
assert moved("drop") == [(4 * n, 4 * n + n), (4 * n + n, 4 * n)], moved("drop")
EOF

# A softmax's gradient reads its result and nothing else that forward made; what PyTorch keeps is listed for PyTorch's plans, to the byte.
for strategy in eager inductor optimal; do
    "$FUSESIM" bert_layer --hw a100-sxm4-40gb --train --grad weights --search-steps 100000 --strategy $strategy --json kept.json >kept.txt 2>err || complain "$strategy of bert_layer: $(cat err)"
    STRATEGY=$strategy "$python" - <<'EOF' || complain "what $strategy keeps of bert_layer: $(grep 'Forward keeps' kept.txt)"
import json, os
strategy = os.environ["STRATEGY"]
plan = json.load(open("kept.json"))["plans"][0]
of = {s["name"]: s for s in plan["strategies"]}
kept = {v["tensor"]: v["bytes"] for v in plan["plan"]["saved"] if v["way"] == "keep"}
assert "probabilities" in kept and not {"probabilities/exp", "probabilities/sum", "probabilities/max"} & kept.keys(), kept
rest = of[strategy]["saved_bytes"] - sum(kept.values())
assert 0 <= rest <= 2 * 8 * 8 * 512, rest  # mean and deviation of a row of two norms
assert of["eager"]["saved_bytes"] == 8 * 512 * (16 * 512 + 2 * 4096 + 7 * 1024) * 2 + 2 * 8 * 8 * 512, of["eager"]
EOF
done
grep -q "Forward keeps .*probabilities 64 MiB" kept.txt || complain "values that are kept: $(grep 'Forward keeps' kept.txt)"

# Of a softmax, ATen multiplies the gradient by the result first, in a kernel of its own: NeuSight's times, to which nothing was fitted.
while read -r hw rows measured_us; do
    "$FUSESIM" ops/softmax --hw "$hw" --set B="$rows" --set H=512 --set dtype=f32 --train --strategy eager --json softmax.json >out 2>err || complain "softmax on $hw: $(cat err)"
    "$python" -c "
import json
us = next(s['backward_s'] for s in json.load(open('softmax.json'))['plans'][0]['strategies'] if s['name'] == 'eager') * 1e6
assert abs(us / $measured_us - 1) < 0.07, us" 2>wrong || complain "backward of a softmax on $hw, measured $measured_us us: $(tail -n 1 wrong)"
done <<'END'
a100-pcie-80gb 65536 494
v100-pcie-32gb 65536 979
l4 65536 3465
END
# That of an operator without such a kernel is a formula, an operator of it a kernel: a product by one factor and by the other, and the sum
# over what was broadcast.
cat >formula.yaml <<'END'
tensors: {x: {shape: [4096, 1024], dtype: f32}, w: {shape: [1024], dtype: f32, role: weight}}
operators: [{op: mul, in: [x, w], out: y}]
outputs: [y]
END
"$FUSESIM" formula.yaml --hw a100-sxm4-40gb --train --strategy eager --json formula.json >out 2>err || complain "formula: $(cat err)"
[ "$(grep -oE '"phase":[[:space:]]*"backward"' formula.json | wc -l)" = 3 ] || complain "eager's gradient of a product is not three kernels"

shared=${FUSESIM_SHARED:-$SOURCE_DIR/../shared}/data/workloads
if [ ! -e "$shared/training.jsonl" ]; then
    echo "no $shared/training.jsonl: gradients of real graphs were not compared"
    [ $fail = 0 ] && exit 0
    exit 1
fi
SHARED=$shared "$python" - <<'EOF' || complain 'real graphs'
import json, os, subprocess, sys
shared, every, bad, seen = os.environ["SHARED"], 9, 0, 0
for line in open(os.path.join(shared, "training.jsonl")).readlines()[::every]:
    want = json.loads(line)
    path = next((p for p in (os.path.join(shared, f, want["id"] + ".yaml") for f in ("", "kernelbench", "ops_llm")) if os.path.exists(p)), None)
    if not path:
        continue
    run = subprocess.run([os.environ["FUSESIM"], path, *"--hw a100-sxm4-40gb --train --seed ones --strategy eager --search-steps 1 --json -".split()],
                         capture_output=True, text=True, timeout=120)
    training = json.loads(run.stdout)["plans"][0]["training"] if run.returncode == 0 else {}
    seen += 1
    have = {"grads": {k: v["shape"] for k, v in training.get("gradients", {}).items()}, "no_grad": sorted(training.get("no_grad", [])),
            "forward_flops": training.get("forward_flops"), "backward_flops": training.get("backward_flops")}
    for key, value in have.items():
        if value != (sorted(want.get(key, [])) if key == "no_grad" else want[key]):
            print(f"{want['id']}: {key} is {value}, PyTorch has {want.get(key)} {run.stderr[:200]}")
            bad += 1
print(f"{seen} real graphs compared")
sys.exit(bad > 0 or seen < 25)
EOF
exit $fail
