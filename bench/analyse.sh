#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/analyse.sh [clang|gcc|cppcheck] [FILE ...]: what a static analyser says of src and validate (default: all three, all files), one file after the other, on stdout, and
# what it took on stderr. gcc: -fanalyzer with -O1; clang: --analyze; cppcheck: warning, portability and performance. A file that takes longer than LIMIT seconds (default 120) is left out and named. What is
# said twice (of a header) is printed once. docs/ROBUSTNESS.md judges each report. An hour and more for all.
set -u
cd "$(dirname "$0")/.."
tools='clang gcc cppcheck'
case ${1-} in clang | gcc | cppcheck) tools=$1; shift ;; esac
files=("$@")
[ $# -gt 0 ] || mapfile -t files < <(find src validate -name '*.c' | sort)
flags=(-std=c11 -D_GNU_SOURCE '-DFSIM_LIBZIP="libzip.so"' '-DFUSESIM_VERSION="0"' '-DFUSESIM_TREE="."' -Iinclude -Isrc -I.)
read -ra packages < <(pkg-config --cflags yaml-0.1 libcjson libzip 2>/dev/null || true)

# analyse TOOL FILE
analyse() {
    case $1 in
    clang) clang --analyze --analyzer-output text "${flags[@]}" "${packages[@]}" "$2" -o /dev/null ;;
    gcc) gcc -O1 -fanalyzer -fanalyzer-verbosity=0 -fdiagnostics-color=never "${flags[@]}" "${packages[@]}" -c "$2" -o /dev/null ;;
    cppcheck) cppcheck -q --std=c11 --enable=warning,portability,performance --inline-suppr -D_GNU_SOURCE -Iinclude -Isrc -I. "$2" ;;
    esac
}
export -f analyse
for tool in $tools; do
    command -v "$tool" >/dev/null || { echo "no $tool" >&2; continue; }
    SECONDS=0
    for file in "${files[@]}"; do
        said=$( (ulimit -t "${LIMIT:-120}"; analyse "$tool" "$file") 2>&1)
        [ $? -lt 128 ] || said="$file: left out: it takes too long"
        grep -E ': (warning|error|portability|performance)|left out' <<<"$said" | sed "s/^/$tool: /"
    done | sort -u
    echo "$tool: ${#files[@]} files, $SECONDS s" >&2
done
