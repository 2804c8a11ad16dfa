#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/systems.sh [FILE.md]: predictions of whole serving systems and trainings beside what was measured and beside a roofline of data sheets, as a report, reports/systems.md.
# ROWS: the measured systems (../shared/data/measured/systems_given.csv). Half a minute; needs python3.
set -eu
. "$(dirname "$0")/program.sh"
out=${1:-$top/reports/systems.md}
rows=${ROWS:-$top/../shared/data/measured/systems_given.csv}
[ -f "$rows" ] || { echo "no rows: $rows"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" validate --systems "$rows" --json "$work/systems.json" --markdown "$work/systems.md" >/dev/null
FUSESIM=$program python3 "$top/bench/systems.py" "$rows" "$work/systems.json" "$work/systems.md" >"$out.new"
mv "$out.new" "$out"
echo "wrote $out"
