#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Changes one operator of C at a time, and asks whether a test notices. bench/mutate.py says how; --help shows it.
set -eu
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1
exec "${PYTHON:-python3}" bench/mutate.py "$@"
