#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/compile.sh: measures how long NVRTC compiles generated kernels for and fits the constants of src/plan/compile_cost.c, which --compile-cost estimates with.
# Needs libnvrtc (FUSESIM_NVRTC_LIB names one elsewhere), no GPU; exits 69 where there is none. A few minutes.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -I "$top/src" "$top/bench/compile.c" -o "$scratch/compile" -ldl -lm
"$scratch/compile"
