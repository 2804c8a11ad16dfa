#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# validate --registers: kernels of a few seeds compiled by NVRTC where there is one, and by the mock in its place: tables, files, gates, failures.
# depends: once cost: 6
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C FUSESIM_CACHE=$PWD/cache
unset COLUMNS NO_COLOR FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1"; fail=1; }
has() { grep -Eq -- "$2" "$1" || complain "no '$2' in $1: $(head -n 60 "$1")"; }
seeds=$SOURCE_DIR/workloads/seeds
# exits STATUS ARGUMENT...
exits() {
    local wanted=$1 status=0
    shift
    "$FUSESIM" validate "$@" >out 2>err || status=$?
    [ $status = "$wanted" ] || complain "exit status $status, wanted $wanted: $*: $(cat err)"
}

# The command line.
exits 2 --registers --hw t4
has err 'validate --registers wants a workload'
exits 2 "$seeds/chain4.yaml" --registers
has err 'wants a GPU'
exits 2 "$seeds/chain4.yaml" --registers --hw t4 --device cpu
has err 'two ways to validate'
exits 2 "$seeds/chain4.yaml" --registers --hw t4 --gate clas=90%
has err "unknown metric 'clas'; did you mean 'class'"
exits 2 "$seeds/chain4.yaml" --registers --hw t4 --gate pointwize:class=90%
has err "no template 'pointwize'; did you mean 'pointwise'"
exits 2 "$seeds/chain4.yaml" --registers --hw t4 --gate class
has err 'class wants a limit: class=90%'
exits 2 "$seeds/chain4.yaml" --registers --hw t4 --arch volta
has err "no architecture 'volta'"
exits 2 "$seeds/chain4.yaml" --registers --hw mi210
has err 'gfx90a is no architecture that NVRTC compiles for'
exits 66 "$seeds/chain5.yaml" --registers --hw t4

# No compiler, and one whose texts do not compile: both without NVIDIA's.
FUSESIM_NVRTC_LIB=$PWD/nowhere.so exits 77 "$seeds/chain4.yaml" --registers --hw t4
has err 'FUSESIM_NVRTC_LIB'
mock=$(dirname "$FUSESIM")/tests/libmockgpu.so
if [ -e "$mock" ] && command -v cc >/dev/null; then
    export FUSESIM_NVRTC_LIB=$mock
    exits 0 "$seeds/chain4.yaml" --registers --hw a100-sxm4-40gb
    has out '^[0-9]+ kernels of 1 workload, compiled by NVRTC'
    rm -rf cache
    printf '%s\n' '#!/bin/sh' 'echo "kernel.cu(3): error: nothing is known"' 'exit 1' >no-cc && chmod +x no-cc
    MOCK_CC=$PWD/no-cc exits 70 "$seeds/chain4.yaml" --registers --hw a100-sxm4-40gb
    has err 'chain4: k[0-9]+_[a-z0-9_]+\.cu does not compile for sm_80: kernel\.cu\(3\): error: nothing is known$'
    [ -s out ] && complain "something on stdout: $(cat out)"
    unset FUSESIM_NVRTC_LIB
    rm -rf cache
fi

"$FUSESIM" validate "$seeds/copy_1gb.yaml" --registers --hw a100-sxm4-40gb >out 2>err
status=$?
[ $status = 77 ] && { cat err; exit $((fail ? 1 : 77)); }
[ $status = 0 ] || complain "exit status $status: $(cat err)"

few=("$seeds/chain4.yaml" "$seeds/bias_gelu.yaml" "$seeds/tanh_axpb.yaml" "$seeds/layer_norm.yaml")
for width in 80 120; do
    COLUMNS=$width exits 0 "${few[@]}" --registers --hw a100-sxm4-40gb --strategies unfused,optimal --verbose --gate class=0 # --verbose: of any width
    COLUMNS=$width exits 0 "$seeds/layer_norm.yaml" --registers --hw a100-sxm4-40gb --gate class=0
    [ "$(awk 'length > n { n = length } END { print n }' out)" -le $width ] || complain "wider than $width: $(awk -v w=$width 'length > w' out)"
done
exits 0 "${few[@]}" --registers --hw a100-sxm4-40gb --arch 80,sm_90 --strategies unfused,optimal --jobs 2 --gate near=50% --gate disagree=0 --gate registers=100% --gate spills=0 \
    --json all.json --markdown all.md --junit all.xml
has out '^sm_80 +all +[0-9]+ '
has out '^all +all +[0-9]+ '
has out '^gate near=50% holds: '
has all.md '^- gate `disagree=0` holds: 0 of [0-9]+ kernels'
has all.xml 'testcase classname="fusesim.registers" name="sm_90/pointwise"'
exits 1 "${few[@]}" --registers --hw a100-sxm4-40gb --strategies unfused,optimal --gate registers=0%
has err '^fusesim: error: gate registers=0% failed: [0-9.]+ % of [0-9]+ kernels, wanted at most 0 %$'
has out '^gate registers=0% fails: '
exits 69 "$seeds/chain4.yaml" --registers --hw a100-sxm4-40gb --arch 20
has err 'does not compile for sm_20'
exits 0 "$seeds/chain4.yaml" --registers --hw a100-sxm4-40gb --arch all --strategies optimal --json arch.json

SCHEMA=$SOURCE_DIR/reports/schema/registers.schema.json "$python" - <<'END' || fail=1
import json, os, sys, xml.etree.ElementTree
try:
    import jsonschema
    check = lambda d: jsonschema.Draft202012Validator(json.load(open(os.environ["SCHEMA"]))).validate(d)
except ImportError:
    check = lambda d: None
def want(true, what):
    if not true:
        sys.exit(what)
d = json.load(open("all.json"))
check(d)
check(json.load(open("arch.json")))
want({k["sm"] for k in d["kernels"]} == {80, 90}, "architectures")
want({k["strategies"][0] for k in d["kernels"]} <= {"unfused", "optimal"}, "strategies")
want(len({(k["workload"], k["sm"], k["kernel"], k["predicted"]["registers_per_thread"], k["compiled"]["registers_per_thread"]) for k in d["kernels"]}) == len(d["kernels"]), "a kernel twice")
all = [s for s in d["summary"] if s["template"] is None and s["sm"] is None][0]
same = sum(k["predicted"]["blocks_per_sm"] == k["compiled"]["blocks_per_sm"] for k in d["kernels"])
error = sum(abs(k["predicted"]["registers_per_thread"] / k["compiled"]["registers_per_thread"] - 1) for k in d["kernels"])
want(all["kernels"] == len(d["kernels"]), "kernels")
want(abs(all["same_class"] - same / len(d["kernels"])) < 1e-12, "the share of the same class")
want(abs(all["registers_error"] - error / len(d["kernels"])) < 1e-12, "the mean error")
want(all["disagreeing"] == 0, "log and cubin disagree")
suite = xml.etree.ElementTree.parse("all.xml").getroot()[0]
want(int(suite.get("tests")) == len(suite), "cases")
want(len({k["sm"] for k in json.load(open("arch.json"))["kernels"]}) > 3, "--arch all")
END
exit $fail
