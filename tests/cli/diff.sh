#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: memory
# cost: 2
# diff: on pairs of plans with one cause each and with several, what is said to be the cause is what was changed, and the parts add up to the whole, to
# the femtosecond. What is no plan is refused with its place.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${PYTHON:=python3}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1: $(head -n 5 err)"; fail=1; }
# plan NAME ARGUMENT...: the plan in NAME.json.
plan() { local name=$1; shift; "$FUSESIM" plan "$@" --quiet --json "$name.json" >out 2>err || complain "plan $name"; }

cat >apart.groups <<'END'
[["h", "g/cube", "g/part", "g/sum", "g/arg"], ["g/tanh", "g/one", "g/half", "g"], ["y"]]
END
cat >elsewhere.groups <<'END'
[["h", "g/cube", "g/part", "g/sum", "g/arg", "g/tanh"], ["g/one", "g/half", "g"], ["y"]]
END
sed 's/^outputs:.*/outputs: [z]/; /in: \[g, w2, b2\], out: y/a\  - {op: relu, in: y, out: z}' "$SOURCE_DIR/workloads/mlp.yaml" >longer.yaml
grep -q 'out: z' longer.yaml || complain 'the workload has no operator more'
cp "$SOURCE_DIR/workloads/mlp.yaml" mlp.yaml
plan base mlp.yaml --hw t4
plan gpu mlp.yaml --hw l4
plan key mlp.yaml --hw t4 --hw-set dram_bandwidth=0.9x
plan fitted mlp.yaml --hw t4 --hw-set launch_stream=2x --hw-set gemm_tensor_efficiency=0.9x
plan both_figures mlp.yaml --hw t4 --hw-set launch_stream=2x --hw-set dram_bandwidth=0.9x
plan size mlp.yaml --hw t4 --set M=2048
plan dtype mlp.yaml --hw t4 --set dtype=f32
plan launch mlp.yaml --hw t4 --launch graph
plan small mlp.yaml --hw t4 --set M=64 --set H=256
plan l2 mlp.yaml --hw t4 --set M=64 --set H=256 --l2 warm
plan eager mlp.yaml --hw t4 --strategy eager
plan eager_key mlp.yaml --hw t4 --strategy eager --hw-set dram_bandwidth=0.9x
plan apart mlp.yaml --hw t4 --plan apart.groups
plan elsewhere mlp.yaml --hw t4 --plan elsewhere.groups
plan longer longer.yaml --hw t4
plan both mlp.yaml --hw l4 --set M=2048
plan apart_key mlp.yaml --hw t4 --plan apart.groups --hw-set dram_bandwidth=0.9x
# A kernel that waited for memory computes longer: memory takes a smaller part of a longer time.
printf 'tensors: {x: {shape: [4096, 8192], dtype: bf16}}\noperators: [{op: relu, in: x, out: r}, {op: mul, in: [r, r], out: y}]\n' >plain.yaml
sed 's/relu/gelu/' plain.yaml >costly.yaml
plan plain plain.yaml --hw h100-sxm5-80gb
plan costly costly.yaml --hw h100-sxm5-80gb
for size in 4096 2048; do
    sed "s/M: 4096, //; s/\[M, H\]/[$size, H]/" mlp.yaml >fixed.yaml
    plan fixed$size fixed.yaml --hw t4
done
"$PYTHON" - <<'END' || complain 'the plans of another version'
import json
d = json.load(open("base.json"))
d["fusesim"] = "0.0.9"
k = d["plans"][0]["plan"]["kernels"][1]
k["time_s"] = 2 * k["time_s"]
json.dump(d, open("older.json", "w"))
d["fusesim"] = json.load(open("base.json"))["fusesim"]
json.dump(d, open("unknown.json", "w"))
END

export FUSESIM
"$PYTHON" - <<'END' || complain 'a cause or a sum is wrong'
import json, os, subprocess, sys
from fractions import Fraction
def diff(a, b, *more):
    r = subprocess.run([os.environ["FUSESIM"], "diff", a + ".json", b + ".json", "--json", "-", *more], capture_output=True, text=True)
    assert r.returncode == 0 and not r.stderr, (a, b, r)
    return json.loads(r.stdout)
def kernels(name):
    return json.load(open(name + ".json"))["plans"][0]["plan"]["kernels"]
