#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What each output of a plan adds: bench/outputs.sh [WORKLOAD [HW [RUNS]]]; bert_12_layers, a100-sxm4-40gb and 7 where not said. The least of so many runs, in milliseconds of the clock and of the
# processors (gnuplot with them), beside the run that only prints the report; and the size of the file.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")/.." && pwd)
program=${FUSESIM:-$here/build/release/fusesim}
workload=${1:-bert_12_layers} hw=${2:-a100-sxm4-40gb} runs=${3:-7}
[ -x "$program" ] || { echo "no program at $program: call ./run once"; exit 69; }
folder=$(mktemp -d) || exit 70
trap 'rm -rf "$folder"' EXIT

outputs=(json:json markdown:md trace:json dot:dot junit:xml report:html chart-data:csv chart:svg chart:png chart:pdf)

# timed ARGUMENT...: milliseconds of the clock and of the processors of one run
timed() {
    local TIMEFORMAT='%3R %3U %3S'
    { time "$program" "$workload" --hw "$hw" "$@" >/dev/null 2>"$folder/err" || { cat "$folder/err" >&3; exit 70; }; } 3>&2 2>&1
}

# In turn, so that what else this machine does disturbs all alike.
for ((i = 0; i < runs; i++)); do
    echo "none $(timed)" || exit 70
    for output in "${outputs[@]}"; do
        echo "$output $(timed "--${output%:*}" "$folder/${output%:*}.${output#*:}")" || exit 70
    done
done | awk '{ wall = 1000 * $2; cpu = 1000 * ($3 + $4); if (!($1 in w) || wall < w[$1]) w[$1] = wall; if (!($1 in c) || cpu < c[$1]) c[$1] = cpu }
    END { for (o in w) print o, w[o], c[o] }' >"$folder/least" || exit 70
least() { awk -v o="$1" '$1 == o { print $2, $3 }' "$folder/least"; }

read -r wall cpu < <(least none)
printf '%s on %s: the report alone takes %s ms, %s ms of processors; the least of %d runs\n\n' "$workload" "$hw" "$wall" "$cpu" "$runs"
printf '| output | adds ms | processor ms | bytes |\n|---|--:|--:|--:|\n'
for output in "${outputs[@]}"; do
    read -r with processors < <(least "$output")
    printf '| --%s .%s | %d | %d | %d |\n' "${output%:*}" "${output#*:}" $((with - wall)) $((processors - cpu)) "$(wc -c <"$folder/${output%:*}.${output#*:}")"
done
