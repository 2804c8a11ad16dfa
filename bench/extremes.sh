#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/extremes.sh: inputs and surroundings at their extremes, each with a limit of LIMIT seconds (default 300): how the program ends, in what time of the processor and memory, and what
# it says first. SCALE divides the sizes of the large inputs (default 1; 100 for a look); ONLY is a regular expression
# of the rows to make (default: all). A row is bad where the program is ended by a signal or by the limit. tests/cli/trust.sh has those of the rows that cost nothing. Needs GNU time and a release build.
set -u
. "$(dirname "$0")/program.sh"
work=$(mktemp -d) rows=0 bad=0 writer= only=${ONLY:-} scale=${SCALE:-1} limit=${LIMIT:-300}
trap 'kill $writer 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
export LC_ALL=C FUSESIM_CACHE=
one='{name: one, tensors: {x: {shape: [1024, 1024], dtype: f16}}, operators: [{op: relu, in: x, out: y}], outputs: [y]}'

# row WHAT STATUSES COMMAND...: the program, which may end with any of the statuses.
row() {
    local what=$1 may=" $2 " status
    shift 2
    [[ $what =~ $only ]] || return
    rows=$((rows + 1))
    /usr/bin/time -o used -f '%U %S %M' timeout "$limit" "$@" >out 2>err </dev/null
    status=$?
    case $may in *" $status "*) ;; *) bad=$((bad + 1)); status="**$status**" ;; esac
    read -r seconds kib < <(tail -n 1 used | awk '{ print $1 + $2, $3 }')
    printf '| %s | %s | %.1f s | %d MB | %s |\n' "$what" "$status" "$seconds" $((kib / 1000)) "$(head -n 1 err | tr '|' '/' | cut -c 1-110)"
}

awk -v n=$((100000 / scale)) 'BEGIN { print "tensors: {x0: {shape: [1024, 1024], dtype: f16}}\noperators:"; for (i = 0; i < n; i++) printf "  - {op: relu, in: x%d, out: x%d}\n", i, i + 1 }' >operators.yaml
awk -v n=$((1000000 / scale)) 'BEGIN { print "tensors:"; for (i = 0; i < n; i++) printf "  t%d: {shape: [4], dtype: f32}\n", i; print "operators:\n  - {op: relu, in: t0, out: y}" }' >tensors.yaml
printf 'tensors: {x0: {shape: [64, 64], dtype: f16}}\noperators:\n  - repeat: 1000000\n    carry: {x: x0}\n    operators:\n      - {op: relu, in: x, out: y}\n    yield: {x: y}\n' >repeat.yaml
{
    echo 'id,hw,workload,set,strategy,l2,launch,time_s,source'
    yes 'a,t4,mlp,,eager,warm,graph,0.001,x' | head -n $((50000000 / scale))
} >rows.csv
mkfifo pipe.yaml
{ sleep 1; echo "$one"; } >pipe.yaml &
writer=$!
echo "$one" >one.yaml

echo '| what | exit | CPU | memory | first message |'
echo '|---|--:|--:|--:|---|'
row "$((100000 / scale)) operators" '0' "$program" operators.yaml --hw t4
row 'repeat: 1000000' '65' "$program" repeat.yaml --hw t4
row "$((1000000 / scale)) tensors" '0 65' "$program" tensors.yaml --hw t4
row "$(($(wc -c <rows.csv) / 1000000)) MB of CSV" '0 65 66' "$program" validate --measurements rows.csv
row 'a workload /dev/zero' '66' "$program" /dev/zero --hw t4
row 'hardware /dev/zero' '66' "$program" mlp --hw /dev/zero
row 'measurements /dev/zero' '66' "$program" validate --measurements /dev/zero
row 'a fifo with a workload, a second late' '0' "$program" pipe.yaml --hw t4
row 'standard output is closed' '70' bash -c 'exec "$0" one.yaml --hw t4 >&-' "$program"
row 'standard output is full' '70' bash -c 'exec "$0" one.yaml --hw t4 >/dev/full' "$program"
row 'a file is full' '70' bash -c 'trap "" XFSZ; ulimit -f 1; exec "$0" mlp --hw t4 --json o.json --markdown o.md' "$program"
row 'RLIMIT_AS of 512 MB' '0' bash -c 'ulimit -v 512000; exec "$0" mlp --hw t4' "$program"
row 'RLIMIT_AS of 512 MB, a long search' '0 70' bash -c 'ulimit -v 512000; exec "$0" stacks/gpt_j --hw t4' "$program"
row 'RLIMIT_AS of 64 MB, many operators' '0 70' bash -c 'ulimit -v 64000; exec "$0" operators.yaml --hw t4' "$program"
row 'three file descriptors: the loader ends it' '127' bash -c 'ulimit -n 3; exec "$0" one.yaml --hw t4' "$program"
row 'eight file descriptors' '0 66' bash -c 'ulimit -n 8; exec "$0" one.yaml --hw t4' "$program"
locale=$(locale -a 2>/dev/null | grep -Ei -m 1 '^(de|fr|es|it|nl)_.*utf-?8$')
if [ -z "$locale" ] && [[ 'locale de_DE.UTF-8' =~ $only ]] && mkdir locales && localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 2>log; then
    locale=de_DE.UTF-8
    export LOCPATH=$PWD/locales
fi
row "locale ${locale:-with decimal commas: none here}" '0' env LC_ALL="${locale:-C}" "$program" one.yaml --hw t4 --json comma.json
row 'no HOME, no TMPDIR, no environment at all' '0' env -i "$program" one.yaml --hw t4
row 'TMPDIR is not there' '69' env TMPDIR=/nowhere "$program" validate seeds/tanh_axpb --set M=64 --device cpu --no-measure
if "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -fno-builtin -shared -fPIC -o inject.so "$top/tests/inject/inject.c" -ldl 2>log; then
    row 'the clock jumps by a day' '0' env LD_PRELOAD="$work/inject.so" INJECT_KIND=clock INJECT_AT=20 "$program" one.yaml --hw t4
    row 'the clock jumps by a day, with a limit' '0' env LD_PRELOAD="$work/inject.so" INJECT_KIND=clock INJECT_AT=20 "$program" mlp --hw t4 --time-limit 60
fi
echo
echo "$bad of $rows rows ended as they must not (in bold)"
exit $((bad > 0))
