#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How long sweeps take, on two threads: seconds that pass, and seconds of CPU of both, the least of several runs each.
# Usage: bench/sweep.sh [RUNS]. FUSESIM: the program of a release build. BATCHES and ROWS: the largest B of bert_layer (100) and M of mlp (10000).
set -eu
cd "$(dirname "$0")/.."
: "${FUSESIM:=$PWD/build/release/fusesim}"
runs=${1:-3} batches=${BATCHES:-100} rows=${ROWS:-10000}
gpus=a100-sxm4-40gb,h100-sxm5-80gb,l4,v100-sxm2-32gb,rtx-3090,a10
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

measure() { # NAME POINTS, then the sweep
    local name=$1 points=$2 wall=999999 cpu=999999 times
    shift 2
    for ((i = 0; i < runs; i++)); do
        times=$({ TIMEFORMAT='%R %U %S'; time "$FUSESIM" sweep "$@" --jobs 2 -o "$folder/out.csv" >/dev/null; } 2>&1)
        wall=$(awk -v x="${times%% *}" -v y="$wall" 'BEGIN { print x < y ? x : y }')
        cpu=$(awk -v all="$times" -v y="$cpu" 'BEGIN { split(all, t, " "); x = t[2] + t[3]; print x < y ? x : y }')
    done
    [ "$(wc -l <"$folder/out.csv")" = $((points + 1)) ] || { echo "$name: not $points points" >&2; exit 1; }
    awk -v n="$name" -v p="$points" -v w="$wall" -v c="$cpu" \
        'BEGIN { printf "%-28s %6d points  %6.2f s  CPU %6.2f s, %.2f ms a point\n", n, p, w, c, 1000 * c / p }'
}

measure 'bert_layer, B, 6 GPUs' $((6 * batches)) workloads/bert_layer.yaml --hw $gpus --over B=1:"$batches"
measure 'mlp, M' "$rows" workloads/mlp.yaml --hw a100-sxm4-40gb --over M=1:"$rows"
