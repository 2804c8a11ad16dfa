#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/onnx_operators.sh: writes reports/onnx_operators.md, which of ONNX's operator tests are imported, by operator, and why the others are not; and
# tests/unit/onnx_imported.txt, the models that tests/unit/onnx_corpus_test.c wants imported. REPORT and LIST: other files for them. TEST: a built onnx_corpus_test.
# Needs the package libonnx-testdata and a build of ./test.
set -eu
cd "$(dirname "$(readlink -f -- "$0")")/.."
report=${REPORT:-reports/onnx_operators.md} list=${LIST:-tests/unit/onnx_imported.txt}
if [ -z "${TEST:-}" ]; then
    TEST=build/dev/tests/onnx_corpus_test
    cmake --build build/dev --target onnx_corpus_test >build/onnx_operators.log 2>&1 || { tail -n 20 build/onnx_operators.log >&2; exit 1; }
fi
"$TEST" --report >"$report.new" 2>/dev/null
"$TEST" --list >"$list.new" 2>/dev/null
mv "$report.new" "$report"
mv "$list.new" "$list"
sed -n 's/^Of /of /p' "$report"
