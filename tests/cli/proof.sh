#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once     cost: 13
# Every plan twice: tests/check/plan_check.py, which shares no code with fusesim, confirms the plans of all shipped workloads, each on
# one of two GPUs in turn (the other ones with SEED=21), from the definitions: which operators, in which order, bytes, L2, memory, sums,
# times. Beside the optimum, one other strategy is drawn for each workload, and one of several options. Plans that were changed in one
# place must be refused.
set -u
export PYTHONDONTWRITEBYTECODE=1
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "no python3: plans are not checked a second time"; exit 77; }
RANDOM=${SEED:-20}
export LC_ALL=C
strategies=(eager unfused greedy inductor pattern maximal xla)
options=("--l2 cold" "--l2 warm" "--objective memory" "--objective bytes" "--numerics strict" "--recompute off" "--launch graph" "--launch eager")
hws=(a100-sxm4-40gb rtx-4090)

list() # what to plan and check, a line of JSON for each
{
    for hw in "${hws[@]}"; do
        "$FUSESIM" hw show "$hw" --json "$hw.json" >/dev/null || exit 1
    done
    local turn=${SEED:-20}
    for path in $(cd "$SOURCE_DIR/workloads" && find . -name '*.yaml' | sort); do
        for hw in "${hws[turn++ % 2]}"; do
            strategy=${strategies[RANDOM % ${#strategies[@]}]} option=${options[RANDOM % ${#options[@]}]}
            call="$SOURCE_DIR/workloads/${path#./} --hw $hw"
            case $path in # deep ones: one plan for each GPU, by a short search
            */llm/* | */stacks/* | */models/* | */bert_12*) echo "$call $option --search-steps 2000" ;;
            */broadcast_512.yaml | */moe_nvfp4.yaml) printf '%s\n' "$call $option --search-steps 20000" "$call --strategy $strategy --search-steps 20000" ;; # 512 ways of a step; 96 blocks of scales
            *) printf '%s\n' "$call $option" "$call --strategy $strategy" ;;
            esac
        done
    done
}

list >calls
"$python" "$SOURCE_DIR/tests/check/plan_check.py" --run "$FUSESIM" calls || exit 1
"$python" "$SOURCE_DIR/tests/check/plan_spoil.py" "$FUSESIM" rtx-4090.json
