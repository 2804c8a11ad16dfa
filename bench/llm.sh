#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/llm.sh [FILE.md]: what fusion brings in a layer of language models as they are served (workloads/llm), beside what PyTorch, torch.compile and a serving stack
# launch, and writes the report, reports/llm.md. HW: the GPUs (h100-sxm5-80gb,b200). MODELS, STEPS, WEIGHTS: some of those in bench/llm.py. Minutes; needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
out=${1:-$top/reports/llm.md}
FUSESIM=$program TOP=$top PYTHONDONTWRITEBYTECODE=1 python3 "$top/bench/llm.py" "${HW:-h100-sxm5-80gb,b200}" "${MODELS:-}" "${STEPS:-}" "${WEIGHTS:-}" >"$out.new"
mv "$out.new" "$out"
echo "wrote $out"
