#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/startup.sh [PROGRAM [HW]]: what one call costs, from exec to exit: a workload of 10 operators and a chain of 1,000.
# Wall time is the median of RUNS calls (hyperfine where installed), memory the peak resident set of one.
set -eu
cd "$(dirname "$0")/.."
program=${1:-build/release/fusesim}
hw=${2:-a100-sxm4-40gb}
runs=${RUNS:-50}
[ -x "$program" ] || { echo "no program at $program: ./run --version builds it" >&2; exit 66; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# chain N: N elementwise operators one after the other, of kinds that do not simplify.
chain() {
    local kinds=(tanh relu sigmoid exp neg) in=x
    echo "name: chain_$1"
    echo "tensors: {x: {shape: [4096, 4096], dtype: f16, role: input}}"
    echo "operators:"
    for ((i = 1; i <= $1; i++)); do
        echo "  - {op: ${kinds[i % 5]}, in: $in, out: t$i}"
        in=t$i
    done
    echo "outputs: [$in]"
}

milliseconds() {
    if command -v hyperfine >/dev/null; then
        hyperfine -N --warmup 3 --runs "$runs" --export-csv "$scratch/csv" "$*" >/dev/null 2>&1
        awk -F, 'NR == 2 { printf "%.2f", 1000 * $(NF - 4) }' "$scratch/csv" # median: fifth from the end, after it user, system, min, max
    else
        local start end i
        for ((i = -3; i < runs; i++)); do
            start=${EPOCHREALTIME/[.,]/}
            "$@" >/dev/null
            end=${EPOCHREALTIME/[.,]/}
            [ $i -lt 0 ] || echo $((end - start))
        done | sort -n | awk '{ t[NR] = $1 } END { printf "%.2f", (t[int((NR + 1) / 2)] + t[int(NR / 2) + 1]) / 2000 }'
    fi
}

peak_mib() {
    if [ -x /usr/bin/time ]; then
        /usr/bin/time -f %M -o "$scratch/rss" "$@" >/dev/null
        awk '{ printf "%.1f", $1 / 1024 }' "$scratch/rss"
    elif command -v python3 >/dev/null; then
        python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print("%.1f" % (resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024), end="")' "$@"
    else
        printf unknown
    fi
}

printf '%-12s %10s %12s %10s\n' workload operators 'median ms' 'peak MiB'
for n in 10 1000; do
    chain $n >"$scratch/chain_$n.yaml"
    call=("$program" "$scratch/chain_$n.yaml" --hw "$hw")
    "${call[@]}" >/dev/null # an error shows here, once
    printf '%-12s %10s %12s %10s\n' "chain_$n" $n "$(milliseconds "${call[@]}")" "$(peak_mib "${call[@]}")"
done
