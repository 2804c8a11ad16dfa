#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# validate --device cuda on a GPU that is none (tests/mock): what is checked, measured, written; each fault's message and exit status.
# Which library runs which products, and tiles of odd sizes: cli.validate_products.
# depends: memory cost: 16
. "${SOURCE_DIR:?}/tests/trial.sh"

gpu 0 seeds/softmax_primitive seeds/linear_gelu $small --json gpu.json
has out '^Mock H100, sm_90, 132 SMs'
has out '^All [0-9]+ kernels of 3 plans agree with the reference'
"$python" - <<'PY' || complain "JSON of the GPU: $(head -c 600 gpu.json)"
import json
d = json.load(open("gpu.json"))
for w in d["workloads"]:
    for p in w["plans"]:
        assert p["wrong"] == 0 and p["measured_graph"]["median_s"] > 0
        for k in p["kernels"]:
            m = k["measured"]
            assert k["template"] == "library" or m["registers_per_thread"] > 0
            assert m["dram_read_bytes"] > 0 and m["warm"]["median_s"] > 0
PY
for order in reverse random:7; do
    MOCK_ORDER=$order gpu 0 seeds/layer_norm seeds/transpose_elementwise seeds/attention_standard $small --no-measure
done
# A GELU that stores what it reads, and its gradient with that of the bias in front of it: one call each. The products of weights' gradients, whose columns are the first operand's, are calls, too.
{ sed 's/M: 4096, H: 1024, dtype: f16/M: 64, H: 32, dtype: f16/' "$SOURCE_DIR/workloads/mlp.yaml"
  echo 'fuse: [[h/matmul, h, g], [grad/g/1, grad/b1]]'; echo 'separate: [[g, y/matmul], [grad/b1, grad/w1], [grad/b1, grad/x]]'; } >slope.yaml
