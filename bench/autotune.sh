#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/autotune.sh [FILE.md]: the predicted optimum beside what torch.compile reaches with max-autotune (kernelbench_v0_autotune.csv), and why that is faster where it is; writes
# reports/autotune.md. DATA: ../shared/data beside the repository; MATCH: only rows whose id holds it. Minutes; needs python3 and a release build. Exits 77 where there are no data.
set -eu
. "$(dirname "$0")/program.sh"
out=${1:-$top/reports/autotune.md}
data=${DATA:-$top/../shared/data}
[ -f "$data/measured/kernelbench_v0_autotune.csv" ] || { echo "no $data/measured/kernelbench_v0_autotune.csv"; exit 77; }
FUSESIM=$program DATA=$data MATCH=${MATCH:-} PYTHONDONTWRITEBYTECODE=1 python3 "$top/bench/autotune.py" >"$out.new"
mv "$out.new" "$out"
echo "wrote $out"
