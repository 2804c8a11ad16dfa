#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/validate.sh [FILE.csv...]: rows of measurements files predicted a second on one core, a line a file: rows, seconds of processor time, rows/s. Reading the files and the workloads
# is not counted; graphs, partitions and prices are. The best of $RUNS runs (3). Default: the single operators of ../shared/data/measured, where that is. Workloads are looked
# for in $WORKLOADS (../shared/data/workloads). Needs a release build.
set -eu
. "$(dirname "$0")/program.sh"
data=$top/../shared/data
[ $# -gt 0 ] || set -- "$data"/measured/{neusight,aiconfigurator_gemm,aiconfigurator_attention}.csv
for file; do
    for ((run = 0; run < ${RUNS:-3}; run++)); do
        "$program" validate --measurements "$file" --workload-root "${WORKLOADS:-$data/workloads}" --jobs 1 --verbose 2>&1 >/dev/null
    done | awk -v name="$(basename "$file" .csv)" '
        $2 == "rows" && $3 == "predicted" { if (!best || $5 < best) { best = $5; rows = $1; rate = $10 } }
        END { if (!rows) { print "no rows of " name > "/dev/stderr"; exit 1 } printf "%-28s %8d %10s s %10d rows/s\n", name, rows, best, rate }'
done
