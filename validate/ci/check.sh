#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What CI asks of a machine with a GPU (or of its CPU): build, calibrate, validate with gates, plan, and compare with the last good run. The workflow of GitHub and the job of GitLab
# beside this file call it; any other CI can.
#
#   check.sh --device cuda|cpu --hw NAME [-o DIR] (--base DIR | --first-run) [--workload NAME]... [--validate-gate GATE]... [--diff-gate GATE]... [--measured-gate GATE]... [--budget SECONDS]
#
# Into DIR (ci-out): steps.tsv (name, exit status, seconds, verdict), summary.md (also added to $GITHUB_STEP_SUMMARY), junit/*.xml, hardware.yaml, trials.json, rows.csv, plans/*.json,
# diff/*, logs/*. Where all is well, DIR/good is what the next run takes as --base. $FUSESIM: the program; without, it is built. $FUSESIM_CI_ANNOTATE=github: annotations.
#
# It fails closed: a step that fails, is not reached, writes no report, or skips a check is no pass. Without a last good run only --first-run passes. Exit status: 0 all steps passed;
# 1 some did not; 2 usage.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(dirname "$(dirname "$here")")
device='' hw='' out=ci-out base='' first=0 budget=60
workloads=() validate_gates=() diff_gates=() measured_gates=()

usage() {
    [ $# = 0 ] || echo "check.sh: $1" >&2
    sed -n '6p' "${BASH_SOURCE[0]}" | cut -c 5- >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --first-run) first=1; shift; continue ;;
    --device | --hw | -o | --base | --workload | --validate-gate | --diff-gate | --measured-gate | --budget) [ $# -ge 2 ] || usage "$1 wants a value" ;;
    *) usage "unknown argument '$1'" ;;
    esac
    [ -n "$2" ] || usage "$1 is empty"
    case $1 in
    --device) device=$2 ;; --hw) hw=$2 ;; -o) out=$2 ;; --base) base=$2 ;; --budget) budget=$2 ;;
    --workload) workloads+=("$2") ;; --validate-gate) validate_gates+=("$2") ;; --diff-gate) diff_gates+=("$2") ;; --measured-gate) measured_gates+=("$2") ;;
    esac
    shift 2
