#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/determinism.sh [--builds NAME,...]: are the answers the same, to the byte of --json, whoever compiled the program and whatever is around it? 20 workloads on 3 GPUs, each with a limit of steps and none of
# time: gcc and clang, -O0, -O2 and -O3 (built in build/determinism, which takes most of an hour; NAME is as in gcc-O3), a stack of 512 KiB and of 512 MiB, addresses that change at each start and that don't, 1, 2 and 8
# threads (also of several GPUs at once and of a sweep), one CPU, memory that is not zero, another locale. Prints a table and each answer that differs; ends with 1 where one does. The first build is what the others are compared with.
# FUSESIM is one program in place of the builds; WORKLOADS and GPUS are shorter lists.
set -u
cd "$(dirname "$0")/.."
top=$PWD work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
builds=gcc-O2,gcc-O0,gcc-O3,clang-O0,clang-O2,clang-O3
[ "${1-}" != --builds ] || builds=$2
read -ra gpus <<<"${GPUS:-a100-sxm4-40gb t4 mi300x}"
workloads=(mlp bert_layer gpt2_layer llama_block resnet50_block golden/gemm_gelu golden/norm_quantise golden/softmax_rows golden/two_readers_costly liger/cross_entropy liger/geglu liger/group_norm liger/rms_norm
    liger/swiglu seeds/attention_standard seeds/conv_bn_relu seeds/normalize_by_total seeds/tanh_axpb seeds/two_consumers_costly ops/matmul_w4)
[ -z "${WORKLOADS:-}" ] || read -ra workloads <<<"$WORKLOADS"
export LC_ALL=C FUSESIM_CACHE= FUSESIM_HWMODELS=$top/hwmodels

# built NAME: the program of that build, in `program`.
built() {
    local compiler=${1%-*} level=${1##*-} folder=$top/build/determinism/$1
    program=$folder/fusesim
    [ -z "${FUSESIM:-}" ] || { program=$FUSESIM; return; }
    { CC=$compiler cmake -S "$top" -B "$folder" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=-$level -DNDEBUG" -DFUSESIM_TESTS=OFF && cmake --build "$folder" -j "${JOBS:-2}" --target fusesim; } >"$work/log" 2>&1 ||
        { tail -n 5 "$work/log"; echo "$1 can't be built"; return 1; }
}

# answers FOLDER COMMAND...: the JSON of all workloads on all GPUs, made by COMMAND followed by the arguments.
answers() {
    local folder=$1 w g
    shift
    mkdir -p "$folder"
    for w in "${workloads[@]}"; do
        for g in "${gpus[@]}"; do
            "$@" "$w" --hw "$g" --search-steps 200000 --json - >"$folder/${w//\//_}.$g.json" 2>"$folder/err" || { echo "$w on $g: exit $?: $(head -n 1 "$folder/err")"; fail=1; }
        done
    done
    rm -f "$folder/err"
}

# row WHAT COMMAND...: compared with the first.
row() {
    local what=$1 differ=0 f
    shift
    rm -rf "$work/now"
    answers "$work/now" "$@"
    [ -d "$work/first" ] || cp -r "$work/now" "$work/first"
    for f in "$work/first"/*; do
        cmp -s "$f" "$work/now/${f##*/}" && continue
        differ=$((differ + 1))
        [ $differ -gt 3 ] || diff "$f" "$work/now/${f##*/}" | head -n 4 | cut -c 1-300 | sed "s/^/    ${f##*/}: /" >&2
    done
    [ $differ = 0 ] || fail=1
    printf '| %s | %d | %d |\n' "$what" "$(ls "$work/now" | wc -l)" $differ
}

fail=0 first=
cd "$work"
printf '| what | answers | other than the first |\n|---|--:|--:|\n'
[ -z "${FUSESIM:-}" ] || builds=program
for build in ${builds//,/ }; do
    built "$build" || { fail=1; continue; }
    row "$build" "$program"
    [ -n "$first" ] || first=$program
done
program=$first
row 'stack of 512 KiB' bash -c 'ulimit -s 512; exec "$@"' - "$program"
row 'stack of 512 MiB' bash -c 'ulimit -Ss 524288 2>/dev/null || ulimit -s unlimited; exec "$@"' - "$program"
row 'addresses that stay' setarch -R "$program"
row 'addresses that change' "$program"
for jobs in 1 2 8; do
    row "$jobs threads" bash -c 'exec "$@" --jobs '$jobs - "$program"
    for w in "${workloads[@]:0:6}"; do # GPUs and points of a sweep are what threads share
        "$program" "$w" --hw "$(IFS=,; echo "${gpus[*]}")" --search-steps 200000 --jobs $jobs --json "$work/all.json" >"$work/all.txt" 2>&1 || { cat "$work/all.txt"; fail=1; }
        cat "$work/all.json" "$work/all.txt"
    done >"$work/jobs$jobs"
    "$program" sweep mlp --hw t4,mi300x --over M=16:1024:x2 --search-steps 200000 --jobs $jobs --json - >>"$work/jobs$jobs" || fail=1
    cmp "$work/jobs1" "$work/jobs$jobs" || fail=1
done
row 'one CPU' taskset -c 0 "$program"
row 'memory that is not zero' env MALLOC_PERTURB_=165 "$program"
locale=$(locale -a 2>/dev/null | grep -Ei -m 1 '^(de|fr|es|it|nl)_')
[ -z "$locale" ] || row "locale $locale" env LC_ALL="$locale" "$program"
exit $fail
