#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Data parallelism: buckets, bytes, overlap and memory by hand; what is refused.
# depends: memory cost: 5
. "${SOURCE_DIR:?}/tests/answers.sh"
cat >net.yaml <<'END'
tensors:
  x: {shape: [2048, 1024], dtype: bf16}
  w1: {shape: [1024, 4096], dtype: bf16, role: weight}
  w2: {shape: [4096, 1024], dtype: bf16, role: weight}
  w3: {shape: [1024, 8192], dtype: bf16, role: weight}
  w4: {shape: [8192, 1024], dtype: bf16, role: weight}
operators:
  - {op: matmul, in: [x, w1], out: h}
  - {op: relu, in: h, out: r}
  - {op: matmul, in: [r, w2], out: z}
  - {op: matmul, in: [z, w3], out: k}
  - {op: relu, in: k, out: l}
  - {op: matmul, in: [l, w4], out: y}
END
train="--hw a100-sxm4-80gb --train --grad weights --optimizer adam --search-steps 1000 --quiet"
for zero in 0 1 2 3; do
    option=$([ $zero -gt 0 ] && echo "--zero $zero")
    # shellcheck disable=SC2086
    "$FUSESIM" net.yaml $train --data-parallel 8 $option --json zero$zero.json >out 2>err || complain "zero $zero: $(cat err)"
done
# shellcheck disable=SC2086
"$FUSESIM" net.yaml ${train% --quiet} --data-parallel 8 >whole 2>err
step=$(sed -n 's/^On 8 GPUs a step takes \(.*\) and .* of memory on each.*/\1/p' whole)
"$FUSESIM" net.yaml $train --data-parallel 8 --json again.json >out 2>err; [ -n "$step" ] && grep -qF "on 8 x a100-sxm4-80gb: optimal $step a step" out || complain "--quiet does not say that a step takes $step: $(cat out)"
cmp -s zero0.json again.json || complain "two runs differ"
# shellcheck disable=SC2086
"$FUSESIM" net.yaml $train --data-parallel 8 --micro-batches 4 --json micro.json >out 2>err || complain "micro: $(cat err)"
# shellcheck disable=SC2086
"$FUSESIM" net.yaml $train --data-parallel 1 --json one.json >out 2>err || complain "one: $(cat err)"
"$python" - <<'END' || complain "figures"
import json
def of(name):
    return json.load(open(name))["plans"][0]["training"]["data_parallel"]
P = 2 * 1024 * 4096 + 2 * 1024 * 8192  # parameters of 2 bytes
z = [of("zero%d.json" % i) for i in range(4)]
gradients = [e for e in z[0]["exchanges"]]
# w4, 16 MiB, closes the first bucket; w3 and w2, 24 MiB, do not fill the second, w1 closes it
order = [sorted(e["tensors"]) for e in gradients]
assert order == [["grad/w4"], ["grad/w1", "grad/w2", "grad/w3"]], order
assert [e["bytes"] for e in gradients] == [16 << 20, 32 << 20], gradients
for e in gradients:  # ring on 8 GPUs: 14 steps, 14/8 of the bytes, at 0.6 of 300 GB/s
    assert abs(e["end_s"] - e["start_s"] - (6e-6 + 14 * 0.9e-6 + 1.75 * e["bytes"] / 180e9)) < 1e-9, e
    assert e["start_s"] >= e["ready_s"]
strategy = json.load(open("zero0.json"))["plans"][0]
optimal = [s for s in strategy["strategies"] if s["name"] == "optimal"][0]
passes = optimal["forward_s"] + optimal["backward_s"]
assert gradients[0]["ready_s"] < passes - 1e-9 and abs(gradients[1]["ready_s"] - passes) < 1e-9
assert abs(z[0]["exposed_s"] - (gradients[1]["end_s"] - passes)) < 1e-9 and 0 < z[0]["exposed_s"] < z[0]["communication_s"]
assert abs(z[0]["step_s"] - gradients[1]["end_s"] - optimal["optimizer_s"]) < 1e-9
assert abs(z[0]["one_gpu_step_s"] - optimal["step_s"]) < 1e-12
sent = [sum(c["sent_bytes"] for c in x["collectives"].values()) for x in z]
assert sent == [2 * P * 2 * 7 // 8] * 3 + [3 * P * 2 * 7 // 8], sent
model = [x["weight_bytes"] + x["gradient_bytes"] + x["state_bytes"] for x in z]
assert model == [16 * P, 4 * P + 12 * P // 8, 2 * P + 14 * P // 8, 16 * P // 8], model
peak = [x["peak_memory_bytes"] for x in z]
assert peak[0] == optimal["peak_memory_bytes"] and peak[0] - peak[1] == 12 * P * 7 // 8 and peak[2] <= peak[1], peak
micro, one = of("micro.json"), of("one.json")
assert micro["collectives"] == z[0]["collectives"], micro["collectives"]
assert one["communication_s"] == 0 and abs(one["efficiency"] - 1) < 1e-12 and abs(one["step_s"] - one["one_gpu_step_s"]) < 1e-12
END
refused() { # STATUS TEXT ARGUMENT...
    local wanted=$1 says=$2
    shift 2
    "$FUSESIM" net.yaml "$@" >out 2>err
    local status=$?
    [ $status -eq "$wanted" ] || complain "$*: exit status $status"
    grep -qF -- "$says" err || complain "$*: $(cat err)"
}
refused 2 "--zero belongs to --data-parallel" --hw t4 --train --zero 1
refused 2 "--data-parallel belongs to --train" --hw t4 --data-parallel 2
refused 2 "wanted 1, 2 or 3" --hw t4 --train --optimizer sgd --data-parallel 2 --zero 4
refused 2 "wants an --optimizer" --hw t4 --train --data-parallel 2 --zero 1
refused 2 "at most 72 GPUs" --hw t4 --train --data-parallel 73
refused 65 "no weight has a gradient" --hw t4 --train --grad x --data-parallel 2
refused 65 "lacks link_bandwidth" --hw host --train --data-parallel 2
"$FUSESIM" net.yaml --hw a100-sxm4-80gb --train --grad weights --optimizer adam --search-steps 1000 --data-parallel 8 >out 2>err
grep -q '^On 8 GPUs a step takes ' out || complain "no line of 8 GPUs: $(head -12 out)"
exit $fail
