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

# shortest ARGUMENT...: milliseconds of the clock and of the processors, the least of each
shortest() {
    local i TIMEFORMAT='%3R %3U %3S'
    for ((i = 0; i < runs; i++)); do
        { time "$program" "$workload" --hw "$hw" "$@" >/dev/null 2>"$folder/err" || { cat "$folder/err" >&3; exit 70; }; } 2>&1
    done 3>&2 | awk '{ cpu = $2 + $3; if (NR == 1 || $1 < wall) wall = $1; if (NR == 1 || cpu < least) least = cpu } END { print 1000 * wall, 1000 * least }'
}

read -r wall cpu < <(shortest)
printf '%s on %s: the report alone takes %s ms, %s ms of processors; the least of %d runs\n\n' "$workload" "$hw" "$wall" "$cpu" "$runs"
printf '| output | adds ms | processor ms | bytes |\n|---|--:|--:|--:|\n'
for output in json:json markdown:md trace:json dot:dot junit:xml report:html chart-data:csv chart:svg chart:png chart:pdf; do
    option=${output%:*} file=$folder/out.${output#*:}
    read -r with processors < <(shortest "--$option" "$file")
    printf '| --%s .%s | %d | %d | %d |\n' "$option" "${output#*:}" $((with - wall)) $((processors - cpu)) "$(wc -c <"$file")"
done
