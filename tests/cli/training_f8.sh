#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Training in 8 bits: --precision f8 --train, --save-dtype. Products of all three passes read f8e4m3, gradients are bf16, weights and their update stay bf16; what is stored in 8 bits is no weight to update; the kernels compute what the reference does.
# depends: once cost: 7
. "${SOURCE_DIR:?}/tests/answers.sh"
export CC="${CC:-cc} -O0" # what kernels compute is asked, not how fast

step="mlp --hw h100-sxm5-80gb --train --grad weights --optimizer adamw --search-steps 200000"
for p in f8 bf16; do
    # shellcheck disable=SC2086
    "$FUSESIM" $step --precision $p --dump graph --json $p.json >$p.txt 2>err || complain "--precision $p: exit status $?: $(cat err)"
done
"$python" - <<'END' || complain "the step in 8 bits"
import json, re
of = {p: json.load(open(p + ".json"))["plans"][0] for p in ("f8", "bf16")}
t = of["f8"]["training"]
assert {n: g["dtype"] for n, g in t["gradients"].items()} == dict.fromkeys(("w1", "b1", "w2", "b2"), "bf16"), t["gradients"]
assert (t["forward_flops"], t["backward_flops"]) == tuple(of["bf16"]["training"][k] for k in ("forward_flops", "backward_flops"))
best = {p: next(s for s in of[p]["strategies"] if s["name"] == "optimal") for p in of}
assert best["f8"]["time_s"] < best["bf16"]["time_s"], best
# the update reads and writes as many bytes, and x, w1, w2, g in 8 bits are beside bf16 values of eager
assert abs(best["f8"]["optimizer_s"] / best["bf16"]["optimizer_s"] - 1) < 1e-9, best
graph = open("f8.txt").read()
casts = re.findall(r"f8e4m3", graph)
assert casts, graph[:400]
END
"$FUSESIM" mlp --hw h100-sxm5-80gb --train --precision f8 --search-steps 200000 >out 2>err || complain "all gradients: $(cat err)"

cat >stored.yaml <<'END'
name: stored
tensors:
  x: {shape: [256, 512], dtype: f8e4m3, role: input}
  w: {shape: [512, 512], dtype: f8e4m3, role: weight}
operators:
  - {op: matmul, in: [x, w], out: y, dtype: bf16}
outputs: [y]
END
"$FUSESIM" stored.yaml --hw h100-sxm5-80gb --train --search-steps 200000 >out 2>err || complain "weights that are stored in 8 bits: $(cat err)"
for option in "--optimizer adamw" "--micro-batches 2"; do
    # shellcheck disable=SC2086
    "$FUSESIM" stored.yaml --hw h100-sxm5-80gb --train $option >out 2>err && complain "$option takes a weight of 8 bits"
    grep -q "weight 'w' is f8e4m3, too few bits" err || complain "$option says: $(cat err)"
done

if command -v "${CC%% *}" >/dev/null; then
    "$FUSESIM" validate mlp --device cpu --hw host --no-measure --precision f8 --train --grad weights --set M=32 --set H=32 --search-steps 200000 >out 2>err ||
        complain "what the kernels compute: exit status $?: $(cat err)"
fi

# --save-dtype: what forward keeps for gradients in fewer bits, listed with its other ways; plans are read back, with copies too; kernels round as the reference does, also where a value never leaves its kernel.
cat >block.yaml <<'END'
name: block
symbols: {M: 64, N: 96}
tensors:
  x: {shape: [M, N], dtype: bf16}
  g: {shape: [N], dtype: bf16, role: weight}
  w: {shape: [N, 2 * N], dtype: bf16, role: weight}
  v: {shape: [2 * N, N], dtype: bf16, role: weight}
operators:
  - {op: layer_norm, in: [x, g, g], out: n}
  - {op: matmul, in: [n, w], out: u}
  - {op: gelu, in: u, out: a, approximate: tanh}
  - {op: matmul, in: [a, v], out: d}
  - {op: add, in: [d, x], out: r}
  - {op: softmax, in: r, out: p, dim: -1}
  - {op: mul, in: [p, r], out: z}
