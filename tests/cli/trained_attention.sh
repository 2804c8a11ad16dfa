#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What PyTorch trains attention with, GPU by GPU: one kernel forward and one backward wherever it has them, whose ratio is that of vendor/constants.def; it keeps its result and 4 B a query, never the probabilities.
# depends: once cost: 2
. "${SOURCE_DIR:?}/tests/answers.sh"
size="--set B=2 --set Sq=2048 --set Sk=2048 --set heads=16 --set kv_heads=16"

# GPU, dtype, features of a head, the constant of the share; - where PyTorch has no kernel for it
n=0
while read -r gpu dtype d share; do
    n=$((n + 1))
    for train in "" --train; do
        # shellcheck disable=SC2086
        "$FUSESIM" ops/attention --hw "$gpu" $size --set D="$d" --set dtype="$dtype" $train --strategy eager --json "$n$train.json" >out 2>err ||
            complain "$gpu $dtype $d: exit status $?: $(cat err)"
    done
    SHARE=$share GPU=$gpu DTYPE=$dtype D=$d N=$n "$python" - <<'END' || complain "$gpu $dtype, heads of $d"
import json, os, re
share, d, n = os.environ["SHARE"], int(os.environ["D"]), os.environ["N"]
alone = json.load(open(n + ".json"))["plans"][0]["strategies"][0]
step = json.load(open(n + "--train.json"))["plans"][0]["strategies"][0]
assert alone["name"] == step["name"] == "eager"
elements, rows = 2 * 16 * 2048, 2 * 16 * 2048
width = {"f32": 4}.get(os.environ["DTYPE"], 2)
scores = elements * 2048 * width
if share == "-":
    assert step["kernels"] > 2, step
else:
    text = open(os.environ["SOURCE_DIR"] + "/src/vendor/constants.def").read()
    value = lambda name: float(re.search(r"FSIM_CONSTANT\(%s, *([0-9.]+)" % name, text).group(1))
    assert step["kernels"] == 2, step
    assert step["saved_bytes"] == elements * d * width + 4 * rows, step["saved_bytes"]
    assert step["peak_memory_bytes"] < scores, step["peak_memory_bytes"]
    assert abs(step["forward_s"] / alone["time_s"] - 1) < 1e-9, (step["forward_s"], alone["time_s"])
    ratio = value("flash_backward_flops") / value(share)
    assert abs(step["backward_s"] / step["forward_s"] / ratio - 1) < 0.15, (step["backward_s"] / step["forward_s"], ratio)
END
done <<'END'
t4 f16 64 efficient_backward_share
t4 f32 64 efficient_backward_share
t4 f16 128 efficient_wide_backward
t4 bf16 64 -
t4 f16 60 -
v100-sxm2-32gb f16 64 efficient_backward_share
a100-sxm4-40gb bf16 64 flash_backward_share
a100-sxm4-40gb f32 64 efficient_backward_share
a100-sxm4-40gb f32 62 -
h100-sxm5-80gb bf16 128 flash_backward_share
mi300x bf16 64 amd_backward_share
mi300x f32 64 amd_backward_share
mi300x f64 64 -
END

# FlashAttention-2's own kernels, as measured trainings had them, are slower on Hopper than what PyTorch picks by now.
cat >rows.csv <<'END'
id,hw,workload,set,mode,strategy,time_s,source
now/full,h100-sxm5-80gb,ops/attention,B=2;Sq=2048;Sk=2048;heads=16;kv_heads=16,full,eager,1e-3,made up
old/full,h100-sxm5-80gb,ops/attention,B=2;Sq=2048;Sk=2048;heads=16;kv_heads=16,full,eager+flash,1e-3,made up
now/a100,a100-sxm4-40gb,ops/attention,B=2;Sq=2048;Sk=2048;heads=16;kv_heads=16,full,eager,1e-3,made up
old/a100,a100-sxm4-40gb,ops/attention,B=2;Sq=2048;Sk=2048;heads=16;kv_heads=16,full,eager+flash,1e-3,made up
END
"$FUSESIM" validate --measurements rows.csv --json rows.json >out 2>err || complain "exit status $?: $(cat err)"
"$python" - <<'END' || complain "FlashAttention-2: $(cat out)"
import json
s = {r["id"]: r["predicted_s"] for r in json.load(open("rows.json"))["rows"]}
assert 1.6 < s["old/full"] / s["now/full"] < 1.76, s
assert s["old/a100"] == s["now/a100"], s
END

# No serving stack has attention in 32 bits: no call that computes at the rate of 16.
# shellcheck disable=SC2086
"$FUSESIM" ops/attention --hw t4 $size --set D=64 --set causal=1 --set dtype=f32 --strategy serving --json f32.json >out 2>err || complain "f32: exit status $?: $(cat err)"
"$python" - <<'END' || complain "attention in f32 faster than the units are"
import json
plan = json.load(open("f32.json"))["plans"][0]
flops = 4 * 2 * 16 * 2048**2 * 64 / 2
assert all(flops / s["time_s"] < 8.1e12 for s in plan["strategies"]), plan["strategies"]
END
exit $fail
