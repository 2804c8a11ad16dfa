#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --jobs changes no byte of any output, whether the search proves its plan or its budget of steps ends it.
# depends: once cost: 4
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1"; fail=1; }

# same ARGUMENT...: stdout, JSON, Markdown, trace and graph.
same() {
    for jobs in 1 2; do
        "$FUSESIM" "$@" --jobs $jobs >out.$jobs 2>err.$jobs || complain "exit status $?: $* --jobs $jobs: $(cat err.$jobs)"
        "$FUSESIM" "$@" --jobs $jobs --json json.$jobs --markdown md.$jobs --trace trace.$jobs --dot dot.$jobs --report report.$jobs >/dev/null 2>&1 || complain "files: $* --jobs $jobs"
    done
    if grep -q '"stopped_by_clock":[[:space:]]*true' json.1 json.2 || grep -q 'stopped by the clock' out.1 out.2; then # the one thing that may differ
        echo "the clock stopped: $*"
        return
    fi
    for file in out err json md trace dot; do cmp -s $file.1 $file.2 || complain "$file differs: $*"; done
}

for workload in mlp seeds/two_consumers seeds/attn_out_residual_ln seeds/allreduce_overlap seeds/broadcast_recompute resnet50_block; do
    same $workload --hw a100-sxm4-40gb
    same $workload --hw t4 --search-steps 3000 --verbose
done
for workload in bert_layer gpt2_layer bert_12_layers; do
    same $workload --hw h100-sxm5-80gb --search-steps 3000
    grep -q '"proven":[[:space:]]*false' json.1 || echo "$workload was proven within 2000 steps"
done
same seeds/two_consumers --hw t4 --top 5 --objective memory
same seeds/attn_out_residual_ln --hw t4 --objective pareto --search-steps 30000
# Several GPUs, whose plans are made beside each other; more threads than GPUs; no option at all.
for jobs in 1 2 7 ''; do
    "$FUSESIM" bert_layer --hw t4,h100-sxm5-80gb,l4 --search-steps 30000 --gate speedup=1 --gate l4:kernels=1 ${jobs:+--jobs $jobs} --json json.$jobs --junit junit.$jobs \
        --markdown md.$jobs >out.$jobs 2>err.$jobs
    [ $? = 1 ] || complain "several GPUs, --jobs $jobs: $(cat err.$jobs)"
    for file in out err json junit md; do cmp -s $file.1 $file.$jobs || complain "several GPUs: $file differs with --jobs $jobs"; done
done
# Kernels, in files of their own.
for jobs in 1 2 7; do
    "$FUSESIM" codegen bert_layer --hw t4 --jobs $jobs --json code.json -o code >out.$jobs 2>&1 || complain "codegen --jobs $jobs: $(cat out.$jobs)"
    mv code code.$jobs
    diff -r code.1 code.$jobs >different || complain "codegen --jobs $jobs writes other files: $(head -n 5 different)"
    cmp -s out.1 out.$jobs || complain "codegen --jobs $jobs reports otherwise"
done
[ "$(ls code.1/k*.cu | wc -l)" -gt 3 ] || complain "codegen: $(ls code.1)"
for jobs in 1 2; do "$FUSESIM" enumerate seeds/two_consumers --hw t4 --jobs $jobs >partitions.$jobs || complain 'enumerate'; done
cmp -s partitions.1 partitions.2 || complain 'enumerate differs'
exit $fail
