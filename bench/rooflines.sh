#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/rooflines.sh [--fit[=FILE,...]] [DATA]: what the model adds over a roofline, on the calls of serving stacks and collectives: errors of the data sheet's roofline, of the best fit of it with three
# numbers a GPU and kind (a start, a share of the rate, a share of the bandwidth), of fusesim, and of fusesim on rows that its numbers were not fitted to (fusesim validate --refit). Prints
# reports/rooflines.md. --fit: prints nothing, but puts numbers into src/vendor/serving_fit.def and src/cost/collective.def that the fit to all rows made better, and the widths of intervals of rows
# not fitted into hwmodels/; FILE: only of files that are read with it (gemm_f8, moe); build again afterwards. DATA: ../shared/data. Ten minutes of processor time; needs python3, NLopt and a release build.
set -eu
. "$(dirname "$0")/program.sh"
fit=
case ${1-} in --fit*) fit=$1 && shift ;; esac
python3 "$top/bench/rooflines.py" "$program" "${1:-$top/../shared/data}" $fit