gpu 0 slope.yaml --train --strategies optimal --json ran.json
hasnt err '^mock:'
has out '^All [0-9]+ kernels of 1 plans agree with the reference'
"$python" - <<'PY' || complain "the gradient of GELU: $(grep -A 3 Products out)"
import json
kernels = json.load(open("ran.json"))["workloads"][0]["plans"][0]["kernels"]
calls = {k["name"].split("_", 1)[1]: k["library"] for k in kernels if k["template"] == "library"}
assert calls == {"g": "cuBLASLt", "y": "cuBLASLt", "grad_w2": "cuBLAS", "grad_b1": "cuBLASLt", "grad_x": "cuBLAS", "grad_w1": "cuBLAS"}, calls
PY
# ReLU, which stores a bit for each element, and its gradient by these: in rows of 128.
sed 's/{op: gelu, in: h, out: g, approximate: tanh}/{op: relu, in: h, out: g}/; s/^fuse: .*/fuse: [[grad\/g\/1, grad\/b1]]/' slope.yaml >relu.yaml
gpu 0 relu.yaml --train --strategies optimal --json ran.json
hasnt err '^mock:'
has out '^All [0-9]+ kernels of 1 plans agree with the reference'
"$python" - <<'PY' || complain "the gradient of ReLU: $(grep -A 3 Products out)"
import json
kernels = json.load(open("ran.json"))["workloads"][0]["plans"][0]["kernels"]
assert [k["library"] for k in kernels if k["template"] == "library"].count("cuBLASLt") == 3, kernels
PY
# Rows of 64 bits are too short for the library's mask: the bits are a kernel of their own, and the slope is not the library's.
"$FUSESIM" relu.yaml --hw h100-sxm5-80gb --train --set H=16 --strategy optimal 2>&1 | grep -E 'library .*(bytes/each|grad/h/5)' && complain 'a mask in rows that the library does not take'
one="seeds/tanh_axpb --scale-shapes 64 --strategies optimal"
# fault STATUS WORD MESSAGE
fault() { MOCK_FAIL=$2 MOCK_FAIL_KERNEL=fs_entry_ MOCK_HANG_S=1 gpu "$1" $one --json gone.json; has "$4" "$3"; [ "$1" = 0 ] || [ ! -e gone.json ] || complain "$2: something was written"; rm -f gone.json; }
told=0
# ends STATUS WORD CONDITION: what is said of workloads w, plans p and kernels k where some failed; the rest is there
ends() {
    local status=$1 word=$2
    shift 2
    MOCK_FAIL=$word MOCK_HANG_S=${MOCK_HANG_S:-20} gpu "$status" $2 --json said.json --measured said.csv
    cp said.json "said.$((++told)).json"
    "$python" - "$1" <<'PY' || complain "$word: $1: $(head -c 900 said.json)"
import json, sys
d = json.load(open("said.json"))
w = d["workloads"]
p = [p for x in w for p in x["plans"]]
k = [k for x in p for k in x["kernels"]]
rows = open("said.csv").read().splitlines()[1:]
assert eval(sys.argv[1])
PY
}
two_rows="seeds/tanh_axpb seeds/softmax_primitive --set M=64 --set N=512 --strategies eager,optimal"
# A device that is lost ends the run: the report says so, the program does not wait for the driver.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 MOCK_FAIL_KERNEL=fs_entry_ MOCK_FAIL_AT=4 ends 69 launch 'len(w) == 1 and "k0_" in w[0]["unchecked"] and not rows' "$two_rows"
has err 'k0_'
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 MOCK_FAIL_KERNEL=fs_entry_ MOCK_FAIL_AT=300 ends 69 launch 'len(w) == 2 and not w[0]["failed"] and w[1]["failed"] and all(x["measured"] for x in w[0]["plans"]) and len(rows) >= 12' "$two_rows"
# One that hangs is given up, and the program does not wait for what the driver does when it ends.
from=$SECONDS
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 MOCK_FAIL_KERNEL=fs_entry_ MOCK_FAIL_AT=40 MOCK_HANG_S=200 ends 69 hang '"hangs" in w[0]["failed"]' "$two_rows --budget 6"
has err 'hangs'
[ $((SECONDS - from)) -lt 100 ] || complain 'a device that hangs is waited for'
# Sensors are read under load: the mock is idle before and after.
FUSESIM_NVML_LIB=$MOCKGPU gpu 0 seeds/tanh_axpb --set M=64 --strategies optimal --no-check
has out 'throttled by: power cap'
# Kernels whose records are no good are left out; plans are measured by events.
ends 69 badts 'any("records" in (x["not_run"] or "") for x in k) and all((x["not_run"] is None) == (x["measured"]["cold"] is not None) for x in k) and all(x["measured"] and not x["failed"] for x in p) and len(rows) == 8 + 2 * sum(1 for x in k if x["measured"]["cold"])' "$two_rows"
has err "records of 'k"
has out 'not measured: CUPTI.s records'
ends 0 late 'all(x["measured"]["cold"] for x in k)' "$two_rows" # forced out in the end
# A graph that can't be captured only costs the graph's figures.
ends 0 nograph 'all(x["measured"] and not x["measured_graph"] and "captur" in x["no_graph"] for x in p) and all(x["measured"]["cold"] for x in k)' "$two_rows"
has out 'optimal: not as a CUDA graph'
# Plans of the same kernels, and kernels that plans have alike, are measured once and shown for each.
gpu 0 seeds/copy_1gb --set N=100000 --strategies eager,unfused,greedy,maximal,optimal --json same.json
"$python" -c '
import json
p = json.load(open("same.json"))["workloads"][0]["plans"]
assert len(p) == 5 and len({json.dumps([x["measured"], x["measured_graph"], [k["measured"] for k in x["kernels"]]]) for x in p}) == 1' || complain 'plans of the same kernels'
# Time that is up: said, and no fault.
ends 75 none 'all("not reached" in x["left_out"] for x in w) and all("not reached" in x["left_out"] and not x["measured"] for x in p) and all("not reached" in x["not_run"] for x in k) and not rows' "$two_rows --budget 0.000001 --no-check"
has out 'of 2 plans, [0-9]+ of [0-9]+ kernels: not reached within --budget'
has err 'nothing was measured'
ends 0 none 'all(not x["left_out"] for x in w) and all(x["measured"] for x in p) and len(rows) > 8' "$two_rows --budget 100 --no-check"
# Plans as the run before left L2: what they are predicted for, and rows of.
ends 0 none 'all(x["l2"] == "warm" for x in w) and sum(",warm,stream," in r or ",warm,graph," in r for r in rows) == 8' "$two_rows --l2 warm"
"$python" -c '
import json
p = json.load(open("said.json"))["workloads"][0]["plans"][0]
assert p["measured"]["median_s"] < sum(k["measured"]["cold"]["median_s"] + 1e-6 for k in p["kernels"])' || complain 'warm plans are not flushed'
exits 2 seeds/tanh_axpb --device cpu --l2 warm
# DRAM writes: all that a kernel wrote, though it leaves them in L2.
ends 0 none 'all(abs(x["measured"]["dram_write_bytes"] / x["predicted"]["dram_write_bytes"] - 1) < 0.05 and x["measured"]["dram_write_by_end_bytes"] == 0 and x["measured"]["shared_bytes"] is not None and x["measured"]["l2_write_bytes"] > 0 for x in k)' "seeds/tanh_axpb seeds/softmax_primitive --set M=64 --set N=512 --strategies optimal --gate bytes=5%"
has out 'gate bytes=5% holds'
# Rows name the workload, not the folder it lay in.
mkdir -p pack/workloads/seeds && cp "$SOURCE_DIR/workloads/seeds/tanh_axpb.yaml" pack/workloads/seeds
ends 0 none 'len(rows) > 0 and all(",seeds/tanh_axpb," in r and "pack" not in r for r in rows)' "$PWD/pack/workloads/seeds/tanh_axpb.yaml --set M=64 --set N=512 --strategies optimal"
# What did not run as it is predicted is not compared with that.
ends 0 nolt 'all((x["unlike"] is not None) == any(y["stand_in"] for y in x["kernels"]) for x in p) and any(x["unlike"] and x["error"] is None and x["measured"] for x in p) and not any("optimal/stream" in r for r in rows)' \
    "seeds/linear_relu --set M=64 --set N=64 --set K=64 --strategies unfused,optimal"
has out 'optimal: not compared with its prediction: our own kernels ran'
gpu 0 seeds/boundaries --scale-shapes 64 --strategies eager
has out 'eager: not compared with its prediction: kernels that are not generated'
has out '^Every plan that was measured differs from what was predicted'
fault 69 nodev 'finds no GPU' err
fault 69 stub 'is the stub' err
fault 0 perm 'No bytes were counted: .*(administrators|NVreg_RestrictProfilingToAdminUsers)' out
fault 0 busy 'No bytes were counted' out
fault 0 oldcupti 'No bytes were counted' out
fault 0 twopass 'k0_y' out
fault 0 gb202 'k0_y' out
MOCK_MEMORY=20000 fault 69 oom 'out of (device )?memory' err
FUSESIM_CUDA_LIB=/nonexistent.so exits 69 $one --device cuda --hw h100-sxm5-80gb
has err 'nonexistent|driver'

# All that was said is of the schema.
of_schema trials said.[0-9]*.json

exit $fail