outputs: [z]
END
large="block.yaml --hw a100-sxm4-40gb --train --grad weights --set M=65536 --search-steps 20000 --objective memory"
"$FUSESIM" $large --save-dtype f8 --json narrow.json >out 2>err || complain "--save-dtype: $(cat err)"
"$FUSESIM" $large --json wide.json >out 2>err || complain "without --save-dtype: $(cat err)"
"$FUSESIM" $large --save-dtype f8 --plan narrow.json --json back.json >out 2>err || complain "--plan with --save-dtype: $(cat err)"
"$python" - <<'END' || complain "what --save-dtype saves"
import json
plan = {n: json.load(open(n + ".json"))["plans"][0] for n in ("narrow", "wide", "back")}
of = {n: {s["name"]: s for s in p["strategies"]} for n, p in plan.items()}
saved = {v["tensor"]: v for v in plan["narrow"]["plan"]["saved"]}
assert (saved["r"]["way"], saved["r"]["bytes"]) == ("reduced", 65536 * 96), saved
assert {w["way"]: w["bytes"] for w in saved["r"]["alternatives"]} == {"keep": 2 * 65536 * 96, "recompute": 0}, saved["r"]
assert {n for n, v in saved.items() if "not_reduced" in v} == {"a", "n"}, saved
assert all(of["narrow"]["eager"][k] == of["wide"]["eager"][k] for k in ("kernels", "time_s", "saved_bytes", "peak_memory_bytes")), of
assert of["narrow"]["optimal"]["peak_memory_bytes"] < of["wide"]["optimal"]["peak_memory_bytes"], of
assert of["back"]["file"]["peak_memory_bytes"] == of["narrow"]["optimal"]["peak_memory_bytes"]
END
# On a GPU that computes this dtype slowly, what eager would take in another stays as well.
for save in "" "--save-dtype f8"; do
    # shellcheck disable=SC2086
    "$FUSESIM" block.yaml --hw t4 --train --set M=65536 --search-steps 1000 $save --json "slow$save.json" >out 2>err || complain "t4 $save: $(cat err)"
done
"$python" - <<'END' || complain "eager in another dtype"
import json
wide, narrow = (json.load(open(f"slow{s}.json"))["plans"][0]["plan"]["arithmetic"]["slow"] for s in ("", "--save-dtype f8"))
assert wide == narrow and wide["instead_eager_s"] < wide["eager_s"], (wide, narrow)
END
if command -v "${CC%% *}" >/dev/null; then
    for dtype in 'f8:*' f8e5m2; do
        "$FUSESIM" validate block.yaml --device cpu --hw host --no-measure --train --save-dtype "$dtype" --strategies optimal,maximal --search-steps 20000 >out 2>err ||
            complain "--save-dtype $dtype: what the kernels compute: exit status $?: $(cat out err)"
    done
fi
for wrong in "f32: wanted f8, f8e5m2, bf16 or f16" "bf16:: wanted f8" "bf16:uu: no tensor 'uu'; did you mean 'u'?"; do
    "$FUSESIM" block.yaml --hw a100-sxm4-40gb --train --save-dtype "${wrong%: *}" >out 2>err && complain "--save-dtype ${wrong%: *} is taken"
    grep -qF -- "${wrong##*: }" err || complain "--save-dtype ${wrong%: *} says: $(cat err)"
done
"$FUSESIM" block.yaml --hw a100-sxm4-40gb --save-dtype bf16 >out 2>err && complain "--save-dtype without --train"

# An output that is a view is a float like any other.
cat >view.yaml <<'END'
name: view
tensors:
  x: {shape: [64, 64], dtype: bf16, role: input}
operators:
  - {op: round, in: x, out: h}
  - {op: all_reduce, in: h, out: s, ranks: 8}
  - {op: reshape, in: s, out: y, shape: [4096]}
outputs: [y]
END
"$FUSESIM" view.yaml --hw h100-sxm5-80gb --train >out 2>err && complain "rounding has a derivative"
grep -q "no output depends on what is wanted in a way that has a derivative" err || complain "of a view: $(cat err)"
exit $fail
