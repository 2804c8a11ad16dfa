#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/fuzz.sh [NAME=SECONDS ...]: runs fuzz targets (tests/fuzz) one after the other from a build with the preset `fuzz` (clang, libFuzzer, address and undefined-behaviour sanitizers), each from the
# repository's corpus, with its dictionary, and prints how many inputs it ran. What each finds that reaches new code stays in build/fuzzing/corpus/NAME, and an input that breaks a target in
# build/fuzzing/NAME-*; ends with 1 where there is one. build/fuzzing/runs.tsv counts the inputs of all calls. Default: each target for 60 seconds.
set -u
cd "$(dirname "$0")/.."
at=build/fuzzing
mkdir -p "$at"
[ $# -gt 0 ] || set -- $(ls tests/fuzz/*.c | xargs -n 1 basename | sed 's/\.c$/=60/')
fail=0
for one in "$@"; do
    name=${one%=*} seconds=${one#*=}
    mkdir -p "$at/corpus/$name"
    seeds=("$at/corpus/$name")
    [ ! -d "tests/fuzz/corpus/$name" ] || seeds+=("tests/fuzz/corpus/$name")
    case $name in workload | hardware) seeds+=(tests/cases) ;; esac
    dictionary=()
    [ ! -f "tests/fuzz/dictionary/$name.dict" ] || dictionary=("-dict=tests/fuzz/dictionary/$name.dict")
    length=4096
    case $name in unit) length=64 ;; expr) length=256 ;; graph) length=64 ;; options | csv | model) length=1024 ;; esac
    build/fuzz/tests/fuzz_"$name" -max_total_time="$seconds" -max_len=$length -timeout=120 -rss_limit_mb=3000 -print_final_stats=1 -artifact_prefix="$at/$name-" "${dictionary[@]}" "${seeds[@]}" \
        >"$at/$name.log" 2>&1 || { fail=1; echo "$name: $(grep -E 'ERROR|runtime error|SUMMARY|ABORT|Test unit written' "$at/$name.log" | head -n 3)"; }
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$at/$name.log")
    rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$at/$name.log")
    printf '%s\t%s\t%s\n' "$name" "${runs:-0}" "$seconds" >>"$at/runs.tsv"
    echo "$name: ${runs:-0} inputs, ${rate:-0} a second"
done
awk -F '\t' '{ runs[$1] += $2; all += $2 } END { for (name in runs) printf "| %s | %d |\n", name, runs[name] | "sort"; close("sort"); print "| all | " all " |" }' "$at/runs.tsv"
exit $fail
