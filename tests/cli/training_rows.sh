#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A training step of several micro-batches; validate --measurements on rows of a training: the column `mode`, peaks of memory, rows without l2 and launch, and what is wrong with such files.
# depends: memory cost: 6
. "${SOURCE_DIR:?}/tests/answers.sh"
cat >rows.csv <<'END'
id,hw,workload,set,mode,strategy,time_s,peak_bytes,source
made/forward,t4,mlp,,forward,eager,1e-3,,made up
made/backward,t4,mlp,,backward,eager,2e-3,,made up
made/full,t4,mlp,,full,eager+flash,3e-3,100000000,made up
made/accumulate,t4,mlp,,accumulate,eager,1e-4,,made up
made/step,t4,mlp,,step,optimal,4e-3,,made up
made/memory,t4,mlp,,full,optimal,,100000000,made up
Liger/cold,t4,mlp,,full,eager,3e-3,,Liger made up
END
"$FUSESIM" validate --measurements rows.csv --by source,mode --json rows.json >out 2>err || complain "exit status $?: $(cat err)"
[ -s err ] && complain "something on stderr: $(cat err)"
grep -Eq '^made +full memory +2 ' out || complain "no rows of memory: $(cat out)"
grep -Eq '95\.4 MiB' out || complain "a measured peak is not in bytes: $(cat out)"
"$python" - <<'END' || complain "rows.json"
import json
rows = json.load(open("rows.json"))["rows"]
of = {(r["id"], "measured_bytes" in r): r for r in rows}
s = {i: of["made/" + i, False]["predicted_s"] for i in ("forward", "backward", "full", "accumulate", "step")}
assert 0 < s["accumulate"] < s["forward"] < s["backward"] < s["full"], s
assert s["full"] - s["backward"] >= 0.9 * s["forward"], s
assert 0 < s["step"] < s["full"] + 1e-2, s
eager, optimal = of["made/full", True], of["made/memory", True]
assert eager["measured_s"] is None and eager["predicted_s"] is None and eager["measured_bytes"] == 100000000
# what the fastest plan keeps may be as much; neither is below the weights, their gradients and the input
assert min(eager["predicted_bytes"], optimal["predicted_bytes"]) > 2 * 2 * 1024 * 4096 * 2 + 4096 * 1024 * 2, (eager, optimal)
assert abs(optimal["error"] - (optimal["predicted_bytes"] / 1e8 - 1)) < 1e-9
assert of["made/full", False]["strategy"] == "eager" and of["made/full", False]["mode"] == "full"
assert (of["made/full", False]["l2"], of["made/full", False]["launch"]) == ("unknown", "stream")
assert (of["Liger/cold", False]["l2"], of["Liger/cold", False]["launch"]) == ("cold", "kernel")
assert len(rows) == 8, len(rows)
END

# A step of several micro-batches.
"$FUSESIM" mlp --hw t4 --train --optimizer adamw --clip 1 --micro-batches 4 --search-steps 20000 --json step.json >out 2>err || complain "exit status $?: $(cat err)"
grep -Eq '^  A step of 4 micro-batches takes [0-9.]+ ms: 4 times forward and backward, [0-9.]+ ms, and the update; eager.s [0-9.]+ ms\.$' out || complain "no step: $(cat out)"
"$python" - <<'END' || complain "step.json"
import json
plan = json.load(open("step.json"))["plans"][0]
assert plan["training"]["micro_batches"] == 4
for s in plan["strategies"]:
    assert abs(s["step_s"] - (4 * (s["forward_s"] + s["backward_s"]) + s["optimizer_s"])) < 1e-9 and s["optimizer_s"] > 0, s
END

