#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/planning.sh [RUNS]: how long planners' questions take, each a process of its own: seconds that pass, and seconds of CPU, the least of several runs (3).
# ONLY: the questions that have these words.
set -eu
. "$(dirname "$0")/program.sh"
runs=${1:-3}

measure() { # NAME, then the command
    local name=$1 wall=999999 cpu=999999 times
    case $name in *"${ONLY:-}"*) ;; *) return ;; esac
    shift
    for ((i = 0; i < runs; i++)); do
        times=$({ TIMEFORMAT='%R %U %S'; time "$program" capacity "$@" --quiet >/dev/null; } 2>&1)
        wall=$(awk -v x="${times%% *}" -v y="$wall" 'BEGIN { print x < y ? x : y }')
        cpu=$(awk -v all="$times" -v y="$cpu" 'BEGIN { split(all, t, " "); x = t[2] + t[3]; print x < y ? x : y }')
    done
    printf '%-44s %6.2f s  CPU %6.2f s\n' "$name" "$wall" "$cpu"
}

measure '70B chat on one kind of GPU' llama-3.1-70b --hw h100-sxm5-80gb --load input=2048,output=256,rate=20/s --goal ttft=2s --goal tpot=40ms
measure '70B chat on three kinds of GPUs' llama-3.1-70b --hw h100-sxm5-80gb,h200-sxm-141gb,l40s --load input=2048,output=256,rate=20/s --goal ttft=2s --goal tpot=40ms
measure 'a mixture of 256 experts on one kind' deepseek-v3 --hw h200-sxm-141gb --load input=1024,output=128,rate=4
measure 'training 7B on three systems' llama-2-7b --system dgx-h100,hgx-h200,dgx-a100 --train --tokens 2e12 --deadline 10d
measure 'training 405B on up to 16,384 GPUs' llama-3.1-405b --system dgx-h100 --train --tokens 1e13 --length 8192 --gpus 16384
