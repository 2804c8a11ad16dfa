#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torch.compile's activation_memory_budget: what its partitioner keeps, what is computed again, and wrong values.
# depends: memory cost: 2
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
fail=0
complain() { echo "FAILED: $1"; fail=1; }
for budget in 1 0.75 0.43 0.428 0; do
    "$FUSESIM" mlp --hw h100-sxm5-80gb --train --grad weights --strategy inductor --search-steps 1000 --activation-memory-budget $budget --json $budget.json >out 2>err || complain "exit status $?: $(cat err)"
done
"$FUSESIM" mlp --hw h100-sxm5-80gb --train --grad weights --strategy inductor --search-steps 1000 --json none.json >out 2>err || complain "exit status $?: $(cat err)"
"$python" - <<'END' || complain "json"
import json
plan = {b: json.load(open(b + ".json"))["plans"][0] for b in ("none", "1", "0.75", "0.43", "0.428", "0")}
at = {b: next(s for s in p["strategies"] if s["name"] == "inductor") for b, p in plan.items()}
kept = {b: s["saved_bytes"] for b, s in at.items()}
h = 4096 * 4096 * 2
# Inputs are 24 MiB and 16 MiB of them are kept: beyond inputs the fastest way keeps h and GELU's result, 64 + 16 - 24 = 56 MiB. GELU again leaves 32 + 16 - 24 = 24, 0.4286 of it;
# with less room the product is computed again.
assert kept == {"none": 2 * h, "1": 2 * h, "0.75": h, "0.43": h, "0.428": 0, "0": 0}, kept
assert at["none"] == at["1"] and at["1"]["time_s"] < at["0.75"]["time_s"] < at["0"]["time_s"], at
assert at["0.75"]["kernels"] == at["1"]["kernels"] + 1 and at["0"]["kernels"] == at["1"]["kernels"] + 2, at
# GELU is read and written once more, which hides behind nothing; the product takes its 2 M N K FLOPs again.
assert at["0"]["flops"] - at["0.75"]["flops"] >= 2 * 4096 * 4096 * 1024, at
# What comes out as the gradients is the same whatever is kept.
assert plan["0"]["training"]["gradients"].keys() == plan["1"]["training"]["gradients"].keys()
assert plan["0.43"]["training"]["activation_memory_budget"] == 0.43 and "activation_memory_budget" not in plan["1"]["training"]
END
for wrong in 1.5 -1 x; do
    "$FUSESIM" mlp --hw h100-sxm5-80gb --train --activation-memory-budget=$wrong >out 2>err && complain "no error of $wrong"
    grep -q "^fusesim: error: --activation-memory-budget '$wrong': wants a number from 0 to 1" err || complain "$wrong: $(cat err)"
done
"$FUSESIM" mlp --hw h100-sxm5-80gb --activation-memory-budget 0.5 >out 2>err && complain "no error without --train"
grep -q 'belongs to --train' err || complain "without --train: $(cat err)"
exit $fail