done
case $device in cuda | cpu) ;; *) usage '--device is cuda or cpu' ;; esac
[ -n "$hw" ] || usage '--hw: the hardware file that plans are made for'
[ $first = 1 ] || [ -n "$base" ] || usage '--base DIR, or --first-run where there is no good run yet'
[ ${#workloads[@]} -gt 0 ] || workloads=(mlp bert_layer seeds/softmax_primitive seeds/layer_norm)
[ ${#validate_gates[@]} -gt 0 ] || validate_gates=(mape=25% regret=5%)
[ ${#diff_gates[@]} -gt 0 ] || diff_gates=(time=3% bytes=1% memory=1%)
[ ${#measured_gates[@]} -gt 0 ] || measured_gates=(time=10%)

annotate=()
[ -z "${FUSESIM_CI_ANNOTATE:-}" ] || annotate=(--annotate "$FUSESIM_CI_ANNOTATE")
# as_options OPTION VALUE...: in $options.
as_options() { local name=$1 value; shift; options=(); for value; do options+=("$name" "$value"); done; }
xml() { local text=${1//&/"&amp;"}; text=${text//</"&lt;"}; text=${text//>/"&gt;"}; printf '%s' "${text//\"/"&quot;"}"; }
slug() { printf '%s' "${1//[^A-Za-z0-9.-]/_}"; }

case $(realpath -m -- "${base:-/}")/ in "$(realpath -m -- "$out")"/*) usage "--base '$base' lies in '$out', which is emptied" ;; esac
[ ! -e "$out" ] || [ -e "$out/steps.tsv" ] || usage "'$out' exists and is no result of this script"
rm -rf "$out"
mkdir -p "$out"/junit "$out"/plans "$out"/diff "$out"/logs || exit 1
: >"$out/steps.tsv"
expected=() ended=0 any_failed=0
declare -A verdict_of=()

# note NAME STATUS SECONDS VERDICT
note() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$out/steps.tsv"; printf '%-40s %s\n' "$1" "$4"; }

# Is a JUnit file whole, with a case, and without one that failed or was skipped?
junit_good() { # FILE
    [ -s "$1" ] && tail -n 1 "$1" | grep -q '</testsuites>' && grep -q '<testsuite ' "$1" &&
        ! grep '<testsuite ' "$1" | grep -qv ' tests="[1-9][0-9]*" failures="0" errors="0" skipped="0"'
}

# step NAME FILES -- COMMAND...: passes where the command ends with 0 and wrote the files (separated by spaces) whole. What it says goes to a log and to stderr.
step() {
    local name=$1 files=$2 from=$SECONDS status=0 verdict=passed file log
    log=$out/logs/$(slug "$name").txt
    shift 3
    "$@" >"$log" 2>"$log.err" </dev/null || status=$?
    cat "$log.err" >&2
    if [ $status != 0 ]; then
        verdict="failed: exit status $status"
        [ $status != 75 ] || verdict="failed: no verdict, the measurements scatter too much"
    else
        for file in $files; do
            case $file in
            *.xml) junit_good "$file" || verdict="failed: ${file##*/} lacks, or has a check that failed or was skipped" ;;
            *) [ -s "$file" ] || verdict="failed: it wrote no ${file##*/}" ;;
            esac
        done
    fi
    note "$name" $status $((SECONDS - from)) "$verdict"
    [ "$verdict" = passed ]
}

build() {
    cmake -S "$tree" -B "$tree/build/release" -DCMAKE_BUILD_TYPE=Release -DFUSESIM_TESTS=OFF && cmake --build "$tree/build/release" -j "$(nproc)" --target fusesim
}

# compare NAME OLD NEW STEM GATE...: two results, those of the last good run and of this one.
compare() {
    local name=$1 old=$2 new=$3 stem=$4
    shift 4
    if [ ! -s "$old" ]; then
        note "compare $name" - 0 "failed: the last good run has none"
        return
    fi
    as_options --gate "$@"
    step "compare $name" "$out/diff/$stem.json $out/junit/diff-$stem.xml" -- "$fusesim" diff "$old" "$new" "${options[@]}" "${annotate[@]}" \
        --json "$out/diff/$stem.json" --markdown "$out/diff/$stem.md" --junit "$out/junit/diff-$stem.xml"
}

# What was found of each step, in verdict_of; of one that has several lines the first, and in any_failed whether another than that is no pass.
read_steps() {
    local name status seconds said
    verdict_of=() any_failed=0
    while IFS=$'\t' read -r name status seconds said; do
        [ -n "${verdict_of[$name]+there}" ] || verdict_of[$name]=$said
        [ "$said" = passed ] || any_failed=1
    done <"$out/steps.tsv"
}

# Did each step that is expected pass?
all_passed() {
    local name
    [ ${#expected[@]} -gt 0 ] && [ $any_failed = 0 ] || return 1
    for name in "${expected[@]}"; do
        [ "${verdict_of[$name]-}" = passed ] || return 1
    done
}

summary() {
    local name status seconds said
    printf '## fusesim on %s: %s\n\n| step | verdict | seconds |\n| :-- | :-- | --: |\n' "$hw" "$1"
    while IFS=$'\t' read -r name status seconds said; do
        [ "$said" = passed ] && printf '| %s | passed | %s |\n' "$name" "$seconds" || printf '| **%s** | **%s** | %s |\n' "$name" "$said" "$seconds"
    done <"$out/steps.tsv"
    for name in "${expected[@]}"; do
        [ -n "${verdict_of[$name]+there}" ] || printf '| **%s** | **not reached** | |\n' "$name"
    done
    for name in "$out"/validate.md "$out"/diff/*.md; do
        [ ! -s "$name" ] || { echo; cat "$name"; }
    done
}

steps_junit() {
    local name failures=0 cases=''
    for name in "${expected[@]}"; do
        if [ "${verdict_of[$name]-}" = passed ]; then
            cases+="    <testcase classname=\"fusesim.ci\" name=\"$(xml "$name")\" time=\"0\"/>"$'\n'
        else
            failures=$((failures + 1))
            cases+="    <testcase classname=\"fusesim.ci\" name=\"$(xml "$name")\" time=\"0\"><failure type=\"step\" message=\"$(xml "${verdict_of[$name]:-not reached}")\"/></testcase>"$'\n'
        fi
    done
    printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite name="fusesim.ci" tests="%s" failures="%s" errors="0" skipped="0" time="0">\n%s  </testsuite>\n</testsuites>\n' \
        ${#expected[@]} $failures "$cases"
}

# However the script ends, there is a summary, and only a run whose steps all passed ends with 0 and leaves a base for the next.
finish() {
    local word=failed
    [ $ended = 1 ] || printf 'end\t-\t0\tfailed: the script was ended early\n' >>"$out/steps.tsv"
    read_steps
    all_passed && word=passed
    rm -rf "$out/good"
    if [ $word = passed ]; then
        mkdir -p "$out/good" && cp -r "$out/plans" "$out/trials.json" "$out/hardware.yaml" "$out/good" || word=failed
    fi
    steps_junit >"$out/junit/steps.xml"
    summary "$word" >"$out/summary.md"
    [ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
    echo "$word: $out/summary.md"
    trap - EXIT
    [ $word = passed ] && exit 0
    exit 1
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

expected=(build calibrate validate)
[ $first = 1 ] || expected+=('compare measurements')
for workload in "${workloads[@]}"; do
    expected+=("plan $workload")
    [ $first = 1 ] || expected+=("compare $workload")
done

if [ -n "${FUSESIM:-}" ]; then
    fusesim=$FUSESIM
    step build '' -- "$fusesim" --version
else
    fusesim=$tree/build/release/fusesim
    step build "$fusesim" -- build
fi || exit
as_options --gate "${validate_gates[@]}"
on=("$hw")
step calibrate "$out/hardware.yaml $out/probes.json" -- "$fusesim" calibrate --device "$device" --hw "$hw" -o "$out/hardware.yaml" --json "$out/probes.json" "${annotate[@]}" && on=("$out/hardware.yaml")
step validate "$out/trials.json $out/rows.csv $out/junit/validate.xml" -- "$fusesim" validate "${workloads[@]}" --device "$device" --hw "${on[0]}" --budget "$budget" "${options[@]}" \
    "${annotate[@]}" --json "$out/trials.json" --measured "$out/rows.csv" --markdown "$out/validate.md" --junit "$out/junit/validate.xml" &&
    { [ $first = 1 ] || compare measurements "$base/trials.json" "$out/trials.json" measurements "${measured_gates[@]}"; }
for workload in "${workloads[@]}"; do
    file=$(slug "$workload")
    step "plan $workload" "$out/plans/$file.json" -- "$fusesim" plan "$workload" --hw "$hw" --json "$out/plans/$file.json" "${annotate[@]}" || continue
    [ $first = 1 ] || compare "$workload" "$base/plans/$file.json" "$out/plans/$file.json" "$file" "${diff_gates[@]}"
done
ended=1
