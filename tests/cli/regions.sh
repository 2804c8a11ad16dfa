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

# What options make of the workload, and what it calls of libraries, is in the plans: kernels and times are those of `plan`.
same() { # SYMBOL RANGE BREAKS options...: at least BREAKS breaks
    local symbol=$1 range=$2 breaks=$3
    shift 3
    "$FUSESIM" regions "$@" --over "$symbol=$range" --json found.json >/dev/null || complain "regions $*: exit status $?"
    FUSESIM=$FUSESIM "$PYTHON" - "$symbol" "$breaks" "$@" <<'END' || complain "regions $*: not those of plan"
import json, os, subprocess, sys
found, (symbol, breaks), options = json.load(open("found.json")), sys.argv[1:3], sys.argv[3:]
assert len(found["breaks"]) >= int(breaks), found["breaks"]
def planned(value):
    out = subprocess.run([os.environ["FUSESIM"], "plan", *options, "--set", f"{symbol}={value}", "--json", "-"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)["plans"][0]
for region in found["regions"]:
    kernels = planned(region["first"])["plan"]["kernels"]
    assert not region["proven"] or [k["operators"] for k in kernels] == found["plans"][region["plan"]]["groups"], (region, found["plans"])
for at in found["breaks"]:
    for side, own in ("before", 0), ("after", 1):
        best = next(s["time_s"] for s in planned(at[side])["strategies"] if s["name"] == "optimal")
        assert at[side + "_s"][own] <= best, (at, side, best) # less: a plan of another value, where the search was ended
END
}
same M 64:1024:64 1 seeds/fused_mlp --hw a100-sxm4-40gb --train
same B 1:4096 0 seeds/bias_relu --hw a100-sxm4-80gb --train
same M 64:128:64 0 seeds/fused_mlp --hw a100-sxm4-40gb --autocast bf16
same M 2:300 0 ops/matmul_w8 --hw t4
same B 1:256:51 1 llm/dense_decode --hw h100-sxm5-80gb --launch graph

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