def fs(k): return round(Fraction(k["time_s"]) * 10**15)
# Before, after, the inputs that changed, and the causes of parts whose time changed, with what happened to their kernels.
pairs = [
    ("base", "gpu", {"hardware"}, {("same", "hardware")}),
    ("base", "key", {"hardware"}, {("same", "hardware")}),
    ("base", "fitted", {"calibration"}, {("same", "calibration")}),
    ("base", "both_figures", {"hardware", "calibration"}, {("same", "hardware+calibration")}),
    ("base", "size", {"shapes"}, {("same", "shapes")}),
    ("fixed4096", "fixed2048", {"shapes"}, {("same", "shapes")}),
    ("base", "dtype", {"dtypes"}, {("same", "dtypes")}),
    ("base", "launch", {"launch"}, {("same", "launch")}),
    ("small", "l2", {"l2"}, {("same", "l2")}),
    ("base", "apart", {"strategy"}, {("split", "fusion")}),
    ("apart", "base", {"strategy"}, {("merged", "fusion")}),
    ("apart", "elsewhere", set(), {("moved", "fusion")}),
    ("base", "longer", {"workload"}, {("altered", "workload")}),
    ("base", "older", {"version"}, {("same", "version")}),
    ("older", "base", {"version"}, {("same", "version")}),
    ("base", "unknown", set(), {("same", "unrecorded")}),
    ("base", "both", {"hardware", "shapes"}, {("same", "hardware+shapes")}),
    ("gpu", "both", {"shapes"}, {("same", "shapes")}),
    ("base", "apart_key", {"hardware", "strategy"}, {("split", "fusion+hardware"), ("same", "hardware")}),
    ("base", "eager_key", {"hardware", "strategy"}, {("split", "fusion+hardware"), ("same", "hardware")}),
    ("apart", "apart_key", {"hardware"}, {("same", "hardware")}),
    ("plain", "costly", {"workload"}, {("altered", "workload")}),
    ("costly", "plain", {"workload"}, {("altered", "workload")}),
]
bad = 0
for a, b, inputs, causes in pairs:
    x = diff(a, b)["plans"][0]
    before, after = kernels(a), kernels(b)
    found = {i["cause"] for i in x["changed"]}
    parts = {(p["kind"], "+".join(p["causes"])) for p in x["parts"] if p["change_fs"]}
    if found != inputs or parts != causes:
        print(a, b, "changed:", found, "parts:", parts, "wanted:", inputs, causes)
        bad = 1
    # Each kernel is in one part, and everything adds up.
    for side, all in (("before", before), ("after", after)):
        assert sorted(k["id"] for p in x["parts"] for k in p[side]) == [k["id"] for k in all], (a, b)
        assert sum(map(fs, all)) == x["total"][side + "_fs"], (a, b)
        for p in x["parts"]:
            assert p[side + "_fs"] == sum(k["time_fs"] for k in p[side]) == sum(fs(all[k["id"] - 1]) for k in p[side])
            assert p[side + "_dram_bytes"] == sum(all[k["id"] - 1]["dram_read_bytes"] + all[k["id"] - 1]["dram_write_bytes"] for k in p[side])
    for key in ("before_fs", "after_fs", "change_fs", "before_dram_bytes", "after_dram_bytes"):
        assert x["total"][key] == sum(p[key] for p in x["parts"]) == sum(c[key] for c in x["causes"]), (a, b, key)
    assert x["total"]["change_fs"] == x["total"]["after_fs"] - x["total"]["before_fs"]
    assert min(p["unit_change_s"] * p["change_fs"] for p in x["parts"]) >= 0, (a, b, "a unit that changed the other way")
    sizes = [abs(p["change_fs"]) for p in x["parts"]]
    assert sizes == sorted(sizes, reverse=True)
    for c in x["causes"]:
        assert c["change_fs"] == sum(p["change_fs"] for p in x["parts"] if p["causes"] == c["causes"]) and (c["causes"] or c["change_fs"] == 0)
# Of the eager plan, the product that both plans launch in the same way did not change; the others are one kernel less.
x = diff("eager", "base")["plans"][0]
assert {(p["kind"], tuple(p["causes"])) for p in x["parts"]} == {("merged", ("fusion",)), ("same", ())}, x["parts"]
x = diff("base", "base")["plans"][0]
assert x["changed"] == [] and x["total"]["change_fs"] == 0 and [c["causes"] for c in x["causes"]] == [[]]
sys.exit(bad)
END

[ "$("$FUSESIM" diff base.json base.json --quiet)" = 'mlp on t4: 1.89 ms -> 1.89 ms, no change' ] || complain 'one line without a change'
"$FUSESIM" diff base.json apart_key.json >out 2>err || complain 'as text'
grep -q '^  hardware: dram_bandwidth: 236.4 GB/s -> 212.76 GB/s$' out && grep -q '^  kernels: 1 split$' out && grep -q 'mixed: fusion + hardware' out &&
    grep -q 'split: h + g -> h + g/cube + .* | g/tanh + ' out || { cat out; complain 'text'; }
COLUMNS=60 "$FUSESIM" diff base.json apart_key.json >narrow 2>err && [ "$(awk 'length > n { n = length } END { print n }' narrow)" -le 60 ] || complain 'wider than 60 columns'
"$FUSESIM" diff - base.json --quiet <eager.json >out 2>err && grep -q '^mlp on t4: .*, -[0-9.]*%: fusion -[0-9.]* us$' out || complain 'from stdin'

# Several GPUs: by name; what only one file has is said.
plan three mlp.yaml --hw t4,l4,l40s
plan two mlp.yaml --hw l4,t4 --set M=2048
"$FUSESIM" diff three.json two.json --json several.json >out 2>err || complain 'several GPUs'
grep -q '^mlp on t4: ' out && grep -q '^mlp on l4: ' out && grep -q '^Only three.json has a plan for l40s' out && grep -q '"only": \["l40s"\]' several.json || complain 'GPUs of one file'

