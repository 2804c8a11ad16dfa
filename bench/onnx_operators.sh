#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/onnx_operators.sh: writes reports/onnx_operators.md, which of ONNX's operator tests are imported, by operator, and why the others are not; and
# tests/unit/onnx_imported.txt, the models that tests/unit/onnx_corpus_test.c wants imported. Needs the package libonnx-testdata and a build of ./test.
set -eu
cd "$(dirname "$(readlink -f -- "$0")")/.."
test=build/dev/tests/onnx_corpus_test
cmake --build build/dev --target onnx_corpus_test >build/onnx_operators.log 2>&1 || { tail -n 20 build/onnx_operators.log >&2; exit 1; }
"$test" --report >build/onnx_operators.md 2>/dev/null
"$test" --list >build/onnx_imported.txt 2>/dev/null
mv build/onnx_operators.md reports/onnx_operators.md
mv build/onnx_imported.txt tests/unit/onnx_imported.txt
sed -n 's/^Of /of /p' reports/onnx_operators.md
