#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Training in 8 bits: --precision f8 --train. Products of all three passes read f8e4m3, gradients are bf16, weights and their update stay bf16; what is stored in 8 bits is no weight to update; the kernels compute what the reference does.
# depends: once cost: 1
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset COLUMNS NO_COLOR
fail=0
complain() { echo "FAILED: $1"; fail=1; }

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

if command -v "${CC:-cc}" >/dev/null; then
    "$FUSESIM" validate mlp --device cpu --hw host --no-measure --precision f8 --train --grad weights --set M=32 --set H=32 --search-steps 200000 >out 2>err ||
        complain "what the kernels compute: exit status $?: $(cat err)"
fi

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
