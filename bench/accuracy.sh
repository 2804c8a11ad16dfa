#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How far predictions are off public measurements: writes reports/accuracy.md and the charts in reports/accuracy/, in seconds, the same bytes for the same inputs.
#   bench/accuracy.sh [DATA]                      DATA: ../shared/data beside the repository; has measured/*.csv and workloads/
#   bench/accuracy.sh --cross-validate[=PART] [DATA]   before that, fits each GPU's scalars anew, 5-fold, and keeps the errors on rows not fitted in
#                                                 reports/accuracy/cross_validated.csv. Takes minutes a GPU; PART[,PART]: only those whose FILE/GPU/GROUP holds one
#   bench/accuracy.sh --fits=DIR [DATA]           before that, keeps what calibrations found that wrote --json DIR/NAME.json
#   bench/accuracy.sh --rate [DATA]               before that, measures rows predicted a second (bench/validate.sh), kept in reports/accuracy/rate.txt
# What stands in reports/accuracy_notes.md is written by hand and put in. OUT=DIR writes there instead of reports/. Exits 77 where there are no data.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
cross=- rate= fits=
while :; do
    case ${1-} in
    --cross-validate) cross= ;;
    --cross-validate=*) cross=${1#*=} ;;
    --fits=*) fits=${1#*=} ;;
    --rate) rate=1 ;;
    -*) sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done
data=${1:-$here/../shared/data}
[ -d "$data/measured" ] || { echo "no measurements: no folder $data/measured"; exit 77; }
FUSESIM=${FUSESIM:-$here/build/release/fusesim}
[ -x "$FUSESIM" ] || { echo "no program at $FUSESIM: call ./run once" >&2; exit 70; }
export FUSESIM LC_ALL=C
out=${OUT:-$here/reports}
mkdir -p "$out/accuracy"
[ -z "$rate" ] || { FUSESIM=$FUSESIM "$here/bench/validate.sh" "$data/measured/neusight.csv" "$data/measured/aiconfigurator_gemm.csv" "$data/measured/aiconfigurator_attention.csv" | sed 's/ *$//' >"$out/accuracy/rate.txt"; }
exec "${PYTHON:-python3}" "$here/bench/accuracy.py" "$here" "$data" "$out" "$cross" "$fits"
