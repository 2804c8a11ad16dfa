#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A workload on standard input is a workload.
# depends: memory
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
toy=$SOURCE_DIR/tests/hw/toy.yaml
chain=$SOURCE_DIR/workloads/seeds/chain4.yaml
failures=0

complain() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# same ARGUMENT...: with the path where @ stands and with - there, stdout is the same.
same() {
    "$FUSESIM" "${@/@/$chain}" </dev/null >wanted || complain "with the path: $*"
    "$FUSESIM" "${@/@/-}" <"$chain" >out || complain "from standard input: $*"
    cmp -s wanted out || complain "standard input gives something else: $*"
}
same @ --hw "$toy"
same plan @ --hw "$toy" --set M=512
same enumerate @ --hw "$toy"
same explain @ --hw "$toy" a m

# Through a pipe in small pieces, and without a newline at the end.
"$FUSESIM" "$chain" --hw "$toy" >wanted
while IFS= read -r line; do echo "$line"; sleep 0.01; done <"$chain" | "$FUSESIM" - --hw "$toy" >out
cmp -s wanted out || complain 'a slow pipe'
printf '%s' "$(cat "$chain")" | "$FUSESIM" - --hw "$toy" >out
cmp -s wanted out || complain 'no newline at the end'

# Errors name it.
sed 's/relu/rleu/' "$chain" | "$FUSESIM" - --hw "$toy" >out 2>err
[ $? = 65 ] || complain 'bad content: exit status'
[ ! -s out ] || complain 'bad content: something on stdout'
grep -Eq "^-:[0-9]+:[0-9]+: error: .*'rleu'; did you mean 'relu'" err || complain 'bad content: the message'
"$FUSESIM" - --hw "$toy" </dev/null >out 2>err
[ $? = 65 ] && grep -q empty err || complain 'nothing on standard input'
"$FUSESIM" - --hw "$toy" <&- >out 2>err
[ $? = 66 ] || complain 'standard input closed'

[ $failures = 0 ] || { echo "$failures failures" >&2; exit 1; }
