# SPDX-License-Identifier: Apache-2.0
# What the tests of options share.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset COLUMNS NO_COLOR FUSESIM_HWMODELS
toy=$SOURCE_DIR/tests/hw/toy.yaml
chain=$SOURCE_DIR/workloads/seeds/chain4.yaml
mlp=$SOURCE_DIR/workloads/mlp.yaml

complain() {
    echo "FAILED: $1" >&2
    [ ! -s err ] || head -n 12 err >&2
    echo "$1" >>failures
}

# ok ARGUMENT...: runs, says something on stdout and nothing on stderr.
ok() {
    "$FUSESIM" "$@" </dev/null >out 2>err || complain "exit status $?: $*"
    [ -s out ] || complain "nothing on stdout: $*"
    [ ! -s err ] || complain "something on stderr: $*"
}

# has PATTERN: the last output.
has() { grep -Eq -- "$1" out || complain "no '$1' in the output"; }
hasnt() { ! grep -Eq -- "$1" out || complain "'$1' in the output"; }

# field EXPRESSION: of the JSON in out, as Python sees it: d is the document, p its first plan where it has plans.
field() { "$python" -c "import json; d = json.load(open('out')); p = d['plans'][0] if 'plans' in d else d; print($1)"; }

# is EXPRESSION VALUE
is() {
    local value
    value=$(field "$1")
    [ "$value" = "$2" ] || complain "$1 is '$value', wanted '$2'"
}

# one_line PATTERN ARGUMENT...: --quiet, which says one line.
one_line() {
    ok "${@:2}" --quiet
    [ "$(wc -l <out)" = 1 ] || complain "--quiet prints $(wc -l <out) lines: ${*:2}"
    has "$1"
}
