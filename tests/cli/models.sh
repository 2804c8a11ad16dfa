#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What users do with models: --dim.
# depends: memory cost: 2
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C COLUMNS=80
unset FUSESIM_HWMODELS

complain() {
    echo "FAILED: $1" >&2
    [ ! -s err ] || head -n 12 err | cut -c 1-300 >&2
    echo "$1" >>failures
}
# fusesim STATUS ARGUMENT...: out and err are what it prints.
fusesim() {
    local want=$1 status
    shift
    timeout 60 "$FUSESIM" "$@" </dev/null >out 2>err
    status=$?
    [ $status = "$want" ] || complain "exit status $status, wanted $want: $*"
}
has() { grep -Eq -- "$2" "$1" || complain "no '$2' in $1"; }
rm -f failures

# --dim and --set mean the same, and the last one counts.
fusesim 0 mlp --hw t4 --set M=64 --quiet
mv out set
fusesim 0 mlp --hw t4 --dim M=64 --quiet
cmp -s out set || complain '--dim M=64 is not --set M=64'
fusesim 0 mlp --hw t4 --set M=32 --dim M=64 --quiet
cmp -s out set || complain '--dim M=64 does not replace --set M=32'
fusesim 2 mlp --hw t4 --dim M
has err "--dim 'M': wanted NAME=VALUE"
fusesim 0 workloads mlp --dim M=64
has out 'M=64'

[ ! -s failures ]