# How a program trained: layers computed again, sums over micro-batches, sharded weights. What is not priced is left out with its reason.
of=S=512\;microbatch=2
cat >steps.csv <<END
id,hw,workload,set,mode,strategy,time_s,source
step/plain,h100-sxm5-80gb,models/mpt-125m,$of;dtype=amp_bf16;parameters=124,step,eager+flash,0.02,made up
step/again,h100-sxm5-80gb,models/mpt-125m,$of;dtype=amp_bf16;checkpoint=True,step,eager+flash,0.02,made up
step/four,h100-sxm5-80gb,models/mpt-125m,$of;dtype=amp_bf16;accumulate=4,step,eager+flash,0.02,made up
step/sharded,h100-sxm5-80gb,models/mpt-125m,$of;dtype=amp_bf16;gpus=8;sharding=FULL_SHARD,step,eager+flash,0.02,made up
step/tensor,h100-sxm5-80gb,models/mpt-125m,$of;tensor=8;recompute=full,step,eager,0.02,made up
step/fp8,h100-sxm5-80gb,models/mpt-125m,$of;dtype=amp_fp8,step,eager,0.02,made up
END
"$FUSESIM" validate --measurements steps.csv --json steps.json >out 2>err || complain "steps: exit status $?: $(cat err)"
[ "$(grep -c 'trained in a way that is not priced' out)" = 2 ] || complain "two rows are left out: $(cat out)"
"$python" - <<'END' || complain "steps.json"
import json
s = {r["id"][5:]: r["predicted_s"] for r in json.load(open("steps.json"))["rows"]}
assert s["sharded"] < s["plain"] < s["again"] < 1.5 * s["plain"], s
assert 2.5 * s["plain"] < s["four"] < 4 * s["plain"], s
END
# A model that trains in another form than it is evaluated in: rows with a mode are that form, at the size of their name;
# forward keeps for backward, so that both passes are the whole.
cat >forms.csv <<'END'
id,hw,workload,set,mode,strategy,time_s,source
form/forward,h100-sxm5-80gb,models/bert_large,B=2;S=128;dtype=f32,forward,eager,1e-2,made up
form/backward,h100-sxm5-80gb,models/bert_large,B=2;S=128;dtype=f32,backward,eager,2e-2,made up
form/full,h100-sxm5-80gb,models/bert_large,B=2;S=128;dtype=f32,full,eager,3e-2,made up
form/same,h100-sxm5-80gb,models/bert_train,layers=24;H=1024;heads=16;B=2;S=128;dtype=f32,full,eager,3e-2,made up
form/evaluated,h100-sxm5-80gb,models/bert_large,B=2;S=128;dtype=f32,,eager,1e-2,made up
END
"$FUSESIM" validate --measurements forms.csv --json forms.json >out 2>err || complain "forms: exit status $?: $(cat err)"
"$python" - <<'END' || complain "forms.json"
import json
s = {r["id"][5:]: r["predicted_s"] for r in json.load(open("forms.json"))["rows"]}
assert s["full"] == s["same"], s
assert abs(s["forward"] + s["backward"] - s["full"]) < 0.02 * s["full"], s
assert s["evaluated"] < 0.95 * s["forward"], s
END
"$FUSESIM" seeds/fused_mlp --hw t4 --train --checkpoint >out 2>err
[ $? = 65 ] && grep -q -- '--checkpoint: no operator belongs to a layer, which is a repeat block or a numbered module' err || complain "no layers: $(cat err)"
"$FUSESIM" stacks/gpt2 --hw t4 --checkpoint >out 2>err
[ $? = 2 ] && grep -q -- '--checkpoint belongs to --train' err || complain "without --train: $(cat err)"

# says TEXT ROWS...
says() {
    local text=$1
    shift
    printf '%s\n' "$@" >wrong.csv
    "$FUSESIM" validate --measurements wrong.csv >out 2>err && complain "no error: $text"
    grep -qF -- "$text" err || complain "no '$text': $(cat err)"
}
says "mode: unknown 'backwards'; did you mean 'backward'?" id,hw,workload,mode,strategy,time_s a,t4,mlp,backwards,eager,1
says "no column 'launch'" id,hw,workload,strategy,time_s a,t4,mlp,eager,1
says "no column 'time_s'" id,hw,workload,mode,strategy a,t4,mlp,full,eager
says "peak_bytes: '-1' is no number of bytes" id,hw,workload,mode,strategy,peak_bytes a,t4,mlp,full,eager,-1
exit $fail
