#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Golden cases: tests/cases.sh [CASE.yaml...], all of tests/cases without arguments.
#
# The first line of a case says how it is run, from the root of the sources:
#     # run: plan --hw tests/hw/toy.yaml
# The case's own path goes behind the command word (in front of the options when there is none), or where a word is @.
# The files beside it say what is compared: CASE.out stdout, CASE.json stdout with `--json -`, CASE.err stderr.
# The exit status must be 65 when CASE.err is the only one, else 0; a second line `# exit: N` says otherwise.
# FUSESIM_BLESS=1 rewrites the files instead (and makes .out or .err for a case that has none); read the diff before committing.
set -u
SOURCE_DIR=${SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
FUSESIM=${FUSESIM:-$SOURCE_DIR/build/dev/fusesim}
cd "$SOURCE_DIR" || exit 70
[ -x "$FUSESIM" ] || { echo "no program at $FUSESIM: build it, or set FUSESIM" >&2; exit 70; }
[ $# -gt 0 ] || set -- tests/cases/*.yaml
scratch=$(mktemp -d) || exit 70
trap 'rm -rf "$scratch"' EXIT
unset FUSESIM_HWMODELS
export NO_COLOR=1 LC_ALL=C COLUMNS=80

# What differs between runs or versions and is no result of the model.
stable() { sed -E 's/"(search_s|search_steps)":[[:space:]]*[0-9.eE+-]+/"\1": 0/g; s/"fusesim":[[:space:]]*"[^"]*"/"fusesim": ""/g'; }

# The command of the case, its path in place, as the array `command`.
read_command() {
    local line words word placed=
    IFS= read -r line <"$1"
    case $line in '# run: '*) ;; *) echo "$1: the first line must be '# run: ...'" >&2; return 1 ;; esac
    eval "words=(${line#'# run: '})"
    command=("$FUSESIM")
    for word in "${words[@]}"; do
        [ "$word" = @ ] && word=$1 placed=1
        command+=("$word")
    done
    [ "$placed" ] && return
    case ${words[0]-} in
    -* | '') command=("$FUSESIM" "$1" "${words[@]}") ;;
    *) command=("$FUSESIM" "${words[0]}" "$1" "${words[@]:1}") ;;
    esac
}

compare() { # wanted got
    if [ "${FUSESIM_BLESS:-}" = 1 ]; then
        cp "$2" "$1"
    else
        diff -u --label "$1" --label "$1 (now)" "$1" "$2"
    fi
}

run_case() {
    local case=$1 base=${1%.yaml} want=0 status failed=0 command
    read_command "$case" || return 1
    [ -e "$base.out" ] || [ -e "$base.json" ] || want=65
    case $(sed -n 2p "$case") in '# exit: '*) want=$(sed -n '2s/# exit: //p' "$case") ;; esac

    "${command[@]}" </dev/null >"$scratch/out.raw" 2>"$scratch/err"
    status=$?
    stable <"$scratch/out.raw" >"$scratch/out"
    if ! [ -e "$base.out" ] && ! [ -e "$base.json" ] && ! [ -e "$base.err" ]; then
        [ "${FUSESIM_BLESS:-}" = 1 ] || { echo "$case: nothing to compare with; FUSESIM_BLESS=1 writes it" >&2; return 1; }
        if [ $status = 0 ]; then : >"$base.out"; want=0; else : >"$base.err"; fi
    fi
    if [ "$status" != "$want" ]; then
        echo "$case: exit status $status, wanted $want: ${command[*]}"
        cat "$scratch/err"
        failed=1
    fi
    ! [ -e "$base.out" ] || compare "$base.out" "$scratch/out" || failed=1
    ! [ -e "$base.err" ] || compare "$base.err" "$scratch/err" || failed=1
    if [ -e "$base.json" ]; then
        "${command[@]}" --json - </dev/null 2>"$scratch/err" | stable >"$scratch/json"
        compare "$base.json" "$scratch/json" || { cat "$scratch/err"; failed=1; }
    fi
    return $failed
}

failures=0
for case in "$@"; do
    case $case in /*) ;; tests/*) ;; *) case=tests/cases/${case##*/} ;; esac
    run_case "$case" || failures=$((failures + 1))
done
[ $failures = 0 ] || { echo "$failures of $# cases failed; FUSESIM_BLESS=1 tests/cases.sh rewrites what they expect" >&2; exit 1; }
