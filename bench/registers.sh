#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/registers.sh [OPTION...]: validate --registers of every shipped workload: plans for an A100, an H100 and a B200, each compiled for that GPU; the summary alone, or what the options
# ask for. Needs NVRTC, no GPU; exits 77 where there is none. Minutes where nothing is cached. FOLDERS: other folders of workloads.
set -eu
. "$(dirname "$0")/program.sh"
mapfile -t all < <(workloads ${FOLDERS:-"$top/workloads"})
"$program" validate "${all[@]}" --hw a100-sxm4-40gb,h100-sxm5-80gb,b200 --registers "$@" | sed -n '/^[0-9]* kernels/,$p'
exit "${PIPESTATUS[0]}"