# Gates: what grows more than the limit fails; what shrinks, or grows less, does not. A plan that the second file lacks is a failure, one that is new is not.
# gate STATUS TEXT ARGUMENT...
gate() {
    local status=$1 text=$2
    shift 2
    "$FUSESIM" diff "$@" >out 2>err
    [ $? = "$status" ] && grep -q -- "$text" out || complain "diff $*: wanted $status and '$text'"
}
gate 1 '^gate time=3% fails: 11.94 % against 1.89 ms, wanted at most 3 %$' base.json eager.json --gate time=3%
gate 0 '^gate time=12% holds' base.json eager.json --gate time=12%
gate 0 '^gate time=0% holds: -' eager.json base.json --gate time=0% --gate bytes=0% --gate memory=0% --gate kernels=0%
gate 1 '^gate bytes=25% fails: 25.8 % against 248 MiB' base.json eager.json --gate bytes=25% --gate time=50%
gate 1 '^gate kernels=40% fails: 50 % against 2 kernels' base.json eager.json --gate kernels=40%
gate 0 '^gate time=0% holds: 0 % against' base.json base.json --gate time=0% --gate t4:bytes=0%
gate 1 '^l40s: gate time=90% fails: only the first file has a plan for this GPU$' three.json two.json --gate time=90% --junit lost.xml --markdown lost.md --json lost.json
gate 0 '^Only two.json\|^Only three.json' two.json three.json --gate time=900%
"$PYTHON" - <<'END' || complain 'gates in JUnit, Markdown or JSON'
import json, xml.etree.ElementTree as xml
suite = xml.parse("lost.xml").getroot()[0]
cases = {(c.get("classname"), c.get("name")): c for c in suite}
assert int(suite.get("tests")) == len(suite) == len(cases) == 6 and int(suite.get("failures")) == 1 and int(suite.get("skipped")) == 1
assert cases["fusesim.gate", "l40s: time=90%"].find("failure") is not None and cases["fusesim.diff", "mlp/l40s"].find("skipped") is not None
assert cases["fusesim.gate", "t4: time=90%"].find("failure") is None
text = open("lost.md").read()
assert text.startswith("### mlp on t4: ") and "- l40s: gate `time=90%` **fails**: only the first" in text and text.count("| why | kernels | before |") == 2
gates = {g["hardware"]: g for g in json.load(open("lost.json"))["gates"]}
assert [g["passed"] for g in gates.values()] == [True, True, False] and gates["l40s"]["value"] is None and -1 < gates["t4"]["value"] < 0
END

# refuses STATUS TEXT ARGUMENT...
refuses() {
    local status=$1 text=$2
    shift 2
    "$FUSESIM" diff "$@" >out 2>err
    [ $? = "$status" ] && grep -q -- "$text" err && [ ! -s out ] || complain "diff $*: wanted $status and '$text'"
}
echo '{"schema": 2, "plans": [{"workload": {}}]}' >empty.json
echo '{"axis": []}' >other.json
sed 's/"schema":\t2/"schema":\t3/' base.json >newer.json
"$PYTHON" -c '
import json
d = json.load(open("base.json"))
d["plans"][0]["plan"]["kernels"][0]["time_s"] = -1
json.dump(d, open("negative.json", "w"), indent=1)
d["plans"][0]["plan"]["kernels"][0]["time_s"] = 1
d["plans"][0]["plan"]["kernels"][0]["operators"] = [["a"]]
json.dump(d, open("nested.json", "w"), indent=1)'
head -c 3000 base.json >cut.json
refuses 2 'diff wants two files that' base.json
refuses 2 "does not know what to do with 'gpu.json'" base.json key.json gpu.json
refuses 2 "can't both be standard input" - -
refuses 66 "cannot read result 'none.json'" base.json none.json
refuses 65 "^empty.json:1:[0-9]*: error: 'hardware' is missing here" base.json empty.json
refuses 65 '^other.json:1:1: error: diff compares what' other.json base.json
refuses 2 "unknown metric 'tim'; did you mean 'time'" base.json key.json --gate tim=3%
refuses 2 "'base.json' has no plan for 'l4'; did you mean 't4'" base.json key.json --gate l4:time=3%
refuses 2 'is a share above 1: write 3%' base.json key.json --gate time=3
refuses 65 'this file has schema 3' newer.json base.json
refuses 65 "^negative.json:[0-9]*:[0-9]*: error: 'time_s' is '-1'; wanted a number" base.json negative.json
refuses 65 "^nested.json:[0-9]*:[0-9]*: error: a list in 'operators'; wanted names" base.json nested.json
refuses 65 '^cut.json:[0-9]*:[0-9]*: error' base.json cut.json
plan others mlp.yaml --hw a100-sxm4-40gb,h100-sxm5-80gb
refuses 65 "no GPU is in both files: 'three.json' has plans for t4, l4, l40s, this one for" three.json others.json
exit $fail
