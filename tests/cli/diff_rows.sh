#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: memory
# cost: 2
# diff of sweeps and validations: rows by their keys, exact where predicted; of measured ones only what is beyond scatter is a difference. What is lost fails a gate.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${PYTHON:=python3}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1: $(head -n 5 err)"; fail=1; }

# gate STATUS TEXT ARGUMENT...
gate() {
    local status=$1 text=$2
    shift 2
    "$FUSESIM" diff "$@" >out 2>err
    local found=$?
    [ $found = "$status" ] && grep -q -- "$text" out err || complain "diff $*: status $found, wanted $status and '$text'"
}

# Sweeps: exact.
"$FUSESIM" sweep mlp --hw l4,t4 --over M=64:512:x2 --json base.json --quiet >out 2>err && "$FUSESIM" sweep mlp --hw l4,t4 --over M=64:256:x2 --hw-set dram_bandwidth=0.9x --json slow.json --quiet >out 2>err &&
    "$FUSESIM" sweep mlp --hw l4,t4 --over M=64:512:x2 --hw-set dram_bandwidth=0.9x --json all.json --quiet >out 2>err && "$FUSESIM" sweep mlp --hw t4 --over M=64:512:x2 --over launch=graph --json other.json --quiet >out 2>err || complain 'sweeps'
gate 0 '^sweep, 8 rows: 8 same; together' base.json base.json --gate time=0% --gate bytes=0% --gate total=0%
gate 1 '^gate t4:time=5% fails: 1 row of the first file has no time in the second$' base.json slow.json --gate t4:time=5%
gate 1 '^  M=512 on t4 .* lost ' base.json slow.json --gate time=5% --json sweeps.json
gate 0 '^sweep, 8 rows: 6 faster, 2 new; together' slow.json base.json --gate time=0% --gate total=0%
gate 1 '^gate l4:time=1% fails: [0-9.]* % at M=[0-9]* on l4, of 4 rows, wanted at most 1 %$' base.json all.json --gate l4:time=1% --gate time=99%
gate 65 'no row is in both files' base.json other.json
"$PYTHON" - <<'END' || complain 'sums of sweeps'
import json
from fractions import Fraction
d = json.load(open("sweeps.json"))
old, new = ({f"M={p['at']['M']} on {p['hardware']}": round(Fraction(p["time_s"]) * 10**15) for p in json.load(open(f))["points"]} for f in ("base.json", "slow.json"))
both = set(old) & set(new)
assert len(both) == 6 == d["compared"] and d["before_fs"] == sum(old[k] for k in both) and d["after_fs"] == sum(new[k] for k in both)
for r in d["rows"]:
    assert (r["before"]["time_fs"] if r["before"] else None) == old.get(r["key"]) and (r["after"]["time_fs"] if r["after"] else None) == new.get(r["key"])
    assert r["verdict"] == ("lost" if r["key"] not in new else "slower") and (r["growth"] is None) == (r["key"] not in new)
END

# What ran on a device: made of one real report, with other measured times.
cat >small.yaml <<'END'
name: small
tensors: {x: {shape: [64, 256], dtype: f32}, b: {shape: [256], dtype: f32}}
operators:
  - {op: add, in: [x, b], out: s}
  - {op: relu, in: s, out: y}
outputs: [y]
END
"$FUSESIM" validate small.yaml --device cpu --hw host --strategies eager,optimal --no-measure --json ran.json --quiet >out 2>err || complain 'validate'
"$PYTHON" - <<'END'
import copy, json
ran = json.load(open("ran.json"))
def write(name, factor, noise, **more):
    d = copy.deepcopy(ran)
    w = d["workloads"][0]
    w["chosen"], w["noise"] = "optimal", noise
    w.update(more)
    for p in w["plans"]:
        s = 1e-3 * factor
        p["measured"] = {"samples": 9, "median_s": s, "low_s": s * (1 - noise), "high_s": s * (1 + noise), "least_s": s * (1 - noise)}
    json.dump(d, open(name + ".json", "w"))
    return d
write("t0", 1, 0.01)
write("t2", 1.02, 0.01)      # within the scatter
write("t4", 1.04, 0.01)      # beyond
write("t20", 1.20, 0.25)     # much, but so is the scatter
write("fast", 0.8, 0.01)
d = write("gone", 1, 0.01)
d["workloads"][0]["plans"][-1].update(measured=None, failed="no kernel")
json.dump(d, open("gone.json", "w"))
END
gate 0 '^trials, 2 rows: 2 same; chosen plans 1 ms -> 1.02 ms, +2.0%' t0.json t2.json --gate time=3%
gate 75 '^gate time=1% fails: no verdict: 2.0% more, which may be scatter; wanted at most 1.0%' t0.json t2.json --gate time=1%
gate 1 '^gate time=3% fails: 4 % at small: optimal, of 1 row, wanted at most 3 %' t0.json t4.json --gate time=3%
gate 0 '^gate time=5% holds' t0.json t4.json --gate time=5% --gate small:total=5%
gate 75 'no verdict: 20.0% more' t0.json t20.json --gate time=3%
gate 1 'no verdict: 20.0% more' t0.json t20.json --gate time=3% --gate error=0%
gate 0 '^trials, 2 rows: 2 faster; ' t0.json fast.json --gate time=0% --gate total=0%
gate 1 '^gate time=50% fails: 1 row of the first file has no time in the second$' t0.json gone.json --gate time=50% --junit gone.xml --markdown gone.md
gate 1 '^gate total=900% fails: nothing was compared$' gone.json t0.json --gate total=900%
gate 0 '^trials, 2 rows: 1 new, 1 same' gone.json t0.json
grep -q '<skipped message="no kernel"/>' gone.xml && grep -q 'tests="2" failures="1" errors="0" skipped="1"' gone.xml && grep -q '^| small: optimal | 1 ms | - | - | lost | .* | no kernel |$' gone.md || complain 'JUnit, Markdown'
"$FUSESIM" diff t0.json t4.json --quiet >out && grep -Eqx 'trials, 2 rows: 2 slower; chosen plans 1 ms -> 1.04 ms, [+]4.0%; mean error [0-9.]*% -> [0-9.]*%' out || complain 'one line'

# Predictions of measured rows.
printf 'id,hw,workload,strategy,launch,time_s\none,t4,mlp,eager,stream,2e-3\ntwo,t4,mlp,inductor,stream,1.9e-3\n' >rows.csv
"$FUSESIM" validate --measurements rows.csv --json acc.json --quiet >out 2>err && "$FUSESIM" validate --measurements rows.csv --hw t4 --hw-set dram_bandwidth=0.5x --json worse.json --quiet >out 2>err || complain 'validate --measurements'
gate 1 '^accuracy, 2 rows: 2 slower; together .*; mean error [0-9.]*% -> [0-9.]*%$' acc.json worse.json --gate error=1%
gate 0 'holds: -' worse.json acc.json --gate error=0%

gate 65 "'base.json' is a result of another kind: sweep; this is trials" base.json t0.json
gate 2 "has no row of 't5'; did you mean 't4'" base.json slow.json --gate t5:time=3%
gate 2 "unknown metric 'kernels'" base.json slow.json --gate kernels=3%
"$PYTHON" -c '
import json
d = json.load(open("t0.json"))
d["workloads"][0]["plans"][0]["measured"]["median_s"] = "fast"
json.dump(d, open("bad.json", "w"), indent=1)'
gate 65 "^bad.json:[0-9]*:[0-9]*: error: 'median_s' is 'fast'; wanted a number" t0.json bad.json
exit $fail
