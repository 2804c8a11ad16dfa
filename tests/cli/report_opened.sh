#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pages of --report in headless Chromium: nothing in the console, and sorting, filtering, zooming and opening work. ./test does not install the browser: where it is not
# there, the test is skipped.
# depends: once cost: 1
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
"${PYTHON:-python3}" -c "import sys; sys.path.insert(0, '$SOURCE_DIR/tests/check'); import browser; sys.exit(browser.program() is None)" || { echo 'needs chromium (apt-get install chromium)'; exit 77; }
"$FUSESIM" bert_12_layers --hw a100-sxm4-40gb --report layers.html --json layers.json >out 2>err || { cat err; exit 1; }
"$FUSESIM" "$SOURCE_DIR/tests/check/hostile.yaml" --hw a100-sxm4-40gb --report hostile.html >out 2>err || { cat err; exit 1; }
"$FUSESIM" models/bert_large --hw a100-sxm4-40gb --strategy unfused --report large.html >out 2>err || { cat err; exit 1; }
timeout 300 "${PYTHON:-python3}" "$SOURCE_DIR/tests/check/report_opened.py" .
