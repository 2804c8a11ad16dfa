#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/inject.sh [--every N] [--command NAME] [--kind KIND,...] [--more]: fails every call that can fail (memory, files, threads, programs, libraries), each in a run of its own, of
# every command, and says after which the program broke its word: it crashed, it wrote half a file, or it gave another answer with status 0. Of calls that are many, each N-th.
# An hour for all; needs python3 and a C compiler.
set -eu
. "$(dirname "$0")/program.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -fno-builtin -shared -fPIC -o "$work/inject.so" "$top/tests/inject/inject.c" -ldl
python3 "$top/bench/inject.py" "$program" "$work/inject.so" "$top" "$@"
