#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What torch.compile keeps of a smooth L1 loss, the peak of eager's memory by autograd, and gradients of bags that offsets describe.
# depends: memory cost: 2
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
fail=0
complain() { echo "FAILED: $1"; fail=1; }
cat >huber.yaml <<'END'
name: huber
tensors:
  x: {shape: [4096, 4096], dtype: f32, role: input}
  t: {shape: [4096, 4096], dtype: f32, role: input}
operators:
  - {op: smooth_l1_loss, in: [x, t], out: loss}
outputs: [loss]
END
cat >bags.yaml <<'END'
name: bags
tensors:
  index: {shape: [1000], dtype: i64, role: input}
  table: {shape: [500, 16], dtype: f32, role: weight}
  offsets: {shape: [100], dtype: i64, role: input}
operators:
  - {op: embedding_bag, in: [index, table, offsets], out: y, mode: sum}
outputs: [y]
END
"$FUSESIM" huber.yaml --hw a100-sxm4-80gb --train --json both.json >out 2>err || complain "exit status $?: $(cat err)"
"$FUSESIM" huber.yaml --hw a100-sxm4-80gb --train --grad x --json one.json >out 2>err || complain "exit status $?: $(cat err)"
"$FUSESIM" bags.yaml --hw a100-sxm4-80gb --train --grad weights --json bags.json >out 2>err || complain "exit status $?: $(cat err)"
"$FUSESIM" validate bags.yaml --device cpu --train --grad weights --strategies optimal,unfused --no-measure >out 2>err || complain "exit status $?: $(cat out err)"
grep -q '^All [0-9]* kernels of 2 plans agree with the reference' out || complain "gradients of bags: $(cat out)"
"$python" - <<'END' || complain "json"
import json
def strategies(file):
    return {s["name"]: s for s in json.load(open(file))["plans"][0]["strategies"]}
t = 4096 * 4096 * 4
both, one = strategies("both.json"), strategies("one.json")
kept = lambda s: (s["inductor"]["saved_bytes"], s["inductor"]["saved_input_bytes"])
assert kept(both) == (0, 2 * t), kept(both)  # each gradient subtracts in its own order: both read x and t
assert kept(one) == (t, 0), kept(one)
# x, t; the gradient of each.
assert both["eager"]["autograd_peak_bytes"] - 4 * t < 100, both["eager"]
assert [n for n, s in both.items() if "autograd_peak_bytes" in s] == ["eager"]
training = json.load(open("bags.json"))["plans"][0]["training"]
assert training["gradients"]["table"]["shape"] == [500, 16] and training["backward_flops"] == 0, training
END
for mode in max; do
    sed "s/mode: sum/mode: $mode/" bags.yaml >other.yaml
    "$FUSESIM" other.yaml --hw a100-sxm4-80gb --train --grad weights >out 2>err
    [ $? = 65 ] && grep -q "which row of a bag is the largest says nobody" err || complain "the largest of a bag: $(cat err)"
done
exit $fail
