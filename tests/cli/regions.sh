#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 1
# regions: the values at which the best plan changes are those at which `plan` finds another one; errors name what is wrong.
set -u
toy=$SOURCE_DIR/tests/hw/toy.yaml
complain() { echo "FAILED: $*" >&2; echo x >>failures; }

# A column's exponentials are computed again for each element of a matrix while that is cheap, and stored once N is large.
cat >column.yaml <<'END'
symbols: {M: 4096, N: 64, dtype: f32}
tensors: {a: {shape: [M, 1], dtype: dtype}, x: {shape: [M, N], dtype: dtype}}
operators:
  - {op: exp, in: a, out: e1}
  - {op: exp, in: e1, out: e2}
  - {op: exp, in: e2, out: e3}
  - {op: exp, in: e3, out: e4}
  - {op: add, in: [x, e4], out: y}
outputs: [y]
END
"$FUSESIM" regions column.yaml --hw a100-sxm4-40gb --over N=1:20000 --json found.json >text || complain "exit status $?"
grep -q 'the best plan along N' text && grep -q '^plan 2: ' text || complain "the text says $(cat text)"
FUSESIM=$FUSESIM "$PYTHON" - <<'END' || complain 'the regions are not those of plan'
import json, os, subprocess
found = json.load(open("found.json"))
regions, plans = found["regions"], found["plans"]
assert len(regions) >= 2 and regions[0]["first"] == 1 and regions[-1]["last"] == 20000 and not found["truncated"]
for one, two, at in zip(regions, regions[1:], found["breaks"]):
    assert one["last"] + 1 == two["first"] and one["plan"] != two["plan"], (one, two)
    assert at["before"] == one["last"] and at["after"] == two["first"] and at["confirmed"], at
    assert at["before_s"][0] <= at["before_s"][1] and at["after_s"][1] <= at["after_s"][0], at
for region in regions:
    for value in region["first"], region["last"]:
        out = subprocess.run([os.environ["FUSESIM"], "column.yaml", "--hw", "a100-sxm4-40gb", "--set", f"N={value}", "--json", "-"],
                             stdout=subprocess.PIPE, check=True).stdout
        kernels = json.loads(out)["plans"][0]["plan"]["kernels"]
        assert len(kernels) == len(plans[region["plan"]]["groups"]), (value, len(kernels))
END

# What is asked for is said once the command line, or the workload, shows that it can't be.
expect() { # status, text, arguments
    local status=$1 text=$2 got
    shift 2
    "$FUSESIM" regions "$@" >out 2>err <column.yaml
    got=$?
    [ $got = "$status" ] || complain "regions $*: exit status $got"
    grep -q -- "$text" err || complain "regions $*: says $(cat err)"
    [ ! -s out ] || complain "regions $*: prints $(cat out)"
}
expect 2 'regions wants --over' column.yaml --hw "$toy"
expect 2 "has no symbol 'NN'; did you mean 'N'" column.yaml --hw "$toy" --over NN=1:8
expect 2 "has no symbol 'dtype'" column.yaml --hw "$toy" --over dtype=1:8
for range in N N= N=1 N=:4 N=4:1 N=0:4 N=1:4:0 N=1:4:1:1 N=1:x N=1.5:4 =1:4 N=1:99999999999999999999; do
    expect 2 'wanted NAME=FIRST:LAST' column.yaml --hw "$toy" --over "$range"
done
expect 2 'wanted a file, not stdin' - --hw "$toy" --over N=1:8
expect 66 'no-such' no-such.yaml --hw "$toy" --over N=1:8
"$FUSESIM" plan column.yaml --hw "$toy" --over N=1:8 >/dev/null 2>err
[ $? = 2 ] && grep -q "means nothing to 'plan'" err || complain "plan --over: says $(cat err)"

[ ! -e failures ] || { echo "$(wc -l <failures) failures" >&2; exit 1; }
