#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# capacity, what holds whatever the load: a prompt takes no less beside others, no more answers come out than prompts can go in.
# depends: once cost: 3
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset COLUMNS NO_COLOR
fail=0
complain() { echo "FAILED: $1"; fail=1; }
run() { # FILE ARGUMENT...
    local file=$1
    shift
    "$FUSESIM" capacity "$@" --json "$file" >"$file.out" 2>"$file.err" || complain "exit $?: capacity $*: $(cat "$file.err")"
}
# Prompts of many steps: those behind the first look back at the keys of those before.
for load in concurrency=1 concurrency=2 concurrency=4 rate=0.01; do
    run long.$load.json llama-3.1-8b --hw h100-sxm5-80gb --weights bf16 --cache bf16 --node 1 --gpus 1 --load input=128000,output=50,$load
done
run long.all.json llama-3.1-8b --hw h100-sxm5-80gb --weights bf16 --cache bf16 --node 1 --gpus 1 --load input=128000,output=50
"$python" - <<'END' || complain 'long prompts'
import json
best = {}
for load in ("concurrency=1", "concurrency=2", "concurrency=4", "rate=0.01", "all"):
    d = json.load(open(f"long.{load}.json"))
    best[load] = d["options"][d["fewest"]]
alone = best["concurrency=1"]["ttft_s"]["p50"]
# lengths are up to a fifth from 128,000: half of them are not below 0.9 of it, say
for load, o in best.items():
    assert o["ttft_s"]["p50"] > 0.9 * alone, (load, o["ttft_s"], alone)
    assert o["tokens_per_s"] < 1.15 * 50 / alone, (load, o["tokens_per_s"], alone)
END
exit $fail
