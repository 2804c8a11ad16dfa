#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/training.sh [FILE.md [WORKLOAD...]]: plans a step of training of every shipped workload that has gradients, and of the graphs of ../shared/data/workloads/training.jsonl where that is,
# and writes the report, reports/training.md. HW: the GPUs (a100-sxm4-80gb,h100-sxm5-80gb). ROWS: a file that keeps what was planned; what it has is not planned
# again. With names of workloads only these are planned. EVERY: every n-th of the graphs (4). What the report says in prose is checked: a sentence that no longer holds ends the script with the figure. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
out=${1:-$top/reports/training.md}
[ $# -eq 0 ] || shift
FUSESIM=$program TOP=$top PYTHONDONTWRITEBYTECODE=1 python3 "$top/bench/training.py" "${HW:-a100-sxm4-80gb,h100-sxm5-80gb}" "${ROWS:-}" "${EVERY:-4}" "$@" >"$out.new"
mv "$out.new" "$out"
echo "wrote $out"
