#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/registers.sh [OPTION...]: validate --registers of every shipped workload: plans for an A100, an H100 and a B200, each compiled for that GPU; the summary alone, or what the options
# ask for. Needs NVRTC, no GPU; exits 77 where there is none. Minutes where nothing is cached.
#   FOLDERS   other folders of workloads, or files
#   HW        other GPUs that the plans are for
#   SCALE     lengths are divided by up to so much (--scale-shapes); a workload that has no meaning so by half of it, and so on. One summary for each such number
#   FULL=1    the kernels too, those of another class than predicted or that spill
# Every kernel of every strategy, of many graphs, for three architectures:
#   FOLDERS=~/graphs HW=a100-sxm4-40gb SCALE=16 bench/registers.sh --arch 80,90,100 --strategies eager,unfused,inductor,pattern,greedy,maximal,optimal --gate spills=0
set -eu
. "$(dirname "$0")/program.sh"
mapfile -t all < <(workloads ${FOLDERS:-"$top/workloads"})
status=0 scale=${SCALE:-1}
while [ ${#all[@]} -gt 0 ]; do
    now=() later=() by=()
    if [ "$scale" -gt 1 ]; then
        by=(--scale-shapes "$scale")
        for workload in "${all[@]}"; do
            if "$program" "$workload" --hw t4 --strategy unfused --search-steps 30000 "${by[@]}" >/dev/null 2>&1; then now+=("$workload"); else later+=("$workload"); fi
        done
        echo "lengths divided by up to $scale: ${#now[@]} workloads"
    else
        now=("${all[@]}")
    fi
    if [ ${#now[@]} -gt 0 ]; then
        "$program" validate "${now[@]}" --hw "${HW:-a100-sxm4-40gb,h100-sxm5-80gb,b200}" "${by[@]}" --registers "$@" | if [ -n "${FULL-}" ]; then cat; else sed -n '/^[0-9]* kernels/,$p'; fi
        one=${PIPESTATUS[0]}
        [ "$one" = 0 ] || status=$one
    fi
    all=("${later[@]}")
    scale=$((scale / 2))
done
exit "$status"
