#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/jobs.sh [JOBS...]: what threads are worth (default: 1 2), a line for each kind of independent work and number of --jobs: seconds by the clock (median of $RUNS runs, 5),
# seconds of processor time, and how many times as fast as the first number it is. The runs take turns, so that what else the machine does falls on all of them; with as many
# idle processors as threads the last column means something. The answers are compared: every number of threads must give the same bytes. Needs a release build.
# GPUS: a list for --hw (four); WORKLOAD (bert_12_layers); ROWS: measurements (../shared/data/measured/neusight.csv, where that is), with workloads in $WORKLOADS.
set -eu
. "$(dirname "$0")/program.sh"
data=$top/../shared/data
rows=${ROWS:-$data/measured/neusight.csv}
[ $# -gt 0 ] || set -- 1 2
TIMEFORMAT='%R %U'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# compare NAME JOBS... -- ARGUMENT...
compare() {
    local name=$1 numbers=() n run first wall user base=0
    shift
    while [ "$1" != -- ]; do numbers+=("$1"); shift; done
    shift
    first=${numbers[0]}
    rm -f "$scratch"/time.*
    for ((run = 0; run < ${RUNS:-5}; run++)); do
        for n in "${numbers[@]}"; do
            { time "$program" "$@" --jobs "$n" >"$scratch/out.$n" 2>/dev/null; } 2>>"$scratch/time.$n"
            cmp -s "$scratch/out.$first" "$scratch/out.$n" || { echo "$name: --jobs $first and --jobs $n answer differently" >&2; exit 1; }
        done
    done
    for n in "${numbers[@]}"; do
        read -r wall user < <(sort -n "$scratch/time.$n" | awk '{ wall[NR] = $1; user += $2 } END { print wall[int((NR + 1) / 2)], user / NR }')
        [ "$n" != "$first" ] || base=$wall
        awk -v name="$name" -v jobs="$n" -v wall="$wall" -v user="$user" -v base="$base" \
            'BEGIN { printf "%-18s %4d %8.3f s %8.3f s %6.2f\n", name, jobs, wall, user, (wall > 0) ? base / wall : 1 }'
    done
}

printf '%-18s %4s %10s %10s %6s\n' what jobs wall user times
compare 'several GPUs' "$@" -- "${WORKLOAD:-bert_12_layers}" --hw "${GPUS:-h100-sxm5-80gb,a100-sxm4-80gb,l4,t4}"
[ ! -f "$rows" ] || compare 'rows of validate' "$@" -- validate --measurements "$rows" --workload-root "${WORKLOADS:-$data/workloads}"
